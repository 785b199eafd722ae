"""A publication holds what opened quarters have made public, and nothing else; its folder is the old or the new."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from hellofresh.core.calendar import CalendarRule
from hellofresh.core.files import read_json, read_jsonl, sha256_file
from hellofresh.core.quarters import Quarter
from hellofresh.releases.life.manifest import BUNDLED
from hellofresh.releases.life.state import reveal
from hellofresh.releases.publish._card import card, card_texts, statements
from hellofresh.releases.publish._parts import _united, opened_parts
from hellofresh.releases.publish.folder import publish_to_folder
from hellofresh.tasks import TASKS
from tests.fakes import contents, refused

SECOND = timedelta(seconds=1)


@pytest.fixture
def released(make, quarter):
    """A workspace with one release of x-notes from a real source, built before the quarter opened."""
    make.release(make.notes(3, 3))
    return make.workspace()


def test_a_quarter_that_has_not_opened_is_not_published(released, days, tmp_path) -> None:
    refused("nothing-open", publish_to_folder, released, tmp_path / "out", days.opens - SECOND)
    assert not (tmp_path / "out").exists()
    assert publish_to_folder(released, tmp_path / "out", days.opens).files > 5


def test_only_what_the_manifest_names_is_published_and_no_label_before_the_reveal(
    released, quarter, notes_task, days, tmp_path
) -> None:
    (released.release(quarter, "x-notes") / "notes-to-self.txt").write_text("not listed")
    publish_to_folder(released, tmp_path / "out", days.deadline)
    published = contents(tmp_path / "out")
    below = f"releases/{quarter}/x-notes/"
    assert {n for n in published if n.startswith("releases")} == {
        below + name for name in ("manifest.json", "samples.jsonl", "commitments.jsonl")
    }
    labels = list(read_jsonl(released.private(quarter, "x-notes") / "labels.jsonl"))
    for secret in (*(row["salt"] for row in labels), released.escrow_key.read_text().strip()):
        assert not [name for name, content in published.items() if secret.encode() in content]
    assert "label" not in pl.read_parquet(tmp_path / f"out/data/x-notes/{quarter}.parquet").columns


def test_after_the_reveal_the_table_has_each_sample_with_its_label(
    released, quarter, notes_task, days, tmp_path
) -> None:
    publish_to_folder(released, tmp_path / "out", days.deadline)
    reveal(released, quarter, notes_task, days.reveals)
    assert not publish_to_folder(released, tmp_path / "out", days.reveals).skipped
    table = pl.read_parquet(tmp_path / f"out/data/x-notes/{quarter}.parquet")
    below = tmp_path / f"out/releases/{quarter}/x-notes"
    assert table["id"].to_list() == [row["id"] for row in read_jsonl(below / "samples.jsonl")]
    labels = {row["id"]: row["label"] for row in read_jsonl(below / "labels.jsonl")}
    assert dict(zip(table["id"], table["label"], strict=True)) == labels
    manifest = read_json(below / "manifest.json")
    assert sha256_file(below / manifest["previous"]["path"]) == manifest["previous"]["sha256"]
    # The hub takes no framework that is not on its list.
    assert "\nevaluation_framework: inspect-ai\n" in (tmp_path / "out/eval.yaml").read_text()


def test_tables_of_samples_with_and_without_texts_have_the_same_columns(make, quarter, days, tmp_path) -> None:
    schemas = []
    for source, name in (("dump", "withheld"), (BUNDLED, "included")):
        workspace = make.workspace(name)
        make.release(make.notes(2, 2), workspace=workspace, source=source)
        publish_to_folder(workspace, tmp_path / f"out-{name}", days.opens)
        (table,) = (tmp_path / f"out-{name}").rglob("*.parquet")
        note = pl.read_parquet(table)["note"].struct
        schemas.append(pl.read_parquet_schema(table))
        assert note.field("text").null_count() == (12 if name == "withheld" else 0)
        assert note.field("text_sha256").null_count() == (0 if name == "withheld" else 12)
    assert schemas[0] == schemas[1]


def test_the_same_releases_give_the_same_bytes_and_a_second_time_nothing_is_written(released, days, tmp_path) -> None:
    publish_to_folder(released, tmp_path / "one", days.opens)
    publish_to_folder(released, tmp_path / "two", days.opens + SECOND)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    inode = (tmp_path / "one").stat().st_ino
    assert publish_to_folder(released, tmp_path / "one", days.opens).skipped
    assert (tmp_path / "one").stat().st_ino == inode


def test_a_file_that_was_changed_or_lost_is_made_again(released, days, tmp_path) -> None:
    publish_to_folder(released, tmp_path / "out", days.opens)
    before = contents(tmp_path / "out")
    (tmp_path / "out/README.md").write_text("changed")
    (tmp_path / "out/croissant.json").unlink()
    assert not publish_to_folder(released, tmp_path / "out", days.opens).skipped
    assert contents(tmp_path / "out") == before


@pytest.mark.parametrize("step", ["build", "rename"])
def test_a_failure_halfway_leaves_the_old_publication_whole(
    released, quarter, notes_task, days, tmp_path, monkeypatch, step
) -> None:
    out = tmp_path / "out"
    publish_to_folder(released, out, days.opens)
    before = contents(out)
    reveal(released, quarter, notes_task, days.reveals)
    rename = Path.rename

    def failing(path: Path, target: Path) -> Path:
        if target == out and path.name != ".out.before":
            raise OSError(28, "No space left on device")
        return rename(path, target)

    if step == "build":
        (released.release(quarter, "x-notes") / "samples.jsonl").write_text("torn")
        refused("bad-hash", publish_to_folder, released, out, days.reveals)
    else:
        monkeypatch.setattr(Path, "rename", failing)
        refused("unwritable", publish_to_folder, released, out, days.reveals)
    assert contents(out) == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_process_killed_between_the_two_renames_loses_nothing(released, days, tmp_path) -> None:
    publish_to_folder(released, tmp_path / "out", days.opens)
    before = contents(tmp_path / "out")
    (tmp_path / "out").rename(tmp_path / ".out.before")
    assert publish_to_folder(released, tmp_path / "out", days.opens).skipped
    assert contents(tmp_path / "out") == before


def test_a_folder_with_something_else_in_it_is_not_replaced(released, days, tmp_path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    assert "thesis.txt" in refused("foreign-folder", publish_to_folder, released, mine, days.opens)
    out = tmp_path / "out"
    publish_to_folder(released, out, days.opens)
    shutil.copy(mine / "thesis.txt", out / "data/thesis.txt")
    refused("foreign-folder", publish_to_folder, released, out, days.opens)
    assert (out / "data/thesis.txt").read_text() == "years of work"


def test_a_publication_never_loses_a_quarter(make, released, quarter, tmp_path) -> None:
    later = quarter.next()
    moment = CalendarRule().of(later).opens
    notes = [make.candidate(make.note(9 + k, date=later.start + timedelta(days=k)), k % 2) for k in range(4)]
    make.release(notes, workspace=released, quarter=later)
    publish_to_folder(released, tmp_path / "one", moment, [later])
    assert [p.name for p in (tmp_path / "one/releases").iterdir()] == [str(later)]
    assert publish_to_folder(released, tmp_path / "all", moment).quarters == (quarter, later)
    assert str(quarter) in refused("lost-quarter", publish_to_folder, released, tmp_path / "all", moment, [later])
    refused("nothing-open", publish_to_folder, released, tmp_path / "none", moment, [Quarter(2001, 1)])


def test_a_manifest_that_names_a_file_elsewhere_is_refused(released, quarter, days, tmp_path) -> None:
    path = released.release(quarter, "x-notes") / "manifest.json"
    manifest = read_json(path)
    manifest["files"].append({"path": "../../../private/escrow.key", "size": 1, "sha256": "0", "rows": 1})
    path.write_text(json.dumps(manifest))
    refused("damaged-release", publish_to_folder, released, tmp_path / "out", days.opens)


def test_the_bundled_sample_is_marked_in_card_and_names(make, quarter, days, tmp_path) -> None:
    make.release(make.notes(2, 2), source=BUNDLED)
    published = publish_to_folder(make.workspace(), tmp_path / "out", days.opens)
    assert published.bundled
    (table,) = (tmp_path / "out").rglob("*.parquet")
    assert table.name == f"{quarter}.bundled-sample.parquet"
    text = (tmp_path / "out/README.md").read_text()
    assert "pretty_name: HelloFresh (bundled sample)" in text
    assert card_texts().bundled in text
    assert read_json(tmp_path / "out/croissant.json")["name"] == "HelloFresh (bundled sample)"


def test_the_card_of_real_sources_has_no_word_of_the_bundled_sample_and_all_that_it_promises(
    released, quarter, days, tmp_path
) -> None:
    publish_to_folder(released, tmp_path / "out", days.opens)
    text = (tmp_path / "out/README.md").read_text()
    assert "bundled" not in text
    assert f"| `x-notes` | `{quarter}` | 18 | open | 2023-07-22 |" in text
    for part in ("## Data statement", "## Limits", "## Licences", "| rows found | 18 |", "| candidates | 18 |"):
        assert part in text


def test_columns_with_and_without_texts_are_united_field_by_field() -> None:
    text, number = pl.String(), pl.Int64()
    one, two = pl.Struct({"a": text, "b": number}), pl.Struct({"c": text, "a": number})
    both = pl.Struct({"a": text, "b": number, "c": text})
    assert [_united(one, two), _united(pl.List(one), pl.List(two))] == [both, pl.List(both)]
    assert [_united(pl.List(text), text), _united(text, one), _united(one, text)] == [pl.List(text), text, one]


def test_every_task_has_a_statement_and_one_without_is_named(released, days) -> None:
    for name in TASKS:
        assert statements()[name.removesuffix("-binary").removesuffix("-six")].limits
    (part,) = opened_parts(released, days.opens)
    other = replace(part, task=replace(part.task, name="own-task", statement=None))
    said = refused("no-statement", card, [other], [], {other.place: 1})
    assert "the task own-task has no statement on its data" in said and str(part.folder) in said
