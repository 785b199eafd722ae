"""The API route against a real MediaWiki: the same candidates as from its dump, and the fate of edits made just now."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import requests
from served import is_ready, served_wiki

from collectors.wikipedia.collect import EditsSettings, collect
from collectors.wikipedia.export import read_pages
from collectors.wikipedia.live import collect_live
from collectors.wikipedia.polite import PoliteSession, WikiLimits
from collectors.wikipedia.site import WikiAnswers, WikiSite
from collectors.wikipedia.source import EditSampling, LiveSource
from collectors.wikipedia.stability import Fate
from collectors.wikipedia.wikitext import Kind
from hellofresh.cli import main
from hellofresh.core.quarters import Quarter
from tests.fakes import dropped, fails_with, refused

pytestmark = pytest.mark.integration
CONTACT = "tests@example.org"
PAGES = ("Amen", "Rio Grande", "Anarchism")
FIRST_REVISIONS = 200


@dataclass(frozen=True)
class Client:
    api: str
    session: requests.Session
    name: str

    def post(self, action, **data):
        token = self.get(action="query", meta="tokens", type="csrf|rollback")["query"]["tokens"]
        kind = "rollbacktoken" if action == "rollback" else "csrftoken"
        answer = self.session.post(
            self.api,
            data={"action": action, "format": "json", "formatversion": "2", "token": token[kind], **data},
            timeout=60,
        ).json()
        assert "error" not in answer, answer
        return answer

    def get(self, **query):
        return self.session.get(self.api, params={"format": "json", "formatversion": "2", **query}, timeout=60).json()

    def edit(self, title, text, **more):
        """Save a text; returns the number of the revision."""
        return self.post("edit", title=title, text=text, **more)["edit"]["newrevid"]


def client(wiki, name):
    made = Client(wiki.api, requests.Session(), name)
    common = {"format": "json", "username": name, "password": wiki.password}
    if name != "Admin":
        token = made.get(action="query", meta="tokens", type="createaccount")["query"]["tokens"]
        data = {"action": "createaccount", "retype": wiki.password, "createreturnurl": wiki.api,
                "createtoken": token["createaccounttoken"]}  # fmt: skip
        made.session.post(wiki.api, data=common | data, timeout=60)
    token = made.get(action="query", meta="tokens", type="login")["query"]["tokens"]["logintoken"]
    data = {"action": "clientlogin", "loginreturnurl": wiki.api, "logintoken": token}
    answer = made.session.post(wiki.api, data=common | data, timeout=60).json()
    assert answer["clientlogin"]["status"] == "PASS", answer
    return made


@pytest.fixture(scope="session")
def mediawiki(shared_data, needed, tmp_path_factory):
    """A MediaWiki with three imported histories, stopped at the end."""
    needed(is_ready(), "MediaWiki with PHP (tests/mediawiki/up.sh prepare)")
    memory = Path("/dev/shm")
    place = memory if os.access(memory, os.W_OK) else tmp_path_factory.getbasetemp()
    histories = _histories(shared_data / "wikipedia", tmp_path_factory.mktemp("histories"))
    with (
        TemporaryDirectory(prefix="hellofresh-mediawiki-", dir=place) as folder,
        served_wiki(Path(folder), histories) as wiki,
    ):
        yield wiki


def _histories(source, folder):
    """The real histories as plain XML, the longest one cut."""
    openers = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
    names = {
        "amen_49revs.xml.gz": None,
        "rio_grande_247revs.xml.xz": None,
        "anarchism_2008_1000revs.xml.xz": FIRST_REVISIONS,
    }
    for name, most in names.items():
        with openers[Path(name).suffix](source / name, "rt", encoding="utf-8") as file:
            raw = file.read()
        if most is not None:
            head = raw.split("</revision>", most)[:most]
            raw = "</revision>".join(head) + "</revision></page></mediawiki>\n"
        path = folder / name.partition(".")[0]
        path.write_text(raw, encoding="utf-8")
        yield path


@pytest.fixture(scope="session")
def dump(mediawiki):
    return mediawiki.dump()


@pytest.fixture(scope="session")
def quarters(dump):
    """The quarters in which most was edited."""
    pages = (page for page in read_pages(dump) if page.title in PAGES)
    counts = Counter(Quarter.containing(revision.timestamp) for page in pages for revision in page.revisions)
    return [quarter for quarter, _ in counts.most_common(6)]


@pytest.fixture
def live(mediawiki, tmp_path):
    def collect_by_api(quarter, settings=None, titles=PAGES, folder=tmp_path / "api", refresh=False, **sampling):
        source = LiveSource(
            api=mediawiki.api, contact=CONTACT, titles=titles, sampling=EditSampling(**sampling), per_minute=6000
        )
        return collect_live(
            quarter, source, settings or EditsSettings(), folder=folder, refresh=refresh, progress=lambda _: None
        )

    return collect_by_api


def by_id(collection):
    return {candidate.sample.id: candidate for candidate in collection.candidates}


def unnamed(found):
    return {key: replace(one, sample=replace(one.sample, lineage=())) for key, one in found.items()}


@pytest.mark.parametrize("collapse", [False, True])
def test_both_routes_give_the_same_candidates_item_by_item(mediawiki, dump, quarters, live, collapse):
    settings = EditsSettings(collapse_runs=collapse, min_changed_characters=20)
    labels = set()
    for quarter in quarters:
        by_api, by_dump = live(quarter, settings), collect(quarter, [dump], settings)
        assert by_id(by_api) == by_id(by_dump)
        assert dropped(by_api) == dropped(by_dump)
        labels |= {(c.sample.article, c.label.label) for c in by_api.candidates}
    assert labels >= {("Rio Grande", 0), ("Rio Grande", 1), ("Anarchism", 0), ("Anarchism", 1)}


@pytest.mark.parametrize("lookback", [3, 49, 600])
def test_old_texts_of_whole_pages_are_known_by_their_hashes_alone(mediawiki, dump, tmp_path, lookback):
    seen = set()
    with WikiAnswers(tmp_path / "a.sqlite") as answers, PoliteSession(CONTACT, WikiLimits(per_minute=6000)) as session:
        site = WikiSite(mediawiki.api, session, answers)
        for page in read_pages(dump):
            history = sorted(page.revisions, key=lambda r: (r.timestamp, r.id))
            if page.title not in PAGES:
                continue
            for place in range(0, len(history), max(1, len(history) // 15)):
                revision = history[place]
                old = any(revision.text == other.text for other in history[max(0, place - lookback) : place])
                assert site.gives_old_text(page.id, revision.id, lookback=lookback) is old
                seen.add(old)
        assert not site.gives_old_text(1, 10**9, lookback=lookback)
    assert seen == {True, False}


def test_drawn_edits_have_the_fate_that_the_whole_history_gives_them(mediawiki, dump, live):
    quarter, settings = Quarter(2008, 1), EditsSettings(min_changed_characters=0, kinds=tuple(Kind), keep_restored=True)
    whole = by_id(collect(quarter, [dump], settings))
    rejected = [c.sample.revision.id for c in whole.values() if c.label.label == 0]
    mediawiki.tag_reverted(rejected)
    seen = {}
    for seed in range(12):
        found = live(quarter, settings, titles=(), window_minutes=100 * 24 * 60, per_window=2, seed=str(seed))
        # Names of lineages begin where the reading of a history began, which is later for drawn edits.
        assert all(candidate.sample.lineage for candidate in found.candidates)
        assert unnamed(by_id(found)).items() <= unnamed(whole).items()
        assert 0 < found.funnel.context["pages"] <= len(PAGES)
        seen.update({id_: candidate.label.label for id_, candidate in by_id(found).items()})
    assert set(seen.values()) == {0, 1}


def test_a_stopped_run_goes_on_without_asking_again(mediawiki, live, monkeypatch, tmp_path):
    quarter = Quarter(2008, 1)
    expected = live(quarter, folder=tmp_path / "straight")
    sent = []
    real = PoliteSession._once

    def dying(self, *arguments):
        if len(sent) == 5:
            raise KeyboardInterrupt
        sent.append(arguments)
        return real(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(PoliteSession, "_once", dying)
        with pytest.raises(KeyboardInterrupt):
            live(quarter)
    monkeypatch.setattr(PoliteSession, "_once", lambda *a: (sent.append(a[1:]), real(*a))[1])
    found = live(quarter)
    assert found == expected
    asked = [str(sorted(a[2]["params"].items())) for a in sent]
    assert len(asked) == len(set(asked))
    before = len(sent)
    assert live(quarter) == expected
    assert len(sent) == before


def test_a_title_that_is_not_there_is_named(live):
    with fails_with("unknown-page", "No such thing"):
        live(Quarter(2008, 1), titles=("Amen", "No such thing"))


def test_a_quarter_before_the_recent_changes_is_refused(live):
    refused("no-recent-changes", live, Quarter(1999, 1), titles=())


def test_the_command_collects_and_skips_what_is_done(mediawiki, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path))
    (tmp_path / "titles.txt").write_text("# articles\nRio_Grande\n\nAmen\n", encoding="utf-8")
    ask = ["collect", "wikipedia-edits", "--quarter", "2007Q1", "--json", "--api", mediawiki.api,
           "--contact", CONTACT, "--pages", str(tmp_path / "titles.txt")]  # fmt: skip
    assert main(ask) == 0
    assert main(ask) == 0
    kept = list((tmp_path / "raw" / "wikipedia-edits" / "2007Q1" / "api").glob("*.sqlite"))
    assert len(kept) == 1
    assert CONTACT.encode() not in (tmp_path / "candidates" / "wikipedia-edits" / "2007Q1.json").read_bytes()


@pytest.mark.slow
def test_a_command_that_is_killed_again_and_again_ends_with_the_same_files(mediawiki, tmp_path):
    def start(folder):
        ask = ["collect", "wikipedia-edits", "--quarter", "2007Q1", "--api", mediawiki.api, "--contact", CONTACT,
               "--pages", "Rio Grande", "Amen"]  # fmt: skip
        command = [sys.executable, "-c", f"from hellofresh.cli import main; raise SystemExit(main({ask!r}))"]
        return subprocess.Popen(command, env=os.environ | {"HELLOFRESH_DATA": str(folder)}, stderr=subprocess.DEVNULL)

    def asked(folder):
        kept = list((folder / "raw" / "wikipedia-edits").rglob("*.sqlite*"))
        return sum(path.stat().st_size for path in kept if path.exists())

    straight, killed = tmp_path / "straight", tmp_path / "killed"
    assert start(straight).wait(timeout=200) == 0
    whole, kills = asked(straight), 0
    for part in (0.2, 0.6):
        process = start(killed)
        deadline = time.monotonic() + 100
        while process.poll() is None and asked(killed) < part * whole and time.monotonic() < deadline:
            time.sleep(0.005)
        kills += process.poll() is None
        process.kill()
        process.wait()
    assert kills == 2
    assert start(killed).wait(timeout=200) == 0
    places = [folder / "candidates" / "wikipedia-edits" for folder in (straight, killed)]
    names = [sorted(path.name for path in place.iterdir() if path.is_file()) for place in places]
    assert names[0] == names[1] and names[0]
    for name in names[0]:
        assert (places[0] / name).read_bytes() == (places[1] / name).read_bytes()


# -- edits made just now ------------------------------------------------------------------------------------------

LEAD = "The mill stands on the river below the old bridge and was built in the year 1780."
SECOND = "Its wheel is driven by water that a weir of stone diverts from the river into a race."
GOOD = LEAD.replace("1780", "1780 by the monks of the abbey, who ground the corn of five villages there")
BAD = SECOND + " Everybody knows that the wheel was brought here from the Moon by merry giants."
WORSE = GOOD.replace("The mill", "The mill, by far the most wonderful one on the whole wide earth and beyond it,")


def article(lead=LEAD, second=SECOND, heading="Wheel", tail=""):
    return f"{lead}\n\n== {heading} ==\n\n{second}\n\n== End ==\n\n{tail or 'It is a museum now.'}"


@dataclass(frozen=True)
class Story:
    """Articles with what was done to them, and the numbers of the edits."""

    edits: dict[str, int]
    quarter: Quarter


@pytest.fixture(scope="session")
def story(mediawiki, dump):
    """Fresh edits of all sorts, after the dump of the imported histories was taken."""
    admin, anna, ben, cleo = (client(mediawiki, name) for name in ("Admin", "Anna", "Ben", "Cleo"))
    edits = {}

    def told(key, title, changed, then=lambda: None, *, later="", **after):
        cleo.edit(title, article())
        edits[key] = anna.edit(title, changed)
        then()
        for number in range(3):
            ben.edit(later or title, article(**after, tail=f"It is museum number {number}."))

    def undo():
        edits["the undo"] = ben.post("edit", title="Undone", undo=str(edits["undone"]))["edit"]["newrevid"]

    def hide(key, **more):
        admin.post("revisiondelete", type="revision", ids=str(edits[key]), hide="content|user", **more)

    bad, wheel = article(second=BAD), {"second": BAD, "heading": "Water wheel"}
    told("good", "Good", article(GOOD), lead=GOOD)
    told("undone", "Undone", bad, undo)
    told("rolled back", "Rolled back", bad, lambda: admin.post("rollback", title="Rolled back", user="Anna"))
    told("partly", "Partly", article(WORSE, BAD), lambda: ben.edit("Partly", article(WORSE, SECOND)), lead=WORSE)
    told("regretted", "Regretted", bad, lambda: anna.edit("Regretted", article()))
    told("renamed", "Renamed section", bad, lambda: ben.edit("Renamed section", article(**wheel)), **wheel)
    names = {"from": "Old name", "to": "New name", "reason": "x"}
    told("page moved", "Old name", article(GOOD), lambda: admin.post("move", **names), later="New name", lead=GOOD)
    told("hidden", "Hidden", bad, lambda: ben.edit("Hidden", article()))
    hide("hidden")
    told("suppressed", "Suppressed", bad, lambda: ben.edit("Suppressed", article()))
    hide("suppressed", suppress="yes")

    cleo.edit("Temporary", article())
    someone = client(mediawiki, "~2026-12345-67")  # as the wiki names somebody without an account
    edits["temporary"] = someone.edit("Temporary", bad)
    someone.edit("Temporary", article())
    for number in range(3):
        ben.edit("Temporary", article(tail=f"It is museum number {number}."))

    cleo.edit("Fresh", article())
    edits["too recent"] = anna.edit("Fresh", article(GOOD))
    mediawiki.run("jobs")
    moments = admin.get(action="query", prop="revisions", revids=str(edits["good"]), rvprop="timestamp")
    moment = datetime.fromisoformat(moments["query"]["pages"][0]["revisions"][0]["timestamp"]).astimezone(UTC)
    return Story(edits, Quarter.containing(moment))


TITLES = ("Good", "Undone", "Rolled back", "Partly", "Regretted", "Renamed section", "New name", "Hidden", "Suppressed",
          "Temporary", "Fresh")  # fmt: skip


def test_fresh_edits_meet_their_fates_by_either_route(mediawiki, story, live, tmp_path):
    by_api = live(story.quarter, titles=TITLES)
    by_dump = collect(story.quarter, [mediawiki.dump()], EditsSettings())
    assert by_id(by_api) == by_id(by_dump)
    assert dropped(by_api) == dropped(by_dump)
    e = story.edits
    labels = {id_: candidate.label.label for id_, candidate in by_id(by_api).items()}
    assert labels == {
        f"we-{e['good']}-1": 1,
        f"we-{e['undone']}-1": 0,
        f"we-{e['rolled back']}-1": 0,
        f"we-{e['partly']}-1": 1,
        f"we-{e['partly']}-2": 0,
        f"we-{e['page moved']}-1": 1,
    }
    found = dropped(by_api)
    assert found[Fate.SELF_REVERT] == 2  # one of them by a temporary account
    assert found[Fate.MOVED] == 1  # as a reader would say: it now stands under another heading
    assert found[Fate.TOO_RECENT] == 1
    assert found[Fate.HIDDEN_TEXT] == 4  # the hidden and the suppressed revision, and those made on them
    assert found[Fate.RESTORES_OLD_TEXT] == 5
    assert by_id(by_api)[f"we-{e['page moved']}-1"].sample.article == "New name"


def test_the_wiki_marks_what_was_reverted_and_the_draw_finds_it(mediawiki, story, live):
    whole = by_id(live(story.quarter, titles=TITLES))
    drawn = live(story.quarter, titles=(), window_minutes=60 * 24 * 100, per_window=100)
    found = by_id(drawn)
    assert found
    assert all(whole[id_] == candidate for id_, candidate in found.items())
    e = story.edits
    assert found[f"we-{e['undone']}-1"].label.label == 0
    assert found[f"we-{e['rolled back']}-1"].label.label == 0
    assert f"we-{e['the undo']}-1" not in found


def test_what_has_come_since_is_asked_for_on_demand(mediawiki, story, live):
    id_ = f"we-{story.edits['too recent']}-1"
    assert id_ not in by_id(live(story.quarter, titles=("Fresh", "Good")))
    ben = client(mediawiki, "Ben")
    for number in range(3):
        ben.edit("Fresh", article(GOOD, tail=f"It is a museum in its year {number}."))
    assert id_ not in by_id(live(story.quarter, titles=("Fresh", "Good")))
    assert id_ in by_id(live(story.quarter, titles=("Fresh", "Good"), refresh=True))


def test_what_was_deleted_since_is_gone_or_decided_by_what_was_kept(mediawiki, story, live, tmp_path):
    admin = client(mediawiki, "Admin")
    edits = [admin.edit("Doomed", article(lead)) for lead in (LEAD, GOOD)]
    id_ = admin.get(action="query", titles="Doomed")["query"]["pages"][0]["pageid"]
    first = live(story.quarter, titles=("Doomed", "Good"))
    admin.post("delete", title="Doomed")
    assert live(story.quarter, titles=("Doomed", "Good")) == first
    with WikiAnswers(tmp_path / "a.sqlite") as answers, PoliteSession(CONTACT) as session:
        site = WikiSite(mediawiki.api, session, answers)
        assert site.page(id_) is None
        assert site.page(id_, around=edits[1]) is None


def test_what_was_drawn_in_time_stays_drawn_when_the_wiki_forgets(mediawiki, story, live):
    draw = {"titles": (), "window_minutes": 14 * 24 * 60}
    first = live(Quarter(2008, 1), **draw)
    with mediawiki.database() as db, db:
        db.execute("DELETE FROM recentchanges")
    again = live(Quarter(2008, 1), refresh=True, **draw)
    assert first.funnel.rows_in
    assert (again.funnel, by_id(again)) == (first.funnel, by_id(first))
    assert (len(first.warnings), len(again.warnings)) == (0, 1)
    refused("no-recent-changes", live, Quarter(2008, 2), **draw)


# -- one whole day ------------------------------------------------------------------------------------------------

ASK = """
from pathlib import Path
from collectors.settings import EditsSettings
from collectors.wikipedia.live import collect_live
from collectors.wikipedia.source import EditSampling, LiveSource
from hellofresh.core.quarters import Quarter
source = LiveSource(api={api!r}, contact="tests@example.org", per_minute=6000,
                    sampling=EditSampling(pages=400, window_minutes=60, per_window=200))
collect_live(Quarter({year}, {number}), source, EditsSettings(), folder=Path({folder!r}), refresh=True,
             progress=lambda _: None)
"""


class PlayedDay:
    """A wiki on which people write, and those who clean up move, delete and suppress, hour by hour.

    What is good is left alone, and what is bad mostly reverted, after which others go on elsewhere in the article.
    """

    def __init__(self, wiki, draw):
        self.draw, self.done, self.due = draw, Counter(), []
        self.titles, self.parts = {}, {}  # by number of the page
        names = ("Admin", "Dora", "Emil", "~2026-77777-1", "~2026-77777-2")
        self.admin, *self.people = (client(wiki, name) for name in names)

    def hour(self):
        drawn = self.draw.choices(
            ("good", "vandal", "move", "space", "hide", "delete"), (6, 6, 0.7, 0.4, 0.7, 0.4), k=4
        )
        due, self.due = self.due[:14], self.due[14:]
        for kind, page, *more in [("new", len(self.parts)), *due, *((kind, None) for kind in drawn)]:
            number = self.draw.choice(sorted(self.titles)) if page is None else page
            if kind == "new" or number in self.titles:
                getattr(self, kind)(number, *more)
                self.done[kind] += 1

    def save(self, page, who, **parts):
        self.parts[page] = {**self.parts.get(page, {}), **parts}
        who.edit(self.titles[page], article(**self.parts[page]))

    def new(self, page):
        self.titles[page] = f"Day {page}"
        self.save(page, self.admin, lead=f"{LEAD} This is mill {page}.")

    def good(self, page):
        written = (
            f" In year {self.done['good']} the monks of the abbey ground the corn of {self.done['good']} villages."
        )
        self.save(page, self.draw.choice(self.people), lead=self.parts[page]["lead"] + written)
        self.due += [("tail", page)] * 3

    def vandal(self, page):
        who, lead = self.draw.choice(self.people), self.parts[page]["lead"]
        claim = f" Everybody knows that giants built it {self.done['vandal']} thousand years ago, on the Moon."
        self.save(page, who, lead=lead + claim)
        self.due += [("revert", page, who, lead), *[("tail", page)] * 3]

    def revert(self, page, who, lead):
        self.save(page, next(one for one in (self.admin, *self.people) if one is not who), lead=lead)

    def tail(self, page):
        self.save(page, self.draw.choice(self.people), tail=f"It is museum number {self.done['tail']}.")

    def move(self, page, to=""):
        new = to or f"{self.titles[page]} moved"
        self.admin.post("move", **{"from": self.titles[page], "to": new, "reason": "x", "noredirect": "1"})
        self.titles[page] = new

    def space(self, page):
        title = self.titles[page]
        self.move(page, title.removeprefix("Project:") if title.startswith("Project:") else f"Project:{title}")

    def hide(self, page):
        query = {"action": "query", "prop": "revisions", "rvprop": "ids", "rvlimit": "4"}
        ids = [
            one["revid"] for one in self.admin.get(titles=self.titles[page], **query)["query"]["pages"][0]["revisions"]
        ]
        if ids[1:]:
            self.admin.post("revisiondelete", type="revision", ids=str(self.draw.choice(ids[1:])), hide="content|user",
                            suppress=self.draw.choice(["yes", "no"]))  # fmt: skip

    def delete(self, page):
        self.admin.post("delete", title=self.titles.pop(page))


@pytest.mark.slow
def test_a_played_day_with_kills_gives_what_the_dump_of_its_end_gives(needed, tmp_path):
    needed(is_ready(), "MediaWiki with PHP (tests/mediawiki/up.sh prepare)")
    draw, kills = random.Random(24), 0
    (tmp_path / "wiki").mkdir()
    with served_wiki(tmp_path / "wiki", []) as wiki:
        day, quarter, folder = PlayedDay(wiki, draw), Quarter.containing(datetime.now(UTC)), tmp_path / "killed"
        ask = ASK.format(api=wiki.api, year=quarter.year, number=quarter.number, folder=str(folder))
        for hour in range(24):
            day.hour()
            wiki.run("jobs")
            if hour % 4 == 3:
                process = subprocess.Popen([sys.executable, "-c", ask], stderr=subprocess.DEVNULL)
                before = sum(path.stat().st_size for path in folder.glob("*.sqlite*"))
                grown = before + draw.randint(0, 60_000)
                deadline = time.monotonic() + 60
                while process.poll() is None and time.monotonic() < deadline:
                    if sum(path.stat().st_size for path in folder.glob("*.sqlite*")) > grown:
                        break
                    time.sleep(0.01)
                kills += process.poll() is None
                process.kill()
                process.wait()
        sampling = EditSampling(pages=400, window_minutes=60, per_window=200)
        source = LiveSource(api=wiki.api, contact=CONTACT, sampling=sampling, per_minute=6000)
        run = partial(collect_live, quarter, source, EditsSettings(), refresh=True, progress=lambda _: None)
        found, fresh = run(folder=folder), run(folder=tmp_path / "fresh")
        whole = by_id(collect(quarter, [wiki.dump()], EditsSettings()))
    assert kills and all(day.done[kind] for kind in ("move", "space", "hide", "delete", "revert", "good"))
    assert by_id(found) == by_id(fresh) and dropped(found) == dropped(fresh)
    labels = {candidate.label.label for candidate in found.candidates}
    assert labels == {0, 1} and unnamed(by_id(found)).items() <= unnamed(whole).items()
