"""Names that others chose, made fit to be shown: one line, nothing invisible, not endless, no two alike."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Sequence

from hellofresh.core.systems import SystemId

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
    return cut_name(" ".join("".join(kept).split()), most) or "(no name)"


def cut_name(text: str, most: int) -> str:
    """The text, cut in its middle where it is longer: beginnings and ends tell names apart."""
    if len(text) <= most:
        return text
    tail = max(1, most // 3)
    return f"{text[: most - tail - 1]}…{text[-tail:]}"


def short_names(systems: Sequence[SystemId]) -> list[str]:
    """A name for each system, no two alike.

    It is the system's own name; where two share one, the regime stands with it if it differs, then settings, then the
    team. What is still alike is numbered in the order of origins.
    """
    names = [clean_name(item.system) for item in systems]
    for part, pattern in (("regime", "{} \N{MIDDLE DOT} {}"), ("settings", "{}, {}"), ("team", "{} ({})")):
        for numbers in _alike(names):
            values = {number: getattr(systems[number], part) for number in numbers}
            for number, value in values.items() if len(set(values.values())) > 1 else ():
                if value not in {"", "none"}:
                    names[number] = pattern.format(names[number], clean_name(value))
    taken: set[str] = set()
    for number in sorted(range(len(systems)), key=lambda place: systems[place].origin):
        name, count = names[number], 2
        while names[number].casefold() in taken:
            names[number], count = f"{name} ({count})", count + 1
        taken.add(names[number].casefold())
    return names


def _alike(names: Sequence[str]) -> list[list[int]]:
    """Positions of the names that more than one has."""
    found: dict[str, list[int]] = defaultdict(list)
    for number, name in enumerate(names):
        found[name.casefold()].append(number)
    return [numbers for numbers in found.values() if len(numbers) > 1]
