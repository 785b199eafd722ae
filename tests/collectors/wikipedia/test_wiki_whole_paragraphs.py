"""Paragraphs put in or taken out whole, when they are asked about; and what is known of a decision besides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from collectors.wikipedia.stability import EditsSettings, Fate
from hellofresh.core.errors import ConfigError
from tests.collectors.wikipedia.conftest import decide

WHOLE = EditsSettings(min_changed_characters=8, base_revisions=2, whole_paragraphs=True)
ONE, TWO, NEW = "The first paragraph.", "The second paragraph.", "Put in whole between the two of them."
SHORT, LONG = f"{ONE}\n\n{TWO}", f"{ONE}\n\n{NEW}\n\n{TWO}"


def fates(wiki, texts, users=None, options=WHOLE):
    return {d.revision.id - 100: d.fate for d in decide(wiki.history(texts, users), options)}


def test_they_are_not_asked_about_unless_chosen(wiki):
    assert fates(wiki, [SHORT, *[LONG] * 4], options=replace(WHOLE, whole_paragraphs=False)) == {}


@pytest.mark.parametrize("before, after", [(SHORT, LONG), (LONG, SHORT)], ids=["put-in", "taken-out"])
def test_what_stays_is_accepted_and_what_is_undone_is_rejected(wiki, before, after):
    assert fates(wiki, [before, *[after] * 3]) == {1: Fate.ACCEPTED}
    assert fates(wiki, [before, after, *[before] * 3], list("ABCDE"))[1] is Fate.REJECTED
    assert fates(wiki, [before, after, *[before] * 3], list("ABBCD"))[1] is Fate.SELF_REVERT
    assert fates(wiki, [before, after, before, after, after], list("ABCDE"))[1] is Fate.RE_REVERTED
    assert fates(wiki, [before, after])[1] is Fate.TOO_RECENT


def test_undoing_one_is_itself_old_text(wiki):
    assert fates(wiki, [SHORT, LONG, *[SHORT] * 3], list("ABCDE"))[2] is Fate.RESTORES_OLD_TEXT
    assert fates(wiki, [LONG, SHORT, *[LONG] * 3], list("ABCDE"))[2] is Fate.RESTORES_OLD_TEXT


def test_a_paragraph_rewritten_or_moved_is_neither_kept_nor_undone(wiki):
    rewritten = LONG.replace("between", "amid")
    assert fates(wiki, [SHORT, LONG, rewritten, SHORT, SHORT], list("ABCDE"))[1] is Fate.REWRITTEN
    moved = f"{SHORT}\n\n== H ==\n{NEW}"
    headed = f"{LONG}\n\n== H ==\nx"
    assert fates(wiki, [f"{SHORT}\n\n== H ==\nx", headed, f"{moved}\n\nx"], list("ABC"))[1] is Fate.MOVED
    assert fates(wiki, [headed, f"{moved}\n\nx"])[1] is Fate.MOVED


def test_users_of_the_window_are_counted_once_and_hidden_ones_not(wiki):
    good, bad = "The river rises in the hills.", "The river rises in the hills, as everybody knows."
    tiny = replace(WHOLE, whole_paragraphs=False, base_revisions=4)
    [decision] = decide(wiki.history([good, *[bad] * 6], ["A", "B", "C", None, "C", "D", "E"]), tiny)
    assert (decision.fate, decision.distinct_users, decision.page_reverted) == (Fate.ACCEPTED, 2, False)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_page_put_back_whole_is_told_from_a_paragraph_put_back(wiki, elsewhere):
    good, bad = "The river rises in the hills.", "The river rises in the hills, as everybody knows."
    after = f"{good}\n\nAnother." if elsewhere else good
    history = wiki.history([good, bad, *[after] * 3], list("ABCDE"))
    first = next(d for d in decide(history, replace(WHOLE, whole_paragraphs=False)) if d.revision.id == 101)
    assert (first.fate, first.page_reverted) == (Fate.REJECTED, not elsewhere)


def test_no_kind_at_all_is_refused():
    with pytest.raises(ConfigError, match="at least one of prose"):
        EditsSettings(kinds=())
