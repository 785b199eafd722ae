"""The outside world: search, pages, and what may not be read."""

from hellofresh.evidence.web._base import Found, ImageSearch, PageStatus, SearchResult, Web, WebPage
from hellofresh.evidence.web.dates import end_of
from hellofresh.evidence.web.store import open_web
from hellofresh.evidence.web.text import canary, first_words

__all__ = [
    "Found",
    "ImageSearch",
    "PageStatus",
    "SearchResult",
    "Web",
    "WebPage",
    "canary",
    "end_of",
    "first_words",
    "open_web",
]
