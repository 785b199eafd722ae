"""Quality of the fit of ratings, coverage of its intervals, and its costs.

    python benchmarks/bridging.py [--only oracle|coverage|writers|rings|polis|cost] [--oracle DIR] [--ratings N]
                                  [--samples N] [--cluster ADDRESS] [--json] [--picture SVG]

- oracle: beside X's own scorer on an invented world (DIR holds the dump's tables as .tsv.gz, x_scorer_notes.csv.gz and
  x_scorer_flips.csv): correlation and mean absolute difference of intercepts, share of equal statuses, with and without
  the notes that only tag filters rejected, and the accounts that flip a note.
- coverage: notes are fixed, raters are redrawn; how often the interval of a sample contains the mean intercept over all
  samples, and how often notes with a stated probability of being helpful are helpful in the other samples.
- writers: on ten invented worlds of twelve automated writers, how well their order is found, by equal exposure and
  by the shares of their helpful notes and ratings, if everybody sees all notes and if only friendly raters see
  those of one program (lenient ones, or the note's own camp); and how often intervals contain the mean over worlds.
- rings: how many of a ring, and of honest raters, are found: in the world of DIR, and in made ones with rings of
  several sizes, whose honest raters share interests and hours or do not; and a pushed note's loss without the ring.
- polis: how stable intercepts of real votes are for resampled raters, if the tables are beside DIR.
- cost: CPU and wall seconds and peak memory for a made dump of N ratings, from its files to the table, with two
  reading processes (or the workers of a Dask cluster, whose costs are not counted); and for the fit alone. The dump is
  made by a process of its own.

--picture draws the ratings of invented notes by either camp, for docs/voters.md.
"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from made.voters import VotersWorld, draw_liked, draw_voters, draw_written, write_dump
from scipy.special import stdtrit
from scipy.stats import spearmanr

from hellofresh.core.executors import asked_pool
from hellofresh.core.quarters import Quarter
from hellofresh.stats.bridging import (
    LEVELS,
    NoteStatus,
    Ratings,
    chance_helpful,
    fit_bridging,
    fit_round,
    redraws,
    sampling,
    statuses,
)
from hellofresh_parts.voters.fit import collect_bridging
from hellofresh_parts.voters.rings import find_rings
from hellofresh_parts.voters.votes import fit_votes, read_votes
from hellofresh_parts.voters.writers import compare_writers

TABLES = ("notes", "noteStatusHistory", "userEnrollment", "ratings")
QUARTERS = (Quarter(2026, 1), Quarter(2026, 2), Quarter(2026, 3))
HELPFUL, NEEDS_MORE = "CURRENTLY_RATED_HELPFUL", "NEEDS_MORE_RATINGS"


def against_oracle(folder: Path) -> dict[str, Any]:
    """Differences between the fit and X's own scorer."""
    with tempfile.TemporaryDirectory() as place:
        dump = Path(place)
        for stem in TABLES:
            packed = folder / f"{stem}-00000.tsv.gz"
            (dump / packed.stem).write_bytes(gzip.decompress(packed.read_bytes()))
        frames = []
        for quarter in QUARTERS:
            collect_bridging(dump, quarter, output=dump / "b.parquet", folder=dump / "parts", key=b"benchmark")
            frames.append(pl.read_parquet(dump / "b.parquet"))
    theirs = pl.read_csv(folder / "x_scorer_notes.csv.gz").with_columns(note=pl.col("noteId").cast(pl.String))
    both = pl.concat(frames).join(theirs, on="note")
    fitted = both.drop_nulls(["intercept", "coreNoteIntercept"])
    mine, x = (fitted[name].cast(pl.Float64).to_numpy() for name in ("intercept", "coreNoteIntercept"))
    judged = both.drop_nulls("coreRatingStatus").with_columns(
        shown=pl.col("coreRatingStatus").replace(dict.fromkeys(("FIRM_REJECT", "NEEDS_YOUR_HELP"), NEEDS_MORE)),
        tags=pl.col("coreActiveRules").str.contains("GeneralCRH ")
        & pl.col("coreActiveRules").str.contains("TagFilter|FilterIncorrect"),
    )
    untagged = pl.when(pl.col("tags") & (pl.col("shown") == NEEDS_MORE)).then(pl.lit(HELPFUL)).otherwise("shown")
    found: dict[str, Any] = {
        "notes": fitted.height,
        "r": float(np.corrcoef(mine, x)[0, 1]),
        "mean absolute difference": float(np.abs(mine - x).mean()),
        "status": judged.select((pl.col("status") == pl.col("shown")).mean()).item(),
        "status, tags aside": judged.select((pl.col("status") == untagged).mean()).item(),
    }
    costs = pl.read_csv(folder / "x_scorer_flips.csv").with_columns(note=pl.col("noteId").cast(pl.String))
    for direction in ("up", "down", "both"):
        chosen = costs if direction == "both" else costs.filter(pl.col("direction") == direction)
        for name, ours in (("balanced", "flip_balanced"), ("own", "flip_own"), ("opposite", "flip_other")):
            pairs = chosen.join(both, on="note").drop_nulls([name, ours])
            found[f"flips {direction} {name}"] = {
                "notes": pairs.height,
                "rank correlation": float(spearmanr(pairs[name], pairs[ours])[0]),
                "median of X": pairs[name].median(),
                "median": pairs[ours].median(),
            }
    return found


def coverage(samples: int) -> dict[str, Any]:
    """Intervals and stated chances over samples of raters."""
    world = VotersWorld.make(600, 1)
    fits = [fit_bridging(*draw_voters(world, 1200, 40_000, seed)) for seed in range(samples)]
    redrawn = [redraws(fit) for fit in fits]
    errors = [sampling(fit, again) for fit, again in zip(fits, redrawn, strict=True)]
    intercepts = np.array([fit.intercept for fit in fits])
    freedom, error = np.array([one.freedom for one in errors]), np.array([one.error for one in errors])
    # The mean of few samples is itself random: this factor corrects the deviation from it.
    distance = np.abs(intercepts - np.nanmean(intercepts, axis=0)) / np.sqrt(1 - 1 / samples)
    held = distance <= stdtrit(np.maximum(freedom, 1), 0.975) * error
    known = np.isfinite(intercepts)
    found: dict[str, Any] = {"notes and samples": int(known.sum()), "coverage": float(held[known].mean())}
    for low, high in ((4, 9), (10, 19), (20, 49), (50, 99), (100, 10**9)):
        inside = known & (freedom >= low) & (freedom <= high)
        found[f"coverage, {low + 1} ratings and more"] = [int(inside.sum()), float(held[inside].mean())]
    helpful = np.array([statuses(fit) for fit in fits]) == NoteStatus.HELPFUL
    others = (helpful.sum(axis=0) - helpful) / (samples - 1)
    chance = np.array([chance_helpful(fit, again) for fit, again in zip(fits, redrawn, strict=True)])
    gap = 0.0
    for low in np.arange(0, 1, 0.1):
        inside = known & (chance >= low) & (chance < (low + 0.1 if low < 0.85 else 2))
        stated, seen = float(chance[inside].mean()), float(others[inside].mean())
        found[f"stated chance {low:.1f}"] = [int(inside.sum()), stated, seen]
        gap += abs(stated - seen) * float(inside.sum())
    return found | {"mean gap of stated chances": gap / float(known.sum())}


def rings(folder: Path) -> dict[str, Any]:
    """Found raters: of the ring, of others, and of the others among the most active tenth."""
    found: dict[str, Any] = {}
    if (folder / "ratings-00000.tsv.gz").is_file():
        with tempfile.TemporaryDirectory() as place:
            dump = Path(place)
            for stem in TABLES:
                (dump / f"{stem}-00000.tsv").write_bytes(
                    gzip.decompress((folder / f"{stem}-00000.tsv.gz").read_bytes())
                )
            for quarter in QUARTERS[:2]:
                report = collect_bridging(dump, quarter, output=dump / "b.parquet", folder=dump / "parts", key=b"key")
                found[f"world of DIR, {quarter}"] = asdict(report.rings)
    for interest in (1.0, 3.0, 6.0):
        for ring, pushed in ((0, 1), (30, 25), (30, 12), (10, 12), (5, 12)):
            parts = []
            for seed in range(3):
                post, rater, period = draw_liked(seed, ring=ring, pushed=pushed, interest=interest)
                camp = np.zeros(3000, np.int64)
                flagged = find_rings(post, rater, period=period, camp=camp).rater
                busy = np.bincount(rater, minlength=3000) >= np.quantile(np.bincount(rater, minlength=3000), 0.9)
                honest = np.arange(3000) >= ring
                parts.append(
                    [flagged[~honest].mean() if ring else 0.0, flagged[honest].mean(), flagged[honest & busy].mean()]
                )
            found[f"interest {interest:g}, ring of {ring} on {pushed} posts: ring, honest, busy honest"] = [
                round(float(value), 4) for value in np.mean(parts, axis=0)
            ]
    return found


def polis(folder: Path) -> dict[str, Any]:
    """For real votes: the spread of intercepts over items and over resampled raters, and rank correlation of halves."""
    found: dict[str, Any] = {}
    for packed in sorted(folder.glob("*.votes.csv.xz")):
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "votes.csv"
            path.write_bytes(lzma.decompress(packed.read_bytes()))
            items, _ = fit_votes(path)
            names, votes = read_votes(path)
        raters, halves = int(votes.rater.max()) + 1, []
        side = np.random.default_rng(0).random(raters) < 0.5
        for mine in (side, ~side):
            kept = mine[votes.rater]
            half = Ratings(*(getattr(votes, name)[kept] for name in ("note", "rater", "level", "valid")))
            halves.append(fit_round(half, len(names), raters).note_intercept)
        both = np.isfinite(halves).all(axis=0)
        found[packed.name.split(".votes")[0]] = {
            "items": items["intercept"].count(),
            "spread of intercepts": round(items["intercept"].std(), 3),
            "median error over redrawn raters": round(items["error"].median(), 3),
            "rank correlation of halves of raters": round(float(spearmanr(*(one[both] for one in halves))[0]), 3),
        }
    return found


PROGRAMS = 12


def writers(samples: int) -> dict[str, Any]:
    """Order and intervals of writers' effects; for the order, the mean and the minimum over worlds."""
    found: dict[str, Any] = {}
    for friendly in ("", "lenient", "camp"):
        orders: dict[str, list[float]] = {}
        places: dict[str, list[int]] = {}
        for seed in range(10):
            world = draw_written(seed, posts=3000, raters=2400, programs=PROGRAMS, friendly=friendly)
            fit = fit_bridging(*world.voters)
            compared = compare_writers(fit, world.post, world.writer, PROGRAMS + 1)[0]
            helpful, rated = statuses(fit) == NoteStatus.HELPFUL, world.voters.ratings
            notes_of = (world.writer == one for one in range(1, PROGRAMS + 1))
            measures = {
                "true quality of its notes": np.array([world.quality[mine].mean() for mine in notes_of]),
                "intercept, equal exposure": compared["intercept"].value[1:],
                "helpful ratings, equal exposure": compared["share"].value[1:],
                "share of helpful notes": _shares(helpful, world.writer),
                "share of helpful ratings": _shares(rated.level == 2, world.writer[rated.note]),
            }
            for name, values in measures.items():
                orders.setdefault(name, []).append(float(spearmanr(world.skill[1:], values)[0]))
                gap = (values > values[-1]).sum() - (world.skill[1:] > world.skill[-1]).sum()
                places.setdefault(name, []).append(abs(int(gap)))
        for name, values in orders.items():
            key = f"{friendly or 'everybody'}: {name}"
            found[f"{key}: rank correlation, mean and least"] = float(np.mean(values)), min(values)
            found[f"{key}: ranks that the last program is off"] = float(np.mean(places[name]))
    effects, halves = [], []
    for seed in range(samples):
        world = draw_written(1000 + seed, posts=800, raters=640, programs=PROGRAMS, skills=0)
        compared = compare_writers(fit_bridging(*world.voters), world.post, world.writer, PROGRAMS + 1)[0]
        both = [compared[name] for name in ("intercept", "share")]
        effects.append([one.value[1:] for one in both])
        halves.append([one.limits()[1][1:] - one.value[1:] for one in both])
    distance = np.abs(np.array(effects) - np.mean(effects, axis=0)) / np.sqrt(1 - 1 / samples)
    held = (distance <= np.array(halves)).mean(axis=(0, 2))
    return found | {"coverage, intercept": float(held[0]), "coverage, helpful ratings": float(held[1])}


def _shares(hits: Any, writer: Any) -> Any:
    return np.array([hits[writer == one].mean() for one in range(1, PROGRAMS + 1)])


def make_dump(folder: Path, ratings: int) -> None:
    """A dump with a mean of 60 ratings a note and 100 a rater."""
    world = VotersWorld.make(max(ratings // 60, 50), 1)
    write_dump(folder, draw_voters(world, max(ratings // 100, 50), ratings, 1), shards=max(ratings // 1_000_000, 1))


def measure(folder: Path, cluster: str) -> dict[str, Any]:
    """Costs of one collection in this process; two processes read, or a cluster, whose costs are not counted."""
    began, cpu = time.monotonic(), time.process_time()
    marks: list[tuple[str, float]] = []
    with tempfile.TemporaryDirectory() as place:
        report = collect_bridging(
            folder,
            QUARTERS[1],
            output=Path(place) / "b.parquet",
            folder=Path(place) / "parts",
            key=b"benchmark",
            pool=asked_pool(cluster, 2),
            progress=lambda line: marks.append((line.split(" ")[0], round(time.monotonic() - began, 1))),
        )
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "ratings": report.ratings,
        "notes": report.notes,
        "sweeps": report.sweeps,
        "wall s": round(time.monotonic() - began, 1),
        "CPU s": round(time.process_time() - cpu + children.ru_utime + children.ru_stime, 1),
        "of it reading, in two processes": round(children.ru_utime + children.ru_stime, 1),
        "peak MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "peak MiB of a reader": children.ru_maxrss // 1024,
        "steps": marks[-3:],
    }


def cost(ratings: int, folder: Path | None, cluster: str) -> dict[str, Any]:
    """Make and measure in separate processes, so that memory is that of the collection."""
    with tempfile.TemporaryDirectory() as place:
        dump = folder or Path(place)
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        if not any(dump.glob("ratings-*")):
            subprocess.run(
                [sys.executable, __file__, "--make", str(dump), "--ratings", str(ratings)], check=True, env=environment
            )
        words = [sys.executable, __file__, "--measure", str(dump), "--cluster", cluster]
        answer = subprocess.run(words, check=True, env=environment, stdout=subprocess.PIPE)
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


_COLOURS = {"helpful": "#0B6E4F", "needs more ratings": "#9A9A9A", "not helpful": "#C8553D"}


def picture(path: Path) -> None:
    """Mean ratings by either camp of invented notes, and the model's results, as an SVG."""
    from vl_convert import vegalite_to_svg

    fit = fit_bridging(*draw_voters(VotersWorld.make(300, 1), 600, 20_000, 1))
    with np.errstate(invalid="ignore"):
        sides = [side @ np.array(LEVELS) / side.sum(axis=1) for side in (fit.tallies.left, fit.tallies.right)]
    known = np.isfinite(fit.intercept) & np.isfinite(sides).all(axis=0)
    names = np.array(["not helpful", "needs more ratings", "helpful"])[statuses(fit) + 1]
    columns = zip(*(side[known].round(3).tolist() for side in sides), names[known].tolist(), strict=True)
    axes = {name: {"field": name, "type": "quantitative", "title": f"mean rating by the {camp} camp",
                   "scale": {"domain": [0, 1]}} for name, camp in (("x", "one"), ("y", "other"))}  # fmt: skip
    kinds = {
        name: {"field": "status", "type": "nominal", "title": None, "scale": {"domain": list(_COLOURS), "range": shown}}
        for name, shown in (("color", list(_COLOURS.values())), ("shape", ["circle", "cross", "square"]))
    }
    drawn = vegalite_to_svg(
        {
            "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
            "background": "white",
            "width": 420,
            "height": 420,
            "data": {"values": [dict(zip(("x", "y", "status"), row, strict=True)) for row in columns]},
            "mark": {"type": "point", "filled": True, "size": 28, "opacity": 0.7},
            "encoding": axes | kinds,
            "config": {"aria": False, "font": "Liberation Sans, Arial, Helvetica, sans-serif"},
        }
    )
    path.write_text(drawn, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oracle", type=Path, default=Path(__file__).parents[2] / "shared/data/bridging")
    parser.add_argument("--only", choices=("oracle", "coverage", "writers", "rings", "polis", "cost"))
    parser.add_argument("--ratings", type=int, default=2_000_000)
    parser.add_argument("--samples", type=int, default=60)
    parser.add_argument("--folder", type=Path, help="where the made dump stays")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--picture", type=Path, metavar="SVG")
    parser.add_argument("--cluster", default="", metavar="ADDRESS", help="cost: a Dask scheduler, whose workers read")
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make:
        return make_dump(options.make, options.ratings)
    if options.measure:
        return print(json.dumps(measure(options.measure, options.cluster)))
    if options.picture:
        return picture(options.picture)
    has_oracle = (options.oracle / "x_scorer_notes.csv.gz").is_file()
    parts = {
        "oracle": lambda: against_oracle(options.oracle) if has_oracle else {},
        "coverage": lambda: coverage(options.samples),
        "writers": lambda: writers(options.samples),
        "rings": lambda: rings(options.oracle),
        "polis": lambda: polis(options.oracle.parent / "polis"),
        "cost": lambda: cost(options.ratings, options.folder, options.cluster),
    }
    found = {name: measured() for name, measured in parts.items() if options.only in (None, name)}
    if options.json:
        return print(json.dumps(found))
    for part, figures in found.items():
        print(part)
        for name, value in figures.items():
            print(f"  {name}: {value}")
    return None


if __name__ == "__main__":
    main()
