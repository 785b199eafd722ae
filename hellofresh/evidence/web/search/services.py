"""Search providers by name, and services on the web, each in one declaration: how it is asked and answers.

All are asked in bounded tries and time, and nothing is believed that is not in their format.

Documentation of each: Brave (https://api-dashboard.search.brave.com/app/documentation/web-search/get-started), Serper,
results of Google (https://serper.dev), Tavily (https://docs.tavily.com/documentation/api-reference/endpoint/search),
SearXNG, a search engine of one's own (https://docs.searxng.org/dev/search_api.html; `search.formats` in its settings
must name JSON), and SerpApi, which reads Google's search by picture (https://serpapi.com/google-reverse-image) and is
given the address of a picture, and a query behind a line break: a picture without an address, such as a file, is not
searched for, since it takes no uploads.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import aiohttp
from pydantic import ValidationError

from hellofresh import __version__
from hellofresh.core.errors import ConfigError, RunError, missing_extra
from hellofresh.core.files import model_fault
from hellofresh.core.net import may_carry_key
from hellofresh.core.net.http import HttpClient, UnusableReplyError
from hellofresh.core.net.retry import RetryPolicy, TryAgain
from hellofresh.core.plugins import plugins
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.settings import PLUGINS, WebProviderSettings, WebSettings
from hellofresh.evidence.web import Found, SearchResult
from hellofresh.evidence.web.search import Hit, ProviderAnswer, SearchProvider, ranked
from hellofresh.evidence.web.search.offline import BUNDLED, Corpus, CorpusSearch, Offline

MOST_LINKS = 50
"""Links of one picture, before publishers are looked at."""
_A_PAGE = 10  # results on a page of a search by picture
_MOST_BYTES = 5_000_000  # a page of results has kilobytes
_UNREACHED = "no connection"
_SHUT_OUT = frozenset({401, 402, 403})  # statuses that say who may search, not what was looked for
SEARCH_RETRIES: RetryPolicy = RetryPolicy(attempts=4, timeout_s=15.0, deadline_s=60.0, retry_after_s=60.0)
"""How long a provider is waited for; a Retry-After beyond the deadline ends the search."""
_DDGS_DEADLINE_S = 30.0
_ENGINE = "duckduckgo"


Engine = Callable[[str, int], Sequence[Mapping[str, object]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """How to ask a service over HTTP, and where its JSON answer has the results.

    Attributes:
        name: as in the settings.
        ask: what is asked for a query, a count and a day: the query of a GET, or the JSON of a POST.
        results: names of the fields that lead to the list of results.
        fields: what a result's `url`, `title`, `snippet` and `date` are called, where it is something else.
        base_url: where to ask; empty for a service of one's own.
        key_variable: the environment variable with the key; empty where none is needed.
        key_header, key_query: the header or the field of the query that the key goes in.
        dated: whether it can search as of a day.
        most: results that it gives at once.
        is_posted: whether it is asked by a POST.
    """

    name: str
    ask: Callable[[str, int, date | None], Mapping[str, str | int]]
    results: tuple[str, ...]
    fields: Mapping[str, str] = field(default_factory=dict)
    base_url: str = ""
    key_variable: str = ""
    key_header: str = ""
    key_query: str = ""
    dated: bool = True
    most: int = 20
    is_posted: bool = False

    def hits(self, body: bytes) -> list[Hit]:
        """The results in an answer.

        Raises:
            ValueError: if it is not in the service's format.
        """
        found = json.loads(body)
        if not isinstance(found, dict):
            raise TypeError("not an object")
        for name in self.results:
            found = {} if found is None else found.get(name, {})
        return [Hit.called(item, self.fields) for item in found or ()]


class HttpProvider:
    """A service that answers with JSON.

    Args:
        service: how it is asked and read.
        base_url: where to ask.
        key: in no error and no record; may be empty.
        retries: how long it is waited for.
    """

    def __init__(self, service: Service, base_url: str, key: str, retries: RetryPolicy = SEARCH_RETRIES) -> None:
        self.name, self._service, self._url, self._retries = service.name, service, base_url, retries
        self.parameters: Mapping[str, str | int | float | bool] = {
            "provider": service.name,
            "base_url": base_url,
            "dated": service.dated,
        }
        agent = f"hellofresh/{__version__} (research benchmark)"
        headers = {"Accept": "application/json", "User-Agent": agent}
        if key and service.key_header:
            headers[service.key_header] = f"Bearer {key}" if service.key_header == "Authorization" else key
        self._client = HttpClient(f"web.{service.name}", headers, timeout_s=retries.timeout_s)
        self._secret_query = {service.key_query: key} if service.key_query else {}
        self._answered = False

    async def search(self, query: str, count: int, before: date | None) -> ProviderAnswer:
        """Search.

        Raises:
            RunError: if the provider refuses this search in a way that it would refuse any: for its key or credit, or
                before it has answered a single one; or if no connection to it can be opened.
        """
        service = self._service
        ask = service.ask(query, min(count, service.most), before if service.dated else None)
        outcome: bytes | str | TryAgain = await self._retries.persist(lambda: self._try(ask))
        if isinstance(outcome, TryAgain) and outcome.why == _UNREACHED:  # whatever is searched for
            fix = "Check the network and base_url, then run the same command again: stored results are kept."
            raise RunError("the provider cannot be reached", where=f"web.{self.name}", fix=fix, code="no-network")
        if not isinstance(outcome, bytes):
            return ProviderAnswer(Found((), outcome.why if isinstance(outcome, TryAgain) else outcome))
        try:
            return ProviderAnswer(ranked(service.hits(outcome), count, before), outcome)
        except ValidationError as error:
            return ProviderAnswer(Found((), f"not the provider's format ({model_fault(error)})"), outcome)
        except (ValueError, TypeError, AttributeError, RecursionError):
            return ProviderAnswer(Found((), "not the provider's format"), outcome)

    async def _try(self, ask: Mapping[str, str | int]) -> bytes | str | TryAgain:
        """The body, or the reason to stop, or the reason to try again."""
        is_posted = self._service.is_posted
        body, method = (json.dumps(ask).encode(), "POST") if is_posted else (None, "GET")
        query = {**({} if is_posted else {name: str(value) for name, value in ask.items()}), **self._secret_query}
        headers = {"Content-Type": "application/json"} if body else None
        try:
            reply = await self._client.send(
                method, self._url, body, query=query, headers=headers, most_bytes=_MOST_BYTES
            )
        except UnusableReplyError as error:
            return self._judged(error.status, None) or f"an answer that cannot be read ({error})"
        except aiohttp.ClientConnectorError:
            return TryAgain(_UNREACHED)
        except TimeoutError:
            return TryAgain(f"no answer in {self._retries.timeout_s:g} s")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            # The error's text may hold the address with the key.
            return TryAgain(f"no answer ({type(error).__name__})")
        return self._judged(reply.status, reply.wait_s) or reply.body

    def _judged(self, status: int, wait_s: float | None) -> str | TryAgain | None:
        """The error that an HTTP status means; None for an answer."""
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
        await self._client.close()


def _until(before: date | None, name: str, form: str) -> dict[str, str]:
    """The field that asks for pages from before a day, holding the previous day in this format; empty without a day."""
    return {} if before is None else {name: form.format(before - timedelta(days=1))}


def _serpapi(query: str, count: int, before: date | None) -> Mapping[str, str]:
    """The address of a picture, and in further lines a query and the number of the first result."""
    address, words, start = [*query.split("\n"), "", ""][:3]
    asked = {"engine": "google_reverse_image", "image_url": address, "q": words, "start": start}
    return {name: value for name, value in asked.items() if value}


SERVICES: Mapping[str, Service] = {
    service.name: service
    for service in (
        Service(
            name="brave",
            base_url="https://api.search.brave.com/res/v1/web/search",
            key_variable="BRAVE_API_KEY",
            key_header="X-Subscription-Token",
            ask=lambda query, count, before: {
                "q": query,
                "count": count,
                "text_decorations": "false",
                **_until(before, "freshness", "1970-01-01to{}"),
            },
            results=("web", "results"),
            fields={"snippet": "description", "date": "page_age"},
        ),
        Service(
            name="serper",
            base_url="https://google.serper.dev/search",
            key_variable="SERPER_API_KEY",
            key_header="X-API-KEY",
            ask=lambda query, count, before: {
                "q": query if before is None else f"{query} before:{before}",
                "num": count,
            },
            is_posted=True,
            results=("organic",),
            fields={"url": "link"},
        ),
        Service(
            name="tavily",
            base_url="https://api.tavily.com/search",
            key_variable="TAVILY_API_KEY",
            key_header="Authorization",
            ask=lambda query, count, before: {
                "query": query,
                "max_results": count,
                "search_depth": "basic",
                **_until(before, "end_date", "{}"),
            },
            is_posted=True,
            results=("results",),
            fields={"snippet": "content", "date": "published_date"},
        ),
        Service(
            name="searxng",
            key_header="Authorization",
            # It gives a page of results, whatever their number, and knows no days.
            ask=lambda query, _count, _before: {"q": query, "format": "json"},
            results=("results",),
            fields={"snippet": "content", "date": "publishedDate"},
            dated=False,
            most=50,
        ),
    )
}
IMAGE_SERVICES: Mapping[str, Service] = {
    "serpapi": Service(
        name="serpapi",
        base_url="https://serpapi.com/search.json",
        key_variable="SERPAPI_API_KEY",
        key_query="api_key",
        ask=_serpapi,
        results=("image_results",),
        fields={"url": "link"},
        dated=False,
        most=MOST_LINKS,
    ),
}


class PagedImageSearch(HttpProvider):
    """Asks a service for page after page of ten links, until there are enough or a page brings nothing new."""

    def __init__(self, service: Service, base_url: str, key: str, retries: RetryPolicy = SEARCH_RETRIES) -> None:
        super().__init__(service, base_url, key, retries)
        self.parameters = {"images": service.name, "base_url": base_url, "pages": MOST_LINKS // _A_PAGE}

    async def search(self, query: str, count: int, before: date | None) -> ProviderAnswer:
        """The pages that show the picture at an address, each once; what was found before a failure counts.

        Raises:
            RunError: if no search at all would be answered.
        """
        found: dict[str, SearchResult] = {}
        raw, problem = [], ""
        address, _, words = query.partition("\n")
        for start in range(0, MOST_LINKS, _A_PAGE):
            answer = await super().search(f"{address}\n{words}\n{start or ''}", _A_PAGE, before)
            raw.append(answer.raw.decode("utf-8", "replace"))
            problem = answer.found.problem
            new = {item.url: item for item in answer.found.results if item.url not in found}
            found |= new
            if not new or len(found) >= count:
                break
        results = [replace(item, rank=rank) for rank, item in enumerate(list(found.values())[:count], start=1)]
        return ProviderAnswer(Found(tuple(results), "" if results else problem), json.dumps(raw).encode())


class Ddgs:
    """DuckDuckGo without a key, by a package that reads result pages; fragile by nature. It cannot filter by day.

    Args:
        engine: query and count -> results as the package gives them; the package itself by default.

    Raises:
        UsageError: if the package is not installed.
    """

    name = "ddgs"

    def __init__(self, engine: Engine | None = None) -> None:
        if engine is None and find_spec("ddgs") is None:
            raise missing_extra("the provider ddgs", "ddgs", "ddgs")
        self._engine = engine or _ask_ddgs
        self.parameters: Mapping[str, str | int | float | bool] = {
            "provider": "ddgs",
            "engine": _ENGINE,
            "version": version("ddgs"),
            "dated": False,
        }

    async def search(self, query: str, count: int, before: date | None) -> ProviderAnswer:
        """Search once: an immediate retry would be blocked for longer."""
        raw = b""
        try:
            async with asyncio.timeout(_DDGS_DEADLINE_S):
                rows = await asyncio.to_thread(self._engine, query, count)
            raw = json.dumps(list(rows)).encode()
            hits = [Hit.called(row, {"url": "href", "snippet": "body"}) for row in json.loads(raw)]
        except TimeoutError:
            return ProviderAnswer(Found((), f"no answer in {_DDGS_DEADLINE_S:g} s"))
        except (ValidationError, TypeError):
            return ProviderAnswer(Found((), "not the provider's format"), raw)
        except Exception as error:  # the library has errors of its own, and passes on those of its engines
            return ProviderAnswer(Found((), f"no answer ({type(error).__name__})"))
        return ProviderAnswer(ranked(hits, count, before), raw)

    async def close(self) -> None:
        """Nothing is held."""


def _ask_ddgs(query: str, count: int) -> Sequence[Mapping[str, object]]:
    from ddgs import DDGS

    return DDGS(timeout=10).text(query, max_results=count, backend=_ENGINE)


def provider_with_key() -> str:
    """The first provider whose key is set in its usual environment variable, empty without one."""
    keyed = (name for name in SERVICES if name != "searxng")
    return next((name for name in keyed if os.environ.get(SERVICES[name].key_variable, "").strip()), "")


def open_provider(
    settings: WebSettings, *, replay: bool = False, retries: RetryPolicy = SEARCH_RETRIES
) -> SearchProvider:
    """The provider that the settings name.

    Args:
        settings: which, where it is and where its key is.
        replay: nothing will be asked, so that no key is needed.
        retries: how long a provider is waited for.

    Raises:
        ConfigError: if a key or an address is missing, or a key would go over an unencrypted connection.
        UsageError: if a package is missing, or a provider from another one cannot be loaded.
        WorkspaceError, SourceError: if the corpus cannot be read.
    """
    name = settings.provider
    if name == "offline":
        return Offline(Corpus.load(Path(settings.corpus) if settings.corpus else BUNDLED))
    if name == "corpus":
        if not settings.corpus:
            raise ConfigError(
                "the provider corpus needs the name of a corpus",
                where="web.corpus",
                code="missing-corpus",
                fix="List them: hellofresh corpus show",
            )
        from hellofresh.evidence.retrieval.corpora import open_corpus  # with polars, which no other provider needs
        from hellofresh.evidence.retrieval.retrievers import open_retriever  # an extra, which takes a while to import

        corpus = open_corpus(Workspace.from_environment(), settings.corpus)
        return CorpusSearch(corpus, open_retriever(settings.retriever, corpus))
    if name == "ddgs":
        return Ddgs()
    if name not in SERVICES:
        provider: SearchProvider = plugins(PLUGINS, name, Callable)[name](settings.options, replay=replay)
        return provider
    base_url, key = _place(SERVICES[name], getattr(settings, name), replay=replay)
    return HttpProvider(SERVICES[name], base_url, key, retries)


def open_image_provider(
    settings: WebSettings, *, replay: bool = False, retries: RetryPolicy = SEARCH_RETRIES
) -> PagedImageSearch | None:
    """The provider of search by picture that the settings name, None for none.

    Raises:
        ConfigError: if its key is missing, or would go over an unencrypted connection.
    """
    name = settings.images
    if name == "off":
        return None
    base_url, key = _place(IMAGE_SERVICES[name], getattr(settings, name), replay=replay)
    return PagedImageSearch(IMAGE_SERVICES[name], base_url, key, retries)


def _place(service: Service, said: WebProviderSettings, *, replay: bool) -> tuple[str, str]:
    """Address and key of a service; without a key where nothing will be requested."""
    base_url, variable = said.base_url or service.base_url, said.key_variable or service.key_variable
    if not base_url:
        raise ConfigError(
            f"{service.name} needs an address",
            where=f"web.{service.name}.base_url",
            expected="such as https://search.example.org/search",
            code="missing-url",
        )
    if not variable or replay:
        return base_url, ""
    key = os.environ.get(variable, "").strip()
    if not key or not key.isascii() or not key.isprintable():
        raise ConfigError(
            f"{service.name} needs a key",
            where=f"environment variable {variable}",
            expected="a key of printable ASCII characters",
            fix=f"Set {variable}, or choose another provider under [web] in hellofresh.toml (`offline` and `ddgs` need "
            'no key; images = "off" searches for no picture).',
            code="missing-key",
        )
    if not may_carry_key(base_url):
        raise ConfigError(
            "a key is not sent over an unencrypted connection",
            where=f"web.{service.name}.base_url",
            expected="https://...",
            code="insecure-url",
        )
    return base_url, key
