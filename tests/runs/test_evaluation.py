"""An option of a run is declared once: the command line, Python and both files follow from the fields of one type."""

from __future__ import annotations

import argparse
import inspect
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hellofresh as hf
from hellofresh.cli.arguments import command_line
from hellofresh.cli.evaluate import evaluation_of
from hellofresh.core.errors import UnknownNameError
from hellofresh.core.quarters import Quarter
from hellofresh.evidence.web.excluded import ExcludedSources
from hellofresh.runs import evaluation as options
from hellofresh.runs.equipment import web_access
from hellofresh.runs.evaluation import OPTIONS, STORED, Evaluation, Option, Part, given_values
from hellofresh.runs.plan import read_evaluation, stored_form
from hellofresh.tasks import get_task

BASE = Evaluation(Quarter(2026, 2), get_task("x-notes"), "coin")
EVERYTHING = replace(
    BASE, regime="web-search", prompts="manual,rephrased-1", limit=7, prompt_set="/own/set.toml", repeat=3,
    temperature=0.7, hidden_tokens=9, vote=True, split="prospective", roles={"summariser": "half"},
    settings=("pages=3",), blocked=("a.example", "b.example"), allowed=("fact-checkers",), provider="brave",
)  # fmt: skip
WORDS = (
    "--edition 2026Q2 --task x-notes --model coin --regime web-search --prompts manual,rephrased-1 --limit 7 "
    "--prompt-set /own/set.toml --repeat 3 --temperature 0.7 --hidden-tokens 9 --vote --split prospective "
    "--role summariser=half --set pages=3 --block a.example,b.example --allow fact-checkers --provider brave"
)


def parser_of(name: str) -> argparse.ArgumentParser:
    (commands,) = (item for item in command_line()._actions if isinstance(item, argparse._SubParsersAction))
    return commands.choices[name]


def test_every_option_of_the_type_is_one_of_the_command_and_of_python() -> None:
    flags = {action.dest: (action.option_strings, action.help) for action in parser_of("evaluate")._actions}
    for name, option in OPTIONS.items():
        assert flags[name] == ([option.flag_of(name)], option.help)
    parameters = inspect.signature(hf.evaluate).parameters
    for name in OPTIONS.keys() - {"task", "model"}:
        assert parameters[name].default == ({} if name == "roles" else getattr(BASE, name)) or name == "roles"
    assert set(STORED) - {"edition"} <= OPTIONS.keys()


def test_the_command_line_and_python_say_the_same() -> None:
    assert evaluation_of(command_line().parse_args(["evaluate", *WORDS.split()])) == EVERYTHING
    assert evaluation_of(command_line().parse_args(["evaluate", *WORDS.split()[:6]])) == BASE
    given: dict[str, Any] = {
        "model": "coin", "regime": "web-search", "prompts": ["manual", "rephrased-1"], "limit": 7,
        "prompt_set": Path("/own/set.toml"), "repeat": 3, "temperature": 0.7, "hidden_tokens": 9, "vote": True,
        "split": "prospective",
        "roles": {"summariser": "half"}, "settings": {"pages": 3}, "blocked": ["a.example", "b.example"],
        "allowed": ["fact-checkers"], "provider": "brave",
    }  # fmt: skip
    assert read_evaluation(given_values(given) | {"edition": "2026Q2", "task": "x-notes"}) == EVERYTHING


def test_an_option_enters_the_identity_unless_it_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Option("any").part is Part.IDENTITY
    assert (BASE.further, EVERYTHING.further) == ({}, {})  # so that every earlier run keeps its identity
    monkeypatch.setattr(options, "_FURTHER", frozenset({"hidden_tokens", "roles", "prompt_set"}))
    assert BASE.further == {}
    assert EVERYTHING.further == {"hidden_tokens": 9, "roles": {"summariser": "half"}, "prompt_set": "/own/set.toml"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"limit": "7"}, {"limit": 7.5}, {"vote": 1}, {"roles": ["a=b"]}, {"settings": "pages=3"}, {"split": "test"},
        {"task": "no-task"}, {"edition": "2026"}, {"surprise": 1},
    ],
)  # fmt: skip
def test_what_is_of_another_type_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong)).replace("edition", "2026").replace("task", "no-task")):
        read_evaluation(stored_form(EVERYTHING) | wrong)


CLAIMS = get_task("claims")


def parameters(*allowed: str) -> object:
    web = web_access(Evaluation(Quarter(2026, 2), CLAIMS, "coin", "web-search", allowed=allowed, replay=True))
    assert web is not None
    return web.parameters


def test_fact_checkers_are_blocked_unless_they_are_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    usual, open_to_all = (ExcludedSources.load(groups=groups) for groups in (CLAIMS.blocked_sources, ()))
    address = "https://www.politifact.com/factchecks/2026/"
    assert usual.reason(address) and not open_to_all.reason(address)
    assert parameters() != parameters("fact-checkers")
    with pytest.raises(UnknownNameError, match="fact-checkers"):
        parameters("wikimedia")
