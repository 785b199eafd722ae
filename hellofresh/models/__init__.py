"""The interface of models: a model takes a request and returns an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Annotated, ClassVar, Literal, Protocol

from pydantic import BeforeValidator, ConfigDict, Field

from hellofresh.core.errors import RunError
from hellofresh.core.systems import ModelFacts
from hellofresh.tasks.images import Image
from hellofresh.tasks.samples import Sample

_Dollars = Annotated[float, Field(strict=True, ge=0, le=100_000, allow_inf_nan=False)]
_Day = Annotated[str, BeforeValidator(lambda day: date.fromisoformat(str(day)).isoformat())]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a model may call.

    Attributes:
        name: of the tool.
        about: description for the model.
        argument: name of its only argument, a text; empty if `schema` declares the arguments.
        schema: its arguments as a JSON schema, for tools that others define.
    """

    name: str
    about: str
    argument: str
    schema: str = ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's call of a tool.

    Attributes:
        id: the provider's id of the call.
        name: of the tool.
        argument: the value of its only argument.
        parameter: the argument's name.
        token: a token that the provider needs back with the call, empty for most.
        arguments: all arguments as a JSON object, for a tool with a schema.
    """

    id: str
    name: str
    argument: str
    parameter: str = "query"
    token: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation.

    Attributes:
        role: the speaker.
        parts: the text in parts; a shared beginning ends between two parts (the sample comes first,
            the instruction last), so that a model may compute the beginning once for several prompts.
        call: in an assistant's message, its tool call; in a user's message, the call whose result it is.
        images: pictures of a user's message, shown before its text.
        more_calls: further tool calls of an assistant's message.
    """

    role: Literal["system", "user", "assistant"]
    parts: tuple[str, ...]
    call: ToolCall | None = None
    images: tuple[Image, ...] = ()
    more_calls: tuple[ToolCall, ...] = ()

    @property
    def text(self) -> str:
        return "".join(self.parts)


@dataclass(frozen=True, slots=True)
class Request:
    """A question to a model.

    Attributes:
        messages: the conversation so far, in order.
        max_tokens: cap on visible tokens of the answer.
        temperature: 0 for the most likely answer.
        choices: the allowed answers, if the question asks for one of some words; a model that can be restricted to
            them may be, others ignore them and answer freely.
        seed: seed of a sampled answer, for models that accept one; None without sampling.
        tools: the tools that the model may call; an answer may be a call.
        searches: whether the model should search the web by itself and cite its sources.
        excluded: domains that such a search must not use, if its provider supports that.
        options: further settings in the form of chat completions, as a JSON object (such as `tool_choice`), sent as
            they are; only for models whose spec accepts them.
        sample: the sample of the question, for baselines, which read no prompt; not sent to models.
    """

    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float = 0.0
    choices: tuple[str, ...] = ()
    seed: int | None = None
    tools: tuple[Tool, ...] = ()
    searches: bool = False
    excluded: tuple[str, ...] = ()
    options: str = ""
    sample: Sample | None = field(default=None, compare=False)


class Finish(StrEnum):
    """Why an answer ended."""

    STOP = "stop"
    LENGTH = "length"
    PAUSED = "paused"  # within a turn, as a provider does that searches on
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer.

    Attributes:
        text: the visible text, without reasoning.
        finish: why it ended; `blocked` only if the provider itself says so.
        tokens_in: tokens of the request, None if the provider does not report them.
        tokens_out: tokens of the answer, including hidden ones, None if the provider does not report them.
        logprobs: log-probabilities that the first token is a spelling of `yes` or `no`, if available.
        served_by: the model's exact version as reported by its provider with this answer, or None.
        call: its tool call, the first of several.
        sources: addresses that it cites, if it searched.
        more_calls: further tool calls, if the request's tools have schemas.
        cached_in, cache_writes: how many of `tokens_in` the provider read from its cache, and how
            many it wrote to it.
        thought: its reasoning, as far as it is shown, apart from the text.
        thought_tokens: how many of `tokens_out` are hidden ones, 0 if none are reported.
    """

    text: str
    finish: Finish
    tokens_in: int | None = None
    tokens_out: int | None = None
    logprobs: Mapping[str, float] | None = None
    served_by: str | None = None
    call: ToolCall | None = None
    sources: tuple[str, ...] = ()
    more_calls: tuple[ToolCall, ...] = ()
    cached_in: int = 0
    cache_writes: int = 0
    thought: str = ""
    thought_tokens: int = 0

    @property
    def is_silent(self) -> bool:
        """Whether there is neither a text nor a tool call."""
        return not self.text.strip() and self.call is None


class CallError(RunError):
    """A request to a model that failed.

    Args:
        what, where, expected, fix, code: as in every error.
        retryable: whether a retry may succeed.
        retry_after_s: seconds that the provider asked to wait, or None.
        status: HTTP status of the response, None without a response.
    """

    def __init__(
        self,
        what: str,
        *,
        where: str = "",
        expected: str = "",
        fix: str = "",
        code: str = "call-failed",
        retryable: bool = False,
        retry_after_s: float | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(what, where=where, expected=expected, fix=fix, code=code)
        self.retryable, self.retry_after_s, self.status = retryable, retry_after_s, status


@dataclass(frozen=True, slots=True)
class Price:
    """Prices of tokens, in US dollars per million tokens; its limits hold where a table of a user states it.

    Attributes:
        tokens_in, tokens_out: price of a request's tokens, and of an answer's, including hidden ones.
        as_of: day on which the price was looked up (ISO).
        source: where it was looked up.
        cached_in, cache_writes: price of request tokens that the provider reads from its cache, and writes
            to it; None if they cost as much as others.
        long_from, long_in, long_out: the price of a whole request with more tokens than these, and of its answer; None
            if there is no such price.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    tokens_in: _Dollars
    tokens_out: _Dollars
    as_of: _Day
    source: Annotated[str, Field(min_length=1, max_length=300)]
    cached_in: _Dollars | None = None
    cache_writes: _Dollars | None = None
    long_from: Annotated[int, Field(strict=True, gt=0)] | None = None
    long_in: _Dollars | None = None
    long_out: _Dollars | None = None

    def long_usd(self, tokens_in: int, tokens_out: int) -> float:
        """What one request costs more than `usd`, because of its length."""
        if self.long_from is None or tokens_in <= self.long_from:
            return 0.0
        more_in, more_out = (self.long_in or 0) - self.tokens_in, (self.long_out or 0) - self.tokens_out
        return max(0.0, tokens_in * more_in + tokens_out * more_out) / 1_000_000

    def usd(self, tokens_in: int, tokens_out: int, cached_in: int = 0, cache_writes: int = 0) -> float:
        """Cost in US dollars; `tokens_in` includes `cached_in` and `cache_writes`."""
        plain = max(0, tokens_in - cached_in - cache_writes)
        cached = self.tokens_in if self.cached_in is None else self.cached_in
        written = self.tokens_in if self.cache_writes is None else self.cache_writes
        read = plain * self.tokens_in + cached_in * cached + cache_writes * written
        return (read + tokens_out * self.tokens_out) / 1_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """Rate limits of requests to a model; None for no limit.

    Attributes:
        in_flight: requests under way at once.
        requests_per_minute: requests sent.
        tokens_per_minute: tokens of requests and answers together, estimated until the answer arrives.
    """

    in_flight: int = 1
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None


class Sampling(StrEnum):
    """What can make two answers to the same messages differ."""

    SEEDED = "seeded"
    """The request's temperature and seed."""
    UNSEEDED = "unseeded"
    """The request's temperature; seeds are ignored."""
    OWN = "own"
    """The provider controls the sampling; a temperature is ignored."""
    NEVER = "never"
    """Answers never differ."""


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """Facts about a model that are known before its first request.

    Attributes:
        name: its name on the command line and on the board.
        kind: `language-model`, `baseline` for a rule that reads no prompt and answers once per sample, or `retriever`.
        about: one sentence for the board.
        parameters: all that determines its answers (hash of weights, engine and version, seed, options); part of every
            journal key, so that answers are not reused after a parameter changes.
        limits: its rate limits.
        price: its prices; None if unknown (if it costs nothing, `free` is set).
        free: whether requests cost nothing.
        default_limit: default number of samples per task and quarter; None for all.
        knowledge_cutoff: date (ISO), `unknown`, or `none` for models without world knowledge.
        facts: maker, weights, size and release, as far as they are stated.
        smoke_test: whether answers are at chance level and only test the machinery.
        calls_tools, searches: whether it accepts requests with tools, and requests to search the web by itself.
        sees: whether it accepts messages with images.
        takes_options: whether it accepts requests with options.
        image_tokens: tokens per image; None to apply its provider's rule.
        sampling: what can make two answers to the same messages differ.
        notes: what to say of it before a run.
    """

    name: str
    kind: Literal["language-model", "baseline", "retriever"]
    about: str
    parameters: Mapping[str, str | int | float | bool]
    limits: Limits = Limits()
    price: Price | None = None
    free: bool = False
    default_limit: int | None = None
    knowledge_cutoff: str = "unknown"
    facts: ModelFacts = field(default_factory=ModelFacts)
    smoke_test: bool = False
    calls_tools: bool = False
    searches: bool = False
    sees: bool = False
    takes_options: bool = False
    image_tokens: int | None = None
    sampling: Sampling = Sampling.SEEDED
    notes: tuple[str, ...] = ()


class Model(Protocol):
    """A model: answers requests."""

    @property
    def spec(self) -> ModelSpec:
        """Its specification."""

    async def ask(self, request: Request) -> Answer:
        """Answer one request in one attempt; the runner waits and retries.

        Raises:
            CallError: if this attempt failed.
            RunError: if further requests would fail, too.
        """

    async def close(self) -> None:
        """Release memory and connections."""
