"""Analysis of pictures without a language model: printed text, known people, and matching of pictures.

Text is read on this machine by RapidOCR with PP-OCRv6 on onnxruntime.

RapidOCR (https://github.com/RapidAI/RapidOCR, Apache-2.0) carries its weights; they are named by path and checked by
SHA-256, so that nothing is ever downloaded. Lines are recognised one by one: a batch is padded to its widest line,
which moves confidences, and what a line says is to be a function of its own pixels. What a picture says is data: it may
try to instruct a model, and belongs into a prompt's slot only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hellofresh.core.errors import DataError, missing_extra
from hellofresh.core.files import read_models, sha256_file
from hellofresh.core.strict import Strict
from hellofresh.evidence.retrieval.base import Parameters, packaged_file
from hellofresh.tasks.images import Image, Media

if TYPE_CHECKING:
    from rapidocr import RapidOCR

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
_LEAST_SIDE = 16  # smallest side in pixels; smaller pictures make the engines fail
# of the longer side in pixels; a placement fits fewer than eight pairs by chance
_KEYPOINTS, _KEYPOINT_SIDE, _LEAST_KEYPOINTS = 500, 512, 8
_NEAREST, _PIXELS, _LARGEST_SCALE = 0.75, 4.0, 8.0  # the first is Lowe's ratio: clearly nearer than the next


_Keypoints = tuple[NDArray[np.float32], NDArray[np.float32]]  # places and descriptors of a picture's keypoints


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line of text in a picture with the reader's confidence, from 0 to 100."""

    text: str
    confidence: float


class UnreadPictureError(Exception):
    """Raised for a picture that could not be read, with the reason."""


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
                return tuple(self._recognised(image.content))
            # Pillow, OpenCV, onnxruntime and RapidOCR each have errors of their own; none of them may end a run.
            except Exception as error:
                raise UnreadPictureError(type(error).__name__) from error

    def _recognised(self, content: bytes) -> Iterator[TextLine]:
        from PIL import Image as Picture
        from rapidocr.ch_ppocr_det import TextDetOutput
        from rapidocr.ch_ppocr_rec import TextRecOutput
        from rapidocr.utils.process_img import get_rotate_crop_image

        with Picture.open(BytesIO(content)) as opened:
            # Blue, green and red of each pixel, as the engine's models were trained on.
            pixels = np.ascontiguousarray(np.asarray(opened.convert("RGB"))[:, :, ::-1])
        height, width = pixels.shape[:2]
        if min(height, width) * min(1.0, self.side / max(height, width)) < _LEAST_SIDE:
            return
        # Always pass all three, since the engine keeps the last values.
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
    """Hashes of the reader's weights, also if it is not installed."""
    return {f"ocr_{part.lower()}_sha256": sha256 for part, (_, sha256) in _WEIGHTS.items()}


@dataclass
class PictureMatcher:
    """Decides by keypoints (SIFT of OpenCV, which the extra `ocr` brings) whether a picture is one of a post's.

    It sees through another size, compression, a crop, other colours, a caption and a mirror, since a share of the
    keypoints lies as in the other picture, moved, turned and scaled at once. Another photo of the same scene has fewer,
    and another scene none. It knows nothing of what a picture shows.

    Args:
        pictures: the post's, as the decoder wrote them again.

    Raises:
        UsageError: if OpenCV is missing.
    """

    pictures: Sequence[bytes]

    def __post_init__(self) -> None:
        if find_spec("cv2") is None:
            raise missing_extra(
                "comparing pictures", "OpenCV", "ocr", instead="Or compare none: --set image_similarity=0"
            )

    @cached_property
    def _known(self) -> Sequence[_Keypoints]:
        return [_keypoints(content, is_mirrored) for content in self.pictures for is_mirrored in (False, True)]

    def similarity(self, content: bytes) -> float | None:
        """The largest share of keypoints in common with one of the pictures; None where either has too few of them."""
        other = _keypoints(content)
        shares = [
            _shared(known, other) for known in self._known if min(len(known[0]), len(other[0])) >= _LEAST_KEYPOINTS
        ]
        return max(shares, default=None)


def _keypoints(content: bytes, is_mirrored: bool = False) -> _Keypoints:
    import cv2

    none = np.empty((0, 2), np.float32), np.empty((0, 128), np.float32)
    pixels = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_GRAYSCALE)
    scale = 1.0 if pixels is None else _KEYPOINT_SIDE / max(pixels.shape)
    if pixels is None or min(pixels.shape) * scale < _LEAST_SIDE:
        return none
    how = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    pixels = cv2.resize(pixels, None, fx=scale, fy=scale, interpolation=how)
    found, looks = cv2.SIFT.create(_KEYPOINTS).detectAndCompute(cv2.flip(pixels, 1) if is_mirrored else pixels, None)
    if looks is None:
        return none
    return np.array([point.pt for point in found], np.float32), np.asarray(looks, np.float32)


def _shared(first: _Keypoints, second: _Keypoints) -> float:
    """The share of keypoints, of the picture with fewer of them, that one move, turn and scale brings together."""
    import cv2

    nearest = cv2.BFMatcher().knnMatch(first[1], second[1], k=2)
    pairs = [(best.queryIdx, best.trainIdx) for best, other in nearest if best.distance < _NEAREST * other.distance]
    if len(pairs) < _LEAST_KEYPOINTS:
        return 0.0
    here, there = (list(side) for side in zip(*pairs, strict=True))
    move, fits = cv2.estimateAffinePartial2D(
        first[0][here], second[0][there], method=cv2.RANSAC, ransacReprojThreshold=_PIXELS
    )
    if move is None or not 1 / _LARGEST_SCALE < float(np.hypot(move[0, 0], move[0, 1])) < _LARGEST_SCALE:
        return 0.0
    # several keypoints may meet one, as on plain surfaces
    kept = {target for target, fit in zip(there, np.ravel(fits), strict=True) if fit}
    return round(len(kept) / min(len(first[0]), len(second[0])), 3)


class _Known(Strict):
    image: str = Field(min_length=1, max_length=2000)
    people: list[str] = Field(max_length=50)


@dataclass(frozen=True)
class People:
    """Known people in pictures, as a file of the user's names them. Nothing here recognises a face.

    It is biometric, so it is off unless requested.

    Args:
        source: a file of JSON lines, `image` (an address, or the SHA-256 of a picture's bytes) and `people` (names).

    Raises:
        DataError: if the file is missing; when names are asked for first, if a line has another form.
    """

    source: str

    def __post_init__(self) -> None:
        if not Path(self.source).is_file():
            raise DataError(
                "the file of people does not exist", where=self.source[:200], expected="JSON lines", code="missing-file"
            )

    @property
    def parameters(self) -> Parameters:
        """The file's hash."""
        return {"people_sha256": sha256_file(Path(self.source))}

    @cached_property
    def _known(self) -> Mapping[str, Sequence[str]]:
        return {line.image: line.people for line in read_models(Path(self.source), _Known)}

    def names(self, media: Media, image: Image) -> Sequence[str]:
        """The known people of a picture, which is known by its address, or by its hash as it came or as it is shown."""
        keys = (media.address, media.sha256, image.sha256)
        return next((tuple(self._known[key]) for key in keys if key and key in self._known), ())
