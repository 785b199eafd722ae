"""Regimes of fixed steps: zero-shot, placebo, and the pipelines beside the search agent."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hellofresh.core.errors import UnknownNameError
from hellofresh.runs.prompts import load_prompt_set
from hellofresh.runs.regimes import get_regime
from hellofresh.runs.regimes.placebo import choose_texts, placebo_texts
from hellofresh.runs.regimes.registry import REGIMES
from hellofresh.runs.regimes.search_agent import REHEARSED
from hellofresh.tasks import TASKS
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


# --- Zero-shot asks every prompt once and shows the model nothing but the prompt.


def test_regimes_are_found_by_name_and_no_other() -> None:
    assert all(get_regime(name).name == name for name in REGIMES)
    with pytest.raises(UnknownNameError, match="zero-shot"):
        get_regime("zeroshot")


@pytest.mark.parametrize(
    ("name", "step", "said"),
    [
        ("zero-shot", "classify", "Too early to tell."),
        ("search-agent", "turn-1", "Summary: who knows.\nDecision: **Too early to tell**"),
        ("hiss", "decide", "Summary: who knows.\nDecision: Too early to tell"),
        ("retrieve-verify", "decide", "Decision: too early to tell"),
    ],
)
def test_that_it_is_too_early_is_offered_and_taken_at_once_as_an_even_forecast(make, name, step, said) -> None:
    world = stage.World({step: said}, results=stage.results(1))
    outcome = stage.judged(get_regime(name, ["early=true"]), make.note(1), world)
    assert {(one.label, one.probabilities) for one in outcome.outputs} == {(None, (0.5, 0.5))}
    (asked, *_) = world.of(step)
    assert "too early to tell" in asked.request.messages[0].text.casefold() and not world.of("again")


# --- Placebo is web-search's prompt with texts on something else, never on the sample's subject, and always the same.


TEXTS = placebo_texts()


def test_there_are_enough_texts_of_the_length_of_summaries_each_on_a_subject_of_its_own() -> None:
    assert len(TEXTS) >= 25
    assert all(110 <= len(text.text.split()) <= 150 for text in TEXTS)
    assert len({text.id for text in TEXTS}) == len({text.text for text in TEXTS}) == len(TEXTS)
    for text in TEXTS:
        assert {word.strip(".,;:") for word in text.text.lower().split()} & text.topic_words


def test_the_words_around_the_texts_are_those_of_web_search() -> None:
    for task in (name for name in TASKS if TASKS[name].classes):
        placebo, search = (load_prompt_set(task, name) for name in ("placebo", "web-search"))
        assert (placebo.frame, placebo.prompts) == (search.frame, search.prompts)


def test_it_shows_every_prompt_the_same_five_texts_before_the_sample(make) -> None:
    regime = get_regime("placebo")
    for sample in (make.note(1), make.edit(1)):
        world = stage.World()
        outcome = stage.judged(regime, sample, world)
        assert len(world.asked) == regime.ceiling(5) == 5
        (note,) = outcome.events
        (beginning,) = {item.request.messages[0].parts[0] for item in world.asked}
        shown = sorted((beginning.index(text.text), text.id) for text in TEXTS if text.text in beginning)
        assert [name for _, name in shown] == note.values["texts"]
        assert len(shown) == 5
        assert shown[-1][0] < beginning.index("SOCIAL MEDIA POST" if sample.task == "x-notes" else "ARTICLE:")
        assert outcome == stage.judged(regime, sample, stage.World(seed=9))


@given(st.lists(st.sampled_from(sorted(set().union(*(text.topic_words for text in TEXTS)))), max_size=20), st.text())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_text_on_a_subject_that_the_sample_names_is_shown(words: list[str], sample: str) -> None:
    chosen = choose_texts(sample, ["Look: " + ", ".join(words).upper()], TEXTS)
    assert not any(text.topic_words & set(words) for text in chosen)
    unrelated = [text for text in TEXTS if not text.topic_words & set(words)]
    assert len(chosen) == min(5, len(unrelated))
    assert list(chosen) == list(choose_texts(sample, words, TEXTS[::-1]))


def test_over_many_samples_every_text_is_shown_about_equally_often() -> None:
    counts = Counter(text.id for n in range(3000) for text in choose_texts(f"xn-{n}", [], TEXTS))
    assert set(counts) == {text.id for text in TEXTS}
    assert 400 < min(counts.values()) <= max(counts.values()) < 600
