"""Answers in the form that clients read: chat completions and responses, whole or in pieces.

An answer of a model comes whole, so its pieces are few: a text, each call of a tool, the end. What names an answer (id,
time) follows from what was asked, so that a run that is replayed gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from hellofresh.models import Answer, Finish, ToolCall
from hellofresh.models.providers.wire import call_arguments
from hellofresh.runs.regimes.endpoint.questions import calls_of

_Fields = dict[str, JsonValue]
_CHAT_FINISHES = {Finish.STOP: "stop", Finish.LENGTH: "length", Finish.BLOCKED: "content_filter"}
_REASONS = {Finish.LENGTH: "max_output_tokens", Finish.BLOCKED: "content_filter"}


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer on its way to a client: what names it, the model as the client called it, seconds since 1970."""

    key: str
    model: str
    created: int
    answer: Answer

    @property
    def _calls(self) -> Sequence[ToolCall]:
        return calls_of(self.answer)

    # Chat completions

    def completion(self) -> _Fields:
        calls: list[JsonValue] = [_chat_call(call) for call in self._calls]
        message: _Fields = {
            "role": "assistant",
            "content": self.answer.text or (None if calls else ""),
            "refusal": None,
        }
        if calls:
            message["tool_calls"] = calls
        choice: _Fields = {"index": 0, "message": message, "finish_reason": self._finish, "logprobs": None}
        return {**self._chat("chat.completion"), "choices": [choice], "usage": self._chat_usage()}

    def chunks(self, *, usage: bool) -> Iterator[_Fields]:
        yield self._chunk({"role": "assistant", "content": self.answer.text})
        for number, call in enumerate(self._calls):
            yield self._chunk({"tool_calls": [{"index": number, **_chat_call(call)}]})
        yield self._chunk({}, self._finish)
        if usage:
            yield {**self._chat("chat.completion.chunk"), "choices": [], "usage": self._chat_usage()}

    def _chunk(self, delta: _Fields, finish: str | None = None) -> _Fields:
        choice: _Fields = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return {**self._chat("chat.completion.chunk"), "choices": [choice]}

    def _chat(self, kind: str) -> _Fields:
        return {"id": f"chatcmpl-{self.key}", "object": kind, "created": self.created, "model": self.model}

    @property
    def _finish(self) -> str:
        return "tool_calls" if self._calls else _CHAT_FINISHES[self.answer.finish]

    def _chat_usage(self) -> JsonValue:
        tokens = self._tokens()
        if tokens is None:
            return None
        return {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}

    def _tokens(self) -> tuple[int, int] | None:
        if self.answer.tokens_in is None or self.answer.tokens_out is None:
            return None
        return self.answer.tokens_in, self.answer.tokens_out

    # Responses

    def response(self) -> _Fields:
        reason = None if self._calls else _REASONS.get(self.answer.finish)
        ended: _Fields = {"status": "completed", "incomplete_details": None}
        if reason is not None:
            ended = {"status": "incomplete", "incomplete_details": {"reason": reason}}
        output: list[JsonValue] = list(self._items())
        return {**self._response_head(), **ended, "output": output, "usage": self._response_usage()}

    def events(self) -> Iterator[_Fields]:
        begun: _Fields = {**self._response_head(), "status": "in_progress", "output": [], "usage": None}
        pieces: list[_Fields] = [{"type": "response.created", "response": begun}]
        for number, item in enumerate(self._items()):
            pieces += self._item_events(number, item)
        whole = self.response()
        pieces.append({"type": f"response.{whole['status']}", "response": whole})
        for number, piece in enumerate(pieces):
            yield {**piece, "sequence_number": number}

    def _item_events(self, number: int, item: _Fields) -> Iterator[_Fields]:
        place: _Fields = {"output_index": number, "item_id": item["id"]}
        added: _Fields = {"output_index": number, "type": "response.output_item.added"}
        if item["type"] == "message":
            yield {**added, "item": {**item, "content": [], "status": "in_progress"}}
            text, place = self.answer.text, {**place, "content_index": 0}
            yield {**place, "type": "response.content_part.added", "part": _text_part("")}
            yield {**place, "type": "response.output_text.delta", "delta": text, "logprobs": []}
            yield {**place, "type": "response.output_text.done", "text": text, "logprobs": []}
            yield {**place, "type": "response.content_part.done", "part": _text_part(text)}
        else:
            yield {**added, "item": {**item, "arguments": "", "status": "in_progress"}}
            kind = "response.function_call_arguments"
            yield {**place, "type": f"{kind}.delta", "delta": item["arguments"]}
            yield {**place, "type": f"{kind}.done", "arguments": item["arguments"], "name": item["name"]}
        yield {"output_index": number, "type": "response.output_item.done", "item": item}

    def _items(self) -> Iterator[_Fields]:
        if self.answer.text or not self._calls:
            yield {
                "id": f"msg_{self.key}",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [_text_part(self.answer.text)],
            }
        for number, call in enumerate(self._calls):
            yield {
                "id": f"fc_{self.key}_{number}",
                "type": "function_call",
                "status": "completed",
                "call_id": call.id,
                "name": call.name,
                "arguments": call_arguments(call),
            }

    def _response_head(self) -> _Fields:
        return {
            "id": f"resp_{self.key}", "object": "response", "created_at": self.created, "model": self.model,
            "error": None, "incomplete_details": None, "instructions": None, "metadata": {},
            "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "temperature": None, "top_p": None,
        }  # fmt: skip

    def _response_usage(self) -> JsonValue:
        tokens = self._tokens()
        if tokens is None:
            return None
        return {
            "input_tokens": tokens[0],
            "output_tokens": tokens[1],
            "total_tokens": sum(tokens),
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        }

    # On the wire

    def stream(self, form: str, *, usage: bool) -> bytes:
        """All pieces as server-sent events."""
        if form == "chat":
            return b"".join(_sent(piece) for piece in self.chunks(usage=usage)) + b"data: [DONE]\n\n"
        return b"".join(f"event: {piece['type']}\n".encode() + _sent(piece) for piece in self.events())


def _sent(piece: _Fields) -> bytes:
    return b"data: " + json.dumps(piece, ensure_ascii=False).encode("utf-8", "replace") + b"\n\n"


def _text_part(text: str) -> _Fields:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _chat_call(call: ToolCall) -> _Fields:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call_arguments(call)}}
