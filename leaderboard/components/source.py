"""Where the samples come from: what each filter dropped, and how many of each label every period gave."""

from __future__ import annotations

from collections.abc import Sequence

from hellofresh.results.board.schema import FunnelStep, PeriodBalance
from hellofresh.tasks import TASKS
from leaderboard.components.charts import balance_bars, funnel_bar
from leaderboard.components.markup import Html, el, named, visible
from leaderboard.components.pieces import cell, heading, table
from leaderboard.components.scale import class_name
from leaderboard.data.tables import SplitKey

__all__ = ["balance_of", "funnel"]


def funnel(steps: Sequence[FunnelStep]) -> Html:
    """What each filter dropped."""
    if not steps:
        return el("p", "The board has no funnel for this task and quarter. Run: ", el("code", "make release"))
    rows_in = steps[0].count
    rows, idle, left = [], [], rows_in
    for step in steps:
        if step.count or not step.dropped:
            rows.append(_funnel_row(step, left, rows_in))
        else:
            idle.append(step)
        left -= step.count if step.dropped else 0
    columns = [("name", "Step"), ("drawn", ""), ("number", "Rows"), ("number", "Of all"), ("text", "What it means")]
    explained = (
        "Each row is counted at the first filter that drops it, so the numbers add up. Blue is what is left after "
        "the step, orange what the step dropped."
    )
    body = el("tbody", *rows, role="rowgroup")
    return el("section", heading("From source rows to candidates", explained),
              table("What each filter dropped", columns, [body], "hf-funnel"), _idle(idle))  # fmt: skip


def _idle(steps: Sequence[FunnelStep]) -> Html | None:
    """The filters that found nothing to drop."""
    if not steps:
        return None
    named_steps = (el("div", el("dt", named(step.name, 60)), el("dd", named(step.meaning, 300))) for step in steps)
    title = f"{len(steps)} more {'filter' if len(steps) == 1 else 'filters'} dropped nothing"
    return el("details", el("summary", title), el("dl", *named_steps))


def _funnel_row(step: FunnelStep, before: int, rows_in: int) -> Html:
    share = step.count / rows_in if rows_in else 0.0
    kind = None if step.dropped else "hf-total"
    return el(
        "tr",
        cell("Step", named(step.name, 60), None, "name"),
        el("td", funnel_bar(step, before, rows_in), class_="hf-drawn", role="cell"),
        cell("Rows", f"\N{MINUS SIGN}{step.count:,}" if step.dropped and step.count else f"{step.count:,}"),
        cell("Of all", "<0.1%" if 0 < share < 0.0005 else f"{share:.1%}"),
        cell("What it means", named(step.meaning, 300), None, "text"),
        class_=kind,
        role="row",
    )


def balance_of(split: SplitKey, balances: Sequence[PeriodBalance]) -> Html:
    """What each period offered of each label, and how many were taken."""
    task = TASKS.get(split.task)
    if not balances:
        return el("p", "The board has no periods for this task and quarter. Run: ", el("code", "make release"))
    names = [class_name(split.task, label) for label in reversed(range(balances[0].classes))]
    if task is not None and not task.classes:
        names = ["samples"]
    most = max(max(balance.offered) for balance in balances)
    given = sum(balance.taken for balance in balances)
    if not most:
        each = f"as many {names[0]} as {names[1]}" if len(names) == 2 else f"as many of each class ({', '.join(names)})"
        text = (
            f"{given:,} samples, in each period {each}. What each period had to offer of the "
            f"{'two' if len(names) == 2 else 'classes'} is public after the reveal."
        )
        if len(names) == 1:
            text = f"{given:,} samples. What each period had to offer is public after the reveal."
        return el("section", heading("Balance of each period", text))
    rows = (_balance_row(balance, most, names) for balance in balances)
    taken = sum(balance.taken_per_class for balance in balances)
    total = el(
        "tr",
        cell("Period", "All", None, "name"),
        el("td", class_="hf-drawn", role="cell"),
        *(cell(_title(name), f"{sum(balance.offered[k] for balance in balances):,}") for k, name in enumerate(names)),
        cell("Taken of each", f"{taken:,}"),
        class_="hf-total",
        role="row",
    )
    columns = [("name", "Period"), ("drawn", ""), *(("number", _title(name)) for name in (*names, "Taken of each"))]
    unit = task.period_kind.value if task else "period"
    each, bars = f"as many samples of each class: {given:,} in all", f"Bars are, from the top, {', '.join(names)}"
    if len(names) == 2:
        each = f"as many {names[0]} as {names[1]} samples: {given:,} in all"
        bars = f"Upper bars are {names[0]}, lower bars {names[1]}"
    if len(names) == 1:
        each, bars = f"as many samples as the cap allows: {given:,} in all", "Bars are what there was"
    explained = f"Each {unit} gives {each}. {bars}; the dark part was taken, by a hash that nobody can steer."
    body = el("tbody", *rows, total, role="rowgroup")
    return el("section", heading("Balance of each period", explained),
              table("Candidates and samples by period", columns, [body], "hf-balance"))  # fmt: skip


def _balance_row(balance: PeriodBalance, most: int, names: Sequence[str]) -> Html:
    return el(
        "tr",
        cell("Period", visible(balance.period, 20), None, "name"),
        el("td", balance_bars(balance, most), class_="hf-drawn", role="cell"),
        *(cell(_title(name), f"{offered:,}") for name, offered in zip(names, balance.offered, strict=True)),
        cell("Taken of each", f"{balance.taken_per_class:,}"),
        role="row",
    )


def _title(label: str) -> str:
    return f"{label[:1].upper()}{label[1:]}"
