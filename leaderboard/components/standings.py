"""The ranked table of a task and quarter: its rows, their order, how it looks; and scores by period and by prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from hellofresh.core.files import sha256_text
from hellofresh.results.board.schema import SystemFacts
from hellofresh.results.panel import section_of
from hellofresh.results.standings import Standing
from leaderboard.components.charts import interval_bar, interval_scale, period_panel, period_tick
from leaderboard.components.labels import Links, SiteLinks, money
from leaderboard.components.markup import DASH, Html, el, inner_link, join, named, visible
from leaderboard.components.scale import Scale
from leaderboard.components.tables import FIRST, Cell, Column, Value, cell, definitions, grouped_table, score, table
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
_COLUMNS = dict.fromkeys(("No answer", "Judged", "Cost", "First"), "number")
_COLUMNS |= dict.fromkeys(("Regime", "Cutoff", "Entered"), "text")
_HIDDEN = {"First"}
LANES = {"harness": "run by us", "submitted": "submitted", "prospective": "prospective"}
_MANY = 50
"""With more rows than this only those in sight are laid out, and columns have widths that do not follow from all rows:
`_TRACKS` those of rank, system, score and its drawing, `_TRACK` and `_WIDER` those of others by their kind or name."""
_TRACKS = ("3.5rem", "minmax(9rem, 2fr)", "5.25rem", "minmax(6rem, 1.3fr)")
_TRACK = {"number": "minmax(4.75rem, 5.25rem)", "text": "minmax(5.5rem, 7rem)"}
_WIDER = {"Cost": "6.5rem", "Cutoff": "minmax(6rem, 8.75rem)"}
_MEANINGS = {
    "Rank": "by {metric}, on the samples that all ranked systems judged; below it the best and the worst rank that "
    "the data allow: one more than the number of significantly better systems, and the number of systems that are not "
    "significantly worse. Systems that share a bar at the left do not differ significantly from the best of them, at "
    "5% after adjusting for all pairs (step-down max-t).",
    "Small figures": "95% intervals. Where those of two systems overlap widely, their order may be chance.",
    "No answer": "the share of samples with no readable answer (none) or a refusal (blocked). Both count as wrong.",
    "First": "the probability that the system would be first on another draw of such samples.",
    "Cost": "in US dollars at list prices, and tokens in and out, for all samples judged; unknown for submitted "
    "predictions.",
    "Judged": "samples that the system judged, out of all samples; a dotted line marks a system that judged only a "
    "part.",
    "Regime": "what a system may use: zero-shot has nothing but the sample; web-search may search. Below it the lane: "
    "run by us, or predictions submitted by the team.",
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
    """What the visitor chose to see.

    Attributes:
        split: whose table it is.
        bundled: whether it was made from the bundled sample.
        scale: of its scores.
        columns: names of those right of the headline metric.
        ties: whether rows stand in the order of ranks.
        prompt: whose scores are shown; empty for those that stand for the systems.
        links: where pages are.
    """

    split: SplitKey
    bundled: bool
    scale: Scale
    columns: tuple[str, ...]
    ties: bool
    prompt: str = ""
    links: Links = field(default_factory=SiteLinks)


def by_rank(scale: Scale) -> Callable[[Line], tuple[object, ...]]:
    """Ranked systems first, the others by their score."""
    return lambda line: (line.rank or 10**6, scale.order(line.result.headline.value))


def columns_of(scale: Scale) -> Mapping[str, str]:
    """The columns that may stand right of the headline metric, and their kinds."""
    return {**dict.fromkeys((title for _, title in scale.others), "number"), **_COLUMNS}


def shown_columns(scale: Scale) -> list[str]:
    """Those that are shown unless others are chosen."""
    return [name for name in columns_of(scale) if name not in _HIDDEN]


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
    columns = [("rank", "" if view.bundled else "#"), ("name", "System"), *headline_columns(scale)]
    kinds = columns_of(scale)
    columns += [(kinds[name], name) for name in view.columns]
    bodies = []
    for kind, (title, explained) in GROUPS.items():
        rows = [_row(line, view) for line in lines if group_of(line.result) == kind]
        small = el("small", _systems_explained(view) if kind == "system" else explained)
        banner = el("th", title, " ", small, colspan=len(columns), scope="rowgroup", role="rowheader")
        head = el("tr", banner, class_="hf-group", role="row")
        bodies += [el("tbody", head, *rows, class_=f"hf-{kind}", role="rowgroup")] if rows else []
    further = (_WIDER.get(name, _TRACK[kinds[name]]) for name in view.columns)
    widths = (*_TRACKS, *(f"var(--c{number},{width})" for number, width in enumerate(further, start=FIRST)))
    said = f"Systems by {scale.title} with 95% intervals"
    return join(
        [
            el("p", el("small", f"Scores with the prompt {visible(view.prompt, 40)}.")) if view.prompt else None,
            grouped_table(said, columns, bodies, "hf-standings hf-opens", widths if len(lines) > _MANY else None),
            el("details", el("summary", "What the columns mean"), definitions(_meanings(scale))),
        ]
    )


def _systems_explained(view: View) -> str:
    title, constant = view.scale.title, view.scale.constant
    order = f"in the order of {title}, without ranks" if view.bundled else f"ranked by {title}"
    same_bar = "systems that share a bar at the left do not differ significantly (5%)"
    said = [order, same_bar if view.ties and not view.bundled else "the band is its 95% interval"]
    return "; ".join([*said, *([f"the dashed line: {constant}"] if constant else [])])


def _meanings(scale: Scale) -> Iterator[tuple[str, str]]:
    """What the columns mean."""
    line = f", the dashed line at {scale.reference:.3f} what {scale.constant} would give" if scale.constant else ""
    for term, text in _MEANINGS.items():
        yield term, text.format(metric=scale.title)
        if term == "Rank":
            (title, meaning), *others = scale.meanings or ((scale.title, ""),)
            drawn = f"The band beside it is its 95% interval, the tick its value{line}."
            yield title, f"{meaning or 'what systems are ranked by'}. {drawn}"
            yield from ((other, f"{text}.") for other, text in others if text)


@lru_cache(maxsize=4096)
def _row(line: Line, view: View) -> Html:
    """A row looks the same to every visitor, so it is kept; it depends on nothing but these two."""
    result, entry, scale, facts, standing = line.result, line.result.entry, view.scale, line.facts, line.standing
    ranked = group_of(result) == "system" and not view.bundled
    shown = (str(line.rank) if line.rank else DASH) if ranked else None
    between = None
    if ranked and standing:
        limits = f"{standing.low}{DASH}{standing.high}" if standing.low < standing.high else str(standing.low)
        between = el("small", limits)
    may_know = facts is not None and facts.contamination == "possible"
    cells: dict[str, Cell] = {
        **dict(zip(result_columns(scale), result_cells(result, scale), strict=True)),
        "Cost": _cost(facts),
        "First": f"{standing.first:.0%}" if standing else DASH,
        "Regime": regime_cell(entry.regime, entry.lane),
        "Cutoff": cutoff_cell(result.knowledge_cutoff, may_know=may_know),
        "Entered": (visible(facts.entered, 10) if facts else "") or DASH,
    }
    address = view.links.to("system", view.split, system=entry.origin)
    kinds = columns_of(scale)
    return el(
        "tr",
        el("td", shown, between, class_="hf-rank", role="cell"),
        cell("name", "System", (inner_link(address, named(entry.name)), named(entry.team, 60))),
        cell("number", scale.title, score(result.headline)),
        cell("drawn", "", interval_bar(result.headline, scale)),
        *(cell(kinds[name], name, cells[name]) for name in view.columns),
        class_=f"hf-tie hf-tie-{standing.tie_group % 2}" if view.ties and standing else None,
        role="row",
    )


def regime_cell(regime: str, lane: str) -> Cell:
    """A regime over the lane of the entry."""
    return DASH if regime == "none" else named(regime, 30), LANES.get(lane, visible(lane, 20))


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


def headline_columns(scale: Scale) -> list[Column]:
    """The columns of `headline_cells`."""
    return [("number", scale.title), ("drawn", interval_scale(scale))]


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
        "lane": result.entry.lane,
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
        regime = join([" · ", visible(entry.regime, 30)]) if entry.regime != "none" else None
        caption = el("figcaption", named(entry.name, 60), " ", el("small", named(entry.team, 40), regime))
        panels.append(el("figure", caption, period_panel(entry, results, periods, scale), class_=f"hf-{groups[entry]}"))
        by_period = {result.period: result.headline for result in theirs}
        rows.append([(named(entry.name), named(entry.team, 60)), *(score(by_period.get(period)) for period in periods)])
    columns: list[Column] = [("name", "System"), *(("number", period_tick(period)) for period in periods)]
    listed = el("div", table(f"{scale.title} by period", columns, rows, "hf-wide"), class_="hf-scroll", tabindex=0)
    return join([el("div", *panels, class_="hf-panels"), el("details", el("summary", "The numbers"), listed)])


def score_table(title: str, results: Sequence[ScoreCell], scale: Scale) -> Html:
    """The scores of one entry by `Period` or by `Prompt`."""
    name = title.lower()
    columns: list[Column] = [("name", title), *headline_columns(scale)]
    columns += [("number", head) for head in result_columns(scale)]
    rows = (
        [named(str(getattr(one, name)), 60), *headline_cells(one, scale), *result_cells(one, scale)] for one in results
    )
    return table(f"Scores by {name}", columns, rows, "hf-prompts")
