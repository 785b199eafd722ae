"""What is uploaded gets the same verdict as on the command line, with places that say nothing of the server."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hellofresh.core.calendar import CalendarRule
from hellofresh.core.errors import WorkspaceError
from hellofresh.core.quarters import Quarter
from hellofresh.submissions import MAX_BYTES, Due, inspect_submission
from hellofresh.submissions.check import blank_info, blank_predictions, zipped
from hellofresh.tasks.samples import PROSPECTIVE
from leaderboard.data.uploads import Review, SystemForm, Upload, UploadFinding, fingerprint, review, said_toml

CORPUS = Path(__file__).parent.parent / "corpus"
sys.path.insert(0, str(CORPUS))
from entry_points import INFO, SAMPLES  # noqa: E402 - lies with the corpus
from generate import GENERATED  # noqa: E402

PREDICTIONS = b'{"id":"xn-1","label":1,"confidence":0.75}\n{"id":"xn-2","label":0}\n'
QUARTER = Quarter(2023, 2)
OPEN = datetime(2023, 8, 1, 12, tzinfo=UTC)
DAYS = dict.fromkeys(SAMPLES, CalendarRule().of(QUARTER))
DUE = Due(QUARTER, {task: tuple(ids) for task, ids in SAMPLES.items()}, DAYS)
CASES = [
    (folder, name, code)
    for folder in ("submissions", "tables")
    for name, code in tomllib.loads((CORPUS / folder / "expected.toml").read_text(encoding="utf-8")).items()
]


def content_of(folder: str, name: str) -> bytes:
    made: Callable[[], bytes] | None = GENERATED.get(folder, {}).get(name)
    return made() if made is not None else (CORPUS / folder / name).read_bytes()


def uploaded(
    predictions: bytes | None = PREDICTIONS, system: bytes | None = INFO, file: str = "p.jsonl", **how: Any
) -> Review:
    files = (
        Upload.of(file, predictions) if predictions is not None else None,
        Upload.of("s.toml", system) if system is not None else None,
    )
    return review(how.pop("due", DUE), *files, moment=OPEN, **how)


def codes(findings: Sequence[UploadFinding]) -> list[str]:
    return [finding.code for finding in findings]


@pytest.fixture
def temporary(tmp_path, monkeypatch) -> Path:
    """The folder in which temporary folders are made, to see what is left there."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize(("folder", "name", "code"), CASES)
def test_every_bad_file_gets_its_finding_and_leaves_nothing(temporary, folder: str, name: str, code: str) -> None:
    content = content_of(folder, name)
    start = time.process_time()
    found = uploaded(system=content) if name.endswith(".toml") else uploaded(content, file=name)
    assert time.process_time() - start < 3
    assert code in codes(found.faults)
    assert found.submission is None
    assert list(temporary.iterdir()) == []
    file = "system.toml" if name.endswith(".toml") else f"predictions.{'csv' if name.endswith('.csv') else 'jsonl'}"
    assert all(finding.fix for finding in found.findings)
    for finding in found.findings:
        said = json.dumps([finding.file, finding.place, finding.what, finding.fix])
        assert str(temporary) not in said
        assert "hellofresh-" not in said
        assert finding.file == file


def test_what_is_right_passes_and_is_what_the_command_line_would_take(tmp_path) -> None:
    found = uploaded()
    assert (found.findings, found.missing, found.team, found.system) == ((), (), "my-team", "my-system")
    folder = tmp_path / "my-team" / "my-system"
    folder.mkdir(parents=True)
    (folder / "predictions.jsonl").write_bytes(PREDICTIONS)
    (folder / "system.toml").write_bytes(INFO)
    assert found.submission == inspect_submission(folder, DUE, OPEN).submission


def test_findings_say_file_line_and_field() -> None:
    (finding,) = uploaded(PREDICTIONS.replace(b'"label":0', b'"label":"yes"')).findings
    assert (finding.file, finding.line, finding.place, finding.code) == ("predictions.jsonl", 2, "label", "bad-field")
    (finding,) = uploaded(system=INFO.replace(b"zero-shot", b"guess")).findings
    assert (finding.file, finding.line, finding.place, finding.code) == ("system.toml", None, "regime", "bad-field")
    (finding,) = uploaded(b"id,label\nxn-1,1\nxn-2,maybe\n", file="x.CSV").findings
    assert (finding.file, finding.line, finding.code) == ("predictions.csv", 3, "bad-cell")


def test_warnings_do_not_stand_in_the_way() -> None:
    found = uploaded(PREDICTIONS.replace(b'"label":0', b'"label":1'))
    assert codes(found.findings) == ["one-class"]
    assert found.faults == ()
    assert found.submission is not None


@pytest.mark.parametrize("given", ["predictions", "system"])
def test_one_file_alone_is_checked_and_the_other_named_as_missing(given: str) -> None:
    other = "system.toml" if given == "predictions" else "predictions.jsonl"
    only = {"predictions": None, "system": None}
    found = uploaded(**(only | {given: PREDICTIONS if given == "predictions" else INFO}))
    assert (found.findings, found.missing, found.submission) == ((), (other,), None)
    bad = uploaded(**(only | {given: b"\xff\xfe"}))
    assert codes(bad.findings) == ["not-utf8"]


def test_what_is_too_large_is_never_read() -> None:
    def read() -> bytes:
        raise AssertionError

    found = review(DUE, Upload("p.csv", MAX_BYTES + 1, read), Upload("s", 20_000, read), moment=OPEN)
    assert [(item.file, item.code) for item in found.findings] == [
        ("predictions.csv", "too-large"),
        ("system.toml", "too-large"),
    ]
    assert fingerprint(DUE, Upload("p", MAX_BYTES + 1, read), None)


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "UPPER", "con", "-x", "x" * 41, "\u202ex", ".", "a\0b"])
@pytest.mark.parametrize("which", ["team", "name"])
def test_no_typed_name_becomes_a_path(temporary, name: str, which: str) -> None:
    found = uploaded(**{which: name})
    assert codes(found.findings) == ["bad-folder"]
    assert found.submission is None
    assert list(temporary.iterdir()) == []


def test_without_room_to_work_in_there_is_an_error_of_ours_that_names_no_place(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(WorkspaceError) as caught:
        uploaded()
    assert caught.value.code == "unwritable"
    assert str(tmp_path) not in str(caught.value)


def test_names_without_letters_of_folders_must_be_typed() -> None:
    info = INFO.replace(b"My team", "команда".encode())
    assert codes(uploaded(system=info).findings) == ["bad-folder"]
    found = uploaded(system=info, team="komanda")
    assert found.submission is not None
    assert found.submission.team == "komanda"


def test_teams_that_are_there_are_recognised() -> None:
    known = {"other": frozenset({"Other"}), "hellofresh": frozenset({"HelloFresh"})}
    assert uploaded(known=known).findings == ()
    assert codes(uploaded(known=known, team="0ther").faults) == ["look-alike"]
    mine = uploaded(known={"my-team": frozenset({"My team"})})
    assert codes(mine.findings) == ["known-team"]
    assert mine.submission is not None


def test_a_form_says_the_same_as_a_file() -> None:
    said = SystemForm("My system", "My team", "me@team.example", "zero-shot", "model\n\n", " 2022-12-31 ", notes="")
    assert uploaded(system=said_toml(said)).submission == uploaded().submission


@settings(max_examples=150)
@given(st.builds(SystemForm, *[st.text(max_size=60)] * 8))
def test_whatever_is_typed_into_the_form_is_taken_as_text_or_named(said: SystemForm) -> None:
    found = uploaded(system=said_toml(said))
    if found.submission is None:
        assert found.faults
        assert {item.file for item in found.faults} <= {"system.toml", ""}
    else:
        assert found.submission.info.name == said.name.strip()
        assert found.submission.info.notes == said.notes.replace("\r\n", "\n")


def test_the_templates_are_refused_until_they_are_filled_in() -> None:
    blank = blank_predictions(DUE, DUE.ids)
    assert [json.loads(line)["id"] for line in blank.splitlines()] == ["we-1-0", "xn-1", "xn-2"]
    found = uploaded(blank, blank_info())
    assert {(item.file, item.place.split(".")[0]) for item in found.faults} == {
        ("system.toml", field) for field in ("name", "team", "contact", "models")
    }
    filled = blank_info()
    for field in (b"name", b"team", b"contact"):
        filled = filled.replace(field + b' = ""', field + b' = "Acme"')
    assert uploaded(blank, filled.replace(b'[""]', b'["m"]')).submission is not None


def test_the_package_has_the_same_bytes_however_the_content_was_spelt() -> None:
    table = b"label,id,confidence\n0,xn-2,\n1,xn-1,0.75\n"
    found = [uploaded(), uploaded(b"\n".join(PREDICTIONS.splitlines()[::-1])), uploaded(table, file="t.csv")]
    packages = [zipped(item.submission) for item in found if item.submission is not None]
    assert len(packages) == 3
    assert len(set(packages)) == 1
    with zipfile.ZipFile(io.BytesIO(packages[0])) as archive:
        place = "2023Q2/my-team/my-system"
        assert archive.namelist() == [f"{place}/predictions.jsonl", f"{place}/system.toml"]
        lines, info = (archive.read(name) for name in archive.namelist())
    again = uploaded(lines, info)
    assert again.submission == found[0].submission
    assert {len(lines), len(info)} == set(found[0].files.values())


def test_what_would_be_too_large_in_its_canonical_form_is_refused() -> None:
    due = replace(DUE, ids={"x-notes": tuple(f"xn-{k}" for k in range(600))})
    rationale = "\\" * 9_900  # one byte in a table, two in JSON
    rows = "".join(f"{key},1,{rationale}\n" for key in due.ids["x-notes"])
    content = f"id,label,rationale\n{rows}".encode()
    assert len(content) < MAX_BYTES
    found = uploaded(content, file="p.csv", due=due)
    assert codes(found.faults) == ["too-large"]
    assert found.faults[0].file == "predictions.jsonl"


def test_another_split_has_its_own_files() -> None:
    due = replace(DUE, split=PROSPECTIVE)
    found = uploaded(due=due)
    assert found.submission is not None
    assert found.files.keys() == {"prospective.jsonl", "system.toml"}
    bad = uploaded(PREDICTIONS.replace(b"xn-2", b"xn-3"), due=due)
    assert {item.file for item in bad.findings} == {"prospective.jsonl"}


def test_what_changes_the_verdict_changes_the_fingerprint() -> None:
    one, other = Upload.of("a", PREDICTIONS), Upload.of("a", PREDICTIONS + b"\n")
    info = Upload.of("b", INFO)
    marks = [
        fingerprint(DUE, one, info),
        fingerprint(DUE, other, info),
        fingerprint(DUE, one, None),
        fingerprint(DUE, None, info),
        fingerprint(DUE, Upload.of("a.csv", PREDICTIONS), info),
        fingerprint(DUE, one, info, "team"),
        fingerprint(replace(DUE, edition=QUARTER.next()), one, info),
        fingerprint(replace(DUE, split=PROSPECTIVE), one, info),
    ]
    assert len(set(marks)) == len(marks)
    assert fingerprint(DUE, Upload.of("another", PREDICTIONS), info) == marks[0]


def test_the_site_knows_nothing_of_releases_nor_labels(root) -> None:
    program = """
import sys
import leaderboard.views, leaderboard.data.uploads
strangers = ("hellofresh.releases", "hellofresh.models", "hellofresh.runs")
known = [name for name in sys.modules if name.startswith(strangers)]
assert known == [], known
"""
    subprocess.run([sys.executable, "-c", program], cwd=root, check=True, timeout=300)
