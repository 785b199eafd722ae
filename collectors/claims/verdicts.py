"""The meaning of publishers' verdicts, from a table without guesses; and detection of verdicts in claims."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Self

from pydantic import Field, ValidationError, model_validator

from collectors.claims.reviews import ReviewRating
from hellofresh.core.errors import ConfigError
from hellofresh.core.files import model_fault, parse_toml
from hellofresh.core.strict import Strict

CLASSES = ("false", "mixed", "true")
_BREAKS = re.compile(r"[:\uff1a|\[\]()\uff08\uff09\u3010\u3011.!?\u2026\u3002\uff1f\uff01\u2013\u2014\u0964]|\s-+\s")
_ANNOUNCED = re.compile(r"(?:(?:is|was|are|were) )?(?:rated|ruled|verdict|rating|fact[- ]?check(?:ed)?|faktencheck)(?:\W+|$)")
_EDGES = " \t.,;:!?\"'()[]*\u201c\u201d\u2018\u2019\xab\xbb-\u2013\u2014"


class Reading(StrEnum):
    """The meaning of a verdict."""

    FALSE = "false"
    MIXED = "mixed"
    TRUE = "true"
    NO_TRUTH = "no-truth"
    CHECKING = "checking"
    UNKNOWN = "unknown-verdict"
    UNSCALED = "unknown-scale"
    MISSING = "no-verdict"

    @property
    def label(self) -> int | None:
        """Index into the classes; None if it is not a class."""
        return CLASSES.index(self.value) if self.value in CLASSES else None


class _Scale(Strict):
    worst: int
    best: int
    false: list[int]
    mixed: list[int]
    true: list[int]

    @model_validator(mode="after")
    def _covers_each_step_once(self) -> Self:
        low, high = sorted((self.worst, self.best))
        if sorted([*self.false, *self.mixed, *self.true]) != list(range(low, high + 1)):
            raise ValueError("each step from worst to best must be in exactly one list")
        return self


class _Words(Strict):
    source: str = ""
    """Page on which the publisher explains its verdicts, or reviews that show them."""
    false: list[str] = Field(default=[])
    mixed: list[str] = Field(default=[])
    true: list[str] = Field(default=[])
    none: list[str] = Field(default=[])
    checking: list[str] = Field(default=[])
    scale: _Scale | None = None

    @cached_property
    def readings(self) -> Mapping[str, Reading]:
        return dict(self._listed())

    def _listed(self) -> list[tuple[str, Reading]]:
        lists = {
            Reading.FALSE: self.false,
            Reading.MIXED: self.mixed,
            Reading.TRUE: self.true,
            Reading.NO_TRUTH: self.none,
            Reading.CHECKING: self.checking,
        }
        return [(plain_words(word), reading) for reading, words in lists.items() for word in words]

    @model_validator(mode="after")
    def _names_no_word_twice(self) -> Self:
        words = [word for word, _ in self._listed()]
        twice = sorted(word for word, times in Counter(words).items() if times > 1)
        if twice:
            raise ValueError(f"there twice: {', '.join(twice)}")
        return self


class _Table(Strict):
    common: _Words
    languages: dict[str, _Words] = Field(default={})
    publishers: dict[str, _Words] = Field(default={})

    @cached_property
    def shared(self) -> Mapping[str, Reading]:
        """Readings of words shared by all publishers."""
        return {
            word: reading
            for words in (*self.languages.values(), self.common)
            for word, reading in words.readings.items()
        }

    @model_validator(mode="after")
    def _reads_no_word_in_two_ways(self) -> Self:
        for name, words in self.languages.items():
            for word, reading in words.readings.items():
                if self.shared[word] is not reading:
                    raise ValueError(f"{word!r} of {name} is read in two ways")
        return self


def plain_words(text: str) -> str:
    """Normalise words for comparison: lower case, compatible forms, single spaces, none at the ends."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).strip(_EDGES)


@dataclass(frozen=True)
class VerdictTable:
    """Readings of verdicts by publisher."""

    _table: _Table

    @classmethod
    def load(cls, path: Path | None = None) -> Self:
        """Read a table; the project's own if left out; raises ConfigError if it is damaged."""
        content = path.read_bytes() if path else files("collectors.claims").joinpath("verdicts.toml").read_bytes()
        try:
            return cls(_Table.model_validate(parse_toml(content)))
        except ValueError as error:
            what = model_fault(error) if isinstance(error, ValidationError) else str(error)
            raise ConfigError(
                f"the table of verdicts is damaged ({what})",
                where=str(path or "verdicts.toml"),
                expected='[common], [languages.NAME], [publishers."site"] with lists false, mixed, true, none',
                code="bad-verdicts",
            ) from None

    def read(self, site: str, rating: ReviewRating) -> Reading:
        """The meaning of a publisher's verdict; words take precedence over numbers."""
        own = self._of(site)
        if rating.words:
            words = plain_words(rating.words)
            found = (own.readings.get(words) if own else None) or self._table.shared.get(words)
            if found is not None or rating.value is None:
                return found or Reading.UNKNOWN
        if rating.value is None:
            return Reading.MISSING
        scale = own.scale if own else None
        # A review may use another scale than the publisher's own.
        if scale and (rating.best, rating.worst) in {(None, None), (scale.best, scale.worst)}:
            for found, steps in (
                (Reading.FALSE, scale.false),
                (Reading.MIXED, scale.mixed),
                (Reading.TRUE, scale.true),
            ):
                if rating.value in steps:
                    return found
        return Reading.UNKNOWN if rating.words else Reading.UNSCALED

    def begins_or_ends(self, claim: str, site: str) -> bool:
        """Whether a claim's text begins or ends with a verdict, such as "FALSE: The mayor ..." or "... (Fake)".

        Such a text is the reviewer's headline and not what was claimed. A verdict within a sentence is part of it.
        """
        parts = [_ANNOUNCED.sub("", plain_words(part)) for part in _BREAKS.split(claim)]
        parts = [part for part in parts if part]
        ends = {parts[0], parts[-1]} if len(parts) > 1 else set()
        return any(self.read(site, ReviewRating(end)).label is not None for end in ends if end)

    def _of(self, site: str) -> _Words | None:
        parts = site.split(".")
        names = (".".join(parts[start:]) for start in range(len(parts)))
        return next((found for name in names if (found := self._table.publishers.get(name))), None)
