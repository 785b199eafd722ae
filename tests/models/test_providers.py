"""Whatever the APIs of Anthropic and Gemini answer is an answer or a named error, and the key is in neither."""

from __future__ import annotations

from typing import Any

import pytest

from hellofresh.models import Answer, Finish, Message, Request
from hellofresh.models.tables import Abilities
from tests.models.conftest import KEY, ask, failing, says

REQUEST = Request((Message("system", ("Be short.",)), Message("user", ("sample ", "question"))), 15, seed=3)
USAGE = {"input_tokens": 12, "output_tokens": 3, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 1}


def message(stop: str | None = "end_turn", *, content: Any = None, **more: Any) -> dict[str, Any]:
    text = [{"type": "thinking", "thinking": "hm", "signature": "x"}, {"type": "text", "text": "Yes."}]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-9-20260101",
        "content": text if content is None else content,
        "stop_reason": stop,
        "usage": USAGE,
        **more,
    }


def test_a_question_is_sent_as_the_api_takes_it(chat) -> None:
    says(chat, message())
    answer = ask("anthropic", chat, REQUEST)
    assert chat.bodies == [
        {
            "model": "m-1",
            "max_tokens": 15,
            "temperature": 0.0,
            "system": "Be short.",
            "messages": [{"role": "user", "content": "sample question"}],
        }
    ]
    headers = chat.headers[0]
    assert (headers["x-api-key"], headers["anthropic-version"]) == (KEY, "2023-06-01")
    assert answer == Answer(
        "Yes.", Finish.STOP, 15, 3, served_by="claude-haiku-9-20260101", cached_in=1, cache_writes=2, thought="hm"
    )


def test_a_reasoning_model_gets_no_temperature_and_room_for_15_visible_tokens(chat) -> None:
    says(chat, message())
    ask("anthropic", chat, REQUEST, Abilities(temperature=False, seed=False, hidden_tokens=4000))
    assert "temperature" not in chat.bodies[0] and "seed" not in chat.bodies[0]
    assert chat.bodies[0]["max_tokens"] == 4015


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (429, "rate_limit_error", True),
        (529, "overloaded_error", True),
        (500, "api_error", True),
        (504, "timeout_error", True),
        (400, "invalid_request_error", False),
        (401, "authentication_error", False),
        (402, "billing_error", False),
        (403, "permission_error", False),
        (404, "not_found_error", False),
        (413, "request_too_large", False),
    ],
)
def test_an_error_means_the_same_with_its_status_and_with_200(chat, status: int, kind: str, retryable: bool) -> None:
    body = {"type": "error", "error": {"type": kind, "message": f"no, {KEY}"}, "request_id": "req_1"}
    error = failing("anthropic", chat, REQUEST, body, status, headers={"Retry-After": "7"})
    assert (error.status, error.retryable, error.retry_after_s) == (status, retryable, 7.0)
    chat.bodies.clear()
    hidden = failing("anthropic", chat, REQUEST, body, 200)
    assert (hidden.status, hidden.retryable, hidden.code) == (status, retryable, error.code)


def test_an_error_page_of_something_in_between_keeps_its_status(chat) -> None:
    error = failing("anthropic", chat, REQUEST, b"<h1>Bad gateway</h1>", 502)
    assert (error.status, error.retryable) == (502, True)


GEMINI_USAGE = {"promptTokenCount": 12, "candidatesTokenCount": 1, "thoughtsTokenCount": 30, "totalTokenCount": 43}


def response(finish: str | None = "STOP", parts: Any = None, **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": 0, "finishReason": finish, **more}
    if parts is not False:
        candidate["content"] = {"role": "model", "parts": parts or [{"text": "hm", "thought": True}, {"text": "Yes."}]}
    return {"candidates": [candidate], "usageMetadata": GEMINI_USAGE, "modelVersion": "gemini-9-001"}


def test_a_question_is_sent_as_gemini_takes_it(chat, monkeypatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "of-somebody-else")
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    says(chat, response())
    answer = ask("gemini", chat, REQUEST, Abilities(hidden_tokens=100))
    body = chat.bodies[0]
    assert body["contents"] == [{"role": "user", "parts": [{"text": "sample question"}]}]
    assert body["systemInstruction"]["parts"] == [{"text": "Be short."}]
    config = body["generationConfig"]
    assert (config["maxOutputTokens"], config["temperature"], config["seed"]) == (115, 0.0, 3)
    assert chat.headers[0]["x-goog-api-key"] == KEY
    said = Answer("Yes.", Finish.STOP, 12, 31, served_by="gemini-9-001", thought="hm", thought_tokens=30)
    assert answer == said


def test_what_a_model_does_not_take_is_not_sent(chat) -> None:
    says(chat, response())
    ask("gemini", chat, REQUEST, Abilities(temperature=False, seed=False))
    assert not {"temperature", "seed", "responseLogprobs"} & chat.bodies[0]["generationConfig"].keys()


def test_log_probabilities_of_yes_and_no_are_added_up_over_spellings(chat) -> None:
    tops = [{"token": "Yes", "logProbability": -1.0}, {"token": "no", "logProbability": -2.0}]
    found = {"topCandidates": [{"candidates": tops}], "chosenCandidates": []}
    says(chat, response(logprobsResult=found))
    assert ask("gemini", chat, REQUEST, Abilities(logprobs=True)).logprobs == {"yes": -1.0, "no": -2.0}
    assert chat.bodies[0]["generationConfig"]["responseLogprobs"] is True


def fault(status: int, name: str, *details: Any) -> dict[str, Any]:
    return {"error": {"code": status, "message": f"no, {KEY}", "status": name, "details": list(details)}}


@pytest.mark.parametrize(
    ("status", "retryable"),
    [(429, True), (500, True), (503, True), (504, True), (400, False), (403, False), (404, False)],
)
def test_errors_of_gemini_keep_their_status(chat, status: int, retryable: bool) -> None:
    error = failing("gemini", chat, REQUEST, fault(status, "SOME"), status, headers={"Retry-After": "7"})
    assert (error.status, error.retryable, error.retry_after_s) == (status, retryable, 7.0)


def test_the_wait_in_an_errors_details_is_kept(chat) -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.QuotaFailure"}, {"@type": "x", "retryDelay": "34.5s"}]
    assert failing("gemini", chat, REQUEST, fault(429, "RESOURCE_EXHAUSTED", *details), 429).retry_after_s == 34.5


def test_a_wrong_key_is_told_from_a_wrong_question(chat) -> None:
    error = failing("gemini", chat, REQUEST, fault(400, "INVALID_ARGUMENT", {"reason": "API_KEY_INVALID"}), 400)
    assert (error.code, error.status, error.retryable) == ("not-authorised", 401, False)


def test_redirects_are_not_followed_so_that_the_key_stays(chat) -> None:
    error = failing("gemini", chat, REQUEST, b"", 307, headers={"Location": f"{chat.base_url}/elsewhere"})
    assert (error.code, error.retryable) == ("redirect", False)
