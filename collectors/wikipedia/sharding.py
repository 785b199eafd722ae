"""A collection in shards, each on a machine of its own, and the merge that checks that they make a whole.

Shard K of N takes every Nth history of the files, from the Kth on. It leaves a folder `K-of-N` with its candidates, its
undecided samples and, written last, `shard.json`: all files of the source, what it read of them, settings, counts and
hashes. The merge needs these folders only. It gives what one machine would have given, to the byte.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hellofresh.collectors.wikipedia.collect import EditsFound, collection_of, find_edits
from hellofresh.collectors.wikipedia.dump.export import histories, shards
from hellofresh.collectors.wikipedia.rules.stability import EditsSettings, Fate
from hellofresh.core.errors import SourceError, UsageError
from hellofresh.core.executors import Pool
from hellofresh.core.files import canonical_json, read_jsonl, read_model, sha256_file, write_json, write_jsonl
from hellofresh.core.quarters import Quarter
from hellofresh.releases.candidates.rows import Collection, SourceFile, read_candidates, write_candidates
from hellofresh.tasks.samples import to_json
from hellofresh.tasks.wikipedia_edits import TASK

_FILE, _CANDIDATES, _PENDING = "shard.json", "candidates.parquet", "pending.jsonl"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class _Unit:
    """What one history gave, beside candidates; fields as of `EditsFound`."""

    name: str
    sources: list[SourceFile]
    drops: dict[str, int]
    context: dict[str, int]
    pages: list[int]


@dataclass(frozen=True, slots=True)
class _Shard:
    """What `shard.json` holds.

    Attributes:
        version: of the format.
        number, of: which shard of how many.
        quarter, parameters, pending: what was collected, and how.
        source: size of every file of the whole source, by name.
        units: the histories that were read.
        sha256: of the files beside it.
    """

    version: int
    number: int
    of: int
    quarter: str
    parameters: dict[str, Any]
    pending: bool
    source: dict[str, int]
    units: list[_Unit]
    sha256: dict[str, str]


def write_shard(
    folder: Path,
    shard: tuple[int, int],
    quarter: Quarter,
    dumps: Sequence[Path],
    settings: EditsSettings,
    *,
    jobs: int = 1,
    pool: Pool | None = None,
    progress: Callable[[str], None],
    pending: bool = False,
) -> Path:
    """Collect one shard into `folder/K-of-N`, whose path is returned; other arguments and errors as of `collect`."""
    (number, of), files = shard, shards(dumps)
    mine = [path for paths in histories(files)[number - 1 :: of] for path in paths]
    found = (
        find_edits(quarter, mine, settings, jobs=jobs, pool=pool, progress=progress, pending=pending) if mine else []
    )
    place = folder / f"{number}-of-{of}"
    (place / _FILE).unlink(missing_ok=True)  # it says that the others are whole
    write_candidates(place / _CANDIDATES, TASK, [item for one in found for item in one.candidates])
    waiting = sorted((sample for one in found for sample in one.pending), key=lambda sample: sample.id)
    write_jsonl(place / _PENDING, map(to_json, waiting))
    units = [
        _Unit(
            one.name, one.sources, {str(fate): n for fate, n in one.drops.items()}, dict(one.context), list(one.pages)
        )
        for one in found
    ]
    source = {path.name: path.stat().st_size for path in files}
    hashes = {name: sha256_file(place / name) for name in (_CANDIDATES, _PENDING)}
    parameters = _parameters(settings)
    write_json(
        place / _FILE,
        asdict(_Shard(_VERSION, number, of, str(quarter), parameters, pending, source, units, hashes)),
    )
    return place


def shard_files(folder: Path) -> list[Path]:
    """The file of every finished shard in a folder, which the merge will read; raises UsageError without any."""
    found = sorted(folder.glob(f"*-of-*/{_FILE}"))
    if not found:
        raise UsageError(
            "no shard to merge",
            where=str(folder),
            expected=f"folders such as 1-of-16 with {_FILE}",
            fix="Collect them first: hellofresh collect wikipedia-edits ... --shard 1/16",
            code="no-shards",
        )
    return found


def merge_shards(files: Sequence[Path], quarter: Quarter, settings: EditsSettings, *, pending: bool) -> Collection:
    """The collection whose shards these are.

    Raises:
        SourceError: if one is missing, there twice or damaged, or they are of several sources, settings or quarters.
    """
    fix = "Collect this shard again, or remove its folder if it is of another collection."
    read = {path: read_model(path, _Shard, error=SourceError, fix=fix, code="bad-shard") for path in files}
    wanted = {"quarter": str(quarter), "parameters": _parameters(settings), "pending": pending, "version": _VERSION}
    first = next(iter(read.values()))
    for path, shard in read.items():
        for name, value in {**wanted, "of": first.of, "source": first.source}.items():
            own = getattr(shard, name)
            if canonical_json(own) != canonical_json(value):
                differs = (
                    [key for key in {*own, *value} if own.get(key) != value.get(key)]
                    if isinstance(own, dict) and isinstance(value, dict)
                    else [str(own)]
                )
                raise SourceError(
                    f"another {name}: {', '.join(sorted(differs)[:3])}",
                    where=str(path),
                    expected="one quarter, one set of settings and one source, as of the command and the other shards",
                    fix=fix,
                    code="other-shard",
                )
        for name, digest in shard.sha256.items():
            if sha256_file(path.with_name(name)) != digest:
                raise SourceError(
                    "not what the shard wrote", where=str(path.with_name(name)), fix=fix, code="bad-shard"
                )
    _check_whole(list(read.values()), files[0].parent.parent)
    found = [one for path, shard in read.items() for one in _found(path, shard)]
    return collection_of(found, settings, pending=pending)


def _parameters(settings: EditsSettings) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(settings).items()}


def _check_whole(found: Sequence[_Shard], folder: Path) -> None:
    numbers = Counter(shard.number for shard in found)
    missing = [str(number) for number in range(1, found[0].of + 1) if number not in numbers]
    twice = [str(number) for number, count in numbers.items() if count > 1]
    if missing or twice:
        what = (
            f"shards {', '.join(missing)} of {found[0].of} missing" if missing else f"shard {twice[0]} is there twice"
        )
        raise SourceError(what, where=str(folder), fix="Collect those that are missing.", code="missing-shard")
    names = Counter(source.name for shard in found for unit in shard.units for source in unit.sources)
    if names != Counter(list(found[0].source)):
        wrong = sorted((names - Counter(found[0].source)) | (Counter(list(found[0].source)) - names))
        raise SourceError(
            f"{wrong[0] if wrong else 'a file'} was not read once",
            where=str(folder),
            expected="every file of the source in one shard",
            fix="Collect all shards again.",
            code="bad-shard",
        )


def _found(path: Path, shard: _Shard) -> list[EditsFound]:
    """What a shard found; its candidates and undecided edits go with its first history: they are sorted later."""
    found = []
    for unit in shard.units:
        drops = Counter({Fate(fate): count for fate, count in unit.drops.items()})
        found.append(
            EditsFound(unit.name, unit.sources, [], drops, Counter(unit.context), pages=array("q", unit.pages))
        )
    if found:
        found[0].candidates = read_candidates(path.with_name(_CANDIDATES), TASK)
        found[0].pending = [
            TASK.parse_sample(canonical_json(row), where=str(path.with_name(_PENDING)))
            for row in read_jsonl(path.with_name(_PENDING))
        ]
    return found
