"""Asking, and losing nothing: the runner and the journal."""

from hellofresh.runs.journal import Entry, Journal, JournalKey
from hellofresh.runs.runner import Assignment, Judged, RunResult, Tally, run

__all__ = ["Assignment", "Entry", "Journal", "JournalKey", "Judged", "RunResult", "Tally", "run"]
