"""A server on the loopback that answers as the Fact Check Tools API does."""

from __future__ import annotations

from collections.abc import Callable
from http.server import BaseHTTPRequestHandler

import pytest


@pytest.fixture
def api_server(serve: Callable[..., str]) -> Callable[[list[bytes]], str]:
    """Starts a server that gives these bodies one after the other; gives its address."""

    def start(bodies: list[bytes]) -> str:
        waiting = list(bodies)

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                known = self.headers.get("X-Goog-Api-Key") == "secret" and "secret" not in self.path
                body = waiting.pop(0) if known else b"{}"
                self.send_response(200 if known else 403)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        return f"{serve(Handler)}/claims"

    return start
