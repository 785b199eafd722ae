"""The page Try: what is typed is an argument and nothing more, and what comes back is text."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from hellofresh.cli.arguments import command_line
from hellofresh.cli.respond import _passed_on
from leaderboard.trying import asking, start
from leaderboard.trying.asking import Answered, TriedPost, ask

APP = Path(asking.__file__).with_name("app.py")
RESULT = {
    "text": "This post is misleading: <script>alert(1)</script> **no**",
    "links": ["https://atlas.example/a", "javascript:alert(1)"],
    "evidence": [
        {"url": "https://atlas.example/a", "title": "<img src=x onerror=alert(1)>", "published": "2023-01-01",
         "priority": "high", "refuting": ["It stands."], "context": ["<b>bold</b>"]},
    ],
    "pictures": ["a <i>chart</i>"], "queries": ["bridge"], "until": "2023-05-10T12:00:00Z", "seconds": 1.5,
    "cost_usd": 0.0123, "folder": "/data/respond/x", "notes": ["A smoke test."],
    "steps": [{"step": "queries", "model": "m", "requests": 1, "seconds": 1.0, "tokens_in": 5, "tokens_out": None,
               "cost_usd": 0.0}],
}  # fmt: skip


def program(folder: Path, body: str) -> tuple[str, str]:
    """A program in the place of the command."""
    path = folder / "program.py"
    path.write_text(body, encoding="utf-8")
    return sys.executable, str(path)


def test_what_is_typed_reaches_the_command_as_arguments_only(tmp_path: Path) -> None:
    told: list[str] = []
    post = TriedPost("--model=evil; $(touch x) `y`\n'\"", "2023-04-03", "m", (b"\x89PNG", b"jpg"), ("pages=2",))
    body = (
        "import json, sys, pathlib\n"
        "print('step: one', file=sys.stderr); print('note', file=sys.stderr)\n"
        "files = [pathlib.Path(a[8:]).read_bytes().hex() for a in sys.argv if a.startswith('--image=')]\n"
        "print(json.dumps({'arguments': sys.argv[1:], 'files': files}))\n"
    )
    found = ask(post, told.append, command=program(tmp_path, body)).result
    assert found is not None
    typed = [argument for argument in found["arguments"] if not argument.startswith("--image=")]
    assert typed == ["--json", f"--text={post.text}", "--date=2023-04-03", "--model=m", "--set=pages=2"]
    assert found["files"] == [content.hex() for content in post.pictures]
    assert told == ["one"]


def test_what_no_argument_can_hold_is_left_out(tmp_path: Path) -> None:
    body = "import json, sys; print(json.dumps({'arguments': sys.argv[1:]}))"
    found = ask(TriedPost("a\0b \ud800", model="m\0"), print, command=program(tmp_path, body)).result
    assert found is not None and found["arguments"] == ["--json", "--text=ab ?", "--model=m"]


def test_options_of_the_page_reach_every_command_before_what_is_chosen_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["respond", "--serve", "--model", "m", "--role", "describer=d", "--set", "pages=2", "--budget", "0.5"]
    passed_on = _passed_on(command_line().parse_args(words))
    assert sorted(passed_on) == ["--budget=0.5", "--model=m", "--role=describer=d", "--set=pages=2"]
    monkeypatch.setenv(asking.GIVEN, json.dumps(passed_on))
    body = "import json, sys; print(json.dumps({'arguments': sys.argv[1:]}))"
    found = ask(TriedPost("a", model="own"), print, command=program(tmp_path, body)).result
    assert found is not None and found["arguments"] == [*passed_on, "--json", "--text=a", "--model=own"]


@pytest.mark.parametrize(
    "body",
    [
        "import sys; print('error: no key [missing-key]', file=sys.stderr); sys.exit(2)",
        "print('no json')",
        "print('[]')",
    ],
)
def test_a_command_that_fails_gives_its_reason_and_no_response(tmp_path: Path, body: str) -> None:
    found = ask(TriedPost("x"), lambda step: None, command=program(tmp_path, body))
    assert found.result is None and found.problem
    assert "missing-key" in found.problem or "sys.exit" not in body


def test_hostile_texts_stay_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "ask", lambda post, tell: tell("read: <script>x</script>") or Answered(RESULT))
    shown = AppTest.from_file(str(APP), default_timeout=60).run()
    assert not shown.exception and not shown.warning
    shown.text_area[0].set_value("The bridge fell!")
    shown.button[0].click().run()
    assert not shown.exception
    html = " ".join(element.proto.body for element in shown.get("html"))
    assert "<script>" not in html and "<img" not in html and "<b>bold" not in html and "<i>chart" not in html
    assert "&lt;script&gt;alert(1)" in html and "It stands." in html
    links = [element.proto.url for element in shown.get("link_button")]
    assert links == ["https://atlas.example/a"]
    assert [warning.value for warning in shown.warning] == ["A smoke test\\."]
    assert json.dumps(RESULT)  # is what the command prints


def test_a_page_of_the_web_whose_name_leads_here_does_not_get_in(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from streamlit import config
    from streamlit.web import cli
    from streamlit.web.server.starlette.starlette_websocket import _is_origin_allowed

    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setenv("HELLOFRESH_DATA", "")
    monkeypatch.setattr(cli, "main", lambda: None)
    start.main([str(tmp_path), "8502"])
    options = [argument.removeprefix("--").split("=", 1) for argument in sys.argv[3:]]
    assert ["server.address", "127.0.0.1"] in options
    known, hosts = config.get_option, [value for name, value in options if name == "server.allowedHosts"]
    monkeypatch.setattr(config, "get_option", lambda name: hosts if name == "server.allowedHosts" else known(name))
    for host in ("127.0.0.1:8502", "localhost:8502"):
        assert _is_origin_allowed(f"http://{host}", host)
    for host in ("page.example:8502", "127.0.0.1.page.example:8502", "localhost.page.example:8502"):
        assert not _is_origin_allowed(f"http://{host}", host)


def test_an_empty_form_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "ask", lambda post, tell: pytest.fail("asked"))
    shown = AppTest.from_file(str(APP), default_timeout=60).run()
    shown.button[0].click().run()
    assert [error.value for error in shown.error] == ["Write a post, or add a picture."]
