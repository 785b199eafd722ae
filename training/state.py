"""The state of a training by numpy: written every few steps, whole or not at all, and taken up after a kill."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hellofresh.core.files import atomic_path
from training.adam import AdamW

FloatArray = NDArray[np.float64]


@dataclass(slots=True)
class TrainingState:
    """A training after some steps.

    Attributes:
        step: steps done.
        values: parameters by name.
        moments: the optimizer's means by name of a parameter.
        losses: of each step.
        scores: on what chooses among epochs: untrained, then after each epoch.
        best: parameters of the best epoch yet.
    """

    step: int
    values: dict[str, FloatArray]
    moments: dict[str, AdamW]
    losses: list[float]
    scores: list[float]
    best: dict[str, FloatArray]


def begin(values: Mapping[str, FloatArray]) -> TrainingState:
    """A training before its first step."""
    moments = {name: AdamW(np.zeros_like(value), np.zeros_like(value)) for name, value in values.items()}
    return TrainingState(0, dict(values), moments, [], [], dict(values))


def write_state(path: Path, key: str, state: TrainingState) -> None:
    """Write all that going on needs; `key` says which training it is."""
    arrays: dict[str, NDArray[np.generic]] = {
        "key": np.array(key), "step": np.array(state.step),
        "losses": np.array(state.losses), "scores": np.array(state.scores),
    }  # fmt: skip
    for name, value in state.values.items():
        arrays |= {f"value.{name}": value, f"best.{name}": state.best[name]}
        arrays |= {f"first.{name}": state.moments[name].first, f"second.{name}": state.moments[name].second}
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]  # numpy's own keyword among arrays


def read_state(path: Path, key: str) -> TrainingState | None:
    """What an interrupted training left, if it was this one."""
    if not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as stored:
        if str(stored["key"]) != key:
            return None
        names = [name.removeprefix("value.") for name in stored.files if name.startswith("value.")]
        return TrainingState(
            step=int(stored["step"]),
            values={name: stored[f"value.{name}"] for name in names},
            moments={name: AdamW(stored[f"first.{name}"], stored[f"second.{name}"]) for name in names},
            losses=stored["losses"].tolist(),
            scores=stored["scores"].tolist(),
            best={name: stored[f"best.{name}"] for name in names},
        )
