"""What systems say in their own words is only ever text, folded where it is long, with links only to web addresses."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from hellofresh.leaderboard.components.labels import Links
from hellofresh.leaderboard.data.board import SplitKey
from hellofresh.leaderboard.views.samples import reason, reasons_of_system
from hellofresh.results.tables import AnswerRow

NOWHERE = Links({}, "index.html")
"""Links of a site without any page."""

SPLIT = SplitKey("2023Q2", "x-notes")
HOSTILE = (
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\u202egnp.exe", "](javascript:alert(1))",
    "a" * 9000, "line\n" * 40, "\x00\x1b[31m", "&lt;b&gt;",
)  # fmt: skip
SOURCES = ("https://good.example/a?b=1", "javascript:alert(1)", "data:text/html,<script>", "http://x y", "Doc_12",
           'https://a.example/"onmouseover="x')  # fmt: skip


def answer(rationale: str, sources: Sequence[str] = (), words: str | None = None) -> AnswerRow:
    return AnswerRow("s-1", "run", "p", False, "answered", 1, (), None, words, None, None, rationale, tuple(sources))


@pytest.mark.parametrize("hostile", HOSTILE)
def test_reasons_are_only_ever_text(hostile: str) -> None:
    for html in (reason(answer(hostile, [hostile])), reason(answer("", (), hostile))):
        source = str(html)
        assert not re.search(r"<(script|img|b)\b", source)
        assert "\u202e" not in source and "\x00" not in source and "\x1b" not in source
        assert not re.search(r'href="(?!https?://)', source)


def test_only_web_addresses_become_links_and_these_tell_nobody_where_they_were_found() -> None:
    source = str(reason(answer("Because.", SOURCES)))
    assert re.findall(r'href="([^"]*)"', source) == ["https://good.example/a?b=1"]
    assert source.count("noopener") == source.count("href=")


def test_long_reasons_are_folded_and_short_ones_are_not() -> None:
    assert "<details>" not in str(reason(answer("Because it is so.")))
    assert str(reason(answer("word " * 500))).count("<details>") == 1


def test_a_system_without_reasons_has_no_section() -> None:
    assert reasons_of_system([], SPLIT, NOWHERE) is None
    assert "In its own words" in str(reasons_of_system([answer("Because.")], SPLIT, NOWHERE))
