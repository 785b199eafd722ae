"""Samples and transcripts read back as they were written."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pytest

from hellofresh.core.errors import DataError, UnknownNameError
from hellofresh.core.files import canonical_json
from hellofresh.models import Answer, Finish, Limits, Message, ModelSpec, Price, Request
from hellofresh.runs.equipment import Equipment
from hellofresh.runs.export import transcribe
from hellofresh.runs.journal import Journal
from hellofresh.runs.ledger import Ledgers
from hellofresh.runs.prompts import load_prompt_set
from hellofresh.runs.regimes import BaseRegime, Case, Outcome, read_choice
from hellofresh.runs.runner import Assignment, run
from hellofresh.tasks import TASKS, get_task
from hellofresh.tasks.samples import to_json
from hellofresh.tasks.transcripts import AskedEvent, NotedEvent, ReadEvent, SearchedEvent, parse_event
from tests.fakes import FakeModel, fails_with, refused


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
    with fails_with("bad-sample") as caught:
        notes_task.parse_sample(canonical_json(row), where="samples.jsonl line 3")
    assert caught.value.where == "samples.jsonl line 3"
    assert f": {field}" in caught.value.what


@pytest.mark.parametrize("line", ["", "{", "[]", "null", '"x"'])
def test_a_line_that_is_no_sample_is_refused(notes_task, line: str) -> None:
    refused("bad-sample", notes_task.parse_sample, line)


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


# --- Transcripts are typed, of one order, and no event that nobody knows breaks who reads them.


TASK, PROMPTS = get_task("x-notes"), load_prompt_set("x-notes", "zero-shot")
PRICED = ModelSpec("fake", "language-model", "A fake.", {}, Limits(4), price=Price(1.0, 10.0, "2026-11-01", "a test"))


def fake() -> FakeModel:
    return FakeModel(PRICED, lambda request: Answer(f"yes to {request.messages[0].text}", Finish.STOP, 100, 10))


@dataclass(frozen=True, slots=True)
class Curious(BaseRegime):
    """Asks for a query, pretends to search, and then asks every prompt."""

    name: str = "curious"

    def ceiling(self, prompts: int) -> int:
        return 1 + prompts

    async def solve(self, case: Case) -> Outcome:
        def request(text: str) -> Request:
            return Request((Message("user", (text,)),), 10)

        await case.ask("query", "", request("query"))
        choices = [read_choice(p.id, await case.ask("classify", p.id, request(p.id))) for p in case.prompts]
        return Outcome(
            choices,
            [AskedEvent(step="query"), SearchedEvent(query="rivers"), ReadEvent(place=1, url="https://example.org/")],
        )


def test_requests_stand_in_their_places_with_answers_and_costs_and_the_others_come_last(tmp_path, make) -> None:
    samples = [item.sample for item in make.notes(2, 2, months=(4,))]
    with Journal(tmp_path) as journal:
        run(
            Assignment(fake(), Equipment(Curious(), PROMPTS, PROMPTS.prompts, TASK.slots)),
            samples,
            journal,
            lambda _: None,
        )
        found = list(transcribe(journal, Ledgers({"main": PRICED}), {(sample.id, 1) for sample in samples}))
        assert list(transcribe(journal, Ledgers({"main": PRICED}), set())) == []
    assert [item.id for item in found] == sorted(sample.id for sample in samples)
    for item in found:
        kinds = [(event.kind, getattr(event, "step", "")) for event in item.events]
        assert kinds == [("asked", "query"), ("searched", ""), ("read", ""), *[("asked", "classify")] * 5]
        first = item.events[0]
        assert isinstance(first, AskedEvent)
        assert (first.text, first.model, first.tokens_in, first.cost_usd) == ("yes to query", "fake", 100, 200 / 1e6)
        assert [event.prompt for event in item.events[3:]] == sorted(prompt.id for prompt in PROMPTS.prompts)


@pytest.mark.parametrize(
    "value",
    [{"kind": "danced", "to": "a song"}, {"kind": "read"}, {"kind": "asked", "step": 3}, {}, 7, None, ["x"], "text"],
)
def test_an_event_of_unknown_form_becomes_a_note(value) -> None:
    event = parse_event(value)
    assert isinstance(event, NotedEvent)
    assert parse_event(event.model_dump(mode="json")) == event
