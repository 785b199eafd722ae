"""`hellofresh models`: who can be asked."""

from __future__ import annotations

import argparse

from hellofresh.cli._arguments import Subparsers, add_command
from hellofresh.cli._output import Output
from hellofresh.models.catalogue import CATALOGUE

__all__ = ["register"]


def register(nouns: Subparsers) -> None:
    """Add the commands."""
    verbs = nouns.add_parser("models", help="who can be asked", description="Who can be asked.").add_subparsers(
        title="commands", metavar="COMMAND", required=True
    )
    add_command(verbs, "list", "List the models that can be named.", _list)


def _list(_: argparse.Namespace, output: Output) -> int:
    output.result([{"name": name, "about": entry.about} for name, entry in CATALOGUE.items()])
    output.table("Models", ("name", "about"), [(name, entry.about) for name, entry in CATALOGUE.items()])
    return 0
