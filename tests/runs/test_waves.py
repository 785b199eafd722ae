"""An agent whose questions depend on its answers goes through batches in waves, and gives what single requests give."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import json
import pickle
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, ClassVar

import pytest

from hellofresh.core.errors import RunError
from hellofresh.evidence.web import Found, PageStatus, SearchResult, WebPage
from hellofresh.models import Answer, CallError, Finish, Limits, Message, ModelSpec, Price, Request
from hellofresh.models._endpoint import Abilities, Endpoint
from hellofresh.models.batches.chat import ChatBatches
from hellofresh.runs import Assignment, Journal, RunResult, run
from hellofresh.runs.batch import FILE, batches_under_way
from hellofresh.runs.prompts import load_prompt_set
from hellofresh.runs.regimes import MAIN, BaseRegime, Case, Need, Outcome, get_regime, read_choice
from hellofresh.runs.waves import run_batch
from hellofresh.tasks import get_task
from hellofresh.tasks.samples import Sample
from hellofresh.tasks.transcripts import AskedEvent, Event, ReadEvent, SearchedEvent

TASK, PROMPTS = get_task("x-notes"), load_prompt_set("x-notes", "zero-shot")
PRICE = Price(1.0, 10.0, "2026-10-14", "a test", 0.5)
SPECS = {
    MAIN: ModelSpec("m", "language-model", "A fake.", {"version": 1}, limits=Limits(4), price=PRICE),
    "helper": ModelSpec("h", "language-model", "A fake.", {"version": 2}, limits=Limits(4), price=PRICE),
}
TURNS = 4
_path = Path(__file__).resolve().parent.parent / "batchserver.py"
_spec = importlib.util.spec_from_file_location("batchserver", _path)
assert _spec is not None and _spec.loader is not None
server = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(server)


def oracle(text: str) -> str:
    """What the model says to a question: words that depend on all of it."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    return ("yes" if int(digest[0], 16) % 3 else "no") + f" {digest[:8]}"


@dataclass
class Single:
    """The model asked singly."""

    spec: ModelSpec
    asked: list[str] = field(default_factory=list)

    async def ask(self, request: Request) -> Answer:
        self.asked.append(request.messages[-1].text)
        return Answer(oracle(request.messages[-1].text), Finish.STOP, 100, 2, served_by="m-1")

    async def close(self) -> None:
        """Nothing to let go of."""


class Pages:
    """A web that takes its time."""

    parameters: Mapping[str, str | int | float | bool] = {}
    blocked: Sequence[str] = ()

    def reason(self, url: str) -> str:
        return ""

    async def search(self, query: str, *, before: date | None = None) -> Found:
        await self._wait(query)
        return Found([SearchResult(f"https://example.org/{query[-8:]}/{n}", "t", "s", None, n) for n in range(1, 4)])

    async def read(self, url: str) -> WebPage:
        await self._wait(url)
        return WebPage(url, url, PageStatus.OK, text=f"The page {url}.")

    async def _wait(self, what: str) -> None:
        for _ in range(random.Random(what).randrange(40)):
            await asyncio.sleep(0)

    async def close(self) -> None:
        """Nothing to let go of."""


@dataclass(frozen=True, slots=True)
class Agent(BaseRegime):
    """Searches as long as it is told to, reads three pages at a time and has each looked at by a helper."""

    needs: ClassVar = frozenset({Need.WEB})
    roles: ClassVar = {"helper": "looks at pages"}
    name: str = "agent"

    def ceiling(self, prompts: int) -> int:
        return TURNS * 4 + prompts

    async def solve(self, case: Case) -> Outcome:
        assert case.web is not None
        events: list[Event] = []
        said = case.sample.id
        for turn in range(1, TURNS + 1):
            query = (await case.ask(f"search-{turn}", "", question(f"search {turn} {said}"))).text
            events.append(AskedEvent(step=f"search-{turn}"))
            if query.startswith("no"):
                break
            found = await case.web.search(query)
            events.append(SearchedEvent(number=turn, query=query, results=len(found.results)))
            looks = await asyncio.gather(*(self._look(case, turn, result) for result in found.results))
            events += [
                item
                for place, result in enumerate(found.results, start=1)
                for item in (
                    ReadEvent(number=turn, place=place, url=result.url),
                    AskedEvent(step=f"look-{turn}-{place}", role="helper"),
                )
            ]
            said = " ".join(looks)
        asked = (case.ask("classify", prompt.id, question(f"{prompt.id} {said}")) for prompt in case.prompts)
        answers = await asyncio.gather(*asked)
        choices = [read_choice(prompt.id, answer) for prompt, answer in zip(case.prompts, answers, strict=True)]
        return Outcome(choices, events)

    async def _look(self, case: Case, turn: int, result: SearchResult) -> str:
        assert case.web is not None
        page = await case.web.read(result.url)
        asked = question(f"look {turn} {page.text}")
        return (await case.ask(f"look-{turn}-{result.rank}", "", asked, role="helper")).text


def question(text: str) -> Request:
    return Request((Message("user", (text,)),), 10)


@pytest.fixture
def account() -> Iterator[Any]:
    one = server.Account()
    one.looks = 0
    one.outcome = lambda _number, lines: ("completed", [said(line) for line in lines], [])
    yield one
    one.close()


def said(line: dict[str, Any], status: int = 200) -> dict[str, Any]:
    return server.answered(line, oracle(line["body"]["messages"][-1]["content"]), status)


@pytest.fixture
def samples(make: Any) -> list[Sample]:
    return [item.sample for item in make.notes(4, 4, months=(4,))]


def assignment(regime: BaseRegime | None = None, **more: Any) -> Assignment:
    models = {role: Single(spec) for role, spec in SPECS.items()}
    prompts = PROMPTS.prompts[:2]
    chosen = regime or Agent()
    return Assignment(
        models[MAIN], chosen, PROMPTS, prompts, TASK.slots, Pages(), others={"helper": models["helper"]}, **more
    )


@dataclass(frozen=True)
class Record:
    """All that a run's files are made from."""

    outputs: list[Any]
    failures: list[tuple[str, int, str, str, str]]
    answers: list[Any]
    events: list[Any]


def record(folder: Path, result: RunResult) -> Record:
    with Journal(folder) as journal:
        answers = [
            (item.sample, item.repetition, item.step, item.prompt, item.role, item.request, item.answer)
            for item in journal.entries()
        ]
        failures = [(item.sample, item.repetition, item.step, item.prompt, item.code) for item in result.failures]
        return Record(list(result.judged), failures, answers, list(journal.traces()))


def batched(account: Any, folder: Path, samples: Any, *, most: int = 1000, **more: Any) -> RunResult:
    clients = {
        role: ChatBatches(spec, Endpoint(account.base_url, spec.name, "key", timeout_s=5), Abilities(), most=most)
        for role, spec in SPECS.items()
    }
    with Journal(folder) as journal:
        return run_batch(assignment(**more), samples, journal, clients, lambda _: None, folder=folder, poll_s=0.01)


def singly(folder: Path, samples: Any, **more: Any) -> Record:
    with Journal(folder) as journal:
        result = run(assignment(**more), samples, journal, lambda _: None)
    return record(folder, result)


def handed_in(account: Any) -> list[str]:
    return [line["custom_id"] for batch in account.batches for line in account.lines(batch)]


def test_waves_give_what_single_requests_give_and_ask_nothing_twice(account, tmp_path, samples) -> None:
    result = batched(account, tmp_path / "waves", samples, repetitions=2)
    assert record(tmp_path / "waves", result) == singly(tmp_path / "singly", samples, repetitions=2)
    assert len(handed_in(account)) == len(set(handed_in(account))) == result.tally.asked
    assert batches_under_way(tmp_path / "waves") == 0
    # A wave for each search, for each look at pages (one batch of each model) and for the verdict, and no more.
    assert account.submitted <= 2 * TURNS + TURNS + 1
    assert (result.tally.done, result.tally.samples, result.tally.failed) == (16, 16, 0)


def test_pages_that_come_late_are_waited_for_so_that_one_wave_has_all_questions(account, tmp_path, samples) -> None:
    batched(account, tmp_path, samples[:1])
    looks = [
        len(account.lines(name))
        for name, batch in account.batches.items()
        if account.lines(name)[0]["body"]["model"] == "h"
    ]
    assert all(number == 3 for number in looks)


def test_a_regime_with_one_question_a_prompt_keeps_one_wave(account, tmp_path, samples) -> None:
    result = batched(account, tmp_path, samples, regime=get_regime("zero-shot"))
    assert account.submitted == 1
    assert len(result.judged) == 2 * len(samples)


def test_the_prompts_of_a_regime_that_searches_go_into_one_wave(account, tmp_path, samples) -> None:
    chosen = load_prompt_set("x-notes", "web-search")
    with Journal(tmp_path) as journal:
        clients = {MAIN: ChatBatches(SPECS[MAIN], Endpoint(account.base_url, "m", "key"), Abilities())}
        searching = Assignment(
            Single(SPECS[MAIN]), get_regime("web-search"), chosen, chosen.prompts, TASK.slots, Pages()
        )
        result = run_batch(searching, samples, journal, clients, lambda _: None, folder=tmp_path, poll_s=0.01)
    assert len(result.judged) == len(samples) * len(chosen.prompts)
    assert account.submitted == 3  # queries, summaries, verdicts


def test_answers_of_every_role_are_counted_at_their_part_of_the_price(account, tmp_path, samples) -> None:
    tally = batched(account, tmp_path, samples).tally
    assert tally.cost_usd == pytest.approx(tally.asked * (100 * 1.0 + 2 * 10.0) / 1e6 / 2)
    assert batched(account, tmp_path, samples).tally.cost_usd == pytest.approx(tally.cost_usd)


def test_a_wave_beyond_the_budget_is_not_handed_in_and_a_larger_budget_goes_on(account, tmp_path, samples) -> None:
    with pytest.raises(RunError) as caught:
        batched(account, tmp_path / "a", samples, budget_usd=0.0015)
    assert caught.value.code == "budget-spent"
    assert 0 < account.submitted < 3
    result = batched(account, tmp_path / "a", samples, budget_usd=10.0)
    assert record(tmp_path / "a", result) == singly(tmp_path / "b", samples)


def once(number: int, spoil: Callable[[list[dict[str, Any]]], tuple[str, list[Any], list[Any]]]) -> Callable[..., Any]:
    """Spoils one batch and answers the others."""

    def outcome(current: int, lines: list[dict[str, Any]]) -> tuple[str, list[Any], list[Any]]:
        return spoil(lines) if current == number else ("completed", [said(line) for line in lines], [])

    return outcome


def expired(lines: list[dict[str, Any]]) -> tuple[str, list[Any], list[Any]]:
    error = {"code": "batch_expired", "message": "too late"}
    late = [{"custom_id": line["custom_id"], "response": None, "error": error} for line in lines[1:]]
    return "expired", [said(lines[0])], late


@pytest.mark.parametrize(
    "spoil",
    [
        expired,
        lambda lines: ("completed", [*map(said, lines[1:]), said(lines[0], 500)], []),
        lambda _: ("completed", [], []),
    ],
    ids=["expired", "one failed", "empty"],
)
def test_what_the_second_wave_left_out_is_handed_in_with_the_next(account, tmp_path, samples, spoil) -> None:
    account.outcome = once(2, spoil)
    result = batched(account, tmp_path / "waves", samples)
    assert record(tmp_path / "waves", result) == singly(tmp_path / "singly", samples)
    again = [key for key in handed_in(account) if handed_in(account).count(key) > 1]
    assert again and max(map(handed_in(account).count, again)) == 2


def test_a_question_of_the_second_wave_that_fails_for_good_costs_its_sample_only(account, tmp_path, samples) -> None:
    account.outcome = once(2, lambda lines: ("completed", [*map(said, lines[1:])], [said(lines[0], 400)]))
    result = batched(account, tmp_path / "waves", samples)
    (failure,) = result.failures
    assert (failure.code, failure.attempts) == ("bad-request", 1)
    whole = singly(tmp_path / "singly", samples)
    assert record(tmp_path / "waves", result).outputs == [
        item for item in whole.outputs if item.sample != failure.sample
    ]
    assert result.tally.failed == 1 and result.tally.done == len(samples)


def test_a_run_that_ends_at_any_request_goes_on_with_the_batches_it_has(account, tmp_path, samples) -> None:
    batched(account, tmp_path / "whole", samples[:3])
    requests = len(account.calls)
    expected = singly(tmp_path / "singly", samples[:3])
    for stop in range(3, requests, 9):
        folder, before = tmp_path / str(stop), len(account.calls)
        known = set(account.batches)

        def fault(_method: str, _path: str, last: int = before + stop) -> int | None:
            return 401 if len(account.calls) == last else None

        account.fault = fault
        with pytest.raises(CallError):
            batched(account, folder, samples[:3])
        result = batched(account, folder, samples[:3])
        assert record(folder, result) == expected
        keys = [line["custom_id"] for name in account.batches.keys() - known for line in account.lines(name)]
        assert len(keys) == len(set(keys))


CHILD = """
import importlib.util, pathlib, pickle, sys
sys.path.insert(0, ".")
spec = importlib.util.spec_from_file_location("test_waves", sys.argv[1])
module = importlib.util.module_from_spec(spec)
sys.modules["test_waves"] = module
spec.loader.exec_module(module)
class Remote:
    base_url = sys.argv[2]
module.batched(Remote, pathlib.Path(sys.argv[3]), pickle.loads(pathlib.Path(sys.argv[4]).read_bytes()))
"""


@pytest.mark.parametrize("batch", [2, 4])
def test_a_run_killed_while_a_later_wave_is_handed_in_goes_on_with_it(
    account, tmp_path, samples, root: Path, batch: int
) -> None:
    (tmp_path / "samples").write_bytes(pickle.dumps(samples))
    reached = threading.Event()

    def fault(method: str, path: str) -> None:
        if (method, path) == ("POST", "/v1/batches") and account.submitted == batch - 1:
            process.kill()  # before the reply: the batch is made all the same
            process.wait(300)
            reached.set()

    account.fault = fault
    command = [
        sys.executable,
        "-c",
        CHILD,
        __file__,
        account.base_url,
        str(tmp_path / "run"),
        str(tmp_path / "samples"),
    ]
    process = subprocess.Popen(command, cwd=root)
    assert reached.wait(120)
    account.fault = lambda _method, _path: None
    roles = {entry["role"] for entry in json.loads((tmp_path / "run" / FILE).read_text())["batches"]}
    assert roles == {MAIN, "helper"} if batch > 2 else roles
    result = batched(account, tmp_path / "run", samples)
    assert record(tmp_path / "run", result) == singly(tmp_path / "singly", samples)
    assert len(handed_in(account)) == len(set(handed_in(account)))


def test_a_regime_whose_questions_change_when_it_is_played_again_is_refused(account, tmp_path, samples) -> None:
    @dataclass(frozen=True, slots=True)
    class Fickle(BaseRegime):
        """Asks something new every time."""

        needs: ClassVar = frozenset({Need.WEB})
        name: str = "fickle"

        def ceiling(self, prompts: int) -> int:
            return 1

        async def solve(self, case: Case) -> Outcome:
            await case.ask("step", "", question(f"{random.random()}"))
            return Outcome([])

    with pytest.raises(RunError) as caught:
        batched(account, tmp_path, samples[:1], regime=Fickle())
    assert caught.value.code == "no-batch-regime"
