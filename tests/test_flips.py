"""One byte of anything that a stage writes and a later one trusts changes: the reader names the file, or heals it.

docs/formats.md has the table of what is checked against what, by whom.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.conftest import Cli, Maker

BUILD = ("release", "build", "--quarter", "2023Q2", "--task", "x-notes")
SCORE, BOARD = ("score", "--edition", "2023Q2"), ("board", "build")
AGAIN = ("evaluate", "--edition", "2023Q2", "--task", "x-notes", "--model", "coin")
SHOW = ("runs", "show")
RELEASE, RUN, PRIVATE = "releases/2023Q2/x-notes/", "runs/*_coin_*/", "private/2023Q2/x-notes/"
FLIPS = {
    # The file and a text in it whose last letter changes (none: the byte in the middle): the command that reads it, and
    # the code of its refusal.
    ("candidates/x-notes/2023Q2.json", "x-notes"): (BUILD, "bad-account"),
    (RELEASE + "samples.jsonl", "xn-4001"): (SCORE, "bad-hash"),
    (RELEASE + "labels.jsonl", "xn-4001"): (SCORE, "bad-hash"),
    (RELEASE + "commitments.jsonl", "xn-4001"): (SCORE, "bad-hash"),
    (PRIVATE + "labels.jsonl", '"label":1'): (SCORE, "bad-commitment"),
    ("scores/2023Q2.parquet", ""): (BOARD, "changed-output"),
    ("scores/2023Q2.json", "answers"): (BOARD, "changed-output"),
    ("judgements/2023Q2.parquet", ""): (BOARD, "changed-output"),
    (RUN + "predictions.jsonl", '"label":1'): (SCORE, "damaged-run"),
    (RUN + "responses.jsonl", "yes"): (SHOW, "damaged-run"),
    (RUN + "prompts.json", "frame"): (SHOW, "damaged-run"),
    (RUN + "run.json", '"judged": 18'): (SCORE, "damaged-run"),
    (RUN + "journal.sqlite", "xn-4001"): (AGAIN, "bad-journal"),
    (RUN + "plan.json", "x-notes"): (SHOW, "damaged-run"),
}  # fmt: skip


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A quarter that is revealed, with two runs, scores and a board."""
    make = Maker(tmp_path_factory.mktemp("flips"))
    make.scored(make.notes(3, 3), "coin", "always-yes")
    return make.workspace().root


@pytest.fixture
def data(finished: Path, place: Path) -> Path:
    return Path(shutil.copytree(finished, place / "data"))


def flip(data: Path, pattern: str, text: str) -> Path:
    (path,) = data.glob(pattern)
    content = path.read_bytes()
    at = content.index(text.encode()) + len(text) - 1 if text else len(content) // 2
    path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    return path


@pytest.mark.parametrize("what", FLIPS, ids=lambda what: what[0].rpartition("/")[2])
def test_a_flipped_byte_is_refused_by_the_name_of_its_file(data: Path, cli: Cli, what: tuple[str, str]) -> None:
    command, code = FLIPS[what]
    path = flip(data, *what)
    run = [next(data.glob("runs/*_coin_*")).name] if command == SHOW else []
    before = sorted((item, item.read_bytes()) for item in data.rglob("releases/**/*") if item.is_file())
    said = cli(*command, *run, code=1)
    assert f"[{code}]" in said and path.name in said, said
    assert sorted((item, item.read_bytes()) for item in data.rglob("releases/**/*") if item.is_file()) == before


HEALED = {
    (RELEASE + "predictions.jsonl", '"label":1'): SCORE, (RELEASE + "scores.jsonl", '"n":1'): SCORE,
    ("scores/2023Q2.parquet", ""): SCORE, ("judgements/2023Q2.parquet", ""): SCORE, ("board/scores.parquet", ""): BOARD,
    ("board/manifest.json", "path"): BOARD, ("published/README.md", "HelloFresh"): ("release", "publish"),
}  # fmt: skip


@pytest.mark.parametrize("what", HEALED, ids=lambda what: what[0])
def test_what_follows_from_the_rest_is_written_again_as_it_was(data: Path, cli: Cli, what: tuple[str, str]) -> None:
    cli(*BOARD)
    cli("release", "publish")
    before = next(data.glob(what[0])).read_bytes()
    manifest = next(data.glob(RELEASE + "manifest.json")).read_bytes()
    path = flip(data, *what)
    cli(*HEALED[what])
    assert path.read_bytes() == before and next(data.glob(RELEASE + "manifest.json")).read_bytes() == manifest


def test_a_changed_manifest_is_refused_by_what_was_published(data: Path, cli: Cli) -> None:
    cli("release", "publish")
    flip(data, RELEASE + "manifest.json", "seed")
    for command in (("release", "publish"), ("quarter", "status"), ("release", "verify", data / "releases/2023Q2")):
        assert "2023Q2/x-notes" in cli(*command, code=1)


def test_scores_and_the_board_say_what_became_of_every_answer_and_keep_it_beside_the_result(
    data: Path, cli: Cli
) -> None:
    (data / "scores/2023Q2.json").unlink()
    assert "x-notes 2023Q2: 36 answers: 36 went on, 0 left out" in cli(*SCORE)
    kept = json.loads((data / "scores/2023Q2.json").read_text())
    assert kept["x-notes"] == {"unit": "answers", "came_in": 36, "went_on": 36, "left_out": {}}
    said = cli(*BOARD)
    ledgers = json.loads((data / "board/manifest.json").read_text())["ledgers"]
    assert [one["unit"] for one in ledgers] == ["scores", "answers"]
    assert all(f"{one['came_in']} {one['unit']}: {one['went_on']} went on" in said for one in ledgers)


@pytest.mark.parametrize("folder", ["", "prospective", "private"])
def test_a_file_of_no_edition_is_named_among_judgements_and_refused_among_scores(
    data: Path, cli: Cli, folder: str
) -> None:
    side, split = (data / "private", "") if folder == "private" else (data, folder)
    for name in ("2023Q2.more.parquet", "2019Q1.parquet", "x.txt"):
        path = side / "judgements" / split / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((data / "judgements/2023Q2.parquet").read_bytes())
        assert f"note: {path.relative_to(data)} belongs to no released edition" in cli(*BOARD)
    path = side / "scores" / split / "2019Q1.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((data / "scores/2023Q2.parquet").read_bytes())
    assert "[stray-scores]" in cli(*BOARD, code=1) and path.name in cli.err


def test_the_board_says_how_many_samples_have_no_texts_here(data: Path, cli: Cli) -> None:
    assert "no texts here" not in cli(*BOARD)
    path = data / PRIVATE / "samples.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[1:]))
    assert "note: x-notes 2023Q2: 1 of 18 samples have no texts here" in cli(*BOARD)


def test_the_same_evaluate_writes_a_damaged_run_again_and_asks_nobody(data: Path, cli: Cli) -> None:
    (folder,) = data.glob(RUN)
    whole = {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in (".json", ".jsonl")}
    for name in sorted(whole):
        if name != "plan.json":
            (folder / name).write_bytes(whole[name].replace(b"1", b"2", 1))
    assert "damaged" in cli(*SHOW)
    cli(*AGAIN)
    assert {name: (folder / name).read_bytes() for name in whole} == whole


@pytest.mark.parametrize("gone", ["empty", "missing", "some"])
def test_a_journal_without_answers_of_a_finished_run_is_damage(
    data: Path, cli: Cli, gone: str, damaged_journal: Callable[[Path, str], None]
) -> None:
    (folder,) = data.glob(RUN)
    damaged_journal(folder / "journal.sqlite", gone)
    assert "[bad-journal]" in cli(*AGAIN, code=1) and "from which run.json was made" in cli.err
    (folder / "run.json").unlink()
    (folder / "journal.sqlite").unlink()
    cli(*AGAIN)


@pytest.fixture
def damaged_journal() -> Callable[[Path, str], None]:
    import sqlite3

    def damage(path: Path, how: str) -> None:
        if how == "some":
            with sqlite3.connect(path) as database:
                database.execute("DELETE FROM answers WHERE number % 2")
            database.close()
            return
        path.unlink()
        if how == "empty":
            path.touch()

    return damage


def test_a_board_is_held_to_the_releases_beside_it_and_says_what_it_cannot_check(data: Path, cli: Cli) -> None:
    cli(*BOARD)
    board = data / "board"
    said = cli("release", "verify", board)
    assert "ok" in said and "Not checked: standings, pairs and every other table of the board" in said
    scores, manifest = pl.read_parquet(board / "scores.parquet"), json.loads((board / "manifest.json").read_text())
    scores.with_columns(value=pl.col("value") + 1e-9).write_parquet(board / "scores.parquet")
    assert "'scores.parquet' differs" in cli("release", "verify", board, code=1)
    entry = next(entry for entry in manifest["files"] if entry["path"] == "scores.parquet")
    content = (board / "scores.parquet").read_bytes()
    entry |= {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
    (board / "manifest.json").write_text(json.dumps(manifest))
    assert "scores of the board: 5 fault(s)" in cli("release", "verify", board, code=1)
    scores.write_parquet(board / "scores.parquet")
    (board / "more.txt").write_text("more")
    assert "'more.txt' does not belong here" in cli("release", "verify", board, code=1)
