"""An agent in a file of one's own runs like a regime: kept, bounded, and the same whatever answers first."""

from __future__ import annotations

import json
from itertools import cycle
from pathlib import Path

import pytest

import hellofresh as hf
from hellofresh.core.errors import UsageError
from hellofresh.models import Answer, CallError, Finish, Request
from hellofresh.runs.plan import read_plan
from hellofresh.runs.prompts import load_prompt_set
from hellofresh.runs.record import read_record
from hellofresh.runs.regimes import Need, Regime, get_regime
from hellofresh.runs.regimes.agent_tools import AgentTools
from hellofresh.runs.regimes.agents import agent_regime
from hellofresh.runs.regimes.registry import configure
from hellofresh.tasks.outputs import Status
from hellofresh.tasks.samples import Sample
from hellofresh.tasks.transcripts import AskedEvent, NotedEvent, ReadEvent, SearchedEvent
from tests.fakes import FakeModel, catalogued, fails_with, fake_spec
from tests.regimes import conftest as stage

AGENT = """
import asyncio
import hellofresh as hf

ROLES = {"critic": "names a weakness"}

async def solve(sample, tools):
    found = await tools.search("what is known of it")
    pages = await asyncio.gather(*(tools.read(hit.url) for hit in found.results[:3]))
    weak, said = await asyncio.gather(
        tools.ask([("system", "Be brief."), ("user", "\\n".join(page.text for page in pages))], role="critic"),
        tools.ask(tools.question),
    )
    return hf.Choice(label=int("yes" in said.lower()), rationale=weak, sources=tuple(page.url for page in pages))

async def hidden(sample, tools):
    return hf.Choice(label=1, rationale="It is \\x1b[31mso\\u202e.")

class Silent:
    async def solve(self, sample, tools):
        return hf.Choice(label=None, status="none")

async def fails(sample, tools):
    raise KeyError("nothing there")

async def greedy(sample, tools):
    while True:
        await tools.ask("again")

async def endless(sample, tools):
    print("thinking")
    await asyncio.Event().wait()

async def wrong(sample, tools):
    return hf.Response(text="a text")

async def beyond(sample, tools):
    return hf.Choice(label=2)

def plain(sample, tools):
    return hf.Choice(label=1)
"""


@pytest.fixture
def agent(tmp_path: Path):
    (tmp_path / "mine.py").write_text(AGENT)

    def load(function: str, *settings: str) -> Regime:
        return configure(get_regime(f"agent:{tmp_path / 'mine.py'}:{function}"), settings)

    return load


def worked(make, regime: Regime, seed: int = 0, **answers: str):
    world = stage.World(answers, {}, stage.results(4), seed=seed)
    return stage.judged(regime, make.note(1), world, load_prompt_set("x-notes", "zero-shot")), world


def test_what_an_agent_does_is_told_in_its_transcript(make, agent) -> None:
    outcome, world = worked(make, agent("solve"))
    assert [(output.label, len(output.sources)) for output in outcome.outputs] == [(0, 3)]
    assert [type(event) for event in outcome.events] == [SearchedEvent, *[ReadEvent] * 3, *[AskedEvent] * 2]
    assert [item.role for item in world.asked] == ["critic", "main"]
    assert (
        world.asked[1].text == load_prompt_set("x-notes", "zero-shot").prompts[0].instruction
        or "note" in world.asked[1].text
    )


def test_which_answer_comes_first_changes_nothing(make, agent) -> None:
    one, *others = [worked(make, agent("solve"), seed)[0] for seed in range(6)]
    assert all(outcome == one for outcome in others)


def test_the_same_question_asked_again_is_another_step(make, agent) -> None:
    regime = agent("greedy", "requests=3")
    with fails_with("agent-limit") as caught:
        worked(make, regime)
    assert "requests=N" in str(caught.value)
    outcome, world = worked(make, agent("greedy", "requests=3", "on_error=silence"))
    assert len({item.step for item in world.asked}) == 3 == len(world.asked)
    assert [output.status for output in outcome.outputs] == [Status.NONE]


@pytest.mark.parametrize(("function", "says"), [("fails", "KeyError"), ("wrong", "Response"), ("beyond", "label 2")])
def test_a_failing_agent_is_named_with_its_sample(make, agent, function: str, says: str) -> None:
    with fails_with("agent-failed") as caught:
        worked(make, agent(function))
    assert says in str(caught.value)
    assert f"mine.py:{function}, {make.note(1).id}" in str(caught.value)


def test_a_failing_agent_may_count_as_no_answer(make, agent) -> None:
    outcome, _ = worked(make, agent("fails", "on_error=silence"))
    assert [output.status for output in outcome.outputs] == [Status.NONE]


def test_an_agent_that_never_returns_gives_no_answer_after_a_limit_that_can_be_set(make, agent) -> None:
    assert agent("endless").parameters["seconds"] == 600
    outcome, _ = worked(make, agent("endless", "seconds=1"))
    assert [output.status for output in outcome.outputs] == [Status.NONE]
    assert outcome.events == (NotedEvent(name="out-of-time", values={"seconds": 1}),)
    assert get_regime("proxy:mine").parameters["seconds"] == 0


@pytest.mark.parametrize("function", ["plain", "missing", "1x", ""])
def test_what_is_no_agent_is_refused(agent, function: str) -> None:
    with fails_with("no-agent"):
        agent(function)


def test_a_file_that_breaks_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import nothing_of_this_name\n")
    with pytest.raises(UsageError) as caught:
        get_regime(f"agent:{tmp_path / 'broken.py'}:solve")
    assert "nothing_of_this_name" in str(caught.value)


def test_what_no_text_needs_is_taken_out_of_an_agents_words(make, agent) -> None:
    outcome, _ = worked(make, agent("hidden"))
    assert outcome.outputs[0].rationale == "It is [31mso."


def test_another_file_is_another_system(tmp_path: Path) -> None:
    regimes = []
    for number in (1, 2):
        path = tmp_path / f"mine{number}.py"
        path.write_text(f"USES_WEB = False\nasync def solve(sample, tools):\n    return {number}\n")
        regimes.append(get_regime(f"agent:{path}:solve"))
    assert regimes[0].parameters != regimes[1].parameters
    assert not regimes[0].needs and get_regime("web-search").needs == {Need.WEB}


def polite(refused: str = "") -> FakeModel:
    """Says yes to every second question, and gives up on one sample."""
    turns = cycle(("yes", "no"))

    def say(request: Request) -> Answer:
        assert request.sample is not None
        if request.sample.id == refused:
            raise CallError("too long for the model", code="bad-request", status=400)
        return Answer(next(turns), Finish.STOP, 10, 1)

    return FakeModel(fake_spec("polite"), say)


SIMPLE = """import hellofresh as hf
USES_WEB = False

async def solve(sample, tools):
{}    return hf.Choice(label=int(said == 'yes'))
"""
EVALUATE = ("evaluate", "--quarter", "2023Q2", "--task", "x-notes", "--model", "polite")


def test_it_is_evaluated_kept_and_resumed_like_any_regime(make, monkeypatch, place: Path, cli) -> None:
    make.release(make.notes(2, 2))
    Path("simple.py").write_text(SIMPLE.format("    print('thinking')\n    said = await tools.ask(tools.question)\n"))
    model = polite()
    catalogued(monkeypatch, model)
    said = cli.json(*EVALUATE, "--agent", "simple.py:solve")
    record = read_record(Path(said["folder"]))
    assert record is not None and record.regime.name == "agent"
    assert record.regime.parameters["agent"] == "simple.py:solve"
    assert str(place) not in (Path(said["folder"]) / "run.json").read_text()
    before = {path.name: path.read_bytes() for path in Path(said["folder"]).glob("*.jsonl")}
    asked = len(model.asked)
    monkeypatch.chdir("/")
    cli("runs", "resume", Path(said["folder"]).name)
    assert len(model.asked) == asked
    assert {path.name: path.read_bytes() for path in Path(said["folder"]).glob("*.jsonl")} == before


USES_WEB = False


async def in_a_cell(sample: Sample, tools: AgentTools) -> hf.Choice:
    return hf.Choice(label=int(await tools.ask(tools.question) == "yes"))


class InACell:
    async def solve(self, sample: Sample, tools: AgentTools) -> hf.Choice:
        return await in_a_cell(sample, tools)


@pytest.mark.parametrize("agent", [in_a_cell, InACell])
def test_a_function_or_class_of_this_process_is_an_agent(make, monkeypatch, agent) -> None:
    make.release(make.notes(2, 2))
    catalogued(monkeypatch, polite())
    monkeypatch.setenv("HELLOFRESH_DATA", str(make.workspace().root))
    edition = hf.load("2023Q2", "x-notes")
    run = hf.evaluate(edition, "polite", agent=agent, progress=False)
    record = read_record(run.folder)
    assert record is not None and str(record.regime.parameters["agent"]).endswith(agent.__name__)
    assert record.regime.parameters["agent_sha256"] and run.report.judged == 12
    monkeypatch.setattr("hellofresh.runs.regimes.agents._FUNCTIONS", {})
    with pytest.raises(UsageError, match="in the notebook"):
        get_regime(str(read_plan(run.folder).evaluation.regime))


def test_what_cannot_be_an_agent_is_refused_from_python_too(make) -> None:
    for agent in (lambda sample, tools: None, print):
        with fails_with("no-agent"):
            agent_regime(agent)


@pytest.mark.parametrize("body", ["plain", "swallowing"])
@pytest.mark.parametrize("settings", [[], ["--set", "on_error=silence"]])
def test_a_provider_that_gives_up_fails_the_sample_and_is_no_answer_of_the_agent(
    make, monkeypatch, place: Path, cli, body: str, settings: list[str]
) -> None:
    candidates = make.notes(2, 2)
    make.release(candidates)
    asks = "    said = await tools.ask(tools.question)\n"
    if body == "swallowing":
        asks = f"    try:\n    {asks}    except Exception:\n        said = 'yes'\n"
    Path("simple.py").write_text(SIMPLE.format(asks))
    gone = candidates[0].sample.id
    catalogued(monkeypatch, polite(gone))
    said = cli.json(*EVALUATE, "--agent", "simple.py:solve", *settings)
    assert (said["failed"], said["judged"]) == (1, len(candidates) - 1)
    rows = [json.loads(line) for line in (Path(said["folder"]) / "predictions.jsonl").read_text().splitlines()]
    assert gone not in {row["id"] for row in rows}


def test_names_for_agents_are_there_without_loading_them() -> None:
    assert hf.Choice(label=1).label == 1
    with pytest.raises(AttributeError):
        _ = hf.Nothing
