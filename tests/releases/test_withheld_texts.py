"""A release of x-notes passes on ids and hashes; the texts come from where they were collected or are filled in."""

from __future__ import annotations

import stat
from dataclasses import replace

import pytest

from hellofresh.core.errors import HelloFreshError, ReleaseError
from hellofresh.core.files import read_json, read_jsonl, sha256_text, write_jsonl
from hellofresh.releases.draw.release import build_release
from hellofresh.releases.life.load import hydrate, load_release
from hellofresh.releases.life.manifest import BUNDLED
from hellofresh.tasks.samples import to_json
from hellofresh.tasks.x_notes import Note
from tests.fakes import fails_with, refused


def full(make):
    return {item.sample.id: item.sample for item in make.notes(3, 3)}


@pytest.fixture
def reader(make, quarter):
    """A workspace as a reader has it: the public side of a release and nothing else."""
    make.release(make.notes(3, 3))
    there, here = make.workspace(), make.workspace("reader")
    folder = here.release(quarter, "x-notes")
    folder.mkdir(parents=True)
    for path in there.release(quarter, "x-notes").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return here


def test_public_samples_hold_ids_dates_and_hashes_and_no_text(make, quarter) -> None:
    candidates = make.notes(3, 3)
    make.release(candidates)
    folder = make.workspace().release(quarter, "x-notes")
    rows = {row["id"]: row for row in read_jsonl(folder / "samples.jsonl")}
    public = b"".join(path.read_bytes() for path in sorted(folder.iterdir())).decode()
    assert len(rows) == len(candidates)
    for item in candidates:
        row = rows[item.sample.id]
        for part in ("post", "note"):
            whole = getattr(item.sample, part)
            assert row[part].keys() == {"id", "date", "text_sha256"}
            assert (row[part]["id"], row[part]["text_sha256"]) == (whole.id, sha256_text(whole.text))
            assert whole.text not in public
    assert read_json(folder / "manifest.json")["texts"] == "withheld"


def test_samples_with_texts_are_kept_for_their_owner_only(make, quarter, notes_task) -> None:
    make.release(make.notes(3, 3))
    path = make.workspace().private(quarter, "x-notes") / "samples.jsonl"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert {row["id"]: row for row in read_jsonl(path)} == {key: to_json(item) for key, item in full(make).items()}
    release = load_release(make.workspace(), quarter, notes_task)
    assert {sample.id: sample for sample in release.samples} == full(make)
    assert not release.without_texts


@pytest.mark.parametrize(("source", "texts"), [("dump", True), (BUNDLED, False)])
def test_who_may_publish_texts_does_and_keeps_no_second_copy(
    make, quarter, notes_task, source: str, texts: bool
) -> None:
    make.release(make.notes(3, 3))
    workspace = make.workspace()
    make.release(make.notes(3, 3), source=source)
    build_release(workspace, quarter, notes_task, moment=quarter.start, seed="seed", cap=250, texts=texts)
    rows = list(read_jsonl(workspace.release(quarter, "x-notes") / "samples.jsonl"))
    assert {row["id"]: row for row in rows} == {key: to_json(item) for key, item in full(make).items()}
    assert not (workspace.private(quarter, "x-notes") / "samples.jsonl").exists()


def test_edits_are_free_and_released_with_their_texts(make, quarter) -> None:
    edits = [make.candidate(make.edit(number), number % 2) for number in range(6)]
    make.release(edits)
    rows = list(read_jsonl(make.workspace().release(quarter, "wikipedia-edits") / "samples.jsonl"))
    assert rows == [to_json(item.sample) for item in sorted(edits, key=lambda item: item.sample.id)]


def test_without_texts_the_ids_read_and_the_texts_are_asked_for(reader, quarter, notes_task) -> None:
    release = load_release(reader, quarter, notes_task)
    assert release.without_texts == {sample.id for sample in release.samples}
    assert {sample.group for sample in release.samples}
    assert list(release.first(5)) == []
    with fails_with("no-texts", "hellofresh hydrate"):
        release.with_texts()


def test_a_hydrated_release_is_the_one_of_its_owner(make, reader, quarter, notes_task) -> None:
    texts = full(make)
    done = hydrate(reader, quarter, notes_task, lambda samples: {sample.id: texts[sample.id] for sample in samples})
    assert (done.samples, done.filled, done.gone, done.changed) == (18, 18, (), ())
    assert done.path is not None and stat.S_IMODE(done.path.stat().st_mode) == 0o600
    assert load_release(reader, quarter, notes_task) == load_release(make.workspace(), quarter, notes_task)


def test_texts_with_characters_that_were_taken_out_are_those_that_were_released(
    make, reader, quarter, notes_task
) -> None:
    odd = {
        key: replace(note, post=replace(note.post, text=f"\u202e{note.post.text}\x00"))
        for key, note in full(make).items()
    }
    done = hydrate(reader, quarter, notes_task, lambda samples: {sample.id: odd[sample.id] for sample in samples})
    assert (done.filled, done.changed) == (done.samples, ())
    release = load_release(reader, quarter, notes_task)
    assert {sample.id: sample for sample in release.samples}.items() <= full(make).items()


def test_gone_and_changed_samples_are_named_and_stay_without_texts(make, reader, quarter, notes_task) -> None:
    texts = full(make)
    gone, one, both = sorted(texts)[:3]
    found: dict[str, Note | str] = dict(texts)
    found[gone] = "post: deleted"
    found[one] = replace(texts[one], post=replace(texts[one].post, text=texts[one].post.text + " "))
    found[both] = replace(
        texts[both], post=replace(texts[both].post, text="x"), note=replace(texts[both].note, text="y")
    )
    done = hydrate(reader, quarter, notes_task, lambda samples: found)
    assert [(item.id, item.why) for item in done.gone] == [(gone, "post: deleted")]
    assert [(item.id, item.why) for item in done.changed] == [(one, "post"), (both, "post and note")]
    release = load_release(reader, quarter, notes_task)
    assert release.without_texts == {gone, one, both}
    assert len(release.with_texts()) == 15
    kept = [sample.id for sample in load_release(make.workspace(), quarter, notes_task).first(9)]
    assert [sample.id for sample in release.first(9)] == [key for key in kept if key not in release.without_texts]


def test_nothing_is_filled_in_where_texts_are_released(make, quarter, notes_task) -> None:
    make.release(make.notes(3, 3), source=BUNDLED)
    done = hydrate(make.workspace(), quarter, notes_task, lambda samples: pytest.fail("asked for texts"))
    assert (done.path, done.filled) == (None, 18)


@pytest.mark.parametrize("side", ["private", "hydrated"])
def test_texts_that_were_tampered_with_are_refused(make, quarter, notes_task, side: str) -> None:
    make.release(make.notes(3, 3))
    workspace = make.workspace()
    path = workspace.private(quarter, "x-notes") / "samples.jsonl"
    rows = list(read_jsonl(path))
    rows[4]["note"]["text"] += "!"
    if side == "hydrated":
        path.unlink()
        path = workspace.hydrated(quarter, "x-notes")
    write_jsonl(path, rows)
    assert rows[4]["id"] in refused("bad-texts", load_release, workspace, quarter, notes_task)
    path.write_text(path.read_text().splitlines()[0] + "\n{")
    with pytest.raises(HelloFreshError) as caught:
        load_release(workspace, quarter, notes_task)
    assert caught.value.where == f"{path} line 2"


def test_a_sample_of_another_release_among_the_texts_is_refused(make, reader, quarter, notes_task) -> None:
    write_jsonl(reader.hydrated(quarter, "x-notes"), [to_json(make.note(7))])
    with pytest.raises(ReleaseError, match="xn-7"):
        load_release(reader, quarter, notes_task)
