"""Community Notes from a server to candidates, as a person would do it."""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from collectors.settings import settings_from
from collectors.wikipedia import EditsSettings, Kind
from hellofresh.cli.arguments import command_line
from hellofresh.core.files import read_json, write_json
from tests.conftest import Cli

SUBFOLDERS = {"ratings": "noteRatings"}


@pytest.fixture(scope="module")
def published(sample_sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled sample in the published layout."""
    site = tmp_path_factory.mktemp("published")
    for path in sorted((sample_sources / "x-notes").glob("*.tsv")):
        stem = path.name.rsplit("-", 1)[0]
        target = site / "2026/07/23" / SUBFOLDERS.get(stem, stem) / f"{path.stem}.zip"
        target.parent.mkdir(parents=True, exist_ok=True)
        with ZipFile(target, "w", ZIP_DEFLATED) as archive:
            archive.write(path, path.name)
    return site


@pytest.fixture
def served(place: Path, sample_sources: Path, published: Path, serve: Callable[..., str]) -> Path:
    """The published layout on a server that the settings name; the folder of its plain files."""
    plain, site = place / "plain", place / "site"
    shutil.copytree(sample_sources / "x-notes", plain)
    shutil.copytree(published, site)
    (place / "hellofresh.toml").write_text(f'[sources.x-notes]\nbase_url = "{serve(site)}"\n')
    return plain


def test_a_downloaded_dump_gives_what_the_plain_one_gives(served: Path, cli: Cli) -> None:
    ask = ["collect", "x-notes", "--quarter", "2026Q2"]
    plain = cli.json(*ask, "--dump", served)
    candidates = Path("data/candidates/x-notes/2026Q2.parquet").read_bytes()
    download = ("--download", "--date", "2026-07-23", "--ratings", "--posts", served / "posts.jsonl")
    assert cli.json(*ask, *download) | {"why": ""} == plain | {"why": ""}
    assert Path("data/candidates/x-notes/2026Q2.parquet").read_bytes() == candidates
    assert cli.json(*ask, *download)["skipped"]


def test_an_archive_is_taken_once_and_says_so(served: Path, cli: Cli) -> None:
    first = cli.json("archive", "x-notes", "--date", "2026-07-23")
    manifest = read_json(Path("data/raw/x-notes/2026-07-23/manifest.json"))
    assert manifest["files"] == first["files"]
    assert [item["name"] for item in first["files"]] == [
        "noteStatusHistory/noteStatusHistory-00000.zip",
        "notes/notes-00000.zip",
        "notes/notes-00001.zip",
        "userEnrollment/userEnrollment-00000.zip",
    ]
    assert cli.json("archive", "x-notes", "--date", "2026-07-23") == first | {"skipped": True}


def test_a_day_without_a_dump_is_a_message(served: Path, cli: Cli) -> None:
    assert "[no-dump]" in cli("archive", "x-notes", "--date", "2026-07-01", code=1)
    assert not Path("data").exists()


def test_explaining_shows_the_funnel_and_writes_nothing(served: Path, cli: Cli) -> None:
    ask = ["collect", "x-notes", "--quarter", "2026Q2", "--dump", served]
    explained = cli.json(*ask, "--explain")
    assert not Path("data").exists()
    assert cli.json(*ask) == explained


def test_explaining_a_quarter_without_candidates_says_where_the_notes_went(served: Path, cli: Cli) -> None:
    funnel = cli.json("collect", "x-notes", "--quarter", "2020Q1", "--dump", served, "--explain")["funnel"]
    assert funnel["rows_in"] == next(d["count"] for d in funnel["drops"] if d["reason"] == "other-quarter") > 0


def test_the_whole_path_takes_the_newest_snapshot_from_the_configured_address(served: Path, cli: Cli) -> None:
    run = ["release", "run", "--quarter", "2026Q2", "--models", "always-yes"]
    said = cli(*run, code=2)
    assert "[no-snapshot]" in said and "hellofresh archive x-notes" in said
    assert not Path("data/candidates").exists()

    cli("archive", "x-notes", "--date", "2026-07-23", "--ratings")
    snapshot = Path("data/raw/x-notes/2026-07-23")
    shutil.copy(served / "posts.jsonl", snapshot)
    elsewhere = Path("data/raw/x-notes/2026-07-24")
    elsewhere.mkdir()
    manifest = read_json(snapshot / "manifest.json") | {"base_url": "http://127.0.0.1:9/elsewhere"}
    write_json(elsewhere / "manifest.json", manifest)
    Path("data/raw/x-notes/2026-07-25").mkdir()
    cli(*run)
    collected = read_json(Path("data/candidates/x-notes/2026Q2.json"))
    assert collected["source"] == "dump"
    # Beside the snapshot's files stand the posts, and the table of voters that was fitted from its ratings.
    given = {item["name"]: item["sha256"] for item in collected["sources"]}
    assert given.pop("posts.jsonl") and given.pop("2026Q2.parquet")
    assert given == {item["name"].split("/")[1]: item["sha256"] for item in manifest["files"]}
    assert not Path("data/candidates/wikipedia-edits").exists()


def test_unreadable_lines_are_in_a_file_that_the_warning_names(served: Path, cli: Cli) -> None:
    path = served / "notes-00000.tsv"
    lines = path.read_bytes().splitlines(keepends=True)
    filler = [lines[1].replace(lines[1].split(b"\t")[0], b"%d" % number, 1) for number in range(1, 2001)]
    old = [line.replace(line.split(b"\t")[2], b"1577836800000", 1) for line in filler]
    path.write_bytes(b"".join([*lines, *old, b"torn\n"]))
    ask = ["collect", "x-notes", "--quarter", "2026Q2", "--dump", served]
    assert "collecting them writes them to a file" in cli(*ask, "--explain")
    assert not Path("data").exists()
    cli(*ask)
    rejects = Path(os.environ["HELLOFRESH_DATA"]) / "raw/x-notes/2026Q2/rejects-notes.tsv"
    assert str(rejects) in cli.err.replace("\n", "")
    assert rejects.read_bytes().endswith(b"\ttorn\n")
    (warning,) = [
        text for text in read_json(Path("data/candidates/x-notes/2026Q2.json"))["warnings"] if "lines" in text
    ]
    assert warning.endswith("see data/raw/x-notes/2026Q2/rejects-notes.tsv.")


def parsed(*words: str) -> argparse.Namespace:
    return command_line().parse_args(["collect", "wikipedia-edits", "--quarter", "2023Q2", *words])


def test_with_nothing_chosen_the_settings_are_the_defaults() -> None:
    assert settings_from(EditsSettings, parsed()) == EditsSettings()
    assert (parsed().jobs, parsed().cluster) == (None, "")


@pytest.mark.parametrize("name", ["whole_paragraphs", "keep_bots", "keep_restored", "collapse_runs"])
def test_each_switch_turns_on_its_own_setting(name: str) -> None:
    assert settings_from(EditsSettings, parsed(f"--{name.replace('_', '-')}")) == EditsSettings(**{name: True})


def test_kinds_are_the_same_in_any_order_and_number() -> None:
    chosen = settings_from(EditsSettings, parsed("--kinds", "quote", "prose", "quote"))
    assert chosen == settings_from(EditsSettings, parsed("--kinds", "prose", "quote"))
    assert chosen.kinds == (Kind.PROSE, Kind.QUOTE)
