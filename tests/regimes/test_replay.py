"""Running a submitted system again: an exact test, a confined program, and statements that nobody can rewrite."""

from __future__ import annotations

import asyncio
import ctypes
import itertools
import json
import os
import platform
import shutil
import socket
import stat
import sys
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from hellofresh.cli import main
from hellofresh.core.errors import DataError, RunError, SubmissionError, UsageError
from hellofresh.core.files import read_jsonl
from hellofresh.core.quarters import Quarter
from hellofresh.results.scores import score_quarter
from hellofresh.runs.confinement import ConfinedProgram, ProcessLimits, check_command
from hellofresh.runs.regimes.endpoint.server import EndpointServer
from hellofresh.stats.agreement import exchange_p_values, further_repetition
from hellofresh.submissions.changes import check_changes
from hellofresh.submissions.check import inspect_submission
from hellofresh.submissions.receipts import new_receipt, write_receipt
from hellofresh.submissions.released import due_in
from hellofresh.submissions.replays import read_replays, signing_key
from tests.submissions.checks import write_submission

QUARTER = Quarter(2023, 2)
PROGRAM = """
import json, os, sys, urllib.request
asks = "asks" in sys.argv
def post(address, body):
    head = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}
    request = urllib.request.Request(address, json.dumps(body).encode() if body else None, head)
    return json.load(urllib.request.urlopen(request, timeout=60))
try:
    urllib.request.urlopen("http://example.org/labels", timeout=5)
    sys.exit("reached")
except OSError:
    pass
for sample in post(os.environ["HELLOFRESH_ENDPOINT"] + "/samples", None)["samples"]:
    said = "Yes." if "yes" in sys.argv else "No."
    if asks:
        turns = [{"role": "user", "content": sample["question"]}]
        answer = post(sample["base_url"] + "/chat/completions", {"model": "main", "messages": turns})
        said = answer["choices"][0]["message"]["content"]
    post(sample["base_url"] + "/output", {"label": int(said == "Yes.")})
"""
HOSTILE = """
import ctypes, json, os, socket, stat, sys
found = {"here": os.listdir("."), "folders": sorted(os.listdir("/")), "read": [], "wrote": [], "sockets": [],
         "parents": [], "traced": [], "environment": sorted(os.environ), "inherited": []}
secret = SECRET[::-1]
for folder, below, names in os.walk("/", onerror=lambda error: None):
    below[:] = [name for name in below if os.path.join(folder, name) not in ("/proc", "/usr", PYTHON)]
    for name in names:
        path = os.path.join(folder, name)
        try:
            kind = os.lstat(path).st_mode
            if stat.S_ISSOCK(kind):
                one = socket.socket(socket.AF_UNIX)
                one.connect(path)
                found["sockets"].append(path)
            elif stat.S_ISREG(kind) and secret.encode() in open(path, "rb").read():
                found["read"].append(path)
        except OSError:
            pass
for folder in ("/", "/usr", "/usr/bin", "/etc", "/home", "/run", "/var", "/dev", "/root", "/work", "/proc", PYTHON,
               os.path.dirname(sys.argv[0]), *WANTED):
    try:
        open(os.path.join(folder, "written"), "w").close()
        found["wrote"].append(folder)
    except OSError:
        pass
for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", sys.argv[0], *WANTED):
    try:
        open(path, "r+").close()
        found["wrote"].append(path)
    except OSError:
        pass
for number in filter(str.isdigit, os.listdir("/proc")):
    try:
        found["parents"].append(open(f"/proc/{number}/cmdline").read())
        for name in os.listdir(f"/proc/{number}/root/home"):
            found["read"].append(name)
        found["inherited"] += [os.readlink(f"/proc/{number}/fd/{one}") for one in os.listdir(f"/proc/{number}/fd")]
    except OSError:
        pass
libc = ctypes.CDLL(None)
found["traced"] += [one for one in (OUTSIDE, 1) if libc.ptrace(16, one, 0, 0) == 0]
first = libc.syscall(434, 1, 0)
found["traced"] += [one for one in range(16) if libc.syscall(438, first, one, 0) >= 0]
for name in os.listdir("/dev"):
    path = os.path.join("/dev", name)
    try:
        if not os.path.islink(path) and name not in ("pts", "shm"):
            os.chmod(path, stat.S_IMODE(os.stat(path).st_mode))
            found["wrote"].append(path)
    except OSError:
        pass
for family in (socket.AF_INET, socket.AF_INET6):
    for port in OPEN:
        try:
            socket.create_connection(("127.0.0.1" if family == socket.AF_INET else "::1", port), timeout=1)
            found["sockets"].append(port)
        except OSError:
            pass
one = socket.socket(socket.AF_UNIX)
try:
    one.connect(ABSTRACT)
    found["sockets"].append("abstract")
except OSError:
    pass
key = libc.syscall(KEYCTL, 10, -3, b"user", ABSTRACT[1:].encode(), 0)
found["kernel"] = ["key"] if key > 0 else []
found["kernel"] += ["shared memory"] if libc.shmget(0, 4096, 0o1600) >= 0 else []
found["kernel"] += ["memory of no process"] if libc.memfd_create(b"held", 0) >= 0 else []
for family in set(range(46)) - {1, 2, 10, 16}:
    found["kernel"] += [family] if libc.socket(family, 1, 0) >= 0 or libc.socket(family, 2, 0) >= 0 else []
found["paths"] = socket.socketpair() and libc.socket(16, 3, 0) >= 0
print(json.dumps(found))
print("\\x1b]0;forged\\x07\\x1b[2J")
"""
_KEYS = {"x86_64": (248, 250), "aarch64": (217, 219)}
"""The numbers of the calls add_key and keyctl."""


def brute(given, repeated) -> float:
    every = [[one, *others] for one, others in zip(given, repeated, strict=True)]
    differ = [[sum(a != b for b in row) for a in row] for row in every]
    observed, sums = sum(row[0] for row in differ), [sum(some) for some in itertools.product(*differ)]
    tails = sum(one >= observed for one in sums), sum(one <= observed for one in sums)
    return min(1.0, 2 * min(tails) / len(sums))


def test_the_p_value_is_the_share_of_all_exchanges_that_disagree_as_much() -> None:
    random = np.random.default_rng(0)
    for _ in range(20):
        given, repeated = random.integers(-1, 2, 5), random.integers(-1, 2, (5, 3))
        assert exchange_p_values(given[None], repeated)[0] == pytest.approx(brute(given, repeated))
    same = np.zeros((20, 3), dtype=np.int64)
    few = np.arange(20) < np.arange(5)[:, None]
    assert exchange_p_values(few, same) == pytest.approx(np.minimum(1, 2 * 0.25 ** np.arange(5)))
    # Corrected answers of a system that errs at random agree better with it than it does with itself.
    erring = (random.uniform(size=(60, 3)) < 0.2).astype(np.int64)
    assert exchange_p_values(np.zeros((1, 60), dtype=np.int64), erring)[0] < 0.01


def test_a_system_that_is_uploaded_as_it_is_is_called_another_as_seldom_as_the_level_says() -> None:
    random = np.random.default_rng(1)
    chances = random.uniform(size=(2000, 20, 1))
    said = (random.uniform(size=(2000, 20, 4)) < chances).astype(np.int64)
    found = [exchange_p_values(one[None, :, 0], one[:, 1:])[0] <= 0.05 for one in said]
    assert np.mean(found) <= 0.06


def test_answers_that_follow_no_sample_agree_by_chance_and_the_power_is_as_it_is_stated() -> None:
    rare = (np.arange(20) % 6 == 5).astype(np.int64)  # yes in 85%
    always = further_repetition(rare, np.zeros((20, 3), dtype=np.int64))
    assert always.p_value > 0.01 and always.by_chance == 1.0  # it passes the first test, and must not pass both
    own = further_repetition(rare, np.repeat(rare[:, None], 3, axis=1))
    assert own.p_value == 1.0 and own.by_chance < 0.01
    # Four differing answers of twenty are found: the share at which four or more differ nine times of ten.
    random = np.random.default_rng(2)
    often = [(random.uniform(size=(4000, 20)) < own.finds + step).sum(axis=1) >= 4 for step in (-0.02, 0.02)]
    assert np.mean(often[0]) < 0.91 and np.mean(often[1]) > 0.89


# The confinement


@pytest.fixture
def bubblewrap() -> None:
    """Skips where a program cannot be confined, but for where all must run."""
    try:
        check_command([sys.executable], [])
    except UsageError as error:
        if os.environ.get("HELLOFRESH_REQUIRE_INTEGRATION"):
            raise
        pytest.skip(str(error))


@pytest.fixture
def confined(bubblewrap, tmp_path: Path):
    """Runs the text of a Python program confined; gives what it printed, and the program as it ended."""

    def ran(source: str, limits: ProcessLimits | None = None) -> tuple[str, ConfinedProgram]:
        place = tmp_path / "theirs"
        place.mkdir(exist_ok=True)
        (place / "agent.py").write_text(source)
        return ran_confined([sys.executable, str(place / "agent.py")], tmp_path, limits)

    return ran


def ran_confined(
    command: list[str], tmp_path: Path, limits: ProcessLimits | None = None
) -> tuple[str, ConfinedProgram]:
    program = ConfinedProgram(command, tmp_path / "log", limits or ProcessLimits())

    async def live() -> None:
        server, ended = EndpointServer(socket=tmp_path / "endpoint"), asyncio.Event()
        await server.start()
        server.sessions["one"] = SimpleNamespace(give_up=lambda _: ended.set())  # type: ignore[assignment]
        program.start(server)
        await asyncio.wait_for(ended.wait(), 120)
        await server.close()

    asyncio.run(live())
    return (tmp_path / "log").read_text(), program


def test_a_hostile_program_sees_itself_and_the_endpoint_and_can_write_nothing_that_stays(
    confined, tmp_path: Path, monkeypatch
) -> None:
    secret = f"secret-{os.getpid()}"
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    home = tmp_path / "home"
    for name in ("data/private/escrow.key", "submissions/TEAMS.toml", "home/.ssh/id", "theirs/../beside"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(secret)
    outside = [tmp_path / "data" / "private", tmp_path / "submissions", home, Path(sys.prefix) / "bin"]
    listening = [socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX), socket.socket(socket.AF_INET)]
    abstract = f"\0hellofresh-{os.getpid()}"
    for one, address in zip(listening, (str(home / "agent.sock"), abstract, ("127.0.0.1", 0)), strict=True):
        one.bind(address)
        one.listen()
    (tmp_path / "theirs").mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path / "data")
    add_key, keyctl = _KEYS[platform.machine()]
    ctypes.CDLL(None).syscall(add_key, b"user", abstract[1:].encode(), b"held", 4, -3)  # in the session's keyring
    values = {"SECRET": secret[::-1], "PYTHON": sys.base_prefix, "WANTED": list(map(str, outside)), "KEYCTL": keyctl,
              "OUTSIDE": os.getpid(), "OPEN": [listening[2].getsockname()[1]], "ABSTRACT": abstract}  # fmt: skip
    try:
        said, _ = confined("".join(f"{name} = {value!r}\n" for name, value in values.items()) + HOSTILE)
    finally:
        for one in listening:
            one.close()
    answer, forged, *_ = said.split("\n")
    found = json.loads(answer)
    assert forged == "]0;forged[2J"
    assert found["here"] == [] and not {"work", "mnt", "srv", "opt"} & {*found["folders"]} - {*sys.prefix.split("/")}
    assert found["read"] == [] and found["traced"] == []
    # Where its own file is shown there is a folder in memory.
    assert found["wrote"] == [str(tmp_path / "theirs")] and [*(tmp_path / "theirs").iterdir()] == [
        tmp_path / "theirs" / "agent.py"
    ]
    assert found["sockets"] == ["/run/endpoint"] and found["kernel"] == [] and found["paths"]
    assert all("relay" in one or "agent.py" in one for one in found["parents"]), found["parents"]
    assert not [one for one in found["inherited"] if one.startswith("/") and not one.startswith("/proc/")]
    assert not [name for name in found["environment"] if "KEY" in name and name != "OPENAI_API_KEY"]
    assert secret not in said


BOMB = "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n"
THREADS = """
import threading, time
threading.stack_size(1 << 16)
for _ in range(40):
    threading.Thread(target=time.sleep, args=(60,)).start()
"""
CONNECTIONS = """
import socket, time
held = []
while len(held) < 300:
    held.append(socket.socket(socket.AF_UNIX))
    try:
        held[-1].connect("/run/endpoint")
    except BlockingIOError:
        held.pop()
time.sleep(60)
"""
FORKS = "import os, time\nwhile os.fork():\n    pass\ntime.sleep(60)\n"


@pytest.mark.parametrize(
    ("source", "what"),
    [
        (BOMB, "processes"),
        (FORKS, "processes"),
        ("held = []\nwhile True:\n    held.append(bytearray(b'1') * (1 << 22))\n", "memory"),
        ("import time\ntime.sleep(600)", "time"),
        (THREADS, "processes"),
        (CONNECTIONS, "connections"),
    ],
)
def test_a_program_that_takes_too_much_is_ended_and_says_what_of(confined, source: str, what: str) -> None:
    tight = ProcessLimits(seconds=5 if what == "time" else 40, processes=20, memory=400 << 20)
    # Several processes, each below the limit, are counted together.
    spread = "import os\n[os.fork() for _ in range(2)]\n" if what == "memory" else ""
    _, program = confined(spread + source, tight)
    with pytest.raises(RunError, match=f"more {what}"):
        program.check_end()


def test_a_bubblewrap_beside_the_program_is_not_run(bubblewrap, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    for name in ("agent", "bwrap", "nice", "prlimit"):
        (theirs / name).write_text(f"#!/bin/sh\necho {name}\n: > {tmp_path}/escaped-{name}\n")
        (theirs / name).chmod(stat.S_IRWXU)
    assert ran_confined([str(theirs / "agent")], tmp_path)[0].splitlines()[0] == "agent"
    assert not [*tmp_path.glob("escaped-*")]


def test_a_program_that_fills_the_disk_is_stopped_by_the_kernel(confined, tmp_path: Path) -> None:
    fill = "import errno\nfor where in ('/tmp/a', '/dev/shm/a', '/tmp/program/b'):\n    try:\n        with open(where, 'wb') as file:\n            for _ in range(64):\n                file.write(bytes(1 << 20))\n            print('filled')\n    except OSError as error:\n        print(errno.errorcode[error.errno])\n"  # noqa: E501
    said, _ = confined(fill, ProcessLimits(disk=16 << 20))
    assert "filled" not in said and said.split()[0] in ("ENOSPC", "EFBIG")
    confined("import sys\nwhile True:\n    sys.stdout.write('x' * 65536)\n", ProcessLimits(disk=1 << 20, seconds=20))
    assert (tmp_path / "log").stat().st_size <= 1 << 20


def test_without_bubblewrap_or_namespaces_nothing_is_started(monkeypatch, tmp_path: Path) -> None:
    python = [sys.executable, "-c", "pass"]
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "bwrap" else which(name))
    with pytest.raises(UsageError, match="bwrap is missing") as missing:
        check_command(python, [tmp_path])
    assert "apt install bubblewrap" in str(missing.value)
    monkeypatch.undo()
    refusing = tmp_path / "bin" / "bwrap"
    refusing.parent.mkdir()
    refusing.write_text("#!/bin/sh\necho 'No permissions to create new namespace' >&2; exit 1\n")
    refusing.chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{refusing.parent}:{os.environ['PATH']}")
    with pytest.raises(UsageError, match="No permissions"):
        check_command(python, [tmp_path / "data"])


def test_a_command_that_would_show_a_hidden_folder_is_refused(tmp_path: Path) -> None:
    hidden = tmp_path / "work" / "data"
    (hidden / "inside").mkdir(parents=True)
    (hidden / "agent.py").write_text("")
    (tmp_path / "link.py").symlink_to(hidden / "agent.py")
    for word in (hidden / "agent.py", f"{hidden}/inside", f"{tmp_path}/work", tmp_path / "link.py", "/", Path.home()):
        with pytest.raises(UsageError, match="must not read"):
            check_command([sys.executable, f"{word}/" if Path(word).is_dir() else str(word)], [hidden])


# A whole replay


@pytest.fixture
def entry(bubblewrap, make, chat, loopback, monkeypatch, tmp_path: Path):
    """A made-up entry of a released quarter, as uploaded: right where its program says so, or the other way round."""
    make.release(make.notes(4, 4))
    workspace, root = make.workspace(), tmp_path / "submissions"
    monkeypatch.setenv("HELLOFRESH_DATA", str(workspace.root))
    chat.behave = lambda number, body: loopback.said("Yes." if "Note 400" in str(body) else "No.")
    (tmp_path / "agent.py").write_text(PROGRAM)
    due = due_in(workspace, QUARTER)
    truth = {row["id"]: int(f"-400{str(row['id'])[-1]}" in str(row["id"])) for row in
             read_jsonl(workspace.release(QUARTER, "x-notes") / "samples.jsonl")}  # fmt: skip

    def upload(flip: bool) -> Path:
        rows = ({"id": key, "label": label ^ flip} for key, label in truth.items())
        folder = write_submission(root / str(QUARTER) / "acme" / "system", rows, regime="agent")
        at = due.calendars["x-notes"].opens + timedelta(hours=1)
        submission = inspect_submission(folder, due, at + timedelta(days=900)).submission
        assert submission is not None
        write_receipt(folder, new_receipt(QUARTER, ("x-notes",), submission.sha256, at, None))
        return folder

    def replayed(*words: str, by: str = "rival", limit: int = 20) -> int:
        program = f"{sys.executable} {tmp_path / 'agent.py'} {' '.join(words)}"
        where = ["--edition", str(QUARTER), "--task", "x-notes", "--model", "openai:m", "--base-url", chat.base_url]
        how = ["--command", program, "--limit", str(limit), "--by", by, "--submissions", str(root)]
        return main(["proxy", *where, "--replay", "acme/system", *how, "--json"])

    def next_release() -> None:
        make.release(make.notes(4, 4, months=(7, 8, 9)), quarter=Quarter(2023, 3))

    return SimpleNamespace(upload=upload, replayed=replayed, next_release=next_release, workspace=workspace, root=root)


def known(root: Path, **keys: str) -> None:
    (root / "TEAMS.toml").write_text("".join(f'[{team}]\nkeys = ["{key}"]\n' for team, key in keys.items()))


def test_an_entry_is_replayed_by_others_once_its_program_gives_the_uploaded_answers(entry, capsys, monkeypatch) -> None:
    folder = entry.upload(False)

    def scored() -> set[tuple[str, int]]:
        rows = score_quarter(entry.workspace, QUARTER, entry.root).scores
        return {(score.provenance, score.replayed_by) for score in rows}

    assert scored() == {("uploaded", 0)}
    assert entry.replayed("asks") == 2 and "no-next-release" in capsys.readouterr().err
    entry.next_release()
    assert entry.replayed("asks", by="acme") == 2 and "bad-replayer" in capsys.readouterr().err
    assert entry.replayed("asks", limit=19) == 2 and "bad-limit" in capsys.readouterr().err
    code = entry.replayed("asks")
    said = json.loads(capsys.readouterr().out)
    made = said["replay"]
    assert (code, made["outcome"], made["own_agreement"], made["by"]) == (0, "agrees", 1.0, "rival"), said
    assert made["without_asking"] == 0 and made["fetches"] == 3 and 0.2 < made["finds"] < 0.35
    kept = Path(said["folder"])
    assert {stat.S_IMODE(one.stat().st_mode) for one in (kept, kept.parent)} == {0o700}
    assert "example.org" in (kept / "outcome.json").read_text()
    # The draw is the same for everybody, and a second team's statement counts beside the first.
    first = signing_key(entry.workspace.root / "private" / "replay.key").public_key().public_bytes_raw().hex()
    (entry.workspace.root / "private" / "replay.key").rename(entry.workspace.root / "rival.key")
    assert scored() == {("uploaded", 0)}  # the maintainers know no key
    assert entry.replayed("asks", by="third") == 0
    again = json.loads(capsys.readouterr().out)
    samples = [json.loads((Path(one["folder"]) / "outcome.json").read_text())["samples"] for one in (said, again)]
    assert samples[0] == samples[1] and again["replay"]["drawn_from"] == made["drawn_from"]
    second = signing_key(entry.workspace.root / "private" / "replay.key").public_key().public_bytes_raw().hex()
    known(entry.root, rival=first, third=second)
    assert scored() == {("replayed", 2)}
    known(entry.root, rival=first, third=first)
    with pytest.raises(DataError, match="two teams have one key"):
        scored()
    known(entry.root, rival=first, third="0" * 64)
    assert scored() == {("replayed", 1)}
    # A line that was changed, a copy under another team's name, and another draw do not count, nor does other content.
    path = entry.root / str(QUARTER) / "rival" / "replays.jsonl"
    public = path.read_text()
    for changed in (
        public.replace('"fetches":3', '"fetches":0'),
        public.replace(made["drawn_from"]["sha256"], "0" * 64),
        public.replace("acme/system", "acme/other"),
    ):
        path.write_text(changed)
        assert scored() == {("uploaded", 0)}
        with pytest.raises(SubmissionError, match="not signed"):
            read_replays(path, [first])
    path.write_text(public)
    assert not folder.joinpath("replays.jsonl").exists() and "xn-" not in public and "example.org" not in public
    entry.upload(True)
    assert scored() == {("uploaded", 0)}


def test_other_answers_constant_ones_and_answers_without_asking_are_named(entry, capsys) -> None:
    entry.upload(True)
    entry.next_release()
    assert entry.replayed("asks") == 1
    assert entry.replayed("yes") == 1
    path = entry.root / str(QUARTER) / "rival" / "replays.jsonl"
    read = read_replays(path)
    assert read[0].outcome == "differs" and read[0].without_asking == 0
    assert read[1].outcome != "agrees" and read[1].without_asking == 20 and read[1].by_chance == 1.0
    key = signing_key(entry.workspace.root / "private" / "replay.key").public_key().public_bytes_raw().hex()
    known(entry.root, rival=key)
    (score, *_) = score_quarter(entry.workspace, QUARTER, entry.root).scores
    assert score.provenance == "uploaded" and "[replay-differs]" in score.about and "[replay-unasked]" in score.about
    # The statements are a change of their own, at any time, to which lines may only be added.
    before = entry.root.with_name("before")
    shutil.copytree(entry.root, before)
    lines = path.read_text().splitlines()
    whole = path.read_text()
    (before / path.relative_to(entry.root)).write_text(f"{lines[0]}\n")

    def faults() -> list[str]:
        report = check_changes(entry.root, before, lambda edition, split: due_in(entry.workspace, edition, split))
        return [fault.code for fault in report.faults]

    assert faults() == []
    path.write_text(f"{lines[1]}\n")
    assert faults() == ["damaged-replays"]
    with pytest.raises(SubmissionError, match="does not follow"):
        read_replays(path)
    path.unlink()
    assert faults() == ["bad-replays"]
    path.write_text(whole)
    for one in (before, entry.root):
        known(one)
    assert faults() == ["bad-replays"]
