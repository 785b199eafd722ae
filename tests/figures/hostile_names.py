"""Figures of synthetic panels in which some systems have names that try to be more than names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from hellofresh.results.analyses import ANALYSES
from hellofresh.results.analyses.base import AnalysisResult, measure
from hellofresh.results.figures.charts import Figure, Mark, marks_of, points_of
from tests.analyses.synthetic import Builder, full_entries

HOSTILE = (
    "<script>window.pwned=1</script>",
    '"><img src="http://beacon.invalid/x.png" onerror="window.pwned=1">',
    "]]></text></svg><!--",
    '{"signal": "width"}',
    '{"expr": "datum.value"}',
    "datum.value + 1",
    "'; alert(1); //",
    "${alert(1)} {{7*7}}",
    "__proto__",
    "constructor",
    'url(#clip0) id="clip1"',
    "&amp; &#60;b&#62;",
    r"$\frac{1}{0}$",
    "a | b | c",
    "\\u003cb\\u003e",
    "\N{BROKEN HEART}" * 40,
    "日本語の名前" * 12,
)


@dataclass(frozen=True, slots=True)
class DrawnFigure:
    """An analysis' figure with its marks, and F1 of all systems by name."""

    question: str
    figure: Figure
    points: pl.DataFrame
    table: pl.DataFrame
    f1: dict[str, float]

    def marks(self, systems: Sequence[str] | None = None) -> list[Mark]:
        """Of these systems, or of those that lead."""
        return marks_of(self.points, self.figure.leading if systems is None else systems)


def figures_of(names: Sequence[str]) -> dict[str, DrawnFigure]:
    """All analyses' figures, of ten systems and of one for each name."""
    build = Builder()
    release = build.release(96)
    theirs = [
        build.entry(release, name, 0.85, regime="other", seed=500 + k, cost=1.0 + k, confident=True,
                    provenance="uploaded", team=f"{name} {k}", prompts=("single",)) for k, name in enumerate(names)
    ]  # fmt: skip
    panel = build.panel([*full_entries(build, release), *theirs], release)
    results: dict[str, AnalysisResult] = {name: analysis.run(panel) for name, analysis in ANALYSES.items()}
    scores = {system.name: measure(panel, system.headline) for system in panel.systems}
    f1 = {name: found.value for name, found in scores.items() if found is not None}
    return {
        name: DrawnFigure(ANALYSES[name].question, found.figure, points_of(found.marks), found.table, f1)
        for name, found in results.items() if found.figure is not None
    }  # fmt: skip
