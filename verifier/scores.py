"""What a release says of entries, computed again from its labels and predictions: scores, and figures of the board."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isclose
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from verifier.content import MAJORITY, SINGLE, Answers, Content, EntryName
from verifier.documented import metrics_of
from verifier.manifest import PROSPECTIVE, SCORES, Manifest
from verifier.reading import COUNT, MOST_FAULTS, Row, rows
from verifier.statistics import (
    METRIC_NAMES,
    OF_ONE,
    Contender,
    ScoreValues,
    StandingsTable,
    Yardstick,
    recompute,
    table_of,
)

ALL = "all"
_OURS, _BUNDLED, _FLAGGED = "HelloFresh", "bundled-sample", "Flagged: "
_TOLERANCE = 1e-9
_PARTS = ("edition", "task", "system", "regime", "prompt", "period", "metric")
_MORE = ("team", "lane", "entry", "against")
_STANDING = ("rank", "first", "tie_group", "lead", "p_value")
"""Figures about a system among the others; the last two need an entry that it is set `against`."""
_ALIKE = ("kind", "about", "smoke_test", "knowledge_cutoff", "settings")
"""What all scores of an entry must say in one way."""
_TEXTS = ("task", "system", "team", "lane", "kind", "regime", "prompt", "period", "origin", "knowledge_cutoff", "about")
_COMMON = {
    **dict.fromkeys((*_TEXTS, "settings?", "edition?", "quarter?"), str),
    **dict.fromkeys(("headline", "bundled", "smoke_test"), bool),
    **dict.fromkeys(("n", "n_split", "clusters", "none", "blocked"), int),
    "effective_clusters": float,
}
_ENDS = {"value": "", "low": "_low", "high": "_high"}
_WIDE_METRICS = ("precision", "recall", "f1", "accuracy")
_SCORE = {**_COMMON, "metric": str, **dict.fromkeys(_ENDS, float), "method": str}
_WIDE_SCORE = {  # a row of an earlier version, with four metrics
    **_COMMON,
    **{metric + end: float for metric in _WIDE_METRICS for end in _ENDS.values()},
    **dict.fromkeys(("tp", "fp", "tn", "fn"), COUNT),
    **dict.fromkeys(("interval_seed", "interval_resamples"), range(1)),
    "interval_method": str,
}


class BadFigureError(ValueError):
    """A figure that is not named in one of the two ways."""


@dataclass(frozen=True, slots=True)
class FigureName:
    """Which figures of the board are asked for: values that a score must have; what is not said may be anything.

    Attributes:
        text: as it was asked for.
        wanted: value by part; without a prompt, the one that stands for the system.
        metric: name of the metric; empty for the one that systems are ranked by.
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
        parts = _named(text) if "=" in text else _placed(text)
        kind, colon, of = parts.pop("metric", "").partition(":")
        metric = kind.lower() + colon + of
        paired = (metric in _STANDING[-2:]) == ("against" in parts)
        named = kind.lower() in OF_ONE if colon else metric in {"", *METRIC_NAMES, *_STANDING}
        if "system" not in parts or not (named and paired and parts.keys() <= {*_PARTS, *_MORE}):
            raise BadFigureError(f"not a figure: {text[:200]!r}; expected {cls.EXPECTED}")
        return cls(text, {"period": ALL, **parts}, metric)

    def may_be_of(self, manifest: Manifest) -> bool:
        """Whether it may be a figure of this release."""
        return all(self.wanted.get(name, manifest[name]) == manifest[name] for name in ("edition", "task"))

    def fits(self, row: Row) -> bool:
        """Whether a score is one that is asked for."""
        has = {**row, "entry": row["origin"]}
        wanted = self.wanted.items()
        return ("prompt" in self.wanted or row["headline"]) and all(
            has[name] == value for name, value in wanted if name != "against"
        )


def _placed(text: str) -> dict[str, str]:
    """Parts by place; only a system's name may have slashes."""
    parts = text.split("/")
    if len(parts) < len(_PARTS):
        return {}
    return dict(zip(_PARTS, [*parts[:2], "/".join(parts[2:-4]), *parts[-4:]], strict=True))


def _named(text: str) -> dict[str, str]:
    """Parts by name; what has no equals sign belongs to the value before it, which had a comma."""
    parts: dict[str, str] = {}
    name = ""
    for piece in text.split(","):
        found, equals, value = (part.strip() for part in piece.partition("="))
        if equals and found in {*_PARTS, *_MORE, "quarter"}:  # as earlier versions call the edition
            name = "edition" if found == "quarter" else found
            parts[name] = value
        else:
            parts[name] = f"{parts.get(name, '')},{piece}"
    return parts


@dataclass(frozen=True, slots=True)
class VerifiedFigure:
    """A figure as it was computed from predictions and labels, and as `scores.jsonl` states it.

    Attributes:
        name: edition, task, system, regime, prompt, period and metric.
        entry: the run or submission.
        n: samples judged.
        value, low, high: as computed here.
        stated: value, low and high as stated; None for those that the release does not state.
    """

    name: str
    entry: str
    n: int
    value: float
    low: float
    high: float
    stated: tuple[float, float, float] | None

    @property
    def agrees(self) -> bool:
        """Whether both are the same, but for rounding."""
        return self.stated is None or _agree((self.value, self.low, self.high), self.stated)


@dataclass(frozen=True, slots=True)
class Handover:
    """A submission that counts, as it was handed in before the deadline by its receipt.

    Attributes:
        system, team, regime, knowledge_cutoff, notes: what it says of itself.
        labels: what it says of each sample.
    """

    system: str
    team: str
    regime: str
    knowledge_cutoff: str
    notes: str
    labels: Mapping[str, int | None] = field(repr=False)


@dataclass
class ScoreCheck:
    """Computes the scores of a release again.

    Attributes:
        manifest, content: the release.
        number: scores that were read.
        faults: what is wrong with them.
        unchecked: what was not computed again.
    """

    manifest: Manifest
    content: Content
    number: int = 0
    faults: list[str] = field(default_factory=list)
    unchecked: set[str] = field(default_factory=set)
    _scored: set[tuple[str, str, str, str]] = field(default_factory=set)
    _first: dict[str, Row] = field(default_factory=dict)
    _latest: tuple[tuple[str, str, str], ScoreValues] | None = None
    _contenders: dict[str, tuple[Row, Contender]] = field(default_factory=dict)
    _headline: str = ""

    def __post_init__(self) -> None:
        content = self.content
        self._metrics = metrics_of(self.manifest["task"], content.classes)
        self._headline = self._metrics[0] if self._metrics else ""
        self._period_numbers = {name: number for number, name in enumerate(content.period_names)}
        self._sizes = np.bincount(content.periods[content.judged], minlength=len(content.period_names))
        self._prompts: dict[str, set[str]] = defaultdict(set)
        for entry, prompt in content.predictions:
            self._prompts[entry].add(prompt)

    def check(self, folder: Path, figures: Sequence[FigureName]) -> Mapping[str, list[VerifiedFigure]]:
        """Check scores, and whether all predictions have one; gives the figures that are asked for, by their texts.

        Where no class is chosen, scores rest on ratings or on relevance and are only counted.
        """
        found: dict[str, list[VerifiedFigure]] = {name.text: [] for name in figures}
        last = ("", "", "")
        for row in self._rows(folder):
            self.number += 1
            if not self.content.classes:
                self.unchecked.add(f"scores of {self.manifest['task'][:80]}, which rest on ratings or on relevance")
                continue
            if (place := (row["origin"], row["prompt"], row["period"])) < last:
                self.faults.append(f"{_name_of(row)} is not in its place (sorted by origin, prompt and period)")
            last = max(place, last)
            here = self._computed(row)
            values = here.metrics.get(row["metric"]) if here is not None else None
            for name in figures:
                if values is not None and (name.metric or self._headline) == row["metric"] and name.fits(row):
                    stated = (row["value"], row["low"], row["high"])
                    found[name.text].append(_figure(row, row["metric"], int(row["n"]), values, stated))
            if len(self.faults) > MOST_FAULTS:
                self.faults.append("and more")
                return found
        if self.content.classes:
            self.faults += self._without_score()
            for name in figures:
                found[name.text] += self._standing(name)
            self.unchecked.add("what entries say of themselves (about, settings, knowledge_cutoff, smoke_test)")
        return found

    def _rows(self, folder: Path) -> Iterator[Row]:
        """The scores; a row of an earlier version is one for each of its metrics."""
        for _, row in rows(folder / SCORES, (_SCORE, _WIDE_SCORE), self.faults):
            common = {"settings": "", **row, "edition": row.get("edition", row.get("quarter", ""))}
            if "metric" in row:
                yield common
                continue
            common["method"] = row["interval_method"]
            for metric in _WIDE_METRICS:
                yield {**common, "metric": metric, **{end: row[metric + suffix] for end, suffix in _ENDS.items()}}

    def _computed(self, row: Row) -> ScoreValues | None:
        """What a score must say, None where it is not one of this release; what else it says is a fault."""
        name, place = _name_of(row), (row["origin"], row["prompt"], row["period"])
        named = EntryName(row["system"], row["team"], row["lane"], row["regime"])
        judged = self._samples(row)
        if (*place, row["metric"]) in self._scored:
            self.faults.append(f"{name} is there twice")
        elif (row["edition"], row["task"]) != (self.manifest["edition"], self.manifest["task"]):
            self.faults.append(f"{name} is of {row['edition'][:20]} {row['task'][:80]}")
        elif judged is None or self.content.entries.get(row["origin"]) != named:
            self.faults.append(f"{name}: no predictions of that entry by that name")
        else:
            self._scored.add((*place, row["metric"]))
            if self._latest is None or self._latest[0] != place or row["metric"] not in self._latest[1].metrics:
                labels, groups = self.content.labels[judged[0]], self.content.groups[judged[0]]
                metrics = {*self._metrics, row["metric"]}
                self._latest = place, recompute(labels, judged[1], groups, self.content.classes, metrics)
            here = self._latest[1]
            split = int(self._sizes.sum() if place[2] == ALL else self._sizes[self._period_numbers[place[2]]])
            faults = (*self._differences(row, here, split), *self._description_faults(row))
            self.faults += (f"{name}: {what}" for what in faults)
            self._enter(row, judged)
            return here
        return None

    def _samples(self, row: Row) -> tuple[NDArray[np.int32], NDArray[np.int8]] | None:
        """The samples that a score is about, and what was said of them; None where there is none."""
        said, period = self.content.predictions.get((row["origin"], row["prompt"])), row["period"]
        if said is None or (period != ALL and period not in self._period_numbers):
            return None
        positions, answers = said.positions, said.answers
        there = self.content.judged[positions]
        if period != ALL:
            there &= self.content.periods[positions] == self._period_numbers[period]
        return (positions[there], answers[there]) if there.any() else None

    def _differences(self, row: Row, here: ScoreValues, split: int) -> Iterator[str]:
        """What a score says otherwise than it was computed here."""
        counts = {**here.counts, "n_split": split}
        silent = counts.pop("silent")
        other = [name for name, number in counts.items() if row.get(name, number) != number]
        if row["none"] + row["blocked"] != silent or min(row["none"], row["blocked"]) < 0:
            other.append("none and blocked")
        worth = here.effective_clusters.get(row["metric"], ())
        if worth and not any(isclose(row["effective_clusters"], one, rel_tol=_TOLERANCE) for one in worth):
            other.append("effective_clusters")
        if row["method"] != here.method and row["metric"] in here.metrics:
            other.append("method")
        if other:
            yield f"{', '.join(other)} are not those of the predictions"
        stated, computed = (row["value"], row["low"], row["high"]), here.metrics.get(row["metric"])
        if computed is None:
            self.unchecked.add(f"scores by {row['metric'][:60]}, which is not known here")
        elif not _agree(stated, computed):
            yield f"{row['metric']} is {_spelled(stated)}, and {_spelled(computed)} by the predictions"

    def _description_faults(self, row: Row) -> Iterator[str]:
        """What is wrong with how a score describes its entry: in one way in all rows, and in one that can be."""
        prompts = self._prompts[row["origin"]]
        stands = MAJORITY if MAJORITY in prompts else next(iter(prompts)) if len(prompts) == 1 else ""
        if row["headline"] != (row["prompt"] == stands):
            yield "headline is not true of the prompt that stands for the entry, and of no other"
        if row["bundled"] != (self.manifest["source"] == _BUNDLED):
            yield "bundled is not what the manifest says of the source"
        if (first := self._first.setdefault(row["origin"], row)) is row:
            yield from self._impossible(row, prompts)
        elif any(first[name] != row[name] for name in _ALIKE):
            yield "kind, about, smoke_test, knowledge_cutoff or settings are not those of the entry's other scores"

    def _impossible(self, row: Row, prompts: set[str]) -> Iterator[str]:
        """What cannot be said of an entry of its kind."""
        kind, handed_in = row["kind"], row["kind"] == "submission"
        lane = ("submitted" if handed_in else "harness") if self.manifest.is_main else PROSPECTIVE
        if row["lane"] != lane:
            yield f"an entry of the kind {kind[:40]!r} belongs to the lane {lane}, not to {row['lane'][:40]!r}"
        if handed_in != (row["origin"].count("/") == 1):
            yield "a submission is named by its folders, TEAM/SYSTEM, and nothing else is"
        ours, without_regime = row["team"] == _OURS, row["regime"] == "none"
        possible = {
            "submission": prompts == {SINGLE} and not row["smoke_test"],
            "baseline": prompts == {SINGLE} and without_regime and ours,
            "language-model": MAJORITY in prompts and not without_regime and ours,
        }
        if not possible.get(kind, False):
            yield f"team, regime, prompts or smoke_test are not those of an entry of the kind {kind[:40]!r}"

    def _enter(self, row: Row, judged: tuple[NDArray[np.int32], NDArray[np.int8]]) -> None:
        """Keep the row that stands for an entry in the whole edition."""
        self._headline = self._headline or row["metric"]  # the first of a task that is not known here
        if row["headline"] and row["period"] == ALL and row["metric"] == self._headline:
            ranked = Contender.is_ranked(row["kind"], row["regime"], smoke_test=row["smoke_test"])
            self._contenders[row["origin"]] = row, Contender(row["origin"], ranked, *judged)

    def _without_score(self) -> Iterator[str]:
        metrics = self._metrics or sorted({metric for *_, metric in self._scored})
        for (entry, prompt), said in self.content.predictions.items():
            judged = said.positions[self.content.judged[said.positions]]
            numbers = np.unique(self.content.periods[judged]).tolist()
            names = [] if self.manifest.is_frozen else sorted(self.content.period_names[k] for k in numbers)
            for period in [ALL, *names]:
                missing = [name for name in metrics if (entry, prompt, period, name) not in self._scored]
                if missing:
                    named = f"{entry[:80]}/{prompt[:80]}/{period}"
                    yield f"{named} has predictions and no score: {', '.join(missing)[:200]}"

    @cached_property
    def _table(self) -> StandingsTable:
        contenders = [contender for _, contender in self._contenders.values()]
        by = Yardstick(self._headline, self.content.classes)
        return table_of(contenders, self.content.labels, self.content.groups, by)

    def _standing(self, name: FigureName) -> Iterator[VerifiedFigure]:
        """Figures about systems among the others; nothing for other metrics."""
        for row, contender in self._contenders.values() if name.metric in _STANDING else ():
            place = self._table.places.get(contender.entry)
            apart = self._table.differences.get((contender.entry, name.wanted.get("against", "")))
            values: dict[str, tuple[float, float, float]] = {}
            if place is not None:
                values |= {"rank": place[:3], "first": (place.first,) * 3, "tie_group": (place.tie_group,) * 3}
            if apart is not None:
                values |= {"lead": apart[:3], "p_value": (apart.adjusted,) * 3}
            if name.fits(row) and name.metric in values:
                yield _figure(row, name.metric, int(contender.positions.size), values[name.metric], None)

    def handed_in_faults(self, handed_in: Mapping[str, Handover]) -> Iterator[str]:
        """Entries that are not what was handed in, and what was handed in and is not an entry; after `check`."""
        published = {entry for entry, row in self._first.items() if row["kind"] == "submission"}
        missing = sorted(handed_in.keys() - published)
        yield from (f"{entry[:80]} was handed in and is not among the predictions" for entry in missing)
        for entry in sorted(published):
            if entry not in handed_in:
                yield f"{entry[:80]} has no receipt for what it says"
                continue
            given, row = handed_in[entry], self._first[entry]
            named = EntryName(given.system, given.team, row["lane"], given.regime)
            if self.content.entries[entry] != named or row["knowledge_cutoff"] != given.knowledge_cutoff:
                yield f"{entry[:80]}: system, team, regime or knowledge_cutoff are not those that were handed in"
            more = row["about"].removeprefix(given.notes).strip()
            if not row["about"].startswith(given.notes) or not (more + _FLAGGED).startswith(_FLAGGED):
                yield f"{entry[:80]}: about is not the notes that were handed in, with what the entry is flagged for"
            said = self.content.predictions.get((entry, SINGLE), Answers())
            places = ((key, place) for key, place in self.content.places.items() if self.content.judged[place])
            wanted = {place: given.labels[key] for key, place in places if key in given.labels}
            if wanted != {at: None if label < 0 else label for at, label in zip(said.at, said.labels, strict=True)}:
                yield f"{entry[:80]}: the predictions are not those that were handed in"


def _name_of(row: Row) -> str:
    return f"{row['system'][:80]}/{row['prompt'][:80]}/{row['period'][:20]}/{row['metric'][:60]}"


def _figure(
    row: Row, metric: str, n: int, values: tuple[float, float, float], stated: tuple[float, float, float] | None
) -> VerifiedFigure:
    name = "/".join((*(row[part] for part in _PARTS[:-1]), metric))
    return VerifiedFigure(name, row["origin"], n, *values, stated)


def _agree(one: Sequence[float], two: Sequence[float]) -> bool:
    return all(abs(here - there) <= _TOLERANCE for here, there in zip(one, two, strict=True))


def _spelled(values: tuple[float, float, float]) -> str:
    return f"{values[0]:.6f} [{values[1]:.6f}, {values[2]:.6f}]"
