"""The command line starts at once: help loads no more than it needs, and every command finds its handler."""

from __future__ import annotations

import argparse
import inspect
import subprocess
import sys
from collections.abc import Iterator

import pytest

from collectors.labelled import IMPORTERS
from hellofresh.cli import _handler, main
from hellofresh.cli.arguments import all_nouns, command_line, declare, submitting, training
from hellofresh.cli.arguments.parser import CommandParser
from hellofresh.evidence.retrieval.sources import SOURCES
from hellofresh.rewards.base import CRITERIA
from hellofresh.submissions.format import REGIMES
from hellofresh.submissions.inbox import VARIABLE
from hellofresh.tasks.samples import Split
from tests.conftest import Cli

HEAVY = (
    "numpy",
    "polars",
    "pydantic",
    "rich",
    "aiohttp",
    "lxml",
    "sklearn",
    "vl_convert",
    "collectors.jobs",
    "collectors.notes",
    "collectors.wikipedia",
    "hellofresh_parts.claims.jobs",
    "leaderboard",
    "inspect_ai",
)
LOADED = "import sys; print(*sys.modules)"


def loaded(code: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", f"{code}\n{LOADED}"], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def of(modules: set[str], package: str) -> set[str]:
    return {name for name in modules if name == package or name.startswith(package + ".")}


def after(*arguments: str) -> str:
    """Code that runs a command whose end is an exit."""
    return f"from hellofresh.cli import main\ntry: main({list(arguments)!r})\nexcept SystemExit: pass"


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], ["collect", "x-notes", "--help"], ["release", "run", "--help"], ["no-such"]],
)
def test_help_and_wrong_use_load_nothing_of_what_carries_commands_out(arguments: list[str]) -> None:
    modules = loaded(after(*arguments))
    assert [name for name in HEAVY if name in modules] == []
    own = of(modules, "hellofresh") - of(modules, "hellofresh.cli")
    core = {f"hellofresh.core{name}" for name in ("", ".children", ".editions", ".errors", ".plugins", ".quarters")}
    assert own <= core | {"hellofresh", "collectors", "hellofresh.runs", "hellofresh.runs.evaluation"}
    assert len(modules) < 200  # some 50 of them read the entry points of other packages


def test_the_package_alone_loads_nothing() -> None:
    assert of(loaded("import hellofresh"), "hellofresh") == {"hellofresh"}


@pytest.mark.parametrize(
    "module", ["baselines", "catalogue", "providers.chat", "providers.anthropic", "local.embedded"]
)
def test_a_model_loads_nothing_of_releases_nor_of_the_site(module: str) -> None:
    modules = loaded(f"import hellofresh.models.{module}")
    for room in (
        "hellofresh.releases",
        "hellofresh.runs",
        "hellofresh.results",
        "hellofresh.cli",
        "leaderboard",
        "polars",
    ):
        assert not of(modules, room)


def test_a_command_loads_only_its_own_handlers() -> None:
    modules = loaded(after("models"))
    assert "hellofresh.cli.models" in modules
    assert (
        not (of(modules, "collectors") - {"collectors", "collectors.settings"})
        | of(modules, "leaderboard")
        | of(modules, "hellofresh.results.board")
        | of(modules, "polars")
    )


NOT_FOR_ZERO_SHOT = (
    *("aiohttp.web", "inspect_ai", "lxml", "mwparserfromhell", "openai", "polars", "scipy", "sklearn", "torch"),
    *(f"collectors.{name}" for name in ("jobs", "notes", "wikipedia")),
    *("hellofresh.config", "hellofresh.evidence.publishers", "hellofresh.evidence.web.fetch", "hellofresh.judging"),
    *("hellofresh.pipeline.steps", "hellofresh.releases.exposure", "hellofresh.results", "hellofresh.rewards"),
    *("hellofresh.runs.regimes.agents", "hellofresh.runs.regimes.web_search", "hellofresh_parts", "leaderboard"),
)
FIRST_REQUEST = """
import os, sys
from hellofresh.cli import main
from hellofresh.models.providers import HttpModel
async def ask(self, request):
    print("asked", *sys.modules, flush=True)
    os._exit(0)
HttpModel.ask = ask
main(["evaluate", "--model", "openai:m", "--base-url", "http://localhost:1/v1", *{}])
"""


@pytest.mark.parametrize("named", [[], ["--edition", "2023Q2", "--task", "x-notes", "--regime", "zero-shot"]])
def test_a_zero_shot_run_asks_before_it_loads_what_draws_searches_scores_or_shows(make, place, named) -> None:
    make.scored(make.notes(2, 2, months=(4,)), "always-yes")
    modules = loaded(FIRST_REQUEST.format(named))
    assert "asked" in modules
    assert [name for name in NOT_FOR_ZERO_SHOT if of(modules, name)] == []


def commands(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    nouns = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not nouns:
        yield parser
    for noun in nouns:
        for command in noun.choices.values():
            yield from commands(command)


def test_every_command_has_its_handler() -> None:
    found = list(commands(command_line()))
    assert 35 < len(found) <= 75
    for command in found:
        handlers = [command.get_default("run")]
        if isinstance(command, CommandParser) and command.variants is not None:
            handlers = list(command.variants.handlers.values())
        for handler in handlers:
            names = list(inspect.signature(_handler(handler)).parameters)
            assert len(names) == 2 and names[1] == "output", command.prog


def test_help_shows_every_noun_with_those_who_need_it_on_one_screen(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert main([]) == 0
    shown = capsys.readouterr().out
    lines = shown.splitlines()
    assert 24 <= len(lines) <= 30 and max(map(len, lines)) <= 100
    listed = lines[3 : lines.index("", 3)]
    assert [line[20:32].strip() for line in listed] == list(all_nouns())
    groups = [line[:20].strip() for line in listed if not line.startswith(" ")]
    assert groups == ["evaluate", "submit", "judge", "retrieve and train", "maintain"]


def test_only_the_noun_that_was_typed_is_declared() -> None:
    modules = of(loaded(after("board", "--help")), "hellofresh.cli.arguments")
    assert modules == {f"hellofresh.cli.arguments{name}" for name in ("", ".declare", ".evaluating", ".parser")}


def test_every_command_and_argument_is_explained() -> None:
    for command in commands(command_line()):
        assert command.description, command.prog
        for action in command._actions:
            assert action.help, (command.prog, action.dest)
        assert command.format_help()


@pytest.mark.parametrize(
    ("task", "shown", "hidden"),
    [
        (
            "x-notes",
            {"--dump", "--posts-from", "--label-source", "--date"},
            {"--kinds", "--feed", "--api", "--pictures"},
        ),
        ("x-posts", {"--dump", "--pictures"}, {"--kinds", "--feed", "--cluster"}),
        ("wikipedia-edits", {"--dump", "--api", "--kinds", "--cluster"}, {"--posts", "--feed", "--claims"}),
        ("claims", {"--api", "--feed", "--verdicts"}, {"--dump", "--kinds", "--jobs"}),
        ("ratings", {"--dump", "--claims", "--jobs"}, {"--pending", "--api", "--posts"}),
    ],
)
def test_help_of_a_source_shows_its_own_options_only(task: str, shown: set[str], hidden: set[str], cli: Cli) -> None:
    words = {word.strip("[],") for word in cli("collect", task, "--help").split()}
    assert words >= shown | {"--quarter", "--force"}
    assert not words & hidden


def test_names_that_help_repeats_are_those_of_the_rooms_that_own_them() -> None:
    assert tuple(map(str, Split)) == declare.SPLIT
    assert submitting.REGIMES == REGIMES
    assert submitting.INBOX_VARIABLE == VARIABLE
    assert tuple(SOURCES) == training.FORMATS
    assert (set(training.JUDGED), training.CRITERIA) == (set(IMPORTERS), CRITERIA)
