"""Who is ahead on a task and quarter, and whether the lead is more than luck, in two sentences with links."""

from __future__ import annotations

from collections.abc import Sequence

from leaderboard.components.links import Links
from leaderboard.components.markup import Html, el, inner_link, join, named
from leaderboard.components.standings import Line, group_of
from leaderboard.data.records import Pair, Records
from leaderboard.data.tables import ALL_PERIODS, Entry, Split

__all__ = ["APART", "contenders", "limits_text", "p_text", "signed", "verdict"]

APART = 0.05
"""Two systems whose adjusted p-value is below are called separable."""


def verdict(lines: Sequence[Line], records: Records, split: Split, links: Links, *, bundled: bool) -> Html | None:
    """Names the system with the highest F1, says whether its lead on the next is significant, and where to read on.

    Args:
        lines: all entries of the split, in any order.
        records: the board's comparisons.
        split: the task and quarter.
        links: where pages are.
        bundled: whether the quarter ranks nobody.

    Returns:
        None where there is nobody but a smoke test.
    """
    ordered = contenders(lines)
    if not ordered:
        return None
    best, *rivals = ordered
    asked = group_of(best.result) == "system"
    entry, f1 = best.result.entry, best.result.f1
    name = el("strong", inner_link(links.system(split, entry.origin), named(entry.system)))
    where = (
        "No system is ranked here; of the baselines, " if not asked else "In this bundled sample, " if bundled else ""
    )
    first = join([where, name, f" has the highest F1, {f1.value:.3f} ({f1.low:.2f} to {f1.high:.2f}). "])
    lead = _lead(best, rivals, records, split, links) if rivals else None
    fails = inner_link(links.system(split, entry.origin), "Where it fails")
    return el("p", first, lead, fails, ".", class_="hf-verdict")


def contenders(lines: Sequence[Line]) -> list[Line]:
    """The systems, the best first, or the baselines where there are none."""
    asked, baselines = (
        sorted((line for line in lines if group_of(line.result) == kind), key=_place) for kind in ("system", "baseline")
    )
    # Who has no rival still has the baselines to beat.
    return asked if len(asked) > 1 else [*asked, *baselines]


def _place(line: Line) -> tuple[int, float, Entry]:
    return line.rank or 10**6, -line.result.f1.value, line.result.entry


def _lead(best: Line, rivals: Sequence[Line], records: Records, split: Split, links: Links) -> Html:
    """Whether the best differs from the next by more than luck, and from how many it does not."""
    one, two = best.result.entry, rivals[0].result.entry
    next_best = join(
        ["the baseline " if group_of(rivals[0].result) != group_of(best.result) else None, named(two.system)]
    )
    pair = next((p for p in records.pairs(split, one.origin, two.origin) if p.period == ALL_PERIODS), None)
    if pair is None:
        return join(["Whether it leads on ", next_best, " cannot be told: they judged different samples. "])
    size = f"{signed(pair.difference)}, {limits_text(pair)}, {p_text(pair)}"
    surely = (1.0 if pair.adjusted is None else pair.adjusted) < APART and pair.difference > 0
    to_compare = inner_link(links.compare(split, one.origin, two.origin), "Compare them")
    strong = el("strong", "significant" if surely else "not significant")
    tied = sum(line.standing is not None and best.standing is not None
               and line.standing.tie_group == best.standing.tie_group for line in rivals)  # fmt: skip
    others = f"{tied} systems cannot be told apart from it. " if tied > 1 else None
    return join(["Its lead on ", next_best, " is ", strong, f" ({size}). ", others, to_compare, ". "])


def limits_text(pair: Pair) -> str:
    """The interval of a difference, or that there is none."""
    if pair.low <= -1 and pair.high >= 1:
        return "samples of one group, which allow no interval"
    return f"95% interval {signed(pair.low)} to {signed(pair.high)}"


def p_text(pair: Pair) -> str:
    """The p-value of a comparison as a reader wants it."""
    p_value = 1.0 if pair.adjusted is None else pair.adjusted
    return f"{f'p = {p_value:.3f}' if p_value >= 0.001 else 'p < 0.001'}, adjusted for all pairs"


def signed(value: float) -> str:
    """A difference with its sign; a true minus."""
    text = f"{value:+.3f}"
    return "0.000" if float(text) == 0 else text.replace("-", "\N{MINUS SIGN}")
