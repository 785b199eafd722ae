"""What is due today: which dump, which quarters, which evaluations, which posts are looked at again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

from hellofresh.cli.release import pipeline
from hellofresh.config import Settings
from hellofresh.core.calendar import CalendarRule
from hellofresh.core.clock import now
from hellofresh.core.files import read_model, write_json
from hellofresh.core.quarters import Quarter, parse_utc, utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.releases import Phase, state_of
from hellofresh.releases.life.manifest import read_manifest
from hellofresh.runs.evaluate import Evaluation
from hellofresh.runs.record import read_record
from hellofresh.runs.regimes import REGIMES, regimes_for
from hellofresh.tasks import get_task

__all__ = [
    "DAYS_WAITED",
    "current_quarters",
    "due_evaluations",
    "due_hydrations",
    "is_reveal_due",
    "record_hydration",
    "snapshot_day",
]

DAYS_WAITED = 3
"""So long a dump is waited for; then the newest takes its place."""


def snapshot_day(today: date, rule: CalendarRule, every: int) -> date:
    """The newest day up to today whose dump is wanted.

    Days are counted back from the last one before each opening, and none follows until the quarter has opened. So the
    dumps that releases are made of follow from the calendar alone, and not from which day the machine was down or the
    source late.

    Args:
        today: the day.
        rule: the calendar.
        every: days from one snapshot to the next.
    """
    quarter = Quarter.containing(datetime.combine(today, time(), UTC))
    nearby = (quarter.previous().previous().previous(), quarter.previous().previous(), quarter.previous(), quarter)
    before, opened, following = date.min, date.min, date.max
    for one in nearby:
        last = rule.settles(one)
        if last >= today:
            following = min(following, last)
        else:
            before, opened = last, rule.of(one).opens.date()
    periods = -(-(following - today).days // every)
    wanted = following - timedelta(days=periods * every)
    return wanted if wanted >= opened else before


@dataclass(frozen=True, slots=True)
class _Hydrated:
    """When the posts of a release were last looked at."""

    at: str


def due_hydrations(workspace: Workspace, settings: Settings) -> Iterator[Quarter]:
    """The current quarters of x-notes whose texts are withheld and whose posts have not been looked at for so long."""
    notes, wait = settings.sources.x_notes, timedelta(days=settings.daily.hydrate_days)
    if notes is None or not (notes.posts or notes.posts_from):
        return
    for quarter, name in current_quarters(workspace):
        if name == "x-notes" and read_manifest(workspace.release(quarter, name)).withheld:
            record = _record_of(workspace, quarter)
            if not record.is_file() or parse_utc(read_model(record, _Hydrated).at) + wait <= now():
                yield quarter


def record_hydration(workspace: Workspace, quarter: Quarter) -> None:
    """Remember that the posts of x-notes were looked at now."""
    write_json(_record_of(workspace, quarter), asdict(_Hydrated(utc_text(now()))))


def _record_of(workspace: Workspace, quarter: Quarter) -> Path:
    return workspace.hydrated(quarter, "x-notes").with_name("hydrated.json")


def due_evaluations(workspace: Workspace, settings: Settings) -> Iterator[Evaluation]:
    """Every configured model and regime, on the quarters that are open or closed and the newest that is revealed.

    With a budget, a run may cost what the other runs on its quarter have left of it.
    """
    for quarter, name in current_quarters(workspace):
        others = REGIMES.keys() - set(regimes_for(get_task(name)))  # they hand back what the task does not ask for
        for regime in (regime for regime in settings.evaluate.regimes if regime not in others):
            for model in settings.evaluate.models:
                evaluation = Evaluation(quarter, get_task(name), model, regime, limit=settings.evaluate.limit)
                budget = settings.evaluate.budget_usd
                left = None if budget is None else max(0.0, budget - _spent(workspace, evaluation))
                yield replace(evaluation, budget_usd=left)


def current_quarters(workspace: Workspace) -> list[tuple[Quarter, str]]:
    """Released quarters that have opened, without those before the newest that is revealed."""
    moment, found = now(), pipeline.living(workspace)
    phases = {which: state_of(workspace, which[0], get_task(which[1]), moment).phase for which in found}
    revealed = max((quarter for (quarter, _), phase in phases.items() if phase is Phase.REVEALED), default=None)
    opened = [which for which, phase in phases.items() if phase is not Phase.COLLECTING]
    return sorted(which for which in opened if revealed is None or which[0] >= revealed)


def _spent(workspace: Workspace, evaluation: Evaluation) -> float:
    """What the other runs on the quarter have cost, in USD."""
    total = 0.0
    for folder in workspace.runs.glob("*"):
        record = read_record(folder)
        if record is None or record.edition != str(evaluation.edition):
            continue
        same = (evaluation.task.name, evaluation.model, evaluation.regime)
        if (record.task, record.model.name, record.regime.name) != same:
            total += record.cost_usd or 0.0
    return total


def is_reveal_due(workspace: Workspace, quarter: Quarter, task: str) -> bool:
    state = state_of(workspace, quarter, get_task(task), now())
    return state.phase is Phase.CLOSED and state.calendar.reveals <= now()
