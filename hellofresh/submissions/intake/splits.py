"""The splits of a quarter that predictions are taken on, and how the files of each are named in a submission's folder.

A folder has one `system.toml`; predictions and receipt of each split lie beside it under names of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["MAIN", "PROSPECTIVE_SPLIT", "SPLITS", "SubmissionSplit"]


@dataclass(frozen=True, slots=True)
class SubmissionSplit:
    """A split and its files: predictions as JSON lines or as a table, and the receipt."""

    name: str
    jsonl: str
    csv: str
    receipt: str

    @property
    def files(self) -> tuple[str, str, str]:
        """Names of all its files."""
        return self.jsonl, self.csv, self.receipt

    def is_in(self, folder: Path) -> bool:
        """Whether a folder has any of its files."""
        return any((folder / name).exists() or (folder / name).is_symlink() for name in self.files)


MAIN = SubmissionSplit("main", "predictions.jsonl", "predictions.csv", "receipt.json")
PROSPECTIVE_SPLIT = SubmissionSplit("prospective", "prospective.jsonl", "prospective.csv", "receipt_prospective.json")
SPLITS = (MAIN, PROSPECTIVE_SPLIT)
