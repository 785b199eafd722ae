"""Read predictions from a log of inspect_ai, and write a run as such a log."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from inspect_ai.event import Event as InspectEvent
from inspect_ai.event import InfoEvent, ModelEvent
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalLog,
    EvalMetric,
    EvalResults,
    EvalSample,
    EvalScore,
    EvalSpec,
    EvalStats,
    read_eval_log,
    write_eval_log,
)
from inspect_ai.model import ModelUsage
from inspect_ai.scorer import SampleScore
from pydantic import BaseModel, ConfigDict

from hellofresh import __version__
from hellofresh.api.harnesses.inspect_scores import OUTPUTS, headline_of, judged, metric_values, stored_rows
from hellofresh.api.harnesses.inspect_wire import chat_messages, generate_config, model_output, tool_infos
from hellofresh.core.errors import RunError, SubmissionError
from hellofresh.core.files import atomic_path
from hellofresh.core.workspace import Workspace
from hellofresh.models import Request
from hellofresh.releases.life.load import load_labels, load_release
from hellofresh.releases.life.phases import labels_are_public
from hellofresh.results.split.entries import plurality
from hellofresh.runs.journal import JournalEntry, read_request, snapshot
from hellofresh.runs.plan import read_plan
from hellofresh.runs.prompts import load_prompt_set
from hellofresh.runs.record import ModelIdentity, RunRecord, read_outputs, read_record
from hellofresh.tasks import Task
from hellofresh.tasks.outputs import Choice, Output
from hellofresh.tasks.samples import Label, Sample
from hellofresh.tasks.transcripts import AskedEvent, read_transcripts

# Names of providers in inspect; any other provider becomes a service of its `openai-api`.
_PROVIDERS = {
    **{name: name for name in ("openai", "anthropic", "mistral", "together", "perplexity", "openrouter", "vllm")},
    **{"gemini": "google", "openai-responses": "openai", "ollama": "ollama", "llama-cpp": "llama-cpp-python"},
}


class _About(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")
    task: str
    edition: str
    regime: str


@dataclass(frozen=True, slots=True)
class InspectedSystem:
    """A system and its choices, read from a log.

    Attributes:
        task, edition, regime: of the evaluation.
        model: name of the model.
        choices: the choices by sample id.
    """

    task: str
    edition: str
    regime: str
    model: str
    choices: Mapping[str, Choice]


def read_log(path: Path) -> InspectedSystem:
    """The choices in a log of one of our tasks.

    Raises:
        SubmissionError: if the file is not a log, or not of one of our tasks.
    """
    try:
        log = read_eval_log(str(path))
        about = _About.model_validate((log.eval.metadata or {}).get("hellofresh"))
    except (OSError, ValueError, KeyError) as error:
        raise SubmissionError(
            f"not a log of inspect_ai on a task of ours ({type(error).__name__})",
            where=str(path),
            expected="a log of: inspect eval hellofresh/TASK",
            code="bad-log",
        ) from None
    answers = load_prompt_set(about.task, "zero-shot", None).answers
    choices = {
        str(sample.id): headline_of(sample.store.get(OUTPUTS), sample.output.completion, answers)
        for sample in log.samples or ()
        if sample.epoch == 1 and sample.error is None
    }
    if not choices:
        raise SubmissionError("the log has no samples", where=str(path), code="empty-log")
    solver = about.regime if log.eval.solver in (None, "hellofresh/regime_solver", "regime_solver") else "other"
    return InspectedSystem(about.task, about.edition, solver, log.eval.model, choices)


def write_log(workspace: Workspace, folder: Path, path: Path) -> int:
    """Write a finished run of choices as a log that Inspect View shows; returns the number of samples.

    Args:
        workspace: where the run's release is.
        folder: the folder of the run.
        path: the log file, ending in `.eval` or `.json`.

    Raises:
        RunError: if the run is not finished, or its task has no choices.
    """
    record, plan = read_record(folder), read_plan(folder)
    if record is None or plan is None:
        fix = f"Finish it first: hellofresh runs resume {folder.name}"
        raise RunError("the run is not finished", where=str(folder), fix=fix, code="unfinished-run")
    task = record.evaluation.task
    if task.output is not Choice:
        raise RunError(f"{task.name} has no choices", where=folder.name, expected="a choice", code="other-output")
    samples = _samples(workspace, folder, record, task)
    log = EvalLog(
        status="success",
        eval=_spec(folder.name, plan.started, record, samples),
        results=_results(samples),
        stats=EvalStats(started_at=plan.started, completed_at=plan.started, model_usage=_usage(record)),
        samples=samples,
    )
    with atomic_path(path) as place:
        whole = place.with_name(f"{place.name}{path.suffix}")
        write_eval_log(log, str(whole))
        whole.replace(place)
    return len(samples)


def _spec(name: str, started: str, record: RunRecord, samples: Sequence[EvalSample]) -> EvalSpec:
    ids, asked = [str(sample.id) for sample in samples], record.evaluation
    task, edition = asked.task.name, str(asked.edition)
    about = {
        "task": task,
        "edition": edition,
        "regime": record.regime.name,
        "prompts": list(asked.prompt_ids),
        "run": name,
        "samples_sha256": record.samples_sha256,
    }
    return EvalSpec(
        eval_id=name,
        run_id=name,
        created=started,
        task=f"hellofresh/{task.replace('-', '_')}",
        task_id=name,
        task_version=record.regime.version,
        task_args={"edition": edition, "regime": record.regime.name},
        solver="hellofresh/regime_solver",
        dataset=EvalDataset(name=f"{task}@{edition}", samples=len(ids), sample_ids=list(ids)),
        model=_model_name(record.model),
        config=EvalConfig(),
        packages={"hellofresh": __version__},
        metadata={"hellofresh": about},
    )


def _model_name(model: ModelIdentity) -> str:
    """The model's name in inspect, which log readers rely on; `hellofresh/NAME` for this project's own models."""
    if "provider" not in model.parameters:
        return f"hellofresh/{model.name}"
    provider = str(model.parameters["provider"])
    return f"{_PROVIDERS.get(provider, f'openai-api/{provider}')}/{model.parameters['model']}"


def _usage(record: RunRecord) -> dict[str, ModelUsage]:
    return {
        item.model: ModelUsage(
            input_tokens=item.tokens_in or 0,
            output_tokens=item.tokens_out or 0,
            total_tokens=(item.tokens_in or 0) + (item.tokens_out or 0),
        )
        for item in record.usage.values()
    }


def _samples(workspace: Workspace, folder: Path, record: RunRecord, task: Task) -> list[EvalSample]:
    edition = record.evaluation.edition
    release = load_release(workspace, edition, task)
    labels = load_labels(workspace, edition, task) if labels_are_public(workspace, edition, task.name) else {}
    outputs: dict[str, list[Output]] = {}
    for key, repetition, output in read_outputs(folder):
        if repetition == 1:
            outputs.setdefault(key, []).append(output)
    order = {prompt: number for number, prompt in enumerate(record.evaluation.prompt_ids)}
    asked: dict[str, list[JournalEntry]] = {}
    with snapshot(folder) as journal:
        for entry in journal.entries():
            if entry.repetition == 1:
                asked.setdefault(entry.sample, []).append(entry)
    others = {item.id: item.events for item in read_transcripts(folder) if item.repetition == 1}
    return [
        _Told(
            sample,
            task,
            sorted(outputs[sample.id], key=lambda output: order[output.prompt]),
            sorted(asked.get(sample.id, ()), key=lambda entry: order.get(entry.prompt, -1)),
            [event for event in others.get(sample.id, ()) if not isinstance(event, AskedEvent)],
            labels.get(sample.id),
            {"main": record.model.name, **{role: model.name for role, model in record.roles.items()}},
        ).sample()
        for sample in release.samples
        if sample.id in outputs
    ]


@dataclass(frozen=True, slots=True)
class _Told:
    """All records of one sample of a run."""

    about: Sample
    task: Task
    outputs: Sequence[Output]
    asked: Sequence[JournalEntry]
    others: Sequence[BaseModel]
    label: Label | None
    models: Mapping[str, str]

    def sample(self) -> EvalSample:
        """The sample for Inspect View: the conversation that led to the choice, and all requests as events."""
        classes = self.task.classes
        choices = [output for output in self.outputs if isinstance(output, Choice)]
        choice = choices[0] if len(choices) == 1 else plurality(choices)
        # steps before the decision have no prompt of their own
        deciding = next((entry for entry in self.asked if entry.prompt), self.asked[-1] if self.asked else None)
        messages = [] if deciding is None else chat_messages(_imageless(deciding))
        output = model_output(self.models["main"], deciding.answer) if deciding is not None else None
        sample = EvalSample(
            id=self.about.id,
            epoch=1,
            input=messages[0].text if messages else "",
            target="" if self.label is None else classes[self.label.label],
            messages=[*messages, *([] if output is None else [output.message])],
            metadata={"group": self.about.group, "period": self.about.period, "date": self.about.date.isoformat()},
            store={OUTPUTS: stored_rows(self.about.id, self.outputs)},
            events=list(self._events()),
        )
        if output is not None:
            sample.output = output
        if self.label is not None:
            sample.scores = {"verdict": judged(self.task, choice, self.label.label, self.about.group)}
        return sample

    def _events(self) -> Iterator[InspectEvent]:
        for entry in self.asked:
            request, model = _imageless(entry), self.models.get(entry.role, self.models["main"])
            yield ModelEvent(
                model=model,
                role=entry.role,
                input=chat_messages(request),
                tools=tool_infos(request.tools),
                tool_choice="auto",
                config=generate_config(request),
                output=model_output(model, entry.answer),
            )
        for event in self.others:
            yield InfoEvent(source="hellofresh", data=json.loads(event.model_dump_json(exclude_defaults=True)))


def _imageless(entry: JournalEntry) -> Request:
    """The request without images, because journals do not keep pixels."""
    request = read_request(entry.request)
    return replace(request, messages=tuple(replace(message, images=()) for message in request.messages))


def _results(samples: Sequence[EvalSample]) -> EvalResults:
    scored = [SampleScore(score=sample.scores["verdict"], sample_id=sample.id) for sample in samples if sample.scores]
    results = EvalResults(total_samples=len(samples), completed_samples=len(samples))
    if scored:
        values = metric_values([item.score.metadata or {} for item in scored])
        metrics = {name: EvalMetric(name=name, value=value) for name, value in values.items()}
        results.scores = [EvalScore(name="verdict", scorer="verdict", scored_samples=len(scored), metrics=metrics)]
    return results
