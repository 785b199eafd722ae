"""Predictions that other people hand in: their format, the check, receipts, and which of them count.

`submissions/<quarter>/<team>/<system>/` holds `predictions.jsonl`, `system.toml` and `receipt.json`; what is said on
the prospective split lies beside them in `prospective.jsonl`, with a receipt of its own (see submissions/README.md).
The check reads everything and names every fault, with the line, the field and what to do, all of them at once. What it
reads is untrusted: size and depth are bounded, JSON is parsed strictly, and nothing of it is run or used as a path.
"""

from hellofresh.submissions.intake.check import (
    PredictionsCheck,
    Submission,
    SubmissionCheck,
    check_predictions,
    check_submission,
    inspect_submission,
    read_submission,
)
from hellofresh.submissions.intake.due import Due
from hellofresh.submissions.intake.faults import MAX_BYTES, MAX_DEPTH, MAX_FAULTS, Fault
from hellofresh.submissions.intake.predictions import Prediction
from hellofresh.submissions.intake.splits import MAIN, PROSPECTIVE_SPLIT, SPLITS, SubmissionSplit
from hellofresh.submissions.intake.system import SystemInfo
from hellofresh.submissions.receipts.copies import Copy, GivenAnswers, find_copies
from hellofresh.submissions.receipts.receipt import RECEIPT, Receipt, read_receipt
from hellofresh.submissions.receipts.standing import (
    MOST_ENTRIES,
    EntryOutcome,
    SubmissionStanding,
    SubmissionStandings,
    copied_from,
    find_submissions,
    passed_over,
    standings,
)
from hellofresh.submissions.receipts.store import (
    StoredSubmission,
    add_submission,
    known_teams,
    look_alike,
    withdraw_submission,
)

__all__ = [
    "MAIN",
    "MAX_BYTES",
    "MAX_DEPTH",
    "MAX_FAULTS",
    "MOST_ENTRIES",
    "PROSPECTIVE_SPLIT",
    "RECEIPT",
    "SPLITS",
    "Copy",
    "Due",
    "EntryOutcome",
    "Fault",
    "GivenAnswers",
    "Prediction",
    "PredictionsCheck",
    "Receipt",
    "StoredSubmission",
    "Submission",
    "SubmissionCheck",
    "SubmissionSplit",
    "SubmissionStanding",
    "SubmissionStandings",
    "SystemInfo",
    "add_submission",
    "check_predictions",
    "check_submission",
    "copied_from",
    "find_copies",
    "find_submissions",
    "inspect_submission",
    "known_teams",
    "look_alike",
    "passed_over",
    "read_receipt",
    "read_submission",
    "standings",
    "withdraw_submission",
]
