"""Names that writers of notes claim: files that list notes of one writer, `{"name": "...", "notes": ["...", ...]}`.

Note ids are public, so such a file proves nothing, and a name is shown as claimed. What would prove it: a hash of a
note's text and a secret that was handed in before the note was.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hellofresh.core.errors import DataError
from hellofresh.core.files import read_model
from hellofresh.submissions.names import MAX_NAME, faults_of_name, is_plain_text, skeleton

LEAST_CLAIMED = 2
"""So many notes a claim must list."""


@dataclass(frozen=True, slots=True)
class ClaimedNotes:
    """A writer's file."""

    name: str
    notes: tuple[str, ...]


def read_claimed(folder: Path) -> Mapping[str, Sequence[int]]:
    """The note ids that each name claims, from the JSON files of a folder.

    Raises:
        DataError: if the folder has no such file, a file is damaged, a name may not be shown or looks like another, or
            a note is claimed twice (`bad-claim`).
    """
    found: dict[str, Sequence[int]] = {}
    names, owners = dict[str, Path](), dict[int, Path]()
    for path in sorted(folder.glob("*.json")):
        claimed = read_model(
            path, ClaimedNotes, fix='Expected: {"name": "...", "notes": ["123", ...]}', code="bad-claim"
        )
        fault = is_plain_text(claimed.name) or faults_of_name(claimed.name)
        fault = fault or f"has more than {MAX_NAME} characters" * (len(claimed.name) > MAX_NAME)
        if fault:
            raise _bad(f"the name {claimed.name[:MAX_NAME]!r} {fault}", path, "another name")
        if not all(note.isascii() and note.isdecimal() and len(note) < 20 for note in claimed.notes):
            raise _bad("a note id is not a number", path, "ids as in the dump, as texts")
        ids = sorted(map(int, claimed.notes))
        if len(ids) < LEAST_CLAIMED:
            raise _bad(f"{len(ids)} notes", path, f"{LEAST_CLAIMED} or more notes of one writer")
        twice = [note for place, note in enumerate(ids) if note in owners or note in ids[:place]]
        other = names.get(skeleton(claimed.name), owners.get(twice[0], path) if twice else None)
        if other is not None:
            what = f"note {twice[0]}" if twice else f"the name {claimed.name!r}, or one like it,"
            raise _bad(f"{what} is claimed twice", path, f"one claim of each; the other is in {other.name}")
        names[skeleton(claimed.name)] = path
        owners |= dict.fromkeys(ids, path)
        found[claimed.name] = ids
    if not found:
        raise _bad("no file of claimed notes", folder, "NAME.json for each writer")
    return found


def _bad(what: str, path: Path, expected: str) -> DataError:
    return DataError(what, where=str(path), expected=expected, fix="Ask who handed it in.", code="bad-claim")


def claimed_names(
    claimed: Mapping[str, Sequence[int]], notes: pl.Series, writers: NDArray[np.uint64], machines: NDArray[np.uint64]
) -> tuple[Mapping[int, str], Sequence[str]]:
    """The name of each writer that one claim names, by its keyed hash, and why others are left out.

    Args:
        claimed: note ids by name.
        notes, writers: ids of all notes of the dump and the keyed hashes of who wrote them.
        machines: keyed hashes of the programs that write.
    """
    of, by_writer, left_out = dict(zip(notes, writers.tolist(), strict=True)), defaultdict[int, list[str]](list), []
    for name, ids in claimed.items():
        authors = {of.get(note) for note in ids}
        author = next(iter(authors))
        if len(authors) > 1 or author is None or author not in machines:
            left_out.append(f"the claim of {name!r} is left out: its notes are not all in the dump by one program")
        else:
            by_writer[author].append(name)
    several = [", ".join(map(repr, names)) for names in by_writer.values() if len(names) > 1]
    left_out += [f"the claims of {names} are left out: they name one writer" for names in several]
    return {writer: names[0] for writer, names in by_writer.items() if len(names) == 1}, left_out
