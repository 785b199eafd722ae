"""Sample articles written for this project, rendered as one full-history export of a wiki.

Each article is a TOML file: its first text, then revisions as replacements of passages, restorations or blankings.
The export has the form of MediaWiki's schema 0.11 (https://www.mediawiki.org/xml/export-0.11.xsd).
"""

from __future__ import annotations

import bz2
import hashlib
import ipaddress
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Annotated
from xml.sax.saxutils import escape, quoteattr

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from hellofresh.core.errors import SourceError
from hellofresh.core.files import write_bytes
from hellofresh.core.quarters import parse_utc, utc_text

FIRST_REVISION_ID = 90_000_001
LATER_PAGES = 5200
"""Pages from this id on were written later: their revisions are numbered after all others, which keep their ids."""


def _moment(value: object) -> datetime:
    if not isinstance(value, str):
        raise ValueError('a time is written as text, such as "2026-04-02T10:12:40Z"')
    return parse_utc(value)


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be blank")
    return value


_Moment = Annotated[datetime, BeforeValidator(_moment)]
_Words = Annotated[str, AfterValidator(_not_blank)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Start(_Strict):
    """The first revision."""

    at: _Moment
    by: _Words
    comment: str = ""
    text: _Words


class ArticleChange(_Strict):
    """A passage that occurs exactly once, and its replacement."""

    old: Annotated[str, Field(min_length=1)]
    new: str


class ArticleStep(_Strict):
    """A later revision: changes, or the text of an earlier revision, or nothing."""

    at: _Moment
    by: _Words
    comment: str = ""
    fate: _Words | None = None
    minor: bool = False
    hidden: bool = False
    hidden_user: bool = False
    absent: bool = False
    change: tuple[ArticleChange, ...] = Field(default=(), strict=False)
    restore: Annotated[int, Field(ge=1)] | None = None
    blank: bool = False

    @model_validator(mode="after")
    def _one_kind(self) -> ArticleStep:
        if bool(self.change) + (self.restore is not None) + self.blank != 1:
            raise ValueError("a revision has either change entries, or restore, or blank")
        return self


class Article(_Strict):
    """An article as written in its file."""

    title: _Words
    page_id: Annotated[int, Field(ge=1)]
    start: Start
    revision: tuple[ArticleStep, ...] = Field(default=(), strict=False)


@dataclass(frozen=True, slots=True)
class ArticleState:
    """A revision with its whole text.

    Attributes:
        id: number across all pages, in order of time.
        parent: the page's previous revision, 0 for the first.
        page: the page's id.
        at: when it was saved, UTC.
        by: account name or IP address.
        comment: edit summary.
        minor: whether it is marked as a minor edit.
        hidden: whether the text exists but is suppressed in an export.
        hidden_user: whether the author is suppressed in an export.
        absent: whether it was deleted from the wiki: an export goes from the revision before to the one after.
        text: the wikitext.
        fate: the fate that its author expects of the rule, if any.
    """

    id: int
    parent: int
    page: int
    at: datetime
    by: str
    comment: str
    minor: bool
    hidden: bool
    hidden_user: bool
    absent: bool
    text: str
    fate: str | None


def read_article(path: Path) -> Article:
    """Read one article.

    Raises:
        SourceError: if the file is not TOML, has unexpected fields, or its revisions are not in order of time.
    """
    try:
        article = Article.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SourceError(f"not readable TOML ({error})", where=str(path), code="bad-toml") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise SourceError(f"{where}: {first['msg']}", where=str(path), code="bad-article") from None
    moments = [article.start.at, *(step.at for step in article.revision)]
    for before, after in pairwise(moments):
        if after <= before:
            raise _wrong(path, f"the revision of {utc_text(after)} is not later than the one before it")
    return article


def _wrong(path: Path, what: str, expected: str = "") -> SourceError:
    return SourceError(what, where=str(path), expected=expected, code="bad-article")


@dataclass(frozen=True, slots=True)
class _Draft:
    step: Start | ArticleStep
    text: str


def _drafts(article: Article, path: Path) -> list[_Draft]:
    drafts = [_Draft(article.start, article.start.text.strip("\n"))]
    for number, step in enumerate(article.revision, start=2):
        drafts.append(_Draft(step, _next_text(step, number, drafts, path)))
    return drafts


def _next_text(step: ArticleStep, number: int, drafts: Sequence[_Draft], path: Path) -> str:
    if step.blank:
        return ""
    if step.restore is not None:
        if step.restore >= number:
            raise _wrong(path, f"revision {number} restores revision {step.restore}", "an earlier one")
        return drafts[step.restore - 1].text
    text = drafts[-1].text
    for change in step.change:
        count = text.count(change.old)
        if count != 1:
            raise _wrong(path, f"revision {number}: {change.old[:60]!r} occurs {count} times", "exactly once")
        text = text.replace(change.old, change.new)
    return text.strip("\n")


@dataclass(frozen=True, slots=True)
class _Book:
    """An article with its states."""

    article: Article
    states: tuple[ArticleState, ...]


def states(articles_dir: Path) -> dict[int, tuple[ArticleState, ...]]:
    """The revisions of every article in a folder, by page id.

    Raises:
        SourceError: if there is no article, one is malformed, or two have the same page id or title.
    """
    return {book.article.page_id: book.states for book in _books(articles_dir)}


def _books(articles_dir: Path) -> list[_Book]:
    paths = sorted(articles_dir.glob("*.toml"), key=lambda path: path.name)
    if not paths:
        raise SourceError("no articles", where=str(articles_dir), expected="TOML files", code="no-articles")
    articles = {path: read_article(path) for path in paths}
    _refuse_doubles(articles)
    drafts = {article.page_id: _drafts(article, path) for path, article in articles.items()}
    places = sorted(
        (page >= LATER_PAGES, draft.step.at, page, number)
        for page, found in drafts.items()
        for number, draft in enumerate(found)
    )
    ids = {(page, number): FIRST_REVISION_ID + place for place, (*_, page, number) in enumerate(places)}
    ordered = sorted(articles.values(), key=lambda article: article.page_id)
    return [_Book(article, tuple(_states(article.page_id, drafts[article.page_id], ids))) for article in ordered]


def _refuse_doubles(articles: dict[Path, Article]) -> None:
    seen: dict[int | str, Path] = {}
    for path, article in articles.items():
        for key in (article.page_id, article.title):
            if key in seen:
                raise _wrong(path, f"{key!r} is also in {seen[key].name}", "page ids and titles of one article each")
            seen[key] = path


def _states(page: int, drafts: Sequence[_Draft], ids: dict[tuple[int, int], int]) -> Iterator[ArticleState]:
    for number, draft in enumerate(drafts):
        step = draft.step
        later = step if isinstance(step, ArticleStep) else None
        yield ArticleState(
            id=ids[page, number],
            parent=ids.get((page, number - 1), 0),
            page=page,
            at=step.at,
            by=step.by,
            comment=step.comment,
            minor=later is not None and later.minor,
            hidden=later is not None and later.hidden,
            hidden_user=later is not None and later.hidden_user,
            absent=later is not None and later.absent,
            text=draft.text,
            fate=later.fate if later is not None else None,
        )


def write_history(articles_dir: Path, path: Path) -> None:
    """Write all articles of a folder as one full-history export packed by bzip2, reproducibly.

    Raises:
        SourceError: see `states`.
        WorkspaceError: if the file cannot be written.
    """
    books = _books(articles_dir)
    users = _user_ids(books)
    lines = [_HEAD]
    for book in books:
        title = escape(book.article.title)
        lines.append(f"  <page>\n    <title>{title}</title>\n    <ns>0</ns>\n    <id>{book.article.page_id}</id>\n")
        lines += [_revision(state, users) for state in book.states if not state.absent]
        lines.append("  </page>\n")
    lines.append("</mediawiki>\n")
    write_bytes(path, bz2.compress("".join(lines).encode()))


def _user_ids(books: Sequence[_Book]) -> dict[str, int]:
    """Numbers for account names, by first edit."""
    every = sorted((state for book in books for state in book.states), key=lambda state: state.id)
    names = dict.fromkeys(state.by for state in every if not _is_address(state.by))
    return {name: number for number, name in enumerate(names, start=1001)}


def _is_address(user: str) -> bool:
    try:
        ipaddress.ip_address(user)
    except ValueError:
        return False
    return True


def _revision(state: ArticleState, users: dict[str, int]) -> str:
    parent = f"      <parentid>{state.parent}</parentid>\n" if state.parent else ""
    comment = f"      <comment>{escape(state.comment)}</comment>\n" if state.comment else ""
    return (
        f"    <revision>\n      <id>{state.id}</id>\n{parent}"
        f"      <timestamp>{utc_text(state.at.astimezone(UTC))}</timestamp>\n"
        f"{_contributor(state, users)}"
        f"{'      <minor />' + chr(10) if state.minor else ''}{comment}"
        f"      <origin>{state.id}</origin>\n      <model>wikitext</model>\n      <format>text/x-wiki</format>\n"
        f"{_text(state)}    </revision>\n"
    )


def _contributor(state: ArticleState, users: dict[str, int]) -> str:
    if state.hidden_user:
        return '      <contributor deleted="deleted" />\n'
    if state.by in users:
        who = f"<username>{escape(state.by)}</username>\n        <id>{users[state.by]}</id>"
    else:
        who = f"<ip>{escape(state.by)}</ip>"
    return f"      <contributor>\n        {who}\n      </contributor>\n"


def _text(state: ArticleState) -> str:
    if state.hidden:
        return '      <text bytes="0" deleted="deleted" />\n      <sha1 />\n'
    sha1, size = _sha1(state.text), len(state.text.encode())
    body = f">{escape(state.text)}</text>" if state.text else " />"
    return (
        f"      <text bytes={quoteattr(str(size))} sha1={quoteattr(sha1)} "
        f'xml:space="preserve"{body}\n      <sha1>{sha1}</sha1>\n'
    )


def _sha1(text: str) -> str:
    """SHA-1 in base 36, 31 digits, as MediaWiki writes it."""
    number = int.from_bytes(hashlib.sha1(text.encode(), usedforsecurity=False).digest())
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits.rjust(31, "0")


_NAMESPACES = {
    -2: "Media",
    -1: "Special",
    0: "",
    1: "Talk",
    2: "User",
    3: "User talk",
    4: "Project",
    5: "Project talk",
    6: "File",
    7: "File talk",
    8: "MediaWiki",
    9: "MediaWiki talk",
    10: "Template",
    11: "Template talk",
    12: "Help",
    13: "Help talk",
    14: "Category",
    15: "Category talk",
}


def _namespace(key: int, name: str) -> str:
    body = f">{name}</namespace>" if name else " />"
    return f'      <namespace key="{key}" case="first-letter"{body}\n'


_HEAD = (
    '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
    'xsi:schemaLocation="http://www.mediawiki.org/xml/export-0.11/ '
    'http://www.mediawiki.org/xml/export-0.11.xsd" version="0.11" xml:lang="en">\n'
    "  <siteinfo>\n    <sitename>HelloFresh sample wiki</sitename>\n    <dbname>hellofreshsample</dbname>\n"
    "    <base>https://wiki.example/wiki/Main_Page</base>\n    <generator>HelloFresh</generator>\n"
    "    <case>first-letter</case>\n    <namespaces>\n"
    + "".join(_namespace(key, name) for key, name in _NAMESPACES.items())
    + "    </namespaces>\n  </siteinfo>\n"
)
