"""The ranked table of a task and quarter: rows, order and layout; and scores by period and by prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from hellofresh.core.files import sha256_text
from hellofresh.core.plugins import plugins, refuse_taken
from hellofresh.results.board.system_rows import SystemFacts
from hellofresh.results.comparison import ROUGH, chance
from hellofresh.results.split.panel import section_of
from hellofresh.results.standings import Standing
from leaderboard.components.charts import interval_bar, interval_scale, period_tick
from leaderboard.components.labels import NO_REGIME, Links, money
from leaderboard.components.markup import DASH, Html, el, inner_link, join, named, visible
from leaderboard.components.parts import DataColumn, DataTable, Filter
from leaderboard.components.scale import Scale, figure
from leaderboard.components.tables import (
    FIRST,
    Cell,
    Column,
    Value,
    cell,
    definitions,
    grouped_table,
    interval,
    is_same,
    line_above,
    score,
    scrolled,
    span,
    table,
)
from leaderboard.components.vega import cost_chart, interval_chart, scored
from leaderboard.data.board import Board, BoardEntry, ScoreCell, SplitKey

GROUPS = {
    "system": ("Systems", ""),
    "control": (
        "Controls",
        "regimes for comparison, such as pages unrelated to the sample; not ranked",
    ),
    "baseline": ("Baselines", "rules without a language model, the least a system should beat; not ranked"),
    "smoke-test": ("Smoke test", "a model no better than chance, to show that everything works; not ranked"),
}
FEWEST_COSTS = 3
"""Minimal number of known costs for a chart."""
PROVENANCES = {"run": "run here", "uploaded": "uploaded"}
_RANK = (
    "by {metric}, on the samples common to all ranked systems; below it the best and the worst rank that the data "
    "allow: one more than the number of significantly better systems, and the number of systems that are not "
    "significantly worse. Systems that share a bracket do not differ significantly from the best of them, at "
    "5% after adjusting for all pairs (step-down max-t)."
)
ROUGH_SAID = f"{ROUGH} too few, uneven or skewed groups of samples; the interval may cover the true value in under 95%."
_SMALL = f"95% intervals. {ROUGH_SAID} Where two of them overlap widely, the order of the systems may be chance."
ONLY_UPLOADS = "Only uploads; answers can be looked up."
"""The headline of a main split on which no run is ranked."""


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the table: a result, its rank (0 for unranked), and further facts on the system."""

    result: ScoreCell
    rank: int
    standing: Standing | None
    facts: SystemFacts | None

    @property
    def mark(self) -> str:
        """The mark of an unreliable interval, else nothing."""
        return ROUGH if self.standing and self.standing.few_clusters else ""

    @property
    def interval(self) -> str:
        """The limits of the ranking metric, with the mark."""
        return f"{interval(self.result.headline)}{self.mark}"


_FIXED = frozenset({"#", "Rank", "System", "95% interval", "Ranks", "Team", "Kind"})  # left of these in the app


@dataclass(frozen=True, slots=True)
class BoardColumn:
    """A column of the ranked table, right of the chart. Packages add more by entry points of `hellofresh.columns`.

    Attributes:
        title, meaning: its head, and its text in "What the columns mean"; without a meaning it is not listed.
        kind: `number` or `text`.
        cell: content.
        plain: content for downloads, by the names of their columns; None is unknown.
        width: in rem, on wide and on narrow screens.
        number_format: in the app: printf, or `percent` of a share.
        shown: whether it is visible by default.
        known: whether a line has a value: the column is hidden if no line has one.
        every: the choice of all rows in a filter of the column; empty without a filter.
        group: the value of a line in this filter; empty if unknown.
    """

    title: str
    kind: str
    meaning: str
    cell: Callable[[Line], Cell]
    plain: Callable[[Line], Mapping[str, Value]]
    width: tuple[float, float] = (5.25, 4.75)
    shown: bool = False
    known: Callable[[Line], bool] = lambda _: True
    number_format: str = ""
    every: str = ""
    group: Callable[[Line], str] = lambda _: ""


@dataclass(frozen=True, slots=True)
class View:
    """Display settings of a ranked table.

    Attributes:
        split: of the table.
        scale: of its scores.
        links: to pages.
    """

    split: SplitKey
    scale: Scale
    links: Links


def by_rank(scale: Scale) -> Callable[[Line], tuple[object, ...]]:
    """Sort key: ranked systems first, the others by their score."""
    return lambda line: (line.rank or 10**6, scale.order(line.result.headline.value))


def columns_of(scale: Scale) -> Mapping[str, BoardColumn]:
    """The columns right of the chart by their titles: visible ones, the further metrics, then the others."""
    shown = [column for column in _COLUMNS if column.shown]
    rest = [column for column in _COLUMNS if not column.shown]
    ours = {column.title: column for column in (*shown, *_of_metrics(scale), *rest)}
    for column in added_columns():
        refuse_taken("column", column.title, {*ours, *_FIXED, scale.title})
        ours[column.title] = column
    return ours


@cache
def added_columns() -> tuple[BoardColumn, ...]:
    """The columns of other packages, cached, since a board of hundreds of pages needs them for each table."""
    return tuple(plugins("hellofresh.columns", of=BoardColumn).values())


def _of_metrics(scale: Scale) -> Iterator[BoardColumn]:
    """The further metrics; downloads already contain all metrics."""
    meanings = dict(scale.meanings)
    for name, title in scale.others:
        meaning = f"{meanings[title]}." if meanings.get(title) else ""
        yield BoardColumn(title, "number", meaning, _metric_cell(name), _nothing, number_format=_form(title))


def _form(title: str) -> str:
    """The format of a metric's numbers in tables of values, with as many digits as elsewhere."""
    return "%.1f" if figure(0.0, title) == "0.0" else "%.3f"


def _metric_cell(name: str) -> Callable[[Line], Cell]:
    return lambda line: score(line.result.metric(name))


def hidden_columns(lines: Sequence[Line], scale: Scale) -> Mapping[str, int]:
    """Titles and numbers of the columns hidden by default, among them those without any value or with one for all."""
    numbered = enumerate(columns_of(scale).values(), start=FIRST)
    return {one.title: k for k, one in numbered if not one.shown or not any(map(one.known, lines)) or _same(one, lines)}


def _same(column: BoardColumn, lines: Sequence[Line]) -> bool:
    return is_same(map(column.cell, lines))


def columns_class(scale: Scale) -> str:
    """The CSS class of tables with these columns, for their widths."""
    return f"hf-ranked-{sha256_text(repr((scale.title, *columns_of(scale))))[:6]}"


def lines_of(
    results: Sequence[ScoreCell], standings: Mapping[str, Standing], facts: Mapping[str, SystemFacts]
) -> list[Line]:
    """A line for each result, with its rank by the standings."""
    lines = []
    for result in results:
        place = standings.get(result.entry.origin)
        lines.append(Line(result, place.rank if place else 0, place, facts.get(result.entry.origin)))
    return lines


def all_lines(board: Board, split: SplitKey) -> list[Line]:
    """A line for each entry of a split."""
    return lines_of(board.headlines(split), board.standings(split), board.systems(split))


def group_of(result: ScoreCell) -> str:
    """The group of a result in the table, a key of `GROUPS`."""
    return section_of(result.entry.kind, result.entry.regime, smoke_test=result.smoke_test).value


def in_groups(lines: Sequence[Line]) -> dict[BoardEntry, str]:
    """The entries in the order of the table, with their groups."""
    return {line.result.entry: kind for kind in GROUPS for line in lines if group_of(line.result) == kind}


def standings_table(lines: Sequence[Line], view: View) -> Html:
    """The table in the order of the lines, group by group, with the meanings of its columns."""
    if not lines:
        return el("p", "No system was asked with this prompt.")
    scale = view.scale
    drawn = scale.zoomed([line.result.headline for line in lines])
    columns: list[Column] = [("rank", "#"), ("name", "System"), *headline_columns(scale, drawn)]
    columns += [(column.kind, name) for name, column in columns_of(scale).items()]
    bodies = []
    for kind, (title, explained) in GROUPS.items():
        rows = [_row(line, view, drawn) for line in lines if group_of(line.result) == kind]
        small = el("small", _systems_explained(view) if kind == "system" else explained)
        banner = el("th", title, " ", small, colspan=len(columns), scope="rowgroup", role="rowheader")
        head = el("tr", banner, class_="hf-group", role="row")
        bodies += [el("tbody", head, *rows, class_=f"hf-{kind}", role="rowgroup")] if rows else []
    said = f"Systems by {scale.title} with 95% intervals"
    hidden = hidden_columns(lines, scale)
    away = " ".join(f"hf-hide-{number}" for number in hidden.values())
    shown = (one for one in columns_of(scale).values() if one.shown and one.title in hidden and _same(one, lines))
    return join(
        [
            line_above((one.title, one.cell(lines[0])) for one in shown if one.known(lines[0])),
            grouped_table(said, columns, bodies, f"hf-standings hf-opens {away}"),
            el("details", el("summary", "What the columns mean"), definitions(_meanings(scale))),
        ]
    )


def _systems_explained(view: View) -> str:
    title, constant = view.scale.title, view.scale.constant
    said = [f"ranked by {title}", "bands are 95% intervals"]
    return "; ".join([*said, *([f"the dashed line: {constant}"] if constant else [])])


def _meanings(scale: Scale) -> Iterator[tuple[str, str]]:
    line = (
        f", the dashed line what {scale.constant} would give, {figure(scale.reference, scale.title)}"
        if scale.reference is not None
        else ""
    )
    (title, meaning), *_ = scale.meanings or ((scale.title, ""),)
    drawn = f"The band beside it is its 95% interval, the tick its value{line}."
    yield "Rank", _RANK.format(metric=scale.title)
    yield title, f"{meaning or 'what systems are ranked by'}. {drawn}"
    yield "Small figures", _SMALL
    yield from ((name, column.meaning) for name, column in columns_of(scale).items() if column.meaning)


def _row(line: Line, view: View, drawn: Scale) -> Html:
    result, entry, scale, standing = line.result, line.result.entry, view.scale, line.standing
    ranked = group_of(result) == "system"
    shown = (str(line.rank) if line.rank else DASH) if ranked else None
    between = None
    if ranked and standing:
        between = el("small", _rank_limits(standing))
    address = view.links.to("system", view.split, system=entry.origin)
    return el(
        "tr",
        el("td", shown, between, class_="hf-rank", role="cell"),
        cell("name", "System", (inner_link(address, named(entry.name)), whose(entry))),
        cell("number", scale.title, (figure(result.headline.value, scale.title), line.interval)),
        cell("drawn", "", interval_bar(result.headline, drawn)),
        *(cell(column.kind, name, column.cell(line), column.group(line)) for name, column in columns_of(scale).items()),
        role="row",
    )


def whose(entry: BoardEntry) -> Html:
    """The team, and the regime if any."""
    regime = join([" \N{MIDDLE DOT} ", visible(entry.regime, 30)]) if entry.regime not in NO_REGIME else None
    return join([named(entry.team, 60), regime])


def regime_cell(regime: str) -> Cell:
    """A regime; a dash for a rule-based system."""
    return DASH if regime == "none" else named(regime, 30)


def provenance_cell(provenance: str) -> str:
    """Who made the answers."""
    return PROVENANCES.get(provenance, visible(provenance, 20))


def cutoff_cell(cutoff: str, *, may_know: bool) -> Cell:
    """A knowledge cutoff, marked if the system may know outcomes."""
    mark = el("span", "may know outcomes", class_="hf-partly") if may_know else None
    return DASH if cutoff == "none" else named(cutoff, 30), mark


def _cost(facts: SystemFacts | None) -> Cell:
    if facts is None or facts.cost_usd is None:
        return "unknown" if facts is None or facts.tokens_in is None else "no price"
    total = 0 if facts.tokens_in is None else facts.tokens_in + (facts.tokens_out or 0)
    units = ((10**9, "G"), (10**6, "M"), (10**3, "k"))
    short = next((f"{total / size:.3g}{unit}" for size, unit in units if total >= size), str(total))
    return money(facts.cost_usd), f"{short} tokens" if total else None


def headline_columns(scale: Scale, drawn: Scale | None = None) -> list[Column]:
    """The columns of `headline_cells`; `drawn` is the part of the scale shown by bars, None for the whole."""
    return [("number", scale.title), ("drawn", interval_scale(drawn or scale))]


def headline_cells(result: ScoreCell, scale: Scale) -> tuple[Cell, Cell]:
    """The headline metric as a number and as a drawing."""
    return score(result.headline), interval_bar(result.headline, scale)


def _no_answer(line: Line) -> Cell:
    result = line.result
    parts = [f"{count} {name}" for name, count in (("none", result.none), ("blocked", result.blocked)) if count]
    return f"{result.no_answer:.1%}", ", ".join(parts) or None


def _judged(line: Line) -> Cell:
    """The number of samples with scores, marked if it is a part."""
    n, of = line.result.n, line.result.n_split
    return el("span", f"{n:,}", class_="hf-partly") if n < of else f"{n:,}", f"of {of:,}"


def _bootstrap(line: Line) -> Cell:
    metric = line.result.headline
    if metric.bootstrap_low is None or metric.bootstrap_high is None:
        return DASH
    return span(*(figure(limit, metric.name) for limit in (metric.bootstrap_low, metric.bootstrap_high)))


def _fact(name: str) -> Callable[[Line], Value]:
    """A fact on the system, None if unknown."""
    return lambda line: (getattr(line.facts, name) if line.facts else None) or None


def _nothing(_: Line) -> Mapping[str, Value]:
    return {}


def _of_model(
    title: str, name: str, meaning: str, width: tuple[float, float], *, every: str, group: Callable[[Any], str] = str,
    number_format: str = "",
) -> BoardColumn:  # fmt: skip
    """A column of a fact on models."""

    def fact(line: Line) -> Any:
        return getattr(line.result.facts, name)

    def shown(line: Line) -> Cell:
        return DASH if (value := fact(line)) is None else f"{value:g} B" if number_format else named(value, 40)

    return BoardColumn(
        title, "number" if number_format else "text", f"{meaning}, as stated; a dash is unknown.", shown,
        lambda line: {name: fact(line)}, width, shown=title == "Maker", known=lambda line: fact(line) is not None,
        number_format=number_format, every=every,
        group=lambda line: "" if (value := fact(line)) is None else group(value),
    )  # fmt: skip


def _size(billions: float) -> str:
    limits = (1, 10, 100)
    below = next((limit for limit in limits if billions < limit), None)
    return f"under {below} B" if below else f"{limits[-1]} B and more"


_COLUMNS = (
    BoardColumn(
        "Cost", "number", "in US dollars at list prices, and tokens in and out, for all samples answered; unknown for "
        "submitted predictions.", lambda line: _cost(line.facts),
        lambda line: {name: getattr(line.facts, name, None) for name in ("cost_usd", "tokens_in", "tokens_out")},
        (6.75, 6.25), shown=True, known=lambda line: line.facts is not None and line.facts.tokens_in is not None,
        number_format="$%.4g",
    ),
    BoardColumn(
        "Cutoff", "text", "the end of the system's training data as its makers state it. If it is later than the "
        "quarter, the system may have seen the outcome, and is marked.",
        lambda line: cutoff_cell(line.result.knowledge_cutoff, may_know=_fact("contamination")(line) == "possible"),
        lambda line: {"knowledge_cutoff": line.result.knowledge_cutoff, "contamination": _fact("contamination")(line)},
        (9, 8), shown=True, known=lambda line: line.result.knowledge_cutoff not in ("none", "unknown", ""),
    ),
    BoardColumn(
        "Provenance", "text", "run here (journal and transcripts kept), or uploaded (predictions only).",
        lambda line: provenance_cell(line.result.entry.provenance),
        lambda line: {"provenance": line.result.entry.provenance}, (7.25, 6), shown=True,
    ),
    BoardColumn(
        "No answer", "number", "the share of samples with no readable answer (none) or a refusal (blocked). Both "
        "count as wrong.", _no_answer, lambda line: {"no_answer": line.result.no_answer},
        number_format="percent",
    ),
    BoardColumn(
        "Scored", "number", "samples on which the system has a score, out of all; a dotted line marks a system that "
        "has scores on only some.", _judged, lambda line: {"judged": line.result.n, "samples": line.result.n_split},
    ),
    BoardColumn(
        "First", "number", "the probability that the system would be first on another draw of such samples.",
        lambda line: chance(line.standing.first) if line.standing else DASH,
        lambda line: {"first": line.standing.first if line.standing else None}, number_format="percent",
    ),
    BoardColumn(
        "Bootstrap", "number", "the 95% interval by the bootstrap (BCa, 2,000 resamples of whole groups). The interval "
        "that is drawn covers the true value more often; a box beside the search or under the chart draws this one.",
        _bootstrap, _nothing, (7, 5.5), known=lambda line: line.result.headline.bootstrap_low is not None,
    ),
    BoardColumn(
        "Regime", "text", "what a system may use: zero-shot has nothing but the sample; web-search may search.",
        lambda line: regime_cell(line.result.entry.regime), lambda line: {"regime": line.result.entry.regime}, (7, 5.5),
        every="All regimes", group=lambda line: line.result.entry.regime.replace("none", ""),
    ),
    _of_model("Maker", "maker", "who trained the system's main model", (8, 7), every="All makers"),
    _of_model("Weights", "weights", "whether its weights are open to download", (5.5, 5), every="Open and closed"),
    _of_model("Size", "size_billions", "its parameters, in billions (B)", (5, 4.5), every="All sizes", group=_size,
              number_format="%g"),
    _of_model("Released", "released", "when it was released", (6.25, 5.5), every="All years",
              group=lambda day: day[:4]),
    BoardColumn(
        "Entered", "text", "the day on which predictions were received, by their receipt, or on which our run started.",
        lambda line: visible(str(_fact("entered")(line) or DASH), 10), lambda line: {"entered": _fact("entered")(line)},
        (6.25, 5.5),
    ),
)  # fmt: skip


def plain_row(line: Line, split: SplitKey) -> dict[str, Value]:
    """A row for downloads; unknown values are empty."""
    result, standing = line.result, line.standing
    ends = {"": "value", "_low": "low", "_high": "high"}
    ends |= {f"_{name}": name for name in ("bootstrap_low", "bootstrap_high")}
    plain = {
        "task": split.task,
        "edition": split.edition,
        "rank": line.rank or None,
        "rank_low": standing.low if standing else None,
        "rank_high": standing.high if standing else None,
        "tie_group": standing.tie_group if standing else None,
        "system": result.entry.system,
        "team": result.entry.team,
        "prompt": result.prompt,
        **{f"{metric.name}{end}": getattr(metric, at) for metric in result.metrics for end, at in ends.items()},
    }
    for column in columns_of(Scale()).values():
        for name, value in column.plain(line).items():
            if column in added_columns():
                refuse_taken("column of downloads", name, plain)
            plain[name] = value
    return plain


def is_hollow(line: Line) -> bool:
    """Whether its answers can have been looked up: uploaded, on samples whose outcomes are public."""
    return line.facts.hollow if line.facts else line.result.entry.provenance == "uploaded"


def usual(lines: Sequence[Line]) -> list[Line]:
    """The entries that can lead: those that are not hollow."""
    return [line for line in lines if not is_hollow(line)]


def only_uploads(lines: Sequence[Line]) -> bool:
    """Whether all systems are hollow."""
    systems = [line for line in lines if group_of(line.result) == "system"]
    return bool(systems) and not usual(systems)


def ranked_data(lines: Sequence[Line], scale: Scale) -> DataTable:
    """The table as values, in the order of lines within groups."""
    lines = [line for kind in GROUPS for line in lines if group_of(line.result) == kind]
    entries = [line.result.entry for line in lines]
    kinds = [GROUPS[group_of(line.result)][0] for line in lines]
    metrics = [line.result.headline for line in lines]
    provenances = [PROVENANCES.get(entry.provenance, entry.provenance) for entry in entries]
    chart = scored([entry.name for entry in entries], metrics) | {"kind": list(kinds)}
    charts, costs = [interval_chart(scale, chart)], prices(lines)
    charts += [cost_chart(scale, chart, costs)] if len(costs) - costs.count(None) >= FEWEST_COSTS else []
    return DataTable(
        f"Systems by {scale.title} with 95% intervals",
        _data_columns(lines, scale, kinds),
        keys=[entry.origin for entry in entries],
        find="Find a system or team",
        texts=[f"{entry.name} {entry.team}".lower() for entry in entries],
        filters=[
            *(
                Filter.of(column.title, list(map(column.group, lines)), column.every)
                for column in columns_of(scale).values() if column.every
            ),
            Filter.of("Provenance", provenances, "All sources"),
            Filter.of("Kind", kinds, "All kinds"),
        ],
        charts=charts,
    )  # fmt: skip


def prices(lines: Sequence[Line]) -> list[float | None]:
    """The cost of 1,000 samples of each line; None if free or unknown."""
    facts = [line.facts if line.facts and line.facts.cost_usd and line.facts.judged else None for line in lines]
    return [1000 * (one.cost_usd or 0) / one.judged if one else None for one in facts]


def _data_columns(lines: Sequence[Line], scale: Scale, kinds: Sequence[str]) -> list[DataColumn]:
    meanings = dict(_meanings(scale))
    hidden = {one.title for one in columns_of(scale).values() if not one.shown or not any(map(one.known, lines))}
    results = [line.result for line in lines]
    ranks = [line.rank or None if group_of(line.result) == "system" else None for line in lines]
    limits = [_rank_limits(line.standing) if rank else None for line, rank in zip(lines, ranks, strict=True)]
    ranked = [
        DataColumn("#", ranks, help=meanings["Rank"], pinned=True),
        DataColumn("System", [one.entry.name for one in results], pinned=True),
        DataColumn(scale.title, [one.headline.value for one in results], _form(scale.title), meanings[scale.title]),
        DataColumn("95% interval", [line.interval for line in lines], help=meanings["Small figures"]),
        DataColumn("Ranks", limits, help=meanings["Rank"]),
        DataColumn("Team", [one.entry.team for one in results]),
    ]
    kept = [one for one in ranked if one.title not in ("#", "Ranks") or any(ranks)]
    names = {title: name for name, title in scale.others}
    for title, column in columns_of(scale).items():
        values = [_plain_value(line, column, names.get(title)) for line in lines]
        kept.append(DataColumn(title, values, column.number_format, column.meaning, title not in hidden))
    return [*kept, DataColumn("Kind", kinds, shown=len({*kinds}) > 1)]


def _plain_value(line: Line, column: BoardColumn, metric: str | None) -> Value:
    """A column's value: a metric's, else the first of those for downloads, else the text."""
    if metric is not None:
        found = line.result.metric(metric)
        return found.value if found else None
    given = column.plain(line)
    if given:
        name, value = next(iter(given.items()))
        value = PROVENANCES.get(str(value), value) if name == "provenance" else value
        return None if value == "none" else value
    content = column.cell(line)
    return content if isinstance(content, str) and content != DASH else None


def _rank_limits(standing: Standing | None) -> str:
    if standing is None:
        return DASH
    return f"{standing.low}{DASH}{standing.high}" if standing.low < standing.high else str(standing.low)


def heat_map(results: Mapping[BoardEntry, Sequence[ScoreCell]], periods: Sequence[str], scale: Scale) -> Html:
    """A row for each entry and a column for each period; better values have stronger colours.

    Args:
        results: by entry.
        periods: all periods, in order of time.
        scale: of the task.
    """
    drawn = scale.zoomed([result.headline for theirs in results.values() for result in theirs])
    rows = []
    for entry, theirs in results.items():
        by_period = {result.period: result for result in theirs}
        cells = [cell("name", "System", named(entry.name))]
        for period in periods:
            found, label = by_period.get(period), period_tick(period)
            if found is None:
                cells.append(cell("number", label, DASH))
                continue
            value = figure(found.headline.value, scale.title, 2)
            share = drawn.share(found.headline.value)
            style = f"--share:{100 * min(max(share if scale.rising else 1 - share, 0), 1):.0f}%"
            title = f"{period}: {value} ({interval(found.headline)}), {found.n} samples"
            cells.append(el("td", value, style=style, title=title, role="cell"))
        rows.append(el("tr", *cells, role="row"))
    columns: list[Column] = [("name", "System"), *(("number", period_tick(period)) for period in periods)]
    body = el("tbody", *rows, role="rowgroup")
    return scrolled(grouped_table(f"{scale.title} by period", columns, [body], "hf-wide hf-agreement hf-findings"))


def score_table(title: str, results: Sequence[ScoreCell], scale: Scale) -> Html:
    """The scores of one entry by `Period` or by `Prompt`."""
    name = title.lower()
    columns: list[Column] = [("name", title), *headline_columns(scale)]
    every = columns_of(scale)
    further = [every[head] for head in (*(head for _, head in scale.others), "No answer", "Scored")]
    columns += [(column.kind, column.title) for column in further]
    rows = (
        [
            named(str(getattr(one, name)), 60),
            *headline_cells(one, scale),
            *(column.cell(Line(one, 0, None, None)) for column in further),
        ]
        for one in results
    )
    return scrolled(table(f"Scores by {name}", columns, rows, "hf-prompts"))
