"""Several retrievers as one: each document gets 1 / (60 + rank) from every ranking that it is in.

Source: Cormack, Clarke and Buettcher, SIGIR 2009 (reciprocal rank fusion).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from hellofresh.evidence.retrieval.base import Parameters, Retriever, made_ranking
from hellofresh.tasks.outputs import Ranking

__all__ = ["Fusion"]

_CONSTANT = 60
_LEAST_DEPTH = 100


@dataclass(frozen=True, slots=True)
class Fusion:
    """Reciprocal rank fusion.

    Attributes:
        parts: the retrievers.
        name: as on the command line.
    """

    parts: Sequence[Retriever]
    name: str = "hybrid"

    @property
    def parameters(self) -> Parameters:
        """Those of the parts, behind their names."""
        found = {f"{part.name}.{key}": value for part in self.parts for key, value in part.parameters.items()}
        return {"fusion": "rrf", "constant": _CONSTANT, **found}

    async def retrieve(self, query: str, k: int, *, before: date | None = None) -> Ranking:
        """The k documents with the highest sums."""
        sums: dict[str, float] = defaultdict(float)
        for part in self.parts:
            found = await part.retrieve(query, max(k, _LEAST_DEPTH), before=before)
            for rank, document in enumerate(found.documents, start=1):
                sums[document] += 1 / (_CONSTANT + rank)
        ids_last_first = sorted(sums.items(), key=lambda item: item[0], reverse=True)
        return made_ranking(sorted(ids_last_first, key=lambda item: -item[1])[:k])
