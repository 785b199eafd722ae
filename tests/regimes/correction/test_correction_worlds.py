"""In any world: nothing younger than the bound, no publisher that may not be, no page too many, no stop too late."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from datetime import date, datetime, timedelta

from hellofresh.evidence.web import SearchResult
from hellofresh.runs.prompts import load_prompt_set
from hellofresh.runs.regimes import Case
from hellofresh.runs.regimes.correction import Correction
from hellofresh.runs.regimes.registry import configure
from hellofresh.tasks import get_task
from hellofresh.tasks.transcripts import NotedEvent, QuotedEvent, ReadEvent
from tests.regimes.correction import conftest as desk

WORLDS = 1000
SITES = (*("atlas", "herald", "weekly") * 3, "satire", "questionable", "conspiracy", "nobody", "x")
RANK = {"high": 0, "medium": 1, "low": 2}
NEVER = {"satire.example", "questionable.example", "conspiracy.example", "nobody.example", "x.com"}


def _address(chance: random.Random) -> str:
    site = chance.choice(SITES)
    return f"https://{'x.com' if site == 'x' else site + '.example'}/{chance.randrange(12)}"


def _dated(chance: random.Random, bound: datetime) -> str:
    """A date around the bound, as a moment or a day, or none."""
    moment = bound + timedelta(
        minutes=chance.choice([-90_000, -60_000, -9000, -1441, -1440, -61, -1, 0, 1, 30, 60_000])
    )
    return chance.choice([f"{moment:%Y-%m-%dT%H:%M:%SZ}", f"{moment:%Y-%m-%d}", f"{moment:%Y-%m-%d}", ""])


def _was_there(page_date: str, bound: datetime) -> bool:
    """The rule, written once more: a moment counts itself, a day its end."""
    if len(page_date) == 20:
        return datetime.fromisoformat(page_date) <= bound
    return bool(page_date) and date.fromisoformat(page_date) < bound.date()


def _world(chance: random.Random, bound: datetime):
    refutes = "The claim is plainly not true at all."
    pages, found = {}, {}
    for name in ("q1", "q2"):
        results = []
        for rank in range(1, chance.randrange(12)):
            url = _address(chance)
            day = chance.choice([None, None, _dated(chance, bound)[:10] or None])
            results.append(SearchResult(url, "A title", "", day, rank))
            end = url if chance.random() < 0.8 else _address(chance)
            text = chance.choice([refutes, refutes, f"Nothing of use, number {rank}.", ""])
            pages.setdefault(url, desk.page(url, text, _dated(chance, bound), final_url=end))
        found[name] = results
    encoder = desk.LetterEncoder({f"number {n}": n / 12 for n in range(1, 12)})
    answers = {"queries": "q1\nq2", "evidence-": f"REFUTES: {refutes}", "respond": "This post is misleading: no."}
    return desk.World(pages, found, answers), encoder


def _judged(seed: int):
    chance = random.Random(seed)
    kind = chance.choice(["post", "note", "note-average"])
    numbers = {
        "links": chance.randrange(1, 6),
        "pages": chance.randrange(1, 4),
        "refuting_pages": chance.randrange(1, 4),
    }
    settings = [f"before={kind}", *(f"{name}={value}" for name, value in numbers.items())]
    later = desk.POSTED + timedelta(minutes=chance.randrange(31, 5000))
    sample = desk.post(note_high=later, note_average=later + timedelta(hours=3))
    bound = {"post": desk.POSTED, "note": later, "note-average": sample.note_average}[kind]
    bound -= timedelta(minutes=0 if kind == "post" else 30)
    world, encoder = _world(chance, bound)
    regime = configure(Correction(publishers=desk.ratings(), encoder=_Inline(encoder)), settings)
    return world, regime, sample, bound, numbers


class _Inline:
    """An encoder that costs no thread."""

    def __init__(self, encoder) -> None:
        self.queries, self.passages, self.parameters = encoder.queries, encoder.passages, {"encoder": "letters"}
        self.name, self.dimensions = "letters", 2


async def test_bound_publishers_and_stop_hold_in_every_world(monkeypatch) -> None:
    async def at_once(work, *given):
        return work(*given)

    monkeypatch.setattr(asyncio, "to_thread", at_once)
    prompts = load_prompt_set("corrections", "correction")
    seen: Counter[str] = Counter()
    for seed in range(WORLDS):
        world, regime, sample, bound, numbers = _judged(seed)
        slots = get_task("corrections").slots(sample)
        case = Case(sample, prompts.prompts[:1], prompts, slots, world.ask, world)
        outcome = await regime.solve(case)
        seen.update(_check(world, outcome, bound, numbers))
        assert len(world.asked) <= regime.ceiling(1)
    assert (
        min(seen[name] for name in ("used", "after", "undated", "stopped", "not-needed", "irrelevant", "satire")) > 50
    )


def _check(world, outcome, bound: datetime, numbers) -> Counter[str]:
    reads = [event for event in outcome.events if isinstance(event, ReadEvent)]
    quoted = [event for event in outcome.events if isinstance(event, QuotedEvent)]
    used = [event for event in reads if not event.dropped]
    by_url = {event.final_url: event for event in used}
    for event in used:
        assert _was_there(event.published, bound)
        assert event.date is None or event.date <= bound.date().isoformat()
        assert not {event.url.split("/")[2], event.final_url.split("/")[2]} & NEVER
        assert event.relevance >= 0.3
    assert not {url.split("/")[2] for url in world.read_urls} & NEVER
    assert len(world.read_urls) == len(set(world.read_urls)) <= 3 * numbers["links"]
    assert max(Counter(event.priority for event in used).values(), default=0) <= numbers["pages"]
    order = [(RANK[event.priority], -by_url[event.url].relevance) for event in quoted]
    assert order == sorted(order)
    refuting = [bool(event.refuting) for event in quoted]
    assert sum(refuting) <= numbers["refuting_pages"]
    if sum(refuting) == numbers["refuting_pages"]:
        assert refuting[-1]
    else:
        assert len(quoted) == len(used)
    (counts,) = (event.values for event in outcome.events if isinstance(event, NotedEvent) and event.name == "links")
    assert sum(counts.values()) == sum(len(found) for found in world.results.values())
    return Counter(event.dropped or "used" for event in reads) + Counter(stopped=len(quoted) < len(used))
