"""corrections: write a response to a misleading post that corrects it, with sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from hellofresh.core.quarters import PeriodKind
from hellofresh.stats.metrics import mean
from hellofresh.tasks._base import Task
from hellofresh.tasks.outputs import Response
from hellofresh.tasks.samples import Sample

RUBRIC = "correction-13"
"""The rubric whose overall criterion ranks systems."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MisleadingPost(Sample):
    """A sample of corrections; `group` is the post.

    Attributes:
        post: id of the post at its source.
        address: where it can be seen.
        text: empty where it is not at hand.
        modality: `unimodal` for text alone, `multimodal` with pictures; empty where not known.
        domain: what it is about; empty where not known.
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
    # Who posted it is known only where somebody says so, as with `hellofresh respond`.
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
