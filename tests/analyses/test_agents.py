"""What agents did, counted by hand on a small panel: sources, searches, help and harm, queries, certainty."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hellofresh.evidence.publishers import Publisher, Publishers
from hellofresh.results.analyses import ANALYSES
from hellofresh.results.analyses.agents import AGENT_ANALYSES, AgentPanel, SampleTrace
from hellofresh.results.split.panel import PromptOutputs
from hellofresh.stats.metrics import NO_ANSWER

RATED = Publishers({
    "left.example": Publisher("left.example", -2.0, None, 0.25),
    "right.example": Publisher("right.example", 1.0, None, 0.75),
})  # fmt: skip
LEFT, RIGHT, UNKNOWN = "https://a.left.example/1", "https://right.example/2", "https://unknown.example/3"


def by(name: str):
    (found,) = (one for one in AGENT_ANALYSES if one.name == name)
    return found


@pytest.fixture
def given(build):
    """120 samples: the agent is right on the first 90, its offline baseline on the last 90."""
    release = build.release()
    panel = build.panel([build.entry(release, "one", seed=n, prompts=("manual",)) for n in (1, 2)], release)
    n, labels = len(panel.samples), panel.labels
    place = np.arange(n)
    agent, offline = (np.where(where, labels, 1 - labels) for where in (place < 90, place >= 30))
    agent[119] = NO_ANSWER
    certainty = np.where(place % 2, 0.9, 0.6)

    def said(answers):
        own = PromptOutputs.of("manual", answers.astype(np.int8))
        return (replace(own, certainty=np.where(answers < 0, np.nan, certainty)),)

    one, two = panel.systems
    systems = (
        replace(one, regime="search-agent", settings="offline", origin="agent", said=said(agent)),
        replace(two, regime="search-agent", settings="offline, mode=offline", origin="base", said=said(offline)),
    )
    traces = [
        SampleTrace(
            queries=tuple(f"query {k} rivers" for k in range(place % 3)),
            failed=int(place == 0),
            sources=(LEFT, RIGHT) if place < 30 else (UNKNOWN,) if place < 60 else (),
            leaning=-2.0 if place < 10 else None,
            certainties=(0.9, 0.7) if place < 30 else (0.6,) if place >= 90 else (),
        )
        for place in range(n)
    ]
    whole = {"agent": traces, "base": [SampleTrace()] * n}
    return AgentPanel(replace(panel, systems=systems), whole, RATED)


def rows(given, name: str) -> list[dict]:
    return by(name).run(given).table.to_dicts()


def test_sources_are_counted_rated_and_averaged(given) -> None:
    (row,) = rows(given, "sources")
    assert (row["sources"], row["domains"]) == (90, 3)
    assert row["top_share"] == pytest.approx(30 / 90)
    assert row["rated_share"] == pytest.approx(60 / 90)
    assert row["bias"] == pytest.approx(-0.5)
    assert row["quality"] == pytest.approx(0.5)
    assert row["bias_low"] < -0.5 < row["bias_high"]
    domains = {row["domain"]: row for row in rows(given, "domains")}
    assert {name: row["times"] for name, row in domains.items()} == dict.fromkeys(domains, 30)
    assert domains["a.left.example"]["bias"] == -2.0 and domains["unknown.example"]["bias"] is None


def test_help_and_harm_are_told_apart_against_the_agents_own_offline_baseline(given) -> None:
    found = {row["search"]: row for row in rows(given, "gain")}
    counts = {"helped": 30, "hurt": 30, "right both ways": 60, "wrong both ways": 0}
    assert {name: row["n"] for name, row in found.items()} == counts
    assert found["helped"]["source_bias"] == pytest.approx(-0.5)
    assert found["hurt"]["source_bias"] is None
    assert found["helped"]["against"] == "search-agent"
    agent, base = given.panel.systems
    for regime, name in (("zero-shot", "base"), ("placebo", None)):  # without an offline baseline
        panel = replace(given.panel, systems=(agent, replace(base, settings="", regime=regime)))
        assert getattr(replace(given, panel=panel).offline(agent), "origin", None) == name


def test_searches_are_split_by_right_and_wrong_answers(given) -> None:
    found = {row["answers"]: row for row in rows(given, "searches")}
    assert (found["all"]["n"], found["right"]["n"], found["wrong"]["n"]) == (120, 90, 30)
    assert found["all"]["searches"] == found["right"]["searches"] == pytest.approx(1.0)
    assert (found["all"]["none"], found["all"]["most"], found["all"]["failed"]) == (pytest.approx(1 / 3), 2.0, 1)


def test_queries_are_measured_against_the_text(given) -> None:
    (row,) = rows(given, "queries")
    assert (row["n"], row["queries"], row["words"]) == (80, 120, pytest.approx(3.0))
    assert row["alike"] == pytest.approx(2 / 4)
    assert 0 <= row["from_text"] <= row["from_text_high"] <= 1
    panel = replace(given.panel, task=replace(given.panel.task, text=lambda _: "Rivers 0 a"))
    (row,) = rows(replace(given, panel=panel), "queries")  # half the time "query 1 rivers" too
    assert (row["from_text"], row["text_covered"]) == pytest.approx(((2 / 3 + 2 / 4) / 2, 2 / 3))


def test_leanings_stand_beside_the_bias_of_sources(given) -> None:
    (row,) = rows(given, "leaning")
    assert (row["leaning"], row["n"], row["rated"], row["source_bias"]) == ("left", 10, 10, pytest.approx(-0.5))


def test_certainty_is_that_of_the_answer_whatever_the_class_and_differences_are_paired(given) -> None:
    table = ANALYSES["certainty"].run(given.panel).table.to_dicts()
    own = [row for row in table if row["against"] is None]
    agent, base = own[:5], own[5:]
    errors = [f"ECE, {bins} bins of equal {kind}" for bins in (10, 15) for kind in ("width", "mass")]
    assert [row["measure"] for row in agent] == [*errors, "Brier"]
    assert {row["n"] for row in agent} == {119}
    even, odd = 0.6 - 45 / 60, 0.9 - 45 / 59
    assert agent[0]["value"] == pytest.approx((60 * abs(even) + 59 * abs(odd)) / 119)
    brier = (45 * 0.4**2 + 15 * 0.6**2 + 45 * 0.1**2 + 14 * 0.9**2) / 119
    assert agent[4]["value"] == pytest.approx(brier)
    pairs = {row["measure"]: row for row in table if row["against"] is not None}
    assert len(pairs) == 5
    assert {row["n"] for row in pairs.values()} == {119}
    assert pairs["Brier"]["low"] <= pairs["Brier"]["value"] <= pairs["Brier"]["high"]
    assert {row["n"] for row in base} == {120}


def test_without_anything_to_say_every_analysis_says_why(build) -> None:
    release = build.release()
    panel = build.panel([build.entry(release, "one", prompts=("manual",))], release)
    for one in AGENT_ANALYSES:
        result = one.run(AgentPanel(panel, {}, Publishers({})))
        assert result.missing.endswith(".") and result.table.is_empty()
    assert ANALYSES["certainty"].run(panel).missing


def test_certainty_of_results_is_averaged_over_samples_for_right_and_wrong_answers(given) -> None:
    right, wrong = by("result-certainty").run(given).table.to_dicts()
    assert (right["answers"], right["n"], right["certainty"]) == ("right", 30, pytest.approx(0.8))
    assert (wrong["answers"], wrong["n"], wrong["certainty"]) == ("wrong", 30, pytest.approx(0.6))
    assert right["certainty_low"] <= right["certainty"] <= right["certainty_high"]
