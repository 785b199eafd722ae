"""Detection of texts in languages other than requested, by script and function words.

Integer arithmetic makes results equal on every machine. Words such as `the` or `que` show a language whatever the
subject; a word shared by two languages does not distinguish them. Names, numbers, emojis and addresses have no
language: a text is foreign only if there is evidence.

On 6,740 posts and notes of 2022 to 2024, of which four language detectors (py3langid, fastText, lingua, langdetect)
agree that 5,034 are English and 1,458 are not, this calls one of the former foreign (it is Spanish, with an English
line of the page that it was copied from) and 1,432 of the latter; in 45,000 other texts of English collections it finds
the 21 that are not English, and nothing else. py3langid, the best of the four by size and speed, takes short English
texts such as "Opinion. NNN." for Esperanto, and its scores are floating-point sums.

Also detects that a text was copied from a web page, or that it mentions a photo or video that is missing.
This counts only for posts of a source that does not report media: elsewhere such words are the author's own, and posts
with media are known. A note that the page showed below the post ("Readers added context") would reveal the label.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping, Set
from functools import lru_cache
from pathlib import Path

_WORDS = {
    language: frozenset(words.split())
    for language, words in tomllib.loads(Path(__file__).with_name("small_words.toml").read_text("utf-8")).items()
}

# First words of the Unicode names of a language's letters.
_SCRIPTS: Mapping[str, Set[str]] = {
    **{language: {"LATIN"} for language in _WORDS},
    **{language: {"CYRILLIC"} for language in ("ru", "uk", "bg", "sr")},
    **{language: {"ARABIC"} for language in ("ar", "fa", "ur")},
    "ja": {"HIRAGANA", "KATAKANA", "CJK"},
    "zh": {"CJK"},
    "ko": {"HANGUL", "CJK"},
    "he": {"HEBREW"},
    "el": {"GREEK"},
    "hi": {"DEVANAGARI"},
    "th": {"THAI"},
}

KNOWN = frozenset(_SCRIPTS)
"""Recognised languages; if another one is requested, no text is foreign."""

_LANGUAGES = {
    word: [language for language, small in _WORDS.items() if word in small]
    for word in frozenset().union(*_WORDS.values())
}
_NONE: frozenset[str] = frozenset()
_WITHOUT_ACCENTS = frozenset({"en"})
_DENSE = frozenset({"CJK", "HIRAGANA", "KATAKANA", "HANGUL"})
_FEWEST_LETTERS = 3  # of another script: fewer may be a face such as ¯\_(ツ)_/¯
_FEWEST_WORDS = 2
_NOT_PROSE = re.compile(r"https?://\S*|[@#]\w+|\b[\w-]+\.\w{2,}/\S*|\b\w+\.(?:com|org|net|gov)\b", re.IGNORECASE)
_WORD = re.compile(r"\b[^\W\d_]+\b")
_ACCENT = re.compile("[\u00df-\u00f6\u00f8-\u024f]")
_DAY = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[ ]\d{1,2}(?:,[ ]20\d\d)?"
_PICTURE = r"(?:photo|picture|pic|image|video|clip|screenshot|screengrab)s?"
_SENTENCE_END = r"""(?:^|[.!?…"'\u201d\u2019)\]]|https?://\S+|[@#]\w+)"""

_PAGE = re.compile(
    rf"""
    \bTranslate\ (?:post|Tweet)\b
    | (?:…|\.\.\.)\s*Show\ (?:more|this\ thread)\b
    | ^Show\ (?:more|this\ thread)$
    | \bWatch\ on\ (?:X|Twitter)\b
    | ^Follow$
    | @\w{{1,15}}\s*·\s*(?:{_DAY}|\d{{1,2}}[smh]\b|Follow\b)
    | \b\d{{1,2}}:\d\d\ [AP]M\s*·\s*{_DAY}
    | \bLast\ edited\s*$
    | \bReaders\ added\ context\b
    | \bThis\ (?:post|Tweet)\ is\ unavailable\.
    | \bUnable\ to\ locate\ element\b
    """,
    re.VERBOSE | re.MULTILINE,
)
_PLAYER = re.compile(
    rf"""
    \bThe\ following\ media\ includes\ potentially\ sensitive\ content\b
    | (?:^|\s)ALT(?:\s+ALT|\s*\Z)
    | {_SENTENCE_END}\s+ALT\s+[^\sa-z]
    | (?:^|\s)GIF\s*\Z
    | (?:^|\s)0:[0-5]\d(?=\s|\Z)
    | {_SENTENCE_END}\s+\d{{1,2}}:[0-5]\d\s*(?:\Z|From\b)
    """,
    re.VERBOSE,
)
_POINTS_TO_MEDIA = re.compile(
    rf"""
    \bth(?:is|ese)\ (?:\w+\ )?(?:{_PICTURE}|footage)\b
    | \b{_PICTURE}\ (?:below|attached|above)\b
    | \b(?:pictured|shown|seen)\ (?:here|below|above)\b
    | \b(?:attached|following)\ {_PICTURE}\b
    """,
    re.VERBOSE | re.IGNORECASE,
)


def is_foreign(text: str, languages: Collection[str]) -> bool:
    """Whether the text is clearly in none of the languages (ISO 639-1); texts with little evidence are not foreign."""
    if not KNOWN.issuperset(languages):
        return False
    plain = unicodedata.normalize("NFKC", _NOT_PROSE.sub(" ", text))
    return _in_other_script(plain, languages) or _has_other_words(plain, languages)


def _in_other_script(text: str, languages: Collection[str]) -> bool:
    wanted = frozenset().union(*(_SCRIPTS[language] for language in languages))
    if "LATIN" in wanted and len(text.encode(errors="replace")) - len(text) <= _FEWEST_LETTERS:
        return False  # almost all ASCII, as in most texts
    own = other = 0
    for character, count in Counter(text).items():
        script = _script(character)
        weight = count * (2 if script in _DENSE else 1)
        if script in wanted:
            own += weight
        elif script:
            other += weight
    return other > max(own, _FEWEST_LETTERS)


@lru_cache(maxsize=4096)
def _script(character: str) -> str:
    """First word of a letter's Unicode name; empty for other characters."""
    if unicodedata.category(character) not in {"Lu", "Ll", "Lo"}:
        return ""
    return unicodedata.name(character, "").partition(" ")[0]


def _has_other_words(text: str, languages: Collection[str]) -> bool:
    """Whether another language has at least two words of the text, and twice as many as the requested ones."""
    words = frozenset(_WORD.findall(text.casefold()))
    wanted = _NONE.union(*(_WORDS.get(language, _NONE) for language in languages))
    own = words & wanted
    # Names have accents too: they count only without a function word of the requested languages.
    known = own or text.isascii() or not _WITHOUT_ACCENTS.issuperset(languages)
    accented = _NONE if known else frozenset(filter(_ACCENT.search, words))
    found = Counter(language for word in words - wanted for language in _LANGUAGES.get(word, ()))
    for language in _WORDS if accented else found:
        theirs = found[language] + len(accented - _WORDS[language])
        if theirs >= _FEWEST_WORDS and theirs > 2 * len(own - _WORDS[language]) and language not in languages:
            return True
    return False


def has_page_leftovers(text: str) -> bool:
    """Whether the text contains parts of the page around it, or of another post quoted there."""
    return _PAGE.search(text) is not None


def speaks_of_media(text: str) -> bool:
    """Whether the text contains signs of a player or an image (`0:17`, `ALT`), or points to one ("these photos")."""
    return _PLAYER.search(text) is not None or _POINTS_TO_MEDIA.search(text) is not None
