"""Telling a chat what a run of the pipeline has done."""

from __future__ import annotations

import asyncio
import json
import os

import aiohttp

from hellofresh.core.errors import ConfigError, SourceError
from hellofresh.core.net.http import HttpClient, UnusableReplyError
from hellofresh.core.net.keys import may_carry_key

__all__ = ["post_summary"]

_TIMEOUT_S = 30.0


def post_summary(variable: str, summary: str) -> None:
    """Post `{"text": SUMMARY}` to the address that an environment variable holds; the address is a secret.

    Raises:
        ConfigError: if the variable holds no address that a secret may be sent to.
        SourceError: if the hook does not take it.
    """
    address = os.environ.get(variable, "")
    if not may_carry_key(address):
        raise ConfigError(
            "no address for the summary",
            where=variable,
            expected="an https address in this environment variable",
            code="bad-hook",
        )
    body = json.dumps({"text": summary}).encode()
    problem = asyncio.run(_post(address, body))
    if problem:
        raise SourceError(f"the hook did not take the summary ({problem})", where=variable, code="hook-failed")


async def _post(address: str, body: bytes) -> str:
    """Why it failed, empty if it did not."""
    client = HttpClient("hook", {"Content-Type": "application/json"}, timeout_s=_TIMEOUT_S)
    try:
        reply = await client.send("POST", address, body)
    except (UnusableReplyError, aiohttp.ClientError, TimeoutError, OSError) as error:
        return type(error).__name__  # its words may hold the address
    finally:
        await client.close()
    return "" if reply.status < 300 else f"HTTP {reply.status}"
