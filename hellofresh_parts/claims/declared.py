"""How claims are collected, for `collectors.LIVING`, and the options of `hellofresh collect claims`.

Every help reads it, so it imports no collector.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, cast

from collectors import LivingTask
from hellofresh.runs.evaluation import Option


def _tuple(given: object) -> tuple[str, ...]:
    return tuple(cast("list[str]", given))


@dataclass(frozen=True, slots=True)
class ClaimsAsked:
    """Options that select reviews."""

    api: Annotated[
        tuple[str, ...],
        Option(
            "claims: query the Fact Check Tools API for the reviews of these publishers, such as politifact.com",
            "SITE",
            several=True,
        ),
    ] = ()
    feed: Annotated[
        tuple[str, ...],
        Option("feeds of reviews: JSON or JSON lines, plain or gzip", "FILE|URL", several=True, group="claims"),
    ] = ()


@dataclass(frozen=True, slots=True)
class ClaimsSettings:
    """Settings that decide which claims are kept; reviews without a language are kept only if all languages are."""

    languages: Annotated[
        tuple[str, ...],
        Option("languages of reviews (default: all)", "CODE", several=True, read=_tuple, group="claims"),
    ] = ()
    verdicts: Annotated[
        Path | None,
        Option("your own table of verdicts by publisher (TOML)", "FILE", parse=Path, group="claims"),
    ] = None


LIVING = LivingTask(
    "claims",
    "Collect claims that fact-checkers reviewed, from feeds of ClaimReview or the Fact Check Tools API.",
    "hellofresh_parts.claims.jobs:claims_jobs",
    (ClaimsAsked, ClaimsSettings),
    bundled="hellofresh_parts.claims.jobs:bundled_claims",
)
