"""A rephrasing is taken only if it still asks for everything and is not a copy; otherwise the model is asked again."""

from __future__ import annotations

import asyncio

import pytest

from hellofresh.core.errors import UsageError
from hellofresh.models import Answer, Finish, Model
from hellofresh.models.baselines import Coin
from hellofresh.runs.prompts import STANDARD, PromptSet, load_prompt_set
from hellofresh.runs.prompts.rephrase import Rephrasing, faults, rephrase
from tests.fakes import FakeModel, fails_with, fake_spec

SET = load_prompt_set("x-notes", "zero-shot", STANDARD)
MANUAL = SET.prompts[0].instruction
GOOD = (
    "Picture raters who seldom see things alike. Did most of them call the note below the post helpful, finding it "
    "correct, to the point, fair and based on sources? Say 'yes' if so, otherwise say 'no'."
)
OTHER = (
    "Judging by truth, relevance, neutral language and evidence, was this note a helpful addition to the post in the "
    "eyes of a mixed crowd? Your whole answer is one of the words 'yes' and 'no'."
)


def writer_of(texts: list[str], name: str = "writer") -> FakeModel:
    """A model that gives its texts one after the other."""
    left = iter(texts)
    return FakeModel(fake_spec(name), lambda _: Answer(next(left), Finish.STOP))


def made(*models: Model, each: int = 1, attempts: int = 3) -> PromptSet:
    return asyncio.run(rephrase(SET, models, Rephrasing(each, attempts, "own", lambda _: None)))


def test_the_new_set_has_the_manual_instruction_and_the_rephrasings_with_their_authors() -> None:
    found = made(writer_of([GOOD], "one"), writer_of([f'"{OTHER}"\n'], "two"))
    assert [(item.id, item.author, item.instruction) for item in found.prompts] == [
        ("manual", SET.prompts[0].author, MANUAL),
        ("rephrased-1", "one", GOOD),
        ("rephrased-2", "two", OTHER),
    ]
    assert (found.name, found.frame, found.criteria) == ("own", SET.frame, SET.criteria)


def test_a_model_is_told_what_was_wrong_and_asked_again() -> None:
    writer = writer_of([MANUAL, GOOD.replace("'no'", "nothing"), GOOD])
    assert made(writer).prompts[1].instruction == GOOD
    assert [len(request.messages) for request in writer.asked] == [1, 3, 3]
    assert "nearly the same" in writer.asked[1].messages[-1].text
    assert "does not ask for 'yes' or 'no'" in writer.asked[2].messages[-1].text
    assert all(MANUAL in request.messages[0].text and not request.choices for request in writer.asked)


def test_after_so_many_attempts_it_is_given_up_with_the_last_reasons() -> None:
    writer = writer_of(["yes", "no", "maybe"])
    with fails_with("no-rephrasing") as caught:
        made(writer)
    assert "does not mention" in str(caught.value) and "3 attempts" in str(caught.value)
    assert len(writer.asked) == 3


def test_a_baseline_is_refused_before_anybody_is_asked() -> None:
    writer = writer_of([GOOD])
    with pytest.raises(UsageError) as caught:
        made(writer, Coin())
    assert (caught.value.code, writer.asked) == ("baseline-rephrases", [])


def test_a_second_wording_of_the_same_model_must_differ_from_the_first() -> None:
    writer = writer_of([GOOD, GOOD.replace("seldom", "rarely"), OTHER])
    found = made(writer, each=2)
    assert [item.instruction for item in found.prompts[1:]] == [GOOD, OTHER]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no text"),
        (MANUAL, "nearly the same"),
        (MANUAL.replace("Readers", "People"), "nearly the same"),
        (GOOD.replace("'yes'", "true"), "'yes' or 'no'"),
        (GOOD.replace("sources", "ideas"), "does not mention evidence"),
        (GOOD.replace("post", "text").replace("fair", "nice"), "does not mention post, neutrality"),
        (f"{GOOD} {'and more words ' * 40}", "too long"),
        (f"{GOOD} {{post}}", "braces"),
        (f"Sure! {GOOD}", "remark"),
        (f"Here is the instruction: {GOOD}", "remark"),
    ],
)
def test_every_fault_is_named(text: str, reason: str) -> None:
    assert reason in "; ".join(faults(Answer(text, Finish.STOP), [MANUAL], SET.criteria))


def test_an_answer_that_is_blocked_or_cut_off_is_not_taken() -> None:
    assert faults(Answer(GOOD, Finish.STOP), [MANUAL], SET.criteria) == []
    for finish in (Finish.BLOCKED, Finish.LENGTH):
        assert faults(Answer(GOOD, finish), [MANUAL], SET.criteria)
