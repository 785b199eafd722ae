"""healthver: does this passage support the health claim?"""

from __future__ import annotations

from hellofresh.tasks._statements import statement_task

TASK = statement_task(
    "healthver",
    "HealthVer",
    prefix="hv-",
    classes=("refuted", "neutral", "supported"),
    evidence=True,
    withheld=True,
)
