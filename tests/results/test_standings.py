"""Who is ahead: one rule, and whoever shows it or recomputes it says the same."""

from __future__ import annotations

from dataclasses import asdict, replace
from itertools import combinations, pairwise

import numpy as np
import polars as pl
import pytest

import hellofresh as hf
from hellofresh.core.quarters import Quarter
from hellofresh.results.analyses.order import ranking
from hellofresh.results.board.schema import TABLES
from hellofresh.results.split.arrays import panel_of
from hellofresh.results.split.panel import NOT_ASKED, SINGLE, EntrySection, Panel, PromptOutputs, System
from hellofresh.results.standings import PAIRS, Pair, Standings, standings_of
from hellofresh.tasks.samples import Label
from leaderboard.data.board import Board, SplitKey
from tests.analyses.synthetic import Builder
from verifier import scores as verified
from verifier.content import Content
from verifier.manifest import ManifestFile
from verifier.statistics import OwnMetric, first_places

QUARTER = Quarter(2023, 2)
FEW = 200
"""Resamples."""
KINDS = (("language-model", "zero-shot", False), ("submission", "other", False), ("language-model", "placebo", False),
         ("baseline", "none", False), ("language-model", "zero-shot", True))  # fmt: skip


def system(name: str, verdicts: np.ndarray, kind: str = "submission", regime: str = "other",
           smoke_test: bool = False) -> System:  # fmt: skip
    said = PromptOutputs.of("single", verdicts)
    return System(
        name, name, f"harness/{name}", (said,), system=name, team="T", provenance="run", kind=kind, regime=regime,
        smoke_test=smoke_test, origin=name,
    )  # fmt: skip


def panel(labels: np.ndarray, groups: np.ndarray, systems: list[System]) -> Panel:
    release = Builder().release(labels.size)
    samples = [replace(one, group=f"x-{group}") for one, group in zip(release.samples, groups, strict=True)]
    known = {one.id: Label(one.id, int(label), {}) for one, label in zip(samples, labels, strict=True)}
    return replace(panel_of(release.task, QUARTER, samples, known, []), systems=tuple(systems))


def random_panel(seed: int) -> Panel:
    """Of any shape: few or many systems and groups, doubles, silence, incomplete runs, all kinds of entries."""
    random = np.random.default_rng(seed)
    n, number = int(random.integers(2, 61)), int(random.integers(1, 8))
    labels, groups = random.random(n) < random.choice([0.2, 0.5, 0.9]), random.integers(0, random.integers(1, n + 1), n)
    systems: list[System] = []
    for k in range(number):
        if systems and random.random() < 0.2:
            verdicts = systems[int(random.integers(len(systems)))].headline.answers.copy()
        else:
            right = random.random(n) < random.choice([0.0, 0.3, 0.5, 0.7, 0.9, 1.0])
            verdicts = np.where(right, labels, ~labels).astype(np.int8)
            verdicts[random.random(n) < random.choice([0.0, 0.1])] = -1
            verdicts[random.random(n) < random.choice([0.0, 0.05])] = -2
            verdicts[random.random(n) < random.choice([0.0, 0.0, 0.1, 0.7])] = NOT_ASKED
        systems.append(system(f"system-{k}", verdicts, *KINDS[int(random.choice(5, p=[0.4, 0.2, 0.1, 0.2, 0.1]))]))
    return panel(labels, groups, systems)


def recomputed(made: Panel) -> tuple[verified.RankedEntries, dict[str, float]]:
    """As `release verify --figure` does from published predictions and labels; and who is first, how probably."""
    content = Content(ManifestFile({}, ""), made.task.classes, labels=made.labels)
    content.groups = np.unique([one.group for one in made.samples], return_inverse=True)[1].astype(np.int32)
    content.judged = np.ones(made.labels.size, dtype=np.bool_)
    contenders = []
    for one in made.systems:
        answers = content.answers[one.origin, SINGLE] = np.where(one.headline.answers == -2, -1, one.headline.answers)
        row = {"kind": one.kind, "regime": one.regime, "smoke_test": one.smoke_test}
        if one.headline.asked.any():
            contenders.append(verified.Contender(one.origin, verified.is_ranked(row), answers != NOT_ASKED))
    by = OwnMetric.of_classes(made.task.headline.name, made.task.classes)
    found = verified.standings(content, contenders, by, {one.origin: SINGLE for one in made.systems})
    first = first_places(list(found.tables.values()), by, FEW).tolist() if found.tables else []
    return found, dict(zip(found.tables, first, strict=True))


def on_the_page(standings: Standings) -> Board:
    """What the site reads of the tables that are written."""
    keys = {"edition": str(QUARTER), "task": "x-notes", "split": "main"}
    pairs = standings.pairs.with_columns(**{name: pl.lit(key) for name, key in keys.items()})
    return Board(_tables={"standings": TABLES["standings"].frame(standings.ranked, **keys), "pairs": pairs})


def test_page_analysis_and_verification_agree_on_random_panels(monkeypatch: pytest.MonkeyPatch, thorough: bool) -> None:
    monkeypatch.setattr("hellofresh.results.standings._RESAMPLES", FEW)
    split, ranked = SplitKey(str(QUARTER), "x-notes"), 0
    panels = 150 if thorough else 60
    for seed in range(panels):
        made = random_panel(seed)
        standings, (again, first) = standings_of(made), recomputed(made)
        site = on_the_page(standings)
        assert list(site.standings(split).values()) == list(standings.ranked)
        assert {one.origin for one in standings.ranked} == again.places.keys()
        for one in standings.ranked:
            place = again.places[one.origin]
            assert (one.rank, one.low, one.high, one.tie_group) == (place.rank, place.low, place.high, place.tie_group)
            assert one.first == pytest.approx(first[one.origin], abs=1e-12)
        whole = {(pair.one, pair.two): pair for pair in PAIRS.rows(standings.pairs) if pair.period == "all"}
        assert {frozenset(key) for key in whole} == {frozenset(key) for key in again.differences if key[0] != key[1]}
        for key, pair in whole.items():
            here = again.differences[key]
            stated = (pair.difference, pair.low, pair.high, pair.p_value, pair.adjusted)
            found = (here.value, here.low, here.high, here.p_value, here.adjusted)
            assert stated == pytest.approx(found, rel=1e-9, abs=1e-12), (seed, key)
            assert next(item for item in site.pairs(split, *key) if item.period == "all") == pair
        if standings.ranked and seed % 10 == 0:
            agrees_in_the_analysis(made, standings)
        ranked += len(standings.ranked)
    assert ranked > panels


def agrees_in_the_analysis(made: Panel, standings: Standings) -> None:
    table = ranking.run(made).table.filter(pl.col("rank").is_not_null())
    columns = ("rank", "rank_low", "rank_high", "probability_first", "tie_group")
    expected = [(one.rank, one.low, one.high, one.first, one.tie_group) for one in standings.ranked]
    assert table.select(columns).rows() == expected


def whole_pairs(made: Panel) -> dict[frozenset[str], Pair]:
    found = PAIRS.rows(standings_of(made, resamples=FEW).pairs)
    return {frozenset((pair.one, pair.two)): pair for pair in found if pair.period == "all"}


@pytest.mark.parametrize("seed", range(15))
def test_figures_of_one_page_do_not_contradict_each_other(seed: int) -> None:
    made = random_panel(seed)
    standings = standings_of(made, resamples=FEW)
    pairs = whole_pairs(made)
    for pair in pairs.values():
        assert (pair.low > 0 or pair.high < 0) <= (pair.adjusted is not None and pair.adjusted < 0.05)
        assert pair.low <= pair.difference <= pair.high
    places = {one.origin: one for one in standings.ranked}
    for one, two in combinations(places.values(), 2):
        surely = (pairs[frozenset((one.origin, two.origin))].adjusted or 0.0) < 0.05
        assert one.tie_group == two.tie_group or one.rank != two.rank
        if one.low == 1 and two.tie_group == 1 and one.rank == 1:
            assert not surely
    for first, second in pairwise(standings.ranked):
        assert first.rank <= second.rank
        assert first.tie_group <= second.tie_group
    if places:
        assert sum(one.first for one in places.values()) == pytest.approx(1)
        assert all(one.low <= one.rank <= one.high <= len(places) for one in places.values())


@pytest.mark.parametrize("seed", range(20))
def test_what_is_not_ranked_changes_no_rank_and_no_pair_of_systems(seed: int) -> None:
    made = random_panel(seed)
    alone = replace(made, systems=[one for one in made.systems if one.section is EntrySection.SYSTEM])
    assert standings_of(made, resamples=FEW).ranked == standings_of(alone, resamples=FEW).ranked
    with_others, without = whole_pairs(made), whole_pairs(alone)
    assert all(asdict(with_others[key]) == asdict(pair) for key, pair in without.items())


LABELS = np.arange(24) % 2
GROUPS = np.arange(24) // 2


def test_a_placebo_run_is_compared_and_has_no_rank() -> None:
    control = system("control", LABELS, "language-model", "placebo")
    standings = standings_of(panel(LABELS, GROUPS, [control, system("model", 1 - LABELS)]), resamples=FEW)
    assert [one.origin for one in standings.ranked] == ["model"]
    assert set(standings.pairs.select("one", "two").rows()) == {("control", "model")}


def test_who_judged_too_little_takes_no_part_and_is_named() -> None:
    little = np.full(24, NOT_ASKED)
    little[:5] = 1
    made = panel(LABELS, GROUPS, [system("a", LABELS), system("b", 1 - LABELS), system("c", little)])
    standings = standings_of(made, resamples=FEW)
    assert [(one.origin, one.n) for one in standings.ranked] == [("a", 24), ("b", 24)]
    assert standings.notes == ["Scored on too few samples to be compared: c."]


def test_a_baseline_that_judged_everything_does_not_decide_who_takes_part() -> None:
    half = np.where(np.arange(24) < 8, LABELS, NOT_ASKED)
    made = panel(LABELS, GROUPS, [system("all", np.ones(24), "baseline", "none"), system("a", half), system("b", half)])
    assert [one.n for one in standings_of(made, resamples=FEW).ranked] == [8, 8]


def test_counts_of_a_pair_are_those_of_its_samples() -> None:
    half = np.where(np.arange(24) < 12, LABELS, 1 - LABELS)
    made = panel(LABELS, GROUPS, [system("a", LABELS), system("b", half)])
    pair, *periods = PAIRS.rows(standings_of(made, resamples=FEW).pairs)
    assert (pair.n, pair.both_right, pair.one_right, pair.two_right, pair.same) == (24, 12, 12, 0, 12)
    assert sum(part.n for part in periods) == 24
    assert {part.adjusted for part in periods} == {None}


def test_samples_of_one_class_rank_nobody() -> None:
    made = panel(np.ones(24), GROUPS, [system("a", LABELS), system("b", 1 - LABELS)])
    standings = standings_of(made, resamples=FEW)
    assert not standings.ranked
    assert any("one class" in note for note in standings.notes)


def test_another_rule_of_ties_reaches_every_ranking(monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/extending.md names one place for it: here every system is a group of its own."""
    monkeypatch.setattr("hellofresh.stats.ranking.tie_groups", lambda values, _: 1 + np.arange(len(values)))
    labels, random = np.arange(60) % 2 == 0, np.random.default_rng(7)
    answers = [np.where(random.random(60) < 0.7, labels, ~labels) for _ in range(4)]
    made = panel(labels, np.arange(60), [system(f"s{k}", one.astype(np.int8)) for k, one in enumerate(answers)])
    standings = standings_of(made, resamples=FEW)
    assert sorted(one.tie_group for one in standings.ranked) == [1, 2, 3, 4]
    assert sorted(ranking.run(made).table["tie_group"].drop_nulls()) == [1, 2, 3, 4]
    values = pl.DataFrame({f"s{k}": (one == labels).astype(float) for k, one in enumerate(answers)})
    assert sorted(hf.compare(values).table["tie_group"]) == [1, 2, 3, 4]
