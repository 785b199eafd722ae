"""Rubrics: what a file may say, and when a criterion is asked."""

from __future__ import annotations

import pytest

from hellofresh.core.errors import DataError, UnknownNameError
from hellofresh.judging.rubric import load_rubric, parse_rubric

SMALL = """
name = "small"
title = "Small"
overall = "good"

[[criteria]]
id = "named"
group = "a"
title = "Named"
definition = "Is anything named?"
options = [{ id = "no", words = "No" }, { id = "yes", words = "Yes" }]

[[criteria]]
id = "good"
group = "a"
title = "Good"
definition = "How good?"
range = [0, 10]
ask_if = { criterion = "named", is = ["yes"] }
if_skipped = 0
"""


def test_the_skip_rules_of_correction_13_are_those_of_the_study() -> None:
    rubric = load_rubric("correction-13")
    asked = {criterion.id for criterion in rubric.criteria if rubric.asked(criterion, {"identification": 0.0})}
    assert {"comprehensiveness", "accuracy", "informativeness"}.isdisjoint(asked)
    wrong = {"identification": 2.0, "accuracy": 0.0}
    assert rubric.asked(rubric.criterion("accuracy"), wrong)
    assert not rubric.asked(rubric.criterion("informativeness"), wrong)
    assert rubric.asked(rubric.criterion("informativeness"), {**wrong, "accuracy": 1.0})
    assert not rubric.asked(rubric.criterion("credibility"), {"reachability": 0.0})
    assert not rubric.asked(rubric.criterion("credibility"), {})


def test_a_file_of_ones_own_is_a_rubric(tmp_path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    rubric = load_rubric(str(file))
    assert [criterion.answers for criterion in rubric.criteria] == [2, 11]
    assert rubric.criterion("named").words(1) == "Yes"
    assert rubric.criterion("named").value_of("yes") == 1
    file.write_text(SMALL + " ")
    assert load_rubric(str(file)).sha256 != rubric.sha256


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('id = "good"', 'id = "named"', "twice"),
        ('overall = "good"', 'overall = "best"', "not a criterion"),
        ('is = ["yes"]', 'is = ["maybe"]', "has no option maybe"),
        ('criterion = "named"', 'criterion = "later"', "must come before it"),
        ("range = [0, 10]", "range = [10, 0]", "lower to a higher"),
        ("range = [0, 10]", "", "set either options or range"),
        ("if_skipped = 0", "if_skipped = 11", "not on the scale"),
        ('{ id = "no", words = "No" }, ', "", "at least two options"),
        ('title = "Small"', 'title = "Small"\nsha256 = "0"', "own hash"),
        ('title = "Small"', 'title = "Small"\ncolour = "red"', "colour"),
        ('group = "a"', 'group = "../a"', "group"),
        ('name = "small"', "name = [", "toml"),
    ],
)
def test_a_faulty_file_is_refused_with_the_reason(old: str, new: str, says: str) -> None:
    assert old in SMALL
    with pytest.raises(DataError) as caught:
        parse_rubric(SMALL.replace(old, new, 1).encode(), where="small.toml")
    assert caught.value.code == "bad-rubric"
    assert says in str(caught.value).lower()


def test_an_unknown_rubric_is_answered_with_those_there_are() -> None:
    with pytest.raises(UnknownNameError, match="correction-13"):
        load_rubric("correction-12")
