"""Client of a wiki's API (https://www.mediawiki.org/wiki/API:Main_page): recent changes, page ids and histories.

Works with MediaWiki 1.32 and later. The given session limits its requests; earlier responses are read from disk.
"""

from __future__ import annotations

import lzma
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC
from pathlib import Path
from urllib.parse import urlsplit

import mwclient
from pydantic import AwareDatetime, Field, ValidationError

from collectors.wikipedia.export import NO_USER, loss_of
from collectors.wikipedia.names import WikiNames, wiki_names
from collectors.wikipedia.polite import PoliteSession
from collectors.wikipedia.source import PASSWORD, TOKEN, USER, WikiAccount, Window
from collectors.wikipedia.wikitext import Revision, WikiPage, host_of
from hellofresh.core.errors import SourceError, WorkspaceError
from hellofresh.core.files import canonical_json, model_fault
from hellofresh.core.net.database import open_database
from hellofresh.core.net.paging import Paging
from hellofresh.core.quarters import utc_text
from hellofresh.core.strict import Json, Lenient

REVERTED = "mw-reverted"
"""The tag that MediaWiki itself gives to reverted edits (https://www.mediawiki.org/wiki/Manual:Reverts)."""

BAD_CONTINUE = "api-bad-continue"
_BATCH = 50  # maximal revisions with texts in a response to an unprivileged client
_HASHES = 500  # maximal revisions without texts
_PROPERTIES = "ids|timestamp|user|comment|flags|content|sha1|tags|size|slotsize|slotsha1"
_ARTICLES = 0
_SCHEMA = "CREATE TABLE IF NOT EXISTS answers (question TEXT PRIMARY KEY, final INTEGER, body BLOB) WITHOUT ROWID"


class _Slot(Lenient):
    content: str | None = None
    contentmodel: str = "wikitext"
    texthidden: bool = False
    size: int | None = None
    sha1: str = ""


class _Revision(Lenient):
    revid: int
    parentid: int = 0
    timestamp: AwareDatetime
    user: str | None = None
    userhidden: bool = False
    tags: list[str] = Field(default=[])
    sha1: str | None = None
    slots: dict[str, _Slot] = Field(default={})


class _Page(Lenient):
    pageid: int = 0
    ns: int = _ARTICLES
    title: str = ""
    missing: bool = False
    invalid: bool = False
    revisions: list[_Revision] = Field(default=[])


class RecentChange(Lenient):
    """A recent edit; `tags` are the wiki's own tags."""

    timestamp: AwareDatetime
    revid: int = 0
    old_revid: int = 0
    pageid: int = 0
    tags: list[str] = Field(default=[])


class _Renamed(Lenient):
    from_: str = Field(alias="from")
    to: str


class _Namespace(Lenient):
    id: int
    name: str = ""
    alias: str = ""
    canonical: str = ""


class _General(Lenient):
    lang: str = ""


class _Query(Lenient):
    general: _General = _General()
    namespaces: dict[str, _Namespace] = Field(default={})
    namespacealiases: list[_Namespace] = Field(default=[])
    pages: list[_Page] = Field(default=[])
    recentchanges: list[RecentChange] = Field(default=[])
    normalized: list[_Renamed] = Field(default=[])


class _Body(Lenient):
    curtimestamp: AwareDatetime
    continue_: dict[str, str | int] | None = Field(default=None, alias="continue")
    query: _Query = _Query()


class WikiSite:
    """A polite client that never repeats a request; with an account, the wiki must confirm it in every response.

    Raises:
        SourceError: from any method, if the wiki is unavailable or a response is malformed.
    """

    def __init__(
        self, api: str, session: PoliteSession, answers: WikiAnswers, account: WikiAccount | None = None
    ) -> None:
        self._api, self._answers, self._account = api, answers, account or WikiAccount()
        self._session = session
        address = urlsplit(api)
        folder, _, script = address.path.rpartition("/")
        self._client = mwclient.Site(
            address.netloc,
            path=f"{folder}/",
            ext=script.removeprefix("api"),
            scheme=address.scheme,
            pool=session,
            max_retries=0,  # the session retries
            do_init=False,
        )
        if self._account.token:
            session.headers["Authorization"] = f"Bearer {self._account.token}"
        self._logged_in = not self._account.user
        self._lock = threading.Lock()
        self.losses: dict[int, str] = {}
        """Why the text or the user of a revision is missing although it is not hidden."""

    def changes(self, window: Window, *, tag: str | None, bots: bool, ask: bool) -> list[RecentChange]:
        """Edits of articles in a window, from its start on: all, or as many as one response has.

        Args:
            tag: only edits with this tag of the wiki.
            bots: also edits that are marked as a bot's.
            ask: whether to query the wiki; otherwise only stored responses are used.
        """
        question = {
            "list": "recentchanges",
            "rcdir": "newer",
            "rcstart": utc_text(window.start),
            "rcend": utc_text(window.end),
            "rcnamespace": str(_ARTICLES),
            "rctype": "edit",
            "rcprop": "ids|timestamp|tags",
            "rclimit": "max",
        }
        if tag is not None:
            question["rctag"] = tag
        if not bots:
            question["rcshow"] = "!bot"
        if not ask and self._answers.get(self._key(question)) is None:
            return []
        end = window.end
        body = self._ask(question, lambda body: body.curtimestamp > end)
        found = body.query.recentchanges
        return [change for change in found if change.revid and change.old_revid and change.pageid]

    def reach(self) -> Window:
        """From the oldest recent change to the wiki's present time; of length 0 if there are none."""
        question = {"list": "recentchanges", "rcdir": "newer", "rclimit": "1", "rcprop": "timestamp|ids"}
        body = self._ask(question, lambda _: False)
        now = body.curtimestamp.astimezone(UTC)
        oldest = next((change.timestamp.astimezone(UTC) for change in body.query.recentchanges), now)
        return Window(min(oldest, now), now)

    def names(self) -> WikiNames:
        """The wiki's language and its names of namespaces."""
        question = {"meta": "siteinfo", "siprop": "general|namespaces|namespacealiases"}
        query = self._ask(question, lambda _: True).query
        said: dict[int, list[str]] = {}
        for one in (*query.namespaces.values(), *query.namespacealiases):
            said.setdefault(one.id, []).extend((one.name, one.alias, one.canonical))
        return wiki_names(query.general.lang, said)

    def page_ids(self, titles: Sequence[str]) -> dict[str, int]:
        """The ids of articles by title; raises SourceError if the wiki lacks an article."""
        found: dict[str, int] = {}
        for start in range(0, len(titles), _BATCH):
            asked = titles[start : start + _BATCH]
            query = self._ask({"prop": "info", "titles": "|".join(asked)}, lambda _: False).query
            renamed = {item.from_: item.to for item in query.normalized}
            ids = {page.title: page.pageid for page in query.pages if page.pageid and page.ns == _ARTICLES}
            for title in asked:
                id_ = ids.get(renamed.get(title, title))
                if id_ is None:
                    raise SourceError(
                        f"no article {title!r}",
                        where=self._api,
                        expected="the title of an article as the wiki shows it",
                        fix="Articles that were deleted cannot be collected.",
                        code="unknown-page",
                    )
                found[title] = id_
        return found

    def page(self, id_: int, *, around: int | None = None) -> WikiPage | None:
        """An article with its history, read lazily, from some revisions before `around` on; None if deleted."""
        before: list[Revision] = []
        if around is not None:
            body = self._asked(id_, {"rvdir": "older", "rvstartid": str(around), "rvlimit": str(_BATCH)})
            older = None if body is None else _only(body)
            if older is None or not older.revisions or older.revisions[0].revid != around:
                return None
            before = [self._revision(item) for item in reversed(older.revisions)]
        batches = self._batches(id_, around)
        first = next(batches, None)
        if first is None or first.ns != _ARTICLES:
            return None
        return WikiPage(id_, first.title, self._history(before, first, batches), host_of(self._api))

    def gives_old_text(self, page: int, revision: int, *, lookback: int) -> bool:
        """Whether a revision restores the whole text of an earlier one, by the wiki's hashes."""
        place = {"rvdir": "older", "rvstartid": str(revision), "rvprop": "ids|timestamp|sha1"}
        hashes: list[str | None] = []  # of the revision's text and of earlier ones; None for hidden ones
        more: Mapping[str, str | int] | None = {}
        left = lookback + 1
        paging = Paging(self._api)
        while more is not None and left > 0 and not (hashes and hashes[0] in (None, *hashes[1:])):
            forth = {name: str(value) for name, value in more.items()}
            body = self._asked(page, {**place, "rvlimit": str(min(left, _HASHES)), **forth}, paging)
            found = None if body is None else _only(body)
            if body is None or found is None:
                break
            hashes += [item.sha1 for item in found.revisions]
            left -= max(1, len(found.revisions))
            more = body.continue_
        return bool(hashes) and hashes[0] is not None and hashes[0] in hashes[1:]

    def _history(self, before: list[Revision], first: _Page, rest: Iterator[_Page]) -> Iterator[Revision]:
        yield from before
        known = {revision.id for revision in before}
        yield from (self._revision(item) for item in first.revisions if item.revid not in known)
        for batch in rest:
            yield from map(self._revision, batch.revisions)

    def _revision(self, item: _Revision) -> Revision:
        """The revision; text that is not wikitext, or not as the wiki describes it, is left out."""
        slot = item.slots.get("main", _Slot())
        size = "" if slot.size is None else str(slot.size)
        loss = "" if slot.texthidden else loss_of(slot.content, model=slot.contentmodel, size=size, sha1=slot.sha1)
        if loss or (item.user is None and not item.userhidden):
            self.losses[item.revid] = loss or NO_USER
        return Revision(
            item.revid,
            item.parentid or None,
            item.timestamp.astimezone(UTC),
            None if item.userhidden else item.user,
            None if slot.texthidden or loss else slot.content,
        )

    def _batches(self, id_: int, start: int | None) -> Iterator[_Page]:
        place = {} if start is None else {"rvstartid": str(start)}
        more: Mapping[str, str | int] | None = {}
        paging = Paging(self._api)
        while more is not None:
            forth = {name: str(value) for name, value in more.items()}
            question = {"rvdir": "newer", "rvlimit": str(_BATCH), **place, **forth}
            body = self._revisions(id_, question, lambda body: body.continue_ is not None, paging)
            page = _only(body)
            if page is None:
                return
            yield page
            more = body.continue_

    def _asked(self, id_: int, question: Mapping[str, str], paging: Paging | None = None) -> _Body | None:
        """The content before a revision; None if the wiki no longer has it."""
        try:
            return self._revisions(id_, question, lambda _: True, paging)
        except SourceError as error:
            if error.code == "api-no-such-revision":
                return None
            raise

    def _revisions(
        self, id_: int, question: Mapping[str, str], final: Callable[[_Body], bool], paging: Paging | None = None
    ) -> _Body:
        common = {"prop": "revisions", "pageids": str(id_), "rvprop": _PROPERTIES, "rvslots": "main"}
        return self._ask({**common, **question}, final, paging)

    def _ask(self, question: Mapping[str, str], final: Callable[[_Body], bool], paging: Paging | None = None) -> _Body:
        """The stored or fetched answer; one that brings a paged history no further is neither stored nor used."""
        self._session.refuse_if_stopped(self._api)
        paging = paging or Paging(self._api)
        key = self._key(question)
        kept = self._answers.get(key)
        if kept is not None:
            body = self._read(kept)
            if paging.is_new(*_marks(body)):
                paging.step(*_marks(body))
                return body
        answer = canonical_json(self._fetch(question))
        body = self._read(answer)
        paging.step(*_marks(body))
        self._answers.put(key, answer, final=final(body))
        return body

    def forget_page(self, id_: int) -> None:
        """Delete the stored answers about one page, so that it is read anew."""
        self._answers.forget(f'"pageids":"{id_}"')

    def _key(self, question: Mapping[str, str]) -> str:
        return canonical_json({"api": self._api, **question})

    def _fetch(self, question: Mapping[str, str]) -> Json:
        known = {"assert": "user"} if self._account else {}
        try:
            with self._lock:  # stored responses need no login
                if not self._logged_in:
                    self._client.login(self._account.user, self._account.password)
                    self._logged_in = True
            form = {"formatversion": "2", "curtimestamp": "1", "continue": "", **known}
            raw = self._client.get("query", **{**form, **question})
            raw.get("query", {}).pop("userinfo", None)  # identifies the user, maybe by IP address, and is not needed
        except mwclient.errors.LoginError as error:
            raise self._not_logged_in(str(error.code)) from None
        except mwclient.errors.APIError as error:
            if str(error.code).startswith(("assert", "mwoauth")):
                raise self._not_logged_in(str(error.code)) from None
            gone = str(error.code).startswith("badid_") or error.code == "nosuchrevid"
            again = error.code == "badcontinue"
            raise SourceError(
                f"the wiki refuses: {str(error.info)[:300]} ({error.code})",
                where=self._api,
                fix="Run the same command again later." if again else "See the wiki's own help on its API.",
                code=BAD_CONTINUE if again else "api-no-such-revision" if gone else "api-error",
            ) from error
        except (mwclient.errors.MwClientError, AttributeError, KeyError, TypeError, ValueError) as error:
            # The client processes unchecked data.
            raise self._strange(type(error).__name__) from error
        assert isinstance(raw, dict)
        return raw

    def _not_logged_in(self, why: str) -> SourceError:
        return SourceError(
            f"the wiki does not know the account ({why})",
            where=self._api,
            expected=f"a valid {TOKEN}, or {USER} and {PASSWORD} of a bot password",
            fix="Check them, or unset them to ask without an account, at a lower rate.",
            code="api-login",
        )

    def _read(self, answer: str) -> _Body:
        try:
            body = _Body.model_validate_json(answer)
        except ValidationError as error:
            raise self._strange(model_fault(error)) from None
        for page in body.query.pages:
            order = [(item.timestamp, item.revid) for item in page.revisions]
            if sorted(set(order)) not in (order, order[::-1]):
                raise self._strange(f"revisions of page {page.pageid} are out of order or repeated")
        return body

    def _strange(self, what: str) -> SourceError:
        return SourceError(
            f"the answer cannot be understood ({what})",
            where=self._api,
            expected="a MediaWiki of version 1.32 or newer",
            fix="If the wiki answered at this address before, try again later; else check the address.",
            code="api-strange-answer",
        )


def _marks(body: _Body) -> list[tuple[str, object]]:
    """What may come once only in the pages of one history: revisions, and where the next page begins."""
    revisions: list[tuple[str, object]] = [
        ("revision", item.revid) for page in body.query.pages for item in page.revisions
    ]
    return revisions if body.continue_ is None else [*revisions, ("continue", canonical_json(dict(body.continue_)))]


def _only(body: _Body) -> _Page | None:
    pages = [page for page in body.query.pages if not page.missing and not page.invalid]
    return pages[0] if pages else None


class WikiAnswers(AbstractContextManager["WikiAnswers"]):
    """A file of responses by request; thread-safe.

    A response is *final* if the wiki would give the same again, such as a stretch of history that has a successor, and
    *open* if it may grow, such as the end of a history.

    Raises:
        WorkspaceError: if it cannot be written, or is another kind of file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        try:
            self._db = open_database(path, _SCHEMA, wait_s=10, any_thread=True)
        except (OSError, sqlite3.Error) as error:
            raise self._unusable(error) from error

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def get(self, question: str) -> str | None:
        """The stored response, if any."""
        rows = self._run("SELECT body FROM answers WHERE question = ?", question)
        try:
            return lzma.decompress(rows[0][0]).decode() if rows else None
        except (lzma.LZMAError, UnicodeDecodeError) as error:
            raise self._unusable(error) from error

    def put(self, question: str, answer: str, *, final: bool) -> None:
        """Store a response; it is on disk on return."""
        body = lzma.compress(answer.encode(), preset=1)
        self._run("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", question, int(final), body)

    def forget(self, part: str) -> None:
        """Delete the responses to requests that contain a text."""
        self._run("DELETE FROM answers WHERE instr(question, ?)", part)

    def forget_open(self) -> None:
        """Delete the responses that may have grown."""
        self._run("DELETE FROM answers WHERE NOT final")

    def _run(self, statement: str, *values: object) -> list[tuple[bytes]]:
        try:
            with self._lock:  # to the last row: a cursor must not be read while another thread writes
                return self._db.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def _unusable(self, error: Exception) -> WorkspaceError:
        return WorkspaceError(
            f"cannot be used ({error})",
            where=str(self._path),
            expected="a file of answers that this program has made, in a folder that can be written",
            fix="Move it away to fetch everything again, or set HELLOFRESH_DATA to another folder.",
            code="bad-answers",
        )
