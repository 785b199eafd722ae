"""Who is ahead on a task and quarter, and whether the lead is more than luck, in two sentences with links."""

from __future__ import annotations

from collections.abc import Sequence

from leaderboard.links import Links
from leaderboard.markup import Html, el, inner_link, join, named
from leaderboard.parts.standings import Line, group_of
from leaderboard.records import Pair, Records
from leaderboard.tables import ALL_PERIODS, Split

__all__ = ["APART", "contenders", "p_text", "signed", "verdict"]

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
    best, asked = ordered[0], group_of(ordered[0].result) == "system"
    entry, f1 = best.result.entry, best.result.f1
    name = el("strong", inner_link(links.system(split, entry.origin), named(entry.system)))
    where = (
        "No system is ranked here; of the baselines, " if not asked else "In this bundled sample, " if bundled else ""
    )
    first = join([where, name, f" has the highest F1, {f1.value:.3f} ({f1.low:.2f} to {f1.high:.2f}). "])
    lead = _lead(ordered, records, split, links) if len(ordered) > 1 else None
    fails = inner_link(links.system(split, entry.origin), "Where it fails")
    return el("p", first, lead, fails, ".", class_="hf-verdict")


def contenders(lines: Sequence[Line]) -> list[Line]:
    """The systems that are asked, the best first; where there are none, the baselines."""
    asked = [line for line in lines if group_of(line.result) == "system"]
    field = asked or [line for line in lines if group_of(line.result) == "baseline"]
    return sorted(field, key=lambda line: (line.rank or 10**6, -line.result.f1.value, line.result.entry))


def _lead(ordered: Sequence[Line], records: Records, split: Split, links: Links) -> Html:
    """Whether the best differs from the next by more than luck, and from how many it does not."""
    best, second = (line.result.entry for line in ordered[:2])
    to_compare = inner_link(links.compare(split, best.origin, second.origin), "Compare them")
    pair = next((p for p in records.pairs(split, best.origin, second.origin) if p.period == ALL_PERIODS), None)
    if pair is None:
        return join(["Whether it leads on ", named(second.system), " cannot be told: they judged different samples. "])
    size = f"{signed(pair.difference)}, 95% interval {signed(pair.low)} to {signed(pair.high)}, {p_text(pair)}"
    if (1.0 if pair.adjusted is None else pair.adjusted) < APART and pair.difference > 0:
        said: tuple[Html | str, ...] = ("Its lead on ", named(second.system), " is ", el("strong", "significant"))
    else:
        said = ("Its lead on ", named(second.system), " is ", el("strong", "not significant"))
    return join([*said, f" ({size}). ", _tied(ordered), to_compare, ". "])


def _tied(ordered: Sequence[Line]) -> str | None:
    top = ordered[0].standing
    if top is None:
        return None
    tied = sum(line.standing is not None and line.standing.tie_group == top.tie_group for line in ordered) - 1
    return f"{tied} systems cannot be told apart from it. " if tied > 1 else None


def p_text(pair: Pair) -> str:
    """The p-value of a comparison as a reader wants it."""
    p_value = 1.0 if pair.adjusted is None else pair.adjusted
    return f"{f'p = {p_value:.3f}' if p_value >= 0.001 else 'p < 0.001'}, adjusted for all pairs"


def signed(value: float) -> str:
    """A difference with its sign; a true minus."""
    text = f"{value:+.3f}"
    return "0.000" if float(text) == 0 else text.replace("-", "\N{MINUS SIGN}")
