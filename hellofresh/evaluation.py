"""Asking a model about a released quarter: the run's folder, which samples, and the verdicts that come out.

`runs/<run id>/` holds `journal.sqlite` (every answer, as it came) and, made from it, `run.json` (who was asked, how and
how much), `responses.jsonl` (all answers) and `predictions.jsonl` (a verdict for each sample and prompt). The id is a
hash of model, parameters, regime, prompt set and samples: asking for more samples or prompts later goes on with the
same run, and a changed model or prompt starts another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from hellofresh.answers import Verdict, read_answer
from hellofresh.clock import now
from hellofresh.errors import UsageError
from hellofresh.files import Json, canonical_json, read_json, sha256_text, write_json, write_jsonl
from hellofresh.models import Model, ModelSpec
from hellofresh.models.baselines import TrainingSample
from hellofresh.models.catalogue import ModelContext, open_model
from hellofresh.prompts import Prompt, PromptSet, load_prompt_set
from hellofresh.quarters import Quarter, utc_text
from hellofresh.regimes import Regime, get_regime
from hellofresh.releases import Release, load_labels, load_prospective, load_release
from hellofresh.runs import Assignment, Journal, RunResult, Tally, run
from hellofresh.samples import Sample, to_json
from hellofresh.tasks import Task
from hellofresh.workspace import Workspace

__all__ = ["Evaluated", "Evaluation", "Split", "evaluate"]

Split = Literal["main", "prospective"]
"""Which samples of a quarter: the released ones, or those that nobody had decided."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What to ask whom.

    Attributes:
        quarter, task: the release.
        model: name in the catalogue.
        regime: name of the regime.
        prompts: `all`, or prompt ids with commas between them.
        limit: most samples to judge; None for the model's own default.
        prompt_set: file with a prompt set of one's own.
        split: `main`, or `prospective` while its predictions are due.
    """

    quarter: Quarter
    task: Task
    model: str
    regime: str = "zero-shot"
    prompts: str = "all"
    limit: int | None = None
    prompt_set: Path | None = None
    split: Split = "main"


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What a run has come to.

    Attributes:
        run_id: name of the run's folder.
        folder: the run's folder.
        judged: samples judged so far.
        of: samples in the release.
        tally: what was asked now, and what the journal knew.
        verdicts: number of verdicts by prompt.
    """

    run_id: str
    folder: Path
    judged: int
    of: int
    tally: Tally
    verdicts: Mapping[str, Mapping[Verdict, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Plan:
    """A run before it starts: all that its id and its samples follow from."""

    task: Task
    release: Release
    model: Model
    regime: Regime
    prompt_set: PromptSet
    prompts: Sequence[Prompt]
    limit: int | None
    split: Split

    @property
    def identity(self) -> dict[str, Json]:
        """What must not change within a run."""
        spec = self.model.spec
        return {
            "task": self.release.task.name,
            "quarter": str(self.release.quarter),
            "samples_sha256": self.release.samples_sha256,
            "model": {"name": spec.name, "parameters": dict(spec.parameters)},
            "regime": {"name": self.regime.name, "version": self.regime.version},
            "prompt_set": {"name": self.prompt_set.name, "sha256": self.prompt_set.sha256},
        }

    @property
    def run_id(self) -> str:
        """Readable, then unique."""
        parts = (str(self.release.quarter), self.release.task.name, self.regime.name, self.model.spec.name)
        return "_".join((*parts, sha256_text(canonical_json(self.identity))[:12]))

    def continued(self, done: Json | None) -> tuple[Sequence[Sample], Sequence[Prompt]]:
        """Samples and prompts to judge: what is asked for now together with what was finished before."""
        limit = self.limit
        wanted = {prompt.id for prompt in self.prompts}
        if done is not None:
            limit = None if limit is None else max(limit, done["judged"])
            wanted |= set(done["prompts"])
        prompts = [prompt for prompt in self.prompt_set.prompts if prompt.id in wanted]
        return self.release.first(limit), prompts


def evaluate(workspace: Workspace, evaluation: Evaluation, progress: Callable[[Tally], None]) -> Evaluated:
    """Judge the samples of a release, or go on with the run that was started earlier.

    Raises:
        UsageError: if a name is unknown, or something that the model needs is not there.
        DataError: if the release or the prompts are faulty, or the model cannot answer.
    """
    plan = _plan(workspace, evaluation)
    folder = workspace.runs / plan.run_id
    with Journal(folder) as journal:
        record = folder / "run.json"
        samples, prompts = plan.continued(read_json(record) if record.is_file() else None)
        slots = plan.task.slots
        assignment = Assignment(plan.model, plan.regime, plan.prompt_set, prompts, slots)
        result = run(assignment, samples, journal, progress)
        _export(folder, plan, prompts, result, journal)
    verdicts: dict[str, Counter[Verdict]] = {prompt.id: Counter() for prompt in prompts}
    for item in result.judged:
        verdicts[item.prompt][read_answer(item.answer)] += 1
    return Evaluated(plan.run_id, folder, len(samples), len(plan.release.samples), result.tally, verdicts)


def _plan(workspace: Workspace, evaluation: Evaluation) -> _Plan:
    task, quarter = evaluation.task, evaluation.quarter
    if evaluation.limit is not None and evaluation.limit < 1:
        raise UsageError(f"a limit of {evaluation.limit} samples", expected="at least 1", code="bad-limit")
    regime = get_regime(evaluation.regime)
    prompt_set = load_prompt_set(task.name, regime.name, evaluation.prompt_set)
    prompts = prompt_set.choose(evaluation.prompts)
    release = _release(workspace, evaluation)
    release.with_texts()
    model = open_model(evaluation.model, ModelContext(task.name, lambda: _training(workspace, quarter, task)))
    if model.spec.kind == "baseline":
        _check_baseline(model.spec, regime)
        prompts = prompt_set.prompts[:1]
    limit = evaluation.limit or model.spec.default_limit
    return _Plan(task, release, model, regime, prompt_set, prompts, limit, evaluation.split)


def _release(workspace: Workspace, evaluation: Evaluation) -> Release:
    """The samples to judge; those of a prospective split only as long as nobody can know their labels."""
    if evaluation.split == "main":
        return load_release(workspace, evaluation.quarter, evaluation.task)
    release = load_prospective(workspace, evaluation.quarter, evaluation.task)
    if now() >= release.calendar.deadline:
        raise UsageError(
            f"predictions on the prospective split of {evaluation.task.name} {evaluation.quarter} were due",
            expected=f"before {utc_text(release.calendar.deadline)}",
            fix="What is predicted later is not prospective; the main split can be judged at any time.",
            code="deadline-passed",
        )
    return release


def _check_baseline(spec: ModelSpec, regime: Regime) -> None:
    """A baseline reads no prompt, so that a regime which changes the prompt would give the same answers once more."""
    if regime.name != "zero-shot":
        raise UsageError(
            f"{spec.name} reads no prompt, so the regime {regime.name!r} changes nothing for it",
            expected="zero-shot, under which a baseline is asked once and stands on the board without a regime",
            code="baseline-regime",
        )


def _training(workspace: Workspace, quarter: Quarter, task: Task) -> list[TrainingSample]:
    """Labelled samples of all quarters before this one, of sources of the same kind."""
    bundled = load_release(workspace, quarter, task).bundled
    training = []
    for earlier, name in workspace.released():
        if name != task.name or not earlier < quarter:
            continue
        release = load_release(workspace, earlier, task)
        if release.bundled == bundled:
            labels = load_labels(workspace, earlier, task)
            training += [TrainingSample(sample, labels[sample.id].label) for sample in release.with_texts()]
    return training


def _export(folder: Path, plan: _Plan, prompts: Sequence[Prompt], result: RunResult, journal: Journal) -> None:
    answers = (
        {"sample": entry.sample, "step": entry.step, "prompt": entry.prompt, **to_json(entry.answer)}
        for entry in journal.entries()
    )
    write_jsonl(folder / "responses.jsonl", answers)
    order = {prompt.id: number for number, prompt in enumerate(prompts)}
    verdicts = sorted(result.judged, key=lambda item: (item.sample, order[item.prompt]))
    write_jsonl(
        folder / "predictions.jsonl",
        ({"id": item.sample, "prompt": item.prompt, "verdict": read_answer(item.answer)} for item in verdicts),
    )
    spec = plan.model.spec
    judged = {item.sample for item in result.judged}
    record = {
        **plan.identity,
        "split": plan.split,
        "judged": len(judged),
        "of": len(plan.release.samples),
        "prompts": [prompt.id for prompt in prompts],
        "about": spec.about,
        "kind": spec.kind,
        "knowledge_cutoff": spec.knowledge_cutoff,
        "smoke_test": spec.smoke_test,
    }
    write_json(folder / "run.json", record)
