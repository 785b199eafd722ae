"""Repetitions of a run: whether they can differ, said before anything is asked, and whether they did."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from hellofresh.core.errors import UsageError
from hellofresh.models import ModelSpec, Sampling
from hellofresh.runs.journal import JournalEntry

__all__ = ["HIGHEST_TEMPERATURE", "check_repetitions", "copies", "sampling_notes"]

HIGHEST_TEMPERATURE = 2.0


def check_repetitions(specs: Mapping[str, ModelSpec], repeat: int, temperature: float | None) -> None:
    """Make sure that repetitions can differ, and that the temperature can be kept.

    Args:
        specs: what is known of the model of each role.
        repeat: how often everything is asked.
        temperature: as chosen for the run; None where nothing was chosen, which is 0.

    Raises:
        UsageError: if the repetitions would be copies of each other, or no model takes the temperature.
    """
    if repeat < 1:
        raise UsageError(f"{repeat} repetitions", expected="at least 1", code="bad-repeat")
    if temperature is not None and not 0 <= temperature <= HIGHEST_TEMPERATURE:
        raise UsageError(f"a temperature of {temperature:g}", expected="0 to 2", code="bad-temperature")
    names = ", ".join(sorted({spec.name for spec in specs.values()}))
    kinds = {spec.sampling for spec in specs.values()}
    if kinds == {Sampling.NEVER}:
        _check_fixed(names, repeat, temperature)
    elif repeat > 1 and temperature is None and Sampling.OWN not in kinds:
        raise UsageError(
            f"{repeat} repetitions at temperature 0, where {names} gives its likeliest answer each time",
            expected="a temperature above 0, such as --temperature 0.7",
            fix="Add --temperature 0 if you want to know how much answers at temperature 0 differ.",
            code="no-temperature",
        )


def _check_fixed(names: str, repeat: int, temperature: float | None) -> None:
    if temperature:
        raise UsageError(
            f"a temperature of {temperature:g} for {names}",
            expected="none: the same request always gets the same answer",
            fix="Leave out --temperature.",
            code="unsupported-temperature",
        )
    if repeat > 1:
        raise UsageError(
            f"{repeat} repetitions would be {repeat} copies: {names} always gives the same answer to a request",
            expected="1 repetition",
            fix="Leave out --repeat.",
            code="identical-repetitions",
        )


def sampling_notes(specs: Mapping[str, ModelSpec], repeat: int, temperature: float | None) -> Iterator[str]:
    """A sentence on each model that ignores a part of what was chosen."""
    by_name = {spec.name: spec.sampling for spec in specs.values()}
    for name, sampling in sorted(by_name.items()):
        if sampling is Sampling.UNSEEDED and (repeat > 1 or temperature):
            yield f"{name} ignores seeds: another run would get other answers, and only this run's journal repeats them"
        if sampling is Sampling.OWN and temperature is not None:
            yield f"{name} ignores the temperature: it samples as its provider chooses"
        if sampling is Sampling.NEVER and temperature:
            yield f"{name} ignores the temperature: it always gives the same answer to a request"


def copies(entries: Iterable[JournalEntry]) -> list[int]:
    """Repetitions whose answers are all, word by word, those of an earlier repetition.

    Args:
        entries: of a journal, in its order.
    """
    digests = defaultdict[int, "hashlib._Hash"](hashlib.sha256)
    for entry in entries:
        names = (entry.sample, entry.prompt, entry.step, entry.role, entry.answer.text)
        digests[entry.repetition].update(repr(names).encode("utf-8", "surrogatepass"))
    found: dict[bytes, int] = {}
    for repetition in sorted(digests):
        found.setdefault(digests[repetition].digest(), repetition)
    return sorted(digests.keys() - found.values())
