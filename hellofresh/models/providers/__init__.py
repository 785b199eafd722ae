"""Shared parts of the wires of all providers: one attempt over HTTP, tools and their calls, and typed errors."""

from __future__ import annotations

import base64
import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, ClassVar, NoReturn

import aiohttp
from pydantic import BaseModel, ConfigDict, Field

from hellofresh.core.net.http import HttpClient, HttpReply, UnusableReplyError, brief
from hellofresh.models import Answer, CallError, Finish, Message, ModelSpec, Request, Tool, ToolCall
from hellofresh.models.tables import Abilities, Endpoint
from hellofresh.tasks.images import Image

MAX_BODY = 4 * 2**20
"""Maximum bytes read of a reply."""
Tokens = Annotated[int, Field(ge=0, lt=2**53)]
_JSON = {"Content-Type": "application/json", "Accept": "application/json"}
_EXCERPT = 300
_BLOCKED_CODES = frozenset({"content_filter", "content_policy_violation"})
_SPENT_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
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
_NO_STREAM = "Have the endpoint answer in one piece: this asks for no stream."
_NO_PAGE = "Check the base URL: a web page or a proxy may answer there."


class Shape(BaseModel):
    """Base of providers' answers: fields typed as documented, others ignored."""

    model_config = ConfigDict(strict=True, frozen=True)


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
        self._url = endpoint.base_url.rstrip("/") + self.path
        bearer = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
        all_headers = {**_JSON, **(bearer if headers is None else headers), **endpoint.headers}
        self._client = HttpClient(self.where, all_headers, timeout_s=endpoint.timeout_s, key=endpoint.key)

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
        return self.read(reply, request)

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


def first_word_chances(spellings: Iterable[tuple[str, float]]) -> Mapping[str, float]:
    """Log-probability of yes and of no, summed over their spellings (`Yes`, ` yes`, `YES`); no entry if none occurs.

    Args:
        spellings: tokens with their natural log-probabilities.
    """
    found: dict[str, list[float]] = {"yes": [], "no": []}
    for token, logprob in spellings:
        word = token.strip(" \t\r\n\"'*_\u2581\u0120").casefold()
        if word in found:
            found[word].append(logprob)
    most = {word: max(values) for word, values in found.items() if values}
    return {
        word: min(0.0, top + math.log(sum(math.exp(value - top) for value in found[word])))
        for word, top in most.items()
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
        fix=_FIXES.get(number, ""),
        code=_CODES.get(number, "call-failed"),
        retryable=number in _RETRYABLE or number >= 500 or number == 200,
        retry_after_s=wait_s,
        status=status,
    )


def failure(status: int, body: bytes, where: str, wait_s: float | None) -> Answer:
    """A blocked answer if an error says so: `{"error": {"message", "code", "type", "metadata"}}`.

    Args:
        status: HTTP status; 200 for an error instead of an answer, which may name another status.
        body: as received.
        where: the endpoint and model, for the message.
        wait_s: seconds that the provider asked to wait.

    Raises:
        CallError: unless the provider refused because of the question's content.
    """
    try:
        reply = parsed(body)
        error = reply.get("error", reply) if isinstance(reply, dict) else body.decode("utf-8", "replace")
    except (ValueError, RecursionError):
        error = body.decode("utf-8", "replace")
    fields = error if isinstance(error, dict) else {"message": str(error)}
    code, metadata = fields.get("code"), fields.get("metadata")
    name = str(code or fields.get("type") or "")
    if name in _BLOCKED_CODES or (isinstance(metadata, dict) and "flagged_input" in metadata):
        return Answer("", Finish.BLOCKED)
    if status == 200 and isinstance(code, int) and 400 <= code < 600:
        status = code
    said = excerpt(str(fields.get("message") or fields.get("detail") or fields.get("type") or ""))
    said = f"{said} ({name})" if _TOO_LONG.search(name) else said
    what = "an error instead of an answer" if status == 200 else f"HTTP {status}"
    raise refusal(402 if name in _SPENT_CODES else status, f"{what}: {said}" if said else what, where, wait_s)


def parsed(body: bytes) -> object:
    """A body as JSON, without NaN and without halves of surrogate pairs.

    Raises:
        ValueError, RecursionError: if it is something else, or nested too deeply.
    """
    reply = json.loads(body, parse_constant=_no_constant)
    whole: object = json.loads(whole_text(json.dumps(reply, ensure_ascii=False)))
    return whole


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def excerpt(text: str) -> str:
    """The beginning of a server's message, on one line, without control characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 2 * _EXCERPT]).split())
    return line if len(line) <= _EXCERPT else line[: _EXCERPT - 1] + "…"
