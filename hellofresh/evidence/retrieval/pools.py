"""A pool: a corpus with judgements, and distractors from others, by a written rule.

The rule: all documents of the first corpus, in its order. The places that are left up to the size are divided equally
among the other corpora, in the order in which they are named (the first ones get what does not divide). Of each, those
documents come first whose SHA-256 of `<seed>:<id>` is smallest, without those whose title equals, but for case and
punctuation, the title of a document of the first corpus, since that may be the same paper. Their ids get the corpus's
name in front. Without a size all documents come in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hellofresh.core.errors import UsageError
from hellofresh.core.files import sha256_text
from hellofresh.evidence.retrieval.corpora import FoundDocument, RetrievalCorpus
from hellofresh.evidence.retrieval.duplicates import normalised

__all__ = ["PoolRule", "pool_documents"]


@dataclass(frozen=True, slots=True)
class PoolRule:
    """How a pool is made.

    Attributes:
        base: the corpus with queries and judgements.
        others: corpora that distractors come from.
        size: documents in all, None for all of them.
        seed: of the choice of distractors.
    """

    base: RetrievalCorpus
    others: Sequence[RetrievalCorpus]
    size: int | None = None
    seed: int = 1

    @property
    def parameters(self) -> dict[str, str | int | float | bool]:
        """All that decides the pool: names and content of the corpora, size and seed."""
        corpora = (self.base, *self.others)
        return {
            "corpora": ", ".join(f"{corpus.name} {corpus.manifest.sha256[:16]}" for corpus in corpora),
            "size": self.size or 0,
            "seed": self.seed,
        }


def pool_documents(rule: PoolRule) -> Iterator[FoundDocument]:
    """The documents of a pool.

    Raises:
        UsageError: if the corpora are too small for the size, or too large.
    """
    taken = rule.base.manifest.documents
    if rule.size is not None and (rule.size < taken or not rule.others):
        raise UsageError(
            f"a pool of {rule.size:,} documents",
            where=f"corpus {rule.base.name}",
            expected=f"at least its {taken:,}, and another corpus for the rest",
            code="bad-pool-size",
        )
    titles = set()
    for document in rule.base.documents():
        titles.add(normalised(document.title))
        yield FoundDocument(document, rule.base.name)
    for other, places in zip(rule.others, _places(rule, taken), strict=True):
        chosen = _chosen(other, places, rule.seed, titles)
        for document in other.documents():
            if document.id in chosen:
                name = f"{other.name}:{document.id}"
                yield FoundDocument(replace(document, id=name), other.name)


def _places(rule: PoolRule, taken: int) -> list[int | None]:
    if rule.size is None:
        return [None] * len(rule.others)
    share, rest = divmod(rule.size - taken, len(rule.others))
    return [share + (number < rest) for number in range(len(rule.others))]


def _chosen(corpus: RetrievalCorpus, places: int | None, seed: int, titles: set[str]) -> set[str]:
    allowed = [document.id for document in corpus.documents() if normalised(document.title) not in titles]
    if places is None:
        return set(allowed)
    if len(allowed) < places:
        raise UsageError(
            f"{len(allowed):,} documents can be distractors",
            where=f"corpus {corpus.name}",
            expected=f"at least {places:,}",
            fix="Name another corpus, or a smaller --size.",
            code="too-few-distractors",
        )
    return set(sorted(allowed, key=lambda name: sha256_text(f"{seed}:{name}"))[:places])
