"""The journal finds exactly what was stored, whatever happened in between, and whoever looks at runs disturbs none."""

from __future__ import annotations

import asyncio
import fcntl
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from hellofresh.core.errors import RunError
from hellofresh.core.quarters import Quarter
from hellofresh.models import Answer, Finish, Limits, Message, ModelSpec, Request
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.journal import Journal, JournalKey, Scope, snapshot
from hellofresh.runs.plan import RunPlan, next_number, read_plan
from hellofresh.runs.regimes.web_search import WebSearch, WebSearchSettings
from hellofresh.runs.regimes.zero_shot import ZeroShot
from hellofresh.tasks import get_task
from tests.fakes import fails_with

SPEC = ModelSpec("fake", "language-model", "A fake.", {"seed": 1, "weights": "abc"})
REQUEST = Request((Message("user", ("sample", "question")),), max_tokens=15)
QUESTION = JournalKey("xn-1", "classify", "manual", REQUEST)

CHILD = """
import asyncio, os, signal, sys
from pathlib import Path
from hellofresh.models import Answer, Finish, Message, Request
from hellofresh.runs.journal import Journal, JournalKey

async def main():
    with Journal(Path(sys.argv[1])) as journal:
        journal.gather_s = float(sys.argv[3])
        for n in range(int(sys.argv[2])):
            question = JournalKey(f"xn-{n:04d}", "classify", "manual", Request((Message("user", (str(n),)),), 15))
            journal.store(f"key {n}", question, Answer(f"yes {n}", Finish.STOP), 0.5)
            if n % 10 == 9:
                await asyncio.sleep(0.001)  # some are being flushed
        await asyncio.sleep(0)  # the turn of the loop that commits the last
        print("done", flush=True)
        if sys.argv[4] == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        sys.stdin.read()

asyncio.run(main())
"""


def child(folder: Path, stored: int, gather_s: str, then: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", CHILD, str(folder), str(stored), gather_s, then]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


@pytest.mark.parametrize("gather_s", ["0", "0.002", "600"])
@pytest.mark.parametrize("stored", [1, 95])
def test_an_answer_that_was_handed_over_outlives_its_process_before_it_is_flushed(
    tmp_path, stored: int, gather_s: str
) -> None:
    with child(tmp_path, stored, gather_s, "die") as process:
        assert process.wait(timeout=300) == -9
    with snapshot(tmp_path) as journal:
        assert len(journal) == stored
    with Journal(tmp_path) as journal:
        assert [entry.answer.text for entry in journal.entries()] == [f"yes {n}" for n in range(stored)]


def test_a_second_process_is_kept_out_at_once_and_let_in_when_the_first_is_killed(tmp_path) -> None:
    with child(tmp_path, 1, "0", "wait") as process:
        assert process.stdout is not None and process.stdout.readline() == b"done\n"
        start = time.monotonic()
        with fails_with("run-locked"):
            Journal(tmp_path)
        assert time.monotonic() - start < 30
        process.kill()
        process.wait(timeout=300)
    with Journal(tmp_path) as journal:
        assert len(list(journal.entries())) == 1


@pytest.mark.parametrize(
    "answer", [Answer("half \ud83d", Finish.STOP), Answer("yes", Finish.STOP, logprobs={"no": float("-inf")})]
)
def test_an_answer_that_cannot_be_kept_is_refused_by_name(tmp_path, answer: Answer) -> None:
    with Journal(tmp_path) as journal:
        with fails_with("bad-answer"):
            journal.add("key", QUESTION, answer, 0.0)
        assert journal.find("key") is None


def test_the_same_question_is_not_stored_twice(tmp_path) -> None:
    with Journal(tmp_path) as journal:
        journal.add("key", QUESTION, Answer("yes", Finish.STOP), 0.0)
        with pytest.raises(RunError):
            journal.add("key", QUESTION, Answer("no", Finish.STOP), 0.0)
        assert journal.find("key") == Answer("yes", Finish.STOP)


SYSTEM = Message("system", ("sample", "question"))


class Newer(ZeroShot):
    version = 99


OTHERS = {
    "model's name": (replace(SPEC, name="other"), ZeroShot(), QUESTION),
    "changed parameter": (replace(SPEC, parameters={"seed": 2, "weights": "abc"}), ZeroShot(), QUESTION),
    "added parameter": (replace(SPEC, parameters={**SPEC.parameters, "x": 1}), ZeroShot(), QUESTION),
    "parameter of another type": (replace(SPEC, parameters={"seed": "1", "weights": "abc"}), ZeroShot(), QUESTION),
    "regime": (SPEC, ZeroShot(name="other"), QUESTION),
    "regime's version": (SPEC, Newer(), QUESTION),
    "regime's setting": (SPEC, WebSearch(WebSearchSettings(pages=3)), QUESTION),
    "regime without it": (SPEC, WebSearch(), QUESTION),
    "sample": (SPEC, ZeroShot(), replace(QUESTION, sample="xn-2")),
    "step": (SPEC, ZeroShot(), replace(QUESTION, step="other")),
    "prompt": (SPEC, ZeroShot(), replace(QUESTION, prompt="other")),
    "words": (SPEC, ZeroShot(), replace(QUESTION, request=replace(REQUEST, messages=(Message("user", ("x",)),)))),
    "part": (SPEC, ZeroShot(), replace(QUESTION, role="summariser")),
    "speaker": (SPEC, ZeroShot(), replace(QUESTION, request=replace(REQUEST, messages=(SYSTEM,)))),
    "cap of tokens": (SPEC, ZeroShot(), replace(QUESTION, request=replace(REQUEST, max_tokens=16))),
    "temperature": (SPEC, ZeroShot(), replace(QUESTION, request=replace(REQUEST, temperature=0.5))),
}


def test_every_change_of_what_decides_an_answer_gives_another_key() -> None:
    keys = {Scope(spec, regime).key(question) for spec, regime, question in OTHERS.values()}
    assert len(keys) == len(OTHERS)
    assert Scope(SPEC, ZeroShot()).key(QUESTION) not in keys


def test_what_decides_nothing_changes_no_key(make) -> None:
    same = replace(SPEC, about="Other words.", limits=Limits(9), parameters={"weights": "abc", "seed": 1})
    with_sample = replace(QUESTION, request=replace(REQUEST, sample=make.note(1)))
    assert Scope(same, ZeroShot()).key(with_sample) == Scope(SPEC, ZeroShot()).key(QUESTION)


def stored(folder: Path) -> Path:
    with Journal(folder) as journal:
        for n in range(40):
            question = JournalKey(f"sample-{n:02d}", "classify", f"prompt-{n:02d}", REQUEST, role=f"role-{n:02d}")
            journal.add(f"key-{n:02d}", question, Answer(f"answer-{n:02d}", Finish.STOP), 0.5)
    path = folder / "journal.sqlite"
    assert not [entry for entry in folder.iterdir() if "wal" in entry.name]
    return path


@pytest.mark.parametrize("field", ["sample-07", "prompt-07", "classify", "answer-07", "key-07", "role-07", "stop"])
def test_a_flipped_byte_is_detected(tmp_path, field: str) -> None:
    path = stored(tmp_path)
    content = bytearray(path.read_bytes())
    place = content.index(field.encode()) + len(field) - 1
    content[place] ^= 1
    path.write_bytes(content)
    with Journal(tmp_path) as journal, fails_with("bad-journal"):
        list(journal.entries())


@pytest.mark.parametrize("start", [0, 100, 4096, 12288])
def test_a_page_of_rubbish_is_refused_without_a_traceback_of_sqlite(tmp_path, start: int) -> None:
    path = stored(tmp_path)
    content = bytearray(path.read_bytes())
    rubbish = b"\xfe\x01rubbish!" * 400
    content[start : start + len(rubbish)] = rubbish
    path.write_bytes(content)
    with fails_with("bad-journal"), Journal(tmp_path) as journal:
        list(journal.entries())
        for n in range(40):
            assert journal.find(f"key-{n:02d}") == Answer(f"answer-{n:02d}", Finish.STOP)


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path) -> None:
    (tmp_path / "journal.sqlite").write_bytes(b"not a database at all" * 300)
    for _ in range(2):  # the lock is free again after the refusal
        with fails_with("bad-journal"):
            Journal(tmp_path)
    assert (tmp_path / "journal.sqlite").read_bytes().startswith(b"not a database")


def test_a_folder_that_cannot_be_made_is_named(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with fails_with("unwritable"):
        Journal(tmp_path / "file")


def test_a_journal_serves_one_event_loop_after_another(tmp_path) -> None:
    async def work(journal: Journal, *, store: bool) -> None:
        if store:
            await journal.store_trace("xn-1", 1, [])
        await journal.flush()

    with Journal(tmp_path) as journal:
        for store in (True, False, True):
            asyncio.run(work(journal, store=store))
        assert [sample for sample, *_ in journal.traces()] == ["xn-1"]


def add(journal: Journal, number: int) -> None:
    question = JournalKey(f"s{number:05}", "classify", "p", Request((Message("user", ("x" * 2000, "?")),), 15))
    journal.add(Scope(SPEC, ZeroShot()).key(question), question, Answer("yes", Finish.STOP), 0.1)


def test_a_copy_made_while_answers_are_written_holds_the_first_of_them_whole(tmp_path) -> None:
    seen, copied = [], threading.Event()

    def write(journal: Journal) -> None:
        for number in range(400):
            if number == 200:
                copied.wait()
            add(journal, number)

    with Journal(tmp_path) as journal:
        writer = threading.Thread(target=write, args=(journal,))
        writer.start()
        try:
            while writer.is_alive():
                with snapshot(tmp_path) as copy:
                    samples = [entry.sample for entry in copy.entries()]
                assert samples == [f"s{number:05}" for number in range(len(samples))]
                seen.append(len(samples))
                if samples:
                    copied.set()
        finally:
            copied.set()
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
