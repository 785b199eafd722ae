"""Results as plain numbers and names, to be compared with those written down in a file of values beside the tests.

What is right is shown by other tests, against other people's code and by identities; these see any change of a line. If
a value changes on purpose, run the module of the cases (`python -m tests.stats.test_stats_values`) and read the
difference. Of sentences and titles only the numbers are written down, so that another wording changes no value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from pathlib import Path
from zlib import crc32

import numpy as np
import polars as pl
import pytest

from hellofresh.stats.metrics import Metric

Make = Callable[[], object]
SENTENCE, NUMBER = re.compile(r"\w \w"), re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Cases:
    """Cases by name, and the file that has what each comes to."""

    file: Path
    named: dict[str, Make] = field(default_factory=dict)

    def __call__(self, make: Make) -> Make:
        """Decorator of a case."""
        self.named[make.__name__] = make
        return make

    def check(self, name: str) -> None:
        """Fail where a value is not the one that is written down."""
        _same(plain(self.named[name]()), json.loads(self.file.read_text())[name], name)

    def write(self) -> None:
        """Write down what the cases come to now, a line each."""
        made = (f"{json.dumps(name)}: {json.dumps(plain(make()))}" for name, make in self.named.items())
        self.file.write_text("{\n" + ",\n".join(made) + "\n}\n")


def plain(found: object, seen: dict[str, int] | None = None) -> object:
    """The numbers and names of a result, as JSON can hold them; of a sentence its numbers, and its place in `seen`."""
    match found:
        case Enum():
            return found.name
        case str():
            place = "" if seen is None else seen.setdefault(found, len(seen))
            return f"...{place} {' '.join(NUMBER.findall(found))}".strip() if SENTENCE.search(found) else found
        case None | bool():
            return found
        case np.ndarray():
            return plain(found.tolist(), seen)
        case pl.DataFrame():
            return _table(found)
        case Metric():
            return found.name
        case Mapping():
            return {str(name): plain(value, seen) for name, value in found.items()}
        case _ if is_dataclass(found):
            return {one.name: plain(getattr(found, one.name), seen) for one in fields(found)}
        case Iterable():
            return [plain(value, seen) for value in found]
    number = float(found)
    return float(f"{number:.11g}") if np.isfinite(number) else str(number)


def _table(table: pl.DataFrame) -> object:
    """The columns of a table: a digest of each that has numbers, and one of all names together."""
    of_numbers = [name for name in table.columns if table[name].dtype.is_numeric() or table[name].dtype == pl.Boolean]
    words = [table.columns, *table.select(pl.all().exclude(of_numbers)).rows()]
    return {"names": digest(words), **{name: digest(table[name].to_list()) for name in of_numbers}}


def digest(values: Iterable[object]) -> object:
    """A long sequence in a few numbers, at least one of which changes with any value of it."""
    found = values.ravel().tolist() if isinstance(values, np.ndarray) else list(values)
    if all(value is None or isinstance(value, int | float | np.number) for value in found):
        numbers = np.array([np.nan if value is None else value for value in found], dtype=np.float64)
        known, places = np.isfinite(numbers), np.arange(numbers.size)
        waves = np.stack([np.cos(places), np.sin(places)], axis=1)
        sums = np.concatenate([[known.size, known.sum()], [known @ waves[:, 0]], np.where(known, numbers, 0.0) @ waves])
        return [float(f"{value:.9g}") for value in sums]
    seen: dict[str, int] = {}
    words = [json.dumps(plain(value, seen), ensure_ascii=False) for value in found]
    return [len(words), len(set(words)), crc32("\n".join(words).encode())]


def refused(*calls: Make, kind: type[Exception] = ValueError) -> int:
    """How many calls were made, each of which must be refused."""
    for call in calls:
        with pytest.raises(kind):
            call()
    return len(calls)


def _same(found: object, expected: object, where: str) -> None:
    match expected:
        case dict():
            assert isinstance(found, dict) and list(found) == list(expected), where
            for name, value in expected.items():
                _same(found[name], value, f"{where}.{name}")
        case list():
            assert isinstance(found, list) and len(found) == len(expected), (where, found, expected)
            for place, value in enumerate(expected):
                _same(found[place], value, f"{where}[{place}]")
        case float():
            assert found == pytest.approx(expected, rel=1e-7, abs=1e-9), where
        case _:
            assert found == expected, where
