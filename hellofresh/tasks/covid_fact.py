"""covid-fact: do these sentences support the claim?"""

from __future__ import annotations

from hellofresh.tasks._statements import statement_task

TASK = statement_task(
    "covid-fact",
    "COVID-Fact",
    prefix="cf-",
    classes=("refuted", "supported"),
    facts=("flair", "source"),
    subgroups=("flair",),
    evidence=True,
    withheld=True,
)
