"""What a visitor hands in is kept once, whole, with a receipt, and within bounds, whoever else comes meanwhile."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hellofresh.core.errors import WorkspaceError
from hellofresh.submissions import inbox as module
from hellofresh.submissions.check import Due, Submission, inspect_submission
from hellofresh.submissions.inbox import Inbox
from hellofresh.submissions.receipts import read_receipt
from hellofresh.tasks.samples import PROSPECTIVE
from leaderboard.data.uploads import visitor_of
from tests.fakes import contents, refused

CODE = "hellofresh"
HOUR = timedelta(hours=1)


@pytest.fixture
def inbox(tmp_path: Path) -> Inbox:
    return Inbox(tmp_path / "inbox")


@pytest.fixture
def passed(hand_in: Callable[..., Path], due: Due, open_day: datetime) -> Callable[..., Submission]:
    def make(place: str = "acme/system", **how: Any) -> Submission:
        folder = hand_in(place, **how)
        checked = inspect_submission(folder, due, open_day)
        assert checked.submission is not None
        return checked.submission

    return make


def test_what_is_handed_in_is_kept_with_a_receipt_of_its_content_and_time(inbox, passed, due, open_day) -> None:
    submission = passed()
    done = inbox.hand_in(submission, due, open_day + timedelta(microseconds=7))
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
    first = inbox.hand_in(passed(), due, open_day)
    again = inbox.hand_in(passed(), due, open_day + HOUR)
    assert (again.receipt, again.new) == (first.receipt, False)
    late = inbox.hand_in(passed(), due, due.deadline + HOUR)
    assert late.receipt == first.receipt
    assert len(inbox.arrivals()[0]) == 1


def test_going_back_to_an_earlier_content_is_an_arrival_of_its_own(inbox, passed, due, open_day) -> None:
    one, other = passed(), passed(name="System 2")
    times = [open_day + k * HOUR for k in range(3)]
    for submission, moment in zip((one, other, one), times, strict=True):
        assert inbox.hand_in(submission, due, moment).receipt.received == moment
    assert [item.receipt.sha256 for item in inbox.arrivals()[0]] == [one.sha256, other.sha256, one.sha256]


def test_nobody_can_touch_what_somebody_else_handed_in(inbox, passed, due, open_day) -> None:
    inbox.hand_in(passed(), due, open_day)
    (arrival,), _ = inbox.arrivals()
    before = contents(arrival.folder)
    for k, name in enumerate(("Other", "Another")):
        inbox.hand_in(passed(name=name), due, open_day + timedelta(seconds=k))
    arrivals, _ = inbox.arrivals()
    assert len(arrivals) == 3
    assert contents(arrival.folder) == before


def test_names_of_folders_are_ours_alone(inbox, passed, due, open_day) -> None:
    inbox.hand_in(passed("etc-passwd/con-air", team="A \N{SNOWMAN} & b", name="../../x"), due, open_day)
    (arrival,), _ = inbox.arrivals()
    assert arrival.folder.parent == inbox.folder
    assert set(arrival.folder.name) <= set("0123456789abcdefTZ-")
    assert arrival.folder.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(("days", "code"), [(-30, "not-open"), (90, "closed")])
def test_outside_the_quarters_days_nothing_is_taken(inbox, passed, due, open_day, days: int, code: str) -> None:
    submission = passed()
    refused(code, inbox.hand_in, submission, due, open_day + timedelta(days=days))
    assert inbox.arrivals() == ([], [])


@pytest.mark.parametrize(
    ("limit", "most", "code"),
    [("ARRIVAL_BYTES", 100, "too-large"), ("INBOX_ARRIVALS", 1, "inbox-full"), ("INBOX_BYTES", 5_000, "inbox-full")],
)
def test_size_and_number_are_limited(
    inbox, passed, due, open_day, monkeypatch, limit: str, most: int, code: str
) -> None:
    inbox.hand_in(passed(), due, open_day)
    before = contents(inbox.folder)
    monkeypatch.setattr(module, limit, most)
    refused(code, inbox.hand_in, passed(name="More"), due, open_day)
    assert contents(inbox.folder) == before


def test_many_at_once_are_all_kept(inbox, passed, due, open_day) -> None:
    submissions = [passed(name=f"S{k}") for k in range(14)]
    threads = [
        threading.Thread(target=Inbox(inbox.folder).hand_in, args=(submission, due, open_day))
        for submission in submissions
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    arrivals, faults = inbox.arrivals()
    assert (len(arrivals), faults) == (14, [])
    assert len({item.folder.name.split("-")[1] for item in arrivals}) == 14


def test_what_was_interrupted_leaves_nothing(inbox, passed, due, open_day, monkeypatch) -> None:
    inbox.hand_in(passed(), due, open_day)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", _fails)
        with pytest.raises(WorkspaceError):
            inbox.hand_in(passed(name="Broken"), due, open_day)
    assert len(inbox.arrivals()[0]) == 1
    inbox.hand_in(passed(name="Next"), due, open_day)
    assert len(inbox.arrivals()[0]) == 2
    assert not list(inbox.folder.glob(".arriving-*"))


def _fails(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_an_inbox_that_cannot_be_used_is_an_error_of_ours(tmp_path, passed, due, open_day) -> None:
    (tmp_path / "file").write_text("")
    refused("unwritable", Inbox(tmp_path / "file").hand_in, passed(), due, open_day)


@pytest.mark.parametrize("content", [b"", b"[]", b'{"split":"main","team":"../..","system":"x"}',
                                     b'{"split":"other","team":"a","system":"x"}', b"[" * 100_000])  # fmt: skip
def test_an_arrival_that_was_tampered_with_is_named_and_the_others_are_read(
    inbox, passed, due, open_day, content: bytes
) -> None:
    for name in ("One", "Two"):
        inbox.hand_in(passed(name=name), due, open_day)
    arrivals, _ = inbox.arrivals()
    (arrivals[0].folder / "arrival.json").write_bytes(content)
    left, faults = inbox.arrivals()
    assert left == arrivals[1:]
    assert [fault.code for fault in faults] == ["too-large" if len(content) > 10_000 else "bad-arrival"]
    assert inbox.hand_in(passed(name="Three"), due, open_day).new


def test_splits_have_arrivals_of_their_own(inbox, passed, due, open_day) -> None:
    submission = passed()
    inbox.hand_in(submission, due, open_day)
    done = inbox.hand_in(submission, replace(due, split=PROSPECTIVE), open_day)
    assert done.new
    assert {path.name for item in inbox.arrivals()[0] for path in item.folder.iterdir()} >= {
        "prospective.jsonl", "receipt_prospective.json", "predictions.jsonl", "receipt.json",
    }  # fmt: skip


def test_a_visitor_is_refused_after_a_days_number_and_others_are_not(inbox, passed, due, open_day, monkeypatch) -> None:
    monkeypatch.setattr(module, "VISITOR_ARRIVALS", 2)
    for number in range(2):
        inbox.hand_in(passed(f"acme/s{number}"), due, open_day, visitor="192.0.2.1")
    refused("too-many", lambda: inbox.hand_in(passed("acme/s2"), due, open_day, visitor="192.0.2.1"))
    for number, visitor in ((3, "192.0.2.2"), (4, ""), (5, ""), (6, "")):
        inbox.hand_in(passed(f"acme/s{number}"), due, open_day, visitor=visitor)
    assert not any(b"192.0.2" in content for content in contents(inbox.folder).values())
    keys = [path.name for path in inbox.folder.glob(".visitors-*")]
    inbox.hand_in(passed("acme/s7"), due, open_day + 24 * HOUR, visitor="192.0.2.1")
    assert len(keys) == 1 and keys != [path.name for path in inbox.folder.glob(".visitors-*")]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", ["pipe", "device", "large"])
@pytest.mark.parametrize("name", ["arrival.json", "receipt.json"])
def test_what_never_ends_or_is_too_large_in_an_arrival_is_named_and_not_read(
    inbox, passed, due, open_day, kind: str, name: str
) -> None:
    inbox.hand_in(passed(), due, open_day)
    (arrival,), _ = inbox.arrivals()
    path = arrival.folder / name
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        with path.open("wb") as file:
            file.truncate(10**10)
    found, faults = inbox.arrivals()
    assert found == [] and str(arrival.folder) in faults[0].where


@pytest.mark.parametrize(("address", "named", "visitor"), [
    (None, "1.2.3.4", "1.2.3.4"), ("5.6.7.8", "1.2.3.4", "5.6.7.8"), ("10.0.0.2", "1.2.3.4", "1.2.3.4"),
    ("10.0.0.2", None, "10.0.0.2"), (None, None, ""),
])  # fmt: skip
def test_a_proxy_elsewhere_names_the_visitor_only_if_it_is_trusted(
    monkeypatch: pytest.MonkeyPatch, address: str | None, named: str | None, visitor: str
) -> None:
    monkeypatch.setenv("HELLOFRESH_PROXIES", "10.0.0.2 10.0.0.3")
    assert visitor_of(address, named) == visitor
