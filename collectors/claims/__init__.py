"""Reviews of claims by fact-checkers: from feeds of ClaimReview objects to candidates of the task claims."""

from __future__ import annotations

from hellofresh.collectors.claims.collect import ClaimsSettings, collect
from hellofresh.collectors.claims.verdicts import VerdictTable

__all__ = ["ClaimsSettings", "VerdictTable", "collect"]
