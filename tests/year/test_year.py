"""Years of daily runs: killed machines, a provider that is down and late dumps leave the same bytes in the end."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path

import pytest

from hellofresh.cli import main
from hellofresh.core.calendar import CalendarRule
from hellofresh.core.files import sha256_file
from hellofresh.core.quarters import Quarter
from tests.conftest import ROOT, answering
from tests.mediawiki.served import is_ready, served_wiki
from tests.year.world import KEY, DumpServer, Provider, World, prepare, write_history

Serve = Callable[[type], str]
QUARTERS = (Quarter(2024, 1), Quarter(2024, 2))
VANDAL = "Writer 5"
"""Whose edits `World.history` puts back."""


@dataclass
class Maintainer:
    """A machine that runs the command on the days that it is told.

    Attributes:
        folder: where it works.
        world: what its sources hold.
        dumps: its source of notes.
        said: how the days ended.
    """

    folder: Path
    world: World
    dumps: DumpServer
    process: subprocess.Popen[str]
    said: Counter[str] = field(default_factory=Counter)

    def live(self, day: date, kill: int = 0) -> str:
        self.dumps.today = day
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{day}T05:17:00Z {kill}\n")
        self.process.stdin.flush()
        ended = self.process.stdout.readline().strip()
        self.said[ended] += 1
        return ended

    def summary(self) -> str:
        return (self.folder / "summary.txt").read_text()

    def files(self) -> dict[str, str]:
        """The content of everything that is published, shown, scored or kept for the reveal, by path."""
        found = [path for part in ("data", "site") for path in (self.folder / part).rglob("*") if path.is_file()]
        named = {path.relative_to(self.folder).as_posix(): path for path in found}
        return {name: sha256_file(path) for name, path in sorted(named.items()) if _lasts(name)}


DIARIES = {"hydrated.json", "publications.json", "steps.json"}
"""Files that say on which day something was done."""


def _lasts(name: str) -> bool:
    """Whether a file is a result: not a download, a lock, or the record of how a stage or a run went about its work."""
    parts = name.split("/")
    if parts[1] == "runs":
        return parts[-1] == "predictions.jsonl"
    return not {"raw", "locks", "receipts"} & set(parts) and parts[-1] not in DIARIES


@contextmanager
def maintainer(
    folder: Path, serve: Serve, world: World, provider: Provider, key: str, wiki: str = ""
) -> Iterator[Maintainer]:
    dumps = DumpServer(world)
    prepare(folder, world, serve(answering(dumps.answer)), provider.base_url, wiki)
    plain = {name: value for name, value in os.environ.items() if not name.startswith("HELLOFRESH")}
    environment = plain | {"ORACLE_KEY": key, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, str(Path(__file__).with_name("maintainer.py"))]
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout and process.stdout.readline().strip() == "ready"
        yield Maintainer(folder, world, dumps, process)
    finally:
        process.communicate()


@dataclass(frozen=True)
class Trouble:
    """What goes wrong.

    Attributes:
        kill_every: on every so many-th day the machine is killed.
        down: days on which the provider refuses.
        late: days by which dumps are late, by their day; the wiki's is late by two days each time.
    """

    kill_every: int = 0
    down: frozenset[date] = frozenset()
    late: Mapping[date, int] = field(default_factory=dict)


def live_through(one: Maintainer, provider: Provider, key: str, days: list[date], trouble: Trouble) -> None:
    chance = random.Random(7)
    one.dumps.late = trouble.late
    write_history(one.folder, one.world, days[0])
    for number, day in enumerate(days):
        (provider.refused.add if day in trouble.down else provider.refused.discard)(key)
        if day.day == (7 if trouble.late else 5):
            write_history(one.folder, one.world, day - timedelta(days=day.day - 5))
        killed = trouble.kill_every and number % trouble.kill_every == trouble.kill_every - 1
        # Mostly among the first changes, so that quiet days are hit too; else anywhere in a busy day.
        kill = chance.choice((chance.randint(1, 12), chance.randint(12, 90), chance.randint(90, 900)))
        one.live(day, kill if killed else 0)


def days_between(first: date, last: date) -> list[date]:
    return [first + timedelta(days=number) for number in range((last - first).days + 1)]


def lived_twice(folder: Path, serve: Serve, quarters: tuple[Quarter, ...], days: list[date], trouble: Trouble,
                each: int = 3, wiki: str = "") -> tuple[Maintainer, Maintainer]:  # fmt: skip
    """A calm life and a troubled one, at the same time."""
    world, provider = World(quarters, each), Provider()
    with (
        maintainer(folder / "calm", serve, world, provider, "calm", wiki) as calm,
        maintainer(folder / "rough", serve, world, provider, "rough", wiki) as rough,
        ThreadPoolExecutor(2) as pool,
    ):
        try:
            lives = [pool.submit(live_through, calm, provider, "calm", days, Trouble()),
                     pool.submit(live_through, rough, provider, "rough", days, trouble)]  # fmt: skip
            for life in lives:
                life.result()
        finally:
            provider.close()
    return calm, rough


def differences(one: Maintainer, other: Maintainer) -> list[str]:
    mine, theirs = one.files(), other.files()
    return sorted(name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name))


@pytest.fixture(params=["dump", pytest.param("api", marks=pytest.mark.integration)])
def wiki(request, needed, tmp_path: Path) -> Iterator[str]:
    """The address of a real wiki that holds the world's edits; empty for the files that a wiki exports."""
    if request.param == "dump":
        yield ""
        return
    needed(is_ready(), "MediaWiki with PHP (tests/mediawiki/up.sh prepare)")
    history = tmp_path / "history.xml"
    history.write_text(World(QUARTERS, 2).history(date(2024, 5, 2)))
    folder = tmp_path / "wiki"
    folder.mkdir()
    with served_wiki(folder, [history]) as made:
        with made.database() as db:
            edits = "SELECT rc_this_oldid FROM recentchanges JOIN actor ON rc_actor = actor_id WHERE actor_name LIKE ?"
            made.tag_reverted([revision for (revision,) in db.execute(edits, (f"%{VANDAL}",)).fetchall()])
        yield made.api


def test_a_quarter_that_was_disturbed_ends_as_one_that_was_not(tmp_path: Path, serve: Serve, wiki: str) -> None:
    opens = CalendarRule().of(QUARTERS[0]).opens.date()
    days = days_between(opens - timedelta(days=6), opens + timedelta(days=7))
    down = frozenset(days_between(opens - timedelta(days=1), opens + timedelta(days=5)))
    late = {opens - timedelta(days=5): 2}
    calm, rough = lived_twice(tmp_path, serve, QUARTERS, days, Trouble(5, down, late), each=2, wiki=wiki)
    assert calm.said == {"0": len(days)} and rough.said["killed"] >= 2 and rough.said["1"] >= 5
    assert {"data/published/publication.json", "site/index.html"} <= calm.files().keys()
    assert len(list((rough.folder / "data/published/releases/2024Q1").glob("*/manifest.json"))) == 2
    assert differences(calm, rough) == []
    public = [rough.folder / name for name in ("data/releases", "data/published", "site")]
    assert [main(["release", "verify", str(folder)]) for folder in public[:2]] == [0, 0]
    content = [path.read_bytes() for folder in public for path in folder.rglob("*") if path.is_file()]
    assert not any(secret in one for one in content for secret in (KEY.encode(), str(rough.folder).encode()))


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_two_years_that_were_disturbed_end_as_two_that_were_not(tmp_path: Path, serve: Serve) -> None:
    quarters = [Quarter(2024, 1)]
    while len(quarters) < max(3, int(os.environ.get("HELLOFRESH_QUARTERS", "8"))):  # the provider fails in the second
        quarters.append(quarters[-1].next())
    opens = [CalendarRule().of(quarter).opens.date() for quarter in quarters]
    days = days_between(date(2024, 1, 1), opens[-1] + timedelta(days=3))
    down = frozenset(days_between(opens[1] - timedelta(days=1), opens[1] + timedelta(days=6)))
    late = {opens[0] - timedelta(days=12): 3, opens[1] - timedelta(days=5): 2, opens[-1] - timedelta(days=5): 1}
    calm, rough = lived_twice(tmp_path, serve, tuple(quarters), days, Trouble(5, down, late), each=1)
    assert calm.said == {"0": len(days)} and rough.said["killed"] >= 6 * len(quarters)
    assert len(list((rough.folder / "data/releases").glob("*/*/manifest.json"))) == 2 * len(quarters)
    assert differences(calm, rough) == []
    assert main(["release", "verify", str(rough.folder / "data/releases")]) == 0
