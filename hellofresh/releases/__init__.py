"""Frozen quarterly splits: choosing, committing to labels, writing, reading back."""

from hellofresh.core.calendar import Calendar, CalendarRule
from hellofresh.releases.draw.frozen import DatasetSource, FrozenRelease, freeze
from hellofresh.releases.draw.prospective import (
    PROSPECTIVE,
    Prospective,
    ResolutionReport,
    build_prospective,
    load_prospective,
    prospective_labels,
    prospective_outcomes,
    prospective_splits,
    resolve,
)
from hellofresh.releases.draw.release import Built, build_release
from hellofresh.releases.draw.selection import select
from hellofresh.releases.life.hydrate import Fill, Hydration, UnfilledSample, hydrate
from hellofresh.releases.life.load import Release, load_labels, load_release
from hellofresh.releases.life.manifest import BUNDLED
from hellofresh.releases.life.state import Phase, QuarterState, labels_are_public, phase_of, reveal, state_of
from hellofresh.releases.life.takedown import TakedownReport, find_sample, gone_samples, take_down

__all__ = [
    "BUNDLED",
    "PROSPECTIVE",
    "Built",
    "Calendar",
    "CalendarRule",
    "DatasetSource",
    "Fill",
    "FrozenRelease",
    "Hydration",
    "Phase",
    "Prospective",
    "QuarterState",
    "Release",
    "ResolutionReport",
    "TakedownReport",
    "UnfilledSample",
    "build_prospective",
    "build_release",
    "find_sample",
    "freeze",
    "gone_samples",
    "hydrate",
    "labels_are_public",
    "load_labels",
    "load_prospective",
    "load_release",
    "phase_of",
    "prospective_labels",
    "prospective_outcomes",
    "prospective_splits",
    "resolve",
    "reveal",
    "select",
    "state_of",
    "take_down",
]
