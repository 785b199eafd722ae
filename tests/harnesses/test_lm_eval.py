"""A folder of tasks for lm-eval-harness asks what our evaluator asks, and scores alike."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from hellofresh.api.harnesses import lm_eval_scores
from hellofresh.cli import main
from hellofresh.core.files import read_jsonl
from hellofresh.runs.record import read_outputs


@pytest.fixture
def place(make, chat, loopback, monkeypatch, tmp_path: Path):
    """A quarter taken for revealed, and a model that says something else to each note and wording."""
    monkeypatch.setenv("HELLOFRESH_DATA", str(make.workspace().root))
    monkeypatch.chdir(tmp_path)
    words = ("Yes.", "no", "Yes, it is.", "No.", "I can't help with that.", "Hard to say.", "YES")
    chat.behave = lambda number, body: loopback.said(words[sum(map(ord, body["messages"][-1]["content"])) % len(words)])
    monkeypatch.setattr(lm_eval_scores, "labels_are_public", lambda *_: True)
    make.release(make.notes(2, 2))
    return tmp_path


def evaluated(chat: Any, capsys) -> tuple[Path, dict[tuple[str, str], dict[str, float]]]:
    """A run, and its scores by prompt and metric."""
    where = ["--edition", "2023Q2", "--task", "x-notes"]
    assert main(["evaluate", *where, "--model", "openai:m", "--base-url", chat.base_url, "--json"]) == 0
    folder = Path(json.loads(capsys.readouterr().out)["folder"])
    assert main(["score", "--edition", "2023Q2", "--private", "--json"]) == 0
    rows = _rows(json.loads(capsys.readouterr().out))
    return folder, {(row["prompt"], row["metric"]): row for row in rows if row["period"] == "all"}


def _rows(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        return (
            [value] if {"metric", "value", "prompt"} <= value.keys() else [r for v in value.values() for r in _rows(v)]
        )
    return [row for item in value for row in _rows(item)] if isinstance(value, list) else []


def test_its_questions_readings_and_figures_are_ours(chat, place: Path, capsys) -> None:
    folder, board = evaluated(chat, capsys)
    assert (
        main(["release", "export", "--edition", "2023Q2", "--task", "x-notes", "--lm-eval", "harness", "--json"]) == 0
    )
    group, *tasks = json.loads(capsys.readouterr().out)["tasks"]
    assert group == "hellofresh_x_notes_2023Q2" and len(tasks) == 5
    rows = list(read_jsonl(place / "harness/samples.jsonl"))
    prompts = [name.removeprefix(f"{group}_") for name in tasks]
    asked = sorted(row[f"asked_{prompt}"] for row in rows for prompt in prompts)
    assert asked == sorted(body["messages"][0]["content"] for body in chat.bodies)

    code = runpy.run_path(str(place / "harness/utils.py"))
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
        figures = board[prompt.replace("_", "-"), "f1"]
        assert [code[name](items) for name in ("f1", "f1_low", "f1_high")] == pytest.approx(
            [figures[name] for name in ("value", "low", "high")], abs=1e-12
        )


def test_labels_that_are_not_public_are_not_exported(make, monkeypatch, tmp_path: Path, capsys) -> None:
    monkeypatch.setenv("HELLOFRESH_DATA", str(make.workspace().root))
    make.release(make.notes(2, 2))
    where = ["--edition", "2023Q2", "--task", "x-notes", "--lm-eval", str(tmp_path / "harness")]
    assert main(["release", "export", *where]) == 1
    assert "not-revealed" in capsys.readouterr().err and not (tmp_path / "harness").exists()


@pytest.mark.soak
def test_lm_eval_harness_runs_it(chat, place: Path, capsys) -> None:
    lm_eval = pytest.importorskip("lm_eval")  # in no extra: `pip install lm_eval` where this is to run
    from lm_eval.tasks import TaskManager

    _, board = evaluated(chat, capsys)
    assert main(["release", "export", "--edition", "2023Q2", "--task", "x-notes", "--lm-eval", "harness"]) == 0
    found = lm_eval.simple_evaluate(
        model="local-chat-completions",
        model_args=f"model=m,base_url={chat.base_url}/chat/completions,tokenizer_backend=None",
        tasks=["hellofresh_x_notes_2023Q2"],
        task_manager=TaskManager(include_path=str(place / "harness"), include_defaults=False),
        apply_chat_template=True,
    )
    for (prompt, metric), row in board.items():
        if prompt != "majority":
            of_prompt = found["results"][f"hellofresh_x_notes_2023Q2_{prompt.replace('-', '_')}"]
            figures = [of_prompt[f"{metric}{end},none"] for end in ("", "_low", "_high")]
            assert figures == pytest.approx([row["value"], row["low"], row["high"]], abs=1e-12)
