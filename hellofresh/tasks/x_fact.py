"""x-fact: how true did fact-checkers in 25 languages find this statement (seven classes, or two)?"""

from __future__ import annotations

from hellofresh.tasks._statements import statement_task

_FACTS = ("publisher", "review_date")

TASK = statement_task(
    "x-fact",
    "X-FACT",
    prefix="xf-",
    classes=("false", "mostly false", "partly true", "mostly true", "true", "complicated", "other"),
    facts=_FACTS,
    subgroups=("publisher",),
)
BINARY = statement_task(
    "x-fact-binary",
    "X-FACT, two classes",
    prefix="xfb-",
    classes=("false", "true"),
    facts=_FACTS,
    subgroups=("publisher",),
)
