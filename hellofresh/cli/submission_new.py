"""`hellofresh submission new`: write the two files of a submission."""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from hellofresh.cli._output import CommandOutput
from hellofresh.cli.submission import find_due
from hellofresh.core.clock import now
from hellofresh.core.editions import parse_edition
from hellofresh.core.errors import SubmissionError, UnknownNameError, UsageError, missing_extra
from hellofresh.core.files import write_bytes, write_jsonl
from hellofresh.core.quarters import utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval.corpora import open_exact
from hellofresh.runs.record import prediction_row
from hellofresh.submissions.check import Due, as_error, blank_rows, probabilities_wanted
from hellofresh.submissions.format import REGIMES, SYSTEM, SystemInfo, has_split, problems, system_toml
from hellofresh.submissions.names import FOLDER_NAME, slug
from hellofresh.submissions.receipts import known_teams, look_alike
from hellofresh.submissions.trec import read_run
from hellofresh.tasks import get_task
from hellofresh.tasks.outputs import Ranking
from hellofresh.tasks.samples import MAIN, PROSPECTIVE, Split


def new(options: argparse.Namespace, output: CommandOutput) -> int:
    """Write the two files of a new submission, with the answers of a log of inspect_ai or a TREC run, if given.

    Raises:
        UsageError: if a required option is missing, or inspect_ai is not installed.
        SubmissionError: if an option is invalid, the folder exists already, or the log is of other samples.
    """
    if options.from_inspect is not None:
        return _from_inspect(options, output)
    if options.edition is None:
        raise UsageError("no edition is named", fix="Add --edition E.", code="no-quarter")
    due = find_due(options.samples, options.edition, Split(options.split or MAIN))
    if options.from_run is not None:
        return _from_run(options, output, due)
    return _write(options, output, due, options.task or list(due.ids), {})


def _from_run(options: argparse.Namespace, output: CommandOutput, due: Due) -> int:
    ranked = [name for name in options.task or due.ids if name in due.corpora and get_task(name).output is Ranking]
    if len(ranked) != 1:
        raise UsageError(
            f"a run ranks documents for one task, not for {', '.join(options.task or due.ids)}",
            expected="an edition of a retrieval task",
            code="other-output",
        )
    (task,) = ranked
    prefix, ids = get_task(task).id_prefix, due.ids[task]
    corpus = open_exact(Workspace.from_environment(), *due.corpora[task])
    run = read_run(options.from_run, {name.removeprefix(prefix): name for name in ids}, corpus.rows)
    options.name = options.name or run.tag
    if silent := [name for name in ids if name not in run.rankings]:
        output.say(
            f"{len(silent)} of {len(ids)} queries have no line in {options.from_run}, the first is {silent[0]}: they "
            "count as finding nothing. If that is unintended, the file may be cut short."
        )
    return _write(
        options, output, due, ranked, {name: {"id": name, "documents": found} for name, found in run.rankings.items()}
    )


def _from_inspect(options: argparse.Namespace, output: CommandOutput) -> int:
    need_inspect()
    from hellofresh.api.harnesses.inspect_logs import read_log  # which needs the extra inspect

    system = read_log(options.from_inspect)
    options.name, options.model = options.name or system.model.split("/")[-1], options.model or [system.model]
    options.regime = options.regime or (system.regime if system.regime in REGIMES else "other")
    due = find_due(options.samples, parse_edition(system.edition), Split(options.split or MAIN))
    known = set(due.ids.get(system.task, ()))
    if unknown := sorted(system.choices.keys() - known):
        raise SubmissionError(
            f"{len(unknown)} samples of the log are not due, such as {unknown[0][:80]!r}",
            where=str(options.from_inspect),
            expected=f"samples of {system.task} {due.edition}",
            code="unknown-id",
        )
    rows = {key: {"id": key, **prediction_row(choice)} for key, choice in system.choices.items()}
    return _write(options, output, due, [system.task], rows)


def need_inspect() -> None:
    """Check that inspect_ai is installed.

    Raises:
        UsageError: if it is not.
    """
    if importlib.util.find_spec("inspect_ai") is None:
        raise missing_extra("a log of inspect_ai", "inspect_ai", "inspect")


def _write(
    options: argparse.Namespace,
    output: CommandOutput,
    due: Due,
    tasks: Sequence[str],
    known: Mapping[str, Mapping[str, object]],
) -> int:
    """Write the two files, with known rows in place of empty ones."""
    for task in tasks:
        if task not in due.ids:
            raise UnknownNameError(f"task of {due.edition}", task, due.ids)
    info = _info(options)
    folder = options.submissions / str(due.edition) / _place(options, info)
    if has_split(folder, due.split):
        fix = "Change its files, or give the system another name."
        raise SubmissionError("a submission of that name already exists", where=str(folder), fix=fix, code="exists")
    rows = [known.get(str(row["id"]), row) for row in blank_rows(due, tasks)]
    write_jsonl(folder / due.files.jsonl, rows)
    described = (folder / SYSTEM).exists()  # for the other split; the description is the same
    if not described:
        write_bytes(folder / SYSTEM, system_toml(info).encode())
    output.result({"folder": str(folder), "tasks": tasks, "samples": len(rows)})
    output.text(f"{folder / SYSTEM}: your details{', as before' if described else ''}; edit them as you like.")
    empty = "" if len(known) == len(rows) else "; fill in each null"
    output.text(f"{folder / due.files.jsonl}: {len(rows)} samples of {', '.join(tasks)}{empty}:")
    for chosen in map(get_task, tasks):
        output.text(
            f"  {chosen.name}: " + ", ".join(f"{number} ({name})" for number, name in enumerate(chosen.classes))
        )
        if due.split is PROSPECTIVE and chosen.classes:
            output.text(f"  probabilities of each sample: {probabilities_wanted(chosen)}")
    split = "" if due.split is MAIN else f" --split {due.split}"
    _show_days(output, due, tasks)
    output.text(f"Then: hellofresh submission check {folder}{split}")
    return 0


def _show_days(output: CommandOutput, due: Due, tasks: Sequence[str]) -> None:
    """Show the deadline for predictions, and the reveal of labels."""
    for task in tasks:
        if (calendar := due.calendars.get(task)) is None:
            continue
        until, reveals = utc_text(calendar.deadline), utc_text(calendar.reveals)
        said = f"accepted until {until}; labels are revealed on {reveals}"
        if task in due.revealed or now() >= calendar.reveals:
            said = f"labels of {due.edition} are public since {reveals}, so submissions no longer count"
        elif now() >= calendar.deadline:
            said = f"predictions were accepted until {until}, so submissions no longer count"
        output.text(f"  {task}: {said}")


def _place(options: argparse.Namespace, info: SystemInfo) -> Path:
    """The folder of a system below its edition's."""
    team, _, system = (options.folder or f"{slug(info.team)}/{slug(info.name)}").partition("/")
    for name in (team, system):
        if not FOLDER_NAME.fullmatch(name):
            raise SubmissionError(
                f"no folder for {info.name!r} of {info.team!r}: {name!r} cannot be a name",
                expected="lower-case letters, digits and hyphens, at most 40",
                fix="Name one with --folder TEAM/SYSTEM.",
                code="bad-folder",
            )
    if alike := look_alike(team, info.team, known_teams(options.submissions)):
        raise as_error(alike, "")
    return Path(team, system)


def _info(options: argparse.Namespace) -> SystemInfo:
    missing = [name for name in ("name", "team", "contact") if not getattr(options, name)]
    if missing:
        raise UsageError(
            f"missing: {', '.join(missing)}",
            fix=f"Add {' '.join(f'--{name} ...' for name in missing)}",
            code="not-said",
        )
    try:
        value: object = {
            "name": options.name,
            "team": options.team,
            "contact": options.contact,
            "regime": options.regime or "other",
            "url": "",
            "notes": "",
            "models": [name for name in map(str.strip, options.model) if name],
            "knowledge_cutoff": "unknown",
        }
        return SystemInfo.model_validate(value, context={"today": now().date()})
    except ValidationError as error:
        said = "; ".join(f"{field}: {what}" for field, what in problems(error))
        raise SubmissionError(said, where=SYSTEM, fix="Choose another wording.", code="bad-field") from None
