"""Retrieve: one ranking of documents for each query, by a retriever."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from hellofresh.core.files import BadJsonError, strict_json
from hellofresh.models import Answer, Request
from hellofresh.runs.regimes._base import BaseRegime, Case, Outcome
from hellofresh.tasks.outputs import Output, Ranking, Status

_MOST_TOKENS = 4096


@dataclass(frozen=True, slots=True)
class Retrieve(BaseRegime):
    """One request a query: a retriever reads the query and answers with documents and scores."""

    gives: ClassVar[type[Output]] = Ranking
    one_prompt: ClassVar[bool] = True

    name: str = "retrieve"

    def ceiling(self, prompts: int) -> int:
        return 1

    def rehearse(self, step: str, turn: int) -> str:
        return '{"documents": [], "scores": []}'

    async def solve(self, case: Case) -> Outcome:
        outputs = []
        for prompt in case.prompts:
            request = Request((case.question(prompt),), _MOST_TOKENS, sample=case.sample)
            outputs.append(read_ranking(prompt.id, await case.ask("retrieve", prompt.id, request)))
        return Outcome(outputs)


def read_ranking(prompt: str, answer: Answer) -> Ranking:
    """The ranking in an answer: `{"documents": [...], "scores": [...]}`; anything else has the status `none`."""
    nothing = Ranking(prompt=prompt, status=Status.NONE, documents=(), scores=())
    try:
        value = strict_json(answer.text.encode())
    except (BadJsonError, UnicodeEncodeError):
        return nothing
    found = value if isinstance(value, dict) else {}
    documents, scores = found.get("documents"), found.get("scores")
    if not isinstance(documents, list) or not isinstance(scores, list) or len(documents) != len(scores):
        return nothing
    names = [name for name in documents if isinstance(name, str)]
    values = [float(score) for score in scores if isinstance(score, int | float) and math.isfinite(score)]
    if len(set(names)) < len(documents) or len(values) < len(scores):
        return nothing
    return Ranking(prompt=prompt, documents=tuple(names), scores=tuple(values))
