"""The analyses that the site shows: copies of their tables and figures, and an index.

`board/analyses/<quarter>/<task>/` holds, for each analysis that was made of a scored quarter, `<name>.parquet`,
`<name>.points.parquet` and `<name>.svg` where there are such, and `index.json`: a list in the order of names of what
each asks, how to read it, its notes, how its figure is drawn and, where it could not be made, why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hellofresh.core.editions import Edition
from hellofresh.core.files import remove_file, sha256_file, write_bytes, write_json
from hellofresh.core.workspace import Workspace
from hellofresh.releases import labels_are_public
from hellofresh.results.figures.record import AnalysisIndex, AnalysisText, IndexedAnalysis, read_record

__all__ = ["AnalysesOnBoard", "analyses_to_show"]

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
    workspace: Workspace, quarters: Sequence[Edition], *, private: bool = False
) -> list[AnalysesOnBoard]:
    """What was made by `hellofresh analyse` of these quarters, in order; analyses of chosen systems are left out.

    Those of quarters whose labels are not public are left out too, unless they are for the private board.
    """
    found = []
    for edition, task in workspace.released():
        public = labels_are_public(workspace, edition, task)
        folder = workspace.analyses(edition, task, private=not public)
        if edition in quarters and folder.is_dir() and (public or private):
            described = sorted(folder.glob("*.json"))
            copied = [path.with_suffix(f".{end}") for path in described for end in _COPIED]
            sources = [*described, *(path for path in copied if path.is_file())]
            if described:
                found.append(AnalysesOnBoard(edition, task, sources))
    return found
