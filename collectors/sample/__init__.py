"""The bundled sample: four quarters of notes and edits and some claims, in exactly the formats of the real sources.

All of it was written for this project; it demonstrates the software and ranks no system. `benchmarks/made/sample` has
the texts and the code that renders them.
"""

from __future__ import annotations

import lzma
from pathlib import Path

from hellofresh.core.files import write_bytes
from hellofresh.core.quarters import Quarter

__all__ = ["CLAIMS_QUARTERS", "QUARTERS", "files", "write_claims_feed", "write_history", "write_notes_dump"]

QUARTERS = (Quarter(2025, 4), Quarter(2026, 1), Quarter(2026, 2), Quarter(2026, 3))
CLAIMS_QUARTERS = QUARTERS[2:]
_HERE = Path(__file__).parent


def files() -> list[Path]:
    """The packed files of the sample."""
    return sorted([*_HERE.glob("*.xz"), *_HERE.glob("*.bz2")])


def write_notes_dump(folder: Path) -> None:
    """Write the Community Notes dump: notes, status history, ratings, enrolment (TSV shards) and posts (JSONL)."""
    for path in [*_HERE.glob("*.tsv.xz"), *_HERE.glob("*.jsonl.xz")]:
        write_bytes(folder / path.stem, lzma.decompress(path.read_bytes()))


def write_history(path: Path) -> None:
    """Write all articles with their histories as one export of schema 0.11, compressed with bzip2."""
    write_bytes(path, (_HERE / "history.xml.bz2").read_bytes())


def write_claims_feed(path: Path) -> None:
    """Write the claims as a feed of reviews."""
    write_bytes(path, lzma.decompress((_HERE / "feed.json.xz").read_bytes()))
