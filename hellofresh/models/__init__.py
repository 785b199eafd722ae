"""What a model is to the rest of the project: something that takes a request and gives an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol

from hellofresh.core.errors import RunError
from hellofresh.tasks.images import Image
from hellofresh.tasks.samples import Sample


@dataclass(frozen=True, slots=True)
class Tool:
    """Something that a model may call.

    Attributes:
        name: of the tool.
        about: what it does, for the model.
        argument: name of its only argument, a text; empty where `schema` says what it takes.
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
        id: as the provider names the call.
        name: of the tool.
        argument: the text that it is called with.
        parameter: the argument's name.
        token: what the provider wants back with the call, empty for most.
        arguments: all arguments as a JSON object, of a tool with a schema.
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
        role: who speaks.
        parts: the text, in parts; a cut between two parts is where a shared beginning ends (the sample comes first,
            the instruction last), so that a model may compute the beginning once for several prompts.
        call: of an assistant's message the tool that it calls; of a user's message the call that it is the result of.
        images: pictures of a user's message, shown before its text.
        more_calls: of an assistant's message further tools that it calls.
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
        temperature: 0 for the likeliest answer.
        choices: the words that are a whole answer, where the question asks for one of them; a model that can be held to
            them may be, any other ignores them and says what it likes.
        seed: seed of a sampled answer, for models that take one; None where nothing is sampled.
        tools: what the model may call; an answer may be a call.
        searches: whether the model is to search the web by itself and cite what it found.
        excluded: domains whose pages it must not use then, where its provider can see to that.
        options: further settings in the form of chat completions, as a JSON object (such as `tool_choice`), sent as
            they are; only for models whose spec says that they take them.
        sample: what the question is about, for baselines that read no prompt; not a part of what is asked.
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
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said.

    Attributes:
        text: the visible text, as it came.
        finish: why it ended; `blocked` only where the provider itself says so.
        tokens_in: tokens of the request, None where the provider does not say.
        tokens_out: tokens of the answer, hidden ones included, None where the provider does not say.
        logprobs: log-probabilities of the first token being a spelling of `yes` or `no`, where given.
        served_by: the model's exact version as its provider named it with this answer, None where it does not.
        call: the tool that it calls, the first of several.
        sources: addresses that it cites, where it searched.
        more_calls: further tools that it calls, where the request's tools have schemas.
        cached_in, cache_writes: how many of `tokens_in` the provider had read before and took from its cache, and how
            many it put there.
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


class CallError(RunError):
    """One request to a model that brought no answer.

    Args:
        what, where, expected, fix, code: as in every error.
        retryable: whether the same request may well be answered when it is sent again.
        retry_after_s: seconds that the provider asked to wait, None where it did not say.
        status: HTTP status of the response, None where there was none.
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
    """What tokens cost, in US dollars a million tokens.

    Attributes:
        tokens_in, tokens_out: of a request, and of an answer with its hidden tokens.
        as_of: day on which the price was looked up (ISO).
        source: where it was looked up.
        cached_in, cache_writes: of the tokens of a request that the provider takes from its cache, and that it puts
            there; None where they cost as much as others.
    """

    tokens_in: float
    tokens_out: float
    as_of: str
    source: str
    cached_in: float | None = None
    cache_writes: float | None = None

    def usd(self, tokens_in: int, tokens_out: int, cached_in: int = 0, cache_writes: int = 0) -> float:
        """US dollars for tokens, `cached_in` and `cache_writes` among `tokens_in`."""
        plain = max(0, tokens_in - cached_in - cache_writes)
        cached = self.tokens_in if self.cached_in is None else self.cached_in
        written = self.tokens_in if self.cache_writes is None else self.cache_writes
        read = plain * self.tokens_in + cached_in * cached + cache_writes * written
        return (read + tokens_out * self.tokens_out) / 1_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """How fast a model may be asked; None for no limit.

    Attributes:
        in_flight: requests under way at once.
        requests_per_minute: requests sent.
        tokens_per_minute: tokens of requests and answers together, estimated before an answer is there.
    """

    in_flight: int = 1
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None


class Sampling(StrEnum):
    """What makes two answers to the same messages differ."""

    SEEDED = "seeded"
    """The request's temperature and seed."""
    UNSEEDED = "unseeded"
    """The request's temperature; seeds are ignored."""
    OWN = "own"
    """The model samples as its provider chooses: a temperature is ignored."""
    NEVER = "never"
    """Nothing does."""


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """What is known of a model before it is asked.

    Attributes:
        name: as on the command line and on the board.
        kind: `language-model`, `baseline` for a rule that reads no prompt and is asked once a sample, or `retriever`.
        about: one sentence for the board.
        parameters: all that decides its answers (weights' hash, engine and version, seed, options); part of every
            journal key, so that a changed parameter never meets an old answer.
        limits: how fast it may be asked.
        price: what it costs; None where that is not known (`free` says that it costs nothing).
        free: True where asking costs nothing.
        default_limit: samples judged a task and quarter unless asked otherwise; None for all.
        knowledge_cutoff: date (ISO), or `unknown`, or `none` where there is nothing to know.
        smoke_test: True where answers are at chance level and only show that the machinery works.
        calls_tools, searches: whether it takes requests with tools, and requests that it is to search for by itself.
        sees: whether it takes messages with images.
        takes_options: whether it takes requests with options.
        image_tokens: of each image, None where its provider's rule says how many.
        sampling: what makes two answers to the same messages differ.
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
    smoke_test: bool = False
    calls_tools: bool = False
    searches: bool = False
    sees: bool = False
    takes_options: bool = False
    image_tokens: int | None = None
    sampling: Sampling = Sampling.SEEDED


class Model(Protocol):
    """Something that answers requests."""

    @property
    def spec(self) -> ModelSpec:
        """What is known of it."""

    async def ask(self, request: Request) -> Answer:
        """Answer one request, in one attempt: waiting and trying again is the runner's work.

        Raises:
            CallError: if this attempt brought no answer.
            RunError: if no further request makes sense.
        """

    async def close(self) -> None:
        """Let go of memory and connections."""
