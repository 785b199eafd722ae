"""One entry: where it stands and fails, its scores, its calibration, what it cost, and its record or receipt."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from hellofresh.leaderboard.components.labels import Links, is_frozen, money
from hellofresh.leaderboard.components.markup import DASH, Html, el, inner_link, join, named, visible
from hellofresh.leaderboard.components.mistakes import calibration_section, mistakes_section
from hellofresh.leaderboard.components.pieces import bundled_notice, heading
from hellofresh.leaderboard.components.quarters import contamination_notice
from hellofresh.leaderboard.components.scale import Scale, figure, scale_of
from hellofresh.leaderboard.components.standings import score_table
from hellofresh.leaderboard.components.tables import Cell, Column, facts, scrolled, table
from hellofresh.leaderboard.data.board import Board, ScoreCell, SplitKey
from hellofresh.leaderboard.views.samples import reasons_of_system
from hellofresh.leaderboard.views.visit import Choices, Page, Visit
from hellofresh.results.board.schema import ConductRow, SystemFacts
from hellofresh.results.tables import ReceiptRow
from hellofresh.tasks.samples import MAIN

_LEDE = "Everything the board knows about one entry."
_PROVENANCES = {
    "run": "run here; journal and transcripts are kept",
    "replayed": "uploaded by the team; run again here on part of the samples, without disagreement",
    "uploaded": "predictions uploaded by the team; nothing shows how they were made",
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
_CONDUCT = {
    "blocked-page": "Asked for pages of blocked sources, which were withheld",
    "later-page": "Read pages that say they are from after the day before which it searched",
    "cited-blocked": "Rests on blocked sources",
    "copied-labels": "Is right on samples that every other ranked system got wrong",
}


def _compose(visit: Visit) -> None:
    split, origin = visit.split(), visit.choices["system"]
    found = next(result for result in visit.board.headlines(split) if result.entry.origin == origin)
    visit.subject(named(found.entry.name, 60), "On ")
    visit.show(contamination_notice(visit.board, split), entry_page(visit.board, split, found, visit.links))


def entry_page(board: Board, split: SplitKey, result: ScoreCell, links: Links) -> Html:
    """Everything below the page's title.

    Args:
        board: what is known.
        split: the task and quarter.
        result: the row that stands for the entry.
        links: where pages are.
    """
    origin, scale = result.entry.origin, scale_of(board, split)
    known = board.systems(split).get(origin)
    by_period = board.by_period(split, result.entry)
    by_prompt = board.by_prompt(split, result.entry)
    periods = [heading("By period", _NO_ANSWER), score_table("Period", by_period, scale)]
    return join(
        [
            bundled_notice(board.is_bundled(split)),
            _summary(board, split, result, scale, known),
            mistakes_section(board, split, by_period, by_prompt, links),
            conduct_section(board.rows(ConductRow, split, origin=origin), split, links),
            reasons_of_system(board.reasons(split).get(origin, ()), split, links),
            *([] if is_frozen(split.edition) else periods),
            heading("By prompt", "The first row is the system's row on the leaderboard."),
            score_table("Prompt", by_prompt, scale),
            calibration_section(board, split, origin),
            _receipt(board.first(ReceiptRow, split, origin=origin), split),
            _run_record(known.manifest) if known and known.manifest else None,
        ]
    )


def _summary(board: Board, split: SplitKey, result: ScoreCell, scale: Scale, known: SystemFacts | None) -> Html:
    entry, score = result.entry, result.headline
    standing = None if board.is_bundled(split) else board.standings(split).get(entry.origin)
    value, low, high = (figure(part, score.name) for part in (score.value, score.low, score.high))
    interval = (
        f"{value}, 95% interval {low} to {high} ({visible(result.method, 40)}; "
        f"{result.n:,} samples in {result.clusters:,} clusters)"
    )
    rank = "not ranked"
    if standing is not None:
        few = "; too few clusters of samples for reliable intervals" if standing.few_clusters else ""
        rank = f"{standing.rank}, between {standing.low} and {standing.high}; first with a probability of "
        rank += f"{standing.first:.0%}; tie group {standing.tie_group}{few}"
    failed = f"; {known.failed:,} failed and are not among them" if known is not None and known.failed else ""
    silent = f"{result.none:,} without a readable answer, {result.blocked:,} refused, of {result.n:,} judged"
    entered = "not known"
    if known is not None and known.entered:
        what = "the day its run started" if known.manifest else "the day of its receipt"
        entered = f"{visible(known.entered, 10)}, {what}"
    mark = _CONTAMINATION.get(known.contamination) if known else None
    cutoff = join([named(result.knowledge_cutoff, 30), f": {mark}" if mark else None])
    return facts(
        [
            ("System", named(entry.name)),
            ("Team", named(entry.team, 60)),
            (scale.title, interval),
            ("Rank", rank),
            ("Regime", "a rule without a language model" if entry.regime == "none" else named(entry.regime, 30)),
            ("Provenance", _PROVENANCES.get(entry.provenance, visible(entry.provenance, 30))),
            ("No answer", silent),
            ("Judged", f"{result.n:,} of {result.n_split:,} samples{failed}"),
            ("Entered", entered),
            ("Cutoff", DASH if result.knowledge_cutoff == "none" else cutoff),
            ("Cost", _cost(known)),
            ("In its makers' words", named(result.about, 2000) if result.about else None),
        ]
    )


def _cost(known: SystemFacts | None) -> str:
    if known is None or (known.cost_usd is None and known.tokens_in is None):
        return "unknown"
    cost = "price unknown" if known.cost_usd is None else money(known.cost_usd)
    if known.cost_usd and known.judged:
        cost += f", {money(known.cost_usd / known.judged)} a sample"
    if known.tokens_in is None:
        return f"{cost}; tokens unknown"
    return f"{cost}; {known.tokens_in:,} tokens in, {known.tokens_out or 0:,} out"


def conduct_section(rows: Sequence[ConductRow], split: SplitKey, links: Links) -> Html | None:
    """A line for each kind of misconduct that the evaluator can see; None if absent."""
    if not rows:
        return None
    columns: list[Column] = [("name", "What"), ("number", "Samples"), ("number", "Times"), ("name", "Such as")]
    lines: list[list[Cell]] = []
    for row in rows:
        examples = []
        for key, url in zip(row.examples, row.urls, strict=True):
            way = inner_link(links.to("samples", split, sample=key), visible(key, 60))
            examples.append(el("div", way, f" {visible(url, 120)}" if url else ""))
        what = _CONDUCT.get(row.kind, visible(row.kind, 40))
        lines.append([what, f"{row.samples:,} of {row.of:,}", f"{row.times:,}", join(examples)])
    about = (
        "What can be seen of how answers came about. A line is a reason to look closer, not proof; what an agent "
        "does outside its tools is not seen."
    )
    listed = table("What it did that it should not", columns, lines, "hf-confusion")
    return join([heading("Conduct", about), scrolled(listed)])


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
        " prints the SHA-256 of that folder's content; it must be the one above. Content that was changed after "
        "its receipt is not scored."
    )
    command = el("code", f"hellofresh submission check {visible(place, 200)}{option}")
    listed = facts(
        [
            ("Content", join([el("code", visible(receipt.sha256, 64)), " (SHA-256)"])),
            ("Received", f"{visible(receipt.received, 30)}, by {visible(receipt.code, 80)}"),
            ("Receipts before", before),
            ("Tasks", visible(receipt.tasks, 200)),
            ("To verify", join([command, verify])),
        ]
    )
    said = "Issued when the predictions were received; only predictions received before the deadline count."
    return join([heading("Receipt", said), listed])


def _run_record(manifest: str) -> Html:
    """The run's own record, for whoever wants to repeat it."""
    text = json.dumps(json.loads(manifest), indent=2, ensure_ascii=True, sort_keys=True)
    said = "What the run was made of: model, regime, prompts and samples with their hashes."
    return join([heading("Record of the run", said), el("details", el("summary", "run.json"), el("pre", text))])


def _copies(board: Board, split: SplitKey) -> Iterable[Choices]:
    return [{"system": origin} for origin in board.entries(split)]


PAGE = Page("System", "system", _compose, _LEDE, _copies, "systems")
