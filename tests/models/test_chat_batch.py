"""Batches in the way of OpenAI are read as strictly as single answers."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from hellofresh.models import CallError, Finish, ModelSpec
from hellofresh.models.batches import BatchState
from hellofresh.models.providers.chat import ChatBatches
from hellofresh.models.tables import Abilities, Endpoint
from tests.fakes import fails_with
from tests.models.conftest import closed

KEY = "sk-secret-123"
SPEC = ModelSpec("m", "language-model", "A fake.", {})
T = TypeVar("T")


def with_batches(chat: Any, call: Callable[[ChatBatches], Awaitable[T]]) -> T:
    batches = ChatBatches(SPEC, Endpoint(chat.base_url, "m", KEY, timeout_s=5), Abilities())
    return closed(batches, lambda: call(batches))


def says(chat: Any, loopback: Any, *bodies: object) -> None:
    """Answer the requests with these bodies, one after the other; the last one from then on."""
    replies = [body if isinstance(body, bytes) else json.dumps(body).encode() for body in bodies]
    chat.behave = lambda number, _body: loopback.Reply(replies[min(number, len(replies)) - 1])


@pytest.mark.parametrize(
    "body",
    [b"<html>", b"", [], {}, {"id": "b"}, {"id": 5, "status": "completed"}, {"id": "b", "status": "resting"}],
)
def test_a_reply_that_is_no_batch_is_a_named_error(chat, loopback, body: object) -> None:
    says(chat, loopback, body)
    with pytest.raises(CallError) as caught:
        with_batches(chat, lambda batches: batches.status("b"))
    assert (caught.value.code, caught.value.retryable) == ("bad-reply", True)


def test_a_refused_batch_says_why(chat, loopback) -> None:
    errors = {"object": "list", "data": [{"code": "x", "line": 3, "message": "line 3 is wrong"}]}
    says(chat, loopback, {"id": "b", "status": "failed", "errors": errors})
    status = with_batches(chat, lambda batches: batches.status("b"))
    assert (status.state, status.message) == (BatchState.FAILED, "line 3 is wrong")


@pytest.mark.parametrize("name", ["../files/secret", "a/b", "a?b", "a b", "..", "é"])
def test_an_id_that_would_lead_elsewhere_is_refused(chat, loopback, name: str) -> None:
    says(chat, loopback, {"id": "b", "status": "completed", "output_file_id": name})
    with fails_with("bad-reply"):
        with_batches(chat, lambda batches: batches.results("b"))
    assert len(chat.bodies) == 1


def test_results_are_answers_or_errors_and_strange_lines_are_passed_over(chat, loopback) -> None:
    def line(name: str, status: int, body: object) -> str:
        return json.dumps({"custom_id": name, "response": {"status_code": status, "body": body}})

    choice = {"index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": "Yes"}}
    lines = [
        line("good", 200, {"model": "m-1", "choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}),
        line("filtered", 400, {"error": {"message": "no", "code": "content_filter"}}),
        line("wrong", 400, {"error": {"message": f"no, {KEY}"}}),
        line("busy", 503, None),
        line("error in 200", 200, {"error": {"message": "overloaded"}}),
        line("empty", 200, {"choices": []}),
        "",
        "[]",
        '{"custom_id": 5}',
        '{"custom_id": "neither"}',
        '{"custom_id": "torn',
    ]
    batch = {"id": "b", "status": "completed", "output_file_id": "file-1", "error_file_id": None}
    says(chat, loopback, batch, "\n".join(lines).encode())
    results = {item.custom_id: item for item in with_batches(chat, lambda batches: batches.results("b"))}
    finishes = {name: item.answer.finish for name, item in results.items() if item.answer is not None}
    assert finishes == {"good": Finish.LENGTH, "filtered": Finish.BLOCKED}
    retryable = {name: item.error.retryable for name, item in results.items() if item.error is not None}
    assert retryable == {"wrong": False, "busy": True, "error in 200": True, "empty": True, "neither": True}
    assert not any(KEY in str(item.error) for item in results.values())


def test_a_batch_is_looked_for_on_all_pages(chat, loopback) -> None:
    first = {"data": [{"id": "b1", "status": "completed", "metadata": {"x": "y"}}], "has_more": True}
    second = {"data": [{"id": "b2", "status": "completed", "metadata": {"hellofresh": "label"}}], "has_more": False}
    says(chat, loopback, first, second)
    assert with_batches(chat, lambda batches: batches.find("label")) == "b2"
    assert len(chat.bodies) == 2
    assert with_batches(chat, lambda batches: batches.find("other")) is None
