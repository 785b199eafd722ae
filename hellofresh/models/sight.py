"""Limits and token counts of pictures for each model.

docs/models.md names the sources of the rules. A provider's own count comes with its answer and replaces
these estimates.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, sqrt

from hellofresh.core.errors import RunError
from hellofresh.models import ModelSpec, Request
from hellofresh.tasks.images import Image

_MIB = 2**20
PAPER_IMAGE = Image("image/jpeg", "0" * 64, 1568, 1568, b"paper")
"""The largest picture of our decoder, for a dry run without pictures."""


@dataclass(frozen=True, slots=True)
class ImageLimits:
    """Limits of the pictures in one request.

    Attributes:
        images: maximum number of pictures.
        bytes_each, bytes_together: of their content before base64 encoding.
    """

    images: int
    bytes_each: int
    bytes_together: int


_LIMITS = {
    "anthropic": ImageLimits(100, 3_750_000, 22 * _MIB),
    "gemini": ImageLimits(3_000, 7 * _MIB, 14 * _MIB),
    "openai-compatible": ImageLimits(500, 20 * _MIB, 36 * _MIB),
    "openai-responses": ImageLimits(500, 20 * _MIB, 36 * _MIB),
    "openai-sdk": ImageLimits(500, 20 * _MIB, 36 * _MIB),
}
_OTHERS = ImageLimits(100, 20 * _MIB, 36 * _MIB)


def image_limits(spec: ModelSpec) -> ImageLimits:
    return _LIMITS.get(str(spec.parameters.get("speaks", "")), _OTHERS)


def images_of(request: Request) -> tuple[Image, ...]:
    return tuple(image for message in request.messages for image in message.images)


def image_tokens(spec: ModelSpec, image: Image) -> int:
    """Tokens that a picture counts as, by the model's table, else by its provider's rule."""
    if spec.kind != "language-model" or not spec.sees:
        return 0
    if spec.image_tokens is not None:
        return spec.image_tokens
    rules = {"anthropic": _by_area, "gemini": _by_crops}
    return rules.get(str(spec.parameters.get("speaks", "")), _by_patches)(image)


def _by_area(image: Image) -> int:
    """Anthropic: one token per 750 pixels, after scaling down to 1,568 pixels a side and about 1,600 tokens."""
    scale = min(1.0, 1568 / max(image.width, image.height))
    return min(1600, ceil(image.width * image.height * scale**2 / 750))


def _by_crops(image: Image) -> int:
    """Gemini: 258 tokens, or 258 for each crop of a larger picture."""
    if max(image.width, image.height) <= 384:
        return 258
    unit = min(768, max(256, floor(min(image.width, image.height) / 1.5)))
    return 258 * ceil(image.width / unit) * ceil(image.height / unit)


_PATCH, _MOST_PATCHES, _TOKENS_A_PATCH = 32, 1536, 1.62


def _by_patches(image: Image) -> int:
    """OpenAI's smaller models: 1.62 tokens for each square of 32 pixels, at most 1,536 squares."""
    patches = ceil(image.width / _PATCH) * ceil(image.height / _PATCH)
    if patches > _MOST_PATCHES:
        scale = sqrt(_PATCH**2 * _MOST_PATCHES / (image.width * image.height))
        patches = max(1, ceil(image.width * scale / _PATCH)) * max(1, ceil(image.height * scale / _PATCH))
    return ceil(min(patches, _MOST_PATCHES) * _TOKENS_A_PATCH)


def check_images(spec: ModelSpec, request: Request) -> None:
    """Check, before sending, that a model accepts the pictures of a request.

    Raises:
        RunError: if the model accepts no images, or there are too many, or one is too large, or has no content.
    """
    images = images_of(request)
    if not images or spec.kind == "baseline":
        return
    if not spec.sees:
        raise RunError(
            f"the model cannot see the {len(images)} picture{'s' * (len(images) > 1)} of a request",
            where=spec.name,
            expected="a model whose abilities say that it sees",
            fix="Choose another model for the role, or say in [models.NAME.abilities] that sees = true.",
            code="lacks-ability",
        )
    limits, sizes = image_limits(spec), [len(image.content) for image in images]
    misplaced = any(one.images and (one.role != "user" or one.call is not None) for one in request.messages)
    problems = {
        "a picture without content": not all(sizes),
        "pictures outside of a user's message": misplaced,
        f"{len(images):,} pictures": len(images) > limits.images,
        f"a picture of {max(sizes):,} bytes": max(sizes) > limits.bytes_each,
        f"pictures of {sum(sizes):,} bytes": sum(sizes) > limits.bytes_together,
    }
    if problem := next((what for what, is_so in problems.items() if is_so), ""):
        raise RunError(
            f"a request holds {problem}",
            where=spec.name,
            expected=f"at most {limits.images:,} pictures in users' messages, each of 1 to {limits.bytes_each:,} "
            f"bytes, all of them of at most {limits.bytes_together:,}",
            fix="Show the model fewer or smaller pictures; nothing was sent.",
            code="too-many-images",
        )
