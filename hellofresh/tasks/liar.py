"""liar: how true did PolitiFact find this statement (six degrees, or two)?"""

from __future__ import annotations

from hellofresh.tasks._statements import statement_task

_FACTS = ("subjects", "party")

TASK = statement_task(
    "liar",
    "LIAR",
    prefix="li-",
    classes=("pants on fire", "false", "barely true", "half true", "mostly true", "true"),
    facts=_FACTS,
    subgroups=("party",),
    withheld=True,
)
BINARY = statement_task(
    "liar-binary",
    "LIAR, two classes",
    prefix="lib-",
    classes=("false", "true"),
    facts=_FACTS,
    subgroups=("party",),
    withheld=True,
)
