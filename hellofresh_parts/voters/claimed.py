"""Names claimed by writers of notes: files that list notes of one writer, `{"name": "...", "notes": ["...", ...]}`.

Note ids are public, so such a file proves nothing, and a name is shown as claimed. A proof would be a hash of a
note's text and a secret, submitted before the note was.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hellofresh.core.errors import DataError
from hellofresh.core.files import read_model
from hellofresh.submissions.names import MAX_NAME, faults_of_name, plain_text_fault, skeleton

LEAST_CLAIMED = 2
"""The fewest notes in a claim."""
_FORMAT = 'Expected: {"name": "...", "notes": ["123", ...]}'


@dataclass(frozen=True, slots=True)
class ClaimedNotes:
    """A file of claimed notes."""

    name: str
    notes: tuple[str, ...]


def read_claimed(folder: Path) -> Mapping[str, Collection[int]]:
    """The note ids that each name claims, from the JSON files of a folder.

    Raises:
        DataError: if the folder has no such file, a file is damaged, a name may not be shown or looks like another, or
            a note is claimed twice (`bad-claim`).
    """
    found: dict[str, Collection[int]] = {}
    names, owners = dict[str, Path](), dict[int, Path]()
    for path in sorted(folder.glob("*.json")):
        claimed = read_model(path, ClaimedNotes, fix=_FORMAT, code="bad-claim")
        name, looks = claimed.name, skeleton(claimed.name)
        fault = plain_text_fault(name) or faults_of_name(name) or "is too long" * (len(name) > MAX_NAME)
        if fault:
            raise _bad(f"the name {name[:MAX_NAME]!r} {fault}", path, "another name")
        if not all(note.isascii() and note.isdecimal() and int(note[:20]) < 2**63 for note in claimed.notes):
            raise _bad("a note id is not a number", path, "ids as in the dump, as texts")
        ids = set(map(int, claimed.notes))
        if len(ids) < LEAST_CLAIMED:
            raise _bad(f"{len(ids)} notes", path, f"{LEAST_CLAIMED} or more notes of one writer")
        taken = sorted(ids & owners.keys())
        other = owners[taken[0]] if taken else names.get(looks)
        if other is not None:
            what = f"note {taken[0]}" if taken else f"the name {name!r}, or one like it,"
            raise _bad(f"{what} is claimed twice", path, f"one claim of each; the other is in {other.name}")
        names[looks], found[name] = path, ids
        owners |= dict.fromkeys(ids, path)
    if not found:
        raise _bad("no file of claimed notes", folder, "NAME.json for each writer")
    return found


def _bad(what: str, path: Path, expected: str) -> DataError:
    return DataError(what, where=str(path), expected=expected, fix="Ask whoever submitted it.", code="bad-claim")


def claimed_names(
    claimed: Mapping[str, Collection[int]], notes: pl.DataFrame, machines: NDArray[np.int64]
) -> tuple[Mapping[int, str], Sequence[str]]:
    """Names by the first note of a writer whom a single claim names, and the reasons for leaving out others.

    Args:
        claimed: note ids by name.
        notes: all of the dump: `noteId`, and `writer`, the first note of its writer.
        machines: first notes of automated writers.
    """
    by_writer, left_out = defaultdict[int, list[str]](list), []
    for name, ids in claimed.items():
        own = notes.filter(pl.col("noteId").is_in(list(ids)))["writer"]
        if own.len() < len(ids) or own.n_unique() > 1 or own[0] not in machines:
            left_out.append(f"the claim of {name!r} is left out: not all its notes are in the dump and by one program")
        else:
            by_writer[own[0]].append(name)
    several = [", ".join(map(repr, names)) for names in by_writer.values() if len(names) > 1]
    left_out += [f"the claims of {names} are left out: they name one writer" for names in several]
    return {writer: names[0] for writer, names in by_writer.items() if len(names) == 1}, left_out
