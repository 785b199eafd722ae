"""The forms of requests and replies that providers speak, their clients, and how these take pictures.

docs/models.md names the sources of the rules for pictures. Another package brings a wire by an entry point of the group
`hellofresh.wires`, whose name is the `kind` of `[providers.NAME]`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, floor, sqrt

from hellofresh.tasks.images import Image

_MIB = 2**20
_PATCH, _MOST_PATCHES, _TOKENS_A_PATCH = 32, 1536, 1.62


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


def by_area(image: Image) -> int:
    """Anthropic: one token per 750 pixels, after scaling down to 1,568 pixels a side and about 1,600 tokens."""
    scale = min(1.0, 1568 / max(image.width, image.height))
    return min(1600, ceil(image.width * image.height * scale**2 / 750))


def by_crops(image: Image) -> int:
    """Gemini: 258 tokens, or 258 for each crop of a larger picture."""
    if max(image.width, image.height) <= 384:
        return 258
    unit = min(768, max(256, floor(min(image.width, image.height) / 1.5)))
    return 258 * ceil(image.width / unit) * ceil(image.height / unit)


def by_patches(image: Image) -> int:
    """OpenAI's smaller models: 1.62 tokens for each square of 32 pixels, at most 1,536 squares."""
    patches = ceil(image.width / _PATCH) * ceil(image.height / _PATCH)
    if patches > _MOST_PATCHES:
        scale = sqrt(_PATCH**2 * _MOST_PATCHES / (image.width * image.height))
        patches = max(1, ceil(image.width * scale / _PATCH)) * max(1, ceil(image.height * scale / _PATCH))
    return ceil(min(patches, _MOST_PATCHES) * _TOKENS_A_PATCH)


@dataclass(frozen=True, slots=True)
class Wire:
    """A form of requests and replies.

    Attributes:
        client: `module:name` of what makes a `Model` of a `ModelSpec`, an `Endpoint` and `Abilities`.
        is_chat: whether it has the fields of chat completions.
        has_seed: whether requests take a seed, and answers can give log-probabilities.
        images: limits of the pictures in a request.
        image_tokens: estimates the tokens that a picture counts as.
    """

    client: str
    is_chat: bool = False
    has_seed: bool = True
    images: ImageLimits = ImageLimits(500, 20 * _MIB, 36 * _MIB)
    image_tokens: Callable[[Image], int] = by_patches


_PROVIDERS = "hellofresh.models.providers"
OTHER = Wire("", images=ImageLimits(100, 20 * _MIB, 36 * _MIB))
"""For models that no provider serves."""
WIRES: dict[str, Wire] = {
    "openai-compatible": Wire(f"{_PROVIDERS}.chat:ChatModel", is_chat=True),
    "openai-sdk": Wire(f"{_PROVIDERS}.sdk:SdkModel", is_chat=True),
    "openai-responses": Wire(f"{_PROVIDERS}.responses:ResponsesModel", has_seed=False),
    "gemini": Wire(
        f"{_PROVIDERS}.gemini:GeminiModel", images=ImageLimits(3_000, 7 * _MIB, 14 * _MIB), image_tokens=by_crops
    ),
    "anthropic": Wire(
        f"{_PROVIDERS}.anthropic:AnthropicModel",
        has_seed=False,
        images=ImageLimits(100, 3_750_000, 22 * _MIB),
        image_tokens=by_area,
    ),
}
