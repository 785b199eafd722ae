"""Recomputation of a release's entries from its labels and predictions: scores, standings and figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isclose
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from verifier.content import MAJORITY, NOT_ASKED, RUN, SINGLE, UPLOADED, Content, EntryName
from verifier.manifest import SCORES, ManifestFile
from verifier.reading import Row, few, first_of, quoted, rows, short, text_hash
from verifier.statistics import (
    FISHER,
    FORECAST,
    METRIC_NAMES,
    NONE,
    OF_ONE,
    WILSON,
    Difference,
    FloatArray,
    OwnMetric,
    Place,
    RankMetric,
    bootstrap_interval,
    differences,
    first_places,
    forecast_sums,
    interval,
    kish,
    number_sums,
    places_of,
    rank_sums,
)

ALL = "all"
_OURS, _BUNDLED, _FLAGGED, _CONTROLS = "HelloFresh", "bundled-sample", "Flagged: ", ("placebo",)
_TOLERANCE = 1e-9  # sums in another order differ by less
_PARTS = ("edition", "task", "system", "regime", "prompt", "period", "metric")
_MORE = ("team", "provenance", "entry", "against")
# Figures on a system's standing; the last two need an entry `against` which it is compared.
_STANDING = ("rank", "first", "tie_group", "lead", "p_value")
# An entry's facts on its model; null where it states none.
_FACTS = {"maker": (str, None), "weights": (str, None), "size_billions": (float, None), "released": (str, None)}
# An entry's statements on itself, equal in all of its scores.
_OWN = ("kind", "about", "smoke_test", "knowledge_cutoff", "settings", *_FACTS)
_KEY = ("origin", "prompt", "period", "metric")
_TEXTS = (
    *("edition", "task", "system", "team", "provenance", "kind", "regime", "settings", "prompt", "period", "origin"),
    *("knowledge_cutoff", "about", "metric", "method"),
)
_ENDS, _BOOTSTRAP = ("value", "low", "high"), ("bootstrap_low", "bootstrap_high")
_SCORE = {
    **dict.fromkeys(_TEXTS, str),
    **dict.fromkeys((*_ENDS, *_BOOTSTRAP), float),
    **dict.fromkeys(("headline", "bundled", "smoke_test"), bool),
    **dict.fromkeys(("n", "n_split", "clusters", "none", "blocked"), int),
    "effective_clusters": float,
    **_FACTS,
}


class BadFigureError(ValueError):
    """A figure that is named in neither of the two ways."""


@dataclass(frozen=True, slots=True)
class FigureName:
    """The figures of the board that are requested: the required values of a score; other fields may have any value.

    Attributes:
        text: as requested.
        wanted: value by part; without a prompt, the headline prompt of the system.
        metric: name of the metric; empty for the ranking metric.
    """

    EXPECTED = (
        f"{'/'.join(_PARTS).upper()}, or system=NAME and any of edition, task, regime, prompt, period, metric, "
        f"{', '.join(_MORE)} with commas between them; metrics are {', '.join((*METRIC_NAMES, *_STANDING))}; of one "
        "class as in precision:NAME; lead and p_value need against=ENTRY"
    )

    text: str
    wanted: Mapping[str, str]
    metric: str

    @classmethod
    def parse(cls, text: str) -> FigureName:
        """Read `EDITION/TASK/SYSTEM/REGIME/PROMPT/PERIOD/METRIC`, or `system=NAME,metric=f1,period=all,...`.

        Raises:
            BadFigureError: if it is neither.
        """
        parts: dict[str, str] = {}
        placed, name = text.split("/"), ""
        if "=" not in text and len(placed) >= len(_PARTS):  # only a system's name may contain slashes
            parts = dict(zip(_PARTS, [*placed[:2], "/".join(placed[2:-4]), *placed[-4:]], strict=True))
        for piece in text.split(",") if "=" in text else ():
            found, equals, value = (part.strip() for part in piece.partition("="))
            if equals and found in {*_PARTS, *_MORE}:
                name = found
                parts[name] = value
            else:  # part of the value before it, which contained a comma
                parts[name] = f"{parts.get(name, '')},{piece}"
        kind, colon, of = parts.pop("metric", "").partition(":")
        metric = kind.lower() + colon + of
        paired = (metric in _STANDING[-2:]) == ("against" in parts)
        named = kind.lower() in OF_ONE if colon else metric in {"", "overall", "refutation", *METRIC_NAMES, *_STANDING}
        if "system" not in parts or not (named and paired and parts.keys() <= {*_PARTS, *_MORE}):
            raise BadFigureError(f"not a figure: {quoted(text)}; expected {cls.EXPECTED}")
        return cls(text, {"period": ALL, **parts}, metric)

    def may_be_of(self, manifest: ManifestFile) -> bool:
        """Whether it may be a figure of this release."""
        return all(self.wanted.get(name, manifest[name]) == manifest[name] for name in ("edition", "task"))

    def fits(self, row: Row) -> bool:
        """Whether a score is requested."""
        has = {**row, "entry": row["origin"]}
        wanted = ((name, value) for name, value in self.wanted.items() if name != "against")
        return ("prompt" in self.wanted or row["headline"]) and all(has[name] == value for name, value in wanted)


@dataclass(frozen=True, slots=True)
class VerifiedFigure:
    """A figure as computed from predictions and labels, and as published in `scores.jsonl`.

    Attributes:
        name: edition, task, system, regime, prompt, period and metric.
        entry: the run's or submission's.
        n: number of judged samples.
        value, low, high: as computed.
        stated: the published values; None for unpublished figures.
    """

    name: str
    entry: str
    n: int
    value: float
    low: float
    high: float
    stated: tuple[float, ...] | None

    @property
    def agrees(self) -> bool:
        """Whether both are equal up to rounding."""
        return self.stated is None or agree((self.value, self.low, self.high), self.stated)


@dataclass(frozen=True, slots=True)
class Handover:
    """A counted submission as received before the deadline, according to its receipt.

    Attributes:
        system, team, regime, knowledge_cutoff, facts, notes: its statements on itself; facts on its model by name.
        answers: for each sample: a label, the text of a response, or a ranking's documents as JSON.
    """

    system: str
    team: str
    regime: str
    knowledge_cutoff: str
    facts: Mapping[str, object]
    notes: str
    answers: Mapping[str, int | str | None] = field(repr=False)


class Contender(NamedTuple):
    """An entry that may be ranked, and the samples on which it was judged."""

    entry: str
    ranked: bool
    asked: NDArray[np.bool_]


class RankedEntries(NamedTuple):
    """Places by entry, differences by pair of entries, and the basis of first places."""

    places: Mapping[str, Place]
    differences: Mapping[tuple[str, str], Difference]
    tables: Mapping[str, FloatArray]


def table_of(content: Content, entry: str, prompt: str, metric: OwnMetric, where: NDArray[np.bool_]) -> FloatArray:
    """A metric's sums by group on some samples; a missing number counts as the worst with a weight of 1."""
    if isinstance(metric, RankMetric):
        return rank_sums(content.facts[where], content.leaning(entry, prompt)[where], content.groups[where])
    if metric.of_forecasts:
        return forecast_sums(content.labels[where], content.chances[entry, prompt][where], content.groups[where])
    if metric.classes:
        return metric.sums(content.labels[where], content.answers[entry, prompt][where], content.groups[where])
    values, weights = content.numbers[entry, prompt, metric.name][where].T
    return number_sums(weights, np.where(np.isnan(values), metric.limits[0], values), content.groups[where])


def standings(
    content: Content, contenders: Sequence[Contender], metric: OwnMetric, prompts: Mapping[str, str]
) -> RankedEntries:
    """Compare all entries.

    Args:
        content: the release.
        contenders: all entries.
        metric: to compare by.
        prompts: the headline prompt of each entry.
    """

    def complete(some: Sequence[Contender]) -> list[Contender]:
        most = max((int(one.asked.sum()) for one in some), default=0)
        return [one for one in some if 2 * int(one.asked.sum()) >= most > 0]

    def compared(some: Sequence[Contender], where: NDArray[np.bool_]) -> RankedEntries:
        """Compare entries pairwise on samples that all of them judged; empty if all samples are of one class."""
        if not some or not where.any() or (metric.classes and np.unique(content.labels[where]).size < 2):
            return RankedEntries({}, {}, {})
        tables = [table_of(content, one.entry, prompts[one.entry], metric, where) for one in some]
        apart, names = differences(tables, metric, [int(one.ranked) for one in some]), [one.entry for one in some]
        values = np.array([float(metric.value(table.sum(axis=0))) for table in tables])
        places = places_of(values, apart) if all(one.ranked for one in some) else []
        by_name = {(names[one], names[two]): apart[one, two] for one, two in apart}
        return RankedEntries(dict(zip(names, places, strict=False)), by_name, dict(zip(names, tables, strict=True)))

    systems = complete([one for one in contenders if one.ranked])
    ground = np.logical_and.reduce([content.judged, *(one.asked for one in systems)])
    others = [one for one in contenders if not one.ranked]
    if systems:
        others = [one for one in others if 2 * int((one.asked & ground).sum()) >= int(ground.sum())]
    else:
        others = complete(others)
    among = compared(systems, ground)
    both = [one for one in contenders if one in systems or one in others] if others else []
    beside = compared(both, np.logical_and.reduce([ground, *(one.asked for one in others)]))
    return RankedEntries(among.places, {**beside.differences, **among.differences}, among.tables)


@dataclass
class ScoreCheck:
    """Recomputes the scores of a release.

    Attributes:
        content: the release.
        number: scores read.
        faults: of the scores.
        unchecked: scores that were not recomputed.
        unrated: submissions of unrated responses, which are not published.
    """

    content: Content
    number: int = 0
    faults: list[str] = field(default_factory=list)
    unchecked: set[str] = field(default_factory=set)
    unrated: set[str] = field(default_factory=set)
    _first: dict[str, Row] = field(default_factory=dict)
    _metrics: dict[str, OwnMetric] = field(default_factory=dict)
    _leading: dict[str, Row] = field(default_factory=dict)

    def check(self, folder: Path, figures: Sequence[FigureName]) -> Mapping[str, list[VerifiedFigure]]:
        """Recompute every score and compare; returns the requested figures, by their texts."""
        found: dict[str, list[VerifiedFigure]] = {name.text: [] for name in figures}
        stated: dict[tuple[str, ...], Row] = {}
        for _, row in rows(folder / SCORES, _SCORE, self.faults):
            self.number += 1
            self._first.setdefault(row["origin"], row)
            if stated.setdefault(tuple(row[name] for name in _KEY), row) is not row:
                self.faults.append(f"{_name_of(row)} appears twice")
        self._metrics = self._metrics_of(stated)
        expected = {tuple(row[name] for name in _KEY): row for row in self._expected()}
        self.faults += few(map("/".join, expected.keys() - stated.keys()), "has predictions and no score")
        self.faults += few(map("/".join, stated.keys() - expected.keys()), "is a score without predictions")
        if [key for key in stated if key in expected] != [key for key in expected if key in stated]:
            self.faults.append("the scores are not in their order (by origin, prompt, period and metric)")
        for key, row in stated.items():
            made = expected.get(key, {})
            self.faults += (f"{_name_of(row)}: {what}" for what in self._differences(row, made))
            if made.get("headline") and key[2:] == (ALL, self._headline.name):
                self._leading[row["origin"]] = row
            for name in figures if "value" in made else ():
                if (name.metric or self._headline.name) == row["metric"] and name.fits(row):
                    values, stated_ends = (tuple(one[end] for end in _ENDS) for one in (made, row))
                    found[name.text].append(_figure(row, row["metric"], made["n"], values, stated_ends))
        impossible = (
            f"{short(origin)}: {what}" for origin, row in self._first.items() for what in self._impossible(row)
        )
        self.faults = first_of([*self.faults, *impossible])
        for name in figures:
            found[name.text] += self._standing(name)
        self.unchecked |= {
            f"what entries say of themselves ({', '.join(_OWN[1:])})",
            "whether there were other entries",
            "names of systems and regimes",
            f"digits of figures beyond {_TOLERANCE:g}",
        }
        return found

    def _metrics_of(self, stated: Iterable[tuple[str, ...]]) -> dict[str, OwnMetric]:
        """The metrics of the scores in order; one that another package computes comes where the task has it."""
        forecasts = FORECAST if self.content.classes and not self.content.manifest.is_main else ()
        of_chances = (OwnMetric.of_classes(name, self.content.classes) for name in forecasts)
        known = {one.name: one for one in (*of_chances, *self.content.metrics, *self.content.fact_metrics)}
        order, before = [*known], ""
        for *_, metric in stated:
            if metric not in order:
                order.insert(order.index(before) + 1 if before else len(order), metric)
            before = metric
        return {name: known.get(name) or OwnMetric.of_classes(name, self.content.classes) for name in order}

    @property
    def _headline(self) -> OwnMetric:
        return next(iter(self._metrics.values()), OwnMetric(""))

    def _where(self, entry: str, prompt: str, period: str = ALL) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """The scored samples of a period, and those of them that the entry was asked about."""
        whole = self.content.judged
        if period != ALL:
            whole = whole & (self.content.periods == self.content.period_names.index(period))
        return whole, whole & (self.content.answers[entry, prompt] != NOT_ASKED)

    def _expected(self) -> Iterator[Row]:
        """The expected scores, in order; an entry's statements on itself are taken from its first score."""
        content, manifest = self.content, self.content.manifest
        for entry, prompt in sorted(content.answers):
            prompts = [name for one, name in content.answers if one == entry]
            own = {name: self._first[entry][name] for name in _OWN} if entry in self._first else {}
            own |= {"settings": content.settings[entry]} if content.settings[entry] else {}
            common = {
                **own,
                **content.entries[entry]._asdict(),
                **{"origin": entry, "prompt": prompt, "edition": manifest.edition, "task": manifest["task"]},
                "bundled": manifest["source"] == _BUNDLED,
                "headline": len(prompts) == 1 or prompt == MAJORITY,
            }
            for period in sorted([ALL, *(() if manifest.is_frozen else content.period_names)]):
                whole, where = self._where(entry, prompt, period)
                for metric in self._metrics.values() if where.any() else ():
                    if isinstance(metric, RankMetric) and not np.isfinite(content.facts[where]).any():
                        continue
                    sizes = self._computed(entry, prompt, metric, where)
                    counts = {"n": int(where.sum()), "n_split": int(whole.sum())}
                    yield {**common, "period": period, "metric": metric.name, **counts, **sizes}

    def _computed(self, entry: str, prompt: str, metric: OwnMetric, where: NDArray[np.bool_]) -> Row:
        """Groups, counts, value and interval; no value if undefined."""
        content = self.content
        answers, groups = content.answers[entry, prompt][where], content.groups[where]
        found: Row = {}
        if content.classes or content.relevance or content.manifest["texts"] != "withheld":
            found["silent"] = int((answers < 0).sum())
        sizes = np.unique(groups, return_counts=True)[1].astype(np.float64)
        effective = kish(sizes)
        here = (entry, prompt) in content.chances if metric.of_forecasts else bool(metric.classes)
        numbered = (entry, prompt, metric.name) in content.numbers or isinstance(metric, RankMetric)
        if (here and metric.is_known) or numbered:
            table = table_of(content, entry, prompt, metric, where)
            effective = metric.effective(table)
            found |= dict(zip(_ENDS, interval(table, metric), strict=True))
            found |= dict(zip(_BOOTSTRAP, bootstrap_interval(table, metric), strict=True))
            known = FISHER if isinstance(metric, RankMetric) else WILSON
            found["method"] = known if sizes.size > 1 else NONE
        else:
            rated = not content.classes and content.metrics
            why = "whose ratings are not published beside it" if rated else "which is not known here"
            self.unchecked.add(f"scores of {short(content.manifest['task'])} by {short(metric.name)}, {why}")
        return {**found, "clusters": sizes.size, "effective_clusters": effective}

    def _differences(self, row: Row, made: Row) -> Iterator[str]:
        """Differences between a published score and the recomputed one."""
        said, numbers = {**row, "silent": row["none"] + row["blocked"]}, (*_ENDS, *_BOOTSTRAP)
        other = [name for name, value in made.items() if name in said and name not in numbers and said[name] != value]
        groups = [float(one.get("effective_clusters", 0)) for one in (row, made)]
        if "effective_clusters" in other and isclose(*groups, rel_tol=_TOLERANCE):
            other.remove("effective_clusters")
        if other or min(row["none"], row["blocked"]) < 0:
            yield f"{', '.join(other) or 'none and blocked'} are not those of the predictions"
        for what, names in (("", tuple(_ENDS)), (" by the bootstrap", ("value", *_BOOTSTRAP))):
            if names[-1] not in row:  # a row of an earlier version
                continue
            stated, computed = ([one[name] for name in names if name in one] for one in (row, made))
            if computed and not agree(stated, computed):
                yield f"{row['metric']}{what} is {_spelled(stated)}, and {_spelled(computed)} by the predictions"

    def _impossible(self, row: Row) -> Iterator[str]:
        """Statements that are impossible for an entry of its kind."""
        prompts = {prompt for entry, prompt in self.content.answers if entry == row["origin"]}
        kind, handed_in, classes = row["kind"], row["kind"] == "submission", bool(self.content.classes)
        may_be = UPLOADED if handed_in else RUN
        if row["provenance"] != may_be:
            yield f"the provenance of a {quoted(kind)} is {may_be}, not {quoted(row['provenance'])}"
        if handed_in != (row["origin"].count("/") == 1):
            yield "a submission is named by its folders, TEAM/SYSTEM, and nothing else is"
        ours, without_regime = row["team"] == _OURS, row["regime"] == "none"
        possible = {
            "submission": prompts == {SINGLE} and not row["smoke_test"],
            "baseline": prompts == {SINGLE} and without_regime and ours,
        }
        asked = ours and not without_regime and (MAJORITY in prompts or not classes)
        if not possible.get(kind, asked and (kind == "language-model" or not classes)):
            yield f"team, regime, prompts or smoke_test are not those of an entry of the kind {quoted(kind)}"

    @cached_property
    def _table(self) -> RankedEntries:
        leading = self._leading.items()
        contenders = [
            Contender(origin, is_ranked(row), self._where(origin, row["prompt"])[1]) for origin, row in leading
        ]
        return standings(self.content, contenders, self._headline, {origin: row["prompt"] for origin, row in leading})

    def _standing(self, name: FigureName) -> Iterator[VerifiedFigure]:
        """Figures on standings; empty for other metrics."""
        for origin, row in self._leading.items() if name.metric in _STANDING else ():
            apart = self._table.differences.get((origin, name.wanted.get("against", "")))
            values: dict[str, tuple[float, float, float]] = {}
            if (place := self._table.places.get(origin)) is not None:
                tables = self._table.tables
                values |= {"rank": place[:3], "tie_group": (place.tie_group,) * 3}
                if name.metric == "first":
                    first = first_places(list(tables.values()), self._headline)
                    values["first"] = (float(first[list(tables).index(origin)]),) * 3
            if apart is not None:
                values |= {"lead": apart[:3], "p_value": (apart.adjusted,) * 3}
            if name.fits(row) and name.metric in values:
                n = int(self._where(origin, row["prompt"])[1].sum())
                yield _figure(row, name.metric, n, values[name.metric], None)

    def handed_in_faults(self, handed_in: Mapping[str, Handover]) -> Iterator[str]:
        """Differences between entries and submissions as received; call after `check`."""
        handed = (entry for entry, row in self._first.items() if row["kind"] == "submission")
        # A system of a rated study has the edition in place of a team.
        rated = "" if self.content.classes else f"{self.content.manifest.edition}/"
        published = {entry for entry in handed if not (rated and entry.startswith(rated))}
        missing = sorted(
            entry for entry in handed_in.keys() - published if not self._is_unrated(entry, handed_in[entry])
        )
        yield from (f"{short(entry)} was submitted but is not among the predictions" for entry in missing)
        for entry in sorted(published):
            if entry not in handed_in:
                yield f"{short(entry)} has no receipt for what it says"
                continue
            given, row = handed_in[entry], self._first[entry]
            named = EntryName(given.system, given.team, row["provenance"], given.regime)
            if self.content.entries[entry] != named or row["knowledge_cutoff"] != given.knowledge_cutoff:
                yield f"{short(entry)}: system, team, regime or knowledge_cutoff are not those that were submitted"
            if any(row[name] != given.facts.get(name) for name in _FACTS):
                yield f"{short(entry)}: {', '.join(_FACTS)} are not those that were submitted"
            more = row["about"].removeprefix(given.notes).strip()
            if not row["about"].startswith(given.notes) or not (more + _FLAGGED).startswith(_FLAGGED):
                yield f"{short(entry)}: about is not the notes that were submitted, with what the entry is flagged for"
            if self._answers_of(entry) != self._answers_given(given):
                yield f"{short(entry)}: the predictions are not those that were submitted"

    def _is_unrated(self, entry: str, given: Handover) -> bool:
        """Whether a submission of responses is unrated; it then has no scores and is not published."""
        texts = {text_hash(str(answer)) for answer in given.answers.values()}
        unrated = not (self.content.classes or self.content.relevance or self.content.rated & {entry, *texts})
        if unrated:
            self.unrated.add(f"{short(entry)}, whose responses are unrated")
        return unrated

    def _answers_of(self, entry: str) -> dict[str, int | str | None]:
        """An entry's published answers to the judged samples; texts and rankings by their hash."""
        content, said = self.content, self.content.answers[entry, SINGLE]
        asked = {
            key: int(said[at]) for key, at in content.places.items() if content.judged[at] and said[at] != NOT_ASKED
        }
        if content.classes:
            return {key: None if label < 0 else label for key, label in asked.items()}
        return dict.fromkeys(asked) | (
            {} if self._is_withheld else {key: content.responses[entry, key] for key in asked}
        )

    def _answers_given(self, given: Handover) -> dict[str, int | str | None]:
        """The answers of a submission, in the form of `_answers_of`."""
        content, found = self.content, dict[str, int | str | None]()
        for key, answer in given.answers.items():
            if key not in content.places or not content.judged[content.places[key]]:
                continue
            if content.classes:
                found[key] = answer if isinstance(answer, int) else None
            elif self._is_withheld:
                self.unchecked.add("texts that were submitted, which are withheld")
                found[key] = None
            else:
                found[key] = text_hash(str(answer))
        return found

    @property
    def _is_withheld(self) -> bool:
        return bool(self.content.manifest["texts"] == "withheld" and not self.content.relevance)


def is_ranked(row: Row) -> bool:
    """Whether an entry of this kind and regime has a rank."""
    return row["kind"] != "baseline" and row["regime"] not in _CONTROLS and not row["smoke_test"]


def _name_of(row: Row) -> str:
    return f"{short(row['system'])}/{short(row['prompt'])}/{short(row['period'])}/{short(row['metric'])}"


def _figure(
    row: Row, metric: str, n: int, values: tuple[float, ...], stated: tuple[float, ...] | None
) -> VerifiedFigure:
    name = "/".join((*(row[part] for part in _PARTS[:-1]), metric))
    value, low, high = values
    return VerifiedFigure(name, row["origin"], n, value, low, high, stated)


def agree(one: Sequence[float], two: Sequence[float]) -> bool:
    """Whether numbers are equal up to rounding."""
    return all(abs(here - there) <= _TOLERANCE * max(1.0, abs(there)) for here, there in zip(one, two, strict=True))


def _spelled(values: Sequence[float]) -> str:
    return f"{values[0]:.6f} [{values[1]:.6f}, {values[2]:.6f}]"
