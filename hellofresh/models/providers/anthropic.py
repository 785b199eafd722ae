"""Models of Anthropic, called over the Messages API without an SDK.

Source of the format: https://platform.claude.com/docs/en/api/messages and .../api/errors.
"""

from __future__ import annotations

import base64
import json
from typing import Literal

from pydantic import ValidationError

from hellofresh.core.files import model_fault
from hellofresh.core.net.http import HttpReply
from hellofresh.models import Answer, Finish, Message, ModelSpec, Request
from hellofresh.models.providers import (
    HttpModel,
    Shape,
    Tokens,
    addresses_in,
    bad_reply,
    call_arguments,
    content_of,
    encoded,
    excerpt,
    failure,
    read_call,
    refusal,
    tool_schema,
    whole_calls,
)
from hellofresh.models.tables import Abilities, Endpoint
from hellofresh.tasks.images import Image

_SEARCH_TOOL, _MOST_SEARCHES = "web_search_20250305", 5
_FINISHES = {
    "end_turn": Finish.STOP,
    "tool_use": Finish.STOP,
    "pause_turn": Finish.LENGTH,  # it would continue to search
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


class _Cited(Shape):
    url: str | None = None


class _Block(Shape):
    type: str
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: dict[str, object] | None = None
    citations: list[_Cited] | None = None


class _Usage(Shape):
    input_tokens: Tokens
    output_tokens: Tokens
    cache_creation_input_tokens: Tokens | None = None
    cache_read_input_tokens: Tokens | None = None


class _Message(Shape):
    type: Literal["message"]
    role: Literal["assistant"]
    model: str
    content: list[_Block]
    stop_reason: str
    usage: _Usage


class _Error(Shape):
    type: str
    message: str = ""


class _Failure(Shape):
    type: Literal["error"]
    error: _Error


class AnthropicModel(HttpModel):
    """A model behind `<base_url>/messages`."""

    path = "/messages"

    def __init__(self, spec: ModelSpec, endpoint: Endpoint, abilities: Abilities) -> None:
        headers = {"anthropic-version": "2023-06-01"} | ({"x-api-key": endpoint.key} if endpoint.key else {})
        super().__init__(spec, endpoint, abilities, headers)

    def body(self, request: Request) -> bytes:
        """The body with the texts of system messages in a separate field."""
        rules = "\n\n".join(message.text for message in request.messages if message.role == "system")
        body: dict[str, object] = {
            "model": self._model,
            "max_tokens": request.max_tokens + self._abilities.hidden_tokens,
            "messages": [_turn(message) for message in request.messages if message.role != "system"],
        }
        if rules:
            body["system"] = rules
        if self._abilities.temperature:
            body["temperature"] = request.temperature
        tools: list[dict[str, object]] = [
            {"name": tool.name, "description": tool.about, "input_schema": tool_schema(tool)} for tool in request.tools
        ]
        if request.searches:
            blocked = {"blocked_domains": list(request.excluded)} if request.excluded else {}
            tools.append({"type": _SEARCH_TOOL, "name": "web_search", "max_uses": _MOST_SEARCHES, **blocked})
        if tools:
            body["tools"] = tools
        return encoded({**self._options, **body})

    def read(self, reply: HttpReply, request: Request) -> Answer:
        try:
            error = _Failure.model_validate_json(reply.body).error
        except ValidationError:
            if reply.status != 200:
                return failure(reply.status, reply.body, self.where, reply.wait_s)
        else:
            # A failure may come with status 200; its type then gives the real status.
            status = reply.status if reply.status >= 400 else _STATUSES.get(error.type, 500)
            raise refusal(status, f"{error.type}: {excerpt(error.message)}", self.where, reply.wait_s)
        try:
            return self._answer(_Message.model_validate_json(reply.body), whole_calls(request))
        except ValidationError as fault:
            raise bad_reply(self.where, model_fault(fault), body=reply.body) from None

    def _answer(self, message: _Message, whole: bool) -> Answer:
        finish, usage = _FINISHES.get(message.stop_reason), message.usage
        if finish is None:
            raise bad_reply(self.where, f"unknown stop_reason {message.stop_reason[:40]!r}")
        used = (block for block in message.content if block.type == "tool_use")
        calls = [
            read_call(block.id or f"call-{number}", block.name or "", block.input, whole=whole)
            for number, block in enumerate(used, start=1)
        ]
        written, cached = usage.cache_creation_input_tokens or 0, usage.cache_read_input_tokens or 0
        return Answer(
            text="".join(block.text or "" for block in message.content if block.type == "text"),
            finish=finish,
            tokens_in=usage.input_tokens + written + cached,
            tokens_out=usage.output_tokens,
            served_by=message.model,
            call=next(iter(calls), None),
            more_calls=tuple(calls[1:]) if whole else (),
            sources=addresses_in(cited.url for block in message.content for cited in block.citations or ()),
            cached_in=cached,
            cache_writes=written,
        )


def _turn(message: Message) -> dict[str, object]:
    call = message.call
    if call is None:
        return {"role": message.role, "content": content_of(message, _picture)}
    if message.role == "user":
        return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": message.text}]}
    said = [{"type": "text", "text": message.text}] if message.text.strip() else []
    used = [
        {"type": "tool_use", "id": item.id, "name": item.name, "input": json.loads(call_arguments(item))}
        for item in (call, *message.more_calls)
    ]
    return {"role": "assistant", "content": [*said, *used]}


def _picture(image: Image) -> dict[str, object]:
    data = base64.b64encode(image.content).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": image.type, "data": data}}
