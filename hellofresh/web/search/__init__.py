"""Search providers, one file each."""

from hellofresh.web.search._base import Searched, SearchProvider
from hellofresh.web.search.providers import KEYLESS, load_corpus, open_provider

__all__ = ["KEYLESS", "SearchProvider", "Searched", "load_corpus", "open_provider"]
