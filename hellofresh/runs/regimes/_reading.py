"""Reading what a model says: one of several answers at once, or a decision that it states after an analysis."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

from hellofresh.models import Answer, Finish
from hellofresh.runs.prompts import YES_OR_NO
from hellofresh.tasks.outputs import Choice, Status

_NEVER = 700.0  # beyond it, exp() is not a float any more
_LEADING = re.compile(r"^[\W_]+")
_BETWEEN = r"[\s_-]+"


@cache
def _refusal() -> re.Pattern[str]:
    text = files("hellofresh.runs.regimes").joinpath("refusals.toml").read_text(encoding="utf-8")
    openings = sorted(tomllib.loads(text)["openings"], key=len, reverse=True)
    return re.compile("(?:" + "|".join(map(re.escape, openings)) + r")(?![^\W_])")


def _plain(answer: Answer) -> str:
    return _LEADING.sub("", answer.text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")).casefold()


def is_refusal(answer: Answer) -> bool:
    """Whether the provider says that it withheld the answer, or the text opens like a refusal."""
    return answer.finish is Finish.BLOCKED or bool(_refusal().match(_plain(answer)))


_MARK = re.compile(r"^\[[0-9a-f]{12} .*\]$", re.MULTILINE)


def without_marks(text: str) -> str:
    """A text without the lines that stand around texts in a question, which small models repeat."""
    return _MARK.sub("", text)


@cache
def _openings(answers: tuple[str, ...]) -> re.Pattern[str]:
    """The answers as beginnings of a text, the longest first; spaces and hyphens within them may be exchanged."""
    spelled = {number: _BETWEEN.join(map(re.escape, re.split(_BETWEEN, text))) for number, text in enumerate(answers)}
    order = sorted(spelled, key=lambda number: -len(answers[number]))
    either = "|".join(f"(?P<a{number}>{spelled[number]})" for number in order)
    return re.compile(rf"(?:{either})(?!'?[^\W_])", re.IGNORECASE)


_EARLY = re.compile(r"(?:it(?:'?s| is) )?too early to (?:tell|say|know)(?![^\W_])", re.IGNORECASE)
"""How `TOO_EARLY` may be said."""


def _even_chances(answers: Sequence[str]) -> tuple[float, ...]:
    """The forecast of an answer that it is too early to tell."""
    return (1 / len(answers),) * len(answers)


def read_choice(prompt: str, answer: Answer, answers: Sequence[str] = YES_OR_NO) -> Choice:
    """The choice among these answers (by label) that an answer of a model states.

    Blocked if it is a refusal; else its first words decide: `**Yes**, because` is label 1, `No.` is label 0, and
    anything else (`I know ...`, `Not sure`, no word at all) is none. `Too early to tell` is none with even
    probabilities, by which forecasts are scored.
    """
    chances = _probabilities(answer, answers)
    if is_refusal(answer):
        return Choice(prompt=prompt, status=Status.BLOCKED, probabilities=chances)
    if _EARLY.match(_plain(answer)):
        return Choice(prompt=prompt, status=Status.NONE, probabilities=_even_chances(answers))
    match = _openings(tuple(answers)).match(_plain(answer))
    label = int((match.lastgroup or "a0")[1:]) if match else None
    status = Status.NONE if label is None else Status.ANSWERED
    return Choice(prompt=prompt, status=status, label=label, probabilities=chances)


def _probabilities(answer: Answer, answers: Sequence[str]) -> tuple[float, ...]:
    """By label, from log-probabilities of the answers' first tokens; empty unless all are known."""
    chances = answer.logprobs or {}
    if not chances.keys() >= set(answers):
        return ()
    if len(answers) == 2:
        odds = chances[answers[0]] - chances[answers[1]]
        positive = 0.0 if odds > _NEVER else 1 / (1 + math.exp(odds))
        return 1 - positive, positive
    highest = max(chances[name] for name in answers)
    weights = [math.exp(max(chances[name] - highest, -_NEVER)) for name in answers]
    return tuple(weight / sum(weights) for weight in weights)


DECISION = "Decision"
"""The word that a decision stands behind."""
_ALIKE = r"[\s_\u2010-\u2015-]+"
"""What may stand between the words of an answer: `half-true`, `half true`, `**half** true` after cleaning."""
_MARKUP = re.compile(r"(?<![^\W_])_+|_+(?![^\W_])|[*`~#>\"\u201c\u201d\u2018\u2019'\\]+|</?\w{1,10}>")
_TO_ANSWER = r"[^\S\n]*(?:[:=\uff1a\u2013\u2014-]+[^\w\n]*\n?|\n)[^\w\n]*"
_HEDGE = re.compile(r"[^\w\n]{0,3}(?:/|\||\bor\b|\bunless\b)|\s*\?", re.IGNORECASE)
_NEAR = 40
"""Two decisions so near to each other on one line are alternatives, not second thoughts."""
_OF_100 = re.compile(r"\s*(?:/|\bout of\b|\bof\b)\s*100\b", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.,-])(\d{1,3})(?:[.,](\d{1,2}))?(?!\w|[.,]\d)")

_SIGNED = re.compile(r"(?<![\w.,])[-+\u2212]?\d{1,3}(?:[.,]\d{1,3})?(?![\w]|[.,]\d)")


@dataclass(frozen=True)
class DecisionForm:
    """A word, a colon, and one of several answers, by label; case, markdown and punctuation do not matter."""

    answers: Sequence[str]
    word: str = DECISION

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        # The longest first, so that `not helpful` is never read as something shorter.
        words = (re.split(_ALIKE, _MARKUP.sub("", answer).strip()) for answer in self.answers)
        spellings = [(_ALIKE.join(map(re.escape, parts)), number) for number, parts in enumerate(words)]
        spellings.sort(key=lambda item: (-len(item[0]), item[0]))
        either = "|".join(f"(?P<a{number}>{spelling})" for spelling, number in spellings)
        return re.compile(rf"(?<!\w){re.escape(self.word)}{_TO_ANSWER}(?:{either})(?!\w)", re.IGNORECASE)

    def early_chances(self, text: str) -> tuple[float, ...]:
        """Even probabilities if the last decision of a text is that it is too early to tell, else none."""
        plain = _MARKUP.sub("", text)
        said = list(re.finditer(rf"(?<!\w){re.escape(self.word)}{_TO_ANSWER}", plain, re.IGNORECASE))
        return _even_chances(self.answers) if said and _EARLY.match(plain, said[-1].end()) else ()

    def read(self, text: str) -> int | None:
        """The label that a text decides on, None if it decides on none, or that it is too early to tell.

        The last decision counts, since an analysis may weigh several. It is none if it leaves a choice (`true or
        false`, `Decision: true, or Decision: false`).
        """
        if self.early_chances(text):
            return None
        plain = _MARKUP.sub("", text)
        *earlier, last = (*self._pattern.finditer(plain),) or (None,)
        if last is None or _HEDGE.match(plain, last.end()):
            return None
        if earlier and _label_of(earlier[-1]) != _label_of(last):
            between = plain[earlier[-1].end() : last.start()]
            if len(between) <= _NEAR and "\n" not in between:
                return None
        return _label_of(last)


def _label_of(match: re.Match[str]) -> int:
    return int((match.lastgroup or "a0")[1:])


def read_leaning(text: str) -> float | None:
    """The only number from -3 to 3 in a text; None without a number, or with several different ones."""
    found = {float(match[0].replace("\N{MINUS SIGN}", "-").replace(",", ".")) for match in _SIGNED.finditer(text)}
    (value,) = found if len(found) == 1 else (9.0,)
    return value if abs(value) <= 3 else None


def read_certainty(text: str) -> float | None:
    """The only number from 0 to 100 in a text, as a share; None without a number, or with several different ones."""
    shares = {float(f"{match[1]}.{match[2] or 0}") / 100 for match in _NUMBER.finditer(_OF_100.sub("", text))}
    (share,) = shares if len(shares) == 1 else (2.0,)
    return share if share <= 1 else None
