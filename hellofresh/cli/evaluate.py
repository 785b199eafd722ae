"""`hellofresh evaluate`: ask a model about a released quarter."""

from __future__ import annotations

import argparse
from pathlib import Path

from hellofresh.answers import Verdict
from hellofresh.cli._arguments import Subparsers, add_command, add_quarter
from hellofresh.cli._output import Output
from hellofresh.evaluation import Evaluated, Evaluation, evaluate
from hellofresh.samples import to_json
from hellofresh.tasks import get_task
from hellofresh.workspace import Workspace

__all__ = ["register", "run_evaluation"]


def register(nouns: Subparsers) -> None:
    """Add the command."""
    about = "Ask a model about the samples of a released quarter, and keep every response."
    parser = add_command(nouns, "evaluate", about, _run)
    add_quarter(parser)
    parser.add_argument("--task", required=True, metavar="T", help="x-notes or wikipedia-edits")
    parser.add_argument("--model", required=True, metavar="M", help="a name from: hellofresh models list")
    parser.add_argument("--regime", default="zero-shot", metavar="R", help="how it is asked (default: zero-shot)")
    parser.add_argument("--prompts", default="all", metavar="P", help="all, or ids such as manual,rephrased-1")
    parser.add_argument("--prompt-set", type=Path, metavar="FILE", help="a prompt set of your own (TOML)")
    parser.add_argument(
        "--split", choices=("main", "prospective"), default="main", help="prospective: samples nobody had decided"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="judge N samples (default: the model's own limit)")


def _run(options: argparse.Namespace, output: Output) -> int:
    evaluation = Evaluation(
        quarter=options.quarter,
        task=get_task(options.task),
        model=options.model,
        regime=options.regime,
        prompts=options.prompts,
        limit=options.limit,
        prompt_set=options.prompt_set,
        split=options.split,
    )
    evaluated = run_evaluation(output, Workspace.from_environment(), evaluation)
    rows = [(prompt, *(counts.get(verdict, 0) for verdict in Verdict)) for prompt, counts in evaluated.verdicts.items()]
    output.table("Verdicts", ("prompt", *(str(verdict) for verdict in Verdict)), rows)
    output.text(f"responses: {evaluated.folder / 'responses.jsonl'}")
    return 0


def run_evaluation(output: Output, workspace: Workspace, evaluation: Evaluation) -> Evaluated:
    """Evaluate with a progress bar and a line at the end."""
    what = f"{evaluation.model} on {evaluation.task.name} {evaluation.quarter}, {evaluation.regime}"
    what += ", prospective" if evaluation.split == "prospective" else ""
    with output.progress(what) as bar:
        evaluated = evaluate(workspace, evaluation, bar.tally)
    tally = evaluated.tally
    output.result({**to_json(evaluated), "folder": str(evaluated.folder)})
    output.say(
        f"{what}: {evaluated.judged} of {evaluated.of} samples judged; {tally.asked} answers asked for, "
        f"{tally.recalled} known from before"
    )
    return evaluated
