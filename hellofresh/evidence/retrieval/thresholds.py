"""The threshold of relevance: chosen on labelled pairs of a text and a page, with its error rates.

A threshold that was chosen on some pairs looks better there than elsewhere. So the rates are measured on held-out
pairs: groups are split in two by their hash, each half is decided by the threshold that the other half chose, and both
are counted together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hellofresh.core.errors import DataError, UsageError
from hellofresh.core.files import read_models, sha256_text
from hellofresh.core.strict import Strict
from hellofresh.evidence.retrieval.base import Retriever
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus
from hellofresh.stats import Interval, area_under_curve, share_interval

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
_CANDIDATES = 2001


class LabelledPair(Strict):
    """A text and a page, and whether the page is about what the text says.

    Attributes:
        text: such as a post.
        page: its main text.
        relevant: the label.
        group: pairs of one group are not independent; the text itself where left out.
    """

    text: str = Field(min_length=1, max_length=20_000)
    page: str = Field(min_length=1, max_length=1_000_000)
    relevant: bool
    group: str = ""


@dataclass(frozen=True, slots=True)
class ScoredPairs:
    """Pairs with their scores.

    Attributes:
        scores: shape (n,).
        relevant: shape (n,), labels.
        groups: shape (n,), equal numbers for pairs of one group.
        half: shape (n,), the half that each pair's group belongs to.
    """

    scores: Floats
    relevant: Mask
    groups: NDArray[np.int64]
    half: Mask

    @property
    def auc(self) -> float:
        """How often a relevant page has the higher score."""
        return area_under_curve(self.relevant.astype(np.int8), self.scores)


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of `n` pairs, with its 95% interval; None where there are no such pairs."""

    value: float | None
    interval: Interval | None
    n: int

    @classmethod
    def of(cls, hits: Mask, groups: NDArray[np.int64]) -> Rate:
        """The share of pairs that are hits."""
        if not hits.size:
            return cls(None, None, 0)
        return cls(*share_interval(hits, groups), hits.size)


@dataclass(frozen=True, slots=True)
class Rates:
    """What a threshold does.

    Attributes:
        precision: of the pages that pass, the share that is relevant; depends on how many pages are.
        recall: of the relevant pages, the share that passes.
        false_positive: of the other pages, the share that passes.
    """

    precision: Rate
    recall: Rate
    false_positive: Rate

    @classmethod
    def of(cls, pairs: ScoredPairs, passed: Mask) -> Rates:
        """Of pages that passed and pages that did not."""
        true = pairs.relevant
        return cls(
            Rate.of(true[passed], pairs.groups[passed]),
            Rate.of(passed[true], pairs.groups[true]),
            Rate.of(passed[~true], pairs.groups[~true]),
        )


@dataclass(frozen=True, slots=True)
class ThresholdCalibration:
    """A threshold and what it does.

    Attributes:
        threshold: chosen on all pairs; a page passes from it on.
        halves: chosen on each half alone: how far it moves with the data.
        rates: on held-out pairs.
        auc: of the scores.
        curve: rates on all pairs by threshold, around the chosen one.
    """

    threshold: float
    halves: tuple[float, float]
    rates: Rates
    auc: float
    curve: Mapping[float, Rates]


Score = Callable[[Sequence[tuple[str, str]]], Sequence[float]]
Rule = Callable[[Floats, Floats], Floats]
"""Recall and false positive rate by threshold -> how good each threshold is."""


def parse_rule(text: str) -> Rule:
    """How a threshold is chosen: `balanced` for the highest recall less false positive rate, or `fpr=0.05` for the
    highest recall among those with at most this false positive rate.

    Raises:
        UsageError: if it is neither.
    """
    if text == "balanced":
        return lambda recall, false: recall - false
    name, _, value = text.partition("=")
    try:
        most = float(value)
    except ValueError:
        most = float("nan")
    if name != "fpr" or not 0 <= most < 1:
        raise UsageError(f"unknown rule {text[:40]!r}", expected="balanced, or such as fpr=0.05", code="unknown-rule")
    return lambda recall, false: np.where(false <= most, recall, -1 - false)


def read_pairs(path: Path) -> list[LabelledPair]:
    """Pairs, a line of JSON each: `text`, `page`, `relevant`, and `group` where pairs belong together.

    Raises:
        DataError: if the file is missing or a line is not a pair.
    """
    return list(read_models(path, LabelledPair))


async def corpus_pairs(
    corpus: RetrievalCorpus, split: str | None, first: Retriever, *, others: int, limit: int | None = None
) -> list[LabelledPair]:
    """Each query with its relevant documents, and with the best others that a search finds.

    These are hard cases: what a search brings, and not what lies around. What was not judged counts as not relevant,
    though some of it is.

    Args:
        corpus: documents, queries and judgements.
        split: of the queries; all if left out.
        first: searches.
        others: documents a query that are not judged relevant.
        limit: most queries, the first ones.
    """
    judged, found = corpus.qrels(), []
    for query in corpus.queries(split)[:limit]:
        relevant = [name for name, value in judged.get(query.id, {}).items() if value > 0]
        ranking = await first.retrieve(query.text, others + len(relevant))
        rest = [name for name in ranking.documents if name not in relevant][:others]
        found += [(query, name, name in relevant) for name in relevant + rest]
    names = {name for _, name, _ in found}
    texts = {document.id: document.content for document in corpus.documents() if document.id in names}
    return [
        LabelledPair(text=query.text, page=texts[name], relevant=relevant, group=query.group)
        for query, name, relevant in found
    ]


def score_pairs(score: Score, pairs: Sequence[LabelledPair]) -> ScoredPairs:
    """Score pairs.

    Args:
        score: gives a number for each pair of a text and a page.
        pairs: texts and pages with their labels.

    Raises:
        DataError: if there is no relevant pair, or no other one.
    """
    labels = np.array([pair.relevant for pair in pairs], dtype=np.bool_)
    if not labels.any() or labels.all():
        raise DataError(
            f"{int(labels.sum())} of {len(pairs)} pairs are relevant",
            expected="some that are and some that are not",
            code="one-class",
        )
    names = [pair.group or pair.text for pair in pairs]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    half = {name: int(sha256_text(name)[:8], 16) % 2 == 1 for name in numbers}
    return ScoredPairs(
        np.array(score([(pair.text, pair.page) for pair in pairs]), dtype=np.float64),
        labels,
        np.array([numbers[name] for name in names], dtype=np.int64),
        np.array([half[name] for name in names], dtype=np.bool_),
    )


def calibrate_threshold(pairs: ScoredPairs, rule: Rule) -> ThresholdCalibration:
    """Choose a threshold, and measure what it does on pairs that it was not chosen on.

    Raises:
        DataError: if a half of the groups has no relevant pair, or no other one.
    """
    threshold = _chosen(pairs, np.ones(pairs.scores.size, dtype=np.bool_), rule)
    halves = _chosen(pairs, ~pairs.half, rule), _chosen(pairs, pairs.half, rule)
    passed = pairs.scores >= np.where(pairs.half, halves[0], halves[1])
    around = [round(threshold + step, 2) for step in (-0.15, -0.1, -0.05, 0.0, 0.05, 0.1, 0.15)]
    curve = {value: Rates.of(pairs, pairs.scores >= value) for value in around}
    return ThresholdCalibration(threshold, halves, Rates.of(pairs, passed), pairs.auc, curve)


def _chosen(pairs: ScoredPairs, among: Mask, rule: Rule) -> float:
    """The best threshold, of those to two digits; of equals the middle one."""
    scores, relevant = pairs.scores[among], pairs.relevant[among]
    if not relevant.any() or relevant.all():
        raise DataError("too few groups to measure error rates", expected="pairs of many texts", code="few-pairs")
    candidates: Floats = np.unique(np.round(np.linspace(scores.min(), scores.max() + 0.01, _CANDIDATES), 2)).astype(
        np.float64
    )
    # The share of scores from each candidate on.
    recall, false = (
        1 - np.searchsorted(np.sort(scores[mask]), candidates, side="left") / mask.sum()
        for mask in (relevant, ~relevant)
    )
    value = rule(recall, false)
    best = candidates[value == value.max()]
    return float(round(best[best.size // 2], 2))


def joined(pairs: Iterable[ScoredPairs]) -> ScoredPairs:
    """Pairs of several sources together; groups of different sources stay apart."""
    parts, offset, groups = list(pairs), 0, []
    for part in parts:
        groups.append(part.groups + offset)
        offset += int(part.groups.max()) + 1
    return ScoredPairs(
        np.concatenate([part.scores for part in parts]),
        np.concatenate([part.relevant for part in parts]),
        np.concatenate(groups),
        np.concatenate([part.half for part in parts]),
    )
