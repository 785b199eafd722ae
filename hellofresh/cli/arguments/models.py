"""Commands about asking models: `evaluate`, `runs`, `models`, `prompts` and `web`."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from pathlib import Path
from typing import Any

from hellofresh.cli.arguments.shared import Subparsers, add_command, add_edition, add_group, edition_option, parse_day
from hellofresh.runs.evaluation import OPTIONS

QUESTION = "Is water wet? Answer with 'yes' or 'no'."
"""What `models check` asks."""


def add_evaluate(nouns: Subparsers) -> None:
    """Add `evaluate`."""
    about = "Evaluate a model on the samples of a released edition, and keep every response."
    parser = add_command(nouns, "evaluate", about, "evaluate:run", timed=True)
    add_edition(parser)
    add_fields(parser, *OPTIONS)
    parser.add_argument("--base-url", metavar="URL", help="the endpoint of openai:NAME (default: OPENAI_BASE_URL)")
    parser.add_argument(
        "--agent", metavar="FILE:FUNCTION", help="an agent of your own instead of a regime, such as my_agent.py:solve"
    )
    parser.add_argument("--board", action="store_true", help="then score the edition and build the board")
    _add_dry_run(parser)


def add_fields(
    parser: argparse.ArgumentParser, *names: str, required: Collection[str] = ("task", "model"), **changed: str
) -> None:
    """Add the options of fields of `Evaluation`; `changed` has help texts of a command's own."""
    for name in names:
        option = OPTIONS[name]
        words: dict[str, Any] = {"dest": name, "help": changed.get(name, option.help), "default": argparse.SUPPRESS}
        if not option.metavar and not option.choices:
            parser.add_argument(option.flag_of(name), action="store_true", **words)
            continue
        words |= {"required": name in required, "type": option.parse}
        words |= {"metavar": option.metavar} if option.metavar else {"choices": option.choices}
        parser.add_argument(option.flag_of(name), action="append" if option.many else "store", **words)


def _add_dry_run(parser: argparse.ArgumentParser) -> None:
    about = "show what it may take at most, and is expected to take; send and write nothing"
    parser.add_argument("--dry-run", action="store_true", help=about)


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
    add_fields(resume, "budget_usd", "drop_damaged", "replay")
    _add_dry_run(resume)
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
    add_fields(
        parser, "model", "roles", "settings", "provider", "prompts", "budget_usd", required=(),
        model="a name from: hellofresh models list (default: the embedded one, for a smoke test)",
        roles="another model for describer, querier or extractor",
        settings="a setting of the regime correction",
        provider="search provider (default: as configured, or one whose key is set)",
        prompts="id of the wording (default: manual)",
    )  # fmt: skip
    parser.add_argument("--serve", action="store_true", help="open the page Try on this machine instead")
    parser.add_argument("--port", type=int, default=8502, metavar="N", help="with --serve: its port (8502)")
    parser.epilog = 'Example: hellofresh respond --text "The abacus is named after A, B and C." --date 2026-03-01'


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN", help="run id, or an unambiguous prefix or suffix")


def add_models(nouns: Subparsers) -> None:
    """Add `models`."""
    verbs = add_group(nouns, "models", "List models, or try one.")
    add_command(verbs, "list", "List the models that can be evaluated.", "models:list_models")
    check = add_command(verbs, "check", "Ask a model one question and show its answer.", "models:check")
    check.add_argument("name", metavar="M", help="a name from: hellofresh models list")
    check.add_argument("--question", default=QUESTION, metavar="TEXT", help=f"what to ask (default: {QUESTION})")


def add_prompts(nouns: Subparsers) -> None:
    """Add `prompts`."""
    about = "Show or rephrase the prompts of every task and regime."
    verbs = add_group(nouns, "prompts", about)
    add_command(verbs, "list", "List the prompts of every task and regime.", "prompts:list_prompts")
    about = "Show the prompts of a task and regime, as templates or filled from a sample."
    show = add_command(verbs, "show", about, "prompts:show")
    show.add_argument("task", metavar="TASK", help="x-notes or wikipedia-edits")
    show.add_argument("regime", metavar="REGIME", help="such as zero-shot; 'hellofresh prompts list' names all")
    show.add_argument("--sample", metavar="ID", help="fill them from this sample (with --edition)")
    edition_option(show, "the sample's edition, such as 2023Q2")
    _add_prompt_set(show)
    _add_rephrase(verbs)


def _add_rephrase(verbs: Subparsers) -> None:
    about = "Have models rephrase the manual instruction, check the results, and write a prompt set."
    parser = add_command(verbs, "rephrase", about, "prompts:write_rephrasings")
    parser.add_argument("--task", required=True, metavar="T", help="x-notes or wikipedia-edits")
    parser.add_argument(
        "--regime", default="zero-shot", metavar="R", help="regime of the instruction (default: zero-shot)"
    )
    parser.add_argument("--with", required=True, dest="models", metavar="MODEL[,MODEL]", help="models that rephrase")
    parser.add_argument("--out", required=True, type=Path, metavar="FILE", help="TOML file to write")
    parser.add_argument("--each", type=int, default=1, metavar="N", help="rephrasings per model (default: 1)")
    parser.add_argument(
        "--attempts", type=int, default=4, metavar="N", help="maximum tries per rephrasing (default: 4)"
    )
    parser.add_argument(
        "--name", default="rephrased", metavar="NAME", help="name of the prompt set (default: rephrased)"
    )
    _add_prompt_set(parser)


def add_web(nouns: Subparsers) -> None:
    """Add `web`."""
    verbs = add_group(
        nouns, "web", "Search and read web pages as regimes do, with the settings of [web] in hellofresh.toml."
    )
    search = add_command(verbs, "search", "Search with the configured provider.", "web:search")
    search.add_argument("query", help="what to look for")
    about = "only results from before this day, such as 2023-04-03"
    search.add_argument("--before", type=parse_day, metavar="DAY", help=about)
    read = add_command(verbs, "read", "Fetch a page and print its main text.", "web:read")
    read.add_argument("url", help="address of the page")
    for parser in (search, read):
        parser.add_argument("--keep", type=Path, metavar="DIR", help="store results in DIR, as a run does")
        parser.add_argument("--replay", action="store_true", help="use only stored results, without the network")
