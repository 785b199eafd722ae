"""Training a head: it learns, the same bytes come from the same seed, and a kill costs nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hellofresh.core.errors import ConfigError, DataError, UnknownNameError
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus
from hellofresh.evidence.retrieval.rerank import DenseScorer
from hellofresh.evidence.retrieval.sparse import Bm25, SparseRetriever
from hellofresh.evidence.retrieval.trained import read_head
from tests.retrieval.test_dense import LetterEncoder
from training import heads
from training.adam import AdamW, rate_at
from training.examples import make_examples, split_for_selection
from training.heads import HeadTraining, TrainingProgress, train_head
from training.recipe import Recipe, load_recipe

RECIPE = Recipe(name="quick", epochs=4, batch=4, rate=0.01, warm_up=3, selection=0.3, lexical_rate=0.05, drawn_from=8)


@pytest.fixture
def training(small: RetrievalCorpus) -> HeadTraining:
    encoder = LetterEncoder()
    vectors = encoder.queries([item.content for item in small.documents()])
    dense = DenseScorer(encoder, vectors, small.rows)
    return HeadTraining(small, "train", SparseRetriever.open(small, Bm25()), dense, RECIPE)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_examples_hold_the_evidence_then_what_is_found_then_what_is_put_last(training: HeadTraining) -> None:
    corpus, first = training.corpus, training.first
    queries = corpus.queries("train")
    for example in make_examples(corpus, queries, first, replace_recipe(drawn_from=4)):
        scores = first.scores(example.query.text)
        evidence, positives, negatives = example.documents[0], example.documents[1:5], example.documents[5:]
        assert corpus.qrels()[example.query.id][corpus.ids[evidence]] == 1
        others = np.delete(scores, evidence)
        assert sorted(scores[list(positives)]) == sorted(np.sort(others)[-4:])
        assert sorted(scores[list(negatives)]) == sorted(np.sort(others)[:4])
        assert example.lexical == pytest.approx(tuple(scores[list(example.documents)] / scores.max()))
    assert make_examples(corpus, queries, first, RECIPE) == make_examples(corpus, queries, first, RECIPE)


def replace_recipe(**changes: object) -> Recipe:
    return RECIPE.model_copy(update=changes)


def test_queries_of_one_group_never_choose_and_train(small: RetrievalCorpus) -> None:
    kept, chosen = split_for_selection(small.queries("train"), 0.4, 1)
    assert not {query.group for query in kept} & {query.group for query in chosen}
    assert len(kept) + len(chosen) == len(small.queries("train"))
    with pytest.raises(DataError) as caught:
        split_for_selection(small.queries("train")[:1], 0.5, 1)
    assert caught.value.code == "too-few-queries"


def test_a_head_learns_and_what_is_kept_is_no_worse_than_the_untrained(training: HeadTraining, tmp_path: Path) -> None:
    found = train_head(training, tmp_path / "head")
    assert found.losses[-1] < found.losses[0]
    assert found.scores[found.epoch] == max(found.scores) >= found.scores[0]
    head, record = read_head(tmp_path / "head")
    assert record.training["corpus"] == "small"
    assert (found.epoch == 0) == bool(np.array_equal(head.query, np.eye(len(head.query))))


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(training: HeadTraining, tmp_path: Path) -> None:
    first, again, other = (tmp_path / name for name in ("first", "again", "other"))
    train_head(training, first)
    train_head(training, again)
    train_head(replace(training, recipe=replace_recipe(seed=3)), other)
    assert content(first) == content(again)
    assert content(first) != content(other)


@pytest.mark.parametrize("last", [1, 7, 12])
def test_a_killed_training_goes_on_to_the_same_bytes(
    training: HeadTraining, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: int
) -> None:
    monkeypatch.setattr(heads, "_EVERY", 5)
    train_head(training, tmp_path / "whole")
    steps: list[int] = []

    def killed(state: TrainingProgress) -> None:
        steps.append(state.step)
        if state.step == last:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_head(training, tmp_path / "cut", killed)
    train_head(training, tmp_path / "cut", lambda state: steps.append(state.step))
    assert content(tmp_path / "cut") == content(tmp_path / "whole")
    assert steps[last] == last - last % 5 + 1  # nothing before the last state is done again


def test_a_state_of_another_training_is_not_gone_on_with(
    training: HeadTraining, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heads, "_EVERY", 2)

    def killed(state: TrainingProgress) -> None:
        if state.step == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_head(training, tmp_path, killed)
    steps: list[int] = []
    train_head(replace(training, recipe=replace_recipe(tau=0.3)), tmp_path, lambda state: steps.append(state.step))
    assert steps[0] == 1


def test_progress_tells_loss_and_time_left(training: HeadTraining, tmp_path: Path) -> None:
    told: list[TrainingProgress] = []
    train_head(training, tmp_path, told.append)
    assert [state.step for state in told] == list(range(1, told[0].steps + 1))
    assert all(np.isfinite(state.loss) and state.seconds_left >= 0 for state in told)
    assert told[-1].seconds_left == 0


def test_the_rate_goes_up_in_a_line_and_down_by_a_cosine() -> None:
    rates = [rate_at(step, 100, rate=2.0, warm_up=10) for step in range(101)]
    assert rates[0] == pytest.approx(0.2)
    assert max(rates) == rates[9] == rates[10] == 2.0
    assert rates[55] == pytest.approx(1.0)
    assert rates[100] == pytest.approx(0.0)


def test_adamw_takes_steps_of_the_rate_whatever_the_size_of_the_gradient() -> None:
    for size in (1e-3, 1.0, 1e3):
        state = AdamW(np.zeros(1), np.zeros(1))
        assert state.step(np.zeros(1), np.array([size]), 1, rate=0.1, decay=0.0)[0] == pytest.approx(-0.1, rel=1e-4)


def test_recipes_are_read_and_faults_in_them_named(tmp_path: Path) -> None:
    assert load_recipe("rarg", Recipe).positives == 4
    assert load_recipe("fused", Recipe).drawn_from == 20
    with pytest.raises(UnknownNameError, match="rarg"):
        load_recipe("rag", Recipe)
    for text, code in (
        ("name = 'x'\ntau = -1.0", "bad-recipe"),
        ("name =", "bad-toml"),
        ("name = 'x'\nd = 1", "bad-recipe"),
    ):
        (tmp_path / "own.toml").write_text(text)
        with pytest.raises(ConfigError) as caught:
            load_recipe(str(tmp_path / "own.toml"), Recipe)
        assert caught.value.code == code
