"""Models of OpenAI, called over the Responses API without an SDK, which gives access to its web search.

Source of the format: https://platform.openai.com/docs/api-reference/responses. Providers are asked to store nothing.
"""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from hellofresh.core.files import model_fault
from hellofresh.core.net.http import HttpReply
from hellofresh.models import Answer, Finish, Message, Request
from hellofresh.models.providers import (
    HttpModel,
    Shape,
    Tokens,
    addresses_in,
    bad_reply,
    call_arguments,
    content_of,
    data_url,
    encoded,
    failure,
    read_call,
    tool_schema,
    whole_calls,
)


class _Annotation(Shape):
    url: str | None = None


class _Part(Shape):
    type: str
    text: str | None = None
    refusal: str | None = None
    annotations: list[_Annotation] | None = None


class _Item(Shape):
    type: str
    content: list[_Part] | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None


class _Details(Shape):
    cached_tokens: Tokens = 0


class _Usage(Shape):
    input_tokens: Tokens
    output_tokens: Tokens
    input_tokens_details: _Details | None = None


class _Incomplete(Shape):
    reason: str | None = None


class _Failed(Shape):
    error: Any


class _Response(Shape):
    status: str
    model: str
    output: list[_Item]
    usage: _Usage | None = None
    incomplete_details: _Incomplete | None = None


class ResponsesModel(HttpModel):
    """A model behind `<base_url>/responses`."""

    path = "/responses"

    def body(self, request: Request) -> bytes:
        """The body: the conversation as items, and functions and search as tools."""
        body: dict[str, object] = {
            "model": self._model,
            "input": [item for message in request.messages for item in _items(message)],
            "max_output_tokens": request.max_tokens + self._abilities.hidden_tokens,
            "store": False,
        }
        if self._abilities.temperature:
            body["temperature"] = request.temperature
        tools: list[dict[str, object]] = [
            {"type": "function", "name": tool.name, "description": tool.about, "parameters": tool_schema(tool)}
            for tool in request.tools
        ]
        if request.searches:
            tools.append({"type": "web_search"})
        if tools:
            body["tools"] = tools
        return encoded({**self._options, **body})

    def read(self, reply: HttpReply, request: Request) -> Answer:
        try:
            if reply.status == 200:
                return self._answer(_Response.model_validate_json(reply.body), whole_calls(request))
        except ValidationError as fault:
            try:
                holds_error = bool(_Failed.model_validate_json(reply.body).error)
            except ValidationError:
                holds_error = False
            if not holds_error:
                raise bad_reply(self.where, model_fault(fault), body=reply.body) from None
        return failure(reply.status, reply.body, self.where, reply.wait_s)

    def _answer(self, response: _Response, whole: bool) -> Answer:
        parts = [part for item in response.output if item.type == "message" for part in item.content or ()]
        refused = any(part.type == "refusal" for part in parts)
        items = (item for item in response.output if item.type == "function_call")
        calls = [
            read_call(item.call_id or f"call-{number}", item.name or "", item.arguments or "", whole=whole)
            for number, item in enumerate(items, start=1)
        ]
        usage = response.usage
        details = usage.input_tokens_details if usage is not None else None
        return Answer(
            text="".join((part.text if part.type == "output_text" else part.refusal) or "" for part in parts),
            finish=Finish.BLOCKED if refused else self._finish(response),
            tokens_in=None if usage is None else usage.input_tokens,
            tokens_out=None if usage is None else usage.output_tokens,
            served_by=response.model,
            call=next(iter(calls), None),
            more_calls=tuple(calls[1:]) if whole else (),
            sources=addresses_in(cited.url for part in parts for cited in part.annotations or ()),
            cached_in=0 if usage is None or details is None else min(details.cached_tokens, usage.input_tokens),
        )

    def _finish(self, response: _Response) -> Finish:
        if response.status == "completed":
            return Finish.STOP
        reason = response.incomplete_details.reason if response.incomplete_details is not None else None
        if response.status == "incomplete" and reason in ("max_output_tokens", "content_filter"):
            return Finish.LENGTH if reason == "max_output_tokens" else Finish.BLOCKED
        raise bad_reply(self.where, f"status {response.status[:40]!r}")


def _items(message: Message) -> list[dict[str, object]]:
    call = message.call
    if call is None:
        said = content_of(message, lambda one: {"type": "input_image", "image_url": data_url(one)}, "input_text")
        return [{"role": message.role, "content": said}]
    if message.role == "user":
        return [{"type": "function_call_output", "call_id": call.id, "output": message.text}]
    called: list[dict[str, object]] = [
        {"type": "function_call", "call_id": item.id, "name": item.name, "arguments": call_arguments(item)}
        for item in (call, *message.more_calls)
    ]
    return [{"role": "assistant", "content": message.text}, *called] if message.text.strip() else called
