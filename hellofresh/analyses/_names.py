"""Names that others chose, made fit to be shown: one line, nothing invisible, not endless."""

from __future__ import annotations

import unicodedata

__all__ = ["clean_name", "short_name"]

_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_MOST_MARKS = 2


def clean_name(text: str, most: int = 80) -> str:
    """The text in NFC without control, bidi and zero-width characters and without heaps of combining marks.

    Args:
        text: anything.
        most: longest name in characters; what is beyond becomes an ellipsis.
    """
    kept, marks = [], 0
    for char in unicodedata.normalize("NFC", text[: 20 * most]):
        category = unicodedata.category(char)
        marks = marks + 1 if category in {"Mn", "Me"} else 0
        if category in _INVISIBLE:
            kept.append(" " if char in "\t\n\r" else "")
        elif marks <= _MOST_MARKS:
            kept.append(char)
    return short_name(" ".join("".join(kept).split()), most) or "(no name)"


def short_name(text: str, most: int) -> str:
    """The text, cut in its middle where it is longer: beginnings and ends tell names apart."""
    if len(text) <= most:
        return text
    tail = max(1, most // 3)
    return f"{text[: most - tail - 1]}…{text[-tail:]}"
