"""Checks of `ratings/` beside the tasks of an edition: closed studies, and predictions by people.

A study has a table of ratings, a table of the system that wrote each response, the rubric, and the standings of
all systems. Predictions by people have the drawn ids, public from the opening on, and, published with the
labels, the pseudonymous answers and the tables made of them (`docs/formats.md`).
"""

from __future__ import annotations

import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from verifier.content import MAJORITY, NOT_ASKED, SINGLE, Content
from verifier.manifest import ASKED, CEILING, LABELS, PEOPLE, RATINGS
from verifier.reading import COUNT, Row, few, first_of, quoted, read_table, rows, short, text_hash
from verifier.scores import Contender, agree, standings, table_of
from verifier.statistics import FloatArray, OwnMetric, forecast_sums, interval, kish, t_quantile

_PLACE = dict.fromkeys(("rank", "rank_low", "rank_high", "tie_group"), (COUNT, None))
_STANDING = {
    **dict.fromkeys(("criterion", "part", "value", "system"), str),
    **dict.fromkeys(("mean", "low", "high"), float),
    "n": COUNT,
    **_PLACE,
}
_COLUMNS = {
    "parquet": ["sample", "response", "link", "judge", "criterion", "value", "weight"],
    "key.parquet": ["response", "sample", "system", "text_sha256"],
}

_LEAST_PEOPLE, _LEAST_SAMPLES, _VOTERS, _ROUNDING = 5, 40, 3, 1e-20  # the published rules of a row of people
_ANSWERS = ["sample", "judge", "label", "certainty", "known", "asked_label", "asked_certainty"]
_NUMBER = (float, None)
_PEOPLE_ROW = {
    "with_known": bool,
    **dict.fromkeys(("section", "origin", "missing"), str),
    **dict.fromkeys(("value", "low", "high", "agreement"), _NUMBER),
    **dict.fromkeys(("samples", "people", "answers", "failed"), COUNT),
}
_CHANCES, _ENDS = ("chance", "chance_error"), ("value", "low", "high")
_CEILING_ROW = {"metric": str, **dict.fromkeys(("value", "low", "high"), float), "samples": COUNT, "of": COUNT}
_DRAWS, _LIMITS, _TINY, _LEAST_WEIGHT = 1_000, (0.025, 0.975), 1e-9, 1e-2


class _Criterion(NamedTuple):
    """The parts of a rubric's criterion that figures depend on."""

    limits: tuple[float, float]
    of_links: bool
    if_skipped: float | None

    @property
    def values(self) -> tuple[int | None, ...]:
        """The allowed ratings."""
        return None, *range(int(self.limits[0]), int(self.limits[1]) + 1)


@dataclass
class _BesideCheck:
    """Common state of the checks of files beside a release.

    Attributes:
        content: the release; its `numbers` receive the ratings on the overall criterion.
        folder: of the release.
        faults: found so far.
        unchecked: what was not checked.
    """

    name: ClassVar[str]
    _endings: ClassVar[tuple[str, ...]]
    content: Content
    folder: Path
    faults: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)

    def _path(self, end: str) -> Path:
        return self.folder.parent / RATINGS / f"{self.content.manifest['task']}.{end}"

    @property
    def is_there(self) -> bool:
        """Whether any of its files is published."""
        return self.content.manifest.is_main and any(self._path(end).is_file() for end in self._endings)


@dataclass
class StudyCheck(_BesideCheck):
    """Recomputes the figures of a closed study from blinded ratings and their key."""

    name, _endings = "ratings", (*_COLUMNS, "rubric.toml", "standings.jsonl")
    responses: int = 0

    @property
    def said(self) -> str:
        """What was checked."""
        return f"of {self.responses:,} responses; means, intervals and standings are those of the ratings"

    def check(self) -> None:
        """Check ratings, key and standings, and pass the ratings on to the scores."""
        try:
            ratings, key = (self._table(end) for end in _COLUMNS)
            overall, criteria = self._rubric()
        except (ValueError, OSError, KeyError, TypeError) as error:
            self.faults.append(short(str(error)))
            return
        self.responses = len(key)
        self.content.rated.update(*((row["system"], row["text_sha256"]) for row in key))
        self.unchecked += [
            "wording and conditions of the rubric",
            "which rater gave a rating, and ratings without value",
        ]
        self.faults += few(_twice(row["response"] for row in key), "appears twice in the key")
        systems = {row["response"]: row for row in key}
        self.faults += self._other_texts(systems)
        if odd := list(self._odd_ratings(ratings, systems, criteria)):
            self.faults += odd
            self.unchecked.append("figures of ratings that cannot be")
            return
        numbers = {name: self._numbers(ratings, systems, name, criteria[name]) for name in criteria}
        for (entry, prompt), at in self._entries(systems).items():
            for metric in self.content.metrics[:1]:
                self.content.numbers[entry, prompt, metric.name] = numbers[overall][at]
        self._check_standings(numbers, overall, criteria)

    def _table(self, end: str) -> list[Row]:
        path = self._path(end)
        table = read_table(path)
        if table.columns != _COLUMNS[end]:
            raise ValueError(f"{path.name} has the columns {table.columns}, not {_COLUMNS[end]}")
        if table.drop("value", strict=False).null_count().sum_horizontal().item():
            raise ValueError(f"{path.name} has empty cells")
        if not table.equals(table.sort(table.columns[:5] if end == "parquet" else "response")):
            self.faults.append(f"{path.name} is not sorted")
        return table.to_dicts()

    def _rubric(self) -> tuple[str, Mapping[str, _Criterion]]:
        said: dict[str, Any] = tomllib.loads(self._path("rubric.toml").read_text())
        found = {}
        for item in said["criteria"]:
            low, high = item.get("range") or (0, len(item["options"]) - 1)
            of_links = item.get("unit", "response") == "link"
            found[str(item["id"])] = _Criterion((float(low), float(high)), of_links, item.get("if_skipped"))
        return said["overall"], {said["overall"]: found[said["overall"]], **found}

    def _odd_ratings(
        self, ratings: list[Row], systems: Mapping[str, Row], criteria: Mapping[str, _Criterion]
    ) -> Iterator[str]:
        """Invalid ratings: of no response, off the scale, repeated, or with a weight other than their share."""
        together: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
        known = self.content.places.keys() | self.content.tombstones.keys()
        faults = [
            f"{quoted(row['response'])} is of no sample" for row in systems.values() if row["sample"] not in known
        ]
        for row in ratings:
            criterion, value = criteria.get(row["criterion"]), row["value"]
            together[row["response"], row["link"], row["criterion"]].append(row)
            if row["response"] not in systems or systems[row["response"]]["sample"] != row["sample"]:
                faults.append(f"a rating of {quoted(row['response'])}, which the key does not have for that sample")
            elif criterion is None or criterion.of_links != bool(row["link"]):
                faults.append(f"a rating of {quoted(row['response'])} on {quoted(row['criterion'])}, not asked for")
            elif value not in criterion.values:
                faults.append(
                    f"a rating of {quoted(row['response'])} that is not on the scale of {short(row['criterion'])}"
                )
        for (response, _, criterion_id), some in together.items():
            if _twice(row["judge"] for row in some):
                faults.append(f"{quoted(response)} is rated twice on {short(criterion_id)} by one rater")
            if any(abs(row["weight"] * len(some) - 1) > 1e-9 for row in some):
                faults.append(f"{quoted(response)}: the weights on {short(criterion_id)} are not equal shares of 1")
        faults += few(systems.keys() - {response for response, _, _ in together}, "is in the key and has no rating")
        yield from first_of(faults)

    def _entries(self, systems: Mapping[str, Row]) -> dict[tuple[str, str], str]:
        """The rated system of each entry, matched by its name or by the texts of its responses."""
        content, by_system = self.content, defaultdict[str, dict[str, str]](dict)
        for row in systems.values():
            by_system[row["system"]][row["sample"]] = row["text_sha256"]
        found = {}
        for entry, prompt in content.answers:
            named, settings = content.entries[entry], content.settings[entry]
            usual = f"{named.system} {named.regime}"
            rated = entry.startswith(f"{content.manifest.edition}/")
            names = [named.system] if rated else [f"{usual} ({settings})", usual, named.system]
            system = next((name for name in names if name in by_system), "")
            texts = {key: text for (one, key), text in content.responses.items() if one == entry}
            if not system:
                same = (name for name, its in by_system.items() if texts and texts.items() <= its.items())
                system = next(same, "")
            if system:
                found[entry, prompt] = system
        return found

    def _other_texts(self, systems: Mapping[str, Row]) -> Iterator[str]:
        """Published responses whose texts differ from the rated ones."""
        if self.content.manifest["texts"] == "withheld":
            self.unchecked.append("texts of rated responses, which are withheld")
            return
        rated = {(row["system"], row["sample"]): row["text_sha256"] for row in systems.values()}
        for (entry, _), system in self._entries(systems).items():
            its = [(key, text) for (one, key), text in self.content.responses.items() if one == entry]
            other = [key for key, text in its if rated.get((system, key)) != text]
            yield from few(other, f"has another response of {short(entry)} than was rated")
            more = {key for name, key in rated if name == system} - {key for key, _ in its}
            yield from few(
                more - self.content.tombstones.keys(), f"has no response of {short(entry)}, and one is rated"
            )

    def _numbers(
        self, ratings: list[Row], systems: Mapping[str, Row], name: str, criterion: _Criterion
    ) -> dict[str, FloatArray]:
        """The mean rating of each sample and its weight, by system; a criterion may count skipped ratings."""
        sums: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
        for row in ratings:
            value = criterion.if_skipped if row["value"] is None else row["value"]
            if row["criterion"] == name and value is not None and row["sample"] in self.content.places:
                pair = sums[systems[row["response"]]["system"], row["sample"]]
                pair[0] += value * row["weight"]
                pair[1] += row["weight"]
        found: dict[str, FloatArray] = defaultdict(lambda: np.full((len(self.content.places), 2), (np.nan, 1.0)))
        for (system, sample), (total, weight) in sums.items():
            found[system][self.content.places[sample]] = total / weight, weight if criterion.of_links else 1.0
        return found

    def _check_standings(
        self, numbers: Mapping[str, Mapping[str, FloatArray]], overall: str, criteria: Mapping[str, _Criterion]
    ) -> None:
        faults: list[str] = []
        stated = [row for _, row in rows(self._path("standings.jsonl"), _STANDING, faults)]
        parts = [("", "")]
        for part, values in self.content.parts.items():
            some = sorted(set(values.values()) - {""})
            parts += [(part, value) for value in some if len(some) > 1]
        expected: list[Row] = []
        for criterion in criteria:
            for part, value in parts if criterion == overall else parts[:1]:
                expected += self._standings(numbers[criterion], criterion, criteria[criterion].limits, part, value)
        if len(stated) != len(expected):
            faults.append(f"there are {len(stated)} standings, and {len(expected)} by the ratings")
        for number, (said, made) in enumerate(zip(stated, expected, strict=False), 1):
            figures = [[row[name] for name in ("mean", "low", "high")] for row in (said, made)]
            other = sorted(name for name in made if name not in {"mean", "low", "high"} and said[name] != made[name])
            if other or not agree(*figures):
                where = f"{short(made['system'])} on {short(made['criterion'])} {short(made['value'])}".strip()
                faults.append(
                    f"standings line {number}: {', '.join(other) or 'mean or interval'} of {where} are not "
                    "those of the ratings"
                )
        self.faults += first_of(faults)

    def _standings(
        self, numbers: Mapping[str, FloatArray], criterion: str, limits: tuple[float, float], part: str, value: str
    ) -> Iterator[Row]:
        """The systems on one criterion and part: ranked ones first, in the order of their ranks."""
        content, metric = self.content, OwnMetric(criterion, (), limits)
        where = np.ones(len(content.places), np.bool_)
        for key, at in content.places.items() if part else ():
            where[at] = content.parts[part].get(key) == value
        for system, its in numbers.items():
            content.numbers[system, SINGLE, criterion] = its
        asked = {system: where & ~np.isnan(its[:, 0]) for system, its in sorted(numbers.items())}
        contenders = [Contender(system, True, there) for system, there in asked.items()]
        found = standings(content, contenders, metric, dict.fromkeys(asked, SINGLE)).places
        made: list[Row] = []
        for system, there in asked.items():
            if there.any():
                mean, low, high = interval(table_of(content, system, SINGLE, metric, there), metric)
                place = found.get(system, (None,) * len(_PLACE))
                row = {"criterion": criterion, "part": part, "value": value, "system": system, "n": int(there.sum())}
                made.append({**row, "mean": mean, "low": low, "high": high, **dict(zip(_PLACE, place, strict=True))})
        for system in numbers:
            del content.numbers[system, SINGLE, criterion]
        yield from sorted(made, key=lambda row: (row["rank"] or float("inf"), -row["mean"], row["system"]))


def _twice(names: Iterable[str]) -> list[str]:
    seen, twice = set[str](), set[str]()
    for name in names:
        (twice if name in seen else seen).add(name)
    return sorted(twice)


@dataclass
class PeopleCheck(_BesideCheck):
    """Redraws the subset of a quarter that people predicted, and recomputes the tables of people."""

    name, _endings = "people", (ASKED, *PEOPLE)
    answers: int = 0

    @property
    def said(self) -> str:
        """What was checked."""
        return f"{self.answers:,} answers, and the samples drawn for them; figures are those of the answers"

    def check(self) -> None:
        """Check the subset and, if answers are published, the answers and the tables."""
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
            if table.columns != _ANSWERS:
                raise ValueError(f"{PEOPLE[0]} has the columns {table.columns}, not {_ANSWERS}")
            answers = table.to_dicts()
            ordered = sorted(answers, key=lambda row: (_number(row["judge"]), row["sample"]))
        except (ValueError, TypeError) as error:
            self.faults.append(short(str(error)))
            return
        self.answers = len(answers)
        self.unchecked += ["who of the people gave an answer, their certainty, and answers that were not published"]
        self.faults += [] if answers == ordered else [f"{PEOPLE[0]} is not sorted"]
        self.faults += first_of(list(self._odd_answers(answers, set(asked))))
        if not self.faults:
            self._check_tables(answers)

    def _otherwise_drawn(self, asked: Sequence[str]) -> Iterator[str]:
        """Check the subset: the first ids by SHA-256 of `people:<id>`; samples taken down may be in it or not."""
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
            where = f"{short(row['judge'])} on {short(row['sample'])}"
            is_check = row["asked_label"] is not None
            if is_check == (row["sample"] in known) or (not is_check and row["sample"] not in asked):
                yield f"{where}: not a sample that people were asked about"
            if row["label"] not in classes or row["certainty"] not in range(101) or row["known"] not in (True, False):
                yield f"{where}: not an answer"
            if seen[row["judge"], row["sample"]] > 1:
                yield f"{where}: answered twice"

    def _check_tables(self, answers: Sequence[Row]) -> None:
        faults: list[str] = []
        stated = [row for _, row in rows(self._path(PEOPLE[1]), _PEOPLE_ROW, faults)]
        failed = {
            row["judge"]
            for row in answers
            if row["asked_label"] is not None
            and (row["label"], row["certainty"]) != (row["asked_label"], row["asked_certainty"])
        }
        there = [row for row in answers if row["sample"] in self.content.places]
        counted = [row for row in there if row["judge"] not in failed]
        expected: list[Row] = []
        for with_known in (False, True) if answers else ():
            own = [row for row in counted if with_known or not row["known"]]
            expected += ({"with_known": with_known, "failed": len(failed), **row} for row in self._table(own))
        if len(stated) != len(expected):
            faults.append(f"there are {len(stated)} rows of people and systems, and {len(expected)} by the answers")
        figures = ("value", "low", "high", "agreement")
        sections = {"people", "system", "control", "baseline", "smoke-test"}
        for number, (said, made) in enumerate(zip(stated, expected, strict=False), 1):
            other = [name for name in made if name not in figures and said[name] != made[name]]
            pairs = [(said[name], made.get(name)) for name in figures]
            same = all(one is two if one is None or two is None else agree([one], [two]) for one, two in pairs)
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
        beside = ({**counts, **row} for row in self._beside(where, metric))
        yield from sorted(beside, key=lambda row: (-row["value"], row["origin"]))

    def _beside(self, where: NDArray[np.bool_], metric: OwnMetric) -> Iterator[Row]:
        """The systems that were asked about all these samples."""
        content = self.content
        for entry in content.entries:
            prompts = [prompt for one, prompt in content.answers if one == entry]
            prompt = MAJORITY if MAJORITY in prompts else prompts[0]
            if not (content.answers[entry, prompt][where] == NOT_ASKED).any():
                yield {"origin": entry, **_ends(interval(table_of(content, entry, prompt, metric, where), metric))}

    def _single(self, given: Sequence[tuple[int, Row]], metric: OwnMetric) -> Row:
        """One person, with the interval over resampled samples and people."""
        at = np.array([place for place, _ in given])
        said = np.array([row["label"] for _, row in given], np.int8)
        person = np.array([_number(row["judge"]) for _, row in given], np.int64)
        # Each answer is a group of its own.
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


class CeilingCheck(_BesideCheck):
    """Recomputes the score of an oracle of the voters from the labels and the facts on their ratings."""

    name, _endings = "ceiling", (CEILING,)
    said = "what an oracle of the voters reaches, as labels and their chances give it"

    def check(self) -> None:
        """Check every row of the ceiling."""
        content, faults = self.content, self.faults
        stated = [row for _, row in rows(self._path(CEILING), _CEILING_ROW, faults)]
        if not content.has_labels:
            faults.append(f"{CEILING} is published before the labels")
            return
        lines = [row for _, row in rows(self.folder / LABELS, {"id": str, "*": object}, [])]
        known = [row for row in lines if row["id"] in content.places and None not in map(row.get, _CHANCES)]
        labels = np.array([row["label"] for row in known], np.int8)
        reached = self._reached(labels, *(np.array([float(row[name]) for row in known]) for name in _CHANCES))
        counts = {"samples": len(known), "of": len(content.places)}
        expected = [{"metric": name, **_ends(ends), **counts} for name, ends in reached]
        self.unchecked.append("whether the chances in the labels follow from the source's ratings")
        same = len(stated) == len(expected) and all(
            said.keys() == made.keys()
            and all(agree([said[name]], [made[name]]) if name in _ENDS else said[name] == made[name] for name in made)
            for said, made in zip(stated, expected, strict=True)
        )
        faults += [] if same else [f"{CEILING} is not what labels and their chances give"]

    def _reached(
        self, labels: NDArray[np.int8], chance: FloatArray, error: FloatArray
    ) -> Iterator[tuple[str, tuple[float, float, float]]]:
        """The mean of each metric, and its limits over draws of the voters' shares for the second class."""
        weight = np.maximum(chance * (1 - chance), _TINY) / np.maximum(error * error, _TINY) - 1
        weight = np.maximum(weight, _LEAST_WEIGHT)
        one: FloatArray = np.maximum(chance * weight, _TINY)
        two: FloatArray = np.maximum((1 - chance) * weight, _TINY)
        shares = np.random.default_rng(0).beta(one, two, (_DRAWS, labels.size))
        together = np.zeros(labels.size, np.int32)
        for name in ("f1", "accuracy", "relative_brier_index"):
            metric = OwnMetric.of_classes(name, self.content.classes)
            sums = (
                forecast_sums(labels, np.stack([1 - share, share], axis=1), together)
                if metric.of_forecasts
                else metric.sums(labels, (share >= 0.5).astype(np.int8), together)
                for share in shares
            )
            values = metric.value(np.concatenate(list(sums)))
            low, high = np.quantile(values, _LIMITS)
            yield name, (float(values.mean()), float(low), float(high))


def _spread(
    sums: FloatArray, kind: NDArray[np.int64], metric: OwnMetric, odds: Callable[[FloatArray], FloatArray]
) -> tuple[float, float]:
    """The jackknife's variance of the odds, and the effective number of equal-sized clusters."""
    member = np.unique(kind, return_inverse=True)[1]
    columns = [np.bincount(member, weights=column) for column in sums.T]
    tables: FloatArray = np.stack(columns, axis=1).astype(np.float64)
    without = odds(sums.sum(axis=0) - tables)
    return float((without.size - 1) * without.var()), kish(metric.size(tables))


def _ends(figures: tuple[float, float, float]) -> Row:
    return dict(zip(("value", "low", "high"), figures, strict=True))


def _alpha(labels: Sequence[int], units: Sequence[int]) -> float | None:
    """Krippendorff's alpha of nominal answers: 1 minus the disagreement within samples over that of all answers."""
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
