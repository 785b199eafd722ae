"""HelloFresh: a living benchmark that asks language models to predict fresh, real human decisions.

The rooms, from the top; imports point downwards only (import-linter holds it, see pyproject.toml):

0. `hellofresh_parts`, a folder beside this one: what stands apart and registers as a stranger's package does.
1. `cli`: the commands.
2. `pipeline`: what `release run` and `quarter run` do, in order. Only it and `cli` know the collectors and the site.
3. `collectors` (from sources to candidates), `leaderboard` (the site), `training` (rerankers, reward models,
   responders): folders beside this one. They do not import one another.
4. `api`: what `import hellofresh` gives, and tasks for other evaluation harnesses.
5. `results`: a scored split, opened once (`split`); scores and reveals (`scoring`); standings; functions of a split:
   analyses, figures, and the board's tables.
6. `judging`: rubrics, and how people, models and classifiers rate responses.
7. `runs`: evaluating models with journaled, resumable runs; prompts, and regimes (how a system works on a sample).
8. `submissions`: predictions that others submit.
9. `config`: `hellofresh.toml`, composed of the settings of each room.
10. `releases` (frozen splits: drawn, revealed, published), `models` (clients of models), `rewards` (how good a
   response is, in numbers).
11. `evidence`: search and pages, corpora and retrievers, publishers, text in pictures.
12. `tasks`: what is asked about: samples, labels, outputs, transcripts.
13. `core`: errors, files, time, editions, the workspace, the network. `stats`: pure functions on arrays, and metrics.
"""

from __future__ import annotations

from importlib import import_module

__version__ = "0.1.0"
_HOMES = {
    **dict.fromkeys(("Choice", "Ranking", "Response"), "hellofresh.tasks.outputs"),
    **dict.fromkeys(("LoadedEdition", "load"), "hellofresh.api._loading"),
    "save": "hellofresh.api._predictions",
    **dict.fromkeys(("EvaluatedRun", "evaluate"), "hellofresh.api._running"),
    **dict.fromkeys(("ComparisonTable", "ScoreTable", "compare", "score"), "hellofresh.api._scoring"),
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    """Import a public name on first use, so that `import hellofresh` stays fast."""
    if name not in _HOMES:
        raise AttributeError(f"module 'hellofresh' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
