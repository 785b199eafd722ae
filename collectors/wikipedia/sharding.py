"""A collection in shards, as `hellofresh.core.shards` has them, and their merge.

A unit of work is a history. A shard leaves its candidates, its undecided samples, and what it read and counted. The
merge gives what one machine would have given, to the byte.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from collectors.wikipedia.collect import EditsFound, collection_of, find_edits
from collectors.wikipedia.export import histories, shards
from collectors.wikipedia.stability import EditsSettings, Fate
from hellofresh.core.errors import SourceError
from hellofresh.core.executors import Pool
from hellofresh.core.files import canonical_json, read_jsonl, write_jsonl
from hellofresh.core.quarters import Quarter
from hellofresh.core.shards import Shard, ShardRecord, begin_shard, finish_shard, own_units, read_shards
from hellofresh.releases.candidates import Collection, SourceFile, read_candidates, write_candidates
from hellofresh.tasks.samples import to_json
from hellofresh.tasks.wikipedia_edits import TASK

_CANDIDATES, _PENDING = "candidates.parquet", "pending.jsonl"


@dataclass(frozen=True, slots=True)
class _Unit:
    """What one history gave, beside candidates; fields as of `EditsFound`."""

    name: str
    sources: list[SourceFile]
    drops: dict[str, int]
    context: dict[str, int]
    pages: list[int]


@dataclass(frozen=True, slots=True)
class _Collected(ShardRecord):
    """What a shard of a collection says.

    Attributes:
        quarter, parameters, pending: what was collected, and how.
        units: the histories that were read.
    """

    quarter: str
    parameters: dict[str, Any]
    pending: bool
    units: list[_Unit]


def write_shard(
    folder: Path,
    shard: Shard,
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
    files = shards(dumps)
    mine = [path for paths in own_units(histories(files), shard) for path in paths]
    found = (
        find_edits(quarter, mine, settings, jobs=jobs, pool=pool, progress=progress, pending=pending) if mine else []
    )
    place = begin_shard(folder, shard)
    candidates, undecided = place / _CANDIDATES, place / _PENDING
    write_candidates(candidates, TASK, [item for one in found for item in one.candidates])
    waiting = sorted((sample for one in found for sample in one.pending), key=lambda sample: sample.id)
    write_jsonl(undecided, map(to_json, waiting))
    units = [
        _Unit(
            one.name, one.sources, {str(fate): n for fate, n in one.drops.items()}, dict(one.context), list(one.pages)
        )
        for one in found
    ]
    source = {path.name: path.stat().st_size for path in files}
    more = {**_wanted(quarter, settings, pending=pending), "units": list(map(asdict, units))}
    finish_shard(place, shard, source, (candidates, undecided), more)
    return place


def merge_shards(files: Sequence[Path], quarter: Quarter, settings: EditsSettings, *, pending: bool) -> Collection:
    """The collection whose shards these are.

    Raises:
        SourceError: if one is missing, there twice or damaged, or they are of several sources, settings or quarters.
    """
    read = read_shards(files, _Collected, _wanted(quarter, settings, pending=pending))
    _check_read_once(list(read.values()), files[0].parent.parent)
    found = [one for path, shard in read.items() for one in _found(path, shard)]
    return collection_of(found, settings, pending=pending)


def _wanted(quarter: Quarter, settings: EditsSettings, *, pending: bool) -> dict[str, object]:
    parameters = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(settings).items()}
    return {"quarter": str(quarter), "parameters": parameters, "pending": pending}


def _check_read_once(found: Sequence[_Collected], folder: Path) -> None:
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


def _found(path: Path, shard: _Collected) -> list[EditsFound]:
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
