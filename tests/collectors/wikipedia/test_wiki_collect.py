"""From dumps to candidates: everything counted once, the same whatever the order, and nobody's name in it."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from datetime import timedelta
from itertools import product

import pytest

from collectors.wikipedia.collect import EditsSettings, _is_same, collect
from collectors.wikipedia.stability import MEANINGS
from hellofresh.core.errors import ConfigError, SourceError, UsageError
from hellofresh.core.files import sha256_text
from hellofresh.core.quarters import Quarter
from hellofresh.tasks.samples import to_json
from tests.fakes import dropped, fails_with

QUARTER = Quarter(2026, 2)
LEAD = "The '''mill''' stands on the [[river]] and was built in 1780.<ref>Book, p. 1.</ref>"
GOOD = LEAD.replace("1780", "1780 by the monks of the abbey, who ground the corn of five villages there")
BAD = LEAD.replace("1780", "1580, which makes it the oldest building of the whole world, as everybody knows")
TEXTS = [LEAD, GOOD, GOOD + "\n\nTwo.", GOOD + "\n\n2", BAD, GOOD + "\n\n2", GOOD + "\n\n3", GOOD, GOOD + "\n\n4"]


@pytest.fixture
def dump(wiki, tmp_path):
    def make(name="a.xml", first=5, count=1, texts=TEXTS):
        history = wiki.history(texts, [f"Secret Name {n}" for n in range(len(texts))])
        pages = []
        for page in range(first, first + count):
            shifted = [r._replace(id=r.id + 1000 * page, parent=r.parent and r.parent + 1000 * page) for r in history]
            pages.append(wiki.page_xml(f"Mill {page}", shifted, id_=page))
        return wiki.write(tmp_path / name, *pages)

    return make


def as_bytes(collection) -> bytes:
    return json.dumps(to_json(collection), sort_keys=True).encode()


def test_an_edit_becomes_a_sample_as_a_reader_sees_it(dump):
    found = collect(QUARTER, [dump()], EditsSettings())
    good, bad = (candidate.sample for candidate in found.candidates)
    assert (good.id, good.group, good.article, good.section) == ("we-5101-1", "w-5", "Mill 5", "")
    assert good.paragraph == "The mill stands on the river and was built in 1780."
    assert good.added == "1780 by the monks of the abbey, who ground the corn of five villages there."
    assert (good.deleted, good.period, good.edition) == ("1780.", "2026-W14", "2026Q2")
    assert good.revision.id == 5101
    assert good.lineage == bad.lineage == (sha256_text(f" 5 {sha256_text(LEAD)}")[:16],)
    assert [candidate.label.label for candidate in found.candidates] == [1, 0]
    common = {"required_edits": 2, "distinct_users": 2, "paragraph_kind": "prose"}
    stood, put_back = (candidate.label.facts for candidate in found.candidates)
    assert stood == {**common, "revert_delay_s": None, "survived_edits": 2, "page_hash_reverted": 0}
    assert put_back == {**common, "revert_delay_s": 3600, "survived_edits": 0, "page_hash_reverted": 1}
    extras = dict(found.candidates[0].extras)
    assert good.added in str(extras.pop("paragraph_after"))
    assert extras == {"wikitext_before": LEAD, "wikitext_after": GOOD}
    assert bad.id == "we-5104-1"


def test_the_funnel_counts_every_change_once_and_names_every_reason(dump):
    found = collect(QUARTER, [dump()], EditsSettings())
    assert found.funnel.rows_in == sum(drop.count for drop in found.funnel.drops) + 2
    assert dropped(found) == {"too-short": 2, "restores-old-text": 1}
    assert [drop.reason for drop in found.funnel.drops] == [fate.value for fate in MEANINGS]
    assert found.funnel.context["revisions"] == len(TEXTS)


def test_no_user_name_and_no_comment_comes_out(dump):
    found = as_bytes(collect(QUARTER, [dump()], EditsSettings()))
    assert b"Secret" not in found
    assert b"of no account" not in found


def test_neither_the_order_of_dumps_nor_the_number_of_jobs_matters(dump):
    dumps = [dump("b.xml", 5, 2), dump("a.xml", 8, 1), dump("c.xml", 1, 3)]
    once = as_bytes(collect(QUARTER, dumps, EditsSettings()))
    assert as_bytes(collect(QUARTER, dumps[::-1], EditsSettings())) == once
    assert as_bytes(collect(QUARTER, dumps, EditsSettings(), jobs=2)) == once


def test_revisions_out_of_order_of_time_are_sorted_and_told_of(wiki, tmp_path):
    history = wiki.history(TEXTS)
    straight = wiki.write(tmp_path / "a.xml", wiki.page_xml("Mill", history), wiki.page_xml("M", history[:0], id_=9))
    expected = collect(QUARTER, [straight], EditsSettings())
    mixed = [history[n] for n in (1, 0, 2, 5, 4, 3, 8, 6, 7)]
    other = wiki.page_xml("Other", [r._replace(id=r.id + 500) for r in history[:2]], id_=9)
    crooked = wiki.write(tmp_path / "b.xml", other, wiki.page_xml("Mill", mixed))
    found = collect(QUARTER, [crooked], EditsSettings())
    assert list(found.candidates) == list(expected.candidates)
    again = "pages had revisions out of time order; they were read again, sorted by time and id."
    assert found.warnings == [f"b.xml: 1 {again}"]
    assert expected.warnings == ["a.xml: 1 pages have no revisions at all."]
    assert found.funnel.context["revisions"] == len(TEXTS) + 2


def test_disorder_after_the_quarter_is_seen_too(wiki, tmp_path):
    history = wiki.history(TEXTS)
    later = [history[-1]._replace(id=900 + n, timestamp=QUARTER.end + timedelta(days=n), parent=None) for n in range(9)]
    path = wiki.write(tmp_path / "a.xml", wiki.page_xml("Mill", [*history[:-1], *later, history[-1]]))
    found = collect(QUARTER, [path], EditsSettings())
    assert len(found.warnings) == 1
    assert found.funnel.context["revisions in the quarter"] == len(TEXTS)


def test_only_edits_of_the_quarter_are_asked_about(wiki, tmp_path):
    history = [r._replace(timestamp=QUARTER.end - timedelta(hours=2 - n)) for n, r in enumerate(wiki.history(TEXTS))]
    path = wiki.write(tmp_path / "a.xml", wiki.page_xml("Mill", history))
    now, then = (collect(q, [path], EditsSettings()) for q in (QUARTER, QUARTER.next()))
    assert [c.sample.id for c in now.candidates] == ["we-101-1"]
    assert [c.sample.id for c in then.candidates] == ["we-104-1"]
    assert then.candidates[0].sample.edition == "2026Q3"
    assert collect(QUARTER.previous(), [path], EditsSettings()).funnel.rows_in == 0


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        (
            LEAD.replace("[[river]]", "[[river (a wide stream of water that flows all the way to the sea)|river]]"),
            "markup-only",
        ),
        (LEAD + "<ref>Another book with a very long title indeed, p. 12.</ref>", "markup-only"),
        ("<ref>A book that stands alone, p. 1.</ref> {{see also|what nobody sees in it}}", "nothing-to-read"),
        (LEAD + " [http://spam.example/a/very/long/address/of/nothing/at/all?x=1]", "urls-only"),
    ],
)
def test_changes_without_a_word_are_no_candidates(dump, after, reason):
    found = collect(QUARTER, [dump(texts=[LEAD, *[after] * 4])], EditsSettings())
    assert (list(found.candidates), dropped(found)) == ([], {reason: 1})


def test_one_user_in_a_row_can_count_as_one(wiki, tmp_path):
    path = wiki.write(tmp_path / "a.xml", wiki.page_xml("Mill", wiki.history([LEAD, GOOD, GOOD, GOOD], ["A", *"BBB"])))
    assert len(collect(QUARTER, [path], EditsSettings()).candidates) == 1
    assert dropped(collect(QUARTER, [path], EditsSettings(collapse_runs=True))) == {"too-recent": 1}


def test_a_broken_dump_stops_all_with_its_name(dump):
    bad = dump("bad.xml")
    bad.write_text(bad.read_text()[:-300])
    for jobs in (1, 2):
        with pytest.raises(SourceError, match=r"bad\.xml.*after [0-9,]+ bytes"):
            collect(QUARTER, [dump("a.xml"), bad], EditsSettings(), jobs=jobs)


def test_the_same_page_in_two_dumps_is_refused(dump):
    with fails_with("duplicate-page") as caught:
        collect(QUARTER, [dump("b.xml", 6, 2), dump("a.xml", 5, 2), dump("c.xml", 9)], EditsSettings())
    assert (caught.value.what, caught.value.where) == ("page 6 ('Mill 6') is also in a.xml", "b.xml")


@pytest.mark.parametrize(("count", "jobs"), [(1, 0), (1, -1), (0, 1), (2, 1)])
def test_senseless_requests_are_refused(dump, count, jobs):
    with pytest.raises(UsageError):
        collect(QUARTER, [dump()] * count, EditsSettings(), jobs=jobs)


@pytest.mark.parametrize("name", ["max_paragraphs", "base_revisions", "paragraphs_per_revision"])
def test_senseless_settings_are_refused(name):
    with pytest.raises(ConfigError):
        replace(EditsSettings(), **{name: 0})


def test_progress_names_each_file_and_how_far_it_is(dump, monkeypatch):
    said: list[str] = []
    collect(QUARTER, [dump("a.xml"), dump("b.xml", 9, 2)], EditsSettings(), progress=said.append)
    assert said == ["a.xml: 1 pages, 9 revisions, 2 candidates", "b.xml: 2 pages, 18 revisions, 4 candidates"]
    monkeypatch.setattr(sys.modules["collectors.wikipedia.collect"], "_BETWEEN_REPORTS_S", -1.0)
    collect(QUARTER, [dump("a.xml")], EditsSettings(), progress=said.append)
    assert said[2:] == ["a.xml: 1 pages, 9 revisions so far"] * 9 + said[:1]


def test_two_revisions_are_the_same_where_all_is_or_one_text_is_missing(wiki):
    for one, other in product((None, "", "a", "b"), repeat=2):
        first, second = (wiki.history([text])[0] for text in (one, other))
        assert _is_same(first, second) is bool(one == other or not one or not other)
        for change in ({"id": 7}, {"parent": 7}, {"user": "X"}, {"timestamp": QUARTER.end}):
            assert not _is_same(first, second._replace(**change))


def test_a_page_that_is_there_twice_is_named_with_its_dump(wiki, dump, tmp_path):
    history = wiki.history(TEXTS)
    for second in (wiki.page_xml("Mill", history), wiki.page_xml("Mill renamed", history[:1])):
        path = wiki.write(tmp_path / "twice.xml", wiki.page_xml("Mill", history), second)
        with fails_with("duplicate-page") as caught:
            collect(QUARTER, [path], EditsSettings())
        assert caught.value.where.startswith(f"{path} (page 'Mill")
        assert caught.value.what == "page 5 appears twice"


@pytest.mark.parametrize("repeated", [[0], [1], [4], [8], [1, 1, 4], list(range(len(TEXTS)))])
@pytest.mark.parametrize("place", ["beside", "end"])
def test_a_revision_that_is_there_twice_decides_nothing_more(wiki, tmp_path, repeated, place):
    """A copy would count as one more revision that the edit survived, and make it accepted too early."""
    history = wiki.history(TEXTS)
    copies = [history[number] for number in repeated]
    doubled = sorted([*history, *copies], key=lambda revision: revision.id) if place == "beside" else history + copies
    once = collect(QUARTER, [wiki.write(tmp_path / "a.xml", wiki.page_xml("Mill", history))], EditsSettings())
    found = collect(QUARTER, [wiki.write(tmp_path / "b.xml", wiki.page_xml("Mill", doubled))], EditsSettings())
    assert found.candidates == once.candidates
    assert replace(found.funnel, context={}) == replace(once.funnel, context={})
    assert found.funnel.context["revisions that were there twice"] == len(repeated)
    assert found.funnel.context["revisions in the quarter"] == len(TEXTS)
    assert any("each was counted once" in warning for warning in found.warnings)


@pytest.mark.parametrize("change", [{"text": "other"}, {"user": "other"}, {"timestamp": timedelta(minutes=5)}])
def test_two_different_revisions_of_one_number_are_an_error(wiki, tmp_path, change):
    history = wiki.history(TEXTS)
    if "timestamp" in change:
        change = {"timestamp": history[3].timestamp + change["timestamp"]}
    history.insert(4, history[3]._replace(**change))
    path = wiki.write(tmp_path / "a.xml", wiki.page_xml("Mill", history))
    with pytest.raises(SourceError) as caught:
        collect(QUARTER, [path], EditsSettings())
    assert (caught.value.code, caught.value.where) == ("conflicting-revisions", f"{path} (page 'Mill')")
    assert caught.value.what == "revision 103 appears twice, with different content"
