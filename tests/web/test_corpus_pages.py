"""What holds for every page of the offline corpus, as it lies in the package."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import hellofresh

PAGES = Path(hellofresh.__file__).parent / "evidence" / "web" / "corpus"
SAMPLE = Path(__file__).parents[2] / "benchmarks" / "made" / "sample"
OVERLAP = 13
FEWEST, MOST = 150, 350
SHORT = {"hostile/very-short"}
UNSPACED = {"geography/fuji"}
CARRIES_A_NOTE = "hostile/quotes-a-note"
# A word is rare if few of the sample's posts and articles have it; function words of any language never are.
RARE_AT_MOST, RARE_LENGTH, RARE_SHARED = 3, 4, 2

_HAN_KANA = "぀-ヿ一-鿿"
_TOKEN = re.compile(rf"[{_HAN_KANA}]|[^\W{_HAN_KANA}]+")
_HAN_RUN = re.compile(r"[一-鿿]{2,}")


@dataclass(frozen=True, slots=True)
class CorpusPage:
    """A file of the corpus: its name below the folder, the front matter and the text."""

    name: str
    front: Mapping[str, Any]
    text: str


def read_page(path: Path) -> CorpusPage:
    """Read a page; the front matter ends at the second line of `+++`, and later ones belong to the text."""
    opening, front, text = path.read_bytes().decode("utf-8").split("+++\n", 2)
    assert opening == "", path
    return CorpusPage(path.relative_to(PAGES).with_suffix("").as_posix(), tomllib.loads(front), text)


@cache
def pages() -> tuple[CorpusPage, ...]:
    return tuple(read_page(path) for path in sorted(PAGES.rglob("*.md")))


def page_named(name: str) -> CorpusPage:
    return next(page for page in pages() if page.name == name)


def tokens(text: str) -> list[str]:
    """Words in lower case without invisible characters; each sign of an unspaced script is a word."""
    visible = "".join(sign for sign in text if unicodedata.category(sign) != "Cf")
    return _TOKEN.findall(visible.casefold())


def runs(text: str) -> set[tuple[str, ...]]:
    words = tokens(text)
    return {tuple(words[start : start + OVERLAP]) for start in range(len(words) - OVERLAP + 1)}


def telling_words(text: str) -> set[str]:
    """Words that may tell a topic: long ones, and runs of Han signs."""
    return {word for word in tokens(text) if len(word) >= RARE_LENGTH} | set(_HAN_RUN.findall(text))


def strings(value: object) -> Iterator[str]:
    """Every string below a TOML value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def sample_files(kind: str) -> Iterator[Mapping[str, Any]]:
    for path in sorted((SAMPLE / f"written_{kind}").glob("*.toml")):
        yield tomllib.loads(path.read_text(encoding="utf-8"))


@cache
def sample_texts() -> tuple[str, ...]:
    return tuple(
        text for kind in ("notes", "articles") for content in sample_files(kind) for text in strings(dict(content))
    )


@cache
def topics() -> tuple[tuple[str, str], ...]:
    """The sample's topics: each post with its notes, and each article as it began."""
    posts = [
        (post["text"][:60], " ".join([post["text"], *(note["text"] for note in post["note"])]))
        for content in sample_files("notes")
        for post in content["post"]
    ]
    articles = [(content["title"], content["start"]["text"]) for content in sample_files("articles")]
    return (*posts, *articles)


def test_there_are_pages_on_many_hosts() -> None:
    assert len(pages()) >= 150
    assert len({urlsplit(page.front["url"]).hostname for page in pages()}) >= 40


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_front_matter_has_the_three_keys_and_nothing_else(page: CorpusPage) -> None:
    assert set(page.front) == {"url", "title", "date"}
    assert all(isinstance(value, str) and value.strip() for value in page.front.values())
    assert re.fullmatch(r"[a-z0-9-]+/[a-z0-9-]+", page.name)
    assert page.text.startswith("\n") and page.text.endswith("\n") and "\r" not in page.text


def test_addresses_are_unique_and_on_names_that_nobody_can_own() -> None:
    addresses = [page.front["url"] for page in pages()]
    assert len(set(addresses)) == len(addresses)
    for address in addresses:
        parts = urlsplit(address)
        assert parts.scheme == "https", address
        assert re.fullmatch(r"[a-z0-9-]+\.example", parts.netloc), address
        assert re.fullmatch(r"(/[a-z0-9-]+)+", parts.path), address
        assert not parts.query and not parts.fragment, address


def test_days_are_iso_and_lie_on_both_sides_of_the_sample() -> None:
    days = []
    for page in pages():
        day = date.fromisoformat(page.front["date"])
        assert day.isoformat() == page.front["date"], page.name
        days.append(day)
    assert date(2019, 1, 1) <= min(days) and max(days) < date(2026, 10, 1)
    before = sum(day < date(2026, 4, 1) for day in days)
    assert len(days) / 2 < before < len(days)
    assert {day.year for day in days} == set(range(2019, 2027))


def test_pages_are_short_but_not_empty() -> None:
    counts = {page.name: len(page.text.split()) for page in pages() if page.name not in SHORT | UNSPACED}
    assert {name: count for name, count in counts.items() if not FEWEST <= count <= MOST} == {}
    assert 0 < len(page_named("hostile/very-short").text.split()) < 20
    assert FEWEST <= len(tokens(page_named("geography/fuji").text)) <= 3 * MOST


def test_no_page_but_one_carries_a_run_of_the_sample() -> None:
    sample = set[tuple[str, ...]]().union(*(runs(text) for text in sample_texts()))
    carrying = {page.name for page in pages() if not sample.isdisjoint(runs(page.text))}
    assert carrying == {CARRIES_A_NOTE}


def test_the_quoting_page_carries_a_whole_note() -> None:
    text = page_named(CARRIES_A_NOTE).text
    notes = [note["text"] for content in sample_files("notes") for post in content["post"] for note in post["note"]]
    assert sum(note in text for note in notes) == 1


def test_no_two_pages_share_a_run() -> None:
    counted = Counter(run for page in pages() for run in runs(page.text))
    assert [run for run, count in counted.items() if count > 1] == []


def test_every_topic_of_the_sample_has_a_page_that_shares_two_rare_words() -> None:
    frequency = Counter(word for _, text in topics() for word in telling_words(text))
    on_page = [telling_words(f"{page.front['title']} {page.text}") for page in pages()]
    for name, text in topics():
        rare = {word for word in telling_words(text) if frequency[word] <= RARE_AT_MOST}
        assert max(len(rare & words) for words in on_page) >= RARE_SHARED, name


def test_hostile_pages_hold_what_they_are_there_for() -> None:
    invisible = {unicodedata.category(sign) for sign in page_named("hostile/invisible-characters").text}
    assert "Cf" in invisible
    assert {unicodedata.bidirectional(sign) for sign in page_named("hostile/right-to-left").text} >= {"AL"}
    assert all(mark in page_named("hostile/fence-markers").text for mark in ('"""', "```", "'''", "\n+++\n", "</page>"))
    assert "ignore the question" in page_named("hostile/ignore-the-question").text
    assert any(unicodedata.category(sign) == "So" for sign in page_named("hostile/emoji-title").front["title"])
    repeated = Counter(pairwise(tokens(page_named("hostile/repeated-keyword").text)))
    assert repeated["goldfish", "memory"] > 50


def test_only_the_page_made_for_it_holds_invisible_characters() -> None:
    joiners = {"‍", "️"}  # a part of emoji
    holding = {
        page.name
        for page in pages()
        if any(unicodedata.category(sign) == "Cf" and sign not in joiners for sign in page.text)
    }
    assert holding == {"hostile/invisible-characters"}
