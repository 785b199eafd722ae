"""Models of OpenAI, called over the Responses API without an SDK, which gives access to its web search.

Source of the format: https://platform.openai.com/docs/api-reference/responses. Providers are asked to store nothing.
"""

from __future__ import annotations

from hellofresh.core.net.http import HttpReply
from hellofresh.models import Answer, Finish, Message, Request
from hellofresh.models.providers import (
    HttpModel,
    addresses_in,
    bad_reply,
    call_arguments,
    content_of,
    data_url,
    encoded,
    failure,
    found,
    found_count,
    found_rows,
    found_text,
    read_call,
    said_by,
    tool_schema,
    whole_calls,
)


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
        said = said_by(reply, self.where)
        if reply.status == 200 and isinstance(found(said, "output"), list) and not found(said, "error"):
            return self._answer(said, whole_calls(request))
        if reply.status == 200 and not found(said, "error"):
            raise bad_reply(self.where, "no output")
        return failure(reply.status, reply.body, self.where, reply.wait_s)

    def _answer(self, said: object, whole: bool) -> Answer:
        items, usage = found_rows(said, "output"), found(said, "usage")
        parts = [part for item in items if item.get("type") == "message" for part in found_rows(item, "content")]
        text = "".join(found_text(part, "text") for part in parts if part.get("type") == "output_text")
        refused = "".join(found_text(part, "refusal") for part in parts if part.get("type") == "refusal")
        thoughts = [item for item in items if item.get("type") == "reasoning"]
        called = (item for item in items if item.get("type") == "function_call")
        calls = [
            read_call(
                found_text(item, "call_id") or f"call-{number}",
                found_text(item, "name"),
                item.get("arguments") or "",
                whole=whole,
            )
            for number, item in enumerate(called, start=1)
        ]
        tokens_in = found_count(usage, "input_tokens")
        return Answer(
            text=text + refused,
            finish=Finish.BLOCKED if refused else self._finish(said, bool(text or calls)),
            tokens_in=tokens_in,
            tokens_out=found_count(usage, "output_tokens"),
            served_by=found_text(said, "model") or None,
            call=next(iter(calls), None),
            more_calls=tuple(calls[1:]) if whole else (),
            sources=addresses_in(found(one, "url") for part in parts for one in found_rows(part, "annotations")),
            cached_in=min(found_count(usage, "input_tokens_details", "cached_tokens") or 0, tokens_in or 0),
            thought="\n".join(
                found_text(part, "text")
                for item in thoughts
                for part in [*found_rows(item, "summary"), *found_rows(item, "content")]
            ),
            thought_tokens=found_count(usage, "output_tokens_details", "reasoning_tokens") or 0,
        )

    def _finish(self, said: object, has_answer: bool) -> Finish:
        status, reason = found_text(said, "status"), found_text(said, "incomplete_details", "reason")
        if status == "incomplete":
            return Finish.BLOCKED if reason == "content_filter" else Finish.LENGTH
        if status in ("completed", "") or has_answer:
            return Finish.STOP
        raise bad_reply(self.where, f"status {status[:40]!r}")


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
