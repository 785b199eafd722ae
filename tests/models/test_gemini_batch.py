"""Batches of the Gemini API come back by their ids, each result an answer or a named error."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from hellofresh.models import CallError, Finish, Message, ModelSpec, Request
from hellofresh.models.batches import BatchQuestion, BatchState
from hellofresh.models.providers.gemini import GeminiBatches
from hellofresh.models.tables import Abilities, Endpoint
from tests.fakes import fails_with
from tests.models.conftest import closed, says

KEY = "gemini-secret-123"
SPEC = ModelSpec("gemini", "language-model", "A fake.", {})
T = TypeVar("T")


def request(text: str) -> Request:
    return Request((Message("system", ("Be short.",)), Message("user", (text,))), 15)


def with_batches(chat: Any, call: Callable[[GeminiBatches], Awaitable[T]]) -> T:
    endpoint = Endpoint(chat.base_url.removesuffix("/v1"), "gemini-9", KEY, timeout_s=5)
    batches = GeminiBatches(SPEC, endpoint, Abilities(hidden_tokens=50))
    return closed(batches, lambda: call(batches))


def job(state: str, **more: Any) -> dict[str, Any]:
    return {
        "name": "batches/b1",
        "metadata": {"state": state, "displayName": "label", "model": "models/gemini-9", **more},
    }


def answer(text: str, finish: str = "STOP") -> dict[str, Any]:
    return {
        "candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": finish}],
        "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 1},
        "modelVersion": "gemini-9-001",
    }


def test_questions_go_up_with_their_ids_and_settings(chat, loopback) -> None:
    says(chat, loopback, job("BATCH_STATE_PENDING"))
    questions = [BatchQuestion("id-1", request("first")), BatchQuestion("id-2", request("second"))]
    assert with_batches(chat, lambda batches: batches.submit(questions, "label")) == "batches/b1"
    (body,) = chat.bodies
    assert body["batch"]["displayName"] == "label"
    sent = body["batch"]["inputConfig"]["requests"]["requests"]
    assert [item["metadata"]["key"] for item in sent] == ["id-1", "id-2"]
    first = sent[0]["request"]
    assert first["contents"][0]["parts"] == [{"text": "first"}]
    assert (first["generationConfig"]["maxOutputTokens"], first["generationConfig"]["temperature"]) == (65, 0.0)
    assert first["systemInstruction"]["parts"] == [{"text": "Be short."}]
    assert chat.headers[0]["x-goog-api-key"] == KEY


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("PENDING", BatchState.RUNNING),
        ("RUNNING", BatchState.RUNNING),
        ("SUCCEEDED", BatchState.ENDED),
        ("EXPIRED", BatchState.EXPIRED),
        ("CANCELLED", BatchState.CANCELLED),
        ("FAILED", BatchState.FAILED),
    ],
)
def test_states_are_told_apart(chat, loopback, state: str, expected: BatchState) -> None:
    says(chat, loopback, job(f"BATCH_STATE_{state}"))
    assert with_batches(chat, lambda batches: batches.status("batches/b1")).state is expected


def test_results_come_by_id_each_an_answer_or_an_error(chat, loopback) -> None:
    responses = [
        {"metadata": {"key": "b"}, "response": answer("No", "MAX_TOKENS")},
        {"metadata": {"key": "a"}, "response": answer("Yes")},
        {"metadata": {"key": "blocked"}, "response": {"promptFeedback": {"blockReason": "SAFETY"}}},
        {"metadata": {"key": "busy"}, "error": {"code": 14, "message": "unavailable"}},
        {"metadata": {"key": "wrong"}, "error": {"code": 3, "message": "invalid"}},
        {"metadata": {"key": "empty"}, "response": {"candidates": []}},
        {"response": answer("whose?")},
    ]
    output = {"inlinedResponses": {"inlinedResponses": responses}}
    says(chat, loopback, job("BATCH_STATE_SUCCEEDED", output=output))
    results = {item.custom_id: item for item in with_batches(chat, lambda batches: batches.results("batches/b1"))}
    assert list(results) == ["b", "a", "blocked", "busy", "wrong", "empty"]
    finishes = [item.answer and item.answer.finish for item in results.values()]
    assert finishes == [Finish.LENGTH, Finish.STOP, Finish.BLOCKED, None, None, None]
    errors = {key: item.error.retryable for key, item in results.items() if item.error is not None}
    assert errors == {"busy": True, "wrong": False, "empty": True}


def test_a_batch_is_found_by_its_label(chat, loopback) -> None:
    says(chat, loopback, {"operations": [job("BATCH_STATE_RUNNING")]})
    assert with_batches(chat, lambda batches: batches.find("label")) == "batches/b1"
    assert with_batches(chat, lambda batches: batches.find("other")) is None


@pytest.mark.parametrize(("status", "retryable"), [(429, True), (503, True), (403, False), (404, False)])
def test_refusals_are_named_errors_without_the_key(chat, loopback, status: int, retryable: bool) -> None:
    says(chat, loopback, {"error": {"code": status, "message": f"no, {KEY}", "status": "SOME"}}, status)
    with pytest.raises(CallError) as caught:
        with_batches(chat, lambda batches: batches.status("batches/b1"))
    assert (caught.value.status, caught.value.retryable) == (status, retryable)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}", {"name": "batches/b1", "metadata": {"state": 5}}])
def test_a_reply_that_is_no_batch_is_a_named_error(chat, loopback, body: object) -> None:
    says(chat, loopback, body)
    with fails_with("bad-reply"):
        with_batches(chat, lambda batches: batches.status("batches/b1"))
