"""Where an entry fails: what it said by what people decided, its weakest periods and prompts, and who did better."""

from __future__ import annotations

from collections.abc import Sequence

from hellofresh.board.schema import Mistakes
from hellofresh.tasks import TASKS
from leaderboard.components.links import Links
from leaderboard.components.markup import Html, el, inner_link, join, visible
from leaderboard.components.pieces import cell, heading, table
from leaderboard.components.scale import Scale
from leaderboard.data.tables import ScoreCell, SplitKey

__all__ = ["mistakes_section"]

_WEAKEST = 3
_SAID = ("yes", "no", "none", "blocked")


def mistakes_section(
    found: Mistakes | None,
    by_period: Sequence[ScoreCell],
    by_prompt: Sequence[ScoreCell],
    split: SplitKey,
    links: Links,
    *,
    scale: Scale,
    revealed: bool,
) -> Html:
    """The section on one entry.

    Args:
        found: its mistakes, None where they are not known.
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
            _confusion(found, split),
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


def _confusion(found: Mistakes, split: SplitKey) -> Html:
    task = TASKS.get(split.task)
    decided = (task.positive, task.negative) if task else ("label 1", "label 0")
    columns = [("name", "People decided"), *(("number", _head(said)) for said in _SAID), ("number", "Right")]
    body = el("tbody", *(_decided(found, side, name) for side, name in zip(("positive", "negative"), decided,
                                                                           strict=True)), role="rowgroup")  # fmt: skip
    return table("Its answers, by the decision of people", columns, [body], "hf-confusion")


def _decided(found: Mistakes, side: str, name: str) -> Html:
    counts = {said: int(getattr(found, f"{side}_{said}")) for said in _SAID}
    whole, right = sum(counts.values()), "yes" if side == "positive" else "no"
    share = f"{counts[right] / whole:.0%}" if whole else "-"
    cells = (cell(_head(said), el("strong", f"{number:,}") if said == right else f"{number:,}")
             for said, number in counts.items())  # fmt: skip
    return el("tr", cell("People decided", name, f"{whole:,} samples", "name"), *cells, cell("Right", share),
              role="row")  # fmt: skip


def _head(said: str) -> str:
    return {"yes": "It said yes", "no": "It said no", "none": "No answer", "blocked": "Blocked"}[said]


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
