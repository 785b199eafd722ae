"""Running a submitted system again: on samples that only the maintainers know, and without a network of its own.

The program asks at the endpoint of a run (`Proxy`) and hands back an output for each sample. It runs three times from
nothing; an exact test then tells whether the uploaded answers could be a further repetition. The outcome goes into the
entry's history. Labels are not looked at, so that it tells nothing of them.

What a replay cannot show: samples of an open quarter are public, so a program that was made after they were released
may hold the uploaded answers. Run the version that was handed in before the quarter opened, which `program_sha256`
names.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from hellofresh import __version__
from hellofresh.core.clock import now
from hellofresh.core.errors import RunError, SubmissionError, UsageError
from hellofresh.core.files import canonical_json, read_json, sha256_file, sha256_text, write_json
from hellofresh.core.quarters import utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.releases.draw.escrow import Escrow
from hellofresh.releases.life.load import Release, load_release
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.export import EvaluationReport
from hellofresh.runs.record import read_outputs
from hellofresh.runs.regimes.agents import Proxy
from hellofresh.runs.regimes.endpoint.server import EndpointServer
from hellofresh.stats.agreement import FurtherRepetition, further_repetition
from hellofresh.submissions.released import due_in
from hellofresh.submissions.replays import Replay, add_replay, read_replays
from hellofresh.submissions.standings import EntryOutcome, SubmissionStanding, standings
from hellofresh.tasks.outputs import Choice, Status
from hellofresh.tasks.samples import MAIN, Sample
from hellofresh.tasks.transcripts import AskedEvent, read_transcripts

REPETITIONS, FEWEST, USUAL = 3, 10, 20
_ALPHA, _LEAST_OWN = 0.01, 0.8
"""Below the first the uploaded answers are other ones; below the second the system's own repetitions tell nothing."""
_SECONDS = 3600.0
_NO_LABEL = -1
_CONFINED = Path(__file__).parent / "regimes" / "endpoint" / "confined.py"
"""A script of its own: what it imports is not everywhere."""


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """A replay as it went into the entry's history; what must not be public lies in `folder`."""

    entry: str
    replay: Replay
    folder: Path


def replay(
    workspace: Workspace,
    root: Path,
    entry: str,
    command: Sequence[str],
    asked: Evaluation,
    *,
    tell: Callable[[str], None] = lambda _: None,
) -> ReplayReport:
    """Run a submitted system again on secret samples, and write the outcome into the history of its entry.

    Samples are drawn once for an entry's content, and a replay that was interrupted goes on with them.

    Args:
        workspace: where the release is.
        root: the folder of submissions.
        entry: TEAM/SYSTEM.
        command: the program and its arguments, started without a shell.
        asked: the models behind the endpoint; `limit` is the number of samples.
        tell: receives what is going on.

    Raises:
        SubmissionError: if no such entry counts on the task, or its history is damaged.
        UsageError: if it cannot be confined here, or the task is not one of choices.
        RunError: if a model fails; what was answered is kept.
    """
    task = asked.task
    if task.output is not Choice:
        fix = "Responses and rankings differ in wording from run to run; have them rated instead."
        raise UsageError(f"{task.name} has no classes", expected="a task of choices", fix=fix, code="no-classes")
    hidden = (workspace.root.resolve(), root.resolve())
    _check_command(command, hidden)
    standing = _standing(workspace, root, entry, asked)
    assert standing.receipt is not None and standing.submission is not None
    sha256 = standing.receipt.sha256
    release = load_release(workspace, asked.edition, task)
    uploaded = {item.id: item.label for item in standing.submission.predictions if item.repetition == 1}
    folder = workspace.private(asked.edition, task.name) / "replays" / f"{entry.replace('/', '-')}-{sha256[:12]}"
    drawn, seed = _draw(folder, release, uploaded, asked.limit or USUAL)
    drawn_release = replace(release, samples=drawn)
    runs = [
        _run(Workspace(folder / f"run-{number}"), drawn_release, command, asked, hidden=hidden, tell=tell)
        for number in range(1, REPETITIONS + 1)
    ]
    answers, unasked, elsewhere = zip(*runs, strict=True)
    ids = [sample.id for sample in drawn]
    found = further_repetition(
        np.array([_NO_LABEL if (label := uploaded[key]) is None else label for key in ids]),
        np.array([[_NO_LABEL if (label := said.get(key)) is None else label for said in answers] for key in ids]),
    )
    fetched = {host: sum(one.get(host, 0) for one in elsewhere) for host in sorted(set().union(*elsewhere))}
    made = Replay(
        at=utc_text(now().replace(microsecond=0)),
        code=f"hellofresh {__version__}",
        task=task.name,
        split=str(MAIN),
        sha256=sha256,
        # One hash for the command and for the files that it names.
        program_sha256=sha256_text(
            canonical_json([[word, sha256_file(Path(word)) if Path(word).is_file() else ""] for word in command])
        ),
        models={"main": asked.model, **asked.roles},
        samples=len(ids),
        repetitions=REPETITIONS,
        samples_sha256=sha256_text(canonical_json([seed, ids])),
        agreement=found.agreement,
        own_agreement=found.own_agreement,
        p_value=found.p_value,
        without_asking=len(set().union(*unasked)),
        fetches=sum(fetched.values()),
        outcome=_outcome(found),
    )
    sealed = add_replay(standing.folder, made, Escrow.of_workspace(workspace).seal)
    # Names of hosts come from the program and may tell what it was asked: they stay here.
    kept = {"replay": sealed.model_dump(mode="json"), "elsewhere": fetched, "answers": list(answers)}
    write_json(folder / "outcome.json", {**kept, "unasked": [sorted(some) for some in unasked]})
    done = folder.with_name(f"{folder.name}-{len(read_replays(standing.folder))}")
    folder.rename(done)
    return ReplayReport(entry, sealed, done)


def _outcome(found: FurtherRepetition) -> Literal["agrees", "differs", "inconclusive"]:
    if found.p_value <= _ALPHA:
        return "differs"
    return "agrees" if found.own_agreement >= _LEAST_OWN else "inconclusive"


def _standing(workspace: Workspace, root: Path, entry: str, asked: Evaluation) -> SubmissionStanding:
    found = standings(root, due_in(workspace, asked.edition))
    known = {item.origin: item for item in found.entries}
    item = known.get(entry)
    outcome = None if item is None else item.tasks.get(asked.task.name)
    if item is None or outcome is not EntryOutcome.COUNTS:
        raise SubmissionError(
            f"{entry[:80]!r} is not an entry of {asked.task.name} {asked.edition}"
            if outcome is None
            else f"{entry} does not count: {outcome}",
            where=str(root),
            expected=f"one of {', '.join(sorted(known)) or 'the entries, of which there is none'}",
            fix=f"See them with: hellofresh submission list --edition {asked.edition}",
            code="no-entry",
        )
    return item


def _check_command(command: Sequence[str], hidden: Sequence[Path]) -> None:
    """Refuse a program that cannot be started, or confined, or lies where it could not be read."""
    if not command or shutil.which(command[0]) is None:
        what = f"no such program: {command[0][:200]!r}" if command else "no program is named"
        raise UsageError(what, expected='such as --command "python agent.py"', code="no-program")
    inside = [word for word in command if any(Path(word).resolve().is_relative_to(folder) for folder in hidden)]
    if inside:
        raise UsageError(
            f"{inside[0][:200]!r} lies in a folder that the program must not read",
            expected=f"a place outside {' and '.join(map(str, hidden))}",
            code="program-inside",
        )
    probe = ["unshare", "--user", "--map-root-user", "--net", "--mount", "true"]
    if shutil.which("unshare") is None or subprocess.run(probe, capture_output=True, check=False).returncode:  # noqa: S603
        raise UsageError(
            "a program cannot be run without a network here",
            expected="Linux with user namespaces and the program unshare (util-linux)",
            fix="Replay on another machine, or allow user namespaces on this one.",
            code="not-confined",
        )


def _draw(
    folder: Path, release: Release, uploaded: Mapping[str, int | None], number: int
) -> tuple[tuple[Sample, ...], str]:
    """Samples that the entry answered and whose texts are at hand, in an order that a secret seed decides."""
    plan = folder / "plan.json"
    if not plan.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        write_json(plan, {"seed": secrets.token_hex(32), "samples": number})
    known = read_json(plan)
    seed, number = str(known["seed"]), int(str(known["samples"]))
    there = sorted(
        (one for one in release.with_texts() if one.id in uploaded), key=lambda one: sha256_text(f"{seed}:{one.id}")
    )
    if not FEWEST <= number <= len(there):
        plan.unlink()
        expected = f"from {FEWEST} to {len(there)}, those whose texts are at hand"
        raise UsageError(f"{number} samples", expected=expected, fix="Set --limit.", code="bad-limit")
    return tuple(sorted(there[:number], key=lambda one: one.id)), seed


def _run(
    own: Workspace,
    release: Release,
    command: Sequence[str],
    asked: Evaluation,
    *,
    hidden: Sequence[Path],
    tell: Callable[[str], None],
) -> tuple[dict[str, int | None], set[str], Mapping[str, int]]:
    """One repetition: the answers by sample, the samples that were answered without asking, and hosts it wanted."""
    with tempfile.TemporaryDirectory(prefix="hellofresh-") as name:
        server = EndpointServer(socket=Path(name) / "endpoint")
        program = _Program(command, hidden, own.root / "program.log")
        with Proxy(server, program.start).current():
            whole = replace(asked, limit=len(release.samples))
            report: EvaluationReport = evaluate(own, whole, lambda _: None, tell, release=release)
    if report.failed:
        raise RunError(
            f"{report.failed} samples could not be asked about",
            where=str(report.folder / "errors.jsonl"),
            fix="Mend what failed and run the same command again: what was answered is kept.",
            code="replay-failed",
        )
    said = {key: output.label for key, _, output in read_outputs(report.folder) if isinstance(output, Choice)}
    asking = {
        item.id
        for item in read_transcripts(report.folder)
        if any(isinstance(event, AskedEvent) for event in item.events)
    }
    return said, {key for key, label in said.items() if label is not None} - asking, dict(server.elsewhere)


class _Program:
    """The submitted program while the endpoint is open; samples that it leaves without an output have no answer."""

    def __init__(self, command: Sequence[str], hidden: Sequence[Path], log: Path) -> None:
        self._command, self._hidden, self._log = command, hidden, log
        self._task: asyncio.Task[None] | None = None

    def start(self, server: EndpointServer) -> None:
        """Start it in the loop that runs; it ends with that."""
        self._task = asyncio.get_running_loop().create_task(self._live(server))

    async def _live(self, server: EndpointServer) -> None:
        unshare = ["unshare", "--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child"]
        script = [sys.executable, "-I", str(_CONFINED), str(server.socket), str(server.port)]
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("wb") as log:
            words = [*unshare, *script, *map(str, self._hidden), "--", *self._command]
            # A plain process, which is waited for after the loop has been closed, too.
            process = subprocess.Popen(  # noqa: S603 - no shell, and what runs is named by the maintainer
                words,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=_environment(server),
                start_new_session=True,
            )
        end = time.monotonic() + _SECONDS
        try:
            while True:
                if process.poll() is not None or time.monotonic() > end:
                    for session in list(server.sessions.values()):  # also those that open only now
                        session.give_up(Choice(status=Status.NONE))
                await asyncio.sleep(0.05)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _environment(server: EndpointServer) -> Mapping[str, str]:
    """What the program gets: where to ask; no key and no setting of this machine."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), server.origin)
    direct = dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost")
    asked = {"OPENAI_BASE_URL": f"{server.origin}/v1", "OPENAI_API_KEY": server.token}
    return {**kept, **proxies, **direct, **asked, "HELLOFRESH_ENDPOINT": server.origin}
