"""Texts that say almost the same are found, and hardly any others."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors import wikipedia
from collectors.notes import NotesSettings, NotesSource, collect
from hellofresh.core.quarters import Quarter
from hellofresh.releases.draw.duplicates import (
    near_duplicates,
    near_sketches,
    sketch,
)
from hellofresh.releases.draw.release import select
from hellofresh.tasks import get_task

WORDS = [f"word{number}" for number in range(4000)]
TEXTS = st.lists(st.sampled_from(WORDS[:30]), max_size=40).map(" ".join)


def exact(one: str, two: str) -> float:
    """Jaccard similarity of the sets of three words in a row, written another way."""
    sets = []
    for text in (one, two):
        words = re.findall(r"\w+", text.casefold())
        sets.append({tuple(words[k : k + 3]) for k in range(max(1, len(words) - 2))} if words else set())
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1]) if sets[0] and sets[1] else 0.0


@pytest.mark.parametrize(("other", "share"), [("a b c d e f g h j", 0.8), ("a b c d e f g j k", 0)])
def test_texts_are_near_from_a_share_of_exactly_four_fifths_on(other: str, share: float) -> None:
    found = near_duplicates({"x": "a b c d e f g h i"}, {"y": other}, words=1)
    assert found == ({"x": ("y", share)} if share else {})


@given(TEXTS, TEXTS)
def test_what_is_found_has_the_similarity_that_plain_sets_have(one: str, two: str) -> None:
    found = near_duplicates({"a": one}, {"b": two})
    if found:
        assert found["a"] == ("b", pytest.approx(exact(one, two)))
        assert exact(one, two) >= 0.8
    elif one.split() == two.split():
        assert not one


def test_nearly_all_pairs_at_the_threshold_are_proposed() -> None:
    choose = random.Random(4)
    texts, earlier = {}, {}
    for number in range(400):
        words = choose.sample(WORDS, 95)
        texts[str(number)], earlier[str(number)] = " ".join(words[:85]), " ".join(words[5:90])
    similar = [key for key in texts if exact(texts[key], earlier[key]) >= 0.8]
    assert len(similar) == 400
    assert len(near_duplicates(texts, earlier)) >= 398


@pytest.mark.integration
def test_real_quarters_have_no_near_duplicates(shared_data: Path, tmp_path: Path) -> None:
    dump = NotesSource(shared_data / "x/dump-2022Q4-2023Q2")
    history = shared_data / "wikipedia/anarchism_2008_1000revs.xml.xz"
    found = {
        "x-notes": [
            collect(Quarter.parse(name), dump, NotesSettings(), workdir=tmp_path)
            for name in ("2022Q4", "2023Q1", "2023Q2")
        ],
        "wikipedia-edits": [
            wikipedia.collect(Quarter(2008, n), [history], wikipedia.EditsSettings()) for n in (1, 2, 3, 4)
        ],
    }
    for name, collections in found.items():
        earlier: dict[str, str] = {}
        compared = near = 0
        for collection in collections:
            chosen = select(collection.candidates, seed="s", cap=250).chosen
            texts = {item.sample.id: get_task(name).text(item.sample) for item in chosen}
            assert not texts.keys() & earlier.keys()
            compared, near = compared + len(texts), near + len(near_duplicates(texts, earlier))
            earlier |= texts
        assert compared >= 10
        assert near / compared < 0.001


@given(shared=st.integers(1, 60), only=st.integers(0, 30), words=st.sampled_from([1, 3]))
def test_a_sketch_finds_what_is_near_equal_and_nothing_far(shared: int, only: int, words: int) -> None:
    """Above 0.8 always, below 0.5 never; between the two the sketch decides by its estimate."""
    one = " ".join(f"shared{k}" for k in range(shared))
    two = f"{one} " + " ".join(f"only{k}" for k in range(only))
    jaccard = near_duplicates({"two": two}, {"one": one}, words=words)
    found = near_sketches({"two": two}, [sketch(one, words), sketch("", words)], words)
    if jaccard:
        assert found == {"two"}
    elif shared < 0.5 * (shared + only) - words:
        assert not found


def test_a_sketch_is_of_one_size_and_holds_no_word() -> None:
    assert {len(sketch(text, 1)) for text in ("word", "a word and many others", "x " * 400)} == {128}
    assert near_sketches({"a": "the same text"}, [], 1) == near_sketches({"a": ""}, [sketch("text", 1)], 1) == set()
