"""liar-new: did PolitiFact find this statement true? Half true counts as true, as in the paper."""

from __future__ import annotations

from hellofresh.tasks._statements import statement_task

TASK = statement_task(
    "liar-new",
    "LIAR-New",
    prefix="ln-",
    classes=("false", "true"),
    facts=("possibility", "missing_evidence"),
    subgroups=("possibility", "missing_evidence"),
)
