"""Every command of the page on troubles is typed here, in the trouble that it is for."""

from __future__ import annotations

import re
import shutil
import sqlite3
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from collectors.jobs import configured_notes_source, fault_of_dump
from collectors.notes import NotesSettings
from hellofresh.config import Settings
from hellofresh.core.files import read_jsonl
from hellofresh.core.quarters import utc_text
from hellofresh.releases.life.load import load_labels, load_release
from hellofresh.releases.life.manifest import read_manifest
from hellofresh.releases.life.record import record_opening, record_waiting
from hellofresh.releases.life.state import reveal
from hellofresh.releases.publish.folder import publish_to_folder
from hellofresh.tasks import get_task
from tests.collectors.notes.conftest import Dump
from tests.conftest import ROOT, Cli, Maker
from tests.releases.test_exposure import noted_post
from tests.submissions.checks import write_submission
from tests.year.test_gate import DAYS, QUARTER, built

PAGE = (ROOT / "docs/trouble.md").read_text()
DAY = timedelta(days=1)
NOTES = get_task("x-notes")


def sections() -> dict[str, list[list[str]]]:
    """The commands below each heading, as words."""
    found = {}
    for part in PAGE.split("\n## ")[1:]:
        lines = [
            line.split("  #")[0] for block in re.findall(r"```\n(.*?)```", part, re.S) for line in block.split("\n")
        ]
        commands = [re.findall(r'"[^"]*"|\S+', line)[1:] for line in lines if line.startswith("hellofresh ")]
        found[part.split("\n")[0]] = [[word.strip('"') for word in words] for words in commands]
    return found


class Trouble:
    """A maintainer in trouble: a workspace with an opened, published quarter."""

    def __init__(self, make: Maker, cli: Cli, patch: pytest.MonkeyPatch) -> None:
        self.make, self.cli, self.patch = make, cli, patch
        self.workspace, self.target = make.workspace(), Path("published-elsewhere")
        self.words: dict[str, str] = {}
        self.at(DAYS.opens + DAY)

    def at(self, moment) -> None:
        self.moment = moment
        self.patch.setenv("HELLOFRESH_NOW", utc_text(moment))

    def published(self) -> None:
        built(self.make, 12)
        publish_to_folder(self.workspace, self.target, DAYS.opens)

    def type(self, words: list[str], code: int = 0) -> str:
        words = [self.words.get(word, word) for word in words]
        witness = (
            ["--yes-it-is", f"{self.moment:%Y-%m-%d}"]
            if words[:2] in (["quarter", "open"], ["release", "publish"])
            else []
        )
        return self.cli(*words, *witness, code=code)


def waits(one: Trouble) -> None:
    record_waiting(built(one.make, 2), one.workspace.release(QUARTER, "x-notes"))
    first, second = sections()["A quarter waits"]
    assert "--anyway" in one.type(first, code=1)
    assert "is open" in one.type(second)


def backup(one: Trouble) -> None:
    built(one.make, 2)
    shutil.copytree(one.workspace.root, "backup")
    one.published()
    shutil.rmtree(one.workspace.root)
    shutil.copytree("backup", one.workspace.root)
    (command,) = sections()["A restored backup"]
    assert "restore --from" in one.cli(
        "release", "publish", "--to", str(one.target), "--yes-it-is", "2023-07-23", code=1
    )
    assert "72 labels recovered" in one.type(command)
    one.cli("release", "publish", "--to", str(one.target), "--yes-it-is", "2023-07-23")


def lost_key(one: Trouble) -> None:
    one.published()
    one.workspace.escrow_key.unlink()
    assert "--new-key" in one.cli("quarter", "status", code=1)
    one.type(sections()["A lost key"][0])
    one.cli("quarter", "status")
    assert reveal(one.workspace, QUARTER, NOTES, DAYS.reveals)


def edited(one: Trouble) -> None:
    one.published()
    readme = one.target / "README.md"
    before = readme.read_text()
    readme.write_text("mine")
    assert "was edited by hand" in one.cli("quarter", "status", code=1)
    one.type(sections()["A target was edited"][0])
    assert readme.read_text() == before


def two(one: Trouble) -> None:
    one.published()
    other = one.make.workspace("other")
    one.make.release(one.make.notes(12, 12), workspace=other)
    one.patch.setenv("HELLOFRESH_DATA", str(other.root))
    said = one.cli("release", "publish", "--to", str(one.target), "--yes-it-is", "2023-07-23", code=1)
    assert "other-publication" in said


def columns(one: Trouble) -> None:
    folder = Path("data/raw/x-notes/2023-07-17")
    dump = Dump(folder)
    dump.note(1, at="2023-04-03T10:00:00")
    dump.write()
    notes = next(folder.rglob("notes-*.tsv"))
    notes.write_text(notes.read_text().replace("noteId", "note_id", 1))
    assert "columns = { noteId" in str(fault_of_dump(folder, Settings()))
    table = re.search(r"```toml\n(.*?)```", PAGE, re.S)
    Path("hellofresh.toml").write_text(f'{table[1] if table else ""}dump = "{folder}"\n')
    settings = Settings.load()
    assert fault_of_dump(folder, settings) is None
    source = configured_notes_source(one.workspace, settings)
    assert source is not None and source.as_parameters()["columns"] == {"noteId": "note_id"}
    source.check_columns(NotesSettings())


def retired(one: Trouble) -> None:
    one.published()
    one.cli("evaluate", "--edition", str(QUARTER), "--task", "x-notes", "--model", "coin", "--prompts", "manual")
    (run,) = one.workspace.runs.iterdir()
    for path in (run / "run.json", run / "predictions.jsonl"):  # it never came to its end
        path.unlink()
    journal = sqlite3.connect(run / "journal.sqlite", isolation_level=None)
    (table,) = [
        name for (name,) in journal.execute("SELECT name FROM sqlite_schema WHERE type = 'table'") if name == "answers"
    ]
    journal.execute(f"DELETE FROM {table} WHERE rowid % 3 = 0")
    journal.close()
    one.words = {"RUN": run.name}
    said = one.type(sections()["A model is retired in mid-run"][0])
    assert "48 of 72 samples answered" in said
    assert len((run / "predictions.jsonl").read_text().splitlines()) >= 48


def wrong_label(one: Trouble) -> None:
    one.published()
    assert reveal(one.workspace, QUARTER, NOTES, DAYS.reveals)
    one.at(DAYS.reveals + DAY)
    key = load_release(one.workspace, QUARTER, NOTES).samples[0].id
    was = load_labels(one.workspace, QUARTER, NOTES)[key].label
    one.words = {"ID": key, "LABEL": str(1 - was)}
    one.type(sections()["A wrong label"][0])
    one.cli("release", "publish", "--to", str(one.target), "--yes-it-is", f"{one.moment:%Y-%m-%d}")
    one.cli("release", "verify", str(one.target))
    (new,) = read_manifest(one.target / f"releases/{QUARTER}/x-notes").corrections
    assert (new.id, new.label, new.was) == (key, 1 - was, was)
    assert load_labels(one.workspace, QUARTER, NOTES)[key].label == 1 - was
    table = pl.read_parquet(next((one.target / "data/x-notes").glob("*.parquet")))
    assert dict(table.select("id", "label").iter_rows())[key] == 1 - was
    rows = read_jsonl(one.target / f"releases/{QUARTER}/x-notes/labels.jsonl")
    assert {row["id"]: row["label"] for row in rows}[key] == was
    for wrong in ("2", str(1 - was)):
        assert "[bad-correction]" in one.cli("release", "correct", key, "--label", wrong, "--reason", "no", code=2)


def withdrawn(one: Trouble) -> None:
    one.published()
    Path("submissions").mkdir()
    rows = [{"id": sample.id, "label": 1} for sample in load_release(one.workspace, QUARTER, NOTES).samples]
    write_submission(Path("handed/TEAM/SYSTEM".lower()), rows, "Hashes", "Team")
    one.cli("submission", "add", "handed/team/system", "--edition", str(QUARTER))
    one.words = {"TEAM": "team", "SYSTEM": "system"}
    one.type(sections()["A submission is withdrawn"][0])
    assert not Path("submissions/2023Q2/team").exists()


def unrated(one: Trouble) -> None:
    said = {"high_text": "The office denies it.", "second_text": "No."}
    one.make.release([replace(noted_post(n, QUARTER), extras=said) for n in range(4)], quarter=QUARTER)
    record_opening(one.workspace, one.workspace.release(QUARTER, "x-posts"), DAYS.opens)
    samples = load_release(one.workspace, QUARTER, get_task("x-posts")).samples
    Path("submissions").mkdir()
    rows = [{"id": sample.id, "text": f"The office of {sample.id} says something else about it."} for sample in samples]
    write_submission(Path("handed/team/system"), rows, "Hashes", "Team")
    one.cli("submission", "add", "handed/team/system", "--edition", str(QUARTER))
    one.at(DAYS.deadline)
    assert " ".join(sections()["Unrated responses"][0]) in one.cli("quarter", "status")
    one.type(sections()["Unrated responses"][0])


def archived(one: Trouble) -> None:
    one.published()
    sample = load_release(one.workspace, QUARTER, NOTES).samples[0]
    shard = one.workspace.snapshots("x-notes") / "2023-07-17/notes/notes-00000.zip"
    shard.parent.mkdir(parents=True)
    with zipfile.ZipFile(shard, "w") as archive:
        archive.writestr("notes-00000.tsv", f"noteId\tsummary\n1\t{sample.note.text}\n2\tanother note\n")
    one.words = {"ID": sample.id}
    one.type(sections()["A text must go from archived dumps"][0])
    with zipfile.ZipFile(shard) as archive:
        assert archive.read("notes-00000.tsv") == b"noteId\tsummary\n2\tanother note\n"


def clock(one: Trouble) -> None:
    one.at(DAYS.opens)
    one.type(sections()["The clock is wrong"][0])


def early(one: Trouble) -> None:
    (one.workspace.root / "workspace.json").parent.mkdir(parents=True)
    (one.workspace.root / "workspace.json").write_text("{")
    Path("today.txt").write_text("43 of 43 steps done")
    one.cli("quarter", "run", "--summary", "today.txt", code=1)
    assert "started, but not finished" in Path("today.txt").read_text()


CASES: Mapping[str, Callable[[Trouble], None] | None] = {
    "A quarter waits": waits, "A restored backup": backup, "A lost key": lost_key,
    "Texts or sketches are lost": None,  # test_copies_of_released_notes_are_left_out_also_without_their_texts
    "A target was edited": edited, "Two maintainers": two, "A dump whose columns changed": columns,
    "A model is retired in mid-run": retired, "A wrong label": wrong_label, "A submission is withdrawn": withdrawn,
    "Unrated responses": unrated, "A text must go from archived dumps": archived,
    "The clock is wrong": clock, "A day ended early": early,
}  # fmt: skip


def test_every_case_of_the_page_is_typed_here_and_it_is_short() -> None:
    assert sections().keys() == CASES.keys() and len(PAGE.split()) <= 900


@pytest.mark.parametrize("case", [name for name, case in CASES.items() if case])
def test_what_the_page_says_helps(make: Maker, place: Path, cli: Cli, monkeypatch, case: str) -> None:
    do = CASES[case]
    assert do is not None
    do(Trouble(make, cli, monkeypatch))
