"""Queries, and judgements of which documents are relevant to them (qrels), in the formats of information retrieval.

`queries.jsonl` has `id`, `text`, `split` and `group` a line; `qrels` has TREC's four columns: query, 0, document,
relevance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hellofresh.core.errors import DataError
from hellofresh.core.files import canonical_json, read_jsonl, write_bytes, write_jsonl

__all__ = ["Judgement", "Query", "by_query", "read_qrels", "read_queries", "write_qrels", "write_queries"]

_MOST_QUERY_CHARACTERS = 20_000


class Query(BaseModel):
    """What evidence is looked for.

    Attributes:
        id: unique in its corpus, without white space.
        text: such as a claim.
        split: `train`, `dev`, `test` or the source's own name.
        group: queries of one group are not independent (of one article, for one document): the cluster for statistics.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    id: str = Field(min_length=1, max_length=200, pattern=r"^\S+$")
    text: str = Field(min_length=1, max_length=_MOST_QUERY_CHARACTERS, pattern=r"^[^\x00]*$")
    split: str = Field(min_length=1, max_length=40, pattern=r"^[a-z0-9][a-z0-9_-]*$")
    group: str = Field(min_length=1, max_length=200)


@dataclass(frozen=True, slots=True)
class Judgement:
    """How relevant a document is to a query: 0 or less is not, more is more."""

    query: str
    document: str
    relevance: int


def write_queries(path: Path, queries: Iterable[Query]) -> None:
    """Write queries in their order."""
    write_jsonl(path, (query.model_dump() for query in queries))


def read_queries(path: Path) -> list[Query]:
    """Read queries.

    Raises:
        DataError: if the file is missing or a line is no query.
    """
    queries = []
    for number, row in enumerate(read_jsonl(path), start=1):
        try:
            queries.append(Query.model_validate_json(canonical_json(row)))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = ".".join(str(part) for part in first["loc"]) or "the line"
            raise DataError(
                f"not a query: {field}: {first['msg'].lower()}", where=f"{path} line {number}", code="bad-query"
            ) from None
    return queries


def write_qrels(path: Path, judgements: Iterable[Judgement]) -> None:
    """Write judgements in their order."""
    lines = (f"{item.query} 0 {item.document} {item.relevance}\n" for item in judgements)
    write_bytes(path, "".join(lines).encode())


def read_qrels(path: Path) -> list[Judgement]:
    """Read TREC's four columns.

    Raises:
        DataError: if the file is missing, or a line has other columns.
    """
    try:
        content = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DataError("no such file", where=str(path), code="missing-file") from None
    except UnicodeDecodeError as error:
        raise DataError(f"byte {error.start} is not UTF-8", where=str(path), code="bad-qrels") from None
    return list(_parsed(content, path))


def _parsed(content: str, path: Path) -> Iterator[Judgement]:
    for number, line in enumerate(content.splitlines(), start=1):
        words = line.split()
        if not words:
            continue
        if len(words) != 4 or not words[3].lstrip("-").isascii() or not words[3].lstrip("-").isdigit():
            raise DataError(
                f"not a judgement: {line[:80]!r}",
                where=f"{path} line {number}",
                expected="QUERY 0 DOCUMENT RELEVANCE",
                code="bad-qrels",
            )
        yield Judgement(words[0], words[2], int(words[3]))


def by_query(judgements: Iterable[Judgement]) -> Mapping[str, Mapping[str, int]]:
    """Relevance by query and document."""
    found: dict[str, dict[str, int]] = {}
    for item in judgements:
        found.setdefault(item.query, {})[item.document] = item.relevance
    return found
