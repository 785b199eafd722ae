"""The rule: against an oracle that looks at the whole history at once, and by what must not change a decision."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.wikipedia.edits import changed_headings, changes_more_than, paragraph_changes
from collectors.wikipedia.export import read_pages
from collectors.wikipedia.stability import MEANINGS, Decision, EditsSettings, Fate, Follower, _Pages
from collectors.wikipedia.wikitext import Kind, Revision, Splitter, collapse_runs
from hellofresh.core.quarters import Quarter
from hellofresh.tasks import get_task
from hellofresh.tasks.samples import Label
from tests.collectors.wikipedia.conftest import decide

TINY = EditsSettings(min_changed_characters=8, base_revisions=2, paragraphs_per_revision=4)
DONE = {Fate.ACCEPTED, Fate.REJECTED}

# --- an oracle: the definition, word for word, with the whole history in memory -------------------------------------


def oracle(history: list[Revision], options: EditsSettings) -> list[tuple]:
    splitter = Splitter(generation=10**9)
    snaps = [None if r.text is None else splitter.split(r.text) for r in history]
    found = []
    for i in range(1, len(history)):
        if snaps[i] is None or snaps[i - 1] is None:
            found.append((history[i].id, 1, Fate.HIDDEN_TEXT, 0, 0, None, 0, False, False))
            continue
        headings = changed_headings(snaps[i - 1], snaps[i])
        changes = paragraph_changes(snaps[i - 1], snaps[i], headings)
        for number, change in enumerate(changes, start=1):
            if len(changes) > options.max_paragraphs:
                found.append((history[i].id, number, Fate.TOO_MANY_PARAGRAPHS, 0, 0, None, 0, False, False))
            else:
                fate = oracle_fate(history, snaps, i, change, options)
                found.append((history[i].id, number, *fate, *oracle_facts(history, snaps, i, change, *fate[:2])))
    return found


def oracle_facts(history, snaps, i, change, fate, n):
    """Users of the revisions that decided, whether one restored the whole page, and whether the edit still stands."""
    stands = [change.stands_in(snap.sections.get(change.heading)) for snap in snaps[i + 1 :] if snap is not None]
    if fate not in DONE:
        return 0, False, fate is Fate.TOO_RECENT and all(stands)
    after = range(i + 1, i + n + 1)
    same = [
        max((j for j in range(k) if history[j].text == history[k].text), default=k - 1) if snaps[k] else k - 1
        for k in after
    ]
    restored = any(j < i and j != k - 1 for j, k in zip(same, after, strict=True))
    return len({history[k].user for k in after} - {None}), restored, False


def members(snap, heading):
    groups = [snap.sections[heading]] if heading in snap.sections else snap.repeated.get(heading, ())
    return {paragraph for section in groups for paragraph in section.paragraphs}


def oracle_fate(history, snaps, i, change, options):  # noqa: C901 -- the definition in one piece, to be read beside it
    def has(k, paragraph):
        return change.heading in snaps[k].sections and paragraph in snaps[k].sections[change.heading].paragraphs

    def visible_from(k):
        return next((m for m in range(k, len(snaps)) if snaps[m] is not None), None)

    me, n = history[i], options.required_revisions(snaps[i].paragraphs)
    if me.parent not in (None, history[i - 1].id):
        return Fate.PARENT_MISSING, 0, 0, None
    if any(change.heading not in snaps[k].sections for k in (i - 1, i)):
        return Fate.SECTION_AMBIGUOUS, 0, 0, None
    if not set(change.kinds) <= set(options.kinds):
        return Fate.OTHER_KIND, 0, 0, None
    if not changes_more_than(options.min_changed_characters, change.before, change.after):
        return Fate.TOO_SHORT, 0, 0, None
    if me.user is not None and me.user.lower().endswith("bot"):
        return Fate.BOT, 0, 0, None
    if any(snaps[k] is not None and change.after in members(snaps[k], change.heading) for k in range(i)):
        return Fate.RESTORES_OLD_TEXT, 0, 0, None
    if has(i, change.before):
        return Fate.PARAGRAPH_REPEATED, 0, 0, None
    if shared(change, snaps[i - 1], snaps[i]):
        return Fate.MOVED, 0, 0, None

    end = visible_from(i + n)
    window = [k for k in range(i + 1, (len(snaps) - 1 if end is None else end) + 1) if snaps[k] is not None]
    gone = next((k for k in window if not has(k, change.after)), None)
    if gone is None:
        return (Fate.TOO_RECENT, n, 0, None) if end is None else (Fate.ACCEPTED, n, n, None)
    if snaps[gone - 1] is None:
        return Fate.HIDDEN_TEXT, n, 0, None
    stood = gone - i - 1
    back = next((k for k in window if k >= gone and has(k, change.before)), None)
    if back is None:
        if end is None:
            return Fate.TOO_RECENT, n, stood, None
        return why_gone(change, snaps[gone]), n, stood, None
    if snaps[back - 1] is None:
        return Fate.HIDDEN_TEXT, n, stood, None
    if history[back].user is None or me.user is None:
        return Fate.HIDDEN_USER, n, stood, None
    if history[back].user == me.user:
        return Fate.SELF_REVERT, n, stood, None
    delay = int((history[back].timestamp - me.timestamp).total_seconds())
    end = visible_from(back + n)
    for k in range(back + 1, (len(snaps) - 1 if end is None else end) + 1):
        if snaps[k] is not None and not has(k, change.before):
            return Fate.RE_REVERTED, n, stood, delay
    return (Fate.TOO_RECENT if end is None else Fate.REJECTED), n, stood, delay


def shared(change, before, after):
    """Whether a run of changed words, longer than 50 characters, stands in another paragraph that changed."""
    old, new = change.before.split(), change.after.split()
    while old and new and old[0] == new[0]:
        old, new = old[1:], new[1:]
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    headings = {*before.order, *after.order}
    gone = {p for h in headings for p in members(before, h) - members(after, h)} - {change.before}
    come = {p for h in headings for p in members(after, h) - members(before, h)} - {change.after}
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal" and (long_run(old[a:b], come) or long_run(new[c:d], gone)):
            return True
    return False


def long_run(words, texts):
    """Try every run of the words."""
    joined = [f" {' '.join(text.split())} " for text in texts]
    runs = (" ".join(words[i:j]) for i in range(len(words)) for j in range(i + 1, len(words) + 1)) if joined else ()
    return any(f" {run} " in text for run in runs if len(run) > 50 for text in joined)


def why_gone(change, snap):
    if snap.paragraphs == 0:
        return Fate.PAGE_BLANKED
    everywhere = set().union(*(members(snap, heading) for heading in snap.order))
    if change.after in everywhere:
        return Fate.MOVED
    return Fate.REWRITTEN if change.heading in snap.sections else Fate.SECTION_AMBIGUOUS


FACTS = ("fate", "required_edits", "survived_edits", "revert_delay_s", "distinct_users", "page_reverted", "untouched")


def seen(decisions):
    """What is decided of each edit; whether the page was restored, only of those that are labels."""
    known = (d if d.fate in DONE else replace(d, page_reverted=False) for d in decisions)
    return sorted((d.revision.id, d.number, *(getattr(d, name) for name in FACTS)) for d in known)


# --- histories that are edited, reverted, moved, renamed, blanked, hidden -------------------------------------------

WORDS = ["alpha beta", "river stone", "quiet harbour", "* item of a list", "seven green hills", "x"]
USERS = ["Ann", "Ben", "Cleo", "HelperBot", None]


@st.composite
def histories(draw, *, longest: int = 30):
    page = [("", ["lead words", "more lead"]), ("One", ["first", "second", "third"]), ("Two", ["fourth"])]
    states: list[str | None] = [render(page)]
    pages = [page]
    for _ in range(draw(st.integers(1, longest))):
        page = draw(next_page(pages))
        pages.append(page)
        states.append(render(page))
    hidden = draw(st.sets(st.integers(0, len(states) - 1), max_size=3))
    users = draw(st.lists(st.sampled_from(USERS), min_size=len(states), max_size=len(states)))
    return [None if n in hidden else text for n, text in enumerate(states)], users


@st.composite
def next_page(draw, pages):
    kind = draw(st.sampled_from(["edit"] * 5 + ["revert"] * 4 + ["part", "move", "rename", "double", "blank", "same"]))
    if kind == "revert":
        return draw(st.sampled_from(pages[-5:]))
    page = [(heading, list(paragraphs)) for heading, paragraphs in pages[-1]]
    if kind == "blank":
        return []
    if not page or kind == "same":
        return page or pages[0]
    _, paragraphs = page[draw(st.integers(0, len(page) - 1))]
    if kind in {"edit", "part"} and paragraphs:
        old = draw(st.sampled_from(pages))
        choices = [p for _, texts in old for p in texts] if kind == "part" else []
        text = draw(st.sampled_from(choices or WORDS)) + ("" if kind == "part" else f" {draw(st.integers(0, 9))}")
        paragraphs[draw(st.integers(0, len(paragraphs) - 1))] = text
    elif kind == "move" and paragraphs:
        page[draw(st.integers(0, len(page) - 1))][1].append(paragraphs.pop())
    elif kind == "rename" and len(page) > 1:
        page[-1] = (draw(st.sampled_from(["Two", "Three"])), page[-1][1])
    elif kind == "double":
        page.append((draw(st.sampled_from(["One", "Four"])), [draw(st.sampled_from(WORDS))]))
    return page


def render(page) -> str:
    return "\n\n".join(
        (f"== {heading} ==\n\n" if heading else "") + "\n\n".join(paragraphs) for heading, paragraphs in page
    )


@settings(max_examples=150, deadline=None)
@given(made=histories())
def test_decisions_equal_the_oracles(wiki, made):
    history = wiki.history(*made)
    assert seen(decide(history, TINY)) == sorted(oracle(history, TINY), key=lambda row: row[:2])
    follower = Follower(TINY)
    for revision in history:
        follower.add(revision)
    left = [(d.revision.id, d.number) for d in follower.finish()]
    assert left == sorted(left)
    assert follower.is_open({id_ for id_, _ in left}) is bool(left) and not follower.is_open({1})


@pytest.mark.parametrize(("between", "known"), [(98, True), (99, True), (100, False)])
def test_a_page_is_recognised_within_a_hundred_revisions(between, known):
    pages = _Pages()
    assert pages.add(7, 0) is None
    assert [pages.add(100 + n, 1 + n) for n in range(between)] == [None] * between
    assert pages.add(7, between + 1) == (0 if known else None)
    assert pages.add(7, between + 2) == between + 1


def test_the_generated_histories_reach_every_fate_of_the_rule(wiki):
    reached: Counter[Fate] = Counter()

    @settings(max_examples=150, deadline=None, database=None, derandomize=True)
    @given(made=histories(longest=40))
    def gather(made):
        reached.update(d.fate for d in decide(wiki.history(*made), TINY))

    gather()
    never_here = {
        Fate.PARENT_MISSING,
        Fate.TOO_MANY_PARAGRAPHS,
        Fate.URLS_ONLY,
        Fate.MARKUP_ONLY,
        Fate.NOTHING_TO_READ,
        Fate.UNKNOWN_TEMPLATE,
        Fate.LITTLE_TO_READ,
        Fate.OTHER_KIND,
    }
    assert set(Fate) - set(reached) <= never_here


@settings(max_examples=80, deadline=None)
@given(made=histories(), cut=st.integers(1, 30))
def test_appending_revisions_never_changes_a_decided_label(wiki, made, cut):
    history = wiki.history(*made)
    before = {(d.revision.id, d.number): d for d in decide(history[:cut], TINY) if d.fate is not Fate.TOO_RECENT}
    after = {(d.revision.id, d.number): d for d in decide(history, TINY)}
    assert {key: after[key] for key in before} == before


@settings(max_examples=60, deadline=None)
@given(made=histories(), start=st.integers(0, 20), hours=st.integers(1, 20))
def test_a_quarter_takes_out_the_edits_of_its_time_and_leaves_their_fates(wiki, made, start, hours):
    quarter = Quarter(2026, 2)
    moved = [
        r._replace(timestamp=quarter.start + timedelta(hours=n - start) * (2200 // hours))
        for n, r in enumerate(wiki.history(*made))
    ]
    inside = {r.id for r in moved if r.timestamp in quarter}
    every = [row for row in seen(decide(moved, TINY)) if row[0] in inside]
    assert seen(decide(moved, TINY, quarter)) == every


def labels(decisions):
    return {(d.revision.id, d.number): d for d in decisions if d.fate in DONE}


@settings(max_examples=80, deadline=None)
@given(made=histories())
def test_so_many_colluding_editors_turn_a_label_round_and_one_fewer_does_not(wiki, made):
    given = (one for one in wiki.history(*made) if one.text is not None)  # of a hidden user no edit is taken back
    history = [one._replace(parent=None, user=one.user or "Dan") for one in given]
    for key, decision in labels(decide(history, TINY)).items():
        stayed = decision.fate is Fate.ACCEPTED
        facts = {"required_edits": decision.required_edits, "survived_edits": decision.survived_edits}
        cost = get_task("wikipedia-edits").flip_cost(Label("", int(stayed), facts))
        place = next(k for k, one in enumerate(history) if one.id == key[0])
        text = history[place - 1].text if stayed else history[place].text
        for editors, flips in ((cost, True), (cost - 1, False)):
            ring = [history[place]._replace(id=1000 + k, user=f"Ring {k}", text=f"{text}\n\n== Pad ==\n\nof {k}")
                    for k in range(editors)]  # fmt: skip
            after = labels(decide([*history[: place + 1], *ring, *history[place + 1 :]], TINY)).get(key)
            assert (after is not None and after.fate is not decision.fate) is flips, (key, editors, after)


# --- single cases, written out --------------------------------------------------------------------------------------

GOOD, BAD = "The river rises in the hills.", "The river rises in the hills, as my uncle has always told everybody."


def fates(wiki, texts, users=None, options=TINY):
    return [d.fate for d in decide(wiki.history(texts, users), options)]


def page(*paragraphs):
    return "\n\n".join(paragraphs)


def test_a_paragraph_cut_in_two_was_moved_even_if_touched_up(wiki):
    first = "The mill by the bridge was built of red stone in the year of the flood."
    second = "Its wheel turned until the last miller left, and nobody has ground a sack of corn since then."
    for later in (second, second.replace("sack of corn", "single sack of rye")):
        assert fates(wiki, [f"{first} {second}", *[page(first, later)] * 5]) == [Fate.MOVED]


def test_what_is_new_in_two_paragraphs_at_once_did_not_move(wiki):
    first, second = "The mill by the bridge is old.", "The bridge by the mill is older."
    longer = page(
        first + " A flood took its wheel in the year that nobody here likes to talk about.",
        second + " Three kings have ridden over it, and one of them has even paid the toll.",
    )
    assert fates(wiki, [page(first, second), *[longer] * 5]) == [Fate.ACCEPTED] * 2


def test_white_space_makes_no_difference_to_what_is_put_back(wiki):
    spaced = GOOD.replace(" ", "  ").replace("rises", "\nrises")
    assert Fate.REJECTED in fates(wiki, [GOOD, BAD, spaced, GOOD, spaced], list("ABCDE"))


@pytest.mark.parametrize(
    ("texts", "users", "fate"),
    [
        ([GOOD, BAD, GOOD, GOOD, GOOD], "ABBCD", Fate.SELF_REVERT),
        ([GOOD, BAD, GOOD, "Else.", GOOD], "ABCDE", Fate.RE_REVERTED),
        ([GOOD, BAD, BAD + " More.", BAD, GOOD], "ABCDE", Fate.REWRITTEN),
        ([GOOD, BAD, "", "", GOOD], "ABCDE", Fate.PAGE_BLANKED),
        ([GOOD, None, GOOD], "ABC", Fate.HIDDEN_TEXT),
        ([GOOD, BAD, None, GOOD, GOOD], "ABCDE", Fate.HIDDEN_TEXT),
        ([GOOD, BAD, BAD, BAD], ["A", "HelperBot", "C", "D"], Fate.BOT),
        ([page(GOOD, GOOD), page(GOOD, BAD), page(GOOD, BAD)], "ABC", Fate.PARAGRAPH_REPEATED),
        ([f"== H ==\n{GOOD}\n== H ==\nx", f"== H ==\n{BAD}\n== H ==\nx"], "AB", Fate.SECTION_AMBIGUOUS),
        ([f"== H ==\n{GOOD}", f"== H ==\n{BAD}", *[f"== I ==\n{BAD[:-2]}"] * 2], "ABCD", Fate.SECTION_AMBIGUOUS),
        ([f"== H ==\n{GOOD}", f"== H ==\n{BAD}", *[f"== I ==\n{BAD}"] * 2], "ABCD", Fate.MOVED),
        ([f"{{{{x|{GOOD}}}}}", f"{{{{x|{BAD}}}}}"], "AB", Fate.OTHER_KIND),
        ([GOOD, GOOD[:-1] + "?"], "AB", Fate.TOO_SHORT),
    ],
)
def test_each_reason_to_discard(wiki, texts, users, fate):
    found = {d.revision.id: d.fate for d in decide(wiki.history(texts, list(users)), TINY)}
    assert found[101] is fate


def test_a_revision_of_another_parent_is_no_edit_of_the_one_before(wiki):
    history = wiki.history([GOOD, BAD, BAD, BAD])
    history[1] = history[1]._replace(parent=42)
    assert [d.fate for d in decide(history, TINY)] == [Fate.PARENT_MISSING]


@pytest.mark.parametrize("count", [5, 6])
def test_more_than_five_changed_paragraphs_are_dropped_together(wiki, count):
    before = page(*(f"{GOOD} {n}" for n in range(count)))
    after = page(*(f"{BAD} {n}" for n in range(count)))
    found = fates(wiki, [before, *[after] * 4])
    assert found == [Fate.ACCEPTED if count <= 5 else Fate.TOO_MANY_PARAGRAPHS] * count


SENTENCE = "A long sentence about the harbour and all the ships that have ever been in it."
FIRST = "The river rises in the hills, runs through five villages and a wood, and ends in a lake without a name."


@pytest.mark.parametrize(
    ("before", "after", "fate"),
    [
        (page(f"{FIRST} {SENTENCE}", "One."), page(FIRST, f"One. {SENTENCE}"), Fate.MOVED),
        (page(f"{FIRST} {SENTENCE}", "One."), page(FIRST, SENTENCE, "One."), Fate.MOVED),
        (page(FIRST, SENTENCE), page(f"{FIRST} {SENTENCE}"), Fate.MOVED),
        (f"{FIRST} {SENTENCE}\n== H ==\nOne.", f"{FIRST}\n== H ==\nOne. {SENTENCE}", Fate.MOVED),
        (page(f"{GOOD} A short phrase.", "One."), page(GOOD, "One. A short phrase."), Fate.ACCEPTED),
    ],
    ids=["to-another", "split", "merged", "to-another-section", "a-short-phrase"],
)
def test_a_sentence_that_goes_from_one_paragraph_to_another_says_nothing(wiki, before, after, fate):
    assert set(fates(wiki, [before, *[after] * 4])) == {fate}


@pytest.mark.parametrize(
    ("texts", "users", "chosen", "usual", "kept"),
    [
        ([GOOD, BAD, *[GOOD] * 4], None, {"keep_restored": True}, Fate.RESTORES_OLD_TEXT, Fate.ACCEPTED),
        ([GOOD, BAD, BAD, BAD], ["A", "HelperBot", "C", "D"], {"keep_bots": True}, Fate.BOT, Fate.ACCEPTED),
        ([f"* {GOOD}", *[f"* {BAD}"] * 3], None, {"kinds": (Kind.PROSE,)}, Fate.ACCEPTED, Fate.OTHER_KIND),
    ],
)
def test_old_text_bots_and_kinds_may_be_chosen(wiki, texts, users, chosen, usual, kept):
    without, with_it = fates(wiki, texts, users), fates(wiki, texts, users, replace(TINY, **chosen))
    assert usual in without and usual not in with_it and kept in with_it


def test_a_run_of_one_user_can_count_as_one_revision(wiki):
    history = wiki.history([GOOD, "x y z", BAD, BAD + " And so on."], ["A", "B", "B", "C"])
    collapsed = list(collapse_runs(history))
    assert [r.id for r in collapsed] == [100, 102, 103]
    assert [r.parent for r in collapsed] == [None, 100, 102]
    assert next(d.change.before for d in decide(collapsed, TINY)) == GOOD


@given(made=histories())
@settings(max_examples=50, deadline=None)
def test_collapsing_runs_twice_is_collapsing_once_and_keeps_the_last_state(wiki, made):
    history = wiki.history(*made)
    once = list(collapse_runs(history))
    assert list(collapse_runs(once)) == once
    assert once[-1].text == history[-1].text
    assert all(a.user != b.user or a.user is None for a, b in pairwise(once))


def test_every_reason_has_its_meaning():
    assert set(MEANINGS) == set(Fate) - DONE


def test_memory_is_bounded_by_the_window_not_by_the_history(wiki):
    follower = Follower(TINY)
    lead = "lead " * 50
    for revision in wiki.history([f"{lead}{n} {n * 7919}" for n in range(3000)]):
        follower.add(revision)
    assert sum(len(watches) for watches in follower._watched.values()) <= TINY.base_revisions + 1
    assert sum(len(watches) for watches in follower._due.values()) <= 2 * TINY.base_revisions + 2
    splitter = follower._splitter
    assert len(splitter._leads.young) + len(splitter._leads.old) <= 2 * 32


# --- real histories against an independent finder of reverts --------------------------------------------------------

REAL = ["anarchism_2005_1000revs.xml.xz", "anarchism_2008_1000revs.xml.xz", "rio_grande_247revs.xml.xz"]
LOOSE = EditsSettings(max_paragraphs=10**6, kinds=tuple(Kind), keep_restored=True, keep_bots=True)


@pytest.mark.integration
@pytest.mark.parametrize("name", REAL)
def test_every_whole_page_revert_of_an_edit_within_its_window_is_seen_as_put_back(shared_data, thorough, name):
    read = None if thorough else 350
    [history] = [list(p.revisions)[:read] for p in read_pages(shared_data / "wikipedia" / name)]
    decided: dict[int, list] = {}
    for decision in decide(history, LOOSE):
        decided.setdefault(decision.revision.id, []).append(decision)
    checked = 0
    recorded = json.loads(
        (Path(__file__).parent / "data" / "reverts.json").read_text()
    )  # by benchmarks/record_histories.py
    for reverting, first, target in recorded[name]:
        if target != first - 1 or first >= len(history):
            continue
        for decision in decided.get(history[first].id, []):
            if decision.required_edits and reverting <= first + decision.required_edits:
                checked += 1
                assert decision.fate in {Fate.REJECTED, Fate.RE_REVERTED, Fate.SELF_REVERT, Fate.TOO_RECENT}
                assert decision.survived_edits < reverting - first
    assert checked > 5


@pytest.mark.integration
@pytest.mark.parametrize("name", REAL[1:])
def test_real_histories_are_decided_as_the_oracle_does(shared_data, name):
    [history] = [list(p.revisions)[:200] for p in read_pages(shared_data / "wikipedia" / name)]
    assert seen(decide(history, EditsSettings())) == sorted(oracle(history, EditsSettings()), key=lambda row: row[:2])


# --- Edits of one paragraph are of one lineage, whatever became of it in between, and whatever comes later.


LEAD = "The old mill by the river was built of grey stone in the year of the great flood, and it has two wheels."
MORE = "A second paragraph tells of the miller, who kept forty geese and a goat, and never once went to town."
ADDED = " Its roof was taken off in a storm and put on again by the miller's three daughters in one summer."
NEW = "Nobody now remembers when stones were first laid here, but deeds name a watermill as early as 1204, with a weir."
OTHER = "Nothing of this was ever here before, since people who came by wrote all they knew in books of their own."

BOTH = f"{LEAD}\n\n{MORE}"


def edits(wiki, *texts: str | None) -> list[Decision]:
    settings = EditsSettings(base_revisions=1, keep_restored=True)
    return [one for one in decide(wiki.history(texts), settings) if one.lineage]


@pytest.mark.parametrize(
    ("texts", "same"),
    [
        pytest.param((LEAD, LEAD + ADDED, LEAD), True, id="revert"),
        pytest.param((LEAD, LEAD + ADDED, LEAD + ADDED + NEW), True, id="next edit"),
        pytest.param((LEAD, LEAD + ADDED, NEW, NEW + OTHER), True, id="rewrite"),
        pytest.param((LEAD, LEAD + ADDED, f"== A ==\n{LEAD}{ADDED}", f"== A ==\n{LEAD}{ADDED}{NEW}"), True, id="move"),
        pytest.param((LEAD, LEAD + ADDED, None, LEAD + ADDED, NEW + LEAD), True, id="hidden in between"),
        pytest.param((LEAD, LEAD + ADDED, "", LEAD + ADDED, NEW + LEAD), True, id="blanked in between"),
        pytest.param((BOTH, f"{LEAD}{ADDED}\n\n{MORE}", f"{LEAD}{ADDED}\n\n{MORE}{NEW}"), False, id="other"),
        pytest.param(
            (BOTH, f"{LEAD}{ADDED}\n\n{MORE}", f"{LEAD}\n\n{MORE}{ADDED}", f"{LEAD}\n\n{MORE}{ADDED}{NEW}"),
            True,
            id="words moved",
        ),
    ],
)  # fmt: skip
def test_edits_of_one_paragraph_share_a_name(wiki, texts: tuple[str | None, ...], same: bool) -> None:
    found = edits(wiki, *texts)
    assert len(found) >= 2
    assert bool(set(found[0].lineage) & set(found[-1].lineage)) is same


def test_the_lineage_of_an_edit_does_not_depend_on_what_comes_after(wiki) -> None:
    texts = (BOTH, f"{LEAD}{ADDED}\n\n{MORE}", f"{LEAD}{ADDED}\n\n{MORE}{NEW}", f"{LEAD}{ADDED} {MORE}{NEW}", LEAD,
             f"{LEAD}\n\n{OTHER}{MORE}", f"{OTHER}{MORE}")  # fmt: skip
    whole = {(one.revision.id, one.number): one.lineage for one in edits(wiki, *texts)}
    assert len(whole) >= 3
    for count in range(2, len(texts)):
        for one in edits(wiki, *texts[:count]):
            assert one.lineage == whole[one.revision.id, one.number]
