"""Whoever looks at runs disturbs none, and sees one moment of each; a damaged one hides no other."""

from __future__ import annotations

import fcntl
import threading

from hellofresh.core.quarters import Quarter
from hellofresh.models import Answer, Finish, Message, ModelSpec, Request
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.journal import Journal, JournalKey, Scope, snapshot
from hellofresh.runs.plan import RunPlan, next_number, read_plan
from hellofresh.runs.regimes.zero_shot import ZeroShot
from hellofresh.tasks import get_task
from tests.fakes import fails_with

SPEC = ModelSpec("m", "language-model", "A fake.", {})


def add(journal: Journal, number: int) -> None:
    question = JournalKey(f"s{number:05}", "classify", "p", Request((Message("user", ("x" * 2000, "?")),), 15))
    journal.add(Scope(SPEC, ZeroShot()).key(question), question, Answer("yes", Finish.STOP), 0.1)


def test_a_copy_made_while_answers_are_written_holds_the_first_of_them_whole(tmp_path) -> None:
    seen = []
    with Journal(tmp_path) as journal:
        writer = threading.Thread(target=lambda: [add(journal, number) for number in range(400)])
        writer.start()
        try:
            while writer.is_alive():
                with snapshot(tmp_path) as copy:
                    samples = [entry.sample for entry in copy.entries()]
                assert samples == [f"s{number:05}" for number in range(len(samples))]
                seen.append(len(samples))
        finally:
            writer.join()
        with snapshot(tmp_path) as copy:
            assert len(copy) == 400
    assert seen == sorted(seen)
    assert any(0 < number < 400 for number in seen)


def test_a_copy_of_a_run_that_was_cut_off_has_all_that_was_written(tmp_path) -> None:
    with Journal(tmp_path / "run") as journal:
        for number in range(5):
            add(journal, number)
        files = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    left = tmp_path / "left"  # what is there when the process is killed now
    left.mkdir()
    for name, content in files.items():
        (left / name).write_bytes(content)
    assert "journal.sqlite-wal" in files
    with snapshot(left) as copy:
        assert len(copy) == 5
    assert (left / "journal.sqlite-wal").read_bytes() == files["journal.sqlite-wal"]


def test_looking_whether_a_run_goes_on_keeps_nobody_from_starting_it(tmp_path) -> None:
    (tmp_path / "lock").touch()
    with (tmp_path / "lock").open("rb") as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        threading.Timer(0.1, lambda: fcntl.flock(looking, fcntl.LOCK_UN)).start()
        with Journal(tmp_path) as journal:
            assert len(journal) == 0


def test_a_damaged_plan_stands_in_no_other_runs_way(tmp_path) -> None:
    said = Evaluation(Quarter(2023, 2), get_task("x-notes"), "m", prompts="a", limit=1)
    for name, content in (("a", b"{"), ("b", b"[]"), ("c", b"\xff"), ("d", b"")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "plan.json").write_bytes(content)
        with fails_with("damaged-run"):
            read_plan(tmp_path / name)
    assert next_number(tmp_path) == 1
    (tmp_path / "e").mkdir()
    RunPlan(number=7, started="2023-04-03T00:00:00Z", identity={}, evaluation=said).write(tmp_path / "e")
    assert next_number(tmp_path) == 8
