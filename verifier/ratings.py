"""A closed study: means, intervals and standings computed again from blinded ratings and their key.

They lie in `ratings/` beside the tasks of an edition: a table of ratings, a table that says which system wrote a
response, the rubric, and where every system stands (`docs/formats.md`).
"""

from __future__ import annotations

import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from verifier.content import SINGLE, Content
from verifier.manifest import RATINGS
from verifier.reading import COUNT, Row, compare, few, first_of, read_table, rows
from verifier.scores import Contender, standings, table_of
from verifier.statistics import FloatArray, Metric, interval

_KEY, _PLACE = ("criterion", "part", "value", "system"), ("rank", "rank_low", "rank_high", "tie_group")
_STANDING = {
    **dict.fromkeys(_KEY, str),
    **dict.fromkeys(("mean", "low", "high"), float),
    **{"n": COUNT, **dict.fromkeys(_PLACE, (COUNT, None))},
}
_COLUMNS = {
    "parquet": ["sample", "response", "link", "judge", "criterion", "value", "weight"],
    "key.parquet": ["response", "sample", "system", "text_sha256"],
}
_Numbers = Mapping[str, FloatArray]
"""By system, of each sample: the mean rating and its weight."""


class _Criterion(NamedTuple):
    """What the rubric says of a criterion that figures rest on."""

    limits: tuple[float, float]
    of_links: bool
    if_skipped: float | None


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
        self.responses, gone = len(key), self.content.tombstones.keys()
        self.unchecked += [
            "wording and conditions of the rubric",
            "which rater gave a rating, and ratings without value",
        ]
        systems = {row["response"]: row for row in key}
        times = Counter(row["response"] for row in key)
        self.faults += few((name for name, number in times.items() if number > 1), "is twice in the key")
        self.faults += first_of(self._odd_ratings(ratings, systems, criteria))
        entries = self._entries(key)
        self.faults += self._other_texts(key, entries)
        mine = [row for row in ratings if row["response"] in systems and row["sample"] not in gone]
        numbers = {name: self._numbers(mine, systems, name, criteria[name]) for name in criteria}
        for (entry, prompt), system in entries.items():
            for metric in self.content.metrics[:1]:
                self.content.numbers[entry, prompt, metric.name] = numbers[overall][system]
        faults: list[str] = []
        stated = {
            tuple(row[name] for name in _KEY): row for _, row in rows(self._path("standings.jsonl"), _STANDING, faults)
        }
        made = {tuple(row[name] for name in _KEY): row for row in self._standings(numbers, overall, criteria)}
        self.faults += first_of([*faults, *compare(stated, made, "the ratings")])

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
        yield from few((name for name, row in systems.items() if row["sample"] not in known), "is of no sample")
        for row in ratings:
            criterion, value, name = (
                criteria.get(row["criterion"]),
                row["value"],
                f"a rating of {row['response'][:80]!r}",
            )
            together[row["response"], row["link"], row["criterion"]].append(row)
            if row["response"] not in systems or systems[row["response"]]["sample"] != row["sample"]:
                yield f"{name}, which the key does not have for that sample"
            elif criterion is None or criterion.of_links != bool(row["link"]):
                yield f"{name} on {row['criterion'][:40]!r}, not asked"
            elif value is not None and not (
                value == int(value) and criterion.limits[0] <= value <= criterion.limits[1]
            ):
                yield f"{name} that is not on the scale of {row['criterion'][:40]}"
        for (response, _, criterion_id), some in together.items():
            if len({row["judge"] for row in some}) < len(some):
                yield f"{response[:80]!r} is rated twice on {criterion_id[:40]} by one rater"
            if any(abs(row["weight"] * len(some) - 1) > 1e-9 for row in some):
                yield f"{response[:80]!r}: the weights on {criterion_id[:40]} are not equal shares of 1"
        yield from few(systems.keys() - {response for response, _, _ in together}, "is in the key and has no rating")

    def _entries(self, key: Sequence[Row]) -> Mapping[tuple[str, str], str]:
        """The rated system that stands for each entry and prompt, by its name or by the texts of its responses."""
        content, by_system = self.content, defaultdict[str, dict[str, str]](dict)
        for row in key:
            by_system[row["system"]][row["sample"]] = row["text_sha256"]
        found = {}
        for entry, prompt in content.answers:
            named, settings = content.entries[entry], content.settings[entry]
            usual = f"{named.system} {named.regime}"
            names = [named.system] if named.lane == "rated" else [f"{usual} ({settings})", usual, named.system]
            texts = {key: text for (one, key), text in content.responses.items() if one == entry}
            same = [name for name, its in by_system.items() if texts and texts.items() <= its.items()]
            if its := [name for name in (*names, *same) if name in by_system]:
                found[entry, prompt] = its[0]
        return found

    def _other_texts(self, key: Sequence[Row], entries: Mapping[tuple[str, str], str]) -> Iterator[str]:
        """Published responses whose texts are not those that were rated."""
        if self.content.manifest["texts"] == "withheld":
            self.unchecked.append("texts of rated responses, which are withheld")
            return
        for (entry, _), system in entries.items():
            rated = {row["sample"]: row["text_sha256"] for row in key if row["system"] == system}
            its = {sample: text for (one, sample), text in self.content.responses.items() if one == entry}
            other = (sample for sample, text in its.items() if rated.get(sample) != text)
            yield from few(other, f"has another response of {entry[:80]} than was rated")
            more = rated.keys() - its.keys() - self.content.tombstones.keys()
            yield from few(more, f"has no response of {entry[:80]}, and one is rated")

    def _numbers(self, ratings: list[Row], systems: Mapping[str, Row], name: str, criterion: _Criterion) -> _Numbers:
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

    def _standings(
        self, numbers: Mapping[str, _Numbers], overall: str, criteria: Mapping[str, _Criterion]
    ) -> Iterator[Row]:
        """The systems on each criterion, and on each part by the overall one: those ranked first, in order of ranks."""
        content = self.content
        parts = {("", ""): np.ones(len(content.places), np.bool_)}
        for part, values in content.parts.items():
            some = sorted(set(values.values()) - {""})
            for value in some if len(some) > 1 else ():
                parts[part, value] = np.array([values.get(key) == value for key in content.places])
        for criterion, its in criteria.items():
            metric = Metric(criterion, (), its.limits)
            of_criterion = {(system, SINGLE, criterion): found for system, found in numbers[criterion].items()}
            content.numbers |= of_criterion
            for (part, value), where in parts.items() if criterion == overall else [(("", ""), parts["", ""])]:
                asked = {one: where & ~np.isnan(found[:, 0]) for one, found in sorted(numbers[criterion].items())}
                contenders = [Contender(system, True, there) for system, there in asked.items()]
                places = standings(content, contenders, metric, dict.fromkeys(asked, SINGLE)).places
                made: list[Row] = []
                for system, there in asked.items():
                    if there.any():
                        mean, low, high = interval(table_of(content, system, SINGLE, metric, there), metric)
                        row = dict(zip(_KEY, (criterion, part, value, system), strict=True))
                        figures = {"n": int(there.sum()), "mean": mean, "low": low, "high": high}
                        place = places.get(system, (None,) * len(_PLACE))
                        made.append({**row, **figures, **dict(zip(_PLACE, place, strict=True))})
                yield from sorted(made, key=lambda row: (row["rank"] or float("inf"), -row["mean"], row["system"]))
            for name in of_criterion:
                del content.numbers[name]
