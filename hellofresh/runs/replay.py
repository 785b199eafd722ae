"""Replay a submitted system, confined, on samples that could not be predicted at submission.

The program asks at the endpoint of a run (`Proxy`) and returns an output for each sample. It runs three times from
scratch; an exact test then shows whether the uploaded answers could be a further repetition. The result is signed by
the replaying team. Labels are not used, so it reveals nothing about them.

Limits: samples of an open quarter are public, so a program made after their release may contain the uploaded answers.
Run the version that was handed in before the quarter opened, which `program_sha256` identifies.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from hellofresh import __version__
from hellofresh.core.clock import now
from hellofresh.core.errors import RunError, SubmissionError, UsageError
from hellofresh.core.files import canonical_json, sha256_file, sha256_text, write_json
from hellofresh.core.quarters import utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.releases.life.load import Release, load_release
from hellofresh.runs.confinement import ConfinedProgram, ProcessLimits, check_command, is_path
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.export import EvaluationReport
from hellofresh.runs.record import read_outputs
from hellofresh.runs.regimes.agents import Proxy
from hellofresh.runs.regimes.endpoint.server import EndpointServer
from hellofresh.stats.agreement import further_repetition
from hellofresh.submissions.names import FOLDER_NAME
from hellofresh.submissions.receipts import REPLAYS
from hellofresh.submissions.released import due_in, public_value
from hellofresh.submissions.replays import PublicValue, Replay, add_replay, signing_key
from hellofresh.submissions.standings import EntryOutcome, SubmissionStanding, standings
from hellofresh.tasks import Task
from hellofresh.tasks.outputs import Choice
from hellofresh.tasks.samples import MAIN
from hellofresh.tasks.transcripts import AskedEvent, read_transcripts

REPETITIONS, FEWEST, USUAL = 3, 20, 40
_ALPHA, _POWER = 0.01, 0.35
"""Significance level below which answers count as different, and the largest detectable share of different answers
above which the test is inconclusive."""
_NO_LABEL = -1


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """A signed replay; all its questions and answers are in `folder`."""

    replay: Replay
    statement: Path
    folder: Path
    public_key: str


def replay(
    workspace: Workspace,
    root: Path,
    entry: str,
    command: Sequence[str],
    asked: Evaluation,
    *,
    by: str,
    tell: Callable[[str], None] = lambda _: None,
) -> ReplayReport:
    """Run a submitted system again and sign the result.

    An interrupted replay is resumed.

    Args:
        workspace: the workspace with the release and the next one.
        root: the folder of submissions.
        entry: TEAM/SYSTEM.
        command: the program and its arguments, started without a shell.
        asked: the models behind the endpoint; `limit` is the number of samples.
        by: the team that replays and signs, by its folder.
        tell: called with lines of progress.

    Raises:
        SubmissionError: if no such entry counts on the task, or earlier replays of the team are damaged.
        UsageError: if it cannot be confined here, is replayed too early or by its own team, or has no classes.
        RunError: if a model fails or the program exceeds a limit; answers so far are kept.
    """
    _check_asked(asked.task, entry, by)
    check_command(command, (workspace.root.resolve(), root.resolve()))
    drawn = _draw(workspace, _standing(workspace, root, entry, asked), asked)
    key = signing_key(workspace.root / "private" / "replay.key")
    folder = _private_folder(workspace, asked, f"{entry.replace('/', '-')}-{drawn.sha256[:12]}")
    runs = [
        _run(Workspace(folder / f"run-{number}"), drawn.release, command, asked, tell=tell)
        for number in range(1, REPETITIONS + 1)
    ]
    answers, unasked, elsewhere = zip(*runs, strict=True)
    fetched = {host: sum(one.get(host, 0) for one in elsewhere) for host in sorted(set().union(*elsewhere))}
    statement = root / str(asked.edition) / by / REPLAYS
    signed = add_replay(statement, _statement(by, entry, command, asked, drawn, answers, unasked, fetched), key)
    # The program chooses the names of hosts, so they are not published.
    kept = {"replay": signed.model_dump(mode="json"), "elsewhere": fetched, "answers": list(answers)}
    ids = [sample.id for sample in drawn.release.samples]
    write_json(folder / "outcome.json", {**kept, "samples": ids, "unasked": [sorted(some) for some in unasked]})
    done = folder.with_name(f"{folder.name}-{sha256_text(signed.line)[:12]}")
    folder.rename(done)
    return ReplayReport(signed, statement, done, key.public_key().public_bytes_raw().hex())


@dataclass(frozen=True, slots=True)
class _Drawn:
    """The drawn samples and the answers to compare.

    Attributes:
        sha256, uploaded: hash of the entry's content, and its label of each sample.
        release: the drawn samples.
        value: the seed of the draw.
        passed_over: samples skipped in the draw because their texts were not available.
    """

    sha256: str
    uploaded: Mapping[str, int | None]
    release: Release
    value: PublicValue
    passed_over: int


def _statement(  # noqa: PLR0917 - as `replay`, with what came of it
    by: str,
    entry: str,
    command: Sequence[str],
    asked: Evaluation,
    drawn: _Drawn,
    answers: Sequence[Mapping[str, int | None]],
    unasked: Sequence[set[str]],
    fetched: Mapping[str, int],
) -> Replay:
    """The unsigned replay; answers and samples answered without asking are by run, fetches by host."""
    ids = [sample.id for sample in drawn.release.samples]
    said = [[drawn.uploaded[key] for key in ids], *([one.get(key) for key in ids] for one in answers)]
    numbers = np.array([[_NO_LABEL if label is None else label for label in labels] for labels in said])
    found = further_repetition(numbers[0], numbers[1:].T, level=_ALPHA)
    is_telling = found.by_chance <= _ALPHA and found.finds <= _POWER
    return Replay(
        by=by,
        entry=entry,
        at=utc_text(now().replace(microsecond=0)),
        code=f"hellofresh {__version__}",
        task=asked.task.name,
        split=str(MAIN),
        sha256=drawn.sha256,
        program_sha256=_program_sha256(command),
        models={"main": asked.model, **asked.roles},
        drawn_from=drawn.value,
        samples=len(ids),
        passed_over=drawn.passed_over,
        repetitions=REPETITIONS,
        **asdict(found),
        without_asking=len(set().union(*unasked)),
        fetches=sum(fetched.values()),
        outcome="differs" if found.p_value <= _ALPHA else "agrees" if is_telling else "inconclusive",
    )


def _private_folder(workspace: Workspace, asked: Evaluation, name: str) -> Path:
    folder = workspace.private(asked.edition, asked.task.name) / "replays" / name
    for one in (folder.parent, folder):  # hidden from other users of this machine
        one.mkdir(parents=True, exist_ok=True)
        one.chmod(0o700)
    return folder


def _check_asked(task: Task, entry: str, by: str) -> None:
    if task.output is not Choice:
        fix = "Responses and rankings differ in wording from run to run; have them rated instead."
        raise UsageError(f"{task.name} has no classes", expected="a task of choices", fix=fix, code="no-classes")
    if not FOLDER_NAME.fullmatch(by) or by == entry.partition("/")[0]:
        what = f"{by[:80]!r} cannot sign a replay of {entry[:80]!r}"
        raise UsageError(what, expected="--by with the folder name of another team", code="bad-replayer")


def _program_sha256(command: Sequence[str]) -> str:
    """A hash of the command and of the files that it names, including those in folders."""

    def content(word: str) -> Iterator[tuple[str, str]]:
        path = Path(word)
        files = [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file())
        yield from ((one.relative_to(path).as_posix(), sha256_file(one)) for one in files)

    return sha256_text(canonical_json([[word, list(content(word)) if is_path(word) else []] for word in command]))


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
            expected=f"one of {', '.join(sorted(known)) or 'an entry (there are none yet)'}",
            fix=f"See them with: hellofresh submission list --edition {asked.edition}",
            code="no-entry",
        )
    return item


def _draw(workspace: Workspace, standing: SubmissionStanding, asked: Evaluation) -> _Drawn:
    """Samples that the entry answered, ordered by a public value that was unknown at its deadline."""
    assert standing.receipt is not None and standing.submission is not None
    release, sha256 = load_release(workspace, asked.edition, asked.task), standing.receipt.sha256
    closed = release.calendar.deadline if release.calendar else standing.receipt.received
    value = public_value(workspace, asked.task.name, closed)
    if value is None:
        raise UsageError(
            f"what decides which samples of {asked.edition} are drawn is not known yet",
            expected="a release that opened after the entry was closed, whose manifest nobody knew before",
            fix="Replay once the next quarter has opened, with its release in this workspace.",
            code="no-next-release",
        )
    uploaded, number = standing.submission.labels, asked.limit or USUAL
    own = (one for one in release.samples if one.id in uploaded)
    ordered = sorted(own, key=lambda one: value.order(sha256, one.id))
    there = {one.id: place for place, one in enumerate(ordered) if one.id not in release.without_texts}
    if not FEWEST <= number <= len(there):
        expected = f"from {FEWEST} to {len(there)}, those whose texts are at hand"
        raise UsageError(f"{number} samples", expected=expected, fix="Set --limit.", code="bad-limit")
    places = list(there.values())[:number]
    samples = tuple(sorted((ordered[place] for place in places), key=lambda one: one.id))
    return _Drawn(sha256, uploaded, replace(release, samples=samples), value, places[-1] + 1 - number)


def _run(
    own: Workspace,
    release: Release,
    command: Sequence[str],
    asked: Evaluation,
    *,
    tell: Callable[[str], None],
) -> tuple[dict[str, int | None], set[str], Mapping[str, int]]:
    """One repetition: answers by sample, samples answered without asking, and hosts that it tried to reach."""
    with tempfile.TemporaryDirectory(prefix="hellofresh-") as name:
        server = EndpointServer(socket=Path(name) / "endpoint")
        program = ConfinedProgram(command, own.root / "program.log", ProcessLimits())
        with Proxy(server, program.start).current():
            whole = replace(asked, limit=len(release.samples))
            report: EvaluationReport = evaluate(own, whole, lambda _: None, tell, release=release)
        program.check_end()
    if report.failed:
        raise RunError(
            f"{report.failed} samples could not be asked about",
            where=str(report.folder / "errors.jsonl"),
            fix="Mend what failed and run the same command again: what was answered is kept.",
            code="replay-failed",
        )
    said = {key: output.label for key, _, output in read_outputs(report.folder) if isinstance(output, Choice)}
    if all(label is None for label in said.values()):
        fix = "Read there what it printed; it sees the system's libraries and what its command names."
        raise RunError("the program answered nothing", where=str(own.root / "program.log"), fix=fix, code="no-output")
    asking = {
        item.id
        for item in read_transcripts(report.folder)
        if any(isinstance(event, AskedEvent) for event in item.events)
    }
    return said, {key for key, label in said.items() if label is not None} - asking, dict(server.elsewhere)
