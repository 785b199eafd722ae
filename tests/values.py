"""Results as plain numbers and words, to be compared with those written down in a file of values beside the tests.

What is right is shown by other tests, against other people's code and by identities; these see any change of a line. If
a value changes on purpose, run the module of the cases (`python -m tests.stats.test_stats_values`) and read the
difference.
"""

from __future__ import annotations

import json
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


def plain(found: object) -> object:
    """The numbers and words of a result, as JSON can hold them."""
    match found:
        case Enum():
            return found.name
        case None | str() | bool():
            return found
        case np.ndarray():
            return plain(found.tolist())
        case pl.DataFrame():
            return _table(found)
        case Metric():
            return found.name
        case Mapping():
            return {str(name): plain(value) for name, value in found.items()}
        case _ if is_dataclass(found):
            return {one.name: plain(getattr(found, one.name)) for one in fields(found)}
        case Iterable():
            return [plain(value) for value in found]
    number = float(found)
    return float(f"{number:.11g}") if np.isfinite(number) else str(number)


def _table(table: pl.DataFrame) -> object:
    """The columns of a table: a digest of each that has numbers, and one of all words together."""
    of_numbers = [name for name in table.columns if table[name].dtype.is_numeric() or table[name].dtype == pl.Boolean]
    words = [table.columns, *table.select(pl.all().exclude(of_numbers)).rows()]
    return {"words": digest(words), **{name: digest(table[name].to_list()) for name in of_numbers}}


def digest(values: Iterable[object]) -> object:
    """A long sequence in a few numbers, at least one of which changes with any value of it."""
    found = values.ravel().tolist() if isinstance(values, np.ndarray) else list(values)
    if all(value is None or isinstance(value, int | float | np.number) for value in found):
        numbers = np.array([np.nan if value is None else value for value in found], dtype=np.float64)
        known, places = np.isfinite(numbers), np.arange(numbers.size)
        waves = np.stack([np.cos(places), np.sin(places)], axis=1)
        sums = np.concatenate([[known.size, known.sum()], [known @ waves[:, 0]], np.where(known, numbers, 0.0) @ waves])
        return [float(f"{value:.9g}") for value in sums]
    words = [json.dumps(plain(value), ensure_ascii=False) for value in found]
    return [len(words), len(set(words)), words[0][:40], crc32("\n".join(words).encode())]


def refused(*calls: Make, kind: type[Exception] = ValueError) -> list[str]:
    """What each call is refused with."""
    said = []
    for call in calls:
        with pytest.raises(kind) as error:
            call()
        said.append(str(error.value))
    return said


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
