"""Convert requests and answers between this project and inspect_ai."""

from __future__ import annotations

import json
from collections.abc import Sequence

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    GenerateConfig,
    ModelOutput,
    ModelUsage,
    StopReason,
)
from inspect_ai.tool import ToolCall as InspectCall
from inspect_ai.tool import ToolInfo, ToolParams

from hellofresh.models import Answer, Finish, Message, Request, Tool, ToolCall
from hellofresh.models.providers import call_arguments, read_call, tool_schema, whole_calls

_FINISHES = {"max_tokens": Finish.LENGTH, "model_length": Finish.LENGTH, "content_filter": Finish.BLOCKED}
_REASONS: dict[Finish, StopReason] = {
    Finish.STOP: "stop",
    Finish.LENGTH: "max_tokens",
    Finish.PAUSED: "unknown",
    Finish.BLOCKED: "content_filter",
}


def chat_messages(request: Request) -> list[ChatMessage]:
    """The request's conversation as messages of inspect_ai.

    Raises:
        ValueError: if it has images.
    """
    if any(message.images for message in request.messages):
        raise ValueError("images cannot be handed to inspect_ai yet")
    return list(map(_message, request.messages))


def _message(message: Message) -> ChatMessage:
    if message.role == "system":
        return ChatMessageSystem(content=message.text)
    if message.role == "assistant":
        calls = () if message.call is None else (message.call, *message.more_calls)
        return ChatMessageAssistant(content=message.text, tool_calls=[_called(call) for call in calls] or None)
    if message.call is not None:
        return ChatMessageTool(content=message.text, tool_call_id=message.call.id, function=message.call.name)
    return ChatMessageUser(content=message.text)


def _called(call: ToolCall) -> InspectCall:
    return InspectCall(id=call.id, function=call.name, arguments=json.loads(call_arguments(call)))


def tool_infos(tools: Sequence[Tool]) -> list[ToolInfo]:
    """The tools as inspect_ai describes them."""
    return [
        ToolInfo(name=tool.name, description=tool.about, parameters=ToolParams.model_validate(tool_schema(tool)))
        for tool in tools
    ]


def generate_config(request: Request, hidden_tokens: int = 0) -> GenerateConfig:
    """The request's settings; hidden reasoning tokens are added to the visible limit."""
    return GenerateConfig(
        max_tokens=request.max_tokens + hidden_tokens, temperature=request.temperature, seed=request.seed
    )


def answer_of(output: ModelOutput, request: Request) -> Answer:
    """The answer in a model's output."""
    usage, calls = output.usage, []
    cached, written = (usage.input_tokens_cache_read or 0, usage.input_tokens_cache_write or 0) if usage else (0, 0)
    if output.choices:
        whole = whole_calls(request)
        made = output.choices[0].message.tool_calls or ()
        calls = [read_call(call.id, call.function, call.arguments, whole=whole) for call in made]
    return Answer(
        text=output.completion,
        finish=_FINISHES.get(str(output.stop_reason), Finish.STOP),
        tokens_in=None if usage is None else usage.input_tokens + cached + written,
        tokens_out=None if usage is None else usage.output_tokens,
        served_by=output.model or None,
        call=next(iter(calls), None),
        more_calls=tuple(calls[1:]) if whole_calls(request) else (),
        cached_in=cached,
        cache_writes=written,
    )


def model_output(model: str, answer: Answer) -> ModelOutput:
    """An answer as a model output of inspect_ai."""
    calls = () if answer.call is None else (answer.call, *answer.more_calls)
    message = ChatMessageAssistant(
        content=answer.text, model=model, source="generate", tool_calls=[_called(call) for call in calls] or None
    )
    usage = None
    if answer.tokens_in is not None and answer.tokens_out is not None:
        usage = ModelUsage(
            input_tokens=max(0, answer.tokens_in - answer.cached_in - answer.cache_writes),
            output_tokens=answer.tokens_out,
            total_tokens=answer.tokens_in + answer.tokens_out,
            input_tokens_cache_read=answer.cached_in or None,
            input_tokens_cache_write=answer.cache_writes or None,
        )
    choice = ChatCompletionChoice(message=message, stop_reason="tool_calls" if calls else _REASONS[answer.finish])
    return ModelOutput(model=answer.served_by or model, choices=[choice], usage=usage)
