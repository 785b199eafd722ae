"""Asking, and losing nothing: the runner, the pace it keeps, the journal and the ledger."""

from hellofresh.runs.journal import Entry, Journal, JournalKey, Scope, request_text
from hellofresh.runs.ledger import Ledger
from hellofresh.runs.pace import Estimate, Patience, estimate_tokens
from hellofresh.runs.runner import Assignment, Failure, Judged, RunResult, Stopped, Tally, run

__all__ = [
    "Assignment",
    "Entry",
    "Estimate",
    "Failure",
    "Journal",
    "JournalKey",
    "Judged",
    "Ledger",
    "Patience",
    "RunResult",
    "Scope",
    "Stopped",
    "Tally",
    "estimate_tokens",
    "request_text",
    "run",
]
