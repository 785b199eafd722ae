"""Reading a model's answer to a yes-or-no question: label 1 is yes, label 0 is no."""

from __future__ import annotations

import math
import re
import tomllib
from functools import cache
from importlib.resources import files

from hellofresh.models import Answer, Finish
from hellofresh.outputs import Choice, Status

__all__ = ["is_refusal", "read_choice"]

_NEVER = 700.0  # beyond it, exp() is no float any more
_LEADING = re.compile(r"^[\W_]+")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_LABELS = {"yes": 1, "no": 0}


@cache
def _refusal() -> re.Pattern[str]:
    text = files("hellofresh.regimes").joinpath("refusals.toml").read_text(encoding="utf-8")
    openings = sorted(tomllib.loads(text)["openings"], key=len, reverse=True)
    return re.compile("(?:" + "|".join(map(re.escape, openings)) + r")(?![^\W_])")


def _plain(answer: Answer) -> str:
    return _LEADING.sub("", answer.text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")).casefold()


def is_refusal(answer: Answer) -> bool:
    """Whether the provider says that it withheld the answer, or the text opens like a refusal."""
    return answer.finish is Finish.BLOCKED or bool(_refusal().match(_plain(answer)))


def read_choice(prompt: str, answer: Answer) -> Choice:
    """The choice that an answer states.

    Blocked if it is a refusal; else the first word decides: `**Yes**, because` is label 1, `No.` is label 0, and
    anything else (`I know ...`, `Not sure`, no word at all) is none.
    """
    if is_refusal(answer):
        return Choice(prompt=prompt, status=Status.BLOCKED, probabilities=_probabilities(answer))
    word = _WORD.match(_plain(answer))
    label = _LABELS.get(word[0] if word else "")
    status = Status.NONE if label is None else Status.ANSWERED
    return Choice(prompt=prompt, status=status, label=label, probabilities=_probabilities(answer))


def _probabilities(answer: Answer) -> tuple[float, ...]:
    """Of label 0 and label 1: P(yes) / (P(yes) + P(no)) of the first token; empty unless both are known."""
    chances = answer.logprobs or {}
    if not chances.keys() >= _LABELS.keys():
        return ()
    odds = chances["no"] - chances["yes"]
    positive = 0.0 if odds > _NEVER else 1 / (1 + math.exp(odds))
    return 1 - positive, positive
