"""Whether a page carries the very item that is asked about."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from hellofresh.evidence.web.text import clean

__all__ = ["canary"]

_WORD = re.compile(r"\w+")


def canary(text: str, item_texts: Iterable[str], n: int = 13) -> bool:
    """Whether `n` consecutive words of one of the item's texts stand in `text`.

    Case, punctuation, white space, invisible characters and compatibility forms do not count. A text of fewer than `n`
    words cannot be found.
    """
    page = f" {' '.join(_words(text))} "
    return any(f" {gram} " in page for item in item_texts for gram in _grams(_words(item), n))


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", clean(text)).casefold())


def _grams(words: list[str], n: int) -> set[str]:
    return {" ".join(words[start : start + n]) for start in range(len(words) - n + 1)}
