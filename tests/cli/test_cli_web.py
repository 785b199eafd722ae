"""`hellofresh web` searches and reads by the settings, and says what went wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hellofresh.cli import main

HEAD = 'url = "https://delta.example/silt"\ntitle = "How a delta grows"\ndate = 2023-03-01\n'
PAGE = f"+++\n{HEAD}+++\n\nA river carries silt.\n"


@pytest.fixture(autouse=True)
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with settings and a corpus of one page."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HELLOFRESH_CONFIG", raising=False)
    page = tmp_path / "corpus" / "rivers" / "delta.md"
    page.parent.mkdir(parents=True)
    page.write_text(PAGE)
    (tmp_path / "hellofresh.toml").write_text('[web]\ncorpus = "corpus"\n')
    return page


def test_a_search_prints_its_results(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["web", "silt", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["problem"] == "" and [r["url"] for r in found["results"]] == ["https://delta.example/silt"]
    assert main(["web", "silt", "--before", "2023-03-01"]) == 0
    assert "delta.example" not in capsys.readouterr().out


def test_a_page_is_read_and_nothing_is_kept(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["web", "https://delta.example/silt", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["text"] == "A river carries silt."
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus", "hellofresh.toml"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["https://x.com/a"], 1, "excluded"),
        (["https://delta.example/other"], 1, "dead"),
        (["file:///etc/passwd"], 1, "unsafe"),
        (["https://delta.example/silt", "--before", "2023-03-01"], 2, "no-query"),
        (["silt", "--before", "soon"], 2, "2023-04-03"),
    ],
)
def test_what_went_wrong_is_said(
    arguments: list[str], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        found = main(["web", *arguments])
    except SystemExit as exit_:
        found = int(exit_.code or 0)
    captured = capsys.readouterr()
    assert found == code
    assert words in captured.out + captured.err


def test_settings_of_the_web_are_checked(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for line in ('provider = "bing"', "count = 0", 'extractor = "x"', 'contact = "a b"', 'brave = { key = "secret" }',
                 'excluded = ["https://a/"]', 'corpus = "nowhere"', 'provider = "searxng"'):  # fmt: skip
        (tmp_path / "hellofresh.toml").write_text(f"[web]\n{line}\n")
        assert main(["web", "silt"]) == 2
        assert "error:" in capsys.readouterr().err
