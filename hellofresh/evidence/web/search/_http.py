"""Asking a search provider over HTTP: in bounded tries and time, believing nothing that is not in its format."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Generic, TypeVar

import aiohttp
from pydantic import BaseModel, ConfigDict, ValidationError

from hellofresh import __version__
from hellofresh.core.errors import RunError
from hellofresh.core.net.http import HttpClient, UnusableReplyError
from hellofresh.core.net.retry import RetryPolicy, TryAgain
from hellofresh.evidence.web._base import Found
from hellofresh.evidence.web.search._base import Hit, ProviderAnswer, ranked

__all__ = ["SEARCH_RETRIES", "HttpProvider", "ProviderReply", "SearchRequest"]

_MOST_BYTES = 5_000_000
_SHUT_OUT = frozenset({401, 402, 403})
"""Statuses that say who may search, not what was looked for."""


class ProviderReply(BaseModel):
    """Base of what providers answer: types as documented, fields beyond them ignored."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


A = TypeVar("A", bound=ProviderReply)


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One request: a GET with `query`, or a POST of `json`, or of the fields of a `form`, where that is given."""

    query: Mapping[str, str] = field(default_factory=dict)
    json: Mapping[str, Any] | None = None
    form: Mapping[str, str] = field(default_factory=dict)


SEARCH_RETRIES: RetryPolicy = RetryPolicy(attempts=4, timeout_s=15.0, deadline_s=60.0, retry_after_s=60.0)
"""How long a provider is waited for; a Retry-After beyond the deadline ends the search."""


class HttpProvider(Generic[A]):
    """A provider that answers with JSON; each provider is one of these with its own way of asking and reading.

    Args:
        name: as in the settings.
        url: where to ask.
        answer: the format of what comes back.
        ask: the request for a query, a count and a day.
        read: the hits in an answer.
        headers: the key among them, where it goes by a header.
        secret_query: the key, where it goes by the query; in no error and no record.
        dated: whether the provider can search as of a day.
        most: results that it gives at once.
        about: further parameters.
    """

    def __init__(
        self,
        name: str,
        url: str,
        *,
        answer: type[A],
        ask: Callable[[str, int, date | None], SearchRequest],
        read: Callable[[A], Sequence[Hit]],
        headers: Mapping[str, str] | None = None,
        secret_query: Mapping[str, str] | None = None,
        dated: bool,
        most: int,
        about: Mapping[str, str] | None = None,
        retries: RetryPolicy = SEARCH_RETRIES,
    ) -> None:
        self.name = name
        self.parameters: Mapping[str, str | int | float | bool] = {
            "provider": name,
            "base_url": url,
            "dated": dated,
            **(about or {}),
        }
        self._url, self._answer, self._ask, self._read = url, answer, ask, read
        headers = {"User-Agent": f"hellofresh/{__version__} (research benchmark)", **(headers or {})}
        self._client = HttpClient(f"web.{name}", {"Accept": "application/json", **headers}, timeout_s=retries.timeout_s)
        self._secret_query = secret_query or {}
        self._dated, self._most = dated, most
        self._retries = retries
        self._answered = False

    async def search(self, query: str, count: int, before: date | None) -> ProviderAnswer:
        """Search.

        Raises:
            RunError: if the provider refuses this search in a way that it would refuse any: for its key or credit, or
                before it has answered a single one.
        """
        ask = self._ask(query, min(count, self._most), before if self._dated else None)
        now = asyncio.get_running_loop().time
        deadline = now() + self._retries.deadline_s
        attempt = 1
        while isinstance(outcome := await self._try(ask), TryAgain):
            wait_s = self._retries.next_wait_s(attempt, outcome.wait_s, left_s=deadline - now())
            if wait_s is None:
                return ProviderAnswer(Found((), outcome.why))
            await asyncio.sleep(wait_s)
            attempt += 1
        if isinstance(outcome, str):
            return ProviderAnswer(Found((), outcome))
        return self._understood(outcome, count, before)

    def _understood(self, body: bytes, count: int, before: date | None) -> ProviderAnswer:
        try:
            hits = self._read(self._answer.model_validate_json(body))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            field_name = ".".join(str(part) for part in first["loc"])
            return ProviderAnswer(Found((), f"not the provider's format ({field_name}: {first['msg'].lower()})"), body)
        except (ValueError, RecursionError):
            return ProviderAnswer(Found((), "not the provider's format"), body)
        return ProviderAnswer(ranked(hits, count, before), body)

    async def _try(self, ask: SearchRequest) -> bytes | str | TryAgain:
        """The body, or why not to try again, or why to."""
        body = _form(ask.form) if ask.form else None if ask.json is None else json.dumps(ask.json).encode()
        method = "GET" if body is None else "POST"
        query = {**ask.query, **self._secret_query}
        headers = {"Content-Type": "application/json"} if isinstance(body, bytes) else None
        try:
            reply = await self._client.send(
                method, self._url, body, query=query, headers=headers, most_bytes=_MOST_BYTES
            )
        except UnusableReplyError as error:
            return self._judged(error.status, None) or f"an answer that cannot be read ({error})"
        except TimeoutError:
            return TryAgain(f"no answer in {self._retries.timeout_s:g} s")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            # The error's text may hold the address with the key.
            return TryAgain(f"no answer ({type(error).__name__})")
        return self._judged(reply.status, reply.wait_s) or reply.body

    def _judged(self, status: int, wait_s: float | None) -> str | TryAgain | None:
        """What a status says against an answer, None for an answer."""
        if status == 429 or status >= 500:
            return TryAgain(f"HTTP {status}", wait_s)
        if status in _SHUT_OUT or (status != 200 and not self._answered):
            raise self._refused(status)
        self._answered = True
        return None if status == 200 else f"HTTP {status}"

    def _refused(self, status: int) -> RunError:
        return RunError(
            f"the provider refuses to search (HTTP {status})",
            where=f"web.{self.name}",
            fix="Check its key, its credit and base_url, then run the same command again: stored results are kept.",
            code="search-refused",
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()


def _form(fields: Mapping[str, str]) -> aiohttp.FormData:
    """A form in parts, each a text."""
    form = aiohttp.FormData(default_to_multipart=True)
    for name, value in fields.items():
        form.add_field(name, value)
    return form
