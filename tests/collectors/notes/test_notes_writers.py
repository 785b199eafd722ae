"""Notes by machines are told apart, and left out where only people's are asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from collectors.notes.labels import AI_STATES
from collectors.notes.tables import ENROLLMENT, NOTES
from hellofresh.core.errors import SourceError
from hellofresh.releases.candidates import Collection
from tests.collectors.notes.conftest import run
from tests.fakes import dropped

STATES = {"person": "earnedIn", "newcomer": "newUser", **{state: state for state in AI_STATES}}


def enrolled(dump: Any, states: dict[str, str]) -> Path:
    folder: Path = dump.write()
    lines = ["\t".join(ENROLLMENT.columns)]
    lines += ["\t".join([who, state] + [""] * (len(ENROLLMENT.columns) - 2)) for who, state in states.items()]
    (folder / "userEnrollment-00000.tsv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def written(dump: Any) -> Any:
    """A note by each kind of writer, one by somebody who is not enrolled, and a collaborative one by a person."""
    for number, writer in enumerate([*STATES, "stranger", "person"], start=1):
        dump.note(number)
        dump.rows[NOTES.stem][-1] |= {"noteAuthorParticipantId": writer, "isCollaborativeNote": int(number == 7)}
    return dump


def flags(collection: Collection) -> dict[str, tuple[object, object]]:
    return {
        item.sample.id[3:]: (item.label.facts["ai_writer"], item.label.facts["collaborative"])
        for item in collection.candidates
    }


def test_every_note_says_whether_a_machine_wrote_it(written: Any) -> None:
    collection = run(enrolled(written, STATES))
    assert flags(collection) == {
        **dict.fromkeys("126", (False, False)),
        **dict.fromkeys("345", (True, False)),
        "7": (False, True),
    }
    assert collection.funnel.context["decided notes by AI writers"] == 3
    assert collection.funnel.context["decided collaborative notes"] == 1
    assert "userEnrollment-00000.tsv" in [item.name for item in collection.sources]


def test_human_only_leaves_out_what_machines_had_a_part_in_and_counts_it(written: Any) -> None:
    collection = run(enrolled(written, STATES), human_only=True)
    assert sorted(flags(collection)) == ["1", "2", "6"]
    assert dropped(collection) == {"ai-writer": 4}
    assert collection.parameters["human_only"] is True


def test_without_enrollment_nobody_knows_and_human_only_is_refused(written: Any) -> None:
    folder = written.write()
    assert {ai for ai, _ in flags(run(folder)).values()} == {None}
    assert "decided notes by AI writers" not in run(folder).funnel.context
    with pytest.raises(SourceError, check=lambda error: error.code == "unknown-writers"):
        run(folder, human_only=True)


def test_a_note_without_an_author_is_not_taken_for_a_persons(written: Any) -> None:
    written.rows[NOTES.stem][0]["noteAuthorParticipantId"] = ""
    folder = enrolled(written, STATES)
    assert flags(run(folder))["1"] == (None, False)
    with pytest.raises(SourceError, match="AI writer"):
        run(folder, human_only=True)


def test_dumps_from_before_collaborative_notes_are_read(written: Any) -> None:
    folder = enrolled(written, STATES)
    path = folder / "notes-00000.tsv"
    lines = [line.rsplit("\t", 1)[0] for line in path.read_text().splitlines()]
    path.write_text("\n".join(lines) + "\n")
    collection = run(folder, human_only=True)
    assert flags(collection) == dict.fromkeys("1267", (False, None))
    assert any("isCollaborativeNote" in warning for warning in collection.warnings)
