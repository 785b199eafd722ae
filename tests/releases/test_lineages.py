"""No public text shows what became of an edit, a note or a claim: an attacker who looks for its words stays at chance.

The worlds are histories of articles whose paragraphs go on from edit to edit and quarter to quarter, with reverts,
moves, rewrites, second tries and hidden revisions. They are collected and released as a maintainer does it.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from math import comb
from pathlib import Path

import pytest

from collectors.jobs import bundled_jobs
from collectors.wikipedia.collect import collect as collect_edits
from collectors.wikipedia.stability import EditsSettings
from hellofresh.core.errors import ReleaseError
from hellofresh.core.files import read_json, read_jsonl
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.releases import exposure
from hellofresh.releases.collection import CollectionJob, collect_quarter, read_candidates
from hellofresh.releases.draw.prospective import build_prospective
from hellofresh.releases.draw.release import build_release
from hellofresh.releases.exposure import places
from hellofresh.tasks import get_task
from hellofresh.tasks.samples import PROSPECTIVE, Candidate
from hellofresh.tasks.wikipedia_edits import license_of
from tests.conftest import Maker
from tests.fakes import collect
from tests.releases.test_exposure import claim, noted_post

EDITS = get_task("wikipedia-edits")
FIRST, SECOND = Quarter(2023, 2), Quarter(2023, 3)
WEEKS = timedelta(days=21)
Row = Mapping[str, object]


@dataclass
class PlayedArticle:
    """An article that people edit: each paragraph is a list of sentences."""

    choose: random.Random
    page: int
    lines: list[str] = field(default_factory=list)
    paragraphs: list[list[str]] = field(default_factory=list)
    tries: list[tuple[int, str]] = field(default_factory=list)
    words: int = 0

    def sentence(self) -> str:
        """Of words that stand nowhere else."""
        self.words += 1
        return " ".join(f"p{self.page}s{self.words}w{k}" for k in range(self.choose.choice((4, 9, 14)))) + " said so."

    def save(self, moment: str, user: str, *, hidden: bool = False) -> None:
        """A revision of the article as it is now."""
        text = "\n\n".join(f"== S{n} ==\n{' '.join(p)}" for n, p in enumerate(self.paragraphs))
        body = "<text bytes='0' deleted='deleted' />" if hidden else f"<text>{text}</text>"
        number = self.page * 1000 + len(self.lines) + 1
        self.lines.append(
            f"<revision><id>{number}</id><timestamp>{moment}</timestamp><contributor><username>{user}</username>"
            f"</contributor>{body}</revision>"
        )

    def edit(self, at: int) -> None:
        """One of the things that people do to a paragraph."""
        old, what = self.paragraphs[at], self.choose.random()
        place = self.choose.randrange(len(old))
        again = [text for where, text in self.tries if where == at and text not in old]
        if again and what < 0.1:
            new = [*old, self.choose.choice(again)]
        elif what < 0.55:
            new = [*old[:place], self.sentence(), *old[place:]]
        elif what < 0.75 or len(old) < 3:
            new = [*old[:place], self.sentence(), *old[place + 1 :]]
        elif what < 0.9:
            new = [*old[:place], *old[place + 1 :]]
        else:
            new = [self.sentence() for _ in old]
        self.tries += [(at, text) for text in new if text not in old]
        self.paragraphs[at] = new

    def play(self, moments: Sequence[str]) -> None:
        """Edits, each kept or taken back; now and then a paragraph moves, or a revision is hidden."""
        self.paragraphs = [[self.sentence() for _ in range(4)] for _ in range(4)]
        self.save(moments[0], "Begin")
        later = iter(moments[1:])
        for turn, moment in enumerate(later):
            at, before = self.choose.randrange(4), [list(p) for p in self.paragraphs]
            self.edit(at)
            self.save(moment, f"A{turn}")
            if self.choose.random() < 0.5 and (moment := next(later, "")):
                self.paragraphs = before
                self.save(moment, f"B{turn}")
            for wait in range(2):  # something else happens, so that the edit is decided
                if not (moment := next(later, "")):
                    return
                other = (at + 1 + wait) % 4
                self.paragraphs[other] = [*self.paragraphs[other], f"x{turn}y{wait}."]
                self.save(moment, f"C{turn}", hidden=wait == 1 and self.choose.random() < 0.05)
            if self.choose.random() < 0.2 and (moment := next(later, "")):
                self.choose.shuffle(self.paragraphs)
                self.save(moment, f"D{turn}")


def export(path: Path, articles: Iterable[PlayedArticle], until: str) -> Path:
    pages = "".join(
        f"<page><title>Page {one.page}</title><ns>0</ns><id>{one.page}</id>"
        + "".join(line for line in one.lines if re.search("<timestamp>(.*?)<", line)[1] < until)  # type: ignore[index]
        + "</page>"
        for one in articles
    )
    info = "<siteinfo><base>https://simple.wikipedia.org/wiki/Main_Page</base></siteinfo>"
    path.write_text(f'<mediawiki version="0.11">{info}{pages}</mediawiki>', encoding="utf-8")
    return path


def played(choose: random.Random, count: int = 6, revisions: int = 40) -> list[PlayedArticle]:
    start, length = FIRST.end - WEEKS, 2 * WEEKS / revisions
    articles = [PlayedArticle(choose, page) for page in range(1, count + 1)]
    for one in articles:
        moments = sorted(start + length * (n + choose.random() * 0.9) for n in range(revisions))
        one.play([f"{moment:%Y-%m-%dT%H:%M:%SZ}" for moment in moments])
    return articles


def release_edits(folder: Path, seed: int) -> tuple[list[Row], dict[str, int]]:
    """Two quarters and a prospective split of a played wiki, in some order; all public rows, and the true labels."""
    folder.mkdir()
    choose, workspace = random.Random(seed), Workspace(folder / "data")
    articles, moment = played(choose), FIRST.end - WEEKS / 2

    def found(quarter: Quarter, *, until: str, pending: bool) -> None:
        path = export(folder / f"{quarter}-{pending}.xml", articles, until)
        settings = EditsSettings(keep_restored=choose.random() < 0.3)
        job = CollectionJob(
            EDITS, quarter, "dump", (), {"until": until},
            lambda _: collect_edits(quarter, [path], settings, pending=pending),
        )  # fmt: skip
        collect_quarter(workspace, job, progress=lambda _: None, force=True)

    def forecast() -> None:
        found(FIRST, until=f"{moment:%Y-%m-%d}", pending=True)
        build_prospective(workspace, FIRST, EDITS, seed="s", cap=5, days=5, moment=moment)

    def main(quarter: Quarter) -> Callable[[], None]:
        def build() -> None:
            found(quarter, until="9", pending=False)
            build_release(workspace, quarter, EDITS, seed="s", cap=30, moment=quarter.end)

        return build

    steps = [forecast, main(FIRST), main(SECOND)]
    choose.shuffle(steps)
    for step in steps:
        try:
            step()
        except ReleaseError as error:
            assert error.code in {"empty-release", "no-pending"}, error
    truth = {}
    for quarter in (FIRST, SECOND):
        found(quarter, until="9", pending=False)
        truth |= {c.label.id: c.label.label for c in read_candidates(workspace.candidates(EDITS.name, quarter), EDITS)}
    return public_rows(workspace), truth


def public_rows(workspace: Workspace) -> list[Row]:
    return [row for place in places(workspace) for row in read_jsonl(workspace.release(*place) / "samples.jsonl")]


def spans(text: object, least: int = 3) -> list[str]:
    """The spans of changed words that are long enough to be looked for, without punctuation."""
    found = (" ".join(re.findall(r"\w+", part.casefold())) for part in str(text).split(" [...] "))
    return [part for part in found if len(part.split()) >= least]


def guesses(rows: Sequence[Row], truth: Mapping[str, int]) -> Iterator[tuple[int, int]]:
    """The attacker's guess of each edit and its label, where a public text shows something.

    Added words that stand in a later paragraph of anybody's sample say that the edit stayed, deleted ones that it was
    taken back (words that this very sample takes out say nothing). Else an edit of another split that put in or took
    out the same words, its label public by then, says the same of this one.
    """
    shown = [f" {' '.join(spans(row['paragraph'], 1))} " for row in rows]
    gone = [f" {' '.join(spans(row['deleted'], 1))} " for row in rows]
    in_order = sorted(zip(rows, shown, gone, strict=True), key=lambda found: str(found[0]["date"]))
    changed = [{*spans(row["added"]), *spans(row["deleted"])} for row in rows]
    for place, row in enumerate(rows):
        if row["id"] not in truth:
            continue
        added, deleted = ([f" {words} " for words in spans(row[name])] for name in ("added", "deleted"))
        shows = (
            sum(words in text for words in added if words not in gone) - sum(words in text for words in deleted)
            for other, text, gone in in_order
            if str(other["date"]) > str(row["date"])
        )
        score = next(filter(None, shows), 0)
        if not score:
            same = [
                other for other, own in zip(rows, changed, strict=True) if own & changed[place] and other is not row
            ]
            score = sum(
                2 * truth[str(o["id"])] - 1 for o in same if o["id"] in truth and o["edition"] != row["edition"]
            )
        if score:
            yield int(score > 0), truth[str(row["id"])]


def chance(found: Sequence[tuple[int, int]]) -> float:
    """How often guesses at random are right as many times, or more."""
    right = sum(guess == label for guess, label in found)
    return sum(comb(len(found), k) for k in range(right, len(found) + 1)) / 2 ** len(found)


def attacked(folder: Path, seeds: Iterable[int]) -> tuple[list[tuple[int, int]], int]:
    """The guesses in some worlds, and how many samples were public in them."""
    found, samples = list[tuple[int, int]](), 0
    for seed in seeds:
        rows, truth = release_edits(folder / "world", seed)
        found += guesses(rows, truth)
        samples += len(rows)
        names = [name for row in rows for name in row["lineage"]]  # type: ignore[attr-defined]
        assert len(names) == len(set(names)), seed
        shutil.rmtree(folder / "world")
    return found, samples


def test_who_looks_for_an_edits_words_in_all_that_is_public_stays_at_chance(tmp_path: Path) -> None:
    found, samples = attacked(tmp_path, range(6))
    assert samples > 60
    assert len(found) < samples / 20 or chance(found) > 0.001, (len(found), samples)


def test_the_attacker_knows_most_labels_where_lineages_are_not_kept_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exposure, "marks", lambda *_: frozenset())
    found = [pair for seed in range(4) for pair in guesses(*release_edits(tmp_path / str(seed), seed))]
    assert len(found) > 20 and chance(found) < 1e-4, sum(guess == label for guess, label in found)


@pytest.mark.soak
@pytest.mark.timeout(14400)
@pytest.mark.parametrize("thousand", range(10))
def test_in_ten_thousand_worlds_the_attacker_stays_at_chance(tmp_path: Path, thousand: int) -> None:
    count = int(os.environ.get("HELLOFRESH_WORLDS", "1000"))
    found, samples = attacked(tmp_path, range(1000 * thousand, 1000 * thousand + count))
    print(f"{count} worlds, {samples} samples, {len(found)} guesses, {sum(g == label for g, label in found)} right")
    assert chance(found) > 0.0001


def release_quotes(make: Maker, seed: int) -> tuple[list[Row], dict[str, int]]:
    """Two quarters of notes that quote each other, posts and claims, all about the same things with one fate each."""
    choose, workspace, truth = random.Random(seed), make.workspace(f"quotes {seed}"), dict[str, int]()
    fates = [choose.random() < 0.5 for _ in range(60)]
    said = {thing: [f"t{thing}a{k} t{thing}b{k} t{thing}c{k} t{thing}d{k}" for k in range(4)] for thing in range(60)}
    for place, quarter in enumerate((FIRST, SECOND)):
        day, things = quarter.start + timedelta(days=2), choose.sample(range(60), 30)
        found: dict[str, list[Candidate]] = {"x-notes": [], "x-posts": [], "claims": []}
        for number, thing in enumerate(things * 2):
            key, text = 1000 * place + number, " and ".join(choose.sample(said[thing], 3))
            note = make.note(key + 1, date=day, post=thing, text=text)
            found["x-notes"].append(make.candidate(note, int(fates[thing])))
            if number < len(things):
                found["claims"].append(
                    claim(f"{key}", f"{' '.join(said[thing])} in {quarter}", quarter, 2 * fates[thing], f"claim {key}")
                )
        for k in range(12):
            found["claims"].append(claim(f"z{place}{k}", f"z{place}{k} is as much as {k + 7}", quarter, 1))
        posts = [*things, *(100 * place + thing for thing in range(100, 105))]
        found["x-posts"] = [noted_post(1000 * place + post, quarter, post) for post in posts]
        for task, candidates in found.items():
            collect(workspace, quarter, task, candidates, [])
            build_release(workspace, quarter, get_task(task), seed="s", cap=40, moment=quarter.end)
            truth |= {item.label.id: item.label.label for item in candidates if task != "x-posts"}
    return public_rows(workspace), truth


def quoted(rows: Sequence[Row], truth: Mapping[str, int]) -> Iterator[tuple[int, int]]:
    """The guess that a row of the second quarter has the label of the one of the first with most words in common."""
    words = {str(row["id"]): set(re.findall(r"t\d+[a-d]\d", str(row))) for row in rows if row["id"] in truth}
    first = [key for key in words if any(row["id"] == key and row["edition"] == str(FIRST) for row in rows)]
    for key in words.keys() - set(first):
        near = max(first, key=lambda other: (key[:2] == other[:2]) * len(words[key] & words[other]))
        if key[:2] == near[:2] and words[key] & words[near]:
            yield int(truth[near] > 0), int(truth[key] > 0)


@pytest.mark.parametrize("kept_apart", [True, False])
def test_notes_that_quote_each_other_posts_and_claims_tell_nothing_from_one_quarter_to_the_next(
    make: Maker, monkeypatch: pytest.MonkeyPatch, kept_apart: bool
) -> None:
    if not kept_apart:
        monkeypatch.setattr(exposure._Exposed, "all_of", lambda _: [])
    found = [pair for seed in range(3) for pair in quoted(*release_quotes(make, seed))]
    assert chance(found) > 0.001 if kept_apart else len(found) > 12 and chance(found) < 1e-3, found


def test_the_bundled_sample_does_not_tell_its_labels(make: Maker) -> None:
    workspace, truth = make.workspace(), dict[str, int]()
    for job in bundled_jobs(workspace):
        if job.task == EDITS:
            collect_quarter(workspace, job, progress=lambda _: None)
            built = build_release(workspace, job.quarter, EDITS, seed="hellofresh", cap=EDITS.cap)
            assert built.samples >= 80
            labels = read_jsonl(workspace.private(job.quarter, EDITS.name) / "labels.jsonl")
            truth |= {str(row["id"]): int(str(row["label"])) for row in labels}
    rows = public_rows(workspace)
    found = list(guesses(rows, truth))
    assert len(found) < len(rows) / 20 and chance(found) > 0.01, found
    assert len({str(row["group"]) for row in rows}) == 40
    # An edit from whose revision the next one begins was not taken back at once: parents told 9 of 10 labels.
    revisions = {str(row["revision"]["id"]) for row in rows}  # type: ignore[call-overload]
    named = [set(re.findall(r"\d+", json.dumps(row))) & revisions for row in rows]
    assert [*map(len, named)] == [1] * len(rows)


def test_what_a_lineage_leaves_out_is_counted_and_does_not_depend_on_labels(make: Maker) -> None:
    edits = [
        replace(make.edit(n, page=n, added=f"river {n}"), lineage=(f"{n // 3}", f"x{n % 2}x{n // 3}"))
        for n in range(24)
    ]
    drawn = []
    for name, turned in (("one", 0), ("two", 1)):
        workspace = make.workspace(name)
        make.release([make.candidate(edit, (n + turned) % 2) for n, edit in enumerate(edits)], workspace=workspace)
        manifest = read_json(workspace.release(FIRST, EDITS.name) / "manifest.json")
        (drop,) = [drop for drop in manifest["collection"]["funnel"]["drops"] if drop["reason"] == "lineage"]
        assert (drop["count"], manifest["collection"]["funnel"]["kept"]) == (16, {"2023-W14": {"-1": 8}})
        drawn.append(exposure.repeated(EDITS, edits, "key"))
    assert drawn[0] == drawn[1] and len(drawn[0]) == 16
    assert exposure.repeated(EDITS, edits, "other") != drawn[0]
    # The next quarter leaves out what this one has.
    later = [replace(edit, id=f"we-9{n}-0", edition=str(SECOND), added=f"lake {n}") for n, edit in enumerate(edits)]
    free = [replace(make.edit(700 + n, page=n), id=f"we-8{n}-0", edition=str(SECOND)) for n in range(4)]
    found = [make.candidate(edit, n % 2) for n, edit in enumerate([*later, *free])]
    built = make.release(found, quarter=SECOND, workspace=workspace)
    assert built.left_out > 0 and built.samples > 0
    names = [name for row in public_rows(workspace) for name in row["lineage"]]  # type: ignore[attr-defined]
    assert len(names) == len(set(names))


def test_undecided_edits_of_one_lineage_are_drawn_once(make: Maker) -> None:
    edits = [replace(make.edit(n, page=n, added=f"river {n}"), lineage=(f"{n // 2}",)) for n in range(8)]
    collect(make.workspace(), FIRST, EDITS.name, [], list(edits))
    build_prospective(make.workspace(), FIRST, EDITS, seed="s", cap=9, days=5, moment=FIRST.start + WEEKS)
    folder = make.workspace().release(FIRST, EDITS.name, PROSPECTIVE)
    assert len({row["lineage"][0] for row in read_jsonl(folder / "samples.jsonl")}) == 4  # type: ignore[index]
    assert read_json(folder / "manifest.json")["prospective"]["lineage"] == 4
    assert not (make.workspace().private(FIRST, EDITS.name, PROSPECTIVE) / "samples.jsonl").exists()  # texts are public


@pytest.mark.parametrize(
    ("host", "moment", "expected"),
    [
        ("simple.wikipedia.org", "2023-06-07", "CC-BY-SA-4.0"),
        ("en.wikipedia.org", "2023-06-06", "CC-BY-SA-3.0"),
        ("en.wikipedia.org", "2009-06-14", "GFDL-1.2-or-later"),
        ("notwikipedia.org", "2024-01-01", "LicenseRef-not-stated"),
        ("", "2024-01-01", "LicenseRef-not-stated"),
    ],
)
def test_the_licence_goes_by_wiki_and_date(host: str, moment: str, expected: str) -> None:
    assert license_of(host, datetime.fromisoformat(f"{moment}T12:00:00+00:00")) == expected


@pytest.mark.parametrize("host", ["simple.wikipedia.org", "", "wiki.example"])
def test_pages_link_the_edit_in_its_own_wiki(make: Maker, host: str) -> None:
    link = EDITS.page_of(replace(make.edit(9), host=host)).link
    assert link == ("https://simple.wikipedia.org/wiki/Special:Diff/9" if host.startswith("simple") else "")
