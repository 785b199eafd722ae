"""What a model said, as one of four verdicts: yes, no, none (no readable answer) or blocked (a refusal)."""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from functools import cache
from importlib.resources import files

from hellofresh.models import Answer, Finish

__all__ = ["Verdict", "confidence", "majority", "read_answer"]

_NEVER = 700.0  # beyond it, exp() is no float any more
_LEADING = re.compile(r"^[\W_]+")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


class Verdict(StrEnum):
    """What an answer comes to."""

    YES = "yes"
    NO = "no"
    NONE = "none"
    BLOCKED = "blocked"

    @property
    def label(self) -> int | None:
        """1 for yes, 0 for no, None where there is no answer."""
        return {Verdict.YES: 1, Verdict.NO: 0}.get(self)


@cache
def _refusal() -> re.Pattern[str]:
    text = files("hellofresh").joinpath("refusals.toml").read_text(encoding="utf-8")
    openings = sorted(tomllib.loads(text)["openings"], key=len, reverse=True)
    return re.compile("(?:" + "|".join(map(re.escape, openings)) + r")(?![^\W_])")


def read_answer(answer: Answer) -> Verdict:
    """The verdict of an answer.

    Blocked if the provider says so or the text opens like a refusal; else the first word decides: `**Yes**, because`
    is yes, `No.` is no, and anything else (`I know ...`, `Not sure`, no word at all) is none.
    """
    if answer.finish is Finish.BLOCKED:
        return Verdict.BLOCKED
    text = _LEADING.sub("", answer.text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")).casefold()
    if _refusal().match(text):
        return Verdict.BLOCKED
    word = _WORD.match(text)
    return {"yes": Verdict.YES, "no": Verdict.NO}.get(word[0] if word else "", Verdict.NONE)


def confidence(answer: Answer) -> float | None:
    """Probability of yes as against no: P(yes) / (P(yes) + P(no)) of the first token; None unless both are known."""
    chances = answer.logprobs or {}
    if "yes" not in chances or "no" not in chances:
        return None
    odds = chances["no"] - chances["yes"]
    if odds > _NEVER:
        return 0.0
    return 1 / (1 + math.exp(odds))


def majority(verdicts: Iterable[Verdict]) -> Verdict:
    """The vote of several prompts on one sample.

    Only yes and no have a vote; a tie is none. Without a vote it is blocked if every verdict was blocked, else none.
    """
    counts = Counter(verdicts)
    if counts[Verdict.YES] != counts[Verdict.NO]:
        return Verdict.YES if counts[Verdict.YES] > counts[Verdict.NO] else Verdict.NO
    if counts and set(counts) == {Verdict.BLOCKED}:
        return Verdict.BLOCKED
    return Verdict.NONE
