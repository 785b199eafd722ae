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
from tests.loopback import Reply

KEY = "secret-key-123"
T = TypeVar("T")
SPEC = ModelSpec("m", "language-model", "A fake.", {}, calls_tools=True, searches=True)
KINDS: dict[str, Callable[[ModelSpec, Endpoint, Abilities], Any]] = {
    "chat": ChatModel,
    "anthropic": AnthropicModel,
    "gemini": GeminiModel,
    "responses": ResponsesModel,
}


def ask(kind: str, chat: Any, request: Request, abilities: Abilities | None = None, timeout_s: float = 60.0) -> Answer:
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


def says(chat: Any, body: object, status: int = 200, **more: Any) -> None:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    chat.behave = lambda _n, _body: Reply(content, status, **more)


def failing(kind: str, chat: Any, request: Request, body: object, status: int = 200, **more: Any) -> CallError:
    """The error of a model that is asked once and answered so; it never holds the key."""
    says(chat, body, status, **more)
    with pytest.raises(CallError) as caught:
        ask(kind, chat, request, timeout_s=60.0)  # for a busy machine
    assert KEY not in str(caught.value)
    assert len(chat.bodies) == 1
    return caught.value


USED = {"input_tokens": 5, "output_tokens": 2}


def chat_reply(**message: Any) -> dict[str, Any]:
    more = message.pop("more", {})
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Rock.", **message}}
    return {"model": "m-1", "choices": [choice], "usage": {"prompt_tokens": 5, "completion_tokens": 2}, **more}


def anthropic_reply(*blocks: Any, stop: str = "end_turn") -> dict[str, Any]:
    whole = {"type": "message", "role": "assistant", "model": "m-1", "stop_reason": stop, "usage": USED}
    return {**whole, "content": [*blocks]}


def gemini_reply(*parts: Any, **candidate: Any) -> dict[str, Any]:
    content = {"role": "model", "parts": [*parts]}
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 2}
    found = {"content": content, "finishReason": "STOP", **candidate}
    return {"candidates": [found], "usageMetadata": usage, "modelVersion": "m-1"}


def responses_reply(*items: Any, **more: Any) -> dict[str, Any]:
    return {"status": "completed", "model": "m-1", "output": [*items], "usage": USED, **more}
