"""The libraries of the extra `train`, kept from the network, and the language models that a tuning begins with.

A model is a folder, the embedded model's weights, or, where the user says so, one on the hub. A folder holds a whole
model or an adapter. The embedded model's weights are in a four-bit file for another engine; they are read out once (a
minute) and kept in the workspace as a folder that transformers reads. Nothing is downloaded unless the model is named
`hub:OWNER/NAME`.
"""

from __future__ import annotations

import logging
import os
import warnings
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from hellofresh.core.errors import DataError, UsageError
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval.base import missing_extra
from hellofresh.evidence.retrieval.encoders import HUB
from hellofresh.models.local.converted import for_transformers
from hellofresh.models.local.folders import adapter_base, folder_sha256, load_tokenizer, load_weights

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

EMBEDDED = "smollm2-135m"
LIBRARIES = ("torch", "transformers", "peft", "trl", "accelerate", "datasets")
"""Of language models; encoders need sentence-transformers besides."""


def need_libraries(what: str, *, online: bool = False, encoders: bool = False) -> None:
    """Name the extra if a library is missing; keep the others from the network, and their advice from the terminal.

    To be called before any of them is imported.

    Args:
        what: needs them.
        online: whether the user named a model on the hub.
        encoders: whether encoders are trained, rather than a language model.

    Raises:
        UsageError: if one of them is not installed.
    """
    for name in ("torch", "sentence_transformers", "datasets", "accelerate") if encoders else LIBRARIES:
        if find_spec(name) is None:
            raise missing_extra(what, name, "train")
    if not online:
        os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"  # trl reports the trainer's name otherwise
    os.environ |= {"TOKENIZERS_PARALLELISM": "false", "TRANSFORMERS_VERBOSITY": "error"}
    os.environ |= dict.fromkeys(
        ("TQDM_DISABLE", "HF_HUB_DISABLE_PROGRESS_BARS", "HF_DATASETS_DISABLE_PROGRESS_BARS"), "1"
    )
    warnings.filterwarnings("ignore", module=r"transformers|trl|peft|torch|accelerate|sentence_transformers")
    for library in ("trl", "sentence_transformers"):
        logging.getLogger(library).setLevel(logging.ERROR)


def library_versions() -> dict[str, str]:
    """The versions that decide what is computed."""
    return {name: version(name) for name in LIBRARIES}


def chosen_device(name: str) -> str:
    """`cpu` or `cuda`; `auto` takes a GPU if there is one.

    Raises:
        UsageError: if a GPU is asked for and torch finds none.
    """
    import torch

    found = torch.cuda.is_available()
    if name == "cuda" and not found:
        raise UsageError("torch finds no GPU", where="--device cuda", fix="Leave it out.", code="no-gpu")
    return "cuda" if found and name != "cpu" else "cpu"


@dataclass(frozen=True, slots=True)
class BaseModel:
    """A language model to begin with.

    Attributes:
        name: as the user named it.
        place: its folder, or its name on the hub.
        sha256: of what decides its answers; the name and revision for one on the hub.
    """

    name: str
    place: str
    sha256: str

    @property
    def online(self) -> bool:
        """Whether it may be downloaded."""
        return self.name.startswith(HUB)

    @property
    def adapted(self) -> Path | None:
        """The folder of the whole model, if this is an adapter."""
        return None if self.online else adapter_base(Path(self.place))

    def tokenizer(self) -> PreTrainedTokenizerBase:
        """Its tokenizer.

        Raises:
            DataError: if transformers cannot load it, or it has no token for the end of a text.
        """
        found = load_tokenizer(self.place, download=self.online)
        if found.eos_token is None:
            raise DataError("no token for the end of a text in its tokenizer", where=self.name, code="bad-model")
        return found

    def load(self, device: str, bits: int = 16) -> PreTrainedModel:
        """Its weights on a device; an adapter's are merged into them.

        Args:
            device: `cpu`, whole; or `cuda`.
            bits: of a weight on a GPU: 16, or 8 or 4 by bitsandbytes.

        Raises:
            UsageError: if bitsandbytes is needed and not installed.
            DataError: if transformers cannot load it.
        """
        quantized: dict[str, object] = {}
        if device == "cuda" and bits < 16:
            if find_spec("bitsandbytes") is None:
                what = f"{bits} bits need bitsandbytes, which is not installed"
                fix = "Install it with: python -m pip install bitsandbytes, or set bits = 16."
                raise UsageError(what, where="recipe, bits", fix=fix, code="missing-extra")
            from transformers import BitsAndBytesConfig

            four = {"load_in_4bit": True, "bnb_4bit_compute_dtype": "bfloat16"}
            config = BitsAndBytesConfig(**({"load_in_8bit": True} if bits == 8 else four))
            quantized = {"quantization_config": config, "device_map": {"": 0}}
        return load_weights(self.place, device, self.adapted, download=self.online, **quantized)


def find_base(name: str, workspace: Workspace) -> BaseModel:
    """Find a model by the name that the user gave.

    Raises:
        UsageError: if it does not exist.
    """
    if name.startswith(HUB):
        return BaseModel(name, name.removeprefix(HUB), name)
    folder = for_transformers(workspace.root / "models") if name == EMBEDDED else Path(name)
    if not folder.is_dir():
        expected = f"a folder, {EMBEDDED}, or {HUB}OWNER/NAME to download one"
        raise UsageError(f"no model {name!r}", where="--model", expected=expected, code="unknown-model")
    return BaseModel(name, str(folder.resolve()), folder_sha256(folder))
