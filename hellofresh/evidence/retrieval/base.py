"""What a retriever is, and choosing the best of many scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hellofresh.core.errors import UsageError, missing_extra
from hellofresh.core.files import sha256_file
from hellofresh.stats.retrieval import trec_order
from hellofresh.tasks.outputs import Ranking

Parameters = Mapping[str, str | int | float | bool]
_BLOCK = 256
_NO_DAY = -1


class Retriever(Protocol):
    """Finds the best k documents of a corpus for a query, or fewer where fewer fit, in trec_eval's order.

    With `before`, no document that is known to be from that day or later is among them. `name` is as on the command
    line; `parameters` are all that decides what is found, the corpus among it.
    """

    @property
    def name(self) -> str: ...
    @property
    def parameters(self) -> Parameters: ...
    async def retrieve(self, query: str, k: int, *, before: date | None = None) -> Ranking: ...


@dataclass(frozen=True, slots=True)
class DocumentKeys:
    """Ids and days of a corpus's documents, in its order; `days` holds proleptic ordinals, -1 where not known."""

    ids: Sequence[str]
    days: NDArray[np.int32]

    @classmethod
    def of(cls, ids: Sequence[str], days: Sequence[date | None]) -> DocumentKeys:
        """From dates."""
        ordinals = [_NO_DAY if day is None else day.toordinal() for day in days]
        return cls(ids, np.array(ordinals, dtype=np.int32))

    def some(self, places: NDArray[np.int32]) -> DocumentKeys:
        """Of some of the documents."""
        return DocumentKeys([self.ids[place] for place in places.tolist()], self.days[places])

    def early(self, before: date) -> NDArray[np.bool_]:
        """Which documents are not known to be from that day or later."""
        early: NDArray[np.bool_] = self.days < before.toordinal()
        return early


def best(scores: NDArray[np.float32], keys: DocumentKeys, k: int, before: date | None, *, above: float) -> Ranking:
    """The k documents with the highest scores among those above a bound.

    Of blocks of scores only the maxima are sorted: the k-th highest maximum bounds the k-th highest score from below.
    """
    if before is not None:
        scores = np.where(keys.early(before), scores, -np.inf)
    bound = lower_bound(scores, k)
    places = np.flatnonzero((scores >= bound) & (scores > above))
    ids = [keys.ids[place] for place in places.tolist()]
    order = trec_order(ids, scores[places].tolist())[:k]
    return made_ranking([(ids[place], float(scores[places[place]])) for place in order])


def lower_bound(scores: NDArray[np.float32], k: int) -> float:
    """A bound of the k-th highest score from below; of many scores the k-th highest maximum of blocks."""
    whole = len(scores) - len(scores) % _BLOCK
    if k <= 0 or len(scores) < k:
        return -np.inf
    if whole // _BLOCK < k:
        return float(np.partition(scores, -k)[-k])
    highest = scores[:whole].reshape(-1, _BLOCK).max(axis=1)
    return float(np.partition(highest, -k)[-k])


def made_ranking(found: Sequence[tuple[str, float]]) -> Ranking:
    """A ranking of documents and scores that stand in order."""
    return Ranking(prompt="", documents=tuple(name for name, _ in found), scores=tuple(score for _, score in found))


def packaged_file(package: str, name: str, sha256: str, *, what: str, extra: str = "retrieval") -> Path:
    """A file that a package carries, such as weights; the package is not imported.

    Args:
        package: as it is imported.
        name: of the file, in the package's folder.
        sha256: that it must have.
        what: what needs it.
        extra: brings the package.

    Raises:
        UsageError: if it is missing, or another one.
    """
    spec = find_spec(package)
    path = None if spec is None or spec.origin is None else Path(spec.origin).parent / name
    if path is None or not path.is_file():
        raise missing_extra(what, package.replace("_", "-"), extra)
    if sha256_file(path) != sha256:
        raise UsageError(
            "not the expected file", where=str(path), expected=f"SHA-256 {sha256[:12]}...", code="wrong-weights"
        )
    return path
