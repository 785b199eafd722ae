"""Batches answer what single questions would ask, once each, whatever goes wrong and whenever a run is stopped."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hellofresh.models import Answer, CallError, Finish, Limits, ModelSpec, Price
from hellofresh.models.batches import BatchResult, sorted_out
from hellofresh.models.providers.chat import ChatBatches
from hellofresh.models.tables import Abilities, Endpoint
from hellofresh.runs.batch import FILE, BatchRecord, run_batch
from hellofresh.runs.journal import Journal
from hellofresh.runs.regimes import get_regime
from hellofresh.runs.runner import Assignment, RunResult, Tally, run
from tests.fakes import FakeModel, assigned, fails_with, run_in

KEY = "sk-secret-123"
PRICE = Price(1.0, 10.0, "2026-10-14", "a test", 0.5)
SPEC = ModelSpec("m", "language-model", "A fake.", {"version": 1}, limits=Limits(4), price=PRICE)
_PATH = Path(__file__).resolve().parent.parent / "batchserver.py"
_spec = importlib.util.spec_from_file_location("batchserver", _PATH)
assert _spec is not None and _spec.loader is not None
server = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(server)


def asked_singly() -> FakeModel:
    """The same model asked singly."""
    return FakeModel(SPEC, lambda _: Answer("yes", Finish.STOP, 100, 2, served_by="m-1"))


@pytest.fixture
def account() -> Iterator[Any]:
    one = server.Account()
    yield one
    one.close()


def assignment(**more: Any) -> Assignment:
    return assigned(asked_singly(), **more)


def ask(account: Any, folder: Path, samples: Any, *, most: int = 1000, **more: Any) -> RunResult:
    batches = ChatBatches(SPEC, Endpoint(account.base_url, "m", KEY, timeout_s=5), Abilities(), most=most)
    with Journal(folder) as journal:
        chosen = assignment(**more)
        return run_batch(chosen, samples, journal, batches, lambda _: None, folder=folder, poll_s=0.01)


def test_a_batch_gives_what_asking_singly_gives_under_the_same_keys(account, tmp_path, samples) -> None:
    batched = ask(account, tmp_path / "a", samples)
    single = run_in(tmp_path / "b", assignment(), samples)
    assert list(batched.judged) == list(single.judged)
    with Journal(tmp_path / "a") as journal:
        model = asked_singly()
        again = run(assigned(model), samples, journal, lambda _: None)
    assert not model.asked and list(again.judged) == list(single.judged)


def test_each_question_is_handed_in_once_with_an_id_of_its_own(account, tmp_path, samples) -> None:
    result = ask(account, tmp_path, samples, most=7)
    lines = [line for batch in account.batches for line in account.lines(batch)]
    assert account.submitted == 3
    assert len({line["custom_id"] for line in lines}) == len(lines) == 20 == result.tally.asked
    assert all(len(line["custom_id"]) <= 64 and line["body"]["max_tokens"] == 15 for line in lines)
    assert {line["url"] for line in lines} == {"/v1/chat/completions"}
    assert all(headers["Authorization"] == f"Bearer {KEY}" for headers in account.headers)
    assert len(BatchRecord(tmp_path).open) == 0
    assert KEY not in (tmp_path / FILE).read_text()


def test_a_second_run_hands_in_nothing(account, tmp_path, samples) -> None:
    first = ask(account, tmp_path, samples)
    calls = len(account.calls)
    second = ask(account, tmp_path, samples)
    assert list(second.judged) == list(first.judged)
    assert len(account.calls) == calls
    assert (second.tally.asked, second.tally.recalled) == (0, 20)


def test_more_samples_cost_only_what_is_new(account, tmp_path, samples) -> None:
    ask(account, tmp_path, samples[:1])
    ask(account, tmp_path, samples)
    assert [len(account.lines(batch)) for batch in account.batches] == [5, 15]


def test_answers_of_batches_are_counted_at_their_part_of_the_price(account, tmp_path, samples) -> None:
    tally = ask(account, tmp_path, samples).tally
    assert tally.cost_usd == pytest.approx(20 * (100 * 1.0 + 2 * 10.0) / 1e6 / 2)
    assert tally.tokens == 20 * 102
    assert ask(account, tmp_path, samples).tally.cost_usd == tally.cost_usd


def test_what_a_batch_saves_is_a_share_of_what_its_cached_tokens_cost(account, tmp_path, samples, monkeypatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "SPEC", replace(SPEC, price=replace(PRICE, cached_in=0.1)))
    account.outcome = lambda _n, lines: ("completed", [server.answered(line, cached=90) for line in lines], [])
    tally = ask(account, tmp_path, samples).tally
    assert tally.cost_usd == pytest.approx(20 * (10 * 1.0 + 90 * 0.1 + 2 * 10.0) / 1e6 / 2)
    assert ask(account, tmp_path, samples).tally.cost_usd == tally.cost_usd


def test_a_batch_beyond_the_budget_is_not_handed_in(account, tmp_path, samples) -> None:
    with fails_with("budget-spent"):
        ask(account, tmp_path, samples, budget_usd=0.00001)
    assert not account.submitted


def test_repetitions_are_questions_of_their_own_with_seeds(account, tmp_path, samples) -> None:
    result = ask(account, tmp_path, samples[:2], repetitions=3)
    seeds = [line["body"].get("seed") for batch in account.batches for line in account.lines(batch)]
    assert sorted(seeds, key=str) == [2] * 10 + [3] * 10 + [None] * 10
    assert [item.repetition for item in result.judged] == [1] * 10 + [2] * 10 + [3] * 10


PARTIAL = {
    "expired": ("expired", "error"),
    "missing": ("completed", None),
    "torn line": ("completed", '{"custom_id": "'),
    "failed with 500": ("completed", 500),
    "failed with 429": ("completed", 429),
    "twice and not the same": ("completed", "twice"),
}


@pytest.mark.parametrize("name", PARTIAL)
def test_what_a_batch_left_out_is_handed_in_again(account, tmp_path, samples, name: str) -> None:
    status, how = PARTIAL[name]

    def outcome(number: int, lines: list[dict[str, Any]]) -> tuple[str, list[Any], list[Any]]:
        good = [server.answered(line) for line in lines]
        if number > 1:
            return "completed", good, []
        last = lines[-1]
        if how == "twice":
            return status, [*good, server.answered(last, "no")], []
        if how == "error":
            error = {"code": "batch_expired", "message": "too late"}
            return status, good[:-1], [{"custom_id": last["custom_id"], "response": None, "error": error}]
        if isinstance(how, int):
            return status, good[:-1], [server.answered(last, status=how)]
        return status, good[:-1] + ([] if how is None else [how]), []

    account.outcome = outcome
    result = ask(account, tmp_path, samples)
    assert [len(account.lines(batch)) for batch in account.batches] == [20, 1]
    assert len(result.judged) == 20 and not result.failures


def test_what_fails_for_good_is_a_failure_and_not_an_answer(account, tmp_path, samples) -> None:
    def outcome(_: int, lines: list[dict[str, Any]]) -> tuple[str, list[Any], list[Any]]:
        return "completed", [server.answered(line) for line in lines[1:]], [server.answered(lines[0], status=400)]

    account.outcome = outcome
    result = ask(account, tmp_path, samples)
    assert account.submitted == 1
    (failure,) = result.failures
    assert (failure.sample, failure.code, failure.attempts) == (samples[0].id, "bad-request", 1)
    assert {item.sample for item in result.judged} == {sample.id for sample in samples[1:]}
    assert (result.tally.failed, result.tally.done) == (1, 4)


def test_what_fails_again_and_again_is_given_up_after_three_batches(account, tmp_path, samples) -> None:
    account.outcome = lambda _n, _lines: ("completed", [], [])
    result = ask(account, tmp_path, samples)
    assert account.submitted == 3
    assert len(result.failures) == 4 and {failure.code for failure in result.failures} == {"bad-batch"}
    assert not result.judged


def test_a_batch_that_failed_as_a_whole_ends_the_run_and_can_be_handed_in_again(account, tmp_path, samples) -> None:
    good = account.outcome
    account.outcome = lambda _n, _lines: ("failed", [], [])
    with fails_with("batch-failed"):
        ask(account, tmp_path, samples)
    account.outcome = good
    assert len(ask(account, tmp_path, samples).judged) == 20


def test_a_cancelled_batch_ends_the_run_and_its_answers_are_kept(account, tmp_path, samples) -> None:
    good = account.outcome
    account.outcome = lambda _n, lines: ("cancelled", [server.answered(line) for line in lines[:8]], [])
    with fails_with("batch-cancelled"):
        ask(account, tmp_path, samples)
    account.outcome = good
    ask(account, tmp_path, samples)
    assert [len(account.lines(batch)) for batch in account.batches] == [20, 12]


def test_a_reply_that_was_lost_does_not_hand_a_batch_in_twice(account, tmp_path, samples) -> None:
    lost = iter(["drop"])
    account.fault = lambda method, path: next(lost, None) if (method, path) == ("POST", "/v1/batches") else None
    assert len(ask(account, tmp_path, samples).judged) == 20
    assert account.submitted == 1


def test_faults_while_waiting_are_waited_out(account, tmp_path, samples) -> None:
    faults = iter([500, 429, "drop", 503])
    account.fault = lambda method, path: next(faults, None) if method == "GET" else None
    assert len(ask(account, tmp_path, samples).judged) == 20
    assert account.submitted == 1


def test_a_wrong_key_ends_the_run_without_a_trace(account, tmp_path, samples) -> None:
    account.fault = lambda _method, _path: 401
    with fails_with("not-authorised"):
        ask(account, tmp_path, samples)
    assert len(BatchRecord(tmp_path).open) == 0


def test_an_answer_to_what_is_not_asked_now_is_collected_when_it_is(account, tmp_path, samples) -> None:
    account.fault = lambda method, path: 401 if method == "GET" else None
    with pytest.raises(CallError):
        ask(account, tmp_path, samples)
    account.fault = lambda _method, _path: None
    assert len(ask(account, tmp_path, samples[:1]).judged) == 5
    assert len(BatchRecord(tmp_path).open) == 1
    assert len(ask(account, tmp_path, samples).judged) == 20
    assert account.submitted == 1 and len(BatchRecord(tmp_path).open) == 0


CHILD = """
import importlib.util, pathlib, pickle, sys
sys.path.insert(0, ".")
spec = importlib.util.spec_from_file_location("test_batch", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
class Remote:
    base_url = sys.argv[2]
module.ask(Remote, pathlib.Path(sys.argv[3]), pickle.loads(pathlib.Path(sys.argv[4]).read_bytes()), most=10)
"""


@pytest.mark.parametrize("calls", [1, 2, 3, 4, 6])
def test_a_run_killed_at_any_request_goes_on_with_the_batches_it_has(
    account, tmp_path, samples, root: Path, calls: int
) -> None:
    import pickle

    (tmp_path / "samples").write_bytes(pickle.dumps(samples))
    reached = threading.Event()

    def fault(_method: str, _path: str) -> None:
        if len(account.calls) == calls:
            process.kill()  # before the reply: what was asked for is carried out all the same
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
    assert reached.wait(60)
    account.fault = lambda _method, _path: None
    result = ask(account, tmp_path / "run", samples, most=10)
    assert len(result.judged) == 20
    handed_in = [line["custom_id"] for batch in account.batches for line in account.lines(batch)]
    assert len(handed_in) == len(set(handed_in)) == 20


def test_progress_never_passes_the_whole(account, tmp_path, samples) -> None:
    seen: list[tuple[int, int]] = []
    account.looks = 3
    batches = ChatBatches(SPEC, Endpoint(account.base_url, "m", KEY), Abilities())

    def progress(tally: Tally) -> None:
        seen.append((tally.done, tally.samples))

    with Journal(tmp_path) as journal:
        run_batch(assignment(), samples, journal, batches, progress, folder=tmp_path, poll_s=0.01)
    assert seen == sorted(seen) and seen[-1] == (4, 4)


def test_a_damaged_record_is_refused(account, tmp_path, samples) -> None:
    ask(account, tmp_path, samples[:1])
    (tmp_path / FILE).write_text(json.dumps({"batches": [{"label": "x", "surprise": 1}]}))
    with pytest.raises(Exception, match=r"batches\.json"):
        ask(account, tmp_path, samples)


def test_results_are_sorted_out_whatever_their_order() -> None:
    yes, no = Answer("yes", Finish.STOP), Answer("no", Finish.STOP)
    results = [BatchResult("a", yes), BatchResult("b", yes), BatchResult("b", no), BatchResult("x", no)]
    for order in (results, results[::-1], [*results, results[0]]):
        found = sorted_out(order, ["a", "b", "c"], "m")
        assert list(found) == ["a", "b", "c"]
        assert found["a"].answer == yes
        assert found["b"].answer is found["c"].answer is None


def test_a_regime_of_several_steps_is_refused_before_anything_is_handed_in(account, tmp_path, samples) -> None:
    batches = ChatBatches(SPEC, Endpoint(account.base_url, "m", KEY), Abilities())
    searching = assigned(asked_singly(), get_regime("web-search"))
    with Journal(tmp_path) as journal, fails_with("no-batch-regime", match="web-search takes several steps") as caught:
        run_batch(searching, samples, journal, batches, lambda _: None, folder=tmp_path)
    assert "--batch" in caught.value.fix
    assert not account.submitted
