"""Labels, texts and rankings are handed in alike: checked by line and field, hashed, kept and read back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hellofresh.api._predictions import _output
from hellofresh.core.errors import UsageError
from hellofresh.core.quarters import Quarter
from hellofresh.core.systems import MODEL_FACTS
from hellofresh.stats.metrics import mean
from hellofresh.submissions.check import Due, blank_rows, canonical_files, content_hash
from hellofresh.submissions.format import SYSTEM, Fault, Prediction, SystemInfo, numbered, read_info, system_toml
from hellofresh.submissions.standings import GivenAnswers, find_copies
from hellofresh.tasks import TASKS, get_task
from hellofresh.tasks.outputs import Choice, Ranking, Response, Status
from tests.submissions.checks import check_file, inspected

SAMPLES = {"x-notes": ("xn-1", "xn-2"), "replies": ("rp-1", "rp-2"), "search": ("se-1", "se-2"), "three": ("th-1",)}
GOOD: Mapping[str, list[dict[str, Any]]] = {
    "x-notes": [
        {"id": "xn-1", "label": 1, "probabilities": [0.25, 0.75], "certainty": 0.8},
        {"id": "xn-2", "label": None},
    ],
    "replies": [
        {"id": "rp-1", "text": "It is not so: see https://a.example.", "sources": ["https://a.example"]},
        {"id": "rp-2", "text": None, "status": "blocked"},
    ],
    "search": [{"id": "se-1", "documents": ["d-3", "d-1"]}, {"id": "se-2", "documents": None}],
    "three": [{"id": "th-1", "label": 2, "probabilities": [0.1, 0.2, 0.7], "rationale": "It says so."}],
}
INFO = b'name = "A"\nteam = "B"\ncontact = "c"\nregime = "other"\nmodels = ["m"]\nknowledge_cutoff = "unknown"\n'


@pytest.fixture(autouse=True)
def tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    notes = get_task("x-notes")
    for name, prefix, output, classes in (
        ("replies", "rp-", Response, ()),
        ("search", "se-", Ranking, ()),
        ("three", "th-", Choice, ("no", "perhaps", "yes")),
    ):
        metrics = () if classes else (mean("overall", (0, 10)),)
        made = replace(notes, name=name, id_prefix=prefix, output=output, classes=classes, metrics=metrics)
        monkeypatch.setitem(TASKS, name, made)


def write(folder: Path, rows: list[dict[str, Any]], name: str = "predictions.jsonl") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def everything() -> list[dict[str, Any]]:
    return [row for rows in GOOD.values() for row in rows]


def test_every_form_is_taken_and_becomes_the_output_of_its_task(tmp_path: Path) -> None:
    checked = check_file(write(tmp_path, everything()), SAMPLES)
    assert checked.faults == ()
    outputs = {item.id: item.output("single") for item in checked.predictions}
    assert outputs["xn-1"] == Choice(prompt="single", label=1, probabilities=(0.25, 0.75), certainty=0.8)
    assert outputs["xn-2"] == Choice(prompt="single", status=Status.NONE)
    assert isinstance(outputs["rp-1"], Response) and outputs["rp-1"].sources == ("https://a.example",)
    assert (outputs["rp-2"].status, type(outputs["rp-2"])) == (Status.BLOCKED, Response)
    assert outputs["se-1"] == Ranking(prompt="single", documents=("d-3", "d-1"), scores=(2.0, 1.0))
    assert outputs["th-1"] == Choice(prompt="single", label=2, probabilities=(0.1, 0.2, 0.7), rationale="It says so.")


@pytest.mark.parametrize(("line", "stated"), [
    ('maker = " Acme Labs "', {"maker": "Acme Labs"}),
    ('weights = "open"', {"weights": "open"}),
    ("size_billions = 70", {"size_billions": 70.0}),
    ("released = 2024-11-30", {"released": "2024-11-30"}),
    ('released = "2024-11"', {"released": "2024-11"}),
    ('released = "2024"', {"released": "2024"}),
    ("", {}),
    ('maker = ""', "1 character"),
    ('maker = "a\u202eb"', "zero-width"),
    ('maker = "<b>"', "maker"),
    ('weights = "Open"', 'Give "open" or "closed"'),
    ("size_billions = 0", "greater than 0"),
    ("size_billions = nan", "finite"),
    ('size_billions = "7B"', "in billions, such as 0.135"),
    ("released = 2024-11-30T00:00:00Z", "2024-11-30 without quotes"),
    ('released = "2024-13"', "2024-11-30 without quotes"),
    ('released = "soon"', "2024-11-30 without quotes"),
    ("released = 2026-02-01", "in the future"),
    ("size = 7", "The fields are"),
])  # fmt: skip
def test_facts_on_the_model_are_taken_or_refused_with_what_to_do(tmp_path: Path, line: str, stated: Any) -> None:
    path, faults = tmp_path / SYSTEM, list[Fault]()
    path.write_bytes(INFO + line.encode())
    info = read_info(path, date(2026, 1, 31), faults)
    if isinstance(stated, str):
        assert info is None and stated in "".join(map(str, faults)) and len(faults) == 1
        return
    assert info is not None and faults == []
    assert info.model_dump(include=set(MODEL_FACTS), exclude_none=True) == stated
    path.write_text(system_toml(info))
    assert read_info(path, date(2026, 1, 31), faults) == info
    plain = SystemInfo(**info.model_dump(exclude=set(MODEL_FACTS)))
    assert (content_hash(info, ()) == content_hash(plain, ())) is (not stated)


def test_an_older_confidence_is_the_probability_of_label_1() -> None:
    older = Prediction.model_validate({"id": "xn-1", "label": 1, "confidence": 0.75}).output("single")
    newer = Prediction.model_validate({"id": "xn-1", "label": 1, "probabilities": [0.25, 0.75]}).output("single")
    assert older == newer


@pytest.mark.parametrize("task", GOOD)
def test_the_template_of_a_task_names_the_field_that_it_takes(tmp_path: Path, task: str) -> None:
    due = Due(Quarter(2026, 3), SAMPLES, {})
    rows = blank_rows(due, [task])
    assert [set(row) for row in rows] == [set(GOOD[task][0]) & {"id", "label", "text", "documents"}] * len(rows)
    checked = check_file(write(tmp_path, rows), SAMPLES)
    assert [fault.code for fault in checked.faults] == ["no-answers"]


@pytest.mark.parametrize(("said", "label"), [
    (1, 1), (0.0, 0), ("helpful", 1), ("Not helpful", 0), ("YES", 1), (" no ", 0), (None, None),
    (True, ...), ("1", ...), (0.5, ...), ("maybe", ...), ("nan", ...),
])  # fmt: skip
def test_a_label_is_taken_or_refused_with_its_value_by_one_rule(tmp_path: Path, said: object, label: object) -> None:
    answered, row = {"id": "xn-2", "label": 0}, {"id": "xn-1", "label": said}
    checked = check_file(write(tmp_path, [row, answered]), SAMPLES)
    assert [str(said) in item.what for item in checked.faults] == ([True] if label is ... else [])
    edition = SimpleNamespace(task=get_task("x-notes"))
    if label is ...:
        with pytest.raises(UsageError, match=re.escape(repr(said))):
            _output(edition, "xn-1", said)  # type: ignore[arg-type]
    else:
        assert numbered(row)["label"] == label
        assert getattr(_output(edition, "xn-1", said), "label") == label  # type: ignore[arg-type]  # noqa: B009


WRONG: Mapping[str, tuple[str, int, dict[str, Any], str]] = {
    "a label where a text is taken": ("replies", 1, {"id": "rp-2", "label": 1}, "label"),
    "a text where a label is taken": ("x-notes", 0, {"id": "xn-1", "text": "yes"}, "text"),
    "a text where documents are taken": ("search", 1, {"id": "se-2", "text": "d-1"}, "text"),
    "two answers": ("x-notes", 0, {"id": "xn-1", "label": 1, "text": "yes"}, "the whole"),
    "no answer at all": ("x-notes", 0, {"id": "xn-1"}, "the whole"),
    "an empty text": ("replies", 0, {"id": "rp-1", "text": ""}, "text"),
    "a label beyond the classes": ("three", 0, {"id": "th-1", "label": 3}, "label"),
    "two of three chances": ("three", 0, {"id": "th-1", "label": 1, "probabilities": [0.5, 0.5]}, "probabilities"),
    "probabilities beyond 1": ("x-notes", 0, {"id": "xn-1", "label": 1, "probabilities": [0.9, 0.9]}, "probabilities"),
    "a probability below 0": ("x-notes", 0, {"id": "xn-1", "label": 1, "probabilities": [-0.1, 1.0]}, "probabilities"),
    "a confidence of three classes": ("three", 0, {"id": "th-1", "label": 1, "confidence": 0.5}, "confidence"),
    "both forms of probabilities": (
        "x-notes", 0, {"id": "xn-1", "label": 1, "confidence": 0.5, "probabilities": [0.5, 0.5]}, "the whole",
    ),
    "a document twice": ("search", 0, {"id": "se-1", "documents": ["a", "a"]}, "documents"),
    "a document with white space": ("search", 0, {"id": "se-1", "documents": ["a b"]}, "documents"),
    "a certainty of a text": ("replies", 0, {"id": "rp-1", "text": "a", "certainty": 0.5}, "certainty"),
    "an answer that is none": ("replies", 0, {"id": "rp-1", "text": "a", "status": "none"}, "the whole"),
    "silence that is answered": ("replies", 0, {"id": "rp-1", "text": None, "status": "answered"}, "the whole"),
    "a repetition of 0": ("x-notes", 0, {"id": "xn-1", "label": 1, "repetition": 0}, "repetition"),
    "an unknown status": ("x-notes", 0, {"id": "xn-1", "label": 1, "status": "fine"}, "status"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_a_task_does_not_take_is_named_by_line_and_field(tmp_path: Path, name: str) -> None:
    task, place, row, field = WRONG[name]
    rows = list(GOOD[task])
    rows[place] = row
    (fault,) = [item for item in check_file(write(tmp_path, rows), SAMPLES).faults if item.code == "bad-field"]
    assert f"predictions.jsonl line {place + 1}, {field}" in fault.where
    assert fault.fix


def test_repetitions_are_whole_each(tmp_path: Path) -> None:
    rows = [{"id": key, "label": 1, "repetition": n} for n in (1, 2, 3) for key in ("xn-1", "xn-2")]
    checked = check_file(write(tmp_path, rows), SAMPLES)
    assert checked.faults == ()
    assert [(item.id, item.repetition) for item in checked.predictions] == [
        (key, n) for key in ("xn-1", "xn-2") for n in (1, 2, 3)
    ]
    (fault,) = check_file(write(tmp_path, rows[:-1]), SAMPLES).faults
    assert (fault.code, "in repetition 3" in fault.what) == ("missing-id", True)
    again = [*rows, rows[4]]
    (fault,) = check_file(write(tmp_path, again), SAMPLES).faults
    assert (fault.code, fault.where.endswith("lines 5, 7")) == ("duplicate-id", True)


def test_a_table_holds_the_same_as_lines(tmp_path: Path) -> None:
    table = tmp_path / "predictions.csv"
    table.write_text(
        "id,label,text,documents,probabilities,status\n"
        "xn-1,1,,,0.25 0.75,\nxn-2,,,,,\n"
        "rp-1,,a text,,,\nrp-2,,,,,blocked\n"
        "se-1,,,d-3 d-1,,\nse-2,,,,,\n"
    )
    several = check_file(table, {name: SAMPLES[name] for name in ("x-notes",)})
    assert {fault.code for fault in several.faults} == {"unknown-id"}
    table.write_text("id,documents\nse-1,d-3 d-1\nse-2,\n")
    checked = check_file(table, SAMPLES)
    assert [item.answer for item in checked.predictions] == [("d-3", "d-1"), None]
    table.write_text('id,text\nrp-1,"a, b"\nrp-2,\n')
    assert [item.answer for item in check_file(table, SAMPLES).predictions] == ["a, b", None]
    table.write_text("id,rationale\nrp-1,a\n")
    assert {fault.code for fault in check_file(table, SAMPLES).faults} == {"missing-column"}


def test_every_form_keeps_its_hash_from_file_to_canonical_file(tmp_path: Path) -> None:
    folder = tmp_path / "team" / "system"
    write(folder, everything())
    (folder / "system.toml").write_bytes(INFO)
    checked = inspected(folder, Quarter(2026, 3), SAMPLES, datetime(2026, 10, 1, tzinfo=UTC))
    assert checked.submission is not None
    for name, content in canonical_files(checked.submission).items():
        (folder / name).write_bytes(content)
    again = inspected(folder, Quarter(2026, 3), SAMPLES, datetime(2026, 10, 1, tzinfo=UTC))
    assert again.submission is not None
    assert again.submission.sha256 == checked.submission.sha256
    changed = everything()
    changed[2]["text"] += "!"
    write(folder, changed)
    other = inspected(folder, Quarter(2026, 3), SAMPLES, datetime(2026, 10, 1, tzinfo=UTC))
    assert other.submission is not None and other.submission.sha256 != checked.submission.sha256


def test_copied_texts_are_flagged_and_texts_of_ones_own_are_not() -> None:
    ids = [f"rp-{n}" for n in range(120)]

    def entry(origin: str, day: int, texts: Mapping[str, str | None]) -> GivenAnswers:
        return GivenAnswers(origin, origin, datetime(2026, 10, day, tzinfo=UTC), texts, {})

    first = entry("a", 1, {key: f"text {n}" for n, key in enumerate(ids)})
    same = entry("b", 2, dict(first.answers))
    near = entry("c", 3, {key: "mine" if n < 3 else text for n, (key, text) in enumerate(first.answers.items())})  # type: ignore[misc]
    own = entry("d", 4, {key: f"my text {n}" for n, key in enumerate(ids)})
    silent = [entry(name, 5, dict.fromkeys(ids)) for name in "ef"]
    found = {(copy.later, copy.earlier, copy.sign) for copy in find_copies([first, same, near, own, *silent], ids)}
    assert found == {("b", "a", "same-labels"), ("c", "a", "nearly-same-labels"), ("c", "b", "nearly-same-labels")}


def test_faults_of_form_and_of_ids_are_told_together(tmp_path: Path) -> None:
    path = tmp_path / "predictions.jsonl"
    path.write_text('{"id":"xn-1","lable":1}\n{"id":"xn-9","label":1}\n{"id":"xn-9","label":0}\n')
    found = [(fault.code, fault.where.rpartition(" line")[2]) for fault in check_file(path, SAMPLES).faults]
    assert {("bad-field", " 1, lable"), ("duplicate-id", "s 2, 3"), ("unknown-id", "s 2, 3")} <= set(found)
    (missing,) = [fault.what for fault in check_file(path, SAMPLES).faults if fault.code == "missing-id"]
    assert missing == "1 of 2 samples of x-notes are missing, the first is xn-2"


def test_no_sample_is_called_missing_while_a_line_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "predictions.jsonl"
    path.write_text('{"id":"xn-1","label":1}\nnope\n')
    assert [fault.code for fault in check_file(path, SAMPLES).faults] == ["bad-json"]


def test_a_system_of_rules_names_no_models(tmp_path: Path) -> None:
    folder = tmp_path / "team" / "rules"
    write(folder, GOOD["x-notes"])
    (folder / "system.toml").write_bytes(INFO.replace(b'["m"]', b"[]"))
    checked = inspected(folder, Quarter(2023, 2), {"x-notes": SAMPLES["x-notes"]}, datetime.now(UTC))
    assert checked.faults == ()
    assert checked.submission is not None
    assert checked.submission.info.models == []
