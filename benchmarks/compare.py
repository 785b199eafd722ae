"""Error rates of `hellofresh compare` with a known truth, and its costs.

    python benchmarks/compare.py [--repeats 4000] [--systems 5] [--items 200] [--large]
                                 [--only KIND] [--human]

Scores are 0/1, whole numbers from 0 to 10, or heavy-tailed (t with 3 degrees of freedom); items differ in difficulty.
Scores are missing at random, each of three repetitions independently; or each item has two neighbouring systems only
(`neighbours share 8 items`). Familywise error is the share of tables of equal
systems in which any pair is found to differ (5%); coverage is the share of tables of different systems in which the
intervals of all pairs contain the truth (95%). `--large` compares 100 systems on 100,000 items. `--human`: the same of
a judge's scores corrected by labels of a part of the items, where the judge errs more in favour of some systems.
"""

from __future__ import annotations

import argparse
import resource
import time
from functools import cache
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from hellofresh.results import comparison
from hellofresh.results.comparison import compare_scores
from hellofresh.results.score_files import ItemScores
from hellofresh.stats import ranking
from hellofresh.stats.metrics import mean

KINDS = ("0/1", "0-10", "heavy tails")
SHARED = 8
"""Items that two neighbours share."""


def draw(
    kind: str, shift: NDArray[np.float64], items: int, repeats: int, random: np.random.Generator
) -> NDArray[np.float64]:
    """Scores, shape (repeats, systems, items); `shift` is the difference of the systems' means."""
    shape = (repeats, shift.size, items)
    item, own = random.normal(0, 1, items), random.normal(0, 0.5, shape[1:])  # effects shared by repetitions
    if kind == "0/1":
        return (random.random(shape) < 0.5 + 0.2 * np.tanh(item) + 0.1 * np.tanh(own) + shift[:, None]).astype(float)
    if kind == "0-10":  # rounding is unbiased, so that the true difference is the shift
        exact = 5 + np.clip(item, -2, 2) + np.clip(own, -1, 1) + random.uniform(-1.5, 1.5, shape) + 2 * shift[:, None]
        return np.floor(exact + random.random(shape))
    return item + own + random.standard_t(3, shape) + 2 * shift[:, None]


@cache
def weights(clusters: int) -> NDArray[np.float64]:
    """The weights of every comparison (its seed is constant): drawn once, they cost a tenth."""
    return np.random.default_rng(0).standard_normal((ranking._DRAWS, clusters)).T


def compared(values: NDArray[np.float64], limits: tuple[float, float]) -> ranking.Differences:
    """The differences of a table as in `compare_scores`, without its other results."""
    systems, items = [f"s{k}" for k in range(len(values))], [str(k) for k in range(values.shape[1])]
    metric, scores = mean("mean", limits), ItemScores(systems, items, values, None, limits, "")
    scores = comparison._kept(scores, np.isfinite(values).sum(axis=0) > 1)
    if np.isfinite(values).all():
        return ranking.all_differences(comparison._tables(scores, metric), metric)
    return comparison._fitted(scores, metric, None).found


def removed(missing: float, shape: tuple[int, ...], random: np.random.Generator) -> NDArray[np.bool_]:
    """Which cells are missing: such a share at random; with -1, all but those of two neighbours on each item."""
    if missing >= 0:
        return random.random(shape) < missing
    first = np.arange(shape[-1]) * (shape[-2] - 1) // shape[-1]
    system = np.arange(shape[-2])[:, None]
    return np.broadcast_to((system != first) & (system != first + 1), shape)


def measure(kind: str, missing: float, repeats: int, options: argparse.Namespace) -> tuple[float, float]:
    """Familywise error, and joint coverage of the intervals of all pairs."""
    random, found = np.random.default_rng([7, KINDS.index(kind), abs(int(100 * missing)), repeats]), [0, 0]
    items = options.items if missing >= 0 else SHARED * (options.systems - 1)
    scale, upper = 1 if kind == "0/1" else 2, np.triu_indices(options.systems, 1)
    for graded in (False, True):
        shift = np.linspace(0, 0.1, options.systems) if graded else np.zeros(options.systems)
        true = scale * (shift[:, None] - shift)[upper]
        for _ in range(options.repeats):
            drawn = draw(kind, shift, items, repeats, random)
            drawn[removed(missing, drawn.shape, random)] = np.nan
            there = np.isfinite(drawn).sum(axis=0)
            values = np.where(there, np.nansum(drawn, axis=0) / np.maximum(there, 1), np.nan)
            ends = (float(np.nanmin(values)), float(np.nanmax(values)))
            pairs = compared(values, {"0/1": (0.0, 1.0), "0-10": (0.0, 10.0)}.get(kind, ends))
            held = (pairs.low[upper] <= true) & (true <= pairs.high[upper])
            found[graded] += bool(held.all() if graded else (pairs.adjusted[upper] < ranking.SIGNIFICANCE).any())
    return found[0] / options.repeats, found[1] / options.repeats


def judged(kind: str, labelled: int, cluster: int, options: argparse.Namespace) -> tuple[float, float, float]:
    """Familywise error and joint coverage with labels of some items, and coverage of the means' intervals."""
    random, found, means = np.random.default_rng([11, KINDS.index(kind), labelled, cluster]), [0, 0], 0
    items = options.items
    clusters = None if cluster == 1 else np.arange(items) // cluster
    for graded in (False, True):
        shift = np.linspace(0, 0.1, options.systems) if graded else np.zeros(options.systems)
        scale = 1 if kind == "0/1" else 2
        for _ in range(options.repeats):
            drawn = draw(kind, shift, items // cluster, cluster, random).transpose(1, 2, 0)
            truth = drawn.reshape(options.systems, -1) if cluster > 1 else drawn[:, :, 0]
            favour, wrong = np.linspace(0.1, 0.3, options.systems)[:, None], random.random(truth.shape)
            other = draw(kind, shift, items, 1, random)[0]
            said = np.where(wrong < favour, truth.max() if kind != "heavy tails" else truth + 1, truth)
            said = np.where(random.random(truth.shape) < 0.3, other, said)
            labels = np.where(np.isin(np.arange(items), random.permutation(items)[:labelled]), truth, np.nan)
            names, ids = [f"s{k}" for k in range(options.systems)], [str(k) for k in range(items)]
            ends = {"0/1": (0.0, 1.0), "0-10": (0.0, 10.0)}.get(kind, (float(said.min()), float(said.max())))
            scores = ItemScores(names, ids, said, clusters, ends, "", labels=labels)
            made = comparison._corrected(scores, mean("mean", ends), None, "")
            true = {"0/1": 0.5, "0-10": 5.0}.get(kind, 0.0) + scale * shift
            place = {name: k for k, name in enumerate(names)}
            rows, pairs = made.table.to_dicts(), made.pairs.to_dicts()
            apart = [true[place[pair["one"]]] - true[place[pair["two"]]] for pair in pairs]
            held = all(pair["low"] <= by <= pair["high"] for pair, by in zip(pairs, apart, strict=True))
            found[graded] += held if graded else any(pair["adjusted"] < ranking.SIGNIFICANCE for pair in pairs)
            means += sum(row["low"] <= true[place[row["system"]]] <= row["high"] for row in rows)
    return found[0] / options.repeats, found[1] / options.repeats, means / (2 * options.repeats * options.systems)


def large() -> None:
    """The cost of a large table."""
    values = np.random.default_rng(0).random((100, 100_000)).round()
    names, items = [f"s{k}" for k in range(100)], [str(k) for k in range(100_000)]
    start, cpu = time.perf_counter(), time.process_time()
    compare_scores(ItemScores(names, items, values, None, (0.0, 1.0), ""))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    took = time.perf_counter() - start, time.process_time() - cpu
    print(f"100 systems x 100,000 items: {took[0]:.1f} s ({took[1]:.1f} of the processor), {peak:.2f} GiB")


def main() -> None:
    """Run the requested parts and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=4000)
    parser.add_argument("--systems", type=int, default=5)
    parser.add_argument("--items", type=int, default=200)
    parser.add_argument("--only", choices=KINDS)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--human", action="store_true")
    options = parser.parse_args()
    if options.large:
        large()
        return
    drawn = mock.patch.object(ranking, "_draw_errors", lambda moved: moved @ weights(moved.shape[1]))
    if options.human:
        for kind in KINDS if options.only is None else [options.only]:
            for labelled, cluster in ((30, 1), (60, 1), (60, 4)):
                with drawn:
                    error, coverage, means = judged(kind, labelled, cluster, options)
                print(f"{kind:12} {labelled} labels, clusters of {cluster}: familywise error {error:6.1%}, "
                      f"coverage of all pairs {coverage:6.1%}, of means {means:6.1%}", flush=True)  # fmt: skip
        return
    for kind in KINDS if options.only is None else [options.only]:
        for missing, repeats in ((0.0, 1), (0.1, 1), (0.4, 1), (0.1, 3), (-1.0, 1)):
            with drawn:
                error, coverage = measure(kind, missing, repeats, options)
            world = f"{missing:4.0%} missing, {repeats} repeats" if missing >= 0 else "neighbours share 8 items"
            print(f"{kind:12} {world}: familywise error {error:6.1%}, "
                  f"coverage of all pairs {coverage:6.1%}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
