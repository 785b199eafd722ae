"""The endpoint itself: a server on the loopback that hands questions to the sessions of samples.

Whoever asks needs the server's token, as a bearer, which changes with every server. A request that a web page could
have sent (of another host's name, or with an origin) is refused, and bodies are bounded.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from aiohttp import web
from pydantic import JsonValue

from hellofresh.core.errors import HelloFreshError, UsageError
from hellofresh.core.files import sha256_text
from hellofresh.core.net.local_site import listen
from hellofresh.models import Answer, CallError, Finish, ToolCall
from hellofresh.models.providers import call_arguments
from hellofresh.runs.regimes.agent_tools import EndpointAddress
from hellofresh.tasks.outputs import Output
from hellofresh_parts.endpoint.questions import Question, QuestionForm, calls_of, digest, read_question

_SAMPLE_HEADER = "X-HelloFresh-Sample"
_MOST_BYTES = 4 * 2**20
_LOOPBACK = "127.0.0.1"
_STATUSES = {"agent-limit": 429, "context-length": 400, "no-role": 404}
_WIRE_CODES = {"context-length": "context_length_exceeded", "no-role": "model_not_found"}
_Fields = dict[str, JsonValue]
_CHAT_FINISHES = {Finish.LENGTH: "length", Finish.PAUSED: "length", Finish.BLOCKED: "content_filter"}
_REASONS = {Finish.LENGTH: "max_output_tokens", Finish.PAUSED: "max_output_tokens", Finish.BLOCKED: "content_filter"}


class Session(Protocol):
    """Answers what is asked about one sample; see `hellofresh.runs.regimes.agent_tools.AgentSession`."""

    @property
    def roles(self) -> tuple[str, ...]: ...
    @property
    def created(self) -> int: ...
    def about(self) -> Mapping[str, object]: ...
    async def answer(self, question: Question, *, again: bool) -> Answer: ...
    async def hand_in(self, body: bytes) -> None: ...
    def give_up(self, output: Output) -> None: ...


@dataclass(slots=True)
class EndpointServer:
    """Sessions by sample id, behind one port.

    Attributes:
        port: 0 for one that is free.
        token: what opens it.
        socket: another place to listen at, for a program without a network.
    """

    port: int = 0
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    sessions: dict[str, Session] = field(default_factory=dict)
    socket: Path | None = None
    _runner: web.AppRunner | None = field(default=None, repr=False)

    async def start(self) -> None:
        """Listen.

        Raises:
            UsageError: if the port is taken.
        """
        application = web.Application(client_max_size=_MOST_BYTES, middlewares=[self._guarded])
        for prefix in ("/v1", "/s/{sample}/v1"):
            application.router.add_get(f"{prefix}/models", self._models)
            application.router.add_post(f"{prefix}/chat/completions", partial(self._answered, form="chat"))
            application.router.add_post(f"{prefix}/responses", partial(self._answered, form="responses"))
            application.router.add_post(f"{prefix}/output", self._output)
        application.router.add_get("/samples", self._samples)
        self._runner = await listen(application, _LOOPBACK, self.port, self.socket)
        self.port = int(self._runner.addresses[0][1])

    async def close(self) -> None:
        """Stop listening; wait up to a second for requests under way."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    @property
    def origin(self) -> str:
        return f"http://{_LOOPBACK}:{self.port}"

    def address(self, sample: str) -> EndpointAddress:
        session = self.sessions[sample]
        return EndpointAddress(f"{self.origin}/s/{quote(sample, safe='')}/v1", self.token, session.roles[0])

    @web.middleware
    async def _guarded(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        try:
            self._check(request)
            response = await handler(request)
        except HelloFreshError as error:
            status = (error.status if isinstance(error, CallError) else None) or 500
            usual = 400 if isinstance(error, UsageError) else status
            response = _failed(_STATUSES.get(error.code, usual), error.code, str(error))
        except web.HTTPException as error:
            response = _failed(error.status, "bad-request", error.reason)
        except web.RequestPayloadError:
            response = _failed(400, "bad-request", "the body is not in the encoding that it names")
        except ConnectionResetError:
            response = _failed(400, "bad-request", "the client has disconnected")
        response.force_close()  # so that clients that are never closed hold no connection when the run ends
        return response

    def _check(self, request: web.Request) -> None:
        host = request.headers.get("Host", "").lower()
        ours = host in (f"{_LOOPBACK}:{self.port}", f"localhost:{self.port}")
        if not ours or "Origin" in request.headers:
            raise web.HTTPForbidden(reason="only programs of this machine may ask, by its loopback address")
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode("utf-8", "surrogateescape"), self.token.encode()):
            raise web.HTTPUnauthorized(reason="a wrong key")

    def _session(self, request: web.Request) -> Session:
        sample = request.match_info.get("sample") or request.headers.get(_SAMPLE_HEADER, "")
        if not sample and len(self.sessions) == 1:
            return next(iter(self.sessions.values()))
        if sample not in self.sessions:
            which = f"the run has no sample {sample[:80]!r}" if sample else "the request names no sample"
            raise web.HTTPNotFound(reason=f"{which}; ask at /s/SAMPLE/v1, or send the header {_SAMPLE_HEADER}")
        return self.sessions[sample]

    async def _models(self, request: web.Request) -> web.Response:
        session = self._session(request)
        models = [
            {"id": role, "object": "model", "created": session.created, "owned_by": "hellofresh"}
            for role in session.roles
        ]
        return web.json_response({"object": "list", "data": models})

    async def _samples(self, _: web.Request) -> web.Response:
        about = [
            {**session.about(), "base_url": self.address(sample).base_url} for sample, session in self.sessions.items()
        ]
        return web.json_response({"samples": about})

    async def _output(self, request: web.Request) -> web.Response:
        await self._session(request).hand_in(await request.read())
        return web.json_response({"taken": True})

    async def _answered(self, request: web.Request, form: QuestionForm) -> web.Response:
        session = self._session(request)
        question = read_question(await request.read(), form)
        if question.role not in session.roles:
            expected = f"one of {', '.join(session.roles)}"
            raise UsageError(f"no role {question.role[:80]!r}", expected=expected, code="no-role")
        again = request.headers.get("x-stainless-retry-count", "0").strip() not in ("", "0")
        answer = await session.answer(question, again=again)
        key = sha256_text(f"{question.role}\x1f{digest(question.request)}")[:24]
        reply = Reply(key, question.role, session.created, answer)
        if question.stream:
            return web.Response(body=reply.stream(form, usage=question.usage), content_type="text/event-stream")
        return web.json_response(reply.completion() if form == "chat" else reply.response())


def _failed(status: int, code: str, what: str) -> web.Response:
    """An error in the clients' form, never retryable: the run has retried already."""
    error = {"message": what, "type": "hellofresh_error", "param": None, "code": _WIRE_CODES.get(code, code)}
    return web.json_response({"error": error}, status=status, headers={"x-should-retry": "false"})


# Answers in the form that clients read. An answer of a model comes whole, so its pieces are few: a text, each call of a
# tool, the end. What names an answer (id, time) follows from what was asked, so that a run that is replayed gives the
# same bytes.


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
        return "tool_calls" if self._calls else _CHAT_FINISHES.get(self.answer.finish, "stop")

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
