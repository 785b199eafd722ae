"""Whatever the Messages API answers is an answer or a named error, and the key is in neither."""

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


def test_a_question_is_sent_as_the_api_takes_it(chat, loopback) -> None:
    says(chat, loopback, message())
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
        "Yes.", Finish.STOP, 15, 3, served_by="claude-haiku-9-20260101", cached_in=1, cache_writes=2
    )


def test_a_reasoning_model_gets_no_temperature_and_room_for_15_visible_tokens(chat, loopback) -> None:
    says(chat, loopback, message())
    ask("anthropic", chat, REQUEST, Abilities(temperature=False, seed=False, hidden_tokens=4000))
    assert "temperature" not in chat.bodies[0] and "seed" not in chat.bodies[0]
    assert chat.bodies[0]["max_tokens"] == 4015


@pytest.mark.parametrize(
    ("stop", "finish"),
    [
        ("end_turn", Finish.STOP),
        ("stop_sequence", Finish.STOP),
        ("max_tokens", Finish.LENGTH),
        ("model_context_window_exceeded", Finish.LENGTH),
        ("refusal", Finish.BLOCKED),
    ],
)
def test_the_reason_why_an_answer_ended_is_kept(chat, loopback, stop: str, finish: Finish) -> None:
    says(chat, loopback, message(stop, content=[]))
    answer = ask("anthropic", chat, REQUEST)
    assert (answer.text, answer.finish) == ("", finish)


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
def test_an_error_means_the_same_with_its_status_and_with_200(
    chat, loopback, status: int, kind: str, retryable: bool
) -> None:
    body = {"type": "error", "error": {"type": kind, "message": f"no, {KEY}"}, "request_id": "req_1"}
    error = failing("anthropic", chat, loopback, REQUEST, body, status, headers={"Retry-After": "7"})
    assert (error.status, error.retryable, error.retry_after_s) == (status, retryable, 7.0)
    chat.bodies.clear()
    hidden = failing("anthropic", chat, loopback, REQUEST, body, 200)
    assert (hidden.status, hidden.retryable, hidden.code) == (status, retryable, error.code)


BAD = {
    "cut JSON": b'{"type":"message","role":"assi',
    "no content": {key: value for key, value in message().items() if key != "content"},
    "null content": {**message(), "content": None},
    "text that is a number": message(content=[{"type": "text", "text": 5}]),
    "no reason": message(None),
    "unknown reason": message("tired"),
    "no usage": {key: value for key, value in message().items() if key != "usage"},
    "tokens as text": message(usage={"input_tokens": "1", "output_tokens": 1}),
    "negative tokens": message(usage={"input_tokens": -1, "output_tokens": 1}),
    "half of a surrogate pair": b'{"type":"message","content":[{"type":"text","text":"\\ud83d"}]}',
    "deep": b"[" * 200_000,
}


@pytest.mark.parametrize("name", BAD)
def test_a_reply_that_is_no_message_is_a_named_error(chat, loopback, name: str) -> None:
    error = failing("anthropic", chat, loopback, REQUEST, BAD[name])
    assert (error.code, error.retryable) == ("bad-reply", True)


def test_an_error_page_of_something_in_between_keeps_its_status(chat, loopback) -> None:
    error = failing("anthropic", chat, loopback, REQUEST, b"<h1>Bad gateway</h1>", 502)
    assert (error.status, error.retryable) == (502, True)
