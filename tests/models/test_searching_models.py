"""Models that call a tool or search by themselves: what is sent, what is cited, and what a misbehaving server does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hellofresh.models import Answer, Finish, Message, Request, Tool, ToolCall
from hellofresh.models.tables import Abilities
from hellofresh.runs.journal import _answer_text, read_request, request_text
from tests.models.conftest import KINDS, anthropic_reply, ask, chat_reply, failing, gemini_reply, responses_reply, says

TOOL = Tool("search", "Searches.", "query")
FIRST = Message("user", ("Is it so?",))
CALL = ToolCall("call-9", "search", "moon rock")
TALK = Request(
    (FIRST, Message("assistant", ("I look.",), call=CALL), Message("user", ("Found: rock.",), call=CALL)),
    50,
    tools=(TOOL,),
)
SEARCH = Request((Message("user", ("moon rock",)),), 50, searches=True, excluded=("bad.example",))


def output_text(text: str, *urls: str) -> dict[str, Any]:
    cited = [{"type": "url_citation", "url": url, "title": "T", "start_index": 0, "end_index": 1} for url in urls]
    return {"type": "message", "content": [{"type": "output_text", "text": text, "annotations": cited}]}


def answered(kind: str, chat: Any, reply: object, request: Request) -> tuple[Answer, dict[str, Any]]:
    says(chat, reply)
    return ask(kind, chat, request, Abilities(seed=False, search=True)), chat.bodies[-1]


CALLS = {
    "chat": chat_reply(
        content=None,
        tool_calls=[{"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"query": "moon"}'}}],
    ),
    "anthropic": anthropic_reply(
        {"type": "text", "text": "Hm."}, {"type": "tool_use", "id": "c1", "name": "search", "input": {"query": "moon"}},
        stop="tool_use",
    ),
    "gemini": gemini_reply({"functionCall": {"name": "search", "args": {"query": "moon"}}, "thoughtSignature": "c2ln"}),
    "responses": responses_reply(
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "call_id": "c1", "name": "search", "arguments": '{"query": "moon"}'},
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_of_a_tool_is_read_and_goes_back_with_its_result(chat, kind: str) -> None:
    answer, body = answered(kind, chat, CALLS[kind], TALK)
    assert answer.call is not None
    assert (answer.call.name, answer.call.argument, answer.finish) == ("search", "moon", Finish.STOP)
    sent = json.dumps(body)
    assert "moon rock" in sent and "Found: rock." in sent and "Searches." in sent
    if kind == "chat":
        assert [item["role"] for item in body["messages"]] == ["user", "assistant", "tool"]
        assert body["messages"][1]["tool_calls"][0]["id"] == body["messages"][2]["tool_call_id"] == "call-9"
    if kind == "anthropic":
        assert [block["type"] for block in body["messages"][1]["content"]] == ["text", "tool_use"]
        assert body["messages"][2]["content"][0]["tool_use_id"] == "call-9"
    if kind == "gemini":
        assert answer.call.token == "c2ln"
        assert body["contents"][2]["parts"][0]["functionResponse"]["response"] == {"result": "Found: rock."}
    if kind == "responses":
        assert [item.get("type", item.get("role")) for item in body["input"]] == [
            "user", "assistant", "function_call", "function_call_output",
        ]  # fmt: skip


USED = [{"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"query": "moon"}'}}]
BLOCKS = [
    {"type": "thinking", "thinking": "First I look.", "signature": "c2ln"},
    {"type": "redacted_thinking", "data": "eA=="},
]
THINKING = {
    "chat": chat_reply(content=None, reasoning_content="First I look.", tool_calls=USED),
    "anthropic": anthropic_reply(
        *BLOCKS, {"type": "tool_use", "id": "c1", "name": "search", "input": {"query": "moon"}}, stop="tool_use"
    ),
}


@pytest.mark.parametrize("kind", THINKING)
def test_thoughts_before_a_call_go_back_as_they_came_in_the_next_turn(chat, kind: str) -> None:
    answer, _ = answered(kind, chat, THINKING[kind], Request((FIRST,), 50, tools=(TOOL,)))
    assert answer.call is not None and answer.thought.startswith("First I look.") and answer.text == ""
    turns = (
        FIRST,
        Message("assistant", (answer.text,), call=answer.call),
        Message("user", ("Rock.",), call=answer.call),
    )
    stored = read_request(request_text(Request(turns, 50, tools=(TOOL,))))  # as after a restart
    _, body = answered(kind, chat, THINKING[kind], stored)
    sent = body["messages"][1]
    if kind == "chat":
        assert sent["reasoning_content"] == "First I look." and sent["tool_calls"][0]["id"] == "c1"
    else:
        assert sent["content"][:2] == BLOCKS and sent["content"][2]["type"] == "tool_use"


GOOD, OTHER = "https://good.example/a", "https://other.example/b"
CITATIONS = {
    "chat": [
        chat_reply(annotations=[{"type": "url_citation", "url_citation": {"url": GOOD}},
                                {"type": "url_citation", "url_citation": {"url": OTHER}}]),
        chat_reply(more={"citations": [GOOD, OTHER]}),
        chat_reply(more={"search_results": [{"title": "t", "url": GOOD}, {"url": OTHER}, {"url": None}]}),
    ],
    "anthropic": [
        anthropic_reply(
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "moon"}},
            {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"url": "x"}]},
            {"type": "text", "text": "Rock", "citations": [{"type": "web_search_result_location", "url": GOOD}]},
            {"type": "text", "text": ".", "citations": [{"url": OTHER}, {"url": GOOD}, {"type": "other"}]},
        )
    ],
    "gemini": [
        gemini_reply(
            {"text": "Rock."},
            groundingMetadata={"groundingChunks": [{"web": {"uri": GOOD, "title": "A page"}}, {"web": {"uri": OTHER}}]},
        )
    ],
    "responses": [
        responses_reply({"type": "web_search_call", "status": "completed"}, output_text("Rock.", GOOD, OTHER))
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_search_is_asked_for_and_every_citation_is_an_address(chat, kind: str) -> None:
    for reply in CITATIONS[kind]:
        answer, body = answered(kind, chat, reply, SEARCH)
        assert (answer.text, answer.sources, answer.tokens_out) == ("Rock.", (GOOD, OTHER), 2)
    if kind == "anthropic":
        assert body["tools"][0]["blocked_domains"] == ["bad.example"]
    if kind == "gemini":
        assert body["tools"] == [{"googleSearch": {}}]
    if kind == "responses":
        assert body["tools"] == [{"type": "web_search"}] and body["store"] is False


def test_gemini_names_the_site_by_the_title_where_its_address_leads_through_google(chat) -> None:
    hidden = "https://vertexaisearch.cloud.google.com/grounding-api-redirect/abc"
    chunks = [{"web": {"uri": hidden, "title": "aljazeera.com"}}, {"web": {"uri": hidden, "title": "Some news"}}]
    reply = gemini_reply({"text": "Rock."}, groundingMetadata={"groundingChunks": chunks})
    assert answered("gemini", chat, reply, SEARCH)[0].sources == ("https://aljazeera.com/", hidden)


def test_a_search_that_failed_at_anthropic_is_an_answer_without_sources(chat) -> None:
    failed = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    reply = anthropic_reply(
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": failed}, {"type": "text", "text": "No."},
        stop="pause_turn",
    )  # fmt: skip
    answer, _ = answered("anthropic", chat, reply, SEARCH)
    assert (answer.text, answer.sources, answer.finish) == ("No.", (), Finish.PAUSED)


ODD = [
    5,
    None,
    "x",
    {},
    [],
    [5],
    [{"url": 5}],
    [{"url_citation": 5}],
    [{"url_citation": {"url": ["x"]}}],
    ["ftp://a.example"],
]


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_odd_citations_of_a_compatible_endpoint_are_none(chat, odd: Any) -> None:
    reply = chat_reply(annotations=odd, more={"citations": odd, "search_results": odd})
    assert answered("chat", chat, reply, SEARCH)[0].sources == ()


@pytest.mark.parametrize("odd", [None, 5, "{", '{"query": 5}', "[]", {"query": "moon"}, {"other": "moon"}], ids=repr)
def test_odd_arguments_of_a_call_are_read_or_empty(chat, odd: Any) -> None:
    reply = chat_reply(tool_calls=[{"id": 5, "function": {"name": "search", "arguments": odd}}])
    call = answered("chat", chat, reply, TALK)[0].call
    assert call is not None and call.argument in ("", "{", "moon")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"error": {"message": "busy"}}', b"\xff" * 9], ids=repr)
def test_a_reply_that_is_none_is_a_named_error_after_one_attempt(chat, kind: str, body: bytes) -> None:
    failing(kind, chat, SEARCH, body)


def test_requests_and_answers_survive_the_journal() -> None:
    for request in (TALK, SEARCH, Request((FIRST,), 5)):
        assert read_request(request_text(request)) == request
    plain = json.loads(request_text(Request((FIRST,), 5)))
    assert not {"tools", "searches", "excluded"} & plain.keys()
    assert not {"call", "sources"} & json.loads(_answer_text(Answer("x", Finish.STOP))).keys()
    whole = json.loads(_answer_text(Answer("x", Finish.STOP, call=CALL, sources=(GOOD,))))
    assert (whole["call"]["argument"], whole["sources"]) == ("moon rock", [GOOD])
