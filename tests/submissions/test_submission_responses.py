"""Responses that are handed in: what deserves a second look is named, and nothing of it is a fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from hellofresh.core.editions import Frozen
from hellofresh.core.files import write_jsonl
from hellofresh.core.workspace import Workspace
from hellofresh.judging.references import about_copied_responses
from hellofresh.judging.study import BlindedResponse, StudyFiles
from hellofresh.submissions.check import about_responses
from hellofresh.submissions.format import Prediction
from hellofresh.tasks.samples import to_json

GOOD = (
    "This is not what the agency has said. The rate was 4 percent in March and not 40, as the report of the office "
    "shows: https://example.org/report."
)
SOURCES = ["https://example.org/report"]


def found(*texts: str, sources: list[str] = SOURCES) -> list[str]:
    rows = [Prediction(id=f"mp-{k}", text=text, sources=sources) for k, text in enumerate(texts)]
    return [fault.code for fault in about_responses(Path("predictions.jsonl"), rows)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("This is wrong.", "short-response"),
        (GOOD + " and so on" * 200, "long-response"),
        (GOOD + " See also https://example.net/more too.", "uncited-link"),
    ],
)  # fmt: skip
def test_an_odd_response_is_named(text: str, code: str) -> None:
    assert found(text) == [code]


def test_texts_that_stand_twice_are_counted() -> None:
    assert found(GOOD, GOOD.upper(), GOOD + " Indeed it is so.") == ["repeated-response"]


def test_a_copy_of_a_rated_response_to_the_same_post_is_named(tmp_path: Path) -> None:
    workspace, edition = Workspace(tmp_path), Frozen("muse-study", "1")
    files = StudyFiles(workspace, edition, "corrections")
    rated = [BlindedResponse("r-1", "mp-1", GOOD), BlindedResponse("r-2", "mp-2", GOOD[::-1])]
    write_jsonl(files.responses, map(to_json, rated))
    samples = {"corrections": ("mp-1", "mp-2"), "x-notes": ("xn-1",)}

    def warned(*rows: Prediction) -> list[str]:
        path = tmp_path / "predictions.jsonl"
        return [fault.what for fault in about_copied_responses(workspace, edition, samples, rows, path)]

    copy = Prediction(id="mp-1", text=GOOD + " Really.")
    assert len(warned(copy, Prediction(id="mp-2", text="My own words about it."))) == 1
    assert "mp-1" in warned(copy)[0]
    assert warned(Prediction(id="mp-2", text=GOOD)) == []  # the same text to another post is not a copy of a note on it
    files.responses.unlink()
    assert warned(copy) == []
    write_jsonl(files.responses, [])
    assert warned(copy) == []
