"""Where each stage's files live. `data/` in the current folder, or what HELLOFRESH_DATA names."""

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
        """Parquet file of what ratings say of a quarter's notes; a JSON file beside it says of what it was made."""
        return self.root / "bridging" / f"{edition}.parquet"

    def bridgings(self) -> list[Path]:
        """Those that are there."""
        return sorted((self.root / "bridging").glob("*.parquet"))

    def site(self, *, private: bool) -> Path:
        """Folder of the site that is served, made anew whenever its board changes."""
        return self.side(private=private) / "site"

    def release(self, edition: Edition, task: str, split: str = MAIN) -> Path:
        """Folder of what is public of an edition and task; the prospective split's lies in that of the main one."""
        return _of_split(self.root / "releases" / str(edition) / task, split)

    def private(self, edition: Edition, task: str, split: str = MAIN) -> Path:
        """Folder of what stays private until the quarter is revealed."""
        return _of_split(self.root / "private" / str(edition) / task, split)

    def hydrated(self, edition: Edition, task: str) -> Path:
        """File of samples whose texts were filled in on this machine."""
        return self.root / "hydrated" / str(edition) / task / "samples.jsonl"

    def gone(self, edition: Edition, task: str) -> Path:
        """File of samples whose texts were found to be gone when they were last filled in."""
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
        """Where what labels tell is kept: `private` for splits whose labels are not public, else the root."""
        return self.root / "private" if private else self.root

    def scores(self, edition: Edition, split: str = MAIN, *, private: bool = False) -> Path:
        """Parquet file of all scores of a quarter and split whose labels are public, or of those whose are not."""
        folder = self.side(private=private) / "scores"
        return _of_split(folder, split) / f"{edition}.parquet"

    def is_scored(self, edition: Edition) -> bool:
        """Whether the main split of any task of the quarter has scores, public ones or private ones."""
        return any(self.scores(edition, private=private).is_file() for private in (False, True))

    def analyses(self, edition: Edition, task: str, *, private: bool = False) -> Path:
        """Folder of the tables and figures made of a quarter and task."""
        return self.side(private=private) / "analyses" / str(edition) / task

    def submissions(self) -> Path:
        """Folder of what others handed in: the one on record, else one beside the workspace or in the current folder.

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
        """Keep a folder as the one of what others handed in, wherever commands are run from.

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
        """Folder of pictures of posts, which is never published."""
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
        """Folder of the maintainers' own tables, which hold figures of quarters that are not revealed."""
        return self.side(private=True) / "board"

    @property
    def published(self) -> Path:
        """Folder of what `make release` has published."""
        return self.root / "published"

    def released(self) -> list[tuple[Edition, str]]:
        """Every quarter and task with a built release, in order."""
        manifests = (self.root / "releases").glob("*/*/manifest.json")
        return sorted((parse_edition(path.parent.parent.name), path.parent.name) for path in manifests)


def _of_split(folder: Path, split: str) -> Path:
    return folder if split == MAIN else folder / split


def _beside(folder: Path) -> Path:
    """The folder that holds a folder, in the shortest words."""
    parent = Path(os.path.normpath(folder / ".."))
    return parent if not str(parent).startswith("..") else parent.resolve()
