"""A corpus is searched the same way everywhere, and read as if it were the web."""

from __future__ import annotations

import asyncio
from datetime import date
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from hellofresh.core.errors import HelloFreshError
from hellofresh.evidence.web import Found, PageStatus
from hellofresh.evidence.web.search.offline import Corpus, Offline


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
