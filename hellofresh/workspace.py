"""Where each stage's files live. `data/` in the current folder, or what HELLOFRESH_DATA names."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from hellofresh.quarters import Quarter

__all__ = ["Workspace"]


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folders of one benchmark workspace; nothing is created until a stage writes.

    Attributes:
        root: the workspace's folder.
    """

    root: Path

    @classmethod
    def from_environment(cls) -> Workspace:
        """The workspace that HELLOFRESH_DATA names, else `data` in the current folder."""
        return cls(Path(os.environ.get("HELLOFRESH_DATA") or "data"))

    def portable(self, path: Path) -> str:
        """A path in the workspace as texts that may leave this machine name it: `data/...`, wherever that is."""
        return f"data/{path.relative_to(self.root).as_posix()}"

    def located(self, sentence: str) -> str:
        """A sentence that names such paths, with them as they are on this machine."""
        return sentence.replace(" data/", f" {self.root}/")

    def raw(self, task: str, source: str) -> Path:
        """Folder of source files as they were fetched or rendered."""
        return self.root / "raw" / task / source

    def snapshots(self, task: str) -> Path:
        """Folder of downloaded dumps, a folder a day."""
        return self.root / "raw" / task

    def candidates(self, task: str, quarter: Quarter) -> Path:
        """Parquet file of a collector's candidates."""
        return self.root / "candidates" / task / f"{quarter}.parquet"

    def collection(self, task: str, quarter: Quarter) -> Path:
        """JSON file beside the candidates: sources, parameters, funnel."""
        return self.root / "candidates" / task / f"{quarter}.json"

    def pending(self, task: str, quarter: Quarter) -> Path:
        """JSONL file beside the candidates: samples that nobody had decided yet."""
        return self.root / "candidates" / task / f"{quarter}.pending.jsonl"

    def release(self, quarter: Quarter, task: str) -> Path:
        """Folder of what is public of a quarter and task."""
        return self.root / "releases" / str(quarter) / task

    def private(self, quarter: Quarter, task: str) -> Path:
        """Folder of what stays private until the quarter is revealed."""
        return self.root / "private" / str(quarter) / task

    def hydrated(self, quarter: Quarter, task: str) -> Path:
        """File of samples whose texts were filled in on this machine."""
        return self.root / "hydrated" / str(quarter) / task / "samples.jsonl"

    def gone(self, quarter: Quarter, task: str) -> Path:
        """File of samples whose texts were found to be gone when they were last filled in."""
        return self.hydrated(quarter, task).with_name("gone.jsonl")

    @property
    def escrow_key(self) -> Path:
        """The secret from which the salts of label commitments are derived."""
        return self.root / "private" / "escrow.key"

    @property
    def runs(self) -> Path:
        """Folder of evaluation runs, one folder each."""
        return self.root / "runs"

    def side(self, *, private: bool) -> Path:
        """Where what labels tell is kept: `private` for splits whose labels are not public, else the root."""
        return self.root / "private" if private else self.root

    def scores(self, quarter: Quarter, split: str = "main", *, private: bool = False) -> Path:
        """Parquet file of all scores of a quarter and split whose labels are public, or of those whose are not."""
        folder = self.side(private=private) / "scores"
        return (folder if split == "main" else folder / split) / f"{quarter}.parquet"

    def is_scored(self, quarter: Quarter) -> bool:
        """Whether the main split of any task of the quarter has scores, public ones or private ones."""
        return any(self.scores(quarter, private=private).is_file() for private in (False, True))

    def analyses(self, quarter: Quarter, task: str, *, private: bool = False) -> Path:
        """Folder of the tables and figures made of a quarter and task."""
        return self.side(private=private) / "analyses" / str(quarter) / task

    @property
    def board(self) -> Path:
        """Folder of the tables that the site reads."""
        return self.root / "board"

    @property
    def private_board(self) -> Path:
        """Folder of the maintainers' own tables, which hold figures of quarters that are not revealed."""
        return self.side(private=True) / "board"

    @property
    def published(self) -> Path:
        """Folder of what `make release` has published."""
        return self.root / "published"

    def released(self) -> list[tuple[Quarter, str]]:
        """Every quarter and task with a built release, in order."""
        manifests = (self.root / "releases").glob("*/*/manifest.json")
        return sorted((Quarter.parse(path.parent.parent.name), path.parent.name) for path in manifests)
