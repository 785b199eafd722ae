"""`hellofresh release`: build, publish, export and correct quarterly splits, or run the whole path to the board."""

from __future__ import annotations

import argparse
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from hellofresh.api.harnesses.lm_eval_scores import write_folder
from hellofresh.cli._console import BriefShow, ConsoleShow
from hellofresh.cli._output import CommandOutput
from hellofresh.cli._show import show_built
from hellofresh.config import Settings, SourceSettings
from hellofresh.core.clock import now
from hellofresh.core.editions import Edition
from hellofresh.core.errors import ReleaseError, UsageError
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.models.catalogue import models_at
from hellofresh.pipeline import release as pipeline
from hellofresh.pipeline.sources import SourceRequest
from hellofresh.pipeline.steps import Steps
from hellofresh.pipeline.takedown import Everywhere, Holders, score_again, take_down_all
from hellofresh.pipeline.witness import Witness
from hellofresh.releases.draw.prospective import prospective_splits
from hellofresh.releases.exposure import Place
from hellofresh.releases.life.takedown import TakedownReport, correct_label, find_sample, gone_samples
from hellofresh.releases.publish.folder import publish_to_folder
from hellofresh.releases.publish.hub import Hub, publish_to_hub
from hellofresh.tasks import TASKS, Task, get_task
from hellofresh.tasks.samples import MAIN, to_json

_HUB = "hub:"


def _ready_tasks(
    options: argparse.Namespace, place: Callable[[str, Quarter], Path], what: str, more: str, code: str
) -> list[Task]:
    """The task of `--task`, else all tasks with a file for the quarter.

    Raises:
        ReleaseError: if there are no such tasks; the message names the missing `what` and the command `more`.
    """
    names = [options.task] if options.task else [name for name in TASKS if place(name, options.quarter).is_file()]
    if not names:
        raise ReleaseError(
            f"no {what} for {options.quarter}",
            where=str(Workspace.from_environment().root),
            fix=f"Collect them first: hellofresh collect TASK --quarter {options.quarter} {more} ...",
            code=code,
        )
    return [get_task(name) for name in names]


def build(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace, settings = Workspace.from_environment(), Settings.load().release
    if options.per_post is not None:
        settings = settings.model_copy(update={"per_post": options.per_post})
    ready = _ready_tasks(options, workspace.candidates, "candidates", "--dump", "no-candidates")
    show_built(output, [pipeline.build(workspace, settings, options.quarter, task) for task in ready])
    return 0


def run(options: argparse.Namespace, output: CommandOutput) -> int:
    named: dict[str, object] = {}
    if options.notes_dump is not None:
        posts = None if options.notes_posts is None else str(options.notes_posts)
        named["x-notes"] = {"dump": str(options.notes_dump), "posts": posts, "posts_from": [*options.notes_posts_from]}
    if options.wiki_dump:
        named["wikipedia-edits"] = {"dump": [str(path) for path in options.wiki_dump]}
    sources = SourceRequest(
        tuple(sorted(set(options.quarter or ()))),
        SourceSettings.model_validate(named) if named else None,
        sample=options.sample or not options.datasets,
    )
    workspace, settings = Workspace.from_environment(), Settings.load()
    go = partial(
        pipeline.run_release,
        settings=settings,
        sources=sources,
        models=models_at(options.base_url, *(options.models or settings.evaluate.models)),
        limit=options.limit,
        analyses=not options.no_analyses,
        datasets=options.datasets or (),
    )
    start = time.monotonic()
    if named or settings.sources.any or output.as_json:  # what real sources left out is to be read
        go(Steps(workspace, options.submissions, ConsoleShow(output), options.yes_it_is))
    else:
        _go_briefly(go, workspace, options, output)
    output.say(f"Finished in {time.monotonic() - start:.0f} s. Look at it: hellofresh board serve (localhost:8501)")
    return 0


def _go_briefly(
    go: Callable[[Steps], None], workspace: Workspace, options: argparse.Namespace, output: CommandOutput
) -> None:
    """Show one line per step, and write everything else to a log."""
    log = workspace.root / "logs" / f"release-{now():%Y-%m-%d}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a+", encoding="utf-8") as file:
        begun = file.tell()
        show = BriefShow(output, log=ConsoleShow(CommandOutput(as_json=False, file=file)))
        try:
            go(Steps(workspace, options.submissions, show, options.yes_it_is))
        finally:
            file.seek(begun)
            kinds = Counter(line.partition(":")[0] for line in file)
            counts = f"{kinds['warning']} warnings, {kinds['note']} notes"
            output.say(f"Everything else ({counts}): {workspace.portable(log)}")


def prospective(options: argparse.Namespace, output: CommandOutput) -> int:
    """Draw prospective splits of a quarter, or label drawn ones."""
    if options.resolve:
        return _resolve_split(options, output)
    workspace, settings = Workspace.from_environment(), Settings.load().release
    ready = _ready_tasks(options, workspace.pending, "undecided samples", "--pending", "no-pending")
    drawn = [pipeline.draw(workspace, settings, options.quarter, task, output.say) for task in ready]
    output.result([{**to_json(item), "quarter": str(item.quarter)} for item in drawn])
    return 0


def _resolve_split(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace, quarter = Workspace.from_environment(), options.quarter
    names = [options.task] if options.task else [name for one, name in prospective_splits(workspace) if one == quarter]
    if not names:
        raise ReleaseError(
            f"no prospective split of {quarter}",
            where=str(workspace.root),
            fix=f"Draw one first: hellofresh release prospective --quarter {quarter}",
            code="no-release",
        )
    final = options.resolve == "final"
    witness = Witness.of(workspace, workspace.submissions(), Settings.load(), options.yes_it_is)
    found = [pipeline.resolve_split(witness, quarter, get_task(name), output.say, final=final) for name in names]
    output.result([{**to_json(item), "quarter": str(item.quarter)} for item in found if item])
    return 0


def publish(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace, quarters = Workspace.from_environment(), sorted(set(options.edition or ()))
    witness = Witness.of(workspace, workspace.submissions(), Settings.load(), options.yes_it_is)
    pipeline.confirm_publication(witness)
    if options.to and options.to.startswith(_HUB):
        hub = Hub.from_environment(options.to.removeprefix(_HUB))
        published = publish_to_hub(workspace, hub, now(), quarters)
    else:
        target = Path(options.to) if options.to else workspace.published
        published = publish_to_folder(workspace, target, now(), quarters)
    output.result({**to_json(published), "quarters": [str(edition) for edition in published.quarters]})
    ConsoleShow(output).published(published)
    return 0


def export(options: argparse.Namespace, output: CommandOutput) -> int:
    names = write_folder(Workspace.from_environment(), options.edition, get_task(options.task), options.lm_eval)
    output.result({"folder": str(options.lm_eval), "tasks": list(names)})
    output.text(f"{options.lm_eval}: {', '.join(names)}")
    output.text(
        f"Next: lm_eval --include_path {options.lm_eval} --tasks {names[0]} --apply_chat_template "
        "--model local-chat-completions --model_args model=M,base_url=http://127.0.0.1:8000/v1/chat/completions"
    )
    return 0


def takedown(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace = Workspace.from_environment()
    wanted = _wanted(workspace, options)
    ids = frozenset(key for reasons in wanted.values() for key in reasons)
    search = Everywhere.of(workspace, ids, options.submissions, options.also)
    if options.everywhere:
        search.refuse_while_a_run_goes_on()
    done = take_down_all(workspace, wanted)
    others = search.others()
    if options.everywhere and others:
        reason = options.reason or "holds the text of a sample that was taken down"
        done += take_down_all(workspace, {place: dict.fromkeys(keys, reason) for place, keys in others.items()})
        search = search.with_samples(others)
    for item in done:
        _say(output, item)
    if not done:
        output.text("Nothing to take down.")
    if options.everywhere:
        search.erase()
    # Show only the notes about the scores, not the scores again.
    steps = Steps(workspace, options.submissions, ConsoleShow(CommandOutput(as_json=True)))
    failed = score_again(steps, done, everywhere=options.everywhere)
    if options.everywhere:
        for folder, error in search.rebuild():
            output.say(f"note: {folder} is removed, since it cannot be made without the text now: {error}")
            failed = True
    holders = search.holders()
    rows = [to_json(item) | {"edition": str(item.edition)} for item in done]
    output.result(rows)
    _say_where(output, holders, {} if options.everywhere else others, everywhere=options.everywhere)
    return 1 if failed or (options.everywhere and (holders.holding or holders.answers)) else 0


def correct(options: argparse.Namespace, output: CommandOutput) -> int:
    """Put the right label of a sample on record, and score its quarter again; returns 1 if that fails."""
    workspace = Workspace.from_environment()
    done = correct_label(workspace, options.sample, options.label, options.reason, now())
    output.result({**to_json(done), "edition": str(done.edition)})
    output.text(f"{options.sample} has the label {options.label} (version {done.version} of the manifest).")
    steps = Steps(workspace, options.submissions, ConsoleShow(CommandOutput(as_json=True)))
    return int(score_again(steps, [done], everywhere=False))


def _wanted(workspace: Workspace, options: argparse.Namespace) -> dict[Place, dict[str, str]]:
    """The samples to take down with their reasons, by split."""
    if bool(options.ids) == options.gone or bool(options.ids) != bool(options.reason):
        raise UsageError(
            "no samples to take down are named",
            expected="sample ids and --reason, or --gone alone",
            code="bad-takedown",
        )
    if options.gone:
        return _gone(workspace, options.edition)
    wanted: dict[Place, dict[str, str]] = defaultdict(dict)
    for sample_id in dict.fromkeys(options.ids):
        edition, task, split = find_sample(workspace, sample_id, options.edition)
        wanted[edition, task.name, split][sample_id] = options.reason
    return wanted


def _gone(workspace: Workspace, wanted: Edition | None) -> dict[Place, dict[str, str]]:
    """Samples found to be gone, in the named quarter or else in every quarter that was looked up."""
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
    """List the files that still contain a text, with advice."""
    for (edition, task, split), keys in sorted(others.items()):
        output.say(f"note: samples of {task} {edition} ({split}) hold the text, too: {', '.join(sorted(keys))}")
    for path in holders.holding:
        output.say(f"note: {path} still holds the text.")
    for path in holders.answers:
        output.say(f"note: {path} still holds what a team wrote about the samples.")
    for path in holders.unread:
        output.say(f"note: {path} cannot be searched; it may hold the text.")
    if holders.unknown:
        output.say(
            f"note: the texts of {', '.join(holders.unknown)} are not in this workspace: nothing was searched for them."
        )
    if everywhere and (holders.holding or holders.answers):
        output.say(
            "These are sources, submissions or copies made elsewhere: remove the text by hand, or create them again."
        )
    elif others or holders.holding:
        output.say("To erase it from everything in the workspace, run the command again with --everywhere.")
    output.say("Copies that you have published elsewhere must be removed by you.")
