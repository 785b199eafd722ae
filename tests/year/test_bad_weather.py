"""What was published is remembered: backups, other draws, lost keys and texts neither lose nor leak a quarter."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from hellofresh.cli import main
from hellofresh.cli._console import ConsoleShow
from hellofresh.cli._output import CommandOutput
from hellofresh.config import Settings
from hellofresh.core.calendar import CalendarRule
from hellofresh.core.errors import DataError, ReleaseError
from hellofresh.core.files import sha256_file, write_bytes
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.pipeline.daily import Day, StepState
from hellofresh.pipeline.steps import Steps
from hellofresh.releases.draw.prospective import build_prospective
from hellofresh.releases.draw.release import Built, build_release
from hellofresh.releases.life.load import load_labels, load_release
from hellofresh.releases.life.manifest import BUNDLED
from hellofresh.releases.life.record import record_witness, refuse_others
from hellofresh.releases.life.state import reveal
from hellofresh.releases.life.takedown import take_down
from hellofresh.releases.publish.folder import publish_to_folder
from hellofresh.releases.publish.restore import restore_from
from hellofresh.tasks import get_task
from hellofresh.tasks.samples import PROSPECTIVE, Candidate
from leaderboard.export.folder import CopyListing
from tests.conftest import Maker
from tests.fakes import collect, contents, refused
from tests.releases.test_exposure import noted_post

FIRST, NEXT = Quarter(2023, 2), Quarter(2023, 3)
DAYS, LATER = CalendarRule().of(FIRST), CalendarRule().of(NEXT)
NOTES = get_task("x-notes")
DAY = timedelta(days=1)


def notes(make: Maker, quarter: Quarter, numbers: range, text: str = "") -> list[Candidate]:
    when = quarter.start + 2 * DAY
    return [make.candidate(make.note(n, date=when, text=text and f"{text} {n}"), n % 2) for n in numbers]


def with_note(item: Candidate, text: str) -> Candidate:
    return replace(item, sample=replace(item.sample, note=replace(item.sample.note, text=text)))


def build(make: Maker, candidates: list[Candidate], moment: datetime, quarter: Quarter = FIRST) -> Built:
    return make.release(candidates, quarter=quarter, moment=moment)


@dataclass
class Year:
    """A workspace with a backup of the day before the opening, and the target of its publications."""

    make: Maker
    workspace: Workspace
    target: Path

    def go_back(self) -> None:
        """The backup takes the workspace's place; as on that day, fewer notes are decided."""
        shutil.rmtree(self.workspace.root)
        shutil.copytree(self.make.folder / "backup", self.workspace.root)

    def publish(self, moment: datetime, code: str = "") -> str:
        return refused(code, publish_to_folder, self.workspace, self.target, moment) if code else str(
            publish_to_folder(self.workspace, self.target, moment)
        )  # fmt: skip


@pytest.fixture
def year(make: Maker) -> Year:
    build(make, notes(make, FIRST, range(4)), DAYS.opens - 30 * DAY)
    one = Year(make, make.workspace(), make.folder / "target")
    shutil.copytree(one.workspace.root, make.folder / "backup")
    build(make, notes(make, FIRST, range(12)), DAYS.opens - DAY)
    one.publish(DAYS.opens)
    return one


def is_sound(folder: Path) -> bool:
    return main(["release", "verify", str(folder)]) == 0


def rebuilt(year: Year) -> None:
    year.go_back()


def revealed_and_back(year: Year) -> None:
    assert reveal(year.workspace, FIRST, NOTES, DAYS.reveals)
    year.publish(DAYS.reveals)
    year.go_back()


def by_another(year: Year) -> None:
    """Another maintainer, with a key of their own, draws the same quarter."""
    shutil.rmtree(year.workspace.root)
    write_bytes(year.workspace.escrow_key, b"7" * 64)
    build(year.make, notes(year.make, FIRST, range(12)), DAYS.opens - DAY)


def edited_by_hand(year: Year) -> None:
    path = year.target / f"releases/{FIRST}/x-notes/manifest.json"
    path.write_text(path.read_text().replace('"seed"', '"Seed"', 1))
    account = year.target / "publication.json"
    account.unlink()


TROUBLES: dict[str, tuple[Callable[[Year], None], str]] = {
    "an old backup": (rebuilt, "other-publication"),
    "an old backup after the reveal": (revealed_and_back, "other-publication"),
    "another maintainer": (by_another, "other-publication"),
    "a target that was edited": (edited_by_hand, "foreign-folder"),
}


@pytest.mark.parametrize("name", TROUBLES)
def test_what_is_published_stays_and_the_message_says_what_to_type(year: Year, name: str) -> None:
    happens, code = TROUBLES[name]
    happens(year)
    before = contents(year.target)
    said = year.publish(DAYS.reveals + DAY, code)
    assert contents(year.target) == before
    assert code == "foreign-folder" or f"hellofresh quarter restore --from {year.target}" in said
    assert code == "foreign-folder" or "samples.jsonl" in said or "commitments.jsonl" in said


def test_a_restored_workspace_goes_on_as_if_nothing_had_happened(year: Year) -> None:
    honest = contents(year.workspace.release(FIRST, "x-notes"))
    labels = {key: label.label for key, label in load_labels(year.workspace, FIRST, NOTES).items()}
    year.go_back()
    collect(year.workspace, FIRST, "x-notes", notes(year.make, FIRST, range(12)), None)
    (found,) = restore_from(year.workspace, str(year.target), DAYS.opens + DAY)
    assert (found.labels, found.without_texts, found.set_aside is not None) == (len(labels), 0, True)
    assert contents(year.workspace.release(FIRST, "x-notes")) == honest
    assert {key: label.label for key, label in load_labels(year.workspace, FIRST, NOTES).items()} == labels
    assert not load_release(year.workspace, FIRST, NOTES).without_texts
    assert build(year.make, notes(year.make, FIRST, range(20)), DAYS.opens + DAY).frozen
    assert restore_from(year.workspace, str(year.target), DAYS.opens + DAY) == []
    year.publish(DAYS.opens + DAY)
    assert reveal(year.workspace, FIRST, NOTES, DAYS.reveals)
    year.publish(DAYS.reveals)
    assert is_sound(year.target)


@pytest.mark.parametrize("name", ["samples.jsonl", "commitments.jsonl", "manifest.json", "labels.jsonl"])
def test_an_opened_release_that_is_damaged_is_never_drawn_again_and_comes_back_from_its_target(
    year: Year, name: str
) -> None:
    folder, private = year.workspace.release(FIRST, "x-notes"), year.workspace.private(FIRST, "x-notes")
    honest, path = contents(folder), (private if name == "labels.jsonl" else folder) / name
    content = path.read_bytes()
    for damage in (lambda: path.write_bytes(content[:-9]), path.unlink):
        damage()
        damaged = contents(folder)
        if name != "labels.jsonl":
            with pytest.raises((DataError, ReleaseError), match=f"{name}|quarter restore"):
                build(year.make, notes(year.make, FIRST, range(12)), DAYS.opens + DAY)
        assert contents(folder) == damaged
        restore_from(year.workspace, str(year.target), DAYS.opens + DAY)
        assert contents(folder) == honest and load_labels(year.workspace, FIRST, NOTES)


def test_nothing_is_restored_with_another_key_or_from_a_damaged_target(year: Year) -> None:
    year.go_back()
    before = contents(year.workspace.root)
    year.workspace.escrow_key.write_text("7" * 64)
    refused("other-escrow-key", restore_from, year.workspace, str(year.target), DAYS.opens)
    (year.target / f"releases/{FIRST}/x-notes/samples.jsonl").write_text("{}")
    year.workspace.escrow_key.write_bytes(before["private/escrow.key"])
    refused("bad-hash", restore_from, year.workspace, str(year.target), DAYS.opens)
    assert contents(year.workspace.root) == before


def test_a_hash_that_a_witness_noted_is_asked_before_every_step(year: Year) -> None:
    name, manifest = f"{FIRST}/x-notes", year.workspace.release(FIRST, "x-notes") / "manifest.json"
    assert record_witness(year.workspace, f"{name}={sha256_file(manifest)}") == name
    assert reveal(year.workspace, FIRST, NOTES, DAYS.reveals)  # a later version continues the noted one
    refuse_others(year.workspace)
    year.go_back()
    shutil.rmtree(year.target)
    refused("other-publication", record_witness, year.workspace, f"{name}={'0' * 64}")
    refused("other-publication", build, year.make, notes(year.make, FIRST, range(12)), DAYS.opens - DAY)
    for wrong in (name, f"{name}=1", f"../x={'0' * 64}"):
        refused("bad-witness", record_witness, year.workspace, wrong)


def test_a_takedown_continues_the_chain_and_a_workspace_without_it_does_not(year: Year) -> None:
    shutil.rmtree(year.make.folder / "backup")
    shutil.copytree(year.workspace.root, year.make.folder / "backup")
    take_down(
        year.workspace, FIRST, NOTES, {load_release(year.workspace, FIRST, NOTES).samples[0].id: "asked"}, DAYS.opens
    )
    year.publish(DAYS.opens + DAY)
    year.go_back()
    assert "tombstones.jsonl" in year.publish(DAYS.opens + 2 * DAY, "other-publication")


def test_a_publication_on_this_machine_is_asked_before_a_build_a_draw_and_a_reveal(year: Year, make: Maker) -> None:
    publish_to_folder(year.workspace, year.workspace.published, DAYS.opens)
    published = make.folder / "kept"
    shutil.copytree(year.workspace.published, published)
    year.go_back()
    shutil.copytree(published, year.workspace.published)
    for act in (
        lambda: build(make, notes(make, FIRST, range(12)), DAYS.opens + DAY),
        lambda: reveal(year.workspace, FIRST, NOTES, DAYS.reveals),
    ):
        assert "restore --from data/published" in refused("other-publication", act)


def test_the_bundled_sample_may_be_published_again_whatever_was_there(make: Maker) -> None:
    workspace, target = make.workspace(), make.folder / "target"
    for count in (3, 4):
        make.release(make.notes(count, count), source=BUNDLED)
        publish_to_folder(workspace, target, DAYS.opens)
    make.release(make.notes(3, 3))
    publish_to_folder(workspace, target, DAYS.opens)  # real sources take its place
    make.release(make.notes(3, 3), source=BUNDLED, workspace=make.workspace("other"))
    assert "differs" in refused("other-publication", publish_to_folder, make.workspace("other"), target, DAYS.opens)


def test_groups_of_a_split_that_only_a_publication_holds_are_left_out(make: Maker) -> None:
    workspace = make.workspace()
    when = FIRST.start + 85 * DAY
    collect(workspace, FIRST, "x-notes", [], [make.note(n, date=when, post=n) for n in range(6)])
    build_prospective(workspace, FIRST, NOTES, seed="s", cap=50, days=5, moment=FIRST.end)
    publish_to_folder(workspace, workspace.published, FIRST.end)
    shutil.rmtree(workspace.release(FIRST, "x-notes", PROSPECTIVE))
    later = [make.candidate(make.note(n + 100, date=NEXT.start + DAY, post=n), n % 2) for n in range(16)]
    built = build(make, later, NEXT.end, NEXT)
    assert built.left_out == 6


COPY = "The office of works says that this bridge took four years, see the ledger of the town number"


@pytest.mark.parametrize("at_hand", [True, False], ids=["with texts", "without private texts"])
def test_copies_of_released_notes_are_left_out_also_without_their_texts(make: Maker, at_hand: bool) -> None:
    build(make, notes(make, FIRST, range(6), COPY), DAYS.opens - DAY)
    workspace = make.workspace()
    if not at_hand:
        (workspace.private(FIRST, "x-notes") / "samples.jsonl").unlink()
    near = [with_note(item, f"Note {n}: {COPY} {n}. Yes") for n, item in enumerate(notes(make, NEXT, range(100, 106)))]
    built = build(make, [*near, *notes(make, NEXT, range(200, 208))], LATER.opens - DAY, NEXT)
    assert (built.left_out, built.unseen) == (6, 0)
    if not at_hand:  # a workspace of an earlier version has no sketches: equal texts are found, and it says so
        (workspace.root / "private/sketches.parquet").unlink()
        equal = [with_note(item, f"Note {n}: {COPY} {n}.") for n, item in enumerate(near)]
        again = build(make, [*equal, *notes(make, NEXT, range(200, 208))], LATER.opens - DAY, NEXT)
        assert (again.left_out, again.unseen) == (6, 6)


def test_notes_that_labels_of_posts_name_are_left_out_with_their_copies(make: Maker) -> None:
    def named(n: int) -> Candidate:
        return replace(noted_post(n, FIRST), extras={"high_text": f"{COPY} {n}", "second_text": f"It is said: {n}"})

    build(make, [named(n) for n in range(4)], DAYS.opens - DAY)
    near = [with_note(item, f"{COPY} {n}!") for n, item in enumerate(notes(make, NEXT, range(300, 304)))]
    assert build(make, [*near, *notes(make, NEXT, range(200, 208))], LATER.opens - DAY, NEXT).left_out == 4


def test_a_key_is_never_made_anew_where_releases_exist(year: Year) -> None:
    year.workspace.escrow_key.unlink()
    collect(year.workspace, NEXT, "x-notes", notes(year.make, NEXT, range(100, 108)), None)
    said = refused("no-escrow-key", build_release, year.workspace, NEXT, NOTES, seed="seed", cap=9)
    assert "hellofresh quarter restore --new-key" in said
    assert reveal(year.workspace, FIRST, NOTES, DAYS.reveals)  # salts are kept with the labels


def test_a_static_copy_is_not_replaced_by_one_of_other_releases(tmp_path: Path) -> None:
    path = f"released/{FIRST}/x-notes/commitments.jsonl"
    before = CopyListing("code", "board", (), {path: "a"})
    before.refuse_other_releases({path: "a", path.replace("commitments", "labels"): "b"}, tmp_path)
    for now in ({}, {path: "b"}):
        assert path in refused("other-publication", before.refuse_other_releases, now, tmp_path)
    before.write(tmp_path)
    steps = Steps(Workspace(tmp_path / "data"), tmp_path, ConsoleShow(CommandOutput(as_json=True)))
    day = Day(steps, Settings.model_validate({"daily": {"export": str(tmp_path)}}))
    day.all_steps()  # the workspace lacks what the copy shows: nothing is done
    assert [(one.name, one.state) for one in day.results] == [("ask what was published", StepState.FAILED)]
