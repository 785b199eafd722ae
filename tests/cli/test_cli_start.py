"""The command line starts at once: help loads no more than it needs, and every command finds its handler."""

from __future__ import annotations

import argparse
import inspect
import subprocess
import sys
from collections.abc import Iterator

import pytest

from collectors.notes import SERVICES, LabelSource
from collectors.wikipedia import EditsSettings, Kind
from hellofresh.cli import _handler
from hellofresh.cli.arguments import command_line, sources, submissions
from hellofresh.submissions import SPLITS
from hellofresh.submissions.inbox.arrivals import VARIABLE
from hellofresh.submissions.intake.system import REGIMES

HEAVY = (
    "numpy",
    "polars",
    "pydantic",
    "rich",
    "aiohttp",
    "lxml",
    "sklearn",
    "vl_convert",
    "collectors",
    "leaderboard",
    "inspect_ai",
)
LOADED = "import sys; print(*sys.modules)"


def loaded(code: str) -> set[str]:
    """The modules that a process has loaded after some code."""
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
    assert own == {f"hellofresh{name}" for name in ("", ".core", ".core.editions", ".core.errors", ".core.quarters")}
    assert len(modules) < 150


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
    modules = loaded(after("models", "list"))
    assert "hellofresh.cli.models" in modules
    assert (
        not of(modules, "collectors")
        | of(modules, "leaderboard")
        | of(modules, "hellofresh.results.board")
        | of(modules, "polars")
    )


def commands(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Every command below a parser."""
    nouns = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not nouns:
        yield parser
    for noun in nouns:
        for command in noun.choices.values():
            yield from commands(command)


def test_every_command_has_its_handler() -> None:
    found = list(commands(command_line()))
    assert len(found) > 35
    for command in found:
        names = list(inspect.signature(_handler(command.get_default("run"))).parameters)
        assert len(names) == 2 and names[1] == "output", command.prog


def test_every_command_and_argument_is_explained() -> None:
    for command in commands(command_line()):
        assert command.description, command.prog
        for action in command._actions:
            named = action.help or action.dest in {"team", "system"}
            assert named, (command.prog, action.dest)
        assert command.format_help()


def test_names_that_help_repeats_are_those_of_the_rooms_that_own_them() -> None:
    assert tuple(str(item) for item in LabelSource) == sources.LABEL_SOURCES
    assert tuple(str(kind) for kind in Kind) == sources.KINDS
    assert tuple(str(kind) for kind in EditsSettings().kinds) == sources.DEFAULT_KINDS
    assert tuple(SERVICES) == sources.SERVICES
    assert tuple(split.name for split in SPLITS) == submissions.SPLITS
    assert submissions.REGIMES == REGIMES
    assert submissions.INBOX_VARIABLE == VARIABLE
