"""Commands about asking models: `evaluate`, `runs` and `respond`."""

from __future__ import annotations

import argparse
from pathlib import Path

from hellofresh.cli.arguments.shared import Subparsers, add_command, add_edition, add_group


def add_evaluate(nouns: Subparsers) -> None:
    """Add `evaluate`."""
    about = "Evaluate a model on the samples of a released edition, and keep every response."
    parser = add_command(nouns, "evaluate", about, "evaluate:run", timed=True)
    add_edition(parser)
    parser.add_argument("--task", required=True, metavar="T", help="x-notes or wikipedia-edits")
    parser.add_argument("--model", required=True, metavar="M", help="a name from: hellofresh models; or openai:NAME")
    parser.add_argument("--base-url", metavar="URL", help="the endpoint of openai:NAME (default: OPENAI_BASE_URL)")
    parser.add_argument(
        "--regime", default="zero-shot", metavar="R", help="how the model is asked (default: zero-shot)"
    )
    parser.add_argument(
        "--agent", metavar="FILE:FUNCTION", help="an agent of your own instead of a regime, such as my_agent.py:solve"
    )
    parser.add_argument("--prompts", default="all", metavar="P", help="all, or ids such as manual,rephrased-1")
    _add_prompt_set(parser)
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the regime, such as pages=3"
    )
    parser.add_argument(
        "--role", action="append", default=[], metavar="ROLE=MODEL", help="another model for a role of the regime"
    )
    parser.add_argument(
        "--block",
        action="append",
        default=[],
        metavar="DOMAIN",
        help="never read pages of this domain (repeat it for each)",
    )
    parser.add_argument(
        "--allow", action="append", default=[], metavar="GROUP",
        help="read this group of sources that hold the task's answers, such as fact-checkers, to see what it changes",
    )  # fmt: skip
    parser.add_argument(
        "--split",
        choices=("main", "prospective"),
        default="main",
        help="prospective: samples that were undecided when released",
    )
    parser.add_argument("--limit", type=int, metavar="N", help="judge N samples (default: the model's own limit)")
    parser.add_argument(
        "--repeat",
        type=int,
        default=1,
        metavar="N",
        help="ask each question N times, with different seeds; needs --temperature (default: 1)",
    )
    parser.add_argument(
        "--temperature", type=float, metavar="T", help="temperature of all requests, such as 0.7 (default: 0)"
    )
    parser.add_argument("--vote", action="store_true", help="score the vote of all repetitions, not the first of them")
    parser.add_argument(
        "--batch", action="store_true", help="submit the questions as batches: cheaper, answered within a day"
    )
    parser.add_argument("--board", action="store_true", help="then score the edition and build the board")
    _add_limits(parser)


def _add_limits(parser: argparse.ArgumentParser) -> None:
    """Add what bounds a run, or looks ahead."""
    parser.add_argument("--budget", type=float, metavar="USD", help="stop before the run costs more than this")
    parser.add_argument(
        "--dry-run", action="store_true", help="estimate calls, tokens, cost and time; send and write nothing"
    )
    parser.add_argument(
        "--replay", action="store_true", help="replay the run's stored searches and pages, without the network"
    )
    parser.add_argument(
        "--drop-damaged", action="store_true", help="delete damaged answers from the journal and ask for them again"
    )


def _add_prompt_set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--prompt-set", type=Path, metavar="FILE", help="your own prompt set (TOML)")


def add_runs(nouns: Subparsers) -> None:
    """Add `runs`."""
    verbs = add_group(nouns, "runs", "List, show, resume and export runs.")
    add_command(verbs, "list", "List all runs of the workspace, the newest last.", "runs:list_runs")
    about = "Show a run, or every question and answer about one of its samples."
    show = add_command(verbs, "show", about, "runs:show")
    _add_run(show)
    show.add_argument("sample", nargs="?", metavar="SAMPLE", help="id of a sample")
    about = "Resume a run; refused if its inputs have changed."
    resume = add_command(verbs, "resume", about, "runs:resume", timed=True)
    _add_run(resume)
    _add_limits(resume)
    about = "Write a finished run's predictions, responses and transcripts."
    export = add_command(verbs, "export", about, "runs:export")
    _add_run(export)
    form = export.add_mutually_exclusive_group(required=True)
    form.add_argument("--format", choices=("jsonl", "parquet"), help="format of the tables")
    form.add_argument("--inspect", action="store_true", help="one log that Inspect View shows (extra inspect)")
    about = "output folder, or file of a log (default: named after the run)"
    export.add_argument("--to", type=Path, metavar="PATH", help=about)


def add_respond(nouns: Subparsers) -> None:
    """Add `respond`."""
    about = "Respond to one post: what in it misleads and why, with evidence, links, transcript and cost."
    parser = add_command(nouns, "respond", about, "respond:run")
    parser.add_argument("--text", default="", metavar="TEXT", help="the post's text")
    parser.add_argument(
        "--image",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="a picture of it (repeat it for each)",
    )
    parser.add_argument(
        "--date",
        metavar="D",
        help="when it was posted, such as 2023-04-03 or 2023-04-03T14:05Z",
    )
    parser.add_argument(
        "--model", default="smollm2-135m-text", metavar="M",
        help="a name from: hellofresh models (default: the embedded one, for a smoke test)",
    )  # fmt: skip
    parser.add_argument(
        "--role", action="append", default=[], metavar="ROLE=MODEL",
        help="another model for describer, querier or extractor",
    )  # fmt: skip
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the regime correction"
    )
    parser.add_argument(
        "--provider",
        default="",
        metavar="P",
        help="search provider (default: as configured, or one whose key is set)",
    )
    parser.add_argument("--prompt", default="manual", metavar="ID", help="the wording (default: manual)")
    parser.add_argument("--budget", type=float, metavar="USD", help="stop before it costs more than this")
    parser.add_argument("--serve", action="store_true", help="open the page Try on this machine instead")
    parser.add_argument("--port", type=int, default=8502, metavar="N", help="with --serve: its port (8502)")
    parser.epilog = 'Example: hellofresh respond --text "The abacus is named after A, B and C." --date 2026-03-01'


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN", help="run id, or an unambiguous prefix or suffix")
