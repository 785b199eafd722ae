"""A tuning from its data to its card: the same for every method; what differs is the trainer.

The folder gets `log.jsonl` while it goes on, and at the end `model/` (whole, adapter merged in), `adapter/` where the
model to begin with was whole, `card.json`, `card.md` and `curves.svg`. The state is kept in `checkpoints/`, from which
a killed tuning goes on to the same curve; they are removed when it is done.
"""

from __future__ import annotations

import math
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from hellofresh.core.errors import DataError, UsageError
from hellofresh.core.files import as_model, canonical_json, read_json, remove_file, sha256_file, sha256_text, write_json
from hellofresh.models.local.folders import adapter_base
from hellofresh.results.figures.image import need_converter
from training.recipe import TuningRecipe
from training.tuning.base_models import BaseModel, load_base
from training.tuning.card import TuningCard, read_card, write_card
from training.tuning.curves import LogRow, draw_curves
from training.tuning.libraries import library_versions
from training.tuning.prompting import prompt_set
from training.tuning.watch import is_over_optimised, trend_of

if TYPE_CHECKING:
    from peft import LoraConfig
    from transformers import PreTrainedTokenizerBase, Trainer

    from training.tuning.callbacks import Watcher


_MIB = 1 << 20
_TRENDS = ("reward", "judge", "kl", "length", "entropy")


@dataclass(frozen=True, slots=True)
class Tuning:
    """What to tune, on what, and where it goes.

    Attributes:
        method: `sft`, `rloo`, `grpo` or `dpo`.
        base: the model to begin with.
        data: the file of exchanges.
        recipe: how.
        device: `cpu` or `cuda`.
        folder: gets all that comes out.
        rewards: what identifies each reward model, by name.
        told: called with each row of the log.
    """

    method: str
    base: BaseModel
    data: Path
    recipe: TuningRecipe
    device: str
    folder: Path
    rewards: Mapping[str, str] = field(default_factory=dict)
    told: Callable[[LogRow], None] = lambda row: None

    @property
    def identity(self) -> dict[str, object]:
        """All that decides the outcome on one machine with one set of libraries."""
        return {
            "method": self.method,
            "model_sha256": self.base.sha256,
            "data_sha256": sha256_file(self.data),
            "prompt_sha256": prompt_set().sha256,
            "rewards": dict(self.rewards),
            "recipe": self.recipe.model_dump(),
        }

    @property
    def key(self) -> str:
        """A hash of it."""
        return sha256_text(canonical_json(self.identity))

    @property
    def checkpoints(self) -> Path:
        """Where its state is kept while it goes on."""
        return self.folder / "checkpoints"

    @property
    def log(self) -> Path:
        """The log's file."""
        return self.folder / "log.jsonl"

    def begin(self) -> FinishedTuning | None:
        """What an earlier call has finished; else room is made, unless this very tuning was interrupted there."""
        known = self._known_key()
        if known == self.key and (self.folder / "card.json").is_file():
            return FinishedTuning(self.folder, read_card(self.folder))
        if known != self.key:
            remove_file(self.folder / "card.json")
            remove_file(self.folder / "before.json")
            shutil.rmtree(self.checkpoints, ignore_errors=True)
            write_json(self.folder / "tuning.json", {"key": self.key, **self.identity})
        return None

    def _known_key(self) -> str:
        try:
            return str(read_json(self.folder / "tuning.json").get("key"))
        except DataError:
            return ""

    def measured_before(self, measure: Callable[[], float]) -> LogRow:
        """The held-out loss before the first step; measured once, whatever happens to the process."""
        path = self.folder / "before.json"
        if not path.is_file():
            write_json(path, {"step": 0, "held_out_loss": measure()})
        return as_model(LogRow, read_json(path), where=str(path))

    def checkpoint(self) -> Path | None:
        """The newest whole checkpoint; half ones are removed."""
        from training.tuning.callbacks import SEAL

        whole = []
        for folder in self.checkpoints.glob("checkpoint-*"):
            if (folder / SEAL).is_file():
                whole.append(folder)
            else:
                shutil.rmtree(folder)
        return max(whole, key=lambda folder: int(folder.name.rpartition("-")[2]), default=None)


@dataclass(frozen=True, slots=True)
class TuningData:
    """How many exchanges a tuning learns from."""

    learnt_from: int
    held_out: int
    left_out: int


@dataclass(frozen=True, slots=True)
class FinishedTuning:
    """What a tuning came to.

    Attributes:
        folder: with the card and the model.
        card: of it.
    """

    folder: Path
    card: TuningCard

    @property
    def model(self) -> Path:
        """The tuned model's folder."""
        return self.folder / "model"


def step_count(recipe: TuningRecipe, samples: int) -> int:
    """Steps in all: whole epochs of so many samples, or fewer where the recipe says so.

    Raises:
        DataError: if there is not enough for one step.
    """
    steps = math.ceil(samples * recipe.epochs / (recipe.batch * recipe.accumulation))
    if not samples:
        raise DataError(
            "nothing is left to learn from, or to measure with",
            where="training data",
            fix="Raise prompt_tokens or response_tokens in the recipe, or bring more claims.",
            code="no-exchanges",
        )
    return min(steps, recipe.steps) if recipe.steps else steps


def common_arguments(tuning: Tuning, steps: int) -> dict[str, object]:
    """What every trainer is told."""
    recipe, gpu = tuning.recipe, tuning.device == "cuda"
    return {
        "output_dir": str(tuning.checkpoints),
        "per_device_train_batch_size": recipe.batch,
        "gradient_accumulation_steps": recipe.accumulation,
        "learning_rate": recipe.rate,
        "weight_decay": recipe.decay,
        "warmup_steps": math.ceil(recipe.warm_up * steps),
        "lr_scheduler_type": "linear",
        "max_steps": steps,
        "logging_steps": 1,
        "save_strategy": "steps",
        "save_steps": recipe.save_every,
        "save_total_limit": 2,
        "seed": recipe.seed,
        "data_seed": recipe.seed,
        "report_to": "none",
        "disable_tqdm": True,
        "use_cpu": not gpu,
        "bf16": gpu,
        "activation_checkpointing": gpu,
        "dataloader_pin_memory": gpu,
    }


def lora(recipe: TuningRecipe) -> LoraConfig:
    """The low-rank matrices of a recipe."""
    from peft import LoraConfig

    return LoraConfig(
        r=recipe.rank, lora_alpha=recipe.alpha, lora_dropout=recipe.dropout, target_modules=list(recipe.modules),
        task_type="CAUSAL_LM", bias="none",
    )  # fmt: skip


def finish(
    tuning: Tuning,
    trainer: Trainer,
    watcher: Watcher,
    tokenizer: PreTrainedTokenizerBase,
    data: TuningData,
    *,
    measure_after: Callable[[], object] = lambda: None,
) -> FinishedTuning:
    """Train, or go on with it, and write what comes out."""
    from transformers import set_seed

    began, trained = time.monotonic(), trainer.model
    last = tuning.checkpoint()
    set_seed(tuning.recipe.seed)  # whatever was measured before, and whether it was in this process
    trainer.train(resume_from_checkpoint=str(last) if last else None)
    measure_after()
    flags = [watcher.stopped] if watcher.stopped else []
    if is_over_optimised(watcher.rows):
        flags.append("the reward rises while the untrained judge falls: read responses before using this model")
    adapter = tuning.folder / ("adapter" if _is_whole(tuning.base) else "checkpoints/last")
    trained.save_pretrained(adapter)
    tokenizer.save_pretrained(adapter)
    parameters = sum(one.numel() for one in trained.parameters() if one.requires_grad)
    steps = int(trainer.state.global_step)
    _write_merged(tuning, adapter, tokenizer)
    card = TuningCard(
        method=tuning.method, model=tuning.base.name, model_sha256=tuning.base.sha256,
        data=tuning.data.name, data_sha256=sha256_file(tuning.data),
        prompt_sha256=prompt_set().sha256, learnt_from=data.learnt_from, held_out=data.held_out, left_out=data.left_out,
        recipe=tuning.recipe.model_dump(), rewards=dict(tuning.rewards), versions=library_versions(),
        device=_device(tuning.device), parameters=parameters, steps=steps, seconds=time.monotonic() - began,
        peak_mib=_peak_mib(tuning.device), flags=flags, log=list(watcher.rows),
        trends={name: trend for name in _TRENDS if (trend := trend_of(watcher.rows, name)) is not None},
    )  # fmt: skip
    _draw(tuning.folder, watcher.rows)
    write_card(tuning.folder, card)
    shutil.rmtree(tuning.checkpoints, ignore_errors=True)
    return FinishedTuning(tuning.folder, card)


def _is_whole(base: BaseModel) -> bool:
    return base.on_hub or adapter_base(Path(base.place)) is None


def _write_merged(tuning: Tuning, adapter: Path, tokenizer: PreTrainedTokenizerBase) -> None:
    """The model to begin with, exact, with the adapter merged in, as a folder that transformers reads."""
    from peft import PeftModel

    exact = load_base(tuning.base, tuning.recipe, "cpu", exact=True)
    merged = PeftModel.from_pretrained(exact, str(adapter), local_files_only=True).merge_and_unload()
    merged.save_pretrained(tuning.folder / "model")
    tokenizer.save_pretrained(tuning.folder / "model")


def _draw(folder: Path, rows: Sequence[LogRow]) -> None:
    try:
        need_converter()
    except UsageError:
        return  # the log has the numbers
    draw_curves(folder / "curves.svg", rows)


def _device(name: str) -> str:
    import torch

    if name == "cuda":
        return str(torch.cuda.get_device_name(0))
    return f"{platform.machine()} processor, {torch.get_num_threads()} of {os.cpu_count()} threads"


def _peak_mib(device: str) -> int:
    import torch

    if device == "cuda":
        return int(torch.cuda.max_memory_allocated() / _MIB)
    try:
        resource = import_module("resource")  # not on Windows
    except ImportError:
        return 0
    peak: int = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // (_MIB if sys.platform == "darwin" else 1024)
