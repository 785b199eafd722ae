"""The board's tables on data: lengths of texts, votes, days, licences, what is released, and what is due.

What belongs to the label side (votes, delays, anything by class) is there for revealed splits only.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from hellofresh.core.files import canonical_json
from hellofresh.core.quarters import utc_text
from hellofresh.results.board import release_rows, sample_rows
from hellofresh.results.board.systems import tallies
from hellofresh.results.split.open import BoardSplit
from hellofresh.tasks import TASKS, get_task, relevance_of

DEPTH = 10
"""How many documents of each ranking are shown."""
_MOST_CHARACTERS = 2_000  # of a document on a page: all rankings show theirs, and the copy loads them at once
# The facts that are amounts, and what follows from them.
_COUNTED = (
    *("ratings", "intercept", "voters", "flip_cost"),
    *("revert_delay_s", "survived_edits", "required_edits", "distinct_users"),
)


def dates(split: BoardSplit) -> Iterator[release_rows.Dates]:
    """When the split opens, closes and is revealed; nothing where the manifest does not say."""
    days = split.place.manifest.calendar
    if days is not None:
        yield release_rows.Dates(days["opens"], days["deadline"], days["reveals"])


def distributions(split: BoardSplit) -> Iterator[release_rows.Distribution]:
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
        for name in _COUNTED if split.shown else ():
            own = (split.labels[sample.id] for sample in part)
            found = [task.flip_cost(one) if task and name == "flip_cost" else one.facts.get(name) for one in own]
            if numbers := [float(value) for value in found if isinstance(value, int | float)]:
                yield _distribution("fact", name, label, numbers, len(part))


def _distribution(
    kind: str, name: str, label: int | None, numbers: Sequence[float], samples: int
) -> release_rows.Distribution:
    values = np.array(numbers, dtype=np.float64)
    spread = (float(value) for value in np.quantile(values, (0, 0.1, 0.25, 0.5, 0.75, 0.9, 1)))
    return release_rows.Distribution(
        kind, name, label, len(numbers), samples - len(numbers), float(values.mean()), *spread
    )


def period_dates(split: BoardSplit) -> Iterator[release_rows.PeriodDates]:
    """How many samples each period has, and their first and last day."""
    days: dict[str, list[str]] = defaultdict(list)
    for sample in split.samples:
        days[sample.period].append(f"{sample.date:%Y-%m-%d}")
    for period in sorted(days):
        yield release_rows.PeriodDates(period, len(days[period]), min(days[period]), max(days[period]))


def periods(split: BoardSplit) -> Iterator[release_rows.PeriodBalance]:
    """Samples of each period and, once labels are public, its candidates by label."""
    manifest, counts = split.place.manifest, split.counts
    if manifest.selection is None:
        return
    for name, period in manifest.selection.periods.items():
        found = counts[name].by_label if name in counts else None
        yield release_rows.PeriodBalance(
            manifest.source, name, found, period.taken_per_class, manifest.selection.classes
        )


def funnel(split: BoardSplit) -> Iterator[release_rows.FunnelStep]:
    """One row per step, from rows in to candidates kept, in the order in which the filters apply."""
    manifest = split.place.manifest
    counted = manifest.collection.funnel
    steps = [
        ("rows in", f"{counted.unit} found in the source", counted.rows_in, False),
        *((drop.reason, drop.meaning, drop.count, True) for drop in counted.drops),
        ("candidates", "kept by every filter", counted.total_kept, False),
    ]
    for number, step in enumerate(steps):
        yield release_rows.FunnelStep(manifest.source, number, *step)


def labels(split: BoardSplit) -> Iterator[release_rows.LabelCount]:
    """Samples of each class, also of those that no sample has; nothing before the reveal."""
    if split.shown:
        found = Counter(label.label for label in split.labels.values())
        yield from (
            release_rows.LabelCount(label, found[label]) for label in range(len(get_task(split.place.task).classes))
        )


def licenses(split: BoardSplit) -> Iterator[release_rows.License]:
    """Samples by licence, the most frequent first."""
    found = Counter(sample.license for sample in split.samples)
    yield from (release_rows.License(*item) for item in sorted(found.items(), key=lambda item: (-item[1], item[0])))


def releases(split: BoardSplit) -> Iterator[release_rows.ReleaseFacts]:
    """What the manifest says of the split as a whole; nothing where it lists no files."""
    said = split.place.manifest
    if not said.files:
        return
    drawn = said.selection or said.prospective
    yield release_rows.ReleaseFacts(
        version=said.version,
        sha256=split.manifest_sha256,
        code=said.code,
        source=said.source,
        texts=said.texts,
        revealed=said.has_labels,
        corrected=len(said.corrected),
        seed=drawn.seed if drawn else "",
        rule=drawn.rule if drawn else "",
        draw=said.draw.commitment if said.draw else "",
        commitments=said.commitments,
        parameters=canonical_json(said.collection.parameters),
    )


def prospects(split: BoardSplit) -> Iterator[release_rows.Prospect]:
    """What became of a prospective split; nothing for others."""
    drawn, resolved = split.place.manifest.prospective, split.place.manifest.resolved
    if drawn is None:
        return
    dropped = resolved.dropped if resolved else {}
    yield release_rows.Prospect(
        drawn=sum(period.taken for period in drawn.periods.values()),
        decided=resolved.labels if resolved else 0,
        outcomes=tuple(row.samples for row in labels(split)),
        undecided=dropped.get("undecided", 0),
        no_label=dropped.get("no-label", 0),
        early=dropped.get("early", 0),
        resolved=resolved.at if resolved else "",
    )


def documents(split: BoardSplit) -> Iterator[sample_rows.ShownDocument]:
    """Relevant documents and the first of each ranking, where labels are shown and the licence lets texts be shown."""
    if not split.shown or not split.corpora or get_task(split.place.task).track != "retrieval":
        return
    wanted = {document for label in split.labels.values() for document in relevance_of(label.facts)}
    ranked = split.said.filter("headline").select(pl.col("documents").list.head(DEPTH).explode().drop_nulls().unique())
    wanted.update(ranked.collect(engine="streaming")["documents"])
    for found in split.corpora:
        if found.corpus is not None and found.is_published:
            for document in found.corpus.documents():
                if document.id in wanted:
                    yield sample_rows.ShownDocument(document.id, document.title, document.text[:_MOST_CHARACTERS])


def samples(split: BoardSplit) -> Iterator[sample_rows.SampleRow]:
    """Every sample as the board shows it, with what ranked systems made of it."""
    tally = tallies(split)
    for sample in split.samples:
        label = split.labels[sample.id] if split.shown else None
        facts = {} if label is None else {name: value for name, value in label.facts.items() if value is not None}
        task = get_task(split.place.task)
        page, (judged, right) = task.page_of(sample), tally[sample.id]
        yield sample_rows.SampleRow(
            id=sample.id,
            period=sample.period,
            date=utc_text(sample.date),
            group=sample.group,
            license=sample.license,
            revealed=label is not None,
            published=not split.withheld,
            label=None if label is None or not task.classes else label.label,
            facts=canonical_json(facts),
            title=page.title,
            parts=tuple(part.name for part in page.parts),
            kinds=tuple(part.kind for part in page.parts),
            texts=tuple(part.text for part in page.parts),
            link="" if split.is_bundled else page.link,
            judged=judged,
            right=None if label is None or not task.classes else right,
        )
