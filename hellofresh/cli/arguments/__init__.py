"""What every command can be told: names, options and help texts, without what carries the commands out.

A new command is a call of `add_command` here and a handler in a module of its own, which is imported when the command
runs. Nothing here imports more than the standard library, quarters and errors: help and completion come at once.
"""

from __future__ import annotations

import argparse

from hellofresh import __version__
from hellofresh.cli.arguments import (
    agents,
    datasets,
    models,
    ratings,
    releases,
    results,
    retrieval,
    sources,
    submissions,
    training,
)
from hellofresh.cli.arguments.parser import CommandParser
from hellofresh.cli.arguments.shared import add_completion

__all__ = ["command_line"]


def command_line() -> argparse.ArgumentParser:
    """The whole command line; a parsed command has its handler's name in `run`."""
    parser = CommandParser(
        prog="hellofresh",
        description="A living benchmark: language models predict fresh, real human decisions.",
        epilog="Files live in ./data, or where HELLOFRESH_DATA says. Settings: hellofresh.toml, or HELLOFRESH_CONFIG.",
    )
    parser.add_argument("--version", action="version", version=f"hellofresh {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    parser.set_defaults(lists=parser)
    sources.add_collect(commands)
    sources.add_archive(commands)
    datasets.add_dataset(commands)
    releases.add_release(commands)
    releases.add_quarter_status(commands)
    sources.add_hydrate(commands)
    models.add_evaluate(commands)
    models.add_runs(commands)
    models.add_respond(commands)
    results.add_score(commands)
    results.add_analyse(commands)
    results.add_report(commands)
    agents.add_sweep(commands)
    agents.add_agents(commands)
    agents.add_proxy(commands)
    agents.add_publishers(commands)
    results.add_board(commands)
    submissions.add_submission(commands)
    ratings.add_rate(commands)
    ratings.add_judge(commands)
    retrieval.add_corpus(commands)
    retrieval.add_calibrate(commands)
    training.add_train(commands)
    models.add_models(commands)
    models.add_prompts(commands)
    sources.add_sample(commands)
    models.add_web(commands)
    add_completion(commands)
    return parser
