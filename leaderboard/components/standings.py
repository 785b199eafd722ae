"""The ranked table of a task and quarter: its rows, their order, and how it looks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from hellofresh.results.board.schema import SystemFacts
from hellofresh.results.panel import section_of
from hellofresh.results.standings import Standing
from leaderboard.components.charts import interval_bar, interval_scale
from leaderboard.components.labels import money
from leaderboard.components.links import Links, SiteLinks
from leaderboard.components.markup import DASH, Html, el, inner_link, join, named, visible
from leaderboard.components.pieces import cell, metric_cell, table
from leaderboard.components.scale import Scale
from leaderboard.components.tools import FIRST
from leaderboard.data.tables import ScoreCell, SplitKey

__all__ = [
    "GROUPS",
    "LANES",
    "Line",
    "Value",
    "View",
    "by_rank",
    "columns_of",
    "group_of",
    "headline_cells",
    "lines_of",
    "or_dash",
    "plain_row",
    "result_cells",
    "result_columns",
    "shown_columns",
    "standings_table",
]

Value = str | int | float | bool | None

GROUPS = {
    "system": ("Systems", ""),
    "control": (
        "Controls",
        "regimes for comparison, such as pages that have nothing to do with the sample; not ranked",
    ),
    "baseline": ("Baselines", "rules without a language model, the least a system should beat; not ranked"),
    "smoke-test": ("Smoke test", "a model at chance level, which shows that everything works; not ranked"),
}
_COLUMNS: Mapping[str, str] = {
    "No answer": "number", "Judged": "number", "Cost": "number", "First": "number", "Regime": "text", "Cutoff": "text",
    "Entered": "text",
}  # fmt: skip
_HIDDEN = {"First"}
LANES = {"harness": "run by us", "submitted": "submitted", "prospective": "prospective"}
_MANY = 50
"""With more rows than this only those in sight are laid out, and columns have widths that do not follow from all rows:
`_TRACKS` those of rank, system, score and its drawing, `_TRACK` and `_WIDER` those of others by their kind or name."""
_TRACKS = ("3.5rem", "minmax(9rem, 2fr)", "5.25rem", "minmax(6rem, 1.3fr)")
_TRACK = {"number": "minmax(4.75rem, 5.25rem)", "text": "minmax(5.5rem, 7rem)"}
_WIDER = {"Cost": "6.5rem", "Cutoff": "minmax(6rem, 8.75rem)"}
_MEANINGS = (
    ("Rank", "by {metric}, on the samples that all ranked systems judged; below it the best and the worst rank that "
             "the data allow: one more than the number of significantly better systems, and the number of systems that "
             "are not significantly worse. Systems with the same bar at the left do not differ significantly from "
             "the best of them, at 5% after adjusting for all pairs (Bonferroni)."),
    ("Small figures", "95% intervals. Where those of two systems overlap widely, their order may be chance."),
    ("No answer", "the share of samples with no readable answer (none) or a refusal (blocked). Both count as wrong."),
    ("First", "the probability that the system would be first on another draw of such samples."),
    ("Cost", "in US dollars at list prices, and tokens in and out, for all samples judged; unknown for submitted "
             "predictions."),
    ("Judged", "samples that the system judged, out of all samples; a dotted line marks a system that judged only "
               "a part."),
    ("Regime", "what a system may use: zero-shot has nothing but the sample; web-search may search. Below it the "
               "lane: run by us, or predictions submitted by the team."),
    ("Cutoff", "the end of the system's training data as its makers state it. If it is later than the quarter, "
               "the system may have seen the outcome, and is marked."),
    ("Entered", "the day on which predictions were received, by their receipt, or on which our run started."),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the table: a result, its rank (0 for none), and what else is known of the system."""

    result: ScoreCell
    rank: int
    standing: Standing | None
    facts: SystemFacts | None

    @property
    def cost_usd(self) -> float:
        """The cost, 0 where it is not known."""
        return (self.facts.cost_usd if self.facts else None) or 0.0

    @property
    def entered(self) -> str:
        """The day of entry, empty where it is not known."""
        return self.facts.entered if self.facts else ""


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
    columns: Sequence[str]
    ties: bool
    prompt: str = ""
    links: Links = field(default_factory=SiteLinks)


_Order = Callable[[Line], tuple[object, ...]]


def by_rank(scale: Scale) -> _Order:
    """Ranked systems first, the others by their score."""
    return lambda line: (line.rank or 10**6, scale.order(line.result.headline.value))


def columns_of(scale: Scale) -> Mapping[str, str]:
    """The columns that may stand right of the headline metric, and their kinds."""
    return {**dict.fromkeys((title for _, title in scale.others), "number"), **_COLUMNS}


def shown_columns(scale: Scale) -> list[str]:
    """Those that are shown unless others are chosen."""
    return [name for name in columns_of(scale) if name not in _HIDDEN]


def lines_of(
    results: Sequence[ScoreCell], standings: Mapping[str, Standing], facts: Mapping[str, SystemFacts]
) -> list[Line]:
    """A line for each result, with its rank by the standings."""
    found = []
    for result in results:
        standing = standings.get(result.entry.origin)
        found.append(Line(result, standing.rank if standing else 0, standing, facts.get(result.entry.origin)))
    return found


def group_of(result: ScoreCell) -> str:
    """The part of the table that a result stands in, a key of `GROUPS`."""
    return section_of(result.entry.kind, result.entry.regime, smoke_test=result.smoke_test).value


def standings_table(lines: Sequence[Line], view: View) -> Html:
    """The table in the order of the lines, group by group, with what its columns mean."""
    if not lines:
        return el("p", "No system was asked with this prompt.")
    columns: list[tuple[str, Html | str]] = [
        ("rank", "" if view.bundled else "#"), ("name", "System"), ("number", view.scale.title),
        ("drawn", interval_scale(view.scale)),
    ]  # fmt: skip
    kinds = columns_of(view.scale)
    columns += [(kinds[name], name) for name in view.columns]
    groups = {kind: [line for line in lines if group_of(line.result) == kind] for kind in GROUPS}
    bodies = filter(None, (_body(kind, its, view) for kind, its in groups.items()))
    further = (_WIDER.get(name, _TRACK[kinds[name]]) for name in view.columns)
    widths = (*_TRACKS, *(f"var(--c{number},{width})" for number, width in enumerate(further, start=FIRST)))
    legend = (el("div", el("dt", term), el("dd", text)) for term, text in _meanings(view.scale))
    return join(
        [
            el("p", el("small", f"Scores with the prompt {visible(view.prompt, 40)}.")) if view.prompt else None,
            table(
                f"Systems by {view.scale.title} with 95% intervals",
                columns,
                bodies,
                "hf-standings hf-opens",
                widths if len(lines) > _MANY else None,
            ),
            el("details", el("summary", "What the columns mean"), el("dl", *legend)),
        ]
    )


def _body(kind: str, lines: Sequence[Line], view: View) -> Html | None:
    if not lines:
        return None
    title, explained = GROUPS[kind]
    explained = _systems_explained(view) if kind == "system" else explained
    ranked = kind == "system" and not view.bundled
    look = _Look(view.split, view.scale, tuple(view.columns), view.links, ranked, view.ties)
    rows = [_row(line, look) for line in lines]
    wide = 4 + len(view.columns)
    banner = el("th", title, " ", el("small", explained), colspan=wide, scope="rowgroup", role="rowheader")
    head = el("tr", banner, class_="hf-group", role="row")
    return el("tbody", head, *rows, class_=f"hf-{kind}", role="rowgroup")


def _systems_explained(view: View) -> str:
    title, constant = view.scale.title, view.scale.constant
    if view.bundled:
        said = [f"in the order of {title}, without ranks", "the band is its 95% interval"]
    elif view.ties:
        said = [f"ranked by {title}", "the same bar at the left: no significant difference at 5%"]
    else:
        said = [f"ranked by {title}", "the band is its 95% interval"]
    return "; ".join([*said, *([f"the dashed line: {constant}"] if constant else [])])


def _meanings(scale: Scale) -> Iterator[tuple[str, str]]:
    """What the columns mean."""
    line = f", the dashed line at {scale.reference:.3f} what {scale.constant} would give" if scale.constant else ""
    for term, text in _MEANINGS:
        yield term, text.format(metric=scale.title)
        if term == "Rank":
            (title, meaning), *others = scale.meanings or ((scale.title, ""),)
            drawn = f"The band beside it is its 95% interval, the tick its value{line}."
            yield title, f"{meaning or 'what systems are ranked by'}. {drawn}"
            yield from ((other, f"{text}.") for other, text in others if text)


class _Look(NamedTuple):
    """How all rows of a group look."""

    split: SplitKey
    scale: Scale
    columns: tuple[str, ...]
    links: Links
    ranked: bool
    ties: bool


@lru_cache(maxsize=4096)
def _row(line: Line, look: _Look) -> Html:
    """A row looks the same to every visitor, so it is kept; it depends on nothing but these two."""
    entry, cells = line.result.entry, _cells(line, look.scale)
    mark = f"hf-tie hf-tie-{line.standing.tie_group % 2}" if look.ties and line.standing else None
    return el(
        "tr",
        _rank_cell(line, ranked=look.ranked),
        cell("System", inner_link(look.links.system(look.split, entry.origin), named(entry.name)),
             named(entry.team, 60), "name"),
        *headline_cells(line.result, look.scale),
        *(cells[name] for name in look.columns),
        class_=mark,
        role="row",
    )  # fmt: skip


def _rank_cell(line: Line, *, ranked: bool) -> Html:
    standing = line.standing
    if not ranked:
        return el("td", class_="hf-rank", role="cell")
    between = (
        el("small", f"{standing.low}{DASH}{standing.high}" if standing.low < standing.high else str(standing.low))
        if standing
        else None
    )
    return el("td", str(line.rank) if line.rank else DASH, between, class_="hf-rank", role="cell")


def _cells(line: Line, scale: Scale) -> dict[str, Html]:
    """What may stand to the right of the headline metric, by column."""
    result, entry = line.result, line.result.entry
    first = f"{line.standing.first:.0%}" if line.standing else DASH
    lane = LANES.get(entry.lane, visible(entry.lane, 20))
    return {
        **dict(zip(result_columns(scale), result_cells(result, scale), strict=True)),
        "Cost": _cost(line.facts),
        "First": cell("First", first),
        "Regime": cell("Regime", or_dash(entry.regime), lane, "text"),
        "Cutoff": cell("Cutoff", or_dash(result.knowledge_cutoff), _mark(line.facts), "text"),
        "Entered": cell("Entered", visible(line.entered, 10) or DASH, None, "text"),
    }


def _mark(facts: SystemFacts | None) -> Html | None:
    if facts is None or facts.contamination != "possible":
        return None
    return el("span", "may know outcomes", class_="hf-partly")


def _cost(facts: SystemFacts | None) -> Html:
    if facts is None or facts.cost_usd is None:
        return cell("Cost", "unknown" if facts is None or facts.tokens_in is None else "no price")
    total = None if facts.tokens_in is None else facts.tokens_in + (facts.tokens_out or 0)
    return cell("Cost", money(facts.cost_usd), f"{_short(total)} tokens" if total else None)


def _short(number: int) -> str:
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return str(number)


def or_dash(text: str) -> Html | str:
    """A text that somebody gave, a dash for `none`."""
    return DASH if text == "none" else named(text, 30)


def headline_cells(result: ScoreCell, scale: Scale) -> tuple[Html, Html]:
    """The headline metric, as a number and drawn."""
    drawn = el("td", interval_bar(result.headline, scale), class_="hf-drawn", role="cell")
    return metric_cell(scale.title, result.headline), drawn


def result_columns(scale: Scale) -> list[str]:
    """What `result_cells` have."""
    return [*(title for _, title in scale.others), "No answer", "Judged"]


def result_cells(result: ScoreCell, scale: Scale) -> tuple[Html, ...]:
    """The further metrics, no answer, judged."""
    parts = [f"{count} {name}" for name, count in (("none", result.none), ("blocked", result.blocked)) if count]
    partly = el("span", f"{result.n:,}", class_="hf-partly") if result.n < result.n_split else f"{result.n:,}"
    return (
        *(metric_cell(title, result.metric(name)) for name, title in scale.others),
        cell("No answer", f"{result.no_answer:.1%}", ", ".join(parts) or None),
        cell("Judged", partly, f"of {result.n_split:,}"),
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
        "entered": line.entered or None,
        "prompt": result.prompt,
        **{f"{m.name}{end}": value for m in result.metrics
           for end, value in (("", m.value), ("_low", m.low), ("_high", m.high))},
        "no_answer": result.no_answer,
        "judged": result.n,
        "samples": result.n_split,
        "cost_usd": facts.cost_usd if facts else None,
        "tokens_in": facts.tokens_in if facts else None,
        "tokens_out": facts.tokens_out if facts else None,
        "knowledge_cutoff": result.knowledge_cutoff,
        "contamination": facts.contamination if facts else None,
    }  # fmt: skip
