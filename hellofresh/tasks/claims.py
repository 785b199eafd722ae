"""claims: is what somebody claimed false, mixed or true, as fact-checkers judged it this quarter?"""

from __future__ import annotations

from hellofresh.tasks._statements import statement_task

LICENSE = "CC-BY-4.0"
"""Of the feed; publishers may have terms of their own for their pages."""

TASK = statement_task(
    "claims",
    "Claims that fact-checkers reviewed",
    prefix="cl-",
    classes=("false", "mixed", "true"),
    facts=("publisher", "reviewed_at", "review_url", "reviews"),
    subgroups=("publisher",),
    question="Did fact-checkers find this claim false, mixed or true?",
    living=True,
)
