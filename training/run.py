"""A run of a library's trainer: its log, checks of the policy, and checkpoints that survive an interruption.

The order of samples depends on the seed only, and a checkpoint counts once it is sealed, so an interrupted training
continues to the same log and, on the same machine with the same libraries, to the same bytes.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from transformers import PrinterCallback, Trainer, TrainerCallback, TrainerControl, TrainerState
from transformers import set_seed as set_every_seed

from hellofresh.core.errors import DataError
from hellofresh.core.files import canonical_json, read_json, remove_file, sha256_text, write_bytes, write_json
from training.log import LogRow, known_values, row_of, write_log
from training.recipe import Recipe, RewardRecipe, TuningRecipe

SAVE_EVERY = 50  # steps: what a lost machine costs, against the disk that a checkpoint takes
_SEAL = "complete"  # a file written last to a checkpoint: without it, the checkpoint may be incomplete
OnRow = Callable[[LogRow, int], None]
"""Called with each row of the log, and the total number of steps."""


@dataclass(frozen=True, slots=True)
class Training:
    """Settings and output of a training.

    Attributes:
        method: such as `sft`.
        recipe: settings of the method.
        decided_by: all other parameters that decide the result on one machine with one set of libraries.
        device: `cpu` or `cuda`.
        folder: for all output.
        on_row: called with each row of the log.
    """

    method: str
    recipe: Recipe | RewardRecipe | TuningRecipe
    decided_by: Mapping[str, object]
    device: str
    folder: Path
    on_row: OnRow = lambda row, steps: None

    @property
    def identity(self) -> dict[str, object]:
        """All parameters that decide the result."""
        return {"method": self.method, "recipe": self.recipe.model_dump(), **self.decided_by}

    @property
    def key(self) -> str:
        """A hash of `identity`."""
        return sha256_text(canonical_json(self.identity))

    @property
    def checkpoints(self) -> Path:
        """Folder of checkpoints while the training runs."""
        return self.folder / "checkpoints"

    def is_finished(self, card: Path) -> bool:
        """Whether an earlier call has written its card; otherwise, removes the files of another training."""
        path = self.folder / "tuning.json"
        try:
            known = read_json(path).get("key")
        except DataError:
            known = None
        if known == self.key:
            return card.is_file()
        remove_file(card)
        shutil.rmtree(self.checkpoints, ignore_errors=True)
        write_json(path, {"key": self.key, **self.identity})
        return False

    def arguments(self, steps: int, *, measured_every: int = 0, save_every: int = 0) -> dict[str, object]:
        """Arguments for every trainer.

        Args:
            steps: total number.
            measured_every: steps between measurements of held-out samples; 0 for none.
            save_every: steps between two checkpoints; 0 for the recipe's number, or else `SAVE_EVERY`.
        """
        recipe, gpu = self.recipe, self.device == "cuda"
        if isinstance(recipe, TuningRecipe):
            own = {
                "warmup_steps": math.ceil(recipe.warm_up * steps), "lr_scheduler_type": "linear",
                "gradient_accumulation_steps": recipe.accumulation, "activation_checkpointing": gpu,
                "save_steps": save_every or recipe.save_every,
            }  # fmt: skip
        else:
            warm_up = min(recipe.warm_up, steps)
            own = {"warmup_steps": warm_up, "lr_scheduler_type": "cosine", "save_steps": save_every or SAVE_EVERY}
        return {
            "output_dir": str(self.checkpoints), "max_steps": steps, "logging_steps": 1,
            "per_device_train_batch_size": recipe.batch, "per_device_eval_batch_size": recipe.batch,
            "learning_rate": recipe.rate, "weight_decay": recipe.decay, "save_strategy": "steps", "save_total_limit": 2,
            "eval_strategy": "steps" if measured_every else "no", "eval_steps": measured_every or None,
            "seed": recipe.seed, "data_seed": recipe.seed, "report_to": "none", "disable_tqdm": True,
            "use_cpu": not gpu, "bf16": gpu, "dataloader_pin_memory": gpu, **own,
        }  # fmt: skip

    def train(self, trainer: Trainer, *, best: str = "", kl_bound: float = math.inf) -> Watcher:
        """Train, or continue from the newest complete checkpoint; incomplete ones are removed.

        Args:
            trainer: with the arguments above.
            best: the column of the log, `held_out_loss` or `ndcg`, that selects the model kept in `model/`; or empty.
            kl_bound: nats a response above which the training stops.
        """
        whole = []
        for folder in self.checkpoints.glob("checkpoint-*"):
            if (folder / _SEAL).is_file():
                whole.append(folder)
            else:
                shutil.rmtree(folder)
        last = max(whole, key=lambda folder: int(folder.name.rpartition("-")[2]), default=None)
        measured = trainer.args.eval_strategy != "no"
        trainer.args.eval_on_start = measured and last is None
        watcher = Watcher(self, trainer, best, kl_bound)
        trainer.remove_callback(PrinterCallback)
        trainer.add_callback(watcher)
        set_every_seed(self.recipe.seed)
        trainer.train(resume_from_checkpoint=str(last) if last else None)
        column = best or "held_out_loss"
        if measured and known_values(watcher.rows, column)[-1][0] != trainer.state.global_step:
            trainer.evaluate()
        return watcher


class Watcher(TrainerCallback):  # type: ignore[misc]  # the library is not type-checked
    """Keeps the log and the best model, seals checkpoints, and stops a policy that diverges too much.

    Attributes:
        rows: of the log.
        stopped: the reason for an early stop, or ''.
    """

    def __init__(self, run: Training, trainer: Trainer, best: str, kl_bound: float) -> None:
        self._run, self._trainer, self._best, self._kl_bound = run, trainer, best, kl_bound
        self.rows: list[LogRow] = []
        self.stopped = ""

    def on_train_begin(self, args: object, state: TrainerState, control: TrainerControl, **more: object) -> None:
        """Restore the rows of the checkpoint."""
        known = [row_of(int(logs["step"]), logs) for logs in state.log_history]
        self.rows = [row for row in known if row is not None]
        write_log(self._run.folder / "log.jsonl", self.rows)

    def on_log(
        self, args: object, state: TrainerState, control: TrainerControl, *, logs: Mapping[str, object], **more: object
    ) -> None:
        """Add a row, and stop a policy that diverges too much."""
        row = row_of(state.global_step, logs)
        if row is None:
            return
        self.rows.append(row)
        write_log(self._run.folder / "log.jsonl", self.rows)
        self._run.on_row(row, state.max_steps)
        if row.kl is not None and row.kl > self._kl_bound:
            self.stopped = f"stopped at step {row.step}: KL of {row.kl:.2f} nats per response, above {self._kl_bound:g}"
            control.should_training_stop = True

    def on_evaluate(self, args: object, state: TrainerState, control: TrainerControl, **more: object) -> None:
        """Keep the model if it is the best so far."""
        if not self._best:
            return
        sign = -1 if self._best == "held_out_loss" else 1
        *before, last = [sign * value for _, value in known_values(self.rows, self._best)]
        if last > max(before, default=-math.inf):
            # The library's own card would quote texts of the training data.
            self._trainer.model.save_pretrained(str(self._run.folder / "model"), create_model_card=False)

    def on_save(self, args: object, state: TrainerState, control: TrainerControl, **more: object) -> None:
        """Seal the checkpoint."""
        write_bytes(self._run.checkpoints / f"checkpoint-{state.global_step}" / _SEAL, b"")
