"""What a frozen data set is: where it is from, its classes, and since when its labels are public."""

from __future__ import annotations

from hellofresh.core.quarters import parse_utc
from hellofresh.tasks import TASKS
from leaderboard.components.labels import day
from leaderboard.components.markup import Html, el, join, link, visible
from leaderboard.components.pieces import cell, heading, notice, table
from leaderboard.components.scale import class_name
from leaderboard.data.records import Records
from leaderboard.data.tables import SplitKey

__all__ = ["contamination_notice", "dataset_introduction", "dataset_section"]


def dataset_introduction(records: Records, split: SplitKey) -> Html | None:
    """What a frozen edition asks, of how many samples of each class, and since when; None for a quarter."""
    dataset = records.dataset(split)
    if dataset is None:
        return None
    labels, task = records.labels(split), TASKS.get(split.task)
    total = sum(row.samples for row in labels)
    shares = ", ".join(f"{row.samples:,} {visible(class_name(split.task, row.label), 60)}" for row in labels)
    asked: list[Html | str] = [el("strong", task.question), " "] if task else []
    version = visible(split.edition.partition("@")[2], 60)
    name = visible(dataset.name, 200)
    of = f"All {total:,} samples of {name}: {shares}. " if labels else f"Samples of {name}. "
    label = el(
        "small", f"Frozen data set, version {version}, content {dataset.content[:12]}, {visible(dataset.licence, 80)}."
    )
    about = el("p", *asked, of, label, class_="hf-question")
    return join([about, contamination_notice(records, split)])


def dataset_section(records: Records, split: SplitKey) -> Html | None:
    """Version, content, licence and label counts of a frozen edition; None for a quarter."""
    dataset = records.dataset(split)
    if dataset is None:
        return None
    lines: list[tuple[str, Html | str]] = [
        ("Data set", join([link(dataset.address, visible(dataset.name, 200))])),
        ("Version", visible(split.edition.partition("@")[2], 60)),
        ("Content", el("code", visible(dataset.content, 64))),
        ("Licence", visible(dataset.licence, 200)),
        ("Public since", day(parse_utc(f"{dataset.published}T00:00:00Z"))),
    ]
    rows = (
        el(
            "tr",
            cell("Class", visible(class_name(split.task, row.label), 60), None, "name"),
            cell("Samples", f"{row.samples:,}"),
            role="row",
        )
        for row in records.labels(split)
    )
    counted = table("Samples of each class", [("name", "Class"), ("number", "Samples")],
                    [el("tbody", *rows, role="rowgroup")], "hf-small")  # fmt: skip
    said = "All rows are kept, with the skew that they have. The content is a SHA-256 of samples and labels: another "
    said += "content needs another version."
    facts = el("dl", *(el("div", el("dt", term), el("dd", text)) for term, text in lines), class_="hf-facts")
    return el("section", heading("Frozen data set", said), facts, counted, contamination_notice(records, split))


def contamination_notice(records: Records, split: SplitKey) -> Html | None:
    """That contamination of a frozen edition is possible, and since when; None for a quarter."""
    dataset = records.dataset(split)
    if dataset is None:
        return None
    since = day(parse_utc(f"{dataset.published}T00:00:00Z"))
    return notice(
        "Contamination is possible.",
        f"This data set and its labels have been public since {since}. Models that were trained later may have seen "
        "them, so a high score proves little.",
    )
