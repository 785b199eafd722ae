"""PPO against closed forms: advantages of an episode by hand, the objective's gradient by finite differences."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("trl")
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]  # the libraries' own, of their next versions


def test_advantages_equal_those_of_an_episode_written_out() -> None:
    import torch

    from training.ppo import advantages

    # Three tokens and one that was not said: rewards 0.1, -0.2, 1; values 0.5, 0.4, 0.3; gamma 0.9, lambda 0.8.
    third = 1 - 0.3
    second = -0.2 + 0.9 * 0.3 - 0.4 + 0.9 * 0.8 * third
    first = 0.1 + 0.9 * 0.4 - 0.5 + 0.9 * 0.8 * second
    rewards, values = torch.tensor([[0.1, -0.2, 1.0, 7.0]]).double(), torch.tensor([[0.5, 0.4, 0.3, 9.0]]).double()
    said = torch.tensor([[1, 1, 1, 0]])
    found = advantages(rewards, values, said, discount=0.9, trace=0.8)
    expected = torch.tensor([[first, second, third, 0.0]], dtype=torch.float64)
    assert torch.allclose(found, expected, rtol=0, atol=1e-7)
    exact = np.array([[0.1, -0.2, 1.0, 7.0]]), np.array([[0.5, 0.4, 0.3, 9.0]])
    found = advantages(*map(torch.from_numpy, exact), said, discount=0.9, trace=0.8)
    assert np.abs(found.numpy() - [[first, second, third, 0.0]]).max() < 1e-9


@pytest.mark.parametrize(("discount", "trace"), [(1.0, 1.0), (0.97, 1.0), (1.0, 0.0)])
def test_advantages_are_returns_less_values_or_single_surprises_at_the_limits(discount: float, trace: float) -> None:
    import torch

    from training.ppo import advantages

    random = np.random.default_rng(1)
    rewards, values = random.normal(size=(3, 6)), random.normal(size=(3, 6))
    said = np.arange(6) < np.array([[6], [4], [1]])
    found = advantages(
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
    import torch

    from training.ppo import clipped_loss, value_loss

    random = np.random.default_rng(2)
    new, old, better = (torch.tensor(random.normal(scale=0.3, size=(4, 5))) for _ in range(3))
    said = torch.tensor(np.arange(5) < np.array([[5], [3], [4], [1]])).long()
    for loss in (clipped_loss, value_loss):
        at = new.clone().requires_grad_()
        loss(at, old, better, said, 0.2).backward()
        for place in np.ndindex(4, 5):
            step = torch.zeros_like(new)
            step[place] = 1e-6
            slope = (loss(new + step, old, better, said, 0.2) - loss(new - step, old, better, said, 0.2)) / 2e-6
            assert float(at.grad[place]) == pytest.approx(float(slope), abs=1e-7)


def test_a_chance_that_has_moved_far_enough_is_pushed_no_further() -> None:
    import torch

    from training.ppo import clipped_loss

    old, better = torch.zeros(1, 4), torch.tensor([[1.0, 1.0, -1.0, -1.0]])
    new = torch.tensor([[0.5, -0.5, 0.5, -0.5]], requires_grad=True)
    clipped_loss(new, old, better, torch.ones(1, 4), 0.2).backward()
    assert [bool(slope) for slope in new.grad[0]] == [False, True, True, False]


def test_the_cost_of_divergence_rises_above_the_target_and_falls_below() -> None:
    from training.ppo import adapted

    assert adapted(0.2, 6.0, 100, target=6.0, horizon=1000) == pytest.approx(0.2)
    assert adapted(0.2, 60.0, 100, target=6.0, horizon=1000) == pytest.approx(0.2 * 1.02)
    assert adapted(0.2, 0.0, 100, target=6.0, horizon=1000) == pytest.approx(0.2 * 0.98)
    assert math.isfinite(adapted(0.2, 6.6, 100, target=6.0, horizon=1000))
