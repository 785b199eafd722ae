"""The board's tables on data: lengths of texts, votes, days, licences, what is released, and what is due.

What belongs to the label side (votes, delays, anything by class) is there for revealed splits only.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime

import numpy as np
import polars as pl

from hellofresh.core.files import canonical_json, sha256_file
from hellofresh.core.workspace import Workspace
from hellofresh.releases.life.load import Published
from hellofresh.releases.life.manifest import MANIFEST
from hellofresh.releases.publish import searched_corpus
from hellofresh.results.board import schema
from hellofresh.results.split.open import BoardSplit
from hellofresh.submissions.released import due_of
from hellofresh.tasks import TASKS, EvidenceQuery, get_task, relevance_of
from hellofresh.tasks.samples import Split

_COUNTED = (
    *("ratings", "intercept", "voters", "flip_cost"),
    *("revert_delay_s", "survived_edits", "required_edits", "distinct_users"),
)
"""The facts that are amounts, and what follows from them."""


def dates(split: BoardSplit) -> Iterator[schema.Dates]:
    """When the split opens, closes and is revealed; nothing where the manifest does not say."""
    days = split.place.manifest.calendar
    if days is not None:
        yield schema.Dates(days["opens"], days["deadline"], days["reveals"])


def distributions(split: BoardSplit) -> Iterator[schema.Distribution]:
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
) -> schema.Distribution:
    values = np.array(numbers, dtype=np.float64)
    spread = (float(value) for value in np.quantile(values, (0, 0.1, 0.25, 0.5, 0.75, 0.9, 1)))
    return schema.Distribution(kind, name, label, len(numbers), samples - len(numbers), float(values.mean()), *spread)


def period_dates(split: BoardSplit) -> Iterator[schema.PeriodDates]:
    """How many samples each period has, and their first and last day."""
    days: dict[str, list[str]] = defaultdict(list)
    for sample in split.samples:
        days[sample.period].append(f"{sample.date:%Y-%m-%d}")
    for period in sorted(days):
        yield schema.PeriodDates(period, len(days[period]), min(days[period]), max(days[period]))


def labels(split: BoardSplit) -> Iterator[schema.LabelCount]:
    """Samples of each class, also of those that no sample has; nothing before the reveal."""
    if split.shown:
        found = Counter(label.label for label in split.labels.values())
        yield from (schema.LabelCount(label, found[label]) for label in range(len(get_task(split.place.task).classes)))


def licenses(split: BoardSplit) -> Iterator[schema.License]:
    """Samples by licence, the most frequent first."""
    found = Counter(sample.license for sample in split.samples)
    yield from (schema.License(*item) for item in sorted(found.items(), key=lambda item: (-item[1], item[0])))


def releases(split: BoardSplit) -> Iterator[schema.ReleaseFacts]:
    """What the manifest says of the split as a whole; nothing where it lists no files."""
    said = split.place.manifest
    if not said.files:
        return
    drawn = said.selection or said.prospective
    yield schema.ReleaseFacts(
        version=said.version,
        sha256=sha256_file(split.place.folder / MANIFEST),
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


def prospects(split: BoardSplit) -> Iterator[schema.Prospect]:
    """What became of a prospective split; nothing for others."""
    drawn, resolved = split.place.manifest.prospective, split.place.manifest.resolved
    if drawn is None:
        return
    dropped = resolved.dropped if resolved else {}
    yield schema.Prospect(
        drawn=sum(period.taken for period in drawn.periods.values()),
        decided=resolved.labels if resolved else 0,
        outcomes=tuple(row.samples for row in labels(split)),
        undecided=dropped.get("undecided", 0),
        no_label=dropped.get("no-label", 0),
        early=dropped.get("early", 0),
        resolved=resolved.at if resolved else "",
    )


def due_ids(
    workspace: Workspace, splits: Sequence[Published], moment: datetime
) -> Iterator[tuple[dict[str, str], list[schema.DueId]]]:
    """The ids that predictions must have, with the keys of their rows: of all splits that take or took predictions.

    With them and the days of each split the site checks what is handed in by the same rules as the command line,
    without the releases. Ids are there from the opening on; quarters of early versions say nothing of their days.

    Raises:
        DataError: if a release is damaged.
    """
    for edition in sorted({place.edition for place in splits}):
        for split in Split:
            places = [one for one in splits if (one.edition, one.split) == (edition, split)]
            own = [one for task in TASKS for one in places if one.task == task]
            if not own or not all(one.manifest.calendar or one.manifest.dataset for one in own):
                continue
            due, keys = due_of(own), {"edition": str(edition), "split": split}
            shown = {one.task for one in own if one.has_opened(workspace, moment)}
            for task, ids in due.ids.items():
                if task in shown:
                    yield {**keys, "task": task}, [schema.DueId(key, taken_down=False) for key in sorted(ids)]
            yield {**keys, "task": ""}, [schema.DueId(key, taken_down=True) for key in sorted(due.taken_down)]


DEPTH = 10
"""How many documents of each ranking are shown."""
_MOST_CHARACTERS = 2_000


def documents(split: BoardSplit) -> Iterator[schema.ShownDocument]:
    """Relevant documents and the first of each ranking, where labels are shown and the licence lets texts be shown."""
    queries = [sample for sample in split.samples if isinstance(sample, EvidenceQuery)]
    if not split.shown or not queries or get_task(split.place.task).track != "retrieval":
        return
    wanted = {document for label in split.labels.values() for document in relevance_of(label.facts)}
    ranked = split.said.filter("headline").select(pl.col("documents").list.head(DEPTH).explode().drop_nulls().unique())
    wanted.update(ranked.collect(engine="streaming")["documents"])
    for name, sha256 in sorted({(query.corpus, query.corpus_sha256) for query in queries}):
        found = searched_corpus(split.workspace, name, sha256)
        if found.corpus is not None and found.is_published:
            for document in found.corpus.documents():
                if document.id in wanted:
                    yield schema.ShownDocument(document.id, document.title, document.text[:_MOST_CHARACTERS])
