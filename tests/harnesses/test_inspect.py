"""inspect_ai and our evaluator ask the same and come to the same, answer by answer; logs go both ways."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hellofresh.core.files import read_jsonl
from tests.harnesses.conftest import board, evaluated

pytest.importorskip("inspect_ai")
# It leaves streams of its own unclosed, which is told whenever they are collected.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Unclosed <MemoryObject:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:.*MemoryObject.*:pytest.PytestUnraisableExceptionWarning"),
]

NAMED = ("--name", "A model", "--contact", "a@b.example")


@pytest.fixture(autouse=True)
def collected(notes: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    yield
    gc.collect()


def inspected(chat: Any, folder: Path, revealed: bool, **arguments: Any):
    """A log of inspect_ai on the notes, with the labels if these are taken for public."""
    from inspect_ai import eval as inspect_eval

    from hellofresh.api.harnesses import inspect_tasks

    inspect_tasks._release.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        if revealed:
            release = replace(inspect_tasks._release("x-notes", "2023Q2"), revealed=True)
            patch.setattr(inspect_tasks, "_release", lambda *_: release)
        task = inspect_tasks.x_notes(edition="2023Q2", **arguments)
        (log,) = inspect_eval(
            task,
            model="openai/gpt-4o",
            model_base_url=chat.base_url,
            model_args={"responses_api": False},
            display="none",
            log_dir=str(folder / "logs"),
            log_format="eval",
        )
    assert log.status == "success", log.error
    return log


def asked(bodies: list[dict[str, Any]]) -> list[str]:
    """What decides the answers, in order."""
    named = ("messages", "temperature", "seed", "tools")
    limit = [body.get("max_tokens") or body.get("max_completion_tokens") for body in bodies]
    return sorted(json.dumps([{k: body.get(k) for k in named}, most]) for body, most in zip(bodies, limit, strict=True))


def test_both_ask_the_same_and_come_to_the_same_answer_by_answer(chat, notes: Path, cli) -> None:
    folder = evaluated(cli, chat, "openai:gpt-4o")
    ours = asked(chat.bodies)
    chat.bodies.clear()
    log = inspected(chat, notes, revealed=True)
    assert len(ours) == 60 and asked(chat.bodies) == ours
    rows = sorted(read_jsonl(folder / "predictions.jsonl"), key=lambda row: (row["id"], row["prompt"]))
    theirs = [row for sample in log.samples for row in sample.store["hellofresh:outputs"]]
    keyed = [{"repetition": 1, **row} for row in sorted(theirs, key=lambda row: (row["id"], row["prompt"]))]
    assert keyed == rows and {row.get("status", row["label"]) for row in rows} == {0, 1, "none", "blocked"}

    (found,) = [one for one in log.results.scores if one.name == "verdict"]
    shown = {metric: row for (prompt, metric), row in board(cli).items() if prompt == "majority"}
    assert "f1" in shown
    for metric, row in shown.items():
        figures = [found.metrics[f"{metric}{end}"].value for end in ("", "_low", "_high")]
        assert figures == pytest.approx([row["value"], row["low"], row["high"]], abs=1e-12)


def test_a_log_becomes_a_submission_and_a_run_becomes_a_log(chat, notes: Path, cli) -> None:
    from inspect_ai.log import read_eval_log

    folder = evaluated(cli, chat, "openai:gpt-4o")
    log = inspected(chat, notes, revealed=False)
    assert log.results is None or not log.results.scores, "labels are not public"
    cli("runs", "export", folder.name, "--format", "inspect", "--to", "run.eval")
    told = read_eval_log("run.eval")
    assert told.status == "success" and len(told.samples) == 12 and told.eval.task == "hellofresh/x_notes"
    assert told.eval.model == "openai-api/endpoint/gpt-4o"  # as inspect names it, and converters of its logs expect
    for sample in told.samples:
        assert len([event for event in sample.events if event.event == "model"]) == 5
        assert sample.messages[-1].role == "assistant"
    made = []
    for number, path in enumerate((log.location, "run.eval")):
        new = ("submission", "new", "--from-inspect", path, "--team", f"Team {number}", *NAMED, "--submissions", notes)
        made.append(Path(cli.json(*new)["folder"]))
        cli("submission", "check", made[-1], "--submissions", notes)
    assert (made[0] / "predictions.jsonl").read_bytes() == (made[1] / "predictions.jsonl").read_bytes()
    assert sum(row["label"] is not None for row in read_jsonl(made[0] / "predictions.jsonl")) > 3


def test_a_regime_that_searches_searches_in_inspect_too(chat, notes: Path, cli, loopback) -> None:
    (notes / "hellofresh.toml").write_text("[web]\nprovider = 'offline'\n")
    more = ("--regime", "web-search", "--prompts", "manual", "--limit", "2")
    folder = evaluated(cli, chat, "openai:gpt-4o", *more)
    ours = asked(chat.bodies)
    chat.bodies.clear()
    log = inspected(chat, notes, revealed=False, regime="web_search", prompts="manual")
    wanted = {row["id"]: row["label"] for row in read_jsonl(folder / "predictions.jsonl")}
    theirs = {str(s.id): s.store["hellofresh:outputs"][0]["label"] for s in log.samples if s.id in wanted}
    assert theirs == wanted and set(ours) <= set(asked(chat.bodies))


def test_what_is_no_log_of_ours_is_refused(notes: Path, cli) -> None:
    (notes / "other.json").write_text("{}")
    assert "bad-log" in cli("submission", "new", "--from-inspect", "other.json", "--team", "T", *NAMED, code=1)
