"""The outside world: search, pages, and what may not be read."""

from hellofresh.web._base import Found, Page, PageStatus, SearchResult, Web
from hellofresh.web.overlap import canary
from hellofresh.web.store import open_web
from hellofresh.web.text import first_words

__all__ = ["Found", "Page", "PageStatus", "SearchResult", "Web", "canary", "first_words", "open_web"]
