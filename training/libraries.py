"""The libraries of the extra `train`, kept offline, and the language models that tunings start from.

A model is a folder, the embedded model's weights, or, if the user names it, one on the hub. A folder holds a whole
model or an adapter. The embedded model's weights are in a four-bit file for another engine; they are converted once (a
minute) and kept in the workspace as a folder that transformers reads. Nothing is downloaded unless the model is named
`hub:OWNER/NAME`.
"""

from __future__ import annotations

import logging
import os
import warnings
from importlib.util import find_spec
from pathlib import Path

from hellofresh.core.errors import UsageError, missing_extra
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval.encoders import HUB
from hellofresh.models.local.converted import for_transformers
from hellofresh.models.local.folders import StoredModel, folder_sha256

EMBEDDED = "smollm2-135m"
LIBRARIES = ("torch", "transformers", "peft", "trl", "accelerate", "datasets")
"""Libraries for language models; encoders also need sentence-transformers."""


def need_libraries(what: str, *, online: bool = False, encoders: bool = False) -> None:
    """Name the extra if a library is missing; keep the others offline, and their advice off the terminal.

    Call this before importing any of them.

    Args:
        what: name of the command that needs them.
        online: whether the user named a model on the hub.
        encoders: whether encoders are trained, rather than a language model.

    Raises:
        UsageError: if a library is missing.
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


def chosen_device(name: str) -> str:
    """`cpu` or `cuda`; `auto` uses a GPU if available.

    Raises:
        UsageError: if a GPU is requested and torch finds none.
    """
    import torch

    found = torch.cuda.is_available()
    if name == "cuda" and not found:
        raise UsageError("torch finds no GPU", where="--device cuda", fix="Leave it out.", code="no-gpu")
    return "cuda" if found and name != "cpu" else "cpu"


def find_base(name: str, workspace: Workspace) -> StoredModel:
    """Find a model by the user's name for it.

    Raises:
        UsageError: if it does not exist.
    """
    if name.startswith(HUB):
        return StoredModel(name, name.removeprefix(HUB), name)
    folder = for_transformers(workspace.root / "models") if name == EMBEDDED else Path(name)
    if not folder.is_dir():
        expected = f"a folder, {EMBEDDED}, or {HUB}OWNER/NAME to download one"
        raise UsageError(f"no model {name!r}", where="--model", expected=expected, code="unknown-model")
    return StoredModel(name, str(folder.resolve()), folder_sha256(folder))
