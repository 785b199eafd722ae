"""Training rerankers: equation 1 number by number, examples, heads and whole encoders."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from hellofresh.core.errors import UnknownNameError
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus
from hellofresh.evidence.retrieval.rerank import DenseScorer, read_head
from hellofresh.evidence.retrieval.sparse import Bm25, SparseRetriever
from tests.fakes import refused
from tests.retrieval.conftest import ACTS, PLACES, SUBJECTS
from tests.retrieval.test_dense import LetterEncoder
from training.data import make_examples, split_for_selection
from training.recipe import Recipe, load_recipe

RECIPE = Recipe(name="quick", epochs=4, batch=4, rate=0.01, warm_up=3, selection=0.3, lexical_rate=0.05, drawn_from=8)


def changed(**changes: object) -> Recipe:
    return RECIPE.model_copy(update=changes)


def test_examples_hold_the_evidence_then_what_is_found_then_what_is_put_last(small: RetrievalCorpus) -> None:
    first, queries = SparseRetriever.open(small, Bm25()), small.queries("train")
    for example in make_examples(small, queries, first, changed(drawn_from=4)):
        scores = first.scores(example.query.text)
        evidence, positives, negatives = example.documents[0], example.documents[1:5], example.documents[5:]
        assert small.qrels()[example.query.id][small.ids[evidence]] == 1
        others = np.delete(scores, evidence)
        assert sorted(scores[list(positives)]) == sorted(np.sort(others)[-4:])
        assert sorted(scores[list(negatives)]) == sorted(np.sort(others)[:4])
        assert example.lexical == pytest.approx(tuple(scores[list(example.documents)] / scores.max()))
    assert make_examples(small, queries, first, RECIPE) == make_examples(small, queries, first, RECIPE)


def test_queries_of_one_group_never_choose_and_train(small: RetrievalCorpus) -> None:
    kept, chosen = split_for_selection(small.queries("train"), 0.4, 1)
    assert not {query.group for query in kept} & {query.group for query in chosen}
    assert len(kept) + len(chosen) == len(small.queries("train"))
    refused("too-few-queries", split_for_selection, small.queries("train")[:1], 0.5, 1)


def test_recipes_are_read_and_faults_in_them_named(tmp_path: Path) -> None:
    assert load_recipe("rarg", Recipe).positives == 4
    assert load_recipe("fused", Recipe).drawn_from == 20
    with pytest.raises(UnknownNameError, match="fused, rarg"):
        load_recipe("smoke", Recipe)  # which has no table for rerankers
    own = tmp_path / "own.toml"
    for text in ("name = 'x'\ntau = 0.7", "name = 'x'\n[reranker]\ntau = 0.7\n[sft]\nrate = 1"):
        own.write_text(text)
        assert load_recipe(str(own), Recipe).tau == 0.7
    for text, code in (
        ("name = 'x'\ntau = -1.0", "bad-recipe"),
        ("name =", "bad-toml"),
        ("name = 'x'\nd = 1", "bad-recipe"),
        ("name = 'x'\n[reranker]\nd = 1", "bad-recipe"),
        ("name = 'x'\n[sft]\nepochs = 1", "other-recipe"),
    ):
        own.write_text(text)
        refused(code, load_recipe, str(own), Recipe)


def scalar_loss(fits: Sequence[float], recipe: Recipe) -> tuple[float, list[float]]:
    """Equation 1 for one claim and its gradient, without arrays."""
    evidence, positives, negatives = fits[0], list(fits[1:5]), list(fits[5:])
    margin = max(positives) - evidence + recipe.tau
    masses = [math.exp(score - max(fits)) for score in (evidence, *negatives)]
    shares = [mass / sum(masses) for mass in masses]
    outer = recipe.weight * (1 if recipe.logarithm else shares[0])
    by_positive = [float(margin > 0 and place == positives.index(max(positives))) for place in range(4)]
    slopes = [-float(margin > 0) - outer * (1 - shares[0]), *by_positive, *(outer * share for share in shares[1:])]
    return max(0.0, margin) - recipe.weight * (math.log(shares[0]) if recipe.logarithm else shares[0]), slopes


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")  # the libraries' own, of their next versions
class TestWithTorch:
    @pytest.fixture
    def head(self, small: RetrievalCorpus) -> Callable[..., tuple[object, DenseScorer]]:
        pytest.importorskip("sentence_transformers")
        from training.rerankers import RerankerTraining

        def made(recipe: Recipe = RECIPE) -> tuple[object, DenseScorer]:
            encoder = LetterEncoder()
            vectors = encoder.queries([item.content for item in small.documents()])
            first = SparseRetriever.open(small, Bm25())
            return RerankerTraining(small, "train", first, recipe), DenseScorer(encoder, vectors, small.rows)

        return made

    @pytest.mark.parametrize("logarithm", [False, True])
    @pytest.mark.parametrize("spread", [1.0, 20.0])
    def test_the_loss_and_its_gradient_equal_those_written_out(self, spread: float, *, logarithm: bool) -> None:
        torch = pytest.importorskip("torch")
        pytest.importorskip("sentence_transformers")
        from training.rerankers import equation_1

        recipe = changed(tau=0.2, weight=0.3, logarithm=logarithm)
        fits = torch.tensor(np.random.default_rng(3).normal(0, spread, (200, 8)), requires_grad=True)
        losses = equation_1(fits, recipe)
        losses.sum().backward()
        for row in range(200):
            loss, slopes = scalar_loss(fits[row].tolist(), recipe)
            assert float(losses[row]) == pytest.approx(loss, abs=1e-14, rel=1e-14)
            assert fits.grad[row].tolist() == pytest.approx(slopes, abs=1e-14)

    def test_a_head_learns_and_the_kept_one_is_at_least_as_good_as_the_untrained(
        self, head: Callable[..., tuple[object, DenseScorer]], tmp_path: Path
    ) -> None:
        from training.rerankers import train_head

        steps: list[int] = []
        found = train_head(*head(), tmp_path / "head", lambda row, of: steps.append(row.step))
        assert found.losses[-1] < found.losses[0]
        assert found.scores[found.epoch] == max(found.scores) >= found.scores[0]
        assert steps == list(range(1, len(steps) + 1))
        trained, record = read_head(tmp_path / "head")
        assert record.training["corpus"] == "small"
        assert (found.epoch == 0) == bool(np.array_equal(trained.query, np.eye(len(trained.query))))

    def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(
        self, head: Callable[..., tuple[object, DenseScorer]], tmp_path: Path
    ) -> None:
        from training.rerankers import train_head

        content = []
        for name, recipe in (("first", RECIPE), ("again", RECIPE), ("other", changed(seed=3))):
            train_head(*head(recipe), tmp_path / name, lambda row, of: None)
            content.append({path.name: path.read_bytes() for path in sorted((tmp_path / name).iterdir())})
        assert content[0] == content[1] != content[2]

    def test_a_killed_training_of_an_encoder_ends_with_the_same_bytes(
        self, small: RetrievalCorpus, tmp_path: Path, tiny_encoder: Callable[[Sequence[str]], str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:  # fmt: skip
        model = tiny_encoder([*SUBJECTS, *PLACES, *ACTS, "do", "come", "to", "the", "of"])
        from training import run
        from training.encoders import train_encoder
        from training.rerankers import RerankerTraining

        monkeypatch.setattr(run, "SAVE_EVERY", 2)
        recipe = Recipe(name="tiny", epochs=2, batch=8, rate=3e-3, warm_up=2, selection=0.3, scale=5.0)
        training = RerankerTraining(small, "train", SparseRetriever.open(small, Bm25()), recipe)
        whole = train_encoder(training, model, "cpu", tmp_path / "whole", lambda row, steps: None)
        assert np.isfinite(whole.losses).all()
        assert whole.scores[whole.epoch] == max(whole.scores)

        def killed(row: object, steps: int) -> None:
            if getattr(row, "step", 0) == 3:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            train_encoder(training, model, "cpu", tmp_path / "cut", killed)
        again = train_encoder(training, model, "cpu", tmp_path / "cut", lambda row, steps: None)
        assert again.scores == whole.scores
        weights = [(tmp_path / name / "model" / "model.safetensors").read_bytes() for name in ("cut", "whole")]
        assert weights[0] == weights[1]
        assert train_encoder(training, model, "cpu", tmp_path / "cut", killed).scores == whole.scores  # finished
