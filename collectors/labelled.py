"""Labelled responses for reward models: a user's table, and data sets of other authors.

table            columns claim, response and label (0 or 1), perhaps evidence and group
misinfocorrect   He et al. 2023: counter-replies written to refute, politely and with facts, as (post, reply) without
                 a header; or the replies with strategies of counter-speech, whose labels tell hostile replies and those
                 without facts
politeness       Danescu-Niculescu-Mizil et al. 2013: the top quarter of requests is polite, the bottom one impolite
healthver, check-covid, covid-fact
                 claims with evidence in place of judged responses: evidence that refutes a claim counts as a refuting
                 response, and a claim supported by its evidence as a factual response
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hellofresh.core.errors import SourceError, UsageError
from hellofresh.core.files import sha256_file, sha256_text
from hellofresh.evidence.retrieval.documents import Query
from hellofresh.rewards.base import LabelledResponse, RewardCase, RewardData
from hellofresh.tasks._datasets import FileRow, json_rows, plain_rows, table_rows
from hellofresh.tasks.check_covid import read_abstracts

_YES = frozenset({"1", "true", "yes"})
_NO = frozenset({"0", "false", "no"})
_HOSTILE, _FACTS = "Hostile language", "Presenting facts"
_REFUTES = frozenset({"REFUTE", "Refutes", "REFUTED"})
_SUPPORTS = frozenset({"SUPPORT", "Supports", "SUPPORTED"})
_OTHERS = frozenset({"NOTENOUGHINFO", "Neutral"})
_STAND_IN = {
    "refutation": "stand-in: evidence that refutes a claim, against evidence that does not",
    "factuality": "stand-in: a claim that its evidence supports, against one that it does not",
}

Reader = Callable[[Path, str], Iterator[LabelledResponse]]
Columns = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class JudgedFile:
    """A file of judged responses: its rows, and the facts for its card."""

    examples: Sequence[LabelledResponse]
    data: RewardData


def read_judged(importer: str, path: Path, criterion: str, columns: Columns | None = None) -> JudgedFile:
    """Read a file of judged responses.

    Args:
        importer: one of `IMPORTERS`.
        path: the file.
        criterion: what the labels are about.
        columns: the table's own column names, by the usual name.

    Raises:
        SourceError: if the file is missing, damaged or of another layout.
        UsageError: if it has no labels for the criterion.
    """
    if importer == "table":
        examples = list(_table(path, columns or {}))
    else:
        about, read = IMPORTERS[importer]
        if criterion not in about:
            raise UsageError(f"{importer} has no labels for {criterion}", expected=" or ".join(about), code="no-label")
        examples = list(read(path, criterion))
    if not examples:
        raise SourceError("no judged response", where=str(path), code="empty-source")
    note = _STAND_IN.get(criterion, "") if importer in _EVIDENCE else ""
    positives = sum(example.label for example in examples)
    return JudgedFile(
        examples,
        RewardData(
            name=path.name,
            sha256=sha256_file(path),
            importer=importer,
            rows=len(examples),
            positives=positives,
            note=note,
        ),
    )


def _table(path: Path, columns: Columns) -> Iterator[LabelledResponse]:
    names = {name: columns.get(name, name) for name in ("claim", "response", "label", "evidence", "group")}
    for row in table_rows(path):
        claim, evidence = row.optional_text(names["claim"]), row.optional_text(names["evidence"])
        response = row.text(names["response"])
        group = row.optional_text(names["group"]) or claim or response
        case = RewardCase(claim, (evidence,) if evidence else (), response)
        yield LabelledResponse(case, _label(row, names["label"]), _group(group))


def _label(row: FileRow, name: str) -> int:
    value = row[name]
    text = str(value).strip().lower()
    if text not in _YES | _NO:
        raise row.fault(f"unknown label {text[:40]!r}", "unknown-label", "0 or 1, true or false, yes or no")
    return int(text in _YES)


def _group(text: str) -> str:
    return sha256_text(" ".join(text.lower().split()))[:16]


def _misinfocorrect(path: Path, criterion: str) -> Iterator[LabelledResponse]:
    name = path.name.removesuffix(".gz")
    rows = [] if name.endswith((".jsonl", ".json")) else list(plain_rows(path))
    if not rows or "reply" in rows[0][1]:
        for row in table_rows(path):
            reply, said = row.text("reply"), str(row["turn_strategy"])
            labels = {"refutation": True, "factuality": _FACTS in said, "politeness": _HOSTILE not in said}
            yield LabelledResponse(RewardCase("", (), reply), int(labels[criterion]), _group(str(row.get("id"))))
        return
    for number, cells in rows:
        if len(cells) != 2 or not all(cell.strip() for cell in cells):
            raise FileRow(path, number, {}).fault(f"{len(cells)} columns", "bad-columns", "2: post and reply")
        claim, response = (" ".join(cell.split()) for cell in cells)
        yield LabelledResponse(RewardCase(claim, (), response), 1, _group(claim))


def _politeness(path: Path, criterion: str) -> Iterator[LabelledResponse]:
    rows = list(table_rows(path))
    if not rows:
        return
    text, score = ("text", "score") if rows[0].get("text") is not None else ("Request", "Normalized Score")
    scores = [(row, _number(row, score)) for row in rows]
    low, high = np.quantile([value for _, value in scores], (0.25, 0.75))
    for row, value in scores:
        if value <= low or value >= high:
            response = row.text(text)
            yield LabelledResponse(RewardCase("", (), response), int(value >= high), _group(response))


def _number(row: FileRow, name: str) -> float:
    value = row[name]
    try:
        return float(str(value))
    except ValueError:
        raise row.fault(f"the field {name!r} is not a number", "bad-field", "a score") from None


def _healthver(path: Path, criterion: str) -> Iterator[LabelledResponse]:
    for row in table_rows(path):
        label = row.label("label", sorted(_REFUTES | _SUPPORTS | _OTHERS))
        claim, evidence = row.text("claim"), row.text("evidence")
        yield _stands_in(criterion, claim, evidence, label, f"topic {row.text('topic_ip')}")


def _check_covid(path: Path, criterion: str) -> Iterator[LabelledResponse]:
    abstracts = read_abstracts(path.parent)
    for row in json_rows(path):
        document, claim = row.text("cord_id"), row.text("claim")
        sentences = abstracts.get(document)
        if not sentences:
            raise row.fault(f"no abstract {document}", "missing-evidence", "it in corpus.json, beside the claims")
        places = [item.get("sent_index") for item in row.listed("evidence_set") if isinstance(item, dict)]
        chosen = [sentences[n] for n in places if isinstance(n, int) and 0 <= n < len(sentences)]
        label = row.label("label", sorted(_REFUTES | _SUPPORTS | _OTHERS))
        yield _stands_in(criterion, claim, " ".join(chosen or sentences), label, f"document {document}")


def _covid_fact(path: Path, criterion: str) -> Iterator[LabelledResponse]:
    for row in json_rows(path):
        claim, sentences = row.text("claim"), [str(item) for item in row.listed("evidence")]
        if not sentences:
            raise row.fault("no evidence", "missing-evidence", "a list of sentences")
        label = row.label("label", sorted(_REFUTES | _SUPPORTS | _OTHERS))
        evidence = " ".join(" ".join(sentences).split())
        yield _stands_in(criterion, claim, evidence, label, f"evidence {_group(evidence)}")


def _stands_in(criterion: str, claim: str, evidence: str, label: str, group: str) -> LabelledResponse:
    if criterion == "refutation":
        return LabelledResponse(RewardCase(claim, (), evidence), int(label in _REFUTES), group)
    return LabelledResponse(RewardCase(claim, (evidence,), claim), int(label in _SUPPORTS), group)


_EVIDENCE: dict[str, Reader] = {"healthver": _healthver, "check-covid": _check_covid, "covid-fact": _covid_fact}
IMPORTERS: dict[str, tuple[tuple[str, ...], Reader]] = {
    "misinfocorrect": (("refutation", "factuality", "politeness"), _misinfocorrect),
    "politeness": (("politeness",), _politeness),
    **{name: (tuple(_STAND_IN), read) for name, read in _EVIDENCE.items()},
}
"""For each importer besides `table`: the criteria of its labels, and its reader."""


def read_responses_column(path: Path) -> list[str]:
    """The column `response` (or `reply`) of a table.

    Raises:
        SourceError: if the file cannot be read or has no such column.
    """
    return [row.text("reply" if row.get("reply") is not None else "response") for row in table_rows(path)]


def read_claims(
    path: Path, columns: Mapping[str, str] | None = None, only: Mapping[str, str] | None = None
) -> list[Query]:
    """The claims of a table, each text once.

    Args:
        path: CSV or TSV with a header, or JSONL.
        columns: other names of the columns `id` and `claim`.
        only: values that other columns must have, such as `label=fake`.

    Raises:
        SourceError: if the file cannot be read, a column is missing, or no claim is left.
    """
    names = {"id": "id", "claim": "claim", **(columns or {})}
    found: dict[str, Query] = {}
    for row in table_rows(path):
        if any(str(row[name]) != value for name, value in (only or {}).items()):
            continue
        name, claim = "-".join(row.text(names["id"]).split()), row.text(names["claim"])
        key = sha256_text(claim.casefold())
        found.setdefault(key, Query(id=name[:200], text=claim, split="own", group=name[:200]))
    if not found:
        raise SourceError("no claim", where=str(path), expected="rows that fit --only", code="empty-source")
    if len({query.id for query in found.values()}) < len(found):
        raise SourceError("an id appears twice", where=str(path), expected="an id for each", code="duplicate-id")
    return list(found.values())
