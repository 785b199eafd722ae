"""Words of a text as BM25 and TF-IDF count them: in lower case, without the most frequent ones, by their stem.

Each different word is stemmed once: a corpus has some hundred thousand of them and a hundred million running words.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from hellofresh.evidence.retrieval.base import missing_extra

__all__ = ["Analyzer"]

_WORD = re.compile(r"\w+")
_FREQUENT = frozenset(
    """
    a an and are as at be but by for if in into is it no not of on or such that the their then there these they this
    to was will with
    """.split()  # noqa: SIM905 - 33 quoted words are harder to read
)


@dataclass(frozen=True, slots=True)
class Analyzer:
    """How texts become terms.

    Attributes:
        stem: whether words of one English stem are one term (Porter's second stemmer, `snowball`).
        drop_frequent: whether the 33 most frequent words of English are left out.
    """

    stem: bool = True
    drop_frequent: bool = True

    def words(self, text: str) -> list[str]:
        """The running words, each a key for `term`."""
        return _WORD.findall(text.lower())

    def term(self, word: str) -> str:
        """The term of a word, empty for one that is left out.

        Raises:
            UsageError: if stems are asked for and the stemmer is not installed.
        """
        if self.drop_frequent and word in _FREQUENT:
            return ""
        return _stemmer()(word) if self.stem else word

    def terms(self, text: str) -> list[str]:
        """The terms of a text in order."""
        return [term for word in self.words(text) if (term := self.term(word))]


@lru_cache
def _stemmer() -> Callable[[str], str]:
    try:
        from Stemmer import Stemmer
    except ImportError:
        raise missing_extra("an index of words", "PyStemmer") from None
    stem: Callable[[str], str] = Stemmer("english").stemWord
    return stem
