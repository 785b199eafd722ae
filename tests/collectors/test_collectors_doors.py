"""The doors of collectors keep ledgers: a harmed note, rating or edit is counted under a fitting name."""

from __future__ import annotations

import json
from hashlib import sha1
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from collectors.settings import EditsSettings
from collectors.wikipedia.collect import collect as collect_edits
from collectors.wikipedia.export import LOSSES, NO_USER
from collectors.wikipedia.live import _GONE as GONE
from collectors.wikipedia.live import collect_live
from collectors.wikipedia.site import WikiSite
from collectors.wikipedia.source import LiveSource
from hellofresh.core.intake import Intake
from hellofresh.core.quarters import Quarter
from hellofresh_parts.voters.ratings import read_ratings
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


def wiki_row(n: int, k: int, text: str) -> dict[str, Any]:
    said = {"content": text, "contentmodel": "wikitext", "size": len(text), "sha1": sha1(text.encode()).hexdigest()}
    return {"revid": 10 * n + k, "parentid": k and 10 * n + k - 1, "user": f"User {k % 2}", "slots": {"main": said},
            "timestamp": f"2026-04-02T0{k}:00:00Z"}  # fmt: skip


def wiki_page(n: int, word: str) -> Any:
    edited = f"{LEAD}, which its {word} has kept as a house of its own for all of the years since"
    texts = [LEAD, *[edited] * 4]
    return (
        n,
        word.capitalize(),
        {"pageid": n, "ns": 0, "title": word, "revisions": [wiki_row(n, *one) for one in enumerate(texts)]},
    )


def with_rows(change: Any) -> Any:
    def harm(page: Any) -> Any:
        said = json.loads(json.dumps(page[2]))
        change(said["revisions"])
        return *page[:2], said

    return harm


def slot_with(**values: Any) -> Any:
    return with_rows(lambda rows: rows[0]["slots"]["main"].update(values))


def row_with(**values: Any) -> Any:
    return with_rows(lambda rows: rows[1].update(values))


def test_no_page_that_a_wikis_api_gives_is_lost_in_silence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each page is asked for by its title; what the wiki says of it is harmed."""
    pages: list[Any] = []
    monkeypatch.setattr(WikiSite, "_fetch", lambda _, question: answer(question))

    def answer(question: dict[str, str]) -> dict[str, Any]:
        query: dict[str, Any] = {}
        if question.get("prop") == "info":
            query["pages"] = [{"title": word, "pageid": n, "ns": 0} for n, word, _ in pages]
        elif "pageids" in question:
            query["pages"] = next([said] for n, _, said in pages if str(n) == question["pageids"])
        return {"curtimestamp": "2026-07-20T00:00:00Z", "query": query}

    def opened(given: Any) -> Passed:
        pages[:] = given
        source = LiveSource(
            api="https://wiki.example/w/api.php", contact="a@b.example", titles=[one[1] for one in given]
        )
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        found = collect_live(Q2, source, EditsSettings(), folder=folder, progress=lambda _: None)
        said = {name: found.funnel.context.get(name, 0) for name in (NO_USER, GONE, *LOSSES)}
        door = passed(found, len(given) - len({one[1] for one in given}))
        out = dict(door.ledger.left_out)
        out["hidden-text"] -= sum(said[loss] for loss in LOSSES)  # each hides one edit here
        no_user, out = said.pop(NO_USER), {**out, **said}
        ledger = Intake("rows", door.ledger.went_on + sum(out.values()), door.ledger.went_on, out)
        return Passed(ledger, door.on, {NO_USER: no_user})

    harms = {
        "gone": lambda page: (*page[:2], {"pageid": page[0], "missing": True}), "no text": slot_with(content=None),
        "other text": slot_with(content=f"{LEAD}?"), "length": slot_with(size=7),
        "model": slot_with(contentmodel="json"),
        "hidden": slot_with(content=None, texthidden=True), "bot": row_with(user="A bot"),
        "parent": row_with(parentid=7),
        "time": row_with(timestamp=7), "late": row_with(timestamp="2026-04-02T09:00:00Z"),
        "twice": with_rows(lambda rows: rows.insert(1, rows[1])),
        "order": with_rows(lambda rows: rows.insert(0, rows.pop(1))),
        "no id": with_rows(lambda rows: rows[1].pop("revid")), "no slot": with_rows(lambda rows: rows[0].pop("slots")),
        "revision gone": with_rows(lambda rows: rows.pop(1)), "no user": with_rows(lambda rows: rows[1].pop("user")),
        "short": with_rows(lambda rows: rows.__delitem__(slice(2, None))),
    }  # fmt: skip
    asked = [wiki_page(n, word) for n, word in enumerate(WORDS, start=1)]
    door = Door(opened, asked, lambda page: f"we-{page[0]}1-1", harms)
    refused = {"api-strange-answer"}
    no_text, damaged, model = ({loss} for loss in LOSSES)
    assert door.answers() == {
        "deleted": {"came in"}, "doubled": {"repeated-row"}, "gone": {GONE}, "hidden": {"hidden-text"}, "bot": {"bot"},
        "no text": no_text, "no slot": no_text, "length": damaged, "other text": damaged, "model": model,
        "no user": {NO_USER}, "parent": {"parent-missing"}, "revision gone": {"parent-missing"},
        "short": {"too-recent"},
        **dict.fromkeys(("late", "no id", "order", "time", "twice"), refused),
    }  # fmt: skip
