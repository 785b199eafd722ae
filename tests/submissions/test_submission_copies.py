"""Copies are flagged, also of responses; what only agrees because it is good, or says one thing throughout, is not."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from hellofresh.core.editions import Frozen
from hellofresh.core.files import write_jsonl
from hellofresh.core.workspace import Workspace
from hellofresh.judging.references import about_copied_responses
from hellofresh.judging.study import BlindedResponse, StudyFiles
from hellofresh.submissions.check import about_responses, inspect_submission
from hellofresh.submissions.format import Prediction
from hellofresh.submissions.receipts import add_submission
from hellofresh.submissions.standings import GivenAnswers, copied_from, find_copies, standings
from hellofresh.tasks.samples import to_json

IDS = [f"xn-{n}" for n in range(200)]
RNG = np.random.default_rng(5)
TRUTH = dict(zip(IDS, (int(value) for value in RNG.integers(0, 2, len(IDS))), strict=True))


def right(share: float, seed: int) -> dict[str, int]:
    """Labels that are right on this share of samples, independently of others."""
    good = np.random.default_rng(seed).random(len(IDS)) < share
    return {key: TRUTH[key] if ok else 1 - TRUTH[key] for key, ok in zip(IDS, good, strict=True)}


def given(origin: str, labels, *, day: int = 1, team: str = "", confidences=None) -> GivenAnswers:
    return GivenAnswers(origin, team or origin, datetime(2023, 8, day, tzinfo=UTC), labels, confidences or {})


def signs(*entries: GivenAnswers, truth=None) -> list[tuple[str, str, str]]:
    return [(copy.later, copy.earlier, copy.sign) for copy in find_copies(entries, IDS, truth)]


def changed(labels, number: int) -> dict[str, int]:
    return {key: 1 - label if n < number else label for n, (key, label) in enumerate(labels.items())}


def test_the_same_labels_are_a_copy_of_whichever_came_first() -> None:
    labels = right(0.7, 1)
    assert signs(given("b", labels, day=2), given("a", labels, day=3)) == [("a", "b", "same-labels")]


def test_a_copy_with_a_few_labels_changed_is_found() -> None:
    labels = right(0.7, 1)
    assert signs(given("a", labels), given("b", changed(labels, 4), day=2)) == [("b", "a", "nearly-same-labels")]
    assert signs(given("a", labels), given("b", changed(labels, 30), day=2)) == []


@pytest.mark.parametrize("share", [0.6, 0.8, 0.9, 0.95])
def test_independent_systems_are_not_flagged_however_good(share: float) -> None:
    entries = [given(f"e{seed}", right(share, seed), day=1 + seed) for seed in range(8)]
    assert signs(*entries) == []
    assert signs(*entries, truth=TRUTH) == []


def test_saying_one_thing_throughout_is_no_copy() -> None:
    yes, no_answer = dict.fromkeys(IDS, 1), dict.fromkeys(IDS)
    assert signs(given("a", yes), given("b", yes), given("c", no_answer), given("d", no_answer)) == []


def test_the_same_confidences_give_a_copy_away_where_labels_were_cut_elsewhere() -> None:
    labels = right(0.7, 1)
    confidences = dict(zip(IDS, RNG.random(len(IDS)).round(6).tolist(), strict=True))
    other = {key: int(value > 0.3) for key, value in confidences.items()}
    first = given("a", labels, confidences=confidences)
    assert signs(first, given("b", other, day=2, confidences=confidences)) == [("b", "a", "same-confidences")]
    coarse = {key: round(value) / 1 for key, value in confidences.items()}
    entries = given("a", labels, confidences=coarse), given("b", right(0.7, 2), day=2, confidences=coarse)
    assert signs(*entries) == []


def test_common_errors_give_away_what_agrees_too_little_to_show_otherwise() -> None:
    base = right(0.5, 1)
    errors = [key for key in IDS if base[key] != TRUTH[key]]
    other = base | {key: TRUTH[key] for key in errors[:6]}
    entries = given("a", base), given("b", other, day=2)
    assert signs(*entries) == []
    assert signs(*entries, truth=TRUTH) == [("b", "a", "same-errors")]


def test_variants_of_one_team_are_flagged_only_where_all_is_the_same() -> None:
    labels = right(0.7, 1)
    near = given("t/a", labels, team="t"), given("t/b", changed(labels, 2), day=2, team="t")
    same = given("t/a", labels, team="t"), given("t/b", labels, day=2, team="t")
    assert signs(*near) == []
    assert signs(*same) == [("t/b", "t/a", "same-labels")]


def test_check_and_list_flag_a_copy(due, hand_in, open_day, tmp_path) -> None:
    root = tmp_path / "submissions"
    labels = {key: n % 3 % 2 for n, key in enumerate(due.ids["x-notes"])}
    add_submission(hand_in("first/one", labels, team="First"), due, root, open_day)
    second = hand_in("second/one", labels, team="Second")
    submission = inspect_submission(second, due).submission
    assert submission is not None
    (flag,) = copied_from(submission, standings(root, due), due)
    assert "first/one [same-labels]" in flag
    add_submission(second, due, root, open_day.replace(hour=13))
    assert {item.origin: len(item.flags) for item in standings(root, due).entries} == {"first/one": 0, "second/one": 1}


# --- Responses that are handed in: what deserves a second look is named, and nothing of it is a fault.


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
