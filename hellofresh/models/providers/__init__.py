"""Shared parts of the wires of all providers: one attempt over HTTP, tools and their calls, and typed errors."""

from __future__ import annotations

import base64
import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NoReturn

import aiohttp
from pydantic_core import from_json, to_json

from hellofresh.core.net.http import HttpClient, HttpReply, UnusableReplyError, brief
from hellofresh.core.net.retry import duration_s
from hellofresh.models import Answer, CallError, Finish, Message, ModelSpec, Request, Tool, ToolCall
from hellofresh.models.tables import Abilities, Endpoint
from hellofresh.models.thoughts import visible_part
from hellofresh.tasks.images import Image

MAX_BODY = 4 * 2**20
"""Maximum bytes read of a reply."""
HIDDEN_KEY = 8
"""Fewest characters of a key that is hidden; a shorter one is a placeholder, and its letters stand in other words."""
_JSON = {"Content-Type": "application/json", "Accept": "application/json"}
_EXCERPT = 300  # enough to tell a login page from a proxy's error
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
_TOO_LONG = re.compile(
    r"(?i)context[ _-]?(?:length|size|window)|(?:maximum|max) (?:number of|allowed)? ?(?:input )?tokens|max_new_tokens"
    r"|too many (?:input )?tokens|(?:prompt|input|request)(?: is| was)? too (?:long|large)|tokens? limit exceeded"
)
_SHORTEN = "Shorten what the prompt shows, or ask a model with a longer context: asked again, it fails again."
_EVENTS = re.compile(rb"\s*(?:data|event|id|retry)?:")
_NO_STREAM = "Make the endpoint answer in one piece: no stream was requested."
_NO_PAGE = "Check the base URL: a web page or a proxy may answer there."
# Messages about who asks, which no question is to blame for.
_OF_ACCOUNT = re.compile(
    r"(?i)\b(?:account|organi[sz]ation|project|team|(?:api )?key)\b[^.]{0,60}\b(?:banned|blocked|deactivated|disabled"
    r"|flagged|suspended|terminated)\b"
)
# Codes and phrases of providers that withhold an answer for what the question or the answer says.
_BLOCKED = re.compile(
    r"(?i)content[ _-]?(?:filter|policy)|responsible ?ai|invalid_prompt|data_?inspection_?failed|inappropriate content"
    r"|content exists risk|blocked by|usage (?:guidelines?|polic(?:y|ies))|moderation|flagged_input|prohibited_content"
    r"|sensitive ?(?:content|information|words?)|input sensitive|high risk|safety_check|guardrail"
    r"|safety (?:filter|system)s?|unsafe content|content violates|\u654f\u611f|\u8fdd\u89c4"
)
# The status that an error means, by words in its code or message; they go before the status of HTTP.
_BY_WORDS = {
    402: re.compile(
        r"(?i)insufficient[ _-]?(?:quota|balance|credits?|funds)|credit balance is too low|out of credits?"
        r"|billing_(?:hard_limit|not_active|error)|requires more credits|exceeded your (?:monthly|spend)"
        r"|\u4f59\u989d\u4e0d\u8db3|arrearage"
    ),
    401: re.compile(
        r"(?i)(?:invalid|incorrect|expired)[ _-]?(?:x-)?api[ _-]?key|api[ _-]?key[ _](?:not[ _]valid|invalid|expired)"
        r"|authentication_error|unauthenticated"
    ),
    404: re.compile(
        r"(?i)model[_ ]not[_ ]found|model\b.{0,80}\bdoes not exist|not a valid model|no such model|unknown model"
        r"|not_found_error"
    ),
}
# The status of an error that comes with status 200, by its code or type.
_NAMED = {
    **dict.fromkeys(("rate_limit_exceeded", "rate_limit_error", "too_many_requests", "resource_exhausted"), 429),
    **dict.fromkeys(("overloaded_error", "overloaded", "engine_overloaded", "unavailable"), 529),
    **dict.fromkeys(("server_error", "api_error", "internal", "internal_error", "internal_server_error"), 500),
    **dict.fromkeys(("timeout_error", "timeout", "deadline_exceeded"), 504),
    **dict.fromkeys(("invalid_request_error", "invalid_argument", "bad_request"), 400),
    **dict.fromkeys(("permission_error", "permission_denied"), 403),
    "request_too_large": 413,
}
# Words of a message about a parameter, and the setting that a model of that kind needs.
_SETTINGS = (
    (r"max_completion_tokens", 'token_parameter = "max_completion_tokens"'),
    (r"max_tokens", 'token_parameter = "max_tokens"'),
    (r"temperature", "temperature = false"),
    (r"top_logprobs|logprobs", "logprobs = false"),
    (r"\bseed\b", "seed = false"),
    (r"system (?:role|message|prompt|instruction)|developer instruction", "system_messages = false"),
    (r"\btools?\b|function.?call", "tools = false"),
    (r"image|vision|multimodal", "sees = false"),
)
_UNSUPPORTED = re.compile(
    r"(?i)unsupported|not support|unrecogni[sz]ed|unknown (?:name|parameter|field)|unexpected|not (?:permitted|allowed)"
    r"|extra inputs|does not exist|instead|deprecated|not enabled"
)
_INSTEAD = re.compile(r"(?i)use\W+(\w+)\W+instead")
_TRY_IN = re.compile(
    r"(?i)(?:try|retry|wait)\b[^.\n]{0,60}?\b(?:in|after|for)\s+"
    r"((?:\d+(?:\.\d+)?\s*(?:ms|milliseconds?|h(?:ours?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)\s*)+)"
)
_DELAY = re.compile(r'"retry_?delay"\s*:\s*"([^"]{1,20})"', re.IGNORECASE)


# Tolerant reading: what a provider sends beside a text may be of any form, and never loses the text.
_SEARCHED = 2_000
_BEFORE = re.compile(r"(?:</?\w{1,10}>|[\W_])*")


def found(value: object, *path: str | int) -> Any:
    """What is at a path of keys and places in JSON; None where there is nothing."""
    for step in path:
        if type(value) is dict:
            value = value.get(step)
        elif type(value) is list and isinstance(step, int) and len(value) > step:
            value = value[step]
        else:
            return None
    return value


def found_text(value: object, *path: str | int) -> str:
    """The text at a path, '' where there is none."""
    text = found(value, *path)
    return text if isinstance(text, str) else ""


def found_rows(value: object, *path: str | int) -> list[dict[str, Any]]:
    """The objects in the list at a path; other items are left out."""
    items = found(value, *path)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def found_count(value: object, *path: str | int) -> int | None:
    """The number of tokens at a path; None where there is no whole number from 0 on."""
    number = found(value, *path)
    return number if type(number) is int and 0 <= number < 2**53 else None


class HttpModel(ABC):
    """A model called without an SDK, by one POST to a path below its base URL.

    The runner waits and retries. Connections are reused; replies are not decompressed and are
    bounded, and messages never contain the key.

    Args:
        spec: what is known of it.
        endpoint: its address and key.
        abilities: the parameters that it accepts.
        headers: headers of every request besides the endpoint's own; by default the key as a bearer token.
        where: its name in messages; the model's name if left out.

    Raises:
        ConfigError: if a header or the key has a control character in it.
    """

    path: ClassVar[str]
    list_path: ClassVar[str] = "/models"

    def __init__(
        self,
        spec: ModelSpec,
        endpoint: Endpoint,
        abilities: Abilities,
        headers: Mapping[str, str] | None = None,
        where: str = "",
    ) -> None:
        self.spec, self.where = spec, where or spec.name
        self._model, self._abilities, self._timeout_s = endpoint.model, abilities, endpoint.timeout_s
        self._options = endpoint.options
        self._url = endpoint.base_url.rstrip("/") + self.path.format(model=endpoint.model)
        self._list_url = endpoint.base_url.rstrip("/") + self.list_path
        self._key = endpoint.key or ""
        bearer = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
        all_headers = {**_JSON, **(bearer if headers is None else headers), **endpoint.headers}
        self._client = HttpClient(self.where, all_headers, timeout_s=endpoint.timeout_s)

    async def ask(self, request: Request) -> Answer:
        """Send one request.

        Raises:
            CallError: if no answer came; `retryable` says whether another attempt makes sense.
        """
        where, body = self.where, self.body(request)
        try:
            reply = await self._client.send("POST", self._url, body, most_bytes=MAX_BODY)
        except TimeoutError:
            what = f"no answer within {self._timeout_s:g} s"
            raise CallError(what, where=where, code="timeout", retryable=True) from None
        except UnusableReplyError as error:
            raise bad_reply(where, str(error), error.status) from None
        except (aiohttp.ClientConnectorCertificateError, aiohttp.ClientSSLError) as error:
            raise CallError(f"no safe connection ({brief(error)})", where=where, code="tls") from None
        except (aiohttp.ClientPayloadError, aiohttp.ServerDisconnectedError) as error:
            what = f"the connection ended before the answer ({brief(error)})"
            raise CallError(what, where=where, code="cut-off", retryable=True) from None
        except (aiohttp.ClientError, OSError) as error:
            what = f"the endpoint cannot be reached ({brief(error)})"
            raise CallError(what, where=where, code="unreachable", retryable=True) from None
        if 300 <= reply.status < 400:
            raise CallError(
                f"HTTP {reply.status}: the endpoint redirects, and redirects are not followed",
                where=where,
                fix="Give the final address as base URL.",
                code="redirect",
                status=reply.status,
            )
        if (hidden := self._hidden(reply.body)) is not None:
            reply = replace(reply, body=hidden)
        return self.read(reply, request)

    def _hidden(self, body: bytes) -> bytes | None:
        """The body without the key, which some services repeat; None if it is not there."""
        key = self._key
        if len(key) < HIDDEN_KEY or (key.encode() not in body and b"\\" not in body):
            return None
        try:
            written = json.dumps(parsed(body), ensure_ascii=False)  # no escapes within it, other than of its own
        except (ValueError, RecursionError):
            written = body.decode("utf-8", "replace")
        return written.replace(json.dumps(key, ensure_ascii=False)[1:-1], "[key]").replace(key, "[key]").encode()

    async def listed(self) -> list[str]:
        """The ids of the models that the endpoint lists; empty if it has no list that can be read."""
        try:
            reply = await self._client.send("GET", self._list_url, most_bytes=MAX_BODY)
            said = parsed(reply.body) if reply.status == 200 else None
        except (aiohttp.ClientError, TimeoutError, OSError, UnusableReplyError, ValueError, RecursionError):
            return []
        rows = found_rows(said, "data") or found_rows(said, "models")
        return [(found_text(row, "id") or found_text(row, "name")).removeprefix("models/") for row in rows]

    async def close(self) -> None:
        """Close all connections; a later request opens new ones."""
        await self._client.close()

    @abstractmethod
    def body(self, request: Request) -> bytes:
        """The body of a request, with only the parameters that the model accepts."""

    @abstractmethod
    def read(self, reply: HttpReply, request: Request) -> Answer:
        """The answer in a reply.

        Raises:
            CallError: if it holds no answer.
        """


def encoded(body: Mapping[str, object]) -> bytes:
    """A body of a request as JSON; halves of surrogate pairs become question marks."""
    try:
        return to_json(body)
    except ValueError:  # the fast writer refuses halves of surrogate pairs
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def content_of(
    message: Message, shown: Callable[[Image], dict[str, object]], kind: str = "text"
) -> str | list[dict[str, object]]:
    """The content of a message: its text, or its pictures and its text as parts.

    Args:
        message: of the system, the user or the assistant.
        shown: a picture as a part.
        kind: the type of the part with the text.
    """
    if not message.images:
        return message.text
    return [*map(shown, message.images), {"type": kind, "text": message.text}]


def data_url(image: Image) -> str:
    """A picture as a data URL."""
    return f"data:{image.type};base64,{base64.b64encode(image.content).decode()}"


def tool_schema(tool: Tool) -> dict[str, object]:
    """The arguments of a tool as a JSON schema."""
    if tool.schema:
        given: dict[str, object] = json.loads(tool.schema)
        return given
    properties = {tool.argument: {"type": "string"}}
    return {"type": "object", "properties": properties, "required": [tool.argument]}


def whole_calls(request: Request) -> bool:
    """Whether to return all calls of an answer with all arguments."""
    return any(tool.schema for tool in request.tools)


def call_arguments(call: ToolCall) -> str:
    """All arguments of a call as JSON."""
    return call.arguments or json.dumps({call.parameter: call.argument}, ensure_ascii=False)


def read_call(key: str, name: str, arguments: object, token: str = "", *, whole: bool = False) -> ToolCall:
    """Read a tool call, whose arguments are JSON text or an object.

    Unless `whole`, only the first text among the arguments is kept, if any.
    """
    if whole:
        text = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
        return ToolCall(key, name, "", token=token, arguments=whole_text(text) or "{}")
    if isinstance(arguments, str):
        said = arguments
        try:
            arguments = json.loads(said, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            return ToolCall(key, name, whole_text(said), token=token)
    values: Iterable[object] = arguments.values() if isinstance(arguments, dict) else [arguments]
    text = next((value for value in values if isinstance(value, str)), "")
    return ToolCall(key, name, whole_text(text), token=token)


def whole_text(text: str) -> str:
    """The text with halves of surrogate pairs replaced, which cannot be written to a file."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def addresses_in(items: Iterable[object]) -> tuple[str, ...]:
    """The distinct web addresses among arbitrary values, in their order."""
    texts = (whole_text(item).strip() for item in items if isinstance(item, str))
    return tuple(dict.fromkeys(text for text in texts if text.lower().startswith(("http://", "https://"))))


def answer_chances(tokens: Sequence[tuple[str, Sequence[tuple[object, object]]]]) -> Mapping[str, float] | None:
    """Log-probabilities of yes and no at the token with which the visible answer begins; None without such a token.

    Args:
        tokens: each token of a text with the likeliest ones at its place and their log-probabilities.
    """
    text = "".join(token for token, _ in tokens)
    start, end = visible_part(text)
    first = _BEFORE.match(text, start, end)
    begins, place = first.end() if first else end, 0
    for token, likeliest in tokens:
        place += len(token)
        if begins < min(place, end):
            pairs = (
                (word, value) for word, value in likeliest if isinstance(word, str) and type(value) in (int, float)
            )
            return first_word_chances((word, float(value)) for word, value in pairs if math.isfinite(value))  # type: ignore[arg-type]
    return None


def first_word_chances(spellings: Iterable[tuple[str, float]]) -> Mapping[str, float]:
    """Log-probability of yes and of no, summed over their spellings (`Yes`, ` yes`, `YES`); empty if neither occurs.

    Where only one occurs, the other has an upper bound: what the listed tokens leave over, and the unlikeliest of them.

    Args:
        spellings: tokens with their natural log-probabilities.
    """
    words: dict[str, list[float]] = {"yes": [], "no": []}
    listed = list(spellings)
    for token, logprob in listed:
        word = token.strip(" \t\r\n\"'*_\u2581\u0120").casefold()
        if word in words:
            words[word].append(logprob)
    if not any(words.values()):
        return {}
    left = 1 - sum(math.exp(min(0.0, value)) for _, value in listed)
    bound = min([value for _, value in listed] + ([math.log(left)] if left > 0 else []))
    most = {word: max(values) for word, values in words.items() if values}
    return {
        word: min(0.0, most[word] + math.log(sum(math.exp(value - most[word]) for value in values)))
        if values
        else bound
        for word, values in words.items()
    }


def bad_reply(where: str, why: str, status: int | None = 200, body: bytes = b"") -> CallError:
    """The error for a malformed reply, with an excerpt if the body is not JSON."""
    fix = ""
    if (start := body.lstrip()[:1]) and start not in b"{[":
        streams = _EVENTS.match(body) is not None
        fix = _NO_STREAM if streams else _NO_PAGE
        kind = "an event stream" if streams else _markup(body) if start == b"<" else "text"
        why = f"{kind} in place of JSON: {excerpt(body[: 4 * _EXCERPT].decode('utf-8', 'replace'))}"
    return CallError(
        f"a reply that cannot be read ({why})",
        where=where,
        expected="an answer in the provider's format",
        fix=fix,
        code="bad-reply",
        retryable=True,
        status=status,
    )


def _markup(body: bytes) -> str:
    return "XML" if body.lstrip().startswith(b"<?xml") and b"<html" not in body[:_EXCERPT] else "HTML"


def refusal(status: int | None, what: str, where: str, wait_s: float | None) -> CallError:
    """The error for a reply by its HTTP status; status 200 means that an error came instead of an answer.

    Args:
        status: None if absent.
        what: the provider's message.
        where: the model, for the message.
        wait_s: seconds that the provider asked to wait.
    """
    number = status or 0
    if number in (200, 400, 413, 422, 500) and _TOO_LONG.search(what):
        return CallError(what, where=where, fix=_SHORTEN, code="context-length", status=status)
    return CallError(
        what,
        where=where,
        fix=_FIXES.get(number, "") or (_wanted_setting(what) if number in (400, 422) else ""),
        code=_CODES.get(number, "call-failed"),
        retryable=number in _RETRYABLE or number >= 500 or number == 200,
        retry_after_s=wait_s,
        status=status,
    )


def _wanted_setting(what: str) -> str:
    """The setting to change, where a message says that the model does not take a parameter."""
    instead = _INSTEAD.search(what)
    if not _UNSUPPORTED.search(what):
        return ""
    for word, setting in _SETTINGS:
        if re.search(word, instead[1] if instead else what, re.IGNORECASE):
            return f"Set it for this model in hellofresh.toml: [models.NAME.abilities] {setting}"
    return ""


def failure(status: int, body: bytes, where: str, wait_s: float | None) -> Answer:
    """A blocked answer if an error says so: `{"error": {"message", "code", "type", "metadata"}}`.

    Codes and messages go before the status: "credit balance is too low" is a 400, and no question's fault.

    Args:
        status: HTTP status; 200 for an error instead of an answer, which may name another status.
        body: as received.
        where: the endpoint and model, for the message.
        wait_s: seconds that the provider asked to wait.

    Raises:
        CallError: unless the provider refused because of the question's content.
    """
    raw = body.decode("utf-8", "replace")
    try:
        reply = parsed(body)
        reply = reply[0] if isinstance(reply, list) and reply else reply
        error = (reply.get("error") or reply) if isinstance(reply, dict) else raw
    except (ValueError, RecursionError):
        error = raw
    fields = error if isinstance(error, dict) else {"message": str(error)}
    names = [str(fields[name]) for name in ("code", "type", "status") if isinstance(fields.get(name), str | int)]
    inner = found(fields, "metadata", "raw")
    message = found_text(fields, "message") or found_text(fields, "detail") or found_text(fields, "msg")
    words = " ".join((*names, message, raw[:_SEARCHED] if isinstance(error, dict) else "", str(inner or "")))
    status = _meant(status, names, words)
    if status not in (401, 402, 404, 429) and _BLOCKED.search(words) and not _OF_ACCOUNT.search(words):
        return Answer("", Finish.BLOCKED)
    said = excerpt(message or found_text(fields, "type"))
    said = f"{said} ({names[0]})" if names and _TOO_LONG.search(names[0]) else said
    what = "an error instead of an answer" if status == 200 else f"HTTP {status}"
    raise refusal(
        status, f"{what}: {said}" if said else what, where, wait_s if wait_s is not None else _asked_wait(raw)
    )


def _meant(status: int, names: Sequence[str], words: str) -> int:
    """The status that an error means by its words, by its code where HTTP says 200, else its own."""
    if status not in (429, 404) and status < 500:
        for meant, pattern in _BY_WORDS.items():
            if pattern.search(words):
                return meant
    if status == 429 and _BY_WORDS[402].search(" ".join(names)):
        return 402
    if status != 200:
        return status
    codes = [_NAMED.get(name.casefold(), int(name) if name.isdecimal() and len(name) == 3 else 0) for name in names]
    return next((code for code in codes if 400 <= code < 600), status)


def _asked_wait(raw: str) -> float | None:
    """Seconds to wait by an error's own words: `"retryDelay": "34s"`, `try again in 3s`."""
    named = _DELAY.search(raw) or _TRY_IN.search(raw)
    return None if named is None else duration_s(named[1])


def parsed(body: bytes) -> Any:
    """A body as JSON, with halves of surrogate pairs replaced; NaN and infinity stay, for the reader to leave out.

    Raises:
        ValueError, RecursionError: if it is something else, or nested too deeply.
    """
    try:
        return from_json(body)
    except ValueError:  # the fast reader refuses halves of surrogate pairs
        return json.loads(whole_text(json.dumps(json.loads(body), ensure_ascii=False)))


def said_by(reply: HttpReply, where: str) -> Any:
    """What a reply says as JSON; None if it is a failure that is not JSON.

    Raises:
        CallError: if a reply of status 200 is not JSON.
    """
    try:
        return parsed(reply.body)
    except (ValueError, RecursionError) as fault:
        if reply.status == 200:
            raise bad_reply(where, type(fault).__name__, body=reply.body) from None
        return None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def excerpt(text: str) -> str:
    """The beginning of a server's message, on one line, without control characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 2 * _EXCERPT]).split())
    return line if len(line) <= _EXCERPT else line[: _EXCERPT - 1] + "…"
