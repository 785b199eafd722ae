"""An OpenAI-compatible endpoint on this machine: what a framework asks there is asked like any step of a regime.

`/v1/chat/completions` and `/v1/responses` (whole or streamed) and `/v1/models`. Answers come from the models of the
run, whatever their provider speaks, so that they are kept, bounded, counted and replayed.

Here is what a client asks, in the form of chat completions or of responses, as a request of our own.
Sources: https://platform.openai.com/docs/api-reference/chat/create and .../responses/create. A parameter that would
change the answer and cannot be passed on is refused by name; one that says nothing of the answer is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import Field, JsonValue, ValidationError

from hellofresh.core.errors import UsageError
from hellofresh.core.files import BadJsonError, canonical_json, model_fault, strict_json
from hellofresh.core.strict import Open
from hellofresh.models import Answer, Message, Request, Tool, ToolCall

QuestionForm = Literal["chat", "responses"]
MOST_TOKENS = 4096
"""Visible tokens of an answer, where the client does not say."""
_MOST_DEPTH = 64
_SAYS_NOTHING = frozenset(
    {
        "user",
        "metadata",
        "store",
        "service_tier",
        "safety_identifier",
        "prompt_cache_key",
        "prompt_cache_retention",
        "stream_options",
        "include",
        "truncation",
        "background",
        "max_tool_calls",
        "prompt_cache_options",
    }
)
_PASSED_ON = frozenset(
    {
        "tool_choice",
        "parallel_tool_calls",
        "response_format",
        "stop",
        "top_p",
        "presence_penalty",
        "frequency_penalty",
        "logit_bias",
        "reasoning_effort",
        "verbosity",
    }
)
# Values that say what holds without them.
_USUAL: Mapping[str, tuple[JsonValue, ...]] = {
    "tool_choice": ("auto",),
    "parallel_tool_calls": (True,),
    "response_format": ({"type": "text"},),
    "stop": ([],),
    "top_p": (1, 1.0),
    "presence_penalty": (0, 0.0),
    "frequency_penalty": (0, 0.0),
    "logit_bias": ({},),
    "n": (1,),
    "logprobs": (False,),
    "top_logprobs": (0,),
}
_ROLES: Mapping[str, Literal["system", "user", "assistant"]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}
_Tokens = Annotated[int, Field(ge=1, le=1_000_000)]


@dataclass(frozen=True, slots=True)
class Question:
    """What a client asks.

    Attributes:
        role: whose part it is: what the client calls the model.
        request: the question itself.
        form: of the answer.
        stream: whether the answer is to come in pieces.
        usage: whether these end with what the answer took.
    """

    role: str
    request: Request
    form: QuestionForm
    stream: bool = False
    usage: bool = False


class _Part(Open):
    type: str
    text: str | None = None
    refusal: str | None = None


class _Function(Open):
    name: str
    arguments: str = "{}"


class _Called(Open):
    id: str
    function: _Function


_Content = str | list[_Part] | None


class _Turn(Open):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: _Content = None
    refusal: str | None = None
    tool_calls: list[_Called] | None = None
    tool_call_id: str | None = None


class _Definition(Open):
    name: str
    description: str | None = None
    parameters: dict[str, JsonValue] | None = None


class _ToolEntry(Open):
    type: str = "function"
    function: _Definition | None = None


class _StreamOptions(Open):
    include_usage: bool = False


class _Body(Open):
    model: str
    stream: bool | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None


class _ChatBody(_Body):
    messages: list[_Turn] = Field(min_length=1)
    max_tokens: _Tokens | None = None
    max_completion_tokens: _Tokens | None = None
    seed: int | None = None
    stream_options: _StreamOptions | None = None
    tools: list[_ToolEntry] | None = None


class _Item(Open):
    type: str = "message"
    role: Literal["system", "developer", "user", "assistant"] | None = None
    content: _Content = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    output: str | list[_Part] | None = None


class _FlatTool(_Definition):
    type: str
    name: str = ""


class _Named(Open):
    type: str = ""
    name: str = ""


class _TextForm(Open):
    format: dict[str, JsonValue] | None = None
    verbosity: str | None = None


class _Reasoning(Open):
    effort: str | None = None


class _ResponsesBody(_Body):
    input: str | list[_Item]
    instructions: str | None = None
    max_output_tokens: _Tokens | None = None
    tools: list[_FlatTool] | None = None
    tool_choice: str | _Named | None = None
    text: _TextForm | None = None
    reasoning: _Reasoning | None = None


def read_question(body: bytes, form: QuestionForm) -> Question:
    """The question in the body of a request.

    Raises:
        UsageError: if it cannot be read, or asks for what cannot be passed on.
    """
    try:
        value = strict_json(body, most_depth=_MOST_DEPTH)
        if form == "chat":
            return _from_chat(_ChatBody.model_validate(value))
        return _from_responses(_ResponsesBody.model_validate(value))
    except BadJsonError as error:
        raise _refused(str(error)) from None
    except ValidationError as error:
        raise _refused(model_fault(error)) from None


def digest(request: Request) -> str:
    """A request as canonical JSON: its whole content, but not its sample."""
    plain = replace(request, sample=None, messages=())
    messages = [
        [
            message.role,
            message.text,
            [[call.id, call.name, call.argument, call.arguments] for call in calls_of(message)],
            [image.sha256 for image in message.images],
        ]
        for message in request.messages
    ]
    tools = [[tool.name, tool.about, tool.argument, tool.schema] for tool in request.tools]
    settings = [plain.max_tokens, plain.temperature, plain.seed, plain.options]
    return canonical_json([messages, tools, settings])


def calls_of(said: Message | Answer) -> Sequence[ToolCall]:
    return () if said.call is None else (said.call, *said.more_calls)


def _from_chat(body: _ChatBody) -> Question:
    request = Request(
        messages=tuple(_conversation(body.messages)),
        max_tokens=body.max_completion_tokens or body.max_tokens or MOST_TOKENS,
        temperature=body.temperature or 0.0,
        seed=body.seed,
        tools=tuple(_tool(entry.type, entry.function) for entry in body.tools or ()),
        options=_options(body.model_extra or {}),
    )
    usage = body.stream_options is not None and body.stream_options.include_usage
    return Question(body.model, request, "chat", bool(body.stream), usage)


def _from_responses(body: _ResponsesBody) -> Question:
    more, choice = dict(body.model_extra or {}), body.tool_choice
    if isinstance(choice, _Named) and choice.type != "function":
        raise _refused(f"a choice of the type {choice.type[:80]!r} cannot be passed on", "a function")
    more["tool_choice"] = (
        {"type": "function", "function": {"name": choice.name}} if isinstance(choice, _Named) else choice
    )
    if body.text is not None:
        form = body.text.format
        if form is not None and form.get("type") == "json_schema":  # as chat completions have it
            form = {"type": "json_schema", "json_schema": {name: form[name] for name in form if name != "type"}}
        more |= {"response_format": form, "verbosity": body.text.verbosity}
    if body.reasoning is not None:
        more["reasoning_effort"] = body.reasoning.effort
    request = Request(
        messages=tuple(_conversation(list(_turns(body)))),
        max_tokens=body.max_output_tokens or MOST_TOKENS,
        temperature=body.temperature or 0.0,
        tools=tuple(_tool(entry.type, entry) for entry in body.tools or ()),
        options=_options(more),
    )
    return Question(body.model, request, "responses", bool(body.stream))


def _options(given: Mapping[str, JsonValue]) -> str:
    """The options that are passed on unchanged, as JSON; empty without any."""
    said = {
        name: value
        for name, value in given.items()
        if value is not None and name not in _SAYS_NOTHING and value not in _USUAL.get(name, ())
    }
    for name in said:
        if name not in _PASSED_ON:
            expected = f"without it, or one of {', '.join(sorted(_PASSED_ON))}"
            raise _refused(f"the parameter {name[:80]!r} cannot be passed on", expected)
    return canonical_json(said) if said else ""


def _tool(kind: str, definition: _Definition | None) -> Tool:
    if kind != "function" or definition is None:
        raise _refused(f"a tool of the type {kind[:80]!r} cannot be passed on", "functions")
    schema = canonical_json(definition.parameters or {"type": "object", "properties": {}})
    return Tool(definition.name, definition.description or "", "", schema)


def _conversation(turns: Sequence[_Turn]) -> Iterator[Message]:
    names: dict[str, str] = {}
    for turn in turns:
        parts = tuple(_texts(turn.content)) or ((turn.refusal,) if turn.refusal else ("",))
        if turn.role == "tool":
            key = turn.tool_call_id or ""
            if key not in names:
                raise _refused(f"the result of a call {key[:80]!r} that was never made")
            yield Message("user", parts, ToolCall(key, names[key], ""))
            continue
        calls = tuple(ToolCall(c.id, c.function.name, "", arguments=_object(c)) for c in turn.tool_calls or ())
        names |= {call.id: call.name for call in calls}
        yield Message(_ROLES[turn.role], parts, next(iter(calls), None), more_calls=calls[1:])


def _object(called: _Called) -> str:
    """Arguments as an object: a model may have written anything, and providers refuse anything else."""
    said = called.function.arguments
    try:
        value = strict_json(said.encode("utf-8", "replace"), most_depth=_MOST_DEPTH)
    except BadJsonError:
        value = None
    return said if isinstance(value, dict) else canonical_json({"arguments": said})


def _texts(content: _Content) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else ():
        text = part.text if part.text is not None else part.refusal
        if text is None:
            raise _refused(f"content of the type {part.type[:80]!r} cannot be passed on", "text")
        yield text


def _turns(body: _ResponsesBody) -> Iterator[_Turn]:
    """The items of a response's input as turns of a conversation: calls in a row belong to one turn."""
    if body.instructions:
        yield _Turn(role="system", content=body.instructions)
    said: _Turn | None = None
    for item in [_Item(role="user", content=body.input)] if isinstance(body.input, str) else body.input:
        if item.type == "reasoning":
            continue
        if item.type == "function_call":
            called = _Called(
                id=item.call_id or "", function=_Function(name=item.name or "", arguments=item.arguments or "{}")
            )
            said = said or _Turn(role="assistant")
            said = said.model_copy(update={"tool_calls": [*(said.tool_calls or ()), called]})
            continue
        if said is not None:
            yield said
            said = None
        if item.type == "function_call_output":
            yield _Turn(role="tool", content=item.output, tool_call_id=item.call_id)
        elif item.type != "message" or item.role is None:
            what = f"input of the type {item.type[:80]!r} cannot be passed on"
            raise _refused(what, "messages and calls of functions")
        elif item.role == "assistant":
            said = _Turn(role=item.role, content=item.content)
        else:
            yield _Turn(role=item.role, content=item.content)
    if said is not None:
        yield said


def _refused(what: str, expected: str = "") -> UsageError:
    return UsageError(what, expected=expected, code="bad-question")
