"""Texts from outside on their way into a prompt: cleaned, cut, and fenced so that no text can end its own slot."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hellofresh.core.files import sha256_text
from hellofresh.evidence.web.text import clean as visible
from hellofresh.evidence.web.text import first_words

__all__ = ["Cut", "FencedText", "clean", "cut_words", "fence", "one_line"]

# Spellings by which chat templates mark turns; some servers read them as such even within a message.
_TURN_MARKS = re.compile(
    r"(?<=<)(?=[|\uff5c]|/?s>|/?(?:start|end)_of_turn>|</?SYS>)|(?<=[|\uff5c])(?=>)|(?<=\[)(?=/?INST\])", re.IGNORECASE
)
_MARKS = "<[|\uff5c"
_CHARACTERS_A_WORD = 12
_MARK_LENGTH = 12


@dataclass(frozen=True, slots=True)
class Cut:
    """A text cut to a number of words.

    Attributes:
        text: the first words.
        words: how many there were.
        was_cut: whether any was left out.
    """

    text: str
    words: int
    was_cut: bool


@dataclass(frozen=True, slots=True)
class FencedText:
    """Texts between lines that carry a mark which none of them holds.

    Attributes:
        text: the block, lines of the mark included.
        mark: the mark, a hash of the texts: the same texts always have the same.
    """

    text: str
    mark: str


def clean(text: str) -> str:
    """A text without invisible characters, a line a paragraph, and without spellings that mark a turn of a chat."""
    plain = visible(text)
    return _TURN_MARKS.sub(" ", plain) if any(mark in plain for mark in _MARKS) else plain


def one_line(text: str, limit: int) -> str:
    """A text cleaned, on one line, and of at most so many characters."""
    return " ".join(clean(text).split())[:limit].rstrip()


def cut_words(text: str, limit: int) -> Cut:
    """The first words of a text, white space between them as it was.

    Texts in scripts without spaces, or of endless words, are held to 12 characters a word.
    """
    words = len(text.split())
    shown = first_words(text, limit) if words > limit else text
    shorter = shown[: limit * _CHARACTERS_A_WORD]
    return Cut(shorter.rstrip(), words, len(shorter) < len(text.rstrip()))


def fence(texts: Sequence[str], *, empty: str = "(none)") -> FencedText:
    """Texts as one block, each after a line with its number, all lines with one mark that no text holds."""
    bodies = [clean(text) for text in texts]
    whole = "\n".join(bodies)
    lowered, turn = whole.casefold(), 0
    while (mark := sha256_text(f"{turn}:{whole}")[:_MARK_LENGTH]) in lowered:
        turn += 1
    lines = [f"[{mark} text {number}]\n{body}" for number, body in enumerate(bodies, start=1)]
    return FencedText("\n".join([*(lines or [empty]), f"[{mark} end]"]), mark)
