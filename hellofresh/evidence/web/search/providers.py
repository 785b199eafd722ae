"""Providers by name, opened from the settings."""

from __future__ import annotations

import os
from pathlib import Path

from hellofresh.core.errors import ConfigError
from hellofresh.core.net import may_carry_key
from hellofresh.core.net.retry import RetryPolicy
from hellofresh.core.plugins import plugins
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.settings import PLUGINS, WebProviderSettings, WebSettings
from hellofresh.evidence.web.search import SearchProvider
from hellofresh.evidence.web.search.ddgs import Ddgs
from hellofresh.evidence.web.search.offline import BUNDLED, Corpus, Offline
from hellofresh.evidence.web.search.services import (
    IMAGE_SERVICES,
    SEARCH_RETRIES,
    SERVICES,
    HttpProvider,
    PagedImageSearch,
    Service,
    image_search,
)


def provider_with_key() -> str:
    """The first provider whose key stands in its usual environment variable, empty without one."""
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
        from hellofresh.evidence.web.search.corpus import CorpusSearch

        corpus = open_corpus(Workspace.from_environment(), settings.corpus)
        return CorpusSearch(corpus, open_retriever(settings.retriever, corpus))
    if name == "ddgs":
        return Ddgs()
    if name not in SERVICES:
        provider: SearchProvider = plugins(PLUGINS, name)[name](settings.options, replay=replay)
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
    return image_search(name, *_place(IMAGE_SERVICES[name], getattr(settings, name), replay=replay), retries)


def _place(service: Service, said: WebProviderSettings, *, replay: bool) -> tuple[str, str]:
    """Where a service is asked, and with which key; without one where nothing will be asked."""
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
