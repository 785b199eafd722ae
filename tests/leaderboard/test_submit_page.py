"""The page Submit, without a browser: what is due, what the check found, and what becomes of what is handed in."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import visiting
from streamlit.testing.v1 import AppTest
from visiting import text as plain

from hellofresh.core.calendar import CalendarRule
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.submissions.check import Due, Submission
from hellofresh.submissions.format import Fault, Prediction, SystemInfo
from hellofresh.submissions.inbox import VARIABLE, Inbox
from hellofresh.tasks.samples import MAIN, PROSPECTIVE
from leaderboard.data.uploads import load_dues
from leaderboard.views.submit import due_key, due_label, findings_table, next_opening, opening, preview

INFO = b"""name = "My system"
team = "My team"
contact = "me@team.example"
regime = "zero-shot"
models = ["model"]
knowledge_cutoff = 2026-01-31
"""
AFTER = "2027-01-16T00:00:00Z"


def opened(**query: str) -> AppTest:
    """The page that checks uploads after its first run, at an address with this query."""
    return visiting.app("submit", **query)


def html(test: AppTest) -> str:
    assert not test.exception
    return visiting.shown(test)


def text(test: AppTest) -> str:
    return plain(html(test))


def labels(test: AppTest) -> list[str]:
    return [item.proto.label for item in (*test.get("download_button"), *test.button)]


@pytest.fixture(autouse=True)
def board(open_board: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """The board that the site shows."""
    monkeypatch.setenv("HELLOFRESH_DATA", str(open_board.root))
    monkeypatch.delenv(VARIABLE, raising=False)
    return open_board


@pytest.fixture
def inbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Inbox:
    """The inbox that the site has, and a visitor whose browser sends no headers."""
    monkeypatch.setattr("leaderboard.live.st.context", SimpleNamespace(ip_address="203.0.113.7", headers={}, url=""))
    monkeypatch.setenv(VARIABLE, str(tmp_path / "inbox"))
    return Inbox(tmp_path / "inbox")


@pytest.fixture
def predictions(board: Workspace) -> bytes:
    """Answers to all samples of the open quarter, by turns."""
    due = load_dues(board.board)[-1]
    ids = [key for task in due.ids for key in due.ids[task]]
    return "".join(json.dumps({"id": key, "label": k % 2}) + "\n" for k, key in enumerate(ids)).encode()


def upload(test: AppTest, predictions: bytes | None, system: bytes | None, name: str = "p.jsonl") -> AppTest:
    for box, content, file in zip(test.file_uploader, (predictions, system), (name, "system.toml"), strict=True):
        if content is not None:
            box.set_value((file, content, "text/plain"))
    return test.run()


def handed_in(predictions: bytes, system: bytes = INFO) -> AppTest:
    test = upload(opened(), predictions, system)
    next(button for button in test.button if button.label == "Submit").click()
    return test.run()


def test_the_first_lines_say_what_is_open_until_when_and_what_is_due() -> None:
    said = text(opened())
    assert "2026Q3 accepts predictions until 15 January 2027, 00:00 UTC." in said
    assert "24 of Community Notes on X, 24 of Edits of Wikipedia paragraphs" in said


def test_the_page_of_the_copy_has_templates_and_commands() -> None:
    page = visiting.opened("submit")
    said = plain(page)
    assert "2026Q3 accepts predictions until 15 January 2027, 00:00 UTC." in said and "2026Q2 accepts" not in said
    assert "hellofresh submission check submissions/2026Q3/TEAM/SYSTEM" in said
    (name,) = (path for path in page.files if path.endswith("2026Q3/x-notes/predictions.jsonl"))
    assert page.files[name].count(b"\n") == 24
    assert any(path.endswith("/system.toml") for path in page.files)


def test_templates_are_there_for_all_tasks_and_for_each() -> None:
    assert labels(opened())[:4] == [
        "predictions.jsonl",
        "predictions.jsonl, Community Notes on X only",
        "predictions.jsonl, Edits of Wikipedia paragraphs only",
        "system.toml",
    ]


def test_without_an_open_quarter_the_page_says_when_the_next_one_opens(monkeypatch) -> None:
    monkeypatch.setenv("HELLOFRESH_NOW", AFTER)
    said = text(opened())
    assert "No quarter accepts predictions at the moment. 2026Q4 opens on 22 January 2027, 00:00 UTC." in said
    assert "Check only." in said


def test_a_closed_quarter_can_be_checked_and_not_handed_in(board, inbox, predictions) -> None:
    first = load_dues(board.board)[0]
    rows = "".join(json.dumps({"id": key, "label": 1}) + "\n" for key in first.ids["x-notes"]).encode()
    test = upload(opened(**{"for": "2026Q2"}), rows, INFO)
    assert "accepted predictions until 15 October 2026" in text(test)
    assert "this was only a check" in text(test)
    assert "Download the package" in labels(test)
    assert "Submit" not in labels(test)


def test_faults_are_listed_with_line_code_and_what_to_do(predictions) -> None:
    bad = predictions.replace(b'"label": 1', b'"label": 2', 1)
    said = text(upload(opened(), bad, INFO))
    assert "1 fault: not ready to submit yet." in said
    assert "bad-field" in said and "has the label 2 Give one of 0 (not helpful), 1 (helpful), or null" in said
    assert "Preview" not in said


def test_one_file_alone_is_no_fault_but_not_enough(predictions) -> None:
    said = text(upload(opened(), predictions, None))
    assert "No fault so far; system.toml is still missing." in said
    assert "Preview" not in said


def test_what_passes_is_previewed_and_never_scored(predictions) -> None:
    test = upload(opened(), predictions, INFO)
    said = text(test)
    for shown in ("No fault.", "My system", "submissions/2026Q3/my-team/my-system/", "50% helpful", "50% rejected"):
        assert shown in said
    assert re.search(r"SHA-256 of the content: [0-9a-f]{64}", said)
    assert not re.search(r"\bF1\b|accuracy|precision|recall", said, re.IGNORECASE)
    assert "hellofresh submission add submissions/2026Q3/my-team/my-system" in said
    assert "Submit" not in labels(test)


def test_tables_are_taken_by_their_name(predictions) -> None:
    rows = [json.loads(line) for line in predictions.splitlines()]
    table = "id,label\n" + "".join(f"{row['id']},{row['label']}\n" for row in rows)
    assert "No fault." in text(upload(opened(), table.encode(), INFO, "Mine.CSV"))
    assert "bad-json" in text(upload(opened(), table.encode(), INFO, "Mine.txt"))


def test_what_is_handed_in_gets_a_receipt_and_lies_in_the_inbox(inbox, predictions) -> None:
    test = handed_in(predictions)
    (arrival,), _ = inbox.arrivals()
    assert f"Received 2026-11-21T12:00:00Z by {arrival.receipt.code}; SHA-256 {arrival.receipt.sha256}" in text(test)
    assert "Download the receipt" in labels(test)
    assert (arrival.team, arrival.system) == ("my-team", "my-system")
    assert "This was submitted before." in text(handed_in(predictions))
    assert len(inbox.arrivals()[0]) == 1


def test_the_deadline_may_pass_while_the_page_is_open(inbox, predictions, monkeypatch) -> None:
    test = upload(opened(), predictions, INFO)
    monkeypatch.setattr("leaderboard.submit.now", lambda: datetime(2026, 11, 21, tzinfo=UTC))
    monkeypatch.setenv("HELLOFRESH_NOW", AFTER)
    next(button for button in test.button if button.label == "Submit").click()
    assert "accepted predictions until 2027-01-15T00:00:00Z" in text(test.run())
    assert inbox.arrivals() == ([], [])


def test_an_inbox_that_cannot_be_used_is_named_without_its_place(inbox, predictions) -> None:
    inbox.folder.write_text("in the way")
    test = handed_in(predictions)
    assert "The inbox cannot accept submissions at the moment." in text(test)
    assert str(inbox.folder) not in html(test)


def test_a_form_serves_in_place_of_the_file(predictions) -> None:
    test = opened()
    test.selectbox(key="box_facts").set_value("form").run()
    assert len(test.file_uploader) == 1
    boxes = {box.label: box for box in (*test.text_input, *test.text_area, *test.selectbox)}
    boxes["Name of the system"].set_value("Typed <b>system</b>")
    boxes["Name of the team"].set_value("Typed team")
    boxes["Where the maintainers can reach you"].set_value("mail")
    boxes["Models inside, one per line"].set_value("one\ntwo")
    boxes["How models are asked"].set_value("agent")
    boxes["Who trained it"].set_value("Somebody")
    boxes["Weights"].set_value("open")
    boxes["Size in billions of parameters"].set_value("7.5")
    test.file_uploader[0].set_value(("p.jsonl", predictions, "x"))
    next(button for button in test.button if button.label == "Use these facts").click()
    said = text(test.run())
    assert "must not have '<'" in said
    boxes = {box.label: box for box in test.text_input}
    boxes["Name of the system"].set_value("Typed system")
    next(button for button in test.button if button.label == "Use these facts").click()
    said = text(test.run())
    assert "No fault." in said
    assert "submissions/2026Q3/typed-team/typed-system/" in said
    assert "Main model Somebody, open weights, 7.5 billion parameters" in said


def test_folders_can_be_named_and_hostile_ones_are_refused(predictions) -> None:
    test = upload(opened(), predictions, INFO)
    test.text_input(key="team_folder").set_value("../../etc")
    assert "bad-folder" in text(test.run())
    test.text_input(key="team_folder").set_value("other-team")
    assert "submissions/2026Q3/other-team/my-system/" in text(test.run())


def test_the_boards_folder_alone_is_enough(board, tmp_path, predictions, monkeypatch) -> None:
    shutil.copytree(board.board, tmp_path / "alone" / "board")
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path / "alone"))
    assert "No fault." in text(upload(opened(), predictions, INFO))


def test_a_board_without_days_says_so(make_board: Callable[..., Any], monkeypatch) -> None:
    monkeypatch.setenv("HELLOFRESH_DATA", str(make_board().root))
    assert "The board has no samples to check predictions against." in text(opened())


def test_ids_of_a_quarter_that_has_not_opened_are_not_on_the_board(board, monkeypatch, tmp_path) -> None:
    from hellofresh.results.board.build import build_board

    copy = Workspace(tmp_path / "copy")
    shutil.copytree(board.root, copy.root)
    monkeypatch.setenv("HELLOFRESH_NOW", "2026-10-21T23:59:59Z")
    build_board(copy)
    dues = {str(due.edition): due for due in load_dues(copy.board)}
    assert not any(dues["2026Q3"].ids.values())
    assert all(dues["2026Q2"].ids.values())
    monkeypatch.setenv("HELLOFRESH_DATA", str(copy.root))
    assert "2026Q3 opens on 22 October 2026" in text(opened())
    monkeypatch.setenv("HELLOFRESH_NOW", "2026-10-22T00:00:00Z")
    assert not build_board(copy).skipped
    assert all(load_dues(copy.board)[-1].ids.values())


def made_due(quarter: Quarter, **how: Any) -> Due:
    calendar = CalendarRule().of(quarter)
    return Due(quarter, {"x-notes": ("xn-1",)}, {"x-notes": calendar}, **how)


def test_what_opens_next_is_what_is_built_or_follows_the_latest() -> None:
    one = made_due(Quarter(2026, 2))
    calendar = one.calendars["x-notes"]
    assert next_opening([one], calendar.opens) == (calendar.reveals, Quarter(2026, 3))
    assert next_opening([one], calendar.opens - timedelta(days=1)) == (calendar.opens, Quarter(2026, 2))
    assert next_opening([one], calendar.reveals) is None
    assert next_opening([], calendar.opens) is None
    assert "opens on" not in str(opening([one], calendar.reveals))


def test_splits_have_names_of_their_own_and_tasks_their_own_deadlines() -> None:
    quarter = Quarter(2026, 2)
    one, other = made_due(quarter), made_due(quarter, split=PROSPECTIVE)
    moment = one.calendars["x-notes"].opens
    assert [due_key(due) for due in (one, other)] == ["2026Q2", "2026Q2-prospective"]
    assert due_label(other, moment) == "2026Q2, prospective split (open)"
    early = CalendarRule(deadline_before_reveal_days=30).of(quarter)
    both = Due(quarter, {"x-notes": ("a",), "wikipedia-edits": ("b",)},
               {"x-notes": one.calendars["x-notes"], "wikipedia-edits": early})  # fmt: skip
    said = str(opening([both], moment))
    assert "15 October 2026, 00:00 UTC (Community Notes on X), 22 September 2026" in said


def test_hostile_texts_stay_texts(hostile: Sequence[str]) -> None:
    findings = [Fault("code", f"system.toml, {name}", name, name) for name in hostile]
    info = SystemInfo.model_construct(
        name=hostile[0], team=hostile[1], contact=hostile[4], regime="other", models=list(hostile),
        knowledge_cutoff="unknown", url="javascript:alert(1)", notes=hostile[7],
    )  # fmt: skip
    reasons = [text[:9000].replace("\u202e", "") for text in hostile]
    rows = tuple(Prediction(id=f"xn-{k}", label=1, rationale=text) for k, text in enumerate(reasons))
    submission = Submission(Quarter(2026, 2), "a", "b", info, {row.id: 1 for row in rows}, "0" * 64, rows)
    shown = str(findings_table(findings, ())) + str(preview(submission, made_due(Quarter(2026, 2), split=MAIN)))
    assert not re.search(r"<(script|img)|href=\"(?!https?:)|\u202e|\u0301{4}", shown)


def test_long_lists_of_findings_are_cut_and_counted() -> None:
    findings = [Fault("code", f"predictions.jsonl line {k}", "what", "fix") for k in range(1, 161)]
    shown = str(findings_table(findings, ()))
    assert shown.count("<tr") == 101
    assert "And 60 findings more" in shown
