"""Records of a training: its log, with a row for each step or measurement, checks of trends, and the card.

Reward models stand in for people's opinions, and a policy tuned by them finds their errors. So a
reward that rises while an untrained judge's score falls is being exploited. Both trends are least-squares lines
over the steps, with 95% intervals by the t distribution. Steps depend on each other, so the intervals are somewhat
too short: the flag is a reason to read responses, not a test.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy.stats import linregress

from hellofresh.core.files import read_model, read_models, write_bytes, write_json, write_jsonl
from hellofresh.stats.intervals import t_quantile

_LEAST = 5  # fewer points of a curve show no trend
# Each column's name in the trainers of libraries.
_LOGGED_AS = {
    "loss": "loss", "held_out_loss": "eval_loss", "reward": "reward", "judge": "rewards/judge/mean", "kl": "kl",
    "length": "completions/mean_length", "entropy": "entropy", "ndcg": "eval_ndcg@10",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class LogRow:
    """Measurements at a step; missing ones are None.

    Attributes:
        step: of the optimiser, counted from 1; 0 before the first.
        loss: of the step's batch.
        held_out_loss: mean over tokens of held-out responses.
        reward: mean of the responses of the step.
        judge: mean score of a judge that is never trained on.
        kl: divergence from the initial model, nats a response.
        length: of the responses, tokens, mean.
        entropy: of the next token, nats, mean.
        ndcg: NDCG@10 on the queries for selection.
    """

    step: int
    loss: float | None = None
    held_out_loss: float | None = None
    reward: float | None = None
    judge: float | None = None
    kl: float | None = None
    length: float | None = None
    entropy: float | None = None
    ndcg: float | None = None


def row_of(step: int, logs: Mapping[str, object]) -> LogRow | None:
    """A library's log entries at a step as a row; None if it logged no such value."""
    found = {}
    for name, key in _LOGGED_AS.items():
        value = logs.get(key)  # also logged for held-out samples, without a step
        if isinstance(value, int | float) and math.isfinite(value) and (name != "entropy" or "loss" in found):
            found[name] = float(value)
    if (per_token := found.pop("kl", None)) is not None and "length" in found:
        found["kl"] = per_token * found["length"]
    return LogRow(step, **found) if found else None


def write_log(path: Path, rows: Sequence[LogRow]) -> None:
    """Write all rows; missing values are left out."""
    write_jsonl(path, ({name: value for name, value in asdict(row).items() if value is not None} for row in rows))


def read_log(path: Path) -> list[LogRow]:
    """Read a log.

    Raises:
        DataError: if it is missing or malformed.
    """
    return list(read_models(path, LogRow))


def known_values(rows: Sequence[LogRow], name: str) -> list[tuple[int, float]]:
    """Step and value of each row that has this value."""
    return [(row.step, value) for row in rows if (value := getattr(row, name)) is not None]


@dataclass(frozen=True, slots=True)
class Trend:
    """A least-squares line through values over steps.

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
    """The trend of a column of the log; None with fewer than five values."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningCard:
    """What was tuned on which data, with which versions, results and costs.

    Attributes:
        method: `sft`, `rloo` or `ppo`.
        model, model_sha256: the initial model, as the user named it, and a hash of its files.
        data, data_sha256: name and hash of the file of exchanges.
        prompt_sha256: of the prompt wordings.
        learnt_from, held_out, left_out: numbers of exchanges; those left out are too long.
        recipe: every setting.
        rewards: identity of each reward model, by name; `judge` is the untrained one.
        versions: of the libraries.
        device: type and name of the processor or GPU, and threads.
        parameters: number of tuned ones.
        steps: number taken.
        seconds: since the tuning was started or resumed.
        peak_mib: memory of the process, or of the GPU if used.
        trends: of reward, judge, KL and length over the steps.
        flags: warnings for readers; empty if there are none.
        log: every row.
        format: of this card.
    """

    method: str
    model: str
    model_sha256: str
    data: str
    data_sha256: str
    prompt_sha256: str
    learnt_from: int
    held_out: int
    left_out: int
    recipe: dict[str, str | int | float | bool | list[str]]
    rewards: dict[str, str]
    versions: dict[str, str]
    device: str
    parameters: int
    steps: int
    seconds: float
    peak_mib: int
    trends: dict[str, Trend]
    flags: list[str]
    log: list[LogRow]
    format: int = 1

    @property
    def losses(self) -> tuple[float, float] | None:
        """Held-out loss before and after; None if not measured."""
        found = known_values(self.log, "held_out_loss")
        return (found[0][1], found[-1][1]) if len(found) > 1 else None


def write_card(folder: Path, card: TuningCard) -> None:
    """Write `card.json` for programs and `card.md`, the same without the log, for people."""
    write_json(folder / "card.json", asdict(card))
    lines = [f"# Tuning by {card.method}", "", *(f"> **{flag}**\n" for flag in card.flags)]
    lines += ["| | |", "| --- | --- |"]
    for name, value in asdict(card).items():
        if name in ("method", "trends", "flags", "log", "format"):
            continue
        text = ", ".join(f"{key} = {one}" for key, one in value.items()) if isinstance(value, dict) else str(value)
        cell = text.replace("|", "\\|").replace("\n", " ")
        lines.append(f"| {name.replace('_', ' ')} | {cell} |")
    if card.losses is not None:
        lines += ["", f"Loss of held-out responses: {card.losses[0]:.4f} before, {card.losses[1]:.4f} after."]
    if card.trends:
        lines += ["", "| | first fifth | last fifth | change along the line | 95% interval |"]
        lines.append("| --- | ---: | ---: | ---: | --- |")
        for name, one in card.trends.items():
            interval = f"[{one.low:.3f}, {one.high:.3f}]"
            lines.append(f"| {name} | {one.first:.3f} | {one.last:.3f} | {one.change:+.3f} | {interval} |")
    lines += ["", "Curves: `log.jsonl`. Weights: `model/`.", ""]
    write_bytes(folder / "card.md", "\n".join(lines).encode())


def read_card(folder: Path) -> TuningCard:
    """Read a card.

    Raises:
        DataError: if it is missing or malformed.
    """
    return read_model(folder / "card.json", TuningCard)
