"""Tasks about a claim and a corpus: rank documents with evidence, or write a public response based on them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from hellofresh.core.quarters import PeriodKind
from hellofresh.stats.metrics import mean
from hellofresh.stats.retrieval import METRICS, measures
from hellofresh.tasks._base import Task
from hellofresh.tasks.outputs import Output, Ranking, Response
from hellofresh.tasks.samples import Label, Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceQuery(Sample):
    """A query to find evidence for; each query is its own `group`.

    Attributes:
        query: the text, such as a claim.
        corpus: name of the corpus to search.
        corpus_sha256: SHA-256 of the corpus: with other documents it is another question.
    """

    query: str
    corpus: str
    corpus_sha256: str


def relevance_of(facts: Mapping[str, object]) -> dict[str, int]:
    """The relevance of each judged document of a query."""
    found: dict[str, int] = json.loads(str(facts["relevance"]))
    return found


def _measured(label: Label, output: Output) -> Mapping[str, float]:
    """Every metric of one ranking; any other output counts as an empty ranking."""
    relevance = relevance_of(label.facts)
    ranking = output if isinstance(output, Ranking) else Ranking(documents=(), scores=())
    return measures(ranking.documents, ranking.scores, relevance)


def evidence_task(name: str, title: str, *, prefix: str) -> Task:
    """A task about evidence.

    Args:
        name, title: its names on the command line and on the site.
        prefix: prefix of its sample ids.
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
CLAIM_RESPONSES = replace(
    evidence_task("claim-responses", "Responses to claims, with evidence", prefix="cr-"),
    question="How well does a response refute a false claim, or confirm a true one, by evidence?",
    slots=lambda sample: {"claim": sample.query},
    track="responses",
    output=Response,
    metrics=(mean("refutation", (1.0, 5.0), title="Refutation"),),
    measured=None,
    prompts="claim-responses",
)
