"""What a frozen data set is: where it is from, its classes, and since when its labels are public."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from hellofresh.board.schema import DatasetRow
from hellofresh.quarters import parse_utc
from hellofresh.tasks import TASKS
from leaderboard.components.labels import day
from leaderboard.components.markup import Html, el, join, link, named, visible
from leaderboard.components.pieces import heading, notice
from leaderboard.data.records import Records
from leaderboard.data.tables import SplitKey

__all__ = ["contamination_notice", "dataset_facts", "dataset_introduction"]


def dataset_facts(records: Records, split: SplitKey) -> Html | None:
    """Where a frozen edition is from, its licence, and the hash of its content; None for a quarter."""
    dataset = records.dataset(split)
    if dataset is None:
        return None
    facts = (
        ("Name", named(dataset.name, 200)),
        ("Address", link(dataset.address, visible(dataset.address, 200))),
        ("Licence", named(dataset.licence, 200)),
        ("Labels public since", el("span", day(_published(dataset)))),
        ("Content", el("code", dataset.content)),
    )
    lines = (el("div", el("dt", term), el("dd", text)) for term, text in facts)
    return join([heading("Data set"), el("dl", *lines, class_="hf-facts"), contamination_notice(records, split)])


def dataset_introduction(records: Records, split: SplitKey) -> Html | None:
    """What a frozen edition asks, of how many samples of each class, and since when; None for a quarter."""
    dataset = records.dataset(split)
    if dataset is None:
        return None
    labels, task = records.labels(split), TASKS.get(split.task)
    names = task.classes if task else ()
    total = sum(row.samples for row in labels)
    shares = ", ".join(f"{row.samples:,} {_name(row.label, names)}" for row in labels)
    asked: list[Html | str] = [el("strong", task.question), " "] if task else []
    about = el("p", *asked, f"All {total:,} samples of {visible(dataset.name, 200)}: {shares}.", class_="hf-question")
    return join([about, contamination_notice(records, split)])


def _name(label: int, names: Sequence[str]) -> str:
    return visible(names[label], 60) if label < len(names) else f"with label {label}"


def contamination_notice(records: Records, split: SplitKey) -> Html | None:
    """That contamination of a frozen edition is possible, and since when; None for a quarter."""
    dataset = records.dataset(split)
    if dataset is None:
        return None
    since = day(_published(dataset))
    return notice(
        "Contamination is possible.",
        f"This data set and its labels have been public since {since}. Models that were trained later may have seen "
        "them, so a high score proves little.",
    )


def _published(dataset: DatasetRow) -> datetime:
    return parse_utc(f"{dataset.published}T00:00:00Z")
