"""`hellofresh prompts`, and regimes other than zero-shot on the command line."""

from __future__ import annotations

import json

import pytest

from hellofresh.cli import main
from hellofresh.models import Answer, Finish, ModelSpec, Request
from hellofresh.models.catalogue import CATALOGUE, CatalogueEntry
from hellofresh.runs.prompts import load_prompt_set
from hellofresh.runs.regimes import REGIMES, regimes_for
from hellofresh.tasks import TASKS
from hellofresh.tasks.outputs import Choice, Ranking, Response

GOOD = (
    "Picture raters who seldom see things alike. Did most of them call the note below the post helpful, finding it "
    "correct, to the point, fair and based on sources? Say 'yes' if so, otherwise say 'no'."
)


class Writer:
    """A model that says one thing."""

    spec = ModelSpec("writer", "language-model", "A fake.", {})

    def __init__(self, text: str) -> None:
        self.text, self.asked, self.closed = text, 0, 0

    async def ask(self, _: Request) -> Answer:
        self.asked += 1
        return Answer(self.text, Finish.STOP)

    async def close(self) -> None:
        self.closed += 1


@pytest.fixture
def writer(monkeypatch) -> Writer:
    model = Writer(GOOD)
    monkeypatch.setitem(CATALOGUE, "writer", CatalogueEntry("A fake.", lambda _: model))
    return model


def run(capsys, *arguments: str):
    code = main([*arguments, "--json"])
    printed = capsys.readouterr()
    return code, json.loads(printed.out) if printed.out else None, printed.err


def test_list_names_every_prompt_of_every_task_and_regime(capsys) -> None:
    code, rows, _ = run(capsys, "prompts")
    assert code == 0
    named = {REGIMES[regime].prompts_from for regime in regimes_for(TASKS["x-notes"])}
    choosing = 5 * (len(named) - 1) + 6  # the agent has five rephrasings, which the pipelines beside it share
    wordings = {Choice: choosing, Response: 5, Ranking: 1}  # each task of responses has a regime of its own
    proposals = sum(task.takes(Response) for task in TASKS.values() if task.output is Choice)
    assert len(rows) == sum(wordings[task.output] for task in TASKS.values()) + proposals
    assert {row["regime"] for row in rows} == {regime.prompts_from for regime in REGIMES.values()}


def test_show_prints_a_set_as_it_is_and_filled_from_a_sample(capsys, make, monkeypatch) -> None:
    released = make.release(make.notes(2, 2))
    monkeypatch.setenv("HELLOFRESH_DATA", str(make.workspace().root))
    code, shown, _ = run(capsys, "prompts", "x-notes", "web-search")
    assert code == 0
    assert "{summaries}" in shown["frame"] and set(shown["steps"]) == {"query", "query-fallback", "summary"}
    assert released.quarter
    code, filled, _ = run(capsys, "prompts", "x-notes", "web-search", "--sample", "xn-4000", "--quarter", "2023Q2")
    assert code == 0
    assert ["question" in item for item in filled[:4]] == [True, False, False, True]
    asked = [item for item in filled if "question" in item]
    assert [item["question"] for item in asked[:2]] == ["query", "summarise-1"]
    assert len(asked) == 7
    assert all("Note 4000:" in item["text"] for item in asked)
    code, _, error = run(capsys, "prompts", "x-notes", "zero-shot", "--sample", "xn-1", "--quarter", "2023Q2")
    assert (code, "unknown-sample" in error) == (2, True)
    code, _, error = run(capsys, "prompts", "x-notes", "zero-shot", "--sample", "xn-1")
    assert (code, "half-a-sample" in error) == (2, True)


def test_show_walks_through_an_agents_whole_conversation_with_its_searches(capsys, make, monkeypatch) -> None:
    make.release(make.notes(2, 2))
    monkeypatch.setenv("HELLOFRESH_DATA", str(make.workspace().root))
    arguments = ("prompts", "x-notes", "search-agent", "--sample", "xn-4000", "--quarter", "2023Q2")
    code, steps, _ = run(capsys, *arguments)
    assert code == 0
    names = [item.get("question", "").partition(" ")[0] or next(iter(item)) for item in steps]
    turn = ["search", "read"]
    assert names == ["turn-1", *turn, "search-1", "turn-2", *turn, "search-2", "turn-3"]
    assert [item["search"] for item in steps if "search" in item] == ["query turn-1", "query turn-2"]
    assert {item["role"] for item in steps if item.get("question", "").startswith("search")} == {"summariser"}
    assert main([*arguments]) == 0
    shown = capsys.readouterr().out
    assert shown.count("Note 4000:") == 1  # each turn is shown once
    assert "---- search: query turn-2 ----" in shown and "(about 200 words)" in shown


def test_rephrase_writes_a_set_that_evaluate_takes(capsys, make, monkeypatch, tmp_path, writer) -> None:
    out = tmp_path / "own.toml"
    arguments = ("prompts", "x-notes", "--rephrase", "writer", "--out", str(out))
    code, done, error = run(capsys, *arguments)
    assert (code, done["prompts"], writer.closed) == (0, ["manual", "rephrased-1"], 1)
    assert "attempt 1: taken" in error
    assert load_prompt_set("x-notes", "zero-shot", out).prompts[1].instruction == GOOD
    make.release(make.notes(2, 2))
    monkeypatch.setenv("HELLOFRESH_DATA", str(make.workspace().root))
    writer.text = "Yes"
    code, done, _ = run(
        capsys, "evaluate", "--quarter", "2023Q2", "--task", "x-notes", "--model", "writer", "--prompt-set", str(out)
    )
    assert (code, set(done["verdicts"])) == (0, {"manual", "rephrased-1"})
    asked = writer.asked
    code, _, error = run(capsys, *arguments)
    assert (code, "file-exists" in error, writer.asked) == (2, True, asked)


def test_rephrase_leaves_nothing_where_it_fails(capsys, tmp_path, writer) -> None:
    out = tmp_path / "own.toml"
    arguments = ("prompts", "x-notes", "--rephrase", "writer", "--out", str(out))
    writer.text = "Is it?"
    code, _, error = run(capsys, *arguments)
    assert (code, "no-rephrasing" in error, writer.asked, writer.closed) == (1, True, 4, 1)
    assert not list(tmp_path.iterdir())


def test_a_baseline_under_a_regime_that_changes_the_prompt_is_refused(capsys, make, monkeypatch) -> None:
    make.release(make.notes(2, 2))
    monkeypatch.setenv("HELLOFRESH_DATA", str(make.workspace().root))
    for regime in set(regimes_for(TASKS["x-notes"])) - {"zero-shot"}:
        code, _, error = run(
            capsys, "evaluate", "--quarter", "2023Q2", "--task", "x-notes", "--model", "always-yes", "--regime", regime
        )
        assert (code, "baseline-regime" in error) == (2, True)
    assert not make.workspace().runs.exists()


def test_placebo_runs_from_the_command_line_without_a_web(capsys, make, monkeypatch, writer) -> None:
    make.release(make.notes(2, 2))
    monkeypatch.setenv("HELLOFRESH_DATA", str(make.workspace().root))
    code, done, _ = run(
        capsys, "evaluate", "--quarter", "2023Q2", "--task", "x-notes", "--model", "writer", "--regime", "placebo"
    )
    assert (code, done["judged"], writer.asked) == (0, 12, 60)


@pytest.mark.slow
@pytest.mark.integration
def test_the_embedded_model_rephrases_well_or_is_refused_clearly(capsys, tmp_path) -> None:
    out = tmp_path / "own.toml"
    arguments = ("prompts", "x-notes", "--rephrase", "smollm2-135m", "--out", str(out))
    code, done, error = run(capsys, *arguments)
    if code == 0:
        assert [prompt.id for prompt in load_prompt_set("x-notes", "zero-shot", out).prompts] == done["prompts"]
    else:
        assert (code, out.exists()) == (1, False)
        assert "smollm2-135m: no usable rephrasing in 4 attempts (at last: " in error
