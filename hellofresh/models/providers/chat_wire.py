"""The wire format of chat completions: what is sent, and how strictly a reply is read.

Source: https://platform.openai.com/docs/api-reference/chat/create, and what compatible servers make of it (a list of
content parts, an `error` in a reply of status 200, other names for why an answer ended).
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from hellofresh.models._endpoint import Abilities
from hellofresh.models.base import Answer, CallError, Finish, Message, Request, Tool, ToolCall
from hellofresh.tasks.images import Image

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_TOP_LOGPROBS = 20
_MOST_TOKENS = 2**53
_EXCERPT = 300
_LENGTH = frozenset({"length", "max_tokens", "model_length"})
_BLOCKED = frozenset({"content_filter", "refusal", "safety"})
_BLOCKED_CODES = frozenset({"content_filter", "content_policy_violation"})
_SPENT_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached"})


def payload(request: Request, model: str, abilities: Abilities) -> bytes:
    """The body of a request, with only what the model takes."""
    body: dict[str, Any] = {
        "model": model,
        "messages": _messages(request, abilities),
        abilities.token_parameter: request.max_tokens + abilities.hidden_tokens,
    }
    if abilities.temperature:
        body["temperature"] = request.temperature
    if abilities.seed and request.seed is not None:
        body["seed"] = request.seed
    if abilities.logprobs:
        body["logprobs"], body["top_logprobs"] = True, _TOP_LOGPROBS
    if request.tools:
        body["tools"] = [{"type": "function", "function": _function(tool)} for tool in request.tools]
    if request.options:
        body |= json.loads(request.options)
    return _ENCODER.encode(body).encode("utf-8", "replace")


def _function(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.about, "parameters": tool_schema(tool)}


def tool_schema(tool: Tool) -> dict[str, Any]:
    """What a tool takes as a JSON schema."""
    if tool.schema:
        given: dict[str, Any] = json.loads(tool.schema)
        return given
    properties = {tool.argument: {"type": "string"}}
    return {"type": "object", "properties": properties, "required": [tool.argument]}


def whole_calls(request: Request) -> bool:
    """Whether the calls of an answer are handed on whole: all of them, with all arguments."""
    return any(tool.schema for tool in request.tools)


def read_call(key: str, name: str, arguments: Any, token: str = "", *, whole: bool = False) -> ToolCall:
    """A call of a tool as it came; its arguments as JSON, or as an object."""
    if not whole:
        return ToolCall(key, name, _text_argument(arguments), token=token)
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
    return ToolCall(key, name, "", token=token, arguments=_whole(text) or "{}")


def call_arguments(call: ToolCall) -> str:
    """All arguments of a call as JSON."""
    return call.arguments or json.dumps({call.parameter: call.argument}, ensure_ascii=False)


def _text_argument(arguments: Any) -> str:
    """The text that a tool is called with: the first one among the arguments, which may come as JSON; else empty."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            return _whole(arguments)
    values = arguments.values() if isinstance(arguments, dict) else [arguments]
    return _whole(next((value for value in values if isinstance(value, str)), ""))


def _message(message: Message) -> dict[str, Any]:
    call = message.call
    if call is None:
        return {"role": message.role, "content": _content_of(message)}
    if message.role == "user":
        return {"role": "tool", "tool_call_id": call.id, "content": message.text}
    called = [
        {"id": item.id, "type": "function", "function": {"name": item.name, "arguments": call_arguments(item)}}
        for item in (call, *message.more_calls)
    ]
    return {"role": "assistant", "content": message.text or None, "tool_calls": called}


def _content_of(message: Message) -> str | list[dict[str, Any]]:
    if not message.images:
        return message.text
    shown = [{"type": "image_url", "image_url": {"url": data_url(image)}} for image in message.images]
    return [*shown, {"type": "text", "text": message.text}]


def data_url(image: Image) -> str:
    """A picture within an address."""
    return f"data:{image.type};base64,{base64.b64encode(image.content).decode()}"


def _messages(request: Request, abilities: Abilities) -> list[dict[str, Any]]:
    messages = request.messages
    if not abilities.system_messages and any(message.role == "system" for message in messages):
        messages = _without_system(messages)
    return [_message(message) for message in messages]


def _without_system(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The texts of system messages put before the first one of the user."""
    rules = "\n\n".join(message.text for message in messages if message.role == "system")
    rest = [message for message in messages if message.role != "system"]
    for number, message in enumerate(rest):
        if message.role == "user" and message.call is None:
            rest[number] = replace(message, parts=(f"{rules}\n\n", *message.parts))
            return tuple(rest)
    return (Message("user", (rules,)), *rest)


class _BadReplyError(ValueError):
    """A reply that is not what the wire format says."""


@dataclass(frozen=True, slots=True)
class _Fault:
    """What an error body says."""

    message: str
    code: str
    status: int | None
    flagged: bool = False


def read_reply(body: bytes, where: str, *, whole: bool = False) -> Answer:
    """The answer in the body of a reply of status 200.

    Args:
        body: as it came.
        where: the endpoint and model, for messages.
        whole: whether calls of tools are handed on whole.

    Raises:
        CallError: if the body is not a JSON, holds an error, or is not shaped as it should be.
    """
    try:
        reply = _parse(body)
        if reply.get("error"):
            fault = _fault(reply["error"])
            return failure(fault.status or 200, body, where, None)
        return _answer(reply, whole)
    except _BadReplyError as error:
        raise CallError(
            f"a reply that cannot be read ({error})",
            where=where,
            expected="a chat completion",
            code="bad-reply",
            retryable=True,
            status=200,
        ) from None


def _parse(body: bytes) -> dict[str, Any]:
    try:
        reply = json.loads(body, parse_constant=_no_constant)
    except RecursionError:
        raise _BadReplyError("nested too deeply") from None
    except ValueError as error:
        raise _BadReplyError(f"not JSON: {error}") from None
    whole: dict[str, Any] = _typed(reply, dict, "the whole")
    return whole


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _typed(value: Any, kind: type, name: str) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise _BadReplyError(f"{name} is {'null' if value is None else type(value).__name__}, not {kind.__name__}")
    return value


def _answer(reply: Mapping[str, Any], whole: bool) -> Answer:
    choices = _typed(reply.get("choices"), list, "choices")
    if not choices:
        raise _BadReplyError("choices is empty")
    choice = _typed(choices[0], dict, "choices[0]")
    if choice.get("error"):
        raise _BadReplyError(f"choices[0] holds an error: {_fault(choice['error']).message}")
    message = _typed(choice.get("message"), dict, "message")
    text = _whole(_content(message.get("content")))
    finish = _finish(choice.get("finish_reason"))
    refusal = message.get("refusal")
    if refusal:
        text, finish = text or _whole(_typed(refusal, str, "refusal")), Finish.BLOCKED
    tokens_in, tokens_out, cached_in = _usage(reply.get("usage"))
    served_by = reply.get("model")
    calls = _calls(message.get("tool_calls"), whole)
    return Answer(
        text=text,
        finish=finish,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        logprobs=_logprobs(choice.get("logprobs")),
        served_by=None if served_by is None else _whole(_typed(served_by, str, "model")),
        call=next(iter(calls), None),
        sources=_sources(reply, message),
        more_calls=calls[1:] if whole else (),
        cached_in=cached_in,
    )


def _calls(items: Any, whole: bool) -> tuple[ToolCall, ...]:
    """The calls of functions; what stands there and is none is left out, and all if the first one is none."""
    calls = []
    for number, item in enumerate(_dicts(items), start=1):
        function = item.get("function")
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            break
        key = _whole(str(item.get("id") or f"call-{number}"))
        calls.append(read_call(key, _whole(function["name"]), function.get("arguments"), whole=whole))
    return tuple(calls)


def _sources(reply: Mapping[str, Any], message: Mapping[str, Any]) -> tuple[str, ...]:
    """Addresses that an answer cites, in any of the ways that endpoints have; others are not citations."""
    cited = _dicts([item.get("url_citation", item) for item in _dicts(message.get("annotations"))])
    cited += _dicts(reply.get("search_results"))
    addresses = [item.get("url") for item in cited]
    listed = reply.get("citations")
    return addresses_in([*addresses, *(listed if isinstance(listed, list) else [])])


def _dicts(items: Any) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def addresses_in(items: Iterable[Any]) -> tuple[str, ...]:
    """The web addresses among what may be anything, each once, in their order."""
    texts = (_whole(item).strip() for item in items if isinstance(item, str))
    return tuple(dict.fromkeys(text for text in texts if text.lower().startswith(("http://", "https://"))))


def _content(content: Any) -> str:
    """The visible text; none is empty (a call of a tool that nobody offered, or hidden reasoning used up the cap)."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    parts = [_typed(part, dict, "a part of content") for part in _typed(content, list, "content")]
    return "".join(_typed(part.get("text"), str, "text") for part in parts if part.get("type") == "text")


def _finish(reason: Any) -> Finish:
    if reason is None or reason == "stop":
        return Finish.STOP
    name = _typed(reason, str, "finish_reason")
    if name == "error":
        raise _BadReplyError("finish_reason is error")
    if name in _LENGTH:
        return Finish.LENGTH
    return Finish.BLOCKED if name in _BLOCKED else Finish.STOP


def _whole(text: str) -> str:
    """The text with halves of surrogate pairs, which no file can hold, replaced."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _usage(usage: Any) -> tuple[int | None, int | None, int]:
    """Tokens of the request and of the answer, and those of the request that came from a cache."""
    if usage is None:
        return None, None, 0
    numbers = _typed(usage, dict, "usage")
    asked, details = _tokens(numbers.get("prompt_tokens")), numbers.get("prompt_tokens_details")
    cached = _tokens(details.get("cached_tokens")) if isinstance(details, dict) else None
    return asked, _tokens(numbers.get("completion_tokens")), min(cached or 0, asked or 0)


def _tokens(number: Any) -> int | None:
    if number is None:
        return None
    if not 0 <= _typed(number, int, "a number of tokens") < _MOST_TOKENS:
        raise _BadReplyError("a number of tokens beyond reason")
    return int(number)


def _logprobs(logprobs: Any) -> Mapping[str, float] | None:
    """What the first token's likeliest spellings say of yes and no."""
    if logprobs is None:
        return None
    tokens = _typed(logprobs, dict, "logprobs").get("content")
    if not tokens:
        return None
    first = _typed(_typed(tokens, list, "logprobs.content")[0], dict, "a token")
    likeliest = [_typed(item, dict, "a token") for item in first.get("top_logprobs") or [first]]
    return first_word_chances(
        (_typed(item.get("token"), str, "token"), _number(item.get("logprob"))) for item in likeliest
    )


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _BadReplyError("a log-probability is not a number")
    return float(value)


def first_word_chances(spellings: Iterable[tuple[str, float]]) -> Mapping[str, float]:
    """Log-probability of yes and of no, added up over their spellings (`Yes`, ` yes`, `YES`); without one, no entry.

    Args:
        spellings: tokens with their natural log-probabilities.
    """
    found: dict[str, list[float]] = {"yes": [], "no": []}
    for token, logprob in spellings:
        word = token.strip(" \t\r\n\"'*_\u2581\u0120").casefold()
        if word in found:
            found[word].append(logprob)
    return {word: min(0.0, _log_sum(values)) for word, values in found.items() if values}


def _log_sum(values: list[float]) -> float:
    most = max(values)
    return most + math.log(sum(math.exp(value - most) for value in values))


_RETRYABLE = frozenset({408, 409, 425, 429})
_CODES = {
    400: "bad-request",
    401: "not-authorised",
    402: "quota-spent",
    403: "not-authorised",
    404: "unknown-model",
    429: "rate-limit",
}
_FIXES = {
    401: "Check the key.",
    402: "Add credit at the provider, then run the same command again.",
    403: "Check what the key may do.",
    404: "Check the model's id and the base URL.",
}


def refusal(status: int | None, what: str, where: str, wait_s: float | None) -> CallError:
    """The error for a reply with that HTTP status; a status of 200 is of an error that came in place of an answer.

    Args:
        status: None if absent.
        what: what the provider said.
        where: the model, for the message.
        wait_s: seconds that the provider asked to wait.
    """
    number = status or 0
    return CallError(
        what,
        where=where,
        fix=_FIXES.get(number, ""),
        code=_CODES.get(number, "call-failed"),
        retryable=number in _RETRYABLE or number >= 500 or number == 200,
        retry_after_s=wait_s,
        status=status,
    )


def failure(status: int, body: bytes, where: str, wait_s: float | None) -> Answer:
    """What a reply with an error comes to: an answer that was blocked where the provider says so, else an error.

    Args:
        status: HTTP status, or the one that an error in a reply of status 200 names.
        body: as it came.
        where: the endpoint and model, for the message.
        wait_s: seconds that the provider asked to wait.

    Raises:
        CallError: unless the provider refused to answer for what the question says.
    """
    fault = _read_fault(body)
    if fault.flagged or fault.code in _BLOCKED_CODES:
        return Answer("", Finish.BLOCKED)
    said = f": {fault.message}" if fault.message else ""
    what = f"an error instead of an answer{said}" if status == 200 else f"HTTP {status}{said}"
    raise refusal(402 if fault.code in _SPENT_CODES else status, what, where, wait_s)


def _read_fault(body: bytes) -> _Fault:
    try:
        reply = _parse(body)
    except _BadReplyError:
        return _Fault(_excerpt(body.decode("utf-8", "replace")), "", None)
    return _fault(reply.get("error", reply))


def _fault(error: Any) -> _Fault:
    """Read `{"message", "code", "type", "metadata"}`, or a text, or anything."""
    if not isinstance(error, dict):
        return _Fault(_excerpt(str(error)), "", None)
    code = error.get("code")
    metadata = error.get("metadata")
    status = code if isinstance(code, int) and 400 <= code < 600 else None
    return _Fault(
        message=_excerpt(str(error.get("message") or error.get("detail") or error.get("type") or "")),
        code=str(code or error.get("type") or ""),
        status=status,
        flagged=isinstance(metadata, dict) and "flagged_input" in metadata,
    )


def _excerpt(text: str) -> str:
    """The beginning of what a server said, on one line, without control characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 2 * _EXCERPT]).split())
    return line if len(line) <= _EXCERPT else line[: _EXCERPT - 1] + "…"
