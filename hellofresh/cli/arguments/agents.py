"""Commands about agents: `agents`, `proxy`, `publishers` and `sweep`."""

from __future__ import annotations

from pathlib import Path

from hellofresh.cli.arguments.models import add_fields
from hellofresh.cli.arguments.shared import (
    Subparsers,
    add_command,
    add_edition,
    add_group,
    add_private,
    add_submissions,
)


def add_agents(nouns: Subparsers) -> None:
    """Add `agents`."""
    verbs = add_group(nouns, "agents", "Show what agents did: sources, searches, queries, certainty.")
    about = "Print tables of an edition's agents: sources, where search helped and hurt, searches, queries, certainty."
    parser = add_command(verbs, "analyse", about, "agents:analyse")
    add_edition(parser)
    parser.add_argument("--task", metavar="T", help="one task (default: all tasks that are released)")
    parser.add_argument("--system", action="append", default=[], metavar="NAME", help="only this system (repeatable)")
    parser.add_argument("--ratings", type=Path, metavar="FILE", help="ratings of publishers, instead of imported ones")
    add_private(parser)
    add_submissions(parser)


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
    parser.add_argument("--base-url", metavar="URL", help="the endpoint of openai:NAME (default: OPENAI_BASE_URL)")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="the port (default: one that is free)")
    parser.epilog = (
        "A client needs the base URL of a sample, http://127.0.0.1:PORT/s/SAMPLE/v1, and the token that is printed, or "
        "set in HELLOFRESH_PROXY_TOKEN, as key. The program ends a sample with POST .../v1/output."
    )


def add_publishers(nouns: Subparsers) -> None:
    """Add `publishers`."""
    verbs = add_group(nouns, "publishers", "Import ratings of publishers.")
    about = (
        "Import ratings of publishers by domain from a CSV file, JSON lines or lists of domains, in place of those "
        "imported before."
    )
    parser = add_command(verbs, "import", about, "agents:import_ratings")
    columns = "columns domain, bias, factuality, quality, category"
    parser.add_argument("file", type=Path, nargs="?", metavar="FILE", help=columns)
    for name in ("high", "medium", "low"):
        parser.add_argument(f"--{name}", type=Path, metavar="FILE", help=f"domains of {name} priority, one a line")
    parser.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="NAME=COLUMN",
        help="what the file calls a column, such as quality=pc1 (repeatable)",
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
    parser.add_argument("--dry-run", action="store_true", help="show what it would take; send and write nothing")
    add_private(parser)
    parser.epilog = "Example: hellofresh sweep --edition 2026Q2 --task x-notes --model scripted --set k=10,5,2"
