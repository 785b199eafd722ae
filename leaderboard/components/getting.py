"""How to get the samples, and where the project lives: as far as the board says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hellofresh.core.editions import split_name
from hellofresh.results.board.manifest import BoardAddresses
from leaderboard.components.markup import Html, el, inner_link, join, link, visible
from leaderboard.components.pieces import heading
from leaderboard.data.tables import MAIN, Board, SplitKey

__all__ = ["get_samples", "project_links"]

_HUB = "https://huggingface.co/datasets/"
_FOLDER = "data/published"
_MEANINGS = {
    "samples.jsonl": "what is asked", "labels.jsonl": "labels, facts and salts",
    "outcomes.jsonl": "what became of them",
    "commitments.jsonl": "hashes of the labels, published before the reveal", "predictions.jsonl": "what systems said",
    "scores.jsonl": "how they were scored",
}  # fmt: skip


def get_samples(board: Board, split: SplitKey, addresses: Mapping[str, str]) -> Html | None:
    """The files to take away, and the lines that load the same samples in Python.

    Args:
        board: the board.
        split: whose samples.
        addresses: of the files by name; empty where they stand as buttons below.
    """
    files = board.released(split)
    if not files:
        return None
    told = (
        el("li", inner_link(address, name), f": {_MEANINGS[name]}" if name in _MEANINGS else None)
        for name, address in addresses.items()
    )
    said = "The released files as they are, whose hashes stand below."
    lines = [el("p", "The same in Python:"), el("pre", _loading(board.addresses, split))]
    return el("section", heading("Get the samples", said), el("ul", *told) if addresses else None, *lines)


def _loading(addresses: BoardAddresses, split: SplitKey) -> str:
    config = split.task if split.kind == MAIN else f"{split.task}-{split.kind}"
    name = addresses.dataset or _FOLDER
    note = "" if addresses.dataset else "  # made by: hellofresh release publish"
    return (
        "from datasets import load_dataset\n\n"
        f'load_dataset("{name}", "{visible(config)}", split="{visible(split_name(split.edition))}"){note}'
    )


def project_links(board: Board) -> Html | None:
    """Ways to the repository, the issues and the data set; None where none is known."""
    ways = list(_ways(board.addresses))
    items = (el("span", way, " ") for way in ways)
    return el("p", *items, class_="hf-project") if ways else None


def _ways(addresses: BoardAddresses) -> Iterator[Html]:
    if addresses.repository:
        yield link(addresses.repository, "Repository")
    if addresses.issues:
        yield link(addresses.issues, "Report an issue")
    if addresses.dataset:
        yield join([link(f"{_HUB}{addresses.dataset}", "Data set")])
