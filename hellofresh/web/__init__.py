"""The outside world: search, pages, and what may not be read."""

from hellofresh.web._base import Found, ImageSearch, PageStatus, SearchResult, Web, WebPage
from hellofresh.web._dates import end_of
from hellofresh.web.overlap import canary
from hellofresh.web.store import open_web
from hellofresh.web.text import first_words

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
