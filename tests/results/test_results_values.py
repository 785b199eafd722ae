"""Every figure made of a panel, as the file beside has them: any change of a line shows here. See `tests/values.py`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import pytest

from hellofresh.core.errors import HelloFreshError, UnknownNameError
from hellofresh.core.quarters import Quarter
from hellofresh.evidence.publishers import Publisher, Publishers
from hellofresh.results import comparison, over_quarters, score_files, standings
from hellofresh.results.analyses import ANALYSES, agents
from hellofresh.results.analyses.base import AnalysisResult
from hellofresh.results.calibration import stated_confidences
from hellofresh.results.figures import image, vega
from hellofresh.results.figures.charts import Axis, Mark, Series, marks_of, points_of
from hellofresh.results.score_files import ColumnNames, ItemScores
from hellofresh.results.split import entries, panel
from hellofresh.results.split.panel import NOT_ASKED, Panel, PromptOutputs, QuarterScore, System
from hellofresh.stats.metrics import class_metrics, mean
from hellofresh.tasks import get_task
from hellofresh.tasks.outputs import Choice, Ranking, Response, Status
from hellofresh.tasks.samples import Label
from hellofresh_parts.voters import ceiling
from tests.analyses.synthetic import Builder, full_entries
from tests.values import Cases, digest, plain, refused

case = Cases(Path(__file__).with_suffix(".json"))
BUILD = Builder()
BOTH = ("zero-shot", "web-search", "placebo")


@cache
def of_notes() -> Panel:
    """Three models under three regimes, agents up to several instants, and a submission, on 120 notes."""
    release = BUILD.release()
    return BUILD.panel(full_entries(BUILD, release), release)


@cache
def of_edits() -> Panel:
    """Edits without some texts; a model that judged a part, a baseline and a smoke test."""
    release = replace(BUILD.release(150, "wikipedia-edits"), taken_down=())
    one = [
        BUILD.entry(release, "one", 0.75, regime=regime, seed=k, cost=0.1 * k, certain=True)
        for k, regime in enumerate(BOTH)
    ]
    part = BUILD.entry(release, "part", 0.8, seed=9, asked=90, cutoff="2023-06", cost=0.0)
    base = replace(BUILD.entry(release, "base", 0.5, seed=8, regime="none", prompts=("one",)), kind="baseline")
    smoke = replace(BUILD.entry(release, "smoke", 0.6, seed=7), smoke_test=True)
    made = BUILD.panel([*one, part, base, smoke], release)
    return replace(made, without_texts=np.arange(150) % 11 == 0)


@cache
def of_claims() -> Panel:
    """Three classes by publishers of several sizes; one system is silent now and then, one states probabilities."""
    notes, random = of_notes(), np.random.default_rng(3)
    claims, n = get_task("claims"), len(notes.samples)
    labels = random.integers(0, 3, n).astype(np.int8)
    sites = [f"{'abc'[k % 3 if k % 3 < 2 else 0]}.example" for k in range(n - 5)] + ["small.example"] * 5
    plain_one = next(system for system in notes.systems if system.regime == "zero-shot")

    def system(regime: str, right: float, silent: float, stated: bool) -> System:
        said = np.where(random.random(n) < right, labels, random.integers(0, 3, n))
        said = np.where(random.random(n) < silent, -1, said).astype(np.int8)
        outputs = PromptOutputs.of("manual", said, 3)
        outputs.probabilities[:] = random.dirichlet(np.ones(3), n) if stated else np.nan
        outputs.certainty[:] = np.nan if stated else np.where(np.arange(n) % 3, 0.8, np.nan)
        return replace(plain_one, name=f"{plain_one.label}, {regime}", regime=regime, said=[outputs], origin=regime)

    return replace(
        notes, task=replace(claims, metrics=class_metrics(claims.classes), text=notes.task.text), labels=labels,
        facts=[{"publisher": site} for site in sites],
        systems=[system("zero-shot", 0.4, 0.2, False), system("search-agent", 0.8, 0.0, True)],
    )  # fmt: skip


def result(made: AnalysisResult) -> list[object]:
    marks = (
        {name: digest([getattr(mark, name) for mark in made.marks]) for name in Mark.__dataclass_fields__}
        if made.marks
        else {}
    )
    return [made.table, made.figure, list(made.notes), made.missing, marks]


FEWER = {"standings._RESAMPLES": 40,
         "analyses.prompts._RESAMPLES": 40, "analyses.samples._FOLDS": 3, "standings._MOST_BY_PERIOD": 7}  # fmt: skip


def analyses(of: Panel) -> dict[str, list[object]]:
    """Every analysis; those of words of edits alone, since they take long."""
    with pytest.MonkeyPatch.context() as patch:
        for name, number in FEWER.items():
            patch.setattr(f"hellofresh.results.{name}", number)
        patch.setattr("hellofresh.stats.ranking._DRAWS", 99)
        some = {name: one for name, one in ANALYSES.items() if name != "text-alone" or "edits" in of.task.name}
        return {name: result(one.run(of)) for name, one in some.items()}


def brief(made: Sequence[object]) -> object:
    """The table of a result as one sequence of numbers and one of words."""
    table, _, notes, why, _ = made
    assert isinstance(table, pl.DataFrame)
    of_numbers = [name for name in table.columns if table[name].dtype.is_numeric()]
    numbers = [value for name in of_numbers for value in table[name].to_list()]
    return [digest(numbers), digest([notes, why, table.columns, *table.select(pl.all().exclude(of_numbers)).rows()])]


@case
def analyses_of_notes() -> object:
    return analyses(of_notes())


@case
def analyses_of_edits() -> object:
    return analyses(of_edits())


@case
def analyses_of_claims() -> object:
    return analyses(of_claims())


@case
def analyses_of_little() -> object:
    """Few samples, few systems, none."""
    found = []
    for n, task in ((17, "x-notes"), (33, "wikipedia-edits"), (5, "x-notes"), (1, "x-notes")):
        release = BUILD.release(n, task)
        some = [
            BUILD.entry(release, "one", regime=regime, seed=k, cost=1.0, confident=True)
            for k, regime in enumerate(BOTH)
        ]
        baseline = replace(BUILD.entry(release, "base", prompts=("a",), regime="none"), kind="baseline")
        for chosen in (some, [baseline], []):
            made = analyses(BUILD.panel(chosen, release))
            found.append({name: brief(one) for name, one in made.items()})
    return found


@case
def analyses_of_parts() -> object:
    """As many samples of a part, and as many systems, as are just enough, and one fewer."""
    whole, found = of_notes(), {}
    keeps = {
        "half": np.arange(120) < 60, "one class": np.arange(120) % 4 < 2, "every third": np.arange(120) % 3 == 0,
        "first month": np.arange(120) < 38, "a few": np.arange(120) % 11 == 0,
    }  # fmt: skip
    for kind, keep in keeps.items():
        systems = [
            replace(
                one,
                said=[
                    replace(said, answers=np.where(keep, said.answers, NOT_ASKED).astype(np.int8)) for said in one.said
                ],
            )
            for one in whole.systems
        ]
        made = analyses(replace(whole, systems=systems))
        found[kind] = {name: brief(one) for name, one in made.items()}
    return found


# --- Agents


@cache
def of_agents() -> agents.AgentPanel:
    """An agent and its offline self; sources with ratings, searches and certainties on parts of the samples."""
    release = BUILD.release()
    made = BUILD.panel([BUILD.entry(release, "one", seed=n, prompts=("manual",), cost=n) for n in (1, 2, 3)], release)
    place, labels = np.arange(120), made.labels
    right = (place < 90, place >= 30, place % 5 > 0)
    settings = (("search-agent", "provider=offline"), ("search-agent", "mode=offline"), ("zero-shot", ""))
    systems = []
    for one, where, (regime, setting), origin in zip(
        made.systems, right, settings, ("agent", "base", "plain"), strict=True
    ):
        said = PromptOutputs.of("manual", np.where(where, labels, 1 - labels).astype(np.int8))
        said.answers[[119, 60]] = -1, NOT_ASKED if origin == "agent" else -2
        systems.append(replace(one, regime=regime, settings=setting, origin=origin, said=(said,)))
    sources = (
        "https://a.left.example/1",
        "https://right.example/2",
        "https://unknown.example/3",
        "https://right.example/9",
    )
    traces = [
        None if k == 60 else agents.SampleTrace(
            queries=tuple(f"query {j} rivers source says" for j in range(k % 4)), failed=k % 7 == 0,
            sources=sources[: k % 5],
            leaning=(-3.0, -0.5, 0.5, 3.0, None)[k % 5], certainties=(0.9, 0.2 + k / 200)[: k % 3],
        )
        for k in range(120)
    ]  # fmt: skip
    rated = Publishers({"left.example": Publisher("left.example", -2.0, None, 0.25),
                        "right.example": Publisher("right.example", 1.0, 0.5, 0.75)})  # fmt: skip
    return agents.AgentPanel(
        replace(made, systems=tuple(systems)), {"agent": traces, "base": [agents.SampleTrace()] * 120}, rated
    )


@case
def conduct_of_agents() -> object:
    given = of_agents()
    found = [result(one.run(given)) for one in agents.AGENT_ANALYSES]
    return [*found, given.ratings(given.traces["agent"][4]), given.offline(given.panel.systems[0]).origin]


# --- Charts


def drawn(value: object, depth: int = 0) -> object:
    """A specification, what lies deep in it as a digest."""
    if isinstance(value, Mapping):
        return {str(name): drawn(inner, depth + 1) for name, inner in value.items()} if depth < 2 else digest([value])
    return digest(value) if isinstance(value, Sequence) and not isinstance(value, str) and value else value


@case
def charts() -> object:
    found: dict[str, object] = {}
    for of in (of_notes(), of_claims()):
        for name, one in ANALYSES.items():
            made = one.run(of) if name not in ("text-alone", "ranking") else AnalysisResult(pl.DataFrame())
            if made.figure is None:
                continue
            shown = [mark for mark in made.marks if mark.who in made.figure.leading]
            for narrow in (False, True):
                placed = vega.place(made.figure, shown, one.question, narrow=narrow)
                whole = image.composed(made.figure, shown, one.question, narrow=narrow)
                found[f"{of.task.name} {name} {narrow}"] = [digest([drawn(part)]) for part in (*placed, whole)]
            assert marks_of(points_of(made.marks), made.figure.systems)
    return found


@case
def parts_of_charts() -> object:
    marks = [Mark("a", "s", 0.25, 0.11, 0.48), Mark("b", "t", 0.9, 0.85, 0.99), Mark("c", "r", float("nan"))]
    found: list[object] = [Axis.share("x", marks[:k]) for k in range(4)]
    found += [
        Axis("x", whole=whole, digits=2).text(value) for whole in (True, False) for value in (-1.256, 2.0, float("nan"))
    ]
    found.append([Series("", names).among(marks) for names in ((), ("t", "z"), ("r", "s"))])
    found += [vega.fitted(text, 9) for text in ("short", "exactly 9", "ten letters", "界界界界界界")]
    return [*found, [vega.letters(text) for text in ("abc", "界a", "")]]


# --- Panels and names

PINNED = {
    *("f1", "precision", "recall", "accuracy", "rank_correlation"),
    *("macro_f1", "balanced_accuracy", "weighted_f1", "matthews"),
}
"""Metrics whose values are in the file; a new one has values in the tests of statistics."""


@case
def panels() -> object:
    found: list[object] = []
    for of in (of_notes(), of_edits(), of_claims()):
        some = np.arange(len(of.labels)) % 3 > 0
        pinned = [metric for metric in of.metrics if metric.name.partition(":")[0] in PINNED]
        found += [
            of.period_names,
            [metric.name for metric in pinned],
            [len(group) for group in of.models],
        ]
        found += [
            [one.name, one.label, one.model, one.section, len(one.prompts), one.headline.prompt] for one in of.systems
        ]
        for said in (of.systems[0].headline, of.systems[-1].headline):
            found += [
                digest(part)
                for part in (said.forecasts, said.chances, said.too_early, said.asked, said.predictions(some))
            ]
            found += [of.measured(said, some & said.asked), digest(of.part(said, some, ~some)), of.is_one_class(some)]
            found += [of.measured(said, some & said.asked, metric) for metric in pinned]
        found += [of.is_one_class(of.labels == 1), digest(of.known("ratings")), digest(of.known("ai_writer"))]
    found.append([one.name for one in of_notes().only([of_notes().systems[0].label]).systems])
    number, rated = (
        mean("n", (0.0, 4.0)),
        replace(of_notes().systems[0].headline, numbers={"n": np.tile([2.0, 0.5], (120, 1))}),
    )
    found += [of_notes().measured(one, rated.asked, number) for one in (rated, replace(rated, numbers={}))]
    return found, refused(lambda: of_notes().only(["nobody"]), kind=UnknownNameError)


@case
def inputs_of_analyses() -> object:
    """What changes the hash of a panel's inputs, by which analyses are made anew."""
    of = of_notes()
    one, *others = of.systems
    said = one.headline
    changed = [
        replace(said, prompt="other"), replace(said, answers=said.answers[::-1].copy()),
        replace(said, probabilities=np.full((120, 2), 0.25)), replace(said, certainty=np.full(120, 0.5)),
        replace(said, numbers={"n": np.ones((120, 2))}),
    ]  # fmt: skip
    panels_ = [replace(of, systems=[replace(one, said=[other, *one.said[1:]]), *others]) for other in changed]
    panels_ += [replace(of, systems=[replace(one, settings="x"), *others]), replace(of, labels=1 - of.labels)]
    panels_ += [replace(of, groups=of.groups // 2), replace(of, samples=of.samples[::-1]), replace(of, notes=["x"])]
    panels_ += [
        replace(of, facts=of.facts[::-1]),
        replace(of, without_texts=~of.without_texts),
        replace(of, bundled=False),
    ]
    panels_ += [replace(of, past=over_quarters.quarter_scores(of)), replace(of, edition=Quarter(2023, 3))]
    return replace(of).sha256 == of.sha256, len({of.sha256, *(other.sha256 for other in panels_)}) == len(panels_) + 1


@case
def outputs_of_prompts() -> object:
    answers = np.array([0, 1, 2, -1, -1, -2, -3, 1], dtype=np.int8)
    said = PromptOutputs.of("p", answers, 3)
    said.probabilities[:5] = [[0.2, 0.3, 0.5], [np.nan] * 3, [np.nan] * 3, [1 / 3] * 3, [0.5, 0.25, 0.25]]
    said.certainty[1:3] = 0.7, 0.2
    return [said.asked, said.forecasts, said.chances, said.too_early, said.predictions(answers > -3)]


@case
def names() -> object:
    texts = ("Plain", "two\nlines\there", "a\u202eb\u200bc", "e\u0301\u0302\u0303\u0304\u0305", "", " \t ", "x" * 80,
    "x" * 81, "q" * 2000,
             "\ufb01 \u00e9", "abcdef")  # fmt: skip
    found: list[object] = [[panel.clean_name(text), panel.clean_name(text, 12), panel.cut_name(text, 5),
    panel.cut_name(text, 2)]
                           for text in texts]  # fmt: skip
    base = full_entries(BUILD, BUILD.release(4))[0]

    def named(*rows: tuple[str, str, str, str, str]) -> list[str]:
        return panel.short_names(
            [replace(base, system=s, regime=r, settings=x, team=t, origin=o) for s, r, x, t, o in rows]
        )

    found.append(
        named(("A", "z", "", "T", "1"), ("a", "w", "", "T", "2"), ("B", "none", "", "T", "3"), ("b", "z", "", "U", "4"))
    )
    found.append(
        named(
            ("A", "z", "k=1", "T", "1"), ("A", "z", "k=2", "T", "2"), ("A", "z", "", "U", "3"), ("A", "z", "", "V", "0")
        )
    )
    found.append(
        named(
            ("A", "z", "", "T", "3"), ("A", "z", "", "T", "1"), ("A", "z", "", "T", "2"), ("A (2)", "z", "", "T", "0")
        )
    )
    for text in (
        "2023",
        "2023-05",
        "2023-12",
        "2023-05-31",
        "2024-02",
        "2023-13",
        "2023-05-01-1",
        "unknown",
        "none",
        "",
        "9999-12-31",
    ):
        end = panel.cutoff_end(text)
        since = [datetime(2023, 6, 1, tzinfo=UTC), datetime(2023, 5, 31, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC)]
        found.append(
            [str(end), [panel.exposure(text, one, split) for one in since for split in ("main", "prospective")]]
        )
    kinds = [panel.section_of(kind, regime, smoke_test=smoke) for kind in ("baseline", "x") for regime in ("placebo",
    "y")
             for smoke in (True, False)]  # fmt: skip
    return found, kinds


# --- Standings, quarters, ceilings, calibration


@case
def standings_of_panels() -> object:
    found: list[object] = []
    for of in (of_notes(), of_edits(), of_claims(), replace(of_edits(), systems=of_edits().systems[:1])):
        made = standings.standings_of(of, resamples=50)
        found += [made.ranked, made.pairs, made.notes, made.detectable]
        found += [
            [[one.origin for one in field.systems], digest(field.where), field.ranked]
            for field in standings.fields_of(of)
        ]
        found += [pair.turned() for pair in list(standings.PAIRS.rows(made.pairs))[:1]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(standings, "_MOST_BY_PERIOD", 2)
        found.append(standings.standings_of(of_notes(), resamples=9).pairs)
    return found


@case
def scores_over_quarters() -> object:
    """Systems of several quarters: some in all, some in one, some linked to no other."""
    systems, random, found = of_notes().systems, np.random.default_rng(4), []
    metric = of_notes().task.headline
    for present in (
        [(0, (0, 1, 2)), (1, (0, 1, 2)), (2, (1, 2)), (3, (0,)), (4, (3, 4)), (5, (3,))], [(0, (0, 1)), (1, (0, 1)),
        (2, (1,))],
        [(0, (0, 1)), (1, (1,))], [(0, (0,))], [], [(k, tuple(range(9))) for k in range(3)],
    ):  # fmt: skip
        scores = [
            QuarterScore(str(Quarter(2021 + q // 4, 1 + q % 4)), systems[k].plain,
            float(0.5 + 0.05 * k + random.normal(0, 0.04)), 4e-4)
            for k, quarters in present for q in quarters
        ]  # fmt: skip
        found += [
            over_quarters.over_quarters(scores, one)
            for one in (metric, mean("errors", (0.0, 1.0), higher_is_better=False))
        ]
    beyond = {0: {0: 0.95, 1: 0.5}, 1: {1: 0.95, 2: 0.97}, 2: {1: 0.4, 2: 0.5}}  # the first quarter is far easier
    scores = [
        QuarterScore(str(Quarter(2023, 1 + quarter)), systems[k].plain, value, 4e-4)
        for k, values in beyond.items()
        for quarter, value in values.items()
    ]
    return found, over_quarters.over_quarters(scores, metric), over_quarters.quarter_scores(of_edits())


@case
def ceilings() -> object:
    task, random = get_task("x-notes"), np.random.default_rng(1)
    labels = (np.arange(40) % 2).astype(np.int8)
    chance, error = random.random(40), random.choice([0.0, 0.01, 0.3, 0.9], 40)
    facts = [
        {"chance": float(c), "chance_error": float(e)}
        for c, e in zip(random.random(120), random.random(120) / 3, strict=True)
    ]
    facts[:7] = [{}, {"chance": 0.5}, {"chance_error": 0.1}, *facts[3:7]]
    rows = [list(ceiling.ceilings(replace(of, facts=facts[: len(of.labels)]))) for of in (of_notes(),)]
    one_class = replace(of_notes(), facts=facts, labels=np.ones(120, dtype=np.int8))
    return (
        ceiling.reached(task, labels, chance, error),
        rows,
        list(ceiling.ceilings(one_class)),
        list(ceiling.ceilings(of_notes())),
    )


@case
def confidences() -> object:
    found = []
    for of in (of_notes(), of_edits(), of_claims()):
        for one in stated_confidences(of):
            made = one.found and [one.found.ece, one.found.brier, one.found.auc, one.found.brier_interval]
            found.append(
                [
                    one.system.name,
                    one.said.prompt,
                    one.headline,
                    one.subject,
                    one.n,
                    one.clusters,
                    one.few_clusters,
                    made,
                ]
            )
    few = replace(
        of_notes().systems[0].headline,
        probabilities=np.where(np.arange(120)[:, None] < 9, 0.5, np.nan).repeat(2, axis=1),
    )
    for k in (9, 10):
        few = replace(few, probabilities=np.where(np.arange(120)[:, None] < k, 0.5, np.nan).repeat(2, axis=1))
        made = stated_confidences(replace(of_notes(), systems=[replace(of_notes().systems[0], said=[few])]))
        found.append([[one.n, one.clusters, one.few_clusters, one.found is None] for one in made])
    return found


# --- Comparisons of any scores


def scores_of(
    values: np.ndarray, clusters: np.ndarray | None = None, limits: tuple[float, float] = (0.0, 10.0)
) -> ItemScores:
    systems, items = ([f"{letter}{k}" for k in range(size)] for letter, size in zip("sq", values.shape, strict=True))
    return ItemScores(systems, items, values, clusters, limits, "as given")


@case
def compared_scores() -> object:
    random, found = np.random.default_rng(5), []
    whole = np.clip(random.normal(5, 1, 60) + random.normal(0, 1, (4, 60)) + np.arange(4)[:, None] / 3, 0, 10)
    holes = np.where(random.random(whole.shape) < 0.2, np.nan, whole)
    few = np.where((np.arange(60) >= 4) & (np.arange(4)[:, None] == np.arange(60) % 4), np.nan, whole)
    for values, clusters, more in (
        (whole, None, {}), (whole, np.arange(60) // 7, {"baseline": "s1"}), (holes, None, {"lower_is_better": True}),
        (holes, np.arange(60) // 3, {"baseline": "s2"}), (few, None, {}), (np.round(whole[:2] / 10), None, {}),
        (whole[[0, 0, 1]], None, {}), (np.full((2, 9), 3.0), None, {}), (holes[:2], np.arange(60) % 2, {}),
    ):  # fmt: skip
        limits = (3.0, 3.0) if values.shape == (2, 9) else (0.0, 10.0)
        made = comparison.compare_scores(scores_of(values, clusters, limits), **more)
        found.append([made, made.shown(), repr(made).split("shape")[0], "<table" in made._repr_html_()])
    with pytest.MonkeyPatch.context() as patch:
        for name, number in (("_BLOCKS", 7), ("_MANY_CELLS", 50), ("_NAMED", 1), ("_RESAMPLES", 99)):
            patch.setattr(comparison, name, number)
        found.append(comparison.compare_scores(scores_of(whole)))
    apart = np.full((4, 20), np.nan)
    apart[:2, :10] = apart[2:, 10:] = np.arange(10)
    return found, refused(
        partial(comparison.compare_scores, scores_of(whole), baseline="nobody"), partial(comparison.compare_scores,
        scores_of(apart)),
        partial(comparison.compare_scores, scores_of(whole[:1])), partial(comparison.compare_scores,
        scores_of(whole[:, :4])),
        kind=HelloFreshError,
    )  # fmt: skip


EVALS = [
    {"doc_id": k, "metrics": ["f"], "f": k % 2, "filter": kind, "model": f"m{system}"}
    for k in range(5)
    for kind in "xy"
    for system in range(2)
]
NESTED = [
    {"id": str(k), "system": name, "evaluation": {"score": k * 9 + (name == "b")}, "x": [1]}
    for k in range(6)
    for name in "ab"
]
LOGGED = [{"id": k, "epoch": 1 + k % 2, "scores": {"match": {"value": "CIPN"[k % 4]}}} for k in range(6)]
LONG = "".join(f"q{k // 4}\tm{k // 2 % 2}\t{'True' if k % 3 else 'false'}\tg{k // 8}\t{k % 2}\n" for k in range(24))
SIX = range(6)
FILES = {
    "wide.csv": "item,a,b\nq1,1,0\nq2,0.5,1\nq3,,1\nq4,1,1\nq5,0,0\n",
    "half.csv": "item;a;b\nq1;1,5;0\nq2;0,5;1\nq3;2;1\nq4;1;1\nq5;0;0\n",
    "long.tsv": "question_id\tmodel\tcorrect\tgroup\tepoch\n" + LONG,
    "rest.csv": "item,score\n" + "".join(f"{k},{k / 8}\n" for k in SIX),
    "none.csv": "a,b\n" + "".join(f"{k},{9 * k}\n" for k in SIX),
    "words.csv": "item,a,b,c\n" + "".join(f"{k},{k},{9 - k},{k if k % 2 else 'good'}\n" for k in SIX),
    "bad.csv": "item,system,score\nq1,a,1\nq2,b,high\n",
    "inf.csv": "item,system,score\nq1,a,inf\nq2,b,1\n",
    "twice.csv": "item,system,score\nq1,a,1\nq1,a,0\n",
    "names.csv": "item,a,a\nq1,1,2\n",
    "texts.csv": "item,name\nq1,x\nq2,y\n",
    "few.csv": "item,a,b\nq1,1,2\nq2,1,2\n",
    "alone.csv": "item,a\n" + "".join(f"q{k},{k}\n" for k in SIX),
    "alike.csv": "item,a,a\u200b\n" + "".join(f"q{k},{k},1\n" for k in SIX),
    "clusters.csv": "item,system,score,cluster\nq1,a,1,x\nq1,b,1,y\n" + "".join(f"q{k},a,1,x\n" for k in range(2, 8)),
    "rows.jsonl": "\n\n".join(map(json.dumps, EVALS)),
    "wrong.jsonl": '{"a": 1}\n{"a": \n',
    "list.json": '[{"id": "1", "system": "a", "evaluation": {"score": 70}}, [1]]',
    "nested.json": json.dumps(NESTED),
    "log.json": json.dumps({"eval": {"model": "m"}, "samples": LOGGED}),
    "null.csv": "a\0b\n1,2\n",
    "what.xlsx": "x",
}
READABLE = ("words.csv", "wide.csv", "half.csv", "long.tsv", "none.csv", "rows.jsonl", "nested.json")


@case
def files_of_scores() -> object:
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.chdir(folder)
        for name, text in FILES.items():
            Path(name).write_text(text, encoding="utf-8")

        def read(*names: str, **columns: str) -> ItemScores:
            return score_files.read_scores([Path(name) for name in names], ColumnNames(**columns))

        found = [*map(read, READABLE), read("log.json", "rest.csv")]
        calls = [partial(read, name) for name in FILES if name not in READABLE]
        said = []
        for call in (
            *calls,
            partial(read, "gone.csv"),
            partial(read, "wide.csv", score="points"),
            partial(read, "long.tsv", item="x"),
        ):
            with pytest.raises(HelloFreshError) as error:
                call()
            said.append([str(error.value), error.value.fix, error.value.code])
        return found, said


# --- Entries


def choice(
    label: int | None, *stated: float, certainty: float | None = None, status: Status = Status.ANSWERED
) -> Choice:
    return Choice(prompt="p", label=label, probabilities=stated, certainty=certainty, status=status)


@case
def votes() -> object:
    none, blocked = choice(None, status=Status.NONE), choice(None, status=Status.BLOCKED)
    yes, no, sure, both = choice(1), choice(0), choice(1, 0.2, 0.8), choice(0, 0.6, 0.4)
    sets = ([yes], [yes, no], [yes, no, yes], [yes, none], [none, none], [blocked, blocked], [blocked, none], [],
    [sure, both],
            [sure, both, sure], [sure, yes], [choice(2), yes, choice(2), no], [choice(None, 0.5, 0.5,
            status=Status.NONE)] * 2)  # fmt: skip
    found = [entries.plurality(some) for some in sets]
    forecasts = [entries.forecast_of([*some, choice(1, certainty=0.7)], 2) for some in sets[:9]]
    return found, forecasts, entries.forecast_of([none], 3), entries.forecast_of([choice(2, certainty=0.4), yes], 3)


@case
def votes_of_entries() -> object:
    release = BUILD.release(6)
    one = BUILD.entry(release, "one", confident=True)
    again = [{name: outputs for name, outputs in one.outputs.items() if name != "majority"}] * 2
    said = {"a": {"x": choice(1), "y": choice(0)}, "b": {"x": choice(0), "y": choice(0)}, "c": {"x": choice(1)}}
    text = {"a": {"x": Response(prompt="a", text="t")}, "b": {"x": choice(1)}}
    found = [entries._with_majority(some) for some in (said, text, {"a": said["a"]})]
    voted = [entries._voted([said, said, {"a": {"x": choice(0)}}], classes) for classes in (0, 2)]
    pooled = [entries.with_forecasts(replace(one, repeated=again), classes).outputs for classes in (0, 2)]
    labels = {sample.id: Label(sample.id, 1, {}) for sample in release.samples[:3]}
    measured = entries.measured_entry(
        one, labels, lambda label, output: {"m": label.label + 0.5 * (output.prompt == "")}
    )
    return found, voted, [digest(str(plain(some))) for some in pooled], measured.numbers


@case
def answers_as_codes() -> object:
    from hellofresh.results.split.arrays import _answer

    said = [choice(2), choice(None), choice(None, status=Status.BLOCKED), choice(None, status=Status.NONE),
            Response(prompt="", text="x"), Ranking(prompt="", documents=("a",), scores=(1.0,)), Response(prompt="",
            text="", status=Status.NONE)]  # fmt: skip
    return [_answer(one) for one in said]


@pytest.mark.parametrize("name", case.named)
def test_every_value_is_as_written_down(name: str) -> None:
    case.check(name)


if __name__ == "__main__":
    case.write()
