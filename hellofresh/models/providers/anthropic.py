"""Models of Anthropic, asked over the Messages API without an SDK.

Source of the format: https://platform.claude.com/docs/en/api/messages and .../api/errors.
"""

from __future__ import annotations

import base64
import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hellofresh.core.net.http import HttpReply
from hellofresh.models._endpoint import Abilities, Endpoint
from hellofresh.models._http import ModelHttp, bad_reply
from hellofresh.models.base import Answer, CallError, Finish, Message, ModelSpec, Request, Tool, ToolCall
from hellofresh.models.providers.chat_wire import (
    addresses_in,
    call_arguments,
    failure,
    read_call,
    tool_schema,
    whole_calls,
)
from hellofresh.models.providers.statuses import refusal
from hellofresh.tasks.images import Image

__all__ = ["AnthropicModel"]

_VERSION = "2023-06-01"
_SEARCH_TOOL, _MOST_SEARCHES = "web_search_20250305", 5
_FINISHES = {
    "end_turn": Finish.STOP,
    "tool_use": Finish.STOP,
    "pause_turn": Finish.LENGTH,  # it would go on searching
    "stop_sequence": Finish.STOP,
    "max_tokens": Finish.LENGTH,
    "model_context_window_exceeded": Finish.LENGTH,
    "refusal": Finish.BLOCKED,
}
_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_Tokens = Annotated[int, Field(ge=0, lt=2**53)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)


class _Cited(_Strict):
    url: str | None = None


class _Block(_Strict):
    type: str
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: dict[str, Any] | None = None
    citations: list[_Cited] | None = None


class _Usage(_Strict):
    input_tokens: _Tokens
    output_tokens: _Tokens
    cache_creation_input_tokens: _Tokens | None = None
    cache_read_input_tokens: _Tokens | None = None


class _Message(_Strict):
    type: Literal["message"]
    role: Literal["assistant"]
    model: str
    content: list[_Block]
    stop_reason: str
    usage: _Usage


class _Error(_Strict):
    type: str
    message: str = ""


class _Failure(_Strict):
    type: Literal["error"]
    error: _Error


class AnthropicModel:
    """A model behind `<base_url>/messages`.

    Args:
        spec: what is known of it.
        endpoint: where it is.
        abilities: what it takes.

    Raises:
        ConfigError: if a header or the key has a control character in it.
    """

    def __init__(self, spec: ModelSpec, endpoint: Endpoint, abilities: Abilities) -> None:
        self.spec = spec
        self._model, self._abilities = endpoint.model, abilities
        headers = {"anthropic-version": _VERSION, "Accept": "application/json"}
        if endpoint.key:
            headers["x-api-key"] = endpoint.key
        self._http = ModelHttp(endpoint, spec.name, headers)

    async def ask(self, request: Request) -> Answer:
        """Ask once.

        Raises:
            CallError: if no answer came; `retryable` says whether another attempt makes sense.
        """
        reply = await self._http.send("POST", "/messages", self._body(request))
        failed = _read_failure(reply)
        if failed is not None:
            raise self._failed(reply, failed)
        if reply.status != 200:
            return failure(reply.status, reply.body, self.spec.name, reply.wait_s)
        return self._read(reply.body, whole_calls(request))

    async def close(self) -> None:
        """Close all connections; a later question opens new ones."""
        await self._http.close()

    def _body(self, request: Request) -> bytes:
        rules = "\n\n".join(message.text for message in request.messages if message.role == "system")
        turns = [_turn(message) for message in request.messages if message.role != "system"]
        body: dict[str, Any] = {
            "model": self._model,
            "max_tokens": request.max_tokens + self._abilities.hidden_tokens,
            "messages": turns,
        }
        if rules:
            body["system"] = rules
        if self._abilities.temperature:
            body["temperature"] = request.temperature
        tools = [_tool(tool) for tool in request.tools] + ([_search(request)] if request.searches else [])
        if tools:
            body["tools"] = tools
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")

    def _failed(self, reply: HttpReply, error: _Error) -> CallError:
        # A failure may come with status 200; the type then says what the status would have been.
        status = reply.status if reply.status >= 400 else _STATUSES.get(error.type, 500)
        said = "".join(c if c.isprintable() else " " for c in error.message)[:300]
        return refusal(status, f"{error.type}: {said}", self.spec.name, reply.wait_s)

    def _read(self, body: bytes, whole: bool) -> Answer:
        try:
            message = _Message.model_validate_json(body)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"]) or "the whole"
            raise bad_reply(self.spec.name, f"{place}: {first['msg'].lower()}") from None
        finish = _FINISHES.get(message.stop_reason)
        if finish is None:
            raise bad_reply(self.spec.name, f"unknown stop_reason {message.stop_reason[:40]!r}")
        usage = message.usage
        used = (block for block in message.content if block.type == "tool_use")
        calls = [_call(block, number, whole) for number, block in enumerate(used, start=1)]
        cached = (usage.cache_creation_input_tokens or 0) + (usage.cache_read_input_tokens or 0)
        return Answer(
            text="".join(block.text or "" for block in message.content if block.type == "text"),
            finish=finish,
            tokens_in=usage.input_tokens + cached,
            tokens_out=usage.output_tokens,
            served_by=message.model,
            call=next(iter(calls), None),
            more_calls=tuple(calls[1:]) if whole else (),
            sources=addresses_in(cited.url for block in message.content for cited in block.citations or ()),
        )


def _turn(message: Message) -> dict[str, Any]:
    call = message.call
    if call is None:
        return {"role": message.role, "content": _content(message)}
    if message.role == "user":
        return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": message.text}]}
    said = [{"type": "text", "text": message.text}] if message.text.strip() else []
    used = [
        {"type": "tool_use", "id": item.id, "name": item.name, "input": json.loads(call_arguments(item))}
        for item in (call, *message.more_calls)
    ]
    return {"role": "assistant", "content": [*said, *used]}


def _content(message: Message) -> str | list[dict[str, Any]]:
    if not message.images:
        return message.text
    shown = [{"type": "image", "source": _source(image)} for image in message.images]
    return [*shown, {"type": "text", "text": message.text}]


def _source(image: Image) -> dict[str, str]:
    return {"type": "base64", "media_type": image.type, "data": base64.b64encode(image.content).decode()}


def _tool(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.about, "input_schema": tool_schema(tool)}


def _search(request: Request) -> dict[str, Any]:
    tool: dict[str, Any] = {"type": _SEARCH_TOOL, "name": "web_search", "max_uses": _MOST_SEARCHES}
    return {**tool, "blocked_domains": list(request.excluded)} if request.excluded else tool


def _call(block: _Block, number: int, whole: bool) -> ToolCall:
    return read_call(block.id or f"call-{number}", block.name or "", block.input, whole=whole)


def _read_failure(reply: HttpReply) -> _Error | None:
    try:
        return _Failure.model_validate_json(reply.body).error
    except ValidationError:
        return None
