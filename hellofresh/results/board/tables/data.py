"""The board's tables on data: how long texts are, how many votes, when, under which licence, and what is released.

What belongs to the label side (votes, delays, anything by class) is there for revealed splits only.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from hellofresh.core.files import canonical_json, sha256_file
from hellofresh.releases.life.manifest import MANIFEST
from hellofresh.results.board.schema import (
    DatasetRow,
    Dates,
    Distribution,
    LabelCount,
    License,
    PeriodDates,
    Prospect,
    ReleaseFacts,
    ReleaseFile,
    SourceRow,
)
from hellofresh.results.board.splits import BoardSplit
from hellofresh.tasks import TASKS, get_task
from hellofresh.tasks.samples import Sample

__all__ = [
    "datasets",
    "dates",
    "distributions",
    "files",
    "labels",
    "licenses",
    "period_dates",
    "prospects",
    "releases",
    "sources",
]

_COUNTED = ("ratings", "revert_delay_s", "survived_edits", "required_edits", "distinct_users")
"""The facts that are amounts."""


def dates(split: BoardSplit) -> Iterator[Dates]:
    """When the split opens, closes and is revealed; nothing where the manifest does not say."""
    days = split.manifest.calendar
    if days is not None:
        yield Dates(days["opens"], days["deadline"], days["reveals"])


def datasets(split: BoardSplit) -> Iterator[DatasetRow]:
    """Where a frozen edition is from; nothing for a quarter."""
    said = split.manifest.dataset
    if said is not None:
        yield DatasetRow(said.name, said.address, said.licence, said.published, said.content)


def distributions(split: BoardSplit) -> Iterator[Distribution]:
    """Lengths of texts in words and, once revealed, both by class and the facts that go with labels."""
    task = TASKS.get(split.place.task)
    labels = reversed(range(len(task.classes))) if task and split.shown else ()
    for label in (None, *labels):
        part = [sample for sample in split.full if label is None or split.labels[sample.id].label == label]
        words: dict[str, list[float]] = defaultdict(list)
        for sample in part:
            for text in task.page_of(sample).parts if task else ():
                words[text.name].append(len(text.text.split()))
        for name, lengths in words.items():
            yield _distribution("words", name, label, lengths, len(part))
        if split.shown:
            yield from _facts(split, part, label)


def _facts(split: BoardSplit, part: Sequence[Sample], label: int | None) -> Iterator[Distribution]:
    for name in _COUNTED:
        found = [split.labels[sample.id].facts.get(name) for sample in part]
        numbers = [float(value) for value in found if isinstance(value, int)]
        if numbers:
            yield _distribution("fact", name, label, numbers, len(part))


def _distribution(kind: str, name: str, label: int | None, numbers: Sequence[float], samples: int) -> Distribution:
    values = np.array(numbers, dtype=np.float64)
    spread = (float(value) for value in np.quantile(values, (0, 0.1, 0.25, 0.5, 0.75, 0.9, 1)))
    return Distribution(kind, name, label, len(numbers), samples - len(numbers), float(values.mean()), *spread)


def period_dates(split: BoardSplit) -> Iterator[PeriodDates]:
    """How many samples each period has, and their first and last day."""
    days: dict[str, list[str]] = defaultdict(list)
    for sample in split.samples:
        days[sample.period].append(f"{sample.date:%Y-%m-%d}")
    for period in sorted(days):
        yield PeriodDates(period, len(days[period]), min(days[period]), max(days[period]))


def labels(split: BoardSplit) -> Iterator[LabelCount]:
    """Samples of each class, also of those that no sample has; nothing before the reveal."""
    if split.shown:
        found = Counter(label.label for label in split.labels.values())
        yield from (LabelCount(label, found[label]) for label in range(len(get_task(split.place.task).classes)))


def licenses(split: BoardSplit) -> Iterator[License]:
    """Samples by licence, the most frequent first."""
    found = Counter(sample.license for sample in split.samples)
    yield from (License(*item) for item in sorted(found.items(), key=lambda item: (-item[1], item[0])))


def releases(split: BoardSplit) -> Iterator[ReleaseFacts]:
    """What the manifest says of the split as a whole; nothing where it lists no files."""
    said = split.manifest
    if not said.files:
        return
    drawn = said.selection or said.prospective
    yield ReleaseFacts(
        version=said.version,
        sha256=sha256_file(split.place.folder(split.workspace) / MANIFEST),
        code=said.code,
        source=said.source,
        texts=said.texts,
        revealed=said.has_labels,
        seed=drawn.seed if drawn else "",
        rule=drawn.rule if drawn else "",
        draw=said.draw.commitment if said.draw else "",
        commitments=said.commitments,
        parameters=canonical_json(said.collection.parameters),
    )


def files(split: BoardSplit) -> Iterator[ReleaseFile]:
    """The files that the manifest lists, in its order."""
    for entry in split.manifest.files:
        yield ReleaseFile(entry.path, entry.size, entry.sha256, entry.rows)


def sources(split: BoardSplit) -> Iterator[SourceRow]:
    """The files that the release was made from."""
    for entry in split.manifest.collection.sources:
        yield SourceRow(entry.name, entry.size, entry.sha256)


def prospects(split: BoardSplit) -> Iterator[Prospect]:
    """What became of a prospective split; nothing for others."""
    drawn, resolved = split.manifest.prospective, split.manifest.resolved
    if drawn is None:
        return
    dropped = resolved.dropped if resolved else {}
    yield Prospect(
        drawn=sum(period.taken for period in drawn.periods.values()),
        decided=resolved.labels if resolved else 0,
        outcomes=tuple(row.samples for row in labels(split)),
        undecided=dropped.get("undecided", 0),
        no_label=dropped.get("no-label", 0),
        early=dropped.get("early", 0),
        resolved=resolved.at if resolved else "",
    )
