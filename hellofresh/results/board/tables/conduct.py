"""The board's table on conduct: what agents of others did that they should not, as far as it can be seen.

Only what went through the tools is seen: pages of blocked sources that an agent asked for (they were withheld), pages
that say they are from after the day before which it was to look, and blocked sources among the addresses that an answer
rests on. Labels that an entry copied show in one way only: it is right where nobody else is.
"""

from __future__ import annotations

import importlib.util
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from hellofresh.evidence.web.excluded import ExcludedSources
from hellofresh.results.board.schema import ConductRow
from hellofresh.results.board.splits import BoardSplit
from hellofresh.results.board.tables.systems import has_classes, judged_answers
from hellofresh.runs.regimes import AGENT
from hellofresh.tasks import get_task
from hellofresh.tasks.transcripts import ReadEvent, SearchedEvent, read_transcripts

BLOCKED_PAGE, LATER_PAGE, CITED, COPIED = "blocked-page", "later-page", "cited-blocked", "copied-labels"
_EXAMPLES = 5
_FEWEST_OTHERS, _FEWEST_HARD, _SHARE = 3, 10, 0.9
"""An entry is listed that is right on nine of ten samples that no other ranked system is right on, of ten or more."""


@dataclass(slots=True)
class _Seen:
    """What was seen of one kind: how often, and on which samples with which addresses."""

    times: int = 0
    samples: set[str] = field(default_factory=set)
    examples: list[tuple[str, str]] = field(default_factory=list)

    def add(self, sample: str, url: str) -> None:
        """Count it."""
        self.times += 1
        if sample not in self.samples and len(self.examples) < _EXAMPLES:
            self.examples.append((sample, url))
        self.samples.add(sample)

    def row(self, origin: str, kind: str, of: int) -> ConductRow:
        """It as a row."""
        ids, urls = (tuple(item[place] for item in self.examples) for place in (0, 1))
        return ConductRow(origin, kind, len(self.samples), of, self.times, ids, urls)


def conduct(split: BoardSplit) -> Iterator[ConductRow]:
    """What is to be listed of each entry; nothing before the reveal."""
    if not split.shown:
        return
    copied = dict(_copied(split))
    for row in split.systems:
        origin = str(row["origin"])
        if row["regime"] == AGENT and row["kind"] != "submission":
            yield from _by_agent(split, row)
        if origin in copied:
            yield copied[origin]


def _by_agent(split: BoardSplit, row: Mapping[str, Any]) -> Iterator[ConductRow]:
    """What its transcripts and its answers' sources show."""
    origin, known = str(row["origin"]), {sample.id for sample in split.samples}
    seen: dict[str, _Seen] = defaultdict(_Seen)
    transcripts = [
        item for item in read_transcripts(split.workspace.runs / origin) if item.repetition == 1 and item.id in known
    ]
    for transcript in transcripts:
        # Pages that were withheld as blocked, and pages from after the bound of the sample's searches.
        bounds = [event.before for event in transcript.events if isinstance(event, SearchedEvent) and event.before]
        for event in transcript.events:
            if isinstance(event, ReadEvent) and event.status == "excluded":
                seen[BLOCKED_PAGE].add(transcript.id, event.url)
            elif isinstance(event, ReadEvent) and bounds and event.date and event.date[:10] > bounds[0]:
                seen[LATER_PAGE].add(transcript.id, event.url)
    for sample, url in _cited(split, origin):
        seen[CITED].add(sample, url)
    for kind in (BLOCKED_PAGE, LATER_PAGE, CITED):
        if kind in seen:
            yield seen[kind].row(origin, kind, int(row["n"]))


def _cited(split: BoardSplit, origin: str) -> Iterator[tuple[str, str]]:
    """Sample and address of each blocked source that an answer rests on; none where addresses cannot be looked up."""
    if importlib.util.find_spec("tldextract") is None:  # of the extra web
        return
    excluded = ExcludedSources.load(groups=get_task(split.place.task).blocked_sources)
    mine = split.said.filter(pl.col("origin") == origin).explode("sources").drop_nulls("sources")
    for sample, url in mine.select("id", "sources").unique().sort("id", "sources").iter_rows():
        if excluded.reason(url):
            yield sample, url


def _copied(split: BoardSplit) -> Iterator[tuple[str, ConductRow]]:
    """Entries that are right where no other ranked system is."""
    if not has_classes(split):
        return
    ranked = judged_answers(split).filter("ranked")
    counted = ranked.group_by("id").agg(pl.len().alias("others") - 1, pl.col("right").sum().alias("rights"))
    alone = ranked.join(counted, on="id").filter(
        pl.col("others") >= _FEWEST_OTHERS, pl.col("rights") - pl.col("right").cast(pl.UInt32) == 0
    )
    for (origin,), rows in sorted(alone.group_by("origin"), key=lambda item: str(item[0][0])):
        right = rows.filter("right").sort("id")
        if rows.height >= _FEWEST_HARD and right.height >= _SHARE * rows.height:
            examples, times = tuple(right["id"].head(_EXAMPLES)), right.height
            row = ConductRow(str(origin), COPIED, times, rows.height, times, examples, ("",) * len(examples))
            yield row.origin, row
