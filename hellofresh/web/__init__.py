"""The outside world: search, pages, and what may not be read."""

from hellofresh.web._base import Found, Page, PageStatus, SearchResult, Web

__all__ = ["Found", "Page", "PageStatus", "SearchResult", "Web"]
