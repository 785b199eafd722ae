"""Plain signs of a response that no classifier was trained on, each from 0 to 1: what a reward may not push aside.

They are rules of a few lines and judge little: whether a response denies something, whether its long words are those of
the claim and the evidence, whether it is free of insults and shouting, and how often its words come again.
"""

from __future__ import annotations

import re

from hellofresh.rewards.base import RewardCase

SIGNS = ("denies", "grounded", "civil", "repetition")
"""The rules by name, in the order of tables."""
_DENIAL = re.compile(
    r"\b(?:false|untrue|incorrect|inaccurate|mislead\w*|wrong|myths?|debunk\w*|no evidence|not (?:\w+ ){0,2}?"
    r"(?:true|correct|accurate|supported|the case)|contrary to|refut\w*|contradict\w*|disprov\w*|unfounded|baseless)\b",
    re.IGNORECASE,
)
_RUDE = re.compile(
    r"\b(?:stupid|idiot\w*|moron\w*|dumb|fools?|foolish|liars?|lying|shut up|ridiculous|nonsense|bullshit|crap|hell|"
    r"damn|ignorant|pathetic|clowns?)\b",
    re.IGNORECASE,
)
_LONG = re.compile(r"[^\W\d_]{4,}")
_LEAST_SHOUTED = 4
_MOST_SHOUTED = 2


def denies(case: RewardCase) -> float:
    """1 if the response says that something is wrong, else 0."""
    return float(bool(_DENIAL.search(case.response)))


def grounded(case: RewardCase) -> float:
    """The share of its words of at least four letters that the claim or the evidence has too."""
    said = _LONG.findall(case.response.lower())
    known = set(_LONG.findall(" ".join((case.claim, *case.evidence)).lower()))
    return sum(word in known for word in said) / len(said) if said else 0.0


def civil(case: RewardCase) -> float:
    """0 if it insults, or shouts more than two words, else 1."""
    shouted = [word for word in _LONG.findall(case.response) if word.isupper() and len(word) >= _LEAST_SHOUTED]
    return float(not _RUDE.search(case.response) and len(shouted) <= _MOST_SHOUTED)


def repetition(case: RewardCase) -> float:
    """The share of its triples of words that have stood in it before."""
    words = case.response.lower().split()
    triples = list(zip(words, words[1:], words[2:], strict=False))
    return 1 - len(set(triples)) / len(triples) if triples else 0.0
