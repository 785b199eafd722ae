"""A server on the loopback that answers as the Fact Check Tools API does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest


@pytest.fixture
def api_server() -> Iterator[Callable[[list[bytes]], str]]:
    """Starts a server that gives these bodies one after the other; gives its address."""
    servers: list[HTTPServer] = []

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

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_address[1]}/claims"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
