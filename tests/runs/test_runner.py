"""A run's result depends on what was asked, never on when the answers came; nothing answered is asked again."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest

from hellofresh.core.errors import RunError
from hellofresh.models import Answer, CallError, Finish, Limits, Message, ModelSpec, Price, Request
from hellofresh.runs.dry_run import forecast
from hellofresh.runs.journal import Journal, JournalKey
from hellofresh.runs.ledger import Ledger
from hellofresh.runs.pace import Patience, estimate_tokens
from hellofresh.runs.regimes import BaseRegime, Case, Need, Outcome, read_choice
from hellofresh.runs.regimes.zero_shot import VISIBLE_TOKENS
from hellofresh.runs.runner import Assignment, RunResult, run
from hellofresh.tasks.transcripts import NotedEvent
from tests.fakes import PROMPTS, FakeModel, assigned, fails_with, run_in
from tests.runs.test_pace import Clock


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
    return run_in(folder, assigned(model, prompts=prompts), samples)


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
    assert [(item.sample, item.output.prompt) for item in results[0]] == expected


def test_every_question_is_asked_once_and_at_most_so_many_at_a_time(tmp_path, samples) -> None:
    model = Slow(in_flight=3)
    result = judge(tmp_path, model, samples)
    assert set(model.asked.values()) == {1}
    assert len(model.asked) == result.tally.asked == len(samples) * 5
    assert 1 < model.most_at_once <= 3
    assert model.closed == 1


@pytest.mark.parametrize("fail_at", [0, 1, 13])
@pytest.mark.parametrize("in_flight", [1, 4])
def test_when_the_model_fails_what_was_answered_is_kept(tmp_path, samples, fail_at: int, in_flight: int) -> None:
    failing = Slow(1, in_flight, fail_at)
    with fails_with("gone"):
        judge(tmp_path, failing, samples)
    assert failing.closed == 1
    with Journal(tmp_path) as journal:
        assert len(list(journal.entries())) == fail_at
    rest = Slow(2, in_flight)
    result = judge(tmp_path, rest, samples)
    assert not failing.asked & rest.asked
    assert result.judged == judge(tmp_path / "fresh", Slow(), samples).judged


def _never(_: Request) -> Awaitable[Answer]:
    return asyncio.sleep(600, Answer("yes", Finish.STOP))


@dataclass
class Waiting(FakeModel):
    """A model whose answers come late, or never."""

    answer: Callable[[Request], Awaitable[Answer]] = _never

    async def ask(self, request: Request) -> Answer:
        self.asked.append(request)
        return await self.answer(request)


@pytest.mark.parametrize(("presses", "kept"), [(1, 1), (2, 0)])
def test_ctrl_c_waits_for_what_is_in_flight_and_a_second_one_ends_at_once(tmp_path, samples, presses, kept) -> None:
    async def late(_: Request) -> Answer:
        for _ in range(presses):
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(0.1)
        await asyncio.sleep(0.5 if presses == 1 else 600)
        return Answer("yes", Finish.STOP)

    model = Waiting(answer=late)
    with fails_with("stopped", "SIGINT"):
        run_in(tmp_path, assigned(model), samples)
    with Journal(tmp_path) as journal:
        assert (len(model.asked), len(journal)) == (1, kept)


def test_one_question_takes_no_longer_than_the_limit_of_all_its_attempts(tmp_path, samples, monkeypatch) -> None:
    monkeypatch.setattr("hellofresh.runs.runner._new_loop", Clock)  # waits of minutes take no time

    async def late(_: Request) -> Answer:
        await asyncio.sleep(150)
        raise CallError("no answer within 150 s", code="timeout", retryable=True)

    model = Waiting(answer=late)
    patience = Patience(first_s=1, deadline_s=200, unreachable=1000)
    result = run_in(tmp_path, assigned(model, prompts=PROMPTS.prompts[:1], patience=patience), samples[:1])
    assert len(model.asked) == 2
    assert "no answer within 200 s in all, in 2 attempts" in result.failures[0].error


def test_a_question_that_is_too_long_is_given_up_and_the_others_go_on(tmp_path, samples) -> None:
    async def full(request: Request) -> Answer:
        if f"Note {samples[0].id[3:]}:" in request.messages[0].text:
            raise CallError("HTTP 400: too long", code="context-length", status=400, fix="Shorten it.")
        return Answer("yes", Finish.STOP)

    result = run_in(tmp_path, assigned(Waiting(answer=full)), samples)
    assert [(one.sample, one.code) for one in result.failures] == [(samples[0].id, "context-length")]
    assert "Shorten it." in result.failures[0].error and len({one.sample for one in result.judged}) == len(samples) - 1


def test_repetitions_are_asked_with_seeds_of_their_own_and_keep_the_first_as_it_was(tmp_path, samples) -> None:
    seeds: list[int | None] = []

    class Seeded(Slow):
        async def ask(self, request: Request) -> Answer:
            seeds.append(request.seed)
            return await super().ask(request)

    once = judge(tmp_path, Seeded(), samples[:3])
    thrice = run_in(tmp_path, assigned(Seeded(), repetitions=3), samples[:3])
    assert Counter(seeds) == {None: 15, 2: 15, 3: 15}
    assert [item for item in thrice.judged if item.repetition == 1] == list(once.judged)
    assert (thrice.tally.asked, thrice.tally.recalled, thrice.tally.samples) == (30, 15, 9)


PRICE = Price(1_000.0, 1_000.0, "2026-01-01", "a list")


@pytest.mark.parametrize("in_flight", [1, 10])
def test_a_budget_ends_the_run_before_it_is_overspent_and_a_larger_one_goes_on(tmp_path, samples, in_flight) -> None:
    class Priced(Slow):
        @property
        def spec(self) -> ModelSpec:
            return replace(super().spec, price=PRICE)

        async def ask(self, request: Request) -> Answer:
            answer = await super().ask(request)
            expected = estimate_tokens(request)
            return replace(answer, tokens_in=expected.tokens_in, tokens_out=1)

    def spend(budget: float) -> RunResult:
        return run_in(tmp_path, assigned(Priced(in_flight=in_flight), budget_usd=budget), samples)

    def spent() -> float:
        with Journal(tmp_path) as journal:
            ledger = Ledger(Priced().spec)
            for entry in journal.entries():
                ledger.add(entry.answer)
        assert ledger.cost_usd is not None
        return ledger.cost_usd

    for budget in (1.0, 3.0):
        with fails_with("budget-spent"):
            spend(budget)
        one_batch = in_flight * 0.25  # a question costs less than that
        assert budget - one_batch <= spent() <= budget
    assert len(spend(1000.0).judged) == len(samples) * 5


@dataclass(frozen=True)
class Stages(BaseRegime):
    """A regime like web-search: a question, a page that takes a while, and then five more questions."""

    name: str = "stages"
    needs = frozenset({Need.WEB})

    def ceiling(self, prompts: int) -> int:
        return 1 + prompts

    async def solve(self, case: Case) -> Outcome:
        def request(text: str) -> Request:
            return Request((Message("user", (case.sample.id, text)),), 15)

        await case.ask("query", "", request("query"))
        await asyncio.sleep(0.05)
        answers = [await case.ask("classify", prompt.id, request(prompt.id)) for prompt in case.prompts]
        trace = [NotedEvent(name="query", values={"sample": case.sample.id})]
        judged = zip(case.prompts, answers, strict=True)
        return Outcome([read_choice(prompt.id, answer) for prompt, answer in judged], trace)


def test_stages_of_different_samples_overlap(tmp_path, make, monkeypatch) -> None:
    monkeypatch.setattr("hellofresh.runs.runner._new_loop", Clock)
    at_once = full = 0

    class Even(Slow):
        async def ask(self, request: Request) -> Answer:
            nonlocal at_once, full
            at_once += 1
            full += at_once == 8
            await asyncio.sleep(0.01)
            at_once -= 1
            return Answer("yes", Finish.STOP)

    many = [item.sample for item in make.notes(20, 20, months=(4,))]
    with Journal(tmp_path) as journal:
        run(assigned(Even(in_flight=8), Stages()), many, journal, lambda _: None)
        assert [(sample, trace) for sample, _, trace in journal.traces()] == [
            (name, [NotedEvent(name="query", values={"sample": name}).model_dump()])
            for name in sorted(sample.id for sample in many)
        ]
    # A sample asks one question after the other, so all places are taken only if samples overlap: at best once for
    # every eight questions, as eight end together.
    assert full >= len(many) * 6 / 8 / 2


def test_a_model_that_takes_one_question_at_a_time_gets_a_samples_questions_in_a_row(tmp_path, samples) -> None:
    asked: list[str] = []

    class Ordered(Slow):
        async def ask(self, request: Request) -> Answer:
            asked.append(request.messages[0].parts[0])
            return Answer("yes", Finish.STOP)

    run_in(tmp_path, assigned(Ordered(in_flight=1), Stages()), samples)
    changes = sum(one != other for one, other in pairwise(asked))
    assert changes < 2.5 * len(samples)  # a query, and the others after its page has come


def test_a_forecast_counts_what_will_be_asked_and_asks_nothing(tmp_path, samples) -> None:
    model = Slow(in_flight=4)
    assignment = assigned(model, repetitions=2)
    before = forecast(assignment, samples)
    assert (before.calls, before.known, before.cost_usd) == (len(samples) * 10, 0, None)
    assert model.asked.total() == 0
    judge(tmp_path, model, samples)
    with Journal(tmp_path) as journal:
        after = forecast(assignment, samples, journal)
    assert (after.calls, after.known) == (len(samples) * 5, len(samples) * 5)
    assert 0 < after.roles["main"].tokens_in < before.roles["main"].tokens_in
    assert after.roles["main"].uncut_calls == after.calls == after.most_calls / 2
    assert after.seconds == after.calls / 4


def test_answers_of_one_moment_are_flushed_together_and_each_waits_for_that(tmp_path, monkeypatch) -> None:
    flushed = []
    monkeypatch.setattr(os, "fsync", flushed.append)

    async def main(journal: Journal) -> None:
        request = Request((Message("user", ("?",)),), 15)
        waiting = [
            journal.store(f"key {n}", JournalKey(f"xn-{n}", "s", "p", request), Answer("yes", Finish.STOP), 0.0)
            for n in range(250)
        ]
        assert not flushed and not any(item.done() for item in waiting)
        await asyncio.gather(*waiting)
        assert len(flushed) == 1

    with Journal(tmp_path) as journal:
        asyncio.run(main(journal))
    with Journal(tmp_path) as journal:
        assert len(journal) == 250 == len(list(journal.entries()))


PLAIN = ModelSpec("priced", "language-model", "A fake.", {}, Limits(1), price=Price(1.0, 10.0, "2026-10-14", "a test"))
HIDDEN = 4096
REASONING = replace(PLAIN, parameters={"hidden_tokens": HIDDEN})


def silent(_: Request) -> Answer:
    """An answer that does not say how many tokens it took."""
    return Answer("yes", Finish.STOP)


def alone(model: FakeModel, **more: object) -> Assignment:
    return assigned(model, prompts=PROMPTS.prompts[:1], **more)


def test_hidden_tokens_are_foreseen_for_every_question(samples) -> None:
    plain, reasoning = (forecast(alone(FakeModel(spec)), samples) for spec in (PLAIN, REASONING))
    hidden_usd = len(samples) * HIDDEN * 10 / 1e6
    assert plain.cost_usd is not None and reasoning.cost_usd is not None
    assert plain.roles["main"].uncut_usd is not None and reasoning.roles["main"].uncut_usd is not None
    assert reasoning.cost_usd - plain.cost_usd == pytest.approx(hidden_usd)
    assert reasoning.roles["main"].uncut_usd - plain.roles["main"].uncut_usd == pytest.approx(hidden_usd)
    tokens_in = plain.roles["main"].tokens_in
    assert reasoning.roles["main"].tokens_in == tokens_in
    assert plain.roles["main"].uncut_usd == pytest.approx((tokens_in * 1 + len(samples) * VISIBLE_TOKENS * 10) / 1e6)


def test_a_budget_covers_the_hidden_tokens_of_a_question_before_it_is_asked(tmp_path, samples) -> None:
    budget = 0.9 * HIDDEN * 10 / 1e6  # more than enough for all that is visible
    model = FakeModel(PLAIN)
    run_in(tmp_path / "plain", alone(model, budget_usd=budget), samples)
    assert len(model.asked) == len(samples)
    model = FakeModel(REASONING)
    with fails_with("budget-spent"):
        run_in(tmp_path / "reasoning", alone(model, budget_usd=budget), samples)
    assert model.asked == []


def test_answers_of_untold_length_use_the_budget_up_after_a_restart_as_before(tmp_path, samples) -> None:
    first = FakeModel(PLAIN, silent)
    one = Ledger(PLAIN)
    run_in(tmp_path, alone(first), samples[:2])
    for request in first.asked:
        one.reserve(one.estimate(request))
    again = FakeModel(PLAIN, silent)
    with fails_with("budget-spent"):
        run_in(tmp_path, alone(again, budget_usd=one.at_most_usd), samples)
    assert again.asked == []
