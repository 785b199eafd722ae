"""Board and analyses are functions of an opened split: one that was made in memory, without a folder, has them all."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from hellofresh.core.systems import IDENTITY
from hellofresh.core.workspace import Workspace
from hellofresh.releases.candidates import Funnel
from hellofresh.releases.life.load import Published
from hellofresh.releases.life.manifest import Manifest
from hellofresh.results.analyses import ANALYSES
from hellofresh.results.board.build import board_tables
from hellofresh.results.split.judgements import _TABLES, _answers
from hellofresh.results.split.open import BoardSplit
from hellofresh.results.standings import standings_of
from hellofresh.tasks.samples import MAIN, Label
from tests.analyses.synthetic import QUARTER, Builder, full_entries

NOWHERE = Path("/nowhere/at/all")
FUNNEL = Funnel("notes", 120, (), {"2023-04": {0: 60, 1: 60}})
OF_LABELS = {"standings", "pairs", "labels", "samples", "systems", "confusion", "mistakes", "answers", "calibration"}


def opened() -> BoardSplit:
    build = Builder()
    release = build.release()
    entries = full_entries(build, release)
    panel = build.panel(entries, release)
    said = pl.concat(
        _TABLES[""].frame(_answers(one, prompt), task="x-notes") for one in entries for prompt in one.outputs
    )
    counts = {"n": len(release.samples), "n_split": len(release.samples), "bundled": True}
    manifest = Manifest.model_validate(
        {
            "format": 1, "version": 1, "task": "x-notes", "edition": str(QUARTER), "code": "", "source": "sample",
            "collection": {"sources": (), "parameters": {}, "funnel": FUNNEL, "warnings": ()}, "files": (),
            "revealed": True,
        }
    )  # fmt: skip
    known = zip(release.samples, build.labels(release), build.facts(release), strict=True)
    empty = {part: _TABLES[part].schema.to_frame() for part in ("numbers", "receipts", "waiting")}
    return BoardSplit(
        Workspace(NOWHERE),
        Published(QUARTER, "x-notes", MAIN, NOWHERE, manifest),
        [{name: getattr(entry, name) for name in IDENTITY} | counts for entry in entries],
        said.lazy(),
        **empty,
        samples=release.samples,
        full=release.samples,
        labels={sample.id: Label(sample.id, label, facts) for sample, label, facts in known},
        shown=True,
        panel=panel,
    )


def test_a_board_and_all_analyses_are_made_of_a_split_in_memory() -> None:
    split = opened()
    assert split.panel is not None
    tables = {name: made.whole().collect() for name, made in board_tables([split], NOWHERE)[0].items()}
    assert {name for name in OF_LABELS if tables[name].is_empty()} == set()
    ranked = {one.origin: one.rank for one in standings_of(split.panel).ranked}
    assert dict(tables["standings"].select("origin", "rank").iter_rows()) == ranked
    results = {name: one.run(split.panel) for name, one in ANALYSES.items() if name != "text-alone"}
    assert all(made.missing or made.table.height for made in results.values())
