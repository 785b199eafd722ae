"""Where the samples come from, how they are spread over classes, time and lengths, and how to verify a release."""

from __future__ import annotations

from hellofresh.tasks.samples import MAIN
from leaderboard.components.pieces import bundled_notice
from leaderboard.components.quarters import dataset_section
from leaderboard.components.release import balance_of, funnel, get_samples, release_sections
from leaderboard.views.visit import Page, Visit

_LEDE = "Where the samples come from, how they are spread, what is released, and how to verify it."


def _compose(visit: Visit) -> None:
    visit.header("Data", _LEDE)
    board = visit.board
    split = visit.split()
    bundled = bundled_notice("These rows were written for the project. They show the machinery only.")
    visit.show(bundled if board.is_bundled(split) else None)
    dataset = dataset_section(board, split)
    if dataset is not None:
        visit.show(dataset)
    elif split.kind == MAIN:
        visit.show(funnel(board, split), balance_of(board, split))
    files, addresses = board.released(split), {}
    if not visit.live:
        addresses = {name: visit.attach(f"released/{name}", path.read_bytes()) for name, path in files.items()}
    visit.show(get_samples(board, split, addresses))
    with visit.row():
        for name, path in files.items():
            visit.button(f"Download {name}", path.read_bytes, f"{'-'.join(split)}-{name}", "application/jsonl")
    visit.show(release_sections(board, split))


PAGE = Page("Data", "data", _compose, _LEDE)
