"""The log of a training: a row for each step or measurement, in JSON lines, its figure, and the watch over it.

The reward models stand for what people would say, and a policy that is tuned by them finds where they do not. So a
reward that rises while a judge falls that nothing is trained on is being exploited. Both trends are least-squares lines
over the steps, with 95% intervals by the t distribution. Steps follow from one another, so the intervals are somewhat
too short: the flag is a reason to read responses, not a test.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy.stats import linregress

from hellofresh.core.files import read_models, write_bytes, write_jsonl
from hellofresh.results.figures.charts import Axis, Chart, Figure, Mark, Series
from hellofresh.results.figures.image import render
from hellofresh.stats.intervals import t_quantile

_MOST_PLACES = 40
_LEAST = 5


@dataclass(frozen=True, slots=True)
class LogRow:
    """What was measured at a step; what was not is None.

    Attributes:
        step: of the optimiser, counted from 1; 0 before the first.
        loss: of the step's batch.
        held_out_loss: mean over tokens of the responses that are held out.
        reward: mean of the responses of the step.
        judge: score of a judge that nothing is trained on, mean.
        kl: divergence from the model to begin with, nats a response.
        length: of the responses, tokens, mean.
        entropy: of the next token, nats, mean.
        margin: by how much the better response of a pair is preferred to the worse, mean of the implicit rewards.
        accuracy: share of the pairs in which it is.
        ndcg: NDCG@10 on the queries that choose among epochs.
    """

    step: int
    loss: float | None = None
    held_out_loss: float | None = None
    reward: float | None = None
    judge: float | None = None
    kl: float | None = None
    length: float | None = None
    entropy: float | None = None
    margin: float | None = None
    accuracy: float | None = None
    ndcg: float | None = None


_TITLES = {
    "loss": "Loss of the step", "held_out_loss": "Loss of held-out responses", "reward": "Reward",
    "judge": "Untrained judge", "kl": "KL, nats a response", "length": "Tokens a response", "entropy": "Entropy, nats",
    "margin": "Margin of pairs", "accuracy": "Pairs in order", "ndcg": "NDCG@10",
}  # fmt: skip


def row_of(step: int, logs: Mapping[str, object]) -> LogRow | None:
    """What a library of trainers logged at a step, by its names; None where it logged nothing of the kind."""
    found = {
        name: float(value) for name, value in logs.items() if isinstance(value, int | float) and math.isfinite(value)
    }
    per_token, length = found.get("kl"), found.get("completions/mean_length")
    row = LogRow(
        step=step,
        loss=found.get("loss"),
        held_out_loss=found.get("eval_loss"),
        reward=found.get("reward"),
        judge=found.get("rewards/judge/mean"),
        kl=per_token * length if per_token is not None and length is not None else None,
        length=length,
        entropy=found.get("entropy") if "loss" in found else None,
        margin=found.get("rewards/margins") if "loss" in found else None,
        accuracy=found.get("rewards/accuracies") if "loss" in found else None,
        ndcg=found.get("eval_ndcg@10"),
    )
    return row if row != LogRow(step) else None


def write_log(path: Path, rows: Sequence[LogRow]) -> None:
    """Write all rows; what was not measured is left out."""
    write_jsonl(path, ({name: value for name, value in asdict(row).items() if value is not None} for row in rows))


def read_log(path: Path) -> list[LogRow]:
    """Read a log.

    Raises:
        DataError: if it is missing or malformed.
    """
    return list(read_models(path, LogRow))


def known_values(rows: Sequence[LogRow], name: str) -> list[tuple[int, float]]:
    """Step and value of each row that has a value of that name."""
    return [(row.step, value) for row in rows if (value := getattr(row, name)) is not None]


def draw_curves(path: Path, rows: Sequence[LogRow]) -> None:
    """Draw every curve that the log has, a panel each.

    Raises:
        UsageError: if what draws figures is not installed.
    """
    charts, marks = [], []
    for name, title in _TITLES.items():
        values = known_values(rows, name)
        values = values[:: -(-len(values) // _MOST_PLACES) or 1]
        if len(values) < 2:
            continue
        places = tuple(str(step) for step, _ in values)
        charts.append(Chart("curves", Axis("step"), Axis(title, intervals=False), Series(), title, places=places))
        marks += [Mark("tuning", "tuning", value, at=str(step), panel=title) for step, value in values]
    if charts:
        figure = Figure(tuple(charts), ("tuning",), columns=2, one_key=True)
        write_bytes(path, render(figure, marks, "How did the tuning go?", png=False).svg)


@dataclass(frozen=True, slots=True)
class Trend:
    """A line through values over steps.

    Attributes:
        change: from the first step to the last, along the line.
        low, high: 95% interval of the change.
        first, last: means of the first and the last fifth of the values.
    """

    change: float
    low: float
    high: float
    first: float
    last: float


def trend_of(rows: Sequence[LogRow], name: str) -> Trend | None:
    """The trend of a column of the log; None where it has fewer than five values."""
    values = known_values(rows, name)
    if len(values) < _LEAST:
        return None
    x, y = np.array(values, dtype=np.float64).T
    line = linregress((x - x[0]) / (x[-1] - x[0]), y)
    slope, half = float(line.slope), t_quantile(0.975, len(y) - 2) * float(line.stderr)
    fifth = max(1, len(y) // 5)
    return Trend(slope, slope - half, slope + half, float(y[:fifth].mean()), float(y[-fifth:].mean()))


def is_over_optimised(rows: Sequence[LogRow]) -> bool:
    """Whether the reward rises while the untrained judge falls."""
    reward, judge = trend_of(rows, "reward"), trend_of(rows, "judge")
    return reward is not None and judge is not None and reward.low > 0 > judge.high
