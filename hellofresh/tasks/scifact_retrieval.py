"""scifact-retrieval: which abstracts hold the evidence for or against a claim of SciFact?"""

from __future__ import annotations

from hellofresh.tasks._evidence import evidence_task

TASK = evidence_task("scifact-retrieval", "SciFact: evidence", prefix="sfe-")
