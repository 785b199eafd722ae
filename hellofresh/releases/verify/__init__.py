"""Checking a release as a stranger does: from its public files alone, believing nothing that they say."""

from hellofresh.releases.verify.checks import Check, find_releases, repeat_checks, verify_release
from hellofresh.releases.verify.entries import Handover
from hellofresh.releases.verify.fetch import fetch_release
from hellofresh.releases.verify.figures import FigureName, VerifiedFigure
from hellofresh.releases.verify.files import read_manifest
from hellofresh.releases.verify.repeats import neighbours, releases_in

__all__ = [
    "Check",
    "FigureName",
    "Handover",
    "VerifiedFigure",
    "fetch_release",
    "find_releases",
    "neighbours",
    "read_manifest",
    "releases_in",
    "repeat_checks",
    "verify_release",
]
