"""The doors of collectors keep ledgers: a harmed note, rating, edit or review is counted under a fitting name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from collectors.claims import ClaimsSettings
from collectors.claims import collect as collect_claims
from collectors.notes.ratings import read_ratings
from collectors.settings import EditsSettings
from collectors.wikipedia.collect import collect as collect_edits
from hellofresh.core.intake import Intake
from hellofresh.core.quarters import Quarter
from tests.collectors.notes.conftest import HELPFUL, NOT_HELPFUL, Dump, run
from tests.collectors.wikipedia.conftest import Wiki
from tests.doors import Door, Passed

WORDS = "mill river council bridge tower harbour market garden museum station theatre library".split()  # noqa: SIM905
LEAD = "The old mill stands on the river and was built before the war by the people of the town"
Q2 = Quarter(2026, 2)


def passed(found: Any, repeated: int = 0) -> Passed:
    ledger = found.funnel.ledger()
    ledger = Intake("rows", ledger.came_in + repeated, ledger.went_on, {**ledger.left_out, "repeated-row": repeated})
    return Passed(ledger, {one.sample.id: one.label.label for one in found.candidates})


def with_(**values: Any) -> Any:
    return lambda row: row | values


def dump_of(folder: Path, table: str = "", rows: Any = ()) -> Dump:
    dump = Dump(folder / str(len(list(folder.iterdir()))))
    for number in range(1, 31):
        dump.note(number, status=HELPFUL if number % 2 else NOT_HELPFUL, raters=["r"])
    for rating in dump.rows["ratings"]:
        rating["helpfulnessLevel"] = "HELPFUL"
    dump.rows |= {table: rows} if table else {}
    return dump


def test_no_note_is_lost_in_silence(tmp_path: Path) -> None:
    def opened(rows: Any) -> Passed:
        found = run(dump_of(tmp_path, "notes", rows), accept_partial=True)
        return passed(found, found.funnel.context["repeated rows of the notes"])

    harms = {
        "empty": with_(summary=" "), "no post": with_(tweetId=""), "other post": with_(tweetId=7),
        "earlier": with_(createdAtMillis=1_600_000_000_000), "word": with_(noteId="x"),
        "no status": lambda row: row | {"noteId": row["noteId"] + 99},
    }  # fmt: skip
    door = Door(opened, dump_of(tmp_path).rows["notes"], lambda row: f"xn-{row['noteId']}", harms)
    assert door.answers() == {
        "deleted": {"came in"}, "doubled": {"repeated-row"}, "empty": {"empty-text"}, "no post": {"no-post"},
        "earlier": {"other-quarter"}, "word": {"ragged-lines"}, "other post": {"unavailable"},
        "no status": {"no-status"},
    }  # fmt: skip


def test_no_rating_is_lost_in_silence(tmp_path: Path) -> None:
    def opened(rows: Any) -> Passed:
        folder = dump_of(tmp_path, "ratings", rows).write()
        read = read_ratings(folder, np.arange(1, 31), folder=folder / "kept", key=b"k")
        out = {name: count for name, count in read.counts.items() if "rows of" not in name}
        kept = dict(zip(map(str, read.note + 1), read.level.tolist(), strict=True))
        return Passed(Intake("ratings", read.counts["rows of the ratings"], read.note.size, out), kept)

    harms = {
        "other note": lambda row: row | {"noteId": row["noteId"] + 99}, "no id": with_(noteId=""),
        "value": with_(helpfulnessLevel="SO_SO"), "early": with_(createdAtMillis=5),
        "nobody": with_(raterParticipantId=""),
    }  # fmt: skip
    assert Door(opened, dump_of(tmp_path).rows["ratings"], lambda row: str(row["noteId"]), harms).answers() == {
        "deleted": {"came in"}, "doubled": {"second ratings of a note by one rater"}, "no id": {"ragged-lines"},
        "other note": {"ratings of unknown notes"}, "value": {"ratings with an unknown value"},
        "early": {"ratings from before 2021"}, "nobody": {"ratings without a rater"},
    }  # fmt: skip


def test_no_edit_is_lost_in_silence(tmp_path: Path) -> None:
    wiki = Wiki()

    def opened(pages: Any) -> Passed:
        path = wiki.write(tmp_path / "d.xml", *(wiki.page_xml(word, revisions, id_=n) for n, word, revisions in pages))
        return passed(collect_edits(Q2, [path], EditsSettings()))

    def edit(**values: Any) -> Any:
        return lambda page: (*page[:2], [one._replace(**values) if k == 1 else one for k, one in enumerate(page[2])])

    def page(n: int, word: str, said: str = "") -> Any:
        edited = f"{LEAD}, which its {word} has kept as a house of its own for all of the years since{said}"
        revisions = wiki.history([LEAD, *[edited] * 4])
        return n, word, [one._replace(id=10 * n + k, parent=k and 10 * n + k - 1) for k, one in enumerate(revisions)]

    harms = {
        "bot": edit(user="A bot"), "parent": edit(parent=7), "template": lambda one: page(*one[:2], " {{blorple|7}}"),
    }  # fmt: skip
    pages = [page(n, word) for n, word in enumerate(WORDS, start=1)]
    assert Door(opened, pages, lambda page: f"we-{page[0]}1-1", harms).answers() == {
        "deleted": {"came in"}, "doubled": {"duplicate-page"}, "bot": {"bot"}, "parent": {"parent-missing"},
        "template": {"unknown-template"},
    }  # fmt: skip


def test_no_review_is_lost_in_silence(tmp_path: Path) -> None:
    def opened(items: Any) -> Passed:
        (tmp_path / "feed.json").write_text(json.dumps(items))
        found = collect_claims(Q2, [tmp_path / "feed.json"], ClaimsSettings(languages=("en",)))
        on = {one.label.facts["review_url"]: one.label.label for one in found.candidates}
        return Passed(found.funnel.ledger(), on)

    items = [
        {"claimReviewed": f"The {word} was sold in 19{n}.", "url": f"https://a.example/{n}", "inLanguage": "en",
         "datePublished": "2026-05-03", "reviewRating": {"alternateName": ("False", "True", "Mixed")[n % 3]}}
        for n, word in enumerate(WORDS * 2, start=10)
    ]  # fmt: skip
    harms = {
        "null": lambda _: None, "number": lambda _: 7, "no claim": with_(claimReviewed=""),
        "no day": with_(datePublished="soon"), "verdict": with_(reviewRating={"alternateName": "Blorple"}),
        "none": with_(reviewRating={}), "site": with_(url="x"), "short": with_(claimReviewed="No."),
        "other quarter": with_(datePublished="2025-05-03"), "joke": with_(reviewRating={"alternateName": "Satire"}),
        "other language": with_(inLanguage="fr"),
    }  # fmt: skip
    assert Door(opened, items, lambda item: item["url"], harms).answers() == {
        "deleted": {"came in"}, "doubled": {"repeated-review"}, "null": {"no-review"}, "number": {"not-an-object"},
        "no claim": {"no-claim"}, "no day": {"no-review-date"}, "verdict": {"unknown-verdict"}, "none": {"no-verdict"},
        "site": {"no-publisher"}, "other quarter": {"other-quarter"}, "short": {"short-claim"}, "joke": {"no-truth"},
        "other language": {"other-language"},
    }  # fmt: skip
