"""Models of Anthropic, called over the Messages API without an SDK.

Source of the format: https://platform.claude.com/docs/en/api/messages and .../api/errors.
"""

from __future__ import annotations

import base64
import json

from hellofresh.core.net.http import HttpReply
from hellofresh.models import Answer, Finish, Message, ModelSpec, Request
from hellofresh.models.providers import (
    HttpModel,
    addresses_in,
    bad_reply,
    call_arguments,
    content_of,
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
from hellofresh.models.tables import Abilities, Endpoint
from hellofresh.tasks.images import Image

_SEARCH_TOOL, _MOST_SEARCHES = "web_search_20250305", 5
_FINISHES = {
    **dict.fromkeys(("max_tokens", "model_context_window_exceeded"), Finish.LENGTH),
    "pause_turn": Finish.PAUSED,
    "refusal": Finish.BLOCKED,
}
_THINKING = ("thinking", "redacted_thinking")


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
        said = said_by(reply, self.where)
        if reply.status != 200 or found_text(said, "type") == "error" or found(said, "error"):
            return failure(reply.status, reply.body, self.where, reply.wait_s)
        if not isinstance(found(said, "content"), list):
            raise bad_reply(self.where, "content: input should be a list")
        return self._answer(said, whole_calls(request))

    def _answer(self, said: object, whole: bool) -> Answer:
        blocks, usage = found_rows(said, "content"), found(said, "usage")
        texts = [block.get("text") for block in blocks if block.get("type") == "text"]
        if any(not isinstance(text, str) for text in texts):
            raise bad_reply(self.where, "a block of the type text has no text")
        thinking = [block for block in blocks if block.get("type") in _THINKING]
        used = (block for block in blocks if block.get("type") == "tool_use")
        calls = [
            read_call(
                found_text(block, "id") or f"call-{number}",
                found_text(block, "name"),
                block.get("input"),
                json.dumps(thinking, ensure_ascii=False) if thinking and number == 1 else "",
                whole=whole,
            )
            for number, block in enumerate(used, start=1)
        ]
        written, cached = (found_count(usage, f"cache_{kind}_input_tokens") or 0 for kind in ("creation", "read"))
        tokens_in = found_count(usage, "input_tokens")
        return Answer(
            text="".join(map(str, texts)),
            finish=_FINISHES.get(found_text(said, "stop_reason"), Finish.STOP),
            tokens_in=None if tokens_in is None else tokens_in + written + cached,
            tokens_out=found_count(usage, "output_tokens"),
            served_by=found_text(said, "model") or None,
            call=next(iter(calls), None),
            more_calls=tuple(calls[1:]) if whole else (),
            sources=addresses_in(found(one, "url") for block in blocks for one in found_rows(block, "citations")),
            cached_in=cached,
            cache_writes=written,
            thought="\n".join(found_text(block, "thinking") for block in thinking),
        )


def _turn(message: Message) -> dict[str, object]:
    call = message.call
    if call is None:
        return {"role": message.role, "content": content_of(message, _picture)}
    if message.role == "user":
        return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": message.text}]}
    said = json.loads(call.token) if call.token else []  # its thinking, with signatures, in front
    said += [{"type": "text", "text": message.text}] if message.text.strip() else []
    used = [
        {"type": "tool_use", "id": item.id, "name": item.name, "input": json.loads(call_arguments(item))}
        for item in (call, *message.more_calls)
    ]
    return {"role": "assistant", "content": [*said, *used]}


def _picture(image: Image) -> dict[str, object]:
    data = base64.b64encode(image.content).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": image.type, "data": data}}
