"""`hellofresh release`: build, publish, export and correct quarterly splits, or run the whole path to the board."""

from __future__ import annotations

import argparse
import shutil
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from collectors.jobs import bundled_jobs
from hellofresh.api.harnesses.lm_eval_scores import write_folder
from hellofresh.cli._output import CommandOutput, ProgressBar
from hellofresh.cli._show import show_built, summarise_collected
from hellofresh.cli.board import run_score
from hellofresh.cli.evaluate import run_evaluation
from hellofresh.cli.sources import run_job
from hellofresh.config import Settings, SourceSettings
from hellofresh.core.clock import now
from hellofresh.core.editions import Edition
from hellofresh.core.errors import HelloFreshError, ReleaseError, UsageError
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.pipeline import release as pipeline
from hellofresh.pipeline.sources import SourceRequest
from hellofresh.pipeline.takedown import Everywhere, Holders, take_down_with_pictures
from hellofresh.pipeline.witness import Witness
from hellofresh.releases.collection import CollectionJob
from hellofresh.releases.draw.prospective import prospective_splits
from hellofresh.releases.draw.release import Built
from hellofresh.releases.exposure import Place
from hellofresh.releases.life.state import labels_are_public, reveal
from hellofresh.releases.life.takedown import TakedownReport, find_sample, gone_samples
from hellofresh.releases.publish import Hub, Publication, publish_to_folder, publish_to_hub
from hellofresh.results.analyses import ANALYSES
from hellofresh.results.analyses.writing import make_analyses
from hellofresh.results.build import build_panel
from hellofresh.results.figures.image import need_converter
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.export import EvaluationReport
from hellofresh.tasks import TASKS, Task, get_task
from hellofresh.tasks.samples import MAIN, Split, to_json

_HUB = "hub:"


def _ready_tasks(
    options: argparse.Namespace, place: Callable[[str, Quarter], Path], what: str, more: str, code: str
) -> list[Task]:
    """The task that `--task` names, or else all that have a file for the quarter.

    Raises:
        ReleaseError: if none has: that there are no `what`, which are collected with `more`.
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
    pipeline.run_release(
        ShownSteps(Workspace.from_environment(), options.submissions, output, options.yes_it_is),
        Settings.load(),
        sources,
        models=options.models or (),
        limit=options.limit,
        analyses=not options.no_analyses,
        datasets=options.datasets or (),
    )
    return 0


def prospective(options: argparse.Namespace, output: CommandOutput) -> int:
    """Draw prospective splits of a quarter, or label those that were drawn."""
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
    show_published(output, published)
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


@dataclass(frozen=True, slots=True)
class ShownSteps:
    """The steps of `hellofresh.pipeline`, carried out and shown; see `hellofresh.pipeline.release.Steps`."""

    workspace: Workspace
    submissions: Path
    output: CommandOutput
    day: date | None = None

    @property
    def witness(self) -> Witness:
        return Witness.of(self.workspace, self.submissions, Settings.load(), self.day)

    def say(self, line: str) -> None:
        self.output.say(line)

    def progress(self, what: str) -> AbstractContextManager[ProgressBar]:
        return self.output.progress(what)

    def collect(self, job: CollectionJob) -> None:
        summarise_collected(self.output, run_job(self.workspace, job, self.output))

    def built(self, releases: Sequence[Built]) -> None:
        show_built(self.output, releases)

    def evaluate(self, evaluation: Evaluation) -> EvaluationReport:
        return run_evaluation(self.output, self.workspace, evaluation)

    def score(self, edition: Edition, split: str = MAIN) -> None:
        run_score(self.output, self.workspace, edition, self.submissions, Split(split))

    def analyse(self) -> None:
        analyse_scored(self.workspace, self.submissions, self.output)

    def published(self, publication: Publication) -> None:
        show_published(self.output, publication)


def build_bundled(
    workspace: Workspace, output: CommandOutput, name: str, baselines: Sequence[str]
) -> tuple[Edition, str]:
    """Build the first quarter of the bundled sample of a task, and have baselines answer it.

    Raises:
        UsageError: if the bundled sample has nothing of the task.
    """
    jobs = [job for job in bundled_jobs(workspace) if job.task.name == name]
    if not jobs:
        raise UsageError(
            f"nothing of {name} is released here, and the bundled sample has none",
            where=str(workspace.root),
            expected="a task of the bundled sample, such as x-notes",
            fix="Import a data set (hellofresh dataset import), or name another task.",
            code="no-release",
        )
    job = min(jobs, key=lambda job: str(job.quarter))  # its labels are public
    steps = ShownSteps(workspace, workspace.submissions(), output)
    pipeline.collect_and_build(steps, Settings.load(), job, named=True)
    reveal(workspace, job.quarter, job.task, now())
    for baseline in baselines:
        evaluate(workspace, Evaluation(job.quarter, job.task, baseline), lambda _: None)
    return job.quarter, name


def show_published(output: CommandOutput, published: Publication) -> None:
    """What was published, in a line."""
    state = "unchanged, skipped" if published.skipped else "written"
    revision = f" (revision {published.revision[:12]})" if published.revision else ""
    output.say(
        f"Published {', '.join(str(edition) for edition in published.quarters)} to {published.target}{revision}: "
        f"{published.files} files, {published.size / 1e6:.1f} MB, {state}"
    )
    if published.bundled:
        output.say("note: the bundled sample is part of it; card and file names say so.")


def analyse_scored(workspace: Workspace, submissions: Path, output: CommandOutput) -> None:
    """Make the analyses of every scored quarter and task whose labels are public for the board, without PNG.

    Args:
        workspace: where scores are.
        submissions: folder of what others handed in.
        output: hears what was made, skipped, or could not be made and why.
    """
    try:
        need_converter()
    except UsageError as error:
        output.say(f"note: the board has no analyses: {error}")
        return
    for edition, task in workspace.released():
        if workspace.is_scored(edition):
            try:
                if not labels_are_public(workspace, edition, task):
                    # Earlier versions made them of quarters that were not revealed.
                    shutil.rmtree(workspace.analyses(edition, task), ignore_errors=True)
                    output.say(f"note: no analyses of {task} {edition} yet: its labels are not revealed.")
                    continue
                _analyse(workspace, edition, task, submissions, output)
            except HelloFreshError as error:
                output.say(f"note: no analyses of {task} {edition}: {error}")


def _analyse(workspace: Workspace, edition: Edition, task: str, submissions: Path, output: CommandOutput) -> None:
    panel = build_panel(workspace, edition, get_task(task), submissions)
    made = make_analyses(workspace, panel, list(ANALYSES.values()), png=False, survive=True)
    for one in made:
        if one.problem:
            output.say(
                f"note: the analysis {one.name} of {task} {edition} failed ({one.problem}). "
                f"To see where: hellofresh analyse {one.name} --edition {edition} --task {task}"
            )
    sound = [one for one in made if not one.problem]
    figures = sum(not one.missing for one in sound)
    state = "unchanged, skipped" if all(one.skipped for one in sound) else "written"
    output.say(f"Analyses of {task} {edition}: {len(sound)}, {figures} of them with a figure: {state}.")


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
    return 1 if failed or (options.everywhere and (holders.holding or holders.answers)) else 0


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
