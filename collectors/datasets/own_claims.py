"""Claims of one's own, from a table: what responses are wanted to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from collectors.datasets._files import required_text, table_rows
from hellofresh.core.errors import SourceError
from hellofresh.core.files import sha256_text
from hellofresh.evidence.retrieval.judgements import Query

__all__ = ["read_claims"]

_SPLIT = "own"


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
        name, claim = "-".join(required_text(row, names["id"]).split()), required_text(row, names["claim"])
        key = sha256_text(claim.casefold())
        found.setdefault(key, Query(id=name[:200], text=claim, split=_SPLIT, group=name[:200]))
    if not found:
        raise SourceError("no claim", where=str(path), expected="rows that fit --only", code="empty-source")
    if len({query.id for query in found.values()}) < len(found):
        raise SourceError("an id is there twice", where=str(path), expected="an id for each", code="duplicate-id")
    return list(found.values())
