"""The protocol of search providers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from hellofresh.evidence.web import Found, SearchResult
from hellofresh.evidence.web.dates import read_date


@dataclass(frozen=True, slots=True)
class ProviderAnswer:
    """A provider's answer.

    Attributes:
        found: the results, or the problem.
        raw: the raw answer, empty without one.
    """

    found: Found
    raw: bytes = b""


class SearchProvider(Protocol):
    """A way to search for at most `count` results.

    With `before`, only for pages from before that day if `dated`. Errors are part of the result; a RunError
    says that no search at all would be answered: nothing of it is kept, so that a run can go on later.

    `name` is as in the settings. `parameters` are all that decides what is found; `dated` says whether it can search as
    of a day. A key is never among them.
    """

    @property
    def name(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, str | int | float | bool]: ...
    async def search(self, query: str, count: int, before: date | None) -> ProviderAnswer: ...
    async def close(self) -> None: ...


class Hit(BaseModel):
    """A result without a rank; `date` is the provider's text, such as `2 days ago`."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)

    url: str = ""
    title: str = ""
    snippet: str | None = ""
    date: str | None = None

    @classmethod
    def called(cls, row: object, names: Mapping[str, str]) -> Hit:
        """A result as a provider writes it, whose fields may have other names.

        Raises:
            TypeError, ValidationError: if it is not in the provider's format.
        """
        if not isinstance(row, dict):
            raise TypeError("not an object")
        written = {name: names.get(name, name) for name in cls.model_fields}
        return cls.model_validate({name: row[own] for name, own in written.items() if own in row})


def ranked(hits: Sequence[Hit], count: int, before: date | None) -> Found:
    """The first `count` hits with an address on the web, without those known to be from `before` or later.

    Providers' own filters let later pages through, so the stated days are checked again.
    """
    results: list[SearchResult] = []
    for hit in hits:
        day = read_date(hit.date or "")[:10] or None
        late = before is not None and day is not None and day >= before.isoformat()
        if not late and hit.url.lower().startswith(("http://", "https://")) and len(results) < count:
            results.append(SearchResult(hit.url, hit.title, hit.snippet or "", day, len(results) + 1))
    return Found(tuple(results))
