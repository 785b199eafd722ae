"""Untrusted texts: remove characters that people do not see, and fence texts so that they cannot leave their slot.

All code that reads untrusted texts uses these: `hidden_character` decides whether to accept a text,
`visible` is for reading and comparing, `clean`, `one_line` and `fence` are for texts to models.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from hellofresh.core.files import sha256_text

_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
# Characters without a shape that are not of an invisible category: fillers and variation selectors.
_INVISIBLE = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))
)
_JOINERS = "[\u200c\u200d]"
# Joiners not between non-Latin characters; Persian and Indic words, and emoji, need theirs.
_NEEDLESS_JOINERS = re.compile(rf"(?<![^\x00-\u036f\u200c\u200d]){_JOINERS}+|{_JOINERS}+(?![^\x00-\u036f])")
# Control characters besides white space, changes of the writing direction, and halves of surrogate pairs.
_FORBIDDEN = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
# Brackets, and those that are read as such after normalization, for classes of characters.
_LEFT, _RIGHT, _OPEN, _CLOSE = (
    "<\uff1c\u3008\u2039",
    ">\uff1e\u3009\u203a",
    r"\[\uff3b\u3010\u3014",
    r"\]\uff3d\u3011\u3015",
)
# Where a space breaks a name that a tokenizer may read as one control token, which ends a chat turn even inside a
# message, or that begins a call of a tool. In templates of 2023 to 2026 it is one word without white space:
# `<|im_end|>`, `<think>`, `[TOOL_CALLS]`, `[gMASK]`, `]~b]`, `<function=`, the fence of `tool_code`. Plain words
# of roles (`Human:`, `### Instruction:`) are not tokens: the fence contains those.
_TURN_MARKS = re.compile(
    rf"(?<=[{_LEFT}])(?=[|\uff5c]|[/\\]?[\w|\uff5c\u2581/:~\[\]-]{{1,60}}[{_RIGHT}])"  # <|...|>, one word in brackets
    rf"|(?<=[{_LEFT}])(?=[/\\]?(?:\w{{1,20}}:)?(?i:function|invoke|parameter|tool)\w{{0,30}}[\s=])"
    rf"|(?<=[|\uff5c])(?=[{_RIGHT}{_CLOSE}])|(?<=[{_OPEN}])(?=[|\uff5c])"
    rf"|(?<=[{_OPEN}])(?=/?(?:(?i:inst)|\w{{0,30}}(?:[A-Z]{{2}}|_)\w{{0,30}})[{_CLOSE}])"  # one unusual word
    r"|(?<=\])(?=~)|(?<=~)(?=\[)"
    r"|(?<=```)(?=(?i:tool)_)|(?<=~~~)(?=(?i:tool)_)"
)
_TURN_CHARACTERS = "<[|]`~\uff5c\uff1c\u3008\u2039\uff3b\u3010\u3014"
_MARK_LENGTH = 12  # 48 bits: a text that was written before the mark cannot hold it but by chance
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of a cell that a spreadsheet takes for a formula."""


def hidden_character(text: str) -> str:
    """The first needless character that deceives readers or terminals, such as `U+202E`.

    Empty if the text has none.
    """
    found = _FORBIDDEN.search(text)
    return "" if found is None else f"U+{ord(found[0]):04X}"


def without_hidden(value: Any) -> Any:
    """A text, or all texts of a JSON value, without the characters that `hidden_character` finds."""
    if isinstance(value, str):
        return _FORBIDDEN.sub("", value)
    if isinstance(value, dict):
        return {key: without_hidden(item) for key, item in value.items()}
    return [without_hidden(item) for item in value] if isinstance(value, list) else value


def visible(text: str) -> str:
    """The text in NFC without invisible, bidirectional and control characters, with single spaces and line breaks."""
    if not (text.isascii() and text.replace("\n", "").isprintable()):  # most texts need no change
        text = text.replace("\r\n", "\n").translate({ord(c): _replacement(c) for c in set(text)})
        text = _NEEDLESS_JOINERS.sub("", text)
        text = unicodedata.normalize("NFC", text)
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n"))))


@lru_cache(4096)
def _replacement(character: str) -> str | None:
    if character in "\n\r\x0b\x0c\x85\u2028\u2029":
        return "\n"
    if character == "\t":
        return " "
    if character in "\u200c\u200d":
        return character
    hidden = unicodedata.category(character) in _INVISIBLE_CATEGORIES or character in _INVISIBLE
    return None if hidden else character


def clean(text: str) -> str:
    """The `visible` text with the marks of chat turns broken up."""
    plain = visible(text)
    return _TURN_MARKS.sub(" ", plain) if any(mark in plain for mark in _TURN_CHARACTERS) else plain


def one_line(text: str, limit: int | None = None) -> str:
    """The cleaned text on one line of at most `limit` characters."""
    return " ".join(clean(text).split())[:limit].rstrip()


@dataclass(frozen=True, slots=True)
class FencedText:
    """Texts between lines with a mark that occurs in none of them.

    Attributes:
        text: the block, including the lines with the mark.
        mark: the mark, a hash of the texts.
    """

    text: str
    mark: str


def disarmed(text: str) -> str:
    """A cell with a leading apostrophe if a spreadsheet would take it for a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text


def mark_for(texts: Sequence[str]) -> str:
    """A deterministic mark that occurs in none of the texts."""
    whole = "\n".join(texts)
    lowered, turn = whole.casefold(), 0
    while (mark := sha256_text(f"{turn}:{whole}")[:_MARK_LENGTH]) in lowered:
        turn += 1
    return mark


def fence(texts: Sequence[str]) -> FencedText:
    """Texts as one block, each after a line with its number and a mark that occurs in no text; `(none)` without any."""
    bodies = [clean(text) for text in texts]
    mark = mark_for(bodies)
    lines = [f"[{mark} text {number}]\n{body}" for number, body in enumerate(bodies, start=1)]
    return FencedText("\n".join([*lines, f"[{mark} end]"]) if lines else "(none)", mark)
