"""Gain of an attacker who submits 1,000 entries and combines them, as in Blum and Hardt's boosting attack.

    python benchmarks/probing.py [--samples 500] [--submissions 1000] [--rounds 200] [--seed 1]

The attack (Blum and Hardt, The Ladder, ICML 2015, section 3): submit random labels, keep those that score above one
half, and submit the majority of these. It needs the scores. Two leaderboards are attacked:

- one that scores every submission at once;
- this project's: no scores before the deadline, and only a team's two latest entries are scored, so the
  attacker can only take majorities over all, and keeps the better of two.

Prints the attacker's mean accuracy on the board beyond one half, in standard errors of an accuracy on this
number of samples. Labels and submissions are random, so any gain is from the board alone.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from hellofresh.submissions.standings import MOST_ENTRIES


@dataclass(frozen=True)
class Gain:
    """The attacker's gain in standard errors: with immediate scores, and by this project's rules."""

    at_once: float
    after_deadline: float
    standard_error: float


def attack(rng: np.random.Generator, samples: int, submissions: int) -> tuple[float, float]:
    """The attacker's accuracy on a board with immediate scores, and on one without."""
    truth = rng.integers(0, 2, samples, dtype=np.int8)
    tried = rng.integers(0, 2, (submissions, samples), dtype=np.int8)
    scores = (tried == truth).mean(axis=1)
    at_once = _accuracy(_majority(tried[scores > 0.5]), truth)
    # Without scores, there is no basis for a choice: each final entry combines a random share of the tried ones.
    blind = [_accuracy(_majority(part), truth) for part in np.array_split(tried, MOST_ENTRIES)]
    return at_once, max(blind)


def _majority(tried: NDArray[np.int8]) -> NDArray[np.int8]:
    found: NDArray[np.int8] = (tried.mean(axis=0) > 0.5).astype(np.int8)
    return found


def _accuracy(labels: NDArray[np.int8], truth: NDArray[np.int8]) -> float:
    return float((labels == truth).mean())


def simulate(samples: int, submissions: int, rounds: int, seed: int) -> Gain:
    """The mean gain over many attacks."""
    rng = np.random.default_rng(seed)
    found = np.array([attack(rng, samples, submissions) for _ in range(rounds)])
    standard_error = 0.5 / samples**0.5
    at_once, after_deadline = (found.mean(axis=0) - 0.5) / standard_error
    return Gain(float(at_once), float(after_deadline), standard_error)


def main() -> int:
    """Simulate and print; exit code 1 if the attack gains more than a standard error."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=500)
    parser.add_argument("--submissions", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    gain = simulate(options.samples, options.submissions, options.rounds, options.seed)
    print(f"{options.submissions:,} submissions on {options.samples} samples, mean of {options.rounds} attacks")
    print(f"one standard error of an accuracy: {gain.standard_error:.4f}")
    for name, value in (("answered at once", gain.at_once), ("nothing before the deadline", gain.after_deadline)):
        print(f"{name:28} {value:+6.2f} standard errors, accuracy {0.5 + value * gain.standard_error:.3f}")
    return int(gain.after_deadline > 1)


if __name__ == "__main__":
    sys.exit(main())
