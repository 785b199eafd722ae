"""The account of a collection, written beside its candidates: where they are from and what became of the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from hellofresh.core.errors import DataError
from hellofresh.core.files import canonical_json, model_fault, read_json, sha256_text, write_json
from hellofresh.releases.candidates.funnel import Drop, Funnel
from hellofresh.releases.candidates.rows import SourceFile
from hellofresh.tasks.samples import Sample

_CHECKSUM = "checksum"
EXPOSED = "exposed"
"""The funnel's reason for candidates that a release leaves out, see `hellofresh.releases.exposure`."""


class CollectionFacts(BaseModel):
    """Files, settings, and what became of the rows."""

    model_config = ConfigDict(strict=True, frozen=True, extra="allow")
    sources: tuple[SourceFile, ...]
    parameters: dict[str, JsonValue]
    funnel: Funnel
    warnings: tuple[str, ...]


class CollectionAccount(CollectionFacts):
    """All of the account: of which task and quarter, of what kind of source, and SHA-256 of the files written."""

    task: str
    quarter: str
    source: str
    files: dict[str, str] = {}

    def facts_without(self, left_out: Sequence[Sample]) -> CollectionFacts:
        """What a release says of it: nothing that is computed from labels.

        Args:
            left_out: candidates whose group another release has; the funnel's last filter drops them.
        """
        funnel, by_period = self.funnel.without_labels, Counter(sample.period for sample in left_out)
        if left_out:
            kept = {
                name: {label: count - by_period[name] for label, count in counts.items()}
                for name, counts in funnel.kept.items()
            }
            drop = Drop(EXPOSED, "of a group that another release has: its labels would tell", len(left_out))
            funnel = replace(funnel, drops=(*funnel.drops, drop), kept=kept)
        return CollectionFacts(sources=self.sources, parameters=self.parameters, funnel=funnel, warnings=self.warnings)

    def write(self, path: Path) -> None:
        """Write it to its file, with the hash of its content: a damaged account would be copied into a release."""
        content = self.model_dump(mode="json")
        write_json(path, content | {_CHECKSUM: _checksum(content)}, mode=0o600)


def _checksum(content: dict[str, object]) -> str:
    return sha256_text(canonical_json(content))


def read_account_file(path: Path) -> CollectionAccount:
    """Read an account.

    Raises:
        DataError: if there is none, or it is damaged.
    """
    content = read_json(path)
    stated = content.pop(_CHECKSUM, None)  # those of earlier versions have none
    if stated is not None and stated != _checksum(content):
        raise DataError(
            "the account of the collection is not as it was written",
            where=str(path),
            expected=f"content with the SHA-256 that it names as {_CHECKSUM}",
            fix="Collect again with --force.",
            code="bad-account",
        )
    try:
        return CollectionAccount.model_validate_json(canonical_json(content))
    except ValidationError as error:
        fix = "Collect again with --force."
        raise DataError(model_fault(error), where=str(path), fix=fix, code="bad-account") from None
