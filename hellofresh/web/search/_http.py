"""Asking a search provider over HTTP: in bounded tries and time, believing nothing that is not in its format."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Generic, TypeVar

import aiohttp
from pydantic import BaseModel, ConfigDict, ValidationError

from hellofresh import __version__
from hellofresh.errors import RunError
from hellofresh.retry_after import retry_after_s
from hellofresh.web._base import Found
from hellofresh.web.search._base import Hit, Searched, ranked

__all__ = ["Answer", "Ask", "HttpProvider", "Patience"]

_MOST_BYTES = 5_000_000
_SHUT_OUT = frozenset({401, 402, 403})
"""Statuses that say who may search, not what was looked for."""


class Answer(BaseModel):
    """Base of what providers answer: types as documented, fields beyond them ignored."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


A = TypeVar("A", bound=Answer)


@dataclass(frozen=True, slots=True)
class Ask:
    """One request: a GET with `query`, or a POST of `json` where that is given."""

    query: Mapping[str, str] = field(default_factory=dict)
    json: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a provider is waited for.

    Attributes:
        attempts: the first included.
        timeout_s: of one attempt.
        deadline_s: of all of them with the waits in between; a Retry-After beyond it ends the search.
        backoff_s: before the second attempt, doubled with each, where the provider names no wait.
    """

    attempts: int = 4
    timeout_s: float = 15.0
    deadline_s: float = 60.0
    backoff_s: float = 1.0


@dataclass(frozen=True, slots=True)
class _Again:
    """Worth another attempt: why, and how long to wait if the provider said so."""

    why: str
    wait_s: float | None = None


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
        ask: Callable[[str, int, date | None], Ask],
        read: Callable[[A], Sequence[Hit]],
        headers: Mapping[str, str] | None = None,
        secret_query: Mapping[str, str] | None = None,
        dated: bool,
        most: int,
        about: Mapping[str, str] | None = None,
        patience: Patience | None = None,
    ) -> None:
        self.name = name
        self.parameters: Mapping[str, str | int | float | bool] = {
            "provider": name,
            "base_url": url,
            "dated": dated,
            **(about or {}),
        }
        self._url, self._answer, self._ask, self._read = url, answer, ask, read
        self._headers = {
            "User-Agent": f"hellofresh/{__version__} (research benchmark)",
            "Accept": "application/json",
            # What is not packed cannot unpack to gigabytes.
            "Accept-Encoding": "identity",
            **(headers or {}),
        }
        self._secret_query = secret_query or {}
        self._dated, self._most = dated, most
        self._patience = patience or Patience()
        self._session: aiohttp.ClientSession | None = None
        self._answered = False

    async def search(self, query: str, count: int, before: date | None) -> Searched:
        """Search.

        Raises:
            RunError: if the provider refuses this search in a way that it would refuse any: for its key or credit, or
                before it has answered a single one.
        """
        ask = self._ask(query, min(count, self._most), before if self._dated else None)
        now = asyncio.get_running_loop().time
        deadline = now() + self._patience.deadline_s
        attempt = 1
        while isinstance(outcome := await self._try(ask), _Again):
            wait_s = outcome.wait_s
            if wait_s is None:
                wait_s = self._patience.backoff_s * 2 ** (attempt - 1)
            if attempt >= self._patience.attempts or now() + wait_s > deadline:
                return Searched(Found((), outcome.why))
            await asyncio.sleep(wait_s)
            attempt += 1
        if isinstance(outcome, str):
            return Searched(Found((), outcome))
        return self._understood(outcome, count, before)

    def _understood(self, body: bytes, count: int, before: date | None) -> Searched:
        try:
            hits = self._read(self._answer.model_validate_json(body))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            field_name = ".".join(str(part) for part in first["loc"])
            return Searched(Found((), f"not the provider's format ({field_name}: {first['msg'].lower()})"), body)
        except (ValueError, RecursionError):
            return Searched(Found((), "not the provider's format"), body)
        return Searched(ranked(hits, count, before), body)

    async def _try(self, ask: Ask) -> bytes | str | _Again:
        """The body, or why not to try again, or why to."""
        method = "GET" if ask.json is None else "POST"
        try:
            async with (
                asyncio.timeout(self._patience.timeout_s),
                # A redirect could carry the key elsewhere, and no provider has reason to send one.
                self._open().request(
                    method, self._url, params={**ask.query, **self._secret_query}, json=ask.json, allow_redirects=False
                ) as response,
            ):
                if response.status == 429 or response.status >= 500:
                    return _Again(f"HTTP {response.status}", retry_after_s(response.headers.get("Retry-After")))
                if response.status in _SHUT_OUT or (response.status != 200 and not self._answered):
                    raise self._refused(response.status)
                if response.status != 200:
                    return f"HTTP {response.status}"
                self._answered = True
                if response.headers.get("Content-Encoding", "identity").lower() != "identity":
                    return "an answer that is packed, which was not asked for"
                return await _body(response)
        except TimeoutError:
            return _Again(f"no answer in {self._patience.timeout_s:g} s")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            # The error's text may hold the address with the key.
            return _Again(f"no answer ({type(error).__name__})")

    def _refused(self, status: int) -> RunError:
        return RunError(
            f"the provider refuses to search (HTTP {status})",
            where=f"web.{self.name}",
            fix="Check its key, its credit and base_url, then run the same command again: what was found is kept.",
            code="search-refused",
        )

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                headers=self._headers, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False, trust_env=False
            )
        return self._session

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None


async def _body(response: aiohttp.ClientResponse) -> bytes | str:
    body = bytearray()
    async for part in response.content.iter_any():
        body += part
        if len(body) > _MOST_BYTES:
            return f"an answer of over {_MOST_BYTES:,} bytes"
    return bytes(body)
