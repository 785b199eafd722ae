"""Completion of samples: texts of released ones, and downloaded pictures."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from collectors.notes.collect import NotesSource
from collectors.notes.posts.base import FoundPost
from collectors.notes.tables import NOTES, WantedColumns
from hellofresh.core.errors import DataError
from hellofresh.core.executors import completed
from hellofresh.core.files import sha256_text
from hellofresh.core.texts import without_hidden
from hellofresh.evidence.web.pictures import MediaPictures
from hellofresh.releases.candidates import Collection
from hellofresh.tasks import x_notes
from hellofresh.tasks.corrections import NotedPost, PublicNotedPost
from hellofresh.tasks.images import Media, media_of
from hellofresh.tasks.samples import Sample, common_fields

_COLUMNS = WantedColumns(("noteId",), texts=("summary",))
_LARGEST_ID = 2**63 - 1  # X's ids are signed 64-bit numbers
_TELL_EVERY = 50  # often enough to see that it goes on, seldom enough for a log


def fill_texts(
    samples: Sequence[Sample],
    source: NotesSource,
    *,
    workdir: Path,
    progress: Callable[[str], None],
    warn: Callable[[str], None],
) -> Mapping[str, Sample | str]:
    """Each released sample with the texts of its post and note, or the reason why one is unavailable.

    Args:
        samples: public samples of x-notes, x-notes-media or x-posts.
        source: the dump and the posts.
        workdir: folder for unreadable lines.
        progress: called with a sentence for every file.
        warn: called with a sentence on each oddity of the sources.

    Raises:
        SourceError: if the notes or the posts cannot be read.
        DataError: if a sample's ids are not valid.
    """
    public = [sample for sample in samples if isinstance(sample, x_notes.PublicNote | PublicNotedPost)]
    ids = sorted({_id(item, item.note.id) for item in public if isinstance(item, x_notes.PublicNote)})
    wanted = pl.DataFrame({"noteId": ids}, schema={"noteId": pl.Int64})
    reader = source.reader(workdir, progress=progress)
    notes: dict[int, str] = {}
    for frame in reader.frames(NOTES, _COLUMNS) if ids else ():
        notes.update(frame.join(wanted, on="noteId", how="semi").select("noteId", "summary").iter_rows())
    found = source.open_posts(progress)
    asked = [item for item in public if isinstance(item, PublicNotedPost) or int(item.note.id) in notes]
    posts = found.find({str(_id(item, item.post.id)) for item in asked})
    for warning in (*reader.warnings, *found.warnings):
        warn(warning)
    filled: dict[str, Sample | str] = {item.id: "note: not in the dump" for item in public}
    for item in asked:
        post = posts[item.post.id]
        texts = (post.text, without_hidden(post.text))
        if post.gone is not None:
            filled[item.id] = f"post: {post.gone}"
        elif post.truncated and item.post.text_sha256 not in map(sha256_text, texts):
            filled[item.id] = "post: only its beginning"
        else:
            filled[item.id] = _filled(item, notes, post)
    return filled


def _id(sample: Sample, text: str) -> int:
    if text.isascii() and text.isdigit() and not text.startswith("0") and len(text) < 20 and int(text) <= _LARGEST_ID:
        return int(text)
    raise DataError("not an id of a post", where=sample.id, expected="up to 19 digits", code="bad-id")


def _filled(sample: x_notes.PublicNote | PublicNotedPost, notes: Mapping[int, str], post: FoundPost) -> Sample:
    common = common_fields(sample)
    post_text = x_notes.Post(sample.post.id, sample.post.date, post.text)
    if isinstance(sample, PublicNotedPost):
        return NotedPost(**common, post=post_text, media=_identified(sample.media, post), modality=sample.modality)
    note = html.unescape(notes[int(sample.note.id)])
    note_text = x_notes.NoteText(sample.note.id, sample.note.date, note)
    if not isinstance(sample, x_notes.PublicIllustratedNote):
        return x_notes.Note(**common, post=post_text, note=note_text)
    media = _identified(sample.media, post)
    return x_notes.IllustratedNote(**common, post=post_text, note=note_text, media=media)


def _identified(released: Sequence[x_notes.WithheldMedia], post: FoundPost) -> tuple[Media, ...]:
    """The post's media, with the hash and size released for each."""
    if len(post.pictures) != len(released):
        return post.pictures
    pairs = zip(post.pictures, released, strict=True)
    return tuple(replace(now, sha256=then.sha256, bytes=then.bytes) for now, then in pairs)


def with_pictures(
    collected: Collection, pictures: MediaPictures, progress: Callable[[str], None] | None = None
) -> Collection:
    """The collection with the hash and size of every available picture; the funnel's context has their number.

    Raises:
        DataError: if the cache is damaged or cannot be written.
        RunError: if a worker process hangs.
    """
    samples = [*(item.sample for item in collected.candidates), *(collected.pending or ())]
    known: dict[str, tuple[Media, ...]] = {}

    async def fetch() -> None:
        try:
            for number, sample in enumerate(samples, start=1):
                known[sample.id] = await pictures.identified(media_of(sample))
                if progress is not None and number % _TELL_EVERY == 0:
                    progress(f"pictures of {number:,} of {len(samples):,} posts")
        finally:
            await pictures.close()

    completed(fetch())
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


def _naming(sample: Sample, known: dict[str, tuple[Media, ...]]) -> Sample:
    media = known.get(sample.id, ())
    return replace(sample, media=media) if media else sample  # type: ignore[call-arg]  # only samples with media have any
