"""`hellofresh prompts`, and regimes other than zero-shot on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hellofresh.cli import main
from hellofresh.models import Answer, Finish, Request
from hellofresh.results.split.entries import entry_of_run
from hellofresh.runs.prompts import PAPER, STANDARD, load_prompt_set
from hellofresh.runs.regimes.registry import REGIMES, regimes_for
from hellofresh.tasks import TASKS
from tests.fakes import FakeModel, catalogued, fake_spec

GOOD = (
    "Picture raters who seldom see things alike. Did most of them call the note below the post helpful, finding it "
    "correct, to the point, fair and based on sources? Say 'yes' if so, otherwise say 'no'."
)

HERE = ("--quarter", "2023Q2", "--task", "x-notes")
pytestmark = pytest.mark.usefixtures("place")


def says(text: str) -> Callable[[Request], Answer]:
    return lambda _: Answer(text, Finish.STOP)


@pytest.fixture
def writer(monkeypatch) -> FakeModel:
    return catalogued(monkeypatch, FakeModel(fake_spec("writer"), says(GOOD)))


def test_list_names_every_prompt_of_every_task_and_regime(cli) -> None:
    rows = cli.json("prompts")
    sets = {(task, REGIMES[regime].prompts_from) for task in TASKS for regime in regimes_for(TASKS[task])}
    found = [(row["task"], row["regime"], row["prompt"]) for row in rows]
    both = {one.sha256: one for pair in sets for one in (load_prompt_set(*pair), load_prompt_set(*pair, STANDARD))}
    assert sorted(found) == sorted((one.task, one.regime, prompt.id) for one in both.values() for prompt in one.prompts)
    assert {row["set"] for row in rows if row["task"] == "x-notes" and row["lacks"]} == {STANDARD}
    assert len(found) > 500
    assert {row["regime"] for row in rows} == {regime.prompts_from for regime in REGIMES.values()}


def test_show_prints_a_set_as_it_is_and_filled_from_a_sample(cli, make) -> None:
    make.release(make.notes(2, 2))
    shown = cli.json("prompts", "x-notes", "web-search")
    assert "{summaries}" in shown["frame"] and set(shown["steps"]) == {"query", "query-fallback", "summary"}
    filled = cli.json("prompts", "x-notes", "web-search", "--sample", "xn-4000", "--quarter", "2023Q2")
    assert ["question" in item for item in filled[:4]] == [True, False, False, True]
    asked = [item for item in filled if "question" in item]
    assert [item["question"] for item in asked[:2]] == ["query", "summarise-1"]
    assert len(asked) == 7
    assert all("Note 4000:" in item["text"] for item in asked)
    half = ("prompts", "x-notes", "zero-shot", "--sample", "xn-1")
    assert "unknown-sample" in cli(*half, "--quarter", "2023Q2", code=2)
    assert "half-a-sample" in cli(*half, code=2)


def test_show_walks_through_an_agents_whole_conversation_with_its_searches(cli, make) -> None:
    make.release(make.notes(2, 2))
    arguments = ("prompts", "x-notes", "search-agent", "--sample", "xn-4000", "--quarter", "2023Q2")
    steps = cli.json(*arguments)
    names = [item.get("question", "").partition(" ")[0] or next(iter(item)) for item in steps]
    turn = ["search", "read"]
    assert names == ["turn-1", *turn, "search-1", "turn-2", *turn, "search-2", "turn-3"]
    assert [item["search"] for item in steps if "search" in item] == ["query turn-1", "query turn-2"]
    assert {item["role"] for item in steps if item.get("question", "").startswith("search")} == {"summariser"}
    shown = cli(*arguments)
    assert shown.count("Note 4000:") == 1  # each turn is shown once
    assert "---- search: query turn-2 ----" in shown and "(about 200 words)" in shown


def test_rephrase_writes_a_set_that_evaluate_takes(cli, make, place, writer) -> None:
    out = place / "own.toml"
    arguments = ("prompts", "x-notes", "--prompt-set", "standard", "--rephrase", "writer", "--out", out)
    done = cli.json(*arguments)
    assert (done["prompts"], writer.closed) == (["manual", "rephrased-1"], 1)
    assert "attempt 1: taken" in cli.err
    assert load_prompt_set("x-notes", "zero-shot", str(out)).prompts[1].instruction == GOOD
    make.release(make.notes(2, 2))
    writer.say = says("Yes")
    done = cli.json("evaluate", *HERE, "--model", "writer", "--prompt-set", out)
    assert set(done["verdicts"]) == {"manual", "rephrased-1"}
    asked = len(writer.asked)
    assert "file-exists" in cli(*arguments, code=2)
    assert len(writer.asked) == asked


def test_rephrase_leaves_nothing_where_it_fails(cli, place, writer) -> None:
    out = place / "own.toml"
    arguments = ("prompts", "x-notes", "--rephrase", "writer", "--out", out)
    writer.say = says("Is it?")
    assert "no-rephrasing" in cli(*arguments, code=1)
    assert (len(writer.asked), writer.closed) == (4, 1)
    assert not list(place.iterdir())


def test_a_baseline_under_a_regime_that_changes_the_prompt_is_refused(cli, make) -> None:
    make.release(make.notes(2, 2))
    for regime in set(regimes_for(TASKS["x-notes"])) - {"zero-shot"}:
        assert "baseline-regime" in cli("evaluate", *HERE, "--model", "always-yes", "--regime", regime, code=2)
    assert not make.workspace().runs.exists()


def test_placebo_runs_from_the_command_line_without_a_web(cli, make, writer) -> None:
    make.release(make.notes(2, 2))
    writer.say = says("Yes")
    done = cli.json("evaluate", *HERE, "--model", "writer", "--regime", "placebo")
    assert (done["judged"], len(writer.asked)) == (12, 60)


@pytest.mark.slow
@pytest.mark.integration
def test_the_embedded_model_rephrases_well_or_is_refused_clearly(capsys, place) -> None:
    out = place / "own.toml"
    code = main(["prompts", "x-notes", "--rephrase", "smollm2-135m", "--out", str(out), "--json"])
    said = capsys.readouterr()
    if code == 0:
        made = [prompt.id for prompt in load_prompt_set("x-notes", "zero-shot", str(out)).prompts]
        assert made == json.loads(said.out)["prompts"]
    else:
        assert (code, out.exists()) == (1, False)
        assert "smollm2-135m: no usable rephrasing in 4 attempts (at last: " in said.err


def test_runs_of_two_sets_are_two_rows_that_name_their_set_and_refusals_are_counted_both_ways(
    cli, make, writer
) -> None:
    make.release(make.notes(2, 2))
    writer.say = lambda asked: Answer("As an aside, yes" if asked.sample.id == "xn-4000" else "Yes", Finish.STOP)
    sets = {PAPER: "writer", STANDARD: "writer (standard prompts)"}
    runs = [Path(cli.json("evaluate", *HERE, "--model", "writer", "--prompt-set", name)["folder"]) for name in sets]
    entries = [entry_of_run(run) for run in runs]
    assert [entry.system for entry in entries] == [*sets.values()]
    assert all(entry.about.endswith(f"Its prompt set: {name}.") for entry, name in zip(entries, sets, strict=True))
    shown = cli("runs", "show", runs[0].name)
    assert "Refusals among 60 answers" in shown and "as in HelloFresh (2024) 5" in shown and "here 0" in shown
    assert "no paper asks this" in cli("prompts", "liar", "zero-shot", "--prompt-set", PAPER, code=1)
