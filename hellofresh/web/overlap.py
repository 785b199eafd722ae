"""Whether a page carries the very item that is asked about: a run of words that both have."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["canary", "first_words"]

_WORD = re.compile(r"[^\W_]+")


def canary(text: str, item_texts: Sequence[str], n: int = 13) -> bool:
    """Whether `n` words in a row of one of the item's texts stand in the text too, whatever case and punctuation."""
    page = f" {' '.join(_words(text))} "
    for words in map(_words, item_texts):
        for start in range(len(words) - n + 1):
            if f" {' '.join(words[start : start + n])} " in page:
                return True
    return False


def first_words(text: str, n: int) -> str:
    """The first `n` words of a text, white space between them as it was."""
    ends = [match.end() for match in re.finditer(r"\S+", text)]
    return text[: ends[n - 1]] if len(ends) > n else text


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
