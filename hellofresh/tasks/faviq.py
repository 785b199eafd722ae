"""faviq: is this claim, made from a question to a search engine, right?"""

from __future__ import annotations

from hellofresh.tasks._statements import statement_task

TASK = statement_task(
    "faviq", "FaVIQ", prefix="fq-", classes=("refuted", "supported"), facts=("evidence_pages",), withheld=True
)
