"""check-covid: does this abstract support the claim?"""

from __future__ import annotations

from hellofresh.tasks._statements import statement_task

TASK = statement_task(
    "check-covid",
    "Check-COVID",
    prefix="cc-",
    classes=("refuted", "not enough information", "supported"),
    facts=("document", "kind"),
    subgroups=("kind",),
    evidence=True,
)
