"""Sample sources written for this project: two quarters of both tasks, rendered in exactly the real formats.

The texts are in `notes/` (a file a month) and `articles/` (a file an article, with its history). They show the
machinery; they rank nobody. `claims/` has claims with reviews for trying the task claims, which no default release has.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from collectors.sample._articles import write_history as _write_history
from collectors.sample._claims import write_feed as _write_feed
from collectors.sample._notes import write_dump as _write_dump
from hellofresh.core.quarters import Quarter

__all__ = ["QUARTERS", "texts", "write_claims_feed", "write_history", "write_notes_dump"]

QUARTERS = (Quarter(2026, 2), Quarter(2026, 3))


def _folder(name: str) -> Path:
    return Path(str(files("collectors.sample").joinpath(name)))


def texts() -> list[Path]:
    """The files in which the sample's texts are written down."""
    return sorted([*_folder("notes").glob("*.toml"), *_folder("articles").glob("*.toml")])


def write_notes_dump(folder: Path) -> None:
    """Write the Community Notes dump: notes, status history, ratings, enrolment (TSV shards) and posts (JSONL)."""
    _write_dump(_folder("notes"), folder)


def write_history(path: Path) -> None:
    """Write all articles with their histories as one export of schema 0.11, compressed with bzip2."""
    _write_history(_folder("articles"), path)


def write_claims_feed(path: Path) -> None:
    """Write the claims as a feed of reviews; no default release has them."""
    _write_feed(_folder("claims") / "claims.toml", path)
