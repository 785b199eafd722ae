"""Baselines are stable, fair, and learn only from what they are given; a script says what its file says."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from hellofresh.core.errors import ConfigError, UsageError
from hellofresh.models import Answer, Finish, Message, Model, Request
from hellofresh.models.baselines import (
    AlwaysClass,
    AlwaysYes,
    Coin,
    Prior,
    SentenceRegression,
    TrainingSample,
    WordRegression,
)
from hellofresh.models.catalogue import ModelContext, known_models, open_model
from hellofresh.models.scripted import ScriptedModel
from hellofresh.results.split.panel import EntrySection, section_of
from hellofresh.tasks import Statement
from hellofresh.tasks.samples import Sample
from tests.fakes import fails_with


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


@pytest.mark.parametrize("kind", [WordRegression, SentenceRegression])
def test_the_regression_turns_round_with_its_labels(make, training, kind: type[WordRegression]) -> None:
    flipped = [TrainingSample(item.sample, 1 - item.label) for item in training]
    model, contrary = (kind.train("x-notes", items) for items in (training, flipped))
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


def test_without_both_labels_or_a_word_in_common_there_is_nothing_to_learn_from(make) -> None:
    def bare(number: int, text: str) -> Sample:
        note = make.note(number)
        return replace(note, post=replace(note.post, text=text), note=replace(note.note, text=text))

    one_sided = [
        [TrainingSample(make.note(n), label) for n in range(count)] for label, count in ((0, 0), (1, 3), (0, 1))
    ]
    for training in (*one_sided, [TrainingSample(bare(1, "alpha"), 1), TrainingSample(bare(2, "omega"), 0)]):
        with fails_with("no-training-labels"):
            WordRegression.train("x-notes", training)


def test_a_baseline_that_needs_the_sample_says_so(training) -> None:
    for model in (Coin(), WordRegression.train("x-notes", training)):
        with fails_with("no-sample"):
            ask(model, None)


CLAIM = "claims"


def statement(number: int, text: str) -> Statement:
    return Statement(
        id=f"cl-{number}", task=CLAIM, edition="2026Q1", period="2026-01", date=datetime(2026, 1, 1, tzinfo=UTC),
        group=f"claim {number}", license="MIT", statement=text, language="en", speaker="", context="",
    )  # fmt: skip


def asked(number: int) -> Request:
    return Request((), 15, choices=("true", "mixed", "false"), sample=statement(number, "the bridge was closed"))


def answers(model: Model, count: int = 200) -> Counter[str]:
    async def ask() -> list[str]:
        return [(await model.ask(asked(number))).text for number in range(count)]

    return Counter(asyncio.run(ask()))


LEARNT = [TrainingSample(statement(n, f"bread {n % 3} salt"), (0, 0, 0, 1, 2)[n % 5]) for n in range(100)]


def test_always_class_says_the_questions_word_for_that_class() -> None:
    assert answers(AlwaysClass.of(CLAIM, "always-mixed")) == {"mixed": 200}
    assert answers(AlwaysYes()) == {"true": 200}
    with pytest.raises(UsageError, match="always-false"):
        AlwaysClass.of(CLAIM, "always-helpful")
    assert AlwaysClass.of("fever", "always-not-enough-information").label == 1


def test_the_prior_draws_each_class_by_its_share_and_the_majority_says_one() -> None:
    drawn = answers(Prior.train(CLAIM, LEARNT, draws=True), 2000)
    assert drawn["false"] == pytest.approx(1200, abs=100) and drawn["true"] == pytest.approx(400, abs=80)
    assert answers(Prior.train(CLAIM, LEARNT, draws=False)) == {"false": 200}
    with pytest.raises(UsageError, match="prior has no training data"):
        Prior.train(CLAIM, [], draws=True)


def test_words_are_counted_for_every_class() -> None:
    texts = ("bread salt", "salt river", "river bread")
    learnt = [TrainingSample(statement(n, f"{texts[n % 3]} common"), n % 3) for n in range(60)]
    model = WordRegression.train(CLAIM, learnt)
    answer = asyncio.run(model.ask(replace(asked(0), sample=statement(999, "salt river"))))
    assert answer.text == "mixed"


SCRIPT = """
about = "A test."
[[answers]]
turn = 2
say = "second"
[[answers]]
asked = 'How (\\w+)\\?'
sample = "moon"
say = "very \\\\1"
[[answers]]
sample = "(moon|sun)"
say = "the \\\\1"
"""


@pytest.fixture
def script(tmp_path):
    def write(text: str = SCRIPT):
        path = tmp_path / "My script.toml"
        path.write_text(text)
        return path

    return write


def said(model, *texts: str) -> str:
    roles = ("user", "assistant")
    messages = tuple(Message(roles[number % 2], (text,)) for number, text in enumerate(texts))
    return asyncio.run(model.ask(Request(messages, 10))).text


def test_the_first_answer_whose_conditions_all_hold_is_given(script) -> None:
    model = ScriptedModel.load(script())
    assert said(model, "the moon. How far?") == "very far"
    assert said(model, "the sun. How far?") == "the sun"
    assert said(model, "the moon", "x", "How far?") == "second"
    assert said(model, "a star") == ""


def test_it_is_opened_by_the_name_of_its_file_and_marked_as_a_script(script) -> None:
    model = open_model(f"scripted:{script()}", ModelContext("x-notes", list))
    assert model.spec.name == "scripted-my-script"
    assert model.spec.smoke_test and model.spec.free and "NOT A MODEL" in model.spec.about
    assert section_of(model.spec.kind, "search-agent", smoke_test=model.spec.smoke_test) is EntrySection.SMOKE_TEST
    assert "script" in known_models()["scripted"].about


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"moon"', '"("'),
        ("turn = 2", "turn = 0"),
        ("turn = 2", "tern = 2"),
        ("very \\\\1", "very \\\\2"),
        ('say = "second"', ""),
        ("[[answers]]", "[[answers]"),
        (SCRIPT, 'about = "nothing"'),
    ],
)
def test_a_faulty_script_is_refused_by_name(script, old: str, new: str) -> None:
    assert old in SCRIPT
    with fails_with("bad-script") as caught:
        ScriptedModel.load(script(SCRIPT.replace(old, new)))
    assert "My script.toml" in str(caught.value)


def test_a_script_that_is_not_there_is_refused(tmp_path) -> None:
    with pytest.raises(ConfigError):
        open_model(f"scripted:{tmp_path / 'none.toml'}", ModelContext("x-notes", list))
