"""fever-v2: does Wikipedia support this claim, which was written to mislead systems?"""

from __future__ import annotations

from hellofresh.tasks._statements import statement_task

_FACTS = ("attack", "evidence_pages")

TASK = statement_task(
    "fever-v2",
    "FEVER 2.0",
    prefix="fa-",
    classes=("refuted", "not enough information", "supported"),
    facts=_FACTS,
    subgroups=("attack",),
    question="Does Wikipedia support the statement, refute it, or hold too little information?",
)
BINARY = statement_task(
    "fever-v2-binary",
    "FEVER 2.0, two classes",
    prefix="fab-",
    classes=("refuted", "supported"),
    facts=_FACTS,
    subgroups=("attack",),
)
