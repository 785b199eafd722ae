"""Which wiki is queried, for whom, and for what."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from collectors.settings import refuse_small
from hellofresh.core.errors import UsageError
from hellofresh.core.net import may_carry_key
from hellofresh.core.quarters import Quarter, utc_text

_LONGEST_TITLE = 255  # bytes, MediaWiki's own limit
_NEVER = frozenset("|<>[]{}")
_CONTACT = re.compile(r"[\x21-\x7e][\x20-\x7e]{3,198}[\x21-\x7e]")
TOKEN, USER, PASSWORD = "HELLOFRESH_WIKI_TOKEN", "HELLOFRESH_WIKI_USER", "HELLOFRESH_WIKI_PASSWORD"
"""Environment variables: an OAuth 2 access token, or name and bot password (https://www.mediawiki.org/wiki/API:Login)."""


class Window(NamedTuple):
    """A stretch of time: from its start up to, but not including, its end."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class EditSampling:
    """How edits are drawn from the recent changes of a quarter.

    Attributes:
        pages: maximal pages; half have an edit that the wiki marks as reverted, half one that it does not.
        window_minutes: length of the windows of the quarter, which are visited in random order.
        per_window: maximal pages of either half from one window.
        lookback: revisions before a drawn edit whose hashes are requested (500 a request), to detect that it
            restores an old text of the whole page; 0 for none.
        seed: decides the order of the windows and the edits drawn in each.
    """

    pages: int = 2000
    window_minutes: int = 60
    per_window: int = 20
    lookback: int = 500
    seed: str = "hellofresh"

    def __post_init__(self) -> None:
        refuse_small(self, "wikipedia-edits", pages=2, window_minutes=1, per_window=1, lookback=0)

    def windows(self, quarter: Quarter) -> list[Window]:
        """All windows of the quarter, in the order of visits."""
        step = timedelta(minutes=self.window_minutes)
        starts = [quarter.start + number * step for number in range(-((quarter.start - quarter.end) // step))]
        windows = [Window(start, min(start + step, quarter.end)) for start in starts]
        return sorted(windows, key=lambda window: self.rank(f"{quarter}:{utc_text(window.start)}"))

    def rank(self, name: object) -> bytes:
        """The sort key for the random order: the SHA-256 of the seed and the name."""
        return hashlib.sha256(f"{self.seed}:{name}".encode()).digest()


@dataclass(frozen=True, slots=True)
class WikiAccount:
    """A wiki account, which gets higher limits; without token and name, no account."""

    token: str = field(default="", repr=False)
    user: str = ""
    password: str = field(default="", repr=False)

    @classmethod
    def from_environment(cls, api: str) -> WikiAccount:
        """The account that the environment names.

        Raises:
            UsageError: if half of it is missing, or the connection to the wiki is not encrypted.
        """
        token, user, password = (os.environ.get(name, "").strip() for name in (TOKEN, USER, PASSWORD))
        if bool(user) != bool(password) or (token and user):
            raise UsageError(
                "an incomplete account of the wiki, or two accounts",
                where=f"environment variables {TOKEN}, {USER}, {PASSWORD}",
                expected=f"{TOKEN}, or {USER} and {PASSWORD}, or none of the three",
                code="bad-account",
            )
        if (token or user) and not may_carry_key(api):
            raise UsageError(
                "a password or token is not sent without encryption",
                where=api,
                expected="an address that begins with https://",
                fix=f"Use the wiki's https address, or unset {TOKEN} and {PASSWORD}.",
                code="unsafe-account",
            )
        return cls(token, user, password)

    def __bool__(self) -> bool:
        return bool(self.token or self.user)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSource:
    """A wiki and the requested data.

    Attributes:
        api: address of its api.php.
        contact: address at which its operators reach the user.
        titles: pages whose whole histories are read; if empty, edits are drawn from the recent changes.
        sampling: rules of the draw.
        per_minute: maximal requests a minute.
        deadline_h: hours after which the run gives up; downloaded data are kept.
    """

    api: str
    contact: str
    titles: Sequence[str] = ()
    sampling: EditSampling = field(default_factory=EditSampling)
    per_minute: int = 200
    deadline_h: float = 12.0

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.api)
            fine = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.path.endswith(".php")
            fine = fine and not (parts.query or parts.fragment or parts.username)
        except ValueError:
            fine = False
        if not fine:
            raise UsageError(
                f"not the address of an API: {self.api[:200]!r}",
                expected="one such as https://en.wikipedia.org/w/api.php",
                code="bad-api",
            )

    @property
    def host(self) -> str:
        """The wiki's host."""
        return urlsplit(self.api).hostname or ""

    def parameters(self) -> dict[str, object]:
        """All parameters that decide the result; the user's identity does not."""
        if self.titles:
            return {"api": self.api, "pages": sorted(set(self.titles))}
        sampling = self.sampling
        return {
            "api": self.api,
            "drawn_pages": sampling.pages,
            "window_minutes": sampling.window_minutes,
            "per_window": sampling.per_window,
            "lookback": sampling.lookback,
            "draw_seed": sampling.seed,
        }


def read_titles(names: Sequence[str]) -> list[str]:
    """Read titles from arguments: each is a title, or a file of titles, one per line (`#` begins a comment).

    Raises:
        UsageError: if a file is unreadable, or a title is invalid.
    """
    titles: dict[str, None] = {}
    for name in names:
        for line in _lines(name):
            title = " ".join(line.replace("_", " ").split())
            if not title or title.startswith("#"):
                continue
            if len(title.encode("utf-8", "replace")) > _LONGEST_TITLE or not title.isprintable() or set(title) & _NEVER:
                expected = "a title as the wiki shows it"
                raise UsageError(f"not a title: {title[:80]!r}", expected=expected, code="bad-title")
            titles[title] = None
    if names and not titles:
        raise UsageError("--pages names no title", where=names[0], code="no-titles")
    return list(titles)


def _lines(name: str) -> list[str]:
    try:
        if not Path(name).is_file():
            return [name]
    except (OSError, ValueError):
        return [name]
    try:
        return Path(name).read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot be read ({error})", where=name, expected="UTF-8 text", code="bad-titles") from None


def check_contact(contact: str | None) -> str:
    """The operator's contact; raises UsageError if it is missing or cannot reach a person."""
    text = (contact or "").strip()
    if not text:
        raise UsageError(
            "no contact: a wiki's operators must be able to reach whoever runs this before they have to block it",
            expected="your own e-mail address or the address of your user page",
            fix='Give --contact, or [sources.wikipedia-edits] contact = "..." in hellofresh.toml.',
            code="no-contact",
        )
    if not _CONTACT.fullmatch(text) or not ("@" in text or "://" in text):
        raise UsageError(
            f"not a contact: {text[:60]!r}",
            expected="one line of plain ASCII with an e-mail address or a web address",
            code="bad-contact",
        )
    return text
