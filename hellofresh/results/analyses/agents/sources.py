"""Where findings come from: domains, how many of them are rated, and how."""

from __future__ import annotations

from collections import Counter

import numpy as np

from hellofresh.evidence.publishers import site_of
from hellofresh.results.analyses._base import AnalysisResult, missing, table_of
from hellofresh.results.analyses._measures import about
from hellofresh.results.analyses.agents._base import AgentAnalysis, AgentPanel, mean_cells

__all__ = ["DOMAINS", "SOURCES"]

_MOST_DOMAINS = 20


def _sources(given: AgentPanel) -> AnalysisResult:
    rows = []
    for system, traces in given.searching:
        cited = [trace.sources if trace is not None else () for trace in traces]
        urls = [url for sources in cited for url in sources]
        if not urls:
            continue
        groups = np.repeat(given.panel.groups, [len(sources) for sources in cited])
        rated = [given.publishers.of(url) for url in urls]
        domains = Counter(site_of(url) for url in urls)
        top, times = domains.most_common(1)[0]
        biases = np.array([np.nan if item is None or item.bias is None else item.bias for item in rated])
        quality = np.array([np.nan if item is None or item.quality is None else item.quality for item in rated])
        rows.append({
            **about(system), "sources": len(urls), "domains": len(domains), "top_domain": top,
            "top_share": times / len(urls), "rated_share": sum(item is not None for item in rated) / len(urls),
            **mean_cells("bias", biases, groups, (-3.0, 3.0)), **mean_cells("quality", quality, groups, (0.0, 1.0)),
        })  # fmt: skip
    return AnalysisResult(table_of(rows)) if rows else missing("No system has used a source.")


def _domains(given: AgentPanel) -> AnalysisResult:
    rows = []
    for system, traces in given.searching:
        urls = [url for trace in traces if trace is not None for url in trace.sources]
        counts = Counter(site_of(url) for url in urls)
        for rank, (domain, times) in enumerate(counts.most_common(_MOST_DOMAINS), start=1):
            rating = given.publishers.of(f"https://{domain}/")
            rows.append({
                **about(system), "rank": rank, "domain": domain, "times": times, "share": times / len(urls),
                "bias": None if rating is None else rating.bias,
                "factuality": None if rating is None else rating.factuality,
                "quality": None if rating is None else rating.quality,
            })  # fmt: skip
    return AnalysisResult(table_of(rows)) if rows else missing("No system has used a source.")


SOURCES = AgentAnalysis("sources", "Sources", "What do findings rest on, and how are these publishers rated?", _sources)
DOMAINS = AgentAnalysis("domains", "Domains", "Which domains are used most?", _domains)
