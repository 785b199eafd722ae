"""What never came is told from what is wrong: thoughts, cut and empty answers, refusals and waits, over a server."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from hellofresh.models import Limits, ModelSpec
from hellofresh.models.providers.chat import ChatModel
from hellofresh.models.tables import Abilities, Endpoint
from hellofresh.runs.counts import AnswerFate, counted, remedies
from hellofresh.runs.export import deciding
from hellofresh.runs.journal import Journal
from hellofresh.runs.pace import Pace, Patience
from tests.fakes import PROMPTS, assigned, fails_with, refused, run_in
from tests.loopback import Reply, said

QUICK = Patience(first_s=0.001, most_s=0.002)


def thinker(chat: Any, *, at_once: int = 4) -> ChatModel:
    spec = ModelSpec("m", "language-model", "A model.", {"provider": "p", "model": "m"}, limits=Limits(at_once))
    return ChatModel(spec, Endpoint(chat.base_url, "m"), Abilities())


def judged(tmp_path: Any, chat: Any, samples: Any, **more: Any) -> Any:
    return run_in(tmp_path, assigned(thinker(chat), prompts=PROMPTS.prompts[:1], patience=QUICK, **more), samples)


def thinks_for(tokens: int, text: str) -> Any:
    """A server whose model thinks first: below its need of tokens nothing but the thought is there."""

    def behave(_: int, body: dict[str, Any]) -> Reply:
        if body["max_tokens"] < tokens:
            return said(None, "length", message={"content": None, "reasoning_content": "The note says"})
        return said(f"<think>The note says so, no?</think>\n\n{text}")

    return behave


def test_a_model_that_thinks_is_asked_again_once_with_a_wider_limit_and_its_thoughts_are_kept_apart(
    tmp_path, chat, samples
) -> None:
    chat.behave = thinks_for(1000, "Yes")
    result = judged(tmp_path, chat, samples)
    assert {item.output.label for item in result.judged} == {1}
    assert (result.tally.widened, result.tally.fates) == (len(samples), Counter({AnswerFate.READ: len(samples)}))
    assert Counter(body["max_tokens"] for body in chat.bodies) == {15: len(samples), 4111: len(samples)}
    with Journal(tmp_path) as journal:
        entries = list(journal.entries())
    decided = deciding(entries).values()
    assert {entry.answer.text for entry in decided} == {"Yes"} and len(entries) == 2 * len(samples)
    assert all("says so, no?" in entry.answer.thought for entry in decided)
    asked = len(chat.bodies)
    again = judged(tmp_path, chat, samples)
    assert len(chat.bodies) == asked and again.judged == result.judged  # nothing is paid for twice


@pytest.mark.parametrize("reply", [said(None, "length"), said(""), said("<think>Hm", "length")])
def test_a_run_stops_when_its_first_answers_did_not_come_and_goes_on_if_told_to(tmp_path, chat, samples, reply) -> None:
    chat.behave = lambda _n, _body: reply
    error = refused("no-answers", judged, tmp_path, chat, samples)
    assert f"of {len(samples)} answers" in error and "--go-on" in error
    result = judged(tmp_path, chat, samples, go_on=True)
    assert len(result.judged) == len(samples) and set(result.tally.fates) <= {AnswerFate.CUT, AnswerFate.EMPTY}


def test_fates_add_up_to_what_was_asked_and_each_says_what_to_do() -> None:
    counts = counted(
        10,
        [AnswerFate.CUT, *(fate for fate in AnswerFate if fate is not AnswerFate.FAILED)],
        failed=3,
    )
    assert counts["asked"] == sum(number for name, number in counts.items() if name != "asked") == 10
    lines = list(remedies(counts, 15, thinks=True))
    assert "2 of 10 answers ended at the limit of 15 tokens, spent on hidden reasoning" in lines[0]
    assert "--hidden-tokens 4096" in lines[0] and len(lines) == 5
    assert "1 of 10 answers stopped for a tool" in lines[2] and "`tools = false`" in lines[2]


def forbidding(*numbers: int) -> Any:
    def behave(number: int, _: dict[str, Any]) -> Reply:
        return Reply(json.dumps({"error": {"message": "no"}}).encode(), 403) if number in numbers else said("Yes")

    return behave


def test_a_403_concerns_its_sample_unless_three_come_in_a_row(tmp_path, chat, samples) -> None:
    chat.behave = forbidding(2)
    result = run_in(tmp_path, assigned(thinker(chat, at_once=1), prompts=PROMPTS.prompts[:1]), samples)
    assert result.tally.fates == {AnswerFate.REFUSED: 1, AnswerFate.READ: len(samples) - 1}
    with fails_with("not-authorised"):
        chat.behave = forbidding(*range(100))
        run_in(tmp_path / "key", assigned(thinker(chat, at_once=1), prompts=PROMPTS.prompts[:1]), samples)
    with Journal(tmp_path / "key") as journal:
        assert len(journal) == 0  # a key that may not ask refuses no sample
    with fails_with("not-authorised"):
        run_in(tmp_path / "two", assigned(thinker(chat, at_once=1), prompts=PROMPTS.prompts[:1]), samples[:2])


def test_a_wait_of_a_day_ends_the_run_with_the_time_to_come_back(tmp_path, chat, samples) -> None:
    chat.behave = lambda _n, _body: Reply(b"{}", 429, {"Retry-After": "86400"})
    assert "asks to wait until 20" in refused("come-back", judged, tmp_path, chat, samples)


def test_a_wait_is_shown(tmp_path, chat, samples, monkeypatch) -> None:
    async def at_once(*_: object) -> None:
        """Wait for nothing."""

    shown: list[str] = []
    monkeypatch.setattr(Pace, "sleep", at_once)
    chat.behave = lambda n, _body: Reply(b'{"error": {"message": "try again in 40s"}}', 429) if n == 1 else said("No")
    run_in(tmp_path, assigned(thinker(chat)), samples[:1], lambda tally: shown.append(tally.waiting))
    assert shown == ["waiting 40 s, as the provider asks", ""]


async def test_one_refusal_in_five_holds_nobody_else_up_and_a_pile_of_them_does() -> None:
    pace = Pace(Limits(32), Patience())
    for number in range(200):
        mine = await pace.enter(number, 1)
        if number % 5 == 0:
            pace.refused(mine, 30.0)
        pace.leave(answered=number % 5 != 0)
    assert (pace._not_before, int(pace._window)) == (0.0, 32)
    for _ in range(200):
        pace.refused(pace._round, 30.0)
    assert pace._not_before > 0 and pace._window < 32


def test_a_question_that_fails_for_good_is_told_from_one_that_may_pass(tmp_path, chat, samples) -> None:
    bad = [Reply(b'{"error": {"message": "bad sample"}}', 400), Reply(b'{"error": {"message": "gone"}}', 500)]
    chat.behave = lambda n, _body: said("Yes") if n > 1 else bad[0]
    result = run_in(tmp_path, assigned(thinker(chat, at_once=1), prompts=PROMPTS.prompts[:1], patience=QUICK), samples)
    assert [failure.passing for failure in result.failures] == [False]
    chat.behave = lambda _n, body: said("Yes") if samples[1].note.text in json.dumps(body) else bad[1]
    result = judged(tmp_path / "passing", chat, samples[:2])
    assert [failure.passing for failure in result.failures] == [True]
