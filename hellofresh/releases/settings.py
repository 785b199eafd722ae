"""Settings of releases: `[release]` in `hellofresh.toml`."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field, PositiveInt, field_validator

from hellofresh.core.calendar import Calendar, CalendarRule
from hellofresh.core.errors import UsageError
from hellofresh.core.quarters import Quarter
from hellofresh.core.strict import Strict
from hellofresh.tasks import TASKS


class CalendarSettings(Strict):
    """When quarters open, close and are revealed; a release that was built keeps the days that it was built with."""

    opens_after_days: int = Field(default=21, ge=1, le=90)
    deadline_before_reveal_days: int = Field(default=7, ge=0, le=60)
    deadlines: dict[str, datetime] = Field(default_factory=dict)
    """Other deadlines for single quarters."""

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
        """How a quarter's days follow from the quarter."""
        return CalendarRule(self.opens_after_days, self.deadline_before_reveal_days)

    def of(self, quarter: Quarter) -> Calendar:
        """The days of a quarter that is built now.

        Raises:
            ReleaseError: if its deadline is not between opening and reveal.
        """
        return self.rule.of(quarter, self.deadlines.get(str(quarter)))


class ProspectiveSettings(Strict):
    """The prospective split: samples that are undecided yet, asked about for a few days."""

    enabled: bool = False
    """Whether `make release` collects undecided samples and draws such a split."""
    days: int = Field(default=5, ge=1, le=30)
    """From the drawing to the last prediction."""


class ReleaseSettings(Strict):
    """How a release is drawn from its candidates."""

    seed: str = Field(default="hellofresh", min_length=1)
    caps: dict[str, PositiveInt] = Field(default_factory=dict)
    """Most samples a class and period by task; the task's own cap where nothing is said."""
    calendar: CalendarSettings = CalendarSettings()
    prospective: ProspectiveSettings = ProspectiveSettings()
    x_notes_texts: bool = False
    """Whether public samples from X hold the texts of posts and notes; X's terms forbid it to most people."""

    def texts(self, task: str) -> bool:
        """Whether a release of the task may hold texts that are withheld by default."""
        return task in TASKS and TASKS[task].source == "x-notes" and self.x_notes_texts

    @field_validator("caps", mode="after")
    @classmethod
    def _known_tasks(cls, caps: dict[str, int]) -> dict[str, int]:
        for name in caps:
            if name not in TASKS:
                raise ValueError(f"{name!r} is not a task; known tasks: {', '.join(sorted(TASKS))}")
        return caps
