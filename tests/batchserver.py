"""An account for batches on the loopback, with everything that goes wrong with them. Loaded by conftest files."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Account", "answered"]


def answered(line: dict[str, Any], text: str = "yes", status: int = 200, cached: int = 0) -> dict[str, Any]:
    """A result line for a request line, with so many tokens from the cache."""
    message = {"role": "assistant", "content": text}
    body: dict[str, Any] = {
        "model": "m-1",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 2},
    }
    if cached:
        body["usage"]["prompt_tokens_details"] = {"cached_tokens": cached}
    if status != 200:
        body = {"error": {"message": "refused", "code": None}}
    return {"id": "r", "custom_id": line["custom_id"], "response": {"status_code": status, "body": body}, "error": None}


class Account:
    """Files and batches.

    Attributes:
        outcome: from a batch's number (from 1) and its request lines to status, output lines and error lines.
        looks: looks at a batch before it is final.
        fault: from method and path to a status to answer with, or None; `drop` carries out and then says nothing.
        calls: method and path of every request.
    """

    def __init__(self) -> None:
        self.outcome: Callable[[int, list[dict[str, Any]]], tuple[str, list[Any], list[Any]]] = lambda _n, lines: (
            "completed",
            [answered(line) for line in lines],
            [],
        )
        self.looks = 1
        self.fault: Callable[[str, str], int | str | None] = lambda _m, _p: None
        self.calls: list[tuple[str, str]] = []
        self.headers: list[dict[str, str]] = []
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    @property
    def base_url(self) -> str:
        """The address to ask."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def submitted(self) -> int:
        """Batches ever made."""
        return len(self.batches)

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._thread.join(30)
        self._server.server_close()

    def lines(self, batch: str) -> list[dict[str, Any]]:
        """The request lines of a batch."""
        return [json.loads(line) for line in self.files[self.batches[batch]["input_file_id"]].splitlines()]

    def reply(self, method: str, path: str, body: bytes) -> bytes:
        """What a request comes to."""
        if (method, path) == ("POST", "/v1/files"):
            content = re.search(rb'filename="[^"]*"\r\n(?:[^\r]+\r\n)*\r\n(.*?)\r\n--', body, re.DOTALL)
            assert content is not None and b'name="purpose"\r\n' in body
            return self._file(content[1])
        if (method, path) == ("POST", "/v1/batches"):
            name = f"batch_{len(self.batches) + 1}"
            self.batches[name] = {**json.loads(body), "id": name, "status": "validating", "looks": 0}
            return json.dumps(self.batches[name]).encode()
        if path.startswith("/v1/batches?"):
            return json.dumps({"data": list(self.batches.values())[::-1], "has_more": False}).encode()
        if path.startswith("/v1/batches/"):
            return json.dumps(self._looked_at(path.rsplit("/", 1)[1])).encode()
        return self.files[path.split("/")[3]]

    def _file(self, content: bytes) -> bytes:
        name = f"file-{len(self.files) + 1}"
        self.files[name] = content
        return json.dumps({"id": name, "object": "file", "purpose": "batch"}).encode()

    def _looked_at(self, name: str) -> dict[str, Any]:
        batch = self.batches[name]
        batch["looks"] += 1
        if batch["looks"] <= self.looks:
            batch["status"] = "in_progress"
        elif "output_file_id" not in batch:
            status, output, errors = self.outcome(int(name.split("_")[1]), self.lines(name))
            batch["status"] = status
            for kind, lines in (("output_file_id", output), ("error_file_id", errors)):
                content = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
                batch[kind] = json.loads(self._file(content.encode()))["id"] if lines else None
        return batch


def _handler(account: Account) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # headers and body are two writes: the second would wait 40 ms

        def do_GET(self) -> None:
            self._serve()

        def do_POST(self) -> None:
            self._serve()

        def _serve(self) -> None:
            body = b"".join(self._body())
            account.calls.append((self.command, self.path))
            account.headers.append(dict(self.headers))
            fault = account.fault(self.command, self.path)
            content = b'{"error": {"message": "out of order"}}'
            if not isinstance(fault, int):
                content = account.reply(self.command, self.path, body)
            if fault == "drop":
                self.close_connection = True
                return
            self.send_response(fault if isinstance(fault, int) else 200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def _body(self) -> Iterator[bytes]:
            if self.headers.get("Transfer-Encoding") == "chunked":
                while size := int(self.rfile.readline(), 16):
                    yield self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
            else:
                yield self.rfile.read(int(self.headers.get("Content-Length", 0)))

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler
