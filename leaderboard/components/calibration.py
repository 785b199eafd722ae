"""Whether an entry's stated probabilities are true: a reliability plot with its table, Brier score and ECE."""

from __future__ import annotations

from collections.abc import Sequence

from hellofresh.results.board.schema import CalibrationRow, ReliabilityBin
from leaderboard.components.charts import reliability_plot
from leaderboard.components.markup import DASH, Html, el, join, named
from leaderboard.components.pieces import cell, heading, table
from leaderboard.data.records import CHOSEN

__all__ = ["calibration_section"]

_EXPLAINED = (
    "When it says 80%, is it right in 80 of 100 cases? Samples are binned by the stated probability; each dot is "
    "the share of them that came true, the band its 95% interval. On the diagonal the system is well calibrated."
)
_BRIER = "the mean squared error of the probabilities; always saying 50% gives 0.25"
_ECE = "the mean distance from the diagonal; it cannot be below 0, so chance pushes it up"


def calibration_section(found: Sequence[tuple[CalibrationRow, Sequence[ReliabilityBin]]], *, revealed: bool) -> Html:
    """The section on one entry.

    Args:
        found: for each prompt with stated probabilities the figures and the curve, the one to draw first.
        revealed: whether the quarter's labels are public.
    """
    if not revealed:
        return join([heading("Calibration"), el("p", "Shown once the labels are revealed.")])
    if not found:
        return join([heading("Calibration"), el("p", "It states no probabilities.")])
    first, bins = found[0]
    if first.brier is None:
        said = f"It states probabilities on {first.n:,} samples, too few to judge its calibration."
        return join([heading("Calibration"), el("p", said)])
    drawn = el("div", reliability_plot(bins), _bin_table(bins, first.subject), class_="hf-beside")
    few = el("p", "There are too few clusters of samples for reliable intervals.") if first.few_clusters else None
    return join([heading("Calibration", _EXPLAINED), _figures(first), few, drawn, _prompts(found)])


def _figures(found: CalibrationRow) -> Html:
    lines = [
        ("Brier score", _limits(found.brier, found.brier_low, found.brier_high), _BRIER),
        ("ECE", _limits(found.ece, found.ece_low, found.ece_high), _ECE),
        (
            "Stated on",
            f"{found.n:,} samples",
            f"of {_subject(found.subject)}, in {found.clusters:,} clusters; prompt: {found.prompt}",
        ),
    ]
    return el("dl", *(el("div", el("dt", term), el("dd", value, el("small", f" {what}."))) for term, value, what
                      in lines), class_="hf-facts")  # fmt: skip


def _subject(name: str) -> str:
    """Whose probability is judged."""
    return "the chosen answer" if name == CHOSEN else f"“{name}”"


def _limits(value: float | None, low: float | None, high: float | None) -> str:
    return DASH if value is None or low is None or high is None else f"{value:.3f} ({low:.3f} to {high:.3f})"


def _bin_table(bins: Sequence[ReliabilityBin], subject: str) -> Html:
    share = "Was right" if subject == CHOSEN else f"Was {subject}"
    columns = [("number", "It said"), ("number", share), ("number", "Samples")]
    rows = (
        el(
            "tr",
            cell("It said", f"{step.confidence:.0%}"),
            cell(share, f"{step.share:.0%}", f"{step.low:.0%}{DASH}{step.high:.0%}"),
            cell("Samples", f"{step.n:,}"),
            role="row",
        )
        for step in bins
    )
    return table("Stated probabilities and what came true", columns, [el("tbody", *rows, role="rowgroup")], "hf-bins")


def _prompts(found: Sequence[tuple[CalibrationRow, Sequence[ReliabilityBin]]]) -> Html | None:
    """The figures of all prompts, where there are several."""
    if len(found) < 2:
        return None
    columns = [("name", "Prompt"), ("number", "Brier score"), ("number", "ECE"), ("number", "Samples")]
    rows = (
        el(
            "tr",
            cell("Prompt", named(one.prompt, 60), _subject(one.subject), "name"),
            _cell("Brier score", one.brier, one.brier_low, one.brier_high),
            _cell("ECE", one.ece, one.ece_low, one.ece_high),
            cell("Samples", f"{one.n:,}"),
            role="row",
        )
        for one, _ in found
    )
    body = el("tbody", *rows, role="rowgroup")
    return el(
        "details",
        el("summary", "Every prompt and class"),
        table("Calibration by prompt", columns, [body], "hf-prompts"),
    )


def _cell(label: str, value: float | None, low: float | None, high: float | None) -> Html:
    if value is None or low is None or high is None:
        return cell(label, DASH)
    return cell(label, f"{value:.3f}", f"{low:.2f}{DASH}{high:.2f}")
