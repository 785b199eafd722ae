"""HTTP headers of every response of the app: who may frame it, and what a page may load or send."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HEADERS = {
    # A host may frame the app under its own address, and Hugging Face frames Spaces.
    "Content-Security-Policy": "frame-ancestors 'self' https://huggingface.co; object-src 'none'; "
    "base-uri 'self'; form-action 'self'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class SiteHeaders:
    """Middleware that adds the headers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await self._app(scope, receive, sent if scope["type"] == "http" else send)
