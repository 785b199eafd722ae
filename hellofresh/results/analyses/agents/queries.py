"""How agents take a text apart: their queries, how long they are, and what they share with the text."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np

from hellofresh.results.analyses._base import AnalysisResult, missing, table_of
from hellofresh.results.analyses._measures import about
from hellofresh.results.analyses.agents._base import AgentAnalysis, AgentPanel, mean_cells
from hellofresh.results.traces import SampleTrace

__all__ = ["QUERIES"]

_MOST_WORDS = 300.0
_WORD = re.compile(r"\w+")


def _run(given: AgentPanel) -> AnalysisResult:
    task, rows = given.panel.task, []
    texts = [_words(task.text(sample)) for sample in given.panel.samples]
    for system, traces in given.searching:
        searched = [bool(trace and trace.queries) for trace in traces]
        if not any(searched):
            continue
        groups = given.panel.groups[searched]
        found = [_taken(trace, text) for trace, text in zip(traces, texts, strict=True) if trace and trace.queries]
        columns = np.array(found).T
        rows.append({
            **about(system), "n": len(found), "queries": int(columns[0].sum()),
            **mean_cells("words", columns[1], groups, (0.0, _MOST_WORDS)),
            **mean_cells("from_text", columns[2], groups, (0.0, 1.0)),
            **mean_cells("text_covered", columns[3], groups, (0.0, 1.0)),
            **mean_cells("alike", columns[4], groups, (0.0, 1.0)),
        })  # fmt: skip
    return AnalysisResult(table_of(rows)) if rows else missing("No system has searched.")


def _taken(trace: SampleTrace, text: frozenset[str]) -> tuple[float, ...]:
    """Number of queries; their mean words; share of their words that are the text's; share of the text's words that
    any of them has; mean overlap (Jaccard) of one with the next, nan with one alone.
    """
    queries = [_words(query) for query in trace.queries]
    used = frozenset().union(*queries)
    lengths = [len(_WORD.findall(query)) for query in trace.queries]
    pairs = [len(a & b) / max(1, len(a | b)) for a, b in pairwise(queries)]
    return (
        float(len(queries)),
        float(np.mean(lengths)),
        len(used & text) / max(1, len(used)),
        len(used & text) / max(1, len(text)),
        float(np.mean(pairs)) if pairs else float("nan"),
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(text))


QUERIES = AgentAnalysis("queries", "Queries", "How is a text taken apart into queries?", _run)
