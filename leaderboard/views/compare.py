"""Who is ahead, in a few sentences; and two systems on the same samples: is one really better, when, and where?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

import polars as pl

from hellofresh.results.board.schema import SAMPLES, SampleRow
from hellofresh.results.standings import Pair
from hellofresh.results.tables import AnswerRow
from leaderboard.components.charts import difference_bar, difference_scale, period_tick
from leaderboard.components.labels import Links, entry_label
from leaderboard.components.markup import DASH, Html, el, inner_link, join, named
from leaderboard.components.open_quarter import not_revealed
from leaderboard.components.pieces import bundled_notice, heading
from leaderboard.components.scale import Scale, plain_scale
from leaderboard.components.standings import Line, all_lines, by_rank, group_of
from leaderboard.components.tables import Column, Marked, table
from leaderboard.data.board import ALL_PERIODS, Board, BoardEntry, SplitKey
from leaderboard.views.samples import sample_list
from leaderboard.views.visit import Choices, Page, Visit

APART = 0.05
"""Two systems whose adjusted p-value is below are called separable."""
_CONSTANT = "always-"
"""How the names of baselines begin that give one answer to every sample."""
_LEDE = "Two systems on the same samples: is one really better, when, and where do they differ?"
_MOST_SAMPLES = 15
_Both = tuple[BoardEntry, BoardEntry]


class Lead(StrEnum):
    """How one entry stands to another."""

    SIGNIFICANT = "significant"
    NOT_SIGNIFICANT = "not significant"
    NONE = "none"
    BEHIND = "behind"
    WORSE = "significantly worse"
    UNTESTED = "untested"


def lead_of(pair: Pair | None) -> Lead:
    """How the first entry of a comparison stands to the second."""
    if pair is None or math.isnan(pair.difference):
        return Lead.UNTESTED
    if pair.difference == 0:
        return Lead.NONE
    surely = pair.adjusted is not None and pair.adjusted < APART
    if pair.difference > 0:
        return Lead.SIGNIFICANT if surely else Lead.NOT_SIGNIFICANT
    return Lead.WORSE if surely else Lead.BEHIND


def verdict(
    lines: Sequence[Line], board: Board, split: SplitKey, scale: Scale, links: Links, *, bundled: bool
) -> Html | None:
    """Names the leader, compares it with the next and with the best baseline, and says where to read on.

    Args:
        lines: all entries of the split, in any order.
        board: has their comparisons.
        split: the task and quarter.
        scale: of its scores.
        links: where pages are.
        bundled: whether the quarter is the bundled sample.

    Returns:
        None if there are only controls and smoke tests.
    """
    systems, baselines = _of(lines, "system", scale), _of(lines, "baseline", scale)
    if not systems and not baselines:
        return None
    best, *rivals = systems or baselines
    others = [*rivals, *(baselines if systems else ())]
    against = board.against(split, best.result.entry.origin)
    pairs = {line.result.entry: against.get(line.result.entry.origin) for line in others}
    entry, score = best.result.entry, best.result.headline
    where = None if systems else "No system is ranked here. Of the baselines, "
    where = "In this bundled sample, " if bundled and systems else where
    own_page = links.to("system", split, system=entry.origin)
    first = all(scale.order(score.value) <= scale.order(rival.result.headline.value) for rival in rivals)
    leads = f" has the {scale.best} {scale.title}, "
    leads = leads if first else f" ranks first on the samples that all judged; its {scale.title} is "
    sentences: list[Html | str | None] = [where, el("strong", inner_link(own_page, named(entry.name))), leads]
    sentences.append(f"{score.value:.3f} ({score.low:.2f} to {score.high:.2f}). ")
    if rivals:
        sentences.append(_over(rivals[0], pairs[rivals[0].result.entry], scale))
    if rivals and best.standing is not None:
        group = best.standing.tie_group
        tied = sum(line.standing is not None and line.standing.tie_group == group for line in rivals)
        sentences.append(f"{tied} systems do not differ significantly from it. " if tied > 1 else None)
    if systems and baselines:
        sentences += _against_baselines([line.result.entry for line in baselines], pairs, scale)
    if others and pairs[others[0].result.entry] is not None:
        both = links.to("compare", split, one=entry.origin, two=others[0].result.entry.origin)
        sentences += [inner_link(both, "Compare them"), ". "]
    return el("p", *sentences, inner_link(own_page, "Where it fails"), ".", class_="hf-verdict")


def _of(lines: Sequence[Line], kind: str, scale: Scale) -> list[Line]:
    """The lines of one section, the best first."""
    order = by_rank(scale)
    return sorted(
        (line for line in lines if group_of(line.result) == kind), key=lambda line: (order(line), line.result.entry)
    )


def _over(rival: Line, pair: Pair | None, scale: Scale) -> Html:
    """How far the leader is ahead of the next."""
    name = named(rival.result.entry.name)
    match lead_of(pair):
        case Lead.UNTESTED:
            return join(["Its lead over ", name, " cannot be tested: the two judged different samples. "])
        case Lead.NONE:
            return join(["On the samples that both judged, ", name, f" has the same {scale.title}. "])
        case Lead.SIGNIFICANT | Lead.NOT_SIGNIFICANT as lead:
            return join(["Its lead over ", name, " is ", el("strong", lead.value), f" ({_size(pair)}). "])
        case lead:
            how = "significantly ahead of it" if lead is Lead.WORSE else "ahead of it, though not significantly"
            return join(["On the samples that both judged, ", name, " is ", el("strong", how), f" ({_size(pair)}). "])


def _against_baselines(
    baselines: Sequence[BoardEntry], pairs: Mapping[BoardEntry, Pair | None], scale: Scale
) -> list[Html | str | None]:
    """How the leader stands to the best baseline, and whether one answer for every sample does better."""
    leads = {entry: lead for entry in baselines if (lead := lead_of(pairs[entry])) is not Lead.UNTESTED}
    if not leads:
        return ["It cannot be compared with the baselines: they judged different samples. "]
    baseline = next((entry for entry, lead in leads.items() if lead is Lead.WORSE), next(iter(leads)))
    lead = leads[baseline]
    before, strong, after = {
        Lead.SIGNIFICANT: ("It is ", "significantly better", " than the best baseline, "),
        Lead.NOT_SIGNIFICANT: ("Its lead over the best baseline is ", "not significant", ": "),
        Lead.NONE: ("It has ", f"the same {scale.title}", " as the best baseline, "),
        Lead.BEHIND: ("It is ", "below", " the best baseline, though not significantly: "),
        Lead.WORSE: ("It is ", "significantly worse", " than the baseline "),
    }[lead]
    size = None if lead is Lead.NONE else f" ({_size(pairs[baseline])})"
    sentences: list[Html | str | None] = [before, el("strong", strong), after, named(baseline.name), size, ". "]
    for entry, lead in leads.items():
        if entry.system.startswith(_CONSTANT) and lead in {Lead.BEHIND, Lead.WORSE}:
            above = f": one answer for every sample gives a {'higher' if scale.rising else 'lower'} {scale.title}. "
            return [*sentences, "It is below ", named(entry.name), above]
    return sentences


def _size(pair: Pair | None) -> str:
    return "" if pair is None else f"{_signed(pair.difference)}, {_limits(pair)}, {_p_value(pair)}"


def _limits(pair: Pair) -> str:
    """The interval of a difference, or a note that it has none."""
    if pair.low <= -1 and pair.high >= 1:
        return "samples of one cluster, too few for an interval"
    return f"95% interval {_signed(pair.low)} to {_signed(pair.high)}"


def _p_value(pair: Pair) -> str:
    p_value = 1.0 if pair.adjusted is None else pair.adjusted
    return f"{f'p = {p_value:.3f}' if p_value >= 0.001 else 'p < 0.001'}, adjusted for all pairs"


def _signed(value: float) -> str:
    """A difference with its sign; a true minus."""
    text = f"{value:+.3f}"
    return "0.000" if float(text) == 0 else text.replace("-", "\N{MINUS SIGN}")


def _compose(visit: Visit) -> None:
    visit.header("Compare", _LEDE)
    board = visit.board
    split = visit.split()
    entries = board.entries(split)
    if len(entries) < 2:
        said = "A comparison needs two systems; this task and quarter have fewer."
        visit.show(not_revealed(board, split) if board.is_open(split) else el("p", said))
        return
    titles = {origin: entry_label(entry) for origin, entry in entries.items()}
    with visit.row():
        first, second = list(entries)[:2]
        one = visit.one("one", "First system", titles, width=400, first=first)
        two = visit.one("two", "Second system", titles, width=400, first=second)
    if one == two:
        visit.show(el("p", "Choose two different systems."))
        return
    ways = [inner_link(visit.links.to("system", split, system=key), named(entries[key].name)) for key in (one, two)]
    visit.subject("Is the lead real?", ways[0], " and ", ways[1], ", the first two on ")
    pairs = board.pairs(split, one, two)
    if not pairs:
        said = (
            "They are not compared: one of them judged less than half as many samples as the others, or the board "
            "was built without their answers."
        )
        visit.show(el("p", said))
        return
    both, scale = (entries[one], entries[two]), plain_scale(split.task)
    whole = [pair for pair in pairs if pair.period == ALL_PERIODS]
    explained = (
        "First minus second, with 95% intervals; the interval of the whole quarter is adjusted for all pairs. "
        f"{'Right' if scale.rising else 'Left'} of the dashed line the first is better."
    )
    said = "This quarter was written for the project, to try it out; differences here mean nothing."
    visit.show(
        join(
            [
                bundled_notice(board.is_bundled(split), said),
                *(_better(pair, both, scale) for pair in whole),
                heading(f"Difference in {scale.title}", explained),
                _differences(pairs),
                *(join([heading("Agreement"), _agreement(pair, both)]) for pair in whole),
            ]
        )
    )
    if visit.live:
        _show_differing(visit, split, both)


def _better(pair: Pair, both: _Both, scale: Scale) -> Html:
    """The answer in a sentence."""
    leads = scale.order(pair.difference) <= 0
    better, worse = both if leads else (both[1], both[0])
    if pair.adjusted is not None and pair.adjusted < APART:
        ahead = pair if leads else pair.turned()
        names = (el("strong", named(better.name)), " is better than ", named(worse.name))
        surely = f" by {abs(ahead.difference):.3f} {scale.title} ({_limits(ahead)}); {_p_value(pair)}."
        return el("p", *names, surely, " Chance in the choice of samples does not explain it.", class_="hf-verdict")
    differ = f": the difference in {scale.title} is {_signed(pair.difference)} ({_limits(pair)}); {_p_value(pair)}."
    return el("p", "The two ", el("strong", "do not differ significantly"), differ, class_="hf-verdict")


def _differences(pairs: Sequence[Pair]) -> Html:
    widest = max(max(abs(pair.low), abs(pair.high), abs(pair.difference)) for pair in pairs)
    reach = max(0.1, math.ceil(10 * widest) / 10)
    columns: list[Column] = [("name", "Period"), ("number", "Difference"), ("drawn", difference_scale(reach))]
    rows = []
    for pair in pairs:
        whole = pair.period == ALL_PERIODS
        period = "Whole quarter" if whole else f"{period_tick(pair.period)} {pair.period[:4]}"
        difference = _signed(pair.difference), f"{_signed(pair.low)} to {_signed(pair.high)}"
        drawn = difference_bar(pair.difference, pair.low, pair.high, reach)
        rows.append(Marked("hf-total" if whole else None, [period, difference, drawn, f"{pair.n:,}"]))
    return table("Difference by period", [*columns, ("number", "Samples")], rows, "hf-balance")


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


def _show_differing(visit: Visit, split: SplitKey, both: _Both) -> None:
    """Samples on which exactly one of the two was right; only after the reveal."""
    samples = visit.board.frame(SampleRow, split)
    origins = [entry.origin for entry in both]
    said = visit.board.frame(AnswerRow, split, pl.col("origin").is_in(origins), pl.col("headline"))
    if said.is_empty():
        visit.show(heading("Where they differ", "Shown once the labels are revealed."))
        return
    right = pl.col("label").eq_missing(pl.col("truth"))
    judged = said.join(samples.select("id", truth="label"), on="id").filter(right)
    visit.show(heading("Where they differ"))
    titles = {"one": f"Only {entry_label(both[0])}", "two": f"Only {entry_label(both[1])}"}
    side = visit.one("side", "Samples that only one got right", titles, width=480)
    first, second = (judged.filter(origin=key) for key in (origins if side == "one" else reversed(origins)))
    found = samples.join(first, on="id", how="semi").join(second, on="id", how="anti").sort("period", "id")
    shown = SAMPLES.rows(found.head(_MOST_SAMPLES))
    count = f"{found.height:,} samples; the first {len(shown)} by period."
    listed = sample_list(shown, split.task, lambda sample: visit.links.to("samples", split, sample=sample))
    visit.show(el("p", count), listed if shown else el("p", "There are none."))


def _copies(board: Board, split: SplitKey) -> Iterable[Choices]:
    """The first two systems, if they can be compared; where there are fewer, the baselines after them."""
    lines, scale = all_lines(board, split), plain_scale(split.task)
    systems = _of(lines, "system", scale)
    ahead = systems if len(systems) > 1 else [*systems, *_of(lines, "baseline", scale)]
    first = [line.result.entry.origin for line in ahead[:2]]
    return [{"one": first[0], "two": first[1]}] if len(first) > 1 and board.pairs(split, *first) else []


PAGE = Page("Compare", "compare", _compose, _LEDE, _copies, "lead")
