"""Skip stages that are up to date: a receipt records their inputs, what computed them, and their outputs.

A stage is skipped when all three are those of the last time; a file changed or deleted by hand is therefore made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Self

from hellofresh.core.errors import DataError
from hellofresh.core.files import canonical_json, read_model, sha256_file, sha256_text, write_json
from hellofresh.core.makers import Makers, changed_makers
from hellofresh.core.workspace import Workspace


@dataclass(frozen=True, slots=True)
class _StageReceipt:
    """Record of a stage: the key of its inputs, what computed it, and the SHA-256 of each output by its path."""

    key: str
    makers: Mapping[str, str]
    outputs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Stage:
    """One unit of a stage's work, such as `collect/x-notes/2023Q2`.

    Attributes:
        workspace: of its files.
        name: unique among all stages of the workspace, with slashes.
        key: hash of its inputs.
        makers: what computes it.
    """

    workspace: Workspace
    name: str
    key: str
    makers: Makers

    @classmethod
    def of(cls, workspace: Workspace, name: str, inputs: object, makers: Makers) -> Self:
        """A stage with these inputs, which canonical JSON can hold."""
        return cls(workspace, name, sha256_text(canonical_json(inputs)), makers)

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

    def changes(self, *, of_code: bool = True) -> list[str] | None:
        """What has changed since the last run, in words: nothing if the outputs are current; None without a last run.

        Args:
            of_code: whether changes of what computes it count.
        """
        try:
            receipt = self._read()
        except DataError:
            return ["its receipt cannot be read"]
        if receipt is None:
            return None
        found = ["its inputs have changed"] if receipt.key != self.key else []
        found += changed_makers(receipt.makers, self.makers) if of_code else []
        for name, had in receipt.outputs.items():
            path = self.workspace.root / name
            if not path.is_file() or sha256_file(path) != had:
                return [*found, f"{name} has changed since it was written"]
        return found

    @classmethod
    def older(cls, workspace: Workspace, name: str, packages: Makers, again: str) -> list[str]:
        """A sentence if one of these packages has changed since a stage ran; `again` is the command that runs it."""
        known = cls(workspace, name, "", {})._read()
        was = packages if known is None else {one: known.makers[one] for one in packages if one in known.makers}
        changed = "; ".join(changed_makers(was, packages))
        return [f"{name} is as before, though {changed}. Run: {again}"] if changed else []

    def is_current(self) -> bool:
        """Whether the outputs exist unchanged, made from the current inputs by the current code."""
        return self.changes() == []

    def record(self, outputs: Iterable[Path]) -> None:
        """Record the outputs."""
        hashes = {path.relative_to(self.workspace.root).as_posix(): sha256_file(path) for path in outputs}
        self._write(_StageReceipt(self.key, self.makers, hashes))

    def _write(self, receipt: _StageReceipt) -> None:
        write_json(self._receipt, asdict(receipt), mode=0o600)

    @classmethod
    def hold(cls, workspace: Workspace, name: str, again: str) -> None:
        """Refuse outputs of a stage that changed since it wrote them; `again` is the command that writes them.

        Raises:
            DataError: with the first such file.
        """
        known = cls(workspace, name, "", {})._read()
        for output, had in known.outputs.items() if known is not None else ():
            path = workspace.root / output
            if not path.is_file() or sha256_file(path) != had:
                expected = f"the file that the stage {name} wrote"
                fix = f"Write it again: {again}"
                raise DataError("has been changed", where=str(path), expected=expected, fix=fix, code="changed-output")

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
        stage = cls(workspace, name, "", {})
        if (known := stage._read()) is not None:
            hashes = {path.relative_to(workspace.root).as_posix(): sha256_file(path) for path in outputs}
            stage._write(replace(known, outputs={**known.outputs, **hashes}))
