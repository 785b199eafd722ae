"""Gain of a trained reranker by number of training claims: NDCG@10 on held-out claims, compared with BM25 alone.

    python benchmarks/learning_curve.py --corpus NAME [--test dev] [--recipe fused] [--model minilm]
                                        [--shares 0.125,0.25,0.5,1] [--seeds 5] [--json]

For each seed, groups of claims are shuffled; each share takes the first of them, so that larger parts
hold the smaller ones. Each part trains a reranker as `hellofresh train reranker` does. A line gives the claims, the
mean over seeds of the held-out NDCG@10 minus BM25's, its lowest and highest, and for the middle seed the paired
95% interval by groups of claims. The workspace is that of HELLOFRESH_DATA; there is no limit to pass.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from hellofresh.core.files import sha256_text
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval.comparison import compare_retrievers
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus, open_corpus
from hellofresh.evidence.retrieval.documents import Query
from hellofresh.evidence.retrieval.encoders import MINILM
from hellofresh.evidence.retrieval.retrievers import IndexBuild, dense_scorer, open_retriever
from hellofresh.evidence.retrieval.sparse import Bm25, SparseRetriever
from training.data import Example
from training.libraries import need_libraries
from training.recipe import Recipe, changed_recipe, load_recipe

METRIC = "ndcg@10"


@dataclass(frozen=True, slots=True)
class Measured:
    """One training: number of claims, and the held-out difference from BM25 with the limits of its 95% interval."""

    claims: int
    difference: float
    low: float
    high: float


def measure(corpus: RetrievalCorpus, test: str, model: str, recipe: Recipe, share: float) -> Measured:
    """Train on a share of the claims and compare on held-out ones."""
    from training.encoders import train_encoder
    from training.rerankers import RerankerTraining, train_head

    class Part(RerankerTraining):
        """A training on the first groups of its claims."""

        def parts(self) -> tuple[list[Example], list[Query]]:
            examples, chosen = super().parts()
            groups = sorted(
                {one.query.group for one in examples}, key=lambda name: sha256_text(f"{recipe.seed}:{name}")
            )
            kept = set(groups[: max(1, round(share * len(groups)))])
            return [one for one in examples if one.query.group in kept], chosen

    training = Part(corpus, "train", SparseRetriever.open(corpus, Bm25()), recipe)
    claims = len({one.query.id for one in training.parts()[0]})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "trained"
        if model == MINILM:
            train_head(training, dense_scorer(MINILM, corpus, IndexBuild()), folder, lambda row, steps: None)
            second = f"trained:{folder}"
        else:
            train_encoder(training, model, "cpu", folder, lambda row, steps: None)
            second = str(folder / "model")
        both = [open_retriever(one, corpus) for one in ("bm25", f"bm25+{second}")]
        step = compare_retrievers(corpus, test, both).steps[METRIC][0]
    return Measured(claims, step.difference, step.interval.low, step.interval.high)


def main() -> None:
    """Measure every share with every seed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--test", default="dev")
    parser.add_argument("--recipe", default="fused")
    parser.add_argument("--model", default=MINILM)
    parser.add_argument("--shares", default="0.125,0.25,0.5,1")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    need_libraries("the learning curve", encoders=True)
    corpus, rows = open_corpus(Workspace.from_environment(), options.corpus), []
    for share in map(float, options.shares.split(",")):
        recipes = [
            changed_recipe(load_recipe(options.recipe, Recipe), [f"seed={seed + 1}"]) for seed in range(options.seeds)
        ]
        found = [measure(corpus, options.test, options.model, recipe, share) for recipe in recipes]
        gains = sorted(found, key=lambda one: one.difference)
        middle = gains[len(gains) // 2]
        mean = sum(one.difference for one in gains) / len(gains)
        claims = sum(one.claims for one in gains) / len(gains)
        row = {"share": share, "claims": claims, "mean": mean, "lowest": gains[0].difference,
               "highest": gains[-1].difference, "low": middle.low, "high": middle.high}  # fmt: skip
        rows.append(row)
        if not options.json:
            print(
                f"{claims:6.0f} claims: {mean:+.3f} ({gains[0].difference:+.3f} to {gains[-1].difference:+.3f}), "
                f"the middle seed's 95% interval [{middle.low:+.3f}, {middle.high:+.3f}]",
                flush=True,
            )
    if options.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
