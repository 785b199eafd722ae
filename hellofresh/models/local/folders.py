"""Language models in local folders, loaded by transformers, including tuned ones, whole or as an adapter.

`local-hf:FOLDER` names one. It answers greedily, one request at a time, so that an answer depends on the request
alone on one type of processor. It downloads nothing and runs no code of the folder. Tuning starts from such models,
too (`StoredModel`), and may download one that the user names by its place on the hub.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from hellofresh.core.errors import DataError, UsageError, missing_extra
from hellofresh.core.files import canonical_json, read_json, sha256_file, sha256_text
from hellofresh.evidence.retrieval.encoders import HUB, loading_of
from hellofresh.models import Answer, Finish, Message, ModelSpec, Request, Sampling
from hellofresh.models.local import LOCAL_FOLDER, LocalModel, check_length

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_DECIDING = (
    "*.safetensors",
    "config.json",
    "adapter_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "chat_template.jinja",
    "generation_config.json",
)
_ROLES = {"system": "### System", "user": "### Instruction", "assistant": "### Response"}
_LIBRARIES = ("torch", "transformers")


def adapter_base(folder: Path) -> Path | None:
    """The folder of an adapter's base model; None if the folder holds a whole model.

    Raises:
        UsageError: if the adapter's model is not on this machine.
    """
    path = folder / "adapter_config.json"
    if not path.is_file():
        return None
    named = str(read_json(path).get("base_model_name_or_path"))
    if not Path(named).is_dir():
        raise UsageError(
            f"the adapter belongs to {named!r}, which is not a folder here",
            where=str(folder),
            fix="Put the model there, or name the merged model.",
            code="missing-base",
        )
    return Path(named)


def folder_sha256(folder: Path) -> str:
    """A hash of all files in a model's folder that affect its answers, including an adapter's base model.

    Raises:
        UsageError: if the folder holds no model.
    """
    base = adapter_base(folder)
    paths = sorted({path for pattern in _DECIDING for path in folder.glob(pattern)})
    if not any(path.suffix == ".safetensors" for path in paths):
        raise UsageError(
            "no model in the folder",
            where=str(folder),
            expected="config.json and weights in *.safetensors, as transformers writes them",
            code="no-model",
        )
    hashes = {path.name: sha256_file(path) for path in paths}
    return sha256_text(canonical_json(hashes | ({"base": folder_sha256(base)} if base else {})))


def rendered(tokenizer: PreTrainedTokenizerBase, messages: Sequence[Message]) -> str:
    """A conversation as prompt text, by the model's template, or in plain blocks without one.

    Texts cannot contain control tokens: a space breaks up what looks like one.
    """
    turns = [{"role": message.role, "content": _plain(tokenizer, message.text)} for message in messages]
    if tokenizer.chat_template:
        return str(tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True))
    blocks = [f"{_ROLES[turn['role']]}\n{turn['content']}\n\n" for turn in turns]
    return "".join(blocks) + f"{_ROLES['assistant']}\n"


def _plain(tokenizer: PreTrainedTokenizerBase, text: str) -> str:
    for token in tokenizer.all_special_tokens:
        if len(token) > 1:
            text = text.replace(token, f"{token[0]} {token[1:]}")
    return text


def _slug(folder: Path) -> str:
    """A name for the board: that of the folder, or of the tuning that made it."""
    name = folder.parent.name if folder.name in ("model", "adapter") else folder.name
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")[:80] or "model"


@dataclass(frozen=True, slots=True)
class _Loaded:
    tokenizer: PreTrainedTokenizerBase
    model: PreTrainedModel
    context: int


class FolderModel(LocalModel[_Loaded]):
    """A model in a folder; the first request loads its weights.

    Raises:
        UsageError: if the folder holds no model, or the extra `train` is not installed.
    """

    def __init__(self, folder: Path) -> None:
        for name in (*_LIBRARIES, "peft") if (folder / "adapter_config.json").is_file() else _LIBRARIES:
            if find_spec(name) is None:
                raise missing_extra("a model in a folder", name, "train", where=f"{LOCAL_FOLDER}{folder}")
        if not folder.is_dir():
            raise UsageError("no such folder", where=f"{LOCAL_FOLDER}{folder}", code="missing-folder")
        super().__init__()
        self._folder = folder
        sha256 = folder_sha256(folder)
        self.spec = ModelSpec(
            name=f"local-hf-{_slug(folder.resolve())}",
            kind="language-model",
            about="A language model in a folder, run in-process by transformers, answering greedily.",
            parameters={
                "weights_sha256": sha256,
                **{name: version(name) for name in _LIBRARIES},
                "decoding": "greedy",
                "precision": "f32 on a processor, bf16 on a GPU",
            },
            free=True,
            sampling=Sampling.NEVER,
        )

    def answer(self, loaded: _Loaded, request: Request) -> Answer:
        """Answer greedily with the most likely tokens."""
        import torch

        text = rendered(loaded.tokenizer, request.messages)
        asked = loaded.tokenizer(text, return_tensors="pt", add_special_tokens=False).to(loaded.model.device)
        length = int(asked["input_ids"].shape[1])
        check_length(length, request, loaded.context, self.spec.name)
        with torch.no_grad():
            found = loaded.model.generate(
                **asked, max_new_tokens=request.max_tokens, do_sample=False, pad_token_id=loaded.tokenizer.pad_token_id
            )[0, length:].tolist()
        ends = loaded.model.generation_config.eos_token_id
        ended = bool(found) and found[-1] in (ends if isinstance(ends, list) else [ends])
        text = loaded.tokenizer.decode(found, skip_special_tokens=True)
        return Answer(text, Finish.STOP if ended else Finish.LENGTH, length, len(found))

    def load(self) -> _Loaded:
        """Load weights and tokenizer, with an adapter merged into its model."""
        import torch

        stored = StoredModel(str(self._folder), str(self._folder), "")
        tokenizer, model = stored.tokenizer(), stored.load("cuda" if torch.cuda.is_available() else "cpu")
        return _Loaded(tokenizer, model.eval(), int(getattr(model.config, "max_position_embeddings", 4096)))


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A language model that transformers loads, whole or as an adapter.

    Attributes:
        name: the user's name for it; models with the prefix `hub:` may be downloaded.
        place: its folder, or its name on the hub.
        sha256: of the files that affect its answers; the name and revision for one on the hub.
    """

    name: str
    place: str
    sha256: str

    @property
    def adapted(self) -> Path | None:
        """The folder of the whole model, if this is an adapter."""
        return None if self.name.startswith(HUB) else adapter_base(Path(self.place))

    def tokenizer(self) -> PreTrainedTokenizerBase:
        """Load its tokenizer, with a padding token.

        Raises:
            DataError: if transformers cannot load it.
        """
        from transformers import AutoTokenizer

        try:
            tokenizer = AutoTokenizer.from_pretrained(self.place, **loading_of(self.name)[1])
        except (OSError, ValueError, KeyError) as error:
            raise self._unreadable(error) from None
        if tokenizer.pad_token_id is None:
            tokenizer.pad_token = tokenizer.eos_token
        return tokenizer

    def load(self, device: str, bits: int = 16) -> PreTrainedModel:
        """Load its weights on a device, with an adapter merged into them.

        Args:
            device: `cpu`, in 32 bits; or `cuda`.
            bits: of a weight on a GPU: 16, or 8 or 4 by bitsandbytes.

        Raises:
            UsageError: if bitsandbytes is needed and not installed.
            DataError: if transformers cannot load it.
        """
        import torch
        from transformers import AutoModelForCausalLM, BitsAndBytesConfig

        loading: dict[str, object] = {"dtype": torch.bfloat16 if device == "cuda" else torch.float32}
        few = device == "cuda" and bits < 16
        if few:
            if find_spec("bitsandbytes") is None:
                what = f"{bits} bits need bitsandbytes, which is not installed"
                fix = "Install it with: python -m pip install bitsandbytes, or set bits = 16."
                raise UsageError(what, where="recipe, bits", fix=fix, code="missing-extra")
            four = {"load_in_4bit": True, "bnb_4bit_compute_dtype": torch.bfloat16}
            config = BitsAndBytesConfig(**({"load_in_8bit": True} if bits == 8 else four))
            loading |= {"quantization_config": config, "device_map": {"": 0}}
        base = self.adapted
        try:
            model = AutoModelForCausalLM.from_pretrained(str(base or self.place), **loading, **loading_of(self.name)[1])
            if base is not None:
                from peft import PeftModel

                model = PeftModel.from_pretrained(model, self.place, local_files_only=True).merge_and_unload()
        except (OSError, ValueError, KeyError) as error:
            raise self._unreadable(error) from None
        return model if few else model.to(device)

    def _unreadable(self, error: Exception) -> DataError:
        return DataError(f"transformers cannot load it ({error})", where=self.name, code="bad-model")
