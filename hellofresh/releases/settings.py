"""Settings of releases: `[release]` in `hellofresh.toml`."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field, PositiveInt, field_validator

from hellofresh.core.calendar import Calendar, CalendarRule
from hellofresh.core.errors import UsageError
from hellofresh.core.quarters import Quarter
from hellofresh.core.strict import Strict
from hellofresh.tasks import TASKS


class CalendarSettings(Strict):
    """The calendar of quarters; a built release keeps the calendar of its build."""

    opens_after_days: int = Field(default=21, ge=1, le=90)
    deadline_before_reveal_days: int = Field(default=7, ge=0, le=60)
    deadlines: dict[str, datetime] = Field(default_factory=dict)
    """Deadlines of single quarters that differ from the rule."""

    @field_validator("deadlines", mode="after")
    @classmethod
    def _quarters_and_zones(cls, deadlines: dict[str, datetime]) -> dict[str, datetime]:
        for name, moment in deadlines.items():
            try:
                Quarter.parse(name)
            except UsageError as error:
                raise ValueError(str(error)) from None
            if moment.tzinfo is None:
                raise ValueError(f"the deadline of {name} has no time zone, write it like 2027-01-15T00:00:00Z")
        return deadlines

    @property
    def rule(self) -> CalendarRule:
        """The rule that gives a quarter's days."""
        return CalendarRule(self.opens_after_days, self.deadline_before_reveal_days)

    def of(self, quarter: Quarter) -> Calendar:
        """The calendar of a quarter that is built now.

        Raises:
            ReleaseError: if its deadline is not between opening and reveal.
        """
        return self.rule.of(quarter, self.deadlines.get(str(quarter)))


class ProspectiveSettings(Strict):
    """Settings of the prospective split: undecided samples with a deadline a few days after publication."""

    enabled: bool = False
    """Whether `make release` collects undecided samples and draws such a split."""
    days: int = Field(default=5, ge=1, le=30)
    """Days from the draw to the deadline."""
    drawn_before_opening_days: int = Field(default=21, ge=1, le=90)
    """Days before the opening from which it is drawn. Notes are undecided for two weeks, so at 21 (by the standard
    calendar the quarter's end) most of its notes are neither too old nor unwritten."""
    least_samples: int = Field(default=20, ge=1)
    """Fewest samples of a split that is drawn by itself."""
    resolved_after_days: int = Field(default=45, ge=1, le=366)
    """Days from the deadline to the last day, on which samples that are still undecided are dropped."""


class ReleaseSettings(Strict):
    """Settings of the draw of a release."""

    seed: str = Field(default="hellofresh", min_length=1)
    caps: dict[str, PositiveInt] = Field(default_factory=dict)
    """Most samples per class and period, by task; the task's own cap by default."""
    per_post: PositiveInt | Literal["all"] = 1
    """Most samples of one post or claim in a main split: most on one post have the same label."""
    calendar: CalendarSettings = CalendarSettings()
    prospective: ProspectiveSettings = ProspectiveSettings()
    x_notes_texts: bool = False
    """Whether public samples from X hold the texts of posts and notes, which X's terms mostly forbid."""

    def texts(self, task: str) -> bool:
        """Whether a release of the task may publish texts that are withheld by default."""
        return task in TASKS and TASKS[task].source == "x-notes" and self.x_notes_texts

    @field_validator("caps", mode="after")
    @classmethod
    def _known_tasks(cls, caps: dict[str, int]) -> dict[str, int]:
        for name in caps:
            if name not in TASKS:
                raise ValueError(f"{name!r} is not a task; known tasks: {', '.join(sorted(TASKS))}")
        return caps
