"""What a reader sees of a template, by the table `templates.toml`; its head says how a rule is written.

A call that no rule foresees is unknown, and so is one with a value that the rule neither shows nor calls harmless:
false text is worse than none.
"""
# ruff: noqa: RUF001 -- minus signs, primes and fractions are what a reader sees

from __future__ import annotations

import re
import tomllib
from calendar import month_name
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

_SPLIT = re.compile(r"\s\|\s|^\s*\|\s|\s\|\s*$")
_TOKEN = re.compile(r"\[(?P<group>(?:\\.|[^\[\]\\])*)\]|\{(?P<slot>[^{}]*)\}|\\(?P<sign>.)")
_ENDINGS = frozenset(
    "th st nd rd e er re ère ers es ème nde r d o a os as tm sm me mes le te de ste".split()  # noqa: SIM905 -- a list of words
)
_NUMBER = re.compile(r"[+\N{MINUS SIGN}-]?[0-9][0-9.,]*(?:\+?[0-9]+[/⁄][0-9]+)?|[0-9]+[/⁄][0-9]+")
_HEMISPHERES = {"N", "S", "E", "W"}


class UnknownCallError(Exception):
    """No rule says what a reader sees of this call; caught by the reader of the paragraph."""


@dataclass(frozen=True, slots=True)
class _Rule:
    shows: tuple[str, ...] = ()
    does: str = ""


_UNSEEN = _Rule()


@dataclass(slots=True)
class Call:
    """A template's values as a reader sees them, by name; unnamed ones are numbered from 1.

    Attributes:
        names: of all values, in order.
        value: gives one, empty if it is missing or shows nothing.
        language: of the wiki.
        used: the names that a pattern mentioned.
    """

    names: tuple[str, ...]
    value: Callable[[str], str]
    language: str
    used: set[str] = field(default_factory=set)

    def unnamed(self) -> list[str]:
        """The unnamed values up to the last one, all of which count as used."""
        numbers = sorted(int(name) for name in self.names if name.isascii() and name.isdigit())
        self.used.update(map(str, numbers))
        return [self.value(str(number)) for number in numbers]


def shown(name: str, call: Call) -> str:
    """What a reader sees of a call of a template, empty for notes, boxes and other things outside the sentence.

    Raises:
        UnknownCallError: if no rule foresees it.
    """
    rule, rest = _rule(name, call.language)
    if rule is _UNSEEN:
        return ""
    values = call.value
    call.value = lambda key: rest if key == "rest" else values(key)
    text = _DOES[rule.does](call) if rule.does else next(_filled(rule.shows, call), None)
    left = [key for key in call.names if key not in call.used and key not in _table().harmless and call.value(key)]
    if text is None or left:
        raise UnknownCallError(name)
    return text


def _filled(patterns: Iterable[str], call: Call) -> Iterator[str]:
    """What each pattern makes of the call, of those that use all its unnamed values."""
    for pattern in patterns:
        call.used.clear()
        try:
            text = _fill(pattern, call)
        except UnknownCallError:
            continue
        if not [key for key in call.names if key.isdigit() and key not in call.used and call.value(key)]:
            yield text


def _fill(pattern: str, call: Call) -> str:
    def put(match: re.Match[str]) -> str:
        if match["slot"] is not None:
            return _slot(match["slot"], call)
        if match["group"] is None:
            return match["sign"]
        try:
            return _fill(match["group"], call)
        except UnknownCallError:
            return ""

    return _TOKEN.sub(put, pattern)


def _slot(slot: str, call: Call) -> str:
    slot, _, change = slot.partition("!")
    if slot == "-*":
        call.unnamed()
        return ""
    if slot.startswith("-"):
        call.used.add(slot[1:])
        return ""
    if slot.startswith("*"):
        text = slot[1:].join(call.unnamed())
    else:
        names = re.split("[,;]", slot)
        call.used.update(names)
        text = (", " if "," in slot else "; ").join(filter(None, map(call.value, names)))
    if not text:
        raise UnknownCallError(slot)
    return _FILTERS[change](text, call) if change else text


@dataclass(frozen=True, slots=True)
class _Names:
    """The rules of a wiki: by whole name, by the beginning of names, and by their end."""

    whole: dict[str, _Rule] = field(default_factory=dict)
    begun: dict[str, _Rule] = field(default_factory=dict)
    ended: dict[str, _Rule] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Table:
    rules: Mapping[str, _Names]
    languages: Mapping[str, Mapping[str, str]]
    harmless: frozenset[str]


@cache
def _table() -> _Table:
    told: dict[str, Any] = tomllib.loads((files(__package__) / "templates.toml").read_text("utf-8"))
    rules: dict[str, _Names] = {}
    for language, names in told["unseen"].items():
        listed = [(_UNSEEN, names), *((_read(rule), rule["names"]) for rule in told[language])]
        known = rules.setdefault(language, _Names())
        for rule, listing in listed:
            for name in _names(listing):
                into = known.begun if name.endswith("*") else known.ended if name[0] == "*" != name else known.whole
                into[name.strip("*") or name] = rule
    return _Table(rules, told["languages"], frozenset(_names(told["harmless"])))


def _read(rule: Mapping[str, Any]) -> _Rule:
    shows = rule.get("shows", ())
    return _Rule((shows,) if isinstance(shows, str) else tuple(shows), rule.get("does", ""))


def _names(listing: str) -> list[str]:
    return [name for one in _SPLIT.split(listing.replace("\n", " ")) if (name := one.strip())]


def _rule(name: str, language: str) -> tuple[_Rule, str]:
    """The rule of a name, and what follows the part of the name that has it."""
    key = name.casefold()
    for place in dict.fromkeys((language, "en")):
        if place not in _table().rules:
            continue
        known = _table().rules[place]
        if key in known.whole:
            return known.whole[key], ""
        for end in range(len(key), 0, -1):
            if key[:end] in known.begun:
                return known.begun[key[:end]], name[end:].strip()
            if key[-end:] in known.ended:
                return known.ended[key[-end:]], ""
    raise UnknownCallError(name)


def is_language(code: str) -> bool:
    """Whether a prefix of links is a language, so that the link is one between wikis, in the margin."""
    return code in _table().languages["en"] or code == "simple"


def raised(text: str) -> str:
    """A superscript in plain text: `^6`; the endings of ordinals (19th, 1er) and marks stand as they are."""
    text = text.strip()
    if not text or text.casefold() in _ENDINGS or text.startswith("["):
        return text
    return f"^{text}" if re.fullmatch(r"[+\N{MINUS SIGN}\N{EN DASH}-]?[\w.,′*]+|[+−–-]", text) else f"^({text})"


def _grouped(sign: str, point: str) -> Callable[[str, Call], str]:
    def change(text: str, _: Call) -> str:
        if not re.fullmatch(r"[+\N{MINUS SIGN}-]?[0-9]+([.,][0-9]+)?", text):
            return text
        whole, _point, part = text.replace(",", ".").partition(".")
        return re.sub(r"(?<=[0-9])(?=([0-9]{3})+$)", sign, whole) + (point + part if part else "")

    return change


def _looked_up(values: Mapping[str, str]) -> Callable[[str, Call], str]:
    def change(text: str, _: Call) -> str:
        if (found := values.get(text.casefold())) is None:
            raise UnknownCallError(text)
        return found

    return change


def _language(code: str, call: Call) -> str:
    names = _table().languages.get(call.language, _table().languages["en"])
    if (found := names.get(code.casefold())) is None:
        raise UnknownCallError(code)
    return found


def _only(pattern: str) -> Callable[[str, Call], str]:
    def change(text: str, _: Call) -> str:
        if not re.fullmatch(pattern, text):
            raise UnknownCallError(text)
        return text

    return change


def _ordinal(text: str, _: Call) -> str:
    if not text.isascii() or not text.isdigit():
        raise UnknownCallError(text)
    ending = "th" if text[-2:-1] == "1" else {"1": "st", "2": "nd", "3": "rd"}.get(text[-1], "th")
    return text + ending


_MONTHS_ES = "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split()  # noqa: SIM905
_FILTERS: Mapping[str, Callable[[str, Call], str]] = {
    "language": _language,
    "raised": lambda text, _: raised(text),
    "lower": lambda text, _: text.lower(),
    "upper": lambda text, _: text.upper(),
    "commas": _grouped(",", "."),
    "spaced": _grouped(" ", ","),
    "dotted": _grouped(" ", ","),
    "first": lambda text, _: "1er" if text == "1" else text,
    "ordinal": _ordinal,
    "music": _looked_up({"flat": "♭", "sharp": "♯", "natural": "♮", "b": "♭", "#": "♯"}),
    "datum": _looked_up({"de-nn": "ü. NN", "de-nhn": "ü. NHN", "de": "ü. NHN", "at": "ü. A.", "ch": "ü. M."}),
    "century": _looked_up({"s": ""}),
    "month_es": _looked_up(
        {str(n): name for n, name in enumerate(_MONTHS_ES, 1)} | {name: name for name in _MONTHS_ES}
    ),
    "country": _only(r"(?![A-Z]{2,3}$).+"),  # a code stands for a name that is not here
    "written": _only(r"(?=.*[^\W\d])(?=.*\d).+"),  # 2001-01-15 would be shown in another form
    "formula": _only(r"[A-Za-z0-9·]+"),
    "host": _only(r"(?!.*://).+"),
    "ipa": _only(r"[^A-Z\"'@&|_]+"),  # the signs of its own short forms
}


# Words between the values of `convert` (https://en.wikipedia.org/wiki/Template:Convert#Ranges_of_values).
_RANGES = {
    **{"to": " to ", "to(-)": " to ", "to-": " to ", "and": " and ", "&": " and ", "or": " or ", "by": " by "},
    **{"x": " × ", "×": " × ", "xx": " × ", "*": " × ", "-": "–", "–": "–", "+/-": " ± ", "±": " ± ", ",": ", "},
}
_UNITS = {
    **{"sqmi": "sq mi", "sqft": "sq ft", "sqyd": "sq yd", "sqkm": "km^2", "F": "°F", "C": "°C", "kph": "km/h"},
    **{"cuft": "cu ft", "cuyd": "cu yd", "cuin": "cu in", "impgal": "imp gal", "usgal": "US gal", "USgal": "US gal"},
}
_SMALLER = {("ft", "in"), ("yd", "ft"), ("mi", "yd"), ("mi", "ft"), ("lb", "oz"), ("st", "lb"), ("mi", "chain")}


def _convert(call: Call) -> str | None:
    """The values and the unit that the editor wrote, without what the template makes of them."""
    values = call.unnamed()
    call.used.update(("disp", "lk", "adj"))
    if call.value("disp") not in ("", "or", "b", "sqbr", "comma", "br", "br()", "/", "x"):
        return None
    said, place = "", 0
    while place < len(values):
        if not _NUMBER.fullmatch(values[place]):
            return None
        said += values[place]
        if place + 2 >= len(values) or values[place + 1] not in _RANGES:
            break
        said += _RANGES[values[place + 1]]
        place += 2
    units = values[place + 1 : place + 4]
    if not units or not units[0]:
        return None
    said += f" {_unit(units[0])}"
    if len(units) == 3 and (units[0], units[2]) in _SMALLER and _NUMBER.fullmatch(units[1]):
        said += f" {units[1]} {units[2]}"
    return said


def _unit(code: str) -> str:
    return _UNITS.get(code, re.sub(r"(?<=[a-z])([23])$", r"^\1", code))


def _date(values: list[str], *, day_first: bool) -> str | None:
    """A date of year, month and day as numbers (the month also as a word), the last two optional."""
    year, month, day, *more = [*filter(None, values), "", "", ""]
    if any(more) or not year.isdigit():
        return None
    if month.isdigit():
        if not 1 <= int(month) <= 12:
            return None
        month = month_name[int(month)]
    if not month or not day:
        return f"{month} {year}".strip()
    if not day.isdigit():
        return None
    return f"{int(day)} {month} {year}" if day_first else f"{month} {int(day)}, {year}"


def _day(call: Call) -> str | None:
    return _date(call.unnamed(), day_first=call.value("df")[:1].lower() in ("y", "t"))


def _as_of(call: Call) -> str | None:
    day = _date(call.unnamed(), day_first=call.value("df").upper() != "US")
    said = {key: call.value(key) for key in ("alt", "lc", "since", "bare", "pre", "post")}
    call.used.update(said)
    if said["alt"]:
        return said["alt"]
    if day is None or said["bare"]:
        return day
    words = "Since" if said["since"] else "As of"
    words = words.lower() if said["lc"] else words
    return f"{words} {said['pre'] + ' ' if said['pre'] else ''}{day}{said['post']}"


def _coordinates(call: Call) -> str | None:
    """Degrees, minutes and seconds as given; empty if they stand at the top of the page only."""
    call.used.update(("display", "format", "region", "type", "scale", "source", "notes", "dim"))
    values = [value for value in call.unnamed() if value and ":" not in value and "_" not in value]
    if call.value("display") in ("title", "t"):
        return ""
    if len(values) == 2 and all(re.fullmatch(r"-?[0-9.]+", value) for value in values):
        north, east = (value.removeprefix("-") for value in values)
        return f"{north}°{'S' if values[0][0] == '-' else 'N'} {east}°{'W' if values[1][0] == '-' else 'E'}"
    said: list[str] = []
    numbers: list[str] = []
    for value in values:
        if value in _HEMISPHERES and 1 <= len(numbers) <= 3:
            said.append("".join(map(str.__add__, numbers, "°′″")) + value)
            numbers = []
        elif re.fullmatch(r"[0-9.]+", value):
            numbers.append(value)
        else:
            return None
    return " ".join(said) if len(said) == 2 and not numbers else None


_DOES: Mapping[str, Callable[[Call], str | None]] = {
    "convert": _convert,
    "day": _day,
    "as_of": _as_of,
    "coordinates": _coordinates,
}
