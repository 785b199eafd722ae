"""The replays of a submission: what came of running the submitted system again, in a file beside its receipt.

`replays.jsonl` has a line for each replay, the oldest first. Each names the SHA-256 of the line before it, so that none
can be taken out or changed unseen, and bears a seal that only the maintainers' secret key gives. It holds for the
content that its receipt names. No line names a sample: which ones were drawn stays private, and `samples_sha256`
commits to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, ValidationError

from hellofresh.core.errors import SubmissionError
from hellofresh.core.files import canonical_json, sha256_text, strict_json, write_bytes
from hellofresh.core.strict import Strict
from hellofresh.submissions.format import read_plain
from hellofresh.submissions.receipts import REPLAYS, Receipt

Seal = Callable[[str], str]
"""Gives the seal of a text, 64 hexadecimal digits."""
_MAX_BYTES = 1_000_000
_Hash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
_Text = Annotated[str, StringConstraints(max_length=200)]
_Count = Annotated[int, Field(ge=0)]
_Share = Annotated[float, Field(ge=0, le=1)]


class Replay(Strict):
    """What came of one replay.

    Attributes:
        at: when, UTC to the second.
        code: the version that ran it.
        task, split: of which samples.
        sha256: of the content that was compared, as in the receipt.
        program_sha256: of the files that its command names.
        models: what answered, by role.
        samples, repetitions: how many were drawn, and how often the system was run on each.
        samples_sha256: of the secret seed and the drawn ids, in canonical JSON.
        agreement: mean share of repetitions that say what was uploaded.
        own_agreement: the same of repetitions among each other.
        p_value: of the test that the uploaded answers are a further repetition (`hellofresh.stats.agreement`).
        without_asking: samples that were answered without a question to a model, in any repetition.
        fetches: attempts to reach another address than the endpoint, as far as they were seen; all failed.
        outcome: `agrees`; `differs`; or `inconclusive`, where repetitions differ too much to tell.
        previous: SHA-256 of the line before, empty in the first.
        seal: of all other fields.
    """

    version: Literal[1] = 1
    at: _Text
    code: _Text
    task: _Text
    split: _Text
    sha256: _Hash
    program_sha256: _Hash
    models: Mapping[str, _Text]
    samples: _Count
    repetitions: _Count
    samples_sha256: _Hash
    agreement: _Share
    own_agreement: _Share
    p_value: _Share
    without_asking: _Count
    fetches: _Count
    outcome: Literal["agrees", "differs", "inconclusive"]
    previous: Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{64})?$")] = ""
    seal: Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{64})?$")] = ""

    @property
    def line(self) -> str:
        """The line of the file, without its end."""
        return canonical_json(self.model_dump(mode="json"))

    @property
    def sealed_text(self) -> str:
        """What the seal is of."""
        return canonical_json(self.model_dump(mode="json", exclude={"seal"}))


def read_replays(folder: Path) -> tuple[Replay, ...]:
    """The replays of a submission in order; none where it was never replayed.

    Raises:
        SubmissionError: if the file is not one, or a line does not follow from the one before.
    """
    path = folder / REPLAYS
    if not path.exists() and not path.is_symlink():
        return ()
    content = read_plain(path, _MAX_BYTES, [])
    found: list[Replay] = []
    for number, line in enumerate((content or b"?").splitlines(), start=1):
        try:
            found.append(Replay.model_validate(strict_json(line)))
        except (ValidationError, ValueError):
            raise _damaged(path, f"line {number} is not a replay") from None
        if found[-1].previous != (sha256_text(found[-2].line) if number > 1 else ""):
            raise _damaged(path, f"line {number} does not follow from the line before: one was changed or taken out")
    return tuple(found)


def _damaged(path: Path, what: str) -> SubmissionError:
    fix = "Restore the file, such as from the repository's history. Only 'hellofresh proxy --replay' writes it."
    return SubmissionError(what, where=str(path), fix=fix, code="damaged-replays")


def add_replay(folder: Path, replay: Replay, seal: Seal) -> Replay:
    """Append a replay to those of a submission, with its link to the last one and its seal."""
    before = read_replays(folder)
    linked = replay.model_copy(update={"previous": sha256_text(before[-1].line) if before else "", "seal": ""})
    sealed = linked.model_copy(update={"seal": seal(linked.sealed_text)})
    write_bytes(folder / REPLAYS, "".join(f"{one.line}\n" for one in (*before, sealed)).encode())
    return sealed


def replays_of(folder: Path, receipt: Receipt | None, seal: Seal | None) -> tuple[Replay, ...]:
    """The replays of what a receipt is for; none without the key, by which only maintainers can tell forged ones.

    Raises:
        SubmissionError: as `read_replays`, or if a seal is not that of the key.
    """
    found = read_replays(folder) if receipt is not None and seal is not None else ()
    for number, one in enumerate(found, start=1):
        if seal is not None and one.seal != seal(one.sealed_text):
            raise _damaged(folder / REPLAYS, f"line {number} was not sealed with this workspace's key")
    return tuple(one for one in found if receipt is not None and one.sha256 == receipt.sha256)


def is_replayed(replays: Sequence[Replay], task: str, split: str, *, has_models: bool) -> bool:
    """Whether an entry counts as replayed on a split: a replay agreed, none differed, and its models were asked."""
    mine = [one for one in replays if (one.task, one.split) == (task, split)]
    asked = all(one.without_asking == 0 for one in mine) or not has_models
    return asked and {"agrees"} <= {one.outcome for one in mine} <= {"agrees", "inconclusive"}


def conduct_of(replays: Sequence[Replay], task: str, split: str, *, has_models: bool) -> list[str]:
    """Flags for what the replays of an entry on a split showed."""
    found = []
    for one in (one for one in replays if (one.task, one.split) == (task, split)):
        many = f"of {one.samples} samples of its replay on {one.at[:10]}"
        if one.outcome == "differs":
            found.append(f"{task}: other answers than those that it gives when it is run [replay-differs]")
        if one.without_asking and has_models:
            found.append(f"{task}: answers without asking a model on {one.without_asking} {many} [replay-unasked]")
        if one.fetches:
            found.append(f"{task}: {one.fetches} attempts to reach other addresses in its replay [replay-fetches]")
    return list(dict.fromkeys(found))
