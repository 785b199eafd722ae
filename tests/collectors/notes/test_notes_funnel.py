"""Every note of the dump is kept or dropped for exactly one reason."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from collectors.notes import NotesSettings, NotesSource, collect
from collectors.notes.bridged import VOTER_FACTS
from hellofresh.core.errors import SourceError, UsageError
from hellofresh.core.quarters import parse_utc
from tests.collectors.notes.conftest import QUARTER, run
from tests.fakes import dropped


def tombstone(words: str) -> dict[str, Any]:
    return {"__typename": "TweetTombstone", "text": None, "tombstone": {"text": {"text": words}}}


PHOTO = [{"type": "photo"}]
FAULTS: dict[str, Callable[[Any], None]] = {
    "other-quarter": lambda dump: dump.note(1, at="2023-07-01T00:00:00"),
    "no-status": lambda dump: dump.note(1, status=None),
    "not-locked": lambda dump: dump.note(1, locked=False),
    "needs-more-ratings": lambda dump: dump.note(1, status="NEEDS_MORE_RATINGS"),
    "empty-text": lambda dump: dump.note(1, text=" &nbsp; "),
    "no-post": lambda dump: dump.note(1, post="NA"),
    "unavailable": lambda dump: dump.note(1, post=7),
    "deleted": lambda dump: (dump.note(1, post=7), dump.post(7, **tombstone("deleted by the author"))),
    "suspended": lambda dump: (dump.note(1, post=7), dump.post(7, **tombstone("a suspended account"))),
    "protected": lambda dump: (dump.note(1, post=7), dump.post(7, **tombstone("limits who can view"))),
    "age-restricted": lambda dump: (dump.note(1, post=7), dump.post(7, **tombstone("Age-restricted"))),
    "not-english": lambda dump: (dump.note(1, post=7), dump.post(7, lang="pt")),
    "media": lambda dump: (dump.note(1, post=7), dump.post(7, mediaDetails=PHOTO)),
    "quoted-media": lambda dump: (dump.note(1, post=7), dump.post(7, quoted_tweet={"mediaDetails": PHOTO})),
    "truncated": lambda dump: (dump.note(1, post=7), dump.post(7, note_tweet={"id": "x"})),
    "post-language": lambda dump: (dump.note(1, post=7), dump.post(7, text="塔の高さは四百メートルです。")),
    "note-language": lambda dump: dump.note(1, text="La torre no tiene más de 330 metros, según los planos."),
    "page-leftovers": lambda dump: (dump.note(1, post=7), dump.post(7, text="The tower is high. Translate post")),
    "missing-media": lambda dump: (dump.note(1, post=7), dump.post(7, text="The tower is high. 0:17")),
    "too-long": lambda dump: dump.note(1, text="x" * 4000),
}


def test_all_reasons_are_listed_in_order_even_when_nothing_is_dropped(twelve: Any) -> None:
    funnel = run(twelve).funnel
    reasons = [drop.reason for drop in funnel.drops]
    assert [reason for reason in reasons if reason not in ("ai-writer", "error")] == list(FAULTS)
    assert (funnel.rows_in, {drop.count for drop in funnel.drops}, funnel.total_kept) == (12, {0}, 12)


@pytest.mark.parametrize("reason", FAULTS)
def test_each_fault_has_its_reason(dump: Any, reason: str) -> None:
    FAULTS[reason](dump)
    dump.note(2)
    collection = run(dump)
    assert dropped(collection) == {reason: 1}
    assert [item.sample.id for item in collection.candidates] == ["xn-2"]


def test_a_note_with_every_fault_counts_at_the_first_and_then_at_the_next_as_faults_are_mended(dump: Any) -> None:
    faults = {"at": ("2023-01-01T00:00:00", "2023-05-01T00:00:00"), "locked": (False, True), "text": ("", "x" * 4000)}
    now = {name: bad for name, (bad, _) in faults.items()}
    post = {"lang": "fr", "mediaDetails": PHOTO, "quoted_tweet": {"photos": PHOTO}, "note_tweet": {}}
    seen = []
    for mend in ["", *faults, *post]:
        if mend in faults:
            now[mend] = faults[mend][1]
        if mend in post:
            post[mend] = "en" if mend == "lang" else None
        dump.rows = {stem: [] for stem in dump.rows}
        dump.posts = []
        dump.note(1, post=7, **now)
        dump.post(7, **post)
        seen += dropped(run(dump))
    order = "other-quarter not-locked empty-text not-english media quoted-media truncated too-long"
    assert seen == order.split()


def test_the_quarter_begins_and_ends_at_midnight_utc_to_the_millisecond(dump: Any) -> None:
    for number, at in enumerate(
        ["2023-03-31T23:59:59.999", "2023-04-01T00:00:00", "2023-06-30T23:59:59.999", "2023-07-01T00:00:00"], 1
    ):
        dump.note(number, at=at)
    collection = run(dump)
    assert {item.sample.id: item.sample.period for item in collection.candidates} == {
        "xn-2": "2023-04",
        "xn-3": "2023-06",
    }


def test_a_candidate_says_what_the_rows_say(dump: Any) -> None:
    post = (1_682_845_200_123 - 1_288_834_974_657) << 22  # made on 2023-04-30 at 09:00:00.123 UTC
    dump.note(5, post=post, text="&quot;A&quot; &amp;lt; B", raters=["a", "b", "a"])
    dump.post(post, text="Tea &amp; toast", created_at=None)
    (candidate,) = run(dump).candidates
    sample, label = candidate.sample, candidate.label
    assert sample.note.text == '"A" &lt; B'  # resolved once, not twice
    assert (sample.post.text, sample.group) == ("Tea & toast", f"x-{post}")
    assert sample.post.date == parse_utc("2023-04-30T09:00:00Z")
    assert label.facts == {
        "ratings": 2,
        "sampled_ratings": None,
        "decided_by": None,
        "status_locked_at": "2023-05-15T12:00:00Z",
        "ai_writer": None,
        "collaborative": None,
        **dict.fromkeys(VOTER_FACTS),
    }
    assert label.label == 1


def test_ratings_are_unknown_without_a_ratings_file_and_zero_without_rows(dump: Any) -> None:
    dump.note(1)
    assert run(dump).candidates[0].label.facts["ratings"] is None
    dump.note(2, raters=["a"])
    assert [item.label.facts["ratings"] for item in run(dump).candidates] == [0, 1]


def test_languages_and_length_are_settings(dump: Any) -> None:
    post, note = "A torre tem mais de 400 metros e não é a única!", "A torre não tem mais do que 330 metros."
    dump.note(1, post=7, text=note)
    dump.post(7, lang="pt-BR", text=post)
    assert run(dump, languages=("pt",)).candidates
    assert run(dump, languages=("en", "pt")).candidates
    total = len(post) + len(note)
    assert run(dump, languages=("pt",), max_characters=total).candidates
    assert not run(dump, languages=("pt",), max_characters=total - 1).candidates


@pytest.mark.parametrize("wrong", [{"languages": ()}, {"max_characters": 0}, {"min_age_days": -1}])
def test_settings_that_keep_nothing_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="settings that keep nothing"):
        NotesSettings(**wrong)


def test_an_end_without_zone_is_refused() -> None:
    with pytest.raises(UsageError, match="without a zone"):
        NotesSettings(dump_end=parse_utc("2023-06-15T00:00:00Z").replace(tzinfo=None))


def test_posts_can_stand_elsewhere_and_must_be_somewhere(twelve: Any, tmp_path: Path) -> None:
    folder = twelve.write()
    elsewhere = (folder / "posts.jsonl").rename(tmp_path / "p.jsonl")
    assert len(collect(QUARTER, NotesSource(folder, elsewhere), NotesSettings(), workdir=tmp_path).candidates) == 12
    with pytest.raises(SourceError, match="--posts FILE"):
        collect(QUARTER, NotesSource(folder), NotesSettings(), workdir=tmp_path)


def test_a_collection_of_nothing_says_what_to_do(dump: Any) -> None:
    dump.note(1, at="2020-01-01T00:00:00", locked=False)
    assert run(dump).warnings == ["No note of 2023Q2 was kept; the counts of dropped notes say why."]
    dump.note(2, locked=False)
    assert run(dump).warnings == ["No status of 2023Q2 is locked: use a later dump."]
