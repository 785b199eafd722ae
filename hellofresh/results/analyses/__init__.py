"""Analyses of a quarter: one module a question, each with a table and a figure.

They read what systems said about a release (`Panel`), leave all statistics to `hellofresh.stats`, and ask no model.
`make_analyses` writes them to the workspace. Rendering figures needs the extra `analyse`.
"""

from hellofresh.results.analyses._base import Analysis, AnalysisResult
from hellofresh.results.analyses.registry import ANALYSES, get_analyses
from hellofresh.results.analyses.writing import WrittenAnalysis, make_analyses
from hellofresh.results.build import build_panel, panel_of
from hellofresh.results.panel import NOT_ASKED, Panel

__all__ = [
    "ANALYSES",
    "NOT_ASKED",
    "Analysis",
    "AnalysisResult",
    "Panel",
    "WrittenAnalysis",
    "build_panel",
    "get_analyses",
    "make_analyses",
    "panel_of",
]
