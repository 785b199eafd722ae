"""Undecided notes: found beside the decided ones, asked about before anybody can know, labelled by a later dump."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from collectors.notes import NotesSettings, NotesSource, collect
from hellofresh.cli import main
from hellofresh.core.files import read_json, read_jsonl
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.releases.draw.prospective import prospective_outcomes
from hellofresh.releases.publish._card import card_texts
from hellofresh.tasks import get_task

QUARTER = Quarter(2026, 4)
YOUNG = range(1, 9)
HELPFUL, NOT_HELPFUL, UNDECIDED = "CURRENTLY_RATED_HELPFUL", "CURRENTLY_RATED_NOT_HELPFUL", "NEEDS_MORE_RATINGS"


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


def collected(folder: Path, dump: Path, *, pending: bool):
    return collect(QUARTER, NotesSource(dump), NotesSettings(), workdir=folder, pending=pending)


def test_the_undecided_ones_are_found_and_what_is_collected_besides_does_not_change(dump, tmp_path) -> None:
    first_day(dump)
    folder = dump.write()
    without, with_them = (collected(tmp_path, folder, pending=pending) for pending in (False, True))
    assert without.pending is None
    assert [sample.id for sample in with_them.pending] == [f"xn-{number}" for number in (*YOUNG, 22)]
    assert replace(with_them, pending=None) == without
    assert with_them.pending[0].note.text == "Note 1"


def test_undecided_notes_on_posts_that_would_be_dropped_are_left_out(dump, tmp_path) -> None:
    dump.note(1, at="2026-11-18T10:00:00", status=UNDECIDED, locked=False)
    dump.note(2, at="2026-11-18T10:00:00", status=UNDECIDED, locked=False, post=77)
    dump.post(77, lang="pt")
    dump.note(3, at="2026-11-18T10:00:00", status=UNDECIDED, locked=False, text=" ")
    dump.note(4, at="2026-11-18T10:00:00", status=None)
    found = collected(tmp_path, dump.write(), pending=True)
    assert [sample.id for sample in found.pending] == ["xn-1"]


def hashes(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir()) if path.is_file()
    }


@pytest.fixture
def life(dump, tmp_path, monkeypatch):
    """Runs the lane by its commands: drawn from the first dump, predicted, labelled by the second."""

    def run(name: str, *, turned: bool) -> Path:
        def command(*arguments: str) -> None:
            assert main(list(arguments)) == 0

        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path / name))
        monkeypatch.setenv("HELLOFRESH_NOW", "2026-11-21T12:00:00Z")
        quarter = ("--quarter", str(QUARTER))
        one = type(dump)(tmp_path / f"{name}-one")
        first_day(one)
        command("collect", "x-notes", *quarter, "--dump", str(one.write()), "--pending")
        command("release", "prospective", *quarter)
        lane = tmp_path / name / "releases/2026Q4/x-notes/prospective"
        before = hashes(lane)
        evaluate = ("evaluate", *quarter, "--task", "x-notes", "--model", "always-yes", "--split", "prospective")
        command(*evaluate)
        command("release", "publish", "--to", str(tmp_path / f"{name}-open"))
        two = type(dump)(tmp_path / f"{name}-two")
        later(two, turned=turned)
        monkeypatch.setenv("HELLOFRESH_NOW", "2026-12-20T12:00:00Z")
        command("collect", "x-notes", *quarter, "--dump", str(two.write()), "--pending")
        command("release", "prospective", *quarter)
        assert hashes(lane) == before
        assert main(list(evaluate)) == 2  # too late to be prospective
        command("release", "prospective", "--resolve", *quarter)
        command("score", *quarter, "--split", "prospective")
        command("release", "publish")
        return tmp_path / name

    return run


def test_what_is_public_before_the_labels_exist_is_the_same_whatever_they_become(life) -> None:
    one, other = life("one", turned=False), life("other", turned=True)
    place = "releases/2026Q4/x-notes/prospective"
    assert (one / place / "samples.jsonl").read_bytes() == (other / place / "samples.jsonl").read_bytes()
    assert (one / place / "manifests/1.json").read_bytes() == (other / place / "manifests/1.json").read_bytes()
    shown = [p.parent / f"{p.name}-open" for p in (one, other)]
    files = [{p.relative_to(f): p.read_bytes() for p in sorted(f.rglob("*")) if p.is_file()} for f in shown]
    assert files[0] == files[1]
    found = [prospective_outcomes(Workspace(p), QUARTER, get_task("x-notes")) for p in (one, other)]
    labels = [{key: item.label for key, item in outcomes.items()} for outcomes in found]
    assert labels[0] == {key: 1 - label for key, label in labels[1].items()}
    assert set(labels[0]) == {f"xn-{number}" for number in YOUNG[:-2]}


def test_the_lane_from_undecided_notes_to_scores(life) -> None:
    folder = life("one", turned=False)
    lane = folder / "releases/2026Q4/x-notes/prospective"
    manifest = read_json(lane / "manifest.json")
    assert manifest["calendar"]["deadline"] == "2026-11-26T12:00:00Z"
    assert "commitments.jsonl" not in {entry["path"] for entry in manifest["files"]}
    # The one of 9 November may lock before the deadline, so it is not asked about.
    assert {row["id"] for row in read_jsonl(lane / "samples.jsonl")} == {f"xn-{number}" for number in YOUNG}
    dropped = {row["id"]: row["reason"] for row in read_jsonl(lane / "outcomes.jsonl") if row["label"] is None}
    assert dropped == {"xn-7": "no-label", "xn-8": "no-label"}
    assert manifest["resolved"]["labels"] == 6
    scores = pl.read_parquet(folder / "scores/prospective/2026Q4.parquet").filter(pl.col("period") == "all")
    assert set(scores.select("provenance", "system", "n", "n_split").rows()) == {("run", "always-yes", 6, 6)}
    values = dict(scores.select("metric", "value").rows())
    assert (values["precision"], values["recall"], values["accuracy"]) == (0.5, 1.0, 0.5)
    assert "text" not in json.dumps(list(read_jsonl(lane / "samples.jsonl"))).replace("text_sha256", "")
    table = pl.read_parquet(folder / "published/data/x-notes-prospective/2026Q4.parquet")
    assert table["label"].null_count() == 2
    assert card_texts().prospective in (folder / "published/README.md").read_text()


def test_a_status_that_showed_before_the_deadline_is_counted_and_never_scored(dump, tmp_path, monkeypatch) -> None:
    """Who looked notes 1 to 3 up in time knew them all: what is scored must be the same without these answers."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path / "data"))
    quarter = ("--quarter", str(QUARTER))
    early = {1: "2026-11-22T10:00:00", 2: "2026-11-26T11:59:59", 3: "2026-11-20T12:00:00"}
    for day, fill, verbs in (
        ("2026-11-21", first_day, [("release", "prospective", *quarter)]),
        (
            "2026-12-20",
            lambda two: later(two, turned=False, shown={**early, 4: "2026-11-26T12:00:00"}),
            [("release", "prospective", "--resolve", *quarter)],
        ),
    ):
        monkeypatch.setenv("HELLOFRESH_NOW", f"{day}T12:00:00Z")
        one = type(dump)(tmp_path / day)
        fill(one)
        for command in (("collect", "x-notes", *quarter, "--dump", str(one.write()), "--pending"), *verbs):
            assert main(list(command)) == 0
    lane = tmp_path / "data/releases/2026Q4/x-notes/prospective"
    reasons = {row["id"]: row["reason"] for row in read_jsonl(lane / "outcomes.jsonl") if row["label"] is None}
    assert reasons == {"xn-1": "early", "xn-2": "early", "xn-3": "early", "xn-7": "no-label", "xn-8": "no-label"}
    resolved = read_json(lane / "manifest.json")["resolved"]
    assert (resolved["labels"], resolved["dropped"]["early"]) == (3, 3)
    assert prospective_outcomes(Workspace(tmp_path / "data"), QUARTER, get_task("x-notes")).keys() == {
        "xn-4",
        "xn-5",
        "xn-6",
    }


def test_make_release_draws_asks_resolves_and_scores_where_the_settings_say_so(
    dump, tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path / "data"))
    (tmp_path / "hellofresh.toml").write_text("[release.prospective]\nenabled = true\ndays = 4\n")
    (tmp_path / "submissions").mkdir()
    lane = tmp_path / "data/releases/2026Q4/x-notes/prospective"
    for day, fill in (("2026-11-21", first_day), ("2026-12-20", lambda two: later(two, turned=False))):
        monkeypatch.setenv("HELLOFRESH_NOW", f"{day}T12:00:00Z")
        one = type(dump)(tmp_path / day)
        fill(one)
        run = ("release", "run", "--quarter", str(QUARTER), "--notes-dump", str(one.write()), "--models", "always-yes")
        assert main(list(run)) == 0
        said = " ".join(capsys.readouterr().err.split())
    assert read_json(lane / "manifest.json")["calendar"]["deadline"] == "2026-11-25T12:00:00Z"
    assert "x-notes 2026Q4, prospective: 6 labels; dropped: 2 no-label" in said
    assert pl.read_parquet(tmp_path / "data/scores/prospective/2026Q4.parquet")["n"].max() == 6
    assert main(list(run)) == 0
    assert "prospective: 6 labels (unchanged, skipped)" in " ".join(capsys.readouterr().err.split())
