"""`hellofresh submission`: from an empty pair of files to a score after the deadline, each step saying what is next."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hellofresh.core.files import read_jsonl, write_jsonl
from hellofresh.core.quarters import Quarter
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation

OPEN, CLOSED = "2023-08-01T12:00:00Z", "2023-10-15T00:00:00Z"
SAID = ["--name", "My System", "--team", "Acme", "--contact", "me", "--model", "m-1", "--model", "NA"]


@pytest.fixture
def at(make, quarter, notes_task, place, monkeypatch) -> Callable[[str], None]:
    """A folder with a released quarter of notes; sets the clock."""
    monkeypatch.setenv("HELLOFRESH_NOW", OPEN)
    make.release([make.candidate(make.note(n, date=datetime(2023, 4, 1 + n, tzinfo=UTC)), n % 2) for n in range(24)])
    evaluate(make.workspace(), Evaluation(quarter, notes_task, "always-yes"), lambda _: None)
    return lambda moment: monkeypatch.setenv("HELLOFRESH_NOW", moment)


Run = Callable[..., Any]


@pytest.fixture
def run(at, cli) -> Run:
    """Runs a command; gives its JSON, or its text where that was asked for."""

    def call(*arguments: str | Path, code: int = 0, text: bool = False) -> Any:
        return (cli if text else cli.json)("submission", *arguments, code=code)

    return call


def answer(folder: Path) -> None:
    """Put a label for each null."""
    rows = list(read_jsonl(folder / "predictions.jsonl"))
    write_jsonl(folder / "predictions.jsonl", ({**row, "label": n % 3 % 2} for n, row in enumerate(rows)))


def test_the_whole_way_from_new_to_scored(run, at, cli) -> None:
    made = run("new", "--quarter", "2023Q2", *SAID, "--submissions", "drafts")
    folder = Path(made["folder"])
    assert (folder, made["samples"]) == (Path("drafts/2023Q2/acme/my-system"), 24)
    assert [fault["code"] for fault in run("check", str(folder), code=1)["faults"]] == ["no-answers"]
    rows = list(read_jsonl(folder / "predictions.jsonl"))
    write_jsonl(folder / "predictions.jsonl", ({**row, "label": 7} for row in rows))
    said = run("check", str(folder), code=1, text=True)
    assert (said.count("label"), "(23 more like this)" in said) == (1, True)
    answer(folder)
    assert run("check", str(folder))["scored"] == {"x-notes": {"samples": 24, "without_answer": 0, "repetitions": 1}}
    assert run("check", str(folder / "predictions.jsonl"), "--quarter", "2023Q2")["warnings"] == []
    added = run("add", str(folder))
    assert (added["state"], added["receipt"]["received"]) == ("added", OPEN)
    (entry,) = run("list", "--quarter", "2023Q2")["entries"]
    assert (entry["entry"], entry["tasks"], entry["flags"]) == ("acme/my-system", {"x-notes": "counts"}, [])
    early = run("check", "submissions/2023Q2/acme/my-system", "--score", code=1, text=True)
    assert "scored after the deadline, 2023-10-15T00:00:00Z" in early
    at(CLOSED)
    assert "[not-revealed]" in run("check", "submissions/2023Q2/acme/my-system", "--score", code=1, text=True)
    (score, *_) = run("check", "submissions/2023Q2/acme/my-system", "--score", "--private")
    assert (score["system"], score["n"]) == ("My System", 24)
    for late in (("add", str(folder)), ("withdraw", "acme", "my-system", "--quarter", "2023Q2")):
        assert "[closed]" in run(*late, code=1, text=True)
    cli("score", "--quarter", "2023Q2")


def test_what_was_withdrawn_in_time_is_not_listed(run) -> None:
    answer(Path(run("new", "--quarter", "2023Q2", *SAID)["folder"]))
    run("add", "submissions/2023Q2/acme/my-system")
    run("withdraw", "acme", "my-system", "--quarter", "2023Q2")
    listed = run("list", "--quarter", "2023Q2")
    assert (listed["entries"], listed["passed_over"], listed["ledger"]["came_in"]) == ([], [], 0)


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (["--team", "Acme", "--contact", "me"], "not-said"),
        ([*SAID, "--team", "HеlloFresh", "--folder", "hf/one"], "look-alike"),  # noqa: RUF001 - Cyrillic
        ([*SAID, "--name", "<b>"], "bad-field"),
        ([*SAID, "--regime", "magic"], "bad-field"),
        ([*SAID, "--name", "Модель"], "bad-folder"),
        ([*SAID, "--folder", "acme/../x"], "bad-folder"),
        ([*SAID, "--folder", "/etc"], "bad-folder"),
        ([*SAID, "--task", "chess"], "unknown-name"),
    ],
)
def test_new_writes_nothing_that_the_check_would_refuse(run, said: list[str], code: str, tmp_path) -> None:
    assert f"[{code}]" in run(
        "new", "--quarter", "2023Q2", *said, code=2 if code in {"not-said", "unknown-name"} else 1, text=True
    )
    assert not (tmp_path / "submissions").exists()


def test_new_overwrites_nothing(run) -> None:
    run("new", "--quarter", "2023Q2", *SAID)
    assert "[exists]" in run("new", "--quarter", "2023Q2", *SAID, code=1, text=True)


@pytest.mark.parametrize(
    ("moment", "said"),
    [
        (OPEN, "accepted until 2023-10-15T00:00:00Z; labels are revealed on 2023-10-22T00:00:00Z"),
        (CLOSED, "accepted until 2023-10-15T00:00:00Z, so submissions no longer count"),
        ("2023-11-01T00:00:00Z", "public since 2023-10-22T00:00:00Z, so submissions no longer count"),
    ],
)
def test_new_says_until_when_and_that_an_edition_is_revealed(run, at, moment: str, said: str) -> None:
    at(moment)
    assert said in run("new", "--quarter", "2023Q2", *SAID, text=True)


def test_a_workspace_without_submissions_names_where_they_would_be(run, tmp_path) -> None:
    assert run("list", "--folder", text=True) == f"{tmp_path / 'submissions'} (does not exist yet)"
    assert f"The folder {tmp_path / 'submissions'} does not exist yet" in run("list", "--quarter", "2023Q2", text=True)


def test_a_folder_that_says_no_quarter_needs_one_named(run, tmp_path) -> None:
    (tmp_path / "x").mkdir()
    assert "[no-quarter]" in run("check", str(tmp_path / "x"), code=2, text=True)


def test_the_ids_tell_the_quarter(run, tmp_path, make) -> None:
    folder = Path(run("new", "--quarter", "2023Q2", *SAID)["folder"])
    answer(folder)
    alone = tmp_path / "mine.jsonl"
    alone.write_bytes((folder / "predictions.jsonl").read_bytes())
    assert run("check", str(alone))["ok"]
    later = [make.note(n, date=datetime(2023, 7, n - 99, tzinfo=UTC)) for n in range(100, 108)]
    make.release([make.candidate(note, n % 2) for n, note in enumerate(later)], quarter=Quarter(2023, 3))
    said = run("check", str(folder), "--quarter", "2023Q3", code=1, text=True)
    assert "these ids are of 2023Q2, not of 2023Q3" in said


@pytest.fixture
def served(at, tmp_path, serve) -> str:
    return serve(tmp_path / "data" / "releases")


def test_public_samples_are_enough_by_folder_or_by_address(run, served, tmp_path, monkeypatch) -> None:
    folder = run("new", "--quarter", "2023Q2", *SAID, "--submissions", "drafts")["folder"]
    answer(Path(folder))
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path / "empty"))
    assert "[no-release]" in run("check", folder, code=1, text=True)
    for samples in (str(tmp_path / "data"), str(tmp_path / "data/releases"), served, f"{served}/"):
        assert run("check", folder, "--samples", samples)["ok"]
    assert "[no-release]" in run("check", folder, "--samples", f"{served}/nowhere", code=1, text=True)
    assert "[cannot-fetch]" in run("check", folder, "--samples", "http://127.0.0.1:1", code=1, text=True)
    assert "[bad-address]" in run("check", folder, "--samples", "file:///etc", code=1, text=True)
    samples = tmp_path / "data/releases/2023Q2/x-notes/samples.jsonl"
    samples.write_bytes(samples.read_bytes() + b"\n")
    assert "[bad-hash]" in run("check", folder, "--samples", served, code=1, text=True)


def test_what_has_changed_is_checked_against_the_folder_before(run, tmp_path) -> None:
    (tmp_path / "base").mkdir()
    answer(Path(run("new", "--quarter", "2023Q2", *SAID)["folder"]))
    against = ("check", "submissions", "--against", "base")
    found = run(*against)
    assert (found["ok"], found["entries"][0]["entry"]) == (True, "2023Q2/acme/my-system")
    (tmp_path / "submissions/2023Q2/acme/my-system/run.sh").write_text("x")
    said = run(*against, code=1, text=True)
    assert "[unknown-file]" in said and "do not merge" in said
    assert "[no-folder]" in run("check", "submissions", "--against", "nowhere", code=2, text=True)
