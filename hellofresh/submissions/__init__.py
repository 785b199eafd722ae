"""Predictions that other people hand in: their format, the check, receipts, and which of them count.

`submissions/<quarter>/<team>/<system>/` holds `predictions.jsonl`, `system.toml` and `receipt.json`; what is said on
the prospective split lies beside them in `prospective.jsonl`, with a receipt of its own (see submissions/README.md).
The check reads everything and names every fault, with the line, the field and what to do, all of them at once. What it
reads is untrusted: size and depth are bounded, JSON is parsed strictly, and nothing of it is run or used as a path.
"""

from hellofresh.submissions.check import Due, Submission, SubmissionCheck, check_predictions, inspect_submission
from hellofresh.submissions.format import FILES, MAX_BYTES, MAX_FAULTS, Fault, Prediction, SystemInfo
from hellofresh.submissions.receipts import (
    Receipt,
    add_submission,
    find_submissions,
    known_teams,
    look_alike,
    read_receipt,
    withdraw_submission,
)
from hellofresh.submissions.standings import (
    MOST_ENTRIES,
    EntryOutcome,
    GivenAnswers,
    SubmissionStanding,
    copied_from,
    find_copies,
    standings,
)

__all__ = [
    "FILES",
    "MAX_BYTES",
    "MAX_FAULTS",
    "MOST_ENTRIES",
    "Due",
    "EntryOutcome",
    "Fault",
    "GivenAnswers",
    "Prediction",
    "Receipt",
    "Submission",
    "SubmissionCheck",
    "SubmissionStanding",
    "SystemInfo",
    "add_submission",
    "check_predictions",
    "copied_from",
    "find_copies",
    "find_submissions",
    "inspect_submission",
    "known_teams",
    "look_alike",
    "read_receipt",
    "standings",
    "withdraw_submission",
]
