"""A chat endpoint on the loopback that behaves as badly as a test asks, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

__all__ = ["Chat", "Reply", "said"]


@dataclass(frozen=True)
class Reply:
    """What the server does with one request.

    Attributes:
        body, status, headers: what is sent.
        delay_s: wait before anything is sent.
        cut_at: bytes of the body after which the connection is closed.
        reset: break the connection off instead of closing it in order; before anything is sent if nothing is cut.
        trickle_s: wait between single bytes of the body.
    """

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    cut_at: int | None = None
    reset: bool = False
    trickle_s: float = 0.0


def said(text: str | None, finish: str | None = "stop", **more: Any) -> Reply:
    """An ordinary reply; `more` goes into the choice."""
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}, **more}
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
    return Reply(json.dumps({"model": "m-2026-01-01", "choices": [choice], "usage": usage}).encode())


Behaviour = Callable[[int, dict[str, Any]], Reply]


class Chat:
    """The server, in a thread of its own.

    Attributes:
        behave: decides the reply from the number of the request (from 1) and its body; may be set anew.
        paths, bodies: every request's path and body (JSON, or the fields of a form), in order of coming in.
        headers: every request's headers, names in lower case.
        connections: connections ever opened.
        sent: text of each question whose answer was sent whole, and when (`time.monotonic`).
        most_at_once: most requests under way at once.
    """

    def __init__(self, behave: Behaviour | None = None) -> None:
        self.behave: Behaviour = behave or (lambda _n, _body: said("Yes."))
        self.paths: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []
        self.sent: list[tuple[str, float]] = []
        self.connections = self.most_at_once = self._at_once = 0
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        self._started.wait(30)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def asked(self) -> Counter[str]:
        """How often each question (the text of its messages) was asked."""
        return Counter("\n".join(message["content"] or "" for message in body["messages"]) for body in self.bodies)

    @property
    def open_connections(self) -> int:
        return len(self._tasks)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(30)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._main())
        self._loop.close()

    async def _main(self) -> None:
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, backlog=1024)
        self._port = server.sockets[0].getsockname()[1]
        self._started.set()
        await self._stop.wait()
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while await self._one(reader, writer):
                pass
        except (asyncio.CancelledError, OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        body = parse_qs(raw.decode()) if "form" in headers.get("content-type", "") else json.loads(raw or b"{}")
        self.paths.append(head[0].split()[1])
        self.headers.append(headers)
        self.bodies.append(body)
        self.times.append(self._loop.time())
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            whole = await self._reply(writer, self.behave(len(self.bodies), body))
            self.sent.append(("\n".join(item["content"] or "" for item in body.get("messages", ())), time.monotonic()))
            return whole
        finally:
            self._at_once -= 1

    async def _reply(self, writer: asyncio.StreamWriter, reply: Reply) -> bool:
        if reply.delay_s:
            await asyncio.sleep(reply.delay_s)
        if reply.reset and reply.cut_at is None:
            return self._break(writer)
        lines = [f"HTTP/1.1 {reply.status} X", f"Content-Length: {len(reply.body)}"]
        headers = {"Content-Type": "application/json", **reply.headers}
        lines += [f"{name}: {value}" for name, value in headers.items()]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
        body = reply.body if reply.cut_at is None else reply.body[: reply.cut_at]
        for n in range(len(body) if reply.trickle_s else 0):
            writer.write(body[n : n + 1])
            await asyncio.sleep(reply.trickle_s)
        if not reply.trickle_s:
            writer.write(body)
        await writer.drain()
        if reply.cut_at is None:
            return True
        await asyncio.sleep(0.01)
        return self._break(writer) if reply.reset else False

    def _break(self, writer: asyncio.StreamWriter) -> bool:
        connection = writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        return False
