"""What another package brings stands beside ours, or is refused by its name with what was expected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hellofresh.cli import main
from hellofresh.core import plugins as under_test
from hellofresh.core.errors import UsageError
from hellofresh.core.plugins import Registry
from hellofresh.results.board import schema
from hellofresh.runs.regimes import BaseRegime, Outcome, get_regime
from hellofresh.stats.metrics import ClassCounts, Metric, check_metric
from hellofresh.tasks import _base, get_task
from leaderboard import views
from leaderboard.components import standings
from leaderboard.components.scale import Scale
from leaderboard.components.standings import BoardColumn
from leaderboard.views.visit import Page

Install = Callable[..., None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Makes objects the only ones of a group of entry points, by name."""

    def install(group: str, *brought: tuple[str, Any]) -> None:
        def entry_points(group: str = "", name: str | None = None) -> list[EntryPoint]:
            numbered = enumerate(brought)
            return [
                EntryPoint(one, str(at), made) for at, (one, _) in numbered if group == made and name in (None, one)
            ]

        made = group
        monkeypatch.setattr(under_test, "entry_points", entry_points)
        monkeypatch.setattr(EntryPoint, "load", lambda self: brought[int(self.value)][1])

    return install


ZERO_SHOT = get_regime("zero-shot")


@pytest.mark.parametrize(
    ("brought", "said"),
    [
        ([("mine", type(ZERO_SHOT))], "is of the type type, expected one BaseRegime"),
        ([("mine", "text")], "is of the type str, expected one BaseRegime"),
        ([("mine", ZERO_SHOT), ("mine", ZERO_SHOT)], "brought twice"),
        ([("mine", replace(ZERO_SHOT))], "cannot be called 'zero-shot', expected a name that is not taken"),
    ],
)
def test_what_is_of_another_type_or_of_a_name_that_is_taken_is_refused(install: Install, brought, said: str) -> None:
    install("hellofresh.regimes", *brought)
    with pytest.raises(UsageError, match=said):
        dict(Registry[BaseRegime]("regime", "hellofresh.regimes", [ZERO_SHOT, get_regime("web-search")]))


def test_a_regime_has_its_own_name_whatever_the_entry_point_is_called(install: Install) -> None:
    install("hellofresh.regimes", ("other", replace(ZERO_SHOT, name="mine")))
    known = Registry[BaseRegime]("regime", "hellofresh.regimes", [ZERO_SHOT])
    assert known["mine"].name == "mine" and "other" not in known


@pytest.mark.parametrize("path", ["compare", "../x", "Longest", ""])
def test_a_page_has_a_path_of_its_own_that_names_a_file(install: Install, path: str) -> None:
    install("hellofresh.pages", ("mine", Page("Mine", path, lambda visit: None, "Mine.")))
    with pytest.raises(UsageError, match=r"the page of another package cannot be called"):
        views.all_pages.__wrapped__()


@pytest.mark.parametrize("title", ["Team", "Kind", "F1"])
def test_a_column_has_a_title_of_its_own(install: Install, monkeypatch: pytest.MonkeyPatch, title: str) -> None:
    column = BoardColumn(title, "text", "", lambda line: "", lambda line: {})
    monkeypatch.setattr(standings, "added_columns", lambda: (column,))
    with pytest.raises(UsageError, match=f"the column of another package cannot be called '{title}'"):
        standings.columns_of(Scale("F1"))


@pytest.mark.parametrize("name", ["scores", "../x", "Mine"])
def test_a_table_has_a_name_of_its_own_for_a_file(install: Install, name: str) -> None:
    install("hellofresh.tables", (name, next(iter(schema.added_tables().values()))))
    with pytest.raises(UsageError, match=r"the table of another package cannot be called"):
        schema.added_tables.__wrapped__()


def accuracy(**changed: Any) -> Metric:
    counts = ClassCounts(2)

    def value(sums: Any) -> Any:
        true, _, _ = counts.by_class(sums)
        return true.sum(axis=-1) / counts.size(sums)

    return replace(Metric("right", counts, value), **changed)


METRICS: Mapping[str, tuple[Any, str]] = {
    "a value for one sum alone": ({"value": lambda sums: 0.5}, "shapes"),
    "no value": ({"value": lambda sums: None}, "shapes"),
    "a text": ({"value": lambda sums: "good"}, "shapes"),
    "a value for each column": ({"value": lambda sums: sums}, "shapes"),
    "not a number": ({"value": lambda sums: np.full(len(sums), np.nan)}, "never nan"),
    "beyond its limits": ({"value": lambda sums: np.full(len(sums), 7.0)}, "expected 0 to 1"),
    "an error": ({"value": lambda sums: {}["x"]}, "KeyError: 'x'"),
    "statistics that are a function": ({"statistics": lambda labels, said: np.ones((labels.size, 2))}, "size"),
    "the name of one of ours": ({"name": "f1"}, "cannot be called 'f1'"),
}


@pytest.mark.parametrize("what", METRICS)
def test_a_metric_that_does_not_work_is_refused_before_anything_is_scored(install: Install, what: str) -> None:
    check_metric(accuracy(), 2)
    changed, said = METRICS[what]
    install("hellofresh.metrics", ("mine", lambda classes: [accuracy(**changed)]))
    _base.added_metrics.cache_clear()
    try:
        with pytest.raises(UsageError, match=said):
            replace(get_task("x-notes"))
    finally:
        _base.added_metrics.cache_clear()


@pytest.mark.parametrize("given", [None, Outcome([]), Outcome(["yes"])])
def test_a_regime_that_gives_no_output_for_a_prompt_is_named(make, monkeypatch, capsys, given) -> None:
    async def solve(self: BaseRegime, case: Any) -> Any:
        return given

    make.release(make.notes(2, 2))
    monkeypatch.setenv("HELLOFRESH_DATA", str(make.workspace().root))
    monkeypatch.setattr(type(ZERO_SHOT), "solve", solve)
    words = ["evaluate", "--edition", "2023Q2", "--task", "x-notes", "--model", "scripted"]
    assert main(words) == 1
    assert "one output for each prompt: manual, rephrased-1" in " ".join(capsys.readouterr().err.split())


def test_an_error_in_the_code_of_a_package_is_named_with_its_place(tmp_path: Path, monkeypatch, capsys) -> None:
    (tmp_path / "failing_command.py").write_text(
        "from hellofresh.cli.arguments import Noun\nfrom hellofresh.cli.arguments.declare import command\n"
        "COMMANDS = (command('fail', 'Fail.', 'failing_command:run'),)\n"
        "NOUN = Noun('evaluate', 'fail', 'failing_command')\n"
        "def run(options, output):\n    return {}['x']\n"
    )
    metadata = tmp_path / "failing-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: failing\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[hellofresh.commands]\nfail = failing_command:NOUN\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert main(["fail"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "failing_command.py, line 6: KeyError: 'x'. Repair or remove fail (failing 1.0)" in said
