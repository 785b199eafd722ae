"""Arrivals become submissions by the same rules as everything else, with the time at which they came, once."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hellofresh.core.errors import ReleaseError
from hellofresh.core.quarters import Quarter
from hellofresh.releases.life.manifest import BUNDLED
from hellofresh.submissions.check import Due, inspect_submission
from hellofresh.submissions.inbox import ArrivalReport, Inbox, collect_inbox
from hellofresh.submissions.receipts import Receipt, add_submission, read_receipt
from hellofresh.submissions.released import due_in
from hellofresh.tasks.samples import Split
from tests.conftest import Cli
from tests.fakes import contents, fails_with, refused
from tests.submissions.checks import write_submission

HOUR = timedelta(hours=1)


@pytest.fixture
def desk(tmp_path: Path, hand_in: Callable[..., Path], due: Due, open_day: datetime) -> Desk:
    return Desk(tmp_path / "submissions", Inbox(tmp_path / "inbox"), hand_in, due, open_day)


class Desk:
    """A maintainer's desk: an inbox, the submissions, and somebody who hands in."""

    def __init__(self, root: Path, inbox: Inbox, hand_in: Callable[..., Path], due: Due, start: datetime) -> None:
        self.root, self.inbox, self.make, self.due, self.start = root, inbox, hand_in, due, start

    def arrive(self, place: str = "acme/system", *, hours: int = 0, **how: Any) -> Receipt:
        """Somebody hands something in on the site."""
        checked = inspect_submission(self.make(place, **how), self.due, self.start)
        assert checked.submission is not None
        return self.inbox.hand_in(checked.submission, self.due, self.start + hours * HOUR).receipt

    def collect(self, *accepted: str, **how: Any) -> list[ArrivalReport]:
        found, faults = collect_inbox(
            self.inbox, self.due_of, self.root, accepted=accepted, moment=self.due.deadline + 9 * HOUR, **how
        )
        assert faults == []
        return found

    def due_of(self, quarter: Quarter, split: Split) -> Due:
        if quarter != self.due.edition:
            raise ReleaseError(f"no release of {quarter}", code="no-release")
        return self.due

    def place(self, name: str = "acme/system") -> Path:
        return self.root / str(self.due.edition) / name


def states(found: list[ArrivalReport]) -> list[str]:
    return [item.fault.code if item.fault else item.state for item in found]


def test_a_rehearsal_says_the_same_and_changes_nothing(desk) -> None:
    desk.arrive()
    desk.arrive(name="System 2", hours=1)
    desk.arrive("other/one", team="Other", hours=2)
    said = desk.collect(rehearse=True)
    assert not desk.root.exists()
    assert states(said) == states(desk.collect()) == ["added", "known-entry", "added"]


def test_a_team_that_is_there_is_only_followed_by_what_a_maintainer_names(desk) -> None:
    desk.arrive()
    desk.collect()
    before = contents(desk.root)
    second = desk.arrive(name="System 2", hours=1)
    third = desk.arrive("acme/another", name="Another", hours=2)
    assert states(desk.collect()) == ["taken-before", "known-entry", "known-team"]
    assert contents(desk.root) == before
    assert states(desk.collect(second.sha256[:12])) == ["taken-before", "replaced", "known-team"]
    receipt = read_receipt(desk.place(), [])
    assert receipt is not None
    assert (receipt.sha256, receipt.received) == (second.sha256, second.received)
    assert len(receipt.earlier) == 1
    assert states(desk.collect(third.sha256)) == ["taken-before", "taken-before", "added"]


def test_of_several_versions_the_latest_ends_up_as_the_entry(desk) -> None:
    hashes = [desk.arrive(name=f"System {k}", hours=k).sha256[:8] for k in range(3)]
    assert states(desk.collect(*hashes)) == ["added", "replaced", "replaced"]
    assert 'name = "System 2"' in (desk.place() / "system.toml").read_text()
    before = contents(desk.root)
    assert states(desk.collect(*hashes)) == ["taken-before"] * 3
    assert contents(desk.root) == before


def test_what_came_in_later_by_another_way_is_not_replaced(desk) -> None:
    receipt = desk.arrive()
    add_submission(desk.make(name="Newer"), desk.due, desk.root, desk.start + 5 * HOUR)
    assert states(desk.collect(receipt.sha256)) == ["older"]


def test_a_strangers_later_version_does_not_come_along_with_what_the_team_says_is_its_own(desk) -> None:
    """The maintainer lists, asks the team, and accepts; meanwhile a stranger hands in for the same entry."""
    desk.arrive()
    desk.collect()
    mine = desk.arrive(name="By the team", hours=1)
    (_, listed) = desk.collect(rehearse=True)
    desk.arrive(name="By a stranger", hours=2)
    desk.arrive("acme/more", name="More by a stranger", hours=3)
    assert states(desk.collect(listed.arrival.hash)) == ["taken-before", "replaced", "known-entry", "known-team"]
    assert 'name = "By the team"' in (desk.place() / "system.toml").read_text()
    assert not desk.place("acme/more").exists()
    stands = read_receipt(desk.place(), [])
    assert stands is not None and stands.sha256 == mine.sha256


def test_the_same_content_under_another_name_is_not_accepted_with_it(desk) -> None:
    """Names of folders are no part of the hash: who knows a team's content can hand it in for another entry."""
    desk.arrive()
    desk.collect()
    mine = desk.arrive(name="Mine", hours=1)
    twin = desk.arrive("acme/twin", name="Mine", hours=2)
    assert mine.sha256 == twin.sha256
    before = contents(desk.root)
    with fails_with("ambiguous-arrival") as caught:
        desk.collect(mine.sha256)
    arrivals, _ = desk.inbox.arrivals()
    assert all(item.folder.name in str(caught.value) for item in arrivals[1:])
    assert contents(desk.root) == before
    assert states(desk.collect(arrivals[1].folder.name)) == ["taken-before", "replaced", "known-team"]


@pytest.mark.parametrize("text", ["acme/system", "", "0", "1234567", "g" * 12, "../x", "*" * 12, "f" * 64])
def test_what_is_no_beginning_of_an_arrivals_hash_accepts_nothing(desk, text: str) -> None:
    receipt = desk.arrive()
    refused("unknown-arrival", desk.collect, text if text != "1234567" else receipt.sha256[:7])
    assert not desk.root.exists()


def test_look_alikes_are_refused_as_everywhere(desk) -> None:
    desk.arrive("acme/one")
    desk.arrive("acrne/two", team="Acrne", hours=1)
    ours = desk.arrive("hellofresh/mine", team="Mine", hours=2)
    assert states(desk.collect()) == ["added", "look-alike", "known-team"]
    assert states(desk.collect(ours.sha256))[2] == "added"


def test_copies_are_remarked_upon(desk) -> None:
    labels = {key: int(k % 3 == 0) for k, key in enumerate(desk.due.ids["x-notes"])}
    desk.arrive("one/one", labels=labels, team="One")
    desk.arrive("two/two", labels=labels, team="Two", hours=1)
    first, second = desk.collect()
    assert first.remarks == ()
    assert "same-labels" in second.remarks[0]


@pytest.mark.parametrize("name", ["predictions.jsonl", "system.toml"])
@pytest.mark.parametrize(("change", "code"), [(b"\n", "added"), (b"nonsense", None), (None, "missing-file")])
def test_what_was_changed_in_the_inbox_is_refused(desk, name: str, change: bytes | None, code: str | None) -> None:
    desk.arrive()
    (arrival,), _ = desk.inbox.arrivals()
    path = arrival.folder / name
    path.unlink() if change is None else path.write_bytes(path.read_bytes() + change)
    (found,) = desk.collect()
    assert code in (None, *states([found]))
    assert (found.state == "added") == (code == "added") == desk.place().exists()


def test_an_altered_answer_does_not_pass_for_what_the_receipt_is_for(desk) -> None:
    desk.arrive()
    (arrival,), _ = desk.inbox.arrivals()
    path = arrival.folder / "predictions.jsonl"
    path.write_text(path.read_text().replace('"label":0', '"label":1', 1))
    assert states(desk.collect()) == ["altered"]


def test_links_in_the_inbox_are_not_followed(desk, tmp_path) -> None:
    desk.arrive()
    (arrival,), _ = desk.inbox.arrivals()
    (tmp_path / "elsewhere").write_bytes((arrival.folder / "system.toml").read_bytes())
    (arrival.folder / "system.toml").unlink()
    (arrival.folder / "system.toml").symlink_to(tmp_path / "elsewhere")
    assert states(desk.collect()) == ["missing-file"]


def test_a_time_to_come_and_a_quarter_without_release_are_refused(desk) -> None:
    desk.arrive()
    found, _ = collect_inbox(desk.inbox, desk.due_of, desk.root, moment=desk.start - HOUR)
    assert states(found) == ["bad-time"]

    def nothing(quarter: Quarter, split: Split) -> Due:
        return desk.due_of(Quarter(2001, 1), split)

    found, _ = collect_inbox(desk.inbox, nothing, desk.root, moment=desk.due.deadline)
    assert states(found) == ["no-release"]
    assert not desk.root.exists()


def test_only_the_quarter_that_was_named_is_collected(desk) -> None:
    desk.arrive()
    assert desk.collect(edition=desk.due.edition.next()) == []
    assert states(desk.collect(edition=desk.due.edition)) == ["added"]


@pytest.fixture
def command(make, place: Path, cli: Cli) -> Callable[..., Any]:
    """Runs `submission add --inbox` on a real release of 2026Q3 with an inbox that has one arrival."""
    quarter = Quarter(2026, 3)
    notes = [make.note(k, date=quarter.start + timedelta(days=k)) for k in range(1, 13)]
    make.release([make.candidate(note, k % 2) for k, note in enumerate(notes)], source=BUNDLED, quarter=quarter)
    due = due_in(make.workspace(), quarter)
    rows = ({"id": key, "label": k % 2} for k, key in enumerate(due.ids["x-notes"]))
    folder = write_submission(place / "from" / "2026Q3" / "acme" / "system", rows)
    Inbox(place / "inbox").hand_in(inspect_submission(folder, due).submission, due)
    return partial(cli.json, "submission", "add", "--inbox")


def test_the_command_lists_takes_and_clears(command, place: Path, monkeypatch) -> None:
    (said,) = command("inbox", "--list")["arrivals"]
    assert (said["state"], said["contact"]) == ("added", "c")
    assert not (place / "submissions").exists()
    monkeypatch.setenv("HELLOFRESH_INBOX", "inbox")
    assert command("--quarter", "2026Q3")["arrivals"][0]["state"] == "added"
    assert (place / "submissions/2026Q3/acme/system/receipt.json").is_file()
    assert command()["arrivals"][0]["state"] == "taken-before"
    command("--clear")
    assert command()["arrivals"] == []


def test_the_command_wants_an_inbox(command, cli: Cli) -> None:
    assert "HELLOFRESH_INBOX" not in os.environ
    for inbox in ((), ("nowhere",)):
        cli("submission", "add", "--inbox", *inbox, code=2)


def test_the_command_reports_what_cannot_be_read(command, place: Path) -> None:
    (arrival,), _ = Inbox(place / "inbox").arrivals()
    (arrival.folder / "receipt.json").write_text("{}")
    assert command("inbox", code=1)["unreadable"]
