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

from hellofresh.core.errors import ConfigError
from hellofresh.core.files import model_fault, parse_toml
from hellofresh.core.strict import Strict
from hellofresh_parts.claims.reviews import ReviewRating

CLASSES = ("false", "mixed", "true")
_BREAKS = re.compile(r"[:\uff1a|\[\]()\uff08\uff09\u3010\u3011.!?\u2026\u3002\uff1f\uff01\u2013\u2014\u0964]|\s-+\s")
_ANNOUNCED = re.compile(
    r"(?:(?:is|was|are|were) )?(?:rated|ruled|verdict|rating|fact[- ]?check(?:ed)?|faktencheck)(?:\W+|$)"
)
# A text that ends with who says it is speech, and its first word may be the speaker's.
_ATTRIBUTED = re.compile(
    r"[,;\u2013-]\s*(?:said|says|tweeted|wrote|diz|disse|afirma|dice|dijo|sagt|sagte|dit|affirme)\s+[^,.]{2,40}\.?\s*$"
)
_PARTS = re.compile(r"\s[-\u2010-\u2015]+\s|[:|/;,.!()\[\]\u2014\u3002\uff1a]")
# What is said around a verdict without changing it.
_ABOUT = re.compile(
    r"^(?:(?:it|this|that|these|those|the) )?"
    r"(?:(?:claim|statement|post|story|video|image|photo|picture|quote|news|information|allegation|rumou?r|headline|"
    r"article|report|message|content)s? )?(?:(?:is|are|was|were|has been|have been) )"
    r"|^(?:(?:we|our) )?(?:rate[ds]?|rul(?:ed|ing)|rating|verdict|conclusion|fact check(?:ed)?|result|status)"
    r"(?: (?:it|this|is|as|was))*:? "
    r"|^(?:completely|totally|entirely|absolutely|utterly|definitely|demonstrably|blatantly|100%|100 %) "
)
_SIGNS = re.compile(r"[\u200b-\u200f\u2060\ufeff\u00ad\ufe00-\ufe0f]")
_CROSSES, _TICKS = (
    frozenset("\u274c\u274e\u2717\u2718\u2716\U0001f6ab\U0001f44e"),
    frozenset("\u2705\u2714\u2713\u2611\U0001f44d"),
)
_EDGES = " \t.,;:!?\"'()[]*\u201c\u201d\u2018\u2019\xab\xbb-\u2013\u2014"
_OPENING, _CLOSING = "[(\uff08\u3010", "])\uff09\u3011"


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
    everyday: list[str] = Field(default=[])
    """Verdicts that are also words of everyday speech, with which claims begin and end."""
    scale: _Scale | None = None

    @cached_property
    def simple(self) -> Mapping[str, Reading]:
        """The readings by simple words, without those that have two."""
        found: dict[str, set[Reading]] = {}
        for word, reading in self._listed():
            found.setdefault(simple_words(word), set()).add(reading)
        return {word: next(iter(read)) for word, read in found.items() if len(read) == 1}

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
            raise ValueError(f"listed twice: {', '.join(twice)}")
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

    @cached_property
    def simple(self) -> Mapping[str, Reading]:
        """The same by simple words, without those that have two readings."""
        found: dict[str, set[Reading]] = {}
        for words in (*self.languages.values(), self.common):
            for word, reading in words.simple.items():
                found.setdefault(word, set()).add(reading)
        return {word: next(iter(read)) for word, read in found.items() if len(read) == 1}

    @cached_property
    def everyday(self) -> frozenset[str]:
        """Verdicts that are also words of everyday speech, in any language."""
        return frozenset(
            plain_words(word) for words in (self.common, *self.languages.values()) for word in words.everyday
        )

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


def simple_words(text: str) -> str:
    """Plain words without pictures and invisible signs, and with blanks for hyphens and underscores."""
    text = _SIGNS.sub("", unicodedata.normalize("NFKC", text))
    text = "".join([" " if unicodedata.category(sign) in ("So", "Sk", "Cs", "Cn") else sign for sign in text])
    return plain_words(re.sub(r"[-\u2010-\u2015_#*~]+", " ", text))


def _parts(claim: str) -> list[tuple[str, str, str]]:
    """The parts of a text, with the breaks before and after each."""
    breaks = [match[0] for match in _BREAKS.finditer(claim)]
    return list(zip(("", *breaks), _BREAKS.split(claim), (*breaks, ""), strict=True))


class _Part:
    """A part of a claim.

    Attributes:
        words: without what announces them as a verdict.
        closing: the break after it.
        is_announcement: whether it is nothing but such an announcement.
        stands_out: whether its form marks it as a verdict: in brackets, in capitals or announced.
    """

    def __init__(self, part: str, opening: str, closing: str) -> None:
        plain = plain_words(part)
        self.words, self.closing = _ANNOUNCED.sub("", plain).strip(), closing
        self.is_announcement = bool(plain) and not self.words
        in_brackets = bool(opening and closing) and opening in _OPENING and closing in _CLOSING
        self.stands_out = in_brackets or self.words != plain or part.strip(_EDGES).isupper()


@dataclass(frozen=True)
class VerdictTable:
    """Readings of verdicts by publisher."""

    _table: _Table

    @classmethod
    def load(cls, path: Path | None = None) -> Self:
        """Read a table; the project's own if left out; raises ConfigError if it is damaged."""
        content = path.read_bytes() if path else files("hellofresh_parts.claims").joinpath("verdicts.toml").read_bytes()
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
            found = self._words(site, rating.words)
            if found is not Reading.UNKNOWN or rating.value is None:
                return found
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

    def _words(self, site: str, text: str) -> Reading:
        """The meaning of words: as they are, without signs around them, or as parts that all mean the same."""
        own = self._of(site)
        plain, simple = plain_words(text), simple_words(text)
        found = (own.readings.get(plain) if own else None) or self._table.shared.get(plain) or self._simple(own, simple)
        if found is None:
            parts = [part for part in map(simple_words, _PARTS.split(text)) if part]
            read = {self._simple(own, part) for part in parts}
            found = read.pop() if len(read) == 1 and len(parts) > 1 else None
        signs = {Reading.TRUE: _CROSSES, Reading.FALSE: _TICKS}.get(found) if found else None
        return Reading.UNKNOWN if found is None or (signs and signs.intersection(text)) else found

    def _simple(self, own: _Words | None, words: str) -> Reading | None:
        """The meaning of simple words, also where they are said of a claim or made stronger."""
        for _ in range(3):
            found = (own.simple.get(words) if own else None) or self._table.simple.get(words)
            if found is not None:
                return found
            words = _ABOUT.sub("", words, count=1)
        return None

    def begins_or_ends(self, claim: str, site: str) -> bool:
        """Whether a claim's text announces a verdict at an edge, such as "FALSE: The mayor ..." or "... (Fake)".

        Such a text is the reviewer's headline and not what was claimed. A verdict within a sentence is part of it, and
        so is a word of everyday speech ("Wrong! The ..."), unless it is in capitals, in brackets or announced as a
        verdict.
        """
        parts = [_Part(part, opening, closing) for opening, part, closing in _parts(claim)]
        said = [place for place, part in enumerate(parts) if part.words]
        if len(said) < 2:
            return False
        first, last = said[0], said[-1]
        is_speech = _ATTRIBUTED.search(claim) is not None
        for place in (first, last):
            part = parts[place]
            announced = part.stands_out or any(one.is_announcement for one in parts[max(0, place - 1) : place])
            everyday = part.words in self._table.everyday or "!" in part.closing or (is_speech and place == first)
            if (announced or not everyday) and self._words(site, part.words).label is not None:
                return True
        return False

    def _of(self, site: str) -> _Words | None:
        parts = site.split(".")
        names = (".".join(parts[start:]) for start in range(len(parts)))
        return next((found for name in names if (found := self._table.publishers.get(name))), None)
