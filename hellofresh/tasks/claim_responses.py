"""claim-responses: respond to a claim in public, with evidence from a corpus."""

from __future__ import annotations

from collections.abc import Mapping

from hellofresh.core.quarters import PeriodKind
from hellofresh.stats.metrics import mean
from hellofresh.tasks._base import Task
from hellofresh.tasks._evidence import EvidenceQuery
from hellofresh.tasks.outputs import Response

__all__ = ["RUBRIC", "TASK"]

RUBRIC = "evidence-5"
"""The rubric whose overall criterion ranks systems."""


def _slots(sample: EvidenceQuery) -> Mapping[str, str]:
    return {"claim": sample.query}


TASK = Task(
    name="claim-responses",
    title="Responses to claims, with evidence",
    question="How well does a response refute a false claim, or confirm a true one, by evidence?",
    classes=(),
    id_prefix="cr-",
    period_kind=PeriodKind.MONTH,
    cap=250,
    sample_type=EvidenceQuery,
    label_facts=("relevance",),
    slots=_slots,
    text=lambda sample: sample.query,
    own_texts=lambda sample: (sample.query,),
    track="responses",
    output=Response,
    metrics=(mean("refutation", (1.0, 5.0), title="Refutation"),),
    is_living=False,
    prompts="claim-responses",
)
