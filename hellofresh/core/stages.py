"""Knowing that a stage has nothing to do: a receipt remembers what went in and what came out.

A stage is skipped when its inputs have the key of last time and its outputs still have the hashes of last time; a file
that was changed or deleted by hand is therefore made again.
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
    """One hash for all that decides a stage's outputs; the code's version is always among it."""
    return sha256_text(canonical_json({"code": __version__, "inputs": inputs}))


@dataclass(frozen=True, slots=True)
class _StageReceipt:
    """What is remembered of a stage: the key of its inputs, and the SHA-256 of each output by its path."""

    key: str
    outputs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage's work on one thing, such as `collect/x-notes/2023Q2`.

    Attributes:
        workspace: where it works.
        name: unique among all stages of the workspace, with slashes.
        key: hash of its inputs, from `input_key`.
    """

    workspace: Workspace
    name: str
    key: str

    @property
    def _receipt(self) -> Path:
        """Private: hashes of what labels decide would let anybody confirm a guess at them."""
        return self.workspace.root / "private" / "receipts" / f"{self.name}.json"

    @property
    def lock_file(self) -> Path:
        """Where a process that works on the stage holds a lock."""
        return self.workspace.root / "locks" / f"{self.name}.lock"

    def _read(self) -> _StageReceipt | None:
        """What is remembered, None where it was never done."""
        return read_model(self._receipt, _StageReceipt) if self._receipt.is_file() else None

    def _known(self) -> _StageReceipt | None:
        """What is remembered of these very inputs; None of others, and where the receipt is damaged."""
        try:
            receipt = self._read()
        except DataError:
            return None
        return receipt if receipt is not None and receipt.key == self.key else None

    def is_current(self) -> bool:
        """Whether the outputs are there as made from these very inputs."""
        known = self._known()
        outputs = {} if known is None else {self.workspace.root / name: had for name, had in known.outputs.items()}
        return known is not None and all(path.is_file() and sha256_file(path) == had for path, had in outputs.items())

    def has_key(self) -> bool:
        """Whether it was last done with these very inputs, whatever became of its outputs."""
        return self._known() is not None

    def record(self, outputs: Iterable[Path]) -> None:
        """Remember what came out."""
        hashes = {path.relative_to(self.workspace.root).as_posix(): sha256_file(path) for path in outputs}
        self._write(_StageReceipt(self.key, hashes))

    def _write(self, receipt: _StageReceipt) -> None:
        write_json(self._receipt, asdict(receipt), mode=0o600)

    @classmethod
    def amend_all(cls, workspace: Workspace, paths: Iterable[Path]) -> None:
        """Remember that files were changed, in every stage that they are an output of."""
        changed = {path.relative_to(workspace.root).as_posix(): path for path in paths}
        folder = workspace.root / "private" / "receipts"
        for receipt in sorted(folder.rglob("*.json")):
            mine = [changed[name] for name in read_model(receipt, _StageReceipt).outputs if name in changed]
            if mine:
                cls.amend(workspace, receipt.relative_to(folder).with_suffix("").as_posix(), mine)

    @classmethod
    def amend(cls, workspace: Workspace, name: str, outputs: Iterable[Path]) -> None:
        """Remember that a later step added to the outputs of a stage, or changed some of them."""
        stage = cls(workspace, name, "")
        if (known := stage._read()) is not None:
            hashes = {path.relative_to(workspace.root).as_posix(): sha256_file(path) for path in outputs}
            stage._write(replace(known, outputs={**known.outputs, **hashes}))
