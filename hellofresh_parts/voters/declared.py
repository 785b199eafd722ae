"""The fit of ratings, for `collectors.FITS`, and the options of `hellofresh collect ratings`.

Every help reads it, so it imports no fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from collectors import NotesFit
from collectors.settings import DUMP, ReadingAsked
from hellofresh.runs.evaluation import Option


@dataclass(frozen=True, slots=True)
class RatingsAsked:
    """Options that select ratings."""

    dump: Annotated[tuple[Path, ...] | None, DUMP] = None
    table: Annotated[
        Path | None,
        Option(
            "ratings: instead of --dump and --quarter, any votes as CSV with columns rater, item, vote",
            "FILE",
            parse=Path,
        ),
    ] = None
    claims: Annotated[
        Path | None,
        Option(
            "ratings: folder of the names that note writers claim, one JSON file each (docs/note-writers.md)",
            "DIR",
            parse=Path,
        ),
    ] = None
    page: Annotated[
        Path | None,
        Option("ratings: also write the page of the quarter's note writers to this file", "FILE.html", parse=Path),
    ] = None


RATINGS = NotesFit(
    "ratings",
    "fit the votes of a Community Notes dump, to find notes that people who usually disagree call helpful.",
    "hellofresh_parts.voters.command:fit_ratings",
    (RatingsAsked, ReadingAsked),
    "hellofresh_parts.voters.jobs:configured_ratings",
)
