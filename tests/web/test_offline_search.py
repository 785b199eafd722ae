"""The offline corpus: searched the same way everywhere, read as if it were the web, and sound on every page."""

from __future__ import annotations

import asyncio
import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from hellofresh.core.errors import HelloFreshError
from hellofresh.evidence.web import Found, PageStatus
from hellofresh.evidence.web.search.offline import BUNDLED, Corpus, Document, Offline


def search(corpus: Corpus, query: str, count: int = 10, before: date | None = None) -> Found:
    return asyncio.run(Offline(corpus).search(query, count, before)).found


def test_the_best_page_comes_first_with_all_that_is_known_of_it(corpus_folder: Path) -> None:
    found = search(Corpus.load(corpus_folder), "how does silt make a delta")
    first = found.results[0]
    assert (first.url, first.title, first.date, first.rank) == (
        "https://delta.example/silt",
        "How a delta grows",
        "2023-03-01",
        1,
    )
    assert first.snippet.startswith("A river carries silt")
    assert [result.rank for result in found.results] == list(range(1, len(found.results) + 1))
    assert found.problem == ""


def test_search_as_of_a_day_finds_only_what_was_there_before(corpus_folder: Path) -> None:
    corpus = Corpus.load(corpus_folder)
    everything = [result.url for result in search(corpus, "river").results]
    assert len(everything) == 3
    for document in corpus.documents:
        found = search(corpus, "river", before=document.date)
        assert [result.url for result in found.results] == [
            result.url
            for result in search(corpus, "river").results
            if result.date < document.date.isoformat()  # type: ignore[operator]
        ]


def test_a_search_within_sites_finds_their_pages_and_those_of_their_subdomains(corpus_folder: Path) -> None:
    corpus = Corpus.load(corpus_folder)
    pages = search(corpus, "river").results
    site = urlsplit(pages[-1].url).hostname
    within = [page for page in pages if urlsplit(page.url).hostname == site]
    assert 0 < len(within) < len(pages)
    found = search(corpus, f"river (site:none.invalid OR site:{site})").results
    assert [page.url for page in found] == [page.url for page in within]
    assert search(corpus, f"river (site:{site.partition('.')[2]})").results == pages


def test_what_a_model_writes_is_words_and_no_language(corpus_folder: Path) -> None:
    corpus = Corpus.load(corpus_folder)
    plain = search(corpus, "market day cheese")
    assert len(plain.results) == 2
    for query in ("market AND day OR cheese NOT x", 'title:"market (day^9 cheese~', "+market -day cheese*",
    "market: [day TO cheese]",
                  "\u201cmarket\u201d\nday\tcheese \U0001f600"):  # fmt: skip
        assert {result.url for result in search(corpus, query).results} >= {result.url for result in plain.results}
    for query in ("", "   ", "!!! ???", "zzzz"):
        assert search(corpus, query) == Found(())


def test_the_hash_goes_by_content_and_not_by_the_order_of_files(corpus_folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    for path in sorted(corpus_folder.glob("*/*.md"), reverse=True):
        place = other / path.parent.name / path.name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert Corpus.load(other).sha256 == Corpus.load(corpus_folder).sha256
    (other / "rivers" / "flood.md").unlink()
    assert Corpus.load(other).sha256 != Corpus.load(corpus_folder).sha256


def test_pages_are_read_by_any_spelling_of_their_address(corpus_folder: Path) -> None:
    reader = Offline(Corpus.load(corpus_folder))
    fetched = asyncio.run(reader.fetch("HTTPS://Delta.Example:443/silt#part"))
    assert fetched.status is PageStatus.OK
    assert fetched.text is not None
    assert fetched.text.text == "A river carries silt to the sea.\nWhere it slows, the silt sinks and a delta grows."
    assert asyncio.run(reader.fetch("https://delta.example/other")).status is PageStatus.DEAD
    assert asyncio.run(reader.fetch("file:///etc/passwd")).status is PageStatus.UNSAFE


BAD = {
    "no front matter": "words\n",
    "unclosed front matter": '+++\nurl = "https://a.example/"\n',
    "no url": '+++\ntitle = "t"\ndate = 2023-01-01\n+++\n\nx\n',
    "no page's url": '+++\nurl = "ftp://a.example/"\ntitle = "t"\ndate = 2023-01-01\n+++\n\nx\n',
    "empty title": '+++\nurl = "https://a.example/"\ntitle = ""\ndate = 2023-01-01\n+++\n\nx\n',
    "no date": '+++\nurl = "https://a.example/"\ntitle = "t"\n+++\n\nx\n',
    "impossible date": '+++\nurl = "https://a.example/"\ntitle = "t"\ndate = "2023-02-30"\n+++\n\nx\n',
    "unknown key": '+++\nurl = "https://a.example/"\ntitle = "t"\ndate = 2023-01-01\nauthor = "x"\n+++\n\nx\n',
    "no TOML": "+++\nurl = \n+++\n\nx\n",
    "no text": '+++\nurl = "https://a.example/"\ntitle = "t"\ndate = 2023-01-01\n+++\n\n',
    "url of another": '+++\nurl = "https://delta.example/silt"\ntitle = "t"\ndate = 2023-01-01\n+++\n\nx\n',
    "latin-1": b"+++\n\xe9\n+++\n",
}


@pytest.mark.parametrize("name", BAD)
def test_a_malformed_page_is_named(corpus_folder: Path, name: str) -> None:
    content = BAD[name]
    (corpus_folder / "towns" / "wrong.md").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(HelloFreshError) as caught:
        Corpus.load(corpus_folder)
    assert caught.value.where.endswith("towns/wrong.md")
    assert caught.value.code in {"bad-page", "duplicate-url"}


def test_a_folder_without_pages_is_named(tmp_path: Path) -> None:
    with pytest.raises(HelloFreshError, match="corpus"):
        Corpus.load(tmp_path / "nowhere")


# --- What holds for every page of the offline corpus, as it lies in the package.


SAMPLE = Path(__file__).parents[2] / "benchmarks" / "made" / "sample"
OVERLAP = 13
FEWEST, MOST = 150, 350
SHORT = {"hostile/very-short"}
UNSPACED = {"geography/fuji"}
CARRIES_A_NOTE = "hostile/quotes-a-note"
# A word is rare if few of the sample's posts and articles have it; function words of any language never are.
RARE_AT_MOST, RARE_LENGTH, RARE_SHARED = 6, 4, 2  # several posts make the same claim
SEARCHED_FROM = "2026-04"  # earlier quarters only train baselines

_HAN_KANA = "぀-ヿ一-鿿"
_TOKEN = re.compile(rf"[{_HAN_KANA}]|[^\W{_HAN_KANA}]+")
_HAN_RUN = re.compile(r"[一-鿿]{2,}")


@cache
def pages() -> dict[str, Document]:
    """The pages by name; that they can be read checks their front matter, and that their addresses are unique."""
    return {page.name.removesuffix(".md"): page for page in Corpus.load(BUNDLED).documents}


@cache
def raw(name: str) -> str:
    return (BUNDLED / f"{name}.md").read_text(encoding="utf-8").split("+++\n", 2)[2]


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
    """The topics of samples that models search for: each post with its notes, and each article as it began."""
    posts = [
        (post["text"][:60], " ".join([post["text"], *(note["text"] for note in post["note"])]))
        for content in sample_files("notes")
        for post in content["post"]
        if post["at"] >= SEARCHED_FROM
    ]
    articles = [(content["title"], content["start"]["text"]) for content in sample_files("articles")]
    return (*posts, *articles)


def test_pages_are_on_many_names_that_nobody_can_own_and_on_both_sides_of_the_sample() -> None:
    parts = [urlsplit(page.url) for page in pages().values()]
    assert len(parts) >= 150 and len({part.hostname for part in parts}) >= 40
    for part in parts:
        assert part.scheme == "https" and re.fullmatch(r"[a-z0-9-]+\.example", part.netloc), part
        assert re.fullmatch(r"(/[a-z0-9-]+)+", part.path) and not part.query and not part.fragment, part
    days = [page.date for page in pages().values()]
    assert date(2019, 1, 1) <= min(days) and max(days) < date(2026, 10, 1)
    assert len(days) / 2 < sum(day < date(2026, 4, 1) for day in days) < len(days)


def test_pages_are_short_but_not_empty() -> None:
    counts = {name: len(raw(name).split()) for name in pages() if name not in SHORT | UNSPACED}
    assert {name: count for name, count in counts.items() if not FEWEST <= count <= MOST} == {}
    assert 0 < len(raw("hostile/very-short").split()) < 20
    assert FEWEST <= len(tokens(raw("geography/fuji"))) <= 3 * MOST


def test_no_page_but_one_carries_a_run_of_the_sample() -> None:
    sample = set[tuple[str, ...]]().union(*(runs(text) for text in sample_texts()))
    assert {name for name in pages() if not sample.isdisjoint(runs(raw(name)))} == {CARRIES_A_NOTE}
    text = raw(CARRIES_A_NOTE)
    notes = [note["text"] for content in sample_files("notes") for post in content["post"] for note in post["note"]]
    assert sum(note in text for note in notes) == 1


def test_no_two_pages_share_a_run() -> None:
    counted = Counter(run for name in pages() for run in runs(raw(name)))
    assert [run for run, count in counted.items() if count > 1] == []


def test_every_topic_of_the_sample_has_a_page_that_shares_two_rare_words() -> None:
    frequency = Counter(word for _, text in topics() for word in telling_words(text))
    on_page = [telling_words(f"{page.title} {page.text}") for page in pages().values()]
    for name, text in topics():
        rare = {word for word in telling_words(text) if frequency[word] <= RARE_AT_MOST}
        assert max(len(rare & words) for words in on_page) >= RARE_SHARED, name


def test_hostile_pages_hold_what_they_are_there_for() -> None:
    invisible = {unicodedata.category(sign) for sign in raw("hostile/invisible-characters")}
    assert "Cf" in invisible
    assert {unicodedata.bidirectional(sign) for sign in raw("hostile/right-to-left")} >= {"AL"}
    assert all(mark in raw("hostile/fence-markers") for mark in ('"""', "```", "'''", "\n+++\n", "</page>"))
    assert "ignore the question" in raw("hostile/ignore-the-question")
    assert any(unicodedata.category(sign) == "So" for sign in pages()["hostile/emoji-title"].title)
    repeated = Counter(pairwise(tokens(raw("hostile/repeated-keyword"))))
    assert repeated["goldfish", "memory"] > 50


def test_only_the_page_made_for_it_holds_invisible_characters() -> None:
    joiners = {"\u200d", "\ufe0f"}  # a part of emoji
    holding = {name for name in pages() if any(unicodedata.category(c) == "Cf" and c not in joiners for c in raw(name))}
    assert holding == {"hostile/invisible-characters"}
