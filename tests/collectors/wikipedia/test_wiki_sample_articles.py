"""The bundled articles: written strictly, rendered as an export, decided as their authors meant."""

from __future__ import annotations

import bz2
import hashlib
from pathlib import Path

import pytest

from collectors.sample import QUARTERS
from collectors.sample._articles import read_article, states, write_history
from collectors.wikipedia.collect import collect
from collectors.wikipedia.dump.export import ExportReader, read_pages
from collectors.wikipedia.rules.stability import Fate, decide
from collectors.wikipedia.settings import EditsSettings
from hellofresh.core.errors import SourceError

ARTICLE = """
title = "Mill"
page_id = 4001
[start]
at = "2026-03-01T00:00:00Z"
by = "Miller"
text = '''
A mill & <b>more</b>.

Second.
'''
[[revision]]
at = "2026-04-02T00:00:00Z"
by = "192.0.2.7"
comment = "less"
minor = true
[[revision.change]]
old = "Second."
new = "Third."
[[revision]]
at = "2026-04-03T00:00:00Z"
by = "Miller"
restore = 1
[[revision]]
at = "2026-04-04T00:00:00Z"
by = "Other"
hidden = true
[[revision.change]]
old = "A mill"
new = "No mill"
[[revision]]
at = "2026-04-05T00:00:00Z"
by = "Other"
blank = true
"""


@pytest.fixture(scope="session")
def articles(root) -> Path:
    return root / "collectors" / "sample" / "articles"


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "articles"
    made.mkdir()
    (made / "mill.toml").write_text(ARTICLE)
    return made


def test_an_article_becomes_the_history_that_it_tells(folder, tmp_path):
    write_history(folder, tmp_path / "h.xml.bz2")
    [(title, id_, history)] = [(p.title, p.id, list(p.revisions)) for p in read_pages(tmp_path / "h.xml.bz2")]
    assert (title, id_) == ("Mill", 4001)
    first = "A mill & <b>more</b>.\n\nSecond."
    assert [r.text for r in history] == [first, first.replace("Second", "Third"), first, None, ""]
    assert [r.user for r in history] == ["Miller", "192.0.2.7", "Miller", "Other", "Other"]
    assert [r.parent for r in history] == [None, *[r.id for r in history[:-1]]]
    assert history[0].id == 90000001


def test_the_export_looks_as_mediawiki_writes_it(folder, tmp_path):
    write_history(folder, tmp_path / "h.xml.bz2")
    xml = bz2.decompress((tmp_path / "h.xml.bz2").read_bytes()).decode()
    text = "A mill & <b>more</b>.\n\nSecond."
    number = int(hashlib.sha1(text.encode()).hexdigest(), 16)
    sha1 = next(part.split("<")[0] for part in xml.split("<sha1>")[1:])
    assert (int(sha1, 36), len(sha1)) == (number, 31)
    assert f'<text bytes="{len(text)}" sha1="{sha1}"' in xml
    assert '<text bytes="0" deleted="deleted" />' in xml
    assert "<ip>192.0.2.7</ip>" in xml
    assert xml.count("<minor />") == 1
    assert '<namespace key="1" case="first-letter">Talk</namespace>' in xml


def test_the_same_articles_give_the_same_bytes(folder, tmp_path):
    for name in ("a", "b"):
        write_history(folder, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('title = "Mill"', 'title = "Mill"\ncolour = "red"'),
        ("page_id = 4001", 'page_id = "4001"'),
        ("page_id = 4001", "page_id = 4001.0"),
        ('"2026-04-02T00:00:00Z"', "2026-04-02T00:00:00Z"),
        ('"2026-04-02T00:00:00Z"', '"2026-04-02T00:00:00"'),
        ('"2026-04-03T00:00:00Z"', '"2026-04-02T00:00:00Z"'),
        ("restore = 1", "restore = 3"),
        ("restore = 1", "restore = 0"),
        ("restore = 1", "restore = 1\nblank = true"),
        ("restore = 1", ""),
        ('old = "Second."', 'old = "Fourth."'),
        ('old = "Second."', 'old = "e"'),
        ("blank = true", "blank = 1"),
        ('by = "Other"', 'by = " "'),
        ("[start]", "[start"),
    ],
)
def test_what_breaks_the_form_is_refused_with_the_files_name(folder, tmp_path, old, new):
    path = folder / "mill.toml"
    assert old in ARTICLE
    path.write_text(ARTICLE.replace(old, new, 1))
    with pytest.raises(SourceError, match=r"mill\.toml"):
        write_history(folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_two_articles_of_one_title_are_refused(folder, tmp_path):
    (folder / "other.toml").write_text(ARTICLE)
    with pytest.raises(SourceError, match="also in"):
        write_history(folder, tmp_path / "out")


def test_a_folder_without_articles_is_refused(tmp_path):
    with pytest.raises(SourceError):
        write_history(tmp_path, tmp_path / "out")


def test_every_bundled_article_can_be_read(articles):
    titles = [read_article(path).title for path in sorted(articles.glob("*.toml"))]
    assert len(titles) == len(set(titles)) > 0


def test_every_edit_has_the_fate_its_author_meant(articles, tmp_path):
    write_history(articles, tmp_path / "h.xml.bz2")
    decided: dict[int, set[Fate]] = {}
    for page in ExportReader(tmp_path / "h.xml.bz2").pages():
        for decision in decide(page.revisions, EditsSettings()):
            decided.setdefault(decision.revision.id, set()).add(decision.fate)
    meant = [state for page in states(articles).values() for state in page if state.fate is not None]
    assert meant
    only_when_cleaned = {state.id: state.fate for state in meant if state.fate in {Fate.URLS_ONLY, Fate.MARKUP_ONLY}}
    kept = {
        item.sample.revision.id
        for quarter in QUARTERS
        for item in collect(quarter, [tmp_path / "h.xml.bz2"], EditsSettings()).candidates
    }
    assert not kept & only_when_cleaned.keys()
    for revision, fate in only_when_cleaned.items():
        assert decided[revision] <= {Fate.ACCEPTED, Fate.REJECTED}
        decided[revision] = {fate}
    wrong = [
        (state.page, f"{state.at:%Y-%m-%d}", state.by, state.fate, sorted(decided.get(state.id, ())))
        for state in meant
        if decided.get(state.id) != {state.fate}
    ]
    assert wrong == []


def test_revision_ids_grow_with_time_over_all_pages(articles):
    every = sorted((state for page in states(articles).values() for state in page), key=lambda state: state.id)
    assert [state.at for state in every] == sorted(state.at for state in every)
    assert [state.id for state in every] == list(range(90000001, 90000001 + len(every)))
