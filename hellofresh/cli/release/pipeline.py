"""The whole path from sources to the board: what `make release` runs. Every step is a command of its own too."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path

from collectors import notes, wikipedia
from collectors.jobs import bundled_jobs, edits_job, live_edits_job, notes_job
from collectors.notes.dump.download import PUBLIC_URL
from collectors.notes.dump.snapshot import newest_snapshot
from collectors.wikipedia.api.source import LiveSource
from hellofresh.cli._analyses import analyse_scored
from hellofresh.cli._output import CommandOutput
from hellofresh.cli._show import show_built, summarise_collected
from hellofresh.cli.collect.commands import run_job
from hellofresh.cli.collect.posts import notes_source
from hellofresh.cli.collect.wiki import live_source
from hellofresh.cli.evaluate import run_evaluation
from hellofresh.cli.release.pictures import forget_pictures
from hellofresh.cli.release.prospective import draw, run_lane
from hellofresh.cli.release.publish import show_published
from hellofresh.cli.score import run_score
from hellofresh.config import NotesSourceSettings, Settings
from hellofresh.core.clock import now
from hellofresh.core.editions import Edition, Frozen
from hellofresh.core.errors import ConfigError, DataError, HelloFreshError, ReleaseError, UnknownNameError, UsageError
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.releases import Built, build_release, gone_samples, labels_are_public, reveal, take_down
from hellofresh.releases.candidates.collection import CollectionJob
from hellofresh.releases.publish import publish_to_folder
from hellofresh.results.board.build import build_board
from hellofresh.runs.evaluate import Evaluation
from hellofresh.tasks import Task, get_task

__all__ = [
    "LEAVES_OUT",
    "PathRequest",
    "collect_and_build",
    "collection_jobs",
    "drop_gone",
    "living",
    "publish_opened",
    "run_path",
    "sources_of",
]

LEAVES_OUT = {"no-training-labels", "no-texts", "baseline-regime", "no-such-class"}
"""Errors for which a model is left out with a note: nothing to learn from, samples whose texts are not filled in, or a
regime that changes only the prompt, which a baseline does not read, or a class that the task does not have."""


@dataclass(frozen=True, slots=True)
class PathRequest:
    """What was asked for on the command line; empty parts are taken from the settings.

    Attributes:
        quarters: empty for the current and the previous one.
        notes_dump, notes_posts, notes_posts_from, wiki_dumps: sources; with any dump, the configured ones are not used.
        models: empty for the configured ones.
        limit: samples a task and quarter.
        submissions: folder of what others handed in.
        analyses: whether to make the analyses of scored quarters.
        datasets: imported data sets to evaluate and score too, by name or by edition.
        settled: whether a wiki is asked about a quarter once all of it is decided, and afresh; else whenever it is run,
            and what was asked before is not asked again.
    """

    quarters: tuple[Quarter, ...]
    notes_dump: Path | None
    notes_posts: Path | None
    notes_posts_from: tuple[str, ...]
    wiki_dumps: tuple[Path, ...]
    models: tuple[str, ...]
    limit: int | None
    submissions: Path
    analyses: bool = True
    datasets: tuple[str, ...] = ()
    settled: bool = False


def run_path(workspace: Workspace, settings: Settings, request: PathRequest, output: CommandOutput) -> int:
    """Collect, build, evaluate, score, analyse, build the board and publish.

    Raises:
        HelloFreshError: from the first step that fails; the finished ones need not be repeated.
    """
    start = time.monotonic()
    datasets = _named_datasets(workspace, request.datasets)
    releases = _collect_and_build(workspace, settings, request, output)
    show_built(output, releases)
    _reveal(workspace, output)
    drop_gone(workspace, output)
    models = request.models or tuple(settings.evaluate.models)
    by_edition: dict[Edition, list[Task]] = defaultdict(list)
    for edition, name in [*((built.quarter, built.task) for built in releases), *datasets]:
        by_edition[edition].append(get_task(name))
    for edition in sorted(by_edition):
        for task in by_edition[edition]:
            if task.classes:  # what models write is judged by others
                _evaluate(workspace, settings, request, (edition, task, models), output)
        run_score(output, workspace, edition, request.submissions)
    _score_others(workspace, set(by_edition), request.submissions, output)
    run_lane(workspace, models, request.submissions, output)
    if request.analyses:
        analyse_scored(workspace, request.submissions, output)
    board = build_board(workspace)
    state = "unchanged, skipped" if board.skipped else "written"
    output.say(f"Board of {', '.join(board.quarters)} in {board.folder}: {state}. Look at it with: make leaderboard")
    publish_opened(workspace, output)
    output.say(f"Finished in {time.monotonic() - start:.0f} s.")
    return 0


def _named_datasets(workspace: Workspace, names: Sequence[str]) -> list[tuple[Edition, str]]:
    """The imported editions of data sets that are named, with their tasks."""
    imported = [(edition, task) for edition, task in workspace.released() if isinstance(edition, Frozen)]
    found: list[tuple[Edition, str]] = []
    for name in names:
        own = [(edition, task) for edition, task in imported if name in (edition.name, str(edition))]
        if not own:
            raise UnknownNameError(
                "data set", name, {edition.name for edition, _ in imported},
                fix="Import it first: hellofresh dataset import NAME, or hellofresh rate import muse PATH.",
            )  # fmt: skip
        found += own
    return found


def _reveal(workspace: Workspace, output: CommandOutput) -> None:
    """Move every quarter as far as its calendar lets it go."""
    moment = now()
    for quarter, name in living(workspace):
        if reveal(workspace, quarter, get_task(name), moment):
            output.say(f"{name} {quarter}: labels and salts are public now.")


def living(workspace: Workspace) -> list[tuple[Quarter, str]]:
    """The released quarters: a frozen data set has no calendar to follow."""
    return [(edition, name) for edition, name in workspace.released() if isinstance(edition, Quarter)]


def drop_gone(workspace: Workspace, output: CommandOutput) -> None:
    """Take down the samples whose posts were found to have been taken away since they were released."""
    for quarter, name in living(workspace):
        if workspace.gone(quarter, name).is_file():
            gone = gone_samples(workspace, quarter, get_task(name))
            if not gone:
                continue
            forget_pictures(workspace, quarter, get_task(name), gone)
            done = take_down(workspace, quarter, get_task(name), gone, now())
            if done.ids:
                output.say(f"{name} {quarter}: {len(done.ids)} samples taken down: their posts were deleted.")


def _score_others(workspace: Workspace, done: AbstractSet[Edition], submissions: Path, output: CommandOutput) -> None:
    """Score the other editions that are revealed or were scored: what came in or was taken down since counts there."""
    released = workspace.released()
    for edition in sorted({found for found, _ in released} - done):
        revealed = all(labels_are_public(workspace, edition, name) for found, name in released if found == edition)
        if revealed or workspace.is_scored(edition):
            try:
                run_score(output, workspace, edition, submissions)
            except DataError as error:
                if error.code != "nothing-to-score":
                    raise
                output.say(f"note: {edition} has no scores: no model was evaluated on it.")


def publish_opened(workspace: Workspace, output: CommandOutput) -> None:
    """Publish what is public by now to the workspace's own folder."""
    try:
        show_published(output, publish_to_folder(workspace, workspace.published, now()))
    except ReleaseError as error:
        if error.code != "nothing-open":
            raise
        output.say("note: nothing is published yet: no quarter has opened.")


def _collect_and_build(
    workspace: Workspace, settings: Settings, request: PathRequest, output: CommandOutput
) -> list[Built]:
    jobs = collection_jobs(workspace, settings, request)
    further = settings.sources.further_tasks
    found = [
        collect_and_build(
            workspace, settings, job, output, named=bool(request.quarters) and job.task.name not in further
        )
        for job in jobs
    ]
    releases = [built for built in found if built is not None]
    if not releases:
        raise DataError("no quarter could be released", fix="Name one that the sources cover.", code="no-candidates")
    return sorted(releases, key=lambda built: (built.quarter, built.task))


def collect_and_build(
    workspace: Workspace, settings: Settings, job: CollectionJob, output: CommandOutput, *, named: bool
) -> Built | None:
    """Collect one quarter of one task and build its release; None where the source does not cover it.

    Raises:
        DataError: if somebody named the quarter and the source does not cover it.
    """
    try:
        summarise_collected(output, run_job(workspace, job, output))
        _draw_prospective(workspace, settings, job, output)
        cap = settings.release.caps.get(job.task.name, job.task.cap)
        seed, texts = settings.release.seed, settings.release.texts(job.task.name)
        calendar = settings.release.calendar.of(job.quarter)
        return build_release(workspace, job.quarter, job.task, seed=seed, cap=cap, texts=texts, calendar=calendar)
    except DataError as error:
        # A source need not cover a quarter that nobody named; what is named must be there.
        if named or error.code not in {"no-candidates", "no-recent-changes", "empty-release"}:
            raise
        output.say(f"note: left out: {error}")
        return None


def _draw_prospective(workspace: Workspace, settings: Settings, job: CollectionJob, output: CommandOutput) -> None:
    """Publish what nobody has decided yet, once for a quarter that has not opened."""
    if not settings.release.prospective.enabled or now() >= settings.release.calendar.of(job.quarter).opens:
        return
    try:
        draw(workspace, settings.release, job.quarter, job.task, output)
    except ReleaseError as error:
        if error.code != "no-pending":
            raise
        output.say(f"note: no prospective split: {error}")


def collection_jobs(workspace: Workspace, settings: Settings, request: PathRequest) -> list[CollectionJob]:
    source, dumps = sources_of(workspace, settings, request)
    wiki = _live_source(settings, request)
    if source is None and not dumps and wiki is None:
        jobs = bundled_jobs(workspace)
        known = sorted({job.quarter for job in jobs})
        for quarter in request.quarters:
            if quarter not in known:
                raise UsageError(
                    f"the bundled sample has no {quarter}",
                    expected=" or ".join(str(item) for item in known),
                    fix="Name a source: NOTES_DUMP=DIR or WIKI_DUMP=FILE with make, or hellofresh.toml.",
                    code="no-source",
                )
        return [job for job in jobs if job.quarter in (request.quarters or known)]
    current = Quarter.containing(now())
    pending = settings.release.prospective.enabled
    jobs = []
    for quarter in request.quarters or (current.previous(), current):
        if source is not None:
            jobs.append(notes_job(workspace, quarter, source, notes.NotesSettings(), pending=pending))
            for task in settings.sources.further_tasks if request.notes_dump is None else ():
                undecided = pending and task != "x-posts"  # a post without two notes is no sample
                jobs.append(notes_job(workspace, quarter, source, notes.NotesSettings(), pending=undecided, task=task))
        if dumps:
            jobs.append(edits_job(quarter, dumps, wikipedia.EditsSettings(), pending=pending))
        settled = now().date() >= settings.release.calendar.rule.settles(quarter)
        if wiki is not None and (settled or pending or not request.settled):
            job = live_edits_job(
                workspace, quarter, wiki, wikipedia.EditsSettings(), refresh=request.settled, pending=pending
            )
            # What was collected before all was decided is collected again.
            more = {"settled": settled} if request.settled else {}
            jobs.append(replace(job, parameters={**job.parameters, **more}))
    return jobs


def sources_of(
    workspace: Workspace, settings: Settings, request: PathRequest
) -> tuple[notes.NotesSource | None, list[Path]]:
    """The sources of the command line, or, where it names none, the configured ones."""
    source, how = None, settings.posts
    if request.notes_dump is not None or request.wiki_dumps:
        if request.notes_dump is not None:
            posts_from = request.notes_posts_from
            source = notes_source(workspace, how, request.notes_dump, request.notes_posts, posts_from)
        return source, list(request.wiki_dumps)
    x_notes, edits = settings.sources.x_notes, settings.sources.wikipedia_edits
    if x_notes is not None:
        posts = Path(x_notes.posts) if x_notes.posts else None
        source = notes_source(workspace, how, _configured_dump(workspace, x_notes), posts, x_notes.posts_from)
    return source, [Path(name) for name in edits.dump or ()] if edits is not None else []


def _configured_dump(workspace: Workspace, configured: NotesSourceSettings) -> Path:
    """The configured folder, or the newest snapshot from the configured address."""
    if configured.dump is not None:
        return Path(configured.dump)
    folder, base_url = workspace.snapshots("x-notes"), configured.base_url or PUBLIC_URL
    found = newest_snapshot(folder, base_url)
    if found is None:
        raise ConfigError(
            f"[sources.x-notes] names no dump, and no whole snapshot from {base_url} is there",
            where=str(folder),
            expected="a folder named by its day, with the manifest of a finished download",
            fix="Take one first: hellofresh archive x-notes (with --ratings to count votes). Or name a folder as dump.",
            code="no-snapshot",
        )
    return found


def _live_source(settings: Settings, request: PathRequest) -> LiveSource | None:
    """The configured wiki, unless the command line names sources."""
    edits = settings.sources.wikipedia_edits
    if request.notes_dump is not None or request.wiki_dumps or edits is None or edits.api is None:
        return None
    return live_source(edits)


def _evaluate(
    workspace: Workspace,
    settings: Settings,
    request: PathRequest,
    which: tuple[Edition, Task, tuple[str, ...]],
    output: CommandOutput,
) -> None:
    edition, task, models = which
    limit = settings.evaluate.limit if request.limit is None else request.limit
    for regime in settings.evaluate.regimes:
        for model in models:
            evaluation = Evaluation(edition=edition, task=task, model=model, regime=regime, limit=limit)
            try:
                run_evaluation(output, workspace, evaluation)
            except HelloFreshError as error:
                if error.code not in LEAVES_OUT:
                    raise
                output.say(f"note: {model} is left out on {task.name} {edition}: {error.what}")
