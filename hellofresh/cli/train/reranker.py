"""`hellofresh train reranker`: one training, or one for each value of lambda and tau."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hellofresh.cli._output import CommandOutput
from hellofresh.core.errors import UsageError
from hellofresh.core.files import write_bytes, write_json
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval.base import Retriever
from hellofresh.evidence.retrieval.comparison import RetrieverComparison, compare_retrievers
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus, open_corpus
from hellofresh.evidence.retrieval.encoders import HUB, MINILM
from hellofresh.evidence.retrieval.retrievers import Opening, dense_scorer, open_retriever
from hellofresh.evidence.retrieval.sparse import Bm25, SparseRetriever
from hellofresh.results.figures.charts import Axis, Chart, Figure, Mark, Series
from hellofresh.results.figures.image import need_converter, render
from hellofresh.training.libraries import chosen_device, need_libraries
from hellofresh.training.log import LogRow
from hellofresh.training.recipe import Recipe, changed_recipes, load_recipe

if TYPE_CHECKING:
    from hellofresh.training.rerankers import TrainedReranker


_METRIC = "ndcg@10"


@dataclass(frozen=True, slots=True)
class _Trained:
    """One training of several, and how it does on held-out queries, where they are asked for."""

    recipe: Recipe
    found: TrainedReranker
    tested: RetrieverComparison | None

    @property
    def row(self) -> tuple[object, ...]:
        """As a line of a table."""
        chosen = (self.recipe.weight, self.recipe.tau, self.found.epoch, self.found.scores[0], max(self.found.scores))
        if self.tested is None:
            return chosen
        before, after = self.tested.retrievers
        step = self.tested.steps[_METRIC][0]
        limits = f"[{step.interval.low:.3f}, {step.interval.high:.3f}]"
        return (*chosen, before.mean(_METRIC), after.mean(_METRIC), step.difference, limits)


def run(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace = Workspace.from_environment()
    if len(options.corpus) != 1:
        raise UsageError("several --corpus", expected="one with 'train reranker'", code="many-corpora")
    corpus = open_corpus(workspace, options.corpus[0])
    for split in filter(None, (options.split, options.test)):
        corpus.queries(split)
    if options.test == options.split:
        raise UsageError("the queries to learn from are no test", where=options.split, code="same-split")
    recipes = changed_recipes(load_recipe(options.recipe, Recipe), options.set)
    trained = []
    with output.progress(f"train on {corpus.name}") as bar:
        for recipe in recipes:
            chosen = f"{recipe.name}-l{recipe.weight:g}-t{recipe.tau:g}-s{recipe.seed}"
            folder = workspace.root / "training" / f"{corpus.name}-{_model_name(options.model)}-{chosen}"
            found = _train(options, corpus, recipe, folder, bar.line)
            tested = _tested(options, corpus, found) if options.test else None
            trained.append(_Trained(recipe, found, tested))
    _print(trained, corpus, output)
    if len(trained) > 1:
        _draw(trained, workspace.root / "training" / f"{corpus.name}-{_model_name(options.model)}-sweep", output)
    return 0


def _model_name(model: str) -> str:
    return Path(model).name.lower()


def _train(
    options: argparse.Namespace,
    corpus: RetrievalCorpus,
    recipe: Recipe,
    folder: Path,
    line: Callable[[str], None],
) -> TrainedReranker:
    need_libraries("train reranker", online=options.model.startswith(HUB), encoders=True)
    from hellofresh.training.encoders import train_encoder
    from hellofresh.training.rerankers import RerankerTraining, train_head

    def on_row(row: LogRow, steps: int) -> None:
        known = ", ".join(f"{name} {value:.4f}" for name, value in (("loss", row.loss), ("NDCG@10", row.ndcg)) if value)
        line(f"lambda {recipe.weight:g}, tau {recipe.tau:g}: step {row.step:,} of {steps:,}, {known}")

    training = RerankerTraining(corpus, options.split, SparseRetriever.open(corpus, Bm25(), progress=line), recipe)
    if options.model != MINILM:
        return train_encoder(training, options.model, chosen_device("auto"), folder, on_row)
    return train_head(training, dense_scorer(MINILM, corpus, Opening(progress=line)), folder, on_row)


def _tested(options: argparse.Namespace, corpus: RetrievalCorpus, found: TrainedReranker) -> RetrieverComparison:
    """Two stages without and with what was trained, on held-out queries."""
    second = f"trained:{found.folder}" if options.model == MINILM else str(found.folder)
    names: Sequence[str] = (f"bm25+{options.model}", f"bm25+{second}")
    retrievers: list[Retriever] = [open_retriever(name, corpus) for name in names]
    return compare_retrievers(corpus, options.test, retrievers)


def _print(trained: Sequence[_Trained], corpus: RetrievalCorpus, output: CommandOutput) -> None:
    columns: tuple[str, ...] = ("lambda", "tau", "epoch", "selection untrained", "selection trained")
    if trained[0].tested is not None:
        columns += ("test untrained", "test trained", "difference", "95% interval")
    output.table(f"{corpus.name}: {_METRIC} after two stages", columns, [one.row for one in trained])
    for one in trained:
        output.text(f"lambda {one.recipe.weight:g}, tau {one.recipe.tau:g}: {one.found.folder}")
    output.result(
        [
            {
                **dict(zip(columns, one.row, strict=True)),
                "folder": str(one.found.folder),
                "losses": list(one.found.losses),
                "scores": list(one.found.scores),
            }
            for one in trained
        ]
    )


def _draw(trained: Sequence[_Trained], folder: Path, output: CommandOutput) -> None:
    """The metric over lambda, a curve for each tau: figure 4 of the paper."""
    rows = [
        {"lambda": one.recipe.weight, "tau": one.recipe.tau, "selection": max(one.found.scores), **_test_row(one)}
        for one in trained
    ]
    write_json(folder / "sweep.json", {"metric": _METRIC, "rows": rows})
    places = tuple(dict.fromkeys(f"{one.recipe.weight:g}" for one in trained))
    marks = [_mark(one) for one in trained]
    chart = Chart("curves", Axis("lambda"), Axis.share("NDCG@10", marks), series=Series("tau"), places=places)
    try:
        need_converter()
    except UsageError as error:
        output.say(f"note: no figure is drawn, since {error}")
        return
    who = tuple(dict.fromkeys(mark.who for mark in marks))
    image = render(Figure((chart,), who), marks, "What is lambda worth?", png=False)
    write_bytes(folder / "sweep.svg", image.svg)
    output.text(f"figure: {folder / 'sweep.svg'}")


def _test_row(one: _Trained) -> dict[str, float]:
    if one.tested is None:
        return {}
    interval = one.tested.retrievers[1].intervals[_METRIC]
    return {"test": one.tested.retrievers[1].mean(_METRIC), "low": interval.low, "high": interval.high}


def _mark(one: _Trained) -> Mark:
    row = _test_row(one)
    tau = f"{one.recipe.tau:g}"
    value = row.get("test", max(one.found.scores))
    limits = (row["low"], row["high"]) if row else (float("nan"), float("nan"))
    return Mark(f"tau {tau}", tau, value, *limits, at=f"{one.recipe.weight:g}", row=f"tau {tau}")
