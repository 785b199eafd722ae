"""What `hellofresh models` and `evaluate` show is true, and never a key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hellofresh.cli.arguments import all_nouns, table_of
from hellofresh.core.clock import now
from hellofresh.core.errors import ReleaseError
from hellofresh.core.quarters import Quarter
from hellofresh.models.catalogue import hosted_models
from hellofresh.releases.life.state import reveal
from hellofresh.results.split.tables import SCORES
from hellofresh.runs.regimes import usual_regime
from hellofresh.tasks import TASKS, get_task
from tests import loopback
from tests.conftest import Cli

KEY = "sk-secret-123"
TABLES = """
[providers.lab]
kind = "openai-compatible"
base_url = "{base_url}"
key_variable = "LAB_KEY"

[models.lab-model]
provider = "lab"
model = "m"
knowledge_cutoff = 2026-01-31
price = {{ tokens_in = 1, tokens_out = 10, as_of = 2026-10-14, source = "a test" }}
abilities = {{ temperature = false, token_parameter = "max_completion_tokens", hidden_tokens = 100 }}

[models.unpriced]
provider = "lab"
model = "u"
"""


@pytest.fixture(autouse=True)
def elsewhere(place: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    """A folder and a workspace of one's own, and a key that nobody sees."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("LAB_KEY", KEY)
    cli.secrets.add(KEY)


@pytest.fixture
def chat() -> Iterator[Any]:
    """A model on the loopback, configured as lab-model."""
    server = loopback.Chat()
    Path("hellofresh.toml").write_text(TABLES.format(base_url=server.base_url))
    yield server
    server.close()


@pytest.fixture
def notes(make: Any) -> None:
    make.release(make.notes(2, 2, months=(4,)))


def test_the_list_says_what_is_known_and_what_is_not(chat: Any, cli: Cli) -> None:
    rows = {row["name"]: row for row in cli.json("models")}
    assert rows["lab-model"]["price"]["as_of"] == "2026-10-14"
    assert (rows["lab-model"]["knowledge_cutoff"], rows["lab-model"]["has_key"]) == ("2026-01-31", True)
    assert (rows["unpriced"]["price"], rows["unpriced"]["free"]) == (None, False)
    assert rows["gpt-4.1-mini"]["has_key"] is False
    cli("models")
    lines = {line.split()[0]: line for line in cli.out.splitlines() if line}
    assert "unknown" in lines["unpriced"] and "yes" in lines["lab-model"]
    assert "needs OPENAI_API_KEY" in lines["gpt-4.1-mini"]
    assert not chat.bodies


def test_a_check_asks_once_and_shows_all(chat: Any, cli: Cli) -> None:
    facts = cli.json("models", "lab-model", "--check", "Is it?")
    assert [body["messages"] for body in chat.bodies] == [[{"role": "user", "content": "Is it?"}]]
    assert chat.bodies[0]["max_completion_tokens"] == 115
    assert facts["answer"] == "Yes." and facts["finish"] == "stop"
    assert facts["cost_usd"] == pytest.approx((10 * 1 + 2 * 10) / 1e6)
    assert facts["parameters_sent"] == ["max_completion_tokens", "seed"]
    assert facts["parameters_dropped"] == ["temperature"]


def test_options_of_models_are_sent_and_tell_runs_and_rows_apart_and_so_is_another_model_that_answered(
    chat: Any, notes: None, cli: Cli, make: Any
) -> None:
    settings, high = Path("hellofresh.toml"), '{ reasoning_effort = "high", response_format = { type = "text" } }'
    settings.write_text(settings.read_text() + f"options = {high}\n")
    command = ("evaluate", "--quarter", "2023Q2", "--task", "x-notes", "--model", "unpriced", "--prompts", "manual")
    cli(*command)
    (line,) = [line for line in cli.err.splitlines() if "another model" in line]
    assert line.endswith("unpriced was asked, but the answers name another model: m-2026-01-01")
    sent = {"reasoning_effort": "high", "response_format": {"type": "text"}}
    assert [body | sent for body in chat.bodies] == chat.bodies and len(chat.bodies) == 4
    settings.write_text(settings.read_text().replace('"high"', '"low"').replace('model = "u"', 'model = "m"'))
    cli(*command)
    assert "another model" not in cli.err and len(chat.bodies) == 8 and chat.bodies[-1]["reasoning_effort"] == "low"
    records = [json.loads(path.read_text()) for path in Path("data/runs").glob("*/run.json")]
    assert [record["usage"]["main"]["served_by"] for record in records] == [["m-2026-01-01"]] * 2
    assert reveal(make.workspace(), Quarter(2023, 2), get_task("x-notes"), now())
    cli("score", "--quarter", "2023Q2")
    rows = SCORES.read(next(Path("data/scores").glob("*.parquet"))).filter(pl.col("system") == "unpriced")
    assert {row["settings"] for row in rows.to_dicts()} == {
        f'reasoning_effort={effort}, response_format={{"type": "text"}}' for effort in ("low", "high")
    }


def test_an_unknown_price_is_shown_as_an_unknown_cost(chat: Any, cli: Cli) -> None:
    cli("models", "unpriced", "--check")
    (line,) = [line for line in cli.out.splitlines() if line.startswith("cost")]
    assert line.split()[-1] == "unknown"


def test_a_check_that_fails_says_why(chat: Any, cli: Cli) -> None:
    reply = loopback.Reply
    chat.behave = lambda _n, _body: reply(json.dumps({"error": {"message": f"bad key {KEY}"}}).encode(), 401)
    text = cli("models", "lab-model", "--check", code=1)
    assert "Check the key." in text and "not-authorised" in text


@pytest.mark.parametrize(
    ("name", "words"), [("gpt-4.1-mini", "OPENAI_API_KEY"), ("coin", "baseline"), ("lab-modell", "lab-model")]
)
def test_what_cannot_be_checked_is_refused(chat: Any, cli: Cli, name: str, words: str) -> None:
    assert words in cli("models", name, "--check", code=2)
    assert not chat.bodies


EVALUATE = ("evaluate", "--quarter", "2023Q2", "--task", "x-notes", "--model", "lab-model")


def test_an_endpoint_is_evaluated_without_a_table_and_says_how_many_requests_are_in_flight(
    chat: Any, notes: None, cli: Cli
) -> None:
    Path("hellofresh.toml").unlink()
    arguments = ("evaluate", "--quarter", "2023Q2", "--task", "x-notes", "--prompts", "manual")
    said = cli(*arguments, "--model", "openai:m/1", "--base-url", chat.base_url)
    assert "up to 8 requests to openai:m/1 are in flight at once" in said
    assert len(chat.bodies) == 4 and {body["model"] for body in chat.bodies} == {"m/1"}
    (run,) = cli.json("runs", "show")
    assert ":" not in run["run"] and "/" not in run["run"]
    assert cli.json("runs", "resume", run["run"])["judged"] == 4
    assert len(chat.bodies) == 4
    assert "no-endpoint-model" in cli(*arguments, "--model", "coin", "--base-url", chat.base_url, code=2)


# Commands whose models are named for readers, or are weights on this machine.
_NO_ENDPOINT = {"submission new", "train"}


def test_every_command_that_asks_a_model_takes_the_address_of_an_endpoint(chat: Any, notes: None, cli: Cli) -> None:
    commands = [one for item in all_nouns().items() for one in table_of(*item)]
    flags = {one.name: {flag for option in one.options for flag in option.names} for one in commands}
    asking = {name for name, own in flags.items() if own & {"--model", "--models", "--rephrase"}} | {"models"}
    asking = {name for name in asking if not name.startswith(tuple(_NO_ENDPOINT))}
    assert {"evaluate", "respond", "proxy", "judge", "prompts", "release run"} < asking
    assert all("--base-url" in flags[name] for name in asking)
    at, split = ("--base-url", chat.base_url), ("--quarter", "2023Q2", "--task", "x-notes", "--prompts", "manual")
    cli("evaluate", *split, "--model", "openai:m", *at)
    assert len(chat.bodies) == 4
    roles = ("--regime", "web-search", "--provider", "offline", "--role", "summariser=openai/s")
    cli("evaluate", *split, "--model", "scripted", *roles, "--limit", "1", *at, "--dry-run")
    assert "no-endpoint-model" in cli("respond", "--text", "A post.", *at, code=2)
    assert "no-rephrasing" in cli("prompts", "x-notes", "--rephrase", "openai/m", "--out", "own.toml", *at, code=1)
    assert len(chat.bodies) == 8


def test_an_address_without_a_scheme_is_completed_on_this_machine_and_refused_elsewhere(
    chat: Any, notes: None, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    Path("hellofresh.toml").unlink()
    arguments = ("evaluate", "--quarter", "2023Q2", "--task", "x-notes", "--prompts", "manual", "--limit", "2")
    bare = chat.base_url.removeprefix("http://")
    for model, more in (
        ("openai:m", ("--base-url", "models.example.org/v1")),
        (f"openai:m@{bare}", ()),
        ("openai:models.example.org:8471/v1", ()),
    ):
        said = cli(*arguments, "--model", model, *more, code=2)
        assert "bad-endpoint" in said and "without http:// or https://" in said and "sk-secret" not in said
    assert chat.bodies == []
    cli(*arguments, "--model", "openai:m", "--base-url", bare)
    assert len(chat.bodies) == 2 and {body["model"] for body in chat.bodies} == {"m"}


def test_one_command_in_an_empty_folder_gives_a_first_result(
    chat: Any, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("hellofresh.toml").unlink()
    command = ("evaluate", "--model", "openai:qwen3", "--base-url", chat.base_url, "--limit", "20")
    assert "dry run builds nothing" in cli(*command, "--dry-run", code=2)
    cli(*command)
    said = [line for line in cli.err.splitlines() if "x-notes" not in line or "bundled" in line]
    assert said[0].startswith("x-notes 2026Q2: the bundled sample")
    assert said[1] == f"note: openai:qwen3: asked at {chat.base_url.split('/')[2]}"
    table = cli.out.split("F1 beside the baselines and others")[1].splitlines()
    assert [line.split()[0] for line in table[2:5]] == ["openai:qwen3", "always-yes", "coin"]
    assert all("[" in line for line in table[2:5])
    lines = [line.split(":")[0] for line in table if not line.startswith(" ")]
    assert sorted(lines[-5:-3]) == ["right", "wrong"] and lines[-3:] == ["next"] * 3
    parts = [line.split(":")[0].strip() for line in table if line.startswith("  ") and ":" in line]
    assert parts == ["post", "note", "people decided"] * 2
    assert "note: 20 of 86 samples: not comparable with the board; others are scored on the same samples." in cli.err
    asked = len(chat.bodies)
    again = cli(*command)  # the same run goes on, on the edition that is there now
    assert "x-notes 2026Q2: the newest with public labels in" in again and len(chat.bodies) == asked
    assert cli.json("models", "openai:qwen3", "--check", "--base-url", chat.base_url)["answer"] == "Yes."
    assert "no-release" in cli(*command, "--task", "liar-new", code=2)
    monkeypatch.setenv("OPENAI_BASE_URL", chat.base_url)
    cli("evaluate", "--model", "openai:qwen3", "--limit", "20")
    assert len(chat.bodies) == asked + 1


def test_the_address_of_the_environment_holds_for_every_model_of_openai_and_for_no_other(
    chat: Any, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other")
    monkeypatch.setenv("OPENAI_BASE_URL", chat.base_url)
    assert cli.json("models", "gpt-4.1-mini", "--check")["answer"] == "Yes." and len(chat.bodies) == 1
    places = {name: model.service.base_url for name, model in hosted_models().items() if model.provider != "lab"}
    assert {name for name, url in places.items() if url == chat.base_url} == {
        name for name, model in hosted_models().items() if model.provider in ("openai", "openai-responses")
    }
    monkeypatch.setenv("OPENAI_BASE_URL", "models.example.org/v1")
    said = cli("models", "gpt-4.1-mini", "--check", code=2)
    assert "OPENAI_BASE_URL" in said and "bad-endpoint" in said


def test_looking_ahead_needs_no_key(chat: Any, notes: None, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    with_key = cli.json(*EVALUATE, "--dry-run")
    monkeypatch.delenv("LAB_KEY")
    assert cli.json(*EVALUATE, "--dry-run") == with_key
    assert "missing-key" in cli(*EVALUATE, code=2)
    assert cli.json("runs", "show") == []
    assert not chat.bodies


def test_a_run_that_goes_to_the_board_names_stale_analyses_and_the_folder_of_submissions(
    notes: None, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("evaluate", "--edition", "2023Q2", "--task", "x-notes", "--model", "always-yes", "--board")
    assert "analyses" not in cli(*command)
    Path("data/analyses/2023Q2/x-notes").mkdir(parents=True)
    assert "hellofresh analyse all --edition 2023Q2" in cli(*command)

    def refusing(*_: object, **__: object) -> None:
        raise ReleaseError("the published predictions are final: hellofresh/simple-rules would go", code="published")

    monkeypatch.setattr("hellofresh.pipeline.steps.score", refusing)
    said = cli(*command, code=1)
    assert "simple-rules would go" in said and "submissions: " in said and "--submissions DIR" in said


def test_a_task_with_one_regime_takes_it(notes: None, cli: Cli) -> None:
    regimes = {name: usual_regime(task) for name, task in TASKS.items()}
    assert (regimes["x-notes"], regimes["corrections"], regimes["scifact-retrieval"]) == (
        "zero-shot",
        "correction",
        "retrieve",
    )
