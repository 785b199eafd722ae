"""Commands about agents: `agents`, `publishers` and `sweep`."""

from __future__ import annotations

from pathlib import Path

from hellofresh.cli.arguments.shared import (
    Subparsers,
    add_command,
    add_edition,
    add_group,
    add_private,
    add_submissions,
)

__all__ = ["add_agents", "add_publishers"]


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


def add_publishers(nouns: Subparsers) -> None:
    """Add `publishers`."""
    verbs = add_group(nouns, "publishers", "Import ratings of publishers.")
    about = "Import ratings of publishers by domain from a CSV file or JSON lines, in place of those imported before."
    parser = add_command(verbs, "import", about, "agents:import_ratings")
    parser.add_argument("file", type=Path, metavar="FILE", help="columns domain, bias, factuality, quality")
    parser.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="NAME=COLUMN",
        help="what the file calls a column, such as quality=pc1 (repeatable)",
    )
