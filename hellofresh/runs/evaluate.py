"""Evaluate a model on a released edition.

`runs/<run id>/` holds `plan.json` (the plan, written before the first question), `journal.sqlite` (every raw answer)
and the files that `export` makes at the end. The id is a hash of model, parameters, regime, web, prompt set and
samples: asking for more samples, prompts or repetitions later continues the same run, and a changed model or prompt
starts a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from urllib.parse import urlsplit

from hellofresh.core.clock import now
from hellofresh.core.errors import DataError, RunError, UsageError
from hellofresh.core.executors import completed
from hellofresh.core.quarters import utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.models import ModelSpec
from hellofresh.releases.life.load import Release
from hellofresh.runs.asked_models import sampling_notes
from hellofresh.runs.counts import WIDER_TOKENS
from hellofresh.runs.dry_run import Forecast, forecast
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.export import EvaluationReport, export
from hellofresh.runs.journal import Journal, snapshot
from hellofresh.runs.plan import RunPlan, find_run, next_number, read_plan, refuse_changes, unfinished_kin
from hellofresh.runs.prepare import PreparedRun, prepare
from hellofresh.runs.record import RECORD, is_whole, read_predictions
from hellofresh.runs.regimes import MAIN
from hellofresh.runs.runner import Tally, run


def evaluate(
    workspace: Workspace,
    evaluation: Evaluation,
    progress: Callable[[Tally], None],
    tell: Callable[[str], None] = lambda _: None,
    *,
    release: Release | None = None,
    watch: Callable[[str], None] = lambda _: None,
) -> EvaluationReport:
    """Evaluate a model on the samples of a release, or resume the run.

    Args:
        workspace: the workspace with releases and runs.
        evaluation: the evaluation to run.
        progress: called with the current tally.
        tell: called with notes that should be read early in the run.
        release: the samples, if already loaded.
        watch: called with the step of each question before it is asked or recalled.

    Raises:
        UsageError: if a name is unknown, or a requirement of the model is missing.
        DataError: if the release or the prompts are faulty, or the model cannot answer.
    """
    prepared = prepare(workspace, evaluation, release=release)
    _check_samples(prepared)
    with Journal(prepared.folder) as journal:
        if evaluation.drop_damaged:
            journal.drop_damaged()
        else:
            _hold(prepared, journal)
        # Opened before the plan is written, so that a failure leaves no plan behind.
        web = None if prepared.web is None else prepared.web.open(prepared.folder)
        for note in _notes_before(workspace, prepared, evaluation):
            tell(note)
        before = read_plan(prepared.folder)  # again, since no other process can write it now that the run is locked
        if before is not None:
            refuse_changes(prepared.folder.name, before.identity, prepared.identity)
        plan = RunPlan(
            number=next_number(workspace.runs) if before is None else before.number,
            started=utc_text(now()) if before is None else before.started,
            identity=dict(prepared.identity),
            evaluation=prepared.evaluation,
            balanced=prepared.classes is not None,
        )
        plan.write(prepared.folder)
        assignment = replace(prepared.equipped(workspace, web), watch=watch)
        result = run(assignment, prepared.samples, journal, progress)
        report = export(prepared, plan.number, result, journal)
        for asked, others in report.others.items():
            tell(f"{asked} was asked, but the answers name another model: {', '.join(others[:5])}")
        if report.widened:
            tell(
                f"{report.widened} answers were cut off before their first word and requested again with a limit wider "
                f"by {WIDER_TOKENS:,} tokens; --hidden-tokens {WIDER_TOKENS} saves the first attempt"
            )
        for remedy in report.remedies:
            tell(remedy)
        return report


def _check_samples(prepared: PreparedRun) -> None:
    """Refuse to ask about no sample, and to write a finished run anew without some of its samples.

    Raises:
        UsageError: if no sample is left.
        RunError: if an option selects samples that is not part of the run's identity.
    """
    chosen = {sample.id for sample in prepared.samples}
    if not chosen:
        where = prepared.evaluation.title
        raise UsageError("no sample is left to ask about", where=where, expected="at least one", code="no-samples")
    had = set[str]()
    with suppress(DataError):  # a damaged run is written anew
        had = {row.id for row in read_predictions(prepared.folder)} if prepared.done is not None else had
    lost = {sample.id for sample in prepared.release.first(None)} & had - chosen  # not those that were taken down
    if lost:
        raise RunError(
            f"{len(lost)} of {len(had)} samples of a finished run would be lost",
            where=prepared.folder.name,
            fix="The run is kept. Declare the option that selects samples as Part.IDENTITY.",
            code="fewer-samples",
        )


def _hold(prepared: PreparedRun, journal: Journal) -> None:
    done = prepared.done
    journal.hold(prepared.folder / RECORD, None if done is None else done.journal.model_dump())


def _notes_before(workspace: Workspace, prepared: PreparedRun, evaluation: Evaluation) -> Iterator[str]:
    """Notes that should be read early in the run."""
    specs = prepared.assignment.specs
    yield asked_at(specs)
    if prepared.plan is None:
        yield from unfinished_kin(workspace.runs, prepared.folder.name, prepared.identity)
    part, every = prepared.evaluation.limit or 0, len(prepared.release.samples)
    if part < every and prepared.classes is None and evaluation.task.classes:
        yield f"{part} of {every} samples, drawn regardless of labels: classes may be uneven"
    yield from sampling_notes(specs, evaluation.repeat, evaluation.temperature)
    for spec in specs.values():
        yield from spec.notes
    spec = specs[MAIN]
    if "provider" in spec.parameters:
        yield f"up to {spec.limits.in_flight} requests to {spec.name} are in flight at once"


def asked_at(specs: Mapping[str, ModelSpec]) -> str:
    """A sentence with the models and their hosts."""
    places: dict[str, dict[str, None]] = {}
    for spec in specs.values():
        address = str(spec.parameters.get("base_url", ""))
        host = urlsplit(address).netloc if address else "this machine, nothing is sent away"
        places.setdefault(host, {})[spec.name] = None
    return "; ".join(f"{', '.join(names)}: asked at {host}" for host, names in places.items())


def is_finished(workspace: Workspace, evaluation: Evaluation) -> bool:
    """Whether this evaluation was finished, but for samples that fail for good; asks nothing and needs no key.

    Raises:
        UsageError, DataError: like `evaluate`, if it could not begin.
    """
    prepared = prepare(workspace, evaluation, only_known=True)
    done, wanted = prepared.done, prepared.evaluation
    if done is None or done.failed > done.failed_for_good or not is_whole(prepared.folder):
        return False
    # The prepared evaluation includes finished work, so it equals the record only if nothing new is requested.
    had = done.evaluation
    same = (wanted.limit, wanted.repeat, wanted.prompts) == (had.limit, had.repeat, had.prompts)
    return same and len(prepared.samples) == done.judged + done.failed_for_good


def look_ahead(workspace: Workspace, evaluation: Evaluation) -> Forecast:
    """Forecast of `evaluate`; asks, fetches and writes nothing and needs no key.

    Raises:
        UsageError, DataError: like `evaluate`, if it could not begin.
    """
    prepared = prepare(workspace, evaluation, only_known=True)
    assignment = prepared.equipped(workspace, None)
    with snapshot(prepared.folder) as journal:
        if not evaluation.drop_damaged:
            _hold(prepared, journal)
        found = forecast(assignment, prepared.samples, journal)
    completed(assignment.equipment.close())
    return found


def resumed(workspace: Workspace, name: str) -> Evaluation:
    """The evaluation of an earlier run, to resume it.

    `name` is the run's id, or a unique prefix or suffix of it.

    Raises:
        UnknownNameError: if the run is unknown.
        RunError: if its plan is damaged.
    """
    folder = find_run(workspace.runs, name)
    plan = read_plan(folder)
    if plan is None:
        raise RunError("has no plan", where=folder.name, fix="Run its command again.", code="damaged-run")
    return replace(plan.evaluation, resumes=folder.name)
