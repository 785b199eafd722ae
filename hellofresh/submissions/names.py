"""Names of teams and systems: what they may hold, and when two of them look alike.

Two names look alike when their skeletons are equal. A skeleton has compatibility forms and case folded; marks, spaces,
punctuation and invisible characters dropped; and every character replaced by its prototype in Unicode's table of
confusables. The table lists single characters: it takes `rn` for `m`, but neither `cl` for `d` nor `vv` for `w`, and it
does not cover names with the same meaning.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache

MAX_NAME = 80  # longer names are cut on every page, where two of them might look the same
FOLDER_NAME = re.compile(r"(?!(?:con|prn|aux|nul|com\d|lpt\d)$)[a-z0-9][a-z0-9-]{0,39}", re.ASCII)
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_MARKUP = re.compile(r"[<>|`$\\{}]|\]\(|://")  # markup of HTML, Markdown, LaTeX, tables or a shell
_MANY_MARKS = 4  # real scripts stack up to four; more overflow the line
# Unicode's Default_Ignorable_Code_Point with unassigned ranges, which Python's unicodedata lacks.
_IGNORABLE = (
    (0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
# Other characters that fonts draw as empty space, such as Braille without dots, fillers, a note without a head.
_BLANK = (0x2800, 0xFFFC, 0x13441, 0x13442, 0x16FE4, 0x1D159)
_SHOWS_NOTHING = frozenset(chr(code) for first, last in _IGNORABLE for code in range(first, last + 1)) | {
    chr(code) for code in _BLANK
}
# Makers and families of models; readers would take an entry under such a name for the maker's own.
_VENDORS = (
    "ai21", "alibaba", "amazon", "anthropic", "apple", "baidu", "bytedance", "chatgpt", "claude", "cohere", "deepmind",
    "deepseek", "gemini", "gemma", "google", "gpt", "grok", "huggingface", "hugging face", "ibm", "kimi", "llama",
    "meta", "microsoft", "mistral", "moonshot", "nvidia", "openai", "perplexity", "phi", "qwen", "tencent", "xai",
    "zhipu",
)  # fmt: skip
# Signs of trademarks, which a compatibility form would turn into letters.
_SIGNS = dict.fromkeys(map(ord, "\N{TRADE MARK SIGN}\N{SERVICE MARK}\N{REGISTERED SIGN}\N{COPYRIGHT SIGN}"))


def plain_text_fault(text: str, allowed: str = "") -> str:
    """The fault of a text that is shown to people, or '' if it has none."""
    if unicodedata.normalize("NFC", text) != text:
        return "must be in Unicode form NFC"
    if any(unicodedata.category(char) in _INVISIBLE and char not in allowed for char in text):
        return "must not have control, bidi or zero-width characters"
    return ""


def faults_of_name(text: str) -> str:
    """The fault of a team's or system's name, or '' if it has none."""
    hidden = next((char for char in text if char in _SHOWS_NOTHING), "")
    if hidden:
        return f"must not have U+{ord(hidden):04X}, which shows nothing: names that differ by it look the same"
    if not any(unicodedata.category(char)[0] in "LN" for char in text):
        return "must have a letter or digit"
    if text.startswith(("=", "+", "-", "@")):
        return "must not begin with =, +, - or @, which spreadsheets take for a formula"
    found = _MARKUP.search(text)
    if found:
        return f"must not have {found[0]!r}, which pages, tables or shells take for theirs"
    run = 0
    for char in text:
        run = run + 1 if unicodedata.category(char) == "Mn" else 0
        if run > _MANY_MARKS:
            return f"must not have more than {_MANY_MARKS} marks on a letter"
    return ""


def slug(name: str) -> str:
    """A folder name made from a name, or '' if it has letters that folder names cannot have."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if unicodedata.category(c) != "Mn").casefold()
    if any(unicodedata.category(char)[0] in "LN" and not char.isascii() for char in plain):
        return ""
    found = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:40].rstrip("-")
    return found if FOLDER_NAME.fullmatch(found) else ""


def vendor_in(name: str) -> str:
    """The model maker whose name, in any look-alike letters, is among the words of a name, or ''."""
    plain = _visible(unicodedata.normalize("NFKC", name.translate(_SIGNS)))
    words = {skeleton(word) for end in ("", r"\d") for word in re.split(rf"[\W_{end}]+", plain)}
    words.add(skeleton(name))
    return next((maker for maker in _VENDORS if any(_reads_as(word, skeleton(maker)) for word in words)), "")


def _reads_as(word: str, maker: str) -> bool:
    """Whether two skeletons are equal, where a letter without a Latin look-alike may be any letter.

    At most half of the letters may be such, and only in a maker's name of four letters or more.
    """
    odd = sum(not char.isascii() for char in word)
    alike = len(word) == len(maker) and all(a == b or not a.isascii() for a, b in zip(word, maker, strict=True))
    return alike and (not odd or (len(maker) >= 4 and 2 * odd <= len(maker)))


@lru_cache(10_000)  # a submission is compared with all names there are; bounded, since strangers write them
def skeleton(name: str) -> str:
    """The skeleton of a name, equal for names that look alike."""
    table = _prototypes()
    text = _visible(unicodedata.normalize("NFKD", name))
    # Twice, since the prototype of a capital letter may be a small one, and the reverse.
    for _ in range(2):
        text = "".join(table.get(char, char) for char in text).casefold()
    text = _visible(unicodedata.normalize("NFKD", text))
    kept = "".join(char for char in text if unicodedata.category(char)[0] in "LN" or unicodedata.category(char) == "So")
    return kept.replace("i", "l").replace("m", "rn")


def _visible(text: str) -> str:
    return "".join(char for char in text if char not in _SHOWS_NOTHING)


@cache
def _prototypes() -> Mapping[str, str]:
    """The prototype of each confusable character, one character or a few."""
    from confusable_homoglyphs.confusables import confusables_data  # the import takes a tenth of a second

    groups: dict[str, set[str]] = {}
    for char, others in confusables_data.items():
        members = {char, *(other["c"] for other in others)}
        merged = members.union(*(groups[member] for member in members if member in groups))
        groups.update(dict.fromkeys(merged, merged))
    by_group: dict[int, str] = defaultdict(str)
    for group in groups.values():
        by_group[id(group)] = by_group[id(group)] or _first(group)
    return {char: by_group[id(group)] for char, group in groups.items() if len(char) == 1}


def _first(group: Iterable[str]) -> str:
    """The plainest member of a group: ASCII first, then letters, then several characters (`rn`) before one (`m`)."""

    def rank(member: str) -> tuple[bool, bool, int, bool, str]:
        return not member.isascii(), not member.isalpha(), -len(member), not member.islower(), member

    return min(group, key=rank)
