"""`hellofresh web` searches and reads by the settings, and says what went wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli

HEAD = 'url = "https://delta.example/silt"\ntitle = "How a delta grows"\ndate = 2023-03-01\n'
PAGE = f"+++\n{HEAD}+++\n\nA river carries silt.\n"


@pytest.fixture(autouse=True)
def corpus(place: Path) -> None:
    """A folder with settings and a corpus of one page."""
    page = place / "corpus" / "rivers" / "delta.md"
    page.parent.mkdir(parents=True)
    page.write_text(PAGE)
    (place / "hellofresh.toml").write_text('[web]\ncorpus = "corpus"\n')


def test_a_search_prints_its_results(cli: Cli) -> None:
    found = cli.json("web", "silt")
    assert found["problem"] == "" and [r["url"] for r in found["results"]] == ["https://delta.example/silt"]
    assert "delta.example" not in cli("web", "silt", "--before", "2023-03-01")


def test_a_page_is_read_and_nothing_is_kept(cli: Cli, tmp_path: Path) -> None:
    assert cli.json("web", "https://delta.example/silt")["text"] == "A river carries silt."
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
def test_what_went_wrong_is_said(arguments: list[str], code: int, words: str, cli: Cli) -> None:
    assert words in cli("web", *arguments, code=code)


def test_settings_of_the_web_are_checked(cli: Cli, tmp_path: Path) -> None:
    for line in ('provider = "bing"', "count = 0", 'extractor = "x"', 'contact = "a b"', 'brave = { key = "secret" }',
                 'excluded = ["https://a/"]', 'corpus = "nowhere"', 'provider = "searxng"'):  # fmt: skip
        (tmp_path / "hellofresh.toml").write_text(f"[web]\n{line}\n")
        assert "error:" in cli("web", "silt", code=2)
