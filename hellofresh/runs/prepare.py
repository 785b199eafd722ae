"""Preparation of a run: resolve names, open models, and compare with an earlier start of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from hellofresh.core.clock import now
from hellofresh.core.errors import DataError, UsageError
from hellofresh.core.quarters import utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.web import Web
from hellofresh.releases.life.load import Release, load_release
from hellofresh.runs.asked_models import open_models
from hellofresh.runs.equipment import equip, prompted, public_labels, web_access
from hellofresh.runs.evaluation import Evaluation, WebAccess
from hellofresh.runs.ledger import Ledgers
from hellofresh.runs.pace import Patience
from hellofresh.runs.plan import RunPlan, hash_of, read_plan, refuse_changes
from hellofresh.runs.prompts import Prompt
from hellofresh.runs.record import RunRecord, model_identity, read_record
from hellofresh.runs.regimes import MAIN, Regime, get_regime
from hellofresh.runs.runner import Assignment
from hellofresh.tasks.samples import MAIN as MAIN_SPLIT
from hellofresh.tasks.samples import Sample


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """A run before it starts.

    Attributes:
        folder: folder of the run.
        evaluation: with the prompts, samples and repetitions that are requested now or were finished before.
        identity: everything that must not change within the run.
        release: the samples.
        assignment: the opened models, regime and prompts, still without web and pictures.
        web: web access, None if the regime needs none.
        plan: plan of the run, None if it has not begun.
        done: its record, None if it is not finished.
        classes: public labels for class-balanced subsets; None if labels must not be used.
    """

    folder: Path
    evaluation: Evaluation
    identity: Mapping[str, object]
    release: Release
    assignment: Assignment
    web: WebAccess | None
    plan: RunPlan | None
    done: RunRecord | None
    classes: Mapping[str, int] | None = None

    def equipped(self, workspace: Workspace, web: Web | None) -> Assignment:
        """The assignment with the opened web, and with the pictures and facts that its regime needs."""
        introduced = self.web.user_agent if self.web is not None else ""  # pictures are fetched only if pages are
        bare, split = self.assignment.equipment, self.evaluation.split
        return replace(
            self.assignment,
            equipment=equip(bare, workspace, self.release, web, split=split, introduced=introduced),
        )

    @property
    def samples(self) -> Sequence[Sample]:
        return self.release.first(self.evaluation.limit, self.classes)


def prepare(
    workspace: Workspace, evaluation: Evaluation, *, only_known: bool = False, release: Release | None = None
) -> PreparedRun:
    """Resolve an evaluation and find its earlier run; `only_known` if nothing will be asked.

    Raises:
        UsageError: if a name is unknown, a requirement of the model is missing, or a resumed run has changed.
        DataError: if the release or the prompts are faulty.
    """
    task, regime = evaluation.task, get_regime(evaluation.regime, evaluation.settings)
    _check(evaluation, regime)
    resumed = None if evaluation.resumes is None else read_plan(workspace.runs / evaluation.resumes)
    # A removed prompt is reported as a change of the run, not as an unknown name.
    asked = evaluation.prompts if resumed is None else "all"
    equipment = prompted(task, regime, asked, evaluation.prompt_set)
    web = web_access(evaluation, regime)
    release = _release(workspace, evaluation) if release is None else release
    release.with_texts()
    models = open_models(workspace, evaluation, regime, release, only_known=only_known)
    if models[MAIN].spec.kind == "baseline":
        equipment = replace(equipment, prompts=equipment.prompts[:1])
    assignment = Assignment(
        model=models.pop(MAIN),
        equipment=equipment,
        temperature=evaluation.temperature,
        budget_usd=evaluation.budget_usd,
        patience=evaluation.patience or Patience(),
        others=models,
        go_on=evaluation.go_on,
        stored_only=evaluation.stored_only,
    )
    identity, prompts = _identity(evaluation, release, assignment, web), equipment.prompts
    if resumed is not None and evaluation.resumes is not None:
        refuse_changes(evaluation.resumes, resumed.identity, identity)
        prompts = tuple(prompt for prompt in prompts if prompt.id in resumed.evaluation.prompt_ids)
    # A readable part, then a unique one.
    parts = (str(release.edition), task.name, regime.name, assignment.model.spec.name, hash_of(identity))
    folder = workspace.runs / "_".join(part.replace("/", "-").replace(":", "-") for part in parts)
    done = None
    with suppress(DataError):  # a damaged record is written anew
        done = read_record(folder)
    evaluation = _resolved(evaluation, release, assignment, prompts, done)
    chosen = [prompt for prompt in equipment.prompt_set.prompts if prompt.id in evaluation.prompt_ids]
    assignment = replace(assignment, equipment=replace(equipment, prompts=chosen), repetitions=evaluation.repeat)
    unpriced = Ledgers(assignment.specs).unpriced
    if evaluation.budget_usd is not None and unpriced:
        raise UsageError(
            f"a budget for {unpriced}, whose price is unknown",
            fix="State its price in the catalogue of models, or leave out --budget.",
            code="unknown-price",
        )
    plan = read_plan(folder)
    classes = None
    if task.classes and (plan is None or plan.balanced):  # a draw by secret labels would reveal them
        labels = public_labels(workspace, release, evaluation.split)
        classes = None if labels is None else {key: label.label for key, label in labels.items()}
    return PreparedRun(folder, evaluation, identity, release, assignment, web, plan, done, classes)


def _check(evaluation: Evaluation, regime: Regime) -> None:
    """Check that numbers are valid and that the regime's output fits the task."""
    if evaluation.limit is not None and evaluation.limit < 1:
        raise UsageError(f"a limit of {evaluation.limit} samples", expected="at least 1", code="bad-limit")
    budget, task = evaluation.budget_usd, evaluation.task
    if budget is not None and not 0 <= budget < float("inf"):
        raise UsageError(f"a budget of {budget} USD", expected="0 or more", code="bad-budget")
    if not task.takes(regime.gives):
        from hellofresh.runs.regimes.registry import regimes_for  # all of them, only to name those that fit

        raise UsageError(
            f"the regime {regime.name} gives a {regime.gives.__name__.lower()}, and {task.name} asks for a "
            f"{task.output.__name__.lower()}",
            expected=f"one of {', '.join(regimes_for(task))}" if regimes_for(task) else "another regime",
            code="other-output",
        )


def _release(workspace: Workspace, evaluation: Evaluation) -> Release:
    """The samples to answer; a prospective split is allowed only until its labels can be known."""
    release = load_release(workspace, evaluation.edition, evaluation.task, evaluation.split)
    if evaluation.split != MAIN_SPLIT and release.is_over(now()):
        raise UsageError(
            f"predictions on the prospective split of {evaluation.task.name} {evaluation.edition} were due",
            expected=f"before {utc_text(release.days.deadline)}",
            fix="Later predictions are not prospective; the main split can be evaluated at any time.",
            code="deadline-passed",
        )
    return release


def _identity(
    evaluation: Evaluation, release: Release, assignment: Assignment, web: WebAccess | None
) -> dict[str, object]:
    regime, prompt_set = assignment.regime, assignment.equipment.prompt_set
    others = {role: model_identity(model.spec) for role, model in sorted(assignment.others.items())}
    return {
        "task": release.task.name,
        "edition": str(release.edition),
        "samples_sha256": release.samples_sha256,
        "model": model_identity(assignment.model.spec),
        "regime": {"name": regime.name, "version": regime.version, "parameters": dict(regime.parameters)},
        "web": None if web is None else dict(web.parameters),
        "prompt_set": {"name": prompt_set.name, "sha256": prompt_set.sha256},
        **({"roles": others} if others else {}),
        # Temperature 0 is the default and gives the same run.
        **({"temperature": assignment.temperature} if assignment.temperature else {}),
        **evaluation.further,
    }


def _resolved(
    evaluation: Evaluation,
    release: Release,
    assignment: Assignment,
    prompts: Sequence[Prompt],
    done: RunRecord | None,
) -> Evaluation:
    """The requested evaluation extended by what was finished before."""
    limit = evaluation.limit or assignment.model.spec.default_limit or len(release.samples)
    # The limit counts samples without texts too, so that it selects the same samples on every machine.
    samples, repeat = min(limit, len(release.samples)), evaluation.repeat
    wanted = {prompt.id for prompt in prompts}
    if done is not None:
        samples, repeat = max(samples, done.evaluation.limit or 0), max(repeat, done.evaluation.repeat)
        wanted |= set(done.evaluation.prompt_ids)
    ids = [prompt.id for prompt in assignment.equipment.prompt_set.prompts if prompt.id in wanted]
    return replace(evaluation, prompts=",".join(ids), limit=samples, repeat=repeat)
