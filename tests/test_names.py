"""Nothing but tasks, metrics, regimes and prompts knows that there are two classes, and what they are called."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAMES = frozenset({"f1", "yes", "no", "Edit", "Note"})
ROOMS = (
    "hellofresh/tasks/",
    "hellofresh/runs/regimes/",
    "hellofresh/runs/prompts/",
    "hellofresh/stats/metrics.py",
    "hellofresh/stats/",
)
ALLOWED = {
    "hellofresh/models/baselines.py": {"yes", "no"},  # the words that prompts of two classes ask for
    "hellofresh/models/local/embedded.py": {"yes", "no"},
    "hellofresh/models/providers/__init__.py": {"yes", "no"},
    "hellofresh/cli/models.py": {"yes", "no"},
    "hellofresh/results/score_columns.py": {"yes", "no"},  # cells and names of columns in tables of strangers
    "hellofresh/results/score_files.py": {"f1"},
    "hellofresh/submissions/format.py": {"yes", "no"},  # words for labels in tables of strangers
    "hellofresh/results/analyses/base.py": {"yes", "no"},  # truth values and options in words, from here on
    "leaderboard/components/labels.py": {"yes", "no"},  # facts that are true or false
    "leaderboard/views/responses.py": {"yes"},
    "hellofresh/cli/_output.py": {"yes", "no"},
    "hellofresh/cli/dataset.py": {"yes", "no"},
    "hellofresh/cli/runs.py": {"yes", "no"},
    "hellofresh/cli/rate_report.py": {"yes"},
}
"""The only other places, by file."""


def named(tree: ast.AST) -> Iterator[str]:
    """Every name, argument, attribute, imported name and whole string."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name
            case ast.keyword(arg=str(name)) | ast.Constant(value=str(name)):
                yield name
            case ast.alias(name=name):
                yield name.rpartition(".")[2]


def test_only_tasks_metrics_regimes_and_prompts_name_the_two_classes() -> None:
    found: dict[str, set[str]] = {}
    for room in ("hellofresh", "leaderboard"):
        for path in sorted((ROOT / room).rglob("*.py")):
            place = path.relative_to(ROOT).as_posix()
            if not place.startswith(ROOMS):
                found[place] = NAMES & set(named(ast.parse(path.read_text(encoding="utf-8"))))
    assert {place: names for place, names in found.items() if names - ALLOWED.get(place, set())} == {}
    assert {place for place in ALLOWED if found[place] != ALLOWED[place]} == set(), "shorten the list"
