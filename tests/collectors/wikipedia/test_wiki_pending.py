"""Edits that later revisions will decide: found where nobody has touched them, and only where they are asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from collectors.wikipedia.collect import EditsSettings, collect
from hellofresh.core.quarters import Quarter

QUARTER = Quarter(2026, 2)
LEAD = "The '''mill''' stands on the [[river]] and was built in 1780."
GOOD = LEAD.replace("1780", "1780 by the monks of the abbey, who ground the corn of five villages there")
OTHER = GOOD.replace("five villages", "fifty villages and of the two towns beyond the hills, as the chronicle says")


@pytest.fixture
def dump(wiki, tmp_path):
    def make(*texts: str):
        history = wiki.history(texts, [f"User {n}" for n in range(len(texts))])
        return wiki.write(tmp_path / f"{len(texts)}.xml", wiki.page_xml("Mill", history))

    return make


def pending(path):
    return [sample.id for sample in collect(QUARTER, [path], EditsSettings(), pending=True).pending]


def test_an_edit_is_pending_until_its_later_revisions_are_there(dump):
    assert pending(dump(LEAD, GOOD)) == ["we-101-1"]
    assert pending(dump(LEAD, GOOD, GOOD + "\n\nTwo.")) == ["we-101-1"]
    decided = collect(QUARTER, [dump(LEAD, GOOD, GOOD + "\n\nTwo.", GOOD + "\n\n2")], EditsSettings(), pending=True)
    assert [item.sample.id for item in decided.candidates] == ["we-101-1"]
    assert decided.pending == []


def test_an_edit_that_was_put_back_or_changed_is_not_pending_although_it_is_not_decided(dump):
    assert pending(dump(LEAD, GOOD, LEAD)) == []
    assert pending(dump(LEAD, GOOD, OTHER)) == ["we-102-1"]


def test_a_sample_is_the_same_before_and_after_its_decision(dump):
    (before,) = collect(QUARTER, [dump(LEAD, GOOD)], EditsSettings(), pending=True).pending
    for fate in ((GOOD + "\n\n2", GOOD + "\n\n3"), (LEAD, LEAD + "\n\n2", LEAD + "\n\n3")):
        (after,) = collect(QUARTER, [dump(LEAD, GOOD, *fate)], EditsSettings()).candidates
        assert after.sample == before


def test_what_is_collected_besides_does_not_change(dump):
    path = dump(LEAD, GOOD, GOOD + "\n\nTwo.", GOOD + "\n\n2", OTHER)
    without, with_them = (collect(QUARTER, [path], EditsSettings(), pending=asked) for asked in (False, True))
    assert without.pending is None
    assert len(with_them.pending) == 1
    assert replace(with_them, pending=None) == without
