"""What others hand in is read as it is meant, or refused with a code, quickly and without harm."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hellofresh.core.quarters import Quarter
from hellofresh.submissions.format import MAX_FAULTS, Fault
from hellofresh.submissions.receipts import find_submissions
from tests.corpus.entry_points import INFO, PREDICTIONS, SAMPLES
from tests.submissions.checks import check_submission, read_submission

QUARTER = Quarter(2023, 2)
FAST_S = 10
"""Seconds of CPU time on a busy machine; where time grows with the square of a file's size, it is minutes."""


@pytest.fixture
def folder(tmp_path) -> Path:
    return hand_in(tmp_path)


def test_samples_that_were_taken_down_may_be_there_or_not(tmp_path) -> None:
    gone = b'{"id":"xn-9","label":1}\n'
    for place, predictions in (("2023Q2/a/with", PREDICTIONS + gone), ("2023Q2/a/without", PREDICTIONS)):
        folder = hand_in(tmp_path, place, predictions=predictions)
        assert read_submission(folder, QUARTER, SAMPLES, {"xn-9"}).labels.keys() >= {"xn-1", "xn-2"}
    assert codes(tmp_path / "2023Q2/a/with") == {"unknown-id"}


def hand_in(
    root: Path, place: str = "2023Q2/team/system", predictions: bytes = PREDICTIONS, info: bytes = INFO
) -> Path:
    folder = root / place
    folder.mkdir(parents=True)
    (folder / "predictions.jsonl").write_bytes(predictions)
    (folder / "system.toml").write_bytes(info)
    return folder


def faults_of(folder: Path) -> list[Fault]:
    """The faults of a submission that must have some, found fast."""
    start = time.process_time()
    submission, faults = check_submission(folder, QUARTER, SAMPLES)
    assert time.process_time() - start < FAST_S
    assert submission is None
    assert faults
    assert all(fault.code and fault.where and fault.what and str(fault).isprintable() for fault in faults)
    return faults


def codes(folder: Path) -> set[str]:
    return {fault.code for fault in faults_of(folder)}


@pytest.mark.parametrize(
    "predictions",
    [
        PREDICTIONS.replace(b"\n", b"\r\n"),
        PREDICTIONS.rstrip(),
        PREDICTIONS.replace(b"\n", b"\n\n \n"),
        b"\n".join(PREDICTIONS.splitlines()[::-1]),
        PREDICTIONS.replace(b":", b" : "),
        PREDICTIONS.replace(b"xn-1", b"\\u0078n-1"),
    ],
    ids=["CRLF", "no last line end", "blank lines", "another order", "spaces", "escapes"],
)
def test_spellings_of_the_same_predictions_are_accepted(tmp_path, predictions: bytes) -> None:
    submission = read_submission(hand_in(tmp_path, predictions=predictions), QUARTER, SAMPLES)
    assert dict(submission.labels) == {"xn-1": 1, "xn-2": None}


ID = b'{"id":"xn-1","label":1,"rationale":'
LARGE = {
    "depth of 100,000, open": (b"[" * 100_000, {"too-deep"}),
    "depth of 100,000 objects": (b'{"a":' * 39_000, {"too-deep"}),
    "an unfinished string full of escaped quotes": (ID + b'"' + b'\\"' * 90_000, {"bad-json"}),
    "half a million lines of rubbish": (b"1\n" * 500_000, {"too-many-lines"}),
    "ten million blank lines": (b"\n" * 9_900_000 + b"1", {"too-many-lines"}),
    "a thousand bad lines": (b"x\n" * 900, {"bad-json", "many-faults"}),
    "a thousand unknown ids": (
        b"".join(b'{"id":"xn-9%d","label":1}\n' % n for n in range(900)),
        {"unknown-id", "missing-id"},
    ),
    "a thousand times one id": (b'{"id":"xn-1","label":1}\n' * 900, {"duplicate-id", "missing-id"}),
    "twenty thousand fields": (b"{" + b",".join(b'"a%d":1' % n for n in range(15_000)) + b"}", {"bad-field"}),
    "a long key twice": (b'{"' + b"a" * 90_000 + b'":1,"' + b"a" * 90_000 + b'":1}', {"repeated-key"}),
    "a float of 100,000 digits": (b'{"id":"xn-1","label":1,"confidence":0.' + b"1" * 100_000 + b"}", {"not-finite"}),
}


@pytest.mark.parametrize("name", LARGE)
def test_what_is_large_is_refused_fast_and_in_few_words(folder, name: str) -> None:
    content, expected = LARGE[name]
    (folder / "predictions.jsonl").write_bytes(content)
    start = time.process_time()
    _, faults = check_submission(folder, QUARTER, SAMPLES)
    assert time.process_time() - start < FAST_S
    assert {fault.code for fault in faults} - {"missing-id"} == expected - {"missing-id"}
    assert len(faults) <= 2 * MAX_FAULTS + 5
    assert max(len(str(fault)) - len(str(folder)) for fault in faults) < 400


def test_all_faults_are_named_at_once_with_their_lines(folder) -> None:
    (folder / "predictions.jsonl").write_bytes(
        b'{"id":"xn-1","label":9}\n\nnope\n{"id":"xn-2","label":1,"confidence":2,"x":0}\n'
    )
    (folder / "system.toml").write_bytes(INFO.replace(b"zero-shot", b"other-shot"))
    places = [fault.where for fault in faults_of(folder)]
    assert sum("system.toml, regime" in place for place in places) == 1
    assert sum("line 1, label" in place for place in places) >= 1
    assert sum(place.endswith("line 3") for place in places) == 1
    assert sum("line 4, confidence" in place for place in places) == 1
    assert sum("line 4, x" in place for place in places) == 1


@pytest.mark.parametrize("missing", ["predictions.jsonl", "system.toml"])
def test_a_missing_file_is_named(folder, missing: str) -> None:
    (folder / missing).unlink()
    (fault,) = faults_of(folder)
    assert (fault.code, fault.where) == ("missing-file", str(folder / missing))


@pytest.mark.parametrize("name", ["predictions.jsonl", "system.toml"])
def test_links_and_folders_are_not_followed(folder, tmp_path, name: str) -> None:
    (folder / name).rename(tmp_path / name)
    (folder / name).symlink_to(tmp_path / name)
    assert codes(folder) == {"not-a-file"}
    (folder / name).unlink()
    (folder / name).symlink_to("/nowhere/at/all")
    assert codes(folder) == {"not-a-file"}
    (folder / name).unlink()
    (folder / name).mkdir()
    assert codes(folder) == {"not-a-file"}


BAD_NAMES = [
    "con",
    "CON",
    "nul",
    "com1",
    "System",
    "sys.",
    "sys tem",
    "-system",
    "a" * 41,
    "syst\u0435m",
    "\uff53ystem",
    "$(cmd)",
    "a\n",
    "😀",
]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_folders_that_are_no_plain_names_are_refused_and_not_found(tmp_path, name: str) -> None:
    for place in (f"2023Q2/team/{name}", f"2023Q2/{name}/system"):
        root = tmp_path / str(len(place))
        folder = hand_in(root, place)
        _, faults = check_submission(folder, QUARTER, SAMPLES)
        assert [fault.code for fault in faults] == ["bad-folder"]
        assert find_submissions(root, QUARTER) == []


def test_a_path_with_steps_upwards_is_refused(folder) -> None:
    _, faults = check_submission(folder / ".." / "system", QUARTER, SAMPLES)
    assert [fault.code for fault in faults] == ["bad-folder"]


def test_submissions_of_the_quarter_are_found_in_order_and_links_are_not(tmp_path) -> None:
    folders = [hand_in(tmp_path, f"2023Q2/{place}") for place in ("b/a", "a/c", "a/b")]
    hand_in(tmp_path, "2023Q3/a/b")
    outside = hand_in(tmp_path / "elsewhere", "team/system")
    (tmp_path / "2023Q2" / "a" / "link").symlink_to(outside)
    (tmp_path / "2023Q2" / "linked").symlink_to(outside.parent)
    (tmp_path / "2023Q4").symlink_to(outside.parent.parent)
    assert find_submissions(tmp_path, QUARTER) == sorted(folders)
    assert find_submissions(tmp_path, Quarter(2023, 4)) == []


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60) | st.text(st.sampled_from('{}[]":,\\ntrue01e.-xn id label'), max_size=80).map(str.encode))
def test_no_bytes_at_all_make_it_crash(tmp_path_factory, content: bytes) -> None:
    folder = hand_in(tmp_path_factory.mktemp("s"), predictions=content, info=content)
    submission, faults = check_submission(folder, QUARTER, SAMPLES)
    assert submission is None and faults
