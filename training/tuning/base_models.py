"""The model that a tuning begins with: a folder, the embedded model's weights, or, where the user says so, the hub.

A folder holds a whole model or an adapter. The embedded model stands in a four-bit file for another engine; its weights
are read out once (a minute) and kept in the workspace as a folder that transformers reads. Nothing is downloaded unless
the model is named `hub:OWNER/NAME`.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from hellofresh.core.errors import DataError, UsageError
from hellofresh.core.files import sha256_file
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval.base import missing_extra
from hellofresh.evidence.retrieval.encoders import HUB
from hellofresh.models.local.converted import WEIGHTS_SHA256, find_weights
from hellofresh.models.local.folders import adapter_base, folder_sha256
from training.recipe import TuningRecipe

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


EMBEDDED = "smollm2-135m"


@dataclass(frozen=True, slots=True)
class BaseModel:
    """A model to begin with.

    Attributes:
        name: as the user named it.
        place: its folder, or its name on the hub.
        sha256: of what decides its answers; the name and revision for one on the hub.
    """

    name: str
    place: str
    sha256: str

    @property
    def on_hub(self) -> bool:
        """Whether it may be downloaded."""
        return self.name.startswith(HUB)

    @property
    def short_name(self) -> str:
        """For names of folders."""
        return Path(self.place).name.lower() if self.name != EMBEDDED else EMBEDDED


def find_base(name: str, workspace: Workspace) -> BaseModel:
    """Find a model by the name that the user gave.

    Raises:
        UsageError: if there is none.
    """
    if name.startswith(HUB):
        return BaseModel(name, name.removeprefix(HUB), name)
    if name == EMBEDDED:
        folder = _embedded(workspace)
        return BaseModel(name, str(folder), folder_sha256(folder))
    folder = Path(name)
    if not folder.is_dir():
        raise UsageError(
            f"no model {name!r}",
            where="--model",
            expected=f"a folder, {EMBEDDED}, or {HUB}OWNER/NAME to download one",
            code="unknown-model",
        )
    return BaseModel(name, str(folder.resolve()), folder_sha256(folder))


def _embedded(workspace: Workspace) -> Path:
    """The embedded model as a folder of the workspace, made first where it is not there (a minute, 540 MB)."""
    folder = workspace.root / "models" / f"{EMBEDDED}-{WEIGHTS_SHA256[:12]}"
    if (folder / "config.json").is_file():
        return folder
    weights = find_weights()
    if sha256_file(weights) != WEIGHTS_SHA256:
        raise UsageError("not the expected weights", where=str(weights), code="wrong-weights")
    if find_spec("gguf") is None:
        raise missing_extra("reading the embedded model's weights", "gguf", "local")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=folder.parent) as made:
        _convert(weights, Path(made) / "model")
        if folder.exists():  # half of one, or another process's
            shutil.rmtree(folder)
        (Path(made) / "model").rename(folder)
    return folder


def _convert(weights: Path, folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    where = str(weights.parent)
    read = AutoModelForCausalLM.from_pretrained(where, gguf_file=weights.name, dtype=torch.float32)
    config = read.config
    del config.quantization_config  # it is not four-bit any more, and would not be saved otherwise
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    model.load_state_dict(read.state_dict())
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(where, gguf_file=weights.name).save_pretrained(folder)


def load_tokenizer(base: BaseModel) -> PreTrainedTokenizerBase:
    """Its tokenizer, with a token to pad by.

    Raises:
        DataError: if transformers cannot load it.
    """
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(base.place, local_files_only=not base.on_hub, trust_remote_code=False)
    except (OSError, ValueError, KeyError) as error:
        raise _unreadable(base, error) from None
    if tokenizer.eos_token is None:
        raise _unreadable(base, ValueError("its tokenizer has no token for the end of a text"))
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load_base(base: BaseModel, recipe: TuningRecipe, device: str, *, exact: bool = False) -> PreTrainedModel:
    """Its weights on a device; an adapter's are merged into them.

    Args:
        base: which.
        recipe: says whether in 8 bits.
        device: `cpu` or `cuda`.
        exact: whether never in 8 bits.

    Raises:
        UsageError: if 8 bits are asked for where there is no GPU or no bitsandbytes.
        DataError: if transformers cannot load it.
    """
    import torch
    from transformers import AutoModelForCausalLM

    eight = recipe.eight_bit and not exact
    own = _eight_bits(device) if eight else {}
    whole = None if base.on_hub else adapter_base(Path(base.place))
    try:
        model = AutoModelForCausalLM.from_pretrained(
            str(whole or base.place), local_files_only=not base.on_hub, trust_remote_code=False,
            dtype=torch.bfloat16 if device == "cuda" else torch.float32, **own,
        )  # fmt: skip
        if whole is not None:
            from peft import PeftModel

            model = PeftModel.from_pretrained(model, base.place, local_files_only=True).merge_and_unload()
    except (OSError, ValueError, KeyError) as error:
        raise _unreadable(base, error) from None
    return model if eight else model.to(device)


def _eight_bits(device: str) -> dict[str, object]:
    if device != "cuda":
        raise UsageError(
            "8 bits need a GPU", where="recipe, eight_bit", fix="Set eight_bit = false.", code="no-eight-bits"
        )
    if find_spec("bitsandbytes") is None:
        raise UsageError(
            "8 bits need bitsandbytes, which is not installed",
            where="recipe, eight_bit",
            fix="Install it with: python -m pip install bitsandbytes",
            code="missing-extra",
        )
    from transformers import BitsAndBytesConfig

    return {"quantization_config": BitsAndBytesConfig(load_in_8bit=True), "device_map": {"": 0}}


def _unreadable(base: BaseModel, error: Exception) -> DataError:
    return DataError(f"transformers cannot load it ({error})", where=base.name, code="bad-model")
