"""A folder of tasks for lm-eval-harness asks what our evaluator asks, and scores alike."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

from hellofresh.api.harnesses import lm_eval_scores
from hellofresh.core.files import read_jsonl
from hellofresh.runs.record import read_outputs
from tests.harnesses.conftest import NOTES, board, evaluated


@pytest.fixture
def revealed(notes: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A quarter taken for revealed."""
    monkeypatch.setattr(lm_eval_scores, "labels_are_public", lambda *_: True)
    return notes


EXPORT = ("release", "export", *NOTES, "--lm-eval", "harness")


def test_its_questions_readings_and_figures_are_ours(chat, revealed: Path, cli) -> None:
    folder, scores = evaluated(cli, chat, "openai:m"), board(cli)
    group, *tasks = cli.json(*EXPORT)["tasks"]
    assert group == "hellofresh_x_notes_2023Q2" and len(tasks) == 5
    rows = list(read_jsonl(revealed / "harness/samples.jsonl"))
    prompts = [name.removeprefix(f"{group}_") for name in tasks]
    asked = sorted(row[f"asked_{prompt}"] for row in rows for prompt in prompts)
    assert asked == sorted(body["messages"][0]["content"] for body in chat.bodies)

    code = runpy.run_path(str(revealed / "harness/utils.py"))
    said = {body["messages"][0]["content"]: chat.behave(0, body).body for body in chat.bodies}
    outputs = {(key, output.prompt.replace("-", "_")): output for key, _, output in read_outputs(folder)}
    for prompt in prompts:
        items = []
        for row in rows:
            text = json.loads(said[row[f"asked_{prompt}"]])["choices"][0]["message"]["content"]
            found = code["process"](row, [text])
            label = outputs[row["id"], prompt].label
            assert found["f1"] == (row["label"], -1 if label is None else label, row["group"])
            items.append(found["f1"])
        figures = scores[prompt.replace("_", "-"), "f1"]
        assert [code[name](items) for name in ("f1", "f1_low", "f1_high")] == pytest.approx(
            [figures[name] for name in ("value", "low", "high")], abs=1e-12
        )


def test_labels_that_are_not_public_are_not_exported(notes: Path, cli) -> None:
    assert "not-revealed" in cli(*EXPORT, code=1)
    assert not (notes / "harness").exists()


@pytest.mark.soak
def test_lm_eval_harness_runs_it(chat, revealed: Path, cli) -> None:
    lm_eval = pytest.importorskip("lm_eval")  # in no extra: `pip install lm_eval` where this is to run
    from lm_eval.tasks import TaskManager

    evaluated(cli, chat, "openai:m")
    cli(*EXPORT)
    found = lm_eval.simple_evaluate(
        model="local-chat-completions",
        model_args=f"model=m,base_url={chat.base_url}/chat/completions,tokenizer_backend=None",
        tasks=["hellofresh_x_notes_2023Q2"],
        task_manager=TaskManager(include_path=str(revealed / "harness"), include_defaults=False),
        apply_chat_template=True,
    )
    for (prompt, metric), row in board(cli).items():
        if prompt != "majority":
            of_prompt = found["results"][f"hellofresh_x_notes_2023Q2_{prompt.replace('-', '_')}"]
            figures = [of_prompt[f"{metric}{end},none"] for end in ("", "_low", "_high")]
            assert figures == pytest.approx([row["value"], row["low"], row["high"]], abs=1e-12)
