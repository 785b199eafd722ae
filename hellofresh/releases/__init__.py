"""Frozen quarterly splits: choosing, committing to labels, writing, reading back."""

from hellofresh.releases.build import BUNDLED, Built, build_release
from hellofresh.releases.hydrate import Fill, Hydration, Unfilled, hydrate
from hellofresh.releases.load import Release, load_labels, load_release
from hellofresh.releases.selection import select

__all__ = [
    "BUNDLED",
    "Built",
    "Fill",
    "Hydration",
    "Release",
    "Unfilled",
    "build_release",
    "hydrate",
    "load_labels",
    "load_release",
    "select",
]
