"""check-covid-retrieval: which abstracts hold the evidence for or against a claim of Check-COVID?"""

from __future__ import annotations

from hellofresh.tasks._evidence import evidence_task

TASK = evidence_task("check-covid-retrieval", "Check-COVID: evidence", prefix="cce-")
