"""One evaluation, and what is shown of it. It loads nothing that scores, draws or collects."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from hellofresh.core.workspace import Workspace
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.export import EvaluationReport
from hellofresh.runs.runner import Tally


class ProgressLine(Protocol):
    """Shows the current work and the progress of a run."""

    def line(self, text: str) -> None: ...
    def tally(self, tally: Tally) -> None: ...


class Show(Protocol):
    """Shows messages, progress and results of the steps (releases, scores, runs, publications).

    `step` says what a finished part of the whole path did; `last` shows what is to be read in the end.
    """

    def say(self, line: str) -> None: ...
    def progress(self, what: str) -> AbstractContextManager[ProgressLine]: ...
    def published(self, made: object) -> None: ...
    def step(self, what: str, seconds: float) -> None: ...
    def last(self, line: str) -> None: ...


def answer(workspace: Workspace, evaluation: Evaluation, show: Show) -> EvaluationReport:
    """Evaluate, and report in one line what was answered, and in another what failed."""
    with show.progress(evaluation.title) as bar:
        evaluated = evaluate(workspace, evaluation, bar.tally, lambda note: show.say(f"note: {note}"))
    tally = evaluated.tally
    show.published(evaluated)
    show.say(
        f"{evaluation.title}: {evaluated.judged} of {evaluated.of} samples answered; {tally.asked} answers asked for, "
        f"{tally.recalled} already stored{_taken(evaluated)}"
    )
    if evaluated.failed:
        show.say(
            f"{evaluated.failed} samples could not be answered (repetitions count apart): see "
            f"{evaluated.folder / 'errors.jsonl'}. Rerun the command to retry; this helps only after temporary faults."
        )
        if evaluated.failed_for_good:
            finished = ": the run is finished." if evaluated.failed_for_good == evaluated.failed else "."
            show.say(f"{evaluated.failed_for_good} of them cannot be answered by this system at all{finished}")
    if evaluated.copies:
        *first, last = map(str, evaluated.copies)
        listed = f"repetitions {', '.join(first)} and {last} gave" if first else f"repetition {last} gave"
        show.say(
            f"note: {listed} the same answers as an earlier repetition, word by word. Copies count "
            f"once in scores: the model may ignore seeds and temperature."
        )
    if evaluated.unsearched:
        show.say(
            f"note: for {evaluated.unsearched} samples (repetitions count apart) a search failed, and they were judged "
            f"without what it would have found: see {evaluated.folder / 'transcripts.jsonl'}."
        )
    return evaluated


def _taken(evaluated: EvaluationReport) -> str:
    """Tokens and cost of the whole run, if any."""
    if evaluated.tokens_in is None or evaluated.tokens_out is None:
        tokens = "tokens unknown"
    elif evaluated.tokens_in + evaluated.tokens_out == 0:
        return ""
    else:
        tokens = f"{evaluated.tokens_in:,} tokens in, {evaluated.tokens_out:,} out"
    return f"; {tokens}, " + ("cost unknown" if evaluated.cost_usd is None else f"{evaluated.cost_usd:.4f} USD")
