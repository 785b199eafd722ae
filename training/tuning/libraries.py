"""The libraries of the extra `train`: whether they are there, which versions, and that they stay off the network."""

from __future__ import annotations

import os
from importlib.metadata import version
from importlib.util import find_spec

from hellofresh.core.errors import UsageError
from hellofresh.evidence.retrieval.base import missing_extra

LIBRARIES = ("torch", "transformers", "peft", "trl", "accelerate", "datasets")


def need_libraries(what: str, *, online: bool = False) -> None:
    """Say which extra is missing, before anything is imported; keep what is there from the network.

    Args:
        what: that needs them.
        online: whether the user named a model on the hub.

    Raises:
        UsageError: if one of them is not installed.
    """
    for name in LIBRARIES:
        if find_spec(name) is None:
            raise missing_extra(what, name, "train")
    if not online:
        os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"  # trl reports the trainer's name otherwise
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    os.environ["TQDM_DISABLE"] = "1"


def library_versions() -> dict[str, str]:
    """The versions that decide what is computed."""
    return {name: version(name) for name in LIBRARIES}


def chosen_device(name: str) -> str:
    """`cpu` or `cuda`; `auto` takes a GPU if there is one.

    Raises:
        UsageError: if a GPU is asked for and there is none.
    """
    import torch

    found = torch.cuda.is_available()
    if name == "cuda" and not found:
        raise UsageError("torch finds no GPU", where="--device cuda", fix="Leave it out.", code="no-gpu")
    return "cuda" if found and name != "cpu" else "cpu"
