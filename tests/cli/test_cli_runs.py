"""`hellofresh evaluate` and `hellofresh runs` on a model that costs something and fails now and then."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from hellofresh.cli._output import CommandOutput, readable
from hellofresh.core.errors import RunError
from hellofresh.core.files import read_jsonl
from hellofresh.models import Answer, CallError, Finish, Limits, Price, Request
from tests.fakes import FakeModel, catalogued, fake_spec


class Paid(FakeModel):
    """Says yes, for money, with control characters; does not answer on the samples that it is told to fail on."""

    fails_on: Collection[str] = ()
    fault = CallError("too long for the model", code="bad-request", status=400)
    says = "Yes\x1b[31m \u202e"

    async def ask(self, request: Request) -> Answer:
        await super().ask(request)
        if request.sample.id in self.fails_on:
            raise self.fault
        return Answer(self.says, Finish.STOP, 100, 2, {"yes": -0.1, "no": -2.5})


@pytest.fixture
def paid(make, monkeypatch, place: Path) -> Paid:
    make.release(make.notes(2, 2))
    price = Price(1.0, 2.0, "2026-01-01", "a list")
    return catalogued(monkeypatch, Paid(fake_spec("paid", limits=Limits(4), price=price)))


EVALUATE = ("evaluate", "--quarter", "2023Q2", "--task", "x-notes", "--model", "paid")


def everything(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.rglob("*") if path.is_file()}


def test_a_dry_run_tells_what_is_to_come_and_touches_nothing(make, paid, cli) -> None:
    before = everything(make.workspace().root)
    ahead = cli.json(*EVALUATE, "--dry-run", "--repeat", "2", "--temperature", "0")
    assert (ahead["calls"], ahead["samples"], ahead["known"], paid.asked) == (120, 12, 0, [])
    main = ahead["roles"]["main"]
    assert ahead["cost_usd"] == pytest.approx((main["tokens_in"] + 2 * main["tokens_out"]) / 1e6)
    assert ahead["most_usd"] >= ahead["cost_usd"]
    assert everything(make.workspace().root) == before
    cli.json(*EVALUATE)
    before = everything(make.workspace().root)
    assert cli.json(*EVALUATE, "--dry-run")["calls"] == 0
    assert everything(make.workspace().root) == before


def test_failed_samples_are_named_and_asked_again_by_the_same_command(paid, cli) -> None:
    cli.json(*EVALUATE, "--limit", "1")
    paid.fails_on = {"xn-4001", "xn-5001"}
    assert "the run is finished" in cli(
        *EVALUATE, "--limit", "12"
    )  # nothing helps against what is wrong with a question
    paid.fault = CallError("too busy", code="http-error", status=503, retryable=True, retry_after_s=0.0)
    said = cli(*EVALUATE, "--limit", "12", code=1)
    assert "2 samples could not be answered" in said and "the run is finished" not in said
    (run,) = cli.json("runs", "show")
    assert (run["state"], run["judged"], run["failed"]) == ("2 failed", 10, 2)
    paid.fails_on, before = (), len(paid.asked)
    done = cli.json(*EVALUATE, "--limit", "12")
    assert (done["judged"], done["failed"], len(paid.asked) - before) == (12, 0, 10)
    assert done["cost_usd"] == pytest.approx(60 * (100 + 2 * 2) / 1e6)


def test_a_budget_needs_a_price_and_stops_a_run(paid, cli) -> None:
    price, paid.spec = paid.spec, replace(paid.spec, price=None)
    assert "price" in cli(*EVALUATE, "--budget", "1", code=2)
    paid.spec = price
    assert "budget-spent" in cli(*EVALUATE, "--budget", "0.001", code=1)
    (run,) = cli.json("runs", "show")
    assert (run["state"], run["judged"]) == ("unfinished", None)
    assert "unfinished-run" in cli("runs", "export", run["run"], "--format", "jsonl", code=2)
    assert cli.json("runs", "resume", run["run"])["judged"] == 12


def test_a_sample_is_shown_with_all_that_was_said_and_nothing_that_steers_a_terminal(paid, cli) -> None:
    (run_id,) = [cli.json(*EVALUATE, "--prompts", "manual")["run_id"]]
    cli("runs", "show", run_id, "xn-4001")
    text = cli.out
    assert "Note 4001" in text and "Yes\\x1b[31m" in text and "output, prompt manual" in text
    assert all(c.isprintable() or c == "\n" for c in text)
    shown = cli.json("runs", "show", run_id[-8:], "xn-4001")
    assert [row["label"] for row in shown["outputs"]] == [1]
    assert shown["outputs"][0]["probabilities"][1] == pytest.approx(0.9168, abs=1e-4)
    whole = cli.json("runs", "show", run_id)
    assert (whole["answers"], whole["score"]) == (12, None)  # labels that are not public
    assert "unknown-sample" in cli("runs", "show", run_id, "xn-1", code=2)
    assert "unknown-name" in cli("runs", "show", "nothing", code=2)


def test_an_answer_with_any_line_break_is_shown_as_an_example(paid, cli, monkeypatch) -> None:
    monkeypatch.setattr("hellofresh.cli.evaluate.labels_are_public", lambda *_: True)
    paid.says = "Yes\u2028Yes\u2029Yes\x85Yes\x0bYes\x0cYes\x1cYes\x1dYes\x1eYes"
    cli(*EVALUATE, "--prompts", "manual")
    assert "people decided: helpful; the answer: helpful ('Yes Yes" in cli.out
    assert "people decided: not helpful; the answer: helpful ('Yes Yes" in cli.out


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_run_is_exported_as_tables_of_both_kinds(paid, cli, tmp_path: Path, kind: str) -> None:
    run_id = cli.json(*EVALUATE, "--repeat", "2", "--temperature", "0.5")["run_id"]
    files = cli.json("runs", "export", run_id, "--format", kind, "--to", str(tmp_path / "out"))
    assert [item["rows"] for item in files] == [120, 120, 0]
    path = tmp_path / "out" / f"predictions.{kind}"
    rows = list(read_jsonl(path)) if kind == "jsonl" else pl.read_parquet(path).to_dicts()
    assert {(row["run"], row["label"], row["repetition"]) for row in rows} == {(run_id, 1, 1), (run_id, 1, 2)}
    assert all(row["probabilities"][1] == pytest.approx(0.9168, abs=1e-4) for row in rows)


def test_what_steers_a_terminal_is_written_out(capsys: pytest.CaptureFixture[str]) -> None:
    output = CommandOutput(as_json=False)
    output.error(RunError("a \x1b[2J", code="x"))
    output.say("\x1b]0;x")
    assert capsys.readouterr().err == "error: a \\x1b[2J. [x]\n\\x1b]0;x\n"
    assert readable("a\n\x1b]0;x\x07\u202eb\u00e9") == "a\n\\x1b]0;x\\x07\\u202eb\u00e9"
