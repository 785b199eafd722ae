"""The document that every page of the live site begins as: its title, its preview tags, and the scripts of its tables.

Search engines and chat programs that preview a link run no scripts: what they show of a page stands here.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl

from anyio import to_thread
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hellofresh.core.errors import HelloFreshError
from leaderboard.components.markup import Html, el, join
from leaderboard.components.pieces import preview_tags
from leaderboard.live import PAGES
from leaderboard.live.session import current_board, page_title
from leaderboard.views import Page

_HERE = Path(__file__).parent
_SCRIPTS = ("table.js", "navigation.js")
_TITLE = re.compile(rb"<title>.*?</title>", re.DOTALL)
_PATHS = {page.path: page for page in PAGES}


class DocumentHead:
    """Middleware that puts a page's title, preview tags and scripts into the document that Streamlit serves."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._scripts = join(el("script", Html((_HERE / name).read_text(encoding="utf-8"))) for name in _SCRIPTS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; only documents are changed."""
        page = _page_of(scope)
        if page is None:
            await self._app(scope, receive, send)
            return
        query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        head = await to_thread.run_sync(self._head, page, query)
        plain = [(name, value) for name, value in scope["headers"] if name != b"accept-encoding"]
        await self._app({**scope, "headers": plain}, receive, _Rewritten(send, str(head).encode()).send)

    def _head(self, page: Page, query: Mapping[str, str]) -> Html:
        try:
            title = page_title(current_board(), page.title, query)
        except HelloFreshError as error:
            logging.getLogger("leaderboard").info("%s", error)  # the page itself says what is wrong
            title = f"{page.title} \N{MIDDLE DOT} HelloFresh"
        return join([preview_tags(title, page.about), self._scripts])


def _page_of(scope: Scope) -> Page | None:
    """The page whose document is asked for, None for everything else."""
    if scope["type"] != "http" or scope["method"] != "GET":
        return None
    last = scope["path"].rpartition("/")[2]
    return _PATHS.get(last, None if last else PAGES[0])


class _Rewritten:
    """Sends an answer on, with the head in place of the title if it is a document."""

    def __init__(self, send: Send, head: bytes) -> None:
        self._send, self._head = send, head
        self._start: Message | None = None
        self._body = b""

    async def send(self, message: Message) -> None:
        """Take a part of the answer."""
        if message["type"] == "http.response.start":
            headers: dict[bytes, bytes] = {name.lower(): value for name, value in message["headers"]}
            if message["status"] == 200 and headers.get(b"content-type", b"").startswith(b"text/html"):
                self._start = message
                return
        start = self._start
        if start is None or message["type"] != "http.response.body":
            await self._send(message)
            return
        self._body += message.get("body", b"")
        if not message.get("more_body", False):
            body = _TITLE.sub(lambda _: self._head, self._body, count=1)
            left = (b"content-length", b"etag", b"last-modified")
            kept = [(name, value) for name, value in start["headers"] if name.lower() not in left]
            await self._send({**start, "headers": [*kept, (b"content-length", str(len(body)).encode())]})
            await self._send({"type": "http.response.body", "body": body})
