"""Headers of every answer of the app: who may show it in a frame, and what a page of it may load or send."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HEADERS = {
    # A host may show the app in a frame of its own address, and a Space is one of Hugging Face's.
    "Content-Security-Policy": "frame-ancestors 'self' https://huggingface.co; object-src 'none'; "
    "base-uri 'self'; form-action 'self'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class SiteHeaders:
    """Middleware that adds them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await self._app(scope, receive, sent if scope["type"] == "http" else send)
