"""Checks a release as a stranger does: from its public files alone, believing nothing that they say.

It imports nothing of what makes releases (`hellofresh`) and needs NumPy and Polars. A copy of this folder runs by
itself: `python -m verifier FOLDER ...`. Every file is read by parsers of its documented format
(`docs/formats.md`), every figure that follows from labels, predictions and ratings is computed again, and what people
load (tables, card, Croissant) is compared with the releases beside it.
"""

from verifier.checks import (
    Check,
    NoReleaseError,
    beside_checks,
    find_releases,
    neighbours,
    releases_in,
    repeat_checks,
    report_lines,
    verify_release,
)
from verifier.manifest import Manifest, bad_path, read_manifest
from verifier.publication import publication_checks, publications_above
from verifier.scores import BadFigureError, FigureName, Handover, VerifiedFigure

__all__ = [
    "BadFigureError",
    "Check",
    "FigureName",
    "Handover",
    "Manifest",
    "NoReleaseError",
    "VerifiedFigure",
    "bad_path",
    "beside_checks",
    "find_releases",
    "neighbours",
    "publication_checks",
    "publications_above",
    "read_manifest",
    "releases_in",
    "repeat_checks",
    "report_lines",
    "verify_release",
]
