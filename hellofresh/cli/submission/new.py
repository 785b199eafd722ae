"""`hellofresh submission new`: asks for what a submission says of itself, and writes its two files."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from pydantic import ValidationError

from hellofresh.cli._output import CommandOutput
from hellofresh.clock import now
from hellofresh.errors import SubmissionError, UnknownNameError, UsageError
from hellofresh.files import write_bytes, write_jsonl
from hellofresh.submissions import Due, SystemInfo, known_teams, look_alike
from hellofresh.submissions.intake.content import problems
from hellofresh.submissions.intake.names import FOLDER_NAME, slug
from hellofresh.submissions.intake.predictions import JSONL
from hellofresh.submissions.intake.system import REGIMES, SYSTEM, system_toml
from hellofresh.submissions.intake.template import blank_rows, cutoff_of
from hellofresh.tasks import get_task

__all__ = ["run"]


def run(options: argparse.Namespace, output: CommandOutput, due: Due) -> int:
    """Write the two files of a new submission.

    Raises:
        UsageError: if something that is needed was not said and cannot be asked for.
        SubmissionError: if what was said is not taken, or the folder is there already.
    """
    tasks = options.task or list(due.ids)
    for task in tasks:
        if task not in due.ids:
            raise UnknownNameError(f"task of {due.edition}", task, due.ids)
    info = _info(options, _asker(options, output))
    team = _folder(options.team_folder, info.team, "--team-folder")
    system = _folder(options.system_folder, info.name, "--system-folder")
    _check_team(team, info.team, options.submissions)
    folder: Path = options.submissions / str(due.edition) / team / system
    if folder.exists():
        fix = "Change its files, or give the system another name."
        raise SubmissionError("a submission of that name already exists", where=str(folder), fix=fix, code="exists")
    rows = blank_rows(due, tasks)
    write_jsonl(folder / JSONL, rows)
    write_bytes(folder / SYSTEM, system_toml(info).encode())
    output.result({"folder": str(folder), "tasks": tasks, "samples": len(rows)})
    output.text(f"{folder / SYSTEM}: your details; edit them as you like.")
    output.text(f"{folder / JSONL}: {len(rows)} samples of {', '.join(tasks)}; put a label for each null:")
    for task in map(get_task, tasks):
        output.text(f"  {task.name}: " + ", ".join(f"{number} ({name})" for number, name in enumerate(task.classes)))
    output.text(f"Then: hellofresh submission check {folder}")
    return 0


Ask = Callable[[str, str, str | None], str]
"""Gives the answer to a question, its default, and what was said by an option."""


def _asker(options: argparse.Namespace, output: CommandOutput) -> Ask:
    asks = not options.yes and sys.stdin.isatty()
    if asks:
        # Polars puts a handler of its own before Python's, with which a read goes on after Ctrl-C.
        signal.siginterrupt(signal.SIGINT, True)

    def ask(question: str, default: str, said: str | None) -> str:
        if said is not None or not asks:
            return said if said is not None else default
        output.say(f"{question}{f' [{default}]' if default else ''}:")
        return sys.stdin.readline().strip() or default

    return ask


def _info(options: argparse.Namespace, ask: Ask) -> SystemInfo:
    values = {
        "name": ask("Name of the system", "", options.name),
        "team": ask("Name of the team", "", options.team),
        "contact": ask("Where the maintainers can reach you", "", options.contact),
        "regime": ask(f"How models are asked ({', '.join(REGIMES)})", "other", options.regime),
        "url": ask("Web page about it (optional)", "", options.url),
        "notes": ask("Note for the board (optional)", "", options.notes),
    }
    models = options.model or ask(
        "Models that the system uses, separated by commas (nothing for rules)", "", None
    ).split(",")
    cutoff = ask("Knowledge cutoff (a date such as 2026-01-31, or unknown)", "unknown", options.knowledge_cutoff)
    missing = [name for name in ("name", "team", "contact") if not values[name]]
    if missing:
        raise UsageError(
            f"missing: {', '.join(missing)}",
            fix=f"Add {' '.join(f'--{name} ...' for name in missing)}, or run this in a terminal to be prompted.",
            code="not-said",
        )
    try:
        value: object = {
            **values,
            "models": [name for name in map(str.strip, models) if name],
            "knowledge_cutoff": cutoff_of(cutoff),
        }
        return SystemInfo.model_validate(value, context={"today": now().date()})
    except ValidationError as error:
        said = "; ".join(f"{field}: {what}" for field, what in problems(error))
        raise SubmissionError(said, where=SYSTEM, fix="Choose another wording.", code="bad-field") from None


def _folder(said: str | None, name: str, option: str) -> str:
    found = said or slug(name)
    if not FOLDER_NAME.fullmatch(found):
        raise SubmissionError(
            f"no folder name can be made of {said or name!r}",
            expected="lower-case letters, digits and hyphens, at most 40",
            fix=f"Name one with {option}.",
            code="bad-folder",
        )
    return found


def _check_team(team: str, name: str, root: Path) -> None:
    other = look_alike(team, name, known_teams(root))
    if other:
        raise SubmissionError(
            f"the team {name!r} looks like the team {other!r}",
            fix=f"If it is your team, use --team-folder {other}; else choose another name.",
            code="look-alike",
        )
