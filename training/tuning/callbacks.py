"""What happens while a trainer runs: the log is written, checkpoints are sealed, and a divergence too far stops it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from hellofresh.core.files import write_bytes
from training.tuning.curves import LogRow, row_of, write_log

SEAL = "complete"
"""A file in a checkpoint that is written after all others: without it, the checkpoint may be a half one."""


class Watcher(TrainerCallback):  # type: ignore[misc]  # the library is not type-checked
    """Keeps the log.

    Args:
        path: of the log.
        before: rows from before the first step.
        judge: name of the untrained judge among the rewards, or empty.
        kl_bound: nats a response above which the tuning is stopped.
        told: called with each row.
    """

    def __init__(
        self,
        path: Path,
        *,
        before: Sequence[LogRow] = (),
        judge: str = "",
        kl_bound: float = float("inf"),
        told: Callable[[LogRow], None] = lambda row: None,
    ) -> None:
        self._path, self._judge, self._kl_bound, self._told = path, judge, kl_bound, told
        self._before = list(before)
        self.rows: list[LogRow] = list(before)
        self.stopped = ""

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **more: object
    ) -> None:
        """Take up the rows of the checkpoint that the tuning goes on from."""
        known = [row_of(int(logs["step"]), logs, self._judge) for logs in state.log_history]
        self.rows = [*self._before, *(row for row in known if row is not None)]
        write_log(self._path, self.rows)

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, object] | None = None,
        **more: object,
    ) -> None:
        """Add a row, and stop where the policy has gone too far."""
        row = row_of(state.global_step, logs or {}, self._judge)
        if row is None:
            return
        self.rows.append(row)
        write_log(self._path, self.rows)
        self._told(row)
        if row.kl is not None and row.kl > self._kl_bound:
            self.stopped = f"stopped at step {row.step}: KL of {row.kl:.2f} nats a response, above {self._kl_bound:g}"
            control.should_training_stop = True

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **more: object) -> None:
        """Seal the checkpoint."""
        write_bytes(Path(args.output_dir) / f"checkpoint-{state.global_step}" / SEAL, b"")
