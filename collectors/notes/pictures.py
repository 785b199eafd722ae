"""Pictures of collected posts, fetched into the workspace's cache: samples then name each by the hash of its bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from hellofresh.evidence.web.pictures import MediaPictures
from hellofresh.releases.candidates.rows import Collection
from hellofresh.tasks.images import Media, media_of
from hellofresh.tasks.samples import Sample

__all__ = ["with_pictures"]

_TELL_EVERY = 50


def with_pictures(
    collected: Collection, pictures: MediaPictures, progress: Callable[[str], None] | None = None
) -> Collection:
    """The collection with the hash and size of every picture that is to be had; the funnel's context says how many.

    Raises:
        DataError: if the cache is damaged or cannot be written.
        RunError: if a worker process hangs.
    """
    samples = [*(item.sample for item in collected.candidates), *(collected.pending or ())]
    known = asyncio.run(_identified(samples, pictures, progress))
    media = [item for items in known.values() for item in items]
    context = {"pictures of kept posts": len(media), "pictures fetched": sum(bool(item.sha256) for item in media)}
    pending = None if collected.pending is None else [_naming(sample, known) for sample in collected.pending]
    return replace(
        collected,
        candidates=[replace(item, sample=_naming(item.sample, known)) for item in collected.candidates],
        pending=pending,
        funnel=replace(collected.funnel, context={**collected.funnel.context, **context}),
        parameters={**collected.parameters, "pictures": True},
    )


async def _identified(
    samples: Sequence[Sample], pictures: MediaPictures, progress: Callable[[str], None] | None
) -> dict[str, tuple[Media, ...]]:
    known: dict[str, tuple[Media, ...]] = {}
    try:
        for number, sample in enumerate(samples, start=1):
            known[sample.id] = await pictures.identified(media_of(sample))
            if progress is not None and number % _TELL_EVERY == 0:
                progress(f"pictures of {number:,} of {len(samples):,} posts")
    finally:
        await pictures.close()
    return known


def _naming(sample: Sample, known: dict[str, tuple[Media, ...]]) -> Sample:
    media = known.get(sample.id, ())
    return replace(sample, media=media) if media else sample  # type: ignore[call-arg]  # only samples with media have any
