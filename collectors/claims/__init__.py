"""Reviews of claims by fact-checkers: from feeds of ClaimReview objects to candidates of the task claims."""

from __future__ import annotations

from collectors.claims.collect import ClaimsSettings, collect
from collectors.claims.verdicts import VerdictTable

__all__ = ["ClaimsSettings", "VerdictTable", "collect"]
