"""averitec: does evidence on the web support this claim? Searches end with the day of the claim."""

from __future__ import annotations

from hellofresh.tasks._statements import statement_task

TASK = statement_task(
    "averitec",
    "AVeriTeC",
    prefix="av-",
    classes=("refuted", "not enough evidence", "conflicting evidence", "supported"),
    facts=("publisher", "review_url", "questions", "claim_types"),
    subgroups=("publisher",),
    question="Does the evidence on the web support the statement?",
    withheld=True,
)
