"""Speed of the search agent, compared with the time of latency alone.

    python benchmarks/agent.py [--samples 200] [--searches 3] [--at-once 50] [--rounds 3] [--json]

Every answer, search and page takes 200 ms. `limit` is a lower bound: the larger of the time of all requests at this
concurrency and the time of the longest conversation alone. The run uses the runner, with a journal on
disk. The target is a ratio of at most 1.3.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from statistics import median

from hellofresh.evidence.web import Found, PageStatus, SearchResult, WebPage
from hellofresh.models import Answer, Finish, Limits, ModelSpec, Request
from hellofresh.runs.equipment import Equipment
from hellofresh.runs.journal import Journal
from hellofresh.runs.prompts import load_prompt_set
from hellofresh.runs.regimes import get_regime
from hellofresh.runs.runner import Assignment, run
from hellofresh.tasks import get_task
from hellofresh.tasks.x_notes import Note, NoteText, Post

ROOT = Path(__file__).resolve().parent.parent
LATENCY_S = 0.2
PAGE = "Rain fell on the hills all week, and the river rose until the lower road was closed to carts. " * 30


@dataclass(frozen=True, slots=True)
class Measured:
    """One condition: medians over rounds."""

    samples: int
    searches: int
    requests: int
    wall_s: float
    limit_s: float
    ratio: float
    cpu_s_per_1000: float


class SlowModel:
    """Searches a given number of times, then decides; every answer takes 200 ms."""

    def __init__(self, searches: int, at_once: int) -> None:
        self.spec = ModelSpec("m", "language-model", "A stand-in.", {}, Limits(at_once), free=True)
        self.searches = searches

    async def ask(self, request: Request) -> Answer:
        await asyncio.sleep(LATENCY_S)
        turn = sum(message.role == "assistant" for message in request.messages)
        if request.messages[0].text.startswith("QUERY: "):
            return Answer("A summary of what was found. " * 20, Finish.STOP, 3000, 150)
        if turn < self.searches:
            number = abs(hash(request.messages[0].text)) % 10_000
            return Answer(f"I would look.\nSEARCH: river {number} part {turn}", Finish.STOP, 500, 20)
        return Answer("Summary: it is so.\n\nDecision: helpful", Finish.STOP, 2000, 20)

    async def close(self) -> None:
        pass


class SlowWeb:
    """Every search and page takes 200 ms."""

    parameters: Mapping[str, str] = {}
    blocked: Sequence[str] = ()

    def reason(self, url: str) -> str:
        return ""

    async def search(self, query: str, *, before: date | None = None) -> Found:
        await asyncio.sleep(LATENCY_S)
        return Found([SearchResult(f"https://page-{n}.example/", f"Page {n}", "", None, n) for n in range(1, 21)])

    async def read(self, url: str) -> WebPage:
        await asyncio.sleep(LATENCY_S)
        return WebPage(url, url, PageStatus.OK, text=f"{url} {PAGE}")

    async def close(self) -> None:
        pass


def notes(count: int) -> list[Note]:
    moment = datetime(2023, 4, 3, tzinfo=UTC)
    return [
        Note(
            id=f"xn-{n}", group=f"x-{n}", task="x-notes", edition="2023Q2", period="2023-04", date=moment,
            license="none", post=Post(str(n), moment, f"Post {n}."), note=NoteText(str(n), moment, f"Note {n}."),
        )
        for n in range(count)
    ]  # fmt: skip


def measure(samples: int, searches: int, at_once: int, rounds: int, folder_of_runs: Path) -> Measured:
    regime = get_regime("search-agent")
    prompts = load_prompt_set("x-notes", regime.name)
    walls, cpus = [], []
    requests = samples * (2 * searches + 1)
    for _ in range(rounds):
        model = SlowModel(searches, at_once)
        slots = get_task("x-notes").slots
        assignment = Assignment(model, Equipment(regime, prompts, prompts.prompts, slots, SlowWeb()))
        with tempfile.TemporaryDirectory(dir=folder_of_runs) as folder, Journal(Path(folder)) as journal:
            wall, cpu = time.perf_counter(), time.process_time()
            result = run(assignment, notes(samples), journal, lambda _: None)
            walls.append(time.perf_counter() - wall)
            cpus.append(time.process_time() - cpu)
            assert len(result.judged) == samples and len(journal) == requests
    # A conversation waits for its turns and summaries, and each time for a search and its pages.
    limit_s = max(requests * LATENCY_S / at_once, (2 * searches + 1 + 2 * searches) * LATENCY_S)
    wall_s = median(walls)
    return Measured(
        samples, searches, requests, round(wall_s, 2), round(limit_s, 2), round(wall_s / limit_s, 3),
        round(median(cpus) / requests * 1000, 3),
    )  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--searches", type=int, default=3)
    parser.add_argument("--at-once", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=ROOT, help="where the journal is written meanwhile")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measure(options.samples, options.searches, options.at_once, options.rounds, options.folder)
    if options.json:
        print(json.dumps(asdict(found), indent=2))
    else:
        print(f"{found.samples} samples, {found.searches} searches each: {found.wall_s} s, limit {found.limit_s} s, "
              f"ratio {found.ratio}; {found.cpu_s_per_1000} CPU s per 1,000 requests")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
