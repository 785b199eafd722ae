"""Repetitions can differ, or the run says so: before it asks where that is known, and afterwards where it shows."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from hellofresh.models import Answer, Finish, Limits, Message, ModelSpec, Request, Sampling
from hellofresh.models.tables import Abilities
from hellofresh.runs.asked_models import check_repetitions, sampling_notes
from hellofresh.runs.equipment import Equipment
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.prompts import load_prompt_set
from hellofresh.runs.record import read_record
from hellofresh.runs.regimes import MAIN
from hellofresh.runs.regimes.zero_shot import ZeroShot
from hellofresh.runs.runner import Assignment
from tests.fakes import FakeModel, catalogued, fails_with


def spec(name: str, sampling: Sampling) -> ModelSpec:
    return ModelSpec(name, "language-model", "A fake.", {}, Limits(4), free=True, sampling=sampling)


def by_seed(request: Request) -> Answer:
    digest = hashlib.sha256(f"{request.messages[-1].text} {request.seed}".encode()).digest()
    return Answer(("yes", "no")[digest[0] % 2], Finish.STOP, 10, 1)


@pytest.fixture
def sampler(make, monkeypatch, place) -> FakeModel:
    make.release(make.notes(3, 3))
    return catalogued(monkeypatch, FakeModel(spec("sampler", Sampling.SEEDED), by_seed))


@pytest.fixture
def workspace(make):
    return make.workspace()


@pytest.fixture
def basic(quarter, notes_task) -> Evaluation:
    return Evaluation(quarter, notes_task, "sampler", prompts="manual")


REFUSED = {
    "a model that always answers alike": (Sampling.NEVER, 5, None, "identical-repetitions"),
    "a temperature that no model takes": (Sampling.NEVER, 1, 0.7, "unsupported-temperature"),
    "the likeliest answer five times": (Sampling.SEEDED, 5, None, "no-temperature"),
    "the same without seeds": (Sampling.UNSEEDED, 2, None, "no-temperature"),
    "no repetition at all": (Sampling.SEEDED, 0, None, "bad-repeat"),
    "a temperature below 0": (Sampling.SEEDED, 1, -0.1, "bad-temperature"),
    "a temperature that is not a number": (Sampling.SEEDED, 1, float("nan"), "bad-temperature"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_repetitions_that_would_be_copies_are_refused_before_anything_is_asked(name: str) -> None:
    sampling, repeat, temperature, code = REFUSED[name]
    with fails_with(code):
        check_repetitions({MAIN: spec("m", sampling)}, repeat, temperature)


@pytest.mark.parametrize(
    ("kinds", "repeat", "temperature"),
    [
        ((Sampling.SEEDED,), 5, 0.7),
        ((Sampling.SEEDED,), 5, 0.0),  # said, not forgotten
        ((Sampling.UNSEEDED,), 5, 0.7),
        ((Sampling.OWN,), 5, None),
        ((Sampling.NEVER, Sampling.SEEDED), 5, 0.7),
        ((Sampling.NEVER,), 1, None),
        ((Sampling.NEVER,), 1, 0.0),
    ],
)
def test_repetitions_that_may_differ_are_not_refused(kinds, repeat: int, temperature: float | None) -> None:
    specs = dict(zip((MAIN, "helper"), (spec(str(kind), kind) for kind in kinds), strict=False))
    check_repetitions(specs, repeat, temperature)


def test_what_a_model_ignores_is_said_by_name() -> None:
    specs = {str(kind): spec(str(kind), kind) for kind in Sampling}
    notes = list(sampling_notes(specs, 3, 0.5))
    assert [note.split(" ignores ")[0] for note in notes] == ["never", "own", "unseeded"]
    assert "seeds" in notes[2]
    assert list(sampling_notes(specs, 1, None)) == []


def test_what_a_hosted_model_takes_follows_from_its_abilities() -> None:
    assert Abilities().sampling is Sampling.SEEDED
    assert Abilities(seed=False).sampling is Sampling.UNSEEDED
    assert Abilities(temperature=False).sampling is Sampling.OWN


def test_each_repetition_has_a_seed_of_its_own_and_the_runs_temperature(workspace, sampler, basic) -> None:
    done = evaluate(workspace, replace(basic, repeat=3, temperature=0.7), lambda _: None)
    assert {(request.seed, request.temperature) for request in sampler.asked} == {(1, 0.7), (2, 0.7), (3, 0.7)}
    assert done.copies == ()
    record = read_record(done.folder)
    assert record is not None
    assert (record.evaluation.repeat, record.evaluation.temperature, record.copies) == (3, 0.7, [])


def test_a_temperature_is_another_system_and_none_is_the_same_as_zero(workspace, sampler, basic) -> None:
    plain = evaluate(workspace, basic, lambda _: None)
    asked = len(sampler.asked)
    assert evaluate(workspace, replace(basic, temperature=0.0), lambda _: None).run_id == plain.run_id
    assert len(sampler.asked) == asked
    warm = [evaluate(workspace, replace(basic, temperature=heat), lambda _: None) for heat in (0.5, 0.7)]
    records = [read_record(item.folder) for item in (plain, *warm)]
    assert len({item.run_id for item in warm} | {plain.run_id}) == 3
    assert len({record.system for record in records if record is not None}) == 3


def test_copies_are_found_afterwards_and_named(workspace, sampler, basic, cli) -> None:
    sampler.say = lambda request: by_seed(replace(request, seed=0))
    done = evaluate(workspace, replace(basic, repeat=5, temperature=0.7), lambda _: None)
    assert done.copies == (2, 3, 4, 5)
    record = read_record(done.folder)
    assert record is not None
    assert record.copies == [2, 3, 4, 5]
    arguments = ("evaluate", "--quarter", "2023Q2", "--task", "x-notes", "--model", "sampler", "--prompts", "manual")
    said = cli(*arguments, "--repeat", "5", "--temperature", "0.7")
    assert "repetitions 2, 3, 4 and 5 gave the same answers" in said


def test_the_command_line_refuses_copies_and_says_what_to_do(sampler, cli) -> None:
    arguments = ("evaluate", "--quarter", "2023Q2", "--task", "x-notes", "--repeat", "5", "--json", "--model")
    for model, code in (("coin", "identical-repetitions"), ("sampler", "no-temperature")):
        assert f"[{code}]" in cli(*arguments, model, code=2)
    assert not sampler.asked


def test_answers_that_a_regime_draws_itself_differ_in_every_repetition() -> None:
    question = Request((Message("user", ("?",)),), 10, temperature=0.8)
    prompts = load_prompt_set("x-notes", "zero-shot")
    chosen = Assignment(
        FakeModel(), Equipment(ZeroShot(), prompts, prompts.prompts, lambda sample: {}), temperature=0.7
    )

    def seed(request: Request, repetition: int) -> int | None:
        return chosen.sampled(request, repetition).seed

    seeds = {seed(replace(question, seed=own), repetition) for own in range(1, 65) for repetition in range(1, 101)}
    assert len(seeds) == 64 * 100
    assert [seed(question, repetition) for repetition in (1, 2)] == [1, 2]
