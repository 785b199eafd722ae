"""Undecided notes: found beside the decided ones, asked about before anybody can know, labelled by a later dump."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hellofresh.core.files import read_json, read_jsonl
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.releases.draw.prospective import prospective_outcomes
from hellofresh.releases.publish._card import card_texts
from hellofresh.tasks import get_task
from tests.collectors.notes.conftest import HELPFUL, NOT_HELPFUL, UNDECIDED, run
from tests.fakes import contents

QUARTER = Quarter(2026, 4)
YOUNG = range(1, 9)
OF_IT, LANE = ("--quarter", "2026Q4"), "releases/2026Q4/x-notes/prospective"


def decided(dump: Any) -> None:
    """Two decided notes on posts that say something else than those of the others."""
    for number, status in ((30, HELPFUL), (31, NOT_HELPFUL)):
        dump.note(number, at=f"2026-10-09T{number - 20}:00:00", status=status)
        dump.posts[-1]["text"] = "A bridge was built here in a single night."


def first_day(dump: Any) -> None:
    """Eight undecided young notes, two that are rated already, an old one, and two decided ones."""
    for number in YOUNG:
        dump.note(
            number, at=f"2026-11-{14 + number % 4}T10:00:00", status=UNDECIDED, locked=False, text=f"Note {number}"
        )
    dump.note(20, at="2026-11-17T10:00:00", status=HELPFUL, locked=False)
    dump.note(21, at="2026-11-17T10:00:00", status=NOT_HELPFUL, locked=False)
    dump.note(22, at="2026-11-09T10:00:00", status=UNDECIDED, locked=False)
    decided(dump)
    dump.note(32, at="2026-10-09T12:00:00", status=UNDECIDED)


def later(dump: Any, *, turned: bool, shown: dict[int, str] | None = None) -> None:
    """What became of them: opposite labels by `turned`; one stays undecided for good, one is deleted."""
    for number in YOUNG[:-2]:
        helpful = (number % 2 == 0) is not turned
        status = HELPFUL if helpful else NOT_HELPFUL
        at, first = f"2026-11-{14 + number % 4}T10:00:00", (shown or {}).get(number, "2026-11-28T10:00:00")
        dump.note(number, at=at, status=status, text=f"Note {number}", shown=first)
    dump.note(7, at="2026-11-17T10:00:00", status=UNDECIDED, text="Note 7")
    decided(dump)


def test_the_undecided_ones_are_found_and_what_is_collected_besides_does_not_change(dump) -> None:
    first_day(dump)
    without, with_them = (run(dump, QUARTER, pending=pending) for pending in (False, True))
    assert without.pending is None
    assert [sample.id for sample in with_them.pending] == [f"xn-{number}" for number in (*YOUNG, 22)]
    assert replace(with_them, pending=None) == without
    assert with_them.pending[0].note.text == "Note 1"


def test_undecided_notes_on_posts_that_would_be_dropped_are_left_out(dump) -> None:
    dump.note(1, at="2026-11-18T10:00:00", status=UNDECIDED, locked=False)
    dump.note(2, at="2026-11-18T10:00:00", status=UNDECIDED, locked=False, post=77)
    dump.post(77, lang="pt")
    dump.note(3, at="2026-11-18T10:00:00", status=UNDECIDED, locked=False, text=" ")
    dump.note(4, at="2026-11-18T10:00:00", status=None)
    found = run(dump, QUARTER, pending=True)
    assert [sample.id for sample in found.pending] == ["xn-1"]


def hashes(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir()) if path.is_file()
    }


@pytest.fixture
def dated(dump, place, monkeypatch):
    """Makes it noon of a day and writes what a function fills a dump with."""

    def write(day: str, fill) -> Path:
        monkeypatch.setenv("HELLOFRESH_NOW", f"{day}T12:00:00Z")
        made = type(dump)(place / f"dump-{len(list(place.iterdir()))}")
        fill(made)
        return made.write()

    return write


@pytest.fixture
def life(dated, place, monkeypatch, cli):
    """Runs the lane by its commands: drawn from the first dump, predicted, labelled by the second."""

    def run(name: str, *, turned: bool) -> Path:
        monkeypatch.setenv("HELLOFRESH_DATA", str(place / name))
        cli("collect", "x-notes", *OF_IT, "--dump", dated("2026-11-21", first_day), "--pending")
        cli("release", "prospective", *OF_IT)
        lane = place / name / LANE
        before = hashes(lane)
        evaluate = ("evaluate", *OF_IT, "--task", "x-notes", "--model", "always-yes", "--split", "prospective")
        cli(*evaluate)
        cli("release", "publish", "--to", place / f"{name}-open")
        folder = dated("2026-12-20", partial(later, turned=turned))
        cli("collect", "x-notes", *OF_IT, "--dump", folder, "--pending")
        cli("release", "prospective", *OF_IT)
        assert hashes(lane) == before
        cli(*evaluate, code=2)  # too late to be prospective
        cli("release", "prospective", "--resolve", *OF_IT)
        cli("score", *OF_IT, "--split", "prospective")
        cli("release", "publish")
        return place / name

    return run


def test_what_is_public_before_the_labels_exist_is_the_same_whatever_they_become(life) -> None:
    one, other = life("one", turned=False), life("other", turned=True)
    assert (one / LANE / "samples.jsonl").read_bytes() == (other / LANE / "samples.jsonl").read_bytes()
    assert (one / LANE / "manifests/1.json").read_bytes() == (other / LANE / "manifests/1.json").read_bytes()
    shown = [contents(p.parent / f"{p.name}-open") for p in (one, other)]
    assert shown[0] == shown[1]
    found = [prospective_outcomes(Workspace(p), QUARTER, get_task("x-notes")) for p in (one, other)]
    labels = [{key: item.label for key, item in outcomes.items()} for outcomes in found]
    assert labels[0] == {key: 1 - label for key, label in labels[1].items()}
    assert set(labels[0]) == {f"xn-{number}" for number in YOUNG[:-2]}
    check_scores(one)


def check_scores(folder: Path) -> None:
    """The lane leads from undecided notes to scores."""
    lane = folder / LANE
    manifest = read_json(lane / "manifest.json")
    assert manifest["calendar"]["deadline"] == "2026-11-26T12:00:00Z"
    assert "commitments.jsonl" not in {entry["path"] for entry in manifest["files"]}
    # The one of 9 November may lock before the deadline, so it is not asked about.
    assert {row["id"] for row in read_jsonl(lane / "samples.jsonl")} == {f"xn-{number}" for number in YOUNG}
    assert reasons(folder) == {"xn-7": "no-label", "xn-8": "no-label"}
    assert manifest["resolved"]["labels"] == 6
    scores = pl.read_parquet(folder / "scores/prospective/2026Q4.parquet").filter(pl.col("period") == "all")
    assert set(scores.select("provenance", "system", "n", "n_split").rows()) == {("run", "always-yes", 6, 6)}
    values = dict(scores.select("metric", "value").rows())
    assert (values["precision"], values["recall"], values["accuracy"]) == (0.5, 1.0, 0.5)
    assert "text" not in json.dumps(list(read_jsonl(lane / "samples.jsonl"))).replace("text_sha256", "")
    table = pl.read_parquet(folder / "published/data/x-notes-prospective/2026Q4.parquet")
    assert table["label"].null_count() == 2
    assert card_texts().prospective in (folder / "published/README.md").read_text()


def reasons(folder: Path) -> dict[str, str]:
    return {row["id"]: row["reason"] for row in read_jsonl(folder / LANE / "outcomes.jsonl") if row["label"] is None}


def test_a_status_that_showed_before_the_deadline_is_counted_and_never_scored(dated, place, cli) -> None:
    """Who looked notes 1 to 3 up in time knew them all: what is scored must be the same without these answers."""
    shown = {1: "2026-11-22T10:00:00", 2: "2026-11-26T11:59:59", 3: "2026-11-20T12:00:00", 4: "2026-11-26T12:00:00"}
    known = partial(later, turned=False, shown=shown)
    for day, fill, more in (("2026-11-21", first_day, ()), ("2026-12-20", known, ("--resolve",))):
        cli("collect", "x-notes", *OF_IT, "--dump", dated(day, fill), "--pending")
        cli("release", "prospective", *more, *OF_IT)
    early = dict.fromkeys(("xn-1", "xn-2", "xn-3"), "early")
    assert reasons(place / "data") == early | {"xn-7": "no-label", "xn-8": "no-label"}
    resolved = read_json(place / "data" / LANE / "manifest.json")["resolved"]
    assert (resolved["labels"], resolved["dropped"]["early"]) == (3, 3)
    outcomes = prospective_outcomes(Workspace(place / "data"), QUARTER, get_task("x-notes"))
    assert outcomes.keys() == {"xn-4", "xn-5", "xn-6"}


def test_make_release_draws_asks_resolves_and_scores_where_the_settings_say_so(dated, place, cli) -> None:
    (place / "hellofresh.toml").write_text(
        "[release.prospective]\nenabled = true\ndays = 4\n"
        "drawn_before_opening_days = 90\nleast_samples = 6\nresolved_after_days = 20\n"
    )
    (place / "submissions").mkdir()
    for day, fill in (("2026-11-21", first_day), ("2026-12-20", partial(later, turned=False))):
        run = ("release", "run", *OF_IT, "--notes-dump", dated(day, fill), "--models", "always-yes")
        said = cli(*run)
    assert read_json(place / "data" / LANE / "manifest.json")["calendar"]["deadline"] == "2026-11-25T12:00:00Z"
    assert "x-notes 2026Q4, prospective: 6 labels; dropped: 2 no-label" in said
    assert pl.read_parquet(place / "data/scores/prospective/2026Q4.parquet")["n"].max() == 6
    assert "prospective: 6 labels (unchanged, skipped)" in cli(*run)
