"""The sentences about who is ahead, whatever the standings are."""

from __future__ import annotations

import re
from dataclasses import asdict, replace
from itertools import combinations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hellofresh.results.board.schema import TABLES
from hellofresh.results.board.system_rows import SystemFacts
from hellofresh.results.standings import Pair, Standing
from leaderboard.components.labels import Links
from leaderboard.components.scale import plain_scale
from leaderboard.components.standings import Line, usual
from leaderboard.data.board import Board, BoardEntry, MetricValue, ScoreCell, SplitKey
from leaderboard.views.compare import Lead, how_sure, lead_of

NOWHERE = Links({}, "index.html")
"""Links of a site without any page."""

SPLIT = SplitKey("2023Q2", "x-notes")
F1 = st.sampled_from([0.0, 0.3, 0.48, 0.5, 0.667, 1.0])
DIFFERENCES = st.one_of(st.none(), st.sampled_from([-0.5, -0.184, -1e-9, 0.0, 1e-9, 0.1, float("nan")]))
P_VALUES = st.sampled_from([0.0, 0.016, 0.049, 0.05, 0.4, 1.0])


def line(name: str, f1: float, kind: str, rank: int, group: int) -> Line:
    entry = BoardEntry(name, "T", "run", kind, "none" if kind == "baseline" else "zero-shot", name, 0, name)
    value = MetricValue("f1", f1, max(0.0, f1 - 0.1), min(1.0, f1 + 0.1))
    result = ScoreCell(entry, "single", "all", False, "unknown", "", 9, 9, 9, 0, 0, (value,), "w")
    standing = Standing(name, rank, 1, 9, 0.5, group, 9, 9, False) if rank else None
    return Line(result, rank, standing, None)


def pair(one: str, two: str, difference: float, p_value: float) -> Pair:
    low, high = (difference - 0.01, difference + 0.01) if p_value < 0.05 else (-0.9, 0.9)
    return Pair(one, two, difference, low, high, p_value, p_value, "all", 9, 1, 1, 1, 1)


def said(lines: list[Line], pairs: list[Pair]) -> str | None:
    keys = {"edition": SPLIT.edition, "task": SPLIT.task, "split": SPLIT.kind}
    table = pl.DataFrame([keys | asdict(one) for one in pairs], schema=TABLES["pairs"].schema)
    html = how_sure(
        lines,
        Board(_tables={"pairs": table, "card": TABLES["card"].schema.to_frame()}),
        SPLIT,
        plain_scale(SPLIT.task),
        NOWHERE,
    )
    return (
        None if html is None else " ".join(re.sub(r"<[^>]*>", "", re.sub("</(li|p|summary)>", " ", str(html))).split())
    )


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_the_sentences_say_what_the_standings_say_for_every_shape(data: st.DataObject) -> None:
    systems = [f"model-{k}" for k in range(data.draw(st.integers(0, 4)))]
    baselines = ["always-yes", "rule"][: data.draw(st.integers(0, 2))]
    some_rank = data.draw(st.booleans())
    lines = [line(name, data.draw(F1), "submission", k + 1 if some_rank else 0, 1 + k // 2)
             for k, name in enumerate(systems)]  # fmt: skip
    lines += [line(name, data.draw(F1), "baseline", 0, 0) for name in baselines]
    pairs = {}
    for one, two in combinations([*systems, *baselines], 2):
        difference = data.draw(DIFFERENCES)
        if difference is not None:
            pairs[one, two] = pair(one, two, difference, data.draw(P_VALUES))
    text = said(lines, list(pairs.values()))
    if not lines:
        assert text is None
        return
    assert text is not None
    kind = "submission" if systems else "baseline"
    same = [one for one in lines if one.result.entry.kind == kind]
    best = min(
        same, key=lambda one: (one.rank or 10**6, -one.result.headline.value, one.result.entry)
    ).result.entry.name
    assert best in text.split(".")[0] + text.split(".")[1]
    assert ("No system is ranked here" in text) == (not systems)

    def lead(other: str) -> Lead:
        there, back = pairs.get((best, other)), pairs.get((other, best))
        return lead_of(there if there is not None else back.turned() if back is not None else None)

    for other in (*systems, *baselines):
        assert not re.search(rf"lead over {re.escape(best)} ", text)
        if f"Its lead over {other} is significant" in text:
            assert lead(other) is Lead.SIGNIFICANT
        if f"Its lead over {other} is not significant" in text:
            assert lead(other) is Lead.NOT_SIGNIFICANT
        if f"Its lead over {other} cannot be tested" in text:
            assert lead(other) is Lead.UNTESTED
    assert not re.search(r"(lead|better)[^.]*\(\N{MINUS SIGN}", text)
    if systems and baselines:
        leads = {name: lead(name) for name in baselines}
        tested = [name for name, found in leads.items() if found is not Lead.UNTESTED]
        assert ("cannot be compared with the baselines" in text) == (not tested)
        assert ("significantly worse than the baseline" in text) == (Lead.WORSE in leads.values())
        below = leads.get("always-yes") in {Lead.BEHIND, Lead.WORSE}
        assert ("below always-yes" in text) == below
        assert not tested or any(name in text for name in tested)


def test_a_leader_that_is_significantly_worse_than_a_baseline_is_said_to_be_so() -> None:
    lines = [line("my-model", 0.483, "submission", 1, 1), line("always-yes", 0.667, "baseline", 0, 0)]
    assert said(lines, [pair("always-yes", "my-model", 0.184, 0.016)]) == (
        "my-model ranks first. The baseline always-yes is significantly better. "
        "my-model has the highest F1, 0.483 (0.38 to 0.58). It is significantly worse than the baseline always-yes "
        "(\N{MINUS SIGN}0.184, 95% interval \N{MINUS SIGN}0.194 to \N{MINUS SIGN}0.174, p = 0.016, adjusted for all "
        "pairs). It is below always-yes: one answer for every sample gives a higher F1. Compare the two. "
        "Where it fails."
    )


def test_what_the_table_hides_at_first_is_counted_and_not_named() -> None:
    def uploaded(one: Line) -> Line:
        entry = one.result.entry._replace(provenance="uploaded")
        return replace(one, result=replace(one.result, entry=entry))

    first, second, third = (line(name, 0.6, "submission", k, k) for k, name in enumerate(("one", "two", "three"), 1))
    text = str(said([uploaded(first), second, third], []))
    assert text.startswith("two leads; its lead over the next is untested. 1 uploaded system ranks above it. ")
    assert "one" not in text.partition("above it.")[0].replace("one ranks", "") and "one has" not in text
    text = str(said([first, uploaded(second), third], []))
    assert "uploaded" not in text and text.startswith("one leads")
    assert said([uploaded(first), uploaded(second)], []) == "Only uploads; answers can be looked up."


def test_an_upload_leads_a_prospective_split_and_gives_way_to_a_run_on_a_main_one() -> None:
    def uploaded(one: Line, *, hollow: bool) -> Line:
        facts = SystemFacts(one.result.entry.system, "", "", hollow, "", 9, None, None, None, None, "")
        entry = one.result.entry._replace(provenance="uploaded")
        return replace(one, result=replace(one.result, entry=entry), facts=facts)

    first, second = (line(name, 0.6, "submission", k, k) for k, name in enumerate(("one", "two"), 1))
    assert usual([uploaded(first, hollow=False), second]) == [uploaded(first, hollow=False), second]
    assert usual([uploaded(first, hollow=True), second]) == [second]


LEADS = {
    (0.1, 0.016): "one is significantly better than the next.",
    (0.1, 0.4): "one leads, but not significantly.",
    (0.0, 1.0): "one leads, level with the next.",
    (-0.1, 0.4): "one ranks first, but not significantly.",
    (-0.1, 0.016): "one ranks first, but the next is significantly ahead on their common samples.",
}


@pytest.mark.parametrize(("difference", "p_value"), LEADS)
def test_the_verdict_is_one_short_sentence_without_brackets(difference: float, p_value: float) -> None:
    lines = [line("one", 0.6, "submission", 1, 1), line("two", 0.6, "submission", 2, 1)]
    short, _, more = str(said(lines, [pair("one", "two", difference, p_value)])).partition(" one has the highest F1")
    assert short == LEADS[difference, p_value]
    assert more and len(short) < 100
