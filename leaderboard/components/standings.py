"""The ranked table of a task and quarter: its rows, their order, how it looks; and scores by period and by prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hellofresh.core.files import sha256_text
from hellofresh.results.board.schema import SystemFacts
from hellofresh.results.panel import section_of
from hellofresh.results.standings import Standing
from leaderboard.components.charts import interval_bar, interval_scale, period_panel, period_tick
from leaderboard.components.labels import Links, money
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
    score,
    scrolled,
    table,
)
from leaderboard.components.vega import Values, cost_chart, interval_chart, scored
from leaderboard.data.board import Board, BoardEntry, ScoreCell, SplitKey

GROUPS = {
    "system": ("Systems", ""),
    "control": (
        "Controls",
        "regimes for comparison, such as pages that have nothing to do with the sample; not ranked",
    ),
    "baseline": ("Baselines", "rules without a language model, the least a system should beat; not ranked"),
    "smoke-test": ("Smoke test", "a model at chance level, which shows that everything works; not ranked"),
}
_USUAL = {"Cost": "number", "Cutoff": "text", "Provenance": "text"}
"""Columns that are shown unless others are chosen, with their kinds; the others come after them."""
_FURTHER = {"No answer": "number", "Judged": "number", "First": "number", "Regime": "text", "Entered": "text"}
FEWEST_COSTS = 3
"""Known costs that are worth a chart."""
PROVENANCES = {"run": "run here", "replayed": "replayed", "uploaded": "uploaded"}
_MEANINGS = {
    "Rank": "by {metric}, on the samples that all ranked systems judged; below it the best and the worst rank that "
    "the data allow: one more than the number of significantly better systems, and the number of systems that are not "
    "significantly worse. Systems that share a bar at the left do not differ significantly from the best of them, at "
    "5% after adjusting for all pairs (step-down max-t).",
    "Small figures": "95% intervals. Where two of them overlap widely, the order of the systems may be chance.",
    "No answer": "the share of samples with no readable answer (none) or a refusal (blocked). Both count as wrong.",
    "First": "the probability that the system would be first on another draw of such samples.",
    "Cost": "in US dollars at list prices, and tokens in and out, for all samples judged; unknown for submitted "
    "predictions.",
    "Judged": "samples that the system judged, out of all samples; a dotted line marks a system that judged only a "
    "part.",
    "Provenance": "run here (journal and transcripts kept), replayed (uploaded, then run again here on some samples "
    "without disagreement), or uploaded (predictions only).",
    "Regime": "what a system may use: zero-shot has nothing but the sample; web-search may search.",
    "Cutoff": "the end of the system's training data as its makers state it. If it is later than the quarter, the "
    "system may have seen the outcome, and is marked.",
    "Entered": "the day on which predictions were received, by their receipt, or on which our run started.",
}


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the table: a result, its rank (0 for none), and what else is known of the system."""

    result: ScoreCell
    rank: int
    standing: Standing | None
    facts: SystemFacts | None


@dataclass(frozen=True, slots=True)
class View:
    """How a ranked table is drawn.

    Attributes:
        split: whose table it is.
        bundled: whether it was made from the bundled sample.
        scale: of its scores.
        ties: whether rows stand in the order of ranks.
        links: where pages are.
    """

    split: SplitKey
    bundled: bool
    scale: Scale
    ties: bool
    links: Links


def by_rank(scale: Scale) -> Callable[[Line], tuple[object, ...]]:
    """Ranked systems first, the others by their score."""
    return lambda line: (line.rank or 10**6, scale.order(line.result.headline.value))


def columns_of(scale: Scale) -> Mapping[str, str]:
    """The columns right of the chart, and their kinds: the usual ones, the further metrics, then the others."""
    return _USUAL | dict.fromkeys((title for _, title in scale.others), "number") | _FURTHER


def hidden_columns(lines: Sequence[Line], scale: Scale) -> Mapping[str, int]:
    """Titles and numbers of the columns that are hidden until a visitor chooses them: also of what nobody states."""
    known = {
        "Cost": any(line.facts is not None and line.facts.tokens_in is not None for line in lines),
        "Cutoff": any(line.result.knowledge_cutoff not in ("none", "unknown", "") for line in lines),
    }
    numbered = enumerate(columns_of(scale), start=FIRST)
    return {name: number for number, name in numbered if name not in _USUAL or not known.get(name, True)}


def columns_class(scale: Scale) -> str:
    """The class of tables with the columns of such scores, by which a style can give them widths."""
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
    """A line for each entry of a split; scores of the bundled sample are for demonstration only."""
    standings = {} if board.is_bundled(split) else board.standings(split)
    return lines_of(board.headlines(split), standings, board.systems(split))


def group_of(result: ScoreCell) -> str:
    """The part of the table that a result stands in, a key of `GROUPS`."""
    return section_of(result.entry.kind, result.entry.regime, smoke_test=result.smoke_test).value


def in_groups(lines: Sequence[Line]) -> dict[BoardEntry, str]:
    """The entries in the order of the table, with the part of it that they stand in."""
    return {line.result.entry: kind for kind in GROUPS for line in lines if group_of(line.result) == kind}


def standings_table(lines: Sequence[Line], view: View) -> Html:
    """The table in the order of the lines, group by group, with what its columns mean."""
    if not lines:
        return el("p", "No system was asked with this prompt.")
    scale = view.scale
    drawn = scale.zoomed([line.result.headline for line in lines])
    kinds = columns_of(scale)
    columns: list[Column] = [("rank", "" if view.bundled else "#"), ("name", "System"), *headline_columns(scale, drawn)]
    columns += [(kind, name) for name, kind in kinds.items()]
    bodies = []
    for kind, (title, explained) in GROUPS.items():
        rows = [_row(line, view, drawn) for line in lines if group_of(line.result) == kind]
        small = el("small", _systems_explained(view) if kind == "system" else explained)
        banner = el("th", title, " ", small, colspan=len(columns), scope="rowgroup", role="rowheader")
        head = el("tr", banner, class_="hf-group", role="row")
        bodies += [el("tbody", head, *rows, class_=f"hf-{kind}", role="rowgroup")] if rows else []
    said = f"Systems by {scale.title} with 95% intervals"
    away = " ".join(f"hf-hide-{number}" for number in hidden_columns(lines, scale).values())
    return join(
        [
            grouped_table(said, columns, bodies, f"hf-standings hf-opens {away}"),
            el("details", el("summary", "What the columns mean"), definitions(_meanings(scale))),
        ]
    )


def _systems_explained(view: View) -> str:
    title, constant = view.scale.title, view.scale.constant
    order = f"in the order of {title}, without ranks" if view.bundled else f"ranked by {title}"
    same_bar = "systems with the same bar on the left do not differ significantly (5%)"
    said = [order, same_bar if view.ties and not view.bundled else "bands are 95% intervals"]
    return "; ".join([*said, *([f"the dashed line: {constant}"] if constant else [])])


def _meanings(scale: Scale) -> Iterator[tuple[str, str]]:
    """What the columns mean."""
    line = (
        f", the dashed line what {scale.constant} would give, {figure(scale.reference, scale.title)}"
        if scale.reference is not None
        else ""
    )
    for term, text in _MEANINGS.items():
        yield term, text.format(metric=scale.title)
        if term == "Rank":
            (title, meaning), *others = scale.meanings or ((scale.title, ""),)
            drawn = f"The band beside it is its 95% interval, the tick its value{line}."
            yield title, f"{meaning or 'what systems are ranked by'}. {drawn}"
            yield from ((other, f"{text}.") for other, text in others if text)


def _row(line: Line, view: View, drawn: Scale) -> Html:
    result, entry, scale, facts, standing = line.result, line.result.entry, view.scale, line.facts, line.standing
    ranked = group_of(result) == "system" and not view.bundled
    shown = (str(line.rank) if line.rank else DASH) if ranked else None
    between = None
    if ranked and standing:
        between = el("small", _rank_limits(standing))
    may_know = facts is not None and facts.contamination == "possible"
    cells: dict[str, Cell] = {
        **dict(zip(result_columns(scale), result_cells(result, scale), strict=True)),
        "Cost": _cost(facts),
        "First": f"{standing.first:.0%}" if standing else DASH,
        "Regime": regime_cell(entry.regime),
        "Provenance": provenance_cell(entry.provenance),
        "Cutoff": cutoff_cell(result.knowledge_cutoff, may_know=may_know),
        "Entered": (visible(facts.entered, 10) if facts else "") or DASH,
    }
    address = view.links.to("system", view.split, system=entry.origin)
    return el(
        "tr",
        el("td", shown, between, class_="hf-rank", role="cell"),
        cell("name", "System", (inner_link(address, named(entry.name)), whose(entry))),
        cell("number", scale.title, score(result.headline)),
        cell("drawn", "", interval_bar(result.headline, drawn)),
        *(cell(kind, name, cells[name]) for name, kind in columns_of(scale).items()),
        class_=f"hf-tie hf-tie-{standing.tie_group % 2}" if view.ties and standing else None,
        role="row",
    )


def whose(entry: BoardEntry) -> Html:
    """The team, and the regime if the entry has one."""
    regime = join([" \N{MIDDLE DOT} ", visible(entry.regime, 30)]) if entry.regime != "none" else None
    return join([named(entry.team, 60), regime])


def regime_cell(regime: str) -> Cell:
    """A regime; a dash for a rule."""
    return DASH if regime == "none" else named(regime, 30)


def provenance_cell(provenance: str) -> Cell:
    """Who made the answers."""
    return PROVENANCES.get(provenance, visible(provenance, 20))


def cutoff_cell(cutoff: str, *, may_know: bool) -> Cell:
    """A knowledge cutoff, marked where outcomes may be known."""
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
    """The columns of `headline_cells`; `drawn` is the part of the scale that bars show, the whole if None."""
    return [("number", scale.title), ("drawn", interval_scale(drawn or scale))]


def headline_cells(result: ScoreCell, scale: Scale) -> tuple[Cell, Cell]:
    """The headline metric, as a number and drawn."""
    return score(result.headline), interval_bar(result.headline, scale)


def result_columns(scale: Scale) -> list[str]:
    """What `result_cells` have."""
    return [*(title for _, title in scale.others), "No answer", "Judged"]


def result_cells(result: ScoreCell, scale: Scale) -> tuple[Cell, ...]:
    """The further metrics, no answer, judged."""
    parts = [f"{count} {name}" for name, count in (("none", result.none), ("blocked", result.blocked)) if count]
    # Marked where it was a part.
    judged = el("span", f"{result.n:,}", class_="hf-partly") if result.n < result.n_split else f"{result.n:,}"
    return (
        *(score(result.metric(name)) for name, _ in scale.others),
        (f"{result.no_answer:.1%}", ", ".join(parts) or None),
        (judged, f"of {result.n_split:,}"),
    )


def plain_row(line: Line, split: SplitKey) -> dict[str, Value]:
    """A row for downloads; what is not known is empty."""
    result, standing, facts = line.result, line.standing, line.facts
    return {
        "task": split.task,
        "edition": split.edition,
        "rank": line.rank or None,
        "rank_low": standing.low if standing else None,
        "rank_high": standing.high if standing else None,
        "tie_group": standing.tie_group if standing else None,
        "system": result.entry.system,
        "team": result.entry.team,
        "regime": result.entry.regime,
        "provenance": result.entry.provenance,
        "entered": (facts.entered if facts else "") or None,
        "prompt": result.prompt,
        **{
            f"{metric.name}{end}": value
            for metric in result.metrics
            for end, value in (("", metric.value), ("_low", metric.low), ("_high", metric.high))
        },
        "no_answer": result.no_answer,
        "judged": result.n,
        "samples": result.n_split,
        "cost_usd": facts.cost_usd if facts else None,
        "tokens_in": facts.tokens_in if facts else None,
        "tokens_out": facts.tokens_out if facts else None,
        "knowledge_cutoff": result.knowledge_cutoff,
        "contamination": facts.contamination if facts else None,
    }


def ranked_data(lines: Sequence[Line], view: View) -> DataTable:
    """The table as values, in the order of the lines within each group; a ticked row opens the system's page."""
    split, scale = view.split, view.scale
    lines = [line for kind in GROUPS for line in lines if group_of(line.result) == kind]
    entries = [line.result.entry for line in lines]
    kinds = [GROUPS[group_of(line.result)][0] for line in lines]
    metrics = [line.result.headline for line in lines]
    provenances = [entry.provenance for entry in entries]
    systems = [source for source, kind in zip(provenances, kinds, strict=True) if kind == GROUPS["system"][0]]
    narrow = "uploaded" in provenances and any(source != "uploaded" for source in systems)
    usual = "".join(str(int(source != "uploaded")) for source in provenances)
    chart = scored([entry.name for entry in entries], metrics) | {"kind": list(kinds)}
    costs = [line.facts.cost_usd if line.facts and line.facts.judged else None for line in lines]
    judged = [line.facts.judged if line.facts else 0 for line in lines]
    per_thousand = [cost and 1000 * cost / n for cost, n in zip(costs, judged, strict=True)]
    priced: Values = {
        "cost": [*per_thousand],
        "price": ["unknown" if cost is None else money(cost) for cost in per_thousand],
    }
    charts = [interval_chart(scale, chart)]
    charts += [cost_chart(scale, chart | priced)] if sum(bool(cost) for cost in per_thousand) >= FEWEST_COSTS else []
    return DataTable(
        f"Systems by {scale.title} with 95% intervals",
        _data_columns(lines, view, kinds),
        keys=[entry.origin for entry in entries],
        picks=["system"] if view.links.to("system", split, system=entries[0].origin) else [],
        opens="system",
        find="Find a system or team",
        texts=[f"{entry.name} {entry.team}".lower() for entry in entries],
        filters=[
            Filter.of("Regime", [entry.regime.replace("none", "") for entry in entries], "All regimes"),
            Filter.of("Provenance", provenances, "All sources",
                      usual=("Run or replayed here", usual) if narrow else None),
            Filter.of("Kind", kinds, "All kinds"),
        ],
        charts=charts,
    )  # fmt: skip


def _data_columns(lines: Sequence[Line], view: View, kinds: Sequence[str]) -> list[DataColumn]:
    scale, meanings = view.scale, dict(_meanings(view.scale))
    hidden = hidden_columns(lines, scale)
    results, facts = [line.result for line in lines], [line.facts for line in lines]
    ranks = [line.rank or None if group_of(line.result) == "system" and not view.bundled else None for line in lines]
    limits = [_rank_limits(line.standing) if rank else None for line, rank in zip(lines, ranks, strict=True)]
    form = "%.1f" if figure(0.0, scale.title) == "0.0" else "%.3f"
    further: dict[str, tuple[Sequence[Value], str]] = {
        "Cost": ([one.cost_usd if one else None for one in facts], "$%.4g"),
        "Cutoff": (["" if one.knowledge_cutoff == "none" else one.knowledge_cutoff for one in results], ""),
        "Provenance": ([PROVENANCES.get(one.entry.provenance, one.entry.provenance) for one in results], ""),
        **{title: ([metric.value if (metric := one.metric(name)) else None for one in results], "%.3f")
           for name, title in scale.others},
        "No answer": ([100 * one.no_answer for one in results], "%.1f%%"),
        "Judged": ([one.n for one in results], ""),
        "First": ([100 * line.standing.first if line.standing else None for line in lines], "%.0f%%"),
        "Regime": (["" if one.entry.regime == "none" else one.entry.regime for one in results], ""),
        "Entered": ([one.entered if one else "" for one in facts], ""),
    }  # fmt: skip
    ranked = [
        DataColumn("#", ranks, help=meanings["Rank"], pinned=True),
        DataColumn("System", [one.entry.name for one in results], pinned=True),
        DataColumn(scale.title, [one.headline.value for one in results], form, meanings[scale.title]),
        DataColumn("95% interval", [interval(one.headline) for one in results], help=meanings["Small figures"]),
        DataColumn("Ranks", limits, help=meanings["Rank"]),
        DataColumn("Team", [one.entry.team for one in results]),
    ]
    kept = [one for one in ranked if one.title not in ("#", "Ranks") or any(ranks)]
    kept += [
        DataColumn(name, values, form, meanings.get(name, ""), name not in hidden)
        for name, (values, form) in further.items()
    ]
    return [*kept, DataColumn("Kind", kinds, shown=len({*kinds}) > 1)]


def _rank_limits(standing: Standing | None) -> str:
    if standing is None:
        return DASH
    return f"{standing.low}{DASH}{standing.high}" if standing.low < standing.high else str(standing.low)


def period_figures(
    results: Mapping[BoardEntry, Sequence[ScoreCell]],
    periods: Sequence[str],
    groups: Mapping[BoardEntry, str],
    scale: Scale,
) -> Html:
    """A small panel for each entry, the values of the others behind it in grey, and the numbers.

    Args:
        results: by entry, those that were chosen.
        periods: all periods of the axis, in order of time.
        groups: by entry, the part of the table that it stands in.
        scale: of the task.
    """
    panels = []
    rows = []
    for entry, theirs in results.items():
        caption = el("figcaption", named(entry.name, 60), " ", el("small", whose(entry)))
        panels.append(el("figure", caption, period_panel(entry, results, periods, scale), class_=f"hf-{groups[entry]}"))
        by_period = {result.period: result.headline for result in theirs}
        rows.append([(named(entry.name), named(entry.team, 60)), *(score(by_period.get(period)) for period in periods)])
    columns: list[Column] = [("name", "System"), *(("number", period_tick(period)) for period in periods)]
    listed = scrolled(table(f"{scale.title} by period", columns, rows, "hf-wide"))
    return join([el("div", *panels, class_="hf-panels"), el("details", el("summary", "The numbers"), listed)])


def score_table(title: str, results: Sequence[ScoreCell], scale: Scale) -> Html:
    """The scores of one entry by `Period` or by `Prompt`."""
    name = title.lower()
    columns: list[Column] = [("name", title), *headline_columns(scale)]
    columns += [("number", head) for head in result_columns(scale)]
    rows = (
        [named(str(getattr(one, name)), 60), *headline_cells(one, scale), *result_cells(one, scale)] for one in results
    )
    return scrolled(table(f"Scores by {name}", columns, rows, "hf-prompts"))
