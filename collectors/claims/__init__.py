"""Reviews of claims by fact-checkers: from feeds of ClaimReview objects to candidates of the task claims."""

from __future__ import annotations

from collectors.claims.collect import claims_parameters, collect
from collectors.claims.verdicts import VerdictTable
from collectors.settings import ClaimsSettings

__all__ = ["ClaimsSettings", "VerdictTable", "claims_parameters", "collect"]
