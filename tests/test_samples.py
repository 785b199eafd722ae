"""A sample written as JSON is the same sample read back."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hellofresh.core.errors import DataError, UnknownNameError
from hellofresh.core.files import canonical_json
from hellofresh.tasks import TASKS, get_task
from hellofresh.tasks.samples import to_json

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
shared = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@shared
@given(post=TEXTS, note=TEXTS)
def test_a_note_reads_back_whatever_its_texts_say(make, notes_task, post: str, note: str) -> None:
    sample = make.note(1)
    sample = replace(sample, post=replace(sample.post, text=post), note=replace(sample.note, text=note))
    assert notes_task.parse_sample(canonical_json(to_json(sample))) == sample


@shared
@given(paragraph=TEXTS, deleted=TEXTS, added=TEXTS)
def test_an_edit_reads_back(make, edits_task, paragraph: str, deleted: str, added: str) -> None:
    sample = replace(make.edit(5), paragraph=paragraph, deleted=deleted, added=added)
    assert edits_task.parse_sample(canonical_json(to_json(sample))) == sample


def test_times_are_written_in_utc() -> None:
    moment = datetime(2023, 7, 1, 1, tzinfo=timezone(timedelta(hours=2)))
    assert to_json({"a": (moment, [moment])}) == {"a": ["2023-06-30T23:00:00Z", ["2023-06-30T23:00:00Z"]]}


def test_a_sample_says_nothing_of_its_label(make) -> None:
    for sample in (make.note(1), make.edit(1)):
        facts = {"label", *get_task(sample.task).label_facts}
        assert not facts & to_json(sample).keys()


@pytest.mark.parametrize(
    ("field", "value"),
    [("id", 5), ("date", "yesterday"), ("date", 5), ("post", []), ("note", {"id": "1"}), ("group", None)],
)
def test_a_wrong_field_is_named(make, notes_task, field: str, value: object) -> None:
    row = to_json(make.note(1)) | {field: value}
    with pytest.raises(DataError) as caught:
        notes_task.parse_sample(canonical_json(row), where="samples.jsonl line 3")
    assert caught.value.code == "bad-sample"
    assert caught.value.where == "samples.jsonl line 3"
    assert f": {field}" in caught.value.what


@pytest.mark.parametrize("line", ["", "{", "[]", "null", '"x"'])
def test_a_line_that_is_no_sample_is_refused(notes_task, line: str) -> None:
    with pytest.raises(DataError) as caught:
        notes_task.parse_sample(line)
    assert caught.value.code == "bad-sample"


def test_a_sample_of_another_task_is_refused(make, notes_task) -> None:
    with pytest.raises(DataError):
        notes_task.parse_sample(canonical_json(to_json(make.edit(1))))


def test_tasks_are_found_by_name_and_no_other() -> None:
    assert all(get_task(name).name == name for name in TASKS)
    with pytest.raises(UnknownNameError, match="Did you mean 'x-notes'"):
        get_task("x-note")


def test_no_prefix_of_ids_begins_another() -> None:
    prefixes = [task.id_prefix for task in TASKS.values()]
    assert all(a == b or not a.startswith(b) for a in prefixes for b in prefixes)
    assert len(set(prefixes)) == len(prefixes)


def test_slots_never_are_empty(make) -> None:
    edit = replace(make.edit(1), deleted="", added="", section="")
    assert all(get_task("wikipedia-edits").slots(edit).values())
    assert datetime(2023, 4, 3, tzinfo=UTC).strftime("%Y-%m-%d") == get_task("wikipedia-edits").slots(edit)["date"]
