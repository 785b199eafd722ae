"""One entry: rank, mistakes, scores, calibration, cost, and its record or receipt."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

import polars as pl

from hellofresh.results.board.system_rows import (
    NO_ANSWER,
    REFUSED,
    CalibrationRow,
    ConductRow,
    ConfusionCell,
    Mistakes,
    ReliabilityBin,
    SystemFacts,
)
from hellofresh.results.comparison import chance
from hellofresh.results.split.tables import ReceiptRow
from hellofresh.tasks.samples import MAIN
from leaderboard.components.charts import reliability_plot
from leaderboard.components.labels import NO_REGIME, Links, is_frozen, model_said, money
from leaderboard.components.markup import (
    DASH,
    Html,
    bundled_notice,
    el,
    heading,
    inner_link,
    join,
    named,
    visible,
)
from leaderboard.components.quarters import contamination_notice, is_model
from leaderboard.components.ranking import field
from leaderboard.components.scale import Scale, class_names, figure, scale_of
from leaderboard.components.standings import all_lines, group_of, heat_map, score_table
from leaderboard.components.tables import Cell, Column, estimate, facts, score, scrolled, table
from leaderboard.data.board import Board, ScoreCell, SplitKey
from leaderboard.views.compare import Lead, lead_of
from leaderboard.views.leaderboard import whole_scale
from leaderboard.views.samples import marks_of, reasons_of_system, sample_list, samples_of
from leaderboard.views.visit import Choices, Page, Visit

_LEDE = "Everything the board knows about one entry."
_PROVENANCES = {
    "run": "run here; journal and transcripts are kept",
    "uploaded": "uploaded by the team; how they were made cannot be checked",
}
# Names in a run's record, in words.
_FATES = {
    "unreadable": "not readable",
    "cut": "cut off at the limit of tokens",
    "empty": "empty",
    "tool": "stopped for a tool",
    "refused": "refused",
    "failed": "failed",
}
_CONTAMINATION = {
    "possible": "the cutoff is after outcomes could be known: the training data may hold them",
    "unlikely": "the cutoff is before any outcome could be known",
    "unknown": "the training data may hold outcomes",
    "impossible": "no outcome existed when it predicted",
}
_CONDUCT = {
    "blocked-page": "Asked for pages of blocked sources, which were withheld",
    "later-page": "Read pages dated later than its searches were allowed to reach",
    "cited-blocked": "Rests on blocked sources",
    "copied-labels": "Is right on samples that every other ranked system got wrong",
}
_WEAKEST = 3
_MOST_EXAMPLES = 5
_CHOSEN = "chosen"  # the name of calibration for the chosen class
_EXPLAINED = (
    "When it says 80%, is it right in 80 of 100 cases? Samples are binned by the stated probability; each dot is "
    "the share of them that came true, the band its 95% interval. On the diagonal the system is well calibrated."
)


def _compose(visit: Visit) -> None:
    split, origin = visit.split(), visit.choices["system"]
    found = next(result for result in visit.board.headlines(split) if result.entry.origin == origin)
    visit.subject(named(found.entry.name, 60), "On ")
    visit.show(contamination_notice(visit.board, split), entry_page(visit.board, split, found, visit.links))


def entry_page(board: Board, split: SplitKey, result: ScoreCell, links: Links) -> Html:
    """The content below the page's title.

    Args:
        board: source of the data.
        split: the task and quarter.
        result: the entry's headline row.
        links: to pages.
    """
    origin, scale = result.entry.origin, whole_scale(board, split)
    known = board.systems(split).get(origin)
    by_period = board.by_period(split, result.entry)
    by_prompt = board.by_prompt(split, result.entry)
    drawn = heat_map({result.entry: by_period}, [one.period for one in by_period], scale)
    numbers = el("details", el("summary", "The numbers"), score_table("Period", by_period, scale))
    periods = [heading("By period"), drawn, numbers]
    prompts = [
        heading("By prompt", "The first row is the one that is ranked."),
        score_table("Prompt", by_prompt, scale),
    ]
    return join(
        [
            _place(board, split, result, scale),
            mistakes_section(board, split, by_period, by_prompt, links),
            _wrong_alone(board, split, origin, links),
            conduct_section(board.rows(ConductRow, split, origin=origin), split, links),
            reasons_of_system(board.reasons(split).get(origin, ()), split, links),
            *([] if is_frozen(split.edition) else periods),
            *(prompts if len(by_prompt) > 1 else []),
            calibration_section(board, split, origin),
            _facts(board, split, result, scale, known),
            bundled_notice(board.is_bundled(split)),
            _receipt(board.first(ReceiptRow, split, origin=origin), split),
            _run_record(known.manifest) if known and known.manifest else None,
        ]
    )


def _place(board: Board, split: SplitKey, result: ScoreCell, scale: Scale) -> Html:
    """Its score, its rank, and its place among all systems on one scale."""
    lines, origin, metric = all_lines(board, split), result.entry.origin, result.headline
    ranked = {line.result.entry.origin: line.rank for line in lines if line.rank and group_of(line.result) == "system"}
    place = f"rank {ranked[origin]} of {len(ranked):,}" if origin in ranked else "not ranked"
    place = "the only ranked system" if [*ranked] == [origin] else place
    return el(
        "section",
        el("h2", f"{figure(metric.value, metric.name)} {scale.title}, {place}", class_="hf-lead"),
        el("p", *_beside_others(board, split, origin, set(ranked)), class_="hf-verdict"),
        field(lines, board, split, scale, mine=origin),
        el("p", f"{scale.title} on {result.n:,} samples; bars are 95% intervals.", class_="hf-caption"),
        class_="hf-poster",
    )


def _beside_others(board: Board, split: SplitKey, origin: str, ranked: Collection[str]) -> Iterator[str]:
    """How many ranked systems it differs from, by direction."""
    pairs = [pair for other, pair in board.against(split, origin).items() if other in ranked and pair is not None]
    others = "other ranked system" if origin in ranked else "ranked system"
    kinds = Counter(lead_of(pair) for pair in pairs)
    better, worse = kinds[Lead.SIGNIFICANT], kinds[Lead.WORSE]
    level = len(pairs) - better - worse - kinds[Lead.UNTESTED]
    parts = [f"{said} {number:,}" for said, number in (("better than", better), ("worse than", worse)) if number]
    if parts and len(pairs) in (better, worse):
        every = f"all {len(pairs):,} {others}s" if len(pairs) > 1 else f"the {others}"
        yield f"Significantly {'better' if better else 'worse'} than {every}. "
    elif parts:
        yield f"Significantly {' and '.join(parts)} of the {len(pairs):,} {others}s. "
    if level:
        yield f"It does not differ significantly from {level:,} "
        yield "of them." if parts else f"{others}." if level == 1 else f"{others}s."


def _wrong_alone(board: Board, split: SplitKey, origin: str, links: Links) -> Html | None:
    """Samples on which it was wrong and most other systems right; None without any."""
    keys = marks_of(board, split).only_wrong(origin)
    if not keys:
        return None
    first = {row.id: row for row in samples_of(board, split, pl.col("id").is_in(keys[:_MOST_EXAMPLES]))}
    every = inner_link(links.to("samples", split, wrong=origin), "All samples on which it was wrong")
    said = f"Most other systems were right on {len(keys):,} samples on which it was wrong. "
    shown = sample_list([first[key] for key in keys if key in first], board, split, links)
    return join([heading("Wrong where others were right", said, every, "."), shown])


def _facts(board: Board, split: SplitKey, result: ScoreCell, scale: Scale, known: SystemFacts | None) -> Html:
    """What is known about the entry; facts that are not known, or do not apply, are left out."""
    entry, score, standing = result.entry, result.headline, board.standings(split).get(result.entry.origin)
    value, low, high = (figure(part, score.name) for part in (score.value, score.low, score.high))
    interval = f"{value}, {low} to {high} ({visible(result.method, 40)}; {result.clusters:,} clusters of samples)"
    rank = None
    if standing is not None and len(board.standings(split)) > 1:
        few = "; too few, uneven or skewed clusters of samples for reliable intervals" if standing.few_clusters else ""
        limits = f"{standing.low}" if standing.low == standing.high else f"between {standing.low} and {standing.high}"
        rank = f"{limits}; {chance(standing.first)} chance of being first{few}"
    failed = f"; {known.failed:,} failed and are not included" if known is not None and known.failed else ""
    silent = f"{result.none:,} without a readable answer, {result.blocked:,} refused" if result.no_answer else None
    entered = None
    if known is not None and known.entered:
        what = "the day its run started" if known.manifest else "the day of its receipt"
        entered = f"{visible(known.entered, 10)}, {what}"
    mark = _CONTAMINATION.get(known.contamination) if known and is_model(entry) else None
    cutoff = join([named(result.knowledge_cutoff, 30), f": {mark}" if mark else None])
    how = _PROVENANCES.get(entry.provenance, visible(entry.provenance, 30))
    rows: Sequence[tuple[str, Html | str | None]] = [
        ("Team", named(entry.team, 60)),
        ("95% interval", interval),
        ("Rank", rank),
        ("Regime", named(entry.regime, 30) if entry.regime not in NO_REGIME else None),
        ("Answers", None if is_frozen(split.edition) and entry.provenance == "uploaded" else how),
        ("No answer", silent),
        ("All prompts", _became(known)),
        ("Scored on", f"{result.n:,} of {result.n_split:,} samples{failed}"),
        ("Entered", entered),
        ("Main model", model_said(result.facts)),
        ("Cutoff", cutoff if result.knowledge_cutoff not in ("none", "") and is_model(entry) else None),
        ("Cost", _cost(known)),
        ("About it", named(result.about, 2000) if result.about else None),
    ]
    return join([heading("About this entry"), facts(rows)])


def _became(known: SystemFacts | None) -> str | None:
    """What became of the answers of a run, by its own record; None without one, or if all were read."""
    record = json.loads(known.manifest) if known and known.manifest else {}
    counts = record.get("counts", {})
    rest = [f"{counts[fate]:,} {words}" for fate, words in _FATES.items() if counts.get(fate)]
    if not rest:
        return None
    if elsewhere := record.get("elsewhere"):
        score = f"; read there, the score is {record['lenient']:.3f}" if "lenient" in record else ""
        rest.append(f"{elsewhere:,} of these state an answer later in the text, where it does not count{score}")
    return f"{counts['read']:,} of {counts['asked']:,} answers read; {'; '.join(rest)}"


def _cost(known: SystemFacts | None) -> str | None:
    if known is None or (known.cost_usd is None and known.tokens_in is None):
        return None
    cost = "price unknown" if known.cost_usd is None else money(known.cost_usd)
    if known.cost_usd and known.judged:
        cost += f", {money(known.cost_usd / known.judged)} a sample"
    if known.tokens_in is None:
        return f"{cost}; tokens unknown"
    return f"{cost}; {known.tokens_in:,} tokens in, {known.tokens_out or 0:,} out"


def conduct_section(rows: Sequence[ConductRow], split: SplitKey, links: Links) -> Html | None:
    """A line for each detectable kind of misconduct; None if there is none."""
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
        "How answers came about, as far as it can be seen. A line is a reason to look closer, not proof; what an agent "
        "does outside its tools is not seen."
    )
    listed = table("What it did that it should not", columns, lines, "hf-confusion")
    return join([heading("Conduct", about), scrolled(listed)])


def _receipt(receipt: ReceiptRow | None, split: SplitKey) -> Html | None:
    """The contents and time of a submission, as evidence that it was not changed since."""
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
    """The run's own record, for replication."""
    text = json.dumps(json.loads(manifest), indent=2, ensure_ascii=True, sort_keys=True)
    said = "What the run was made of: model, regime, prompts and samples with their hashes."
    return join([heading("Record of the run", said), el("details", el("summary", "run.json"), el("pre", text))])


def _copies(board: Board, split: SplitKey) -> Iterable[Choices]:
    return [{"system": origin} for origin in board.entries(split)]


def mistakes_section(
    board: Board,
    split: SplitKey,
    by_period: Sequence[ScoreCell],
    by_prompt: Sequence[ScoreCell],
    links: Links,
) -> Html | None:
    """The section on mistakes; None for tasks without classes.

    Args:
        board: source of the data.
        split: the task and quarter.
        by_period, by_prompt: its scores; the first prompt is the headline.
        links: to pages.
    """
    title, scale, origin = "What it is good and bad at", scale_of(board, split), by_prompt[0].entry.origin
    found, cells = board.first(Mistakes, split, origin=origin), board.rows(ConfusionCell, split, origin=origin)
    if found is None:
        revealed = board.is_revealed(split)
        said = "The board does not have its answers." if revealed else "Shown once the labels are revealed."
        return join([heading(title), el("p", said)]) if scale.classes else None
    weak = [_weakest("period", by_period, scale), _weakest("prompt", by_prompt[1:], scale)]
    return join(
        [
            heading(title),
            _sentence(found, links.to("samples", split, wrong=found.origin)),
            el("ul", *(el("li", line) for line in weak if line)) if any(weak) else None,
            _confusion(cells, split),
            _by_class(cells, by_prompt[0], scale),
        ]
    )


def _sentence(found: Mistakes, address: str | None) -> Html:
    if not found.wrong:
        return el("p", f"Nowhere: it was right on all {found.n:,} samples.")
    see = inner_link(address, "See these samples") if address is not None else None
    share = f"It was wrong on {found.wrong:,} of {found.n:,} samples ({found.wrong / found.n:.0%}). "
    return el("p", share, see, "." if see else None)


def _confusion(cells: Sequence[ConfusionCell], split: SplitKey) -> Html:
    """Rows are true classes, columns chosen classes, missing answers and refusals."""
    highest = max((max(cell.label, cell.said) for cell in cells), default=0)
    names = class_names(split.task, max(highest + 1, 2))
    heads = [(label, f"It said {name}") for label, name in enumerate(names)]
    counts = {(cell.label, cell.said): cell.samples for cell in cells}
    silent = ((NO_ANSWER, "No answer"), (REFUSED, "Blocked"))
    heads = [*reversed(heads), *(one for one in silent if any(said == one[0] for _, said in counts))]
    columns: list[Column] = [("name", "Truth"), *(("number", head) for _, head in heads), ("number", "Right")]
    rows = []
    for label in reversed(range(len(names))):
        found = {said: counts.get((label, said), 0) for said, _ in heads}
        whole = sum(found.values())
        said = (el("strong", f"{found[k]:,}") if k == label else f"{found[k]:,}" for k, _ in heads)
        share = f"{found[label] / whole:.0%}" if whole else DASH
        rows.append([(named(names[label], 60), f"{whole:,} samples"), *said, share])
    return scrolled(table("Its answers, by the class that samples have", columns, rows, "hf-confusion"))


def _by_class(cells: Sequence[ConfusionCell], result: ScoreCell, scale: Scale) -> Html | None:
    """The metrics of each class with their intervals, and its number of samples; None if absent."""
    if not scale.by_class:
        return None
    support = {label: sum(cell.samples for cell in cells if cell.label == label) for label in range(len(scale.classes))}
    kinds = list(dict.fromkeys(title.partition(": ")[0] for _, title in scale.by_class))
    values = {title: result.metric(name) for name, title in scale.by_class}
    rows = (
        [named(name, 60), *(score(values.get(f"{kind}: {name}")) for kind in kinds), f"{support[label]:,}"]
        for label, name in reversed(list(enumerate(scale.classes)))
    )
    columns: list[Column] = [("name", "Class"), *(("number", kind) for kind in kinds), ("number", "Support")]
    title = "Scores of each class"
    return join([el("h3", title), scrolled(table(title, columns, rows, "hf-confusion"))])


def _weakest(what: str, results: Sequence[ScoreCell], scale: Scale) -> str | None:
    """The worst scores and the best one with their intervals; None if these overlap, as chance explains that."""
    if len(results) < 2:
        return None
    ordered = sorted(results, key=lambda result: (-scale.order(result.headline.value), str(getattr(result, what))))
    worst, best = ordered[0].headline, ordered[-1].headline
    if not (worst.high < best.low or best.high < worst.low):
        return None
    weak = ", ".join(_one(what, result) for result in ordered[: min(_WEAKEST, len(ordered) - 1)])
    return f"Best {what} by {scale.title}: {_one(what, ordered[-1])}; weakest: {weak}."


def _one(what: str, result: ScoreCell) -> str:
    return f"{visible(str(getattr(result, what)), 40)} with {estimate(result.headline, 2)}"


def calibration_section(board: Board, split: SplitKey, origin: str) -> Html | None:
    """An entry's calibration: a reliability plot with its table, Brier score and ECE; None if it states no chances."""
    found = sorted(
        board.rows(CalibrationRow, split, origin=origin),
        key=lambda row: (not row.headline, row.prompt, row.subject != _CHOSEN, row.subject),
    )
    if not found or not board.is_revealed(split):
        return None
    first = found[0]
    if first.brier is None:
        said = f"It states probabilities on {first.n:,} samples, too few to judge its calibration."
        return join([heading("Calibration"), el("p", said)])
    bins = board.rows(ReliabilityBin, split, origin=origin, prompt=first.prompt, subject=first.subject)
    share = "Was right" if first.subject == _CHOSEN else f"Was {first.subject}"
    steps: Iterable[list[Cell]] = (
        [f"{step.confidence:.0%}", (f"{step.share:.0%}", f"{step.low:.0%}{DASH}{step.high:.0%}"), f"{step.n:,}"]
        for step in bins
    )
    columns = [("number", "It said"), ("number", share), ("number", "Samples")]
    listed = table("Stated probabilities and what came true", columns, steps, "hf-bins")
    about = f"of {_subject(first.subject)}, in {first.clusters:,} clusters; prompt: {first.prompt}"
    brier = "the mean squared error of the probabilities; always saying 50% gives 0.25"
    ece = (
        "the mean distance from the diagonal. Chance pushes it up; the first figure in brackets has most of that taken "
        "out and is an upper bound. A high p says nothing: with few samples a large error goes unseen"
    )
    limits = DASH
    if first.brier.low is not None and first.brier.high is not None:
        limits = f"{first.brier.value:.3f} ({first.brier.low:.3f} to {first.brier.high:.3f})"
    lines = [
        ("Brier score", limits, brier),
        ("ECE", _error(first), ece),
        ("Stated on", f"{first.n:,} samples", about),
    ]
    figures = facts((term, join([value, el("small", f" {what}.")])) for term, value, what in lines)
    drawn = el("div", reliability_plot(bins), listed, class_="hf-beside")
    few = el("p", "There are too few clusters of samples for reliable intervals.") if first.few_clusters else None
    return join([heading("Calibration", _EXPLAINED), figures, few, drawn])


def _subject(name: str) -> str:
    """The subject of the probability."""
    return "the chosen answer" if name == _CHOSEN else f"“{name}”"


def _error(found: CalibrationRow) -> str:
    """ECE, its debiased value, and the test of calibration."""
    if found.ece is None or found.ece_debiased is None:
        return DASH
    tested = "" if found.ece_p_value is None else f"; calibrated: p = {found.ece_p_value:.3f}"
    return f"{found.ece:.3f} ({found.ece_debiased:.3f}{tested})"


PAGE = Page("System", "system", _compose, _LEDE, _copies, "systems")
