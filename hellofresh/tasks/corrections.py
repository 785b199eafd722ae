"""corrections: write a response to a misleading post that corrects it, with sources.

x-posts: the same for posts on X that have Community Notes, which are rated beside the responses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from hellofresh.core.quarters import PeriodKind
from hellofresh.stats.metrics import mean
from hellofresh.tasks._base import SamplePage, Task, TextPart
from hellofresh.tasks.images import Media
from hellofresh.tasks.outputs import Response
from hellofresh.tasks.samples import Candidate, Sample, common_fields
from hellofresh.tasks.x_notes import Post, WithheldMedia, WithheldText, withheld, withheld_text

RUBRIC = "correction-13"
"""The rubric whose overall criterion ranks systems."""
# The system name of a post's second note, by the criterion that chose its two notes.
_SECOND = {"scores": "human-average", "status": "human-low"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MisleadingPost(Sample):
    """A sample of corrections; `group` is the post.

    Attributes:
        post: id of the post at its source.
        address: where it can be seen.
        text: empty where it is missing.
        modality: `unimodal` for text alone, `multimodal` with pictures; empty where not known.
        domain: its topic; empty where not known.
        note_high, note_average: when notes of high and of average quality were written, where that is public.
    """

    post: str
    address: str
    text: str
    modality: str
    domain: str
    note_high: datetime | None = None
    note_average: datetime | None = None


def _slots(sample: MisleadingPost) -> Mapping[str, str]:
    # The author is known only if the user gives it, as with `hellofresh respond`.
    author = getattr(sample, "poster", "")
    return {"post_date": f"{sample.date:%Y-%m-%d}", "post": sample.text, **({"author": author} if author else {})}


TASK = Task(
    name="corrections",
    title="Corrections of misleading posts",
    question="How well does a response correct a misleading post?",
    classes=(),
    id_prefix="mp-",
    period_kind=PeriodKind.MONTH,
    cap=250,
    sample_type=MisleadingPost,
    label_facts=(),
    slots=_slots,
    text=lambda sample: sample.text,
    own_texts=lambda sample: (sample.text,) if sample.text else (),
    blocked_sources=("x", "x-mirrors"),
    track="responses",
    prompts="corrections",
    subgroups=("domain", "modality"),
    output=Response,
    instants={"sample": "date", "post": "date", "note": "note_high", "note-average": "note_average"},
    is_living=False,
    metrics=(mean("overall", (0.0, 10.0), title="Overall quality"),),
)


# Posts on X


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedPost(Sample):
    """A sample of x-posts, dated when the post was made; `group` is `x-<post id>`.

    Attributes:
        post: the post.
        media: its pictures.
        modality: `multimodal` with pictures, else `unimodal`.
    """

    post: Post
    media: tuple[Media, ...]
    modality: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicNotedPost(Sample):
    """The public form of a sample of x-posts."""

    post: WithheldText
    media: tuple[WithheldMedia, ...]
    modality: str


def _public(sample: NotedPost) -> PublicNotedPost:
    return PublicNotedPost(
        **common_fields(sample),
        post=withheld_text(sample.post),
        media=tuple(map(withheld, sample.media)),
        modality=sample.modality,
    )


def _page(sample: NotedPost | PublicNotedPost) -> SamplePage:
    link = f"https://x.com/i/status/{sample.post.id}"
    parts = (TextPart("post", sample.post.text),) if isinstance(sample, NotedPost) else ()
    return SamplePage(parts=parts, link=link)


def _references(item: Candidate) -> Mapping[str, str]:
    second = _SECOND[str(item.label.facts["chosen_by"])]
    return {"human-high": str(item.extras["high_text"]), second: str(item.extras["second_text"])}


NOTED_TASK = Task(
    name="x-posts",
    title="Responses to posts on X",
    question="How well does a response correct a post that readers gave notes to?",
    classes=(),
    id_prefix="xp-",
    period_kind=PeriodKind.MONTH,
    cap=100,
    sample_type=NotedPost,
    label_facts=(
        "chosen_by",
        "high_note",
        "high_note_at",
        "high_score",
        "second_note",
        "second_note_at",
        "second_score",
    ),
    slots=lambda sample: {"post_date": f"{sample.date:%Y-%m-%d}", "post": sample.post.text},
    page=_page,
    text=lambda sample: sample.post.text,
    own_texts=lambda sample: (sample.post.text, *(item.description for item in sample.media)),
    public_type=PublicNotedPost,
    public=_public,
    blocked_sources=("x", "x-mirrors"),
    track="responses",
    prompts="corrections",
    output=Response,
    instants={"sample": "date", "post": "date", "note": "high_note_at", "note-average": "second_note_at"},
    metrics=TASK.metrics,
    extra_columns=("high_text", "second_text"),
    subgroups=("modality",),
    references=_references,
    source="x-notes",
)
