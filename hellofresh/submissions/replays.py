"""Replays: signed results of running a submitted system again.

Any team may replay an entry. A team's replays are the lines of `<edition>/<team>/replays.jsonl` in its own folder, the
oldest first. Each line holds the SHA-256 of the line before it, so that removals and changes are detected, and is
signed with one of the team's keys in `TEAMS.toml` (Ed25519, RFC 8032). The draw of samples follows from a manifest that
became public after the deadline, so that it can be repeated but not predicted.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from pydantic import Field, StringConstraints, ValidationError

from hellofresh.core.editions import Edition
from hellofresh.core.errors import DataError, SubmissionError, UsageError
from hellofresh.core.files import (
    as_model,
    canonical_json,
    parse_toml,
    sha256_text,
    strict_json,
    write_bytes,
)
from hellofresh.core.strict import Strict
from hellofresh.submissions.format import read_plain
from hellofresh.submissions.receipts import REPLAYS

TEAMS = "TEAMS.toml"
_MAX_BYTES = 1_000_000
_Hash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
_Text = Annotated[str, StringConstraints(max_length=200)]
_Count = Annotated[int, Field(ge=0)]
_Share = Annotated[float, Field(ge=0, le=1)]


class PublicValue(Strict):
    """The seed of the draw of samples: the SHA-256 of a release's first manifest."""

    edition: _Text
    task: _Text
    sha256: _Hash

    def order(self, entry: str, sample: str) -> str:
        """Sort key by which samples are drawn for an entry's content."""
        return sha256_text(f"{self.sha256}:{entry}:{sample}")


class Replay(Strict):
    """The result of one replay.

    Attributes:
        by: the team that replayed and signs.
        entry: TEAM/SYSTEM.
        at: when, UTC to the second.
        code: the version that ran it.
        task, split: those of the samples.
        sha256: hash of the compared content, as in the receipt.
        program_sha256: hash of the files that its command names.
        models: the models that answered, by role.
        drawn_from: the seed of the draw.
        samples, repetitions: how many were drawn, and how often the system was run on each.
        passed_over: samples skipped in the draw because their texts were not available.
        agreement: mean share of repetitions that give the uploaded answer.
        own_agreement: mean agreement of the repetitions with each other.
        p_value: of the test that the uploaded answers are a further repetition (`hellofresh.stats.agreement`).
        by_chance: p-value of the test that a program which does not look at samples agrees as much.
        finds: smallest share of different answers that the test detects with power 0.9.
        without_asking: samples that were answered in any repetition without asking a model.
        fetches: observed attempts to reach an address other than the endpoint; all failed.
        outcome: `agrees`, `differs`, or `inconclusive` if the test has too little power.
        previous: SHA-256 of the line before, empty in the first.
        signature: signature of all other fields, 128 hexadecimal digits.
    """

    version: Literal[1] = 1
    by: _Text
    entry: _Text
    at: _Text
    code: _Text
    task: _Text
    split: _Text
    sha256: _Hash
    program_sha256: _Hash
    models: Mapping[str, _Text]
    drawn_from: PublicValue
    samples: _Count
    passed_over: _Count
    repetitions: _Count
    agreement: _Share
    own_agreement: _Share
    p_value: _Share
    by_chance: _Share
    finds: _Share
    without_asking: _Count
    fetches: _Count
    outcome: Literal["agrees", "differs", "inconclusive"]
    previous: Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{64})?$")] = ""
    signature: Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{128})?$")] = ""

    @property
    def line(self) -> str:
        """The line of the file, without its line break."""
        return canonical_json(self.model_dump(mode="json"))

    @property
    def signed(self) -> bytes:
        """The bytes that are signed."""
        return canonical_json(self.model_dump(mode="json", exclude={"signature"})).encode()


class Team(Strict):
    """A table of `TEAMS.toml`: the accounts that may change the team's folder, and the keys that sign its replays."""

    accounts: list[str] = Field(default_factory=list)
    keys: list[_Hash] = Field(default_factory=list)


def read_teams(root: Path) -> Mapping[str, Team]:
    """Read `TEAMS.toml`, the maintainers' list of teams.

    Raises:
        DataError: if it is not a table of teams, or two teams share a key.
    """
    path, where, expected = root / TEAMS, f"submissions/{TEAMS}", '[team] with accounts = ["name"] or keys = ["hex"]'
    try:
        table = parse_toml(path.read_bytes()) if path.is_file() and not path.is_symlink() else {}
    except ValueError as error:
        raise DataError(f"not TOML ({error})", where=where, expected=expected, code="bad-teams") from None
    teams = as_model(dict[str, Team], table, where=where, fix=f"Write {expected}", code="bad-teams")
    keys = [key for team in teams.values() for key in set(team.keys)]
    if len(keys) != len(set(keys)):
        raise DataError("two teams have one key", where=where, expected="keys of their own", code="bad-teams")
    return teams


def signing_key(path: Path) -> Ed25519PrivateKey:
    """The key in a file that only its owner can read, made at first use.

    Raises:
        UsageError: if the file is not a key.
    """
    if not path.exists():
        write_bytes(path, f"{secrets.token_hex(32)}\n".encode(), mode=0o600)
    try:
        return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(path.read_text(encoding="ascii")))
    except ValueError:
        expected, fix = "64 hexadecimal digits", "Restore it from a backup, or move it away for a new one."
        raise UsageError("not a signing key", where=str(path), expected=expected, fix=fix, code="bad-key") from None


def read_replays(path: Path, keys: Iterable[str] = ()) -> tuple[Replay, ...]:
    """The replays of a team in order; empty without a file.

    Args:
        path: the file.
        keys: the team's public keys; if any are given, each line must be signed by one of them.

    Raises:
        SubmissionError: if the file is invalid, a line does not continue the one before, or a signature is wrong.
    """
    if not path.exists() and not path.is_symlink():
        return ()
    public = [Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)) for key in keys]
    content = read_plain(path, _MAX_BYTES, [])
    found: list[Replay] = []
    for number, line in enumerate((content or b"?").removesuffix(b"\n").split(b"\n"), start=1):
        try:
            found.append(Replay.model_validate(strict_json(line)))
        except (ValidationError, ValueError):
            raise _damaged(path, f"line {number} is not a replay") from None
        if found[-1].previous != (sha256_text(found[-2].line) if number > 1 else ""):
            raise _damaged(path, f"line {number} does not follow from the line before: one was changed or taken out")
        if public and not any(_is_signed(found[-1], key) for key in public):
            raise _damaged(path, f"line {number} is not signed with a key of the team's in {TEAMS}")
    return tuple(found)


def _is_signed(replay: Replay, key: Ed25519PublicKey) -> bool:
    try:
        key.verify(bytes.fromhex(replay.signature), replay.signed)
    except InvalidSignature:
        return False
    return True


def _damaged(path: Path, what: str) -> SubmissionError:
    fix = "Restore the file, such as from the repository's history. Only 'hellofresh proxy --replay' writes it."
    return SubmissionError(what, where=str(path), fix=fix, code="damaged-replays")


def add_replay(path: Path, replay: Replay, key: Ed25519PrivateKey) -> Replay:
    """Append a replay to its team's file, with the hash of the line before and a signature."""
    before = read_replays(path)
    linked = replay.model_copy(update={"previous": sha256_text(before[-1].line) if before else "", "signature": ""})
    signed = linked.model_copy(update={"signature": key.sign(linked.signed).hex()})
    write_bytes(path, "".join(f"{one.line}\n" for one in (*before, signed)).encode())
    return signed


def replays_of(root: Path, edition: Edition) -> tuple[Sequence[Replay], list[str]]:
    """The replays of an edition's entries by other teams, and sentences about replays that are left out."""
    teams, found, notes = read_teams(root), list[Replay](), list[str]()
    for path in sorted((root / str(edition)).glob(f"*/{REPLAYS}")):
        by, keys = path.parent.name, teams[path.parent.name].keys if path.parent.name in teams else []
        try:
            read = read_replays(path, keys)
        except SubmissionError as error:
            notes.append(f"the replays of the team {by} are left out: {error.what}")
            continue
        if keys:
            found += (one for one in read if one.by == by and one.entry.partition("/")[0] != by)
        else:
            notes.append(f"the replays of the team {by} are left out: {TEAMS} names no key of it")
    return found, notes


@dataclass(frozen=True, slots=True)
class Replayed:
    """Summary of an entry's replays on a split: the teams whose replays agree, and flags."""

    by: tuple[str, ...]
    flags: tuple[str, ...]


def replayed(replays: Sequence[Replay], *, has_models: bool) -> Replayed:
    """Summarize the replays of one entry on one split; no team counts as agreeing if any replay shows a fault."""
    flags, asked = list[str](), True
    for one in replays:
        many = f"of {one.samples} samples of its replay by {one.by} on {one.at[:10]}"
        if one.outcome == "differs":
            flags.append(f"{one.task}: other answers than those that it gives when {one.by} runs it [replay-differs]")
        if one.without_asking and has_models:
            asked = False
            what = f"answers without asking a model on {one.without_asking} {many}"
            flags.append(f"{one.task}: {what} [replay-unasked]")
        if one.fetches:
            flags.append(f"{one.task}: {one.fetches} attempts to reach other addresses in a replay [replay-fetches]")
    sound = asked and all(one.outcome != "differs" for one in replays)
    agreed = sorted({one.by for one in replays if one.outcome == "agrees"})
    return Replayed(tuple(agreed) if sound else (), tuple(dict.fromkeys(flags)))
