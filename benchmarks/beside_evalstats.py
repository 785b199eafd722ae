"""`hellofresh compare` beside evalstats on the same tables: means, p-values, what each refuses, and what it costs.

    python benchmarks/beside_evalstats.py --python ENVIRONMENT/bin/python [--large]

Installs nothing: ENVIRONMENT needs `pip install evalstats` (0.3.3 was compared) apart from this project's packages.
Means, and p-values of the paired t test on complete tables without clusters, have to agree to 1e-9. With labels of a
part the estimate is compared at the same weight of the judge; evalstats shrinks its own weight by another rule.
`--large` also compares 100 systems on 100,000 items.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import hellofresh as hf
from hellofresh.core.errors import HelloFreshError

_LIMIT_S = 300
THEIRS = """
import io, json, resource, sys, time, warnings
from contextlib import redirect_stdout
import numpy as np
import pandas as pd
import evalstats as es
path, human = sys.argv[1:3]
start, out = time.perf_counter(), {}
with warnings.catch_warnings(record=True) as caught, redirect_stdout(io.StringIO()):
    warnings.simplefilter("always")
    try:
        frame = pd.read_csv(path)
        wide = frame.pivot(index="item", columns="model", values="score")
        if human:
            labels, given = frame.pivot(index="item", columns="model", values="person"), json.loads(human)
            for name, weight in given.items():
                known = labels[name].notna()
                parts = labels[name][known].to_numpy(), wide[name][known].to_numpy(), wide[name][~known].to_numpy()
                own = es.ppi.correct(np.mean, Y_lab=parts[0], Y_hat_lab=parts[1], Y_hat_unlab=parts[2],
                                     backend="analytic")
                same = es.ppi._analytic_mean_point_se_given_lambda(*parts, weight)[0]
                out[name] = [same, own.estimate, own.ci_low, own.ci_high, own.lam]
        else:
            made = es.compare(es.load_from(frame), factors="model", method="t_interval").to_frame()
            out["means"] = dict(zip(made["entities"]["entity"], made["entities"]["mean"]))
            if wide.shape[1] < 10 and not wide.isna().any().any():
                names = list(wide)
                out["p"] = {f"{a} {b}": es.tests.ttest(wide[a], wide[b], paired=True, print_result=False).p_value
                            for k, a in enumerate(names) for b in names[k + 1:]}
    except Exception as error:
        out["refused"] = f"{type(error).__name__}: {error}"[:160]
out |= {"s": time.perf_counter() - start, "gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "warned": sorted({str(one.message)[:100] for one in caught if "evalstats" in str(one.filename)})}
print(json.dumps(out))
"""
OURS = """
import json, resource, sys, time
import polars as pl
import hellofresh as hf
start = time.perf_counter()
found = hf.compare(pl.read_csv(sys.argv[1]), item="item", system="model", score="score")
print(json.dumps({"s": time.perf_counter() - start, "gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}))
"""


def tables(random: np.random.Generator) -> dict[str, pl.DataFrame]:
    """Tables of three systems on 120 items, a row for each score."""
    hits = (random.random((3, 120)) < np.array([[0.8], [0.7], [0.5]])).astype(float)
    ratings = np.clip(np.round(random.normal(6, 2, 120) + random.normal(0, 1, (3, 120)), 1), 0, 10)
    holes = np.where(random.random(hits.shape) < 0.1, np.nan, hits)
    said = np.where(random.random(hits.shape) < 0.2, 1.0, hits)
    labelled = np.where(np.isin(np.arange(120), random.permutation(120)[:40]), hits, np.nan)
    made = {"0/1": long(hits), "ratings": long(ratings), "10% missing": long(holes)}
    clusters = [f"c{k // 4}" for k in range(120)] * 3
    made["clusters of 4"] = long(hits).with_columns(cluster=pl.Series(clusters))
    made["40 labels"] = long(said).with_columns(person=long(labelled)["score"])
    return made


def long(values: np.ndarray) -> pl.DataFrame:
    """A row for each system and item."""
    systems, items = values.shape
    return pl.DataFrame(
        {
            "item": [f"q{k}" for k in range(items)] * systems,
            "model": np.repeat([f"s{k}" for k in range(systems)], items),
            "score": values.ravel(),
        }
    ).with_columns(pl.col("score").fill_nan(None))


def theirs(python: str, path: Path, human: str = "") -> dict[str, Any]:
    """What evalstats makes of a file."""
    command = [python, "-c", THEIRS, str(path), human]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=_LIMIT_S)
    except subprocess.CalledProcessError as error:
        return {"refused": f"ended with {error.returncode}: {error.stderr.strip()[-100:]}"}
    except subprocess.TimeoutExpired:
        return {"refused": f"not done after {_LIMIT_S} s"}
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def beside(name: str, frame: pl.DataFrame, path: Path, python: str) -> str:
    """One line of both; fails if what has to agree does not."""
    human = "person" if "person" in frame.columns else ""
    start = time.perf_counter()
    try:
        ours = hf.compare(frame, human=human)
    except HelloFreshError as error:
        return f"{name}: ours refuses ({error})"
    took, weights = time.perf_counter() - start, {}
    means = {row["system"]: row["mean"] for row in ours.table.to_dicts()}
    if human:
        for system in means:  # the formula of least variance, written a second time
            own = frame.filter(model=system)
            known, rest = own.drop_nulls("person"), own.filter(pl.col("person").is_null())["score"].to_numpy()
            both = np.cov(known["person"].to_numpy(), known["score"].to_numpy()) / known.height
            weights[system] = float(np.clip(both[0, 1] / (both[1, 1] + rest.var(ddof=1) / rest.size), 0, 1))
    found = theirs(python, path, json.dumps(weights) if human else "")
    line = f"{name}: ours {took:.2f} s; {ours.notes[0][:90]}; evalstats "
    if "refused" in found:
        return f"{line}refuses ({found['refused']})"
    gaps = [abs(mean - (found[one][0] if human else found["means"][one])) for one, mean in means.items()]
    if human:
        line += f"with its own weights { ({one: [round(part, 4) for part in found[one][1:]] for one in means}) }, ours "
        rows = ours.table.to_dicts()
        line += str({row["system"]: [round(row[part], 4) for part in ("mean", "low", "high")] for row in rows})
    if "p" in found and "cluster" not in frame.columns:
        p_values = {frozenset((row["one"], row["two"])): row["p_value"] for row in ours.pairs.to_dicts()}
        gaps += [abs(p_values[frozenset(pair)] - found["p"][" ".join(pair)]) for pair in combinations(sorted(means), 2)]
    if max(gaps) > 1e-9:
        raise SystemExit(f"{name}: they differ by {max(gaps):g}")
    return f"{line} {found['s']:.2f} s; agree to {max(gaps):.1g}; warns {found['warned']}"


def main() -> None:
    """Print a line for each table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True, help="python of an environment with evalstats")
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "scores.csv")
        for name, frame in tables(np.random.default_rng(0)).items():
            frame.write_csv(path)
            print(beside(name, frame, path, options.python), flush=True)
        if options.large:
            long(np.random.default_rng(0).random((100, 100_000)).round()).write_csv(path)
            done = subprocess.run([sys.executable, "-c", OURS, str(path)], capture_output=True, text=True, check=True)
            print("100 systems, 100,000 items: ours", done.stdout.strip(), flush=True)
            print("100 systems, 100,000 items: evalstats", theirs(options.python, path))


if __name__ == "__main__":
    main()
