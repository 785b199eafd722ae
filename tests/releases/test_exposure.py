"""No group is in two splits, over all tasks, editions and splits; what would tell of an open label waits."""

from __future__ import annotations

import os
import random
import shutil
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hellofresh.core.calendar import CalendarRule
from hellofresh.core.editions import Frozen
from hellofresh.core.errors import HelloFreshError, ReleaseError
from hellofresh.core.files import read_json, read_jsonl, sha256_text
from hellofresh.core.parquet import Table
from hellofresh.core.quarters import PeriodKind, Quarter, utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.releases.candidates import Collection
from hellofresh.releases.draw.duplicates import shingle_hashes
from hellofresh.releases.draw.frozen import DatasetSource, freeze
from hellofresh.releases.draw.prospective import (
    ResolutionReport,
    build_prospective,
    prospective_outcomes,
    resolve,
)
from hellofresh.releases.draw.release import build_release
from hellofresh.releases.exposure import ExposedLabel, _texts, marks, places, repeated, waits
from hellofresh.releases.life.manifest import BUNDLED, calendar_of, read_manifest
from hellofresh.releases.life.record import record_opening
from hellofresh.releases.life.state import reveal, state_of
from hellofresh.releases.life.takedown import take_down
from hellofresh.tasks import Statement, get_task
from hellofresh.tasks.corrections import NotedPost
from hellofresh.tasks.samples import MAIN, PROSPECTIVE, Candidate, Label, Sample, Split, common_fields
from hellofresh.tasks.x_notes import IllustratedNote, Note, Post
from tests.conftest import Maker
from tests.fakes import collect

FIRST, SECOND = Quarter(2023, 2), Quarter(2023, 3)
DAY = timedelta(days=1)


def made(quarter: Quarter) -> datetime:
    return quarter.start + 2 * DAY


def candidate(sample: Sample, label: int = 0) -> Candidate:
    """With facts that a release of its task can hold."""
    task = get_task(sample.task)
    facts = dict.fromkeys(task.label_facts)
    return Candidate(sample, Label(sample.id, label, facts | ({"chosen_by": "status"} if "chosen_by" in facts else {})))


def noted_post(number: int, quarter: Quarter, post: int | None = None) -> Candidate:
    """A post with two notes, which is in the group of notes on it."""
    name = str(number if post is None else post)
    sample = NotedPost(
        id=f"xp-{number}", task="x-posts", edition=str(quarter), period=PeriodKind.MONTH.of(made(quarter)),
        date=made(quarter), group=f"x-{name}", license="LicenseRef-X-content",
        post=Post(name, made(quarter), f"Post {name}."), media=(), modality="unimodal",
    )  # fmt: skip
    return candidate(sample)


def claim(name: str, text: str, quarter: Quarter, label: int = 0, group: str = "") -> Candidate:
    sample = Statement(
        id=f"cl-{name}", task="claims", edition=str(quarter), period=PeriodKind.MONTH.of(made(quarter)),
        date=made(quarter), group=group or f"claim {name}", license="CC-BY-4.0", statement=text, language="en",
        speaker="", context="",
    )  # fmt: skip
    return candidate(sample, label)


def notes(make: Maker, quarter: Quarter, numbers: range, first: int = 0) -> list[Candidate]:
    return [make.candidate(make.note(first + n, date=made(quarter), post=n), n % 2) for n in numbers]


def groups(make: Maker, quarter: Quarter, task: str, split: Split = MAIN) -> set[object]:
    path = make.workspace().release(quarter, task, split) / "samples.jsonl"
    return {row["group"] for row in read_jsonl(path)} if path.is_file() else set()


def forecast(workspace: Workspace, quarter: Quarter, pending: list[Sample], moment: datetime) -> None:
    task = get_task(pending[0].task)
    collect(workspace, quarter, task.name, [], pending)
    build_prospective(workspace, quarter, task, seed="s", cap=50, days=5, moment=moment)


def test_places_stand_in_the_order_of_splits_editions_and_tasks(make: Maker) -> None:
    root, manifest = make.workspace().root / "releases", "manifest.json"
    for name in ("2023Q2/x-notes", "2023Q2/x-notes/prospective", "2023Q2/claims", "2022Q4/x-notes", "liar@6/liar"):
        (root / name).mkdir(parents=True)
        (root / name / manifest).touch()
    for other in ("2023Q2/x-notes/manifests", "notes/x-notes", "2023Q2"):
        (root / other).mkdir(parents=True, exist_ok=True)
        (root / other / manifest).touch()
    found = [(str(edition), task, str(split)) for edition, task, split in places(make.workspace())]
    assert [place for place in found if place[0] != "liar@6"] == [
        ("2022Q4", "x-notes", "main"), ("2023Q2", "claims", "main"), ("2023Q2", "x-notes", "main"),
        ("2023Q2", "x-notes", "prospective"),
    ] and ("liar@6", "liar", "main") in found and len(found) == 5  # fmt: skip


@pytest.mark.parametrize("count", [7, 8, 9])
def test_texts_of_eight_words_or_more_identify_a_sample_and_mark_it(make: Maker, count: int) -> None:
    words = " ".join(f"w{n}" for n in range(count))
    edit = replace(make.edit(5, added=words), lineage=("a.0", "b.1"), paragraph="short")
    task = get_task("wikipedia-edits")
    own = [text for text in task.own_texts(edit) if len(text.split()) >= 8]
    runs = {run for text in own for run in shingle_hashes(text, 8).tolist()}
    assert len(runs) == max(0, count - 7)
    assert marks(task, edit) == {"a.0", "b.1", *(f"w-7 {run}" for run in runs)}
    note = make.note(3, text=words)
    texts = dict(_texts(get_task("x-notes"), [replace(note, note=replace(note.note, text=words))]))
    assert texts.keys() == {"xn-3 0", *(["xn-3 1"] if count >= 8 else [])}
    assert marks(get_task("x-notes"), note) == frozenset()


def test_of_a_lineage_the_sample_with_the_smallest_hash_stays(make: Maker) -> None:
    lineages = [("a",), ("a", "b"), ("b",), ("c",), ("c",), ("d",)]
    edits = [replace(make.edit(n, added="x"), lineage=names) for n, names in enumerate(lineages)]
    for key in "xyz":
        gone, taken = set(), set()
        for edit in sorted(edits, key=lambda edit: sha256_text(f"{key}:lineage:{edit.id}")):
            (gone.add(edit.id) if taken & set(edit.lineage) else taken.update(edit.lineage))
        assert repeated(get_task("wikipedia-edits"), edits, key) == gone != set()


def test_no_post_is_a_sample_of_both_in_a_quarter_or_the_next(make: Maker) -> None:
    make.release(notes(make, FIRST, range(10)), quarter=FIRST)
    make.release([noted_post(n, FIRST) for n in range(5, 15)], quarter=FIRST)
    assert groups(make, FIRST, "x-posts") == {f"x-{n}" for n in range(10, 15)}
    # Notes of the next quarter on posts of this one: what is revealed of x-posts names the notes.
    make.release(notes(make, SECOND, range(12, 20), first=100), quarter=SECOND)
    assert groups(make, SECOND, "x-notes") <= {f"x-{n}" for n in range(15, 20)}
    make.release([noted_post(n, SECOND) for n in (3, 16, 30)], quarter=SECOND)
    assert groups(make, SECOND, "x-posts") == {"x-30"}


def test_posts_that_are_built_late_leave_out_those_whose_notes_are_open_in_a_later_quarter(make: Maker) -> None:
    make.release(notes(make, SECOND, range(64), first=100), quarter=SECOND, moment=SECOND.end)
    make.release([noted_post(n, FIRST) for n in range(40, 70)], quarter=FIRST, moment=SECOND.end + 40 * DAY)
    assert groups(make, FIRST, "x-posts") == {f"x-{n}" for n in range(64, 70)}


@pytest.mark.parametrize("opened", [False, True])
def test_tasks_of_the_same_posts_are_built_in_any_order(make: Maker, opened: bool) -> None:
    """Posts that were built first keep their groups once they are public; until then they give way."""
    moment = CalendarRule().of(FIRST).opens + (DAY if opened else -DAY)
    make.release([noted_post(n, FIRST) for n in range(5)], quarter=FIRST, moment=moment)
    built = make.release(notes(make, FIRST, range(10)), quarter=FIRST, moment=moment)
    assert built.withdrawn == (() if opened else ("x-posts 2023Q2",))
    assert groups(make, FIRST, "x-notes") == {f"x-{n}" for n in (range(5, 9) if opened else range(10))} or opened
    for task in ("x-notes", "x-posts") if opened else ():
        record_opening(make.workspace(), make.workspace().release(FIRST, task), moment)
    again = make.release([noted_post(n, FIRST) for n in range(3, 15)], quarter=FIRST, moment=moment)
    assert again.frozen is opened
    assert not groups(make, FIRST, "x-notes") & groups(make, FIRST, "x-posts")
    assert make.release(notes(make, FIRST, range(10)), quarter=FIRST, moment=moment).skipped


def test_what_a_split_of_another_quarter_has_is_left_out_and_counted_also_after_its_takedown(
    make: Maker, notes_task
) -> None:
    make.release(notes(make, FIRST, range(8)), quarter=FIRST)
    (make.workspace().root / "private/exposure.parquet").unlink()
    take_down(make.workspace(), FIRST, notes_task, {"xn-1": "asked"}, FIRST.end)
    later = [
        *notes(make, SECOND, range(6), first=100),
        *notes(make, SECOND, range(20, 30)),
        *notes(make, SECOND, range(7, 8)),
    ]
    built = make.release(later, quarter=SECOND)
    assert groups(make, SECOND, "x-notes") == {f"x-{n}" for n in range(20, 30)}
    assert built.left_out == 7
    funnel = read_json(make.workspace().release(SECOND, "x-notes") / "manifest.json")["collection"]["funnel"]
    assert funnel["drops"][-1]["reason"] == "exposed" and funnel["drops"][-1]["count"] == 7
    assert funnel["kept"] == {"2023-07": {"-1": 10}}
    rows = read_ledger(make.workspace())
    assert {row.group for row in rows if row.sample == "xn-1"} == {"x-1"}
    assert {row.since for row in rows if row.edition == "2023Q2"} == {"2023-10-22T00:00:00Z"}


def read_ledger(workspace: Workspace) -> list[ExposedLabel]:
    table = Table(ExposedLabel)
    return table.rows(table.read(workspace.root / "private" / "exposure.parquet"))


def test_near_equal_texts_are_one_group(make: Maker) -> None:
    words = [f"word{n}" for n in range(24)]
    moment = CalendarRule().of(FIRST).opens - 3 * DAY
    shared = " ".join(words[:12])
    forecast(make.workspace(), FIRST, [claim("a", f"{shared} said", FIRST).sample], moment)
    assert {(row.split, row.group) for row in read_ledger(make.workspace())} == {(PROSPECTIVE, "claim a")}
    main = [claim("b", f"{shared} claimed", FIRST, 0), claim("other", " ".join(words[12:20]), FIRST, 0, "claim b")]
    main += [claim(f"c{n}", f"{words[n]} and {words[n + 1]} are {words[23 - n]}", FIRST, n % 3) for n in range(9)]
    collect(make.workspace(), FIRST, "claims", main, [])
    build_release(make.workspace(), FIRST, get_task("claims"), seed="s", cap=9, moment=moment)
    assert groups(make, FIRST, "claims") == {f"claim c{n}" for n in range(9)}


def test_a_text_near_equal_to_one_that_was_taken_down_is_left_out(make: Maker) -> None:
    text = "the old bridge of {0} was built in the year {1} by a mason who never saw the river"
    taken = [
        claim(f"t{n}", text.format(f"town{n}", 1700 + n) + f" or heard of {n * 7}", FIRST, n % 3) for n in range(9)
    ]
    make.release(taken, quarter=FIRST)
    names = [str(row["id"]) for row in read_jsonl(make.workspace().release(FIRST, "claims") / "samples.jsonl")]
    take_down(make.workspace(), FIRST, get_task("claims"), dict.fromkeys(names[:3], "asked"), FIRST.end)
    # A second time, as after an interruption that left no text behind.
    take_down(make.workspace(), FIRST, get_task("claims"), dict.fromkeys(names[:3], "asked"), FIRST.end)
    said = {item.sample.id: str(item.sample.statement) for item in taken if isinstance(item.sample, Statement)}
    again = [claim(f"u{n}", f"{said[key]} before", SECOND, n) for n, key in enumerate(names[:3])]
    fresh = [claim(f"f{n}", f"lake {n} is {n + 3} miles from the {n * n} sea", SECOND, n % 3) for n in range(6)]
    assert make.release([*again, *fresh], quarter=SECOND).left_out == 3
    assert groups(make, SECOND, "claims") == {f"claim f{n}" for n in range(6)}
    kept = make.workspace().root / "private/sketches.parquet"
    assert kept.stat().st_mode & 0o777 == kept.with_name("exposure.parquet").stat().st_mode & 0o777 == 0o600
    assert not any(word in kept.read_bytes() for word in (b"bridge", b"mason", b"river"))
    assert dict(pl.read_parquet(kept)["words"].value_counts().rows()) == {1: 15, 3: 15}  # of all that was released


def test_what_an_imported_data_set_says_is_left_out_of_living_tasks(make: Maker) -> None:
    text = "the moon is made of green cheese and nothing else at all"
    row = replace(claim("x", text, FIRST).sample, id="ln-1", task="liar-new", group="statement 1")
    found = Collection.whole([candidate(row, 0)], [])
    freeze(make.workspace(), Frozen("liar-new", "1"), get_task("liar-new"), found,
           DatasetSource("LIAR-New", "https://example.org", date(2023, 1, 1), "MIT"))  # fmt: skip
    claims = [claim("same", text.replace("nothing", "little"), FIRST, 0)]
    claims += [claim(f"c{n}", f"river {n} has {n + 7} bridges", FIRST, n % 3) for n in range(6)]
    assert make.release(claims, quarter=FIRST).left_out == 1
    assert groups(make, FIRST, "claims") == {f"claim c{n}" for n in range(6)}


def test_the_bundled_sample_and_real_sources_stand_apart(make: Maker) -> None:
    make.release(notes(make, FIRST, range(8)), quarter=FIRST, source=BUNDLED)
    assert make.release(notes(make, SECOND, range(8)), quarter=SECOND).left_out == 0


def overlapping(make: Maker, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A workspace of an earlier version: near-equal claims are open in the main split, and prospective."""
    workspace, opens = make.workspace(), CalendarRule().of(FIRST).opens
    texts = [f"{place} has {7 * n + 11} of the oldest and finest stone bridges that anybody ever crossed"
             for n, place in enumerate(("paris", "rome", "oslo", "lima", "cairo", "delhi"))]  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setattr("hellofresh.releases.exposure._Exposed.all_of", lambda _: [])
        forecast(
            workspace, FIRST, [claim(f"p{n}", text, FIRST).sample for n, text in enumerate(texts)], opens - 3 * DAY
        )
        main = [claim(f"m{n}", f"{text} twice", FIRST, n % 3) for n, text in enumerate(texts)]
        collect(workspace, FIRST, "claims", main, [])
        build_release(workspace, FIRST, get_task("claims"), seed="s", cap=9, moment=opens - DAY)
    return workspace


def test_a_resolution_waits_while_near_equal_samples_are_open(make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace, task = overlapping(make, monkeypatch), get_task("claims")
    days = CalendarRule().of(FIRST)
    decided = [claim(f"p{row['id'][-1]}", str(row["statement"]), FIRST, 1)
               for row in read_jsonl(workspace.release(FIRST, "claims", PROSPECTIVE) / "samples.jsonl")]  # fmt: skip
    collect(workspace, FIRST, "claims", decided, [])
    early = resolve(workspace, FIRST, task, days.opens + 10 * DAY, final=True)
    assert early == ResolutionReport("claims", FIRST, 0, {}, waits_until=days.deadline)
    assert waits(workspace, FIRST, "claims", PROSPECTIVE) == days.deadline
    assert prospective_outcomes(workspace, FIRST, task) == {}
    done = resolve(workspace, FIRST, task, days.deadline, final=True)
    assert done is not None and done.labels == len(decided) == 6
    assert ("prospective", utc_text(days.deadline)) in {(row.split, row.since) for row in read_ledger(workspace)}
    assert waits(workspace, FIRST, "claims", PROSPECTIVE) is None


def test_a_reveal_waits_while_its_groups_are_open_elsewhere_and_says_until_when(
    make: Maker, monkeypatch: pytest.MonkeyPatch, notes_task
) -> None:
    workspace, reveals = make.workspace(), CalendarRule().of(FIRST).reveals
    make.release(notes(make, FIRST, range(8)), quarter=FIRST)
    with monkeypatch.context() as patch:
        patch.setattr("hellofresh.releases.exposure._Exposed.all_of", lambda _: [])
        make.release(notes(make, SECOND, range(6, 14), first=100), quarter=SECOND)
    until = CalendarRule().of(SECOND).deadline
    assert waits(workspace, FIRST, "x-notes") == until
    assert waits(workspace, SECOND, "x-notes") == CalendarRule().of(SECOND).reveals
    assert not reveal(workspace, FIRST, notes_task, reveals)
    assert utc_text(until) in state_of(workspace, FIRST, notes_task, reveals).next_step
    assert "is due" in state_of(workspace, FIRST, notes_task, until).next_step
    assert reveal(workspace, FIRST, notes_task, until)
    assert waits(workspace, FIRST, "x-notes") is None


def test_a_damaged_ledger_is_named_and_no_draw_goes_on_without_it(make: Maker) -> None:
    make.release(notes(make, FIRST, range(8)), quarter=FIRST)
    (make.workspace().root / "private" / "exposure.parquet").write_bytes(b"no table")
    with pytest.raises(ReleaseError, match="not the ledger of exposure") as raised:
        make.release(notes(make, SECOND, range(20, 30)), quarter=SECOND)
    assert raised.value.code == "damaged-ledger"


LIVING = ("x-notes", "x-notes-media", "x-posts", "wikipedia-edits", "claims")
QUARTERS = (FIRST, SECOND, SECOND.next())


@dataclass
class RandomWorld:
    """Things (posts, pages, claims) with one label each, which come up again and again in all tasks.

    An attacker knows of every sample which thing it is about, and keeps all that was ever public.

    Attributes:
        make: builds samples.
        workspace: where the maintainer works.
        choose: what happens.
        moment: now.
        about: the thing of every sample that was ever made, by id.
        known: things whose label the attacker knows, from anything but x-posts, and from x-posts.
    """

    make: Maker
    workspace: Workspace
    choose: random.Random
    moment: datetime = datetime(2023, 6, 1, tzinfo=UTC)
    about: dict[str, str] = field(default_factory=dict)
    known: dict[bool, set[str]] = field(default_factory=lambda: {True: set(), False: set()})

    def label(self, thing: str) -> int:
        return sum(thing.encode()) % 2

    def sample(self, task: str, quarter: Quarter) -> Candidate:
        """A sample about a random thing, dated yesterday or in its quarter."""
        number, thing = len(self.about) + 1, self.choose.randrange(14)
        day = max(min(self.moment - DAY, quarter.end - DAY), quarter.start)
        name = f"{'x' if task.startswith('x-') else task[0]}{thing}"
        if task == "claims":
            words = [f"{name}w{k}" for k in range(12)] + [f"variant{self.choose.randrange(9)}"]
            found = claim(f"{number}", " ".join(words), quarter, group=f"claim {number}").sample
        elif task == "wikipedia-edits":
            # Edits of one article tell nothing of each other, unless they are the same edit.
            added = f"{name} is the oldest and finest of all bridges over the {name} river"
            found = self.make.edit(number, date=day, page=thing % 3, added=added)
        elif task == "x-posts":
            found = noted_post(number, quarter, post=thing).sample
        else:
            found = self.make.note(number, date=day, post=thing)
            if task == "x-notes-media":
                found = IllustratedNote(**common_fields(found, Note), media=())
                found = replace(found, id=f"xnm-{number}", task=task)
        found = replace(found, period=get_task(task).period_kind.of(day), date=day, edition=str(quarter))
        self.about[found.id] = name
        classes = get_task(task).classes
        return candidate(found, self.label(name) * (len(classes) - 1) if classes else 0)

    def step(self) -> None:
        self.moment += self.choose.choice((0, 1, 3, 15, 40)) * DAY
        task, quarter = self.choose.choice(LIVING), self.choose.choice(QUARTERS)
        what = self.choose.choice((self.build, self.build, self.build, self.forecast, self.publish, self.remove))
        if self.moment >= quarter.start:
            try:
                what(task, quarter)
            except HelloFreshError as error:
                assert error.code in {"empty-release", "no-pending"}, error
        self.learn()

    def build(self, task: str, quarter: Quarter) -> None:
        found = [self.sample(task, quarter) for _ in range(8)]
        # A class of its own keeps a release of claims from being empty.
        extra = [claim(f"z{len(self.about)}-{k}", f"thing {self.choose.random()} is {k}", quarter, 1) for k in range(3)]
        for item in extra:
            self.about[item.sample.id] = item.sample.id
        found += [replace(i, sample=replace(i.sample, period=found[0].sample.period)) for i in extra] * (
            task == "claims"
        )
        collect(self.workspace, quarter, task, found, [])
        build_release(self.workspace, quarter, get_task(task), seed="s", cap=5, moment=self.moment)

    def forecast(self, task: str, quarter: Quarter) -> None:
        if task != "x-posts":
            forecast(self.workspace, quarter, [self.sample(task, quarter).sample for _ in range(4)], self.moment)

    def publish(self, *_: object) -> None:
        for edition, name, split in places(self.workspace):
            task = get_task(name)
            if split == MAIN and isinstance(edition, Quarter):
                reveal(self.workspace, edition, task, self.moment)
            elif isinstance(edition, Quarter):
                rows = read_jsonl(self.workspace.release(edition, name, split) / "samples.jsonl")
                drawn = {str(row["id"]) for row in rows}
                decided = [self.sample(name, edition) for _ in drawn]
                decided = [Candidate(replace(c.sample, id=key), replace(c.label, id=key))
                           for c, key in zip(decided, sorted(drawn), strict=True)]  # fmt: skip
                if decided:
                    collect(self.workspace, edition, name, decided, [])
                    resolve(self.workspace, edition, task, self.moment, final=True)

    def remove(self, task: str, quarter: Quarter) -> None:
        """Take a sample down, of whichever task and split."""
        split = self.choose.choice((MAIN, MAIN, PROSPECTIVE))
        path = self.workspace.release(quarter, task, split) / "samples.jsonl"
        if (path.parent / "manifest.json").is_file():
            rows = list(read_jsonl(path))
            if rows:
                key = str(self.choose.choice(rows)["id"])
                take_down(self.workspace, quarter, get_task(task), {key: "asked"}, self.moment, split=split)

    def learn(self) -> None:
        """What is due opens, and the attacker looks at all that is public."""
        asked = []
        for place in places(self.workspace):
            folder = self.workspace.release(*place)
            if calendar_of(read_manifest(folder), folder).opens <= self.moment:
                record_opening(self.workspace, folder, self.moment)
        for place in places(self.workspace):
            folder, manifest = self.workspace.release(*place), read_manifest(self.workspace.release(*place))
            days = calendar_of(manifest, folder)
            if days.opens > self.moment:
                continue
            ids = {str(row["id"]) for row in read_jsonl(folder / "samples.jsonl")}
            if manifest.has_labels:
                ids |= {item.id for item in manifest.takedowns}
                self.known[place[1] == "x-posts"] |= {self.about[key] for key in ids}
            elif place[1] == "x-posts":
                self.known[True] |= {self.about[key] for key in ids}
            if not manifest.has_labels and self.moment < days.deadline:
                asked += [(place, key) for key in ids]
        for place, key in asked:
            known = self.known[False] | (set() if place[1] == "x-posts" else self.known[True])
            assert self.about[key] not in known, (self.moment, place, key, self.about[key])


def live(folder: Path, seed: int) -> int:
    world = RandomWorld(Maker(folder), Workspace(folder / "data"), random.Random(seed))
    for _ in range(22):
        world.step()
    return len(world.known[False])


@given(seed=st.integers(0, 2**32))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_in_random_worlds_nobody_who_keeps_all_that_was_public_knows_an_open_label(tmp_path_factory, seed: int) -> None:
    live(tmp_path_factory.mktemp("world"), seed)


def test_random_worlds_reveal_labels_at_all(tmp_path: Path) -> None:
    assert sum(live(tmp_path / str(seed), seed) for seed in range(3)) > 5


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("thousand", range(10))
def test_in_ten_thousand_random_worlds_nobody_knows_an_open_label(tmp_path: Path, thousand: int) -> None:
    for seed in range(1000 * thousand, 1000 * thousand + int(os.environ.get("HELLOFRESH_WORLDS", "1000"))):
        live(tmp_path / "world", seed)
        shutil.rmtree(tmp_path / "world")
