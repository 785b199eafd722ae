"""Reader of TREC run files: one line per document, `QUERY Q0 DOCUMENT RANK SCORE TAG`.

Documents are sorted as in trec_eval: by score in single precision, equal scores by document id, both descending; the
second column and the rank are ignored. See https://github.com/usnistgov/trec_eval.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hellofresh.stats.retrieval import trec_order
from hellofresh.submissions.check import as_error
from hellofresh.submissions.format import MAX_DOCUMENTS, Fault, read_plain

_MAX_BYTES = 200_000_000
_COLUMNS = "QUERY Q0 DOCUMENT RANK SCORE TAG"


@dataclass(frozen=True, slots=True)
class TrecRun:
    """The rankings of a run file.

    Attributes:
        tag: the system's name, the last column.
        rankings: by sample id, the documents, the best first.
    """

    tag: str
    rankings: Mapping[str, Sequence[str]]


def read_run(path: Path, queries: Mapping[str, str], documents: Container[str]) -> TrecRun:
    """Read a TREC run file.

    Args:
        path: the file.
        queries: sample id of each query.
        documents: ids of the corpus.

    Raises:
        SubmissionError: if the file is not a complete run of one system on these queries and documents; the message
            has the first fault and their number.
    """
    faults: list[Fault] = []
    content = read_plain(path, _MAX_BYTES, faults)
    if content is None:
        raise as_error(faults, "Name a TREC run file.")
    scores: dict[str, dict[str, float]] = {}
    tag = ""
    lines = content.split(b"\n")
    for number, line in enumerate(lines, start=1):
        words = line.decode(errors="replace").split()
        if not words:
            continue
        if len(words) == 6 and not tag:
            tag = words[5]
        found = list(_faults(words, tag, queries, documents, scores))
        # A last line without a line break most likely means a truncated file.
        more = "; no line break ends the file, which may be cut" if number == len(lines) else ""
        faults += [Fault(code, f"{path} line {number}", f"{what}{more}", fix) for code, what, fix in found]
        if not found:
            scores.setdefault(queries[words[0]], {})[words[2]] = float(words[4])
    if not scores and not faults:
        faults.append(Fault("empty-file", str(path), "no line", f"Give each document a line: {_COLUMNS}"))
    for name, ranked in scores.items():
        if len(ranked) > MAX_DOCUMENTS:
            what, fix = f"{len(ranked):,} documents for {name!r}", f"Keep at most {MAX_DOCUMENTS:,}, the best ones."
            faults.append(Fault("too-many-documents", str(path), what, fix))
    if faults:
        raise as_error(faults, "Write the run again.")
    return TrecRun(tag, {name: _ranked(found) for name, found in scores.items()})


def _ranked(scores: Mapping[str, float]) -> list[str]:
    documents = list(scores)
    return [documents[place] for place in trec_order(documents, list(scores.values()))]


def _faults(
    words: list[str],
    tag: str,
    queries: Mapping[str, str],
    documents: Container[str],
    scores: Mapping[str, Mapping[str, float]],
) -> Iterator[tuple[str, str, str]]:
    if len(words) != 6:
        yield "wrong-columns", f"{len(words)} columns, expected 6", f"Write {_COLUMNS}, with spaces or tabs between."
        return
    query, _, document, _, score, own = words
    if query not in queries:
        yield "unknown-query", f"{query[:80]!r} is not a query of this edition", "Use the ids of the corpus's queries."
    elif document in scores.get(queries[query], {}):
        yield "duplicate-document", f"{document[:80]!r} is ranked twice for {query!r}", "Keep one of the lines."
    if document not in documents:
        yield "unknown-document", f"{document[:80]!r} is not in the corpus", "Rank the documents of this corpus only."
    if not _is_score(score):
        yield "bad-score", f"the score {score[:40]!r}", "Give a finite number of single precision."
    if own != tag:
        what = f"the tag {own[:80]!r} after {tag[:80]!r}"
        yield "other-tag", what, "Give one system's run; a file may hold no other."


def _is_score(word: str) -> bool:
    """Whether a word is a number that is finite in single precision, in which scores are compared."""
    try:
        value = float(word) if word.isascii() and "_" not in word else math.nan
    except ValueError:
        return False
    return abs(value) <= float(np.finfo(np.float32).max)
