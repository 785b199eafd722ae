"""Data of a split: sources of samples, contents of a release, download and verification."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from hellofresh.core.editions import MAX_EDITION, split_name
from hellofresh.core.folders import FileEntry
from hellofresh.core.quarters import parse_utc
from hellofresh.results.board.release_rows import (
    Distribution,
    FunnelStep,
    License,
    PeriodDates,
    ReleaseFacts,
    SourceRow,
)
from hellofresh.tasks import TASKS
from hellofresh.tasks.samples import MAIN, PROSPECTIVE
from leaderboard.components.charts import balance_bars, funnel_bar, spread_bar
from leaderboard.components.labels import FACTS, day, fact_name
from leaderboard.components.markup import (
    DASH,
    Html,
    bundled_notice,
    el,
    heading,
    inner_link,
    join,
    link,
    named,
    visible,
)
from leaderboard.components.quarters import dataset_section, outcomes, prospect_of
from leaderboard.components.scale import class_name
from leaderboard.components.tables import Cell, Column, Marked, definitions, facts, span, table
from leaderboard.data.board import Board, SplitKey
from leaderboard.views.visit import Page, Visit

_LEDE = "Where the samples come from, how they are spread, what is released, and how to verify it."
_WORDS = {
    "post": "Words of the post",
    "note": "Words of the note",
    "paragraph": "Words of the paragraph",
    "deleted": "Words taken out",
    "added": "Words put in",
}
_LICENSES = {
    "CC-BY-SA-4.0": ("https://creativecommons.org/licenses/by-sa/4.0/", "free to share with attribution, alike"),
    "LicenseRef-X-content": ("https://x.com/en/tos", "X's terms: ids may be shared, texts may not"),
}
_FACTS_SAID = "Facts that would reveal the label, by label; public since the reveal."
_FLIPS_SAID = (
    "How many colluding accounts or editors could have flipped a label, by the rules that decided it. 0: the rules "
    "alone do not give the label. For notes, 65 means more than 64."
)
_LENGTHS = "Each bar shows the middle half of the samples (dark), the middle 80% (pale) and the median (tick)."
_FOLDER = "data/published"
_MEANINGS = {
    "samples.jsonl": "what is asked",
    "labels.jsonl": "labels, facts and salts",
    "outcomes.jsonl": "what was decided later",
    "commitments.jsonl": "hashes of the labels, published before the reveal",
    "predictions.jsonl": "what systems said",
    "scores.jsonl": "how they were scored",
}


def _compose(visit: Visit) -> None:
    visit.header("Data", _LEDE)
    board = visit.board
    split = visit.split()
    said = "These rows were written for the project. They only show how everything works."
    dataset = dataset_section(board, split)
    visit.show(bundled_notice(board.is_bundled(split), said))
    visit.show(dataset)
    if dataset is None and split.kind == MAIN:
        visit.show(_funnel(board, split), _balance(board, split))
    if files := board.released(split):
        visit.show(heading("Get the samples", "The released files, with their hashes below."))
        addresses = {name: visit.attach(f"released/{name}", path) for name, path in files.items()}
        visit.show(_get_samples(board, split, addresses))
    release, found = board.first(ReleaseFacts, split), board.rows(Distribution, split)
    revealed = release is not None and release.revealed
    later = "" if release is None or revealed else " They are shown by class once the labels are revealed."
    not_yet = join([heading("Facts by label"), el("p", "Shown once the labels are revealed.")]) if release else None
    task = TASKS.get(split.task)
    found = [row for row in found if row.name != "flip_cost"]
    if task is not None and not task.classes:
        found, not_yet, revealed = [row for row in found if row.kind == "words" and row.largest > 1], None, False
    visit.show(
        _prospect(board, split),
        _dates(board, split),
        _spreads("Lengths of texts", f"{_LENGTHS}{later}", found, "words", split),
        _spreads("Facts by label", _FACTS_SAID, found, "fact", split) if revealed else not_yet,
        _flip_costs(board, split),
        _licenses(board.rows(License, split)),
        _release(release, board.rows(FileEntry, split), board.rows(SourceRow, split)) if release else None,
        _verify(release, split) if release else None,
    )


def _funnel(board: Board, split: SplitKey) -> Html:
    """Rows dropped by each filter, from rows in to candidates, in the order of the filters."""
    steps = sorted(board.rows(FunnelStep, split), key=lambda step: step.step)
    if not steps:
        return el("p", "The board has no funnel for this task and quarter. Run: ", el("code", "hellofresh release run"))
    rows_in = left = steps[0].count
    rows, idle = [], []
    for step in steps:
        if step.dropped and not step.count:
            idle.append((named(step.name, 60), named(step.meaning, 300)))
            continue
        share = step.count / rows_in if rows_in else 0.0
        cells: list[Cell] = [
            named(step.name, 60),
            funnel_bar(step, left, rows_in),
            f"\N{MINUS SIGN}{step.count:,}" if step.dropped else f"{step.count:,}",
            "<0.1%" if 0 < share < 0.0005 else f"{share:.1%}",
            named(step.meaning, 300),
        ]
        rows.append(Marked(None if step.dropped else "hf-total", cells))
        left -= step.count if step.dropped else 0
    columns = [("name", "Step"), ("drawn", ""), ("number", "Rows"), ("number", "Of all"), ("text", "What it means")]
    explained = (
        "Each row is counted at the first filter that drops it, so the numbers add up. Blue is what is left after "
        "the step, orange what the step dropped."
    )
    title = f"{len(idle)} more {'filter' if len(idle) == 1 else 'filters'} dropped nothing"
    folded = el("details", el("summary", title), definitions(idle)) if idle else None
    listed = table("What each filter dropped", columns, rows, "hf-funnel")
    return el("section", heading("From source rows to candidates", explained), listed, folded)


def _balance(board: Board, split: SplitKey) -> Html:
    """The available and drawn samples of each period and label."""
    balances, task = board.balance(split), TASKS.get(split.task)
    if not balances:
        return el(
            "p", "The board has no periods for this task and quarter. Run: ", el("code", "hellofresh release run")
        )
    names = [class_name(split.task, label) for label in reversed(range(balances[0].classes))]
    if task is not None and not task.classes:
        names = ["samples"]
    most = max(max(balance.offered) for balance in balances)
    given = sum(balance.taken for balance in balances)
    empty = [balance.period for balance in balances if not balance.taken_per_class]
    lacking = f" No samples of {', '.join(empty)}: all candidates of that time have the same label." if empty else ""
    if not most:
        return el("section", heading("Balance of each period", _not_offered(given, names) + lacking))
    rows = []
    for balance in balances:
        offered = (f"{number:,}" for number in balance.offered)
        drawn = balance_bars(balance, most)
        rows.append(Marked(None, [visible(balance.period, 20), drawn, *offered, f"{balance.taken_per_class:,}"]))
    offered = (f"{sum(balance.offered[k] for balance in balances):,}" for k in range(len(names)))
    taken = sum(balance.taken_per_class for balance in balances)
    rows.append(Marked("hf-total", ["All", None, *offered, f"{taken:,}"]))
    columns: list[Column] = [("name", "Period"), ("drawn", "")]
    columns += [("number", f"{name[:1].upper()}{name[1:]}") for name in (*names, "Taken of each")]
    each, bars = f"as many samples of each class: {given:,} in all", f"Bars are, from the top, {', '.join(names)}"
    if len(names) == 2:
        each = f"as many {names[0]} as {names[1]} samples: {given:,} in all"
        bars = f"Upper bars are {names[0]}, lower bars {names[1]}"
    if len(names) == 1:
        each, bars = f"as many samples as the cap allows: {given:,} in all", "Bars are what there was"
    unit = task.period_kind.value if task else "period"
    explained = f"Each {unit} gives {each}. {bars}; the dark part was drawn, by a hash that no one can choose.{lacking}"
    listed = table("Candidates and samples by period", columns, rows, "hf-balance")
    return el("section", heading("Balance of each period", explained), listed)


def _not_offered(given: int, names: Sequence[str]) -> str:
    """Facts on the periods known before the reveal."""
    if len(names) == 1:
        return f"{given:,} samples. The candidates of each period are public after the reveal."
    each, of = f"as many of each class ({', '.join(names)})", "classes"
    if len(names) == 2:
        each, of = f"as many {names[0]} as {names[1]}", "two"
    return (
        f"{given:,} samples, in each period {each}. How many candidates of the {of} each period had is public "
        "after the reveal."
    )


def _prospect(board: Board, split: SplitKey) -> Html | None:
    """The state of a prospective split's samples."""
    found = prospect_of(board, split)
    if found is None or split.kind == MAIN:
        return None
    decided = f"{found.decided:,}, {outcomes(found, split.task)}"
    decided += f", by {_day(parse_utc(found.resolved))}" if found.resolved else ""
    dropped = f"{found.undecided:,} still undecided, {found.no_label:,} decided neither way or deleted, "
    dropped += f"{found.early:,} decided before the deadline"
    lines = [
        ("Drawn", f"{found.drawn:,} samples that were undecided"),
        ("Decided since", decided if found.resolved else "not yet"),
        ("Dropped", dropped),
    ]
    return join([heading("Outcomes"), facts(lines)])


def _dates(board: Board, split: SplitKey) -> Html | None:
    days, periods = board.days(split), board.rows(PeriodDates, split)
    if days is None and len(periods) < 2:
        return None
    lines = [("Opens", _day(days.opens)), ("Deadline", _day(days.deadline))] if days else []
    lines += [("Revealed", _day(days.reveals))] if days and split.kind == MAIN else []
    columns = [("name", "Period"), ("text", "First day"), ("text", "Last day"), ("number", "Samples")]
    rows = ([visible(row.period, 20), row.first, row.last, f"{row.samples:,}"] for row in periods)
    listed = table("Samples by period and day", columns, rows, "hf-small")
    folded = el("details", el("summary", "First and last day of each period"), listed) if periods else None
    return el("section", heading("Dates", "All times are UTC."), facts(lines) if lines else None, folded)


def _day(moment: datetime) -> str:
    clock = "" if moment.hour == moment.minute == 0 else f", {moment:%H:%M}"
    return f"{day(moment)}{clock}"


def _spreads(title: str, said: str, found: Sequence[Distribution], kind: str, split: SplitKey) -> Html | None:
    rows = sorted((row for row in found if row.kind == kind), key=_place)
    if not rows:
        known = {"words": "The released samples have no texts to count.", "fact": "The source has no such counts."}
        return join([heading(title), el("p", known[kind])])
    lines = []
    for row in rows:
        unit, end = (3600, ", in hours") if row.name.endswith("_s") and kind == "fact" else (1, "")
        words = _WORDS.get(row.name) or visible(f"Words of the {row.name}", 60)
        name = words if kind == "words" else f"{fact_name(row.name)}{end}"
        lines.append(_spread(name, row, split, max(other.p90 for other in rows if other.name == row.name), unit))
    return el("section", heading(title, said), table(title, _spread_columns("What"), lines, "hf-spreads"))


def _spread_columns(first: str) -> list[Column]:
    columns: list[Column] = [("name", first), ("text", "Samples that are"), ("drawn", "")]
    return columns + [("number", name) for name in ("Median", "Mean", "10% to 90%", "Largest", "Known for")]


def _spread(name: Cell, row: Distribution, split: SplitKey, reach: float, unit: int = 1) -> Marked:
    """A line of such a table; `reach` is the end of the bar's scale, and amounts are divided by `unit`."""
    cells: list[Cell] = [
        name,
        "all" if row.label is None else class_name(split.task, row.label),
        spread_bar(row, reach),
        _amount(row.median / unit),
        _amount(row.mean / unit),
        span(_amount(row.p10 / unit), _amount(row.p90 / unit)),
        _amount(row.largest / unit),
        (f"{row.n:,}", f"of {row.n + row.missing:,}" if row.missing else None),
    ]
    return Marked("hf-total" if row.label is None else None, cells)


def _flip_costs(board: Board, split: SplitKey) -> Html | None:
    """The least numbers of accounts or editors that could flip labels, in each revealed quarter of the task."""
    splits = [one for one in board.splits if (one.task, one.kind) == (split.task, split.kind)]
    splits = [one for one in splits if one == split or not board.is_bundled(one)]
    found = {one: sorted(board.rows(Distribution, one, name="flip_cost"), key=_place) for one in splits}
    reach = max((row.p90 for rows in found.values() for row in rows), default=None)
    if reach is None:
        return None
    lines = [_spread(visible(one.edition, 20), row, one, reach) for one, rows in found.items() for row in rows]
    title = "How few could flip a label"
    listed = table(title, _spread_columns("Quarter"), lines, "hf-spreads")
    return el("section", heading(title, _FLIPS_SAID), listed)


def _place(row: Distribution) -> tuple[int, str, int]:
    """Sort key: known names in the order above, then others; all samples first, then the classes from the last."""
    known = [*_WORDS, *FACTS]
    place = known.index(row.name) if row.name in known else len(known)
    return place, row.name, -1_000 if row.label is None else -row.label


def _amount(value: float) -> str:
    """A number with a digit or two after the point, fewer of large ones; with a minus sign, not a hyphen."""
    size = abs(value)
    text = f"{value:z,.{0 if size >= 100 or value == round(value) else 1 if size >= 1 else 2}f}"
    return text.replace("-", "\N{MINUS SIGN}")


def _licenses(found: Sequence[License]) -> Html | None:
    lines = []
    for row in found:
        address, meaning = _LICENSES.get(row.license, ("", ""))
        named_link = link(address, visible(row.license, 60))
        lines.append((f"{row.samples:,} samples", join([named_link, f": {meaning}" if meaning else None])))
    return el("section", heading("Licences"), facts(lines)) if lines else None


def _release(release: ReleaseFacts, files: Sequence[FileEntry], sources: Sequence[SourceRow]) -> Html:
    """The contents of the manifest."""
    rule = draw = None
    if release.rule:
        rule = join([named(release.rule, 200), "; seed ", el("code", visible(release.seed, 80))])
        known = "public now, in the manifest" if release.revealed else "secret until the reveal"
        committed = join([f"{known}; committed to by ", el("code", visible(release.draw, 64))])
        draw = committed if release.draw else "none: drawn with the public seed alone"
    lines = [
        ("Manifest", join([f"version {release.version}, SHA-256 ", el("code", release.sha256)])),
        ("Built by", named(release.code, 80)),
        ("Texts", named(release.texts, 20)),
        ("Draw", rule),
        ("Draw key", draw),
        ("Commitments", named(release.commitments, 200) if release.commitments else None),
    ]
    said = "Its samples are frozen from its opening; each version of the manifest names the previous one."
    settings = json.dumps(json.loads(release.parameters), indent=2, ensure_ascii=True, sort_keys=True)
    return el(
        "section",
        heading("The release", said),
        facts(lines),
        _hashes("Released files", "File", [(row.path, row.size, row.sha256, f"{row.rows:,}") for row in files]),
        _hashes("Made from", "Source", [(row.name, row.size, row.sha256, None) for row in sources]),
        el("details", el("summary", "Settings of the collection"), el("pre", settings)) if settings != "{}" else None,
    )


def _hashes(title: str, what: str, rows: Sequence[tuple[str, int, str, str | None]]) -> Html | None:
    """A table of files with their sizes and hashes, and their numbers of rows if counted."""
    if not rows:
        return None
    counted = rows[0][3] is not None
    columns = [("name", what), ("number", "Bytes"), *([("number", "Rows")] if counted else []), ("text", "SHA-256")]
    lines: Iterable[list[Cell]] = (
        [named(name, 120), f"{size:,}", *([number or DASH] if counted else []), el("code", visible(sha256, 64))]
        for name, size, sha256, number in rows
    )
    return join([el("h3", title), table(title, columns, lines, "hf-hashes")])


def _verify(release: ReleaseFacts, split: SplitKey) -> Html:
    """The commands to verify a release, ready to copy."""
    place = f"data/releases/{visible(split.edition, MAX_EDITION)}/{visible(split.task, 60)}"
    place += f"/{PROSPECTIVE}" if split.kind == PROSPECTIVE else ""
    said = (
        "You can verify the released files yourself, here or in a copy: every file is the one in the manifest, every "
        "version names the previous one, labels match their commitments, and scores follow from predictions and "
        "labels."
    )
    if release.corrected:
        said += f" Labels corrected since they were published: {release.corrected}; the manifest says which and why."
    command = f"hellofresh release verify {place}"
    noted = "Write down the manifest's hash now; later this shows that it is still in the history:"
    known = el("pre", f"{command} --known {release.sha256}")
    return el("section", heading("How to verify", said), el("pre", command), el("p", noted), known)


def _get_samples(board: Board, split: SplitKey, addresses: Mapping[str, str | None]) -> Html:
    """The downloads, and the code that loads the same samples in Python.

    Args:
        board: the board.
        split: of the samples.
        addresses: of the files by name; None if buttons download them.
    """
    listed = (
        el("li", inner_link(address, name), f": {_MEANINGS[name]}" if name in _MEANINGS else None)
        for name, address in addresses.items()
    )
    config = split.task if split.kind == MAIN else f"{split.task}-{split.kind}"
    name = board.addresses.dataset
    loading = (
        "from datasets import load_dataset\n\n"
        f'load_dataset("{name or _FOLDER}", "{visible(config)}", split="{visible(split_name(split.edition))}")'
        f"{'' if name else '  # made by: hellofresh release publish'}"
    )
    return el(
        "section",
        el("ul", *listed),
        el("p", "The same in Python:"),
        el("pre", loading),
    )


PAGE = Page("Data", "data", _compose, _LEDE)
