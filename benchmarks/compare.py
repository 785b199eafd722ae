"""How often `hellofresh compare` is right where the truth is known, and what it costs.

    python benchmarks/compare.py [--repeats 1000] [--systems 5] [--items 200] [--large]

Scores are 0/1, whole numbers from 0 to 10, or heavy-tailed (a t of 3 degrees of freedom); items differ in difficulty.
Cells are missing at random, or there are three repetitions. Familywise error is the share of tables of equal systems in
which any pair is found apart (5%); coverage that of tables of systems that differ in which the intervals of all pairs
hold the truth (95%). `--large` compares 100 systems on 100,000 items.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
from numpy.typing import NDArray

from hellofresh.results.comparison import compare_scores
from hellofresh.results.score_files import ItemScores

KINDS = ("0/1", "0-10", "heavy tails")


def draw(kind: str, shift: NDArray[np.float64], items: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Scores, shape (systems, items); `shift` is by how much the systems' means differ."""
    shape = (shift.size, items)
    item = random.normal(0, 1, items)
    if kind == "0/1":
        return (random.random(shape) < np.clip(0.5 + 0.2 * np.tanh(item) + shift[:, None], 0, 1)).astype(np.float64)
    if kind == "0-10":  # rounding is unbiased, so that the truth is the shift
        exact = 5 + np.clip(item, -2, 2) + random.uniform(-1.5, 1.5, shape) + 2 * shift[:, None]
        return np.floor(exact + random.random(shape))
    return item + random.standard_t(3, shape) + 2 * shift[:, None]


def measure(kind: str, missing: float, repeats: int, options: argparse.Namespace) -> tuple[float, float]:
    """Familywise error, and coverage of all intervals of pairs together."""
    random, found = np.random.default_rng([7, KINDS.index(kind), int(100 * missing), repeats]), [0, 0]
    names = [f"s{k}" for k in range(options.systems)]
    scale = 1 if kind == "0/1" else 2
    for graded in (False, True):
        shift = np.linspace(0, 0.1, options.systems) if graded else np.zeros(options.systems)
        for _ in range(options.repeats):
            drawn = [draw(kind, shift, options.items, random) for _ in range(repeats)]
            values = np.mean(drawn, axis=0)
            if repeats > 1 and kind != "heavy tails":  # repetitions share the item
                values = (drawn[0] + values) / 2
            values[random.random(values.shape) < missing] = np.nan
            limits = {"0/1": (0.0, 1.0), "0-10": (0.0, 10.0)}.get(kind, (np.nanmin(values), np.nanmax(values)))
            items = [str(k) for k in range(options.items)]
            pairs = compare_scores(ItemScores(names, items, values, None, limits, "")).pairs
            if graded:
                true = [scale * (shift[int(a[1:])] - shift[int(b[1:])]) for a, b in pairs["one", "two"].rows()]
                found[1] += bool(((pairs["low"].to_numpy() <= true) & (true <= pairs["high"].to_numpy())).all())
            else:
                found[0] += bool((pairs["adjusted"] < 0.05).any())
    return found[0] / options.repeats, found[1] / options.repeats


def large() -> None:
    """The cost of a large table."""
    values = np.random.default_rng(0).random((100, 100_000)).round()
    names, items = [f"s{k}" for k in range(100)], [str(k) for k in range(100_000)]
    start = time.perf_counter()
    compare_scores(ItemScores(names, items, values, None, (0.0, 1.0), ""))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"100 systems x 100,000 items: {time.perf_counter() - start:.1f} s, {peak:.2f} GiB")


def main() -> None:
    """Run what was asked for and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--systems", type=int, default=5)
    parser.add_argument("--items", type=int, default=200)
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    if options.large:
        large()
        return
    for kind in KINDS:
        for missing, repeats in ((0.0, 1), (0.1, 1), (0.4, 1), (0.1, 3)):
            error, coverage = measure(kind, missing, repeats, options)
            print(f"{kind:12} {missing:4.0%} missing, {repeats} repeats: familywise error {error:6.1%}, "
                  f"coverage of all pairs {coverage:6.1%}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
