"""A service that is trusted with a key gets it once, sends nobody elsewhere, and cannot flood or confuse who asks."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hellofresh.core.errors import ConfigError
from hellofresh.core.net import may_carry_key
from hellofresh.core.net.http import HttpClient, HttpReply, LongReplyError, UnusableReplyError

KEY = "sk-secret-0123456789"


def sent(chat: Any, **how: Any) -> HttpReply:
    async def run() -> HttpReply:
        client = HttpClient("a service", {"Authorization": f"Bearer {KEY}"}, timeout_s=10, key=KEY)
        try:
            return await client.send("POST", f"{chat.base_url}/x", b"{}", **how)
        finally:
            await client.close()

    return asyncio.run(run())


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_a_reply_and_nobody_else_gets_the_key(chat: Any, loopback: Any, status: int) -> None:
    other = loopback.Chat()
    chat.behave = lambda *_: loopback.Reply(b"", status, {"Location": f"{other.base_url}/y"})
    assert sent(chat).status == status
    assert (len(chat.bodies), other.connections) == (1, 0)
    other.close()


def test_nothing_packed_is_asked_for_and_nothing_packed_is_taken(chat: Any, loopback: Any) -> None:
    chat.behave = lambda *_: loopback.Reply(b"\x1f\x8b", 200, {"Content-Encoding": "gzip"})
    with pytest.raises(UnusableReplyError, match="compressed"):
        sent(chat)
    assert chat.headers[0]["accept-encoding"] == "identity"


@pytest.mark.parametrize("size", [0, 1, 999, 1000, 1001, 100_000])
def test_a_body_is_taken_up_to_the_limit_and_not_a_byte_beyond(chat: Any, loopback: Any, size: int) -> None:
    chat.behave = lambda *_: loopback.Reply(b"x" * size)
    if size <= 1000:
        assert sent(chat, most_bytes=1000).body == b"x" * size
    else:
        with pytest.raises(LongReplyError, match="1,000"):
            sent(chat, most_bytes=1000)


def test_a_key_that_comes_back_is_taken_out(chat: Any, loopback: Any) -> None:
    chat.behave = lambda *_: loopback.Reply(f"you sent {KEY}, {KEY}".encode(), 401)
    assert sent(chat).body == b"you sent [key], [key]"


def test_the_wait_that_a_service_asks_for_comes_with_the_reply(chat: Any, loopback: Any) -> None:
    chat.behave = lambda *_: loopback.Reply(b"", 429, {"Retry-After": "7"})
    assert sent(chat).wait_s == 7
    chat.behave = lambda *_: loopback.Reply(b"", 429)
    assert sent(chat).wait_s is None


@pytest.mark.parametrize("value", ["a\r\nX: y", "a\nb", "\x00", "\x7f"])
def test_a_header_with_a_control_character_is_refused_before_anything_is_sent(value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        HttpClient("a service", {"Authorization": value}, timeout_s=1)
    assert caught.value.code == "bad-header" and value not in str(caught.value)


SAFE = (
    "https://api.example/v1",
    "HTTPS://API.example",
    "http://127.0.0.1:8000/v1",
    "http://localhost",
    "http://[::1]:9/",
)
OPEN = (
    "http://api.example/v1", "ftp://api.example", "", "http://", "http://127.0.0.1.example", "http://localhost.example",
    "http://localhost@api.example", "http://api.example/https://", "http://api.example#@localhost", "http://127.0.0.2",
    "http://0.0.0.0", "http://[::ffff:127.0.0.1]",
)  # fmt: skip


@pytest.mark.parametrize("url", [*SAFE, *OPEN])
def test_a_key_may_go_exactly_where_nobody_on_the_way_reads_it(url: str) -> None:
    assert may_carry_key(url) == (url in SAFE)
