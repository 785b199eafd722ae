"""Asking a model about a released quarter: the run's folder, which samples, and the verdicts that come out.

`runs/<run id>/` holds `plan.json` (what the run is to do, written before the first question), `journal.sqlite` (every
answer, as it came) and, made from it when all has been asked, `run.json` (who was asked, how and how much),
`responses.jsonl` (all answers), `predictions.jsonl` (an output for each sample, prompt and repetition),
`transcripts.jsonl` (what a regime did besides, if it did) and `errors.jsonl` (samples that could not be judged, if
there are any). The id is a hash of model, parameters, regime, web, prompt set and samples: asking for more samples,
prompts or repetitions later goes on with the same run, and a changed model or prompt starts another. None of what is
made from the journal tells when, how fast or in which order answers came, so that an interrupted run ends with the
same bytes.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from hellofresh.core.clock import now
from hellofresh.core.editions import Edition, parse_edition, quarters_of
from hellofresh.core.errors import DataError, RunError, UnknownNameError, UsageError
from hellofresh.core.files import write_jsonl
from hellofresh.core.quarters import utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.web import Web
from hellofresh.evidence.web.pictures import MediaPictures, open_pictures
from hellofresh.models import Model, ModelSpec
from hellofresh.models.baselines import TrainingSample
from hellofresh.models.batches.base import Batches
from hellofresh.models.catalogue import ModelContext, open_batches, open_model
from hellofresh.releases import Release, labels_are_public, load_labels, load_prospective, load_release
from hellofresh.runs import (
    Arguments,
    Assignment,
    Forecast,
    Journal,
    Ledger,
    Ledgers,
    Patience,
    RunPlan,
    RunResult,
    Tally,
    find_run,
    forecast,
    hash_of,
    next_number,
    read_plan,
    refuse_changes,
    run,
    snapshot,
    unfinished_kin,
)
from hellofresh.runs.batch import batch_savings, batches_under_way
from hellofresh.runs.prompts import Prompt, PromptSet, load_prompt_set
from hellofresh.runs.record import RunRecord, Usage, model_identity, prediction_row, read_record
from hellofresh.runs.regimes import MAIN, Need, Regime, get_regime, regimes_for
from hellofresh.runs.repetitions import check_repetitions, copies, sampling_notes
from hellofresh.runs.sharing import SharedAnswers, SharedModel
from hellofresh.runs.transcribe import transcribe
from hellofresh.runs.waves import run_batch
from hellofresh.tasks import Task, get_task
from hellofresh.tasks.outputs import Choice, Output, Ranking
from hellofresh.tasks.samples import Fact, Sample, to_json
from hellofresh.tasks.transcripts import TRANSCRIPTS, Event, SearchedEvent

__all__ = ["Evaluation", "EvaluationReport", "Split", "WebAccess", "evaluate", "foresee", "planned"]

Split = Literal["main", "prospective"]
"""Which samples of a quarter: the released ones, or those that nobody had decided."""


@dataclass(frozen=True, slots=True)
class WebAccess:
    """The outside world for a run, not opened yet.

    Attributes:
        parameters: all that decides what is found, as of the opened web.
        open: opens it, keeping all that comes back in the folder of the run.
        user_agent: how this program introduces itself where pages come from the network; empty where none do.
    """

    parameters: Mapping[str, str | int | float | bool]
    open: Callable[[Path], Web]
    user_agent: str = ""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What to ask whom.

    Attributes:
        edition, task: the release.
        model: name in the catalogue.
        regime: name of the regime.
        prompts: `all`, or prompt ids with commas between them.
        limit: most samples to judge; None for the model's own default.
        prompt_set: file with a prompt set of one's own.
        repeat: how often everything is asked, each time with another seed.
        temperature: of all requests; None for that of the regime (0).
        vote: whether the vote of all repetitions is scored, not the first.
        budget_usd: most that the whole run may cost.
        drop_damaged: delete damaged answers of the journal, so that they are asked for again.
        resumes: id of a run that this must be the same as; refused where anything has changed.
        web: the way to the outside world, for regimes that need it.
        patience: how often failed questions are asked again.
        batch: hand the questions in as batches of the provider, and wait for those.
        split: `main`, or `prospective` while its predictions are due.
        roles: model names of further roles, by role.
        settings: other settings of the regime than its own, each as NAME=VALUE.
        blocked: domains that are not read, besides those that hold the task's answers.
        allowed: groups of those that may be read all the same, to see what that changes.
        shares: answers of other runs, given where the same model would be asked the same.
    """

    edition: Edition
    task: Task
    model: str
    regime: str = "zero-shot"
    prompts: str = "all"
    limit: int | None = None
    prompt_set: Path | None = None
    repeat: int = 1
    temperature: float | None = None
    vote: bool = False
    budget_usd: float | None = None
    drop_damaged: bool = False
    resumes: str | None = None
    web: WebAccess | None = None
    patience: Patience = field(default_factory=Patience)
    batch: bool = False
    split: Split = "main"
    roles: Mapping[str, str] = field(default_factory=dict)
    settings: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    shares: SharedAnswers | None = None


@dataclass(frozen=True, slots=True)
class EvaluationReport:
    """What a run has come to.

    Attributes:
        run_id: name of the run's folder.
        folder: the run's folder.
        judged: samples judged so far.
        of: samples in the release.
        tally: what was asked now, and what the journal knew.
        verdicts: by prompt, how often each class, `none` and `blocked` came out, of the first repetition.
        failed: samples that could not be judged; they are asked about again by the same command.
        unsearched: samples (repetitions apart) that were judged without pages because the search itself failed.
        tokens_in, tokens_out: of the whole run, None where not known of every answer.
        cost_usd: of the whole run, None where not known.
        copies: repetitions whose answers are, word by word, those of an earlier one.
    """

    run_id: str
    folder: Path
    judged: int
    of: int
    tally: Tally
    verdicts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    failed: int = 0
    unsearched: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    copies: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Plan:
    """A run before it starts: all that its id and its samples follow from."""

    evaluation: Evaluation
    release: Release
    model: Model
    regime: Regime
    prompt_set: PromptSet
    prompts: Sequence[Prompt]
    batches: Mapping[str, Batches] = field(default_factory=dict)
    others: Mapping[str, Model] = field(default_factory=dict)

    @property
    def identity(self) -> dict[str, object]:
        """What must not change within a run."""
        spec, regime, web = self.model.spec, self.regime, self.evaluation.web
        others = {role: model_identity(model.spec) for role, model in sorted(self.others.items())}
        return {
            "task": self.release.task.name,
            "edition": str(self.release.edition),
            "samples_sha256": self.release.samples_sha256,
            "model": model_identity(spec),
            "regime": {"name": regime.name, "version": regime.version, "parameters": dict(regime.parameters)},
            "web": dict(web.parameters) if web is not None and Need.WEB in regime.needs else None,
            "prompt_set": {"name": self.prompt_set.name, "sha256": self.prompt_set.sha256},
            **({"roles": others} if others else {}),
            # At temperature 0 a run is the same as without a word about it.
            **({"temperature": self.evaluation.temperature} if self.evaluation.temperature else {}),
        }

    @property
    def run_id(self) -> str:
        """Readable, then unique."""
        parts = (str(self.release.edition), self.release.task.name, self.regime.name, self.model.spec.name)
        name = "_".join(part.replace("/", "-").replace(":", "-") for part in parts)
        return f"{name}_{hash_of(self.identity)}"

    def arguments(self, folder: Path) -> Arguments:
        """What to judge: what is asked for now together with what was finished before."""
        evaluation = self.evaluation
        limit = evaluation.limit or self.model.spec.default_limit
        # So many in the order of all, also of those whose texts are not at hand: the same ones whoever asks.
        samples = min(limit or len(self.release.samples), len(self.release.samples))
        wanted, repeat = {prompt.id for prompt in self.prompts}, evaluation.repeat
        done = _finished(folder)
        if done is not None:
            samples, repeat = max(samples, done.samples), max(repeat, done.repeat)
            wanted |= set(done.prompts)
        return Arguments(
            edition=str(self.release.edition),
            task=self.release.task.name,
            model=evaluation.model,
            regime=evaluation.regime,
            prompts=[prompt.id for prompt in self.prompt_set.prompts if prompt.id in wanted],
            samples=samples,
            repeat=repeat,
            prompt_set=None if evaluation.prompt_set is None else str(evaluation.prompt_set.resolve()),
            split=evaluation.split,
            roles=dict(evaluation.roles),
            settings=list(evaluation.settings),
            blocked=list(evaluation.blocked),
            allowed=list(evaluation.allowed),
            temperature=evaluation.temperature,
            vote=evaluation.vote,
        )

    def pictures(self, workspace: Workspace) -> MediaPictures | None:
        """The pictures of samples, for a regime that needs them; fetched only where pages are."""
        if Need.IMAGES not in self.regime.needs:
            return None
        web = self.evaluation.web if Need.WEB in self.regime.needs else None
        return open_pictures(workspace.pictures, user_agent="" if web is None else web.user_agent)

    def facts(self, workspace: Workspace) -> Mapping[str, Mapping[str, Fact]]:
        """What is known of each label, for a regime that needs it; nothing where labels are not public."""
        release = self.release
        is_open = labels_are_public(workspace, release.edition, release.task.name)
        if Need.FACTS not in self.regime.needs or not is_open or self.evaluation.split != "main":
            return {}
        return {name: label.facts for name, label in load_labels(workspace, release.edition, release.task).items()}

    def assignment(self, arguments: Arguments, web: Web | None, pictures: MediaPictures | None = None) -> Assignment:
        """What the runner gets."""
        return Assignment(
            model=self.model,
            regime=self.regime,
            prompt_set=self.prompt_set,
            prompts=[prompt for prompt in self.prompt_set.prompts if prompt.id in arguments.prompts],
            slots=self.release.task.slots,
            web=web,
            repetitions=arguments.repeat,
            temperature=self.evaluation.temperature,
            budget_usd=self.evaluation.budget_usd,
            patience=self.evaluation.patience,
            others=self.others,
            pictures=pictures,
        )


def _finished(folder: Path) -> RunRecord | None:
    """None where the run was not finished, or its record is damaged: it is then made anew."""
    try:
        return read_record(folder)
    except DataError:
        return None


def evaluate(
    workspace: Workspace,
    evaluation: Evaluation,
    progress: Callable[[Tally], None],
    tell: Callable[[str], None] = lambda _: None,
) -> EvaluationReport:
    """Judge the samples of a release, or go on with the run that was started earlier.

    Args:
        workspace: where releases and runs are.
        evaluation: what to ask whom.
        progress: told how far it is.
        tell: given sentences that should be read before much has been asked.

    Raises:
        UsageError: if a name is unknown, or something that the model needs is not there.
        DataError: if the release or the prompts are faulty, or the model cannot answer.
    """
    plan = _plan(workspace, evaluation)
    folder = workspace.runs / plan.run_id
    with Journal(folder) as journal:
        if evaluation.drop_damaged:
            journal.drop_damaged()
        # A web that cannot be opened leaves no plan behind: nothing was begun.
        web = evaluation.web.open(folder) if evaluation.web is not None and Need.WEB in plan.regime.needs else None
        arguments = plan.arguments(folder)
        if read_plan(folder) is None:
            for note in unfinished_kin(workspace.runs, plan.run_id, plan.identity):
                tell(note)
        for note in sampling_notes(plan.assignment(arguments, web).specs, arguments.repeat, evaluation.temperature):
            tell(note)
        spec = plan.model.spec
        if "provider" in spec.parameters and not plan.batches:
            tell(f"up to {spec.limits.in_flight} requests to {spec.name} are in flight at once")
        record = _record_plan(workspace, folder, plan, arguments)
        samples = plan.release.first(arguments.samples)
        assignment = replace(plan.assignment(arguments, web, plan.pictures(workspace)), facts=plan.facts(workspace))
        result = _ask(folder, assignment, samples, journal, progress, batches=plan.batches)
        return _export(folder, plan, record, result, journal)


def _ask(
    folder: Path,
    assignment: Assignment,
    samples: Sequence[Sample],
    journal: Journal,
    progress: Callable[[Tally], None],
    *,
    batches: Mapping[str, Batches],
) -> RunResult:
    if batches:
        return run_batch(assignment, samples, journal, batches, progress, folder=folder)
    under_way = batches_under_way(folder)
    if under_way:
        raise UsageError(
            f"{under_way} of its batches are still running, and single requests would pay for them twice",
            where=folder.name,
            fix="Add --batch to wait for them.",
            code="batches-under-way",
        )
    return run(assignment, samples, journal, progress)


def is_finished(workspace: Workspace, evaluation: Evaluation) -> bool:
    """Whether this very evaluation was finished without a failed sample; nothing is asked, and no key is needed.

    Raises:
        UsageError, DataError: as `evaluate`, if it could not begin.
    """
    plan = _plan(workspace, evaluation, only_known=True)
    folder = workspace.runs / plan.run_id
    done = _finished(folder)
    if done is None or done.failed or not (folder / "predictions.jsonl").is_file():
        return False
    # What is asked for is taken together with what was done: equal only where nothing is added.
    wanted = plan.arguments(folder)
    same = (wanted.samples, wanted.repeat, wanted.prompts) == (done.samples, done.repeat, done.prompts)
    return same and len(plan.release.first(wanted.samples)) == done.judged


def foresee(workspace: Workspace, evaluation: Evaluation) -> Forecast:
    """What `evaluate` would ask; nothing is asked, fetched or written, and no key is needed.

    Raises:
        UsageError, DataError: as `evaluate`, if it could not begin.
    """
    plan = _plan(workspace, evaluation, only_known=True)
    folder = workspace.runs / plan.run_id
    arguments = plan.arguments(folder)
    samples: Sequence[Sample] = plan.release.first(arguments.samples)
    with snapshot(folder) as journal:
        pictures = plan.pictures(workspace)
        assignment = replace(plan.assignment(arguments, None, pictures), facts=plan.facts(workspace))
        found = forecast(assignment, samples, journal, batch=evaluation.batch)
    if pictures is not None:
        asyncio.run(pictures.close())
    return found


def planned(workspace: Workspace, name: str) -> Evaluation:
    """The evaluation that an earlier run was started with, to go on with it.

    Args:
        workspace: where it was run.
        name: its id, or the only beginning or end of one.

    Raises:
        UnknownNameError: if there is no such run.
        RunError: if its plan is damaged.
    """
    folder = find_run(workspace.runs, name)
    plan = read_plan(folder)
    if plan is None:
        raise RunError("has no plan", where=folder.name, fix="Run its command again.", code="damaged-run")
    said = plan.arguments
    return Evaluation(
        edition=parse_edition(said.edition),
        task=get_task(said.task),
        model=said.model,
        regime=said.regime,
        prompts=",".join(said.prompts),
        limit=said.samples,
        prompt_set=None if said.prompt_set is None else Path(said.prompt_set),
        repeat=said.repeat,
        # Plans from before temperatures could be chosen had 0.
        temperature=0.0 if said.temperature is None and said.repeat > 1 else said.temperature,
        vote=said.vote,
        resumes=folder.name,
        batch=batches_under_way(folder) > 0,
        split=said.split,
        roles=said.roles,
        settings=tuple(said.settings),
        blocked=tuple(said.blocked),
        allowed=tuple(said.allowed),
    )


def _plan(workspace: Workspace, evaluation: Evaluation, *, only_known: bool = False) -> _Plan:
    task, edition = evaluation.task, evaluation.edition
    _check_numbers(evaluation)
    regime = get_regime(evaluation.regime, evaluation.settings)
    _check_output(task, regime)
    if Need.WEB in regime.needs and evaluation.web is None:
        raise UsageError(f"the regime {regime.name} needs web access", code="no-web")
    prompt_set = load_prompt_set(task.name, regime.prompts_from, evaluation.prompt_set)
    resumed = None
    if evaluation.resumes is not None:
        resumed = read_plan(workspace.runs / evaluation.resumes)
    # A prompt that is there no more is among the differences that are shown, not a mistyped name.
    prompts = prompt_set.prompts if resumed is not None else prompt_set.choose(evaluation.prompts)
    release = _release(workspace, evaluation)
    release.with_texts()
    context = ModelContext(
        task.name, lambda: _training(workspace, edition, task), only_known=only_known, workspace=workspace
    )
    model = open_model(evaluation.model, context)
    if model.spec.kind == "baseline":
        _check_baseline(model.spec, regime)
        prompts = prompt_set.prompts[:1]
    _check_kind(model.spec, regime)
    if regime.one_prompt:
        prompts = prompts[:1]
    others = _others(evaluation, regime, context)
    specs = {role: item.spec for role, item in {MAIN: model, **others}.items()}
    check_repetitions(specs, evaluation.repeat, evaluation.temperature)
    batches = {}
    if evaluation.batch:
        names = {MAIN: evaluation.model, **evaluation.roles}
        batches = {role: open_batches(name, only_known=only_known) for role, name in names.items()}
    if evaluation.shares is not None:
        model = SharedModel(model, evaluation.shares)
        others = {role: SharedModel(other, evaluation.shares) for role, other in others.items()}
    plan = _Plan(evaluation, release, model, regime, prompt_set, prompts, batches, others)
    if resumed is not None and evaluation.resumes is not None:
        refuse_changes(evaluation.resumes, resumed.identity, plan.identity)
        kept = tuple(prompt for prompt in prompts if prompt.id in resumed.arguments.prompts)
        plan = replace(plan, prompts=kept)
    unpriced = Ledgers(plan.assignment(plan.arguments(workspace.runs / plan.run_id), None).specs).unpriced
    if evaluation.budget_usd is not None and unpriced:
        raise UsageError(
            f"a budget for {unpriced}, whose price is unknown",
            fix="State its price in the catalogue of models, or leave out --budget.",
            code="unknown-price",
        )
    return plan


def _others(evaluation: Evaluation, regime: Regime, context: ModelContext) -> Mapping[str, Model]:
    """The models of further roles."""
    models = {}
    for role, name in evaluation.roles.items():
        if role not in regime.roles:
            raise UnknownNameError(f"role of {regime.name}", role, regime.roles)
        models[role] = open_model(name, context)
    return models


def _check_numbers(evaluation: Evaluation) -> None:
    if evaluation.limit is not None and evaluation.limit < 1:
        raise UsageError(f"a limit of {evaluation.limit} samples", expected="at least 1", code="bad-limit")
    budget = evaluation.budget_usd
    if budget is not None and not 0 <= budget < float("inf"):
        raise UsageError(f"a budget of {budget} USD", expected="0 or more", code="bad-budget")


def _record_plan(workspace: Workspace, folder: Path, plan: _Plan, arguments: Arguments) -> RunPlan:
    before = read_plan(folder)
    if before is not None:
        refuse_changes(plan.run_id, before.identity, plan.identity)
    record = RunPlan(
        number=next_number(workspace.runs) if before is None else before.number,
        started=utc_text(now()) if before is None else before.started,
        identity=plan.identity,
        arguments=arguments,
    )
    record.write(folder)
    return record


def _release(workspace: Workspace, evaluation: Evaluation) -> Release:
    """The samples to judge; those of a prospective split only as long as nobody can know their labels."""
    if evaluation.split == "main":
        return load_release(workspace, evaluation.edition, evaluation.task)
    release = load_prospective(workspace, evaluation.edition, evaluation.task)
    if release.is_over(now()):
        raise UsageError(
            f"predictions on the prospective split of {evaluation.task.name} {evaluation.edition} were due",
            expected=f"before {utc_text(release.days.deadline)}",
            fix="Later predictions are not prospective; the main split can be evaluated at any time.",
            code="deadline-passed",
        )
    return release


def _check_output(task: Task, regime: Regime) -> None:
    """Whether the regime hands back what the task asks for."""
    if regime.gives not in (Output, task.output):
        raise UsageError(
            f"the regime {regime.name} gives a {regime.gives.__name__.lower()}, and {task.name} asks for a "
            f"{task.output.__name__.lower()}",
            expected=f"one of {', '.join(regimes_for(task))}" if regimes_for(task) else "another regime",
            code="other-output",
        )


def _check_kind(spec: ModelSpec, regime: Regime) -> None:
    """Retrievers rank documents, and nobody else can."""
    if (regime.gives is Ranking) != (spec.kind == "retriever"):
        raise UsageError(
            f"{spec.name} cannot work in the regime {regime.name}",
            expected="a retriever, such as bm25" if regime.gives is Ranking else "a model that is no retriever",
            code="other-kind",
        )


def _check_baseline(spec: ModelSpec, regime: Regime) -> None:
    """A baseline reads no prompt, so that a regime which changes the prompt would give the same answers once more."""
    if regime.name != "zero-shot":
        raise UsageError(
            f"{spec.name} reads no prompt, so the regime {regime.name!r} does not change its answers",
            expected="zero-shot: a baseline runs once and is shown without a regime",
            code="baseline-regime",
        )


def _training(workspace: Workspace, edition: Edition, task: Task) -> list[TrainingSample]:
    """Labelled samples of all revealed quarters before this one, of sources of the same kind.

    Answers are public, so nothing may be learnt from labels that are not. For a frozen data set, those of its other
    versions, without the samples that this version has and those of the same groups.
    """
    if not edition.is_living:
        return _other_rows(workspace, edition, task)
    bundled = load_release(workspace, edition, task).bundled
    training = []
    for earlier in quarters_of(found for found, name in workspace.released() if name == task.name):
        if not (earlier < edition and labels_are_public(workspace, earlier, task.name)):
            continue
        release = load_release(workspace, earlier, task)
        if release.bundled == bundled:
            labels = load_labels(workspace, earlier, task)
            training += [TrainingSample(sample, labels[sample.id].label) for sample in release.with_texts()]
    return training


def _other_rows(workspace: Workspace, edition: Edition, task: Task) -> list[TrainingSample]:
    """Labelled samples of a data set that are not in a version of it, nor of a group that is, each once."""
    asked = load_release(workspace, edition, task).samples
    ids, groups = {sample.id for sample in asked}, {sample.group for sample in asked}
    training: dict[str, TrainingSample] = {}
    for other, name in workspace.released():
        if name != task.name or other.is_living or other == edition:
            continue
        labels = load_labels(workspace, other, task)
        for sample in load_release(workspace, other, task).with_texts():
            if sample.id not in ids and sample.group not in groups:
                training[sample.id] = TrainingSample(sample, labels[sample.id].label)
    return list(training.values())


def _export(folder: Path, plan: _Plan, record: RunPlan, result: RunResult, journal: Journal) -> EvaluationReport:
    """Write what follows from the journal; nothing of it tells when or in which order answers came."""
    _write_some(folder / "errors.jsonl", [to_json(failure) for failure in result.failures])
    judged = {item.sample for item in result.judged if item.repetition == 1}
    if result.failures and not judged:
        first = result.failures[0]
        raise RunError(
            f"no sample could be judged; the first error: {first.error}",
            where=str(folder / "errors.jsonl"),
            fix="Run the same command again to retry.",
            code="nothing-judged",
        )
    specs = plan.assignment(record.arguments, None).specs
    ledger = Ledgers(specs)
    write_jsonl(folder / "responses.jsonl", _responses(journal, ledger))
    write_jsonl(folder / "predictions.jsonl", _predictions(result, record.arguments.prompts))
    done = {(item.sample, item.repetition) for item in result.judged}
    transcripts = list(transcribe(journal, ledger, done))
    _write_some(folder / TRANSCRIPTS, (item.model_dump(mode="json") for item in transcripts))
    same = copies(journal.entries()) if record.arguments.repeat > 1 else []
    told = ledger.untold == 0
    evaluated = EvaluationReport(
        run_id=plan.run_id,
        folder=folder,
        judged=len(judged),
        of=len(plan.release.samples),
        tally=result.tally,
        verdicts=_counts(result, record.arguments.prompts, plan.release.task),
        failed=len(result.failures),
        unsearched=sum(any(map(_search_failed, item.events)) for item in transcripts),
        tokens_in=ledger.tokens_in if told else None,
        tokens_out=ledger.tokens_out if told else None,
        cost_usd=None if ledger.cost_usd is None else ledger.cost_usd - batch_savings(folder, specs),
        copies=tuple(same),
    )
    _record(plan, record, evaluated, ledger).write(folder)
    return evaluated


def _search_failed(event: Event) -> bool:
    """Whether a search brought nothing because it failed."""
    return isinstance(event, SearchedEvent) and bool(event.problem)


def _responses(journal: Journal, ledgers: Ledgers) -> Iterator[object]:
    for entry in journal.entries():
        ledgers.of(entry.role).add(entry.answer)
        names = {"sample": entry.sample, "step": entry.step, "prompt": entry.prompt, "repetition": entry.repetition}
        if entry.role != MAIN:
            names["role"] = entry.role
        yield {**names, **to_json(entry.answer)}


def _predictions(result: RunResult, prompts: Sequence[str]) -> Iterator[object]:
    order = {prompt: number for number, prompt in enumerate(prompts)}
    for item in sorted(result.judged, key=lambda item: (item.sample, order[item.output.prompt], item.repetition)):
        names = {"id": item.sample, "prompt": item.output.prompt, "repetition": item.repetition}
        yield names | prediction_row(item.output)


def _counts(result: RunResult, prompts: Sequence[str], task: Task) -> Mapping[str, Mapping[str, int]]:
    counts: dict[str, Counter[str]] = {prompt: Counter() for prompt in prompts}
    for item in result.judged:
        if item.repetition == 1:
            counts[item.output.prompt][_short(item.output, task)] += 1
    return counts


def _short(output: Output, task: Task) -> str:
    if isinstance(output, Choice) and output.label is not None:
        return task.classes[output.label]
    return str(output.status)


def _record(plan: _Plan, record: RunPlan, evaluated: EvaluationReport, ledgers: Ledgers) -> RunRecord:
    spec, arguments = plan.model.spec, record.arguments
    found = {
        **plan.identity,
        "settings": plan.regime.settings.model_dump(),
        "blocked": sorted(plan.evaluation.blocked),
        "allowed": sorted(plan.evaluation.allowed),
        "usage": {role: _usage(ledger) for role, ledger in ledgers.by_role.items()},
        "split": plan.evaluation.split,
        "number": record.number,
        "judged": evaluated.judged,
        "failed": evaluated.failed,
        "of": evaluated.of,
        "samples": arguments.samples,
        "prompts": arguments.prompts,
        "repeat": arguments.repeat,
        "copies": list(evaluated.copies),
        "vote": arguments.vote,
        "tokens_in": evaluated.tokens_in,
        "tokens_out": evaluated.tokens_out,
        "cost_usd": evaluated.cost_usd,
        "about": spec.about,
        "kind": spec.kind,
        "knowledge_cutoff": spec.knowledge_cutoff,
        "smoke_test": spec.smoke_test or any(model.spec.smoke_test for model in plan.others.values()),
    }
    return RunRecord.model_validate(found)


def _usage(ledger: Ledger) -> Usage:
    told = ledger.untold == 0
    return Usage(
        model=ledger.spec.name,
        answers=ledger.answers,
        tokens_in=ledger.tokens_in if told else None,
        tokens_out=ledger.tokens_out if told else None,
        cost_usd=ledger.cost_usd,
    )


def _write_some(path: Path, rows: Iterable[object]) -> None:
    """Write the rows; without any, have no such file."""
    if not write_jsonl(path, rows):
        path.unlink()
