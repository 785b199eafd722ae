"""Search providers, one file each."""

from hellofresh.evidence.web.search._base import ProviderAnswer, SearchProvider
from hellofresh.evidence.web.search.providers import (
    KEYLESS,
    load_corpus,
    named_corpus,
    open_provider,
    provider_with_key,
)

__all__ = [
    "KEYLESS",
    "ProviderAnswer",
    "SearchProvider",
    "load_corpus",
    "named_corpus",
    "open_provider",
    "provider_with_key",
]
