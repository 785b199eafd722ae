"""x-posts: write the response that a post should get, which readers of X gave notes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hellofresh.core.quarters import PeriodKind
from hellofresh.tasks import corrections
from hellofresh.tasks._base import SamplePage, Task, TextPart
from hellofresh.tasks.images import Media
from hellofresh.tasks.outputs import Response
from hellofresh.tasks.samples import Candidate, Sample, common_fields
from hellofresh.tasks.x_notes import Post, WithheldText, withheld_text
from hellofresh.tasks.x_notes_media import WithheldMedia, withheld

_SECOND = {"scores": "human-average", "status": "human-low"}
"""The system under whose name a post's second note is rated, by what its two notes were chosen by."""


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
    """A sample of x-posts as anybody may see it."""

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


def _slots(sample: NotedPost) -> Mapping[str, str]:
    return {"post_date": f"{sample.date:%Y-%m-%d}", "post": sample.post.text}


def _page(sample: NotedPost | PublicNotedPost) -> SamplePage:
    link = f"https://x.com/i/status/{sample.post.id}"
    parts = (TextPart("post", sample.post.text),) if isinstance(sample, NotedPost) else ()
    return SamplePage(parts=parts, link=link)


def _references(item: Candidate) -> Mapping[str, str]:
    second = _SECOND[str(item.label.facts["chosen_by"])]
    return {"human-high": str(item.extras["high_text"]), second: str(item.extras["second_text"])}


TASK = Task(
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
    slots=_slots,
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
    metrics=corrections.TASK.metrics,
    extra_columns=("high_text", "second_text"),
    subgroups=("modality",),
    references=_references,
    source="x-notes",
)
