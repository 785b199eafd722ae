"""The retriever protocol, and selection of the best of many scores."""

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
_BLOCK = 256  # one pass over whole blocks is faster than a partition of millions of scores
_NO_DAY = -1


class Retriever(Protocol):
    """Finds the best k documents of a corpus for a query, or fewer if fewer match, in trec_eval's order.

    `before` excludes documents that are known to be from that day or later. `name` is the one on the command line;
    `parameters` are all settings that determine the result, including the corpus.
    """

    @property
    def name(self) -> str: ...
    @property
    def parameters(self) -> Parameters: ...
    async def retrieve(self, query: str, k: int, *, before: date | None = None) -> Ranking: ...


@dataclass(frozen=True, slots=True)
class DocumentKeys:
    """Ids and days of a corpus's documents, in order; `days` holds proleptic ordinals, -1 if unknown."""

    ids: Sequence[str]
    days: NDArray[np.int32]

    @classmethod
    def of(cls, ids: Sequence[str], days: Sequence[date | None]) -> DocumentKeys:
        """Make keys from ids and dates."""
        ordinals = [_NO_DAY if day is None else day.toordinal() for day in days]
        return cls(ids, np.array(ordinals, dtype=np.int32))

    def some(self, places: NDArray[np.int32]) -> DocumentKeys:
        """The keys of some of the documents."""
        return DocumentKeys([self.ids[place] for place in places.tolist()], self.days[places])

    def early(self, before: date) -> NDArray[np.bool_]:
        """Mask of the documents that are not known to be from `before` or later."""
        return self.days < before.toordinal()


def best(scores: NDArray[np.float32], keys: DocumentKeys, k: int, before: date | None, *, above: float) -> Ranking:
    """The k documents with the highest scores among those above a bound.

    Only the maxima of blocks of scores are sorted: the k-th highest maximum is a lower bound of the k-th highest score.
    """
    if before is not None:
        scores = np.where(keys.early(before), scores, -np.inf)
    bound = lower_bound(scores, k)
    places = np.flatnonzero((scores >= bound) & (scores > above))
    ids = [keys.ids[place] for place in places.tolist()]  # equal scores are ordered by id, as trec_eval does
    order = trec_order(ids, scores[places].tolist())[:k]
    return made_ranking([(ids[place], float(scores[places[place]])) for place in order])


def lower_bound(scores: NDArray[np.float32], k: int) -> float:
    """A lower bound of the k-th highest score; for many scores, the k-th highest maximum of blocks."""
    whole = len(scores) - len(scores) % _BLOCK
    if k <= 0 or len(scores) < k:
        return -np.inf
    if whole // _BLOCK < k:
        return float(np.partition(scores, -k)[-k])
    highest = scores[:whole].reshape(-1, _BLOCK).max(axis=1)
    return float(np.partition(highest, -k)[-k])


def made_ranking(found: Sequence[tuple[str, float]]) -> Ranking:
    """A ranking from sorted documents and scores."""
    return Ranking(prompt="", documents=tuple(name for name, _ in found), scores=tuple(score for _, score in found))


def packaged_file(package: str, name: str, sha256: str, *, what: str, extra: str = "retrieval") -> Path:
    """A file in an installed package, such as weights; the package is not imported.

    Args:
        package: import name.
        name: name of the file in the package's folder.
        sha256: expected hash.
        what: what needs it, for the error.
        extra: the extra that installs the package.

    Raises:
        UsageError: if it is missing or its hash differs.
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
