"""Checks a release as a stranger does: from its public files alone, believing nothing that they say.

It shares no code with what makes releases (`hellofresh`) and needs NumPy; Parquet tables of a publication also
need Polars. A copy of this folder runs by itself: `python -m verifier RELEASE_FOLDER ...`. Every file is read by
parsers of its documented format (`docs/formats.md`), and every figure that follows from labels and predictions is
computed again.
"""

from verifier.checks import (
    Check,
    NoReleaseError,
    find_releases,
    neighbours,
    releases_in,
    repeat_checks,
    report_lines,
    verify_release,
)
from verifier.manifest import Manifest, bad_path, read_manifest
from verifier.scores import BadFigureError, FigureName, Handover, VerifiedFigure
from verifier.tables import publication_checks, publications_above

__all__ = [
    "BadFigureError",
    "Check",
    "FigureName",
    "Handover",
    "Manifest",
    "NoReleaseError",
    "VerifiedFigure",
    "bad_path",
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
