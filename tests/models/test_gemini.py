"""Whatever the Gemini API answers through its SDK is an answer or a named error, after one attempt."""

from __future__ import annotations

import asyncio
import importlib.util
from typing import Any

import pytest

from hellofresh.models import Answer, CallError, Finish, Message, Request
from hellofresh.models.providers.gemini import GeminiModel
from hellofresh.models.tables import Abilities, Endpoint
from tests.fakes import fails_with
from tests.models.conftest import KEY, SPEC, ask, failing, says

REQUEST = Request((Message("system", ("Be short.",)), Message("user", ("sample ", "question"))), 15, seed=3)
USAGE = {"promptTokenCount": 12, "candidatesTokenCount": 1, "thoughtsTokenCount": 30, "totalTokenCount": 43}


def response(finish: str | None = "STOP", parts: Any = None, **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": 0, "finishReason": finish, **more}
    if parts is not False:
        candidate["content"] = {"role": "model", "parts": parts or [{"text": "hm", "thought": True}, {"text": "Yes."}]}
    return {"candidates": [candidate], "usageMetadata": USAGE, "modelVersion": "gemini-9-001"}


def test_a_question_is_sent_as_the_api_takes_it(chat, loopback, monkeypatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "of-somebody-else")
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    says(chat, loopback, response())
    answer = ask("gemini", chat, REQUEST, Abilities(hidden_tokens=100))
    body = chat.bodies[0]
    assert body["contents"] == [{"role": "user", "parts": [{"text": "sample question"}]}]
    assert body["systemInstruction"]["parts"] == [{"text": "Be short."}]
    config = body["generationConfig"]
    assert (config["maxOutputTokens"], config["temperature"], config["seed"]) == (115, 0.0, 3)
    assert chat.headers[0]["x-goog-api-key"] == KEY
    assert answer == Answer("Yes.", Finish.STOP, 12, 31, served_by="gemini-9-001")


def test_what_a_model_does_not_take_is_not_sent(chat, loopback) -> None:
    says(chat, loopback, response())
    ask("gemini", chat, REQUEST, Abilities(temperature=False, seed=False))
    assert not {"temperature", "seed", "responseLogprobs"} & chat.bodies[0]["generationConfig"].keys()


def test_log_probabilities_of_yes_and_no_are_added_up_over_spellings(chat, loopback) -> None:
    tops = [{"token": "Yes", "logProbability": -1.0}, {"token": "no", "logProbability": -2.0}]
    found = {"topCandidates": [{"candidates": tops}], "chosenCandidates": []}
    says(chat, loopback, response(logprobsResult=found))
    assert ask("gemini", chat, REQUEST, Abilities(logprobs=True)).logprobs == {"yes": -1.0, "no": -2.0}
    assert chat.bodies[0]["generationConfig"]["responseLogprobs"] is True


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("STOP", Finish.STOP),
        ("MAX_TOKENS", Finish.LENGTH),
        *((reason, Finish.BLOCKED) for reason in ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII")),
    ],
)
def test_the_reason_why_an_answer_ended_is_kept(chat, loopback, reason: str, finish: Finish) -> None:
    says(chat, loopback, response(reason, parts=False))
    answer = ask("gemini", chat, REQUEST)
    assert (answer.text, answer.finish) == ("", finish)


def test_a_blocked_question_is_a_blocked_answer(chat, loopback) -> None:
    body = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 9}}
    says(chat, loopback, body)
    assert ask("gemini", chat, REQUEST) == Answer("", Finish.BLOCKED, 9, 0)


BAD = {
    "no candidates": {"candidates": [], "usageMetadata": USAGE},
    "empty": {},
    "no reason": response(None),
    "reason other": response("OTHER"),
    "cut JSON": b'{"candidates": [{"content"',
    "candidates is a text": {"candidates": "yes"},
    "text is a number": response(parts=[{"text": 5}]),
}


@pytest.mark.parametrize("name", BAD)
def test_a_reply_without_an_answer_is_a_named_error(chat, loopback, name: str) -> None:
    error = failing("gemini", chat, loopback, REQUEST, BAD[name])
    assert (error.code, error.retryable) == ("bad-reply", True)


def fault(status: int, name: str, *details: Any) -> dict[str, Any]:
    return {"error": {"code": status, "message": f"no, {KEY}", "status": name, "details": list(details)}}


@pytest.mark.parametrize(
    ("status", "retryable"),
    [(429, True), (500, True), (503, True), (504, True), (400, False), (403, False), (404, False)],
)
def test_errors_keep_their_status_and_are_not_asked_again_by_the_sdk(
    chat, loopback, status: int, retryable: bool
) -> None:
    error = failing("gemini", chat, loopback, REQUEST, fault(status, "SOME"), status, headers={"Retry-After": "7"})
    assert (error.status, error.retryable, error.retry_after_s) == (status, retryable, 7.0)


def test_the_wait_in_an_errors_details_is_kept(chat, loopback) -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.QuotaFailure"}, {"@type": "x", "retryDelay": "34.5s"}]
    assert (
        failing("gemini", chat, loopback, REQUEST, fault(429, "RESOURCE_EXHAUSTED", *details), 429).retry_after_s
        == 34.5
    )


def test_a_wrong_key_is_told_from_a_wrong_question(chat, loopback) -> None:
    error = failing(
        "gemini", chat, loopback, REQUEST, fault(400, "INVALID_ARGUMENT", {"reason": "API_KEY_INVALID"}), 400
    )
    assert (error.code, error.status, error.retryable) == ("not-authorised", 401, False)


@pytest.mark.parametrize("reply", [{"reset": True}, {"cut_at": 20}, {"cut_at": 20, "reset": True}, {"delay_s": 3.0}])
def test_a_broken_connection_is_worth_another_attempt(chat, loopback, reply: dict[str, Any]) -> None:
    error = failing("gemini", chat, loopback, REQUEST, response(), **reply)
    assert (error.code, error.retryable, error.status) == (
        "timeout" if "delay_s" in reply else "unreachable",
        True,
        None,
    )


def test_redirects_are_not_followed_so_that_the_key_stays(chat, loopback) -> None:
    error = failing("gemini", chat, loopback, REQUEST, b"", 307, headers={"Location": f"{chat.base_url}/elsewhere"})
    assert (error.code, error.retryable) == ("redirect", False)


def test_a_client_that_the_sdk_refuses_to_make_is_a_named_error_and_can_be_closed(monkeypatch) -> None:
    def refuse(**_: Any) -> None:
        raise ValueError("bad settings")

    async def asked() -> str:
        model = GeminiModel(SPEC, Endpoint("https://models.example/", "gemini-9", KEY), Abilities())
        try:
            with pytest.raises(CallError) as error:
                await model.ask(REQUEST)
            return error.value.code
        finally:
            await model.close()

    monkeypatch.setattr("google.genai.Client", refuse)
    assert asyncio.run(asked()) == "bad-reply"


def test_without_the_extra_it_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with fails_with("missing-extra", match=r"hellofresh\[gemini\]"):
        GeminiModel(SPEC, Endpoint("http://127.0.0.1:1", "gemini-9", KEY), Abilities())
