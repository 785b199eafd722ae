"""PPO against closed forms: advantages of an episode by hand, the objective's gradient by finite differences."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.training.conftest import polite_rewards
from training.recipe import PpoRecipe

torch = pytest.importorskip("torch")
pytest.importorskip("trl")
ppo = pytest.importorskip("training.ppo")
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]  # the libraries' own, of their next versions


def test_advantages_equal_those_of_an_episode_written_out() -> None:
    # Three tokens and one that was not said: rewards 0.1, -0.2, 1; values 0.5, 0.4, 0.3; gamma 0.9, lambda 0.8.
    third = 1 - 0.3
    second = -0.2 + 0.9 * 0.3 - 0.4 + 0.9 * 0.8 * third
    first = 0.1 + 0.9 * 0.4 - 0.5 + 0.9 * 0.8 * second
    rewards, values = torch.tensor([[0.1, -0.2, 1.0, 7.0]]).double(), torch.tensor([[0.5, 0.4, 0.3, 9.0]]).double()
    found = ppo.advantages(rewards, values, torch.tensor([[1, 1, 1, 0]]), discount=0.9, trace=0.8)
    assert np.abs(found.numpy() - [[first, second, third, 0.0]]).max() < 1e-7


@pytest.mark.parametrize(("discount", "trace"), [(1.0, 1.0), (0.97, 1.0), (1.0, 0.0)])
def test_advantages_are_returns_less_values_or_single_surprises_at_the_limits(discount: float, trace: float) -> None:
    random = np.random.default_rng(1)
    rewards, values = random.normal(size=(3, 6)), random.normal(size=(3, 6))
    said = np.arange(6) < np.array([[6], [4], [1]])
    found = ppo.advantages(
        *map(torch.from_numpy, (rewards, values)), torch.tensor(said).long(), discount=discount, trace=trace
    )
    for row in range(3):
        n = int(said[row].sum())
        for place in range(n):
            ahead = range(place, n)
            gained = sum(discount ** (t - place) * rewards[row, t] for t in ahead) - values[row, place]
            later = discount * values[row, place + 1] if place + 1 < n else 0.0
            expected = gained if trace else rewards[row, place] + later - values[row, place]
            assert float(found[row, place]) == pytest.approx(expected, abs=1e-9)
        assert not found[row, n:].any()


def test_gradients_of_the_objectives_are_their_slopes() -> None:
    random = np.random.default_rng(2)
    new, old, better = (torch.tensor(random.normal(scale=0.3, size=(4, 5))) for _ in range(3))
    said = torch.tensor(np.arange(5) < np.array([[5], [3], [4], [1]])).long()
    for loss in (ppo.clipped_loss, ppo.value_loss):
        at = new.clone().requires_grad_()
        loss(at, old, better, said, 0.2).backward()
        for place in np.ndindex(4, 5):
            step = torch.zeros_like(new)
            step[place] = 1e-6
            slope = (loss(new + step, old, better, said, 0.2) - loss(new - step, old, better, said, 0.2)) / 2e-6
            assert float(at.grad[place]) == pytest.approx(float(slope), abs=1e-7)


def test_a_chance_that_has_moved_far_enough_is_pushed_no_further() -> None:
    old, better = torch.zeros(1, 4), torch.tensor([[1.0, 1.0, -1.0, -1.0]])
    new = torch.tensor([[0.5, -0.5, 0.5, -0.5]], requires_grad=True)
    ppo.clipped_loss(new, old, better, torch.ones(1, 4), 0.2).backward()
    assert [bool(slope) for slope in new.grad[0]] == [False, True, True, False]


def test_the_cost_of_divergence_rises_above_the_target_and_falls_below() -> None:
    assert ppo.adapted(0.2, 6.0, 100, target=6.0, horizon=1000) == pytest.approx(0.2)
    assert ppo.adapted(0.2, 60.0, 100, target=6.0, horizon=1000) == pytest.approx(0.2 * 1.02)
    assert ppo.adapted(0.2, 0.0, 100, target=6.0, horizon=1000) == pytest.approx(0.2 * 0.98)
    assert math.isfinite(ppo.adapted(0.2, 6.6, 100, target=6.0, horizon=1000))


def test_a_response_goes_to_its_first_end_whatever_is_drawn_before() -> None:
    end, pad = 1, 2
    answers = torch.tensor([[5, pad, 6, end, pad], [end, pad, pad, pad, pad], [pad, 5, pad, 5, 5], [5, end, 6, end, 6]])
    expected = [[1, 1, 1, 1, 0], [1, 0, 0, 0, 0], [1, 1, 1, 1, 1], [1, 1, 0, 0, 0]]
    assert ppo.said_until_end(answers, end).tolist() == expected
    assert ppo.said_until_end(torch.tensor([[5, 1, 1, 1]]), 1).tolist() == [[1, 1, 0, 0]]  # padded by the end itself


class TestOneStep:
    """A step of four responses in two batches, by a model that would draw in another way by itself."""

    @pytest.fixture
    def trained(self, tiny_model: Path, replies: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        from hellofresh.models.local.folders import StoredModel
        from training import tuning
        from training.data import read_exchanges
        from training.run import Training

        model = AutoModelForCausalLM.from_pretrained(tiny_model)
        model.generation_config.repetition_penalty = 50.0
        model.generation_config.no_repeat_ngram_size = 1
        monkeypatch.setattr(tuning.Tuning, "load", lambda _: model)
        recipe = PpoRecipe(name="one", batch=2, accumulation=2, steps=1, updates=1, response_tokens=40, bits=16)
        made = Training("ppo", recipe, {}, "cpu", tmp_path / "one")
        base = StoredModel("tiny", str(tiny_model), "0")
        under_way = tuning.Tuning(base, made, polite_rewards([], "", 1), AutoTokenizer.from_pretrained(tiny_model))
        trainer, _, _ = tuning._by_rewards(under_way, read_exchanges(replies, responses=False))
        made.train(trainer)
        return trainer

    def test_advantages_are_whitened_over_the_step_and_nothing_of_the_model_bends_the_draws(self, trained: Any) -> None:
        apart = [one.better[one.said.bool()] for one in trained.drawn]
        assert len(apart) == 2
        assert float(torch.cat(apart).mean()) == pytest.approx(0, abs=1e-5)
        assert float(torch.cat(apart).std(correction=0)) == pytest.approx(1, abs=1e-4)
        assert abs(float(apart[0].mean())) > 1e-3
        said = [row[kept.bool()].tolist() for one in trained.drawn
                for row, kept in zip(one.ids[:, one.start :], one.said, strict=True)]  # fmt: skip
        assert any(len(set(tokens)) < len(tokens) for tokens in said if len(tokens) > 20)  # a model may repeat a word
