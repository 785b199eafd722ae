"""x-notes: would this Community Note be rated helpful by its readers? x-notes-media: one on a post with pictures?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from hellofresh.core.files import sha256_text
from hellofresh.core.quarters import PeriodKind
from hellofresh.stats.metrics import rank_correlation
from hellofresh.tasks._base import INSTANTS, SamplePage, Task, TextPart
from hellofresh.tasks.images import Media, MediaKind
from hellofresh.tasks.samples import Sample, common_fields

LICENSE = "LicenseRef-X-content"
_GRADED = "the rank correlation of stated probabilities with what ratings of both camps say of the note, from -1 to 1"


@dataclass(frozen=True, slots=True)
class Post:
    """The post that a note is attached to."""

    id: str
    date: datetime
    text: str


@dataclass(frozen=True, slots=True)
class NoteText:
    """The note itself, HTML entities resolved."""

    id: str
    date: datetime
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Note(Sample):
    """A sample of x-notes; `group` is `x-<post id>`."""

    post: Post
    note: NoteText


@dataclass(frozen=True, slots=True)
class WithheldText:
    """A post or note whose text is not published: X's terms allow sharing ids, not texts.

    Attributes:
        id, date: as in the full form.
        text_sha256: hex SHA-256 of the text's UTF-8 bytes.
    """

    id: str
    date: datetime
    text_sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicNote(Sample):
    """The public form of a sample of x-notes."""

    post: WithheldText
    note: WithheldText


def withheld_text(part: Post | NoteText) -> WithheldText:
    """A post or note in its published form."""
    return WithheldText(part.id, part.date, sha256_text(part.text))


def _public(sample: Note) -> PublicNote:
    return PublicNote(**common_fields(sample), post=withheld_text(sample.post), note=withheld_text(sample.note))


def _slots(sample: Note) -> Mapping[str, str]:
    return {
        "post_date": f"{sample.post.date:%Y-%m-%d}",
        "post": sample.post.text,
        "note_date": f"{sample.note.date:%Y-%m-%d}",
        "note": sample.note.text,
    }


def _page(sample: Note | PublicNote) -> SamplePage:
    link = f"https://x.com/i/status/{sample.post.id}"
    if isinstance(sample, PublicNote):
        return SamplePage(link=link)
    return SamplePage(
        parts=(TextPart("post", sample.post.text, "context"), TextPart("note", sample.note.text)), link=link
    )


TASK = Task(
    name="x-notes",
    title="Community Notes on X",
    question="Would readers of different views rate this Community Note as helpful?",
    classes=("not helpful", "helpful"),
    id_prefix="xn-",
    period_kind=PeriodKind.MONTH,
    cap=250,
    sample_type=Note,
    label_facts=(
        "ratings",
        "sampled_ratings",
        "status_locked_at",
        "decided_by",
        "ai_writer",
        "collaborative",
        "intercept",
        "intercept_low",
        "intercept_high",
        "voters",
        "smaller_camp",
        "flip_cost",
        "chance",
        "chance_error",
    ),
    slots=_slots,
    page=_page,
    text=lambda sample: f"{sample.post.text}\n{sample.note.text}",
    own_texts=lambda sample: (sample.post.text, sample.note.text),
    fact_metrics=(rank_correlation("intercept", _GRADED),),
    public_type=PublicNote,
    public=_public,
    blocked_sources=("x", "x-mirrors"),
    subgroups=("ai_writer", "collaborative"),
    decides_after=timedelta(days=14),  # a status locks when the note is two weeks old
    instants={**INSTANTS, "decision": "status_locked_at"},
    rules="x_notes_rules.toml",
    extra_columns=("first_shown_at",),
    first_shown="first_shown_at",  # a status that says yes or no shows as soon as there is one, weeks before it locks
)


# Posts with pictures


@dataclass(frozen=True, slots=True, kw_only=True)
class IllustratedNote(Note):
    """A sample of x-notes-media: a note on a post with media."""

    media: tuple[Media, ...]


@dataclass(frozen=True, slots=True)
class WithheldMedia:
    """The published form of a picture, without its address and its author's description.

    Attributes:
        kind: the kind of media.
        address_sha256, description_sha256: hex SHA-256 of the texts' UTF-8 bytes.
        sha256, bytes: of the picture as received; empty and 0 if not fetched.
    """

    kind: MediaKind
    address_sha256: str
    description_sha256: str
    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicIllustratedNote(PublicNote):
    """The public form of a sample of x-notes-media."""

    media: tuple[WithheldMedia, ...]


def withheld(media: Media) -> WithheldMedia:
    """A picture in its published form."""
    hashes = sha256_text(media.address), sha256_text(media.description)
    return WithheldMedia(media.kind, *hashes, media.sha256, media.bytes)


def described(text: str, media: tuple[Media, ...]) -> str:
    """A post's text, then the kind and alternative text of each picture."""
    lines = [f"[{item.kind}: {' '.join(item.description.split()) or 'without a description'}]" for item in media]
    return "\n".join([text, *lines])


def _public_illustrated(sample: IllustratedNote) -> PublicIllustratedNote:
    whole = TASK.public(sample)
    return PublicIllustratedNote(**common_fields(whole, PublicNote), media=tuple(map(withheld, sample.media)))


def _illustrated_page(sample: IllustratedNote | PublicIllustratedNote) -> SamplePage:
    page = TASK.page_of(sample)
    if not isinstance(sample, IllustratedNote):
        return page
    post = TextPart("post", described(sample.post.text, sample.media), "context")
    return replace(page, parts=(post, *page.parts[1:]))


MEDIA_TASK = replace(
    TASK,
    name="x-notes-media",
    title="Community Notes on posts with pictures",
    question="Would readers of different views rate this Community Note on a post with pictures as helpful?",
    id_prefix="xnm-",
    sample_type=IllustratedNote,
    slots=lambda sample: {**TASK.slots(sample), "post": described(sample.post.text, sample.media)},
    page=_illustrated_page,
    text=lambda sample: f"{described(sample.post.text, sample.media)}\n{sample.note.text}",
    own_texts=lambda sample: (*TASK.own_texts(sample), *(item.description for item in sample.media)),
    public_type=PublicIllustratedNote,
    public=_public_illustrated,
    prompts="x-notes",
)
