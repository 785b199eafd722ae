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
from hellofresh.core.quarters import Quarter
from hellofresh.core.systems import MODEL_FACTS
from hellofresh.submissions.check import Due, blank_info, blank_predictions, inspect_submission, zipped
from hellofresh.submissions.format import MAX_BYTES, Fault
from hellofresh.tasks.samples import PROSPECTIVE
from leaderboard.data.uploads import Review, Upload, review, said_toml
from tests.fakes import refused

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
        Upload(file, predictions) if predictions is not None else None,
        Upload("s.toml", system) if system is not None else None,
    )
    return review(how.pop("due", DUE), *files, moment=OPEN, **how)


def codes(findings: Sequence[Fault]) -> list[str]:
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
    for finding in (*found.faults, *found.warnings):
        said = json.dumps([finding.where, finding.what, finding.fix])
        assert str(temporary) not in said
        assert "hellofresh-" not in said
        assert finding.fix and finding.where.startswith(file)


def test_what_is_right_passes_and_is_what_the_command_line_would_take(tmp_path) -> None:
    found = uploaded()
    assert (found.faults, found.warnings, found.missing) == ((), (), ())
    folder = tmp_path / "my-team" / "my-system"
    folder.mkdir(parents=True)
    (folder / "predictions.jsonl").write_bytes(PREDICTIONS)
    (folder / "system.toml").write_bytes(INFO)
    assert found.submission == inspect_submission(folder, DUE, OPEN).submission


def test_findings_say_file_line_and_field() -> None:
    bad = {
        "predictions.jsonl line 2, label": uploaded(PREDICTIONS.replace(b'"label":0', b'"label":"perhaps"')),
        "system.toml, regime": uploaded(system=INFO.replace(b"zero-shot", b"guess")),
        "predictions.csv line 3": uploaded(b"id,label\nxn-1,1\nxn-2,maybe\n", file="x.CSV"),
    }
    assert {where: [fault.where for fault in found.faults] for where, found in bad.items()} == {
        where: [where] for where in bad
    }


@pytest.mark.parametrize("given", ["predictions", "system"])
def test_one_file_alone_is_checked_and_the_other_named_as_missing(given: str) -> None:
    other = "system.toml" if given == "predictions" else "predictions.jsonl"
    only = {"predictions": None, "system": None}
    found = uploaded(**(only | {given: PREDICTIONS if given == "predictions" else INFO}))
    assert (found.faults, found.missing, found.submission) == ((), (other,), None)
    bad = uploaded(**(only | {given: b"\xff\xfe"}))
    assert codes(bad.faults) == ["not-utf8"]


def test_what_is_too_large_is_a_fault() -> None:
    found = uploaded(b" " * (MAX_BYTES + 1), b" " * 20_000, file="p.csv")
    assert sorted((item.where, item.code) for item in found.faults) == [
        ("predictions.csv", "too-large"),
        ("system.toml", "too-large"),
    ]


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "UPPER", "con", "-x", "x" * 41, "\u202ex", ".", "a\0b"])
@pytest.mark.parametrize("which", ["team", "name"])
def test_no_typed_name_becomes_a_path(temporary, name: str, which: str) -> None:
    found = uploaded(**{which: name})
    assert codes(found.faults) == ["bad-folder"]
    assert found.submission is None
    assert list(temporary.iterdir()) == []


def test_without_room_to_work_in_there_is_an_error_of_ours_that_names_no_place(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    assert str(tmp_path) not in refused("unwritable", uploaded)


def test_names_without_letters_of_folders_must_be_typed() -> None:
    info = INFO.replace(b"My team", "команда".encode())
    assert codes(uploaded(system=info).faults) == ["bad-folder"]
    found = uploaded(system=info, team="komanda")
    assert found.submission is not None
    assert found.submission.team == "komanda"


def test_teams_that_are_there_are_recognised() -> None:
    known = {"other": frozenset({"Other"}), "hellofresh": frozenset({"HelloFresh"})}
    assert uploaded(known=known).faults == ()
    assert codes(uploaded(known=known, team="0ther").faults) == ["look-alike"]
    mine = uploaded(known={"my-team": frozenset({"My team"})})
    assert codes(mine.warnings) == ["known-team"]
    assert mine.submission is not None


FIELDS = ("name", "team", "contact", "regime", "models", "knowledge_cutoff", "url", "notes", *MODEL_FACTS)


def test_a_form_says_the_same_as_a_file() -> None:
    said = ("My system", "My team", "me@team.example", "zero-shot", "model\n\n", " 2022-12-31 ", "", "")
    form = dict(zip(FIELDS, (*said, "", "", "", ""), strict=True))
    assert uploaded(system=said_toml(form)).submission == uploaded().submission
    facts = {"maker": "Them", "weights": "open", "size_billions": "0.135", "released": "2022-11"}
    stated = uploaded(system=said_toml(form | facts)).submission
    assert stated is not None
    assert stated.info.model_dump(include=set(MODEL_FACTS)) == facts | {"size_billions": 0.135}


@settings(max_examples=150)
@given(st.fixed_dictionaries({field: st.text(max_size=60) for field in FIELDS}))
def test_whatever_is_typed_into_the_form_is_taken_as_text_or_named(said: dict[str, str]) -> None:
    found = uploaded(system=said_toml(said))
    if found.submission is None:
        assert found.faults
        assert {item.where.partition(",")[0] for item in found.faults} <= {"system.toml", ""}
    else:
        assert found.submission.info.name == said["name"].strip()
        assert found.submission.info.notes == said["notes"].replace("\r\n", "\n")


def test_the_templates_are_refused_until_they_are_filled_in() -> None:
    blank = blank_predictions(DUE, DUE.ids)
    assert [json.loads(line)["id"] for line in blank.splitlines()] == ["we-1-0", "xn-1", "xn-2"]
    found = uploaded(blank, blank_info())
    assert {item.where.split(".0")[0] for item in found.faults} == {
        f"system.toml, {field}" for field in ("name", "team", "contact", "models")
    }
    filled = blank_info()
    for field in (b"name", b"team", b"contact"):
        filled = filled.replace(field + b' = ""', field + b' = "Acme"')
    answered = blank.replace(b"null", b"0", 1)
    assert uploaded(answered, filled.replace(b'[""]', b'["m"]')).submission is not None


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


def test_what_would_be_too_large_in_its_canonical_form_is_refused() -> None:
    due = replace(DUE, ids={"x-notes": tuple(f"xn-{k}" for k in range(600))})
    rationale = "\\" * 9_900  # one byte in a table, two in JSON
    rows = "".join(f"{key},1,{rationale}\n" for key in due.ids["x-notes"])
    content = f"id,label,rationale\n{rows}".encode()
    assert len(content) < MAX_BYTES
    found = uploaded(content, file="p.csv", due=due)
    assert codes(found.faults) == ["too-large"]
    assert found.faults[0].where == "predictions.jsonl"


def test_another_split_has_its_own_files() -> None:
    due = replace(DUE, split=PROSPECTIVE)
    assert codes(uploaded(due=due).faults)[0] == "no-probabilities"
    rows = [{"id": f"xn-{k}", "label": 1, "probabilities": [0.25, 0.75]} for k in (1, 2)]
    forecasts = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    assert uploaded(forecasts, due=due).submission is not None
    bad = uploaded(forecasts.replace(b"xn-2", b"xn-3"), due=due)
    assert {item.where.split(" line")[0] for item in bad.faults} == {"prospective.jsonl"}


def test_the_site_knows_nothing_of_releases_nor_labels(root) -> None:
    program = """
import sys
import leaderboard.views, leaderboard.data.uploads
strangers = ("hellofresh.releases", "hellofresh.models", "hellofresh.runs")
known = [name for name in sys.modules if name.startswith(strangers)]
assert known == [], known
"""
    subprocess.run([sys.executable, "-c", program], cwd=root, check=True, timeout=300)
