"""Evaluate a model from Python as `hellofresh evaluate` does, with progress in a notebook or terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields
from html import escape
from inspect import Parameter, Signature, signature
from pathlib import Path

import polars as pl
from rich.console import Console
from rich.progress import Progress

from hellofresh.api._loading import LoadedEdition, workspace_for_runs
from hellofresh.api._scoring import ScoreTable, scored
from hellofresh.core.errors import RunError, UsageError
from hellofresh.models.catalogue import bring_client
from hellofresh.results.split.entries import entry_of_run
from hellofresh.runs.evaluate import evaluate as _evaluate
from hellofresh.runs.evaluation import HINTS, OPTIONS, Evaluation, given_values
from hellofresh.runs.export import EvaluationReport
from hellofresh.runs.plan import read_evaluation
from hellofresh.runs.record import PREDICTIONS, run_file
from hellofresh.runs.regimes import usual_regime
from hellofresh.runs.regimes.agents import Solver, agent_regime
from hellofresh.runs.runner import Tally

_EVERY_S = 0.25  # Ctrl-C in a notebook is noticed within this time


@dataclass(frozen=True, slots=True)
class EvaluatedRun:
    """A run on an edition.

    Attributes:
        edition: on what.
        report: totals of the run: samples answered and failed, tokens, cost.
    """

    edition: LoadedEdition
    report: EvaluationReport

    @property
    def folder(self) -> Path:
        """The folder with the run's answers, transcripts and predictions."""
        return self.report.folder

    @property
    def predictions(self) -> pl.DataFrame:
        """The predictions, one row per sample, prompt and repetition."""
        path = run_file(self.folder, PREDICTIONS)
        assert path is not None  # the run is finished
        return pl.read_ndjson(path)

    def score(self) -> ScoreTable:
        """The run's scores.

        Raises:
            ReleaseError: if labels are not public yet.
        """
        return scored(self.edition, [entry_of_run(self.folder)])

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.predictions.head(5)._repr_html_()}"

    def __repr__(self) -> str:
        cost = "unknown" if self.report.cost_usd is None else f"{self.report.cost_usd:.4f} USD"
        return f"{self.report.run_id}: {self.report.judged} of {self.report.of} samples answered, cost {cost}"


def evaluate(
    edition: LoadedEdition,
    model: object,
    *,
    name: str | None = None,
    agent: str | Solver | type | None = None,
    progress: bool = True,
    **options: object,
) -> EvaluatedRun:
    """Evaluate a model as `hellofresh evaluate` does; requests answered before are not sent again.

    It works within a running event loop too, such as a notebook's.

    Args:
        edition: on what, from `load`.
        model: a name from `hellofresh models`, or a client of OpenAI's SDK, such as `AsyncAzureOpenAI(...)`.
        name: with a client, the model's id there, such as `gpt-6-luna`; the run calls it `openai-sdk:gpt-6-luna`.
        agent: your own agent instead of a regime: `FILE:FUNCTION`, or a function or class of this process.
        progress: whether to show a progress bar.
        options: the fields of `hellofresh.runs.evaluation.Evaluation`, which are the options of the command, such as
            `regime`, `limit`, `repeat`, `temperature` and `budget_usd`. `prompts` and `blocked` may be lists,
            `settings` and `roles` mappings.

    Raises:
        TypeError: if the option does not exist.
        HelloFreshError: where the command would report an error.
    """
    if unknown := sorted(options.keys() - OPTIONS.keys()):
        raise TypeError(f"evaluate() got an unexpected keyword argument {unknown[0]!r}")
    if not isinstance(model, str):
        model = bring_client(model, name)
    elif name is not None:
        raise UsageError("a name beside a model's name", expected="a name only for a client", code="bad-name")
    given = {**options, "model": model, **({} if agent is None else {"regime": agent_regime(agent)})}
    given.setdefault("regime", usual_regime(edition.task))
    named = {"edition": str(edition.edition), "task": edition.task.name}
    try:
        asked = read_evaluation(given_values(given) | named)
    except ValueError as error:
        raise UsageError(str(error), where="evaluate", code="bad-option") from None
    workspace = workspace_for_runs(edition)
    title = f"{model} on {edition.task.name} {edition.edition}"
    with _shown_progress(title, hidden=not progress) as bar:
        return EvaluatedRun(edition, _outside_loop(lambda: _evaluate(workspace, asked, bar.tally, bar.say), bar))


@dataclass(slots=True)
class _Progress:
    """Buffer a run's progress and remarks until they are drawn.

    Attributes:
        show: draws the number of samples done and their total.
        remark: shows a sentence.
        draws_at_once: whether each update is drawn at once; else the owner draws, in another thread.
        stopped: whether the run should end.
    """

    show: Callable[[int, int], None]
    remark: Callable[[str], None]
    draws_at_once: bool = False
    stopped: bool = False
    _far: tuple[int, int] = (0, 0)
    _said: list[str] = field(default_factory=list)

    def tally(self, tally: Tally) -> None:
        """Take the run's current progress.

        Raises:
            RunError: if the run should end.
        """
        if self.stopped:
            raise RunError("the run was stopped", fix="Repeat the call to resume it.", code="stopped")
        self._far = tally.done, tally.samples
        if self.draws_at_once:
            self.draw()

    def say(self, text: str) -> None:
        """Take a remark."""
        self._said.append(text)
        if self.draws_at_once:
            self.draw()

    def draw(self) -> None:
        """Show the remarks and the progress."""
        said, self._said = self._said, []
        for text in said:
            self.remark(text)
        self.show(*self._far)


@contextmanager
def _shown_progress(title: str, *, hidden: bool) -> Iterator[_Progress]:
    """Show a bar in a terminal or a changing line in a notebook; if hidden, remarks only."""

    def remark(text: str) -> None:
        Console().print(text, markup=False)

    if hidden:
        yield _Progress(lambda done, total: None, remark)
    elif Console().is_jupyter:
        from IPython.display import display

        # IPython has no type hints here.
        handle = display({"text/plain": title}, raw=True, display_id=True)  # type: ignore[no-untyped-call]

        def line(done: int, total: int) -> None:
            text = f"{title}: {done:,} of {total:,} samples"
            html = f'<progress value="{done}" max="{total or 1}"></progress> {escape(text)}'
            handle.update({"text/plain": text, "text/html": html}, raw=True)

        yield _Progress(line, remark)
    else:
        with Progress(transient=True) as bar:
            task = bar.add_task(title, total=None)
            show = lambda done, total: bar.update(task, completed=done, total=total or None)  # noqa: E731
            yield _Progress(show, bar.console.print)


def _outside_loop(work: Callable[[], EvaluationReport], bar: _Progress) -> EvaluationReport:
    """Run work that starts its own event loop; if a loop already runs, use a thread and draw from this one.

    Ctrl-C, or a notebook's "interrupt", stops the work at its next sample.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        bar.draws_at_once = True
        return work()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        try:
            while wait([future], timeout=_EVERY_S).not_done:
                bar.draw()
        except KeyboardInterrupt:
            bar.stopped = True
            raise
        bar.draw()
        return future.result()


def _signature() -> Signature:
    """The signature of `evaluate` including the fields of `Evaluation`."""
    own = [item for item in signature(evaluate).parameters.values() if item.kind is not Parameter.VAR_KEYWORD]
    defaults = {item.name: item.default for item in fields(Evaluation) if item.default_factory is MISSING}
    more = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=defaults.get(name), annotation=HINTS[name])
        for name in OPTIONS
        if name not in ("task", "model")
    ]
    return Signature([*own, *more], return_annotation=EvaluatedRun)


evaluate.__signature__ = _signature()  # type: ignore[attr-defined]
