"""A takedown names every place that holds the text, and with --everywhere not a byte of it is left in any of them."""

from __future__ import annotations

import asyncio
import io
import json
import shutil
import sqlite3
import zlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from hellofresh.cli import main
from hellofresh.core.files import canonical_json, read_jsonl
from hellofresh.core.quarters import Quarter, parse_utc
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.web import PageStatus, WebPage
from hellofresh.evidence.web.store import WebStore
from hellofresh.releases.draw.prospective import build_prospective
from hellofresh.releases.erasure import Erasure
from hellofresh.releases.life.load import load_release
from hellofresh.releases.life.state import reveal
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.journal import Journal, snapshot
from hellofresh.tasks import get_task
from tests.conftest import Maker
from tests.fakes import collect

QUARTER, TASK = Quarter(2023, 2), get_task("x-notes")
OPEN, REVEALED = "2023-08-01T12:00:00Z", "2023-11-01T12:00:00Z"
TEXT = 'My naïve neighbour, "Jo", said:\nI <never> asked\u00a0for this & want it\tback!'
TAKE_DOWN = ("release", "takedown", "xn-3", "--reason", "the author asked")
EVERYWHERE = (*TAKE_DOWN, "--everywhere")
WORD = "neighbour"
"""A word of the text that no other sample has: where it is found, the text is, however it is written."""


def everything(folder: Path) -> dict[str, bytes]:
    """All bytes below a folder, with tables and compressed cells unpacked by code of its own."""
    found = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        if path.suffix == ".parquet":
            content += repr(pl.read_parquet(io.BytesIO(content)).to_dicts()).encode()
        if path.suffix == ".sqlite":
            database = sqlite3.connect(f"{path.resolve().as_uri()}?immutable=1", uri=True)
            for (table,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
                for row in database.execute(f"SELECT * FROM {table}"):
                    content += b"".join(_plain(cell) for cell in row)
            database.close()
        found[path.relative_to(folder).as_posix()] = content
    return found


def _plain(cell: object) -> bytes:
    try:
        return zlib.decompress(cell) if isinstance(cell, bytes) else repr(cell).encode()
    except zlib.error:
        return bytes(cell)  # type: ignore[arg-type]


def holding(folder: Path) -> set[str]:
    return {name for name, content in everything(folder).items() if WORD.encode() in content}


def fill(found: Workspace, make: Maker, patch: pytest.MonkeyPatch) -> None:
    """A revealed quarter in which two notes stand under the post, with all that comes of it, and a prospective one."""
    patch.chdir(found.root.parent)
    patch.setenv("HELLOFRESH_DATA", str(found.root))
    patch.setenv("HELLOFRESH_NOW", OPEN)
    notes = [make.note(n, date=datetime(2023, 4, 1, tzinfo=UTC) + timedelta(days=n)) for n in range(24)]
    notes = [under(note) if k in {3, 4} else note for k, note in enumerate(notes)]
    make.release([make.candidate(note, k % 2) for k, note in enumerate(notes)], workspace=found)
    # A post that only quotes the text: what says almost the same would not be drawn.
    (quoting,) = [under(make.note(n, date=parse_utc(OPEN) - timedelta(days=1))) for n in range(100, 101)]
    post = replace(quoting.post, id="778", text=f"{TEXT} Somebody wrote this to me, who lives in the house next door.")
    waiting = [replace(quoting, group="x-778", post=post)]
    collect(found, QUARTER.next(), "x-notes", [], waiting)
    moment = parse_utc(OPEN)
    build_prospective(found, QUARTER.next(), TASK, seed="s", cap=9, days=5, moment=moment)
    for model in ("always-yes", "coin"):
        evaluate(found, Evaluation(QUARTER, TASK, model), lambda _: None)
    evaluate(found, Evaluation(QUARTER.next(), TASK, "coin", split="prospective"), lambda _: None)
    (run, *_) = sorted(found.runs.glob("2023Q2*"))
    keep_page(run)
    (run / "traces.jsonl").write_text(canonical_json({"id": "xn-3", "repetition": 2, "trace": [{"read": TEXT}]}) + "\n")
    patch.setenv("HELLOFRESH_NOW", REVEALED)
    assert reveal(found, QUARTER, TASK, parse_utc(REVEALED))
    export = ("runs", "export", run.name, "--format", "parquet", "--to", "exported")
    for command in (("score", "--quarter", "2023Q2"), ("board", "build"), ("release", "publish"), export):
        assert main([*command]) == 0


@pytest.fixture(scope="module")
def revealed(built_once, make_in) -> Path:
    """The folder of the workspace, which nobody changes."""

    def filled(folder: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            fill(make_in(folder).workspace(), make_in(folder), patch)

    return built_once("takedown", filled)


@pytest.fixture
def workspace(revealed: Path, place, monkeypatch) -> Workspace:
    """A copy of the workspace, at the reveal."""
    shutil.copytree(revealed, place, dirs_exist_ok=True)
    monkeypatch.setenv("HELLOFRESH_NOW", REVEALED)
    return Workspace(place / "data")


def under(note):
    post = type(note.post)("777", note.post.date, TEXT)
    return type(note)(
        **{name: getattr(note, name) for name in ("id", "task", "edition", "period", "date", "license", "note")},
        group="x-777", post=post,
    )  # fmt: skip


def keep_page(run: Path) -> None:
    """A page of the run that quotes the text, wrapped otherwise and with entities, in a compressed body."""
    quoted = TEXT.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace(" ", "\n")
    store = WebStore(run)
    pages = [WebPage(f"https://{n}.example/", "", PageStatus.OK, text="Other words.") for n in range(2)]
    asyncio.run(store.keep_page(pages[0], "text/html", f"<p>{quoted}</p>".encode()))
    asyncio.run(store.keep_page(pages[1], "text/html", b"<p>Other words.</p>"))
    store.close()


def test_without_everywhere_all_places_and_samples_of_the_same_text_are_named(workspace, cli) -> None:
    said = cli(*TAKE_DOWN)
    plain = said.replace(" ", "")
    for name in holding(workspace.root):
        assert f"{workspace.root}/{name}stillholdsthetext".replace(" ", "") in plain, name
    assert "samples of x-notes 2023Q2 (main) hold the text, too: xn-4" in said
    assert "samples of x-notes 2023Q3 (prospective) hold the text, too: xn-100" in said
    assert "--everywhere" in said


def test_with_everywhere_no_byte_of_it_is_left_and_everything_else_is(workspace, tmp_path, cli) -> None:
    (run, *_) = sorted(workspace.runs.glob("2023Q2*"))
    before = holding(workspace.root)
    kinds = {name.split("/")[0] for name in before}
    assert kinds >= {"candidates", "private", "runs"}
    assert {Path(name).suffix for name in before} >= {".jsonl", ".parquet", ".sqlite"}
    said = cli(*EVERYWHERE, "--also", "exported")
    assert holding(workspace.root) == set()
    assert holding(tmp_path / "exported") == set()
    assert "still holds" not in said
    release = load_release(workspace, QUARTER, TASK)
    assert release.taken_down == ("xn-3", "xn-4")
    assert {sample.id for sample in release.samples} == {f"xn-{n}" for n in range(24)} - {"xn-3", "xn-4"}
    rest = {f"xn-{n}" for n in range(24)} - {"xn-3", "xn-4"}
    assert {row["sample"] for row in read_jsonl(run / "responses.jsonl")} <= rest
    with snapshot(run) as journal:
        assert {entry.sample for entry in journal.entries()} == rest
    with_pages = next(path for path in workspace.runs.glob("*/web.sqlite"))
    database = sqlite3.connect(with_pages)
    assert [url for (url,) in database.execute("SELECT url FROM pages")] == ["https://1.example/"]
    database.close()
    for later in (["score", "--quarter", "2023Q2"], ["board", "build"], ["release", "publish"], ["release", "verify"]):
        cli(*later)
    assert holding(workspace.root) == set()
    table = pl.read_parquet(workspace.scores(QUARTER)).filter(pl.col("period") == "all")
    assert set(table["n"]) == {22}


def test_once_more_it_finds_nothing_to_do_and_says_that_the_text_is_gone(workspace, cli) -> None:
    cli(*EVERYWHERE)
    said = cli(*EVERYWHERE)
    assert "already taken down: xn-3" in said and "the texts of xn-3 are not in this workspace" in said


def test_a_takedown_that_was_not_everywhere_can_be_made_so_later(workspace, cli) -> None:
    """The release has the text no longer; candidates and runs still do."""
    cli(*TAKE_DOWN)
    assert holding(workspace.root)
    cli(*EVERYWHERE)
    assert holding(workspace.root) == set()


def test_a_takedown_that_was_interrupted_is_finished_by_the_same_command(workspace, cli, monkeypatch) -> None:
    erase, done = Erasure.erase, []

    def stop_at_the_second(self: Erasure, path: Path) -> bool:
        done.append(path)
        if len(done) == 2:
            raise KeyboardInterrupt
        return erase(self, path)

    with monkeypatch.context() as patch:
        patch.setattr(Erasure, "erase", stop_at_the_second)
        cli(*EVERYWHERE, code=130)
    assert holding(workspace.root)
    cli(*EVERYWHERE)
    assert holding(workspace.root) == set()


def test_what_cannot_be_cleared_is_named_and_is_a_failure(workspace, tmp_path, cli) -> None:
    raw = workspace.root / "raw" / "history.xml"
    raw.parent.mkdir()
    raw.write_text(f"<page>{TEXT}</page>")
    place = tmp_path / "submissions" / "2023Q2" / "acme" / "one"
    place.mkdir(parents=True)
    (place / "predictions.jsonl").write_text(json.dumps({"id": "xn-3", "label": 1, "rationale": TEXT}))
    said = cli(*EVERYWHERE, code=1)
    for path in (raw, place / "predictions.jsonl"):
        assert f"{path}stillholds".replace(" ", "") in said.replace(" ", "")
        assert WORD in path.read_text()
    assert holding(workspace.root) == {"raw/history.xml"}


def test_what_a_team_wrote_about_a_sample_is_left_and_listed_with_its_path(workspace, tmp_path, cli) -> None:
    place = tmp_path / "submissions" / "2023Q2" / "acme"
    for name, row in {
        "one": {"id": "xn-3", "label": 1, "rationale": "They are wrong, as everybody knows."},
        "two": {"id": "xn-3", "label": 1}, "three": {"id": "xn-9", "label": 1, "rationale": "Another."},
    }.items():  # fmt: skip
        (place / name).mkdir(parents=True)
        (place / name / "predictions.jsonl").write_text(json.dumps(row) + "\n")
    said = cli(*EVERYWHERE, code=1).replace(" ", "")
    assert f"{place}/one/predictions.jsonlstillholdswhatateamwrote" in said
    assert said.count("stillholdswhat") == 1
    assert (place / "one" / "predictions.jsonl").is_file()


def test_while_a_run_goes_on_nothing_is_cleared(workspace, cli) -> None:
    run = next(workspace.runs.glob("2023Q2*"))
    before = everything(workspace.root)
    with Journal(run):
        said = cli(*EVERYWHERE, code=2)
    assert "[run-goes-on]" in said and run.name in said
    after = everything(workspace.root)
    assert {name for name, content in after.items() if content != before.get(name)} <= {
        f"runs/{run.name}/journal.sqlite"  # that the test has it open changes its header
    }
