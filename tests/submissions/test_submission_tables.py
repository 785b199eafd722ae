"""CSV says what JSON lines say, or is refused: no quote swallows rows, no cell is guessed at."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hellofresh.core.quarters import Quarter
from hellofresh.tasks import get_task
from tests.submissions.checks import check_file, check_submission

QUARTER = Quarter(2023, 2)
SAMPLES = {"x-notes": ["xn-1", "xn-2"]}
INFO = (
    'name = "N"\nteam = "T"\ncontact = "c"\nregime = "other"\nmodels = ["NA", "0012"]\nknowledge_cutoff = "unknown"\n'
)


def codes(path: Path, content: bytes) -> set[str]:
    path.write_bytes(content)
    return {fault.code for fault in check_file(path, SAMPLES).faults}


@pytest.mark.parametrize(
    "content",
    [
        b"id,label\nxn-1,1\nxn-2,\n",
        b"label,id\n1,xn-1\nnull,xn-2\n",
        b"id,label,rationale\r\nxn-1,1,\r\n\r\nxn-2,,\r\n",
        b'"id","label"\n"xn-1","1"\n"xn-2",""',
        b"\xef\xbb\xbfid;label;rationale\r\nxn-1;1;a, b\r\nxn-2;;\r\n",
        f"id,label\nxn-1,{get_task('x-notes').classes[1]}\nxn-2,\n".encode(),
    ],
    ids=["plain", "another order of columns", "CRLF and empty cells", "quoted", "Excel's", "class names"],
)
def test_a_table_says_what_json_lines_say(tmp_path, content: bytes) -> None:
    path = tmp_path / "predictions.csv"
    path.write_bytes(content)
    found = {item.id: item.label for item in check_file(path, SAMPLES).predictions}
    assert found == {"xn-1": 1, "xn-2": None}


def test_cells_stay_as_they_are_and_nothing_is_taken_for_missing(tmp_path) -> None:
    path = tmp_path / "predictions.csv"
    path.write_bytes(
        b'id,label,confidence,rationale,sources\nxn-1,1,1e-3,"NA, or ""0012""",https://a.example https://b.example\n'
        b"xn-2,0,0.50,NA,\n"
    )
    first, second = check_file(path, SAMPLES).predictions
    assert (first.rationale, first.confidence, len(first.sources)) == ('NA, or "0012"', 0.001, 2)
    assert (second.rationale, second.confidence, second.sources) == ("NA", 0.5, [])


def test_lines_may_begin_with_a_mark_and_name_classes_but_not_those_of_another_task(tmp_path) -> None:
    other = get_task("wikipedia-edits").classes[1]
    for name, code in ((get_task("x-notes").classes[1], set()), (other, {"bad-field"}), ("yes", set())):
        lines = f'\ufeff{{"id":"xn-1","label":"{name}"}}\n{{"id":"xn-2","label":null}}\n'
        assert codes(tmp_path / "predictions.jsonl", lines.encode()) == code


def test_both_forms_at_once_are_refused(tmp_path) -> None:
    folder = tmp_path / "team" / "system"
    folder.mkdir(parents=True)
    (folder / "predictions.csv").write_bytes(b"id,label\nxn-1,1\nxn-2,\n")
    (folder / "predictions.jsonl").write_bytes(b'{"id":"xn-1","label":1}\n{"id":"xn-2","label":null}\n')
    (folder / "system.toml").write_text(INFO)
    _, faults = check_submission(folder, QUARTER, SAMPLES)
    assert [fault.code for fault in faults] == ["two-files"]


def test_every_bad_row_is_named_with_its_line(tmp_path) -> None:
    path = tmp_path / "predictions.csv"
    path.write_bytes(b"id,label,confidence\nxn-1,maybe,0.5\nxn-2,1\nxn-2,1,1_0\n")
    places = [(fault.code, fault.where.rpartition(" ")[2]) for fault in check_file(path, SAMPLES).faults]
    assert places == [("bad-cell", "2"), ("ragged-row", "3"), ("bad-cell", "4")]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from(['"', ",", "\n", "\r", "id", "label", "xn-1", "1", "=", "é"]), max_size=15).map("".join)
)
def test_whatever_a_table_holds_it_is_read_whole_or_refused(tmp_path, text: str) -> None:
    path = tmp_path / "p.csv"
    path.write_bytes(text.encode())
    checked = check_file(path, SAMPLES)
    assert bool(checked.predictions) != bool(checked.faults)
