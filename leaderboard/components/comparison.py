"""Who is ahead, and whether the lead is more than luck: in a few sentences, and two entries side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum

from hellofresh.results.standings import Pair
from leaderboard.components.charts import difference_bar, difference_scale, period_tick
from leaderboard.components.labels import Links
from leaderboard.components.markup import DASH, Html, el, inner_link, join, named
from leaderboard.components.pieces import bundled_notice, heading
from leaderboard.components.scale import Scale
from leaderboard.components.standings import Line, by_rank, group_of
from leaderboard.components.tables import Column, Marked, table
from leaderboard.data.board import ALL_PERIODS, Board, BoardEntry, SplitKey

APART = 0.05
"""Two systems whose adjusted p-value is below are called separable."""
_CONSTANT = "always-"
"""How the names of baselines begin that give one answer to every sample."""


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
    name = el("strong", inner_link(links.to("system", split, system=entry.origin), named(entry.name)))
    where = None if systems else "No system is ranked here. Of the baselines, "
    where = "In this bundled sample, " if bundled and systems else where
    first = all(scale.order(score.value) <= scale.order(rival.result.headline.value) for rival in rivals)
    leads = f" has the {scale.best} {scale.title}, "
    leads = leads if first else f" ranks first on the samples that all judged; its {scale.title} is "
    sentences: list[Html | str | None] = [
        join([where, name, leads, f"{score.value:.3f} ({score.low:.2f} to {score.high:.2f}). "])
    ]
    if rivals:
        sentences += [_over(rivals[0], pairs, scale), _tied(best, rivals)]
    if systems and baselines:
        sentences += _against_baselines(baselines, pairs, scale)
    compared = next((line.result.entry for line in others), None)
    if compared is not None and pairs[compared] is not None:
        sentences += [
            inner_link(links.to("compare", split, one=entry.origin, two=compared.origin), "Compare them"),
            ". ",
        ]
    fails = inner_link(links.to("system", split, system=entry.origin), "Where it fails")
    return el("p", *sentences, fails, ".", class_="hf-verdict")


def contenders(lines: Sequence[Line], scale: Scale) -> list[Line]:
    """The systems, the best first; where there are fewer than two, the baselines after them."""
    systems = _of(lines, "system", scale)
    return systems if len(systems) > 1 else [*systems, *_of(lines, "baseline", scale)]


def _of(lines: Sequence[Line], kind: str, scale: Scale) -> list[Line]:
    """The lines of one section, the best first."""
    order = by_rank(scale)
    return sorted((line for line in lines if group_of(line.result) == kind),
                  key=lambda line: (order(line), line.result.entry))  # fmt: skip


def _over(rival: Line, pairs: Mapping[BoardEntry, Pair | None], scale: Scale) -> Html:
    """How far the leader is ahead of the next."""
    pair, name = pairs[rival.result.entry], named(rival.result.entry.name)
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


def _tied(best: Line, rivals: Sequence[Line]) -> str | None:
    """From how many others the leader does not differ."""
    if best.standing is None:
        return None
    group = best.standing.tie_group
    tied = sum(line.standing is not None and line.standing.tie_group == group for line in rivals)
    return f"{tied} systems do not differ significantly from it. " if tied > 1 else None


def _against_baselines(
    baselines: Sequence[Line], pairs: Mapping[BoardEntry, Pair | None], scale: Scale
) -> list[Html | str | None]:
    """How the leader stands to the best baseline, and whether one answer for every sample does better."""
    tested = [line for line in baselines if lead_of(pairs[line.result.entry]) is not Lead.UNTESTED]
    if not tested:
        return ["It cannot be compared with the baselines: they judged different samples. "]
    worse = [line for line in tested if lead_of(pairs[line.result.entry]) is Lead.WORSE]
    baseline = (worse or tested)[0].result.entry
    sentences: list[Html | str | None] = [_to_baseline(baseline.name, pairs[baseline], scale)]
    constant = (line.result.entry for line in tested if line.result.entry.system.startswith(_CONSTANT))
    better = "higher" if scale.rising else "lower"
    for entry in (entry for entry in constant if lead_of(pairs[entry]) in {Lead.BEHIND, Lead.WORSE}):
        above = f": one answer for every sample gives a {better} {scale.title}. "
        return [*sentences, "It is below ", named(entry.name), above]
    return sentences


def _to_baseline(name: str, pair: Pair | None, scale: Scale) -> Html:
    words = {
        Lead.SIGNIFICANT: ("It is ", "significantly better", " than the best baseline, "),
        Lead.NOT_SIGNIFICANT: ("Its lead over the best baseline is ", "not significant", ": "),
        Lead.NONE: ("It has ", f"the same {scale.title}", " as the best baseline, "),
        Lead.BEHIND: ("It is ", "below", " the best baseline, though not significantly: "),
        Lead.WORSE: ("It is ", "significantly worse", " than the baseline "),
    }
    before, strong, after = words[lead_of(pair)]
    size = None if lead_of(pair) is Lead.NONE else f" ({_size(pair)})"
    return join([before, el("strong", strong), after, named(name), size, ". "])


def _size(pair: Pair | None) -> str:
    return "" if pair is None else f"{signed(pair.difference)}, {limits_text(pair)}, {p_text(pair)}"


def limits_text(pair: Pair) -> str:
    """The interval of a difference, or a note that it has none."""
    if pair.low <= -1 and pair.high >= 1:
        return "samples of one cluster, too few for an interval"
    return f"95% interval {signed(pair.low)} to {signed(pair.high)}"


def p_text(pair: Pair) -> str:
    """The p-value of a comparison as a reader wants it."""
    p_value = 1.0 if pair.adjusted is None else pair.adjusted
    return f"{f'p = {p_value:.3f}' if p_value >= 0.001 else 'p < 0.001'}, adjusted for all pairs"


def signed(value: float) -> str:
    """A difference with its sign; a true minus."""
    text = f"{value:+.3f}"
    return "0.000" if float(text) == 0 else text.replace("-", "\N{MINUS SIGN}")


def comparison(both: tuple[BoardEntry, BoardEntry], pairs: Sequence[Pair], scale: Scale, *, bundled: bool) -> Html:
    """Which of two is better, by period, and how often they agree."""
    said = "This quarter was written for the project, to try it out; differences here mean nothing."
    side = "Right" if scale.rising else "Left"
    explained = (
        "First minus second, with 95% intervals; the interval of the whole quarter is adjusted for all pairs. "
        f"{side} of the dashed line the first is better."
    )
    whole = [pair for pair in pairs if pair.period == ALL_PERIODS]
    return join(
        [
            bundled_notice(said) if bundled else None,
            *(_better(pair, both, scale) for pair in whole),
            heading(f"Difference in {scale.title}", explained),
            _differences(pairs),
            *(join([heading("Agreement"), _agreement(pair, both)]) for pair in whole),
        ]
    )


def _better(pair: Pair, both: tuple[BoardEntry, BoardEntry], scale: Scale) -> Html:
    """The answer in a sentence."""
    leads = scale.order(pair.difference) <= 0
    better, worse = both if leads else (both[1], both[0])
    if pair.adjusted is not None and pair.adjusted < APART:
        ahead = pair if leads else pair.turned()
        names = (el("strong", named(better.name)), " is better than ", named(worse.name))
        surely = f" by {abs(ahead.difference):.3f} {scale.title} ({limits_text(ahead)}); {p_text(pair)}."
        return el("p", *names, surely, " Chance in the choice of samples does not explain it.", class_="hf-verdict")
    differ = f": the difference in {scale.title} is {signed(pair.difference)} ({limits_text(pair)}); {p_text(pair)}."
    return el("p", "The two ", el("strong", "do not differ significantly"), differ, class_="hf-verdict")


def _differences(pairs: Sequence[Pair]) -> Html:
    widest = max(max(abs(pair.low), abs(pair.high), abs(pair.difference)) for pair in pairs)
    reach = max(0.1, math.ceil(10 * widest) / 10)
    columns: list[Column] = [("name", "Period"), ("number", "Difference"), ("drawn", difference_scale(reach))]
    columns += [("number", "Samples")]
    rows = []
    for pair in pairs:
        whole = pair.period == ALL_PERIODS
        period = "Whole quarter" if whole else f"{period_tick(pair.period)} {pair.period[:4]}"
        difference = signed(pair.difference), f"{signed(pair.low)} to {signed(pair.high)}"
        drawn = difference_bar(pair.difference, pair.low, pair.high, reach)
        rows.append(Marked("hf-total" if whole else None, [period, difference, drawn, f"{pair.n:,}"]))
    return table("Difference by period", columns, rows, "hf-balance")


def _agreement(pair: Pair, both: tuple[BoardEntry, BoardEntry]) -> Html:
    neither = pair.n - pair.both_right - pair.one_right - pair.two_right
    lines: list[tuple[Html | str, int]] = [
        ("Same answer", pair.same),
        ("Both were right", pair.both_right),
        (join(["Only ", named(both[0].name), " was right"]), pair.one_right),
        (join(["Only ", named(both[1].name), " was right"]), pair.two_right),
        ("Neither was right", neither),
    ]
    rows = ([text, f"{count:,}", f"{count / pair.n:.1%}" if pair.n else DASH] for text, count in lines)
    return table("Agreement", [("name", "Answers"), ("number", "Samples"), ("number", "Share")], rows, "hf-balance")
