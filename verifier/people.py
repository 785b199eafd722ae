"""People who predicted samples of a quarter: the subset that was drawn, and the tables of people beside systems.

Beside the tasks of an edition lie in `ratings/` the ids that were drawn, from the opening on, and with the labels what
people answered, under numbers, and the tables made of it (`docs/formats.md`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import exp
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from verifier.content import MAJORITY, NOT_ASKED, Content
from verifier.manifest import ASKED, PEOPLE, RATINGS
from verifier.reading import COUNT, Row, first_of, read_table, rows, text_hash
from verifier.scores import agree, table_of
from verifier.statistics import FloatArray, Metric, interval, kish, t_quantile

_LEAST_PEOPLE, _LEAST_SAMPLES, _VOTERS, _ROUNDING = 5, 40, 3, 1e-20
_COLUMNS = ["sample", "judge", "label", "certainty", "known", "asked_label", "asked_certainty"]
_NUMBER = (float, None)
_ROW = {
    "with_known": bool,
    **dict.fromkeys(("section", "origin", "missing"), str),
    **dict.fromkeys(("value", "low", "high", "agreement"), _NUMBER),
    **dict.fromkeys(("samples", "people", "answers", "failed"), COUNT),
}


@dataclass
class PeopleCheck:
    """Draws the subset again and computes the tables of people again.

    Attributes:
        content: the release.
        folder: of the release.
        answers: how many there are.
        faults: what is wrong.
        unchecked: what was not checked.
    """

    content: Content
    folder: Path
    answers: int = 0
    faults: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)

    def _path(self, end: str) -> Path:
        return self.folder.parent / RATINGS / f"{self.content.manifest['task']}.{end}"

    @property
    def is_there(self) -> bool:
        """Whether people were asked about the release."""
        return self.content.manifest.is_main and any(self._path(end).is_file() for end in (ASKED, *PEOPLE))

    def check(self) -> None:
        """Check the subset and, where answers are published, the answers and the tables."""
        faults: list[str] = []
        asked = [str(row["id"]) for _, row in rows(self._path(ASKED), {"id": str}, faults)]
        self.faults += [f"{ASKED}: {fault}" for fault in faults]
        self.faults += self._otherwise_drawn(asked)
        if not any(self._path(end).is_file() for end in PEOPLE):
            return
        if not self.content.has_labels:
            self.faults.append("answers of people are published before the labels")
            return
        try:
            table = read_table(self._path(PEOPLE[0]))
            if table.columns != _COLUMNS:
                raise ValueError(f"{PEOPLE[0]} has the columns {table.columns}, not {_COLUMNS}")
            answers = table.to_dicts()
            ordered = sorted(answers, key=lambda row: (_number(row["judge"]), row["sample"]))
        except (ValueError, TypeError) as error:
            self.faults.append(str(error)[:300])
            return
        self.answers = len(answers)
        self.unchecked += ["who of the people gave an answer, their certainty, and answers that were not published"]
        self.faults += [] if answers == ordered else [f"{PEOPLE[0]} is not in its order"]
        self.faults += first_of(list(self._odd_answers(answers, set(asked))))
        if not self.faults:
            self._check_tables(answers)

    def _otherwise_drawn(self, asked: Sequence[str]) -> Iterator[str]:
        """The subset is the first in the order of SHA-256 of `people:<id>`; what was taken down may be in it or not."""
        gone = self.content.tombstones.keys()
        known = sorted({*self.content.places, *gone}, key=lambda name: text_hash(f"people:{name}"))
        last = max((known.index(name) for name in asked if name in known), default=-1)
        expected = [name for name in known[: last + 1] if name not in gone or name in asked]
        if list(asked) != expected:
            yield f"{ASKED} is not the first samples in their order for people"

    def _odd_answers(self, answers: Sequence[Row], asked: set[str]) -> Iterator[str]:
        classes, seen = range(len(self.content.classes)), Counter((row["judge"], row["sample"]) for row in answers)
        known = self.content.places.keys() | self.content.tombstones.keys()
        for row in answers:
            where = f"{row['judge'][:20]} on {row['sample'][:80]}"
            is_check = row["asked_label"] is not None
            if is_check == (row["sample"] in known) or (not is_check and row["sample"] not in asked):
                yield f"{where}: not a sample that people were asked about"
            if row["label"] not in classes or row["certainty"] not in range(101) or row["known"] not in (True, False):
                yield f"{where}: not an answer"
            if seen[row["judge"], row["sample"]] > 1:
                yield f"{where}: answered twice"

    def _check_tables(self, answers: Sequence[Row]) -> None:
        faults: list[str] = []
        stated = [row for _, row in rows(self._path(PEOPLE[1]), _ROW, faults)]
        failed = {
            row["judge"]
            for row in answers
            if row["asked_label"] is not None
            and (row["label"], row["certainty"]) != (row["asked_label"], row["asked_certainty"])
        }
        there = [row for row in answers if row["sample"] in self.content.places]
        counted = [row for row in there if row["judge"] not in failed]
        expected: list[Row] = []
        for with_known in (False, True) if counted else ():
            own = [row for row in counted if with_known or not row["known"]]
            expected += ({"with_known": with_known, "failed": len(failed), **row} for row in self._table(own))
        if len(stated) != len(expected):
            faults.append(f"there are {len(stated)} rows of people and systems, and {len(expected)} by the answers")
        figures = ("value", "low", "high", "agreement")
        sections = {"people", "system", "control", "baseline", "smoke-test"}
        for number, (said, made) in enumerate(zip(stated, expected, strict=False), 1):
            other = [name for name in made if name not in figures and said[name] != made[name]]
            pairs = [(said[name], made.get(name)) for name in figures]
            same = all(_same(*pair) for pair in pairs)
            is_people = made["origin"].startswith("people/")
            if other or not same or said["section"] not in sections or (said["section"] == "people") != is_people:
                faults.append(f"line {number}: {', '.join(other) or 'figures or section'} are not those of the answers")
        self.faults += first_of([f"{PEOPLE[1]}: {fault}" for fault in faults])

    def _table(self, answers: Sequence[Row]) -> Iterator[Row]:
        content = self.content
        by_sample: dict[int, list[Row]] = defaultdict(list)
        for row in answers:
            by_sample[content.places[row["sample"]]].append(row)
        judged = {at: its for at, its in sorted(by_sample.items()) if len(its) >= _VOTERS}
        given = [(at, row) for at, its in judged.items() for row in its]
        people = {row["judge"] for _, row in given}
        counts: Row = {"samples": len(judged), "people": len(people), "answers": len(given)}
        where = np.zeros(len(content.places), np.bool_)
        where[list(judged)] = True
        missing = [f"{len(people)} people of at least {_LEAST_PEOPLE}"] if len(people) < _LEAST_PEOPLE else []
        if len(judged) < _LEAST_SAMPLES:
            missing.append(f"{len(judged)} samples with answers of {_VOTERS} people, of at least {_LEAST_SAMPLES}")
        if not missing and np.unique(content.labels[where]).size < 2:
            missing.append("samples of one class only")
        if missing:
            yield {**counts, "origin": "people/single", "missing": ", ".join(missing)}
            return
        metric, counts = content.metrics[0], {**counts, "missing": ""}
        agreement = {"agreement": _alpha([row["label"] for _, row in given], [at for at, _ in given])}
        yield {**counts, "origin": "people/single", **agreement, **self._single(given, metric)}
        votes = np.full(len(content.places), NOT_ASKED, np.int8)
        for at, its in judged.items():
            ranked = Counter(row["label"] for row in its[:_VOTERS]).most_common()
            votes[at] = ranked[0][0] if len(ranked) == 1 or ranked[0][1] > ranked[1][1] else -1
        table = metric.sums(content.labels[where], votes[where], content.groups[where])
        yield {**counts, "origin": "people/vote", **agreement, **_ends(interval(table, metric))}
        beside = []
        for entry in content.entries:
            prompts = [prompt for one, prompt in content.answers if one == entry]
            prompt = MAJORITY if MAJORITY in prompts else prompts[0]
            if not (content.answers[entry, prompt][where] == NOT_ASKED).any():
                found = interval(table_of(content, entry, prompt, metric, where), metric)
                beside.append({**counts, "origin": entry, **_ends(found)})
        yield from sorted(beside, key=lambda row: (-row["value"], row["origin"]))

    def _single(self, given: Sequence[tuple[int, Row]], metric: Metric) -> Row:
        """One person, with the interval over other samples and other people."""
        at = np.array([place for place, _ in given])
        said = np.array([row["label"] for _, row in given], np.int8)
        person = np.array([_number(row["judge"]) for _, row in given], np.int64)
        # The sums of each answer: a group of its own.
        sums = metric.sums(self.content.labels[at], said, np.arange(at.size, dtype=np.int32))
        sums = sums / np.bincount(at)[at][:, None]
        total = sums.sum(axis=0)
        edge = 0.25 / float(metric.size(total))

        def odds(tables: FloatArray) -> FloatArray:
            share = np.clip((metric.value(tables) - metric.limits[0]) / metric.span, edge, 1 - edge)
            return np.asarray(np.log(share / (1 - share)))

        group = self.content.groups[at].astype(np.int64)
        kinds = (group, person, group * (int(person.max()) + 1) + person)
        (one, groups), (two, people), (both, _) = (_spread(sums, kind, metric, odds) for kind in kinds)
        value, variance = float(metric.value(total)), one + two - both
        variance = variance if variance > 0 else max(one, two)
        if min(one, two) <= _ROUNDING or min(groups, people) <= 1:
            return _ends((value, *metric.limits))
        df = variance**2 / (one**2 / (groups - 1) + two**2 / (people - 1))
        half = t_quantile(0.05, max(min(df, groups + people - 2), 1.0)) * variance**0.5
        centre = float(odds(total))
        low, high = (metric.limits[0] + metric.span / (1 + exp(-(centre + side * half))) for side in (-1, 1))
        return _ends((value, min(low, value), max(high, value)))


def _spread(
    sums: FloatArray, kind: NDArray[np.int64], metric: Metric, odds: Callable[[FloatArray], FloatArray]
) -> tuple[float, float]:
    """The jackknife's variance of the odds, and how many clusters of one size would weigh as much."""
    member = np.unique(kind, return_inverse=True)[1]
    columns = [np.bincount(member, weights=column) for column in sums.T]
    tables: FloatArray = np.stack(columns, axis=1).astype(np.float64)
    without = odds(sums.sum(axis=0) - tables)
    return float((without.size - 1) * without.var()), kish(metric.size(tables))


def _same(one: float | None, two: float | None) -> bool:
    return one is two if one is None or two is None else agree([one], [two])


def _ends(figures: tuple[float, float, float]) -> Row:
    return dict(zip(("value", "low", "high"), figures, strict=True))


def _alpha(labels: Sequence[int], units: Sequence[int]) -> float | None:
    """Krippendorff's alpha of nominal answers: 1 less disagreement within samples over that of all answers."""
    by_unit: dict[int, Counter[int]] = defaultdict(Counter)
    for unit, label in zip(units, labels, strict=True):
        by_unit[unit][label] += 1
    total, seen = Counter[int](), 0.0
    for counts in by_unit.values():
        n = counts.total()
        if n > 1:
            total.update(counts)
            seen += (n * n - sum(count * count for count in counts.values())) / (n - 1)
    n = total.total()
    crossed = n * n - sum(count * count for count in total.values())
    return 1 - seen * (n - 1) / crossed if crossed else None


def _number(judge: str) -> int:
    return int(judge.rpartition("-")[2])
