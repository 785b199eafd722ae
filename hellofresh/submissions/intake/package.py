"""A submission that passed the check in its canonical form: the same bytes for the same content, anywhere."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

from hellofresh.core.files import canonical_json
from hellofresh.submissions.intake.check import Submission
from hellofresh.submissions.intake.predictions import canonical_row
from hellofresh.submissions.intake.splits import MAIN, SubmissionSplit
from hellofresh.submissions.intake.system import SYSTEM, system_toml

__all__ = ["canonical_files", "place_of", "zipped"]

_DAY = (1980, 1, 1, 0, 0, 0)
"""The first moment that a zip archive can name."""


def canonical_files(submission: Submission, split: SubmissionSplit = MAIN) -> Mapping[str, bytes]:
    """The content of a submission's two files by their names, written anew from what was checked."""
    lines = (canonical_json(canonical_row(item)) + "\n" for item in submission.predictions)
    return {split.jsonl: "".join(lines).encode(), SYSTEM: system_toml(submission.info).encode()}


def place_of(submission: Submission) -> str:
    """Where it lies among the submissions: quarter, team and system."""
    return f"{submission.edition}/{submission.team}/{submission.system}"


def zipped(submission: Submission, split: SubmissionSplit = MAIN) -> bytes:
    """A zip archive of the two files in their place, to be unpacked in the folder of submissions.

    Nothing is compressed, as two builds of a compressor may give different bytes.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in sorted(canonical_files(submission, split).items()):
            entry = zipfile.ZipInfo(f"{place_of(submission)}/{name}", _DAY)
            entry.create_system = 3  # Unix, wherever it is made
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, content)
    return buffer.getvalue()
