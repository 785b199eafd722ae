"""What is copied onto the board: analyses with an index, and released files, so that visitors can take samples away.

`board/analyses/<quarter>/<task>/` holds, for each analysis that was made of a scored quarter, `<name>.parquet`,
`<name>.points.parquet` and `<name>.svg` where there are such, and `index.json`: a list in the order of names of what
each asks, how to read it, its notes, how its figure is drawn and, where it could not be made, why.

`released/<edition>/<task>/` holds what the release's manifest lists, `released/<edition>/<task>-prospective/` what that
of the prospective samples does. Only what has been public since the opening is copied, with the hashes that manifests
state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hellofresh.core.editions import Edition
from hellofresh.core.files import atomic_path, remove_file, sha256_file, write_bytes, write_json
from hellofresh.core.workspace import Workspace
from hellofresh.releases.publish import copy_file
from hellofresh.results.board.manifest import RELEASED
from hellofresh.results.board.splits import SplitPlace
from hellofresh.results.figures.record import AnalysisIndex, AnalysisText, IndexedAnalysis, read_record
from hellofresh.tasks.samples import MAIN

_COPIED = ("parquet", "points.parquet", "svg")


@dataclass(frozen=True, slots=True)
class AnalysesOnBoard:
    """The analyses of one quarter and task that are in the workspace.

    Attributes:
        edition, task: of which release.
        sources: their JSON files, tables and figures.
    """

    edition: Edition
    task: str
    sources: Sequence[Path]

    @property
    def inputs(self) -> object:
        """What decides the copies."""
        return [str(self.edition), self.task, [[path.name, sha256_file(path)] for path in self.sources]]

    def copy_to(self, board: Path, mode: int = 0o644) -> list[Path]:
        """Write copies and index below the board's folder, take away what is there besides, and name what is there."""
        folder = board / "analyses" / str(self.edition) / self.task
        kept = []
        described = []
        for path in self.sources:
            if path.suffix == ".json":
                record = read_record(path)
                files = [f"{path.stem}.{end}" for end in _COPIED if path.with_suffix(f".{end}") in self.sources]
                text = {name: getattr(record, name) for name in AnalysisText.model_fields}
                described.append(IndexedAnalysis(**text, files=files))
            else:
                kept.append(folder / path.name)
                write_bytes(folder / path.name, path.read_bytes(), mode=mode)
        index = folder / "index.json"
        listed = AnalysisIndex(edition=str(self.edition), task=self.task, analyses=described)
        write_json(index, listed.model_dump(mode="json"), mode=mode)
        for path in folder.iterdir():
            if path != index and path not in kept:
                remove_file(path)
        return [index, *kept]


def analyses_to_show(
    workspace: Workspace, splits: Sequence[SplitPlace], quarters: Sequence[str], *, private: bool = False
) -> list[AnalysesOnBoard]:
    """What was made by `hellofresh analyse` of these quarters, in order; analyses of chosen systems are left out.

    Those of quarters whose labels are not public are left out too, unless they are for the private board.
    """
    found = []
    for place in splits:
        public, (edition, task, split) = place.manifest.has_labels, place.keys.values()
        folder = workspace.analyses(place.edition, task, private=not public)
        if split == MAIN and edition in quarters and folder.is_dir() and (public or private):
            described = sorted(folder.glob("*.json"))
            copied = [path.with_suffix(f".{end}") for path in described for end in _COPIED]
            sources = [*described, *(path for path in copied if path.is_file())]
            if described:
                found.append(AnalysesOnBoard(place.edition, task, sources))
    return found


def put_released(opened: Sequence[SplitPlace], board: Path, mode: int) -> list[Path]:
    """Write the copies, take away what is there besides, and name what is there.

    Raises:
        ReleaseError: if a file is not the one that its manifest names (`bad-hash`).
    """
    kept: dict[Path, None] = {}
    for place in opened:
        name = place.task if place.split == MAIN else f"{place.task}-{place.split}"
        for entry in place.manifest.files:
            copy = board / RELEASED / str(place.edition) / name / entry.path
            with atomic_path(copy, mode=mode) as new:
                copy_file(place.folder / entry.path, entry.sha256, new)
            kept[copy] = None
    for path in (board / RELEASED).rglob("*"):
        if path.is_file() and path not in kept:
            remove_file(path)
    return list(kept)
