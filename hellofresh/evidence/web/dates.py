"""Dates of pages: a page is taken to be as young as the latest date that it names, whatever surrounds that date.

Every date is a candidate: in meta elements, marked times, attributes, JSON in scripts, the address, and in each line
that a reader sees, with the names of months of fifty languages that dateparser keeps; htmldate adds the forms that it
knows. One kind is left out: a date by which running prose cites something else ("a report published on ..."), which
says when that was written; prose about the page itself, or about its correction, counts. Other dates in prose make a
page younger but do not date it: events of 2011 may be reported today. A month without a day counts as its last day
beside other words of a label ("as of March 2026"), not in prose about something else. Where the order of day and month
is open, the later reading counts. A date in the future or before 1970 is an error of the page, and is not taken.
A moment is written `2023-04-01T10:00:00Z`, a day without a time zone `2023-04-01`.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from email.utils import parsedate_to_datetime
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise, product
from typing import TYPE_CHECKING, Literal
from urllib.parse import unquote

from hellofresh.evidence.sentences import sentences, word_count

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_FIRST = date(1970, 1, 2)  # a day earlier is the zero of computers' clocks, which stands where no date was filled in
_LANGUAGES = """
    en de fr es pt it nl pl ru uk tr ar fa hi id vi sv da nb fi cs sk el ro hu he th bn ca gl eu hr sr sl bg mk lt lv et
    sq ms ur ta te sw af is be hy ka kk
    """.split()  # noqa: SIM905 - words in quotes are harder to read
_MONTHS = "january february march april may june july august september october november december".split()  # noqa: SIM905 - words in quotes are harder to read
# Months of the Iranian calendar, from the 21st of March.
_PERSIAN = "فروردین اردیبهشت خرداد تیر مرداد شهریور مهر آبان آذر دی بهمن اسفند".split()  # noqa: SIM905 - words in quotes are harder to read
# Letters that are written for one another.
_ALIKE = str.maketrans(
    {"\u06cc": "\u064a", "\u0649": "\u064a", "\u06a9": "\u0643", "\u0629": "\u0647"}  # of Persian and Arabic
    | {"\u0131": "i", "\u0142": "l", "\u0111": "d", "\u00f8": "o"}
)
_LEAST_STEM = 5  # letters of a month's name that endings may follow
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
# A day, a word and a year, in their usual orders.
_UNKNOWN = [
    re.compile(form.format(word=r"[^\W\d_]\S{1,18}[^\W\d_.,]\S{0,3}?", gap=r"[\s.,-]{1,3}"))
    for form in (
        r"(?<![\d.,/-])(?P<day>\d\d?){gap}{word}{gap}(?P<year>\d{{4}})(?!\d)",
        r"(?<!\w){word}{gap}(?P<day>\d\d?){gap}(?P<year>\d{{4}})(?!\d)",
        r"(?<!\d)(?P<year>\d{{4}}){gap}{word}{gap}(?P<day>\d\d?)(?![\d%])",
    )
]
_ROMAN = "i ii iii iv v vi vii viii ix x xi xii".split()  # noqa: SIM905 - words in quotes are harder to read
# Eras that years are counted by, and the year before their first.
_ERAS = {"令和": 2018, "平成": 1988, "民國": 1911, "民国": 1911}
_ERA_YEAR = re.compile(rf"({'|'.join(_ERAS)})\s?(元|\d{{1,3}})\s?年")
# What stands within dates and says nothing: soft hyphens, points of Thai abbreviations, endings such as `14(a)`.
_UNSEEN = re.compile(r"[\u00ad\u200b-\u200f\u2060]|(?<=[\u0e00-\u0eff])\.|(?<=\w)\(\w{1,2}\)")
_NUMBERS = re.compile(
    r"(?<![\d.,/-])(?:(\d{4})\s?[-/.年년]\s?(\d\d?)\s?[-/.月월]\s?(\d\d?)|(\d\d?)\s?([-/.])\s?(\d\d?)\s?[-/.]\s?(\d{4}|\d\d))"
    r"(?![\d%]|[.,]\d)"
)
_TOKEN = re.compile(r"\d+|[^\W\d_][^\s\d.,;:!?/|()<>\[\]{}\"\u201c\u201d\u201e«»'\u2018\u2019=&_、。،؛၊-]*")
_BETWEEN = re.compile(r"[\s.,،、၊'\u2019/ºª\u2013-]{0,3}")
_MONTH = re.compile(
    r"(?<![\d.,/-])(?:(\d{4})(?:\s?[年년]\s?(\d\d?)\s?[月월]|[-/](\d\d))|(\d\d?)[/.](\d{4}))(?!\s?[\d%]|[-/.,]\d)"
)
_URL_DAY = re.compile(
    r"(?<!\d)(?:((?:19|20)\d\d)([/_.-]?)(\d\d?)\2(\d\d?)|(\d\d?)([/_.-])(\d\d?)\6((?:19|20)\d\d))(?!\d)"
)
# A day, a month and a year without anything between them, either way round: `/14022026/`.
_URL_RUN = re.compile(r"(?<!\d)(\d\d)(\d\d)((?:19|20)\d\d)(?!\d)")

_WORD = re.compile(r"[^\W\d_]{2}")
_NAMES = r"dat(?:e|um)|publi|modif|updat|revis|review|verif|edited|issued|creat|posted|upload|lastmod|utime|timestamp"
_DATING = re.compile(rf"(?i){_NAMES}")
_NOT_DATING = re.compile(r"(?i)expir|valid|event|birth|death|found|start|end[-_]?date|until")
# A key, with or without quotes, and what may be its date.
_JSON = re.compile(
    r"""(["']|(?<![\w@:"'-]))([A-Za-z_:@-]{1,60})\\{0,4}\1\s{0,9}[:=]\s{0,9}(?:new\sDate\()?\\{0,4}["'`]?"""
    r"""([^"'`;\\<>\[\]{},()]{4,60}(?:,\s\d{4})?)"""
)
_LEAST_PROSE = 5  # words of a sentence beside its date; what is shorter is a label
_FAR = 600  # characters before and behind a date that are looked at for its sentence
INLINE = frozenset(
    "a abbr b bdi bdo cite code data del dfn em font i ins kbd mark q s samp small span strong sub sup time tt u var".split()  # noqa: E501, SIM905
)
"""Elements within a sentence."""
_UNREAD = ("script", "style", "template")
# Elements whose titles speak of something else, or are read elsewhere.
_LINKS = ("a", "img", "iframe", "link", "meta", "abbr")
# Most characters of a label in an attribute, and of an element that is one part of a date.
_LONGEST_LABEL, _PART = 100, 12
_Number = tuple[str, int, int]  # digits, where they begin and where they end
# Where a date in a line begins and ends, the day, and whether only the month is written.
_Day = tuple[int, int, str, bool]


def end_of(text: str) -> datetime | None:
    """The latest moment that a date allows: of a day its end (UTC); None for anything but a date."""
    try:
        if len(text) == 10:
            return datetime.combine(date.fromisoformat(text), time(), UTC) + timedelta(days=1)
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        return None
    return moment.astimezone(UTC) if moment.tzinfo else None


def youngest(claims: Iterable[str]) -> str:
    """The latest of several dates, empty without one. A moment takes precedence over its own day."""
    known = {claim: end for claim in claims if (end := end_of(claim)) is not None}
    timed = {claim[:10] for claim in known if len(claim) > 10}
    left = [claim for claim in known if len(claim) > 10 or claim not in timed]
    return max(left, key=lambda claim: (known[claim], claim), default="")


def url_date(url: str) -> str:
    """The latest day that an address names, such as `/2023/04/01/`, `/20230401/` or `/1-april-2023`; empty if none."""
    path = unquote(url).split("://")[-1].partition("/")[2]
    numbered = (
        _ordered(int(found[8]), int(found[5]), int(found[7])) if found[8] else _day(*map(int, found.group(1, 3, 4)))
        for found in _URL_DAY.finditer(path)
        if found[8] or found[2] or len(found[0]) == 8
    )
    named = _named(re.sub(r"[\W_]+", " ", path), _month_names())
    run = (_ordered(int(found[3]), int(found[1]), int(found[2])) for found in _URL_RUN.finditer(path))
    return youngest([*map(_plausible, (*numbered, *run)), *(day for *_, day, is_month in named if not is_month)])


def page_date(tree: HtmlElement, *, is_tame: bool = True) -> tuple[str, bool]:
    """The latest date that a page names, empty where it names none; htmldate searches it if `is_tame`.

    And whether any date says when the page was written or changed; those in prose about something else do not.
    """
    marked = [read_date(text) for text in dict.fromkeys(text.strip() for text in _marked(tree))]
    marked += _searched(tree) if is_tame else ()
    lines = [*_lines(tree)]
    shown, is_dated = text_date([*lines, *_together(lines)])
    return youngest([*marked, shown]), is_dated or any(marked)


def _together(lines: Iterable[str]) -> Iterator[str]:
    """Short lines beside one another as one, since day, month and year may be in elements of their own."""
    texts = [line.strip() for line in lines if line.strip()]
    for at in range(len(texts) - 1):
        for parts in (texts[at : at + 2], texts[at : at + 3]):
            if all(len(part) <= _PART for part in parts) and any(map(str.isdecimal, parts)):
                yield ("/" if all(map(str.isdecimal, parts)) else " ").join(parts)


def text_date(lines: Iterable[str]) -> tuple[str, bool]:
    """As `page_date`, of whole lines of text."""
    latest, is_dated = "", False
    for written in lines:
        line = _plain(written)
        found = list(_days(line))
        whole = {day[:7] for *_, day, is_month in found if not is_month}
        for start, end, day, is_month in found:
            if day <= latest and is_dated:
                continue
            before, prose = _prose(line, start, end)
            is_own = not prose or _stems("own").search(before + prose) is not None
            # A bare month is of a list of archives, and says nothing beside a day of it.
            says = not is_month or (is_own and day[:7] not in whole and _WORD.search(f"{line[:start]} {line[end:]}"))
            if says and (is_own or not _stems("cites").search(prose)):
                latest, is_dated = max(latest, day), is_dated or is_own
    return latest, is_dated


def read_date(text: str) -> str:
    """A date in any form: a moment where its time zone is known, else a day; empty for anything else."""
    text = " ".join(text.split())[:100]
    if re.fullmatch(r"\d{9,10}|\d{12,13}(?:\.\d+)?", text):
        return _plausible(datetime.fromtimestamp(int(text[:13]) / (1000 if len(text) > 10 else 1), UTC))
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            moment = read(text)
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
        return _plausible(moment if moment.tzinfo is not None else moment.date())
    run = _URL_RUN.fullmatch(text)
    if run and (named := _ordered(int(run[3]), int(run[1]), int(run[2]))):
        return _plausible(named)
    return youngest(day for *_, day, _ in _days(_plain(text)))


def _plain(text: str) -> str:
    """A text on one line in compatibility forms, years of eras as years."""
    line = _UNSEEN.sub("", " ".join(unicodedata.normalize("NFKC", text).split()))
    return _ERA_YEAR.sub(lambda era: f"{_ERAS[era[1]] + (1 if era[2] == '元' else int(era[2]))}年", line)


def _days(line: str) -> Iterator[_Day]:
    """The dates in a line as `_written` finds them, else with months of rare languages, else with an unknown one."""
    found = [*_written(line)]
    if found or not _YEAR.search(line):
        yield from found
    elif rare := [day for day in _named(line, _cldr_months()) if not day[3]]:
        yield from rare
    elif len(line) < _LONGEST_LABEL:
        yield from _guessed(line)


def _written(line: str) -> Iterator[_Day]:
    """Each plausible day in a line, in numbers or with a month's name: its begin, its end, and the day.

    A month without a day is its last day, or today; whether it is one stands last.
    """
    for found in _NUMBERS.finditer(line):
        year, month, day, first, mark, second, last = found.groups()
        if year:
            named = _day(_gregorian(int(year)), int(month), int(day))
        else:
            year = _gregorian(int(last if len(last) == 4 else f"20{last}"))
            usual = _day(year, int(second), int(first))
            named = usual if usual and mark == "." else _ordered(year, int(first), int(second))
        if known := _plausible(named):
            yield found.start(), found.end(), known, False
    for found in _MONTH.finditer(line):
        year, of_year, also, month, behind = found.groups()
        if known := _month_end(_gregorian(int(year or behind)), int(of_year or also or month)):
            yield found.start(), found.end(), known, True
    yield from _named(line, _month_names())


def _named(line: str, months: Mapping[str, tuple[int, ...]]) -> Iterator[_Day]:
    """As `_days`, for days whose month has a name: a day of the month and a year stand at most three words from it."""
    tokens = [(found.start(), found.end(), found[0].lower()) for found in _TOKEN.finditer(line)] if line else []
    # a single digit beside a month's name may count anything
    has_number = any(len(word) > 1 and word.isdecimal() for *_, word in tokens)
    numbers = [at for at, (*_, word) in enumerate(tokens) if word.isdecimal()]
    close = sorted({near for at in numbers for near in range(max(0, at - 4), min(len(tokens), at + 5))})
    for at in close if has_number else ():
        start, end, word = tokens[at]
        pair = f"{word} {tokens[at + 1][2].lstrip('0')}" if at + 1 < len(tokens) else ""
        if not (known := months.get(pair) or months.get(word) or _declined(word, months)):
            continue
        after = at + 1 + (pair in months)
        before = list(_near(line, tokens[max(0, at - 4) : at + 1][::-1]))
        behind = list(_near(line, tokens[after - 1 : after + 4]))
        read = (_in_year(year, month, day) for year, day in _years_and_days(line, before, behind) for month in known)
        places = [start, end, *(place for _, *span in (*before, *behind) for place in span)]
        if best := max(map(_plausible, read), default=""):
            yield min(places), max(places), best, False
        elif word not in _ROMAN and (
            years := [int(found[0]) for found in (*behind[:1], *before[:1]) if len(found[0]) == 4]
        ):
            days = (_in_year(years[0], month, 28) for month in known)  # every month has a 28th, in each calendar
            if best := max((_month_end(day.year, day.month) for day in days if day), default=""):
                yield min(places), max(places), best, True


def _declined(word: str, months: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The months that a word may name without its marks, or with an ending of up to three letters."""
    folded = _folded(word)
    cut = (folded[: len(folded) - n] for n in range(1, 4))
    return months.get(folded) or next((months[name] for name in cut if len(name) >= _LEAST_STEM and name in months), ())


def _guessed(line: str) -> Iterator[_Day]:
    """A day and a year beside one word that is not known, in the month that makes the day the latest."""
    for found in (match for form in _UNKNOWN for match in form.finditer(line)):
        year, day = _gregorian(int(found["year"])), int(found["day"])
        if best := max(_plausible(_day(year, month, day)) for month in range(1, 13)):
            yield found.start(), found.end(), best, False


def _years_and_days(line: str, before: list[_Number], behind: list[_Number]) -> Iterator[tuple[int, int]]:
    """What the numbers before a month, the nearest first, and those behind it say: 9 March 2026, March 9, 2026 ..."""
    lengths = [len(digits) for digits, _, _ in behind]
    if 4 in lengths:
        year = lengths.index(4)
        for digits, _, _ in behind[:year] or before[:1]:
            yield int(behind[year][0]), int(digits)
    elif before and len(before[0][0]) < 3 and behind and line[behind[0][1] - 1] in "'\u2019-":  # 9-Mar-26
        yield 2000 + int(behind[0][0]), int(before[0][0])
    elif lengths[:2] in ([1, 2], [2, 2]) and line[behind[1][1] - 1] in "'\u2019":  # Mar 9 '26
        yield 2000 + int(behind[1][0]), int(behind[0][0])
    else:
        years = [int(digits) for digits, _, _ in before if len(digits) == 4]
        for digits, _, _ in (*behind[:1], *before[:1]):
            yield from ((year, int(digits)) for year in years[:1])


def _near(line: str, tokens: list[tuple[int, int, str]]) -> Iterator[_Number]:
    """The numbers beside the first of some words, if only spaces and punctuation stand between them."""
    for one, other in pairwise(tokens):
        between = line[min(one[1], other[1]) : max(one[0], other[0])]
        if _BETWEEN.fullmatch(between) is None:
            return
        if other[2].isdecimal():
            yield other[2], other[0], other[1]
        elif len(other[2]) > 7:
            return


@cache
def _month_names() -> Mapping[str, tuple[int, ...]]:
    """The months that a word may name: 1 to 12, and 13 to 24 of the Iranian calendar."""
    from dateparser.languages.loader import LocaleDataLoader

    known: dict[str, tuple[int, ...]] = {name: (number,) for number, name in enumerate(_PERSIAN, start=13)}
    for locales in ({"languages": _LANGUAGES}, {"locales": ["ar-LB"]}):
        for locale in LocaleDataLoader().get_locales(**locales):
            for number, month in enumerate(_MONTHS, start=1):
                for name in map(str.lower, locale.info.get(month, ())):
                    if len(name) > 2 or not name.isascii() or name in _ROMAN:
                        known[name] = tuple({*known.get(name, ()), number})
    folded: dict[str, tuple[int, ...]] = {}
    for name, numbers in known.items():
        folded[_folded(name)] = tuple({*folded.get(_folded(name), ()), *numbers})
    return folded | known


@cache
def _cldr_months() -> Mapping[str, tuple[int, ...]]:
    """The months that a folded word may name in any language and form that Unicode's CLDR has."""
    from babel.dates import get_month_names
    from babel.localedata import locale_identifiers

    known: dict[str, tuple[int, ...]] = {}
    widths: list[Literal["wide", "abbreviated"]] = ["wide", "abbreviated"]
    # Other scripts of a language count, and Arabic by country; most territories have the names of their language.
    locales = [name for name in locale_identifiers() if not re.search(r"_[A-Z]{2}|_\d", name) or name.startswith("ar_")]
    for locale, width in product(locales, widths):
        for number, name in get_month_names(width, locale=locale).items():
            for word in _TOKEN.findall(_plain(name).lower()):
                known[_folded(word)] = tuple({*known.get(_folded(word), ()), number})
    return {word: numbers for word, numbers in known.items() if len(numbers) < 3 and len(word) > 1}


@lru_cache(maxsize=10_000)
def _folded(word: str) -> str:
    """A word without accents, nukta, hamza and vowel signs, which writers leave out or put otherwise."""
    apart = unicodedata.normalize("NFKD", word).translate(_ALIKE)
    return "".join(letter for letter in apart if not unicodedata.category(letter).startswith("M"))


def _in_year(year: int, month: int, day: int) -> date | None:
    if month <= 12:
        return _day(_gregorian(year), month, day)
    # The Iranian year begins on the 20th or 21st of March; the later counts.
    begin = _day(year + 621, 3, 21)
    days = (month - 13) * 31 - max(0, month - 19) + day - 1
    return begin + timedelta(days=days) if begin and day <= 31 else None


def _gregorian(year: int) -> int:
    """A year of the Buddhist calendar as one of ours."""
    return year - 543 if 2443 <= year < 2643 else year


def _ordered(year: int, one: int, other: int) -> date | None:
    """The later day of a year where day and month may be either way round."""
    days = [day for pair in ((one, other), (other, one)) if (day := _day(year, *pair)) and _plausible(day)]
    return max(days, default=None)


def _month_end(year: int, month: int) -> str:
    start = _plausible(_day(year, month, 1))
    if not start:
        return ""
    next_month = (date.fromisoformat(start) + timedelta(days=31)).replace(day=1)
    return min(next_month - timedelta(days=1), datetime.now(UTC).date()).isoformat()


def _prose(line: str, start: int, end: int) -> tuple[str, str]:
    """The sentence of prose that a date stands in, after a little before it; empty where the date is in a label."""
    if re.match(r"[\])]?\s?:", line[end:]):  # "9 March 2025: the name was wrong."
        return "", ""
    near = line[max(0, start - _FAR) : end + _FAR]
    at = min(start, _FAR)
    begin, close = next(((begin, close) for begin, close in sentences(near) if begin <= at < close), (0, len(near)))
    sentence = near[begin:close]
    before, behind = word_count(near[begin:at]), word_count(near[at + end - start : close])
    goes_on = before > 2 and behind > 1  # a label ends with its date
    if (sentence[-1:].isalnum() and not goes_on) or before + behind < _LEAST_PROSE:
        return "", ""
    return near[max(0, begin - 60) : begin], sentence


@cache
def _stems(kind: str) -> re.Pattern[str]:
    languages = tomllib.loads(files(__package__).joinpath("prose.toml").read_text(encoding="utf-8"))[kind]
    stems = {stem for stems in languages.values() for stem in stems}
    # Scripts of Europe begin a stem where a word begins; others write words together, or something before them.
    parts = (
        ("\\b" if stem[0] < "\u0530" else "") + re.escape(stem.removesuffix("$")) + ("\\b" if stem[-1] == "$" else "")
        for stem in sorted(stems)
    )
    return re.compile("|".join(parts), re.IGNORECASE)


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _plausible(when: date | datetime | None) -> str:
    """A date as text; empty for none, for the future (but for a day, for time zones) and for absurdly early ones."""
    try:
        moment = when.astimezone(UTC) if isinstance(when, datetime) else None
    except OverflowError:
        return ""
    day = moment.date() if moment else when
    if day is None or not _FIRST <= day <= datetime.now(UTC).date() + timedelta(days=1):
        return ""
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z") if moment else day.isoformat()


def _marked(tree: HtmlElement) -> Iterator[str]:
    """The dates in elements that are marked as dates, and in the JSON of scripts."""
    for element in tree.iter():
        if not isinstance(element.tag, str):
            continue
        values = element.attrib
        if element.tag == "script":
            is_linked = "ld+json" in values.get("type", "")
            found = _JSON.finditer(element.text or "")
            yield from (match[3] for match in found if _is_dating(match[2], in_any_name=is_linked))
            continue
        named = " ".join(values.get(key, "") for key in ("property", "name", "itemprop", "http-equiv"))
        for key, value in values.items():
            if key in ("datetime", "pubdate") or (key.startswith("data-") and _is_dating(key)):
                yield value
            elif value[:1] in ("{", "["):
                yield from (match[3] for match in _JSON.finditer(value) if _is_dating(match[2]))
            elif key in ("title", "aria-label") and element.tag not in _LINKS and len(value) < _LONGEST_LABEL:
                yield value
        if _is_dating(named) or (element.tag == "abbr" and not named.strip()):
            yield from (values.get("content", ""), values.get("title", ""))
        is_marked = _is_dating(f"{named} {values.get('class', '')} {values.get('id', '')}")
        if element.tag == "time" or (element.tag != "meta" and is_marked and len(element) < 10):
            shown = "".join(map(str, element.itertext()))
            yield shown if len(shown) < 100 else ""


def _is_dating(name: str, *, in_any_name: bool = False) -> bool:
    return (in_any_name or bool(_DATING.search(name))) and not _NOT_DATING.search(name)


def _lines(tree: HtmlElement) -> Iterator[str]:
    """The texts of a page's blocks."""
    from lxml import etree

    line: list[str] = []
    for event, element in etree.iterwalk(tree, events=("start", "end")):
        if element.tag not in INLINE:
            yield "".join(line)
            line = []
        text = element.tail if event == "end" else "" if element.tag in _UNREAD else element.text
        line.append(text or "")
    yield "".join(line)


def _searched(tree: HtmlElement) -> Iterator[str]:
    """The days of publication and of change that htmldate finds in the markup; it guesses nothing from the text."""
    from htmldate import find_date

    for original in (True, False):
        try:
            found = find_date(tree, extensive_search=False, original_date=original)
        except Exception:  # it reads whatever a page holds; one that breaks it has no such date
            found = None
        if found:
            yield found
