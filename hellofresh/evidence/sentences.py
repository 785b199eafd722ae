"""Split a text into sentences, so that quotes are always whole sentences.

The rule is careful and needs no language: where it is unsure, it joins two sentences, which costs a quote some words or
the quote itself; a cut within a sentence could cost it its negation. Of the 39 sentences of tests/web/test_web_text.py
that are hard to hold together it cuts none; sentencex 1.0.32, given the language, cuts 14 ("selon M. | Dupont").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

# Abbreviations of fourteen languages in lower case, except those without a vowel, which a rule covers.
_ABBREVIATIONS = frozenset(
    """
    abs adj adm al apr approx apt art assn assoc asst aug av ave bishop bros ca cap capt circa co col com comdr comp
    conf corp dec dep dept det dir div ed eds esp esq est etc ex exec fig figs fri gal gen gov govt hon hosp ibid ie
    eg inc incl int intl jan jul jun lat lieut lim loc lon maj mar max med messrs min misc mme mlle mon mount mus
    nat no nos nov num oct op orig oz pag para pat pop pos pres prob prof pron pub quot ref reg rel rep repr res ret
    rev sat sec sect sen sens sep sept ser sergt sing soc sta ste subst sun suppl supt surg tel temp thu thur tue
    tues univ usu vet viz vol vols wed allg anh ao bes bez dipl einschl erg etw evtl exkl fam gegr geb gem gest inh
    inkl ing kath mag mind mio österr phil prot red sog stellv teilw übers usf usw vorm zool adv apdo avda bibl cía
    da dña dra ee excmo fdo gral ilmo izq lic núm pág págs pdo prov rte sra sras sres srta ud uds éd env éts hab rem
    sté tél arch avv cav comm dott dottssa ecc egr gent geom ill on pagg rag sigg sig sigra spett bijv evt excl fa
    mej mevr ong resp im inż godz nast por św ul woj zob акад бул вв гг гр губ др ед зам изд им инд кв коп корп млн
    млрд напр обл оз пос пр проф руб сан св см ст стр тов трлн тыс ул чел экз вул грн тис ім див alb cad çev doç örn
    sok sayın yrd fru kap osv aram odst roč βλ δηλ κλπ σελ στρ uu
    """.split()  # noqa: SIM905, RUF001
)
# Names with a final punctuation mark, such as `Yahoo!`, which do not end a sentence.
_NAMES = frozenset({"yahoo", "jeopardy", "yum", "wham", "panic"})
_CLOSERS = "\"')]}\u201d\u2019\u00bb\u300d\u300f\u3011\uff09\u203a"
_OPENED = '( [ \u201c \u201e \u00ab \u00bb \u300c \u300e \u3010 \uff08 \u300a " \u201d'.split()  # noqa: SIM905
_CLOSED = ') ] \u201d \u201c\u201d \u00bb \u00ab \u300d \u300f \u3011 \uff09 \u300b " \u201d'.split()  # noqa: SIM905
_PAIRS = dict(zip(_OPENED, _CLOSED, strict=True))
_WIDE = "\u3002\uff01\uff1f\uff61"
_END = re.compile(rf"[.!?\u203c\u2047\u0964\u0965\u061f\u06d4\u0589\u1362\u104b\u17d4{_WIDE}]+[{re.escape(_CLOSERS)}]*")
_WORD_BEFORE = re.compile(r"[^\s(\[\u201c\u201d\u201e\u00ab\u300c\"'\u2019-]*$")
_VOWEL = re.compile(r"[aeiouy]")
_DENIES = r"""(?:
    (?:(?:but|and)[ ])?(?:that|this|it)(?:[ ](?:claim|statement|post|story))?(?:[ ]is|['\u2019]s|[ ]was|[ ]were)
    [ ](?:not|false|untrue|wrong|incorrect|fake|no)\b
    | no[,.;:!] | not[ ]so\b | (?:false|wrong|untrue|nein|нет)\b | das[ ](?:ist|stimmt)[ ](?:falsch|nicht)
    | c.est[ ]faux | non, | es[ ]falso | é[ ]falso | não, | è[ ]falso | это[ ](?:не|ложь) | 这是假 | 但这
    | これは(?:嘘|誤り) | هذا[ ]غير | यह[ ](?:गलत|झूठ) )"""
_TURNS = r"""(?:(?:
    but|however|yet|nevertheless|nonetheless|instead|still|though|although|rather|in[ ]fact|actually|contrary
    |on[ ]the[ ]contrary|aber|doch|jedoch|allerdings|dagegen|sondern|mais|cependant|pourtant|toutefois|en[ ]réalité|pero
    |sin[ ]embargo|no[ ]obstante|mas|porém|no[ ]entanto|contudo|tuttavia|ma|però|invece|maar|echter|toch|ale|jednak|lecz
    |но|але|однако|проте|ama|ancak|fakat|tapi|namun|nhưng|tuy[ ]nhiên|men|dock|mutta|kuitenkin|avšak|však|αλλά|όμως)\b
    |(?:لكن|ولكن|लेकिन|परंतु)\s|但|然而|不过|可是|其实|しかし|だが|でも|그러나|하지만)"""
_BEGINS_TURNING = re.compile(rf"\W*(?:{_DENIES}|{_TURNS})", re.IGNORECASE | re.VERBOSE)
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_CHARACTERS_A_WORD = 12  # a text without spaces must not count as one word


def sentences(text: str) -> list[tuple[int, int]]:
    """Begin and end of each sentence of a text, in order; between them stands white space only."""
    cuts = [0, *_boundaries(text), len(text)]
    spans = []
    for begin, end in pairwise(cuts):
        whole = text[begin:end].lstrip()
        if whole:
            spans.append((end - len(whole), end - len(whole) + len(whole.rstrip())))
    return spans


def whole_sentences(text: str, start: int, end: int, most_words: int) -> str:
    """The sentences that hold a part of a text and the one after, on one line; empty where either are too many words.

    What a page says of a sentence that it quotes, attributes or labels stands in the next one ("Rating: False", "But
    they are from a film."), in any language. So labels are no sentence after; what begins by denying or turning comes
    with what stands before it, and a sentence with the label before it.
    """
    spans = sentences(text)
    held = [number for number, span in enumerate(spans) if span[0] < end and span[1] > start]
    if not held:
        return ""
    first, last, more = held[0], held[-1], len(spans) - 1
    while first and (_BEGINS_TURNING.match(text, spans[first][0]) or _is_label(text, spans[first - 1], 4)):
        first -= 1
    after = last
    while after < more and _is_label(text, spans[after + 1], 8):
        after += 1
    after = min(after + 1, more)
    while after < more and _BEGINS_TURNING.match(text, spans[after + 1][0]):
        after += 1
    own, answer = text[spans[first][0] : spans[last][1]], text[spans[last][1] : spans[after][1]]
    return " ".join((own + answer).split()) if max(word_count(own), word_count(answer)) <= most_words else ""


def _is_label(text: str, span: tuple[int, int], most_words: int) -> bool:
    """Whether a line of few words ends no sentence: a heading, "Claim", "Rating: False"."""
    line = text[span[0] : span[1]]
    return _END.search(line[-3:]) is None and word_count(line) <= most_words


def word_count(text: str) -> int:
    """Words of a text; in scripts without spaces two characters are a word, and no word is longer than 12."""
    unspaced = len(_UNSPACED.findall(text))
    return max(len(text.split()), -(-unspaced // 2), -(-len(text) // _CHARACTERS_A_WORD))


def _boundaries(text: str) -> Iterator[int]:
    """Where one sentence ends and the next begins."""
    position = 0
    for line in text.splitlines(keepends=True):
        yield from (position + cut for cut in _within_line(line))
        position += len(line)
        if not _goes_on(line.rstrip(), text[position : position + 200].lstrip()):
            yield position


def _goes_on(line: str, rest: str) -> bool:
    """Whether a sentence continues after a line break, as in hard-wrapped text."""
    if not line or not rest:
        return False
    ended = _END.search(line[-6:])
    is_abbreviated = line.endswith(".") and _is_abbreviation(line[:-1])
    return is_abbreviated or line[-1] in ",;:(-\u2013\u2014\u3001\uff0c" or (ended is None and rest[0].islower())


def _within_line(line: str) -> Iterator[int]:
    open_marks: list[str] = []
    position = 0
    for found in _END.finditer(line):
        _follow(open_marks, line[position : found.end()])
        position = found.end()
        if not open_marks and _ends(line, found):
            yield position


def _follow(open_marks: list[str], part: str) -> None:
    """Follow brackets and quotation marks; one that is never closed holds to the end of the line."""
    for character in part:
        if open_marks and character in open_marks[-1]:
            open_marks.pop()
        elif character in _PAIRS:
            open_marks.append(_PAIRS[character])


def _ends(line: str, found: re.Match[str]) -> bool:
    """Whether a sentence ends with a mark that stands outside of brackets and quotation marks."""
    marks = found[0].rstrip(_CLOSERS)
    rest, after = line[found.end() :], line[found.end() :].lstrip()
    if not after:
        return False  # the line's end decides
    if found[0][-1] in _CLOSERS and found[0][-1] not in ")]\uff09":
        return False  # "Did it fall?" Smith asked.
    if rest[0] == after[0] and marks[-1] not in _WIDE:
        return False  # no white space, as in 3.14 and example.org
    if after[0].islower() or after[0] in ",;:\u3001\uff0c" or (marks[-1] in _WIDE and after[0] in _CLOSERS):
        return False
    before = line[max(0, found.start() - 60) : found.start()]
    if marks == ".":
        return not _is_abbreviation(before)
    word = _WORD_BEFORE.search(before)
    return not (set(marks) == {"."} or (word and word[0].casefold() in _NAMES))


def _is_abbreviation(before: str) -> bool:
    """Whether a point after this text may belong to its last word: initials, numbers, words of the list or no vowel."""
    found = _WORD_BEFORE.search(before)
    word = found[0].strip("\u2026") if found else ""
    letters = word.casefold()
    return (
        len(word) < 2
        or "." in word
        or word.endswith("\u2026")
        or (word.isdigit() and len(word) < 3)
        or re.fullmatch(r"[IVXLC]+", word) is not None
        or letters in _ABBREVIATIONS
        or (word.isalpha() and len(word) < 6 and word.isascii() and not _VOWEL.search(letters))
    )
