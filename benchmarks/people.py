"""Coverage of the 95% interval of one person: 60 samples, 5 to 40 people, F1 and macro F1.

Invented people with different skills and biases predict samples of different difficulty, some of which share a group;
samples are dealt as `rate assign` deals them. The truth is the metric of very many people on very many samples. The
target is 93% to 97% in every world. Worlds differ in the spread of people and samples, and in people's accuracy.

    python benchmarks/people.py [REPEATS]
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hellofresh.judging.predicting import deal_to_people
from hellofresh.stats.metrics import Metric
from hellofresh.stats.multiway import clustered_metric
from hellofresh.tasks import get_task

SAMPLES, PEOPLE, REPEATS = 60, (5, 8, 15, 40), 2_000
TASKS = ("x-notes", "claims")


@dataclass(frozen=True, slots=True)
class World:
    """Standard deviations of people's skill and of samples' difficulty, and the mean accuracy, on the logit."""

    skill: float
    difficulty: float
    mean: float


WORLDS = {
    "usual": World(0.5, 1.0, 1.0),
    "samples differ": World(0.15, 1.5, 1.0),
    "people differ": World(1.0, 0.5, 1.0),
    "people are good": World(0.5, 1.0, 2.0),
}


def answered(
    world: World, classes: int, dealt: list[list[int]], random: np.random.Generator
) -> tuple[NDArray[np.int64], ...]:
    """Label, answer, weight of each answer, and its group and person."""
    n, people = SAMPLES, len(dealt)
    group = np.concatenate([np.arange(n - 9), np.arange(9)])  # nine groups of two
    labels = random.integers(0, classes, n)
    hard = world.difficulty * (random.normal(size=n)[group] + random.normal(size=n)) / np.sqrt(2)
    skill, leaning = random.normal(0, world.skill, people), random.normal(0, 0.3, people)
    person = np.repeat(np.arange(people), [len(own) for own in dealt])
    at = np.concatenate([np.array(own) for own in dealt])
    logit = world.mean + hard[at] + skill[person] + np.where(labels[at] == 0, leaning[person], -leaning[person])
    right = random.random(at.size) < 1 / (1 + np.exp(-logit))
    said = np.where(right, labels[at], (labels[at] + random.integers(1, classes, at.size)) % classes)
    return labels[at], said, at, group[at], person


def statistics(
    metric: Metric, labels: NDArray[np.int64], said: NDArray[np.int64], at: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The sums of each answer; each sample has weight 1."""
    return metric.statistics(labels, said) / np.bincount(at)[at][:, None]


def main() -> None:
    """Print the interval's coverage, by task, world and number of people."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else REPEATS
    for name in TASKS:
        metric, classes = get_task(name).headline, len(get_task(name).classes)
        for title, world in WORLDS.items():
            random, total = np.random.default_rng(0), 0
            for _ in range(300):
                labels, said, at, _, _ = answered(world, classes, [list(range(SAMPLES))] * 300, random)
                total = total + statistics(metric, labels, said, at).sum(axis=0)
            truth, held = float(metric.value(np.asarray(total))), []
            for people in PEOPLE:
                names = [f"{number:02d}" for number in range(SAMPLES)]
                dealt = [[int(one) for one in own] for own in deal_to_people(names, people, seed="benchmark")]
                hits = 0
                for _ in range(repeats):
                    labels, said, at, group, person = answered(world, classes, dealt, random)
                    _, low, high = clustered_metric(statistics(metric, labels, said, at), metric, group, person)
                    hits += low <= truth <= high
                held.append(f"{people} people {hits / repeats:6.1%}")
            print(f"{name:8} {title:16} {metric.name} {truth:.3f}   {'   '.join(held)}", flush=True)


if __name__ == "__main__":
    main()
