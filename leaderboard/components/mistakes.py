"""Where an entry fails: what it said by class, its weakest periods and prompts, and how true its probabilities are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hellofresh.leaderboard.components.charts import reliability_plot
from hellofresh.leaderboard.components.labels import Links
from hellofresh.leaderboard.components.markup import DASH, Html, el, inner_link, join, named, visible
from hellofresh.leaderboard.components.pieces import heading
from hellofresh.leaderboard.components.scale import Scale, class_names, figure, scale_of
from hellofresh.leaderboard.components.tables import Cell, Column, facts, score, scrolled, table
from hellofresh.leaderboard.data.board import Board, ScoreCell, SplitKey
from hellofresh.results.board.schema import NO_ANSWER, REFUSED, CalibrationRow, ConfusionCell, Mistakes, ReliabilityBin

_WEAKEST = 3
_CHOSEN = "chosen"
"""Where calibration is about the chosen class, whichever that is."""
_EXPLAINED = (
    "When it says 80%, is it right in 80 of 100 cases? Samples are binned by the stated probability; each dot is "
    "the share of them that came true, the band its 95% interval. On the diagonal the system is well calibrated."
)


def mistakes_section(
    board: Board,
    split: SplitKey,
    by_period: Sequence[ScoreCell],
    by_prompt: Sequence[ScoreCell],
    links: Links,
) -> Html | None:
    """The section on one entry; None where nothing is chosen, so that nothing can be mistaken.

    Args:
        board: what is known.
        split: of which task and quarter.
        by_period, by_prompt: its scores; the first prompt stands for it.
        links: where pages are.
    """
    title, scale, origin = "Where it fails", scale_of(board, split), by_prompt[0].entry.origin
    found, cells = board.first(Mistakes, split, origin=origin), board.rows(ConfusionCell, split, origin=origin)
    if found is None:
        revealed = board.is_revealed(split)
        said = "The board does not hold its answers." if revealed else "Shown once the labels are revealed."
        return join([heading(title), el("p", said)]) if scale.classes else None
    weak = [_weakest("period", by_period, scale), _weakest("prompt", by_prompt[1:], scale)]
    return join(
        [
            heading(title),
            _sentence(found, links.to("samples", split, wrong=found.origin)),
            _confusion(cells, split),
            _by_class(cells, by_prompt[0], scale),
            el("ul", *(el("li", line) for line in weak if line)) if any(weak) else None,
        ]
    )


def _sentence(found: Mistakes, address: str | None) -> Html:
    if not found.wrong:
        return el("p", f"Nowhere: it was right on all {found.n:,} samples.")
    see = inner_link(address, "See these samples") if address is not None else None
    share = f"It was wrong on {found.wrong:,} of {found.n:,} samples ({found.wrong / found.n:.0%}). "
    others = None
    if found.compared:
        others = (
            f"On {found.others_right:,} of the {found.compared:,} that other ranked systems judged too "
            f"({found.others_right / found.compared:.0%}) more than half of them were right. "
        )
    return el("p", share, others, see, "." if see else None)


def _confusion(cells: Sequence[ConfusionCell], split: SplitKey) -> Html:
    """A row for each class that samples have, a column for each that was chosen, for silence and for refusals."""
    highest = max((max(cell.label, cell.said) for cell in cells), default=0)
    names = class_names(split.task, max(highest + 1, 2))
    heads = [(label, f"It said {name}") for label, name in enumerate(names)]
    heads = [*reversed(heads), (NO_ANSWER, "No answer"), (REFUSED, "Blocked")]
    counts = {(cell.label, cell.said): cell.samples for cell in cells}
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
    """The metrics of each class with their intervals, and how many samples have it; None if absent."""
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
    """The worst scores with their intervals, and whether chance alone may have set them apart from the best."""
    if len(results) < 2:
        return None
    ordered = sorted(results, key=lambda result: (-scale.order(result.headline.value), str(getattr(result, what))))
    worst, best = ordered[0].headline, ordered[-1].headline
    if worst.value == best.value:
        return None
    named = ", ".join(_one(what, result) for result in ordered[: min(_WEAKEST, len(ordered) - 1)])
    apart = worst.high < best.low or best.high < worst.low
    rest = "" if apart else ". The intervals overlap: this may be chance"
    return f"Weakest {what}s by {scale.title}: {named}; the best is {_one(what, ordered[-1])}{rest}."


def _one(what: str, result: ScoreCell) -> str:
    score = result.headline
    value, low, high = (figure(part, score.name, 2) for part in (score.value, score.low, score.high))
    return f"{visible(str(getattr(result, what)), 40)} with {value} ({low} to {high})"


def calibration_section(board: Board, split: SplitKey, origin: str) -> Html:
    """Whether an entry's stated probabilities are true: a reliability plot with its table, Brier score and ECE."""
    if not board.is_revealed(split):
        return join([heading("Calibration"), el("p", "Shown once the labels are revealed.")])
    found = sorted(
        board.rows(CalibrationRow, split, origin=origin),
        key=lambda row: (not row.headline, row.prompt, row.subject != _CHOSEN, row.subject),
    )
    if not found:
        return join([heading("Calibration"), el("p", "It states no probabilities.")])
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
    ece = "the mean distance from the diagonal; chance pushes it up, which the first figure in brackets has taken out"
    limits = DASH
    if first.brier_low is not None and first.brier_high is not None:
        limits = f"{first.brier:.3f} ({first.brier_low:.3f} to {first.brier_high:.3f})"
    lines = [
        ("Brier score", limits, brier),
        ("ECE", _error(first), ece),
        ("Stated on", f"{first.n:,} samples", about),
    ]
    figures = facts((term, join([value, el("small", f" {what}.")])) for term, value, what in lines)
    drawn = el("div", reliability_plot(bins), listed, class_="hf-beside")
    few = el("p", "There are too few clusters of samples for reliable intervals.") if first.few_clusters else None
    prompts = _prompts(found) if len(found) > 1 else None
    return join([heading("Calibration", _EXPLAINED), figures, few, drawn, prompts])


def _subject(name: str) -> str:
    """Whose probability is judged."""
    return "the chosen answer" if name == _CHOSEN else f"“{name}”"


def _error(found: CalibrationRow) -> str:
    """ECE, without its bias, and the test of calibration."""
    if found.ece is None or found.ece_debiased is None:
        return DASH
    tested = "" if found.ece_p_value is None else f"; calibrated: p = {found.ece_p_value:.3f}"
    return f"{found.ece:.3f} ({found.ece_debiased:.3f}{tested})"


def _prompts(found: Sequence[CalibrationRow]) -> Html:
    """The figures of all prompts."""
    rows: list[list[Cell]] = []
    for one in found:
        brier: Cell = DASH
        if one.brier is not None and one.brier_low is not None and one.brier_high is not None:
            brier = f"{one.brier:.3f}", f"{one.brier_low:.2f}{DASH}{one.brier_high:.2f}"
        rows.append([(named(one.prompt, 60), _subject(one.subject)), brier, _error(one), f"{one.n:,}"])
    columns = [("name", "Prompt"), ("number", "Brier score"), ("number", "ECE"), ("number", "Samples")]
    listed = scrolled(table("Calibration by prompt", columns, rows, "hf-prompts"))
    return el("details", el("summary", "Every prompt and class"), listed)
