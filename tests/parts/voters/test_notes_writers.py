"""Notes by machines are told apart; writers are compared by raters who rated both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import spearmanr

from benchmarks.made.voters import draw_liked, draw_written
from collectors.notes.labels import AI_STATES
from collectors.notes.tables import ENROLLMENT, NOTES
from hellofresh.core.errors import SourceError
from hellofresh.releases.candidates import Collection
from hellofresh.results.note_writers import LEAST_POSTS, WriterKind, standings_of_writers
from hellofresh.stats.bridging import fit_bridging
from hellofresh.stats.equal_exposure import WriterEffects, rated_both, writer_effects
from hellofresh_parts.voters.rings import find_rings
from hellofresh_parts.voters.writers import compare_writers
from tests.collectors.notes.conftest import run
from tests.fakes import dropped

STATES = {"person": "earnedIn", "newcomer": "newUser", **{state: state for state in AI_STATES}}


def enrolled(dump: Any, states: dict[str, str]) -> Path:
    folder: Path = dump.write()
    lines = ["\t".join(ENROLLMENT.columns)]
    lines += ["\t".join([who, state] + [""] * (len(ENROLLMENT.columns) - 2)) for who, state in states.items()]
    (folder / "userEnrollment-00000.tsv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def written(dump: Any) -> Any:
    """A note by each kind of writer, one by somebody who is not enrolled, and a collaborative one by a person."""
    for number, writer in enumerate([*STATES, "stranger", "person"], start=1):
        dump.note(number)
        dump.rows[NOTES.stem][-1] |= {"noteAuthorParticipantId": writer, "isCollaborativeNote": int(number == 7)}
    return dump


def flags(collection: Collection) -> dict[str, tuple[object, object]]:
    return {
        item.sample.id[3:]: (item.label.facts["ai_writer"], item.label.facts["collaborative"])
        for item in collection.candidates
    }


def test_every_note_says_whether_a_machine_wrote_it(written: Any) -> None:
    collection = run(enrolled(written, STATES))
    assert flags(collection) == {
        **dict.fromkeys("126", (False, False)),
        **dict.fromkeys("345", (True, False)),
        "7": (False, True),
    }
    assert collection.funnel.context["decided notes by AI writers"] == 3
    assert collection.funnel.context["decided collaborative notes"] == 1
    assert "userEnrollment-00000.tsv" in [item.name for item in collection.sources]


def test_human_only_leaves_out_what_machines_had_a_part_in_and_counts_it(written: Any) -> None:
    collection = run(enrolled(written, STATES), human_only=True)
    assert sorted(flags(collection)) == ["1", "2", "6"]
    assert dropped(collection) == {"ai-writer": 4}
    assert collection.parameters["human_only"] is True


def test_without_enrollment_nobody_knows_and_human_only_is_refused(written: Any) -> None:
    folder = written.write()
    assert {ai for ai, _ in flags(run(folder)).values()} == {None}
    assert "decided notes by AI writers" not in run(folder).funnel.context
    with pytest.raises(SourceError, check=lambda error: error.code == "unknown-writers"):
        run(folder, human_only=True)


def test_a_note_without_an_author_is_not_taken_for_a_persons(written: Any) -> None:
    written.rows[NOTES.stem][0]["noteAuthorParticipantId"] = ""
    folder = enrolled(written, STATES)
    assert flags(run(folder))["1"] == (None, False)
    with pytest.raises(SourceError, match="AI writer"):
        run(folder, human_only=True)


def test_dumps_from_before_collaborative_notes_are_read(written: Any) -> None:
    folder = enrolled(written, STATES)
    path = folder / "notes-00000.tsv"
    lines = [line.rsplit("\t", 1)[0] for line in path.read_text().splitlines()]
    path.write_text("\n".join(lines) + "\n")
    collection = run(folder, human_only=True)
    assert flags(collection) == dict.fromkeys("1267", (False, None))
    assert any("isCollaborativeNote" in warning for warning in collection.warnings)


# --- Writers compared by raters who rated both.


def made(posts: int, raters: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Each rater rates a note by people (0) and one by one of three programs on each post."""
    random = np.random.default_rng(seed)
    program = random.integers(1, 4, posts)
    post = np.repeat(np.arange(posts), 2 * raters)
    rater = np.tile(np.repeat(np.arange(raters), 2), posts)
    writer = np.where(np.arange(post.size) % 2 == 0, 0, program[post])
    return post, rater, writer


def effects_of(friendly: str, seed: int) -> tuple[WriterEffects, NDArray[np.float64], NDArray[np.float64]]:
    world = draw_written(seed, posts=1500, raters=1200, friendly=friendly)
    effects = compare_writers(fit_bridging(*world.voters), world.post, world.writer, 13)[0]["intercept"]
    rated = world.voters.ratings
    raw = np.array([(rated.level == 2)[world.writer[rated.note] == one].mean() for one in range(13)])
    return effects, world.skill, raw


@pytest.mark.parametrize("beside", [False, True])
def test_effects_are_those_of_weighted_least_squares_with_a_column_for_each_cell_and_writer(beside: bool) -> None:
    random = np.random.default_rng(3)
    both = rated_both(*(random.integers(0, most, 900) for most in (20, 15, 6)))
    value, other = random.normal(size=(2, both.place.size))
    found = writer_effects(both, value, 6, reference=2, beside=other if beside else None)
    cell = np.unique(both.post * 15 + both.rater, return_inverse=True)[1]
    cells = np.bincount(both.post[np.unique(cell, return_index=True)[1]])
    root = np.sqrt(1 / (10 + cells[both.post]))[:, None]
    columns = [np.eye(cell.max() + 1)[cell], np.eye(6)[both.writer][:, [0, 1, 3, 4, 5]], other[:, None]]
    wanted = np.linalg.lstsq(np.hstack(columns[: 2 + beside]) * root, value * root[:, 0])[0][cell.max() + 1 :]
    assert [*np.delete(found.value, 2), *[found.slope] * beside] == pytest.approx(wanted, abs=1e-12)


def test_a_writer_whom_no_chain_of_posts_links_to_the_reference_is_not_compared() -> None:
    post, rater, writer = made(60, 6, 3)
    alone = np.where(writer == 0, 4, writer)[post >= 50]
    writer = np.concatenate([writer[post < 50], np.where(alone == 4, 4, 5)])
    found = writer_effects(rated_both(post, rater, writer), np.ones(post.size), 7, reference=0)
    assert found.compared.tolist() == [True, True, True, True, False, False, False]
    assert np.isnan(found.limits()[0][4:]).all()
    kinds = [WriterKind.PEOPLE, *[WriterKind.MACHINE] * 6]
    standings = standings_of_writers(found, kinds)
    assert standings.place(4) is None
    assert all(pair.p_value == 1 for pair in standings.rows("abcdefg", range(7)))  # all said the same: nothing is known


def test_the_order_of_writers_is_found_and_friendly_raters_lift_nobody() -> None:
    effects, skill, _ = effects_of("", 4)
    assert spearmanr(effects.value[1:], skill[1:])[0] >= 0.8
    effects, skill, raw = effects_of("lenient", 5)
    true, found, by_share = (int((side[1:] > side[-1]).sum()) + 1 for side in (skill, effects.value, raw))
    assert by_share == 1
    assert abs(found - true) <= 2 < true - by_share


def test_intervals_hold_the_mean_over_worlds() -> None:
    found, halves = [], []
    for seed in range(24):
        world = draw_written(seed, posts=500, raters=400, programs=8, skills=0)
        effects = compare_writers(fit_bridging(*world.voters), world.post, world.writer, 9)[0]["intercept"]
        found.append(effects.value[1:])
        halves.append(effects.limits()[1][1:] - effects.value[1:])
    distance = np.abs(np.array(found) - np.mean(found, axis=0)) / np.sqrt(1 - 1 / 24)
    assert 0.92 <= (distance <= np.array(halves)).mean() <= 0.985


def test_ranks_follow_from_pairs_and_few_shared_posts_give_none() -> None:
    effects, _, _ = effects_of("", 4)
    kinds = [WriterKind.PEOPLE, *[WriterKind.MACHINE] * 12]
    standings = standings_of_writers(effects, kinds)
    names = [str(number) for number in range(13)]
    pairs = list(standings.rows(names, range(13)))
    assert len(pairs) == 13 * 12 / 2
    assert standings.place(0) is None
    for number in range(1, 13):
        mine = [pair for pair in pairs if str(number) in (pair.one, pair.two) and "0" not in (pair.one, pair.two)]
        worse = sum(pair.adjusted < 0.05 and (pair.difference < 0) == (pair.one == str(number)) for pair in mine)
        place = standings.place(number)
        assert place is not None
        assert place[1] == 1 + worse
        assert place[1] <= place[0] <= place[2]
    few, _, _ = effects_of("", 4)
    few.posts[3] = LEAST_POSTS - 1
    assert standings_of_writers(few, kinds).place(3) is None
    assert any("3" in (pair.one, pair.two) for pair in standings_of_writers(few, kinds).rows(names, range(13)))


def test_a_ring_is_found_and_honest_raters_who_share_interests_are_not() -> None:
    post, rater, period = draw_liked(1, ring=15, pushed=25, interest=4, raters=900, posts=3000)
    camp = np.random.default_rng(0).integers(0, 2, 900)
    found = find_rings(post, rater, period=period, camp=camp).rater
    assert found[:15].sum() >= 12
    assert not found[15:].any()
    alone = rater >= 15
    assert not find_rings(post[alone], rater[alone], period=period, camp=camp).rater.any()
    empty = np.zeros(0, np.int64)
    assert not find_rings(empty, empty, period=period, camp=camp).rater.any()
