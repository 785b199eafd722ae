"""A closed study: means, intervals and standings computed again from blinded ratings and their key.

They lie in `ratings/` beside the tasks of an edition: a table of ratings, a table that says which system wrote a
response, the rubric, and where every system stands (`docs/formats.md`).
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from verifier.content import SINGLE, Content
from verifier.manifest import RATINGS
from verifier.reading import COUNT, Row, few, first_of, read_table, rows
from verifier.scores import Contender, agree, standings, table_of
from verifier.statistics import FloatArray, Metric, interval

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


class _Criterion(NamedTuple):
    """What the rubric says of a criterion that figures rest on."""

    limits: tuple[float, float]
    of_links: bool
    if_skipped: float | None

    @property
    def values(self) -> tuple[int | None, ...]:
        """What a rating may say."""
        return None, *range(int(self.limits[0]), int(self.limits[1]) + 1)


@dataclass
class StudyCheck:
    """Computes the figures of a study again.

    Attributes:
        content: the release; its `numbers` get the ratings on the overall criterion.
        folder: of the release.
        responses: how many are rated.
        faults: what is wrong.
        unchecked: what was not checked.
    """

    content: Content
    folder: Path
    responses: int = 0
    faults: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)

    def _path(self, end: str) -> Path:
        return self.folder.parent / RATINGS / f"{self.content.manifest['task']}.{end}"

    @property
    def is_there(self) -> bool:
        """Whether a study of the release is published."""
        ends = (*_COLUMNS, "rubric.toml", "standings.jsonl")
        return self.content.manifest.is_main and any(self._path(end).is_file() for end in ends)

    def check(self) -> None:
        """Check ratings, key and standings, and hand the ratings to the scores."""
        try:
            ratings, key = (self._table(end) for end in _COLUMNS)
            overall, criteria = self._rubric()
        except (ValueError, OSError, KeyError, TypeError) as error:
            self.faults.append(str(error)[:300])
            return
        self.responses = len(key)
        self.unchecked += [
            "wording and conditions of the rubric",
            "which rater gave a rating, and ratings without value",
        ]
        self.faults += few(_twice(row["response"] for row in key), "is twice in the key")
        systems = {row["response"]: row for row in key}
        self.faults += self._odd_ratings(ratings, systems, criteria)
        self.faults += self._other_texts(systems)
        gone = self.content.tombstones.keys()
        mine = [row for row in ratings if row["response"] in systems and row["sample"] not in gone]
        numbers = {name: self._numbers(mine, systems, name, criteria[name]) for name in criteria}
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
            self.faults.append(f"{path.name} is not in its order")
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
        """Ratings that cannot be: of no response, off the scale, twice, or with another weight than their share."""
        together: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
        known = self.content.places.keys() | self.content.tombstones.keys()
        faults = [f"{row['response'][:80]!r} is of no sample" for row in systems.values() if row["sample"] not in known]
        for row in ratings:
            criterion, value = criteria.get(row["criterion"]), row["value"]
            together[row["response"], row["link"], row["criterion"]].append(row)
            if row["response"] not in systems or systems[row["response"]]["sample"] != row["sample"]:
                faults.append(f"a rating of {row['response'][:80]!r}, which the key does not have for that sample")
            elif criterion is None or criterion.of_links != bool(row["link"]):
                faults.append(f"a rating of {row['response'][:80]!r} on {row['criterion'][:40]!r}, not asked")
            elif value not in criterion.values:
                faults.append(
                    f"a rating of {row['response'][:80]!r} that is not on the scale of {row['criterion'][:40]}"
                )
        for (response, _, criterion_id), some in together.items():
            if _twice(row["judge"] for row in some):
                faults.append(f"{response[:80]!r} is rated twice on {criterion_id[:40]} by one rater")
            if any(abs(row["weight"] * len(some) - 1) > 1e-9 for row in some):
                faults.append(f"{response[:80]!r}: the weights on {criterion_id[:40]} are not equal shares of 1")
        faults += few(systems.keys() - {response for response, _, _ in together}, "is in the key and has no rating")
        yield from first_of(faults)

    def _entries(self, systems: Mapping[str, Row]) -> dict[tuple[str, str], str]:
        """The rated system that stands for each entry, by its name or by the texts of its responses."""
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
        """Published responses whose texts are not those that were rated."""
        if self.content.manifest["texts"] == "withheld":
            self.unchecked.append("texts of rated responses, which are withheld")
            return
        rated = {(row["system"], row["sample"]): row["text_sha256"] for row in systems.values()}
        for (entry, _), system in self._entries(systems).items():
            its = [(key, text) for (one, key), text in self.content.responses.items() if one == entry]
            other = [key for key, text in its if rated.get((system, key)) != text]
            yield from few(other, f"has another response of {entry[:80]} than was rated")
            more = {key for name, key in rated if name == system} - {key for key, _ in its}
            yield from few(more - self.content.tombstones.keys(), f"has no response of {entry[:80]}, and one is rated")

    def _numbers(
        self, ratings: list[Row], systems: Mapping[str, Row], name: str, criterion: _Criterion
    ) -> dict[str, FloatArray]:
        """The mean rating and its weight of each sample, by system; a criterion may count what was skipped."""
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
                where = f"{made['system'][:40]} on {made['criterion'][:40]} {made['value'][:40]}".strip()
                faults.append(
                    f"standings line {number}: {', '.join(other) or 'mean or interval'} of {where} are not "
                    "those of the ratings"
                )
        self.faults += first_of(faults)

    def _standings(
        self, numbers: Mapping[str, FloatArray], criterion: str, limits: tuple[float, float], part: str, value: str
    ) -> Iterator[Row]:
        """The systems on one criterion and part, those ranked first, in the order of their ranks."""
        content, metric = self.content, Metric(criterion, (), limits)
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


def _twice(names: Any) -> list[str]:
    seen, twice = set[str](), set[str]()
    for name in names:
        (twice if name in seen else seen).add(name)
    return sorted(twice)
