"""Dates of pages: a page is taken to be as young as the latest date of publication or change that it names.

Markup is read whole (meta elements, marked times, attributes, JSON in scripts, addresses), and so are dates in the text
beside a word such as "updated", in thirty languages, by dateparser; htmldate adds the forms that it knows. Where the
order of day and month is open, the later reading counts. A date in the future or before 1970 is an error of the page,
and is not taken. A moment is written `2023-04-01T10:00:00Z`, a day without a time zone `2023-04-01`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from email.utils import parsedate_to_datetime
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dateparser.date import DateDataParser
    from lxml.html import HtmlElement

_FIRST = date(1970, 1, 2)
"""A day earlier is the zero of computers' clocks, which stands where no date was filled in."""
_LANGUAGES = "en de fr es pt it nl pl ru uk tr ar fa hi id vi ja ko zh sv da nb fi cs el ro hu he th bn".split()  # noqa: SIM905
_MONTHS = "january february march april may june july august september october november december".split()  # noqa: SIM905
_NUMBERS = re.compile(
    r"(?<![\d.,/-])(?:(\d{4})\s?[-/.年년]\s?(\d\d?)\s?[-/.月월]\s?(\d\d?)(?:\s?[日일])?|(\d\d?)([-/.])\s?(\d\d?)\5\s?(\d{4}|\d\d))(?!\d)"
)
_WORD = r"[^\s\d.,/()<>:;|\"'=&-]{2,20}"
_WORDS = re.compile(
    rf"""
    (?<![\d.,/-])(?:
      \d\d?(?:st|nd|rd|th|er|[.ºª])?,?[ ](?:(?:of|de|del|da)[ ])?{_WORD}\.?,?[ ](?:(?:de|del)[ ])?\d{{4}}
    | \d\d?[ ]tháng[ ]\d\d?,?[ ]năm[ ]\d{{4}}
    | \d\d?-{_WORD}-\d{{4}}
    | \d{{4}}\.?[ ]{_WORD}\.?[ ]\d\d?\.?
    | {_WORD}\.?[ ]\d\d?(?:st|nd|rd|th)?,?[ ]\d{{4}} )(?!\d)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_MONTH = re.compile(r"(\d{4})[-/](\d\d?)")
_URL_DATE = re.compile(
    r"[/=_-]((?:19|20)\d\d)([/_-])(0?[1-9]|1[0-2]|[a-z]{3,9})\2(0?[1-9]|[12]\d|3[01])(?!\d)", re.IGNORECASE
)

_NAMES = r"dat(?:e|um)|publi|modif|updat|revis|edited|issued|creat|posted|upload|lastmod|utime|timestamp"
_DATING = re.compile(rf"(?i){_NAMES}")
_NOT_DATING = re.compile(r"(?i)expir|valid|event|birth|death|found|start|end[-_]?date|until")
_JSON = re.compile(
    rf"""(?i)(["'])([a-z_:-]{{0,30}}(?:{_NAMES})[a-z_:-]{{0,20}})\\{{0,4}}\1\s{{0,9}}:\s{{0,9}}\\{{0,4}}["']?"""
    r"""([^"'\\<>\[\]{}]{4,60})"""
)
_CUES = r"""
    updat modified changed edited review revis correct publish posted release as_of aktualisier geändert veröffentlicht
    stand\b erschienen mis_à_jour modifié publié paru\b actualizad modificad publicad atualizad aggiornat pubblicat
    modificat bijgewerkt gewijzigd gepubliceerd aktualizacj aktualizow opublikowan обновл измен опублик оновл опублік
    güncelle yayın yayım تحديث نشر محدث روزرسانی منتشر अपडेट प्रकाशित diperbarui diterbitkan cập_nhật đăng 更新 修改
    修订 發布 发布 編集 编辑 公開 掲載 수정 업데이트 입력 게시 uppdater publicer opdater oppdater publiser
    päivitet julkaist aktualizov zveřejn ενημέρωσ ενημερώ δημοσι actualizat publicat frissít közzététel megjelent
    עודכן פורסם อัปเดต เผยแพร่ হালনাগাদ প্রকাশ
    """.split()  # noqa: SIM905, RUF001 - stems of words by which pages name their dates
_CUE = "|".join(_CUES).replace("_", " ")
_BEFORE = re.compile(rf"(?i)(?:{_CUE})[^\d.!?\n]{{0,40}}(?:\d\d?:\d\d[^\d.!?\n]{{0,20}})?$")
_AFTER = re.compile(rf"(?i)[^\w\n]{{0,4}}(?:\d\d?:\d\d(?::\d\d)?[^\w\n]{{0,3}})?(?:{_CUE})")


def end_of(text: str) -> datetime | None:
    """The moment by which all that is dated so was there: of a day its end (UTC); None for what is not a date."""
    try:
        if len(text) == 10:
            return datetime.combine(date.fromisoformat(text), time(), UTC) + timedelta(days=1)
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        return None
    return moment.astimezone(UTC) if moment.tzinfo else None


def youngest(claims: Iterable[str]) -> str:
    """The latest of several dates, empty without one. A day says nothing beside a moment of the same day."""
    known = {claim: end for claim in claims if (end := end_of(claim)) is not None}
    timed = {claim[:10] for claim in known if len(claim) > 10}
    left = [claim for claim in known if len(claim) > 10 or claim not in timed]
    return max(left, key=lambda claim: (known[claim], claim), default="")


def url_date(url: str) -> str:
    """The day that an address names, such as `/2023/04/01/` or `/2023/apr/01/`; empty if none."""
    found = _URL_DATE.search(url)
    if found is None:
        return ""
    named = found[3].lower()
    month = (
        int(named) if named.isdigit() else next((n for n, name in enumerate(_MONTHS, 1) if name.startswith(named)), 0)
    )
    return _plausible(_day(int(found[1]), month, int(found[4])))


def page_date(tree: HtmlElement, *, is_tame: bool = True) -> str:
    """The latest date that a page names, empty where it names none; htmldate searches only a tame tree."""
    marked = dict.fromkeys(text.strip() for text in _marked(tree))
    return youngest([*map(read_date, marked), text_date(_visible(tree)), *(_searched(tree) if is_tame else ())])


def text_date(text: str) -> str:
    """The latest date in a text that stands beside a word such as "updated" or "published"; empty if none does."""
    text = " ".join(text.split())
    dates = [match for pattern in (_NUMBERS, _WORDS) for match in pattern.finditer(text)]
    claims = {
        match[0]: None
        for match in dates
        if _BEFORE.search(text, max(0, match.start() - 80), match.start()) or _AFTER.match(text, match.end())
    }
    return youngest(map(read_date, claims))


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
    if found := _NUMBERS.search(text):
        return _numbered(found)
    if found := _MONTH.fullmatch(text):  # as young as its last day, or as today
        start = _plausible(_day(int(found[1]), int(found[2]), 1))
        next_month = (date.fromisoformat(start) + timedelta(days=31)).replace(day=1) if start else date.min
        return min(next_month - timedelta(days=1), datetime.now(UTC).date()).isoformat() if start else ""
    found = _WORDS.search(text)
    named = None if found is None else _named_dates().get_date_data(found[0]).date_obj
    return _plausible(None if named is None else named.date())


def _numbered(found: re.Match[str]) -> str:
    """The day that three numbers name, the later one where day and month may be either way round."""
    year, month, day, first, mark, second, last = found.groups()
    if year:
        return _plausible(_day(int(year), int(month), int(day)))
    year = last if len(last) == 4 else f"20{last}"
    usual, other = (
        _plausible(_day(int(year), *pair)) for pair in ((int(second), int(first)), (int(first), int(second)))
    )
    return usual if usual and mark == "." else max(usual, other)


@cache
def _named_dates() -> DateDataParser:
    from dateparser.date import DateDataParser

    return DateDataParser(languages=_LANGUAGES, settings={"PARSERS": ["absolute-time"], "STRICT_PARSING": True})


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _plausible(when: date | datetime | None) -> str:
    """As text; empty for nothing, for the future (a day more, for time zones) and for what is absurdly early."""
    try:
        moment = when.astimezone(UTC) if isinstance(when, datetime) else None
    except OverflowError:
        return ""
    day = moment.date() if moment else when
    if day is None or not _FIRST <= day <= datetime.now(UTC).date() + timedelta(days=1):
        return ""
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z") if moment else day.isoformat()


def _marked(tree: HtmlElement) -> Iterator[str]:
    """What elements say that are marked as a date, and what JSON in scripts says."""
    for element in tree.iter():
        if not isinstance(element.tag, str):
            continue
        values = element.attrib
        if element.tag == "script":
            yield from (match[3] for match in _JSON.finditer(element.text or "") if _is_dating(match[2]))
            continue
        named = " ".join(values.get(key, "") for key in ("property", "name", "itemprop", "http-equiv"))
        for key, value in values.items():
            if key in ("datetime", "pubdate") or (key.startswith("data-") and _is_dating(key)):
                yield value
        if _is_dating(named) or (element.tag == "abbr" and not named.strip()):
            yield from (values.get("content", ""), values.get("title", ""))
        is_marked = _is_dating(f"{named} {values.get('class', '')} {values.get('id', '')}")
        if element.tag == "time" or (element.tag != "meta" and is_marked and len(element) < 10):
            shown = "".join(map(str, element.itertext()))
            yield shown if len(shown) < 100 else ""


def _is_dating(name: str) -> bool:
    return bool(_DATING.search(name)) and not _NOT_DATING.search(name)


def _visible(tree: HtmlElement) -> str:
    """The text of a page, white space single."""
    texts = tree.xpath("//text()[not(parent::script or parent::style or parent::template)]")
    return " ".join(" ".join(map(str, texts)).split()) if isinstance(texts, list) else ""


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
