"""Two quarters live their whole life: open, predictions, closed, revealed, checked by a stranger, the next opens.

No name, address, participant id or key that goes into it comes out in a release at any time.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from hellofresh.core.files import canonical_json, read_json, read_jsonl, sha256_file, write_jsonl
from hellofresh.results.tables import OVER_REPETITIONS
from tests.cli.planted import KEYS, Planted, plant_history, plant_notes, within
from tests.conftest import Cli

TASKS = ("x-notes", "wikipedia-edits")

SYSTEM = (
    'name = "{name}"\nteam = "{team}"\ncontact = "{contact}"\nurl = "https://example.org/{url}"\nregime = "other"\n'
    'models = ["m"]\nknowledge_cutoff = "unknown"\n'
)


class Life:
    """A maintainer with a clock that can be moved, and the commands of a quarter's day."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, cli: Cli) -> None:
        self.folder, self.data, self.patch, self.cli = folder, folder / "data", patch, cli
        self.planted = Planted()

    def plant(self, text: str) -> str:
        """A value for a place, which no command may print either."""
        self.cli.secrets.add(value := self.planted.text(text))
        return value

    def nothing_came_out(self) -> None:
        """Nothing that was planted, nor the path of the workspace, is in what is public."""
        assert within(self.planted, self.data / "releases") == []

    def at(self, moment: str) -> None:
        """Move the clock."""
        self.patch.setenv("HELLOFRESH_NOW", moment)

    def quarter_day(self, *quarters: str) -> str:
        """What `make release` does, from real-format sources rather than the bundled sample; its messages."""
        dump, history = str(self.folder / "source/x-notes"), str(self.folder / "source/wikipedia-edits/history.xml.bz2")
        sources = ("--notes-dump", dump, "--wiki-dump", history, "--models", "always-yes", "coin", "--no-analyses")
        day = os.environ["HELLOFRESH_NOW"][:10]  # months lie between the days, so somebody says that the clock is right
        return self.cli("release", "run", "--quarter", *quarters, *sources, "--yes-it-is", day)

    def phases(self, quarter: str) -> set[str]:
        """Where the quarter's tasks stand."""
        return {state["phase"] for state in self.cli.json("quarter", "status", "--quarter", quarter)}

    def public(self, quarter: str, task: str) -> Path:
        """Folder of what is public."""
        return self.data / "releases" / quarter / task

    def names(self, quarter: str) -> set[str]:
        """Names of all public files of a quarter."""
        return {path.name for path in (self.data / "releases" / quarter).rglob("*.jsonl")}


@pytest.fixture
def life(place: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli, sample_sources: Path) -> Life:
    """A workspace of its own, with sources for two quarters."""
    monkeypatch.delenv("HELLOFRESH_DATA")
    shutil.copytree(sample_sources, place / "source")
    found = Life(place, monkeypatch, cli)
    plant_notes(place / "source" / "x-notes", found.planted)
    plant_history(place / "source" / "wikipedia-edits" / "history.xml.bz2", found.planted)
    cli.secrets |= found.planted.places.keys()
    for name in KEYS:
        monkeypatch.setenv(name, found.plant(f"environment.{name}"))
    found.planted.places[str(place)] = "the workspace's folder"
    return found


def hand_in(life: Life, quarter: str, team: str, label: int | None) -> None:
    """Predictions for all samples of a quarter, from its public files alone, with a receipt of the present moment."""
    folder = life.folder / "handed" / team / "system"
    ids = [row["id"] for task in TASKS for row in read_jsonl(life.public(quarter, task) / "samples.jsonl")]
    said = {"rationale": life.plant("rationale"), "sources": [f"https://example.org/{life.plant('sources')}"]}
    write_jsonl(folder / "predictions.jsonl", [{"id": key, "label": label, **said} for key in ids])
    about = {"name": f"{team} system", "team": team, "contact": life.plant("contact"), "url": life.plant("url")}
    (folder / "system.toml").write_text(SYSTEM.format(**about))
    life.cli("submission", "add", folder, "--quarter", quarter)


def stranger_checks(life: Life, quarter: str, *figures: str) -> Any:
    """Check a copy of the public files in an empty folder, where there is no private one."""
    empty = life.folder / "stranger"
    shutil.rmtree(empty, ignore_errors=True)
    shutil.copytree(life.data / "releases" / quarter, empty / quarter)
    life.patch.chdir(empty)
    life.patch.setenv("HELLOFRESH_DATA", str(empty / "no-data"))
    options = [part for figure in figures for part in ("--figure", figure)]
    checks = life.cli.json("release", "verify", str(empty / quarter), *options)
    assert not (empty / "no-data").exists()
    life.patch.chdir(life.folder)
    life.patch.delenv("HELLOFRESH_DATA")
    assert all(check["ok"] for check in checks)
    return checks


def test_two_quarters_live_their_whole_life(life: Life) -> None:
    # 2026Q2 opens: samples and commitments are public, labels are not, not even in what was evaluated.
    life.at("2026-07-22T06:00:00Z")
    life.quarter_day("2026Q2")
    assert life.phases("2026Q2") == {"open"}
    assert life.names("2026Q2") == {"samples.jsonl", "commitments.jsonl"}
    life.planted.places[(life.data / "private/escrow.key").read_text().strip()] = "the escrow key"
    life.nothing_came_out()
    opened = {task: sha256_file(life.public("2026Q2", task) / "manifest.json") for task in TASKS}
    samples = {task: (life.public("2026Q2", task) / "samples.jsonl").read_bytes() for task in TASKS}
    stranger_checks(life, "2026Q2")

    # Predictions come in; none is scored, for its score would be a probe.
    life.at("2026-08-15T12:00:00Z")
    hand_in(life, "2026Q2", "early-team", 1)
    life.cli("score", "--quarter", "2026Q2")
    assert "early-team system" not in life.cli.out
    life.at("2026-10-14T23:59:59Z")
    hand_in(life, "2026Q2", "late-team", 0)
    assert life.phases("2026Q2") == {"open"}

    # Closed: scored, not yet public.
    life.at("2026-10-15T00:00:00Z")
    assert life.phases("2026Q2") == {"closed"}
    scored = {row["system"] for row in life.cli.json("score", "--quarter", "2026Q2")}
    assert {"early-team system", "late-team system"} <= scored
    assert life.names("2026Q2") == {"samples.jsonl", "commitments.jsonl"}

    # The day on which 2026Q3 opens reveals 2026Q2, though nobody names 2026Q2.
    life.at("2026-10-22T00:00:00Z")
    said = life.quarter_day("2026Q3")
    assert "2026Q2: labels and salts are public now" in said
    assert (life.phases("2026Q2"), life.phases("2026Q3")) == ({"revealed"}, {"open"})
    revealed = {"labels.jsonl", "predictions.jsonl", "scores.jsonl"}  # planted ratings say nothing: there is no ceiling
    everything = {"samples.jsonl", "commitments.jsonl", *revealed}
    assert life.names("2026Q2") == everything
    assert life.names("2026Q3") == {"samples.jsonl", "commitments.jsonl"}

    # A stranger finds what was promised at the opening, and the board's figures.
    checks = stranger_checks(life, "2026Q2", "system=early-team system,metric=recall", "system=coin,task=x-notes")
    figures = [figure for check in checks for figure in check["figures"]]
    assert [figure["value"] for figure in figures if "early-team" in figure["name"]] == [1.0, 1.0]
    assert len(figures) == 3
    for task in TASKS:
        folder = life.public("2026Q2", task)
        assert (folder / "samples.jsonl").read_bytes() == samples[task]
        assert sha256_file(folder / "manifests/1.json") == opened[task]
        life.cli("release", "verify", folder, "--known", opened[task])
    board_agrees(life)
    life.nothing_came_out()

    # A second run of the day changes nothing that is public.
    before = {path: path.read_bytes() for path in (life.data / "releases").rglob("*") if path.is_file()}
    life.at("2026-10-23T09:00:00Z")
    life.quarter_day("2026Q3")
    assert {path: path.read_bytes() for path in (life.data / "releases").rglob("*") if path.is_file()} == before

    # The second quarter goes the same way.
    hand_in(life, "2026Q3", "early-team", 1)
    gone = somebody_deletes_a_post(life)
    life.at("2027-01-22T00:00:00Z")
    life.quarter_day("2026Q3")
    assert life.phases("2026Q3") == {"revealed"}
    stranger_checks(life, "2026Q3", "system=early-team system")
    for name in ("samples.jsonl", "predictions.jsonl"):
        assert gone not in (life.public("2026Q2", "x-notes") / name).read_text()
    stranger_checks(life, "2026Q2", "system=late-team system,task=x-notes")

    # A sample is taken down after the reveal: everything still holds, without it.
    take_one_down(life)
    life.nothing_came_out()


def somebody_deletes_a_post(life: Life) -> str:
    """What `hellofresh hydrate` writes down where the post of a released note is gone; the sample's id."""
    last = list(read_jsonl(life.public("2026Q2", "x-notes") / "samples.jsonl"))[-1]["id"]
    write_jsonl(life.data / "hydrated/2026Q2/x-notes/gone.jsonl", [{"id": last, "why": "post: deleted"}])
    return str(last)


def board_agrees(life: Life) -> None:
    """The board shows the very scores that were published."""
    import polars as pl

    table = (
        pl.read_parquet(life.data / "board/scores.parquet")
        .filter(pl.col("edition") == "2026Q2")
        .drop("split", *OVER_REPETITIONS)
    )
    released = [row for task in TASKS for row in read_jsonl(life.public("2026Q2", task) / "scores.jsonl")]
    assert sorted(map(canonical_json, released)) == sorted(map(canonical_json, table.to_dicts()))


def take_one_down(life: Life) -> None:
    folder = life.public("2026Q2", "x-notes")
    sample = next(iter(read_jsonl(folder / "samples.jsonl")))
    (done,) = life.cli.json("release", "takedown", sample["id"], "--reason", "the author asked")
    assert done["ids"] == [sample["id"]]
    assert sample["note"]["text_sha256"].encode() not in b"".join(
        path.read_bytes() for path in (life.data / "releases/2026Q2/x-notes").rglob("*.json*")
    )
    stranger_checks(life, "2026Q2", "system=late-team system")
    scores = read_json(folder / "manifest.json")["files"]
    assert {entry["path"] for entry in scores} >= {"tombstones.jsonl", "scores.jsonl"}
    systems = {row["system"] for row in read_jsonl(folder / "scores.jsonl")}
    assert systems == {"always-yes", "coin", "early-team system", "late-team system"}


def test_the_search_finds_what_was_planted(tmp_path: Path) -> None:
    planted = Planted()
    values = planted.text("a"), planted.address("b"), planted.number("c")
    for number, value in enumerate(values):
        (tmp_path / f"{number}").write_text(f"x{value.lower()}y")
    (tmp_path / planted.text("d")).write_text("")
    planted.text("nowhere")
    assert [name[0] for name in planted.found(tmp_path)] == ["a", "b", "c", "d"]
