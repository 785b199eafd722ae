"""An HTTP session that does not burden a wiki: it identifies the user, limits its rate, and waits as asked.

Rules it follows: https://foundation.wikimedia.org/wiki/Policy:User-Agent_policy (identification),
https://www.mediawiki.org/wiki/API:Etiquette (few requests at once) and
https://www.mediawiki.org/wiki/Manual:Maxlag_parameter (step back while the wiki's databases lag behind).

It is built on requests, not on `hellofresh.core.net.http`: mwclient needs it, and it compresses histories to a fifth
of their size, as the etiquette asks.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from itertools import count
from typing import Any

import requests

from collectors.wikipedia.source import check_contact
from hellofresh import __version__
from hellofresh.core.errors import ConfigError, SourceError
from hellofresh.core.net.retry import PASSING, RateLimit, RetryPolicy, retry_after_s

_CHUNK = 1 << 16  # bytes; the time limit is looked at after each
_LARGEST_ANSWER = 1 << 27  # bytes; MediaWiki itself stops at 8 MiB of content unless configured otherwise
_MAXLAG_S = 5  # what MediaWiki's etiquette asks of clients
_BACKOFF = RetryPolicy(first_s=1.0, most_s=60.0)  # where the wiki does not say how long to wait
_WAIT_STATUS = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}
# Codes of faults that pass (https://www.mediawiki.org/wiki/API:Errors_and_warnings); an internal one is like a 503.
_PLEA = r"maxlag|ratelimited|readonly|internal_api_error_\w+"
_WAIT_CODE = re.compile(_PLEA)
_TOLD_TO_WAIT = re.compile(rf'"code"\s*:\s*"({_PLEA})"'.encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class WikiLimits:
    """Limits of requests to a wiki, and of waiting for responses.

    Attributes:
        per_minute: maximal requests in any minute, retries included.
        at_once: maximal concurrent requests.
        connect_s, read_s: seconds to reach the server, and between two pieces of its answer.
        request_s: seconds for one request with all its retries and waits.
        total_s: seconds for all requests of a session together.
    """

    per_minute: int = 200
    at_once: int = 3
    connect_s: float = 10.0
    read_s: float = 60.0
    request_s: float = 900.0
    total_s: float = 12 * 3600.0

    def __post_init__(self) -> None:
        for name in ("per_minute", "at_once", "connect_s", "read_s", "request_s", "total_s"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"{name} is {getattr(self, name)}", expected="more than 0", code="bad-setting")


class Clock:
    """Source of time, and of waiting."""

    def __init__(self) -> None:
        self._woken = threading.Event()

    def now(self) -> float:
        """Seconds since some moment; never goes back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait, unless woken."""
        self._woken.wait(seconds)

    def wake(self) -> None:
        """End all waits, now and later."""
        self._woken.set()


class _AgainError(Exception):
    """The request has to be repeated; `wait_s` is the server's requested wait, if any."""

    def __init__(self, why: str, wait_s: float | None = None) -> None:
        super().__init__(why)
        self.wait_s = wait_s


class PoliteSession(requests.Session):
    """Adds the contact and `maxlag` to each request, and retries when the wiki requests a wait."""

    def __init__(self, contact: str, limits: WikiLimits | None = None, *, clock: Clock | None = None) -> None:
        super().__init__()
        self.limits = limits or WikiLimits()
        self.requests_sent = self._answered = 0
        self._clock = clock or Clock()
        self._rate = RateLimit.per_minute(self.limits.per_minute, max(1, self.limits.per_minute // 20))
        self._slots = threading.BoundedSemaphore(self.limits.at_once)
        self._end = self._clock.now() + self.limits.total_s
        self._lock = threading.Lock()
        agent = f"HelloFresh/{__version__} (operator: {check_contact(contact)}) {requests.utils.default_user_agent()}"
        self.headers["User-Agent"] = agent

    def request(  # type: ignore[override]  # a wiki's API needs none of the other arguments by place
        self, method: str | bytes, url: str | bytes, **options: Any
    ) -> requests.Response:
        """Send a request, and retry until the response is not a request to wait.

        Raises:
            SourceError: if no response comes within the limits, or the wiki refuses.
        """
        for name in ("params", "data"):
            if options.get(name) is not None:
                options[name] = {**options[name], "maxlag": str(_MAXLAG_S)}
        method, url = (value.decode() if isinstance(value, bytes) else value for value in (method, url))
        deadline = min(self._end, self._clock.now() + self.limits.request_s)
        why = "no time was left"
        for attempt in count(1):
            with self._lock:
                wait_s = self._rate.take(self._clock.now())
            while wait_s > 0:
                self._sleep(wait_s, url, deadline, why)
                with self._lock:
                    wait_s = self._rate.held_s(self._clock.now())
            try:
                with self._slots:
                    return self._once(method, url, options, deadline)
            except _AgainError as again:
                why, asked_s = str(again), again.wait_s
            if asked_s is not None:  # a requested wait applies to all requests
                with self._lock:
                    self._rate.hold(self._clock.now(), asked_s)
            self._sleep(_BACKOFF.step_s(attempt) if asked_s is None else asked_s, url, deadline, why)
        raise AssertionError("counting has no end")

    def refuse_if_stopped(self, where: str) -> None:
        """Raise an error after `stop`, also for callers that live on stored answers."""
        if self._end == float("-inf"):
            raise SourceError("stopped", where=where, code="api-stopped")

    def stop(self) -> None:
        """Let requests under way finish; callers that wait for a turn get an error."""
        self._end = float("-inf")
        self._clock.wake()

    def _once(self, method: str, url: str, options: dict[str, Any], deadline: float) -> requests.Response:
        timeout = (self.limits.connect_s, self.limits.read_s)
        settings = {**options, "timeout": timeout, "stream": True, "allow_redirects": False}
        with self._lock:
            self.requests_sent += 1
        try:
            response = super().request(method, url, **settings)
            with response:
                _fill(response, lambda: deadline - self._clock.now())
        except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError) as error:
            raise _AgainError(f"an incomplete answer ({type(error).__name__})") from error
        except requests.RequestException as error:
            raise SourceError(f"cannot be asked ({error})", where=url, code="api-unreachable") from error
        _judge(response, url)
        self._answered += 1
        return response

    def _sleep(self, wait_s: float, url: str, deadline: float, why: str) -> None:
        if self._clock.now() + wait_s >= min(deadline, self._end):
            raise SourceError(
                f"gave up: {why}, and the time allowed ends before the next try",
                where=url,
                fix=("The answers so far are kept: run" if self._answered else "Run")
                + " the same command again later.",
                code="api-deadline",
            )
        if wait_s > 0:
            self._clock.sleep(wait_s)
        self.refuse_if_stopped(url)


def _fill(response: requests.Response, left_s: Callable[[], float]) -> None:
    """Read the body in pieces, so that a slow server cannot keep it open forever."""
    body = bytearray()
    try:
        while piece := response.raw.read1(_CHUNK, decode_content=True):
            body += piece
            if len(body) > _LARGEST_ANSWER:
                raise SourceError("the answer has no end", where=response.url, code="api-answer-too-long")
            if left_s() <= 0:
                raise _AgainError("the answer came too slowly")
    except (
        OSError,
        requests.packages.urllib3.exceptions.HTTPError,  # type: ignore[attr-defined]  # made by requests as it is imported
    ) as error:
        raise _AgainError(f"the answer broke off ({type(error).__name__})") from error
    response._content = bytes(body)
    response._content_consumed = True  # type: ignore[attr-defined]  # the stubs leave out what is private


def _is_whole(body: bytes) -> bool:
    """Whether a body is not cut; what is not JSON at all is not judged here."""
    if not body.lstrip().startswith((b"{", b"[")):
        return bool(body.strip())
    try:
        json.loads(body)
    except ValueError:
        return False
    return True


def _judge(response: requests.Response, url: str) -> None:
    """Raise an error for requests to wait and for refusals."""
    status = response.status_code
    asked_s = retry_after_s(response.headers.get("Retry-After"))
    if status in PASSING:
        raise _AgainError(f"the server answered {status}", asked_s if status in _WAIT_STATUS else None)
    plea = response.headers.get("MediaWiki-API-Error", "")
    if not _WAIT_CODE.fullmatch(plea):
        # Errors are short; a long response with maxlag is an article about it.
        found = _TOLD_TO_WAIT.search(response.content) if len(response.content) < _CHUNK else None
        plea = found[1].decode() if found and response.content.lstrip().startswith(b'{"error"') else ""
    if plea or "X-Database-Lag" in response.headers:
        own_s = None if plea.startswith("internal") else float(_MAXLAG_S)
        raise _AgainError(f"the wiki answered {plea or 'that its database lags behind'}", asked_s or own_s)
    if status == HTTPStatus.OK and not _is_whole(response.content):
        raise _AgainError("the answer is empty, or JSON that is cut")
    if status != HTTPStatus.OK:
        moved = response.headers.get("Location", "")
        raise SourceError(
            f"the server answered {status}" + (f", pointing to {moved[:200]}" if moved else ""),
            where=url,
            expected="the address of a MediaWiki's api.php",
            fix="Check the address; a wiki that answers 403 may have blocked you, and its operators will say why.",
            code="api-refused",
        )
