"""The reranker's loss: equation 1 written out number by number, with its gradient."""

from __future__ import annotations

import math
from importlib.util import find_spec

import numpy as np
import pytest

from hellofresh.evidence.retrieval.trained import Head
from training.heads import head_gradient
from training.loss import reranker_loss
from training.recipe import Recipe


def scalar_loss(
    evidence: float, positives: list[float], negatives: list[float], tau: float, weight: float, *, logarithm: bool
) -> float:
    margin = max(0.0, max(positives) - evidence + tau)
    share = math.exp(evidence) / (math.exp(evidence) + sum(math.exp(score) for score in negatives))
    return margin - weight * (math.log(share) if logarithm else share)


def scalar_gradient(
    evidence: float, positives: list[float], negatives: list[float], tau: float, weight: float, *, logarithm: bool
) -> tuple[float, list[float], list[float]]:
    active = 1.0 if max(positives) - evidence + tau > 0 else 0.0
    total = math.exp(evidence) + sum(math.exp(score) for score in negatives)
    share = math.exp(evidence) / total
    outer = weight if logarithm else weight * share
    hardest = positives.index(max(positives))
    by_positive = [active if place == hardest else 0.0 for place in range(len(positives))]
    return -active - outer * (1 - share), by_positive, [outer * math.exp(score) / total for score in negatives]


@pytest.mark.parametrize("logarithm", [False, True])
@pytest.mark.parametrize("scale", [1.0, 20.0])
def test_loss_and_gradient_equal_the_scalar_ones(scale: float, *, logarithm: bool) -> None:
    random = np.random.default_rng(3)
    evidence = random.normal(0, scale, 200)
    positives, negatives = random.normal(0, scale, (200, 4)), random.normal(0, scale, (200, 3))
    found = reranker_loss(evidence, positives, negatives, tau=0.2, weight=0.3, logarithm=logarithm)
    for n in range(200):
        parts = (float(evidence[n]), positives[n].tolist(), negatives[n].tolist(), 0.2, 0.3)
        assert found.loss[n] == pytest.approx(scalar_loss(*parts, logarithm=logarithm), abs=1e-9)
        by_evidence, by_positives, by_negatives = scalar_gradient(*parts, logarithm=logarithm)
        assert found.evidence[n] == pytest.approx(by_evidence, abs=1e-9)
        assert found.positives[n] == pytest.approx(by_positives, abs=1e-9)
        assert found.negatives[n] == pytest.approx(by_negatives, abs=1e-9)


def test_evidence_far_above_all_has_the_least_loss_and_no_gradient() -> None:
    found = reranker_loss(np.array([50.0]), np.zeros((1, 4)), np.zeros((1, 4)), tau=0.1, weight=0.3)
    assert found.loss[0] == pytest.approx(-0.3)
    assert found.evidence[0] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("logarithm", [False, True])
def test_the_gradient_of_a_head_is_the_slope_of_its_loss(*, logarithm: bool) -> None:
    random = np.random.default_rng(4)
    d, n, m = 5, 6, 9
    recipe = Recipe(name="test", tau=0.3, weight=0.4, logarithm=logarithm, scale=3.0)
    head = Head(random.normal(size=(d, d)), random.normal(size=(d, d)), 0.2)
    queries, documents, lexical = random.normal(size=(n, d)), random.normal(size=(n, m, d)), random.random((n, m))
    _, gradient = head_gradient(head, queries, documents, lexical, recipe)

    def loss(moved: Head) -> float:
        return head_gradient(moved, queries, documents, lexical, recipe)[0]

    step = 1e-6
    parts = {"query": head.query, "document": head.document, "lexical": np.array([head.lexical])}

    def moved(name: str, place: tuple[int, ...], by: float) -> Head:
        changed = {**parts, name: parts[name].copy()}
        changed[name][place] += by
        return Head(changed["query"], changed["document"], float(changed["lexical"][0]))

    places = [("query", (0, 0)), ("query", (2, 3)), ("document", (4, 1)), ("document", (1, 1)), ("lexical", (0,))]
    for name, place in places:
        slope = (loss(moved(name, place, step)) - loss(moved(name, place, -step))) / (2 * step)
        assert gradient[name][place] == pytest.approx(slope, abs=1e-6)


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is an extra")
@pytest.mark.parametrize("logarithm", [False, True])
def test_the_loss_in_torch_equals_it_and_so_does_its_gradient(*, logarithm: bool) -> None:
    import torch

    from training.encoders import torch_loss

    random = np.random.default_rng(5)
    evidence, positives, negatives = random.normal(size=20), random.normal(size=(20, 4)), random.normal(size=(20, 3))
    expected = reranker_loss(evidence, positives, negatives, tau=0.2, weight=0.3, logarithm=logarithm)
    tensors = [torch.tensor(part, requires_grad=True) for part in (evidence, positives, negatives)]
    loss = torch_loss(*tensors, tau=0.2, weight=0.3, logarithm=logarithm)
    loss.sum().backward()
    assert np.allclose(loss.detach().numpy(), expected.loss)
    for tensor, slope in zip(tensors, (expected.evidence, expected.positives, expected.negatives), strict=True):
        assert np.allclose(tensor.grad.numpy(), slope)
