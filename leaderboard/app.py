"""The site for others, as `streamlit run leaderboard/app.py` and the container start it: one server, one port.

Below `submit` Streamlit checks uploads; everything else is a file of the copy of the board.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from anyio import to_thread
from starlette.middleware import Middleware
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from leaderboard.serving import SUBMIT, ServedCopy, board_folder


class CopyBeside:
    """Middleware that answers with the copy's files, whatever is not Streamlit's."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._base = f"/{st.get_option('server.baseUrlPath').strip('/')}"
        self._copy: ServedCopy | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or f"{scope['path']}/".startswith(f"{self._base}/"):
            await self._app(scope, receive, send)
            return
        response = await to_thread.run_sync(self._answer, scope["path"])
        await response(scope, receive, send)

    def _answer(self, path: str) -> Response:
        outer = self._base.removesuffix(SUBMIT).rstrip("/")
        inner = path.removeprefix(outer)
        if inner.strip("/") == f"{SUBMIT}.html":
            return RedirectResponse(f"{self._base}/")
        self._copy = self._copy or ServedCopy.of_board(board_folder())
        status, found = self._copy.find(inner)
        if isinstance(found, bytes):
            return Response(found, status, media_type="text/html")
        return FileResponse(found, headers={"Cache-Control": "no-cache"})


# Whatever configuration it is started with: nothing is reported about visitors.
st.config.set_option("browser.gatherUsageStats", False)
app = st.App(Path(__file__).with_name("submit.py"), middleware=[Middleware(CopyBeside)])
