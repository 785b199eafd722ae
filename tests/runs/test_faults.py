"""Whatever stops a run, and whenever: what was answered is not asked again, and the same bytes come out in the end."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import pairwise
from multiprocessing import forkserver
from pathlib import Path

import pytest

from hellofresh.core.editions import Frozen
from hellofresh.core.errors import WorkspaceError
from hellofresh.core.files import read_jsonl
from hellofresh.core.workspace import Workspace
from hellofresh.models import Limits, ModelSpec
from hellofresh.models.catalogue import CATALOGUE, CatalogueEntry
from hellofresh.models.providers.chat import ChatModel
from hellofresh.models.tables import Abilities, Endpoint
from hellofresh.releases.candidates import Collection
from hellofresh.releases.draw.frozen import DatasetSource, freeze
from hellofresh.runs.evaluate import evaluate, resumed
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.export import EvaluationReport
from hellofresh.runs.journal import snapshot
from hellofresh.runs.pace import Patience
from hellofresh.tasks import get_task
from hellofresh.tasks.corrections import MisleadingPost
from hellofresh.tasks.samples import Candidate, Label
from tests.fakes import fails_with
from tests.runs.evaluating import carry_out

EXPORTED = ("predictions.jsonl", "responses.jsonl", "run.json", "transcripts.jsonl")
MOST_UNDER_WAY = 3 * 4
"""Samples open at once."""


FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.runs.evaluating"])


class Evaluating:
    """Carries evaluations out, each in a process of its own that has everything imported."""

    def __init__(self, folder: Path) -> None:
        self.told = folder / "told"

    def start(self, workspace: Workspace, base_url: str, **more: object) -> int:
        order = {"folder": str(workspace.root), "base_url": base_url, "told": str(self.told), **more}
        self.process = FORKS.Process(target=carry_out, args=(order,))
        self.process.start()
        return self.process.pid

    def end(self) -> int:
        self.process.join(300)
        return self.process.exitcode

    def whole(self, workspace: Workspace, base_url: str, **more: object) -> int:
        self.start(workspace, base_url, **more)
        return self.end()


@pytest.fixture
def evaluating(tmp_path: Path, root: Path) -> Evaluating:
    with pytest.MonkeyPatch.context() as patch:  # the server of forks starts once, and imports the module only then
        patch.setenv("PYTHONPATH", str(root))
        forkserver.ensure_running()
    return Evaluating(tmp_path)


@pytest.fixture
def workspace(make) -> Workspace:
    make.release(make.notes(2, 2))
    return make.workspace()


@pytest.fixture
def in_memory(workspace: Workspace) -> Iterator[Workspace]:
    """The workspace where flushing costs no time, if there is such a place: killing a process loses no write."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        place = Path(folder) / "data"
        shutil.copytree(workspace.root, place)
        yield Workspace(place)


def sensible(loopback, *, delay_s: float = 0.0):
    """Answers that the question alone decides."""

    def behave(_number: int, body):
        text = "\n".join(message["content"] for message in body["messages"])
        word = ("Yes.", "No.", "Perhaps")[zlib.crc32(text.encode()) % 3]
        return replace(loopback.said(word), delay_s=delay_s)

    return behave


def fresh(workspace: Workspace, name: str) -> Workspace:
    other = workspace.root.parent / name
    shutil.copytree(workspace.root, other, ignore=shutil.ignore_patterns("runs"))
    return Workspace(other)


def the_run(workspace: Workspace) -> Path:
    (folder,) = workspace.runs.iterdir()
    return folder


def exported(workspace: Workspace) -> dict[str, bytes]:
    """What a run has written; only some regimes leave transcripts."""
    folder = the_run(workspace)
    return {name: (folder / name).read_bytes() for name in EXPORTED if (folder / name).is_file()}


def journalled(workspace: Workspace) -> set[str]:
    if not list(workspace.runs.glob("*/journal.sqlite")):
        return set()
    with snapshot(the_run(workspace)) as journal:
        requests = [json.loads(entry.request) for entry in journal.entries()]
    return {"\n".join("".join(message["parts"]) for message in item["messages"]) for item in requests}


def texts(bodies) -> list[str]:
    return ["\n".join(message["content"] for message in body["messages"]) for body in bodies]


def settled(chat) -> int:
    """How many questions came, once those of a process that was killed have all been read."""
    found = -1
    while chat.open_connections or found != len(chat.bodies):
        found = len(chat.bodies)
        time.sleep(0.03)
    return found


def searching(loopback):
    """An agent that searches none to three times, and a search side; the question alone decides what is said."""

    def behave(_number: int, body):
        first, *rest = (message["content"] for message in body["messages"])
        known = zlib.crc32(first.encode())
        turn = len(rest) // 2
        if first.startswith("QUERY: "):
            text = f"A summary of what was found, {known}."
        elif turn < known % 4:
            text = f"I look.\nSEARCH: river silt {known} {turn}\nSearch result: made up."
        else:
            text = f"Summary: so it is.\nDecision: {'helpful' if known % 3 else 'not helpful'}"
        return replace(loopback.said(text), delay_s=0.002)

    return behave


@pytest.fixture
def small_corpus(tmp_path: Path) -> Path:
    """Settings that name a corpus of three pages."""
    pages = tmp_path / "corpus" / "rivers"
    pages.mkdir(parents=True)
    for number in range(1, 4):
        head = f'url = "https://p{number}.example/{number}"\ntitle = "River {number}"\ndate = 2023-03-0{number}\n'
        (pages / f"page-{number}.md").write_text(f"+++\n{head}+++\n\nA river carries silt, on page {number}.\n")
    config = tmp_path / "hellofresh.toml"
    config.write_text(f'[web]\ncorpus = "{tmp_path / "corpus"}"\n')
    return config


def correcting(loopback):
    """Writes queries, quotes the first sentence of each page, and responds; the question alone decides what is said."""

    def behave(_number: int, body):
        text = body["messages"][0]["content"]
        if "Write queries" in text:
            said = f"river silt\nriver {zlib.crc32(text.encode()) % 5}"
        elif "WEB PAGE" in text:
            said = "CONTEXT: A river carries silt, on page"
        else:
            said = "This post is misleading: rivers carry silt.\nhttps://p1.example/1\nhttps://none.example/"
        return replace(loopback.said(said), delay_s=0.002)

    return behave


def freeze_posts(workspace: Workspace) -> None:
    """Two posts of our own as an edition of corrections."""
    source = DatasetSource(name="ours", address="https://example.org", published=date(2023, 6, 1), licence="CC0-1.0")
    about = {"task": "corrections", "edition": "posts@1", "period": "all", "license": "CC0-1.0"}
    about |= dict.fromkeys(("modality", "domain", "address"), "")
    when = datetime(2023, 5, 10, 12, tzinfo=UTC)
    posts = [
        MisleadingPost(**about, id=f"mp-{n}", date=when, group=f"g-{n}", post=str(n), text=f"River {n} has no silt.")
        for n in (1, 2)
    ]
    found = Collection.whole([Candidate(post, Label(post.id, 0, {})) for post in posts], [], unit="posts")
    freeze(workspace, Frozen("posts", "1"), get_task("corrections"), found, source)


SEARCHES = {"regime": "search-agent", "settings": ["k=2"]}
CORRECTS = {"regime": "correction", "settings": ["relevance=-1"], "in_flight": 2, "task": "corrections",
            "edition": "posts@1", "prompts": "manual"}  # fmt: skip
SOAK = [pytest.mark.soak, pytest.mark.timeout(1800)]


@pytest.mark.parametrize(
    ("behaviour", "order", "kills"),
    [
        (sensible, {"prompts": "manual"}, 8),
        (sensible, {"prompts": "all"}, 8),
        pytest.param(searching, SEARCHES, 2, marks=pytest.mark.slow),
        pytest.param(correcting, CORRECTS, 1, marks=pytest.mark.slow),
        pytest.param(sensible, {"prompts": "all"}, 100, marks=SOAK),
        pytest.param(searching, SEARCHES, 60, marks=SOAK),
        pytest.param(correcting, CORRECTS, 60, marks=SOAK),
    ],
)
def test_kill_9_at_any_instant_pays_for_nothing_twice_and_ends_with_the_same_bytes(
    evaluating, in_memory, chat, loopback, small_corpus, behaviour, order, kills: int
) -> None:
    if order is CORRECTS:
        freeze_posts(in_memory)
    chat.behave = behaviour(loopback)
    order = {**order, "config": str(small_corpus)}
    reference = fresh(in_memory, "reference")
    assert evaluating.whole(reference, chat.base_url, **order) == 0
    start = time.monotonic()  # the first one opens what the others share
    assert evaluating.whole(fresh(in_memory, "timed"), chat.base_url, **order) == 0
    usual_s = time.monotonic() - start
    expected = exported(reference)
    source, killed, finished = random.Random(repr(order)), 0, 0
    while killed < kills:
        place = fresh(in_memory, f"killed-{finished}")
        finished += 1
        while True:
            kept, before = journalled(place), settled(chat)
            evaluating.start(place, chat.base_url, **order)
            time.sleep(source.random() * usual_s)
            evaluating.process.kill()
            status = evaluating.end()
            asked = Counter(texts(chat.bodies[before:]))
            assert not kept & asked.keys()
            assert not asked or max(asked.values()) == 1
            if status == 0:  # it was faster
                break
            assert status == -signal.SIGKILL
            killed += 1
            assert kept <= journalled(place)
            assert len(asked.keys() - journalled(place)) <= MOST_UNDER_WAY
        assert exported(place) == expected
        shutil.rmtree(place.root)


KILLS = int(os.environ.get("HELLOFRESH_KILLS", "500"))
IN_FLIGHT, GRACE_S = 32, 0.05


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_no_kill_loses_an_answer_that_was_sent_50_ms_before(
    evaluating, in_memory, chat, loopback, record_property
) -> None:
    place_of = in_memory
    chat.behave = sensible(loopback, delay_s=0.2)
    reference = fresh(place_of, "reference")
    start = time.monotonic()
    assert evaluating.whole(reference, chat.base_url, in_flight=IN_FLIGHT) == 0
    usual_s = time.monotonic() - start
    source, kills, lost, in_socket, finished = random.Random(8), 0, 0, 0, 0
    while kills < KILLS:
        place = fresh(place_of, f"killed-{finished}")
        finished += 1
        while True:
            settled(chat)
            before, kept = len(chat.sent), journalled(place)
            evaluating.start(place, chat.base_url, in_flight=IN_FLIGHT)
            time.sleep(source.random() * usual_s)
            killed_at = time.monotonic()
            evaluating.process.kill()
            if evaluating.end() == 0:
                break
            kills += 1
            settled(chat)
            have = journalled(place)
            assert kept <= have
            sent = {text: moment for text, moment in chat.sent[before:] if moment < killed_at}
            missing = {text: moment for text, moment in sent.items() if text not in have}
            in_socket += sum(moment >= killed_at - GRACE_S for moment in missing.values())
            lost += sum(moment < killed_at - GRACE_S for moment in missing.values())
        assert exported(place) == exported(reference)
        shutil.rmtree(place.root)
    record_property("in_socket", in_socket)
    print(f"{kills} kills over {finished} runs: {lost} lost, {in_socket} were still in the socket")
    assert lost == 0


def test_sigterm_ends_a_run_in_order_and_keeps_what_was_under_way(evaluating, workspace, chat, loopback) -> None:
    chat.behave = sensible(loopback, delay_s=0.4)
    child = evaluating.start(workspace, chat.base_url)
    while len(chat.bodies) < 6:
        time.sleep(0.01)
    os.kill(child, signal.SIGTERM)
    assert evaluating.end() == 128 + signal.SIGTERM
    assert evaluating.told.read_text().startswith("stopped: ")
    assert journalled(workspace) == set(texts(chat.bodies))
    chat.behave = sensible(loopback)
    assert evaluating.whole(workspace, chat.base_url) == 0
    assert set(chat.asked.values()) == {1}


def test_a_second_sigterm_does_not_wait_for_answers(evaluating, workspace, chat, loopback) -> None:
    chat.behave = sensible(loopback, delay_s=200)
    child = evaluating.start(workspace, chat.base_url, timeout_s=600.0, drain_s=600.0)
    while len(chat.bodies) < 4:
        time.sleep(0.01)
    start = time.monotonic()
    os.kill(child, signal.SIGTERM)
    time.sleep(0.5)
    while evaluating.process.is_alive():  # two that came at once, before the process had its turn, count as one
        os.kill(child, signal.SIGTERM)
        evaluating.process.join(20)
    assert evaluating.end() == 128 + signal.SIGTERM
    assert time.monotonic() - start < 150


@pytest.fixture
def here(workspace, chat, loopback, monkeypatch, quarter, notes_task):
    """Evaluates in this process, with an endpoint whose answers the question alone decides unless told otherwise."""
    chat.behave = sensible(loopback)
    basic = replace(Evaluation(quarter, notes_task, "loop"), patience=Patience(first_s=0.01, most_s=0.05))

    def evaluated(
        place: Workspace = workspace, *, url="", limits=None, timeout_s=5.0, resume="", **more
    ) -> EvaluationReport:
        spec = ModelSpec("loop", "language-model", "A loopback endpoint.", {}, limits=limits or Limits(4))
        model = ChatModel(spec, Endpoint(url or chat.base_url, "loop", timeout_s=timeout_s), Abilities())
        monkeypatch.setitem(CATALOGUE, "loop", CatalogueEntry("Loopback.", lambda _: model))
        asked = replace(resumed(place, resume), patience=basic.patience) if resume else basic
        return evaluate(place, replace(asked, **more), lambda _: None)

    return evaluated


def test_a_full_disk_ends_the_run_and_room_lets_it_go_on(evaluating, workspace, chat, loopback) -> None:
    chat.behave = sensible(loopback)
    for size in (200, 2_000, 20_000, 33_000, 40_000):
        assert evaluating.whole(workspace, chat.base_url, most_bytes=size) != 0
        told = evaluating.told.read_text()
        assert told.startswith(("journal-write: ", "unwritable: ")) and "Move" not in told
    kept = journalled(workspace)
    assert 0 < len(kept) < 60
    before = len(chat.bodies)
    assert evaluating.whole(workspace, chat.base_url) == 0
    assert not kept & set(texts(chat.bodies[before:]))


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount, and not in every container")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_file_system_and_one_that_is_read_only(mounted, workspace, chat, here) -> None:
    (mounted / "runs").mkdir()
    workspace.runs.symlink_to(mounted / "runs")
    (mounted / "ballast").write_bytes(b"x" * 4_000_000)
    with fails_with("journal-write"):
        here()
    (mounted / "ballast").unlink()
    kept, before = journalled(workspace), len(chat.bodies)
    assert kept
    assert here().judged == 12
    assert not kept & set(texts(chat.bodies[before:]))
    subprocess.run(["mount", "-o", "remount,ro", str(mounted)], check=True)
    with fails_with("unwritable"):
        here()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_refused(workspace, chat, here) -> None:
    workspace.runs.mkdir()
    workspace.runs.chmod(0o500)
    with pytest.raises(WorkspaceError):
        here()
    assert chat.bodies == []


def test_a_flipped_byte_is_named_with_its_row_and_only_that_is_asked_again(workspace, chat, here) -> None:
    here()
    whole = exported(workspace)
    path = the_run(workspace) / "journal.sqlite"
    content = path.read_bytes()
    place = content.index(b'"Yes."')
    path.write_bytes(content[:place] + b'"Yex."' + content[place + 6 :])
    with fails_with("bad-journal") as caught:
        here()
    assert "row " in str(caught.value) and "xn-" in str(caught.value) and "--drop-damaged" in str(caught.value)
    before = len(chat.bodies)
    here(drop_damaged=True)
    assert len(chat.bodies) == before + 1
    assert exported(workspace) == whole


def test_a_clock_a_day_back_changes_nothing(workspace, chat, here, monkeypatch) -> None:
    reference = fresh(workspace, "reference")
    here(reference)
    here(limit=5)
    real, before = time.time, len(chat.bodies)
    monkeypatch.setattr(time, "time", lambda: real() - 86_400)
    here()
    assert len(chat.bodies) == before + 35
    assert exported(workspace) == exported(reference)


def test_an_unknown_host_ends_the_run_and_says_so(here) -> None:
    with fails_with("unreachable"):
        here(url="http://nowhere.invalid/v1")


FAULTS = {
    "429 that says for how long": {"status": 429, "headers": {"Retry-After": "0.05"}, "body": b"{}"},
    "429 that does not": {"status": 429, "body": b"{}"},
    "error": {"status": 500, "body": b'{"error": {"message": "oops"}}'},
    "reset amid the body": {"reset": True, "cut_at": 30},
    "closed amid the body": {"cut_at": 30},
    "no JSON": {"body": b'{"choices": [{"mess'},
    "error in a good reply": {"body": b'{"error": {"message": "upstream", "code": 502}}'},
    "stall": {"delay_s": 30.0},
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_now_and_then_changes_nothing_of_what_comes_out(workspace, chat, here, name: str) -> None:
    good, reference, met = chat.behave, fresh(workspace, "reference"), set()
    here(reference)
    start = len(chat.bodies)

    def behave(n: int, body: object) -> object:
        """Every ninth question meets the fault, the first time that it is asked."""
        first = repr(body) not in met
        met.add(repr(body))
        return replace(good(n, body), **(FAULTS[name] if first and len(met) % 9 == 0 else {}))

    chat.behave = behave
    evaluated = here(timeout_s=1.0)
    assert (evaluated.judged, evaluated.failed) == (12, 0)
    assert len(chat.bodies) - start > 60
    assert exported(workspace) == exported(reference)


def test_a_question_that_always_fails_costs_its_sample_only(chat, loopback, here) -> None:
    good = chat.behave
    broken = loopback.Reply(b'{"error": {"message": "cannot tokenise this"}}', 500)
    chat.behave = lambda n, body: broken if "Note 4001" in str(body) else good(n, body)
    evaluated = here()
    assert (evaluated.judged, evaluated.failed) == (11, 1)
    (failure,) = read_jsonl(evaluated.folder / "errors.jsonl")
    assert (failure["sample"], failure["attempts"]) == ("xn-4001", 3)
    assert "cannot tokenise this" in failure["error"]
    assert "xn-4001" not in (evaluated.folder / "predictions.jsonl").read_text()
    chat.behave, before = good, len(chat.bodies)
    again = here()
    assert (again.judged, again.failed, len(chat.bodies) - before) == (12, 0, 5)
    assert not (again.folder / "errors.jsonl").exists()


@pytest.mark.parametrize(("status", "code"), [(401, "not-authorised"), (404, "unknown-model")])
def test_what_would_hit_every_question_ends_the_run_after_those_under_way(
    workspace, chat, loopback, here, status: int, code: str
) -> None:
    good = sensible(loopback, delay_s=0.05)
    chat.behave = lambda n, body: loopback.Reply(b"{}", status) if n == 10 else good(n, body)
    with fails_with(code):
        here()
    assert len(chat.bodies) < 20
    assert len(journalled(workspace)) == len(chat.bodies) - 1


def test_a_request_that_no_question_gets_through_ends_the_run(chat, loopback, here) -> None:
    chat.behave = lambda _n, _body: loopback.Reply(b'{"error": {"message": "no such parameter"}}', 400)
    with fails_with("bad-request"):
        here(limits=Limits(1))
    assert len(chat.bodies) == 3


def test_all_back_off_together_where_half_are_refused(chat, loopback, here) -> None:
    good = sensible(loopback, delay_s=0.01)
    wait = {"Retry-After": "0.6"}
    chat.behave = lambda n, body: loopback.Reply(b"{}", 429, wait) if 20 <= n < 35 else good(n, body)
    assert here(limits=Limits(8)).judged == 12
    gaps = [later - earlier for earlier, later in pairwise(chat.times)]
    assert max(gaps[:40]) > 0.5  # before those come that were asked for the first time


def test_a_run_is_resumed_by_its_id_and_refused_if_anything_has_changed(make, chat, here) -> None:
    first = here(limit=5, prompts="manual", repeat=2, temperature=0.3)
    (first.folder / "run.json").unlink()
    before = len(chat.bodies)
    again = here(resume=first.run_id[-6:])
    assert (again.run_id, again.judged, len(chat.bodies)) == (first.run_id, 5, before)
    make.release(make.notes(3, 3))
    with fails_with("run-changed", "samples_sha256 was"):
        here(resume=first.run_id)


def test_runs_may_be_asked_for_from_any_thread(here) -> None:
    found: list[EvaluationReport] = []
    thread = threading.Thread(target=lambda: found.append(here()))
    thread.start()
    thread.join(300)
    assert [item.judged for item in found] == [12]
