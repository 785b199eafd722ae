"""Reading what a model says: one of several answers at once, or a decision that it states after an analysis."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from hellofresh.models import Answer, Finish
from hellofresh.runs.prompts import YES_OR_NO
from hellofresh.tasks.outputs import Choice, Status

_NEVER = 700.0  # beyond it, exp() is not a float any more
# Markup, marks of templates and punctuation before the first word.
_LEADING = re.compile(r"^(?:</?\w{1,10}>|<\|\w{1,30}\|>(?:assistant\b)?|[\W_])+")
# Typographic apostrophes and hyphens, as they are typed.
_TYPED = {0x2019: "'", **dict.fromkeys((0xAD, *range(0x2010, 0x2016), 0x2212, 0xFE63, 0xFF0D), "-")}
_FIRST_IDEOGRAPH = "\u2e80"
_MARKUP = re.compile(r"(?<![^\W_])_+|_+(?![^\W_])|[*`~#>\"\u201c\u201d\u2018\u2019'\\]+|</?\w{1,10}>|<\|\w{1,30}\|>")
# The first sentence, with the next where the first may be a mere apology.
_FIRST = re.compile(r"(?:[^.!?\n\u3002\uff01]{0,20}[.!?\u3002\uff01]\s*)?[^.!?\n\u3002\uff01]*")
_MARK = re.compile(r"^\[[0-9a-f]{12} .*\]$", re.MULTILINE)
# How `TOO_EARLY` may be said.
_EARLY = re.compile(r"(?:it(?:'?s| is) )?too early to (?:tell|say|know)(?![^\W_])", re.IGNORECASE)
DECISION = "Decision"
"""The word that a decision stands behind."""
# What may stand between the words of an answer: `half-true`, `half true`, `**half** true` after cleaning.
_ALIKE = r"[\s_-]+"
_TO_ANSWER = r"[^\S\n]*(?:[:=\uff1a\u2013\u2014-]+[^\w\n]*\n?|\n)[^\w\n]*"
_HEDGE = r"[^\w\n]{0,3}(?:/|\||\bor\b|\bunless\b)|\s*\?"
_AND_ANOTHER = r"(?:[\W_]|\b(?:actually|also|and|but|maybe|perhaps|then|wait)\b)*"
_AT_ITS_END = r"(?=\W*$|[^\S\n]*[\n.,;:!?)\]])"
# Words after a bare `no` that go on from an answer; others make it part of a phrase: `No information is given`.
_OF_AN_ANSWER = (
    r"(?:a|actually|as|at|because|but|he|her|his|i|if|in|is|it|its|most|no|not|nothing|on|she|since|so|that|the|there"
    r"|these|they|this|those|we|while|you|your)"
)
_NAMES_OF_ANSWERS = (
    r"(?:answer|classification|conclusion|decision|judge?ment|label|prediction|response|result|verdict)s?\b"
    r"(?:[^\S\n]*(?:is|would be|should be))?[^\w\n]*\n?[^\w\n]*|boxed\{(?:\w+\{)?\s*"
)
_NEAR = 40  # two decisions so near to each other on one line are alternatives, not second thoughts
_OF_100 = re.compile(r"\s*(?:/|\bout of\b|\bof\b)\s*100\b", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.,-])(\d{1,3})(?:[.,](\d{1,2}))?(?!\w|[.,]\d)(\s*%)?")
_SIGNED = re.compile(r"(?<![\w.,])[-+\u2212]?\d{1,3}(?:[.,]\d{1,3})?(?![\w]|[.,]\d)")


@cache
def _listed() -> Mapping[str, Sequence[str]]:
    return tomllib.loads(files("hellofresh.runs.regimes").joinpath("refusals.toml").read_text(encoding="utf-8"))


@cache
def _refusals() -> Mapping[str, re.Pattern[str]]:
    """The lists of phrases as patterns: whole words, and between two of them an adverb."""
    listed = _listed()
    adverb = rf"(?:(?:{'|'.join(listed['adverbs'])}|\w+ly),?\s+)?"

    def either(name: str) -> str:
        # Between ideographs there are no spaces, so that a word cannot be told from a part of a longer one.
        return "|".join(
            re.escape(phrase)
            if max(phrase) >= _FIRST_IDEOGRAPH
            else rf"(?<![^\W_]){re.escape(phrase)}(?![^\W_])".replace(r"\ ", rf"\s+{adverb}")
            for phrase in sorted(listed[name], key=len, reverse=True)
        )

    patterns = {name: re.compile(either(name)) for name in ("anywhere", "unwilling", "to_know", "to_help")}
    return {**patterns, "openings": re.compile(rf"(?:(?:{either('lead_ins')})\W+)?(?:{either('openings')})")}


def _plain(text: str) -> str:
    """The text from its first word on, in lower case, with plain apostrophes and hyphens."""
    return _LEADING.sub("", text.translate(_TYPED)).casefold()


def is_refusal(answer: Answer) -> bool:
    """Whether the provider says that it withheld the answer, or the text opens like a refusal."""
    return answer.finish is Finish.BLOCKED or _is_refusing(answer.text)


def _is_refusing(text: str) -> bool:
    """Whether a text opens like a refusal; inability to know something, rather than to help, is not one."""
    found, plain = _refusals(), _plain(text)
    first = match[0] if (match := _FIRST.match(plain)) else ""
    if found["unwilling"].match(plain) or found["anywhere"].search(first):
        return True
    knows = found["to_know"].search(first)
    is_unknowing = knows is not None and not found["to_help"].search(first, 0, knows.start())
    return bool(found["openings"].match(plain)) and not is_unknowing


def is_refusal_of_paper(answer: Answer) -> bool:
    """Whether HelloFresh (2024) counts the answer as refused: withheld, or it begins with one of the paper's words."""
    return answer.finish is Finish.BLOCKED or answer.text.startswith(tuple(_listed()["paper"]))


def without_marks(text: str) -> str:
    """A text without the lines that stand around texts in a question, which small models repeat."""
    return _MARK.sub("", text)


def _even_chances(answers: Sequence[str]) -> tuple[float, ...]:
    """The forecast of an answer that it is too early to tell."""
    return (1 / len(answers),) * len(answers)


def read_choice(prompt: str, answer: Answer, answers: Sequence[str] = YES_OR_NO) -> Choice:
    """The choice among these answers (by label) that an answer of a model states.

    Blocked if it is a refusal; else its first words decide: `**Yes**, because` is label 1, `No.` is label 0, and
    anything else (`I know ...`, `Not sure`, `Yes or no`, no word at all) is none. `Too early to tell` is none with even
    probabilities, by which forecasts are scored.
    """
    status, label, chances = _chosen(answer.text, answer.finish is Finish.BLOCKED, tuple(answers))
    return Choice(prompt=prompt, status=status, label=label, probabilities=chances or _probabilities(answer, answers))


@lru_cache(256)  # most answers are one of a few words
def _chosen(text: str, is_blocked: bool, answers: tuple[str, ...]) -> tuple[Status, int | None, tuple[float, ...]]:
    """Status, label and, if the text makes a forecast, its probabilities."""
    if is_blocked or _is_refusing(text):
        return Status.BLOCKED, None, ()
    plain = _plain(_MARKUP.sub("", text.translate(_TYPED)))
    if _EARLY.match(plain):
        return Status.NONE, None, _even_chances(answers)
    form = DecisionForm(answers)
    label = form.label_in(form.opening.match(plain))
    return (Status.NONE if label is None else Status.ANSWERED), label, ()


def read_elsewhere(answer: Answer, answers: Sequence[str] = YES_OR_NO) -> int | None:
    """The label that an answer states anywhere: `Answer: yes`, `{"answer": "yes"}`, `\\boxed{yes}`, a line of its own.

    The last one counts. Scores rest on it only where they say so: the rule of the benchmark is `read_choice`.
    """
    form = DecisionForm(tuple(answers))
    plain = _MARKUP.sub("", answer.text.translate(_TYPED))
    found = [label for match in form.anywhere.finditer(plain) if (label := form.label_in(match)) is not None]
    return found[-1] if found and not is_refusal(answer) else None


def _probabilities(answer: Answer, answers: Sequence[str]) -> tuple[float, ...]:
    """By label, from log-probabilities of the answers' first tokens; empty unless all are known."""
    chances = answer.logprobs or {}
    if not chances.keys() >= set(answers):
        return ()
    if len(answers) == 2:
        # a logistic function of the difference keeps digits that a quotient of tiny chances would lose
        odds = chances[answers[0]] - chances[answers[1]]
        positive = 0.0 if odds > _NEVER else 1 / (1 + math.exp(odds))
        return 1 - positive, positive
    highest = max(chances[name] for name in answers)  # relative to the highest, none of the exponentials overflows
    weights = [math.exp(max(chances[name] - highest, -_NEVER)) for name in answers]
    return tuple(weight / sum(weights) for weight in weights)


@dataclass(frozen=True, slots=True)
class DecisionForm:
    """A word, a colon, and one of several answers, by label; case, markdown and punctuation do not matter."""

    answers: Sequence[str]
    word: str = DECISION

    @property
    def _either(self) -> str:
        return _spelled(tuple(self.answers))

    @property
    def _pattern(self) -> re.Pattern[str]:
        return _compiled(rf"(?<!\w){re.escape(self.word)}{_TO_ANSWER}(?:{self._either})(?!\w)")

    @property
    def opening(self) -> re.Pattern[str]:
        """One of the answers at the beginning of a text."""
        return _compiled(rf"(?:{self._either})(?!'?[^\W_])")

    @property
    def anywhere(self) -> re.Pattern[str]:
        """One of the answers after a word for it, or at the beginning of a line."""
        return _compiled(rf"(?:(?<!\w){_NAMES_OF_ANSWERS}|^[^\w\n]*)(?:{self._either})(?!\w)", re.MULTILINE)

    def label_in(self, match: re.Match[str] | None) -> int | None:
        """The label of a matched answer; None if what follows takes it back (`yes or no`, `No one can know`)."""
        if match is None or _compiled(_HEDGE).match(match.string, match.end()):
            return None
        label, rest = _label_of(match), match.string[match.end() :]
        other = _compiled(rf"{_AND_ANOTHER}(?<!\w)(?:{self._either})(?!\w){_AT_ITS_END}").match(rest)
        if other is not None and _label_of(other) != label:
            return None
        is_bare = self.answers[label].casefold() == "no" and re.match(r"[^\S\n]+\w", rest)
        return None if is_bare and not re.match(rf"\s+{_OF_AN_ANSWER}\b", rest, re.IGNORECASE) else label

    def early_chances(self, text: str) -> tuple[float, ...]:
        """Even probabilities if the last decision of a text is that it is too early to tell, else none."""
        plain = _MARKUP.sub("", text.translate(_TYPED))
        said = list(re.finditer(rf"(?<!\w){re.escape(self.word)}{_TO_ANSWER}", plain, re.IGNORECASE))
        return _even_chances(self.answers) if said and _EARLY.match(plain, said[-1].end()) else ()

    def read(self, text: str) -> int | None:
        """The label that a text decides on, None if it decides on none, or that it is too early to tell.

        The last decision counts, since an analysis may weigh several. It is none if it leaves a choice (`true or
        false`, `Decision: true, or Decision: false`).
        """
        if self.early_chances(text):
            return None
        plain = _MARKUP.sub("", text.translate(_TYPED))
        *earlier, last = (*self._pattern.finditer(plain),) or (None,)
        if last is None or self.label_in(last) is None:
            return None
        if earlier and _label_of(earlier[-1]) != _label_of(last):
            between = plain[earlier[-1].end() : last.start()]
            if len(between) <= _NEAR and "\n" not in between:
                return None
        return _label_of(last)


@cache
def _spelled(answers: tuple[str, ...]) -> str:
    """The answers as alternatives, the longest first, so that `not helpful` is never read as something shorter."""
    words = (re.split(_ALIKE, _MARKUP.sub("", answer.translate(_TYPED)).strip()) for answer in answers)
    spellings = [(_ALIKE.join(map(re.escape, parts)), number) for number, parts in enumerate(words)]
    spellings.sort(key=lambda item: (-len(item[0]), item[0]))
    return "|".join(f"(?P<a{number}>{spelling})" for spelling, number in spellings)


@cache
def _compiled(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | flags)


def _label_of(match: re.Match[str]) -> int:
    return int((match.lastgroup or "a0")[1:])


def read_leaning(text: str) -> float | None:
    """The only number from -3 to 3 in a text; None without a number, or with several different ones."""
    found = {float(match[0].replace("\N{MINUS SIGN}", "-").replace(",", ".")) for match in _SIGNED.finditer(text)}
    (value,) = found if len(found) == 1 else (9.0,)
    return value if abs(value) <= 3 else None


def read_certainty(text: str) -> float | None:
    """The only number from 0 to 100 in a text, as a share; None without a number, or with several different ones.

    None, too, for a number such as 0.95, which is on another scale, unless `%` stands behind it.
    """
    found = {
        (float(f"{match[1]}.{match[2] or 0}"), match[3] is not None)
        for match in _NUMBER.finditer(_OF_100.sub("", text))
    }
    shares = {number / 100 for number, _ in found}
    (share,) = shares if len(shares) == 1 else (2.0,)
    other_scale = any(0 < number < 1 and not is_percent for number, is_percent in found)
    return share if share <= 1 and not other_scale else None
