"""The receipt beside a submission: what came in, and when.

`receipt.json` names the SHA-256 of the canonical content and the time (UTC, to the second). Whatever is changed
afterwards has another hash, so that the receipt does not hold for it. When a submission is replaced, the receipts
before it stay in `earlier`, the oldest first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from hellofresh import __version__
from hellofresh.core.editions import MAX_EDITION, Edition, parse_edition
from hellofresh.core.errors import SubmissionError, UsageError
from hellofresh.core.files import write_json
from hellofresh.core.quarters import parse_utc, utc_text
from hellofresh.submissions.intake.content import BadJsonError, problems, read_plain, strict_json
from hellofresh.submissions.intake.faults import MAX_RECEIPT_BYTES, Fault
from hellofresh.submissions.intake.splits import MAIN, SubmissionSplit
from hellofresh.tasks.samples import EditionName

__all__ = ["RECEIPT", "Receipt", "new_receipt", "read_receipt", "write_receipt"]

RECEIPT = MAIN.receipt
_MOST_EARLIER = 400


@dataclass(frozen=True, slots=True)
class Receipt:
    """What came in, and when.

    Attributes:
        edition: the edition that it was handed in for.
        tasks: the tasks that it takes part in.
        sha256: hash of the canonical content (see `Submission.sha256`).
        received: when, in UTC, to the second.
        code: the version that wrote the receipt.
        earlier: the receipts that this one replaces, the oldest first; they have none of their own.
    """

    edition: Edition
    tasks: tuple[str, ...]
    sha256: str
    received: datetime
    code: str
    earlier: tuple[Receipt, ...] = ()

    def to_json(self) -> dict[str, object]:
        """As in the file."""
        return {**self._one(), "earlier": [receipt._one() for receipt in self.earlier]}

    def _one(self) -> dict[str, object]:
        return {
            "edition": str(self.edition),
            "tasks": list(self.tasks),
            "sha256": self.sha256,
            "received": utc_text(self.received),
            "code": self.code,
        }


class _One(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    edition: Annotated[EditionName, StringConstraints(max_length=MAX_EDITION)]
    tasks: list[Annotated[str, StringConstraints(max_length=80)]] = Field(max_length=20)
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    received: Annotated[str, StringConstraints(max_length=20)]
    code: Annotated[str, StringConstraints(max_length=80)]

    def receipt(self) -> Receipt:
        """The same with values for texts; raises ValueError where a text is none."""
        moment = parse_utc(self.received)
        if utc_text(moment) != self.received:
            raise ValueError(f"{self.received!r} is no time to the second in UTC")
        try:
            edition = parse_edition(self.edition)
        except UsageError as error:
            raise ValueError(str(error)) from None
        return Receipt(edition, tuple(self.tasks), self.sha256, moment, self.code)


class _File(_One):
    earlier: list[_One] = Field(default=[], max_length=_MOST_EARLIER)


def new_receipt(
    edition: Edition, tasks: tuple[str, ...], sha256: str, moment: datetime, before: Receipt | None
) -> Receipt:
    """The receipt for what comes in now, with those before it; what came in before unchanged keeps its time.

    Raises:
        SubmissionError: if now is before the receipt that this one would replace: times only rise.
    """
    if before is not None and before.sha256 == sha256 and before.edition == edition:
        return before
    earlier = (*before.earlier, replace(before, earlier=())) if before is not None else ()
    to_the_second = moment.replace(microsecond=0)
    if before is not None and to_the_second < before.received:
        raise SubmissionError(
            f"the receipt that is there is of {utc_text(before.received)}, and it is {utc_text(moment)}",
            expected="a later time: a newer version comes after the one that it replaces",
            fix="Set the clock right.",
            code="clock-behind",
        )
    return Receipt(edition, tasks, sha256, to_the_second, f"hellofresh {__version__}", earlier[-_MOST_EARLIER:])


def read_receipt(folder: Path, faults: list[Fault], split: SubmissionSplit = MAIN) -> Receipt | None:
    """The receipt of a split in a folder, None where there is none; and what is wrong with it."""
    path = folder / split.receipt
    if not path.exists() and not path.is_symlink():
        return None
    content = read_plain(path, MAX_RECEIPT_BYTES, faults)
    if content is None:
        return None
    fix = "Remove it and submit again: hellofresh submission add"
    try:
        value = _File.model_validate(strict_json(content))
        return _rising(replace(value.receipt(), earlier=tuple(one.receipt() for one in value.earlier)))
    except BadJsonError as error:
        faults.append(Fault(error.code, str(path), str(error), fix))
    except ValidationError as error:
        faults += (Fault("bad-receipt", f"{path}, {field}", what, fix) for field, what in problems(error))
    except ValueError as error:
        faults.append(Fault("bad-receipt", str(path), str(error), fix))
    return None


def _rising(receipt: Receipt) -> Receipt:
    """The receipt, if no time in it is before an earlier one's; raises ValueError."""
    times = [one.received for one in (*receipt.earlier, receipt)]
    for before, after in pairwise(times):
        if after < before:
            raise ValueError(f"{utc_text(after)} stands after {utc_text(before)}: times of receipts only rise")
    return receipt


def write_receipt(folder: Path, receipt: Receipt, split: SubmissionSplit = MAIN) -> None:
    """Write the receipt of a split into a folder."""
    write_json(folder / split.receipt, receipt.to_json())
