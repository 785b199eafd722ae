"""The endpoint for frameworks: real clients read what it sends, and nobody else gets in."""

from __future__ import annotations

import asyncio
import io
import json
import runpy
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.core.errors import UsageError
from hellofresh.core.files import read_jsonl
from hellofresh.models import Answer, Finish, ModelSpec, Price, Request, ToolCall
from hellofresh.runs.journal import read_request, request_text
from hellofresh.runs.prompts import load_prompt_set
from hellofresh.runs.regimes.agents import AgentRegime, AgentSettings, AgentTools
from hellofresh.tasks.outputs import Choice, Status
from hellofresh.tasks.transcripts import AskedEvent
from hellofresh_parts.endpoint import command as proxy_command
from hellofresh_parts.endpoint.questions import digest, read_question
from hellofresh_parts.endpoint.server import EndpointServer
from hellofresh_parts.endpoint.session import AgentSession
from tests.fakes import FakeModel, catalogued, fails_with
from tests.regimes import conftest as stage

TOOL = {"type": "object", "properties": {"day": {"type": "string"}, "n": {"type": "integer"}}, "required": ["day"]}
TWO_CALLS = Answer(
    "Let me look.",
    Finish.STOP,
    7,
    3,
    call=ToolCall("c1", "look", "", arguments='{"day": "Monday", "n": 2}', token="signed"),
    more_calls=(ToolCall("c2", "look", "", arguments='{"day": "Tuesday"}'),),
)


def solved(
    make, solve: Callable[[Any, AgentTools], Awaitable[Choice]], *said: Answer | Exception | str, **settings: Any
):
    """What an agent comes to, whose model gives these answers in turn, and the world with what it was asked."""
    world = stage.World()
    answers = iter(said)

    async def ask(step: str, prompt: str, request: Request, *, role: str = "main") -> Answer:
        world.asked.append(type("Asked", (), {"step": step, "request": request, "role": role}))
        await asyncio.sleep(0)
        answer = next(answers, "yes")
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Answer) else Answer(answer, Finish.STOP, 10, 1)

    world.ask = ask
    regime = AgentRegime(
        agent="a.py:solve",
        sha256="0",
        solver=solve,
        needs=frozenset(),
        roles={"critic": ""},
        settings=AgentSettings(**settings),
    )
    return stage.judged(regime, make.note(1), world, load_prompt_set("x-notes", "zero-shot")), world


def client(at: Any) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=at.base_url, api_key=at.api_key, timeout=60)


def turn(text: str = "Is it so?") -> list[Any]:
    return [{"role": "user", "content": text}]


def test_the_client_of_openai_reads_answers_calls_and_usage(make) -> None:
    tool: Any = {"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": TOOL}}
    seen: dict[str, Any] = {}

    async def solve(sample: Any, tools: AgentTools) -> Choice:
        at = await tools.endpoint()
        async with client(at) as api:
            seen["models"] = [item.id async for item in api.models.list()]
            first = await api.chat.completions.create(model="main", messages=turn(), tools=[tool], max_tokens=20)
            said = first.choices[0].message
            results = [{"role": "tool", "tool_call_id": call.id, "content": "rain"} for call in said.tool_calls or ()]
            turns: Any = [*turn(), said.model_dump(exclude_none=True), *results]
            second = await api.chat.completions.create(model="critic", messages=turns, tools=[tool], temperature=0.5)
        seen["first"], seen["second"] = first, second
        return Choice(label=1)

    outcome, world = solved(make, solve, TWO_CALLS, "Yes.")
    first, second = seen["first"], seen["second"]
    assert seen["models"] == ["main", "critic"]
    assert first.choices[0].finish_reason == "tool_calls" and first.choices[0].message.content == "Let me look."
    calls = [
        (call.id, call.function.name, json.loads(call.function.arguments))
        for call in first.choices[0].message.tool_calls
    ]
    assert calls == [("c1", "look", {"day": "Monday", "n": 2}), ("c2", "look", {"day": "Tuesday"})]
    assert (first.usage.prompt_tokens, first.usage.completion_tokens, first.usage.total_tokens) == (7, 3, 10)
    assert (second.choices[0].message.content, second.choices[0].finish_reason) == ("Yes.", "stop")
    one, two = (item.request for item in world.asked)
    assert json.loads(one.tools[0].schema) == TOOL and (one.max_tokens, one.temperature) == (20, 0.0)
    assert [(message.role, message.text) for message in two.messages] == [
        ("user", "Is it so?"), ("assistant", "Let me look."), ("user", "rain"), ("user", "rain"),
    ]  # fmt: skip
    assert two.messages[1].call == TWO_CALLS.call, "with what the provider wants back"
    assert two.messages[1].more_calls == TWO_CALLS.more_calls and two.messages[3].call.name == "look"
    assert (two.temperature, [item.role for item in world.asked]) == (0.5, ["main", "critic"])
    assert [event.role for event in outcome.events] == ["main", "critic"]


def test_answers_in_pieces_are_the_same_answers(make) -> None:
    seen: dict[str, Any] = {}

    async def solve(sample: Any, tools: AgentTools) -> Choice:
        async with client(await tools.endpoint()) as api:
            pieces: Any = await api.chat.completions.create(
                model="main", messages=turn(), stream=True, stream_options={"include_usage": True}
            )
            seen["chat"] = [piece async for piece in pieces]
            async with api.responses.stream(model="main", input="Is it?", instructions="Be brief.") as stream:
                seen["kinds"] = [event.type async for event in stream]
                seen["response"] = await stream.get_final_response()
            seen["whole"] = await api.responses.create(model="main", input=[{"role": "user", "content": "Is it?"}])
        return Choice(label=1)

    _, world = solved(make, solve, TWO_CALLS, TWO_CALLS, Answer("Cut", Finish.LENGTH, None, None))
    chat = seen["chat"]
    assert "".join(piece.choices[0].delta.content or "" for piece in chat if piece.choices) == "Let me look."
    calls = [call for piece in chat if piece.choices for call in piece.choices[0].delta.tool_calls or ()]
    assert [(call.index, call.id, call.function.arguments) for call in calls] == [
        (0, "c1", '{"day": "Monday", "n": 2}'), (1, "c2", '{"day": "Tuesday"}'),
    ]  # fmt: skip
    assert chat[-1].usage.total_tokens == 10 and chat[-2].choices[0].finish_reason == "tool_calls"
    response = seen["response"]
    assert response.output_text == "Let me look." and response.usage.total_tokens == 10
    assert [item.call_id for item in response.output if item.type == "function_call"] == ["c1", "c2"]
    assert seen["kinds"][0] == "response.created" and seen["kinds"][-1] == "response.completed"
    assert [message.role for message in world.asked[1].request.messages] == ["system", "user"]
    assert (seen["whole"].status, seen["whole"].incomplete_details.reason, seen["whole"].usage) == (
        "incomplete", "max_output_tokens", None,
    )  # fmt: skip


def test_a_conversation_of_responses_is_that_of_chat_completions() -> None:
    calls = [("c1", '{"day":"Monday"}'), ("c2", '{"day":"Tuesday"}')]
    chat = {
        "model": "main",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Is it so?"}]},
            {"role": "assistant", "content": "I look.", "tool_calls": [
                {"id": key, "type": "function", "function": {"name": "look", "arguments": said}} for key, said in calls
            ]},
            *({"role": "tool", "tool_call_id": key, "content": "rain"} for key, _ in calls),
        ],
        "max_tokens": 9,
        "tools": [{"type": "function", "function": {"name": "look", "parameters": TOOL}}],
        "tool_choice": {"type": "function", "function": {"name": "look"}},
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": TOOL}},
        "reasoning_effort": "low",
    }  # fmt: skip
    responses = {
        "model": "main",
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Is it so?"}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
            *({"type": "function_call", "call_id": key, "name": "look", "arguments": text} for key, text in calls),
            *({"type": "function_call_output", "call_id": key, "output": "rain"} for key, _ in calls),
        ],
        "max_output_tokens": 9,
        "tools": [{"type": "function", "name": "look", "parameters": TOOL}],
        "tool_choice": {"type": "function", "name": "look"},
        "text": {"format": {"type": "json_schema", "name": "x", "schema": TOOL}},
        "reasoning": {"effort": "low"},
    }
    one = read_question(json.dumps(chat).encode(), "chat").request
    assert one == read_question(json.dumps(responses).encode(), "responses").request
    assert read_request(request_text(one)) == one
    assert digest(replace(one, max_tokens=8)) != digest(one) != digest(replace(one, options=""))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"n": 2}, "'n'"),
        ({"functions": []}, "'functions'"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "tool", "tool_call_id": "x", "content": "y"}]}, "never made"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]}, "image_url"),
        ({"tools": [{"type": "web_search"}]}, "web_search"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"temperature": 3}, "temperature"),
    ],
)
def test_what_cannot_be_passed_on_is_refused_by_name(change: dict[str, Any], says: str) -> None:
    body = {"model": "main", "messages": turn(), "n": 1, "stop": None, "user": "me", "top_p": 1} | change
    with pytest.raises(UsageError) as caught:
        read_question(json.dumps(body).encode(), "chat")
    assert says in str(caught.value) and caught.value.code == "bad-question"


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)
CALL = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
BODY: dict[str, Any] = {
    "model": "main",
    "input": [{"role": "user", "content": "x"}, {"type": "function_call", "call_id": "c", "name": "look"}],
    "messages": [{"role": "assistant", "tool_calls": [CALL]}, {"role": "tool", "tool_call_id": "c", "content": "y"}],
    "tools": [{"type": "function", "name": "look", "function": {"name": "look"}}],
    "text": {"format": {"type": "text"}},
}


@given(st.data())
def test_whatever_comes_is_a_question_or_refused_by_name(data: st.DataObject) -> None:
    body = json.loads(json.dumps(BODY))
    place: Any = body
    while True:  # somewhere in it, something else
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = data.draw(ANY)
    for form in ("chat", "responses"):
        try:
            request = read_question(json.dumps(body).encode(), form).request
        except UsageError as error:
            assert error.code == "bad-question"
        else:
            assert read_request(request_text(request)) == request and digest(request)


def test_only_who_holds_the_key_and_names_this_machine_gets_in(make) -> None:
    seen: list[int] = []

    async def solve(sample: Any, tools: AgentTools) -> Choice:
        at = await tools.endpoint()
        url, good = f"{at.base_url}/chat/completions", {"Authorization": f"Bearer {at.api_key}"}
        body = {"model": "main", "messages": turn()}
        port = at.base_url.split(":")[2].split("/")[0]
        tries: list[tuple[str, dict[str, str], Any]] = [
            (url, {}, body),
            (url, {"Authorization": "Bearer wrong"}, body),
            (url, {"Authorization": "Bearer wr\N{LATIN SMALL LETTER O WITH DIAERESIS}ng"}, body),
            (url, {"Authorization": "Bearer \udcff"}, body),
            (url, {**good, "Content-Encoding": "gzip"}, body),
            (url, {**good, "Host": "rebound.example"}, body),
            (url, {**good, "Host": f"rebound.example:{port}"}, body),
            (url, {**good, "Origin": "https://page.example"}, body),
            (url.replace(sample.id, "xn-other"), good, body),
            (url, good, {**body, "messages": turn("x" * 5_000_000)}),
            (url, good, {**body, "model": "gpt"}),
            (url, good, ["no question"]),
            (url.replace("/v1/", "/v2/"), good, body),
            (f"{at.base_url}/output", good, {"label": 1}),
            (url, good, body),
            (f"http://127.0.0.1:{port}/v1/chat/completions", {**good, "X-HelloFresh-Sample": sample.id}, body),
        ]
        async with aiohttp.ClientSession() as session:
            for address, headers, value in tries:
                async with session.post(address, data=io.BytesIO(json.dumps(value).encode()), headers=headers) as reply:
                    seen.append(reply.status)
                    assert reply.status == 200 or (await reply.json())["error"]["message"]
        return Choice(label=1)

    _, world = solved(make, solve)
    assert seen == [401, 401, 401, 401, 400, 403, 403, 403, 404, 413, 404, 400, 404, 400, 200, 200]
    assert len(world.asked) == 2


@pytest.mark.parametrize("line", [b"GET file:///etc/passwd HTTP/1.1", b"G\xffT / HTTP/1.1", b"GET / HTTP/9.9"])
async def test_what_is_no_request_gets_no_answer_of_ours_and_fills_no_log(line: bytes, caplog) -> None:
    server = EndpointServer()
    await server.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(line + b"\r\nHost: x\r\n\r\n")
    answer = await asyncio.wait_for(reader.readline(), 20)
    writer.close()
    await server.close()
    assert b" 400 " in answer
    assert not caplog.records


def test_a_client_that_goes_away_fills_no_log(caplog, tmp_path: Path) -> None:
    async def ask() -> None:
        server = EndpointServer(socket=tmp_path / "endpoint")
        server.sessions["one"] = SimpleNamespace(hand_in=None)  # type: ignore[assignment]
        await server.start()
        host = f"127.0.0.1:{server.port}"
        head = f"POST /v1/output HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {server.token}\r\n"
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(f"{head}Content-Length: 1000\r\n\r\nhalf".encode())
        await writer.drain()
        await asyncio.sleep(0.1)
        writer.close()
        await writer.wait_closed()
        await server.close()

    asyncio.run(ask())
    assert not caplog.records


@pytest.mark.parametrize("port", [-1, 65_536])
def test_a_port_that_is_none_is_refused(port: int) -> None:
    with pytest.raises(UsageError, match=f"port {port} cannot be opened"):
        asyncio.run(EndpointServer(port).start())


def test_a_question_that_a_client_repeats_is_asked_once_and_one_that_an_agent_repeats_twice(make) -> None:
    async def solve(sample: Any, tools: AgentTools) -> Choice:
        at = await tools.endpoint()
        async with client(at) as api:
            ask = api.chat.completions.create
            for again in (None, {"x-stainless-retry-count": "1"}, None):
                await ask(model="main", messages=turn(), extra_headers=again)
        return Choice(label=1)

    outcome, world = solved(make, solve)
    steps = [item.step for item in world.asked]
    assert len(steps) == 2 == len(set(steps)) == len(outcome.events)
    assert steps[0][:-2] == steps[1][:-2]


def test_the_order_in_which_questions_arrive_changes_nothing(make) -> None:
    def agent(order: list[int]):
        async def solve(sample: Any, tools: AgentTools) -> Choice:
            async with client(await tools.endpoint()) as api:
                for n in order:
                    await api.chat.completions.create(model="main", messages=turn(f"Question {'x' * n}"))
            return Choice(label=1)

        return solve

    one, *others = [solved(make, agent(order))[0] for order in ([1, 2, 3], [3, 1, 2], [2, 3, 1])]
    assert all(outcome == one for outcome in others) and len(one.events) == 3
    assert all(isinstance(event, AskedEvent) for event in one.events)


def test_more_questions_than_allowed_end_the_agent_by_name(make) -> None:
    tries = []

    async def solve(sample: Any, tools: AgentTools) -> Choice:
        async with client(await tools.endpoint()) as api:
            while True:
                tries.append(1)
                await api.chat.completions.create(model="main", messages=turn())

    with fails_with("agent-limit"):
        solved(make, solve, requests=2)
    assert len(tries) == 3, "the client was told not to try again"
    outcome, _ = solved(make, solve, requests=2, on_error="silence")
    assert [output.status for output in outcome.outputs] == [Status.NONE]


def test_a_model_that_gives_up_fails_the_sample_even_if_the_framework_goes_on(make) -> None:
    async def solve(sample: Any, tools: AgentTools) -> Choice:
        async with client(await tools.endpoint()) as api:
            with pytest.raises(openai.APIError):
                await api.chat.completions.create(model="main", messages=turn())
        return Choice(label=1)

    with pytest.raises(KeyError):
        solved(make, solve, KeyError("given up"))


@pytest.fixture
def proxied(make, monkeypatch, cli):
    """Starts the endpoint for a program of its own, which runs in a thread; gives what the command prints."""
    make.release(make.notes(2, 2))

    def run(program: Callable[[Any], object], *words: str, code: int = 0) -> str:
        threads: list[threading.Thread] = []

        def begin(_: object, server: Any) -> None:
            threads.append(threading.Thread(target=program, args=(server,)))
            threads[-1].start()

        monkeypatch.setattr(proxy_command, "_announce", begin)
        said = cli("proxy", "--edition", "2023Q2", "--task", "x-notes", *words, code=code)
        threads[-1].join()
        return said

    return run


def test_a_program_of_its_own_ends_as_a_run_that_can_be_resumed(
    chat, loopback, root: Path, monkeypatch, place: Path, proxied, cli
) -> None:
    for name in ("HELLOFRESH_PROXY_TOKEN", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "a-token-of-sixteen")
    chat.behave = lambda number, body: loopback.said("Yes." if "Note 4001:" in str(body) else "No.")

    def program(server: Any) -> None:
        monkeypatch.setenv("HELLOFRESH_PROXY", server.origin)
        runpy.run_path(str(root / "docs/examples/proxy_program.py"))

    kept = []
    for _ in range(2):
        proxied(program, "--model", "openai:m", "--base-url", chat.base_url, "--name", "My program", "--json")
        said = json.loads(cli.out)
        kept.append({path.name: path.read_bytes() for path in Path(said["folder"]).glob("*.jsonl")})
    assert (said["judged"], said["tally"]["recalled"], len(chat.bodies)) == (12, 12, 12) and kept[0] == kept[1]
    rows = {row["id"]: row["label"] for row in read_jsonl(Path(said["folder"]) / "predictions.jsonl")}
    assert rows == {key: int(key == "xn-4001") for key in rows} and len(rows) == 12
    assert "a-token" not in "".join(path.read_text() for path in Path(said["folder"]).glob("*.json*"))
    cli("runs", "resume", said["run_id"], code=2)


def test_waiting_is_for_threads(make) -> None:
    async def solve(sample: Any, tools: AgentTools) -> Choice:
        with fails_with("no-thread"):
            tools.wait(tools.ask("Is it so?"))
        said = await asyncio.to_thread(lambda: tools.wait(tools.ask("Is it so?")))
        return Choice(label=int(said == "yes"))

    outcome, world = solved(make, solve)
    assert [output.label for output in outcome.outputs] == [1] and len(world.asked) == 1


PRICED = ModelSpec("priced", "language-model", "A fake.", {}, price=Price(1e6, 1e6, "2026-01-01", "invented"))
"""A model that costs a dollar a token."""


def test_a_budget_ends_a_program_of_its_own_and_the_samples_that_wait(monkeypatch, place: Path, proxied) -> None:
    priced = catalogued(monkeypatch, FakeModel(PRICED))
    monkeypatch.setattr(proxy_command, "_DRAIN_S", 0.05)
    seen: list[Any] = []

    def ask(server: Any) -> None:
        with openai.OpenAI(base_url=f"{server.origin}/s/xn-4000/v1", api_key=server.token) as api:
            try:
                api.chat.completions.create(model="main", messages=turn())
            except openai.APIStatusError as error:
                seen.append(error.code)

    said = proxied(ask, "--model", "priced", "--name", "Spender", "--budget", "0.01", code=1)
    assert seen == ["given-up"] and not priced.asked and "budget-spent" in said


BAD_OUTPUTS = [({"label": 2}, "0 to 1"), ({"text": "x"}, "Response"), ({"label": True}, "label"), ({}, "one of")]


@pytest.mark.parametrize(("body", "says"), [*BAD_OUTPUTS, (["x"], "the whole")])
def test_an_output_that_the_task_does_not_take_is_refused(make, body: object, says: str) -> None:
    async def solve(sample: Any, tools: AgentTools) -> Choice:
        handed: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        session = AgentSession(tools, handed)
        with pytest.raises(UsageError) as caught:
            await session.hand_in(json.dumps(body).encode())
        assert says in str(caught.value)
        await session.hand_in(b'{"label": 1, "rationale": "because", "certainty": 0.7}')
        with pytest.raises(UsageError):
            await session.hand_in(b'{"label": 0}')
        return await handed

    outcome, _ = solved(make, solve)
    assert outcome.outputs[0] == Choice(prompt="manual", label=1, rationale="because", certainty=0.7)
