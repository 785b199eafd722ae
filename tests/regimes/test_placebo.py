"""Placebo is web-search's prompt with texts on something else, never on the sample's subject, and always the same."""

from __future__ import annotations

from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hellofresh.runs.prompts import load_prompt_set
from hellofresh.runs.regimes import get_regime
from hellofresh.runs.regimes.placebo import choose_texts, placebo_texts
from hellofresh.tasks import TASKS
from tests.regimes import conftest as stage

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
