"""A run's result depends on what was asked, never on when the answers came; nothing answered is asked again."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field

import pytest

from hellofresh.errors import RunError
from hellofresh.models import Answer, Finish, Limits, ModelSpec, Request
from hellofresh.prompts import load_prompt_set
from hellofresh.regimes.zero_shot import ZeroShot
from hellofresh.runs import Assignment, Journal, RunResult, Tally, run
from hellofresh.tasks import get_task

TASK = get_task("x-notes")
PROMPTS = load_prompt_set("x-notes", "zero-shot")


@dataclass
class Slow:
    """A model that answers what the question decides, after a delay that the seed decides; may fail."""

    seed: int = 0
    in_flight: int = 4
    fail_at: int | None = None
    asked: Counter[str] = field(default_factory=Counter)
    at_once: int = 0
    most_at_once: int = 0
    closed: int = 0

    @property
    def spec(self) -> ModelSpec:
        return ModelSpec("slow", "language-model", "A fake.", {"version": 1}, limits=Limits(self.in_flight))

    async def ask(self, request: Request) -> Answer:
        text = request.messages[0].text
        self.at_once += 1
        self.most_at_once = max(self.at_once, self.most_at_once)
        try:
            await asyncio.sleep(random.Random(f"{self.seed} {text}").random() / 500)
        finally:
            self.at_once -= 1
        if self.fail_at is not None and self.asked.total() >= self.fail_at:
            raise RunError("the provider is gone", code="gone")
        self.asked[text] += 1
        return Answer(random.Random(text).choice(["yes", "no", "hm"]), Finish.STOP)

    async def close(self) -> None:
        self.closed += 1


@pytest.fixture
def samples(make):
    return [item.sample for item in make.notes(4, 4, months=(5, 4))]


def judge(folder, model: Slow, samples, prompts=PROMPTS.prompts) -> RunResult:
    with Journal(folder) as journal:
        return run(Assignment(model, ZeroShot(), PROMPTS, prompts, TASK.slots), samples, journal, lambda _: None)


def test_the_order_of_completion_never_shows(tmp_path, samples) -> None:
    results = []
    for seed, in_flight in ((1, 1), (2, 4), (3, 16), (4, 100)):
        folder = tmp_path / str(seed)
        results.append(judge(folder, Slow(seed, in_flight), samples).judged)
        with Journal(folder) as journal:
            results.append([(entry.sample, entry.prompt, entry.answer) for entry in journal.entries()])
    assert results[0] == results[2] == results[4] == results[6]
    assert results[1] == results[3] == results[5] == results[7]
    expected = [(sample.id, prompt.id) for sample in samples for prompt in PROMPTS.prompts]
    assert [(item.sample, item.prompt) for item in results[0]] == expected


def test_every_question_is_asked_once_and_at_most_so_many_at_a_time(tmp_path, samples) -> None:
    model = Slow(in_flight=3)
    result = judge(tmp_path, model, samples)
    assert set(model.asked.values()) == {1}
    assert len(model.asked) == result.tally.asked == len(samples) * 5
    assert 1 < model.most_at_once <= 3
    assert model.closed == 1


def test_nothing_that_is_journalled_is_asked_again(tmp_path, samples) -> None:
    first = judge(tmp_path, Slow(1), samples)
    again = Slow(2)
    second = judge(tmp_path, again, samples)
    assert second.judged == first.judged
    assert again.asked.total() == 0
    assert (second.tally.asked, second.tally.recalled) == (0, len(samples) * 5)


def test_more_samples_and_prompts_cost_only_what_is_new(tmp_path, samples) -> None:
    judge(tmp_path, Slow(), samples[:5], PROMPTS.prompts[:2])
    more = Slow()
    judge(tmp_path, more, samples, PROMPTS.prompts)
    assert more.asked.total() == len(samples) * 5 - 10


@pytest.mark.parametrize("fail_at", [0, 1, 13])
@pytest.mark.parametrize("in_flight", [1, 4])
def test_when_the_model_fails_what_was_answered_is_kept(tmp_path, samples, fail_at: int, in_flight: int) -> None:
    failing = Slow(1, in_flight, fail_at)
    with pytest.raises(RunError) as caught:
        judge(tmp_path, failing, samples)
    assert caught.value.code == "gone"
    assert failing.closed == 1
    with Journal(tmp_path) as journal:
        assert len(list(journal.entries())) == fail_at
    rest = Slow(2, in_flight)
    result = judge(tmp_path, rest, samples)
    assert not failing.asked & rest.asked
    assert result.judged == judge(tmp_path / "fresh", Slow(), samples).judged


def test_progress_counts_every_sample_once(tmp_path, samples) -> None:
    seen: list[tuple[int, int]] = []

    def progress(tally: Tally) -> None:
        seen.append((tally.done, tally.samples))

    with Journal(tmp_path) as journal:
        run(Assignment(Slow(), ZeroShot(), PROMPTS, PROMPTS.prompts[:1], TASK.slots), samples, journal, progress)
    assert seen == [(n, len(samples)) for n in range(1, len(samples) + 1)]


def test_no_samples_make_an_empty_run(tmp_path) -> None:
    model = Slow()
    assert list(judge(tmp_path, model, []).judged) == []
    assert model.closed == 1
