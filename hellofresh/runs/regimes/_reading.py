"""Reading a model's answer to a question that asks for one of several answers, such as yes and no."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from hellofresh.models import Answer, Finish
from hellofresh.runs.prompts import YES_OR_NO
from hellofresh.tasks.outputs import Choice, Status

__all__ = ["is_refusal", "read_choice"]

_NEVER = 700.0  # beyond it, exp() is no float any more
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


@cache
def _openings(answers: tuple[str, ...]) -> re.Pattern[str]:
    """The answers as beginnings of a text, the longest first; spaces and hyphens within them may be exchanged."""
    spelled = {number: _BETWEEN.join(map(re.escape, re.split(_BETWEEN, text))) for number, text in enumerate(answers)}
    order = sorted(spelled, key=lambda number: -len(answers[number]))
    either = "|".join(f"(?P<a{number}>{spelled[number]})" for number in order)
    return re.compile(rf"(?:{either})(?!'?[^\W_])", re.IGNORECASE)


def read_choice(prompt: str, answer: Answer, answers: Sequence[str] = YES_OR_NO) -> Choice:
    """The choice that an answer states.

    Blocked if it is a refusal; else its first words decide: `**Yes**, because` is label 1, `No.` is label 0, and
    anything else (`I know ...`, `Not sure`, no word at all) is none.

    Args:
        prompt: id of the prompt.
        answer: what the model said.
        answers: what may be answered, by label.
    """
    chances = _probabilities(answer, answers)
    if is_refusal(answer):
        return Choice(prompt=prompt, status=Status.BLOCKED, probabilities=chances)
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
