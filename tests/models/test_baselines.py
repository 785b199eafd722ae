"""Baselines are stable, fair where they claim to be, and learn only from what they are given."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

import pytest

from hellofresh.errors import RunError, UsageError
from hellofresh.models import Answer, Finish, Message, Model, Request
from hellofresh.models.baselines import AlwaysYes, Coin, TrainingSample, WordRegression
from hellofresh.samples import Sample


def ask(model: Model, sample: Sample | None, prompt: str = "?") -> str:
    answer = asyncio.run(model.ask(Request((Message("user", (prompt,)),), 15, sample=sample)))
    assert answer == Answer(answer.text, Finish.STOP, 0, 0)
    return answer.text


@pytest.fixture
def training(make) -> list[TrainingSample]:
    """Notes that name a source are helpful, notes that shout are not."""
    words = {1: "the national archive documents say {}", 0: "shameful liars everywhere {}"}
    things = ["rivers", "bridges", "comets", "bees", "tides", "bread", "chess", "fog"]
    return [
        TrainingSample(make.note(100 * label + n, text=words[label].format(thing)), label)
        for label in (0, 1)
        for n, thing in enumerate(things)
    ]


def test_always_yes_says_yes_without_looking() -> None:
    assert ask(AlwaysYes(), None) == "yes"


def test_the_coin_is_about_fair_stable_and_blind_to_all_but_the_id(make) -> None:
    notes = [make.note(n) for n in range(4000)]

    async def throw() -> list[str]:
        coin = Coin()
        return [(await coin.ask(Request((), 15, sample=note))).text for note in notes]

    first = asyncio.run(throw())
    assert first == asyncio.run(throw())
    assert abs(first.count("yes") - 2000) < 130  # four standard deviations
    assert ask(Coin(), make.note(5, text="other words"), "another prompt") == first[5]
    assert set(first) == {"yes", "no"}


def test_the_regression_learns_what_the_words_say(make, training) -> None:
    model = WordRegression.train("x-notes", training)
    assert ask(model, make.note(1, text="the national archive documents say glaciers")) == "yes"
    assert ask(model, make.note(1, text="shameful liars everywhere glaciers")) == "no"


def test_the_regression_turns_round_with_its_labels(make, training) -> None:
    flipped = [TrainingSample(item.sample, 1 - item.label) for item in training]
    model, contrary = (WordRegression.train("x-notes", items) for items in (training, flipped))
    for text in ("the national archive documents say glaciers", "shameful liars everywhere glaciers"):
        assert {ask(model, make.note(1, text=text)), ask(contrary, make.note(1, text=text))} == {"yes", "no"}
    assert model.spec.parameters["training"] != contrary.spec.parameters["training"]


def test_the_order_of_training_does_not_matter_and_its_content_is_part_of_the_identity(make, training) -> None:
    model = WordRegression.train("x-notes", training)
    shuffled = list(training)
    random.Random(1).shuffle(shuffled)
    assert WordRegression.train("x-notes", shuffled).spec == model.spec
    assert WordRegression.train("x-notes", training[1:]).spec != model.spec
    edited = replace(training[0], sample=make.note(0, text="quite other words"))
    assert WordRegression.train("x-notes", [edited, *training[1:]]).spec != model.spec
    assert model.spec.parameters["training_samples"] == len(training)
    assert "2023Q2" in model.spec.about


@pytest.mark.parametrize("labels", [(), (1, 1, 1), (0,)])
def test_without_both_labels_there_is_nothing_to_learn_from(make, labels: tuple[int, ...]) -> None:
    training = [TrainingSample(make.note(n), label) for n, label in enumerate(labels)]
    with pytest.raises(UsageError) as caught:
        WordRegression.train("x-notes", training)
    assert caught.value.code == "no-training-labels"


def test_with_two_samples_that_share_no_word_it_is_left_out_and_not_a_crash(make) -> None:
    def bare(number: int, text: str) -> Sample:
        note = make.note(number)
        return replace(note, post=replace(note.post, text=text), note=replace(note.note, text=text))

    training = [TrainingSample(bare(1, "alpha"), 1), TrainingSample(bare(2, "omega"), 0)]
    with pytest.raises(UsageError) as caught:
        WordRegression.train("x-notes", training)
    assert caught.value.code == "no-training-labels"


def test_a_baseline_that_needs_the_sample_says_so(training) -> None:
    for model in (Coin(), WordRegression.train("x-notes", training)):
        with pytest.raises(RunError) as caught:
            ask(model, None)
        assert caught.value.code == "no-sample"
