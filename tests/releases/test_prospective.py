"""The prospective split is drawn once, asks nothing twice, and is labelled by a later collection after its deadline."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from hellofresh.core.files import read_json, read_jsonl, sha256_text
from hellofresh.core.quarters import Quarter, utc_text
from hellofresh.releases.draw.prospective import (
    Prospective,
    build_prospective,
    prospective_outcomes,
    prospective_splits,
    resolve,
)
from hellofresh.releases.draw.release import build_release
from hellofresh.releases.life.load import load_release
from hellofresh.releases.life.takedown import find_sample, take_down
from hellofresh.results.scoring.reveal import publish_results
from hellofresh.results.scoring.scores import score_quarter
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.submissions.released import due_in
from hellofresh.tasks.samples import PROSPECTIVE
from tests.fakes import collect, refused
from verifier.checks import verify_release

QUARTER = Quarter(2026, 4)
MOMENT = datetime(2026, 11, 21, 12, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def lane(make, notes_task):
    class Lane:
        workspace = make.workspace()
        task = notes_task

        def note(self, number: int, days_ago: int = 3):
            return make.note(number, date=MOMENT - days_ago * DAY)

        def collect(self, day: str, pending, decided=(), *, source: str = "dump", without: bool = False) -> None:
            undecided = None if without else pending
            collect(self.workspace, QUARTER, "x-notes", decided, undecided, source=source, day=day)

        def draw(self, *, cap: int = 250, days: int = 5, moment: datetime = MOMENT, seed: str = "s"):
            return build_prospective(self.workspace, QUARTER, self.task, seed=seed, cap=cap, days=days, moment=moment)

        def resolve(self, moment: datetime = MOMENT + 30 * DAY, *, final: bool = False):
            return resolve(self.workspace, QUARTER, self.task, moment, final=final)

        @property
        def folder(self):
            return self.workspace.release(QUARTER, "x-notes") / "prospective"

        @property
        def labels(self) -> dict[str, int]:
            found = prospective_outcomes(self.workspace, QUARTER, self.task)
            return {key: item.label for key, item in found.items()}

        @property
        def ids(self) -> list[str]:
            return [row["id"] for row in read_jsonl(self.folder / "samples.jsonl")]

    return Lane()


def test_in_each_period_the_smallest_hashes_are_drawn_whatever_their_order(lane) -> None:
    notes = [lane.note(number) for number in range(100, 120)]
    lane.collect("one", notes[::-1])
    drawn = lane.draw(cap=3)
    assert drawn == Prospective("x-notes", QUARTER, 20, 6, MOMENT + 5 * DAY, skipped=False)
    assert read_json(lane.folder / "manifest.json")["calendar"] == {
        "opens": utc_text(MOMENT), **dict.fromkeys(("deadline", "reveals"), utc_text(MOMENT + 5 * DAY))
    }  # fmt: skip
    expected = sorted((note.id for note in notes), key=lambda key: sha256_text(f"s:{key}"))[:6]
    assert lane.ids == sorted(expected)
    assert prospective_splits(lane.workspace) == [(QUARTER, "x-notes")]


def test_what_may_be_decided_before_the_deadline_is_not_drawn(lane) -> None:
    lane.collect("one", [lane.note(10 + days, days) for days in range(14)])
    lane.draw(days=5)
    assert lane.ids == [f"xn-{10 + days}" for days in range(9)]


def test_a_split_is_never_drawn_again(lane) -> None:
    lane.collect("one", [lane.note(1)])
    before = lane.draw()
    content = (lane.folder / "manifest.json").read_bytes()
    lane.collect("two", [lane.note(2)])
    again = lane.draw(moment=MOMENT + DAY, seed="other", cap=1)
    assert again.skipped
    assert (again.deadline, again.samples) == (before.deadline, 1)
    assert (lane.folder / "manifest.json").read_bytes() == content


def test_no_sample_is_in_both_splits(lane, make) -> None:
    notes = [lane.note(number) for number in range(10, 16)]
    lane.collect("one", notes[:2])
    lane.draw()
    lane.collect("two", [], [make.candidate(note, k % 2) for k, note in enumerate(notes)])
    build_release(lane.workspace, QUARTER, lane.task, seed="s", cap=9, moment=MOMENT)
    main = {row["id"] for row in read_jsonl(lane.folder.parent / "samples.jsonl")}
    assert main == {note.id for note in notes[2:]}


def test_texts_are_withheld_from_the_public_samples_and_kept_for_who_collected_them(lane) -> None:
    lane.collect("one", [lane.note(1)])
    lane.draw()
    assert b'"text":' not in (lane.folder / "samples.jsonl").read_bytes()
    split = load_release(lane.workspace, QUARTER, lane.task, PROSPECTIVE)
    assert split.with_texts()[0].note.text == lane.note(1).note.text
    kept = lane.workspace.private(QUARTER, "x-notes") / "prospective/samples.jsonl"
    assert kept.stat().st_mode & 0o777 == 0o600
    kept.unlink()
    assert load_release(lane.workspace, QUARTER, lane.task, PROSPECTIVE).without_texts == {"xn-1"}


def test_labels_come_from_a_later_collection_after_the_deadline_and_once(lane, make) -> None:
    notes = [lane.note(number) for number in (1, 2, 3)]
    decided = [make.candidate(notes[0], 1), make.candidate(notes[1], 0)]
    lane.collect("one", notes)
    lane.draw()
    assert lane.resolve() is None  # the very collection it was drawn from
    lane.collect("two", [], decided)
    assert lane.resolve(MOMENT + 5 * DAY - timedelta(seconds=1)) is None
    resolved = lane.resolve(MOMENT + 5 * DAY)
    assert (resolved.labels, resolved.dropped) == (2, {"undecided": 0, "no-label": 1, "early": 0})
    assert lane.labels == {"xn-1": 1, "xn-2": 0}
    lane.collect("three", [], [make.candidate(notes[0], 0)])
    again = lane.resolve()
    assert (again.skipped, again.labels) == (True, 2)
    assert lane.labels == {"xn-1": 1, "xn-2": 0}
    manifest = read_json(lane.folder / "manifest.json")
    assert manifest["resolved"]["collection"]["sources"][0]["name"] == "two"
    assert manifest["version"] == 2


def test_as_long_as_some_may_still_be_decided_it_waits_unless_told_not_to(lane, make) -> None:
    notes = [lane.note(number) for number in (1, 2)]
    lane.collect("one", notes)
    lane.draw()
    lane.collect("two", notes[1:], [make.candidate(notes[0], 1)])
    waiting = lane.resolve()
    assert (waiting.labels, waiting.waiting) == (1, 1)
    assert not (lane.folder / "outcomes.jsonl").exists()
    final = lane.resolve(final=True)
    assert (final.labels, final.dropped) == (1, {"undecided": 1, "no-label": 0, "early": 0})
    assert [row["reason"] for row in read_jsonl(lane.folder / "outcomes.jsonl")] == [None, "undecided"]


def test_what_was_shown_a_second_before_the_deadline_is_dropped_and_at_it_counts(lane, make) -> None:
    notes, deadline = [lane.note(1), lane.note(2)], MOMENT + 5 * DAY
    lane.collect("one", notes)
    lane.draw()
    extras = ({lane.task.first_shown: utc_text(moment)} for moment in (deadline - timedelta(seconds=1), deadline))
    lane.collect(
        "two", [], [replace(make.candidate(note, 1), extras=more) for note, more in zip(notes, extras, strict=True)]
    )
    assert lane.resolve().dropped == {"undecided": 0, "no-label": 0, "early": 1} and lane.labels == {"xn-2": 1}


def test_a_collection_that_knows_nothing_of_the_samples_or_did_not_look_for_undecided_ones_resolves_nothing(
    lane, make
) -> None:
    lane.collect("one", [lane.note(1), lane.note(2)])
    lane.draw()
    lane.collect("an older one", [], [make.candidate(lane.note(50), 1)])
    assert lane.resolve(final=True) is None
    lane.collect("without", [], [make.candidate(lane.note(1), 1)], without=True)
    assert not lane.workspace.pending("x-notes", QUARTER).exists()
    assert lane.resolve() is None
    assert lane.resolve(final=True).labels == 1


def test_what_cannot_be_done_is_refused_with_its_reason(lane, make) -> None:
    refused("no-pending", lane.draw)
    refused("no-release", lane.resolve)
    lane.collect("one", [lane.note(1, 13)])
    refused("no-pending", lane.draw)
    refused("bad-cap", lane.draw, cap=0)
    refused("bad-cap", lane.draw, days=0)
    lane.collect("one", [lane.note(1)])
    lane.draw(cap=1, days=1)
    (lane.folder / "samples.jsonl").write_text("torn")
    refused("bad-hash", lane.resolve)


@pytest.mark.parametrize("resolved_first", [False, True])
def test_a_sample_of_the_split_is_taken_down_like_others_and_the_rest_still_holds(
    lane, make, monkeypatch, resolved_first: bool
) -> None:
    needle, after = "a text that somebody wants back", MOMENT + 30 * DAY
    notes = [lane.note(k) for k in range(1, 6)]
    notes[0] = make.note(1, date=notes[0].date, text=needle)
    lane.collect("one", notes)
    lane.draw()
    monkeypatch.setenv("HELLOFRESH_NOW", "2026-11-22T00:00:00Z")
    evaluate(lane.workspace, Evaluation(QUARTER, lane.task, "coin", split="prospective"), lambda _: None)
    opening = load_release(lane.workspace, QUARTER, lane.task, PROSPECTIVE).samples_sha256

    def resolve_and_publish() -> None:
        lane.collect("two", [], [make.candidate(note, k % 2) for k, note in enumerate(notes)])
        lane.resolve(after)
        publish_results(
            lane.workspace, score_quarter(lane.workspace, QUARTER, make.folder / "none", after, split="prospective")
        )

    if resolved_first:
        resolve_and_publish()
    take_down(lane.workspace, QUARTER, lane.task, {"xn-1": "asked"}, after, split="prospective")
    resolve_and_publish()
    for place in ("releases", "private"):
        files = (path for path in (lane.workspace.root / place).rglob("*") if path.is_file())
        assert not any(needle.encode() in path.read_bytes() for path in files)
    split = load_release(lane.workspace, QUARTER, lane.task, PROSPECTIVE)
    assert (split.taken_down, split.samples_sha256) == (("xn-1",), opening)
    assert {row["id"] for row in read_jsonl(lane.folder / "predictions.jsonl")} == {f"xn-{k}" for k in range(2, 6)}
    assert [check for check in verify_release(lane.folder) if not check.ok] == []
    assert due_in(lane.workspace, QUARTER, PROSPECTIVE).taken_down == {"xn-1"}
    assert find_sample(lane.workspace, "xn-1") == (QUARTER, lane.task, "prospective")
