"""Work in shards, each on a machine of its own, and the check that what is merged makes one whole.

Shard K of N takes every Nth unit of the work, from the Kth on. It leaves a folder `K-of-N` with its files and, written
last, `shard.json`: what was done, how, of which source, and the hashes of the files. A merge needs these folders only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from hellofresh.core.errors import SourceError, UsageError
from hellofresh.core.files import canonical_json, read_model, sha256_file, write_json

_FILE = "shard.json"
_VERSION = 1
_FIX = "Make this shard again, or remove its folder if it is of another work."

Shard = tuple[int, int]
"""Which shard of how many, from 1."""


@dataclass(frozen=True, slots=True)
class ShardRecord:
    """What `shard.json` holds; other work adds fields for what was done, and how.

    Attributes:
        number, of: which shard of how many.
        source: size of everything that the whole work reads, by name.
        sha256: of the files beside it.
        version: of the format.
    """

    number: int
    of: int
    source: dict[str, int]
    sha256: dict[str, str]
    version: int


_Record = TypeVar("_Record", bound=ShardRecord)
_Unit = TypeVar("_Unit")


def own_units(units: Sequence[_Unit], shard: Shard) -> Sequence[_Unit]:
    """The units of work that a shard does."""
    number, of = shard
    return units[number - 1 :: of]


def begin_shard(folder: Path, shard: Shard) -> Path:
    """The folder of a shard, which is not whole until `finish_shard`."""
    number, of = shard
    place = folder / f"{number}-of-{of}"
    place.mkdir(parents=True, exist_ok=True)
    (place / _FILE).unlink(missing_ok=True)
    return place


def finish_shard(
    place: Path,
    shard: Shard,
    source: Mapping[str, int],
    files: Collection[Path],
    more: Mapping[str, object],
) -> None:
    """Write `shard.json`.

    Args:
        place: the shard's folder.
        shard: which it is.
        source: as of `ShardRecord`.
        files: what the shard left in its folder.
        more: the fields that this work adds.
    """
    hashes = {path.name: sha256_file(path) for path in files}
    record = ShardRecord(*shard, dict(source), hashes, _VERSION)
    write_json(place / _FILE, {**asdict(record), **more})


def shard_files(folder: Path, command: str) -> list[Path]:
    """The file of every finished shard in a folder, which the merge will read.

    Raises:
        UsageError: if there is none; it names the command that makes them.
    """
    found = sorted(folder.glob(f"*-of-*/{_FILE}"))
    if not found:
        raise UsageError(
            "no shard to merge",
            where=str(folder),
            expected=f"folders such as 1-of-16 with {_FILE}",
            fix=f"Make them first: {command} --shard 1/16",
            code="no-shards",
        )
    return found


def read_shards(files: Sequence[Path], kind: type[_Record], wanted: Mapping[str, object]) -> dict[Path, _Record]:
    """What the shards say, by file, all of one source and whole.

    Args:
        files: as of `shard_files`.
        kind: the records.
        wanted: fields that all must have.

    Raises:
        SourceError: if one is missing, there twice or damaged, or they are of several sources or of other work.
    """
    read = {path: read_model(path, kind, error=SourceError, fix=_FIX, code="bad-shard") for path in files}
    first = next(iter(read.values()))
    for path, shard in read.items():
        for name, value in {"version": _VERSION, "of": first.of, "source": first.source, **wanted}.items():
            _check_same(path, name, getattr(shard, name), value)
        for name, digest in shard.sha256.items():
            if not (file := path.parent / name).is_file() or sha256_file(file) != digest:
                raise SourceError("not what the shard wrote", where=str(file), fix=_FIX, code="bad-shard")
    numbers = Counter(shard.number for shard in read.values())
    missing = [str(number) for number in range(1, first.of + 1) if number not in numbers]
    twice = [str(number) for number, count in numbers.items() if count > 1]
    if missing or twice:
        what = f"shards {', '.join(missing)} of {first.of} missing" if missing else f"shard {twice[0]} is there twice"
        where = str(files[0].parent.parent)
        raise SourceError(what, where=where, fix="Make those that are missing.", code="missing-shard")
    return read


def _check_same(path: Path, name: str, own: object, value: object) -> None:
    if canonical_json(own) == canonical_json(value):
        return
    differs = [str(own)]
    if isinstance(own, dict) and isinstance(value, dict):
        differs = sorted(key for key in {*own, *value} if own.get(key) != value.get(key))[:3]
    raise SourceError(
        f"another {name}: {', '.join(differs)}",
        where=str(path),
        expected="one set of settings and one source, as of the command and the other shards",
        fix=_FIX,
        code="other-shard",
    )
