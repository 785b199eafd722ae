"""A chat endpoint's reply is an answer or a named error, however the endpoint behaves."""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.core.net.http import HttpReply
from hellofresh.models import Answer, CallError, Message, ModelSpec, Request
from hellofresh.models.providers import first_word_chances
from hellofresh.models.providers.anthropic import AnthropicModel
from hellofresh.models.providers.chat import ChatModel, read_reply
from hellofresh.models.providers.gemini import GeminiModel
from hellofresh.models.providers.responses import ResponsesModel
from hellofresh.models.tables import Abilities, Endpoint
from tests.fakes import free_port
from tests.models.conftest import closed

SPEC = ModelSpec("m", "language-model", "A model.", {})
REQUEST = Request((Message("user", ("A note. ", "Yes or no?")),), max_tokens=15)
KEY = "sk-secret-0123456789"


def model(base_url: str, abilities: Abilities | None = None, *, timeout_s: float = 10.0, key: str | None = KEY):
    return ChatModel(SPEC, Endpoint(base_url, "m-1", key, {}, timeout_s), abilities or Abilities())


def answer_of(asked: ChatModel, request: Request = REQUEST) -> Answer:
    return closed(asked, lambda: asked.ask(request))


def ask(chat, abilities: Abilities | None = None, request: Request = REQUEST, *, timeout_s: float = 10.0) -> Answer:
    return answer_of(model(chat.base_url, abilities, timeout_s=timeout_s), request)


def refused(chat, **how) -> CallError:
    with pytest.raises(CallError) as caught:
        ask(chat, **how)
    assert KEY not in str(caught.value)
    return caught.value


def test_only_what_the_model_takes_is_sent(chat) -> None:
    untaken = {"temperature": False, "seed": False, "system_messages": False}
    abilities = Abilities(**untaken, token_parameter="max_completion_tokens", hidden_tokens=1000)
    request = replace(REQUEST, messages=(Message("system", ("Be brief.",)), *REQUEST.messages), seed=7)
    ask(chat, abilities, request)
    said = [{"role": "user", "content": "Be brief.\n\nA note. Yes or no?"}]
    assert chat.bodies == [{"model": "m-1", "messages": said, "max_completion_tokens": 1015}]


def test_a_seed_and_log_probabilities_are_asked_for_where_the_model_has_them(chat) -> None:
    ask(chat, Abilities(logprobs=True), replace(REQUEST, seed=7))
    assert (chat.bodies[0]["seed"], chat.bodies[0]["logprobs"], chat.bodies[0]["top_logprobs"]) == (7, True, 20)


def test_a_text_that_is_no_unicode_reaches_the_endpoint_all_the_same(chat) -> None:
    ask(chat, request=replace(REQUEST, messages=(Message("user", ("half \ud83d",)),)))
    assert chat.bodies[0]["messages"][0]["content"] == "half ?"


async def test_a_connection_is_used_again(chat) -> None:
    asked = model(chat.base_url)
    for _ in range(20):
        await asked.ask(REQUEST)
    await asked.close()
    assert (len(chat.bodies), chat.connections) == (20, 1)


def test_a_message_that_is_no_object_is_called_that() -> None:
    with pytest.raises(CallError, match=r"message: input should be an object\)"):
        read_reply(b'{"choices": [{"message": 1}]}', "m")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"<!doctype html><title>Sign in</title>", "HTML in place of JSON: <!doctype html><title>Sign in</title>"),
        (b'data: {"choices": [{"delta": {}}]}\n\ndata: [DONE]', 'an event stream in place of JSON: data: {"choices"'),
        (b": ping\n\nevent: message_start", "an event stream in place of JSON: : ping event"),
        (b"upstream gone", "text in place of JSON: upstream gone"),
        (b"<?xml version='1.0'?><Error/>", "XML in place of JSON: <?xml version='1.0'?><Error/>"),
    ],
)
def test_what_comes_in_place_of_json_is_shown(body: bytes, said: str) -> None:
    for wire in (AnthropicModel, ResponsesModel, GeminiModel):
        with pytest.raises(CallError, match=re.escape(said)):
            wire(SPEC, Endpoint("http://127.0.0.1:9", "m"), Abilities()).read(HttpReply(200, {}, body), REQUEST)
    with pytest.raises(CallError, match=re.escape(said)):
        read_reply(body, "m")


@given(st.binary(max_size=60) | st.recursive(st.none() | st.booleans() | st.text() | st.integers(), st.lists).map(
    lambda value: json.dumps({"choices": [{"message": {"content": value}, "logprobs": value}]}).encode()
))  # fmt: skip
def test_no_body_whatever_brings_another_error(body: bytes) -> None:
    with suppress(CallError):
        assert isinstance(read_reply(body, "m"), Answer)


ERRORS = [
    (400, {"message": "no such parameter"}, "bad-request", False),
    (401, {"message": f"wrong key {KEY}"}, "not-authorised", False),
    (403, {"message": "not for you"}, "not-authorised", False),
    (404, {"message": "no such model"}, "unknown-model", False),
    (408, {"message": "too slow"}, "call-failed", True),
    (429, {"message": "slow down"}, "rate-limit", True),
    (429, {"message": "no credit", "code": "insufficient_quota"}, "quota-spent", False),
    (500, {"message": "oops"}, "call-failed", True),
    (400, {"message": "too much", "code": "context_length_exceeded"}, "context-length", False),
    (400, {"message": "This model's maximum context length is 4096 tokens."}, "context-length", False),
    (400, {"message": "the request exceeds", "type": "exceed_context_size_error"}, "context-length", False),
    (413, {"message": "prompt is too long: 210000 tokens > 200000 maximum"}, "context-length", False),
    (503, {"message": "busy"}, "call-failed", True),
]


@pytest.mark.parametrize(("status", "error", "code", "retryable"), ERRORS)
def test_every_status_has_its_meaning(chat, loopback, status: int, error: dict[str, str], code, retryable) -> None:
    chat.behave = lambda _n, _body: loopback.Reply(json.dumps({"error": error}).encode(), status)
    caught = refused(chat)
    assert (caught.code, caught.retryable) == (code, retryable)
    assert caught.status == (402 if code == "quota-spent" else status)
    assert error["message"].replace(KEY, "[key]") in str(caught)


def test_what_an_endpoint_says_is_shown_on_one_line_without_control_characters(chat, loopback) -> None:
    body = json.dumps({"error": {"message": "a\x1b[31m\r\nb" + "c" * 5000}}).encode()
    chat.behave = lambda _n, _body: loopback.Reply(body, 400)
    text = str(refused(chat))
    assert text.isprintable()
    assert len(text) < 500


def test_retry_after_in_seconds_or_as_a_date_is_passed_on(chat, loopback) -> None:
    for value, wait_s in (("7", 7.0), ("0.5", 0.5), ("soon", None), ("-3", None), ("nan", None)):
        chat.behave = lambda _n, _body, value=value: loopback.Reply(b"", 429, {"Retry-After": value})
        assert refused(chat).retry_after_s == wait_s


def test_a_closed_port_and_an_unknown_host_are_unreachable() -> None:
    for base_url, key in ((f"http://127.0.0.1:{free_port()}/v1", KEY), ("http://nowhere.invalid/v1", None)):
        with pytest.raises(CallError) as caught:
            answer_of(model(base_url, key=key))
        assert (caught.value.code, caught.value.retryable) == ("unreachable", True)


def test_chances_of_the_first_word_add_up_over_its_spellings() -> None:
    tokens = [("Yes", math.log(0.5)), (" yes", math.log(0.2)), ("\u0120NO", math.log(0.1)), ("Maybe", math.log(0.1))]
    chances = first_word_chances(tokens)
    assert chances == {"yes": pytest.approx(math.log(0.7)), "no": pytest.approx(math.log(0.1))}
    assert first_word_chances([("Perhaps", 0.0)]) == {}
    assert first_word_chances([("yes", 1e-7), ("no", -9999.0)]) == {"yes": 0.0, "no": -9999.0}
