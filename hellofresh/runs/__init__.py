"""Asking, and losing nothing: the runner, the pace it keeps, the journal and the ledger."""

from hellofresh.runs.dry_run import SECONDS_A_CALL, Forecast, forecast
from hellofresh.runs.journal import Journal, JournalEntry, JournalKey, Scope, request_text, snapshot
from hellofresh.runs.ledger import Ledger, Ledgers
from hellofresh.runs.pace import Estimate, Patience, estimate_tokens
from hellofresh.runs.plan import (
    Arguments,
    RunPlan,
    differences,
    find_run,
    hash_of,
    is_running,
    next_number,
    read_plan,
    refuse_changes,
    unfinished_kin,
)
from hellofresh.runs.runner import Assignment, Failure, JudgedOutput, RunResult, RunStopped, Tally, run

__all__ = [
    "SECONDS_A_CALL",
    "Arguments",
    "Assignment",
    "Estimate",
    "Failure",
    "Forecast",
    "Journal",
    "JournalEntry",
    "JournalKey",
    "JudgedOutput",
    "Ledger",
    "Ledgers",
    "Patience",
    "RunPlan",
    "RunResult",
    "RunStopped",
    "Scope",
    "Tally",
    "differences",
    "estimate_tokens",
    "find_run",
    "forecast",
    "hash_of",
    "is_running",
    "next_number",
    "read_plan",
    "refuse_changes",
    "request_text",
    "run",
    "snapshot",
    "unfinished_kin",
]
