"""`hellofresh collect wikipedia-edits`: what is chosen on the command line is what is done, and is written down."""

from __future__ import annotations

import argparse

import pytest

from hellofresh.cli.arguments import command_line
from hellofresh.collectors.jobs import edits_rule as rule
from hellofresh.collectors.wikipedia import EditsSettings, Kind


def parsed(*words: str) -> argparse.Namespace:
    return command_line().parse_args(["collect", "wikipedia-edits", "--quarter", "2023Q2", *words])


def test_with_nothing_chosen_the_settings_are_the_defaults() -> None:
    assert rule(parsed()) == EditsSettings()
    assert (parsed().jobs, parsed().cluster) == (None, "")


@pytest.mark.parametrize("name", ["whole_paragraphs", "keep_bots", "keep_restored", "collapse_runs"])
def test_each_switch_turns_on_its_own_setting(name: str) -> None:
    assert rule(parsed(f"--{name.replace('_', '-')}")) == EditsSettings(**{name: True})


def test_kinds_are_the_same_in_any_order_and_number() -> None:
    chosen = rule(parsed("--kinds", "quote", "prose", "quote"))
    assert chosen == rule(parsed("--kinds", "prose", "quote"))
    assert chosen.kinds == (Kind.PROSE, Kind.QUOTE)


def test_a_kind_that_there_is_not_is_refused(capsys) -> None:
    with pytest.raises(SystemExit):
        parsed("--kinds", "poetry")
    assert "poetry" in capsys.readouterr().err
