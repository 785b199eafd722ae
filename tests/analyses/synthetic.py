"""Made-up samples and systems that look like real ones; the same every time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import numpy as np

from hellofresh.core.calendar import CalendarRule
from hellofresh.core.quarters import PeriodKind, Quarter
from hellofresh.releases.life.load import Release
from hellofresh.results.split.arrays import panel_of
from hellofresh.results.split.entries import Entry, Outputs, plurality
from hellofresh.results.split.panel import MAJORITY, SINGLE, Panel
from hellofresh.tasks import get_task
from hellofresh.tasks.outputs import Choice, Status
from hellofresh.tasks.samples import Fact, Label
from hellofresh.tasks.wikipedia_edits import Edit, EditRevision
from hellofresh.tasks.x_notes import Note, NoteText, Post

QUARTER = Quarter(2023, 2)
PROMPTS = ("manual", "rephrased-1", "rephrased-2")


@dataclass(frozen=True)
class Builder:
    """Makes releases and entries that look like real ones; the same every time."""

    quarter: Quarter = QUARTER
    seeds: list[int] = field(default_factory=lambda: [0])

    def release(self, n: int = 120, task: str = "x-notes") -> Release:
        samples = [self._note(k, n) if task == "x-notes" else self._edit(k, n) for k in range(n)]
        return Release(get_task(task), self.quarter, tuple(samples), "0" * 64, True, CalendarRule().of(self.quarter))

    def _date(self, k: int, n: int) -> datetime:
        return self.quarter.start + timedelta(days=90 * k / n, hours=3)

    def _note(self, k: int, n: int) -> Note:
        moment = self._date(k, n)
        source = ("", " https://example.org/a", " https://fr.wikipedia.org/wiki/B")[k % 3]
        topic = ("rivers", "bridges", "volcanoes")[k % 3]
        text = f"A source about {topic} says otherwise{' at length' * (k % 5)}.{source}"
        return Note(
            id=f"xn-{k:04d}", task="x-notes", edition=str(self.quarter), period=PeriodKind.MONTH.of(moment),
            date=moment, group=f"x-{k // 2}", license="LicenseRef-X-content",
            post=Post(str(k // 2), moment - timedelta(days=1), "A post."), note=NoteText(str(k), moment, text),
        )  # fmt: skip

    def _edit(self, k: int, n: int) -> Edit:
        moment = self._date(k, n)
        return Edit(
            id=f"we-{k:04d}-0", task="wikipedia-edits", edition=str(self.quarter), period=PeriodKind.WEEK.of(moment),
            date=moment, group=f"w-{k // 3}", license="CC-BY-SA-4.0",
            host="en.wikipedia.org", lineage=(f"{k}.0",), article=f"Page {k // 3}", section="",
            paragraph=" ".join(f"word{k} about" for _ in range(4 * (1 + k % 7))), deleted="old" if k % 3 else "",
            added="new words" if k % 4 else "", revision=EditRevision(k + 1),
        )  # fmt: skip

    def labels(self, release: Release) -> list[int]:
        return [(k * 7 // 2) % 2 for k in range(len(release.samples))]

    def facts(self, release: Release) -> list[Mapping[str, Fact]]:
        if release.task.name == "x-notes":
            return [
                {
                    "ratings": 5 + (k * 37) % 200,
                    "ai_writer": k % 5 == 0,
                    "collaborative": False,
                    "sampled_ratings": (k * 11) % 5,
                    "intercept": round(0.4 * label - 0.1 + (k * 29) % 97 / 500, 4),
                    "voters": 5 + (k * 13) % 90,
                    "smaller_camp": (k * 7) % 50 / 100,
                    "flip_cost": (k * 5) % 23,
                }
                for k, label in enumerate(self.labels(release))
            ]
        kinds = ("prose", "list")
        return [
            {"survived_edits": 3 + k % 20, "revert_delay_s": 60 * (1 + k % 50), "paragraph_kind": kinds[k % 2]}
            for k in range(len(release.samples))
        ]

    def said(self, release: Release, right: float, seed: int, asked: int | None = None) -> dict[str, Choice]:
        """Right with this probability, silent now and then."""
        random = np.random.default_rng(seed)
        found = {}
        for sample, label in list(zip(release.samples, self.labels(release), strict=True))[:asked]:
            draw, silent = random.random(), random.random()
            answer = label if draw < right else 1 - label
            found[sample.id] = Choice(prompt="", label=answer)
            if silent < 0.04:
                found[sample.id] = Choice(prompt="", status=Status.NONE if silent < 0.025 else Status.BLOCKED)
        return found

    def entry(
        self,
        release: Release,
        name: str,
        right: float = 0.7,
        *,
        regime: str = "zero-shot",
        seed: int = 1,
        cutoff: str = "2023-05-15",
        prompts: Sequence[str] = PROMPTS,
        cost: float | None = None,
        confident: bool = False,
        certain: bool = False,
        asked: int | None = None,
        provenance: str = "run",
        team: str = "HelloFresh",
    ) -> Entry:
        single = {p: self.said(release, right - 0.02 * k, 100 * seed + k, asked) for k, p in enumerate(prompts)}
        outputs: dict[str, Outputs] = {}
        if len(single) > 1:
            keys = next(iter(single.values()))
            outputs[MAJORITY] = {key: plurality([by[key] for by in single.values()]) for key in keys}
        random = np.random.default_rng(seed)
        for by in single.values() if confident or certain else ():
            for key, choice in by.items():
                by[key] = _stated(choice, random) if confident else _certain(key, choice)
        outputs |= single if len(single) > 1 else {SINGLE: next(iter(single.values()))}
        return Entry(
            system=name, team=team, provenance=provenance,
            kind="language-model" if provenance == "run" else "submission",
            regime=regime, smoke_test=False, knowledge_cutoff=cutoff, about="", origin=f"{team}/{name}/{regime}/{seed}",
            outputs=outputs, cost_usd=cost, tokens_in=None, tokens_out=None,
        )  # fmt: skip

    def panel(self, entries: Sequence[Entry], release: Release) -> Panel:
        known = zip(release.samples, self.labels(release), self.facts(release), strict=True)
        labels = {sample.id: Label(sample.id, label, facts) for sample, label, facts in known}
        return panel_of(
            release.task, release.edition, release.samples, labels, entries, bundled=release.bundled,
            without_texts=release.without_texts,
        )  # fmt: skip


def _stated(choice: Choice, random: np.random.Generator) -> Choice:
    chance = float(np.clip((0.75 if choice.label == 1 else 0.3) + random.normal() * 0.12, 0, 1))
    return replace(choice, probabilities=(1 - chance, chance))


def _certain(key: str, choice: Choice) -> Choice:
    return choice if choice.label is None else replace(choice, certainty=0.6 + 0.3 * (int(key[-1]) % 2))


def full_entries(build: Builder, release: Release) -> list[Entry]:
    entries = []
    for number, (name, right) in enumerate((("alpha", 0.8), ("beta", 0.72), ("gamma", 0.6))):
        known = name != "gamma"
        for k, regime in enumerate(("zero-shot", "web-search", "placebo")):
            cost, cutoff = (0.4 * (number + 1) * (k + 1), "2023-05-15") if known else (None, "unknown")
            more = {"regime": regime, "seed": 10 * number + k, "cost": cost, "confident": known, "cutoff": cutoff}
            entries.append(build.entry(release, name, right + 0.04 * (regime == "web-search"), **more))
    for seed, (instant, right) in enumerate((("post", 0.5), ("note", 0.54), ("decision", 0.58)), start=60):
        agent = build.entry(release, "alpha", right, regime="search-agent", seed=seed, prompts=("one",))
        entries.append(replace(agent, settings=f"before={instant}"))
    theirs = {"regime": "agent", "seed": 77, "prompts": ("one",), "provenance": "uploaded", "team": "A team"}
    return [*entries, build.entry(release, "their-system", 0.75, certain=True, **theirs)]
