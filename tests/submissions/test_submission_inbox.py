"""What a visitor hands in is kept once, whole, with a receipt, and within limits, whoever else comes meanwhile."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.core.errors import ConfigError, SubmissionError, WorkspaceError
from hellofresh.submissions import PROSPECTIVE_SPLIT, Due, Submission, inspect_submission, read_receipt
from hellofresh.submissions.inbox.arrivals import Inbox, InboxLimits
from hellofresh.submissions.inbox.visits import Visits

CODE = "hellofresh"
HOUR = timedelta(hours=1)


@pytest.fixture
def inbox(tmp_path: Path) -> Inbox:
    return Inbox(tmp_path / "inbox")


@pytest.fixture
def passed(hand_in: Callable[..., Path], due: Due, open_day: datetime) -> Callable[..., Submission]:
    """Makes a submission that passed the check."""

    def make(place: str = "acme/system", **how: Any) -> Submission:
        folder = hand_in(place, **how)
        checked = inspect_submission(folder, due.edition, due.ids, open_day)
        assert checked.submission is not None
        return checked.submission

    return make


def refused(code: str, action: Callable[..., object], *arguments: object) -> SubmissionError:
    with pytest.raises(SubmissionError) as caught:
        action(*arguments)
    assert caught.value.code == code
    return caught.value


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_is_handed_in_is_kept_with_a_receipt_of_its_content_and_time(inbox, passed, due, open_day) -> None:
    submission = passed()
    done = inbox.hand_in(submission, due, "192.0.2.1", open_day + timedelta(microseconds=7))
    assert done.new
    assert (done.receipt.sha256, done.receipt.received) == (submission.sha256, open_day)
    assert done.receipt.code.startswith(CODE)
    assert done.receipt.tasks == ("x-notes",)
    (arrival,), faults = inbox.arrivals()
    assert faults == []
    assert (arrival.receipt, arrival.team, arrival.system) == (done.receipt, "acme", "system")
    assert read_receipt(arrival.folder, []) == done.receipt
    assert contents(arrival.folder).keys() == {"predictions.jsonl", "system.toml", "receipt.json", "arrival.json"}


def test_the_same_content_gives_the_same_receipt_and_is_kept_once(inbox, passed, due, open_day) -> None:
    first = inbox.hand_in(passed(), due, "192.0.2.1", open_day)
    again = inbox.hand_in(passed(), due, "192.0.2.2", open_day + HOUR)
    assert (again.receipt, again.new) == (first.receipt, False)
    late = inbox.hand_in(passed(), due, "192.0.2.2", due.deadline + HOUR)
    assert late.receipt == first.receipt
    assert len(inbox.arrivals()[0]) == 1


def test_going_back_to_an_earlier_content_is_an_arrival_of_its_own(inbox, passed, due, open_day) -> None:
    one, other = passed(), passed(name="System 2")
    times = [open_day + k * HOUR for k in range(3)]
    for submission, moment in zip((one, other, one), times, strict=True):
        assert inbox.hand_in(submission, due, None, moment).receipt.received == moment
    assert [item.receipt.sha256 for item in inbox.arrivals()[0]] == [one.sha256, other.sha256, one.sha256]


def test_nobody_can_touch_what_somebody_else_handed_in(inbox, passed, due, open_day) -> None:
    inbox.hand_in(passed(), due, "192.0.2.1", open_day)
    (arrival,), _ = inbox.arrivals()
    before = contents(arrival.folder)
    for k, name in enumerate(("Other", "Another")):
        inbox.hand_in(passed(name=name), due, "192.0.2.2", open_day + timedelta(seconds=k))
    arrivals, _ = inbox.arrivals()
    assert len(arrivals) == 3
    assert contents(arrival.folder) == before


def test_names_of_folders_are_ours_alone(inbox, passed, due, open_day) -> None:
    inbox.hand_in(passed("etc-passwd/con-air", team="A \N{SNOWMAN} & b", name="../../x"), due, "192.0.2.1", open_day)
    (arrival,), _ = inbox.arrivals()
    assert arrival.folder.parent == inbox.folder
    assert set(arrival.folder.name) <= set("0123456789abcdefTZ-")
    assert arrival.folder.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(("days", "code"), [(-30, "not-open"), (90, "closed")])
def test_outside_the_quarters_days_nothing_is_taken(inbox, passed, due, open_day, days: int, code: str) -> None:
    submission = passed()
    refused(code, inbox.hand_in, submission, due, None, open_day + timedelta(days=days))
    assert inbox.arrivals() == ([], [])


def test_the_last_second_counts_and_the_next_does_not(inbox, passed, due) -> None:
    inbox.hand_in(passed(), due, None, due.deadline - timedelta(seconds=1))
    refused("closed", inbox.hand_in, passed(name="Late"), due, None, due.deadline)


def test_a_visitor_who_comes_too_often_is_told_when_to_come_again(tmp_path, passed, due, open_day) -> None:
    inbox = Inbox(tmp_path / "inbox", InboxLimits(visitor_per_hour=2))
    for k in range(2):
        inbox.hand_in(passed(name=f"S{k}"), due, "192.0.2.1", open_day + timedelta(minutes=10 * k))
    third = passed(name="S2")
    error = refused("too-often", inbox.hand_in, third, due, "192.0.2.1", open_day + timedelta(minutes=20))
    assert "2023-08-01T13:00:00Z" in error.fix
    assert "in 40 min" in error.fix
    assert inbox.hand_in(third, due, "192.0.2.9", open_day + timedelta(minutes=20)).new
    assert inbox.hand_in(passed(name="S3"), due, "192.0.2.1", open_day + HOUR).new


def test_all_together_have_a_limit_too(tmp_path, passed, due, open_day) -> None:
    inbox = Inbox(tmp_path / "inbox", InboxLimits(all_per_hour=3))
    for k in range(3):
        inbox.hand_in(passed(name=f"S{k}"), due, f"192.0.2.{k}", open_day)
    error = refused("too-often", inbox.hand_in, passed(name="S3"), due, "192.0.2.77", open_day)
    assert "everybody" in error.what


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (InboxLimits(arrival_bytes=100), "too-large"),
        (InboxLimits(inbox_arrivals=1), "inbox-full"),
        (InboxLimits(inbox_bytes=5_000), "inbox-full"),
    ],
)
def test_size_and_number_are_limited(tmp_path, passed, due, open_day, limits: InboxLimits, code: str) -> None:
    inbox = Inbox(tmp_path / "inbox")
    inbox.hand_in(passed(), due, None, open_day)
    before = contents(inbox.folder)
    refused(code, replace(inbox, limits=limits).hand_in, passed(name="More"), due, None, open_day)
    assert contents(inbox.folder) == before


def test_addresses_are_never_kept_and_hashes_only_for_an_hour(inbox, passed, due, open_day) -> None:
    inbox.hand_in(passed(), due, "192.0.2.123", open_day)
    everything = b"".join(contents(inbox.folder).values())
    assert b"192.0.2.123" not in everything
    visits = inbox.folder / ".visits.json"
    assert len(json.loads(visits.read_text())) == 1
    inbox.forget_visits(open_day + HOUR - timedelta(seconds=1))
    assert len(json.loads(visits.read_text())) == 1
    inbox.forget_visits(open_day + HOUR)
    assert json.loads(visits.read_text()) == []
    assert (inbox.folder / ".secret").stat().st_mode & 0o077 == 0


def test_two_inboxes_know_a_visitor_by_different_hashes(tmp_path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    one, other = (Visits(tmp_path / name) for name in ("one", "other"))
    assert one.visitor("192.0.2.1") == one.visitor("192.0.2.1") != one.visitor("192.0.2.2")
    assert one.visitor("192.0.2.1") != other.visitor("192.0.2.1")
    assert one.visitor("2001:db8:1:2::1") == one.visitor("2001:db8:1:2:ffff::9%eth0")
    assert one.visitor("2001:db8:1:2::1") != one.visitor("2001:db8:1:3::1")
    assert one.visitor("::ffff:192.0.2.1") == one.visitor("192.0.2.1")
    assert one.visitor(None) == one.visitor("") == one.visitor("nonsense")


@pytest.mark.parametrize("content", [b"", b"{}", b"[[1]]", b'[["never", "x"]]', b"\xff\xfe", b"[" * 100_000])
def test_damaged_counts_keep_nobody_out(inbox, passed, due, open_day, content: bytes) -> None:
    inbox.folder.mkdir()
    (inbox.folder / ".visits.json").write_bytes(content)
    assert inbox.hand_in(passed(), due, None, open_day).new


def test_many_at_once_are_all_kept_and_counted(tmp_path, passed, due, open_day) -> None:
    inbox = Inbox(tmp_path / "inbox", InboxLimits(visitor_per_hour=10))
    submissions = [passed(name=f"S{k}") for k in range(14)]
    failed: list[str] = []

    def hand_in(submission: Submission) -> None:
        try:
            Inbox(inbox.folder, inbox.limits).hand_in(submission, due, "192.0.2.1", open_day)
        except SubmissionError as error:
            failed.append(error.code)

    threads = [threading.Thread(target=hand_in, args=(submission,)) for submission in submissions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    arrivals, faults = inbox.arrivals()
    assert (len(arrivals), failed, faults) == (10, ["too-often"] * 4, [])
    assert len({item.folder.name.split("-")[1] for item in arrivals}) == 10


def test_what_was_interrupted_leaves_nothing(inbox, passed, due, open_day, monkeypatch) -> None:
    inbox.hand_in(passed(), due, None, open_day)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", _fails)
        with pytest.raises(WorkspaceError):
            inbox.hand_in(passed(name="Broken"), due, None, open_day)
    assert len(inbox.arrivals()[0]) == 1
    inbox.hand_in(passed(name="Next"), due, None, open_day)
    assert len(inbox.arrivals()[0]) == 2
    assert not list(inbox.folder.glob(".arriving-*"))


def _fails(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_an_inbox_that_cannot_be_used_is_an_error_of_ours(tmp_path, passed, due, open_day) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WorkspaceError) as caught:
        Inbox(tmp_path / "file").hand_in(passed(), due, None, open_day)
    assert caught.value.code == "unwritable"


@pytest.mark.parametrize("content", [b"", b"[]", b'{"split":"main","team":"../..","system":"x"}',
                                     b'{"split":"other","team":"a","system":"x"}', b"[" * 100_000])  # fmt: skip
def test_an_arrival_that_was_tampered_with_is_named_and_the_others_are_read(
    inbox, passed, due, open_day, content: bytes
) -> None:
    for name in ("One", "Two"):
        inbox.hand_in(passed(name=name), due, None, open_day)
    arrivals, _ = inbox.arrivals()
    (arrivals[0].folder / "arrival.json").write_bytes(content)
    left, faults = inbox.arrivals()
    assert left == arrivals[1:]
    assert [fault.code for fault in faults] == ["bad-arrival"]
    assert inbox.hand_in(passed(name="Three"), due, None, open_day).new


def test_splits_have_arrivals_of_their_own(inbox, passed, due, open_day) -> None:
    submission = passed()
    inbox.hand_in(submission, due, None, open_day)
    done = inbox.hand_in(submission, replace(due, split=PROSPECTIVE_SPLIT), None, open_day)
    assert done.new
    assert {path.name for item in inbox.arrivals()[0] for path in item.folder.iterdir()} >= {
        "prospective.jsonl", "receipt_prospective.json", "predictions.jsonl", "receipt.json",
    }  # fmt: skip


@given(st.lists(st.integers(0, 7200), max_size=20), st.integers(0, 7200))
def test_what_counts_is_what_came_within_the_hour(tmp_path_factory, seconds: list[int], at: int) -> None:
    start = datetime(2023, 8, 1, tzinfo=UTC)
    folder = tmp_path_factory.mktemp("visits")
    (folder / ".visits.json").write_text(
        json.dumps([[(start + timedelta(seconds=s)).strftime("%Y-%m-%dT%H:%M:%SZ"), "v"] for s in seconds])
    )
    recent = Visits(folder).recent(start + timedelta(seconds=at))
    assert len(recent) == sum(at - 3600 < s <= at for s in seconds)
    assert recent == sorted(recent, key=lambda visit: visit.at)


def test_limits_are_those_of_the_inbox(tmp_path) -> None:
    assert Inbox.at(tmp_path).limits == InboxLimits()
    (tmp_path / "limits.toml").write_text("visitor_per_hour = 60\ninbox_arrivals = 50\n")
    assert Inbox.at(tmp_path).limits == InboxLimits(visitor_per_hour=60, inbox_arrivals=50)


@pytest.mark.parametrize(
    "content",
    [
        b"=",
        b"\xff",
        b"visitor_per_hour = 0",
        b"visitor_per_hour = '6'",
        b"all_per_hours = 6",
        b"arrival_bytes = 99999999",
        b"x = " + b"[" * 100_000,
    ],
)
def test_limits_that_say_something_else_are_refused(tmp_path, content: bytes) -> None:
    (tmp_path / "limits.toml").write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        Inbox.at(tmp_path)
    assert caught.value.code == "config"
