"""The catalogue says only what it means, and keys are in nothing that is printed or kept."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from hellofresh.core.errors import ConfigError, UnknownNameError
from hellofresh.models import Answer, Finish, Limits, Message, Request
from hellofresh.models.catalogue import (
    HostedTables,
    ModelContext,
    endpoint_model,
    hosted_models,
    known_models,
    open_model,
)
from hellofresh.models.providers.chat import ChatModel
from hellofresh.models.tables import Abilities, Endpoint
from hellofresh.runs.ledger import Ledger
from hellofresh.runs.pace import TokenEstimate
from tests.fakes import fails_with
from tests.models.conftest import SPEC, chat_reply, closed, says

KEY = "sk-secret-123"
CONTEXT = ModelContext("x-notes", list)
OWN = '[models.mine]\nprovider = "ollama"\nmodel = "llama3.2"\n'


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HELLOFRESH_CONFIG", raising=False)
    for variable in {entry.key_variable for entry in known_models().values()} - {None}:
        monkeypatch.delenv(str(variable), raising=False)


def configured(text: str) -> None:
    Path("hellofresh.toml").write_text(text, encoding="utf-8")


def test_every_price_and_cutoff_of_the_project_says_where_it_is_from() -> None:
    for hosted in hosted_models().values():
        price, cutoff = hosted.price, hosted.table.knowledge_cutoff
        assert price is None or (price.source.startswith("genai-prices ") and date.fromisoformat(price.as_of))
        assert price is None or 0 < price.tokens_in <= price.tokens_out
        assert isinstance(cutoff, date) == bool(hosted.table.cutoff_source)
        assert hosted.service.base_url.startswith("https://")
        assert not hosted.free
    assert hosted_models()["llama-3.3-70b-openrouter"].spec.price is None  # an unknown sum, and not nothing


def test_a_price_is_the_tables_else_that_of_the_list_with_what_caches_cost() -> None:
    listed = hosted_models()["claude-haiku-4.5"].price
    assert listed is not None
    assert (listed.tokens_in, listed.tokens_out, listed.cached_in, listed.cache_writes) == (1.0, 5.0, 0.1, 1.25)
    # 1,000 tokens of which 600 were read from the cache and 100 written to it, and 10 of the answer.
    assert listed.usd(1000, 10, 600, 100) == pytest.approx((300 * 1 + 600 * 0.1 + 100 * 1.25 + 10 * 5) / 1e6)
    assert listed.usd(1000, 10) == pytest.approx((1000 + 50) / 1e6)
    table = 'price = { tokens_in = 3, tokens_out = 4, cached_in = 0.5, as_of = 2026-01-01, source = "mine" }\n'
    configured('[models.mine]\nprovider = "openai"\nmodel = "gpt-4.1-mini"\n' + table)
    own = hosted_models()["mine"].price
    assert own is not None and (own.usd(2, 1, 1), own.source) == ((3 + 0.5 + 4) / 1e6, "mine")
    configured('[models.mine]\nprovider = "openai"\nmodel = "no-such-model"\n')
    assert hosted_models()["mine"].price is None


def test_a_long_prompt_is_paid_at_its_own_price() -> None:
    price = hosted_models()["claude-haiku-5.5"].price
    assert price is not None and (price.long_from, price.long_in, price.long_out) == (100_000, 0.5, 2.5)
    ledger = Ledger(hosted_models()["claude-haiku-5.5"].spec)
    for tokens_in, paid in ((100_000, (100_000 * 0.1 + 10 * 0.5) / 1e6), (100_001, (100_001 * 0.5 + 10 * 2.5) / 1e6)):
        before = ledger.cost_usd or 0.0
        ledger.add(Answer("Yes", Finish.STOP, tokens_in, 10))
        assert ledger.cost_usd == pytest.approx(before + paid)
        assert ledger.most_usd(TokenEstimate(tokens_in, 10)) == pytest.approx(paid)


@pytest.mark.parametrize(
    ("name", "day", "end"),
    [
        ("gpt-4.1-nano", "2026-10-22", "is shut down by its maker on 2026-10-23"),
        ("gpt-4.1-nano", "2026-10-23", "was shut down by its maker on 2026-10-23"),
        ("gpt-5-mini", "2026-12-10", "is shut down by its maker on 2026-12-11"),
        ("gpt-5-mini", "2026-12-12", "was shut down by its maker on 2026-12-11"),
        ("gpt-6-luna", "2026-12-12", ""),
    ],
)
def test_a_retired_model_is_refused_where_its_maker_served_it_and_a_retiring_one_is_warned_of(
    monkeypatch: pytest.MonkeyPatch, name: str, day: str, end: str
) -> None:
    monkeypatch.setenv("HELLOFRESH_NOW", f"{day}T12:00:00Z")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    hosted = hosted_models()[name]
    assert (hosted.ends == "") == (end == "") and end in hosted.ends
    if end.startswith("was"):
        with fails_with("retired-model") as caught:
            open_model(name, CONTEXT)
        assert "gpt-6-luna" in str(caught.value)
    else:
        assert [note for note in open_model(name, CONTEXT).spec.notes if note] == ([hosted.ends] if end else [])
    configured('[providers.openai]\nkind = "openai-compatible"\nbase_url = "http://127.0.0.1:9/v1"\n')
    assert hosted_models()[name].ends == "" and open_model(name, CONTEXT).spec.name == name, "others may serve it"


@pytest.mark.parametrize("key", ["1", "no", "token", "EMPTY"])
def test_a_placeholder_for_a_key_changes_no_reply_and_is_said(chat, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    text = f"no, 1 {key} and 10 tokens"
    says(chat, chat_reply(content=text))
    model = ChatModel(SPEC, Endpoint(chat.base_url, "m", key), Abilities())
    answer = closed(model, lambda: model.ask(Request((Message("user", ("?",)),), 15)))
    assert (answer.text, answer.tokens_in) == (text, 5)
    monkeypatch.setenv("OPENAI_API_KEY", key)
    (note,) = hosted_models()["gpt-6-luna"].spec.notes
    assert f"has {len(key)} characters: taken as a placeholder" in note


@pytest.mark.parametrize("escaped", [False, True])
def test_a_key_that_a_reply_repeats_is_hidden_in_every_string_of_it(chat, escaped: bool) -> None:
    key = 'a-"key"-of-the-user'
    body = json.dumps(chat_reply(content=f"Yes, {key}", more={"model": f"m {key}"}))
    says(chat, (body.replace("key", "\\u006bey") if escaped else body).encode())
    model = ChatModel(SPEC, Endpoint(chat.base_url, "m", key), Abilities())
    answer = closed(model, lambda: model.ask(Request((Message("user", ("?",)),), 15)))
    assert answer.text == "Yes, [key]" and key not in repr(answer)


def test_organisation_and_project_are_named_to_openai_and_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-1")
    said = {name: dict(hosted.endpoint(keyless=True).headers) for name, hosted in hosted_models().items()}
    assert said["gpt-4.1-mini"] == {"OpenAI-Organization": "org-1", "OpenAI-Project": "proj-1"}
    for hosted in (endpoint_model("openai:m@https://other.example/v1"), hosted_models()["ministral-8b"]):
        assert hosted.endpoint(keyless=True).headers == {}
    assert endpoint_model("openai:m").endpoint(keyless=True).headers["OpenAI-Project"] == "proj-1"


def test_reasoning_models_leave_room_for_what_is_visible() -> None:
    reasoning = [hosted for hosted in hosted_models().values() if not hosted.abilities.temperature]
    assert len(reasoning) >= 3
    for hosted in reasoning:
        assert hosted.abilities.hidden_tokens >= 1024
        assert "temperature" in str(hosted.spec.parameters["dropped"])


@pytest.mark.parametrize("extra", [True, False])
def test_what_is_sent_and_dropped_stands_in_the_parameters(extra: bool) -> None:
    abilities = Abilities(temperature=extra, seed=not extra)
    sent, dropped = abilities.sent_parameters.split(","), abilities.dropped.split(",")
    assert sorted([*sent, *dropped]) == ["max_tokens", "seed", "temperature"]


def test_a_provider_of_ones_own_and_limits_by_model() -> None:
    configured(
        '[providers.lab]\nkind = "openai-compatible"\nbase_url = "http://127.0.0.1:9/v1/"\nfree = true\n'
        "limits = { in_flight = 9, requests_per_minute = 30 }\n"
        '[models.mine]\nprovider = "lab"\nmodel = "m"\nknowledge_cutoff = 2026-01-31\nlimits = { in_flight = 3 }\n'
        "abilities = { logprobs = true, system_messages = false }\n"
    )
    spec = hosted_models()["mine"].spec
    assert spec.limits == Limits(3, 30)
    assert (spec.parameters["base_url"], spec.knowledge_cutoff) == ("http://127.0.0.1:9/v1", "2026-01-31")


def test_ones_own_table_takes_the_place_of_the_projects() -> None:
    configured('[models."gpt-4.1-mini"]\nprovider = "ollama"\nmodel = "other"\n')
    assert hosted_models()["gpt-4.1-mini"].provider == "ollama"
    assert hosted_models(HostedTables())["gpt-4.1-mini"].provider == "openai"


def test_the_tables_that_the_documentation_shows_are_good(root: Path) -> None:
    section = (root / "docs/models.md").read_text(encoding="utf-8")
    configured(section.split("```toml\n", 1)[1].split("```", 1)[0])
    known = hosted_models()
    assert known["my-llama"].free and known["my-llama"].spec.knowledge_cutoff == "2023-12-31"
    assert known["big-one"].spec.limits == Limits(50, 500, 200_000)


PRICE = 'price = {{ tokens_in = {}, tokens_out = 1, as_of = 2026-01-01, source = "x"{} }}\n'
MINE, LAB = '[models.mine]\nprovider = "{}"\n', '[providers.lab]\nkind = "{}"\nbase_url = "{}"\n'
BAD = {
    "unknown provider": (MINE.format("olama") + 'model = "m"\n', "olama"),
    "name of a baseline": ('[models.coin]\nprovider = "ollama"\nmodel = "m"\n', "models.coin"),
    "name that is a path": ('[models."../x"]\nprovider = "ollama"\nmodel = "m"\n', "pattern"),
    "name in capitals": ('[models.Mine]\nprovider = "ollama"\nmodel = "m"\n', "pattern"),
    "unknown key": (OWN + "temprature = false\n", "models.mine.temprature"),
    "no model": (MINE.format("ollama"), "models.mine.model"),
    "line break in the id": (MINE.format("ollama") + 'model = "a\\nb"\n', "models.mine.model"),
    "cutoff as text": (OWN + 'knowledge_cutoff = "2026-01-01"\n', "knowledge_cutoff"),
    "cutoff with a time": (OWN + "knowledge_cutoff = 2026-01-01T00:00:00Z\n", "knowledge_cutoff"),
    "price without a source": (OWN + "price = { tokens_in = 1, tokens_out = 1, as_of = 2026-01-01 }\n", "price.source"),
    "price without a day": (OWN + 'price = { tokens_in = 1, tokens_out = 1, source = "x" }\n', "price.as_of"),
    "negative price": (OWN + PRICE.format(-1, ""), "price.tokens_in"),
    "endless price": (OWN + PRICE.format("inf", ""), "price.tokens_in"),
    "true for a price": (OWN + PRICE.format("true", ""), "price.tokens_in"),
    "free and a price": (OWN + "free = true\n" + PRICE.format(1, ""), "exclude each other"),
    "no questions at once": (OWN + "limits = { in_flight = 0 }\n", "in_flight"),
    "seed at anthropic": (MINE.format("anthropic") + 'model = "m"\nabilities = { seed = true }\n', "mine.abilities"),
    "token parameter at gemini": (
        MINE.format("gemini") + 'model = "m"\nabilities = { token_parameter = "max_completion_tokens" }\n',
        "models.mine.abilities",
    ),
    "neither provider nor kind": ('[models.mine]\nmodel = "m"\n', "needs provider, or kind"),
    "provider and kind": (OWN + 'kind = "openai-sdk"\n', "not both"),
    "client of the own wire": (OWN + 'client = "a.py:b"\n', "client is for kind"),
    "client of any package": ('[models.mine]\nkind = "openai-sdk"\nmodel = "m"\nclient = "os:system"\n', "client"),
    "option that the run sets": (OWN + "options = { temperature = 1.0 }\n", "'temperature' is set by the run"),
    "option for the question": (OWN + "options = { messages = [] }\n", "'messages' is set by the run"),
    "option that is no JSON": (OWN + "options = { a = 2026-01-01 }\n", "models.mine.options.a"),
    "endless option": (OWN + "options = { a = [inf] }\n", "finite"),
    "huge option": (OWN + f'options = {{ a = "{"x" * 10_000}" }}\n', "10,000"),
    "unknown kind": (LAB.format("openai", "http://127.0.0.1/v1"), "providers.lab.kind"),
    "key in the address": (LAB.format("gemini", "https://u:sk-secret-123@example.org"), "base_url"),
    "query in the address": (LAB.format("gemini", "https://e.org/?k=v"), "base_url"),
    "space in the address": (LAB.format("gemini", "http://a b/"), "base_url"),
    "no host in the address": (LAB.format("gemini", "http://"), "base_url"),
    "no scheme in the address": (LAB.format("gemini", "e.org/v1"), "base_url"),
    "a file for an address": (LAB.format("gemini", "file:///etc"), "base_url"),
    "key over plain http": (LAB.format("gemini", "http://example.org") + 'key_variable = "K"\n', "https"),
    "key for a variable": (LAB.format("gemini", "https://e.org") + 'key_variable = "sk-secret-123"\n', "key_variable"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_faulty_table_is_refused_with_its_place(name: str) -> None:
    content, words = BAD[name]
    configured(content)
    with pytest.raises(ConfigError) as caught:
        known_models()
    assert words in str(caught.value)
    assert KEY not in str(caught.value)


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"Did you mean 'gpt-4\.1-mini'\?"):
        open_model("gpt-4.1-mni", CONTEXT)


NAMED = {
    "openai:gpt-4.1-mini": ("openai:gpt-4.1-mini", "openai-compatible", True),
    "openai/gpt-4o": ("openai:gpt-4o", "openai-compatible", True),
    "openai/org/m@http://127.0.0.1:9/v1": ("openai:org/m", "openai-compatible", False),
    "anthropic/claude-haiku-4-5": ("anthropic:claude-haiku-4-5", "anthropic", True),
    "gemini:gemini-2.5-flash": ("gemini:gemini-2.5-flash", "gemini", True),
    "openrouter/meta-llama/llama-3": ("openrouter:meta-llama/llama-3", "openai-compatible", False),
}


@pytest.mark.parametrize("name", NAMED)
def test_a_model_is_named_by_its_provider_and_id_and_tables_know_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"):
        monkeypatch.setenv(variable, KEY)
    spec = open_model(name, CONTEXT).spec
    assert (spec.name, spec.parameters["speaks"], spec.price is not None) == NAMED[name]
    known = hosted_models()["gpt-4.1-mini"].spec
    assert (spec.knowledge_cutoff == known.knowledge_cutoff) == (name == "openai:gpt-4.1-mini")


def test_an_id_alone_is_answered_with_its_whole_name_where_the_key_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    for model, variable, provider in (
        ("gpt-9", "OPENAI_API_KEY", "openai"),
        ("claude-opus-9", "ANTHROPIC_API_KEY", "anthropic"),
        ("gemini-9", "GEMINI_API_KEY", "gemini"),
    ):
        for key, words in (
            (None, f"with the key in {variable}: --model {provider}:{model}"),
            (KEY, f"key in {variable} is set"),
        ):
            if key:
                monkeypatch.setenv(variable, key)
            with pytest.raises(UnknownNameError, match=re.escape(words)):
                open_model(model, CONTEXT)


@pytest.mark.parametrize("name", ["gpt-4.1-mini", "gemini-2.5-flash-lite", "claude-haiku-4.5"])
def test_a_missing_key_is_named_by_its_variable(name: str, monkeypatch) -> None:
    variable = known_models()[name].key_variable
    assert variable is not None
    for value in (None, "", "  "):
        if value is not None:
            monkeypatch.setenv(variable, value)
        with fails_with("missing-key", match=variable):
            open_model(name, CONTEXT)


@pytest.mark.parametrize("key", [f"{KEY}\nX-Evil: 1", f"{KEY} x", f"{KEY}é"])
def test_a_key_that_cannot_be_one_is_refused_without_being_shown(key: str, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with fails_with("bad-key") as caught:
        open_model("gpt-4.1-mini", CONTEXT)
    assert KEY not in str(caught.value)


def test_a_key_is_in_no_representation_and_no_parameter(monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    hosted = hosted_models()["gpt-4.1-mini"]
    endpoint = hosted.endpoint()
    assert endpoint.key == KEY
    shown = (endpoint, replace(endpoint, model="m"), hosted, hosted.spec, hosted.open())
    assert not any(KEY in repr(item) or KEY in str(item) for item in shown)
    assert KEY not in repr(Endpoint("http://x", "m", headers={"X": KEY}))


def test_a_known_provider_at_another_address_keeps_its_prices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "hellofresh.toml"
    path.write_text("")
    monkeypatch.setenv("HELLOFRESH_CONFIG", str(path))
    listed = known_models()["gpt-4.1-mini"].price
    table = '[providers.openai]\nkind = "openai-compatible"\nbase_url = "http://127.0.0.1:9/v1"\n'
    path.write_text(table)
    assert listed is not None and known_models()["gpt-4.1-mini"].price == listed
    path.write_text(f"{table}free = true\n")
    assert known_models()["gpt-4.1-mini"].price is None


def test_an_endpoint_needs_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    model = open_model("openai:Qwen/Qwen3-8B@http://127.0.0.1:8000/v1/", CONTEXT)
    assert isinstance(model, ChatModel)
    assert (model.spec.name, model.spec.limits, model.spec.free) == ("openai:Qwen/Qwen3-8B", Limits(8), False)
    assert model.spec.parameters["base_url"] == "http://127.0.0.1:8000/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert open_model("openai:m", CONTEXT).spec.parameters["base_url"] == "http://127.0.0.1:9/v1"
    for wrong in ("openai:", "openai:m@http://user:word@127.0.0.1/v1", "openai:a b"):
        with fails_with("bad-endpoint"):
            open_model(wrong, CONTEXT)


def test_a_key_is_sent_to_an_endpoint_only_where_nobody_can_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for host, sent in (("https://llm.example", KEY), ("http://127.0.0.1:8000", KEY), ("http://llm.example", None)):
        assert endpoint_model(f"openai:m@{host}/v1").endpoint().key == sent
