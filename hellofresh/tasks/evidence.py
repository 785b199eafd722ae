"""Tasks about a claim and a corpus: rank the documents that hold its evidence, or respond to it in public by them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from hellofresh.core.quarters import PeriodKind
from hellofresh.stats.metrics import mean
from hellofresh.stats.retrieval import METRICS, measures
from hellofresh.tasks._base import Task
from hellofresh.tasks.outputs import Output, Ranking, Response
from hellofresh.tasks.samples import Label, Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceQuery(Sample):
    """A query whose evidence is looked for; `group` is the query's own.

    Attributes:
        query: the text, such as a claim.
        corpus: name of the corpus that is searched.
        corpus_sha256: of its content: another pool of documents is another question.
    """

    query: str
    corpus: str
    corpus_sha256: str


def relevance_of(facts: Mapping[str, object]) -> dict[str, int]:
    """The judgements of a query, by document."""
    found: dict[str, int] = json.loads(str(facts["relevance"]))
    return found


def _measured(label: Label, output: Output) -> Mapping[str, float]:
    """Every metric of one ranking; an output that is not a ranking finds nothing."""
    relevance = relevance_of(label.facts)
    ranking = output if isinstance(output, Ranking) else Ranking(documents=(), scores=())
    return measures(ranking.documents, ranking.scores, relevance)


def evidence_task(name: str, title: str, *, prefix: str) -> Task:
    """A task about evidence.

    Args:
        name, title: as on the command line and on the site.
        prefix: how the ids of its samples begin.
    """
    return Task(
        name=name,
        title=title,
        question="Which documents hold the evidence for or against the claim?",
        classes=(),
        id_prefix=prefix,
        period_kind=PeriodKind.MONTH,
        cap=250,
        sample_type=EvidenceQuery,
        label_facts=("relevance",),
        slots=lambda sample: {"query": sample.query},
        text=lambda sample: sample.query,
        own_texts=lambda sample: (sample.query,),
        track="retrieval",
        output=Ranking,
        metrics=METRICS,
        measured=_measured,
        prompts="evidence",
        is_living=False,
    )


CHECK_COVID = evidence_task("check-covid-retrieval", "Check-COVID: evidence", prefix="cce-")
SCIFACT = evidence_task("scifact-retrieval", "SciFact: evidence", prefix="sfe-")

RESPONSE_RUBRIC = "evidence-5"
"""The rubric whose overall criterion ranks systems that respond to claims."""
CLAIM_RESPONSES = Task(
    name="claim-responses",
    title="Responses to claims, with evidence",
    question="How well does a response refute a false claim, or confirm a true one, by evidence?",
    classes=(),
    id_prefix="cr-",
    period_kind=PeriodKind.MONTH,
    cap=250,
    sample_type=EvidenceQuery,
    label_facts=("relevance",),
    slots=lambda sample: {"claim": sample.query},
    text=lambda sample: sample.query,
    own_texts=lambda sample: (sample.query,),
    track="responses",
    output=Response,
    metrics=(mean("refutation", (1.0, 5.0), title="Refutation"),),
    is_living=False,
    prompts="claim-responses",
)
