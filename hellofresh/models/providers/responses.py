"""Models of OpenAI, asked over the Responses API without an SDK: the way to its own web search.

Source of the format: https://platform.openai.com/docs/api-reference/responses. Nothing is stored at the provider.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hellofresh.core.files import model_fault
from hellofresh.models._endpoint import Abilities, Endpoint
from hellofresh.models._http import ModelHttp, bad_reply
from hellofresh.models.base import Answer, Finish, Message, ModelSpec, Request, ToolCall
from hellofresh.models.providers.chat_wire import (
    addresses_in,
    call_arguments,
    data_url,
    failure,
    read_call,
    tool_schema,
    whole_calls,
)

_Tokens = Annotated[int, Field(ge=0, lt=2**53)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)


class _Annotation(_Strict):
    url: str | None = None


class _Part(_Strict):
    type: str
    text: str | None = None
    refusal: str | None = None
    annotations: list[_Annotation] | None = None


class _Item(_Strict):
    type: str
    content: list[_Part] | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None


class _Details(_Strict):
    cached_tokens: _Tokens = 0


class _Usage(_Strict):
    input_tokens: _Tokens
    output_tokens: _Tokens
    input_tokens_details: _Details | None = None

    @property
    def cached(self) -> int:
        details = self.input_tokens_details
        return 0 if details is None else min(details.cached_tokens, self.input_tokens)


class _Incomplete(_Strict):
    reason: str | None = None


class _Response(_Strict):
    status: str
    model: str
    output: list[_Item]
    usage: _Usage | None = None
    incomplete_details: _Incomplete | None = None


class ResponsesModel:
    """A model behind `<base_url>/responses`.

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
        headers = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
        self._http = ModelHttp(endpoint, spec.name, headers)

    async def ask(self, request: Request) -> Answer:
        """Ask once.

        Raises:
            CallError: if no answer came; `retryable` says whether another attempt makes sense.
        """
        reply = await self._http.send("POST", "/responses", self._body(request))
        if reply.status != 200:
            return failure(reply.status, reply.body, self.spec.name, reply.wait_s)
        try:
            return self._answer(_Response.model_validate_json(reply.body), whole_calls(request))
        except ValidationError as error:
            if _holds_error(reply.body):
                return failure(200, reply.body, self.spec.name, None)
            raise bad_reply(self.spec.name, model_fault(error)) from None

    async def close(self) -> None:
        """Close all connections; a later question opens new ones."""
        await self._http.close()

    def _body(self, request: Request) -> bytes:
        body: dict[str, Any] = {
            "model": self._model,
            "input": [item for message in request.messages for item in _items(message)],
            "max_output_tokens": request.max_tokens + self._abilities.hidden_tokens,
            "store": False,
        }
        if self._abilities.temperature:
            body["temperature"] = request.temperature
        tools: list[dict[str, Any]] = [
            {"type": "function", "name": tool.name, "description": tool.about, "parameters": tool_schema(tool)}
            for tool in request.tools
        ]
        if request.searches:
            tools.append({"type": "web_search"})
        if tools:
            body["tools"] = tools
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")

    def _answer(self, response: _Response, whole: bool) -> Answer:
        parts = [part for item in response.output if item.type == "message" for part in item.content or ()]
        refused = any(part.type == "refusal" for part in parts)
        usage = response.usage
        items = (item for item in response.output if item.type == "function_call")
        calls = [_call(item, number, whole) for number, item in enumerate(items, start=1)]
        return Answer(
            text="".join((part.text if part.type == "output_text" else part.refusal) or "" for part in parts),
            finish=Finish.BLOCKED if refused else self._finish(response),
            tokens_in=None if usage is None else usage.input_tokens,
            tokens_out=None if usage is None else usage.output_tokens,
            served_by=response.model,
            call=next(iter(calls), None),
            more_calls=tuple(calls[1:]) if whole else (),
            sources=addresses_in(cited.url for part in parts for cited in part.annotations or ()),
            cached_in=0 if usage is None else usage.cached,
        )

    def _finish(self, response: _Response) -> Finish:
        if response.status == "completed":
            return Finish.STOP
        reason = response.incomplete_details.reason if response.incomplete_details is not None else None
        if response.status == "incomplete" and reason in ("max_output_tokens", "content_filter"):
            return Finish.LENGTH if reason == "max_output_tokens" else Finish.BLOCKED
        raise bad_reply(self.spec.name, f"status {response.status[:40]!r}")


def _items(message: Message) -> list[dict[str, Any]]:
    call = message.call
    if call is None:
        return [{"role": message.role, "content": _content(message)}]
    if message.role == "user":
        return [{"type": "function_call_output", "call_id": call.id, "output": message.text}]
    called = [
        {"type": "function_call", "call_id": item.id, "name": item.name, "arguments": call_arguments(item)}
        for item in (call, *message.more_calls)
    ]
    return [*([{"role": "assistant", "content": message.text}] if message.text.strip() else []), *called]


def _content(message: Message) -> str | list[dict[str, Any]]:
    if not message.images:
        return message.text
    shown = [{"type": "input_image", "image_url": data_url(image)} for image in message.images]
    return [*shown, {"type": "input_text", "text": message.text}]


def _call(item: _Item, number: int, whole: bool) -> ToolCall:
    return read_call(item.call_id or f"call-{number}", item.name or "", item.arguments or "", whole=whole)


def _holds_error(body: bytes) -> bool:
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(reply, dict) and bool(reply.get("error"))
