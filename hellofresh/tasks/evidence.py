"""What the tasks about evidence share: a query, the corpus that is searched, and judgements of its documents."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from hellofresh.core.quarters import PeriodKind
from hellofresh.stats.retrieval import METRICS, measures
from hellofresh.tasks._base import Task
from hellofresh.tasks.outputs import Output, Ranking
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


def _slots(sample: EvidenceQuery) -> Mapping[str, str]:
    return {"query": sample.query}


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
        slots=_slots,
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
