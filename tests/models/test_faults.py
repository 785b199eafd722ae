"""An endpoint that misbehaves brings the same named error from the own wire and from a client of OpenAI's SDK."""

from __future__ import annotations

import asyncio
import json
import time
import zlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import openai
import pytest

import hellofresh as hf
from hellofresh.core.errors import UsageError
from hellofresh.models import CallError, Message, Model, ModelSpec, Request
from hellofresh.models.catalogue import ModelContext, bring_client, open_model
from hellofresh.models.providers import MAX_BODY
from hellofresh.models.providers.chat import ChatModel
from hellofresh.models.tables import Abilities, Endpoint
from tests import loopback
from tests.conftest import Cli
from tests.fakes import fails_with
from tests.loopback import Reply, said

KEY = "sk-secret-0123456789"
REQUEST = Request((Message("user", ("Yes or no?",)),), max_tokens=15)


def packed(status: int = 200) -> Reply:
    packer = zlib.compressobj(1, wbits=31)
    body = b"".join(packer.compress(b" " * 10**6) for _ in range(300)) + packer.flush()
    return Reply(body, status, {"Content-Encoding": "gzip"})


def refusing(status: int, message: str, headers: dict[str, str] | None = None, **more: str) -> Reply:
    return Reply(json.dumps({"error": {"message": message, **more}}).encode(), status, headers or {})


def moved(place: str, status: int = 307) -> Reply:
    return Reply(b"", status, {"Location": f"{place}/chat/completions"})


@dataclass(frozen=True)
class Fault:
    """What an endpoint does, given the address of another host; the codes of the error; whether asking again helps."""

    reply: Callable[[str], Reply]
    codes: set[str]
    retryable: bool = True


PAGE = b"<!doctype html><title>Sign in</title>"
BAD, CUT = {"bad-reply"}, {"unreachable", "cut-off"}
FAULTS = {
    "reset before the body": Fault(lambda _: Reply(reset=True), CUT),
    "reset amid the body": Fault(lambda _: replace(said("Yes"), reset=True, cut_at=20), CUT),
    "closed amid the body": Fault(lambda _: replace(said("Yes"), cut_at=20), {"cut-off"}),
    "closed before the body": Fault(lambda _: replace(said("Yes"), cut_at=0), {"cut-off"}),
    "stalled": Fault(lambda _: Reply(delay_s=100), {"timeout"}),
    "a byte now and then": Fault(lambda _: replace(said("Yes" * 99), trickle_s=0.02), {"timeout"}),
    "another host": Fault(moved, {"redirect"}, False),
    "another place, by GET": Fault(lambda place: moved(place, 302), {"redirect"}, False),
    "no choices": Fault(lambda _: Reply(b'{"choices": []}'), BAD),
    "an error within 200": Fault(lambda _: refusing(200, "gone", code="busy"), {"call-failed"}),
    "HTML": Fault(lambda _: Reply(PAGE, 200, {"Content-Type": "text/html"}), BAD),
    "a bomb": Fault(lambda _: packed(), BAD),
    "a bomb beside an error": Fault(lambda _: packed(500), BAD),
    "an endless reply": Fault(lambda _: Reply(b" " * (3 * MAX_BODY)), BAD),
    "an event stream": Fault(lambda _: Reply(b'data: {"choices": []}\n\n'), BAD),
    "deep": Fault(lambda _: Reply(b"[" * 100_000), BAD),
    "a broken server": Fault(lambda _: refusing(500, "oops"), {"call-failed"}),
    "too fast": Fault(lambda _: refusing(429, "slow down", {"Retry-After": "7"}), {"rate-limit"}),
    "a wrong key": Fault(lambda _: refusing(401, f"wrong key {KEY}"), {"not-authorised"}, False),
    "no credit": Fault(lambda _: refusing(429, "none", code="insufficient_quota"), {"quota-spent"}, False),
    "too long": Fault(lambda _: refusing(400, "x", code="context_length_exceeded"), {"context-length"}, False),
}


def sdk(chat: Any, **options: Any) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(api_key=KEY, base_url=chat.base_url, **options)


def wire(kind: str, chat: Any, timeout_s: float = 10.0) -> Model:
    if kind == "own":
        spec = ModelSpec("m", "language-model", "A model.", {})
        return ChatModel(spec, Endpoint(chat.base_url, "m-1", KEY, timeout_s=timeout_s), Abilities())
    model: Any = open_model(bring_client(sdk(chat), "m-1"), ModelContext("", list))
    model._timeout_s = model._client._timeout_s = timeout_s
    return model  # type: ignore[no-any-return]


def once(model: Model) -> Any:
    async def asked() -> Any:
        try:
            return await model.ask(REQUEST)
        finally:
            await model.close()

    return asyncio.run(asked())


@pytest.mark.parametrize("kind", ["own", "sdk"])
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_a_named_error_after_one_attempt(chat: Any, kind: str, name: str) -> None:
    fault, other = FAULTS[name], loopback.Chat()
    with closing(other):
        reply = fault.reply(other.base_url)
        chat.behave = lambda _n, _body: reply
        start = time.monotonic()
        with pytest.raises(CallError) as caught:
            once(wire(kind, chat, 0.5 if fault.codes == {"timeout"} else 30.0))
        assert caught.value.code in fault.codes and caught.value.retryable is fault.retryable
        assert caught.value.retry_after_s == (7.0 if name == "too fast" else None)
        assert KEY not in str(caught.value)
        assert len(chat.bodies) == 1 and other.bodies == []
        assert time.monotonic() - start < 30


@pytest.fixture
def notes(make: Any, place: Path) -> hf.LoadedEdition:
    make.release(make.notes(2, 2, months=(4,)))
    return hf.load("2023Q2", "x-notes")


def test_a_client_that_was_brought_is_evaluated_and_its_key_is_in_no_file(
    chat: Any, notes: hf.LoadedEdition, cli: Cli
) -> None:
    azure = openai.AsyncAzureOpenAI(api_key=KEY, azure_endpoint=chat.base_url, api_version="2024-10-21")
    how: dict[str, Any] = {"name": "gpt-4o", "prompts": "manual", "progress": False}
    run = hf.evaluate(notes, azure, limit=2, **how)
    assert run.report.judged == 2 and "openai-sdk-gpt-4o" in run.folder.name
    assert hf.evaluate(notes, azure, limit=4, **how).report.judged == 4  # in another event loop, with the same client
    assert set(chat.paths) == {"/v1/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"}
    assert len(chat.bodies) == 4 and {headers["api-key"] for headers in chat.headers} == {KEY}
    assert not [path for path in run.folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    for model, more in (("coin", "x"), (azure, None), (azure, "a b"), (openai.OpenAI(api_key=KEY), "gpt-4o"), (7, "m")):
        with pytest.raises(UsageError):
            hf.evaluate(notes, model, **{**how, "name": more})
    plain = openai.AsyncOpenAI(api_key=KEY, base_url="http://llm.example/v1")
    with fails_with("bad-endpoint"):
        hf.evaluate(notes, plain, **how)


SIGNING = """
import httpx2
import openai


class Signed(httpx2.Auth):
    def auth_flow(self, request):
        request.headers["X-Signature"] = "signature-of-" + str(len(request.content))
        yield request


def client():
    return openai.AsyncOpenAI(
        api_key="{key}", base_url="{base_url}", http_client=httpx2.AsyncClient(auth=Signed(), follow_redirects=True)
    )


def no_token():
    async def token():
        raise RuntimeError("{key}")

    return openai.AsyncAzureOpenAI(
        azure_ad_token_provider=token, azure_endpoint="{base_url}", api_version="2024-10-21"
    )


def broken():
    raise KeyError("LAB_KEY")
"""


def test_a_table_names_who_makes_the_client_which_signs_and_fails_in_its_own_way(
    chat: Any, notes: hf.LoadedEdition, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.secrets.add(KEY)
    Path("lab.py").write_text(SIGNING.format(key=KEY, base_url=chat.base_url))
    table = '[models.{0}]\nkind = "openai-sdk"\nmodel = "m"\nclient = "{1}"\n'
    places = {"lab": "lab.py:client", "entra": "lab.py:no_token", "broken": "lab.py:broken"}
    places["env"] = "openai:AsyncOpenAI"
    Path("hellofresh.toml").write_text("".join(table.format(*item) for item in places.items()))
    chat.behave = lambda _n, _body: said(f"Yes, says {chat.headers[-1].get('x-signature')}")
    assert cli.json("models", "lab", "--check")["answer"] == "Yes, says [key]"
    assert chat.headers[-1]["x-signature"].startswith("signature-of-")
    asked = len(chat.bodies)
    assert "client-failed" in cli("models", "entra", "--check", code=1)
    assert "KeyError" in cli("models", "broken", "--check", code=2)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert "no-client" in cli("models", "env", "--check", code=2)
    assert len(chat.bodies) == asked
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", chat.base_url)
    assert cli.json("models", "env", "--check")["served_by"] == "m-2026-01-01"
