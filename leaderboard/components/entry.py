"""All about one entry: where it stands and fails, its scores by period and prompt, calibration, cost, and record."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from hellofresh.results.board.schema import (
    CalibrationRow,
    ConductRow,
    ConfusionCell,
    Mistakes,
    ReliabilityBin,
    SystemFacts,
)
from hellofresh.results.standings import Standing
from hellofresh.results.tables import AnswerRow, ReceiptRow
from leaderboard.components.calibration import calibration_section
from leaderboard.components.conduct import conduct_section
from leaderboard.components.labels import is_frozen, money
from leaderboard.components.links import Links
from leaderboard.components.markup import DASH, Html, el, join, named, visible
from leaderboard.components.mistakes import mistakes_section
from leaderboard.components.periods import score_table
from leaderboard.components.pieces import heading, notice
from leaderboard.components.reasons import reasons_of_system
from leaderboard.components.scale import Scale, scale_of
from leaderboard.data.records import Records
from leaderboard.data.tables import MAIN, Board, ScoreCell, SplitKey

__all__ = ["EntryRecord", "entry_page"]

_LANES = {
    "harness": "run by us in the harness",
    "submitted": "predictions submitted by the team",
    "prospective": "predicted before the outcome was decided",
}
_CONTAMINATION = {
    "possible": "the cutoff is after outcomes could be known: the training data may hold them",
    "unlikely": "the cutoff is before any outcome could be known",
    "unknown": "unknown cutoff: the training data may hold outcomes",
    "impossible": "no outcome existed when it predicted",
}


_NO_ANSWER = (
    "Below the share of samples without an answer: how many had no readable answer (none), and how many the system "
    "or its provider refused (blocked)."
)


@dataclass(frozen=True, slots=True)
class EntryRecord:
    """What the board knows of an entry besides its row in the table; None where it knows nothing.

    Attributes:
        split: the task, quarter and samples.
        scale: of its scores.
        by_period, by_prompt: its scores in the order in which they are shown, the headline prompt first.
        standing: None where it is not ranked.
        facts, receipt: of its run or its submission.
        mistakes, calibrations: where it was wrong, and how true its probabilities are; empty before the reveal.
        confusion: what it said, by the class that samples have.
        conduct: what it did that it should not.
        reasons: some answers with what it said of them.
        revealed: whether labels are public.
        bundled: whether the quarter ranks nobody.
    """

    split: SplitKey
    scale: Scale
    by_period: Sequence[ScoreCell]
    by_prompt: Sequence[ScoreCell]
    standing: Standing | None = None
    facts: SystemFacts | None = None
    receipt: ReceiptRow | None = None
    mistakes: Mistakes | None = None
    confusion: Sequence[ConfusionCell] = ()
    conduct: Sequence[ConductRow] = ()
    reasons: Sequence[AnswerRow] = ()
    calibrations: Sequence[tuple[CalibrationRow, Sequence[ReliabilityBin]]] = ()
    revealed: bool = False
    bundled: bool = False

    @classmethod
    def of(cls, board: Board, records: Records, split: SplitKey, result: ScoreCell) -> Self:
        """Everything that the board has on the entry of a result."""
        origin, bundled = result.entry.origin, board.is_bundled(split)
        release = records.release(split)
        return cls(
            split=split,
            scale=scale_of(records, split),
            by_period=board.by_period(split, [result.entry])[result.entry],
            by_prompt=board.by_prompt(split, result.entry),
            standing=None if bundled else records.standings(split).get(origin),
            facts=records.systems(split).get(origin),
            receipt=records.receipt(split, origin),
            mistakes=records.mistakes(split, origin),
            confusion=records.confusion(split, origin),
            conduct=records.conduct(split, origin),
            reasons=records.reasons(split, origin),
            calibrations=[(one, records.bins(split, one)) for one in records.calibrations(split, origin)],
            revealed=release is not None and release.revealed,
            bundled=bundled,
        )


def entry_page(result: ScoreCell, record: EntryRecord, links: Links) -> Html:
    """Everything below the page's title.

    Args:
        result: the row that stands for the entry.
        record: what else is known of it.
        links: where pages are.
    """
    said = "This quarter was written for the project, to try it out. It ranks nobody."
    return join(
        [
            notice("Bundled sample.", said) if record.bundled else None,
            _summary(result, record),
            mistakes_section(record.mistakes, record.confusion, record.by_period, record.by_prompt, split=record.split,
                             links=links, scale=record.scale, revealed=record.revealed)
            if record.scale.classes or record.mistakes
            else None,
            conduct_section(record.conduct, record.split, links),
            reasons_of_system(record.reasons, record.split, links),
            *(() if is_frozen(record.split.edition) else _by_period(record)),
            heading("By prompt", "The first row is the system's row on the leaderboard."),
            score_table("Prompt", record.by_prompt, record.scale),
            calibration_section(record.calibrations, revealed=record.revealed),
            _receipt(record.receipt, record.split),
            _run_record(record.facts),
        ]
    )  # fmt: skip


def _by_period(record: EntryRecord) -> Sequence[Html]:
    return heading("By period", _NO_ANSWER), score_table("Period", record.by_period, record.scale)


def _summary(result: ScoreCell, record: EntryRecord) -> Html:
    entry, facts = result.entry, record.facts
    score = result.headline
    lines: list[tuple[str, Html | str]] = [
        ("System", named(entry.name)),
        ("Team", named(entry.team, 60)),
        (record.scale.title, f"{score.value:.3f}, 95% interval {score.low:.3f} to {score.high:.3f} "
                             f"({visible(result.method, 40)}; {result.n:,} samples in {result.clusters:,} "
                             "clusters)"),
        ("Rank", _rank(record.standing)),
        ("Regime", "a rule without a language model" if entry.regime == "none" else named(entry.regime, 30)),
        ("Lane", _LANES.get(entry.lane, visible(entry.lane, 30))),
        ("No answer", f"{result.none:,} without a readable answer, {result.blocked:,} refused, of {result.n:,} judged"),
        ("Judged", _judged(result, facts)),
        ("Entered", _entered(facts)),
        ("Cutoff", _cutoff(result, facts)),
        ("Cost", _cost(facts)),
    ]  # fmt: skip
    if result.about:
        lines.append(("In its makers' words", named(result.about, 2000)))
    return el("dl", *(el("div", el("dt", term), el("dd", text)) for term, text in lines), class_="hf-facts")


def _rank(standing: Standing | None) -> str:
    if standing is None:
        return "not ranked"
    few = "; too few clusters of samples for reliable intervals" if standing.few_clusters else ""
    return (
        f"{standing.rank}, between {standing.low} and {standing.high}; first with a probability of "
        f"{standing.first:.0%}; tie group {standing.tie_group}{few}"
    )


def _judged(result: ScoreCell, facts: SystemFacts | None) -> str:
    failed = f"; {facts.failed:,} failed and are not among them" if facts is not None and facts.failed else ""
    return f"{result.n:,} of {result.n_split:,} samples{failed}"


def _entered(facts: SystemFacts | None) -> str:
    if facts is None or not facts.entered:
        return "not known"
    what = "the day its run started" if facts.manifest else "the day of its receipt"
    return f"{visible(facts.entered, 10)}, {what}"


def _cutoff(result: ScoreCell, facts: SystemFacts | None) -> Html:
    if result.knowledge_cutoff == "none":
        return join([DASH])
    mark = _CONTAMINATION.get(facts.contamination) if facts else None
    return join([named(result.knowledge_cutoff, 30), f": {mark}" if mark else None])


def _cost(facts: SystemFacts | None) -> str:
    if facts is None or (facts.cost_usd is None and facts.tokens_in is None):
        return "unknown"
    cost = "price unknown" if facts.cost_usd is None else money(facts.cost_usd)
    if facts.cost_usd and facts.judged:
        cost += f", {money(facts.cost_usd / facts.judged)} a sample"
    if facts.tokens_in is None:
        return f"{cost}; tokens unknown"
    return f"{cost}; {facts.tokens_in:,} tokens in, {facts.tokens_out or 0:,} out"


def _receipt(receipt: ReceiptRow | None, split: SplitKey) -> Html | None:
    """What came in and when, for whoever wants to check that it was not changed since."""
    if receipt is None:
        return None
    place = f"submissions/{split.edition}/{receipt.origin}"
    before = {0: "none", 1: "one, which this replaced"}.get(
        receipt.earlier, f"{receipt.earlier:,}, the last of which this replaced"
    )
    option = "" if split.kind == MAIN else f" --split {split.kind}"
    verify = (
        el("code", f"hellofresh submission check {visible(place, 200)}{option}"),
        " prints the SHA-256 of that folder's content; it must be the one above. Content that was changed after "
        "its receipt is not scored.",
    )
    lines: list[tuple[str, tuple[Html | str, ...]]] = [
        ("Content", (el("code", visible(receipt.sha256, 64)), " (SHA-256)")),
        ("Received", (visible(receipt.received, 30), f", by {visible(receipt.code, 80)}")),
        ("Receipts before", (before,)),
        ("Tasks", (visible(receipt.tasks, 200),)),
        ("To verify", verify),
    ]
    listed = el("dl", *(el("div", el("dt", term), el("dd", *text)) for term, text in lines), class_="hf-facts")
    return join([heading("Receipt", "Issued when the predictions were received; only predictions received before "
                                    "the deadline count."),
                 listed])  # fmt: skip


def _run_record(facts: SystemFacts | None) -> Html | None:
    """The run's own record, for whoever wants to repeat it."""
    if facts is None or not facts.manifest:
        return None
    text = json.dumps(json.loads(facts.manifest), indent=2, ensure_ascii=True, sort_keys=True)
    said = "What the run was made of: model, regime, prompts and samples with their hashes."
    return join([heading("Record of the run", said), el("details", el("summary", "run.json"), el("pre", text))])
