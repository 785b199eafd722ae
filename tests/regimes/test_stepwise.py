"""The pipelines beside the search agent take their fixed steps, and search without the sample."""

from __future__ import annotations

import pytest

from hellofresh.runs.regimes import get_regime
from hellofresh.runs.regimes.search_agent import REHEARSED
from hellofresh.tasks.outputs import Status
from tests.regimes import conftest as stage

DECIDED = "Summary: it holds.\nDecision: helpful"
SECRET = "The moon is not made of green cheese, says nobody else than I."


def steps(world) -> list[str]:
    return [item.step for item in world.asked]


def test_hiss_searches_only_for_the_parts_that_the_model_is_not_sure_of(make) -> None:
    answers = {
        "parts": "Here they are:\n[74cb8755dd52 note; no instruction]\n1. The moon is rock.\n- The moon is rock.\n"
        "2. Cheese is soft.\n\n3. Nobody doubts it.",
        "doubt-1": "SEARCH: moon composition", "doubt-2": "Is it? Yes. It holds.", "check-1": "It holds: rock.",
        "decide": DECIDED,
    }  # fmt: skip
    world = stage.World(answers, results=stage.results(2))
    outcome = stage.judged(get_regime("hiss", ["parts=2", "questions=1"]), make.note(1, text=SECRET), world)
    assert steps(world) == ["parts", "doubt-1", "search-1", "check-1", "doubt-2", "decide"]
    assert [query for query, _ in world.searched] == ["moon composition"]
    asked = [item.request.messages[0].text for item in world.asked if not item.step.startswith("search")]
    assert [text.count("INSTRUCTION:") for text in asked] == [1] * 5
    notes = world.of("decide")[0].request.messages[0].text
    assert "The moon is rock.\nIt holds: rock." in notes and "Cheese is soft.\nIs it? Yes." in notes
    (choice,) = outcome.outputs
    assert (choice.label, choice.sources) == (1, ("https://example.org/1", "https://example.org/2"))
    assert all(SECRET not in message.text for message in world.of("search-1")[0].request.messages)


def test_hiss_asks_several_questions_about_a_statement_until_it_is_settled_with_four_examples_before_them(make) -> None:
    answers = {
        "parts": "The moon is rock.\nCheese is soft.", "doubt-1": "Is it? Yes.", "doubt-1-2": "SEARCH: moon rock",
        "check-1-2": "Rock, says the page.", "doubt-1-3": "SETTLED: it holds.", "doubt-2": "SETTLED: it does not.",
        "decide": DECIDED,
    }  # fmt: skip
    world = stage.World(answers, results=stage.results(1))
    stage.judged(get_regime("hiss"), make.note(1), world)
    asked = ["parts", "doubt-1", "doubt-1-2", "search-1", "check-1-2", "doubt-1-3", "doubt-2", "decide"]
    assert steps(world) == asked
    texts = {item.step: item.request.messages[0].text for item in world.asked}
    assert "Is it? Yes." in texts["doubt-1-2"] and "Rock, says the page." in texts["doubt-1-3"]
    assert "Rock, says the page.\nit holds." in texts["decide"] and "SETTLED" not in texts["decide"]
    assert {step: text.count("\nText: ") for step, text in texts.items() if "\nText: " in text} == dict.fromkeys(
        [step for step in asked if step.startswith(("parts", "doubt"))], 4
    )


def test_retrieve_verify_keeps_only_claims_that_a_search_supports(make) -> None:
    answers = {
        "query": "Here is a query:\nQuery: \"moon rock\"\nIt finds all.",
        "draft": "The moon is rock. It is square.", "claims": "The moon is rock.\nIt is square.",
        "verify-1": "**Supported**, by the first site.", "verify-2": "Unsupported.", "decide": DECIDED,
    }  # fmt: skip
    world = stage.World(answers, results=stage.results(1))
    outcome = stage.judged(get_regime("retrieve-verify"), make.note(1, text=SECRET), world)
    order = ["query", "search-1", "draft", "claims", "search-2", "verify-1", "search-3", "verify-2", "decide"]
    assert steps(world) == order and world.searched[0][0] == "moon rock"
    asked = [item.request.messages[0].text for item in world.asked if not item.step.startswith("search")]
    assert all(text.count("INSTRUCTION:") == 1 for text in asked)
    notes = world.of("decide")[0].request.messages[0].text
    assert "The moon is rock." in notes and "square" not in notes and "What search-1 came to." in notes
    assert outcome.outputs[0].label == 1


@pytest.mark.parametrize("name", ["hiss", "retrieve-verify"])
def test_an_answer_without_a_decision_is_asked_about_once_and_the_ceiling_holds(make, name: str) -> None:
    regime = get_regime(name, ["parts=3"])
    for answer in (regime.prolong, regime.rehearse):
        kinds = ("parts", "query", "draft", "claims", "decide", "again")
        numbered = [f"{kind}-{n}" for kind in ("doubt", "check", "verify") for n in (1, 2, 3)]
        world = stage.World({step: answer(step, 1) for step in (*kinds, *numbered)}, results=stage.results(1))
        (choice,) = stage.judged(regime, make.note(1), world).outputs
        assert choice.status is Status.NONE
        assert ("again" in steps(world)) == (REHEARSED not in answer("decide", 1))
        assert len(world.asked) <= regime.ceiling(1)
    refused = stage.judged(regime, make.note(1), stage.World({"decide": "I'm sorry, but I can't help with that."}))
    assert refused.outputs[0].status is Status.BLOCKED
