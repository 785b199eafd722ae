"""Checking a release as a stranger does: from its public files alone, believing nothing that they say."""

from hellofresh.releases.verify.checks import Check, find_releases, repeat_checks, verify_release
from hellofresh.releases.verify.fetch import fetch_release
from hellofresh.releases.verify.figures import Figure, FigureName
from hellofresh.releases.verify.repeats import neighbours, releases_in

__all__ = [
    "Check",
    "Figure",
    "FigureName",
    "fetch_release",
    "find_releases",
    "neighbours",
    "releases_in",
    "repeat_checks",
    "verify_release",
]
