"""Reading a decision that a model states in a fixed form, such as `Decision: not helpful`, after an analysis."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

__all__ = ["DECISION", "DecisionForm", "read_certainty", "read_leaning"]

DECISION = "Decision"
"""The word that a decision stands behind."""
_ALIKE = r"[\s_\u2010-\u2015-]+"
"""What may stand between the words of an answer: `half-true`, `half true`, `**half** true` after cleaning."""
_MARKUP = re.compile(r"(?<![^\W_])_+|_+(?![^\W_])|[*`~#>\"\u201c\u201d\u2018\u2019'\\]+|</?\w{1,10}>")
_BETWEEN = r"[^\S\n]*(?:[:=\uff1a\u2013\u2014-]+[^\w\n]*\n?|\n)[^\w\n]*"
_HEDGE = re.compile(r"[^\w\n]{0,3}(?:/|\||\bor\b|\bunless\b)|\s*\?", re.IGNORECASE)
_NEAR = 40
"""Two decisions so near to each other on one line are alternatives, not second thoughts."""
_OF_100 = re.compile(r"\s*(?:/|\bout of\b|\bof\b)\s*100\b", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.,-])(\d{1,3})(?:[.,](\d{1,2}))?(?!\w|[.,]\d)")

_SIGNED = re.compile(r"(?<![\w.,])[-+\u2212]?\d{1,3}(?:[.,]\d{1,3})?(?![\w]|[.,]\d)")


@dataclass(frozen=True)
class DecisionForm:
    """A word, a colon, and one of several answers; upper and lower case, markdown and punctuation do not matter.

    Attributes:
        answers: what may be stated, by label.
        word: what stands before it.
    """

    answers: Sequence[str]
    word: str = DECISION

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        # The longest first, so that `not helpful` is never read as something shorter.
        spellings = sorted(((_spelling(answer), n) for n, answer in enumerate(self.answers)), key=_longest_first)
        either = "|".join(f"(?P<a{number}>{spelling})" for spelling, number in spellings)
        return re.compile(rf"(?<!\w){re.escape(self.word)}{_BETWEEN}(?:{either})(?!\w)", re.IGNORECASE)

    def read(self, text: str) -> int | None:
        """The label that a text decides on, None if it decides on none.

        The last decision counts, since an analysis may weigh several. It is none if it leaves a choice (`true or
        false`, `Decision: true, or Decision: false`).
        """
        plain = _MARKUP.sub("", text)
        *earlier, last = (*self._pattern.finditer(plain),) or (None,)
        if last is None or _HEDGE.match(plain, last.end()):
            return None
        if earlier and _label(earlier[-1]) != _label(last):
            between = plain[earlier[-1].end() : last.start()]
            if len(between) <= _NEAR and "\n" not in between:
                return None
        return _label(last)


def _spelling(answer: str) -> str:
    return _ALIKE.join(map(re.escape, re.split(_ALIKE, _MARKUP.sub("", answer).strip())))


def _longest_first(spelling: tuple[str, int]) -> tuple[int, str]:
    return -len(spelling[0]), spelling[0]


def _label(match: re.Match[str]) -> int:
    return int((match.lastgroup or "a0")[1:])


def read_leaning(text: str) -> float | None:
    """The only number from -3 to 3 in a text; None if there is no number, or several different ones."""
    found = {float(match[0].replace("\N{MINUS SIGN}", "-").replace(",", ".")) for match in _SIGNED.finditer(text)}
    (value,) = found if len(found) == 1 else (9.0,)
    return value if abs(value) <= 3 else None


def read_certainty(text: str) -> float | None:
    """The only number from 0 to 100 in a text, as a share; None if there is no number, or several different ones."""
    shares = {float(f"{match[1]}.{match[2] or 0}") / 100 for match in _NUMBER.finditer(_OF_100.sub("", text))}
    (share,) = shares if len(shares) == 1 else (2.0,)
    return share if share <= 1 else None
