"""A submission is taken in whole or not at all, until the deadline to the second; receipts decide what counts."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from hellofresh.core.errors import WorkspaceError
from hellofresh.submissions.check import inspect_submission
from hellofresh.submissions.receipts import add_submission, find_submissions, read_receipt, withdraw_submission
from hellofresh.submissions.standings import EntryOutcome, passed_over, standings
from tests.fakes import contents, refused

SECOND = timedelta(seconds=1)


@pytest.fixture
def root(tmp_path):
    return tmp_path / "submissions"


def outcomes(root, due) -> dict[str, EntryOutcome]:
    return {item.origin: item.tasks["x-notes"] for item in standings(root, due).entries if item.tasks}


def test_what_is_taken_in_has_a_receipt_for_the_same_content(root, due, hand_in, open_day) -> None:
    source = hand_in()
    added = add_submission(source, due, root, open_day)
    assert added.folder == root / "2023Q2/acme/system"
    assert (added.state, added.receipt.received, added.receipt.tasks) == ("added", open_day, ("x-notes",))
    stored = inspect_submission(added.folder, due).submission
    assert stored.sha256 == added.receipt.sha256 == inspect_submission(source, due).submission.sha256
    assert read_receipt(added.folder, []) == added.receipt
    assert outcomes(root, due) == {"acme/system": EntryOutcome.COUNTS}
    assert {path.name for path in added.folder.iterdir()} == {"predictions.jsonl", "system.toml", "receipt.json"}
    assert list(root.rglob(".*")) == []


def test_the_same_again_keeps_its_first_time_and_another_content_keeps_the_earlier_receipts(
    root, due, hand_in, open_day
) -> None:
    first = add_submission(hand_in(), due, root, open_day)
    again = add_submission(hand_in(), due, root, open_day + SECOND)
    assert (again.state, again.receipt) == ("unchanged", first.receipt)
    for number in range(2):
        changed = hand_in(labels=dict.fromkeys(due.ids["x-notes"], number))
        later = add_submission(changed, due, root, open_day + (number + 2) * SECOND)
        assert later.state == "replaced"
    assert [one.received for one in later.receipt.earlier] == [open_day, open_day + 2 * SECOND]
    assert later.receipt.earlier[0].sha256 == first.receipt.sha256


@pytest.mark.parametrize(
    ("moment", "code"), [("opens", ""), ("last second", ""), ("deadline", "closed"), ("before", "not-open")]
)
def test_predictions_are_taken_from_the_opening_to_the_deadline_to_the_second(
    root, due, hand_in, moment: str, code: str
) -> None:
    days = due.calendars["x-notes"]
    when = {
        "opens": days.opens,
        "last second": days.deadline - timedelta(microseconds=1),
        "deadline": days.deadline,
        "before": days.opens - timedelta(microseconds=1),
    }[moment]
    if not code:
        assert add_submission(hand_in(), due, root, when).receipt.received <= when
        assert outcomes(root, due) == {"acme/system": EntryOutcome.COUNTS}
        return
    refused(code, add_submission, hand_in(), due, root, when)
    assert not root.exists()


def test_after_the_deadline_nothing_is_replaced_or_withdrawn(root, due, hand_in, open_day) -> None:
    add_submission(hand_in(), due, root, open_day)
    before, deadline = contents(root), due.deadline
    for attempt in (
        lambda: add_submission(hand_in(labels=dict.fromkeys(due.ids["x-notes"], 1)), due, root, deadline),
        lambda: withdraw_submission(root, due, "acme", "system", deadline),
    ):
        refused("closed", attempt)
    assert contents(root) == before


def test_what_is_withdrawn_is_gone_and_the_others_stay(root, due, hand_in, open_day) -> None:
    for place in ("acme/system", "acme/other"):
        add_submission(hand_in(place), due, root, open_day)
    withdraw_submission(root, due, "acme", "system", due.deadline - SECOND)
    assert [folder.name for folder in find_submissions(root, due.edition)] == ["other"]
    withdraw_submission(root, due, "acme", "other", open_day)
    assert contents(root) == {} and not (root / "2023Q2/acme").exists()
    for team, system in (("acme", "other"), ("..", "x"), ("acme", "../../x")):
        refused("no-submission", withdraw_submission, root, due, team, system, open_day)


def test_what_has_a_fault_is_not_taken_in_and_leaves_no_trace(root, due, hand_in, open_day) -> None:
    source = hand_in(labels={"xn-0": 1})
    refused("missing-id", add_submission, source, due, root, open_day)
    assert not root.exists()


def test_a_table_is_stored_as_lines_and_nothing_else_that_was_handed_in(root, due, hand_in, open_day) -> None:
    source = hand_in()
    lines = (source / "predictions.jsonl").read_text().splitlines()
    (source / "predictions.jsonl").unlink()
    rows = [json.loads(line) for line in lines]
    (source / "predictions.csv").write_text("id,label\n" + "".join(f"{row['id']},{row['label']}\n" for row in rows))
    (source / "run.sh").write_text("rm -rf /")
    with (source / "system.toml").open("a") as file:
        file.write("# a remark \u202e\n")
    folder = add_submission(source, due, root, open_day).folder
    assert {path.name for path in folder.iterdir()} == {"predictions.jsonl", "system.toml", "receipt.json"}
    assert "\u202e" not in (folder / "system.toml").read_text(encoding="utf-8")
    assert sorted((folder / "predictions.jsonl").read_text().splitlines()) == sorted(lines)


def test_what_lies_in_its_place_already_only_gets_a_receipt(root, due, hand_in, open_day) -> None:
    folder = hand_in(root=root)
    assert outcomes(root, due) == {"acme/system": EntryOutcome.NO_RECEIPT}
    before = (folder / "predictions.jsonl").read_bytes()
    add_submission(folder, due, root, open_day)
    assert (folder / "predictions.jsonl").read_bytes() == before
    assert outcomes(root, due) == {"acme/system": EntryOutcome.COUNTS}


def test_a_receipt_at_the_deadline_is_late_and_a_second_before_is_not(root, due, hand_in, open_day) -> None:
    folder = add_submission(hand_in(), due, root, open_day).folder
    receipt = json.loads((folder / "receipt.json").read_text())
    for received, outcome in (
        ("2023-10-15T00:00:00Z", EntryOutcome.LATE),
        ("2023-10-14T23:59:59Z", EntryOutcome.COUNTS),
        ("2023-07-21T23:59:59Z", EntryOutcome.IMPOSSIBLE),  # nobody could have written it: the quarter had not opened
    ):
        (folder / "receipt.json").write_text(json.dumps(receipt | {"received": received}))
        assert outcomes(root, due) == {"acme/system": outcome}
    (folder / "receipt.json").write_text(json.dumps(receipt | {"received": "2023-09-09T00:00:00Z"}))
    (item,) = standings(root, due, open_day).entries  # nor could anybody now write one of a day to come
    assert item.tasks == {"x-notes": EntryOutcome.IMPOSSIBLE}


def test_a_receipt_that_is_none_is_named_and_does_not_count(root, due, hand_in, open_day) -> None:
    folder = add_submission(hand_in(), due, root, open_day).folder
    receipt = json.loads((folder / "receipt.json").read_text())
    (folder / "receipt.json").write_text(json.dumps(receipt | {"earlier": [{}]}))
    (item,) = standings(root, due).entries
    assert {fault.code for fault in item.faults} == {"bad-receipt"}
    assert not any(outcome is EntryOutcome.COUNTS for outcome in item.tasks.values())


def test_of_a_team_the_two_latest_entries_count_and_a_second_name_makes_no_second_team(
    root, due, hand_in, open_day
) -> None:
    for number, place in enumerate(["acme/c", "acme/a", "acme/b", "other/x"]):
        team = "Acme" if place.startswith("acme") else "Other"
        add_submission(hand_in(place, team=team), due, root, open_day + number * SECOND)
    assert outcomes(root, due) == {
        "acme/c": EntryOutcome.OVER_LIMIT,
        "acme/a": EntryOutcome.COUNTS,
        "acme/b": EntryOutcome.COUNTS,
        "other/x": EntryOutcome.COUNTS,
    }
    twin = hand_in("acme-two/x", root=root, team="АСМЕ")  # noqa: RUF001 - Cyrillic
    refused("look-alike", add_submission, twin, due, root, open_day)


def test_a_look_alike_that_got_in_by_other_ways_shares_the_limit(root, due, hand_in, open_day) -> None:
    aside = root.with_name("aside")
    twin = add_submission(hand_in("zeta/x", team="АСМЕ"), due, aside, open_day + 9 * SECOND).folder  # noqa: RUF001
    for number, place in enumerate(["acme/a", "acme/b"]):
        add_submission(hand_in(place), due, root, open_day + number * SECOND)
    twin.parent.rename(root / "2023Q2/zeta")
    found = outcomes(root, due)
    assert [origin for origin, outcome in found.items() if outcome is EntryOutcome.COUNTS] == ["acme/b", "zeta/x"]
    (flagged,) = [item for item in standings(root, due).entries if item.origin == "zeta/x"]
    assert any("looks like that of acme" in flag for flag in flagged.flags)


def test_what_is_passed_over_is_named(root, due, hand_in) -> None:
    hand_in("acme/system", root=root)
    hand_in("Acme Inc/system", root=root)
    hand_in("acme/SYSTEM", root=root)
    (root / "2023q2").mkdir()
    (root / "2023Q2/notes.txt").write_text("x")
    (root / "2023Q2/acme/deep").mkdir()
    (root / "2023Q2/acme/deep/er").mkdir()
    (root / "2023Q2/acme/link").symlink_to(root / "2023Q2/acme/system")
    (root / "README.md").write_text("x")
    found = sorted(passed_over(root, due.edition))
    for name in ("2023q2", "notes.txt", "Acme Inc/system", "acme/SYSTEM", "acme/link", "deep/er"):
        assert sum(name in line for line in found) == 1, name
    assert len(found) == 6
    assert all(line.isprintable() for line in found)


def test_a_link_in_the_way_is_not_followed(root, due, hand_in, open_day, tmp_path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (root / "2023Q2").mkdir(parents=True)
    (root / "2023Q2/acme").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WorkspaceError):
        add_submission(hand_in(), due, root, open_day)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_cutoff_in_the_future_is_refused_and_todays_is_not(due, hand_in, open_day) -> None:
    for day, ok in ((open_day.date(), True), (open_day.date() + timedelta(days=1), False)):
        folder = hand_in()
        text = (folder / "system.toml").read_text().replace('"unknown"', day.isoformat())
        (folder / "system.toml").write_text(text)
        faults = inspect_submission(folder, due, open_day).faults
        assert [fault.code for fault in faults] == ([] if ok else ["bad-field"])


@pytest.mark.parametrize(("labels", "code"), [({0: 1}, "one-class"), ({0: 0}, "one-class"), ({0: 1, 1: 0}, "")])
def test_answers_of_one_class_are_taken_and_warned_of(due, hand_in, labels, code: str) -> None:
    said = {key: labels.get(n, labels[0]) for n, key in enumerate(due.ids["x-notes"])}
    checked = inspect_submission(hand_in(labels=said), due)
    assert checked.submission is not None
    assert [warning.code for warning in checked.warnings] == ([code] if code else [])


def test_a_makers_name_is_warned_of(due, hand_in) -> None:
    checked = inspect_submission(hand_in(team="OpenAI fans"), due)
    assert [warning.code for warning in checked.warnings] == ["vendor-name"]
