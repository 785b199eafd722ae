"""Models behind an OpenAI-compatible endpoint: text first, and of what comes beside it what can be read.

Source: https://platform.openai.com/docs/api-reference/chat/create, and variants of compatible servers (a list of
content parts, an `error` in a reply of status 200, other names for why an answer ended).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from yarl import URL

from hellofresh.core.net.http import HttpReply
from hellofresh.models import Answer, Finish, Message, ModelSpec, Request, ToolCall
from hellofresh.models.providers import (
    HttpModel,
    addresses_in,
    answer_chances,
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
    parsed,
    read_call,
    tool_schema,
    whole_calls,
)
from hellofresh.models.tables import Abilities, Endpoint

_TOP_LOGPROBS = 20  # the most that the API gives
_FINISHES = {
    **dict.fromkeys(("length", "max_tokens", "model_length"), Finish.LENGTH),
    **dict.fromkeys(("content_filter", "refusal", "safety"), Finish.BLOCKED),
}


_THOUGHTS = ("reasoning_content", "reasoning")
# Fields of a message with reasoning; a model that calls tools may need them back in the next turn.
_THOUGHT_BACK = ("reasoning_content", "reasoning", "reasoning_details")
_ERRORS = frozenset({"error", "detail", "message", "msg"})
_CITING = {"annotations", "citations", "search_results"}


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
    back = json.loads(call.token) if call.token else {}
    return {"role": "assistant", "content": message.text or None, "tool_calls": called, **back}


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
        CallError: if the body is not JSON, holds an error, or has no message.
    """
    try:
        reply = parsed(body)
        choice = found(reply, "choices", 0)
        error = found(choice, "error")
        if isinstance(reply, dict) and not isinstance(choice, dict) and (said := _ERRORS & reply.keys()):
            if any(reply[name] for name in said):
                return failure(200, body, where, None)
            raise bad_reply(where, "no choices")
        if isinstance(error, dict):
            return failure(200, encoded({"error": error}), where, None)
        return _answer(reply, choice, whole)
    except RecursionError:
        raise bad_reply(where, "nested too deeply") from None
    except ValueError as fault:
        raise bad_reply(where, str(fault), body=body) from None


def _answer(reply: dict[str, object], choice: object, whole: bool) -> Answer:
    reason, message = found_text(choice, "finish_reason"), found(choice, "message")
    finish = _FINISHES.get(reason, Finish.STOP)
    if isinstance(choice, dict) and not isinstance(message, dict):
        message = {"content": choice.get("text")} if isinstance(choice.get("text"), str) else message
    if reason == "error":
        raise ValueError("finish_reason is error")
    if not isinstance(message, dict) and finish is not Finish.BLOCKED:  # a filter may leave no message
        raise ValueError("choices[0].message: input should be an object")
    said = message if isinstance(message, dict) else {}
    text, thought = _text(said.get("content"))
    refusal, usage = found_text(said, "refusal"), found(reply, "usage")
    thoughts = [thought, *dict.fromkeys(found_text(said, name) for name in _THOUGHTS if name in said)]
    calls = _calls(said, whole) if said.get("tool_calls") else ()
    tokens_in = found_count(usage, "prompt_tokens")
    tokens_out, thought_tokens = _tokens_out(usage)
    return Answer(
        text=text or refusal,
        finish=Finish.BLOCKED if refusal and not text else finish,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        logprobs=_logprobs(choice) if found(choice, "logprobs") else None,
        served_by=found_text(reply, "model") or None,
        call=next(iter(calls), None),
        sources=_sources(reply, said) if _CITING & (reply.keys() | said.keys()) else (),
        more_calls=calls[1:] if whole else (),
        cached_in=min(found_count(usage, "prompt_tokens_details", "cached_tokens") or 0, tokens_in or 0),
        thought="\n".join(filter(None, thoughts)),
        thought_tokens=thought_tokens,
    )


def _tokens_out(usage: object) -> tuple[int | None, int]:
    """Tokens of the answer with the hidden ones, and how many are hidden; some services count these apart."""
    visible = found_count(usage, "completion_tokens")
    details = found(usage, "completion_tokens_details") or usage
    hidden = found_count(details, "reasoning_tokens") or 0
    if visible is None or not hidden:
        return visible, hidden
    is_apart = found_count(usage, "total_tokens") == (found_count(usage, "prompt_tokens") or 0) + visible + hidden
    return visible + hidden if is_apart else visible, hidden


def _text(content: object) -> tuple[str, str]:
    """The visible text and the reasoning; both may be missing, with a tool call or where the cap was used up."""
    if content is None or isinstance(content, str):
        return content or "", ""
    if not isinstance(content, list):
        raise ValueError("choices[0].message.content is neither a text nor a list")
    texts, thoughts = [], []
    for part in found_rows(content):
        if part.get("type") == "thinking":  # of Mistral
            inner = part.get("thinking")
            thoughts += [inner] if isinstance(inner, str) else [found_text(item, "text") for item in found_rows(inner)]
        elif part.get("type") in ("text", "output_text"):
            if not isinstance(part.get("text"), str):
                raise ValueError("a part of content has no text")
            texts.append(part["text"])
    return "".join(texts), "".join(thoughts)


def _calls(message: dict[str, object], whole: bool) -> tuple[ToolCall, ...]:
    """The function calls up to the first entry of another form; the first has the reasoning that goes back with it."""
    calls: list[ToolCall] = []
    back = {name: message[name] for name in _THOUGHT_BACK if message.get(name)}
    for number, item in enumerate(found_rows(message, "tool_calls"), start=1):
        name = found(item, "function", "name")
        if not isinstance(name, str):
            break
        token = json.dumps(back, ensure_ascii=False) if back and not calls else ""
        key = str(item.get("id") or f"call-{number}")
        calls.append(read_call(key, name, found(item, "function", "arguments"), token, whole=whole))
    return tuple(calls)


def _sources(reply: object, message: object) -> tuple[str, ...]:
    """Addresses that an answer cites, in any of the forms that endpoints use."""
    cited = [item.get("url_citation", item) for item in found_rows(message, "annotations")]
    listed = found(reply, "citations")
    rows = [*cited, *found_rows(reply, "search_results")]
    return addresses_in([*(found(item, "url") for item in rows), *(listed if isinstance(listed, list) else ())])


def _logprobs(choice: object) -> Mapping[str, float] | None:
    """Log-probabilities of yes and no at the first token of the answer."""
    rows = found_rows(choice, "logprobs", "content")
    return answer_chances(
        [
            (
                found_text(row, "token"),
                [(item.get("token"), item.get("logprob")) for item in found_rows(row, "top_logprobs") or [row]],
            )
            for row in rows
        ]
    )
