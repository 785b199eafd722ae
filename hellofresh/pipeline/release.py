"""The whole path from sources to the board, run by `make release`. Every step is also a command."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import product
from pkgutil import resolve_name
from typing import Any

import polars as pl

from collectors import FITS
from collectors.jobs import bundled_jobs
from hellofresh.config import EvaluateSettings, Settings
from hellofresh.core.clock import now
from hellofresh.core.editions import Edition, Frozen
from hellofresh.core.errors import DataError, HelloFreshError, ReleaseError, SourceError, UnknownNameError, UsageError
from hellofresh.core.quarters import Quarter, utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.models.catalogue import is_baseline, learns
from hellofresh.pipeline.answering import Show, answer
from hellofresh.pipeline.sources import SourceRequest, collection_jobs, living, rated_quarters
from hellofresh.pipeline.steps import Steps, analyse_scored, score
from hellofresh.pipeline.takedown import take_down_with_pictures
from hellofresh.pipeline.witness import Witness
from hellofresh.releases.collection import CollectionJob, collect_quarter
from hellofresh.releases.draw.prospective import (
    Prospective,
    ResolutionReport,
    build_prospective,
    prospective_splits,
    resolve,
)
from hellofresh.releases.draw.release import Built, build_release
from hellofresh.releases.exposure import waits
from hellofresh.releases.life.load import load_release
from hellofresh.releases.life.manifest import calendar_of, read_manifest
from hellofresh.releases.life.phases import labels_are_public
from hellofresh.releases.life.record import is_waiting, record_opening
from hellofresh.releases.life.state import reveal
from hellofresh.releases.life.takedown import gone_samples
from hellofresh.releases.publish.folder import publish_to_folder
from hellofresh.releases.settings import ReleaseSettings
from hellofresh.results.board.build import build_board
from hellofresh.results.split.panel import ALL_PERIODS
from hellofresh.runs.evaluate import evaluate, is_finished
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.export import EvaluationReport
from hellofresh.runs.record import finished_runs
from hellofresh.tasks import Task, get_task
from hellofresh.tasks.samples import MAIN, PROSPECTIVE

LEAVES_OUT = {"no-training-labels", "no-texts", "baseline-regime", "no-such-class"}
"""Errors for which a model is skipped with a note: no training labels, samples without filled-in texts, a
regime that changes only the prompt, which baselines ignore, or a class that the task does not have."""
EMBEDDED, SMOKE_SAMPLES, SEARCHED = "smollm2-135m", 10, 2
"""The embedded model, and how many samples of the bundled sample it is asked about, by task and quarter, without and
with a search: more would not lift it above chance, and it takes a second for each, with a search six."""
SEARCHING = {
    "regime": "web-search",
    "settings": ("pages=1", "page_words=200", "summary_words=30"),
    "provider": "offline",
    "prompts": "manual",
}


def run_release(
    steps: Steps,
    settings: Settings,
    sources: SourceRequest,
    *,
    models: Sequence[str],
    limit: int | None = None,
    analyses: bool = True,
    datasets: Sequence[str] = (),
) -> None:
    """Collect, build, evaluate, score, analyse, build the board and publish.

    Args:
        steps, settings: the workspace and output, and the settings.
        sources: the sources of samples.
        models: the models to evaluate.
        limit: samples per task and quarter; None for the configured number.
        analyses: whether to analyse scored quarters.
        datasets: imported data sets to evaluate and score too, by name or by edition.

    Raises:
        HelloFreshError: from the first step that fails; finished ones are not repeated.
    """
    workspace, watch = steps.workspace, _Watch(steps.show)
    named = _named_datasets(workspace, datasets)
    releases = _collect_and_build(steps, settings, sources)
    steps.show.published(releases)
    watch.step(f"collected  {sum(built.samples for built in releases):,} samples in {len(releases)} releases")
    _open_built(workspace, releases)
    for quarter, name in living(workspace):
        _or_wait(steps, partial(reveal_if_due, steps, quarter, name))
    drop_gone(steps)
    by_edition: dict[Edition, list[Task]] = defaultdict(list)
    for edition, name in [*((built.quarter, built.task) for built in releases), *named]:
        by_edition[edition].append(get_task(name))
    limit = settings.evaluate.limit if limit is None else limit
    _ask_in_rounds(steps, watch, by_edition, models=models, regimes=settings.evaluate.regimes, limit=limit)
    _score_others(steps, set(by_edition))
    run_lane(steps, settings.evaluate, models)
    if analyses:
        analyse_scored(steps)
        watch.step("analysed   what is revealed")
    _say_board(steps, "board")
    watch.step("built      the board")
    _or_wait(steps, partial(publish_opened, steps))
    watch.step("published  what is open")
    for line in leaders(workspace):
        steps.show.last(line)


class _Watch:
    """Says how long each step took."""

    def __init__(self, show: Show) -> None:
        self._show, self._last = show, time.monotonic()

    def step(self, what: str) -> None:
        before, self._last = self._last, time.monotonic()
        self._show.step(what, self._last - before)


def _ask_in_rounds(
    steps: Steps,
    watch: _Watch,
    by_edition: Mapping[Edition, Sequence[Task]],
    *,
    models: Sequence[str],
    regimes: Sequence[str],
    limit: int | None,
) -> None:
    """Ask rules, what learns, and models, in this order; a first board follows the first of several rounds."""
    # Rules answer at once, so a first board is ready before anything learns or a language model runs.
    kinds = {
        "rules": [model for model in models if is_baseline(model) and not learns(model)],
        "what learns": [model for model in models if learns(model)],
        "models": [model for model in models if not is_baseline(model)],
    }
    rounds = {which: of_kind for which, of_kind in kinds.items() if of_kind}
    shown, older = _of_sample(steps.workspace, by_edition)
    newer = {edition: tasks for edition, tasks in by_edition.items() if edition not in older}
    for which, of_kind in rounds.items():
        how = [{"model": model, "regime": regime, "limit": limit} for regime, model in product(regimes, of_kind)]
        samples, runs = _ask_all(steps, newer if which == "models" else by_edition, how)
        said = f"{samples:,} samples in {runs} runs"
        if which == "models" and older:
            left_out = ", ".join(map(str, sorted(older)))
            steps.show.say(f"note: models are not asked about the sample's old or unrevealed quarters: {left_out}")
        if shown and EMBEDDED in of_kind:
            searching = {**SEARCHING, "model": EMBEDDED, "limit": min(limit or SEARCHED, SEARCHED)}
            samples, _ = _ask_all(steps, {shown[-1]: by_edition[shown[-1]]}, [searching])
            said += f", {samples} with search"
        watch.step(f"asked      {which}: {said}")
        if len(rounds) > 1 and which == next(iter(rounds)):
            _say_board(steps, "first board")
            watch.step(f"first board, of {which} only")


def _ask_all(
    steps: Steps, by_edition: Mapping[Edition, Sequence[Task]], how: Sequence[Mapping[str, Any]]
) -> tuple[int, int]:
    """Ask in each of these ways, fields of `Evaluation`, and score; returns the numbers of samples and runs."""
    made: list[EvaluationReport] = []
    for edition, tasks in sorted(by_edition.items()):
        for task, one in product(tasks, how):
            if task.classes:  # written responses are judged by others
                evaluation = _as_smoke_test(steps.workspace, Evaluation(edition, task, **one))
                made += filter(None, [ask(steps, evaluation, LEAVES_OUT)])
        score(steps, edition)
    return sum(report.judged for report in made), len(made)


def _as_smoke_test(workspace: Workspace, asked: Evaluation) -> Evaluation:
    """Fewer samples than usual for the embedded model on the bundled sample: more would not lift it above chance."""
    is_one = asked.model == EMBEDDED and read_manifest(workspace.release(asked.edition, asked.task.name)).bundled
    return replace(asked, limit=asked.limit or SMOKE_SAMPLES) if is_one else asked


def _of_sample(
    workspace: Workspace, by_edition: Mapping[Edition, Sequence[Task]]
) -> tuple[Sequence[Edition], AbstractSet[Edition]]:
    """Of the bundled editions two to ask models about, with public labels if possible, and those only to train on."""
    bundled, public = list[Edition](), list[Edition]()
    for edition, tasks in sorted(by_edition.items()):
        if any(read_manifest(workspace.release(edition, task.name)).bundled for task in tasks):
            bundled.append(edition)
            public += [edition] if all(labels_are_public(workspace, edition, task.name) for task in tasks) else []
    shown = (public or bundled)[-2:]
    return shown, set(bundled) - set(shown)


def leaders(workspace: Workspace) -> Iterator[str]:
    """Who leads the newest edition of each task, by how much, and whether that is sure; baselines are not ranked."""
    scores, standings = (pl.read_parquet(workspace.board / f"{name}.parquet") for name in ("scores", "standings"))
    whole = scores.filter(split=MAIN, period=ALL_PERIODS, headline=True)
    for name in whole["task"].unique().sort():
        headline = get_task(name).headline
        found = whole.filter(task=name, metric=headline.name)
        if found.is_empty():
            continue
        newest = found.filter(edition=found["edition"].max())
        ranked = newest.join(standings, on=("edition", "task", "split", "origin"))
        tied = ranked.filter(tie_group=1).height
        first = ranked.sort("rank") if tied else newest.sort("value", descending=headline.higher_is_better)
        seal = f"too close to call ({tied} do not differ)" if tied > 1 else "lead is real"
        seal = seal if ranked.height > 1 else "the only one ranked" if tied else "no system is ranked yet"
        yield f"{name} {first['edition'][0]}: {first['system'][0]}, {headline.title} {first['value'][0]:.3f}; {seal}"


def _open_built(workspace: Workspace, releases: Sequence[Built]) -> None:
    """Open every release that waits and whose day has come: a command that a person types needs no approval."""
    for built in releases:
        folder = workspace.release(built.quarter, built.task)
        if is_waiting(workspace, folder) and calendar_of(read_manifest(folder), folder).opens <= now():
            record_opening(workspace, folder, now())


def _say_board(steps: Steps, what: str) -> None:
    """Build the board from the current scores, and report its place."""
    with steps.show.progress(f"build the {what}"):
        board = build_board(steps.workspace)
    state = "unchanged, skipped" if board.skipped else "written"
    steps.show.say(
        f"The {what} of {', '.join(board.quarters)} is in {board.folder}: {state}. Look at it: hellofresh board serve"
    )


def _named_datasets(workspace: Workspace, names: Sequence[str]) -> list[tuple[Edition, str]]:
    """The imported editions of the named data sets, with their tasks."""
    imported = [(edition, task) for edition, task in workspace.released() if isinstance(edition, Frozen)]
    found: list[tuple[Edition, str]] = []
    for name in names:
        own = [(edition, task) for edition, task in imported if name in (edition.name, str(edition))]
        if not own:
            fix = "Import it first: hellofresh dataset import NAME, or muse PATH."
            raise UnknownNameError("data set", name, {edition.name for edition, _ in imported}, fix=fix)
        found += own
    return found


def _or_wait(steps: Steps, work: Callable[[], object]) -> None:
    """Run a step; if it waits for another witness of the time, report that and continue with the others."""
    try:
        work()
    except HelloFreshError as error:
        if error.code != "unconfirmed-time":
            raise
        steps.show.last(f"note: {error}")


def reveal_if_due(steps: Steps, quarter: Quarter, name: str) -> bool:
    """Reveal the labels of a quarter and task if it is time, and report it; returns whether it was done.

    Raises:
        UsageError: if nothing confirms the time (`unconfirmed-time`); not for the bundled sample, which has no secrets.
    """
    until = waits(steps.workspace, quarter, name)
    bundled = read_manifest(steps.workspace.release(quarter, name)).bundled
    if until is not None and until <= now() and not bundled:
        steps.witness.confirm(f"the reveal of {name} {quarter}")
    done = reveal(steps.workspace, quarter, get_task(name), now())
    if done:
        steps.show.say(f"{name} {quarter}: labels and salts are public now.")
    return done


def drop_gone(steps: Steps) -> None:
    """Take down the samples whose posts were deleted since the release."""
    workspace = steps.workspace
    for quarter, name in living(workspace):
        if workspace.gone(quarter, name).is_file():
            gone = gone_samples(workspace, quarter, get_task(name))
            if not gone:
                continue
            done = take_down_with_pictures(workspace, quarter, get_task(name), gone)
            if done.ids:
                steps.show.say(f"{name} {quarter}: {len(done.ids)} samples taken down: their posts were deleted.")


def _score_others(steps: Steps, done: AbstractSet[Edition]) -> None:
    """Score the other revealed or scored editions again, since submissions and takedowns may have changed them."""
    workspace = steps.workspace
    released = workspace.released()
    for edition in sorted({found for found, _ in released} - done):
        revealed = all(labels_are_public(workspace, edition, name) for found, name in released if found == edition)
        if (revealed or workspace.is_scored(edition)) and not score_if_any(steps, edition):
            steps.show.say(f"note: {edition} has no scores: no model was evaluated on it.")


def score_if_any(steps: Steps, edition: Edition, split: str = MAIN) -> bool:
    """Score a split; False if it has no answers."""
    try:
        score(steps, edition, split)
    except DataError as error:
        if error.code != "nothing-to-score":
            raise
        return False
    return True


def publish_opened(steps: Steps) -> None:
    """Publish everything public to the workspace's own folder; raises as `confirm_publication`."""
    try:
        confirm_publication(steps.witness)
        steps.show.published(publish_to_folder(steps.workspace, steps.workspace.published, now()))
    except ReleaseError as error:
        if error.code != "nothing-open":
            raise
        steps.show.say("note: nothing is published yet: no quarter has opened.")


def confirm_publication(witness: Witness) -> None:
    """Raise UsageError if nothing confirms the time by which unrevealed releases have opened."""
    for quarter, name in living(witness.workspace):
        folder = witness.workspace.release(quarter, name)
        manifest = read_manifest(folder)
        if not manifest.bundled and not manifest.revealed and calendar_of(manifest, folder).opens <= now():
            witness.confirm("the publication")


def _collect_and_build(steps: Steps, settings: Settings, asked: SourceRequest) -> list[Built]:
    found = []
    sourced, quarters = rated_quarters(steps.workspace, settings, asked)
    for quarter in quarters:
        try:
            said = fit_voters(steps, sourced, quarter)
        except SourceError as error:  # notes do not need ratings, and faults of their files are reported later
            said = f"no voters are fitted for {quarter}: {error}"
        if said:
            steps.show.say(f"note: {said}")
    for job in collection_jobs(steps.workspace, settings, asked):
        # A task collected from another task's source may lack samples in some quarters.
        named = bool(asked.quarters) and job.task.source == job.task.name
        if built := collect_and_build(steps, settings, job, named=named):
            found.append(built)
    if not found and (settings.sources.any or asked.named or asked.sample):
        raise DataError("no quarter could be released", fix="Name one that the sources cover.", code="no-candidates")
    return sorted(found, key=lambda built: (built.quarter, built.task))


def fit_voters(steps: Steps, settings: Settings, quarter: Quarter) -> str:
    """Do what is learnt from the configured notes of a quarter before their collection; returns a message or ''."""
    said = []
    for fit in FITS.values():
        with steps.show.progress(f"collect {fit.name} {quarter}") as bar:
            said.append(resolve_name(fit.configured)(steps.workspace, settings, quarter, bar.line))
    configured = settings.sources.x_notes
    if configured is not None and configured.ratings and not FITS:
        said.append(f"no voters are fitted for {quarter}: no installed package fits ratings")
    return "; ".join(filter(None, said))


def collect_and_build(steps: Steps, settings: Settings, job: CollectionJob, *, named: bool = False) -> Built | None:
    """Collect one quarter of one task and build its release; None if the source does not cover it.

    Raises:
        DataError: if the quarter was named and the source does not cover it.
    """
    try:
        with steps.show.progress(f"collect {job.task.name} {job.quarter}") as bar:
            collected = collect_quarter(steps.workspace, job, progress=bar.line)
        steps.show.published(collected)
        _draw_if_due(steps, settings.release, job)
        return build(steps.workspace, settings.release, job.quarter, job.task)
    except DataError as error:
        # Only a quarter named by the user must be in the source.
        if named or error.code not in {"no-candidates", "no-recent-changes", "empty-release"}:
            raise
        steps.show.say(f"note: left out: {error}")
        return None


def _draw_if_due(steps: Steps, settings: ReleaseSettings, job: CollectionJob) -> None:
    """Draw the prospective split from its day in the calendar on, once enough samples are undecided."""
    lane, opens = settings.prospective, settings.calendar.of(job.quarter).opens
    if lane.enabled and opens - timedelta(days=lane.drawn_before_opening_days) <= now() < opens:
        try:
            draw(steps.workspace, settings, job.quarter, job.task, steps.show.say, least=lane.least_samples)
        except ReleaseError as error:
            if error.code not in {"no-pending", "few-pending"}:
                raise
            steps.show.say(f"note: no prospective split: {error}")


def build(workspace: Workspace, settings: ReleaseSettings, quarter: Quarter, task: Task) -> Built:
    """Build the release of a quarter and task by the settings; raises as `build_release`."""
    return build_release(
        workspace,
        quarter,
        task,
        seed=settings.seed,
        cap=settings.caps.get(task.name, task.cap),
        per_group=None if settings.per_post == "all" else settings.per_post,
        texts=settings.texts(task.name),
        calendar=settings.calendar.of(quarter),
    )


def draw(
    workspace: Workspace,
    settings: ReleaseSettings,
    quarter: Quarter,
    task: Task,
    say: Callable[[str], None],
    *,
    least: int = 1,
) -> Prospective:
    """Draw the prospective split of a quarter and task, and report it.

    Raises:
        ReleaseError: if there are no samples to draw from, or fewer than `least`.
    """
    drawn = build_prospective(
        workspace,
        quarter,
        task,
        seed=settings.seed,
        cap=settings.caps.get(task.name, task.cap),
        days=settings.prospective.days,
        moment=now(),
        texts=settings.texts(task.name),
        least=least,
        resolved_after=timedelta(days=settings.prospective.resolved_after_days),
    )
    state = "unchanged, skipped" if drawn.skipped else "published"
    say(
        f"{task.name} {quarter}, prospective: {drawn.samples} of {drawn.pending} undecided samples, {state}; "
        f"predictions are due before {utc_text(drawn.deadline)}"
    )
    return drawn


def resolve_split(
    witness: Witness, quarter: Quarter, task: Task, say: Callable[[str], None], *, final: bool = False
) -> ResolutionReport | None:
    """Resolve one prospective split, and report the outcome; raises as `resolve` and `Witness.confirm`."""
    workspace = witness.workspace
    days = load_release(workspace, quarter, task, PROSPECTIVE).days
    manifest = read_manifest(workspace.release(quarter, task.name, PROSPECTIVE))
    if manifest.resolved is None and not manifest.bundled and days.deadline <= now():
        witness.confirm(f"the resolution of {task.name} {quarter}")
    resolved = resolve(workspace, quarter, task, now(), final=final)
    what = f"{task.name} {quarter}, prospective"
    if resolved is None:
        say(f"{what}: not resolved: collect again with --pending after the deadline")
    elif resolved.waits_until:
        say(f"{what}: not resolved before {utc_text(resolved.waits_until)}: until then an open split shares its groups")
    elif resolved.waiting:
        say(f"{what}: {resolved.labels} decided, {resolved.waiting} may still be: collect again later")
    else:
        dropped = ", ".join(f"{number} {reason}" for reason, number in resolved.dropped.items() if number)
        state = " (unchanged, skipped)" if resolved.skipped else ""
        say(f"{what}: {resolved.labels} labels{state}; dropped: {dropped or 'none'}")
    return resolved


def run_lane(steps: Steps, settings: EvaluateSettings, models: Sequence[str]) -> None:
    """Run the due steps of prospective splits: evaluate models within limit and budget, resolve, and score."""
    workspace = steps.workspace
    for quarter, name in prospective_splits(workspace):
        task = get_task(name)
        if now() < load_release(workspace, quarter, task, PROSPECTIVE).days.deadline:
            for model in models:
                asked = Evaluation(quarter, task, model, split=PROSPECTIVE, limit=settings.limit)
                asked = within_budget(workspace, asked, settings.budget_usd)
                ask(steps, asked, {"no-training-labels", "no-texts"})
        else:
            last = load_release(workspace, quarter, task, PROSPECTIVE).days.reveals
            resolution = partial(resolve_split, steps.witness, quarter, task, steps.show.say)
            _or_wait(steps, partial(resolution, final=now() >= last))
    for quarter in sorted({quarter for quarter, _ in prospective_splits(workspace)}):
        score_if_any(steps, quarter, PROSPECTIVE)


def within_budget(workspace: Workspace, evaluation: Evaluation, budget_usd: float | None) -> Evaluation:
    """The evaluation with the rest of the budget after other runs on its quarter; unchanged without a budget."""
    if budget_usd is None:
        return evaluation
    own = (evaluation.task.name, evaluation.split, evaluation.model, evaluation.regime)
    spent = 0.0
    for _, record in finished_runs(workspace.runs):
        asked = record.evaluation
        if asked.edition == evaluation.edition:
            other = (asked.task.name, asked.split, record.model.name, record.regime.name) != own
            spent += (record.cost_usd or 0.0) if other else 0.0
    return replace(evaluation, budget_usd=max(0.0, budget_usd - spent))


def ask(
    steps: Steps, evaluation: Evaluation, leaves_out: AbstractSet[str], *, again: bool = True
) -> EvaluationReport | None:
    """Evaluate; None if the model is skipped with a note, or the run is complete and `again` is false."""
    try:
        if again or not is_finished(steps.workspace, evaluation):
            return answer(steps.workspace, evaluation, steps.show)
    except HelloFreshError as error:
        if error.code not in leaves_out:
            raise
        where = f"{evaluation.task.name} {evaluation.edition}" if evaluation.split == MAIN else "the prospective split"
        steps.show.say(f"note: {evaluation.model} is left out on {where}: {error.what}")
    return None


def build_bundled(workspace: Workspace, show: Show, name: str, baselines: Sequence[str]) -> tuple[Edition, str]:
    """Build the newest quarter with public labels of a task's bundled sample, and run baselines on it.

    Raises:
        UsageError: if the bundled sample does not cover the task.
    """
    jobs = [job for job in bundled_jobs(workspace) if job.task.name == name]
    if not jobs:
        raise UsageError(
            f"nothing of {name} is released here, nor in the bundled sample",
            where=str(workspace.root),
            expected="a task of the bundled sample, such as x-notes",
            fix="Import a data set (hellofresh dataset import), or name another task.",
            code="no-release",
        )
    settings = Settings.load()
    job = [job for job in jobs if settings.release.calendar.of(job.quarter).reveals <= now()][-1]
    collect_and_build(Steps(workspace, workspace.submissions(), show), settings, job, named=True)
    reveal(workspace, job.quarter, job.task, now())
    for baseline in baselines:
        evaluate(workspace, Evaluation(job.quarter, job.task, baseline), lambda _: None)
    return job.quarter, name
