"""Providers by name, opened from the settings."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hellofresh.core.errors import ConfigError
from hellofresh.core.net.keys import may_carry_key
from hellofresh.core.net.retry import RetryPolicy
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.settings import WebProviderSettings, WebSettings
from hellofresh.evidence.web.documents import BUNDLED, Corpus
from hellofresh.evidence.web.search import brave, google, searxng, serper, tavily
from hellofresh.evidence.web.search._base import SearchProvider
from hellofresh.evidence.web.search._http import SEARCH_RETRIES, HttpProvider
from hellofresh.evidence.web.search.ddgs import Ddgs
from hellofresh.evidence.web.search.offline import Offline

if TYPE_CHECKING:
    from hellofresh.evidence.retrieval.corpora import RetrievalCorpus

__all__ = ["KEYLESS", "load_corpus", "named_corpus", "open_provider", "provider_with_key"]

KEYLESS = frozenset({"offline", "corpus", "ddgs", "searxng"})
"""Providers that need no key."""
_Make = Callable[[str, str, RetryPolicy], HttpProvider[Any]]


class _Service(NamedTuple):
    make: _Make
    base_url: str
    key_variable: str


_SERVICES = {
    "brave": _Service(brave.brave, brave.BASE_URL, "BRAVE_API_KEY"),
    "serper": _Service(serper.serper, serper.BASE_URL, "SERPER_API_KEY"),
    "tavily": _Service(tavily.tavily, tavily.BASE_URL, "TAVILY_API_KEY"),
    "searxng": _Service(searxng.searxng, "", ""),
}


def provider_with_key() -> str:
    """The first provider whose key stands in its usual environment variable, empty if there is none."""
    keyed = (name for name, service in _SERVICES.items() if service.key_variable)
    return next((name for name in keyed if os.environ.get(_SERVICES[name].key_variable, "").strip()), "")


def load_corpus(settings: WebSettings) -> Corpus:
    """The corpus that the settings name, else the one of the package.

    Raises:
        WorkspaceError, SourceError: as `Corpus.load`.
    """
    return Corpus.load(BUNDLED if settings.corpus is None else Path(settings.corpus))


def named_corpus(settings: WebSettings) -> RetrievalCorpus:
    """The corpus of the workspace that the settings name.

    Raises:
        ConfigError: if they name none.
        UsageError, DataError: if there is none of that name, or it is damaged.
    """
    if not settings.corpus:
        raise ConfigError(
            "the provider corpus needs the name of a corpus", where="web.corpus", code="missing-corpus",
            fix="List them: hellofresh corpus show",
        )  # fmt: skip
    from hellofresh.evidence.retrieval.corpora import open_corpus  # with polars, which no other provider needs

    return open_corpus(Workspace.from_environment(), settings.corpus)


def open_provider(
    settings: WebSettings, *, replay: bool = False, retries: RetryPolicy = SEARCH_RETRIES, corpus: Corpus | None = None
) -> SearchProvider:
    """The provider that the settings name.

    Args:
        settings: which, where it is and where its key is.
        replay: nothing will be asked, so that no key is needed.
        retries: how long a provider is waited for.
        corpus: the pages of the provider `offline`, if they are loaded already.

    Raises:
        ConfigError: if a key or an address is missing, or a key would go over an unencrypted connection.
        UsageError: if a package is missing.
        WorkspaceError, SourceError: if the corpus cannot be read.
    """
    name = settings.provider
    if name == "offline":
        return Offline(corpus or load_corpus(settings))
    if name == "corpus":
        from hellofresh.evidence.retrieval.retrievers import open_retriever  # an extra, which takes a while to import
        from hellofresh.evidence.web.search.corpus import CorpusSearch

        found = named_corpus(settings)
        return CorpusSearch(found, open_retriever(settings.retriever, found))
    if name == "ddgs":
        return Ddgs()
    if name == "google":
        return _google(settings, replay=replay, retries=retries)
    said: WebProviderSettings = getattr(settings, name)
    service = _SERVICES[name]
    base_url = said.base_url or service.base_url
    if not base_url:
        raise ConfigError(
            f"{name} needs an address", where=f"web.{name}.base_url", code="missing-url",
            expected="such as https://search.example.org/search",
        )  # fmt: skip
    key = _key(name, said.key_variable or service.key_variable, base_url, replay=replay)
    return service.make(base_url, key, retries)


def _google(settings: WebSettings, *, replay: bool, retries: RetryPolicy) -> SearchProvider:
    said = settings.google
    if not said.engine:
        raise ConfigError(
            "google needs the id of a search engine", where="web.google.engine", code="missing-engine",
            fix="Google closed this API to new customers, and it ends on 2027-01-01: another provider lasts longer.",
        )  # fmt: skip
    base_url = said.base_url or google.BASE_URL
    key = _key("google", said.key_variable or "GOOGLE_API_KEY", base_url, replay=replay)
    return google.google(base_url, key, said.engine, retries)


def _key(name: str, variable: str, base_url: str, *, replay: bool) -> str:
    if not variable or replay:
        return ""
    key = os.environ.get(variable, "").strip()
    if not key or not key.isascii() or not key.isprintable():
        raise ConfigError(
            f"{name} needs a key" if not key else "no key",
            where=f"environment variable {variable}",
            expected="a key of printable ASCII characters",
            fix=f"Set {variable}, or another provider under [web] in hellofresh.toml; `offline` and `ddgs` need none.",
            code="missing-key",
        )
    if not may_carry_key(base_url):
        raise ConfigError(
            "a key is not sent over an unencrypted connection",
            where=f"web.{name}.base_url", expected="https://...", code="insecure-url",
        )  # fmt: skip
    return key
