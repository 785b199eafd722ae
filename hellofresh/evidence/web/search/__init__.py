"""Search providers, one file each."""

from hellofresh.evidence.web.search._base import ProviderAnswer, SearchProvider
from hellofresh.evidence.web.search.providers import open_provider, provider_with_key

__all__ = ["ProviderAnswer", "SearchProvider", "open_provider", "provider_with_key"]
