"""Skip stages that are up to date: a receipt records their inputs and outputs.

A stage is skipped when the key of its inputs and the hashes of its outputs are those of the last time; a file
changed or deleted by hand is therefore made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from hellofresh import __version__
from hellofresh.core.errors import DataError
from hellofresh.core.files import canonical_json, read_model, sha256_file, sha256_text, write_json
from hellofresh.core.workspace import Workspace


def input_key(inputs: object) -> str:
    """One hash of all inputs of a stage, including the code's version."""
    return sha256_text(canonical_json({"code": __version__, "inputs": inputs}))


@dataclass(frozen=True, slots=True)
class _StageReceipt:
    """Record of a stage: the key of its inputs, and the SHA-256 of each output by its path."""

    key: str
    outputs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Stage:
    """One unit of a stage's work, such as `collect/x-notes/2023Q2`.

    Attributes:
        workspace: of its files.
        name: unique among all stages of the workspace, with slashes.
        key: hash of its inputs, from `input_key`.
    """

    workspace: Workspace
    name: str
    key: str

    @property
    def _receipt(self) -> Path:
        """The receipt's file; private, since hashes of label-dependent files would let readers confirm guesses."""
        return self.workspace.root / "private" / "receipts" / f"{self.name}.json"

    @property
    def lock_file(self) -> Path:
        """The file that a process locks while it works on the stage."""
        return self.workspace.root / "locks" / f"{self.name}.lock"

    def _read(self) -> _StageReceipt | None:
        """The receipt, or None if the stage never ran."""
        return read_model(self._receipt, _StageReceipt) if self._receipt.is_file() else None

    def _known(self) -> _StageReceipt | None:
        """The receipt if it is intact and of the current inputs, else None."""
        try:
            receipt = self._read()
        except DataError:
            return None
        return receipt if receipt is not None and receipt.key == self.key else None

    def is_current(self) -> bool:
        """Whether the outputs exist unchanged as made from the current inputs."""
        known = self._known()
        outputs = {} if known is None else {self.workspace.root / name: had for name, had in known.outputs.items()}
        return known is not None and all(path.is_file() and sha256_file(path) == had for path, had in outputs.items())

    def has_key(self) -> bool:
        """Whether the last run had the current inputs, regardless of its outputs."""
        return self._known() is not None

    def record(self, outputs: Iterable[Path]) -> None:
        """Record the outputs."""
        hashes = {path.relative_to(self.workspace.root).as_posix(): sha256_file(path) for path in outputs}
        self._write(_StageReceipt(self.key, hashes))

    def _write(self, receipt: _StageReceipt) -> None:
        write_json(self._receipt, asdict(receipt), mode=0o600)

    @classmethod
    def amend_all(cls, workspace: Workspace, paths: Iterable[Path]) -> None:
        """Record changed files in every stage that has them as outputs."""
        changed = {path.relative_to(workspace.root).as_posix(): path for path in paths}
        folder = workspace.root / "private" / "receipts"
        for receipt in sorted(folder.rglob("*.json")):
            mine = [changed[name] for name in read_model(receipt, _StageReceipt).outputs if name in changed]
            if mine:
                cls.amend(workspace, receipt.relative_to(folder).with_suffix("").as_posix(), mine)

    @classmethod
    def amend(cls, workspace: Workspace, name: str, outputs: Iterable[Path]) -> None:
        """Record that a later step added or changed outputs of a stage."""
        stage = cls(workspace, name, "")
        if (known := stage._read()) is not None:
            hashes = {path.relative_to(workspace.root).as_posix(): sha256_file(path) for path in outputs}
            stage._write(replace(known, outputs={**known.outputs, **hashes}))
