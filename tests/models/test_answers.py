"""What servers really answer, in the forms of public issues: what is read, what it counts as, and what it costs.

The wording is our own; the issue that shows a form stands beside it.
"""

# ruff: noqa: E501, RUF001 - a table with one answer a line
from __future__ import annotations

import json
from typing import Any

import pytest

from hellofresh.core.net.http import HttpReply
from hellofresh.models import Answer, CallError, Message, Request
from hellofresh.models.tables import Abilities, Endpoint
from hellofresh.models.thoughts import without_thought
from hellofresh.runs.counts import fate_of
from hellofresh.runs.regimes import read_choice
from tests.models.conftest import KINDS, SPEC

REQUEST = Request((Message("user", ("Yes or no?",)),), 15)
PAID, UNKNOWN = (20, 3), (None, None)
Case = tuple[object, str, tuple[int | None, int | None]]


def c(content: Any = None, finish: Any = "stop", usage: Any = None, logprobs: Any = None, **message: Any) -> Any:
    used = {"prompt_tokens": 20, "completion_tokens": 3} if usage is None else usage
    choice = {"message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}
    return {"model": "m", "choices": [choice | ({} if logprobs is None else {"logprobs": logprobs})], "usage": used}


def r(*items: Any, status: str = "completed", usage: Any = None, **more: Any) -> Any:
    return {
        "status": status,
        "model": "m",
        "output": [*items],
        "usage": usage or {"input_tokens": 20, "output_tokens": 3},
        **more,
    }


def said(text: str) -> Any:
    return {"type": "message", "content": [{"type": "output_text", "text": text}]}


def a(*blocks: Any, stop: Any = "end_turn", usage: Any = None, **more: Any) -> Any:
    used = {"input_tokens": 20, "output_tokens": 3} if usage is None else usage
    return {
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [*blocks],
        "stop_reason": stop,
        "usage": used,
        **more,
    }


def t(text: Any) -> Any:
    return {"type": "text", "text": text}


def g(*parts: Any, finish: Any = "STOP", usage: Any = None, **more: Any) -> Any:
    used = {"promptTokenCount": 20, "candidatesTokenCount": 3} if usage is None else usage
    return {"candidates": [{"content": {"parts": [*parts]}, "finishReason": finish, **more}], "usageMetadata": used}


def e(status: int, message: str = "", /, **more: Any) -> tuple[int, Any]:
    return status, {"error": {"message": message, **more}}


U = {"prompt_tokens": 20, "completion_tokens": 15}
THOUGHT = {"type": "thinking", "thinking": "It has a source.", "signature": "c2ln"}
# fmt: off
CHAT: list[Case] = [
    (c("<think>The source holds.</think>Yes"), "yes", PAID),  # lm-evaluation-harness #3244
    (c("<think>\nNo, wait.\n</think>\n\nYes"), "yes", PAID),  # vllm #22507
    (c("no ...\n</think>\n\nYes"), "yes", PAID),  # lm-evaluation-harness #3558: the template opens the thought
    (c("Okay, no source.</think>No."), "no", PAID),  # vllm #34625
    (c("<think>It is long", "length", U), "cut", (20, 15)),  # lighteval #869
    (c("<think>It never ends", "stop", U), "cut", (20, 15)),  # EuroEval #752
    (c("<think></think>\n\nNo"), "no", PAID),  # ollama #9137: a model told not to think
    (c("<thinking>Hm.</thinking>\n**Yes**"), "yes", PAID),  # lm-evaluation-harness #3145
    (c("<thought>Hm.</thought> no"), "no", PAID),  # lm-evaluation-harness #3240
    (c("<mm:think>Hm.</mm:think>Yes"), "yes", PAID),  # hermes-agent #62680
    (c("<seed:think>Hm.</seed:think>No"), "no", PAID),  # vllm #34684
    (c("[THINK]Is it so?[/THINK]Yes"), "yes", PAID),  # lm-evaluation-harness #3959
    (c("[THINK]Is it", "length", U), "cut", (20, 15)),  # vllm #39697
    (c("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes<|return|>"), "yes", PAID),  # cuga-agent #558
    (c("<|channel|>final <|constrain|>json<|message|>No"), "no", PAID),  # cuga-agent #672
    (c("<|channel|>commentary to=functions.f<|message|>{}"), "cut", PAID),  # odysseus #4522
    (c("analysisIt is so.assistantfinalNo"), "no", PAID),  # qvac #2803: the marks themselves are gone
    (c("thought\nIt holds.<channel|>Yes"), "yes", PAID),  # paperclip #7719
    (c("<think>a</think>No <think>b</think> Yes"), "yes", PAID),  # evalscope #307
    (c("<think>a</think><answer>Yes</answer>"), "yes", PAID),  # olmo-eval #348
    (c("", reasoning_content="It holds."), "empty", PAID),  # vllm #30139
    (c(None, "length", U, reasoning="It holds, but"), "cut", (20, 15)),  # vllm #52640
    (c(None, "length", U, reasoning_content="It"), "cut", (20, 15)),  # ollama #15288
    (c("Yes", reasoning_content="No?"), "yes", PAID),  # vllm #12473
    (c([{"type": "thinking", "thinking": [t("no")]}, t("Yes")]), "yes", PAID),  # pydantic-ai #2040
    (c(None), "empty", PAID),  # inspect_ai #5467
    (c("", "length", U), "cut", (20, 15)),  # vllm #42635
    (c("I think that it holds since", "length", U), "cut", (20, 15)),  # vllm #37558: thoughts without any mark
    (c("Yes, since it holds and", "length", U), "yes", (20, 15)),  # lm-evaluation-harness #3244
    (c("Yes", usage={**U, "completion_tokens": -35}), "yes", (20, None)),  # easyllm #42
    (c("Yes", usage={**U, "completion_tokens": 37.25}), "yes", (20, None)),  # async-openai #404
    (c("Yes", usage=[]), "yes", UNKNOWN),  # openai-php #18
    (c("Yes", usage="none"), "yes", UNKNOWN),  # litellm #14090
    (c("Yes", usage={**U, "prompt_tokens_details": None, "completion_tokens_details": []}), "yes", (20, 15)),  # fenic #380
    (c("Yes", usage={**U, "prompt_tokens_details": {"cached_tokens": None}}), "yes", (20, 15)),  # fenic #380
    (c("Yes", usage={"prompt_tokens": 20, "completion_tokens": 1, "total_tokens": 51, "completion_tokens_details": {"reasoning_tokens": 30}}), "yes", (20, 31)),  # litellm #42310: hidden tokens apart
    (c("Yes", usage={"prompt_tokens": 20, "completion_tokens": 31, "total_tokens": 51, "completion_tokens_details": {"reasoning_tokens": 30}}), "yes", (20, 31)),  # effect #5314
    (c("Yes", logprobs=[]), "yes", PAID),  # lmdeploy #1985
    (c("Yes", logprobs={"content": [{"token": "Yes", "logprob": float("-inf")}]}), "yes", PAID),  # sonar #183
    (c("Yes", logprobs={"content": [{"token": "Yes", "logprob": None, "top_logprobs": 1}]}), "yes", PAID),  # sglang #20323
    (c("Yes", finish=7), "yes", PAID),  # any-llm #1202
    (c("Yes", finish=None), "yes", PAID),  # any-llm #1202
    (c("<tool_call>\n<function=search>\n<parameter=query>\nmoon\n</tool_call>"), "tool", PAID),  # vllm #21571
    (c('I look it up.\n<tool_call>{"name": "search", "arguments": {"query": "moon"}}</tool_call>'), "tool", PAID),  # ReCall #64
    (c('[TOOL_CALLS]search[ARGS]{"query": "moon"}'), "tool", PAID),  # Rapid-MLX #1071
    (c("Yes.\n<tool_call>\n<function=search>"), "yes", PAID),  # vllm #21571: an answer comes first
    (c("Yes", annotations={}, tool_calls="none"), "yes", PAID),  # litellm #40477
    ({**c("No"), "model": 7, "citations": 1, "error": None}, "no", PAID),  # async-openai #404
    ({"choices": [{"text": "No", "finish_reason": "stop"}]}, "no", UNKNOWN),  # litellm #14090: a completion's form
    (b'{"choices": [{"message": {"content": "Yes \\ud83d"}}]}', "yes", UNKNOWN),  # vllm #22507: half an emoji
    (c("", refusal="I will not."), "refused", PAID),  # inspect_ai #2267
    (c("I must respectfully decline."), "refused", PAID),  # PyRIT #1463
    (c("Es tut mir leid, dabei helfe ich nicht."), "refused", PAID),  # helm #3770
    (c("抱歉，我无法回答。"), "refused", PAID),  # helm #3770
    (c("申し訳ありませんが、お答えできません。"), "refused", PAID),  # helm #3770
    (c("I can't determine whether it holds."), "unreadable", PAID),  # helm #3770
    (c(None, "content_filter"), "refused", PAID),  # inspect_ai #3405
    ({"choices": [{"message": None, "finish_reason": "content_filter"}]}, "refused", UNKNOWN),  # inspect_ai #3405
    (c(None, "tool_calls", tool_calls=[{}]), "empty", PAID),  # litellm #40477
    (e(400, "Hm.", code="content_filter"), "refused", UNKNOWN),  # inspect_ai #3405
    (e(400, "policy", code="content_policy_violation"), "refused", UNKNOWN),  # inspect_ai #3405
    (e(400, "flagged under our usage policy", code="invalid_prompt"), "refused", UNKNOWN),  # inspect_ai #2267
    (e(400, "It may contain inappropriate content.", code="data_inspection_failed"), "refused", UNKNOWN),  # owl #432
    (e(400, "InternalError.Algo.DataInspectionFailed: text"), "refused", UNKNOWN),  # qwen-code #3145
    ((400, {"code": "DataInspectionFailed", "message": "inappropriate content"}), "refused", UNKNOWN),  # Qwen #938
    (e(400, "Content Exists Risk"), "refused", UNKNOWN),  # PyRIT #1463
    (e(403, "Content violates usage guidelines."), "refused", UNKNOWN),  # inspect_ai #3405
    ((403, {"error": "Content violates usage guidelines.", "code": "permission-denied"}), "refused", UNKNOWN),  # helm #3770
    (e(403, "flagged", metadata={"reasons": ["x"], "flagged_input": "y"}), "refused", UNKNOWN),  # ai-sdk-provider #162
    (e(403, "Your account was flagged and suspended."), "not-authorised", UNKNOWN),  # claude-code #34521
    (e(403, "No."), "not-authorised", UNKNOWN),  # inspect_ai #3405
    (e(200, "Slow down.", code="rate_limit_exceeded"), "rate-limit", UNKNOWN),  # gemini-cli #4646
    (e(200, "Upstream.", code=502), "call-failed", UNKNOWN),  # litellm #37710
    ({"choices": [{"error": {"code": 429, "message": "Later."}}]}, "rate-limit", UNKNOWN),  # ai-sdk-provider #162
    (e(429, "No credit.", code="insufficient_quota"), "quota-spent", UNKNOWN),  # claude-code #4684
    (e(402, "It requires more credits."), "quota-spent", UNKNOWN),  # ai-sdk-provider #162
    (e(400, "No model m: model_not_found", code="model_not_found"), "unknown-model", UNKNOWN),  # moeru-ai/airi #2249
    (e(400, "Incorrect API key provided"), "not-authorised", UNKNOWN),  # moeru-ai/airi #2249
    (e(400, "Maximum context length is 10."), "context-length", UNKNOWN),  # lm-evaluation-harness #3145
    ({"choices": []}, "bad-reply", UNKNOWN),  # litellm #40477
    (c(5), "bad-reply", UNKNOWN),  # litellm #14090
]
RESPONSES: list[Case] = [
    (r({"type": "reasoning", "summary": []}, said("Yes")), "yes", PAID),  # litellm #37710
    (r({"type": "reasoning", "summary": []}, status="incomplete", incomplete_details={"reason": "max_output_tokens"}), "cut", PAID),  # litellm #37710
    (r(status="incomplete", incomplete_details=None), "cut", PAID),  # vllm #24561
    (r({"type": "reasoning"}, {"type": "message", "content": []}), "empty", PAID),  # omlx #2817
    (r(said("Yes"), status="incomplete", incomplete_details={"reason": "content_filter"}), "refused", PAID),  # litellm #37710
    (r({"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}), "refused", PAID),  # inspect_ai #2267
    (r(said("<think>a</think>No")), "no", PAID),  # vllm #24561
    (r(said("Yes"), status="in_progress"), "yes", PAID),  # Switchyard #796
    (r(status="queued"), "bad-reply", UNKNOWN),  # Switchyard #796
    (r(status="cancelled"), "bad-reply", UNKNOWN),  # Switchyard #796
    (r(status="odd"), "bad-reply", UNKNOWN),  # Switchyard #796
    (r(status="failed", error={"code": "server_error", "message": "Gone."}), "call-failed", UNKNOWN),  # experiential #46
    (r(status="failed", error={"code": "rate_limit_exceeded", "message": "Slow."}), "rate-limit", UNKNOWN),  # experiential #46
    (r(status="failed", error={"code": "invalid_prompt", "message": "usage policy"}), "refused", UNKNOWN),  # inspect_ai #2267
    (r(said("Yes"), usage={"input_tokens": 20, "output_tokens": 3, "input_tokens_details": None}), "yes", PAID),  # vscode-unify-chat-provider #277
    (r(said("Yes"), usage={"input_tokens": -1, "output_tokens": "3"}), "yes", UNKNOWN),  # easyllm #42
    ({"status": "completed", "output": [said("No")], "model": None}, "no", UNKNOWN),  # async-openai #404
    (r({"type": "message", "content": [t("x"), {"type": "output_text", "text": "Yes", "annotations": 3}]}), "yes", PAID),  # async-openai #404
    ({"status": "completed"}, "bad-reply", UNKNOWN),  # litellm #40477
]
CLAUDE: list[Case] = [
    (a(THOUGHT, t("Yes")), "yes", PAID),  # CLIProxyAPI #420
    (a({"type": "redacted_thinking", "data": "x"}, t("No")), "no", PAID),  # claude-code #14264
    (a(THOUGHT, stop="max_tokens"), "cut", PAID),  # litellm #8961
    (a(stop="model_context_window_exceeded"), "cut", PAID),  # litellm #8961
    (a(t("Yes"), stop="stop_sequence"), "yes", PAID),  # sub2api #7098
    (a(THOUGHT), "empty", PAID),  # litellm #37636
    (a(t("Yes"), stop=None), "yes", PAID),  # sub2api #7081
    (a(t("Yes"), stop="tired"), "yes", PAID),  # sub2api #7098
    (a(t("Yes"), usage=[]), "yes", UNKNOWN),  # easyllm #42
    (a(t("Yes"), usage={"input_tokens": 20.5, "output_tokens": -3}), "yes", UNKNOWN),  # easyllm #42
    (a(t("Yes"), usage={"input_tokens": 18, "output_tokens": 3, "cache_read_input_tokens": 2}), "yes", PAID),  # litellm #8961
    (a(t("Yes"), {"type": "new"}, 3, {}), "yes", PAID),  # async-openai #404
    (a(stop="refusal"), "refused", PAID),  # inspect_ai #3405
    (a(t("I'm really sorry, but no.")), "refused", PAID),  # helm #3770
    (a(t("Let me"), stop="pause_turn"), "tool", PAID),  # ai-provider-for-anthropic #29
    (a(stop="end_turn"), "empty", PAID),  # sub2api #7081
    ({"type": "message", "content": None}, "bad-reply", UNKNOWN),  # litellm #40477
    (e(400, "Output blocked by content filtering policy", type="invalid_request_error"), "refused", UNKNOWN),  # inspect_ai #3405
    (e(400, "Your credit balance is too low.", type="invalid_request_error"), "quota-spent", UNKNOWN),  # claude-code #4684
    (e(200, "Overloaded", type="overloaded_error"), "call-failed", UNKNOWN),  # claude-code #66314
    (e(400, "Expected thinking, but found tool_use"), "bad-request", UNKNOWN),  # opencode #8010
    (e(529, "Overloaded", type="overloaded_error"), "call-failed", UNKNOWN),  # claude-code #66314
]
GEMINI: list[Case] = [
    (g({"text": "Hm.", "thought": True}, {"text": "Yes"}), "yes", PAID),  # any-llm #1202
    (g(finish="MAX_TOKENS", usage={"promptTokenCount": 20, "thoughtsTokenCount": 15}), "cut", (20, 15)),  # litellm #36881
    (g({"text": "Hm.", "thought": True}, finish="MAX_TOKENS"), "cut", PAID),  # js-genai #828
    (g({"text": "Yes"}, finish="OTHER"), "yes", PAID),  # pydantic-ai #631
    (g(finish="OTHER"), "empty", PAID),  # litellm #40477
    (g({"text": "Yes"}, finish="MALFORMED_FUNCTION_CALL"), "yes", PAID),  # pydantic-ai #631
    ({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]}, "empty", UNKNOWN),  # rig #1030
    ({"candidates": [{"content": {}, "finishReason": "UNEXPECTED_TOOL_CALL"}]}, "empty", UNKNOWN),  # req_llm #944
    ({"candidates": [{"content": {}, "finishReason": "MALFORMED_FUNCTION_CALL"}]}, "empty", UNKNOWN),  # vercel/ai #5039
    (g({"thoughtSignature": "c2ln"}, finish="MALFORMED_FUNCTION_CALL"), "empty", PAID),  # sub2api #7098
    (g({"text": "Yes"}, finish=None), "yes", PAID),  # any-llm #1202
    (g(finish="PROHIBITED_CONTENT"), "refused", PAID),  # inspect_ai #3405
    *((g(finish=reason), "refused", PAID) for reason in ("SAFETY", "BLOCKLIST", "SPII")),  # inspect_ai #3405
    (g(finish="IMAGE_SAFETY"), "refused", PAID),  # SenseNova-Skills #139
    (g(finish="RECITATION"), "refused", PAID),  # helm #3770
    ({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 20}}, "refused", (20, 0)),  # PyRIT #1463
    (g({"text": "Yes"}, usage={"promptTokenCount": -1, "candidatesTokenCount": 3}), "yes", UNKNOWN),  # easyllm #42
    (g({"text": "Yes"}, usage=[]), "yes", UNKNOWN),  # litellm #40477
    (g({"text": "Yes"}, logprobsResult=7, groundingMetadata=[]), "yes", PAID),  # sglang #5984
    (g({"text": "<think>a</think>No"}), "no", PAID),  # vllm #42635: Gemma behind Google's wire
    (e(429, "Quota.", status="RESOURCE_EXHAUSTED"), "rate-limit", UNKNOWN),  # gemini-cli #4646
    ((429, [{"error": {"message": "Quota.", "status": "RESOURCE_EXHAUSTED"}}]), "rate-limit", UNKNOWN),  # gemini-cli #4646
    (e(400, "API key not valid."), "not-authorised", UNKNOWN),  # gemini-cli #4646
    ({"candidates": []}, "bad-reply", UNKNOWN),  # litellm #40477
]
# fmt: on
CASES = [
    pytest.param(kind, *case, id=f"{kind}-{number}")
    for kind, cases in {"chat": CHAT, "responses": RESPONSES, "anthropic": CLAUDE, "gemini": GEMINI}.items()
    for number, case in enumerate(cases)
]


def answered(kind: str, answer: object) -> Answer:
    status, said_ = answer if isinstance(answer, tuple) else (200, answer)
    body = said_ if isinstance(said_, bytes) else json.dumps(said_).encode()
    model = KINDS[kind](SPEC, Endpoint("http://127.0.0.1:9", "m"), Abilities(seed=False))
    return without_thought(model.read(HttpReply(status, {}, body), REQUEST))


def test_the_table_is_as_long_as_it_says() -> None:
    assert len(CASES) >= 130


@pytest.mark.parametrize(("kind", "body", "read", "paid"), CASES)
def test_what_a_server_answers_is_read_counted_and_paid_as_it_is(
    kind: str, body: object, read: str, paid: object
) -> None:
    try:
        answer = answered(kind, body)
    except CallError as error:
        assert (error.code, UNKNOWN) == (read, paid)
        assert error.retryable is (error.code in ("bad-reply", "call-failed", "rate-limit"))
        return
    answer.text.encode()  # no half of a pair is left
    choice = read_choice("p", answer)
    fate = str(fate_of(choice, answer))
    assert ("no" if choice.label == 0 else "yes" if choice.label else fate) == read
    assert (answer.tokens_in, answer.tokens_out) == paid


MALFORMED: dict[str, dict[str, object]] = {
    "chat": {
        "empty": b"", "no JSON": b"<html>busy</html>", "cut": b'{"choices": [{"message": {"content": "Yes"',
        "not UTF-8": b'{"choices": [{"message": {"content": "\xff"}}]}', "a list": b"[]", "a text": b'"Yes"',
        "null": b"null", "deep": b"[" * 100_000, "a number of 5,000 digits": b'{"usage": ' + b"9" * 5000 + b"}",
        "no choices": {}, "choices null": {"choices": None}, "a choice that is a text": {"choices": ["Yes"]},
        "finish error": c("Yes", "error"), "message null": {"choices": [{"message": None, "finish_reason": "stop"}]},
        "content true": c(True), "part without text": c([{"type": "text"}]),
    },
    "anthropic": {
        "cut": b'{"type":"message","role":"assi', "no content": {"type": "message"}, "deep": b"[" * 200_000,
        "text that is a number": a(t(5)),
    },
    "gemini": {
        "empty": {}, "cut": b'{"candidates": [{"content"', "candidates is a text": {"candidates": "yes"},
        "text is a number": g({"text": 5}),
    },
}  # fmt: skip


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, bodies in MALFORMED.items() for name in bodies])
def test_what_is_no_answer_is_a_named_error_that_may_be_tried_again(kind: str, name: str) -> None:
    with pytest.raises(CallError) as caught:
        answered(kind, MALFORMED[kind][name])
    assert (caught.value.code, caught.value.retryable, caught.value.status) == ("bad-reply", True, 200)


@pytest.mark.parametrize(
    ("kind", "body", "thought", "hidden"),
    [
        ("chat", c("Yes", reasoning_content="Hm.", reasoning="Hm."), "Hm.", 0),
        ("chat", c("<think>Hm.</think>Yes"), "<think>Hm.</think>", 0),
        ("chat", c("Yes", usage={**U, "completion_tokens_details": {"reasoning_tokens": 9}}), "", 9),
        ("responses", r({"type": "reasoning", "summary": [{"text": "Hm."}]}, said("Yes")), "Hm.", 0),
        ("anthropic", a(THOUGHT, t("Yes")), "It has a source.", 0),
        ("gemini", g({"text": "Hm.", "thought": True}, {"text": "Yes"}, usage={"thoughtsTokenCount": 9}), "Hm.", 9),
    ],
)
def test_reasoning_is_kept_apart_and_its_tokens_are_counted(kind: str, body: object, thought: str, hidden: int) -> None:
    answer = answered(kind, body)
    assert (answer.text, answer.thought, answer.thought_tokens) == ("Yes", thought, hidden)


def chances(*tokens: tuple[str, dict[str, float]]) -> Answer:
    rows = [
        {
            "token": token,
            "logprob": -0.1,
            "top_logprobs": [{"token": word, "logprob": value} for word, value in top.items()],
        }
        for token, top in tokens
    ]
    return answered("chat", c("".join(token for token, _ in tokens), logprobs={"content": rows}))


def test_the_probability_is_that_of_the_token_with_which_the_answer_begins() -> None:
    both = {"Yes": -0.5, "No": -1.0}
    for before in (
        (("**", {"**": 0.0}),),
        (("<think>", {}), ("no", {"no": 0.0}), ("</think>", {})),
        ((" ", {}), ("\n", {})),
    ):
        assert chances(*before, ("Yes", both), (".", {"no": 0.0})).logprobs == {"yes": -0.5, "no": -1.0}
    bounded = chances(("Yes", {"Yes": -0.01, "Sure": -5.0})).logprobs
    assert bounded is not None and bounded["yes"] == -0.01 and bounded["no"] < -5.0
    assert chances(("<think>", both)).logprobs is None and chances(("Perhaps", {"Perhaps": 0.0})).logprobs == {}
