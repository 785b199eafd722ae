"""Where an entry fails: what it said by class, its weakest periods and prompts, and who did better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hellofresh.results.board.schema import NO_ANSWER, REFUSED, ConfusionCell, Mistakes
from leaderboard.components.links import Links
from leaderboard.components.markup import DASH, Html, el, inner_link, join, named, visible
from leaderboard.components.pieces import cell, heading, metric_cell, table
from leaderboard.components.scale import Scale, class_names
from leaderboard.data.tables import ScoreCell, SplitKey

__all__ = ["mistakes_section"]

_WEAKEST = 3


def mistakes_section(
    found: Mistakes | None,
    cells: Sequence[ConfusionCell],
    by_period: Sequence[ScoreCell],
    by_prompt: Sequence[ScoreCell],
    *,
    split: SplitKey,
    links: Links,
    scale: Scale,
    revealed: bool,
) -> Html:
    """The section on one entry.

    Args:
        found: its mistakes, None where they are not known.
        cells: what it said, by the class that samples have.
        by_period, by_prompt: its scores; the first prompt stands for it.
        split: of which task and quarter.
        links: where pages are.
        scale: of its scores.
        revealed: whether the quarter's labels are public.
    """
    title = "Where it fails"
    if found is None:
        said = "The board does not hold its answers." if revealed else "Shown once the labels are revealed."
        return join([heading(title), el("p", said)])
    weak = [_weakest("period", by_period, scale), _weakest("prompt", by_prompt[1:], scale)]
    return join(
        [
            heading(title),
            _sentence(found, split, links),
            _confusion(cells, split),
            _by_class(cells, next(iter(by_prompt), None), scale),
            el("ul", *(el("li", line) for line in weak if line)) if any(weak) else None,
        ]
    )


def _sentence(found: Mistakes, split: SplitKey, links: Links) -> Html:
    if not found.wrong:
        return el("p", f"Nowhere: it was right on all {found.n:,} samples.")
    address = links.wrong_samples(split, found.origin)
    see = inner_link(address, "See these samples") if address is not None else None
    share = f"It was wrong on {found.wrong:,} of {found.n:,} samples ({found.wrong / found.n:.0%}). "
    if not found.compared:
        return el("p", share, see, "." if see else None)
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
    columns = [("name", "Truth"), *(("number", head) for _, head in heads), ("number", "Right")]
    rows = (_row(label, names[label], heads, counts) for label in reversed(range(len(names))))
    body = el("tbody", *rows, role="rowgroup")
    square = table("Its answers, by the class that samples have", columns, [body], "hf-confusion")
    return el("div", square, class_="hf-scroll")


def _row(label: int, name: str, heads: Sequence[tuple[int, str]], counts: Mapping[tuple[int, int], int]) -> Html:
    found = {said: counts.get((label, said), 0) for said, _ in heads}
    whole = sum(found.values())
    share = f"{found[label] / whole:.0%}" if whole else DASH
    cells = (cell(head, el("strong", f"{found[said]:,}") if said == label else f"{found[said]:,}")
             for said, head in heads)  # fmt: skip
    return el("tr", cell("Truth", named(name, 60), f"{whole:,} samples", "name"), *cells, cell("Right", share),
              role="row")  # fmt: skip


def _by_class(cells: Sequence[ConfusionCell], result: ScoreCell | None, scale: Scale) -> Html | None:
    """The metrics of each class with their intervals, and how many samples have it; None where there are none."""
    if result is None or not scale.by_class:
        return None
    support = {label: sum(cell.samples for cell in cells if cell.label == label) for label in range(len(scale.classes))}
    kinds = list(dict.fromkeys(title.partition(": ")[0] for _, title in scale.by_class))
    values = {title: result.metric(name) for name, title in scale.by_class}
    rows = (
        el("tr", cell("Class", named(name, 60), None, "name"),
           *(metric_cell(kind, values.get(f"{kind}: {name}")) for kind in kinds),
           cell("Support", f"{support[label]:,}"), role="row")
        for label, name in reversed(list(enumerate(scale.classes)))
    )  # fmt: skip
    columns = [("name", "Class"), *(("number", kind) for kind in kinds), ("number", "Support")]
    body = el("tbody", *rows, role="rowgroup")
    scores = table("Scores of each class", columns, [body], "hf-confusion")
    return join([el("h3", "Scores of each class"), el("div", scores, class_="hf-scroll")])


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
    return f"{visible(str(getattr(result, what)), 40)} with {score.value:.2f} ({score.low:.2f} to {score.high:.2f})"
