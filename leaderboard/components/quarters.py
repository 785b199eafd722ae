"""Descriptions of editions: a quarter with its calendar and its prospective samples, a data set, and all quarters."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from hellofresh.core.calendar import Calendar
from hellofresh.core.data_sets import DatasetFacts
from hellofresh.core.quarters import Quarter, parse_utc
from hellofresh.results.board.release_rows import LabelCount, Prospect
from hellofresh.results.board.system_rows import RatedRow
from hellofresh.results.over_quarters import OverQuartersRow
from hellofresh.tasks import TASKS
from hellofresh.tasks.samples import MAIN, PROSPECTIVE
from leaderboard.components.labels import NO_REGIME, Links, by_state, day, until
from leaderboard.components.markup import (
    Html,
    bundled_notice,
    el,
    heading,
    inner_link,
    join,
    link,
    notice,
    visible,
)
from leaderboard.components.parts import DataColumn, DataTable, Filter, drawn_table
from leaderboard.components.scale import class_name, class_names, plain_scale
from leaderboard.components.standings import PROVENANCES
from leaderboard.components.tables import Column, Value, facts, interval, table
from leaderboard.components.vega import interval_chart, scored
from leaderboard.data.board import Board, BoardEntry, MetricValue, SplitKey

_FEWEST_QUARTERS = 5  # quarters are the clusters of a score over all quarters: with fewer, no interval is shown


def next_days(board: Board, task: str) -> Html | None:
    """When the next quarter opens, and the deadline of the open one.

    Pages do not depend on the time of rendering: the latest quarter counts as open until it is revealed.
    """
    found = [(split, days) for split in board.splits if split.task == task and (days := board.days(split))]
    if not found:
        return None
    split, days = max(found, key=lambda item: item[1].opens)
    following = Quarter.parse(split.edition).next()
    opens = by_state(
        days.reveals + timedelta(days=1),
        [f"The next quarter, {following}, opens on ", until(days.reveals), "."],
        [f"This board does not have {following} yet, which was due on {day(days.reveals)}."],
    )
    if board.is_revealed(split):
        return el("p", opens, class_="hf-days")
    accepts = by_state(
        days.deadline,
        [f"{split.edition} accepts predictions from {day(days.opens)} until ", until(days.deadline), ". "],
        [f"{split.edition} accepted predictions until {day(days.deadline)}. "],
    )
    return el("p", accepts, opens, class_="hf-days")


def introduction(board: Board, split: SplitKey) -> Html:
    """The number of samples, and whether they are real, frozen or prospective."""
    if split.kind == PROSPECTIVE:
        return _prospective(board, split)
    task = TASKS.get(split.task)
    dataset = board.first(DatasetFacts, split)
    if dataset is not None:
        labels, name = board.rows(LabelCount, split), visible(dataset.name, 200)
        shares = ", ".join(f"{row.samples:,} {visible(class_name(split.task, row.label), 60)}" for row in labels)
        of = f"All {sum(row.samples for row in labels):,} samples of {name}: {shares}. "
        version = f"version {_version(split)}, content {dataset.content[:12]}, {visible(dataset.licence, 80)}, "
        version += f"public since {day(parse_utc(f'{dataset.published}T00:00:00Z'))}."
        small = el("small", f"Frozen data set, {version}")
        about = el("p", of if labels else f"Samples of {name}. ", small, class_="hf-question")
        return join([about, contamination_notice(board, split)])
    samples = sum(balance.taken for balance in board.balance(split))
    names = class_names(split.task)[::-1]
    shares = f"as many of each class: {', '.join(names)}"
    if len(names) == 2:
        shares = f"half of them {names[0]}, half {names[1]}"
    number = f"{samples:,} samples, {shares}." if task is not None and task.classes else f"{samples:,} samples."
    return el("p", number, class_="hf-question")


def _version(split: SplitKey) -> str:
    return visible(split.edition.partition("@")[2], 60)


def dataset_section(board: Board, split: SplitKey) -> Html | None:
    """Version, content, licence and label counts of a frozen edition; None for a quarter."""
    dataset = board.first(DatasetFacts, split)
    if dataset is None:
        return None
    lines: list[tuple[str, Html | str]] = [
        ("Data set", link(dataset.address, visible(dataset.name, 200))),
        ("Version", _version(split)),
        ("Content", el("code", visible(dataset.content, 64))),
        ("Licence", visible(dataset.licence, 200)),
        ("Public since", day(parse_utc(f"{dataset.published}T00:00:00Z"))),
    ]
    rows = [
        [visible(class_name(split.task, row.label), 60), f"{row.samples:,}"] for row in board.rows(LabelCount, split)
    ]
    columns: list[Column] = [("name", "Class"), ("number", "Samples")]
    counted = table("Samples of each class", columns, rows, "hf-small") if rows else None
    said = (
        "All rows are kept, however many each class has. The content is a SHA-256 of samples and labels: a change "
        "needs a new version."
    )
    return el("section", heading("Frozen data set", said), facts(lines), counted, contamination_notice(board, split))


def contamination_notice(board: Board, split: SplitKey) -> Html | None:
    """Warning that models may have seen a frozen edition, and since when.

    None for a quarter, without models, and where people rated what systems wrote: no label gives that away.
    """
    dataset = board.first(DatasetFacts, split)
    if dataset is None or board.has(RatedRow, split) or not any(map(is_model, board.entries(split).values())):
        return None
    since = day(parse_utc(f"{dataset.published}T00:00:00Z"))
    return notice(
        "Contamination is possible.",
        f"This data set and its labels have been public since {since}. Models that were trained later may have seen "
        "them, so a high score of theirs proves little.",
    )


def is_model(entry: BoardEntry) -> bool:
    """Whether an entry rests on a model that was trained on texts of others: rules and search by words do not.

    Systems of a published study state no regime: people may be among them.
    """
    return entry.kind not in ("baseline", "retriever") and entry.regime not in NO_REGIME


def prospect_of(board: Board, split: SplitKey) -> Prospect | None:
    """The state of the quarter's prospective samples; None if it has none."""
    return board.first(Prospect, split._replace(kind=PROSPECTIVE))


def _prospective(board: Board, split: SplitKey) -> Html:
    """Number of undecided samples, and when they were published, due and resolved."""
    prospect, days, task = prospect_of(board, split), board.days(split), TASKS.get(split.task)
    if prospect is None:
        return el("p", "Prospective samples.", class_="hf-question")
    found = f" ({outcomes(prospect, split.task)})" if task else ""
    parts = (
        f"{prospect.drawn:,} samples that were undecided when they were published",
        f" on {day(days.opens)}; predictions were due before {day(days.deadline)}" if days else "",
        f". {prospect.decided:,} were decided by {day(parse_utc(prospect.resolved))}{found}."
        if prospect.resolved
        else ".",
        " No system can have seen an outcome.",
    )
    apart = (
        "These samples differ from those of the main table: do not compare ranks or scores of the two tables. "
        "Labels are not balanced here."
    )
    return join([el("p", *parts, class_="hf-question"), el("p", el("small", apart))])


def outcomes(prospect: Prospect, task: str) -> str:
    """Number of decided samples with label 1; with more than two classes, the number of each."""
    counts = prospect.outcomes or (0, 0)
    if len(counts) == 2:
        return f"{counts[1]:,} of them {class_name(task, 1)}"
    return ", ".join(f"{counts[label]:,} {class_name(task, label)}" for label in reversed(range(len(counts))))


def prospective_hint(board: Board, split: SplitKey, links: Links) -> Html | None:
    """A note on the main table about the table of prospective samples, existing or planned."""
    others, prospect = split._replace(kind=PROSPECTIVE), prospect_of(board, split)
    if prospect is None or split.kind == PROSPECTIVE:
        return None
    if board.has_scores(others):
        said = f" has {prospect.decided:,} samples that were undecided when systems predicted them."
        address = links.to("leaderboard", others)
        return el("p", inner_link(address, "A prospective table"), said, class_="hf-days")
    days = board.days(others)
    if days is None:
        return None
    drawn = f"Prospective samples: {prospect.drawn:,} that were undecided when they were published; "
    if prospect.resolved:
        return el("p", drawn, "they have been decided since, and no system predicted them.", class_="hf-days")
    return el("p", drawn, "forecasts ", forecasts_due(days), ".", class_="hf-days")


def forecasts_due(days: Calendar) -> Html:
    """When forecasts are, or were, due, and when outcomes come."""
    outcome = f"; outcomes come by {day(days.reveals)}"
    return by_state(
        days.deadline,
        ["are due before ", until(days.deadline), outcome], [f"were due before {day(days.deadline)}{outcome}"],
    )  # fmt: skip


def fixed_rows(board: Board, task: str, split: str = MAIN) -> list[OverQuartersRow]:
    """All systems over all real quarters; those of the bundled sample only if there are no others."""
    return board.fixed(task, split, bundled=False) or board.fixed(task, split, bundled=True)


def too_few(rows: Sequence[OverQuartersRow]) -> Html | None:
    """A note in place of the table over all quarters while there are too few."""
    quarters = rows[0].of_quarters if rows else 0
    if quarters >= _FEWEST_QUARTERS:
        return None
    said = f"Scores over all quarters need at least {_FEWEST_QUARTERS} quarters with ranked systems"
    return el("p", f"{said}; so far there {'is' if quarters == 1 else 'are'} {quarters or 'none'}.")


def every_quarter(board: Board, task: str, split: str = MAIN) -> Html:
    """The table over all quarters and its method."""
    return join([over_quarters_said(board, task, split), drawn_table(fixed_data(board, task, split))])


def over_quarters_said(board: Board, task: str, split: str = MAIN) -> Html:
    """The method of the table over all quarters."""
    scale, rows = plain_scale(task, split), fixed_rows(board, task, split)
    said = (
        "These quarters were written for the project, to try everything out. Their scores are for demonstration only."
    )
    explained = (
        f"{scale.title} that each system would have on average over the quarters here ({rows[0].of_quarters} so far): "
        "a model with an effect for each system and each quarter corrects for how hard a quarter was. "
        "Intervals are clustered by quarter. A system gets a score once it has taken part in two quarters that it "
        "shares with others; baselines and controls get none."
    )
    doubt = rows[0].additivity_p
    if doubt is not None and doubt < 0.05:
        explained += f" Careful: systems differ from quarter to quarter by more than chance (p = {doubt:.3f})."
    bundled = not board.fixed(task, split, bundled=False)
    return join([bundled_notice(bundled, said), heading("All quarters", explained)])


def fixed_data(board: Board, task: str, split: str = MAIN) -> DataTable:
    """The table over all quarters as values."""
    scale, rows = plain_scale(task, split), fixed_rows(board, task, split)
    metrics = [
        None if row.score is None or row.low is None or row.high is None
        else MetricValue(scale.title, row.score, row.low, row.high)
        for row in rows
    ]  # fmt: skip
    columns = [
        DataColumn("System", [row.system for row in rows], pinned=True),
        DataColumn("Team", [row.team for row in rows]),
        DataColumn(scale.title, [row.score for row in rows], "%.3f"),
        DataColumn("95% interval", [interval(one) if one else None for one in metrics]),
        DataColumn("Without a score", [row.reason for row in rows], shown=None in metrics),
        DataColumn("Quarters", [row.quarters for row in rows]),
        DataColumn("Regime", [row.regime for row in rows]),
        DataColumn("Provenance", [PROVENANCES.get(row.provenance, row.provenance) for row in rows]),
        DataColumn("Latest", [row.latest for row in rows]),
    ]
    said = [f"{row.system} ({row.team}, {row.regime})" for row in rows]
    return DataTable(
        "Systems over all quarters",
        columns,
        find="Find a system or team",
        texts=[f"{row.system} {row.team}".lower() for row in rows],
        filters=[Filter.of("Regime", [row.regime for row in rows], "All regimes")],
        charts=[interval_chart(scale, scored(said, metrics) | {"kind": ["Systems"] * len(rows)})],
    )


def plain_fixed(row: OverQuartersRow, task: str) -> dict[str, Value]:
    """A row for downloads."""
    name = TASKS[task].headline.name if task in TASKS else "score"
    return {
        "task": task,
        **{fact: getattr(row, fact) for fact in ("system", "team", "regime", "provenance")},
        name: row.score,
        f"{name}_low": row.low,
        f"{name}_high": row.high,
        "quarters": row.quarters,
        "of_quarters": row.of_quarters,
        "reason": row.reason or None,
    }
