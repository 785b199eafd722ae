"""Paths of each stage's files, below `data/` in the current folder or below HELLOFRESH_DATA."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from hellofresh.core.editions import MAIN, Edition, parse_edition
from hellofresh.core.errors import WorkspaceError
from hellofresh.core.files import read_json, write_json


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folders of one benchmark workspace; nothing is created until a stage writes.

    Attributes:
        root: the workspace's folder.
    """

    root: Path

    @classmethod
    def from_environment(cls) -> Workspace:
        """The workspace at HELLOFRESH_DATA, else `data` in the current folder."""
        return cls(Path(os.environ.get("HELLOFRESH_DATA") or "data"))

    def portable(self, path: Path) -> str:
        """A path in the workspace as `data/...`, for texts that may leave this machine."""
        return f"data/{path.relative_to(self.root).as_posix()}"

    def located(self, sentence: str) -> str:
        """A sentence with its portable paths replaced by those on this machine."""
        return sentence.replace(" data/", f" {self.root}/")

    def raw(self, task: str, source: str) -> Path:
        """Folder of source files as fetched or rendered."""
        return self.root / "raw" / task / source

    def snapshots(self, task: str) -> Path:
        """Folder of downloaded dumps, one folder per day."""
        return self.root / "raw" / task

    def candidates(self, task: str, edition: Edition) -> Path:
        """Parquet file of a collector's candidates."""
        return self.root / "candidates" / task / f"{edition}.parquet"

    def collection(self, task: str, edition: Edition) -> Path:
        """JSON file beside the candidates: sources, parameters, funnel."""
        return self.root / "candidates" / task / f"{edition}.json"

    def pending(self, task: str, edition: Edition) -> Path:
        """JSONL file beside the candidates: samples that were undecided."""
        return self.root / "candidates" / task / f"{edition}.pending.jsonl"

    def bridging(self, edition: Edition) -> Path:
        """Parquet file of the rating model's results on a quarter's notes, with a JSON file of its inputs beside it."""
        return self.root / "bridging" / f"{edition}.parquet"

    def bridgings(self) -> list[Path]:
        """The existing files of `bridging`."""
        return sorted((self.root / "bridging").glob("*.parquet"))

    def site(self, *, private: bool) -> Path:
        """Folder of the served site, rebuilt whenever its board changes."""
        return self.side(private=private) / "site"

    def release(self, edition: Edition, task: str, split: str = MAIN) -> Path:
        """Folder of an edition and task's public files; the prospective split's is inside the main split's."""
        return _of_split(self.root / "releases" / str(edition) / task, split)

    def private(self, edition: Edition, task: str, split: str = MAIN) -> Path:
        """Folder of files that stay private until the quarter is revealed."""
        return _of_split(self.root / "private" / str(edition) / task, split)

    def hydrated(self, edition: Edition, task: str) -> Path:
        """File of samples whose texts were filled in on this machine."""
        return self.root / "hydrated" / str(edition) / task / "samples.jsonl"

    def gone(self, edition: Edition, task: str) -> Path:
        """File of samples whose texts were missing when last looked up."""
        return self.hydrated(edition, task).with_name("gone.jsonl")

    @property
    def escrow_key(self) -> Path:
        """The secret from which the salts of label commitments are derived."""
        return self.root / "private" / "escrow.key"

    @property
    def runs(self) -> Path:
        """Folder of evaluation runs, one folder each."""
        return self.root / "runs"

    def side(self, *, private: bool) -> Path:
        """Folder for label-dependent files: `private` for splits without public labels, else the root."""
        return self.root / "private" if private else self.root

    def scores(self, edition: Edition, split: str = MAIN, *, private: bool = False) -> Path:
        """Parquet file of a quarter and split's scores, for tasks with public labels or (`private`) those without."""
        folder = self.side(private=private) / "scores"
        return _of_split(folder, split) / f"{edition}.parquet"

    def is_scored(self, edition: Edition) -> bool:
        """Whether any task of the quarter has scores, public or private, on the main split."""
        return any(self.scores(edition, private=private).is_file() for private in (False, True))

    def analyses(self, edition: Edition, task: str, *, private: bool = False) -> Path:
        """Folder of the tables and figures on a quarter and task."""
        return self.side(private=private) / "analyses" / str(edition) / task

    def submissions(self) -> Path:
        """Folder of submissions: the recorded one, else one beside the workspace or in the current folder.

        Raises:
            WorkspaceError: if the record is damaged.
        """
        if not self._record.is_file():
            beside, here = _beside(self.root) / "submissions", Path("submissions")
            return here if not beside.is_dir() and here.is_dir() else beside
        found = read_json(self._record)
        submissions = found.get("submissions")
        if found.get("format") != 1 or not isinstance(submissions, str):
            raise WorkspaceError(
                "not a record of this version of HelloFresh",
                where=str(self._record),
                expected='{"format": 1, "submissions": FOLDER}',
                fix="Write it again: hellofresh submission list --folder DIR",
                code="bad-record",
            )
        root = self.root.resolve() if self.root.is_symlink() else self.root
        return Path(os.path.normpath(root / submissions))

    def record_submissions(self, folder: Path) -> None:
        """Record a folder as that of submissions, for commands run from anywhere.

        A folder beside the workspace is kept relative to it, so that both can be moved together.
        """
        place, root = folder.resolve(), self.root.resolve()
        known = place.relative_to(root.parent) if place.is_relative_to(root.parent) else None
        named = str(place) if known is None else f"../{known.as_posix()}"
        if not self._record.is_file() or read_json(self._record) != {"format": 1, "submissions": named}:
            write_json(self._record, {"format": 1, "submissions": named})

    @property
    def has_recorded_submissions(self) -> bool:
        """Whether a folder of submissions is on record."""
        return self._record.is_file()

    @property
    def _record(self) -> Path:
        return self.root / "workspace.json"

    @property
    def pictures(self) -> Path:
        """Folder of pictures of posts, not published."""
        return self.root / "pictures"

    @property
    def corpora(self) -> Path:
        """Folder of corpora for retrieval, one folder each."""
        return self.root / "corpora"

    @property
    def board(self) -> Path:
        """Folder of the tables that the site reads."""
        return self.root / "board"

    @property
    def private_board(self) -> Path:
        """Folder of the maintainers' tables with figures of unrevealed quarters."""
        return self.side(private=True) / "board"

    @property
    def published(self) -> Path:
        """Folder of the publication of `make release`."""
        return self.root / "published"

    def released(self) -> list[tuple[Edition, str]]:
        """Every quarter and task with a built release, in order."""
        manifests = (self.root / "releases").glob("*/*/manifest.json")
        return sorted((parse_edition(path.parent.parent.name), path.parent.name) for path in manifests)


def _of_split(folder: Path, split: str) -> Path:
    return folder if split == MAIN else folder / split


def _beside(folder: Path) -> Path:
    """The parent of a folder, as the shortest path."""
    parent = Path(os.path.normpath(folder / ".."))
    return parent if not str(parent).startswith("..") else parent.resolve()
