"""The leader in a few sentences; and two systems on the same samples: whether one is really better, when, and where."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from enum import StrEnum

import polars as pl

from hellofresh.results.card import CardRow
from hellofresh.results.standings import Pair, Standing
from leaderboard.components.charts import difference_bar, difference_scale
from leaderboard.components.labels import Links, entry_label
from leaderboard.components.markup import (
    DASH,
    Html,
    bundled_notice,
    el,
    heading,
    inner_link,
    join,
    named,
    visible,
)
from leaderboard.components.parts import DataTable
from leaderboard.components.ranking import APART
from leaderboard.components.scale import Scale, figure, plain_scale, scale_of, signed
from leaderboard.components.standings import (
    ONLY_UPLOADS,
    Line,
    all_lines,
    by_rank,
    group_of,
    only_uploads,
    ranked_data,
    usual,
)
from leaderboard.components.tables import Cell, Column, Marked, card_section, interval, scrolled, table
from leaderboard.data.board import ALL_PERIODS, Board, BoardEntry, SplitKey
from leaderboard.views.visit import Page, Visit, where

_CONSTANT = "always-"  # prefix of the names of constant baselines
_LEDE = "Systems on the same samples: is one really better, when, and where do they differ?"
_PICKS = ("one", "two", "three", "four", "five")  # parameters of the address for systems compared in the app
_MOST_WITH_PERIODS = 100  # with more systems, comparisons of all pairs in every period would be too large beside a page
_WHOLE = "All samples"
_Both = tuple[BoardEntry, BoardEntry]


class Lead(StrEnum):
    """How an entry compares with another."""

    SIGNIFICANT = "significant"
    NOT_SIGNIFICANT = "not significant"
    NONE = "none"
    BEHIND = "behind"
    WORSE = "significantly worse"
    UNTESTED = "untested"


def lead_of(pair: Pair | None) -> Lead:
    """How the first entry of a comparison compares with the second."""
    if pair is None or math.isnan(pair.difference):
        return Lead.UNTESTED
    if pair.difference == 0:
        return Lead.NONE
    surely = pair.adjusted is not None and pair.adjusted < APART
    if pair.difference > 0:
        return Lead.SIGNIFICANT if surely else Lead.NOT_SIGNIFICANT
    return Lead.WORSE if surely else Lead.BEHIND


def short_verdict(
    lines: Sequence[Line], board: Board, split: SplitKey, scale: Scale, links: Links
) -> Sequence[Html | str | None]:
    """Who leads and how surely, in one short sentence, which names only systems of the default table.

    Args:
        lines: all entries of the split, in any order.
        board: source of their comparisons.
        split: the task and quarter.
        scale: of its scores.
        links: to pages.

    Returns:
        Nothing if there are only controls and smoke tests.
    """
    systems, baselines = (_of(usual(lines), kind, scale) for kind in ("system", "baseline"))
    if only_uploads(lines):
        return [ONLY_UPLOADS]
    if not systems and not baselines:
        return []
    best, *rivals = systems or baselines
    entry, against = best.result.entry, board.against(split, best.result.entry.origin)
    leads = {line.result.entry: lead_of(against.get(line.result.entry.origin)) for line in (*rivals, *baselines)}
    second = next(iter([*rivals, *(baselines if systems else ())]), None)
    name = el("strong", inner_link(links.to("system", split, system=entry.origin), named(entry.name)))
    said = " has no rank until another system is scored. " if second is None else _LEADS[leads[second.result.entry]]
    better = [line.result.entry for line in baselines if systems and leads[line.result.entry] in _BELOW]
    said = " ranks first. " if better and not rivals else said
    sentences: list[Html | str] = [
        "" if systems else "No system is ranked here; of the baselines, ",
        name,
        said,
    ]
    if better:
        worse = next((one for one in better if leads[one] is Lead.WORSE), better[0])
        surely = " is significantly better. " if leads[worse] is Lead.WORSE else " is ahead of it. "
        sentences += ["The baseline ", named(worse.name), surely]
    everyone = _of(lines, "system", scale)
    above = everyone.index(best) if systems else 0
    if above:
        sentences.append(f"{above:,} uploaded {'system ranks' if above == 1 else 'systems rank'} above it. ")
    return sentences


_BELOW = {Lead.BEHIND, Lead.WORSE}
# Phrases for the leader, by its comparison with the next.
_LEADS = {
    Lead.SIGNIFICANT: " is significantly better than the next. ",
    Lead.NOT_SIGNIFICANT: " leads, but not significantly. ",
    Lead.NONE: " leads, level with the next. ",
    Lead.BEHIND: " ranks first, but not significantly. ",
    Lead.WORSE: " ranks first, but the next is significantly ahead on their common samples. ",
    Lead.UNTESTED: " leads; its lead over the next is untested. ",
}


def how_sure(lines: Sequence[Line], board: Board, split: SplitKey, scale: Scale, links: Links) -> Html | None:
    """The short sentence and its certainty; arguments are those of `short_verdict`.

    Returns:
        None if there are only controls and smoke tests.
    """
    short = short_verdict(lines, board, split, scale, links)
    if not short:
        return None
    sure = [one for one in _sureness(lines, board, split, scale, links) if one]
    card = card_section([asdict(row) for row in board.rows(CardRow, split)])
    return join([el("p", *short, class_="hf-verdict"), el("ul", *(el("li", one) for one in sure)), *card])


def _sureness(
    lines: Sequence[Line], board: Board, split: SplitKey, scale: Scale, links: Links
) -> Iterator[Html | str | None]:
    """The leader's score, its lead over the next and over the best baseline, and links for details."""
    systems, baselines = (_of(usual(lines), kind, scale) for kind in ("system", "baseline"))
    if only_uploads(lines) or not (systems or baselines):
        return
    best, *rivals = systems or baselines
    others = [*rivals, *(baselines if systems else ())]
    entry, score = best.result.entry, best.result.headline
    against = board.against(split, entry.origin)
    pairs = {line.result.entry: against.get(line.result.entry.origin) for line in others}
    own_page = links.to("system", split, system=entry.origin)
    first = all(scale.order(score.value) <= scale.order(rival.result.headline.value) for rival in rivals)
    leads = f" has the {scale.best} {scale.title}, "
    leads = leads if first else f" ranks first on the common samples; its {scale.title} is "
    low, high = (figure(limit, score.name, 2) for limit in (score.low, score.high))
    yield join([named(entry.name), leads, f"{figure(score.value, score.name)} ({low} to {high})."])
    if rivals:
        yield _over(rivals[0], pairs[rivals[0].result.entry], scale)
    if rivals and best.standing is not None:
        group = best.standing.tie_group
        yield _fragile(best.standing)
        tied = sum(line.standing is not None and line.standing.tie_group == group for line in rivals)
        yield f"{tied} systems do not differ significantly from it." if tied > 1 else None
    if systems and baselines:
        yield join(_against_baselines([line.result.entry for line in baselines], pairs, scale))
    ways: list[Html | str] = [inner_link(own_page, "Where it fails" if scale.classes else "More about it")]
    if others and pairs[others[0].result.entry] is not None:
        both = links.to("compare", split, one=entry.origin, two=others[0].result.entry.origin)
        ways = [inner_link(both, "Compare the two"), ". ", *ways]
    yield join([*ways, "."])


def _fragile(first: Standing) -> str | None:
    """How much a first place depends on single samples."""
    if not first.to_lose or first.halves is None:
        return None
    lost = "sample that favours" if first.to_lose == 1 else f"{first.to_lose:,} samples that favour"
    return (
        f"It would lose the lead without the {lost} it most, of {first.n:,}; two random halves of the samples "
        f"agree on who is first in {first.halves:.0%} of cases. "
    )


def _of(lines: Sequence[Line], kind: str, scale: Scale) -> list[Line]:
    """The lines of one group, the best first."""
    order = by_rank(scale)
    return sorted(
        (line for line in lines if group_of(line.result) == kind), key=lambda line: (order(line), line.result.entry)
    )


def _over(rival: Line, pair: Pair | None, scale: Scale) -> Html:
    """The leader's lead over the next."""
    name = named(rival.result.entry.name)
    match lead_of(pair):
        case Lead.UNTESTED:
            return join(["Its lead over ", name, " cannot be tested: they share too few samples. "])
        case Lead.NONE:
            return join(["On their common samples, ", name, f" has the same {scale.title}. "])
        case Lead.SIGNIFICANT | Lead.NOT_SIGNIFICANT as lead:
            return join(["Its lead over ", name, " is ", el("strong", lead.value), f" ({_size(pair, scale)}). "])
        case lead:
            how = "significantly ahead of it" if lead is Lead.WORSE else "ahead of it, though not significantly"
            return join(["On their common samples, ", name, " is ", el("strong", how), f" ({_size(pair, scale)}). "])


def _against_baselines(
    baselines: Sequence[BoardEntry], pairs: Mapping[BoardEntry, Pair | None], scale: Scale
) -> list[Html | str | None]:
    """How the leader compares with the best baseline, and whether a constant answer does better."""
    leads = {entry: lead for entry in baselines if (lead := lead_of(pairs[entry])) is not Lead.UNTESTED}
    if not leads:
        return ["It cannot be compared with the baselines: they share too few samples. "]
    baseline = next((entry for entry, lead in leads.items() if lead is Lead.WORSE), next(iter(leads)))
    lead = leads[baseline]
    before, strong, after = {
        Lead.SIGNIFICANT: ("It is ", "significantly better", " than the best baseline, "),
        Lead.NOT_SIGNIFICANT: ("Its lead over the best baseline is ", "not significant", ": "),
        Lead.NONE: ("It has ", f"the same {scale.title}", " as the best baseline, "),
        Lead.BEHIND: ("It is ", "below", " the best baseline, though not significantly: "),
        Lead.WORSE: ("It is ", "significantly worse", " than the baseline "),
    }[lead]
    size = None if lead is Lead.NONE else f" ({_size(pairs[baseline], scale)})"
    sentences: list[Html | str | None] = [before, el("strong", strong), after, named(baseline.name), size, ". "]
    for entry, lead in leads.items():
        if entry.system.startswith(_CONSTANT) and lead in {Lead.BEHIND, Lead.WORSE}:
            above = f": one answer for every sample gives a {'higher' if scale.rising else 'lower'} {scale.title}. "
            return [*sentences, "It is below ", named(entry.name), above]
    return sentences


def _size(pair: Pair | None, scale: Scale) -> str:
    return "" if pair is None else f"{signed(pair.difference, scale.title)}, {_limits(pair, scale)}, {_p_value(pair)}"


def _limits(pair: Pair, scale: Scale) -> str:
    """The interval of a difference, or a note that it is unknown."""
    if pair.high - pair.low >= 2 * (scale.high - scale.low):
        return "samples of one cluster, too few for an interval"
    return f"95% interval {signed(pair.low, scale.title)} to {signed(pair.high, scale.title)}"


def _p_value(pair: Pair) -> str:
    p_value = 1.0 if pair.adjusted is None else pair.adjusted
    return f"{f'p = {p_value:.3f}' if p_value >= 0.001 else 'p < 0.001'}, adjusted for all pairs"


def _compose(visit: Visit) -> None:
    visit.header("Compare", _LEDE)
    board, split = visit.board, visit.split()
    first = _first_two(board, split) or ("", "")
    said = "This quarter was written for the project, to try it out; differences here mean nothing."
    visit.show(bundled_notice(board.is_bundled(split), said))
    visit.handle(lambda: _with_script(visit, split, first), lambda: _ticked(visit, split, first))


def _with_script(visit: Visit, split: SplitKey, first: tuple[str, str]) -> Html:
    """The first two systems, and the data with which the script lets visitors tick others."""
    return el(
        "div",
        el("div", class_="hf-tools hf-filters"),
        el("div", *_two_compared(visit, split, *first), class_="hf-compared"),
        data_hf="compare",
        data_src=_attach_pairs(visit, split, first),
    )


def _two_compared(visit: Visit, split: SplitKey, one: str, two: str) -> list[Html]:
    """Two systems: the better one, the difference by period, and their agreement."""
    scale, entries = plain_scale(split.task, split.kind), visit.board.entries(split)
    both, pairs = (entries[one], entries[two]), visit.board.pairs(split, one, two)
    whole = next(pair for pair in pairs if pair.period == ALL_PERIODS)
    explained = (
        "First minus second, with 95% intervals; the interval of all samples is adjusted for all pairs. "
        f"{'Right' if scale.rising else 'Left'} of the dashed line the first is better."
    )
    ways = [inner_link(visit.links.to("system", split, system=entry.origin), named(entry.name)) for entry in both]
    return [
        el("p", ways[0], " and ", ways[1], ":", class_="hf-both"),
        _better(whole, both, scale),
        heading(f"Difference in {scale.title}", explained),
        _differences({_WHOLE if pair is whole else visible(pair.period, 12): pair for pair in pairs}, scale, "Period"),
        *([heading("Agreement"), _agreement(whole, both)] if scale.classes else []),
    ]


def _ticked(visit: Visit, split: SplitKey, first: Sequence[str]) -> DataTable:
    """All systems as values; two to five of them are ticked."""
    scale = scale_of(visit.board, split)
    lines = sorted(all_lines(visit.board, split), key=by_rank(scale))
    said = "Systems to compare: tick two to five"
    return replace(ranked_data(lines, scale), title=said, picks=_PICKS, picked=first, charts=())


def _show_compared(visit: Visit, origins: Sequence[str]) -> None:
    """Show the ticked systems in pairs."""
    split, entries = visit.chosen, visit.board.entries(visit.chosen)
    known = [origin for origin in dict.fromkeys(origins) if origin in entries]
    if len(known) < 2:
        visit.show(el("p", "Tick two to five systems in the table to compare them."))
    if len(known) > 2:
        visit.show(_every_two(visit, split, known))
    for one, two in itertools.combinations(known, 2):
        title = join([named(entries[one].name), " and ", named(entries[two].name)])
        pairs = [pair for pair in visit.board.pairs(split, one, two) if pair.period == ALL_PERIODS]
        if not pairs or math.isnan(pairs[0].difference):
            visit.show(el("p", title, " are not compared: they share too few samples."))
        elif len(known) == 2:
            ways = [
                inner_link(visit.links.to("samples", split, right=right, wrong=wrong), f"that only {whose} got right")
                for right, wrong, whose in ((one, two, "the first"), (two, one, "the second"))
            ]
            visit.show(*_two_compared(visit, split, one, two), el("p", "Samples ", ways[0], "; ", ways[1], "."))
        else:
            visit.show(el("details", el("summary", title), *_two_compared(visit, split, one, two)))


def _every_two(visit: Visit, split: SplitKey, known: Sequence[str]) -> Html:
    """A square of differences: the row's system minus the column's."""
    entries, scale = visit.board.entries(split), plain_scale(split.task, split.kind)
    rows: list[list[Cell]] = []
    for one in known:
        against = visit.board.against(split, one)
        tested = [pair if pair and not math.isnan(pair.difference) else None for pair in map(against.get, known)]
        cells = [
            (signed(pair.difference, scale.title), _p_value(pair).partition(",")[0]) if pair else DASH
            for pair in tested
        ]
        rows.append([named(entries[one].name, 40), *cells])
    columns: list[Column] = [("name", "System"), *(("number", named(entries[two].name, 24)) for two in known)]
    said = "The system of the row minus that of the column, with p-values adjusted for all pairs on the board."
    square = table(f"Differences in {scale.title}", columns, rows, "hf-wide hf-findings", whole=True)
    return join([heading(f"Difference in {scale.title}", said), scrolled(square)])


def _attach_pairs(visit: Visit, split: SplitKey, first: tuple[str, str]) -> str:
    """All comparisons as data: for each system a file with the systems after it, and an index of the files.

    By the number of the other system, it has the result of `_plain` for the whole quarter and, unless there are many
    systems, for each period.
    """
    lines = sorted(all_lines(visit.board, split), key=by_rank(scale_of(visit.board, split)))
    entries = {line.result.entry.origin: line.result.entry for line in lines}
    scores = {result.entry.origin: result.headline for result in visit.board.headlines(split)}
    numbers, scale = {origin: number for number, origin in enumerate(entries)}, plain_scale(split.task, split.kind)
    few, decimals = len(entries) <= _MOST_WITH_PERIODS, len(figure(0.0, scale.title)) - 2
    wanted = pl.col("one").is_in(list(entries)) & pl.col("two").is_in(list(entries))
    periods = {} if few else {"period": ALL_PERIODS}
    found: dict[int, dict[int, dict[str, list[float | None]]]] = {}
    for pair in visit.board.rows(Pair, split, wanted, **periods):
        turned = pair if numbers[pair.one] < numbers[pair.two] else pair.turned()
        mine = found.setdefault(numbers[turned.one], {}).setdefault(numbers[turned.two], {})
        mine[pair.period] = _plain(turned, decimals)
    for number, theirs in found.items():
        visit.attach_data(f"compare/{number}", dict(sorted(theirs.items())))
    listed = {
        "apart": APART,
        "files": [number in found for number in range(len(entries))],
        "first": [numbers[origin] for origin in first],
        "decimals": decimals,
        "metric": scale.title,
        "rising": scale.rising,
        "samples": visit.links.to("samples", split) if scale.classes else "",
        "span": scale.high - scale.low,
        "systems": [
            [
                origin,
                entry_label(entry),
                visible(entry.name, 60),
                visit.links.to("system", split, system=origin),
                f"{figure(scores[origin].value, scale.title)} ({interval(scores[origin])})",
            ]
            for origin, entry in entries.items()
        ],
    }
    return visit.attach_data("compare/list", listed)


def _plain(pair: Pair, decimals: int) -> list[float | None]:
    """Samples, difference, limits and p-value; shares of both right, one right, two right, and equal answers.

    Values are rounded here, so that the script writes the same digits as `figure`.
    """
    numbers = (pair.difference, pair.low, pair.high)
    finite = [round(value, decimals) if math.isfinite(value) else None for value in numbers]
    adjusted = pair.adjusted
    if adjusted is not None:
        short = round(adjusted, 3)
        adjusted = short if adjusted >= 0.001 and (short < APART) == (adjusted < APART) else round(adjusted, 5)
    return [pair.n, *finite, adjusted, pair.both_right, pair.one_right, pair.two_right, pair.same]


def _better(pair: Pair, both: _Both, scale: Scale) -> Html:
    """The answer in a sentence."""
    leads = scale.order(pair.difference) <= 0
    better, worse = both if leads else (both[1], both[0])
    if pair.adjusted is not None and pair.adjusted < APART:
        ahead = pair if leads else pair.turned()
        names = (el("strong", named(better.name)), " is better than ", named(worse.name))
        much = figure(abs(ahead.difference), scale.title)
        surely = f" by {much} in {scale.title} ({_limits(ahead, scale)}); {_p_value(pair)}."
        return el("p", *names, surely, " The choice of samples does not explain the difference.", class_="hf-verdict")
    said = f"{signed(pair.difference, scale.title)} ({_limits(pair, scale)}); {_p_value(pair)}."
    differ = f": the difference in {scale.title} is {said}"
    return el("p", "The two ", el("strong", "do not differ significantly"), differ, class_="hf-verdict")


def behind_first(lines: Sequence[Line], board: Board, split: SplitKey, scale: Scale, links: Links) -> Html | None:
    """How far the first system is ahead of each other one on the same samples; None if nothing was compared."""
    systems = [line.result.entry for line in _of(lines, "system", scale)]
    against = board.against(split, systems[0].origin) if systems else {}
    found: dict[Html | str, Pair] = {
        inner_link(links.to("system", split, system=entry.origin), named(entry.name)): pair
        for entry in systems
        if (pair := against.get(entry.origin)) is not None and not math.isnan(pair.difference)
    }
    if not found:
        return None
    said = f"{systems[0].name} minus each system on the same samples, with intervals that hold for all pairs together."
    return join([heading(f"Ahead in {scale.title}", said), _differences(found, scale, "System")])


def _differences(pairs: Mapping[Html | str, Pair], scale: Scale, what: str) -> Html:
    """A row for each comparison, by what it is about."""
    ends = (abs(end) for one in pairs.values() if not _is_same(one) for end in (one.low, one.high, one.difference))
    widest = max(ends, default=0)
    reach = max(0.1, math.ceil(10 * widest) / 10)
    columns: list[Column] = [("name", what), ("number", "Difference"), ("drawn", difference_scale(reach))]
    rows = []
    for about, pair in pairs.items():
        limits = f"{signed(pair.low, scale.title)} to {signed(pair.high, scale.title)}"
        low, high = (pair.low, pair.high) if not _is_same(pair) else (0.0, 0.0)
        difference = signed(pair.difference, scale.title), limits if not _is_same(pair) else "identical answers"
        drawn = difference_bar(pair.difference, low, high, reach)
        kind = "hf-total" if about == _WHOLE else None
        rows.append(Marked(kind, [about, difference, drawn, f"{pair.n:,}"]))
    return table(f"Difference by {what.lower()}", [*columns, ("number", "Samples")], rows, "hf-balance")


def _is_same(pair: Pair) -> bool:
    """Whether both gave the same answers: nothing on these samples could measure how far others would differ."""
    return pair.n > 0 and pair.same == pair.n and not pair.difference


def _agreement(pair: Pair, both: _Both) -> Html:
    only = [join(["Only ", named(entry.name), " was right"]) for entry in both]
    counts: dict[Html | str, int] = {
        "Same answer": pair.same,
        "Both were right": pair.both_right,
        only[0]: pair.one_right,
        only[1]: pair.two_right,
        "Neither was right": pair.n - pair.both_right - pair.one_right - pair.two_right,
    }
    rows = ([text, f"{count:,}", f"{count / pair.n:.1%}" if pair.n else DASH] for text, count in counts.items())
    return table("Agreement", [("name", "Answers"), ("number", "Samples"), ("number", "Share")], rows, "hf-balance")


def _first_two(board: Board, split: SplitKey) -> tuple[str, str] | None:
    """The first two systems, if compared; the baselines after them if there are fewer."""
    lines, scale = all_lines(board, split), plain_scale(split.task, split.kind)
    systems = _of(lines, "system", scale)
    ahead = systems if len(systems) > 1 else [*systems, *_of(lines, "baseline", scale)]
    first = [line.result.entry.origin for line in ahead[:2]]
    return (first[0], first[1]) if len(first) > 1 and board.pairs(split, *first) else None


PAGE = Page("Compare", "compare", _compose, _LEDE, where(_first_two), opened=_show_compared)
