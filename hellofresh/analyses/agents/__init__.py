"""Analyses of what agents did: searches and sources, from the transcripts of runs. One question a file."""

from __future__ import annotations

from hellofresh.analyses.agents._base import AgentAnalysis, AgentPanel
from hellofresh.analyses.agents.gain import GAIN
from hellofresh.analyses.agents.leaning import LEANINGS
from hellofresh.analyses.agents.queries import QUERIES
from hellofresh.analyses.agents.searches import SEARCHES
from hellofresh.analyses.agents.sources import DOMAINS, SOURCES
from hellofresh.analyses.agents.variants import compare_variants

__all__ = ["AGENT_ANALYSES", "AgentAnalysis", "AgentPanel", "compare_variants"]

AGENT_ANALYSES: tuple[AgentAnalysis, ...] = (SOURCES, DOMAINS, LEANINGS, GAIN, SEARCHES, QUERIES)
