"""fever: does Wikipedia support this claim?"""

from __future__ import annotations

from hellofresh.tasks._statements import statement_task

_FACTS = ("evidence_pages",)

TASK = statement_task(
    "fever",
    "FEVER",
    prefix="fe-",
    classes=("refuted", "not enough information", "supported"),
    facts=_FACTS,
    question="Does Wikipedia support the statement, refute it, or hold too little information?",
)
BINARY = statement_task(
    "fever-binary", "FEVER, two classes", prefix="feb-", classes=("refuted", "supported"), facts=_FACTS
)
