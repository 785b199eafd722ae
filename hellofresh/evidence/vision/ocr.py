"""Text in pictures, read on this machine: RapidOCR with PP-OCRv6 on onnxruntime.

RapidOCR (https://github.com/RapidAI/RapidOCR, Apache-2.0) carries its weights; they are named by path and checked by
SHA-256, so that nothing is ever downloaded. Lines are recognised one by one: a batch is padded to its widest line,
which moves confidences, and what a line says is to be a function of its own pixels. What a picture says is data: it may
try to instruct a model, and belongs into a prompt's slot only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from io import BytesIO
from threading import Lock
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from hellofresh.evidence.retrieval.base import Parameters, missing_extra, packaged_file
from hellofresh.tasks.images import Image

if TYPE_CHECKING:
    from rapidocr import RapidOCR

__all__ = ["RapidOcr", "TextLine", "TextReader", "UnreadPictureError", "ocr_parameters"]

_PACKAGE = "rapidocr"
_WEIGHTS = {
    "Det": ("models/PP-OCRv6_det_small.onnx", "090f04abcd9d9a7498bc4ebf677e4cb9bdce1fe4197ddb7e529f1ef44e1ff94f"),
    "Cls": (
        "models/ch_ppocr_mobile_v2.0_cls_mobile.onnx",
        "e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c",
    ),
    "Rec": ("models/PP-OCRv6_rec_small.onnx", "6f327246b50388f3c176ae304bd95767ea6dc0c9ae92153ef8cbe210b3c14884"),
}
_THREADS = 2
_LEAST_SIDE = 16
"""Pixels below which there is no room for a line, and the engine fails."""

Pixels = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line of text in a picture, and how sure the reader is of it, from 0 to 100."""

    text: str
    confidence: float


class UnreadPictureError(Exception):
    """A picture that could not be read; says why."""


class TextReader(Protocol):
    """Reads text in pictures."""

    @property
    def parameters(self) -> Parameters:
        """All that decides what is read."""

    def read(self, image: Image) -> Sequence[TextLine]:
        """The lines of a picture from top to bottom, each with its confidence; takes seconds.

        Raises:
            UnreadPictureError: if it cannot be read.
        """


@dataclass
class RapidOcr:
    """RapidOCR, loaded by the first picture (1 s); one picture at a time.

    A picture costs what its size and its lines cost, so both have a bound: 100 lines take about 10 s on two cores, a
    post's picture 1 to 3 s.

    Args:
        lines: of a picture that are read, from the top.
        side: pixels of the longer side that a larger picture is scaled down to.

    Raises:
        UsageError: if a package is missing, or its weights are others.
    """

    lines: int = 100
    side: int = 1600

    def __post_init__(self) -> None:
        for package in (_PACKAGE, "onnxruntime", "PIL"):
            if find_spec(package) is None:
                raise missing_extra("reading text in pictures", package, "ocr")
        self._files = {
            part: packaged_file(_PACKAGE, name, sha256, what="reading text in pictures", extra="ocr")
            for part, (name, sha256) in _WEIGHTS.items()
        }
        self._turn = Lock()

    @property
    def parameters(self) -> Parameters:
        """Weights and bounds."""
        return {**ocr_parameters(), "ocr_lines": self.lines, "ocr_side": self.side}

    @cached_property
    def _engine(self) -> RapidOCR:
        from rapidocr import RapidOCR

        return RapidOCR(
            params={
                "Global.log_level": "critical",
                "Global.text_score": 0.0,
                "Global.max_side_len": self.side,
                # By default small pictures are scaled up: it took 4 times as long, and read one line of 20 worse.
                "Det.limit_type": "max",
                "Det.limit_side_len": self.side,
                "EngineConfig.onnxruntime.intra_op_num_threads": _THREADS,
                **{f"{part}.model_path": str(path) for part, path in self._files.items()},
            }
        )

    def read(self, image: Image) -> Sequence[TextLine]:
        """The first lines, from top to bottom; empty for a picture without text.

        Raises:
            UnreadPictureError: if it cannot be read.
        """
        with self._turn:
            try:
                return tuple(self._recognised(_pixels(image.content)))
            # Pillow, OpenCV, onnxruntime and RapidOCR each have errors of their own; none of them may end a run.
            except Exception as error:
                raise UnreadPictureError(type(error).__name__) from error

    def _recognised(self, pixels: Pixels) -> Iterator[TextLine]:
        from rapidocr.ch_ppocr_det import TextDetOutput
        from rapidocr.ch_ppocr_rec import TextRecOutput
        from rapidocr.utils.process_img import get_rotate_crop_image

        height, width = pixels.shape[:2]
        if min(height, width) * min(1.0, self.side / max(height, width)) < _LEAST_SIDE:
            return
        # All three are named each time: the engine remembers what was said last.
        found = self._engine(pixels, use_det=True, use_cls=False, use_rec=False)
        if not isinstance(found, TextDetOutput) or found.boxes is None:
            return
        for box in found.boxes[: self.lines]:
            crop = get_rotate_crop_image(pixels, box)
            line = self._engine(crop, use_det=False, use_cls=True, use_rec=True)
            if isinstance(line, TextRecOutput):
                for text, score in zip(line.txts or (), line.scores or (), strict=True):
                    if text.strip():
                        yield TextLine(text.strip(), round(100 * float(score), 1))


def ocr_parameters() -> Parameters:
    """The reader and its weights, also where it is not installed."""
    hashes = {f"ocr_{part.lower()}_sha256": sha256 for part, (_, sha256) in _WEIGHTS.items()}
    return {"ocr": _PACKAGE, **hashes}


def _pixels(content: bytes) -> Pixels:
    """Blue, green and red of each pixel, as the engine's models were trained on."""
    from PIL import Image as Picture

    with Picture.open(BytesIO(content)) as opened:
        return np.ascontiguousarray(np.asarray(opened.convert("RGB"))[:, :, ::-1])
