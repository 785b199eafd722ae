"""Models of providers, asked once over a server on this machine."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from hellofresh.models import Answer, CallError, ModelSpec, Request
from hellofresh.models.providers.anthropic import AnthropicModel
from hellofresh.models.providers.chat import ChatModel
from hellofresh.models.providers.gemini import GeminiModel
from hellofresh.models.providers.responses import ResponsesModel
from hellofresh.models.tables import Abilities, Endpoint

KEY = "secret-key-123"
T = TypeVar("T")
SPEC = ModelSpec("m", "language-model", "A fake.", {}, calls_tools=True, searches=True)
KINDS: dict[str, Callable[[ModelSpec, Endpoint, Abilities], Any]] = {
    "chat": ChatModel,
    "anthropic": AnthropicModel,
    "gemini": GeminiModel,
    "responses": ResponsesModel,
}


def ask(kind: str, chat: Any, request: Request, abilities: Abilities | None = None, timeout_s: float = 5.0) -> Answer:
    """Ask a model of a provider once."""
    base = chat.base_url.removesuffix("/v1") if kind == "gemini" else chat.base_url
    endpoint = Endpoint(base, "m-1", KEY, timeout_s=timeout_s)
    model = KINDS[kind](SPEC, endpoint, abilities or Abilities(seed=kind in ("chat", "gemini")))
    return closed(model, lambda: model.ask(request))


def closed(opened: Any, call: Callable[[], Awaitable[T]]) -> T:
    """What a call brings; whoever it is of is closed then."""

    async def both() -> T:
        try:
            return await call()
        finally:
            await opened.close()

    return asyncio.run(both())


def says(chat: Any, loopback: Any, body: object, status: int = 200, **more: Any) -> None:
    """Have the server answer with this body from now on."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    chat.behave = lambda _n, _body: loopback.Reply(content, status, **more)


def failing(
    kind: str, chat: Any, loopback: Any, request: Request, body: object, status: int = 200, **more: Any
) -> CallError:
    """The error of a model that is asked once and answered so; it never holds the key."""
    says(chat, loopback, body, status, **more)
    with pytest.raises(CallError) as caught:
        ask(kind, chat, request, timeout_s=3.0)  # a busy machine may take a second to load a library
    assert KEY not in str(caught.value)
    assert len(chat.bodies) == 1
    return caught.value
