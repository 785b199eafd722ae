"""HelloFresh: a living benchmark that asks language models to predict fresh, real human decisions.

The layers, from the top; imports point downwards only (import-linter holds it, see pyproject.toml):

1. `cli`: the commands. Only they know the collectors and the site. `api`: what `import hellofresh` gives.
2. `harnesses`: tasks for other evaluation harnesses.
3. `board`, `analyses`: tables for the site; one question about a split each.
4. `results`: entries, panel, scores, standings.
5. `ratings`: rubrics, and what people, models and classifiers say of responses.
6. `runs`: asking models, and losing nothing.
7. `regimes`, `submissions`, `training`: how a system works on a sample; predictions that others made; what is trained.
8. `releases`, `prompts`: frozen splits; wordings.
9. `candidates`, `models`, `rewards`, `web`: what collectors hand over; what answers a request; how good a response
   is, in numbers; search and pages.
10. `config`, `erasure`, `publishers` (ratings of sources), `stages`, `retrieval` (corpora, rankings of documents),
   `vision` (text in pictures).
11. `tasks`: what is asked about.
12. `samples`, `outputs` (what a system hands back), `images`, `workspace`, `calendar`, `parquet`, `figures`,
    `transcripts`.
13. `editions`: quarters and frozen data sets.
14. `clock`, `files`, `net`, `quarters`, `executors`.
15. `stats`: pure functions on arrays.
16. `metrics`, `errors`: functions of sums over samples; errors that say what to do.
"""

from __future__ import annotations

from importlib import import_module

__all__ = [
    "Choice",
    "ComparisonTable",
    "EvaluatedRun",
    "LoadedEdition",
    "Ranking",
    "Response",
    "ScoreTable",
    "__version__",
    "compare",
    "evaluate",
    "load",
    "save",
    "score",
]

__version__ = "0.1.0"
_OUTPUTS = {"Choice", "Ranking", "Response"}
_HOMES = {
    name: "hellofresh.tasks.outputs" if name in _OUTPUTS else "hellofresh.api" for name in __all__ if name[0] != "_"
}


def __getattr__(name: str) -> object:
    """Names of the public interface are imported when they are used: `import hellofresh` loads next to nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'hellofresh' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
