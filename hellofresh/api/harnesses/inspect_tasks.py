"""Every task of decisions and statements as a task of inspect_ai, named by the entry point of its group.

    inspect eval hellofresh/x_notes --model openai/gpt-6-luna -T edition=2026Q2 -T regime=web_search

The regime calls inspect's model, so prompts, requests and verdicts match those of `hellofresh evaluate`; roles of the
regime are inspect's model roles (`--model-role summariser=...`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cache

from inspect_ai import Task as InspectTask
from inspect_ai import task as inspect_task
from inspect_ai.dataset import MemoryDataset
from inspect_ai.dataset import Sample as InspectSample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import registry_info

from hellofresh.api.harnesses.inspect_scores import OUTPUTS, stored_rows, verdict
from hellofresh.api.harnesses.inspect_wire import answer_of, chat_messages, generate_config, tool_infos
from hellofresh.core.editions import parse_edition
from hellofresh.core.errors import UsageError
from hellofresh.core.files import canonical_json, sha256_text
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.web import Web
from hellofresh.models import Answer, Request
from hellofresh.releases.life.load import Release, load_labels, load_release
from hellofresh.runs.equipment import equip, prompted, web_access
from hellofresh.runs.evaluation import Evaluation, WebAccess
from hellofresh.runs.prompts import load_prompt_set
from hellofresh.runs.regimes import MAIN, Need, Regime, get_regime
from hellofresh.tasks import TASKS, Task, get_task
from hellofresh.tasks.outputs import Choice
from hellofresh.tasks.samples import MAIN as MAIN_SPLIT
from hellofresh.tasks.samples import Label, Sample

_PACKAGE = "hellofresh"


@dataclass(slots=True)
class _SharedWeb:
    """The web access of a run, open while any sample is in progress."""

    access: WebAccess | None
    _users: int = 0
    _web: Web | None = field(default=None, repr=False)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Web | None]:
        """Web access while a sample runs; None if the regime needs none."""
        if self.access is None:
            yield None
            return
        if self._web is None:
            name = sha256_text(canonical_json(dict(self.access.parameters)))[:12]
            self._web = self.access.open(Workspace.from_environment().root / "inspect" / name)
        self._users += 1
        try:
            yield self._web
        finally:
            self._users -= 1
            if not self._users:
                web, self._web = self._web, None
                await web.close()


@cache
def _release(task: str, edition: str) -> Release:
    return load_release(Workspace.from_environment(), parse_edition(edition), get_task(task))


def _regime(name: str, settings: str) -> Regime:
    chosen = get_regime(name if ":" in name else name.replace("_", "-"), _pairs(settings))
    if Need.IMAGES in chosen.needs:
        raise UsageError(f"the regime {chosen.name} shows images", expected="one without", code="other-regime")
    return chosen


@solver
def regime_solver(
    task: str,
    edition: str,
    *,
    regime: str = "zero-shot",
    prompts: str = "",
    settings: str = "",
    hidden_tokens: int = 0,
) -> Solver:
    """A solver that runs a regime on each sample.

    Args:
        task: name of the task.
        edition: a quarter or a data set.
        regime: name of the regime.
        prompts: `all`, or ids with commas between them; the usual ones by default.
        settings: of the regime, as NAME=VALUE with commas between them.
        hidden_tokens: extra tokens for a model's hidden reasoning.
    """
    chosen_task, chosen = get_task(task), _regime(regime, settings)
    release = _release(task, edition)
    bare = prompted(chosen_task, chosen, prompts)
    equipment = equip(bare, Workspace.from_environment(), release, None, split=MAIN_SPLIT)
    samples = {sample.id: sample for sample in release.with_texts()}
    web = _SharedWeb(web_access(Evaluation(release.edition, chosen_task, "", chosen.name), chosen))

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        sample = samples[str(state.sample_id)]
        said: list[ModelOutput] = []

        async def ask(step: str, prompt: str, request: Request, *, role: str = MAIN) -> Answer:
            model = get_model() if role == MAIN else get_model(role=role)
            output = await model.generate(
                chat_messages(request), tools=tool_infos(request.tools), config=generate_config(request, hidden_tokens)
            )
            said.append(output)
            return answer_of(output, request)

        async with web.opened() as opened:
            outcome = await chosen.solve(await replace(equipment, web=opened).case(sample, ask))
        state.store.set(OUTPUTS, stored_rows(sample.id, outcome.outputs))
        if said:
            state.output = said[0]
            state.messages.append(said[0].message)
        return state

    return solve


def _pairs(settings: str) -> tuple[str, ...]:
    return tuple(filter(None, settings.split(",")))


def _dataset(task: Task, edition: str, question: Callable[[Sample], str]) -> MemoryDataset:
    """The samples with texts, in the order of `evaluate --limit`."""
    release = _release(task.name, edition)
    with_texts = {sample.id for sample in release.with_texts()}
    labels: Mapping[str, Label] = {}
    if release.revealed:
        labels = load_labels(Workspace.from_environment(), release.edition, task)
    samples = [
        InspectSample(
            id=sample.id,
            input=question(sample),
            target=task.classes[labels[sample.id].label] if sample.id in labels else "",
            metadata={"group": sample.group, "period": sample.period, "date": sample.date.isoformat()},
        )
        for sample in release.first(None)
        if sample.id in with_texts and (not labels or sample.id in labels)
    ]
    return MemoryDataset(samples, name=f"{task.name}@{edition}")


def _made(name: str) -> Callable[..., InspectTask]:
    def made(
        edition: str, regime: str = "zero-shot", prompts: str = "", settings: str = "", hidden_tokens: int = 0
    ) -> InspectTask:
        task, edition = get_task(name), str(edition)
        chosen = _regime(regime, settings)
        equipment = prompted(task, chosen, prompts)
        asked = load_prompt_set(task.name, "zero-shot", None)  # the prompt that other solvers see

        def question(sample: Sample) -> str:
            return asked.message(asked.prompts[0], task.slots(sample)).text

        dataset = _dataset(task, edition, question)
        scored = [verdict(name, list(asked.answers))] if any(sample.target for sample in dataset) else None
        return InspectTask(
            dataset=dataset,
            solver=regime_solver(
                name, edition, regime=regime, prompts=prompts, settings=settings, hidden_tokens=hidden_tokens
            ),
            scorer=scored,
            version=chosen.version,
            metadata={
                "hellofresh": {
                    "task": name,
                    "edition": edition,
                    "regime": chosen.name,
                    "prompts": [prompt.id for prompt in equipment.prompts],
                    "prompt_set_sha256": equipment.prompt_set.sha256,
                    "samples_sha256": _release(name, edition).samples_sha256,
                }
            },
        )

    made.__name__ = made.__qualname__ = _spelled(name)
    made.__doc__ = f"{get_task(name).title}: {get_task(name).question}"
    task = inspect_task(made)
    # inspect puts the package in front where a distribution has its name; in a clone none has.
    return task if "/" in registry_info(task).name else inspect_task(name=f"{_PACKAGE}/{_spelled(name)}")(made)


def _spelled(name: str) -> str:
    return name.replace("-", "_")


TASK_NAMES = {
    _spelled(name): name
    for name, task in TASKS.items()
    if task.output is Choice and task.track in ("decisions", "statements")
}
"""Names of tasks by their names in inspect_ai."""
globals().update({spelled: _made(name) for spelled, name in TASK_NAMES.items()})
