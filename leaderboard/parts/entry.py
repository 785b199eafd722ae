"""All about one entry: where it stands, its scores by period and prompt, its cost, and the record of its run."""

from __future__ import annotations

import json
from collections.abc import Sequence

from leaderboard.charts import interval_bar, interval_scale
from leaderboard.markup import DASH, Html, el, join, named, visible
from leaderboard.parts.pieces import cell, heading, metric_cell, notice, table
from leaderboard.records import Standing, SystemFacts
from leaderboard.tables import Result

__all__ = ["entry_page"]

_LANES = {"harness": "run by us in the harness", "submitted": "predictions handed in by the team"}
_CONTAMINATION = {
    "possible": "the cutoff is not before the quarter: it may have seen outcomes",
    "unlikely": "the cutoff is before the quarter",
    "unknown": "whether it may have seen outcomes is not known",
}


def entry_page(
    result: Result,
    standing: Standing | None,
    facts: SystemFacts | None,
    by_period: Sequence[Result],
    by_prompt: Sequence[Result],
    *,
    bundled: bool,
) -> Html:
    """Everything below the page's title.

    Args:
        result: the row that stands for the entry.
        standing, facts: None where nothing is known.
        by_period, by_prompt: its further scores, in the order in which they are shown.
        bundled: whether the quarter ranks nobody.
    """
    said = "This quarter was written for the project, to try it out. It ranks nobody."
    return join(
        [
            notice("Bundled sample.", said) if bundled else None,
            _summary(result, standing, facts),
            heading("By period"),
            _scores("Period", by_period, "period"),
            heading("By prompt", "The first is the one that stands for the system."),
            _scores("Prompt", by_prompt, "prompt"),
            _run_record(facts),
        ]
    )


def _summary(result: Result, standing: Standing | None, facts: SystemFacts | None) -> Html:
    entry = result.entry
    f1 = result.f1
    lines: list[tuple[str, Html | str]] = [
        ("System", named(entry.system)),
        ("Team", named(entry.team, 60)),
        ("F1", f"{f1.value:.3f}, 95% interval {f1.low:.3f} to {f1.high:.3f} ({visible(result.interval_method, 40)}; "
               f"{result.n:,} samples in {result.clusters:,} groups)"),
        ("Rank", _rank(standing)),
        ("Regime", "a rule without a language model" if entry.regime == "none" else named(entry.regime, 30)),
        ("Lane", _LANES.get(entry.lane, visible(entry.lane, 30))),
        ("No answer", f"{result.none:,} without a readable answer, {result.blocked:,} refused, of {result.n:,} judged"),
        ("Judged", f"{result.n:,} of {result.n_split:,} samples"),
        ("Cutoff", _cutoff(result, facts)),
        ("Cost", _cost(facts)),
    ]  # fmt: skip
    if result.about:
        lines.append(("In its makers' words", named(result.about, 2000)))
    return el("dl", *(el("div", el("dt", term), el("dd", text)) for term, text in lines), class_="hf-facts")


def _rank(standing: Standing | None) -> str:
    if standing is None:
        return "not ranked"
    few = "; too few groups of samples for intervals to be trusted" if standing.few_clusters else ""
    return (
        f"{standing.rank}, between {standing.low} and {standing.high}; first with a probability of "
        f"{standing.first:.0%}; tie group {standing.tie_group}{few}"
    )


def _cutoff(result: Result, facts: SystemFacts | None) -> Html:
    if result.knowledge_cutoff == "none":
        return join([DASH])
    mark = _CONTAMINATION.get(facts.contamination) if facts else None
    return join([named(result.knowledge_cutoff, 30), f": {mark}" if mark else None])


def _cost(facts: SystemFacts | None) -> str:
    if facts is None or (facts.cost_usd is None and facts.tokens_in is None):
        return "unknown"
    cost = "no price known" if facts.cost_usd is None else f"${facts.cost_usd:,.4f}"
    if facts.tokens_in is None:
        return f"{cost}; tokens unknown"
    return f"{cost}; {facts.tokens_in:,} tokens in, {facts.tokens_out or 0:,} out"


def _scores(title: str, results: Sequence[Result], name: str) -> Html:
    columns: list[tuple[str, Html | str]] = [("name", title), ("number", "F1"), ("drawn", interval_scale())]
    columns += [("number", head) for head in ("Precision", "Recall", "Accuracy", "No answer", "Judged")]
    rows = (
        el(
            "tr",
            cell(title, named(str(getattr(result, name)), 60), None, "name"),
            metric_cell("F1", result.f1),
            el("td", interval_bar(result.f1), class_="hf-drawn", role="cell"),
            metric_cell("Precision", result.precision),
            metric_cell("Recall", result.recall),
            metric_cell("Accuracy", result.accuracy),
            cell("No answer", f"{result.no_answer:.1%}"),
            cell("Judged", f"{result.n:,}"),
            role="row",
        )
        for result in results
    )
    return table(f"Scores by {name}", columns, [el("tbody", *rows, role="rowgroup")], "hf-prompts")


def _run_record(facts: SystemFacts | None) -> Html | None:
    """The run's own record, for whoever wants to repeat it."""
    if facts is None or not facts.manifest:
        return None
    text = json.dumps(json.loads(facts.manifest), indent=2, ensure_ascii=True, sort_keys=True)
    said = "What the run was made of: model, regime, prompts and samples with their hashes."
    return join([heading("Record of the run", said), el("details", el("summary", "run.json"), el("pre", text))])
