"""Models behind an OpenAI-compatible endpoint, with a strict reader of replies.

Source: https://platform.openai.com/docs/api-reference/chat/create, and variants of compatible servers (a list of
content parts, an `error` in a reply of status 200, other names for why an answer ended).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import Field, FiniteFloat, TypeAdapter, ValidationError
from yarl import URL

from hellofresh.core.files import model_fault
from hellofresh.core.net.http import HttpReply
from hellofresh.models import Answer, Finish, Message, ModelSpec, Request, ToolCall
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
    excerpt,
    failure,
    first_word_chances,
    parsed,
    read_call,
    tool_schema,
    whole_calls,
)
from hellofresh.models.tables import Abilities, Endpoint

_TOP_LOGPROBS = 20
_FINISHES = {
    **dict.fromkeys(("length", "max_tokens", "model_length"), Finish.LENGTH),
    **dict.fromkeys(("content_filter", "refusal", "safety"), Finish.BLOCKED),
}


class _Said(Shape):
    content: str | list[dict[str, Any]] | None = None
    refusal: Any = None
    tool_calls: Any = None
    annotations: Any = None


class _Token(Shape):
    token: str
    logprob: FiniteFloat


_TOKENS = TypeAdapter(list[_Token])


class _Logprobs(Shape):
    content: list[dict[str, Any]] | None = None


class _Choice(Shape):
    message: _Said | None = None
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class _Details(Shape):
    cached_tokens: Tokens | None = None


class _Usage(Shape):
    prompt_tokens: Tokens | None = None
    completion_tokens: Tokens | None = None
    prompt_tokens_details: Any = None


class _Reply(Shape):
    choices: list[dict[str, Any]] = Field(min_length=1)
    usage: _Usage | None = None
    model: str | None = None
    citations: Any = None
    search_results: Any = None


class ChatModel(HttpModel):
    """A model behind `<base_url>/chat/completions`."""

    path = "/chat/completions"

    def __init__(self, spec: ModelSpec, endpoint: Endpoint, abilities: Abilities) -> None:
        super().__init__(spec, endpoint, abilities, where=f"{spec.name} at {URL(endpoint.base_url).host}")

    def body(self, request: Request) -> bytes:
        abilities, messages = self._abilities, request.messages
        body: dict[str, object] = {
            "model": self._model,
            "messages": list(map(_message, messages if abilities.system_messages else _without_system(messages))),
            abilities.token_parameter: request.max_tokens + abilities.hidden_tokens,
        }
        if abilities.temperature:
            body["temperature"] = request.temperature
        if abilities.seed and request.seed is not None:
            body["seed"] = request.seed
        if abilities.logprobs:
            body["logprobs"], body["top_logprobs"] = True, _TOP_LOGPROBS
        if request.tools:
            functions = (
                {"name": tool.name, "description": tool.about, "parameters": tool_schema(tool)}
                for tool in request.tools
            )
            body["tools"] = [{"type": "function", "function": function} for function in functions]
        if request.options:
            body |= json.loads(request.options)
        return encoded({**self._options, **body})

    def read(self, reply: HttpReply, request: Request) -> Answer:
        if reply.status == 200:
            return read_reply(reply.body, self.where, whole=whole_calls(request))
        return failure(reply.status, reply.body, self.where, reply.wait_s)


def _message(message: Message) -> dict[str, object]:
    call = message.call
    if call is None:
        shown = content_of(message, lambda image: {"type": "image_url", "image_url": {"url": data_url(image)}})
        return {"role": message.role, "content": shown}
    if message.role == "user":
        return {"role": "tool", "tool_call_id": call.id, "content": message.text}
    called = [
        {"id": item.id, "type": "function", "function": {"name": item.name, "arguments": call_arguments(item)}}
        for item in (call, *message.more_calls)
    ]
    return {"role": "assistant", "content": message.text or None, "tool_calls": called}


def _without_system(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages with texts of system messages moved before the first user message."""
    rest = [message for message in messages if message.role != "system"]
    if len(rest) == len(messages):
        return messages
    rules = "\n\n".join(message.text for message in messages if message.role == "system")
    for number, message in enumerate(rest):
        if message.role == "user" and message.call is None:
            rest[number] = replace(message, parts=(f"{rules}\n\n", *message.parts))
            return rest
    return [Message("user", (rules,)), *rest]


def read_reply(body: bytes, where: str, *, whole: bool = False) -> Answer:
    """The answer in the body of a reply of status 200.

    Args:
        body: as received.
        where: the endpoint and model, for messages.
        whole: whether to return all tool calls with all arguments.

    Raises:
        CallError: if the body is not JSON, holds an error, or has a wrong shape.
    """
    try:
        reply = parsed(body)
        if isinstance(reply, dict) and reply.get("error"):
            return failure(200, body, where, None)
        return _answer(_Reply.model_validate(reply), whole)
    except ValidationError as error:
        raise bad_reply(where, model_fault(error)) from None
    except RecursionError:
        raise bad_reply(where, "nested too deeply") from None
    except ValueError as error:
        raise bad_reply(where, str(error), body=body) from None


def _answer(reply: _Reply, whole: bool) -> Answer:
    if error := reply.choices[0].get("error"):
        raise ValueError(f"choices[0] holds an error: {excerpt(str(error))}")
    choice, usage = _Choice.model_validate(reply.choices[0]), reply.usage or _Usage()
    said, reason = choice.message or _Said(), choice.finish_reason
    if reason == "error":
        raise ValueError("finish_reason is error")
    if choice.message is None and _FINISHES.get(reason or "") is not Finish.BLOCKED:  # a filter may leave no message
        raise ValueError("choices[0] has no message")
    details = usage.prompt_tokens_details
    cached = _Details.model_validate(details).cached_tokens if isinstance(details, dict) else None
    calls = _calls(said.tool_calls, whole)
    return Answer(
        text=_text(said.content) or str(said.refusal or ""),
        finish=Finish.BLOCKED if said.refusal else _FINISHES.get(reason or "stop", Finish.STOP),
        tokens_in=usage.prompt_tokens,
        tokens_out=usage.completion_tokens,
        logprobs=_logprobs(choice.logprobs),
        served_by=reply.model,
        call=next(iter(calls), None),
        sources=_sources(reply, said.annotations),
        more_calls=calls[1:] if whole else (),
        cached_in=min(cached or 0, usage.prompt_tokens or 0),
    )


def _text(content: str | list[dict[str, object]] | None) -> str:
    """The visible text, which may be missing if there is only a tool call, or hidden reasoning used up the cap."""
    if not isinstance(content, list):
        return content or ""
    texts = [part.get("text") for part in content if part.get("type") == "text"]
    if any(not isinstance(text, str) for text in texts):
        raise ValueError("a part of content has no text")
    return "".join(map(str, texts))


def _calls(items: object, whole: bool) -> tuple[ToolCall, ...]:
    """The function calls up to the first entry of another form."""
    calls = []
    for number, item in enumerate(_dicts(items), start=1):
        function = item.get("function")
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            break
        key = str(item.get("id") or f"call-{number}")
        calls.append(read_call(key, function["name"], function.get("arguments"), whole=whole))
    return tuple(calls)


def _sources(reply: _Reply, annotations: object) -> tuple[str, ...]:
    """Addresses that an answer cites, in any of the forms that endpoints use."""
    cited = _dicts([item.get("url_citation", item) for item in _dicts(annotations)]) + _dicts(reply.search_results)
    listed = reply.citations if isinstance(reply.citations, list) else []
    return addresses_in([*(item.get("url") for item in cited), *listed])


def _dicts(items: object) -> list[dict[str, object]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _logprobs(logprobs: _Logprobs | None) -> Mapping[str, float] | None:
    """Log-probabilities of yes and no from the most likely first tokens."""
    if logprobs is None or not logprobs.content:
        return None
    likeliest = _TOKENS.validate_python(logprobs.content[0].get("top_logprobs") or logprobs.content[:1])
    return first_word_chances((item.token, item.logprob) for item in likeliest)
