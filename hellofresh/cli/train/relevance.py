"""`hellofresh train relevance`: the threshold of relevance, from labelled pairs of a text and a page."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator

from hellofresh.cli._output import CommandOutput
from hellofresh.core.errors import UsageError
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval.corpora import open_corpus
from hellofresh.evidence.retrieval.retrievers import open_retriever
from hellofresh.evidence.retrieval.thresholds import (
    LabelledPair,
    Rates,
    calibrate_threshold,
    corpus_pairs,
    joined,
    parse_rule,
    read_pairs,
    score_pairs,
)
from hellofresh.runs.regimes.correction.pages import TextRelevance, opened_encoder
from hellofresh.runs.regimes.correction.post import plain
from hellofresh.tasks.samples import to_json

_OTHERS = 10
"""Pages of a query of a corpus that are not relevant."""
_COLUMNS = ("threshold", "precision", "95%", "recall", "95%", "false positive rate", "95%")


def run(options: argparse.Namespace, output: CommandOutput) -> int:
    """Choose a threshold, and show what it does."""
    rule, encoder, scored = parse_rule(options.rule), opened_encoder(options.model), []
    relevance = TextRelevance(encoder)
    with output.progress("calibrate relevance") as bar:
        for name, labelled in _sources(options):
            bar.line(f"scoring {len(labelled):,} pairs of {name}")
            plainly = [
                pair.model_copy(update={"text": plain(pair.text)}) for pair in labelled
            ]  # as the regime compares
            scored.append(score_pairs(relevance.of_pairs, plainly))
    pairs = joined(scored)
    found = calibrate_threshold(pairs, rule)
    counts = {"pairs": pairs.scores.size, "relevant": int(pairs.relevant.sum())}
    output.result({**counts, "parameters": dict(encoder.parameters), **to_json(found)})
    output.table("Rates on all pairs, by threshold", _COLUMNS, [_row(value, at) for value, at in found.curve.items()])
    output.table("Rates on held-out pairs", _COLUMNS, [_row(found.threshold, found.rates)])
    output.text(
        f"threshold {found.threshold:.2f} ({found.halves[0]:.2f} and {found.halves[1]:.2f} on halves of the texts), "
        f"by {options.rule}; {int(pairs.relevant.sum()):,} of {pairs.scores.size:,} pairs are relevant; "
        f"area under the curve {found.auc:.3f}"
    )
    return 0


def _sources(options: argparse.Namespace) -> Iterator[tuple[str, list[LabelledPair]]]:
    if not options.data and not options.corpus:
        raise UsageError("nothing to calibrate on", expected="--data FILE or --corpus NAME", code="no-pairs")
    for path in options.data:
        yield path.name, read_pairs(path)
    for said in options.corpus:
        name, _, split = said.partition(":")
        corpus = open_corpus(Workspace.from_environment(), name)
        first = open_retriever("bm25", corpus)
        pairs = corpus_pairs(corpus, split or None, first, others=_OTHERS)
        yield said, asyncio.run(pairs)


def _row(threshold: float, rates: Rates) -> tuple[object, ...]:
    cells = [f"{threshold:.2f}"]
    for rate in (rates.precision, rates.recall, rates.false_positive):
        if rate.value is None or rate.interval is None:
            cells += ["-", "-"]
        else:
            cells += [f"{rate.value:.3f}", f"[{rate.interval.low:.3f}, {rate.interval.high:.3f}]"]
    return tuple(cells)
