"""The API route against a wiki made in the test: the same candidates as from its dump, asked once and kept."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from collectors.wikipedia.collect import EditsSettings, collect
from collectors.wikipedia.live import collect_live
from collectors.wikipedia.site import WikiAnswers, WikiSite
from collectors.wikipedia.source import EditSampling, LiveSource
from collectors.wikipedia.wikitext import Revision
from hellofresh.core.errors import SourceError
from hellofresh.core.files import sha256_text
from hellofresh.core.quarters import Quarter, utc_text
from tests.fakes import dropped, fails_with

API, QUARTER = "https://wiki.example.org/w/api.php", Quarter(2026, 2)
LEAD = "The mill stands on the river and was built in 1780."
GOOD = LEAD.replace("1780", "1780 by the monks of the abbey, who ground the corn of five villages there")
BAD = LEAD.replace("1780", "1580, which makes it the oldest building of the whole world, as everybody knows")
TEXTS = [LEAD, GOOD, f"{GOOD}\n\nTwo.", f"{GOOD}\n\n2", BAD, f"{GOOD}\n\n2", f"{GOOD}\n\n3", GOOD, f"{GOOD}\n\n4", None]


class SmallWiki:
    """Answers questions to the API of a wiki with some pages.

    Attributes:
        pages: histories by id; those of `gone` are listed, and their revisions are not there.
        asked: every question.
    """

    def __init__(self, pages: dict[int, list[Revision]]) -> None:
        self.pages, self.asked, self.gone = pages, [], set()
        self.now = QUARTER.end + timedelta(days=30)
        self.reverted = {revisions[4].id for revisions in pages.values()}
        self.begins = QUARTER.start

    def title(self, page: int) -> str:
        return f"Mill {page}"

    def answer(self, question: dict[str, str]) -> dict:
        self.asked.append(dict(question))
        body = {"curtimestamp": utc_text(self.now)}
        if question.get("list") == "recentchanges":
            return body | {"query": {"recentchanges": self.changes(question)}}
        if question.get("meta") == "siteinfo":
            names = {"6": {"id": 6, "name": "Datei"}, "14": {"id": 14, "name": "Kategorie", "canonical": "Category"}}
            older = [{"id": 6, "alias": "Bild"}]
            return body | {"query": {"general": {"lang": "de"}, "namespaces": names, "namespacealiases": older}}
        if question["prop"] == "info":
            titles = question["titles"].split("|")
            renamed = [{"from": title, "to": title.capitalize()} for title in titles if title != title.capitalize()]
            ids = {self.title(page): page for page in self.pages}
            found = [{"title": title, "pageid": ids.get(title, 0), "ns": 0} for title in map(str.capitalize, titles)]
            found.append({"title": "Talk", "pageid": 99, "ns": 1})
            return body | {"query": {"pages": found, "normalized": renamed}}
        return body | self.revisions(question)

    def changes(self, question: dict[str, str]) -> list[dict]:
        start, end = (question.get(name, default) for name, default in (("rcstart", "0"), ("rcend", "9")))
        found = []
        for page, revisions in self.pages.items():
            for revision in revisions[1:]:
                tags = ["mw-reverted"] if revision.id in self.reverted else []
                time = utc_text(revision.timestamp)
                if (
                    start <= time <= end
                    and revision.timestamp >= self.begins
                    and question.get("rctag") in (None, *tags)
                ):
                    more = {"old_revid": revision.parent, "pageid": page, "tags": tags}
                    found.append({"timestamp": time, "revid": revision.id} | more)
        return sorted(found, key=lambda change: change["timestamp"])[: 1 if question["rclimit"] == "1" else None]

    def revisions(self, question: dict[str, str]) -> dict:
        page, limit = int(question["pageids"]), int(question["rvlimit"])
        if page in self.gone:
            return {"query": {"pages": [{"pageid": page, "missing": True}]}}
        older = question["rvdir"] == "older"
        history = self.pages[page][::-1] if older else self.pages[page]
        first = int(question.get("rvcontinue", question.get("rvstartid", history[0].id)))
        rest = [revision for revision in history if (revision.id <= first if older else revision.id >= first)]
        rows = [self.row(revision) for revision in rest[:limit]]
        query = {"query": {"pages": [{"pageid": page, "ns": 0, "title": self.title(page), "revisions": rows}]}}
        return query | ({"continue": {"rvcontinue": rest[limit].id}} if len(rest) > limit else {})

    def row(self, revision: Revision) -> dict:
        text = {"texthidden": True, "content": "x"} if revision.text is None else {"content": revision.text}
        user = {"userhidden": True, "user": "x"} if revision.user is None else {"user": revision.user}
        head = {"revid": revision.id, "parentid": revision.parent or 0, "timestamp": utc_text(revision.timestamp)}
        return head | user | {"slots": {"main": text}, "sha1": revision.text and sha256_text(revision.text)}


@pytest.fixture
def small(wiki, monkeypatch):
    pages = {}
    for page in range(1, 8):
        history = wiki.history(TEXTS, [*(f"U{n}" for n in range(8)), None, "U9"])
        moved = [r._replace(id=r.id + 1000 * page, parent=r.parent and r.parent + 1000 * page) for r in history]
        pages[page] = [r._replace(timestamp=r.timestamp + timedelta(days=11 * page)) for r in moved]
    made = SmallWiki(pages)
    monkeypatch.setattr(WikiSite, "_fetch", lambda _, question: made.answer(question))
    monkeypatch.setattr("collectors.wikipedia.site._BATCH", 3)
    monkeypatch.setattr("collectors.wikipedia.live._BETWEEN_REPORTS_S", -1.0)
    return made


@pytest.fixture
def live(tmp_path):
    def run(*titles, refresh=False, pending=False, said=None, settings=None, **sampling):
        source = LiveSource(api=API, contact="me@example.org", titles=titles, sampling=EditSampling(**sampling))
        progress = (lambda _: None) if said is None else said.append
        rule, folder = settings or EditsSettings(), tmp_path / "api"
        return collect_live(QUARTER, source, rule, folder=folder, refresh=refresh, progress=progress, pending=pending)

    return run


@pytest.fixture
def whole(wiki, small, tmp_path):
    """What a dump of the wiki gives."""
    xml = [wiki.page_xml(small.title(page), revisions, id_=page) for page, revisions in small.pages.items()]
    export = wiki.export(*xml).replace("<siteinfo>", "<siteinfo><base>https://wiki.example.org/wiki/A</base>")
    (tmp_path / "d.xml").write_text(export)
    return lambda **more: collect(QUARTER, [tmp_path / "d.xml"], EditsSettings(), **more)


def test_named_pages_give_what_their_dump_gives_and_are_asked_for_once(small, live, whole):
    said: list[str] = []
    titles = [f"mill {page}" for page in small.pages]
    found, dump = live(*titles, said=said), whole()
    assert list(found.candidates) == list(dump.candidates) and len(found.candidates) == 14
    assert dropped(found) == dropped(dump)
    names = ("pages", "revisions", "revisions in the quarter", "revisions in the quarter with hidden text")
    assert (
        [found.funnel.context[name] for name in names]
        == [dump.funnel.context[name] for name in names]
        == [7, 70, 70, 7]
    )
    assert "revisions that changed too many paragraphs" in found.funnel.context
    assert found.parameters == dict(dump.parameters) | {"api": API, "pages": sorted(titles)}
    size = sum(len(text.encode()) for text in TEXTS if text is not None) * 7
    (source,) = found.sources
    assert (source.name, source.size) == (f"{API} (70 revisions, 1100 to 7109)", size) and not found.warnings
    assert said == [f"{number} of 7 pages, 0 requests" for number in range(1, 8)]
    asked = len(small.asked)
    assert asked == 1 + 3 + 7 * 4  # the wiki's names, three titles at once, and three revisions
    assert live(*titles) == found and len(small.asked) == asked
    # The ends of histories may grow; what has a successor does not.
    assert live(*titles, refresh=True) == found and len(small.asked) == asked + 3 + 7
    with fails_with("unknown-page", "no article 'Talk'"):
        live("Talk")


def test_the_wikis_own_names_hide_its_images(small, live):
    for page, revisions in small.pages.items():
        more = [r.text and f"[[Bild:a.jpg|mini|Die Mühle]] {r.text}" for r in revisions]
        small.pages[page] = [r._replace(text=text) for r, text in zip(revisions, more, strict=True)]
    found = live(*map(small.title, small.pages)).candidates
    assert len(found) == 14 and not any("Mühle" in one.sample.paragraph for one in found)


def same_again(answer, question):
    """The first page of a history for ever, with the continuation of the first."""
    first = {key: value for key, value in question.items() if key != "rvcontinue"}
    return answer(first) if "pageids" in question else answer(question)


def other_mark(answer, question):
    """The first page for ever, with a continuation that differs each time."""
    found = same_again(answer, question)
    return found | ({"continue": {"rvcontinue": question.get("rvcontinue", "") + "1"}} if "continue" in found else {})


def back_to_the_first(answer, question):
    """A second page that points to itself."""
    found = answer(question)
    return found | ({"continue": {"rvcontinue": question["rvcontinue"]}} if "rvcontinue" in question else {})


@pytest.mark.parametrize(
    ("fault", "drawn"),
    [(same_again, False), (other_mark, False), (back_to_the_first, False), (same_again, True), (other_mark, True)],
)
def test_a_history_that_goes_on_without_progress_is_refused_and_read_once_the_server_is_well(
    small, live, monkeypatch, fault, drawn
):
    answer = small.answer
    monkeypatch.setattr(small, "answer", lambda question: fault(answer, question))

    def run():
        sampling = {"pages": 8, "window_minutes": 1440} if drawn else {}
        return live(*([] if drawn else map(small.title, small.pages)), **sampling)

    with fails_with("no-progress", "the same page again"):
        run()
    assert len(small.asked) < 200
    monkeypatch.setattr(small, "answer", answer)
    assert run().candidates


def test_what_an_earlier_version_stored_without_progress_is_asked_for_again(small, live, monkeypatch):
    monkeypatch.setattr("hellofresh.core.net.paging.Paging.step", lambda *_: None)
    monkeypatch.setattr("hellofresh.core.net.paging.Paging.is_new", lambda *_: True)
    answer, left = small.answer, [40]

    def stuck(question):
        left[0] -= 1
        if not left[0]:
            raise SourceError("stopped", code="stopped")
        return same_again(answer, question)

    monkeypatch.setattr(small, "answer", stuck)
    monkeypatch.setattr(WikiAnswers, "get", lambda *_: None)
    with fails_with("stopped"):
        live("mill 1")
    monkeypatch.undo()
    monkeypatch.setattr(WikiSite, "_fetch", lambda _, question: answer(question))
    monkeypatch.setattr("collectors.wikipedia.site._BATCH", 3)
    assert live("mill 1").candidates


def test_after_a_bad_continuation_the_page_is_read_anew_once(small, live, monkeypatch):
    answer, bad = small.answer, [1]

    def refusing(question):
        if "rvcontinue" in question and bad[0]:
            bad[0] -= 1
            raise SourceError("no", code="api-bad-continue")
        return answer(question)

    monkeypatch.setattr(small, "answer", refusing)
    whole = live("mill 1")
    assert len(whole.candidates) == 2
    bad[0] = 9
    with fails_with("api-bad-continue", "no"):
        live("mill 2")


def test_undecided_edits_are_collected_too(small, live, whole):
    for page in small.pages:
        small.pages[page] = small.pages[page][:3]
    found = live(*map(small.title, small.pages), pending=True)
    assert [edit.id for edit in found.pending] == [f"we-{page}101-1" for page in small.pages] and not found.candidates


def test_drawn_edits_have_the_fate_that_they_have_in_the_dump(small, live, whole):
    said: list[str] = []
    found, dump = live(pages=8, window_minutes=1440, per_window=2, said=said), whole()
    by_id = {candidate.sample.id: candidate for candidate in dump.candidates}
    assert 3 < len(found.candidates) < 14
    for candidate in found.candidates:
        expected = by_id[candidate.sample.id]
        assert replace(candidate.sample, lineage=()) == replace(expected.sample, lineage=())
        assert candidate.label == expected.label
    assert {int(c.sample.id.split("-")[1]) for c in found.candidates if not c.label.label} <= small.reverted
    assert found.funnel.context["pages"] == 4 and said[-1] == "4 of 4 pages, 0 requests"
    drawn = {"drawn_pages": 8, "window_minutes": 1440, "per_window": 2, "lookback": 500, "draw_seed": "hellofresh"}
    assert found.parameters == dict(dump.parameters) | {"api": API} | drawn
    since = min(revisions[1].timestamp for revisions in small.pages.values())
    earlier = "earlier edits of 2026Q2 are included only if they were requested in time."
    assert found.warnings == [f"the recent changes begin on {utc_text(since)}: {earlier}"]
    changes = [question for question in small.asked if question.get("rclimit") == "max"]
    assert {question["rcshow"] for question in changes} == {"!bot"}
    assert {question.get("rctag") for question in changes} == {None, "mw-reverted"}
    bots = live(pages=8, window_minutes=1440, per_window=2, settings=EditsSettings(keep_bots=True, keep_restored=True))
    assert len(bots.candidates) >= len(found.candidates)
    assert not [question for question in small.asked[len(changes) :] if question.get("rclimit") == "max"][-1].get(
        "rcshow"
    )


def test_pages_that_are_gone_are_counted_and_named(small, live):
    small.gone = {2, 3}
    found = live(*map(small.title, small.pages))
    gone = "pages that were gone when their history was asked for"
    assert found.funnel.context[gone] == 2 and found.warnings == [f"2 {gone}."]
    assert len(found.candidates) == 10


def test_a_quarter_before_the_recent_changes_is_refused_unless_its_answers_are_kept(small, live):
    first = live(pages=8, window_minutes=1440)
    small.begins = QUARTER.end + timedelta(days=1)
    small.pages[7][-1] = small.pages[7][-1]._replace(timestamp=QUARTER.end + timedelta(days=2))
    kept = live(pages=8, window_minutes=1440)
    assert kept.candidates == first.candidates
    with pytest.raises(SourceError, match="after 2026Q2") as caught:
        live(pages=8, window_minutes=1441, refresh=True)
    assert caught.value.code == "no-recent-changes"
    assert datetime(2026, 7, 3, tzinfo=UTC) == small.pages[7][-1].timestamp


def test_an_edit_that_restores_what_stood_long_before_is_not_drawn(small, live):
    """The revisions read before it do not have the old text, and the wiki's hashes do."""
    for page, revisions in small.pages.items():
        small.pages[page] = [revision._replace(text=f"{LEAD} {n}" if n < 5 else revision.text)
                             for n, revision in enumerate(revisions)]  # fmt: skip
        small.pages[page][6] = revisions[6]._replace(text=f"{LEAD} 0")
    asked = {"pages": 14, "window_minutes": 1440, "per_window": 20}
    known, unknown = live(**asked), live(**asked, lookback=0)
    numbers = [{int(c.sample.id[3:7]) for c in found.candidates} for found in (known, unknown)]
    assert not {number for number in numbers[0] if number % 1000 == 106}
    assert numbers[0] <= numbers[1]
