"""Figures of the board computed again from released files: counts, metrics and intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hellofresh.errors import UsageError
from hellofresh.releases.verify.content import Content, ScoreRow
from hellofresh.samples import Sample
from hellofresh.stats import DEFAULT_METHOD, METRICS, Method, count, metric_intervals

__all__ = ["Figure", "FigureName", "figures_of", "score_faults"]

_TOLERANCE = 1e-9
_PARTS = ("quarter", "task", "system", "regime", "prompt", "period", "metric")
_MORE = ("team", "lane", "entry")


@dataclass(frozen=True, slots=True)
class FigureName:
    """Which figures of the board are asked for: values that a score must have; what is not said may be anything.

    Attributes:
        text: as it was asked for.
        wanted: value by part; without a prompt, the one that stands for the system.
        metric: name of the metric.
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
        metric = parts.pop("metric", "f1").lower()
        if metric not in METRICS or "system" not in parts or not parts.keys() <= {*_PARTS, *_MORE}:
            raise UsageError(
                f"not a figure: {text[:200]!r}",
                expected=f"{'/'.join(_PARTS).upper()}, or system=NAME and any of "
                f"{', '.join(name for name in (*_PARTS, *_MORE) if name != 'system')} with commas between them; "
                f"metrics are {', '.join(METRICS)}",
                code="bad-figure",
            )
        return cls(text, {"period": "all", **parts}, metric)

    def fits(self, row: ScoreRow) -> bool:
        """Whether a score is one that is asked for."""
        if "prompt" not in self.wanted and not row.headline:
            return False
        has = {**{name: getattr(row, name) for name in (*_PARTS[:-1], "team", "lane")}, "entry": row.origin}
        return all(has[name] == value for name, value in self.wanted.items())


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
        if "=" in piece and piece.split("=", 1)[0].strip() in {*_PARTS, *_MORE}:
            name, value = (side.strip() for side in piece.split("=", 1))
            parts[name] = value
        else:
            parts[name] = f"{parts.get(name, '')},{piece}"
    return parts


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure as it was computed from predictions and labels, and as `scores.jsonl` states it.

    Attributes:
        name: quarter, task, system, regime, prompt, period and metric.
        entry: the run or submission.
        n: samples judged.
        value, low, high: as computed here.
        stated: value, low and high as stated.
    """

    name: str
    entry: str
    n: int
    value: float
    low: float
    high: float
    stated: tuple[float, float, float]

    @property
    def agrees(self) -> bool:
        """Whether both are the same, but for rounding."""
        pairs = zip((self.value, self.low, self.high), self.stated, strict=True)
        return all(abs(here - there) <= _TOLERANCE for here, there in pairs)


def _judged(row: ScoreRow, content: Content) -> list[tuple[Sample, int | None]]:
    said = content.predictions.get((row.origin, row.prompt), {})
    return [
        (sample, said[key])
        for key, sample in content.judged.items()
        if key in said and row.period in ("all", sample.period)
    ]


def _arrays(row: ScoreRow, content: Content) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, predictions (-1: no answer) and groups of the samples that a score is about."""
    judged = _judged(row, content)
    labels = np.array([content.labels[sample.id].label for sample, _ in judged], dtype=np.int8)
    said = np.array([-1 if label is None else label for _, label in judged], dtype=np.int8)
    return labels, said, np.unique([sample.group for sample, _ in judged], return_inverse=True)[1]


def _method(row: ScoreRow) -> Method:
    """How the intervals of a score were made; where one group gave none, it does not matter."""
    known = {str(method): method for method in Method if method not in {Method.NONE, Method.MIRRORED}}
    return known.get(row.interval_method, DEFAULT_METHOD)


def figures_of(name: FigureName, content: Content) -> list[Figure]:
    """Every figure that has the name, computed from samples, labels and predictions."""
    found = []
    for row in content.scores:
        if not name.fits(row):
            continue
        labels, said, groups = _arrays(row, content)
        if not labels.size:
            continue
        value = count(labels, said).metrics[name.metric]
        intervals = metric_intervals(
            labels, said, groups, method=_method(row), seed=row.interval_seed, resamples=row.interval_resamples
        )
        here = intervals[name.metric]
        stated = tuple(float(getattr(row, f"{name.metric}{end}")) for end in ("", "_low", "_high"))
        full = "/".join((row.quarter, row.task, row.system, row.regime, row.prompt, row.period, name.metric))
        found.append(
            Figure(full, row.origin, labels.size, value, here.low, here.high, (stated[0], stated[1], stated[2]))
        )
    return found


def score_faults(content: Content, quarter: str, task: str) -> Iterator[str]:
    """Scores whose counts or values are not those of the predictions, and predictions that have no score."""
    scored: set[tuple[str, str, str]] = set()
    for row in content.scores:
        name = f"{row.system[:80]}/{row.prompt[:80]}/{row.period[:20]}"
        if (place := (row.origin, row.prompt, row.period)) in scored:
            yield f"{name} is there twice"
        scored.add(place)
        if (row.quarter, row.task) != (quarter, task):
            yield f"{name} is of {row.quarter[:20]} {row.task[:80]}"
        elif content.entries.get(row.origin, ()) != (row.system, row.team, row.lane, row.regime):
            yield f"{name}: no predictions of that entry by that name"
        elif not _same(row, content):
            yield f"{name}: counts or values are not those of the predictions"
    for (entry, prompt), said in content.predictions.items():
        periods = {sample.period for key, sample in content.judged.items() if key in said}
        for period in sorted(periods | {"all"}):
            if (entry, prompt, period) not in scored:
                yield f"{entry[:80]}/{prompt[:80]}/{period} has predictions and no score"


def _same(row: ScoreRow, content: Content) -> bool:
    labels, said, groups = _arrays(row, content)
    if not labels.size:
        return False
    counts = count(labels, said)
    split = sum(1 for sample in content.judged.values() if row.period in ("all", sample.period))
    whole: Sequence[tuple[int, int]] = (
        (row.tp, counts.tp), (row.fp, counts.fp), (row.tn, counts.tn), (row.fn, counts.fn),
        (row.none + row.blocked, counts.none), (row.n, counts.n), (row.n_split, split),
        (row.clusters, len(set(groups.tolist()))),
    )  # fmt: skip
    values = ((getattr(row, name), value) for name, value in counts.metrics.items())
    return all(said == found for said, found in whole) and all(abs(a - b) <= _TOLERANCE for a, b in values)
