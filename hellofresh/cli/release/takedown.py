"""`hellofresh release takedown`: take samples out of a release, and their texts out of everything else."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Mapping

from hellofresh.cli._output import CommandOutput
from hellofresh.cli.board import run_score
from hellofresh.core.editions import Edition
from hellofresh.core.errors import HelloFreshError, UsageError
from hellofresh.core.workspace import Workspace
from hellofresh.pipeline.takedown import Everywhere, Holders, take_down_with_pictures
from hellofresh.releases.exposure import Place
from hellofresh.releases.life.takedown import TakedownReport, find_sample, gone_samples
from hellofresh.tasks import get_task
from hellofresh.tasks.samples import MAIN, Split, to_json


def takedown(options: argparse.Namespace, output: CommandOutput) -> int:
    if bool(options.ids) == options.gone or bool(options.ids) != bool(options.reason):
        raise UsageError(
            "no samples to take down are named",
            expected="sample ids and --reason, or --gone alone",
            code="bad-takedown",
        )
    workspace = Workspace.from_environment()
    wanted = _gone(workspace, options.edition) if options.gone else _named(workspace, options)
    ids = frozenset(key for reasons in wanted.values() for key in reasons)
    search = Everywhere.of(workspace, ids, options.submissions, options.also)
    if options.everywhere:
        search.refuse_while_a_run_goes_on()
    done = _take_down(workspace, wanted)
    others = search.others()
    if options.everywhere and others:
        reason = options.reason or "holds the text of a sample that was taken down"
        done += _take_down(workspace, {place: dict.fromkeys(keys, reason) for place, keys in others.items()})
        search = search.with_samples(others)
    for item in done:
        _say(output, item)
    if not done:
        output.text("Nothing to take down.")
    if options.everywhere:
        search.erase()
    failed = _score_again(workspace, done, options, output)
    if options.everywhere:
        for folder, error in search.rebuild():
            output.say(f"note: {folder} is removed, since it cannot be made without the text now: {error}")
            failed = True
    holders = search.holders()
    rows = [to_json(item) | {"edition": str(item.edition)} for item in done]
    output.result(rows)
    _say_where(output, holders, {} if options.everywhere else others, everywhere=options.everywhere)
    return 1 if failed or (options.everywhere and holders.holding) else 0


def _take_down(workspace: Workspace, wanted: Mapping[Place, Mapping[str, str]]) -> list[TakedownReport]:
    done = []
    for (edition, task, split), reasons in sorted(wanted.items()):
        if reasons:
            done.append(take_down_with_pictures(workspace, edition, get_task(task), reasons, split))
    return done


def _score_again(
    workspace: Workspace, done: list[TakedownReport], options: argparse.Namespace, output: CommandOutput
) -> bool:
    """Score what was scored; whether that failed: a takedown does not wait for it."""
    quiet, failed = CommandOutput(as_json=True), False
    for edition, split in sorted({(item.edition, item.split) for item in done}):
        scored = workspace.is_scored(edition) if split == MAIN else workspace.scores(edition, split).is_file()
        if not scored:
            continue
        try:
            run_score(quiet, workspace, edition, options.submissions, Split(split))
        except HelloFreshError as error:
            output.say(f"note: {edition} is not scored again: {error}")
            failed = True
            continue
        more = "" if options.everywhere else " 'hellofresh board build' brings the board up to date."
        output.say(f"{edition} is scored again.{more}")
    return failed


def _named(workspace: Workspace, options: argparse.Namespace) -> dict[Place, dict[str, str]]:
    wanted: dict[Place, dict[str, str]] = defaultdict(dict)
    for sample_id in dict.fromkeys(options.ids):
        edition, task, split = find_sample(workspace, sample_id, options.edition)
        wanted[edition, task.name, split][sample_id] = options.reason
    return wanted


def _gone(workspace: Workspace, wanted: Edition | None) -> dict[Place, dict[str, str]]:
    """What was found to be gone in the quarter that is named, else in every quarter that somebody has looked at."""
    places = [
        (edition, name)
        for edition, name in workspace.released()
        if wanted == edition or (wanted is None and workspace.gone(edition, name).is_file())
    ]
    texts = [(edition, name) for edition, name in places if get_task(name).public_type is not None]
    return {(edition, name, MAIN): gone_samples(workspace, edition, get_task(name)) for edition, name in texts}


def _say(output: CommandOutput, item: TakedownReport) -> None:
    name = f"{item.task} {item.edition}{'' if item.split == 'main' else f', {item.split}'}"
    if item.ids:
        output.text(f"{name}: {', '.join(item.ids)} taken down (version {item.version} of the manifest).")
    if item.before:
        output.text(f"{name}: already taken down: {', '.join(item.before)}.")


def _say_where(
    output: CommandOutput, holders: Holders, others: Mapping[Place, frozenset[str]], *, everywhere: bool
) -> None:
    """Name what still holds a text, and what to do."""
    for (edition, task, split), keys in sorted(others.items()):
        output.say(f"note: samples of {task} {edition} ({split}) hold the text, too: {', '.join(sorted(keys))}")
    for path in holders.holding:
        output.say(f"note: {path} still holds the text.")
    for path in holders.unread:
        output.say(f"note: {path} cannot be searched; it may hold the text.")
    if holders.unknown:
        output.say(
            f"note: the texts of {', '.join(holders.unknown)} are not in this workspace: nothing was searched for them."
        )
    if everywhere and holders.holding:
        output.say(
            "These are sources, submissions or copies made elsewhere: remove the text by hand, or create them again."
        )
    elif others or holders.holding:
        output.say("To erase it from everything in the workspace, run the command again with --everywhere.")
    output.say("Copies that you have published elsewhere must be removed by you.")
