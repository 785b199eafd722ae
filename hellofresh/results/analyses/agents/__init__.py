"""Analyses of what agents did: searches and sources, from the transcripts of runs. One question a file."""

from __future__ import annotations

from hellofresh.results.analyses.agents._base import AgentAnalysis, AgentPanel
from hellofresh.results.analyses.agents.gain import GAIN
from hellofresh.results.analyses.agents.leaning import LEANINGS
from hellofresh.results.analyses.agents.queries import QUERIES
from hellofresh.results.analyses.agents.searches import SEARCHES
from hellofresh.results.analyses.agents.sources import DOMAINS, SOURCES
from hellofresh.results.analyses.agents.variants import compare_variants

__all__ = ["AGENT_ANALYSES", "AgentAnalysis", "AgentPanel", "compare_variants"]

AGENT_ANALYSES: tuple[AgentAnalysis, ...] = (SOURCES, DOMAINS, LEANINGS, GAIN, SEARCHES, QUERIES)
