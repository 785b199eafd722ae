"""One property of every door: k harmed records change its ledger by exactly k under a fitting name, or are refused.

A test gives the door as a function of records, and the ways to harm one; deleting and doubling are tried at each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Generic, TypeVar

from hellofresh.core.errors import HelloFreshError
from hellofresh.core.intake import Intake

R = TypeVar("R")


@dataclass(frozen=True)
class Passed:
    """What came out of a door: its ledger, what became of each record by its key, and further counts that it names."""

    ledger: Intake
    on: Mapping[str, object]
    named: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Door(Generic[R]):
    """A door, records that all come to it, the key of a record, and ways to harm one with a name each."""

    open: Callable[[Sequence[R]], Passed]
    records: Sequence[R]
    key: Callable[[R], str]
    harms: Mapping[str, Callable[[R], R]]

    def answers(self, *, seed: int = 11) -> dict[str, set[str]]:
        """By harm, the names under which it was counted or refused; fails where one is lost in silence."""
        whole, rng = self.open(self.records), Random(seed)
        found: dict[str, set[str]] = {}
        for harm in ("deleted", "doubled", *self.harms):
            for count in (1, 3):
                chosen = set(rng.sample(range(len(self.records)), count))
                try:
                    after = self.open(self._harmed(harm, chosen))
                except HelloFreshError as error:
                    assert error.code != "error" and (error.expected or error.fix), error
                    found.setdefault(harm, set()).add(error.code)
                    continue
                touched = {self.key(self.records[number]) for number in chosen}
                for key in whole.on.keys() - touched:
                    assert after.on.get(key) == whole.on[key], f"{harm} {count}: {key} has changed, too"
                found.setdefault(harm, set()).update(_changed(harm, count, whole, after))
        return found

    def _harmed(self, harm: str, chosen: set[int]) -> list[R]:
        records: list[R] = []
        for number, record in enumerate(self.records):
            if number not in chosen:
                records.append(record)
            elif harm == "doubled":
                records += [record, record]
            elif harm != "deleted":
                records.append(self.harms[harm](record))
        return records


def _changed(harm: str, count: int, whole: Passed, after: Passed) -> set[str]:
    came = {"deleted": -count, "doubled": count}.get(harm, 0)
    assert after.ledger.came_in - whole.ledger.came_in == came, f"{harm} {count}: {after.ledger}"
    before, now = ({**one.ledger.left_out, **one.named} for one in (whole, after))
    other = {name: now.get(name, 0) - before.get(name, 0) for name in before | now}
    other = {name: change for name, change in other.items() if change}
    if harm == "deleted":
        gone = whole.ledger.went_on - after.ledger.went_on - sum(other.values())
        assert gone == count and all(change <= 0 for change in other.values()), f"{harm} {count}: {after.ledger}"
        return {"came in"}
    assert sum(other.values()) == count and min(other.values()) > 0, f"{harm} {count}: {after.ledger}, {after.named}"
    return set(other)
