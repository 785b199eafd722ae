"""Asking a search provider over HTTP: in bounded tries and time, believing nothing that is not in its format."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import aiohttp
from pydantic import ValidationError

from hellofresh import __version__
from hellofresh.core.errors import RunError
from hellofresh.core.files import model_fault
from hellofresh.core.net.http import HttpClient, UnusableReplyError
from hellofresh.core.net.retry import RetryPolicy, TryAgain
from hellofresh.evidence.web._base import Found
from hellofresh.evidence.web.search._base import Hit, ProviderAnswer, ranked

_MOST_BYTES = 5_000_000
_SHUT_OUT = frozenset({401, 402, 403})
"""Statuses that say who may search, not what was looked for."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One request: a GET with `query`, or a POST of `json`, or of the fields of a `form`, where that is given."""

    query: Mapping[str, str] = field(default_factory=dict)
    json: Mapping[str, Any] | None = None
    form: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """How a service is asked over HTTP, and where its results stand in the JSON that it answers with.

    Attributes:
        name: as in the settings.
        ask: the request for a query, a count and a day.
        results: names of the fields that lead to the list of results, or a function that gives it.
        fields: what a result's `url`, `title`, `snippet` and `date` are called, where it is something else.
        date_of: finds a result's date, where that is not a plain field.
        base_url: where to ask; empty for a service of one's own.
        key_variable: the environment variable with the key; empty where none is needed.
        key_header, key_query: the header or the field of the query that the key goes in.
        dated: whether it can search as of a day.
        most: results that it gives at once.
        about: further parameters.
    """

    name: str
    ask: Callable[[str, int, date | None], SearchRequest]
    results: tuple[str, ...] | Callable[[Mapping[str, Any]], Sequence[object]]
    fields: Mapping[str, str] = field(default_factory=dict)
    date_of: Callable[[Mapping[str, Any]], object] | None = None
    base_url: str = ""
    key_variable: str = ""
    key_header: str = ""
    key_query: str = ""
    dated: bool = True
    most: int = 20
    about: Mapping[str, str] = field(default_factory=dict)

    def hits(self, body: bytes) -> list[Hit]:
        """The results in an answer.

        Raises:
            ValueError: if it is not in the service's format.
        """
        found = json.loads(body)
        if not isinstance(found, dict):
            raise TypeError("not an object")
        if callable(self.results):
            found = self.results(found)
        else:
            for name in self.results:
                found = {} if found is None else found.get(name, {})
        return [self._hit(item) for item in found or ()]

    def _hit(self, item: object) -> Hit:
        if not isinstance(item, dict):
            raise TypeError("not an object")
        called = {name: self.fields.get(name, name) for name in Hit.model_fields}
        given = {name: item[field_name] for name, field_name in called.items() if field_name in item}
        return Hit.model_validate(given if self.date_of is None else {**given, "date": self.date_of(item)})


SEARCH_RETRIES: RetryPolicy = RetryPolicy(attempts=4, timeout_s=15.0, deadline_s=60.0, retry_after_s=60.0)
"""How long a provider is waited for; a Retry-After beyond the deadline ends the search."""


class HttpProvider:
    """A service that answers with JSON.

    Args:
        service: how it is asked and read.
        base_url: where to ask.
        key: in no error and no record; may be empty.
        retries: how long it is waited for.
        more: further fields of each query, of which the same holds.
    """

    def __init__(
        self,
        service: Service,
        base_url: str,
        key: str,
        retries: RetryPolicy = SEARCH_RETRIES,
        *,
        more: Mapping[str, str] | None = None,
    ) -> None:
        self.name, self._service, self._url, self._retries = service.name, service, base_url, retries
        self.parameters: Mapping[str, str | int | float | bool] = {
            "provider": service.name,
            "base_url": base_url,
            "dated": service.dated,
            **service.about,
        }
        agent = f"hellofresh/{__version__} (research benchmark)"
        headers = {"Accept": "application/json", "User-Agent": agent}
        if key and service.key_header:
            headers[service.key_header] = f"Bearer {key}" if service.key_header == "Authorization" else key
        self._client = HttpClient(f"web.{service.name}", headers, timeout_s=retries.timeout_s)
        self._secret_query = {**({service.key_query: key} if service.key_query else {}), **(more or {})}
        self._answered = False

    async def search(self, query: str, count: int, before: date | None) -> ProviderAnswer:
        """Search.

        Raises:
            RunError: if the provider refuses this search in a way that it would refuse any: for its key or credit, or
                before it has answered a single one.
        """
        service = self._service
        ask = service.ask(query, min(count, service.most), before if service.dated else None)
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
        try:
            return ProviderAnswer(ranked(service.hits(outcome), count, before), outcome)
        except ValidationError as error:
            return ProviderAnswer(Found((), f"not the provider's format ({model_fault(error)})"), outcome)
        except (ValueError, TypeError, AttributeError, RecursionError):
            return ProviderAnswer(Found((), "not the provider's format"), outcome)

    async def _try(self, ask: SearchRequest) -> bytes | str | TryAgain:
        """The body, or why not to try again, or why to."""
        body: bytes | aiohttp.FormData | None = None if ask.json is None else json.dumps(ask.json).encode()
        if ask.form:
            body = aiohttp.FormData(default_to_multipart=True)
            for name, value in ask.form.items():
                body.add_field(name, value)
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
            raise RunError(
                f"the provider refuses to search (HTTP {status})",
                where=f"web.{self.name}",
                fix="Check its key, its credit and base_url, then run the same command again: stored results are kept.",
                code="search-refused",
            )
        self._answered = True
        return None if status == 200 else f"HTTP {status}"

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()
