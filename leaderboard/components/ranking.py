"""The ranking as a picture: who leads and how surely, all systems on one scale, and a row for each.

Drawn as plain HTML boxes for both renderers, placed in percent, as in `charts.py`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from hellofresh.results.comparison import ScoreComparison
from hellofresh.results.standings import Pair, Standing
from leaderboard.components.charts import interval_bar
from leaderboard.components.labels import NO_REGIME, Links, has_team, money
from leaderboard.components.markup import Html, el, inner_link, join, named, visible
from leaderboard.components.scale import Scale, figure
from leaderboard.components.standings import GROUPS, ROUGH_SAID, Line, by_rank, group_of, is_hollow, prices, usual
from leaderboard.data.board import ALL_PERIODS, Board, BoardEntry, MetricValue, ScoreCell, SplitKey, kept

APART = 0.05
"""Two systems with an adjusted p-value below this differ significantly."""
AT_FIRST = 50
"""Rows that are shown before the visitor asks for all."""
COLOURS = 12
"""Colours of makers in style.css, which pass a contrast of 3:1 in light and dark."""
NAMED_ON_SCALE = 3
_MOST_NAMED = 6  # a headline of more names is not read
_MOST_TICKS = 8  # more would touch on a phone
_NUMBERS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten", "Eleven", "Twelve")
_ON_SCALE = ("system", "baseline")
_UNRANKED = list(GROUPS.items())[1:]
_FEW = "they have scores on too few of the ranked systems' samples"


@dataclass(frozen=True, slots=True)
class Front:
    """Who is ahead on a split.

    Attributes:
        leaders: the first system, and those that do not differ significantly from it.
        others: the further ranked systems.
        real: whether the first is significantly ahead of the second; None if there is no second, or untested.
    """

    leaders: Sequence[Line]
    others: Sequence[Line]
    real: bool | None

    @property
    def title(self) -> Html | str:
        """Who leads, in a few words."""
        names = [named(line.result.entry.name, 40) for line in self.leaders]
        if self.real is None and not self.others:
            return join([names[0], " is the only system so far"])
        if len(names) == 1:
            return join([names[0], " leads"])
        if len(names) == 2:
            return join([names[0], " and ", names[1], " share first place"])
        return f"{number_word(len(names))} share first place"

    @property
    def seal(self) -> Html | None:
        """Whether the lead is real, in words and a sign; None if that is unknown."""
        if self.real is None:
            return None
        sign, said, kind = ("\N{BLACK CIRCLE}", "lead is real", "sure") if self.real else (
            "\N{CIRCLE WITH LEFT HALF BLACK}", "too close to call", "close")  # fmt: skip
        return el("span", el("span", f"{sign} ", aria_hidden="true"), said, class_=f"hf-seal hf-{kind}")

    def draw(self, said: Html | str) -> Html:
        """Who leads, whether that is real, and a sentence more."""
        kind = "" if self.real is None else " hf-sure" if self.real else " hf-close"
        return el("section", el("h2", self.title), self.seal, el("p", said), class_=f"hf-podium{kind}")

    @property
    def said(self) -> Html | None:
        """Which systems share first place, and what follows; None if one leads."""
        if len(self.leaders) < 2:
            return None
        first, *level = (named(line.result.entry.name, 40) for line in self.leaders)
        below = " All others are significantly worse than the first." if self.others else ""
        if len(level) == 1:
            return join([f"They do not differ significantly.{below}"])
        listed = [part for name in level[:_MOST_NAMED] for part in (", ", name)][1:]
        rest = f" and {len(level) - _MOST_NAMED} more" if len(level) > _MOST_NAMED else ""
        return join([*listed, f"{rest} do not differ significantly from ", first, f".{below}"])


def number_word(number: int) -> str:
    """`Three` for small numbers, digits for others."""
    return _NUMBERS[number] if number < len(_NUMBERS) else f"{number:,}"


def front_of(lines: Sequence[Line], scale: Scale) -> Front | None:
    """Who is ahead among the systems that can carry a headline; None without a ranked system."""
    ranked = sorted((line for line in usual(lines) if group_of(line.result) == "system"), key=by_rank(scale))
    if not ranked:
        return None
    first, *rest = ranked
    group = first.standing and first.standing.tie_group
    level = [line for line in rest if first.standing and line.standing and line.standing.tie_group == group]
    others = [line for line in rest if line not in level]
    tested = bool(rest) and first.standing is not None and rest[0].standing is not None
    return Front([first, *level], others, rest[0] in others if tested else None)


@kept
def maker_colours(board: Board) -> Mapping[str, int]:
    """A colour for each maker on the board, the same on all its pages."""
    makers = {result.facts.maker for split in board.splits for result in board.headlines(split)} - {None}
    return {maker: place % COLOURS for place, maker in enumerate(sorted(makers, key=str)) if maker}


def maker_class(line: Line, colours: Mapping[str, int]) -> str:
    """The class of a maker's colour in style.css."""
    maker = line.result.facts.maker
    return f"hf-maker-{colours[maker]}" if maker is not None and maker in colours else "hf-maker-none"


def maker_mark(line: Line, colours: Mapping[str, int]) -> Html:
    """A square with the first letter of a system's maker, or of its name, in the maker's colour."""
    maker = line.result.facts.maker
    sign = "=" if group_of(line.result) == "baseline" else (visible(maker or line.result.entry.name, 20)[:1].upper())
    said = f"Maker: {visible(maker, 40)}" if maker else "Maker unknown"
    return el("span", sign, class_=f"hf-mark {maker_class(line, colours)}", title=said, aria_hidden="true")


# All systems on one scale.


def field(
    lines: Sequence[Line], board: Board, split: SplitKey, scale: Scale, *, small: bool = False, mine: str = ""
) -> Html | None:
    """Every system as a dot with its interval on one scale, with systems no better than a constant answer in grey.

    Args:
        lines: entries of the split, in any order.
        board: for the makers' colours.
        split: of the scores.
        scale: with the scores of a person and of the ceiling, if known.
        small: whether it is drawn in a card, without names.
        mine: the origin of the only entry that is named, while the others are pale; empty to name the first ones.
    """
    shown = on_scale(lines, scale, mine)
    if not shown:
        return None
    drawn, colours = opened(scale, shown), maker_colours(board)
    first = [line for line in shown if line.result.entry.origin == mine] or shown[: 0 if small else NAMED_ON_SCALE]
    lanes = [_lane(line, drawn, colours, is_named=line in first, pale=bool(mine)) for line in shown]
    best = ", ".join(
        f"{line.result.entry.name} {figure(line.result.headline.value, scale.title)} ({line.interval})"
        for line in first or shown[:NAMED_ON_SCALE]
    )
    said = (
        f"{len(shown)} systems on one scale of {scale.title}. {'Here' if mine else 'The first'}: {visible(best, 300)}."
    )
    return el(
        "div", *_zone(drawn, small=small), *_references(drawn, small=small), *lanes, _axis(drawn),
        class_=f"hf-field{' hf-smaller' if small else ''}", style=f"--lanes:{len(lanes)}", role="img", aria_label=said,
    )  # fmt: skip


def on_scale(lines: Sequence[Line], scale: Scale, mine: str = "") -> list[Line]:
    """The lines of the picture from the top: systems in their order, then baselines."""
    wanted = (line for line in lines if group_of(line.result) in _ON_SCALE or line.result.entry.origin == mine)
    shown = sorted(wanted, key=by_rank(scale))
    return sorted(shown, key=lambda line: group_of(line.result) != "system")


def opened(scale: Scale, shown: Sequence[Line]) -> Scale:
    """The part of the scale from the lowest interval, or the middle of the grey zone, to the metric's end."""
    metrics = [line.result.headline for line in shown]
    worst = [metric.low if scale.rising else metric.high for metric in metrics]
    if scale.reference is not None:
        worst.append((scale.reference + (scale.low if scale.rising else scale.high)) / 2)
    worst = [value for value in worst if math.isfinite(value)]
    step = 0.1 * (scale.high - scale.low)
    if scale.rising:
        low = scale.low + math.floor((min(worst, default=scale.low) - scale.low) / step) * step
        return replace(scale, low=min(max(low, scale.low), scale.high - step))
    high = scale.high - math.floor((scale.high - max(worst, default=scale.high)) / step) * step
    return replace(scale, high=max(min(high, scale.high), scale.low + step))


def _lane(line: Line, drawn: Scale, colours: Mapping[str, int], *, is_named: bool, pale: bool) -> Html:
    metric, entry = line.result.headline, line.result.entry
    low, at, high = ends_on(drawn, metric)
    kind = f"hf-lane {maker_class(line, colours)}{' hf-hollow' if is_hollow(line) else ''}"
    kind += " hf-pale" if pale and not is_named else ""
    name = None
    if is_named:
        regime = el("small", f" {about}") if (about := regime_beside(entry)) else None
        room, edge = max((low, "right"), (1 - high, "left"))
        side = f"{edge}:{100 * (1 - room):.2f}%;max-width:{100 * room:.2f}%"
        name = el("span", named(entry.name, 28), regime, style=side)
    style = f"--low:{100 * low:.2f}%;--width:{100 * (high - low):.2f}%;--at:{100 * at:.2f}%"
    return el("div", el("i"), name, class_=kind, style=style, title=f"{visible(entry.name, 60)}: {_said(line)}")


def ends_on(drawn: Scale, metric: MetricValue) -> Sequence[float]:
    """Where a bar begins, has its dot, and ends, 0 to 1."""
    return sorted(_within(drawn.share(value)) for value in (metric.low, metric.value, metric.high))


def regime_beside(entry: BoardEntry) -> str:
    """The regime, unless the name says it already."""
    return "" if entry.regime in NO_REGIME or entry.regime in entry.name else visible(entry.regime, 20)


def _said(line: Line) -> str:
    metric = line.result.headline
    return f"{figure(metric.value, metric.name)} ({line.interval})"


def _within(share: float) -> float:
    return 0.0 if math.isnan(share) else min(1.0, max(0.0, share))


def _zone(drawn: Scale, *, small: bool) -> Iterator[Html]:
    """The part of the scale that a constant answer reaches, in grey."""
    if drawn.reference is None:
        return
    share = _within(drawn.share(drawn.reference))
    left, width = (0.0, share) if drawn.rising else (share, 1 - share)
    said = None if small else el("small", f"no better than {drawn.constant}")
    yield el("div", said, class_="hf-zone", style=f"left:{100 * left:.2f}%;width:{100 * width:.2f}%")


def _references(drawn: Scale, *, small: bool) -> Iterator[Html]:
    """A person's score as a dashed line, the ceiling as an open ring on the axis."""
    for kind, title, metric in (("person", "one person", drawn.people), ("ceiling", "ceiling", drawn.ceiling)):
        if metric is not None and not math.isnan(metric.value):
            share = _within(drawn.share(metric.value))
            side = " hf-leftwards" if share > 0.75 else ""
            name = None if small else el("small", f"{title} {figure(metric.value, drawn.title)}")
            yield el("div", el("i"), name, class_=f"hf-{kind}-at{side}", style=f"left:{100 * share:.2f}%")


def ticks_of(drawn: Scale) -> list[tuple[float, str]]:
    """The marks of the axis, by their position, 0 to 1."""
    span = drawn.high - drawn.low
    step = next(size for size in _steps(span) if span / size <= _MOST_TICKS)
    first = math.ceil(drawn.low / step - 1e-9)
    ticks = [k * step for k in range(first, math.floor(drawn.high / step + 1e-9) + 1)]
    return [(_within(drawn.share(tick)), f"{tick:.10g}") for tick in ticks]


def _axis(drawn: Scale) -> Html:
    ticks = (el("span", text, style=f"left:{100 * at:.2f}%") for at, text in ticks_of(drawn))
    return el("div", *ticks, class_="hf-axis", aria_hidden="true")


def _steps(span: float) -> Iterator[float]:
    power = 10.0 ** math.floor(math.log10(span) - 2)
    while True:
        yield from (power, 2 * power, 5 * power)
        power *= 10


# A row for each system.


@dataclass(frozen=True, slots=True)
class RankingPicture:
    """The rows of a ranking, drawn for any part of them.

    Attributes:
        lines: all of them, in order: systems by rank, then the other groups.
        split, scale, links: of the page.
        colours: of makers.
        alike: for each ranked row the rows that do not differ significantly from it.
    """

    lines: Sequence[Line]
    split: SplitKey
    scale: Scale
    links: Links
    colours: Mapping[str, int]
    alike: Mapping[str, Collection[str]]

    @classmethod
    def of(cls, lines: Sequence[Line], board: Board, split: SplitKey, scale: Scale, links: Links) -> RankingPicture:
        """The ranking of a split's entries."""
        ordered = sorted(lines, key=by_rank(scale))
        ordered = [line for kind in GROUPS for line in ordered if group_of(line.result) == kind]
        return cls(ordered, split, scale, links, maker_colours(board), _alike(ordered, board, split))

    @classmethod
    def of_comparison(cls, compared: ScoreComparison) -> RankingPicture:
        """The ranking of systems on a visitor's table."""
        level = compared.pairs.filter(pl.col("adjusted") >= APART)["one", "two"].rows()
        return cls.of_rows(compared.table.rows(named=True), level)

    @classmethod
    def of_rows(
        cls, rows: Sequence[Mapping[str, Any]], level: Iterable[tuple[str, str]], zero: str = ""
    ) -> RankingPicture:
        """The ranking of rows with the columns of `ScoreComparison.table`.

        Args:
            rows: in the order of ranks.
            level: every two systems that do not differ significantly.
            zero: what has a score of 0, drawn as a line; empty for nothing.
        """
        lines = [_compared(number, row) for number, row in enumerate(rows)]
        numbers = {row["system"]: str(number) for number, row in enumerate(rows)}
        alike: dict[str, list[str]] = {number: [] for number in numbers.values()}
        for one, two in level:
            alike[numbers[one]].append(numbers[two])
            alike[numbers[two]].append(numbers[one])
        ends = [end for line in lines for end in (line.result.headline.low, line.result.headline.high)]
        span = max(ends) - min(ends) or 1.0
        line = 0.0 if zero else None
        scale = Scale("Mean", low=min(ends) - span, high=max(ends) + span, reference=line, answer=zero)
        return cls(lines, SplitKey("", "", ""), scale, Links({}, ""), {}, alike)

    def draw(self, kept: Sequence[bool] | None = None) -> Html:
        """The rows, the first fifty at once.

        Args:
            kept: whether each line is shown; all if left out.
        """
        lines = [line for line, keep in zip(self.lines, kept or [True] * len(self.lines), strict=True) if keep]
        if not lines:
            return el("p", "No system passes the search and the filters.")
        systems = [line for line in lines if group_of(line.result) == "system"]
        ranked = [line for line in systems if line.rank] or systems
        drawn = self.scale.zoomed([line.result.headline for line in lines])
        costs = dict(zip((line.result.entry.origin for line in lines), prices(lines), strict=True))
        numbers = {line.result.entry.origin: place for place, line in enumerate(ranked[:AT_FIRST])}
        rows = [self._row(place, ranked, drawn, costs, numbers) for place in range(len(ranked))]
        parts: list[Html | None] = [el("ol", *rows[:AT_FIRST], class_="hf-rows")] if rows else []
        if rows[AT_FIRST:]:
            more = el("summary", f"Show all {len(rows):,} systems")
            parts.append(el("details", more, el("ol", *rows[AT_FIRST:], class_="hf-rows", start=AT_FIRST + 1)))
        others = [("Without a rank", _FEW, [line for line in systems if line not in ranked])]
        others += [(*said, [line for line in lines if group_of(line.result) == kind]) for kind, said in _UNRANKED]
        for title, explained, found in others:
            if found:
                parts.append(el("p", el("strong", title), f": {explained}", class_="hf-group-said"))
                drawn_rows = (self._row(place, found, drawn, costs, {}) for place in range(len(found)))
                parts.append(el("ul", *drawn_rows, class_="hf-rows hf-unranked"))
        return el("div", join(parts), self._caption(lines), class_="hf-ranking")

    def _row(
        self, place: int, lines: Sequence[Line], drawn: Scale, costs: Mapping[str, float | None],
        numbers: Mapping[str, int],
    ) -> Html:  # fmt: skip
        line = lines[place]
        entry, metric = line.result.entry, line.result.headline
        alike = self.alike.get(entry.origin, ())
        marks = [f"hf-s{numbers[other]}" for other in (entry.origin, *alike) if other in numbers]
        kinds = ["hf-row", *_bracket(place, lines), *(marks if entry.origin in numbers else ())]
        kinds += [f"hf-r{numbers[entry.origin]}"] if entry.origin in numbers else []
        kinds += ["hf-hollow"] if is_hollow(line) else []
        kinds.append(maker_class(line, self.colours))
        address = self.links.to("system", self.split, system=entry.origin)
        about = [regime] if (regime := regime_beside(entry)) else []
        if entry.provenance == "uploaded" and not entry.origin.startswith(f"{self.split.edition}/"):  # a rated study's
            about += ["uploaded", *([] if has_team(entry) else [f"by {visible(entry.team, 30)}"])]
        cost = costs.get(entry.origin)
        return el(
            "li",
            el("span", class_="hf-bracket", aria_hidden="true"),
            el("span", str(line.rank) if line.rank else "", class_="hf-place"),
            maker_mark(line, self.colours),
            el("span", inner_link(address, named(entry.name)), el("small", " \N{MIDDLE DOT} ".join(about)),
               class_="hf-who"),
            el("span", interval_bar(metric, drawn), class_="hf-bar", aria_hidden="true"),
            el("span", el("b", figure(metric.value, metric.name)), el("small", line.interval), class_="hf-value"),
            el("span", money(cost) if cost is not None else "", class_="hf-cost"),
            self._spoken(alike) if line.rank else None,
            class_=" ".join(kinds),
        )  # fmt: skip

    def _spoken(self, alike: Collection[str]) -> Html:
        """What brackets and dimmed rows show, for screen readers."""
        names = [visible(line.result.entry.name, 40) for line in self.lines if line.result.entry.origin in alike]
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        said = f"Not significantly different from {', '.join(names[:_MOST_NAMED])}{more}." if names else ""
        return el("span", said, class_="hf-unseen")

    def _caption(self, lines: Sequence[Line]) -> Html:
        tied = any(_bracket(place, lines) for place in range(len(lines)))
        joins = "A bracket joins systems that do not differ significantly from the best of them (5%, all pairs)."
        said = [joins] if tied else []
        said += ["Point at a row: those that differ significantly from it stay."] if len(self.alike) > 1 else []
        if any(map(is_hollow, lines)):
            said.append("Hollow: uploaded; the answers to these samples can be looked up.")
        said += [ROUGH_SAID] if any(line.mark for line in lines) else []
        said += [f"Dashed: {self.scale.constant}."] if self.scale.constant else []
        behind = {"one person": self.scale.people, "the ceiling": self.scale.ceiling}
        said += [f"Line in a band: {name}." for name, known in behind.items() if known]
        said += ["Cost for 1,000 samples."] if any(cost is not None for cost in prices(lines)) else []
        return el("p", " ".join(said), class_="hf-caption")


def _compared(number: int, row: Mapping[str, Any]) -> Line:
    """A system of a visitor's table as a line of a board."""
    low, high = (row["mean"] if math.isnan(row[end]) else row[end] for end in ("low", "high"))
    standing = Standing(
        str(number), row["rank"], row["rank_low"], row["rank_high"], row["first"], row["tie_group"], row["items"],
        row["items"], row["rough"],
    )  # fmt: skip
    entry = BoardEntry(row["system"], "", "run", "", "none", str(number), 0, row["system"])
    shown = (MetricValue("Mean", row["mean"], low, high),)
    cell = ScoreCell(entry, "", ALL_PERIODS, False, "", "", row["items"], row["items"], row["items"], 0, 0, shown, "")
    return Line(cell, row["rank"], standing, None)


def _alike(lines: Sequence[Line], board: Board, split: SplitKey) -> Mapping[str, Collection[str]]:
    """For each of the first ranked systems the ones that do not differ significantly from it."""
    first = [line.result.entry.origin for line in lines if line.rank and group_of(line.result) == "system"][:AT_FIRST]
    if len(first) < 2:
        return {}
    both = pl.col("one").is_in(first) & pl.col("two").is_in(first)
    found: dict[str, list[str]] = {origin: [] for origin in first}
    for pair in board.rows(Pair, split, both, period=ALL_PERIODS):
        if pair.adjusted is None or pair.adjusted >= APART:
            found[pair.one].append(pair.two)
            found[pair.two].append(pair.one)
    return found


def _bracket(place: int, lines: Sequence[Line]) -> list[str]:
    """The part of its tie group's bracket beside a row; nothing for a group of one."""

    def group(at: int) -> int | None:
        standing = lines[at].standing if 0 <= at < len(lines) else None
        return standing.tie_group if standing else None

    mine = group(place)
    if mine is None:
        return []
    above, below = group(place - 1) == mine, group(place + 1) == mine
    if not above and not below:
        return []
    return ["hf-tied", *([] if above else ["hf-tied-first"]), *([] if below else ["hf-tied-last"])]


def highlight_style() -> str:
    """The rules that dim the rows that do not differ significantly from the one under the pointer or in focus."""
    return "\n".join(
        f".hf-rows:has(> .hf-r{k}:is(:hover, :focus-within)) > .hf-s{k}:not(.hf-r{k}) {{ opacity: 0.35; }}"
        for k in range(AT_FIRST)
    )
