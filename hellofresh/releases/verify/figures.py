"""Figures of the board computed again from released files: counts, metrics and intervals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isclose

import numpy as np
from numpy.typing import NDArray

from hellofresh.core.errors import UsageError
from hellofresh.releases.verify.content import Content, EntryName, ScoreRow
from hellofresh.releases.verify.entries import Descriptions, Handover, handed_in_faults
from hellofresh.releases.verify.files import CheckedManifest
from hellofresh.releases.verify.intervals import METRIC_NAMES, ScoreValues, is_known, recompute
from hellofresh.releases.verify.standings import Contender, StandingsTable, Yardstick, table_of
from hellofresh.tasks import TASKS

__all__ = ["FigureName", "ScoreCheck", "ScoreReport", "VerifiedFigure"]

_TOLERANCE = 1e-9
_MOST_FAULTS = 20
_ALL = "all"
_OLD = {"quarter": "edition"}
"""What parts were called in earlier versions."""
_PARTS = ("edition", "task", "system", "regime", "prompt", "period", "metric")
_MORE = ("team", "lane", "entry", "against")
_STANDING = ("rank", "first", "tie_group", "lead", "p_value")
"""Figures about a system among the others; the last two need an entry that it is set `against`."""


@dataclass(frozen=True, slots=True)
class FigureName:
    """Which figures of the board are asked for: values that a score must have; what is not said may be anything.

    Attributes:
        text: as it was asked for.
        wanted: value by part; without a prompt, the one that stands for the system.
        metric: name of the metric; empty for the one that systems are ranked by.
    """

    text: str
    wanted: Mapping[str, str]
    metric: str

    @classmethod
    def parse(cls, text: str) -> FigureName:
        """Read `QUARTER/TASK/SYSTEM/REGIME/PROMPT/PERIOD/METRIC`, or `system=NAME,metric=f1,period=all,...`.

        Raises:
            UsageError: if it is neither.
        """
        parts = _named(text) if "=" in text else _placed(text)
        kind, colon, of = parts.pop("metric", "").partition(":")
        metric = kind.lower() + colon + of
        paired = (metric in _STANDING[-2:]) == ("against" in parts)
        named = kind.lower() in METRIC_NAMES[:3] if colon else metric in {"", *METRIC_NAMES, *_STANDING}
        known = named and parts.keys() <= {*_PARTS, *_MORE}
        if "system" not in parts or not (known and paired):
            raise UsageError(
                f"not a figure: {text[:200]!r}",
                expected=f"{'/'.join(_PARTS).upper()}, or system=NAME and any of "
                f"{', '.join(name for name in (*_PARTS, *_MORE) if name != 'system')} with commas between them; "
                f"metrics are {', '.join((*METRIC_NAMES, *_STANDING))}; of one class as in precision:NAME; "
                "lead and p_value need against=ENTRY",
                code="bad-figure",
            )
        return cls(text, {"period": "all", **parts}, metric)

    def fits(self, row: ScoreRow) -> bool:
        """Whether a score is one that is asked for."""
        if "prompt" not in self.wanted and not row.headline:
            return False
        has = {**{name: getattr(row, name) for name in (*_PARTS[:-1], "team", "lane")}, "entry": row.origin}
        return all(has[name] == value for name, value in self.wanted.items() if name != "against")


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
        if "=" in piece and piece.split("=", 1)[0].strip() in {*_PARTS, *_MORE, *_OLD}:
            name, value = (side.strip() for side in piece.split("=", 1))
            parts[_OLD.get(name, name)] = value
        else:
            parts[name] = f"{parts.get(name, '')},{piece}"
    return parts


@dataclass(frozen=True, slots=True)
class VerifiedFigure:
    """A figure as it was computed from predictions and labels, and as `scores.jsonl` states it.

    Attributes:
        name: quarter, task, system, regime, prompt, period and metric.
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
        if self.stated is None:
            return True
        pairs = zip((self.value, self.low, self.high), self.stated, strict=True)
        return all(abs(here - there) <= _TOLERANCE for here, there in pairs)


@dataclass(frozen=True, slots=True)
class ScoreReport:
    """What checking the scores of a release came to: how many there are, their faults, and the figures asked for."""

    number: int = 0
    faults: tuple[str, ...] = ()
    figures: Mapping[str, tuple[VerifiedFigure, ...]] = field(default_factory=dict)


class ScoreCheck:
    """Computes scores again from samples, labels and predictions.

    Args:
        manifest, content: the release.
    """

    def __init__(self, manifest: CheckedManifest, content: Content) -> None:
        self._manifest, self._content = manifest, content
        self._descriptions = Descriptions.of(manifest, content)
        self._period_numbers = {name: number for number, name in enumerate(content.period_names)}
        self._sizes = np.bincount(content.periods[content.judged], minlength=len(content.period_names))
        task = TASKS.get(manifest.task)
        self._classes = task.classes if task else ()
        self._metrics = tuple(metric.name for metric in task.metrics) if task else ()
        self._scored: set[tuple[str, str, str, str]] = set()
        self._latest: tuple[tuple[str, str, str], ScoreValues] | None = None
        self._contenders: dict[str, tuple[ScoreRow, Contender]] = {}
        self._faults: list[str] = []

    @property
    def rests_on_files(self) -> bool:
        """Whether scores follow from the release's own files; those of responses rest on ratings elsewhere."""
        return bool(self._classes)

    def check(self, rows: Iterable[ScoreRow], figures: Sequence[FigureName]) -> ScoreReport:
        """Check scores, and whether all predictions have one; scores that rest on other files are only counted."""
        if not self.rests_on_files:
            return ScoreReport(sum(1 for _ in rows))
        found: dict[str, list[VerifiedFigure]] = {name.text: [] for name in figures}
        number = 0
        for number, row in enumerate(rows, start=1):  # noqa: B007 - how many there were
            here = self._computed(row)
            if here is not None:
                self._enter(row)
                for name in figures:
                    if (name.metric or self._metrics[0]) == row.metric and name.fits(row):
                        found[name.text].append(_figure(row, here))
            if len(self._faults) > _MOST_FAULTS:
                self._faults.append("and more")
                break
        else:
            self._faults += self._without_score()
            for name in figures:
                found[name.text] += self._standing(name)
        return ScoreReport(number, tuple(self._faults), {text: tuple(items) for text, items in found.items()})

    def handed_in(self, handed_in: Mapping[str, Handover]) -> tuple[str, ...]:
        """What is wrong with entries that others handed in; to be asked after the scores were checked."""
        return tuple(handed_in_faults(self._content, self._descriptions, handed_in))

    def _computed(self, row: ScoreRow) -> ScoreValues | None:
        """What a score must say, None where it is no score of this release; what else it says is a fault."""
        name = f"{row.system[:80]}/{row.prompt[:80]}/{row.period[:20]}/{row.metric[:60]}"
        place = (row.origin, row.prompt, row.period)
        named = EntryName(row.system, row.team, row.lane, row.regime)
        judged = self._samples(row)
        if (*place, row.metric) in self._scored:
            self._faults.append(f"{name} is there twice")
        elif (row.edition, row.task) != (self._manifest.edition, self._manifest.task):
            self._faults.append(f"{name} is of {row.edition[:20]} {row.task[:80]}")
        elif judged is None or self._content.entries.get(row.origin) != named:
            self._faults.append(f"{name}: no predictions of that entry by that name")
        elif row.metric not in self._metrics or not is_known(row.metric, self._classes):
            self._faults.append(f"{name} is no metric of {row.task[:80]} that can be computed here")
        else:
            self._scored.add((*place, row.metric))
            here = self._values(place, *judged)
            split = int(self._sizes.sum() if row.period == _ALL else self._sizes[self._period_numbers[row.period]])
            self._faults += (f"{name}: {what}" for what in _differences(row, here, split))
            self._faults += (f"{name}: {what}" for what in self._descriptions.faults(row))
            return here
        return None

    def _values(
        self, place: tuple[str, str, str], positions: NDArray[np.int32], answers: NDArray[np.int8]
    ) -> ScoreValues:
        """All metrics at once: the rows of a place follow each other."""
        if self._latest is None or self._latest[0] != place:
            labels, groups = self._content.labels[positions], self._content.groups[positions]
            self._latest = place, recompute(labels, answers, groups, self._classes, self._metrics)
        return self._latest[1]

    def _enter(self, row: ScoreRow) -> None:
        """Keep the row that stands for an entry in the whole quarter."""
        judged = self._samples(row)
        if row.headline and row.period == _ALL and row.metric == self._metrics[0] and judged is not None:
            ranked = Contender.is_ranked(row.kind, row.regime, smoke_test=row.smoke_test)
            self._contenders[row.origin] = row, Contender(row.origin, ranked, *judged)

    @cached_property
    def _table(self) -> StandingsTable:
        contenders = [contender for _, contender in self._contenders.values()]
        by = Yardstick(self._metrics[0], self._classes)
        return table_of(contenders, self._content.labels, self._content.groups, by)

    def _standing(self, name: FigureName) -> Iterator[VerifiedFigure]:
        """Figures about systems among the others; nothing for other metrics."""
        wanted = [row for row, _ in self._contenders.values() if name.metric in _STANDING and name.fits(row)]
        for row in wanted:
            values = _values(self._table, name, row.origin)
            if values is not None:
                full = "/".join((row.edition, row.task, row.system, row.regime, row.prompt, row.period, name.metric))
                n = int(self._contenders[row.origin][1].positions.size)
                yield VerifiedFigure(full, row.origin, n, *values, None)

    def _samples(self, row: ScoreRow) -> tuple[NDArray[np.int32], NDArray[np.int8]] | None:
        """The samples that a score is about, and what was said of them; None where there is none."""
        said = self._content.predictions.get((row.origin, row.prompt))
        if said is None or (row.period != _ALL and row.period not in self._period_numbers):
            return None
        positions, answers = said.positions, said.answers
        there = self._content.judged[positions]
        if row.period != _ALL:
            there &= self._content.periods[positions] == self._period_numbers[row.period]
        return (positions[there], answers[there]) if there.any() else None

    def _without_score(self) -> Iterator[str]:
        for (entry, prompt), said in self._content.predictions.items():
            judged = said.positions[self._content.judged[said.positions]]
            numbers = np.unique(self._content.periods[judged]).tolist()
            names = [] if self._manifest.is_frozen else sorted(self._content.period_names[k] for k in numbers)
            for period in [_ALL, *names]:
                missing = [name for name in self._metrics if (entry, prompt, period, name) not in self._scored]
                if missing:
                    named = f"{entry[:80]}/{prompt[:80]}/{period}"
                    yield f"{named} has predictions and no score: {', '.join(missing)[:200]}"


def _values(table: StandingsTable, name: FigureName, entry: str) -> tuple[float, float, float] | None:
    """Value, low and high of a figure about a system among the others; None where it has none."""
    if name.metric in _STANDING[-2:]:
        apart = table.differences.get((entry, name.wanted["against"]))
        if apart is None:
            return None
        return (apart.value, apart.low, apart.high) if name.metric == "lead" else (apart.adjusted,) * 3
    place = table.places.get(entry)
    if place is None:
        return None
    if name.metric == "rank":
        return place.rank, place.low, place.high
    return (place.first,) * 3 if name.metric == "first" else (place.tie_group,) * 3


def _figure(row: ScoreRow, here: ScoreValues) -> VerifiedFigure:
    value, low, high = here.metrics[row.metric]
    full = "/".join((row.edition, row.task, row.system, row.regime, row.prompt, row.period, row.metric))
    return VerifiedFigure(full, row.origin, here.counts["n"], value, low, high, (row.value, row.low, row.high))


def _differences(row: ScoreRow, here: ScoreValues, split: int) -> Iterator[str]:
    """What a score says otherwise than it was computed here."""
    counts = {**here.counts, "n_split": split}
    silent = counts.pop("silent")
    other = [name for name, number in counts.items() if getattr(row, name) not in {number, None}]
    other += ["none and blocked"] if row.none + row.blocked != silent or min(row.none, row.blocked) < 0 else []
    if not isclose(row.effective_clusters, here.effective_clusters, rel_tol=_TOLERANCE):
        other.append("effective_clusters")
    if (row.method, row.interval_seed, row.interval_resamples) != (here.method, 0, 0):
        other.append("method")
    if other:
        yield f"{', '.join(other)} are not those of the predictions"
    stated, computed = (row.value, row.low, row.high), here.metrics[row.metric]
    if not all(abs(a - b) <= _TOLERANCE for a, b in zip(stated, computed, strict=True)):
        yield f"{row.metric} is {_spelled(stated)}, and {_spelled(computed)} by the predictions"


def _spelled(values: tuple[float, float, float]) -> str:
    return f"{values[0]:.6f} [{values[1]:.6f}, {values[2]:.6f}]"
