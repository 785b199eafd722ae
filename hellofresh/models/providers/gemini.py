"""Models of Google, called through google-genai: one attempt per call, with the SDK's retries switched off."""

from __future__ import annotations

import asyncio
import base64
import importlib.util
import json
import math
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING, cast

import aiohttp
from pydantic import ValidationError

from hellofresh.core.errors import ConfigError, missing_extra
from hellofresh.core.files import as_model
from hellofresh.core.net.retry import retry_after_s
from hellofresh.models import Answer, CallError, Finish, Message, ModelSpec, Request, ToolCall
from hellofresh.models.providers import (
    addresses_in,
    bad_reply,
    call_arguments,
    excerpt,
    first_word_chances,
    read_call,
    refusal,
    tool_schema,
    whole_calls,
)
from hellofresh.models.tables import Abilities, Endpoint

if TYPE_CHECKING:
    from google.genai import Client
    from google.genai.errors import APIError
    from google.genai.types import (
        Candidate,
        ContentDict,
        FunctionDeclarationDict,
        GenerateContentConfigDict,
        GenerateContentResponse,
        LogprobsResult,
        Part,
        PartDict,
        ToolDict,
    )

_FINISHES = {"STOP": Finish.STOP, "MAX_TOKENS": Finish.LENGTH}
_BLOCKING = frozenset({"SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR"})
_TOP_LOGPROBS = 5
_SITE = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)+", re.IGNORECASE)
_DELAY = re.compile(r"(\d+(?:\.\d+)?)s")


class GeminiModel:
    """A model of Google's Gemini API, over our own session, so that the SDK sends one request to one address.

    Raises:
        UsageError: if google-genai is not installed.
    """

    def __init__(self, spec: ModelSpec, endpoint: Endpoint, abilities: Abilities) -> None:
        if importlib.util.find_spec("google") is None or importlib.util.find_spec("google.genai") is None:
            raise missing_extra("a model of the kind gemini", "google-genai", "gemini")
        if endpoint.options:
            from google.genai.types import GenerateContentConfig  # takes seconds to import

            as_model(GenerateContentConfig, endpoint.options, where=spec.name, error=ConfigError, code="bad-options")
        self.spec = spec
        self._endpoint, self._abilities = endpoint, abilities
        self._session: aiohttp.ClientSession | None = None

    @cached_property
    def _client(self) -> Client:
        """Open the client at the first request, within the running event loop."""
        from google.genai import Client
        from google.genai.types import HttpOptions, HttpRetryOptions

        endpoint, trace = self._endpoint, aiohttp.TraceConfig()
        trace.on_request_redirect.append(_refuse)
        self._session = aiohttp.ClientSession(
            trace_configs=[trace],
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=endpoint.timeout_s),
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        options = HttpOptions(
            base_url=endpoint.base_url,
            headers=dict(endpoint.headers),
            timeout=math.ceil(endpoint.timeout_s * 1000),
            retry_options=HttpRetryOptions(attempts=1),
            aiohttp_client=self._session,
        )
        # The key is always passed, so that the SDK does not take another from the environment.
        return Client(vertexai=False, api_key=endpoint.key or "none", http_options=options)

    async def ask(self, request: Request) -> Answer:
        config = _config(request, self._abilities)
        async with self._named_errors():
            response = await self._client.aio.models.generate_content(
                model=self._endpoint.model,
                contents=_contents(request),
                config=cast("GenerateContentConfigDict", {**self._endpoint.options, **config}),
            )
        return _answer(response, self.spec.name, whole=whole_calls(request))

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            client = self.__dict__.pop("_client", None)
            if client is not None:  # the SDK may have refused its settings
                await client.aio.aclose()
                client.close()
            await session.close()
            await asyncio.sleep(0)  # transports close in the loop's next iteration

    @asynccontextmanager
    async def _named_errors(self) -> AsyncIterator[None]:
        """Turn all errors of the SDK, and a timeout of the attempt, into `CallError`."""
        from google.genai.errors import APIError, UnknownApiResponseError

        where, timeout_s = self.spec.name, self._endpoint.timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                yield
        except APIError as error:
            raise _read_error(error, where, self._endpoint.key) from None
        except TimeoutError:
            raise CallError(f"no answer within {timeout_s:g} s", where=where, code="timeout", retryable=True) from None
        except (aiohttp.ClientError, OSError) as error:
            what = f"no complete answer ({type(error).__name__})"
            raise CallError(what, where=where, code="unreachable", retryable=True) from None
        except (ValidationError, UnknownApiResponseError, ValueError, TypeError, AttributeError, KeyError) as error:
            # The SDK does not check the shape of replies; a reply that is not JSON is in the decoder's error.
            faulty = error if isinstance(error, json.JSONDecodeError) else error.__cause__
            body = faulty.doc.encode(errors="replace") if isinstance(faulty, json.JSONDecodeError) else b""
            raise bad_reply(where, type(error).__name__, body=body) from None


async def _refuse(*_: object) -> None:
    """Refuse redirects, so that the key is not sent to another address."""
    raise CallError(
        "the endpoint redirects, and redirects are not followed",
        fix="Give the final address as base URL.",
        code="redirect",
        status=307,
    )


def _contents(request: Request) -> list[ContentDict]:
    """The conversation without its system messages."""
    roles = {"user": "user", "assistant": "model"}
    return [
        {"role": roles[message.role], "parts": _parts(message)} for message in request.messages if message.role in roles
    ]


def _parts(message: Message) -> list[PartDict]:
    call = message.call
    if call is None:
        shown: list[PartDict] = [
            {"inline_data": {"data": image.content, "mime_type": image.type}} for image in message.images
        ]
        return [*shown, {"text": message.text}]
    if message.role == "user":
        return [{"function_response": {"name": call.name, "response": {"result": message.text}}}]
    said: list[PartDict] = [{"text": message.text}] if message.text.strip() else []
    called: list[PartDict] = [
        {
            "function_call": {"name": item.name, "args": json.loads(call_arguments(item))},
            "thought_signature": base64.b64decode(item.token) if item.token else None,
        }
        for item in (call, *message.more_calls)
    ]
    return [*said, *called]


def _config(request: Request, abilities: Abilities) -> GenerateContentConfigDict:
    """A request's settings, with only the parameters that the model accepts."""
    rules = "\n\n".join(message.text for message in request.messages if message.role == "system")
    functions: list[FunctionDeclarationDict] = [
        {"name": tool.name, "description": tool.about, "parameters_json_schema": tool_schema(tool)}
        for tool in request.tools
    ]
    tools: list[ToolDict] = [{"function_declarations": functions}] if functions else []
    tools += [{"google_search": {}}] if request.searches else []
    return {
        "system_instruction": rules or None,
        "temperature": request.temperature if abilities.temperature else None,
        "seed": request.seed if abilities.seed else None,
        "max_output_tokens": request.max_tokens + abilities.hidden_tokens,
        "candidate_count": 1,
        "response_logprobs": True if abilities.logprobs else None,
        "logprobs": _TOP_LOGPROBS if abilities.logprobs else None,
        "automatic_function_calling": {"disable": True},
        "tools": [*tools] or None,
    }


def _answer(response: GenerateContentResponse, where: str, *, whole: bool) -> Answer:
    """The answer in a response, including a blocked question or answer.

    Args:
        response: from the SDK.
        where: the model, for messages.
        whole: whether to return all tool calls with all arguments.

    Raises:
        CallError: if it has neither a candidate nor a reason for its absence, or an unknown finish reason.
    """
    tokens_in, tokens_out, cached_in = _usage(response)
    candidates = response.candidates or []
    feedback = response.prompt_feedback
    if not candidates:
        if feedback is not None and feedback.block_reason is not None:
            return Answer("", Finish.BLOCKED, tokens_in, tokens_out, served_by=response.model_version)
        raise bad_reply(where, "no candidates, and no reason for it")
    candidate = candidates[0]
    reason = "" if candidate.finish_reason is None else str(candidate.finish_reason.value)
    finish = Finish.BLOCKED if reason in _BLOCKING else _FINISHES.get(reason)
    if finish is None:
        raise bad_reply(where, f"finish reason {reason[:40] or 'missing'}")
    parts = candidate.content.parts if candidate.content is not None and candidate.content.parts else []
    called = (part for part in parts if part.function_call is not None)
    calls = [_call(part, number, whole) for number, part in enumerate(called)]
    return Answer(
        text="".join(part.text or "" for part in parts if not part.thought),
        finish=finish,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        logprobs=_logprobs(candidate.logprobs_result),
        served_by=response.model_version,
        call=next(iter(calls), None),
        more_calls=tuple(calls[1:]) if whole else (),
        sources=addresses_in(_cited(candidate)),
        cached_in=cached_in,
    )


def _call(part: Part, number: int, whole: bool) -> ToolCall:
    called = part.function_call
    name, arguments = ("", {}) if called is None else (called.name or "", called.args)
    token = base64.b64encode(part.thought_signature or b"").decode()
    return read_call(f"{name}-{number}" if number else name, name, arguments, token, whole=whole)


def _cited(candidate: Candidate) -> Iterator[str | None]:
    """The sources of the answer. Their addresses redirect through Google; only the title may name the site."""
    found = candidate.grounding_metadata
    for chunk in (found.grounding_chunks or []) if found is not None else []:
        if chunk.web is not None:
            site = chunk.web.domain or chunk.web.title or ""
            yield f"https://{site}/" if _SITE.fullmatch(site) else chunk.web.uri


def _usage(response: GenerateContentResponse) -> tuple[int | None, int | None, int]:
    """Tokens of the request, of the answer including hidden reasoning, and of the request's cached part."""
    usage = response.usage_metadata
    if usage is None or usage.prompt_token_count is None:
        return None, None, 0
    visible, hidden = usage.candidates_token_count or 0, usage.thoughts_token_count or 0
    if min(usage.prompt_token_count, visible, hidden) < 0:
        return None, None, 0
    cached = min(max(usage.cached_content_token_count or 0, 0), usage.prompt_token_count)
    return usage.prompt_token_count, visible + hidden, cached


def _logprobs(result: LogprobsResult | None) -> dict[str, float] | None:
    tops = result.top_candidates if result is not None else None
    if not tops or not tops[0].candidates:
        return None
    spellings = ((item.token or "", item.log_probability) for item in tops[0].candidates)
    return dict(first_word_chances((token, value) for token, value in spellings if value is not None))


def _read_error(error: APIError, where: str, key: str | None) -> CallError:
    message = (error.message or error.status or "no reason given") if isinstance(error.message, str | None) else ""
    status = error.code if isinstance(error.code, int) else None
    wrong_key = status == 400 and "API_KEY_INVALID" in json.dumps(error.details, default=str)
    status = 401 if wrong_key else status
    said = excerpt(message.replace(key, "[key]") if key else message)
    return refusal(status, f"HTTP {status}: {said}", where, _wait(error))


def _wait(error: APIError) -> float | None:
    """Seconds to wait, from the header Retry-After, else from the error's details (`"retryDelay": "34s"`)."""
    headers = getattr(error.response, "headers", None)
    if headers is not None and headers.get("Retry-After"):
        return retry_after_s(headers.get("Retry-After"), headers.get("Date"))
    inner = error.details.get("error", error.details) if isinstance(error.details, dict) else {}
    details = inner.get("details") if isinstance(inner, dict) else None
    for item in details if isinstance(details, list) else []:
        found = _DELAY.fullmatch(str(item.get("retryDelay", ""))) if isinstance(item, dict) else None
        if found is not None:
            return float(found[1])
    return None
