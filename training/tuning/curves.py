"""The log of a tuning: a row for each step or measurement, in JSON lines, and its figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from hellofresh.core.files import read_models, write_bytes, write_jsonl
from hellofresh.results.figures.charts import Axis, Chart, Figure, Mark, Series
from hellofresh.results.figures.image import render

_MOST_PLACES = 40


@dataclass(frozen=True, slots=True)
class LogRow:
    """What was measured at a step; what was not is None.

    Attributes:
        step: of the optimiser, counted from 1; 0 before the first.
        loss: of the step's batch.
        held_out_loss: mean over tokens of the responses that are held out.
        reward: mean of the responses of the step.
        judge: what a judge that nothing is trained on says of them, mean.
        kl: divergence from the model that tuning began with, nats a response.
        length: of the responses, tokens, mean.
        entropy: of the next token, nats, mean.
        margin: by how much the better response of a pair is preferred to the worse, mean of the implicit rewards.
        accuracy: share of the pairs in which it is.
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


_TITLES = {
    "loss": "Loss of the step", "held_out_loss": "Loss of held-out responses", "reward": "Reward",
    "judge": "Untrained judge", "kl": "KL, nats a response", "length": "Tokens a response", "entropy": "Entropy, nats",
    "margin": "Margin of pairs", "accuracy": "Pairs in order",
}  # fmt: skip


def row_of(step: int, logs: Mapping[str, object], judge: str = "") -> LogRow | None:
    """What the library logged, in our words; None where it logged nothing of the kind.

    Args:
        step: of the optimiser.
        logs: by the library's names.
        judge: name of the judge among the rewards; empty where there is none.
    """
    found = {name: _number(logs.get(name)) for name in logs}
    per_token, length = found.get("kl"), found.get("completions/mean_length")
    row = LogRow(
        step=step,
        loss=found.get("loss"),
        held_out_loss=found.get("eval_loss"),
        reward=found.get("reward"),
        judge=found.get(f"rewards/{judge}/mean") if judge else None,
        kl=per_token * length if per_token is not None and length is not None else None,
        length=length,
        entropy=found.get("entropy") if "loss" in found else None,
        margin=found.get("rewards/margins") if "loss" in found else None,
        accuracy=found.get("rewards/accuracies") if "loss" in found else None,
    )
    return row if row != LogRow(step) else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


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
    for name in (field.name for field in fields(LogRow) if field.name != "step"):
        values = _thinned(known_values(rows, name))
        if len(values) < 2:
            continue
        title = _TITLES[name]
        places = tuple(str(step) for step, _ in values)
        charts.append(Chart("curves", Axis("step"), Axis(title, intervals=False), Series(), title, places=places))
        marks += [Mark("tuning", "tuning", value, at=str(step), panel=title) for step, value in values]
    if charts:
        figure = Figure(tuple(charts), ("tuning",), columns=2, one_key=True)
        write_bytes(path, render(figure, marks, "How did the tuning go?", png=False).svg)


def _thinned(values: list[tuple[int, float]]) -> list[tuple[int, float]]:
    every = -(-len(values) // _MOST_PLACES)
    return values[::every] if every > 1 else values
