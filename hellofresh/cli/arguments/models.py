"""Commands about asking models: `evaluate`, `runs` and `respond`."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from pathlib import Path
from typing import Any

from hellofresh.cli.arguments.shared import Subparsers, add_command, add_edition, add_group
from hellofresh.runs.evaluation import OPTIONS


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
    verbs = add_group(nouns, "runs", "Show, resume and export runs.")
    about = "List all runs, the newest last; or show one, or every question and answer about one of its samples."
    show = add_command(verbs, "show", about, "runs:show")
    about = "run id, or an unambiguous prefix or suffix (default: list all runs)"
    show.add_argument("run_id", nargs="?", metavar="RUN", help=about)
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
        model="a name from: hellofresh models (default: the embedded one, for a smoke test)",
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
