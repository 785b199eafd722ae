"""Pictures in requests: whether a model takes them, and as how many tokens they count.

A provider's own count comes with its answer and replaces these estimates.
"""

from __future__ import annotations

from hellofresh.core.errors import RunError
from hellofresh.models import ModelSpec, Request
from hellofresh.models.wires import OTHER, WIRES, Wire
from hellofresh.tasks.images import Image

PAPER_IMAGE = Image("image/jpeg", "0" * 64, 1568, 1568, b"paper")
"""The largest picture of our decoder, for a dry run without pictures."""


def _wire(spec: ModelSpec) -> Wire:
    return WIRES.get(str(spec.parameters.get("speaks", "")), OTHER)


def images_of(request: Request) -> tuple[Image, ...]:
    return tuple(image for message in request.messages for image in message.images)


def image_tokens(spec: ModelSpec, image: Image) -> int:
    """Tokens that a picture counts as, by the model's table, else by its provider's rule."""
    if spec.kind != "language-model" or not spec.sees:
        return 0
    if spec.image_tokens is not None:
        return spec.image_tokens
    return _wire(spec).image_tokens(image)


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
    limits, sizes = _wire(spec).images, [len(image.content) for image in images]
    misplaced = any(one.images and (one.role != "user" or one.call is not None) for one in request.messages)
    problems = {
        "a picture without content": not all(sizes),
        "pictures outside a user's message": misplaced,
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
