"""Commands of those who evaluate: `evaluate`, `sweep`, `respond`, `runs`, `score`, `analyse`, `models` and others."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from pathlib import Path
from typing import Any

from hellofresh.cli.arguments.shared import (
    Subparsers,
    add_command,
    add_edition,
    add_group,
    add_private,
    edition_option,
    parse_day,
    takes_submissions,
)
from hellofresh.runs.evaluation import OPTIONS


def add_evaluate(nouns: Subparsers) -> None:
    """Add `evaluate`."""
    about = "Evaluate a model on the samples of a released edition, and keep every response."
    parser = add_command(nouns, "evaluate", about, "evaluate:run", timed=True)
    edition_option(parser, "such as 2023Q2 or liar-new@588 (default: the newest one at hand, or the bundled sample)")
    add_fields(parser, *OPTIONS, required=("model",))
    _add_base_url(parser)
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


def _add_base_url(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--base-url", metavar="URL", help="the endpoint of openai:NAME (default: OPENAI_BASE_URL)")


def _add_dry_run(parser: argparse.ArgumentParser) -> None:
    about = "show what it may take at most, and is expected to take; send and write nothing"
    parser.add_argument("--dry-run", action="store_true", help=about)


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


def add_proxy(nouns: Subparsers) -> None:
    """Add `proxy`."""
    about = "Serve an OpenAI-compatible endpoint on this machine: a program of your own asks there, as a run."
    parser = add_command(nouns, "proxy", about, "proxy:run", timed=True)
    add_edition(parser)
    add_fields(
        parser, "task", "model", "roles", "settings", "limit", "budget_usd",
        model="the model that answers, as for evaluate",
        roles="another model, which clients call ROLE",
        settings="a bound for each sample, such as requests=50",
    )  # fmt: skip
    parser.add_argument(
        "--name", required=True, metavar="NAME", help="name of your program; another name, another system"
    )
    _add_base_url(parser)
    parser.add_argument("--port", type=int, default=0, metavar="N", help="the port (default: one that is free)")
    parser.epilog = (
        "A client needs the base URL of a sample, http://127.0.0.1:PORT/s/SAMPLE/v1, and the token that is printed, or "
        "set in HELLOFRESH_PROXY_TOKEN, as key. The program ends a sample with POST .../v1/output."
    )


def add_sweep(nouns: Subparsers) -> None:
    """Add `sweep`."""
    about = "Run variants of an evaluation, share what is equal between them, and compare them in one table."
    parser = add_command(nouns, "sweep", about, "sweep:run", timed=True)
    add_edition(parser)
    add_fields(
        parser, "task", "prompts", "prompt_set", "limit", "budget_usd",
        task="a task with classes, or of responses",
        budget_usd="stop before all runs together cost more than this",
    )  # fmt: skip
    parser.add_argument("--model", required=True, metavar="M[,M]", dest="models", help="main models")
    parser.add_argument("--regime", default="search-agent", metavar="R", help="the regime (default: search-agent)")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=V[,V]", help="values of a setting, such as k=10,5,2"
    )
    parser.add_argument(
        "--role", action="append", default=[], metavar="ROLE=M[,M]", help="models for a role, such as summariser=A,B"
    )
    parser.add_argument(
        "--block",
        default="",
        metavar="[D],[D+D]",
        help="domains that are not read: alternatives with commas between them, one may be empty; + joins domains",
    )
    parser.add_argument(
        "--provider", default="", metavar="P[,P]", dest="providers", help="search providers (default: as configured)"
    )
    _add_dry_run(parser)
    add_private(parser)
    parser.epilog = "Example: hellofresh sweep --edition 2026Q2 --task x-notes --model scripted --set k=10,5,2"


def add_score(nouns: Subparsers) -> None:
    """Add `score`."""
    about = (
        "Score every run and submission of an edition: precision, recall, F1, accuracy with 95% intervals; "
        "for a revealed quarter, publish scores and predictions in its release. Before the reveal scores are kept in "
        "data/private, and no figure is shown."
    )
    parser = add_command(nouns, "score", about, "score:run", timed=True)
    add_edition(parser)
    parser.add_argument(
        "--split",
        choices=("main", "prospective"),
        default="main",
        help="prospective: samples that were undecided when released",
    )
    about = "allow the published predictions of this entry to be added, changed or removed (repeat it for each)"
    parser.add_argument("--change", action="append", default=[], metavar="ENTRY", help=about)
    takes_submissions(parser)
    add_private(parser)


def add_analyse(nouns: Subparsers) -> None:
    """Add `analyse`."""
    about = "Analyse a scored edition: a table and a figure for one question, or for all."
    parser = add_command(nouns, "analyse", about, "analyse:run")
    about = (
        "an analysis; 'list' names them; all; or agents: print tables of what agents did, their sources, searches and "
        "certainty"
    )
    parser.add_argument("name", metavar="NAME", help=about)
    edition_option(parser, "a quarter such as 2023Q2, or a data set such as liar-new@588")
    parser.add_argument("--task", metavar="T", help="only this task (default: all that are released)")
    about = "only this system (repeat it for each)"
    parser.add_argument("--system", metavar="S", action="append", default=[], help=about)
    about = "with all: write one self-contained page (default: report.html beside the edition's analyses)"
    parser.add_argument("--html", nargs="?", const=True, type=Path, metavar="FILE", help=about)
    about = "with agents: ratings of publishers, instead of imported ones"
    parser.add_argument("--ratings", type=Path, metavar="FILE", help=about)
    takes_submissions(parser)
    add_private(parser)


def add_board(nouns: Subparsers) -> None:
    """Add `board`."""
    verbs = add_group(nouns, "board", "Build the leaderboard's tables, or export it as static pages.")
    about = "Build the board's tables from all scored editions."
    add_private(add_command(verbs, "build", about, "board:build", timed=True))
    about = "Open the site on the board, on this machine, until you press Ctrl+C."
    serve = add_command(verbs, "serve", about, "board:serve")
    serve.add_argument("--port", type=int, metavar="N", help="port (default: STREAMLIT_SERVER_PORT, or 8501)")
    about = "Write a static copy of the leaderboard, systems and analyses: HTML files that need no server."
    export = add_command(verbs, "export", about, "board:export")
    export.add_argument(
        "folder", metavar="DIR", type=Path, help="output folder: new, empty, or an earlier export, which is replaced"
    )
    export.add_argument("--space", action="store_true", help="add the README of a static Space of the Hugging Face hub")
    export.epilog = "Example: hellofresh board export public/ (then open public/index.html, or push it to GitHub Pages)"


QUESTION = "Is water wet? Answer with 'yes' or 'no'."
"""What `models NAME --check` asks."""


def add_models(nouns: Subparsers) -> None:
    """Add `models`."""
    about = "List the models that can be evaluated; or ask one a question and show its answer."
    parser = add_command(nouns, "models", about, "models:run")
    parser.add_argument("name", nargs="?", metavar="M", help="only this model, named as for evaluate")
    about = f"ask it this, and show the answer with its cost (default: {QUESTION})"
    parser.add_argument("--check", nargs="?", const=QUESTION, metavar="TEXT", help=about)
    _add_base_url(parser)


def add_prompts(nouns: Subparsers) -> None:
    """Add `prompts`."""
    about = (
        "List prompts; show those of a task and regime, as templates or filled from a sample; or have models rephrase "
        "the manual instruction, check the results, and write a prompt set."
    )
    parser = add_command(nouns, "prompts", about, "prompts:run")
    parser.add_argument("task", nargs="?", metavar="TASK", help="such as x-notes (default: list all prompts)")
    parser.add_argument("regime", nargs="?", metavar="REGIME", help="such as zero-shot (default: list the task's)")
    parser.add_argument("--prompt-set", type=Path, metavar="FILE", help="your own prompt set (TOML)")
    parser.add_argument("--sample", metavar="ID", help="fill them from this sample (with --edition)")
    edition_option(parser, "the sample's edition, such as 2023Q2")
    group = parser.add_argument_group("new wordings")
    group.add_argument(
        "--rephrase", metavar="MODEL[,MODEL]", help="models that rephrase (regime: zero-shot if left out)"
    )
    group.add_argument("--out", type=Path, metavar="FILE", help="TOML file to write")
    group.add_argument("--each", type=int, default=1, metavar="N", help="rephrasings per model (default: 1)")
    about = "maximum tries per rephrasing (default: 4)"
    group.add_argument("--attempts", type=int, default=4, metavar="N", help=about)
    about = "name of the prompt set (default: rephrased)"
    group.add_argument("--name", default="rephrased", metavar="NAME", help=about)


def add_web(nouns: Subparsers) -> None:
    """Add `web`."""
    about = "Search the web, or print a page's main text, as regimes do, with the settings of [web] in hellofresh.toml."
    parser = add_command(nouns, "web", about, "web:run")
    parser.add_argument("what", metavar="QUERY|URL", help="what to look for, or the page: https://...")
    about = "only results from before this day, such as 2023-04-03"
    parser.add_argument("--before", type=parse_day, metavar="DAY", help=about)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="store results in DIR, as a run does")
    parser.add_argument("--replay", action="store_true", help="use only stored results, without the network")
