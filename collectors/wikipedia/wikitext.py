"""Wikitext split into sections and paragraphs.

A section is the text between two headings. Within it, blank lines divide paragraphs; a list item, a table, a
template over whole lines, an image, a comment and a block of tags such as `<gallery>` are each a paragraph of their
own, however many lines they span. Format: https://www.mediawiki.org/wiki/Help:Formatting

mwparserfromhell takes 9 times as long to parse a text, without splitting paragraphs, and 20 times as long for a
history, of which this module splits only the changed sections (`benchmarks/replacements.py wikitext`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar
from urllib.parse import urlsplit

from collectors.settings import Kind
from collectors.wikipedia.names import ENGLISH, WikiNames

_SIGNS = ("{{", "{|", "<")
_TAGS = "ref|gallery|blockquote|poem|pre|nowiki|math|source|syntaxhighlight|timeline|table"
_TOKEN = re.compile(r"\{\{|\}\}|\{\||\|\}(?!\})|<!--|-->|<(/?)(" + _TAGS + r")\b[^<>]*>", re.IGNORECASE)
_HARD_TAGS = frozenset({"pre", "nowiki", "math", "source", "syntaxhighlight", "timeline"})
_PREFIX = re.compile(r"\[\[\s*([^\[\]|:]+?)\s*:")
_LINKS = re.compile(r"(?:\[\[[^\[\]:|]*:[^\[\]]*\]\]\s*)+")
_LONE = {
    "<gallery": Kind.FILE,
    "<blockquote": Kind.QUOTE,
    "<poem": Kind.QUOTE,
    "<references": Kind.REFERENCE,
    "<table": Kind.TABLE,
    "<!--": Kind.COMMENT,
}
_SOFT = "\0"  # stands for a line end inside a construct; XML has no such character
_LINE_SIGNS = frozenset(" :*#;{[<")
_PAIRS = {"{{": re.compile(r"\{\{|\}\}"), "[[": re.compile(r"\[\[|\]\]")}
_DEEPEST = 32  # characters of indentation before a table
_OPAQUE = _HARD_TAGS | {"comment"}
_FIXED = {
    "{|": (True, "table"),
    "|}": (False, "table"),
    "{{": (True, "template"),
    "}}": (False, "template"),
    "<!--": (True, "comment"),
    "-->": (False, "comment"),
}


class Revision(NamedTuple):
    """One state of a page.

    Attributes:
        id: of the revision.
        parent: id of the revision it is based on, 0 for the first of a page, None if the source lacks it.
        timestamp: when it was saved, UTC.
        user: name or address of the author, None if hidden; never leaves the collector.
        text: the wikitext, None if hidden.
    """

    id: int
    parent: int | None
    timestamp: datetime
    user: str | None
    text: str | None


@dataclass(frozen=True, slots=True)
class WikiPage:
    """An article and its history, whose revisions can be read once, and only until the next page is requested.

    The host is that of its wiki, such as `en.wikipedia.org`; empty if the source lacks it. The names are the wiki's.
    """

    id: int
    title: str
    revisions: Iterator[Revision]
    host: str = ""
    wiki: WikiNames = ENGLISH


def host_of(address: str) -> str:
    """The host in a wiki's address, in lower case; empty unless it can be linked to."""
    try:
        host = urlsplit(address.strip()).hostname or ""
    except ValueError:
        return ""
    return host if re.fullmatch(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", host) else ""


def collapse_runs(revisions: Iterable[Revision]) -> Iterator[Revision]:
    """Merge each unbroken run of revisions by one user: the last state, based on the revision before the run.

    A revision with a hidden user is never merged.
    """
    run: Revision | None = None
    for revision in revisions:
        if run is not None and run.user is not None and run.user == revision.user:
            run = revision._replace(parent=run.parent)
            continue
        if run is not None:
            yield run
        run = revision
    if run is not None:
        yield run


@dataclass(frozen=True, slots=True, eq=False)
class WikiSection:
    """One section; equality is identity.

    Attributes:
        heading: the heading's wikitext without the equals signs, empty for the lead.
        paragraphs: their wikitext, whitespace normalised, in order.
        kinds: the kind of each paragraph.
        members: the paragraphs as a set.
        length: number of paragraphs, the items of one list counted together.
        headed: False for text after `=` at the start of a line that is not a heading.
        comment: effect of the text on a comment: True leaves one open, False closes one, None neither.
        digest: of the section's exact text, heading included; valid in this process only.
    """

    heading: str
    paragraphs: tuple[str, ...]
    kinds: tuple[Kind, ...]
    members: frozenset[str]
    length: int
    headed: bool
    comment: bool | None
    digest: int


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """A revision's text, split.

    Attributes:
        sections: those whose heading occurs once, by heading, in order.
        repeated: those whose heading occurs several times, by heading, in order.
        order: headings in order, each once.
        paragraphs: the length of the article: paragraphs of all sections, the items of one list counted together,
            headings not counted.
        digest: of the whole text: equal for equal texts and, except by chance, only for these; valid in
            this process only.
    """

    sections: dict[str, WikiSection]
    repeated: dict[str, tuple[WikiSection, ...]]
    order: tuple[str, ...]
    paragraphs: int
    digest: int

    def holds(self, paragraph: str) -> bool:
        """Whether any section contains the paragraph."""
        if any(paragraph in section.members for section in self.sections.values()):
            return True
        return any(paragraph in section.members for group in self.repeated.values() for section in group)


def normalise(text: str) -> str:
    """The text with single spaces for white space."""
    # All white space but the plain blank is unprintable, and most paragraphs have blanks only: a fast path.
    if "  " not in text and text.isprintable():
        return text.strip(" ")
    return " ".join(text.split())


_Parsed = TypeVar("_Parsed")


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Paragraphs without blank lines between them, their kinds, and their count."""

    paragraphs: tuple[str, ...]
    kinds: tuple[Kind, ...]
    length: int


@dataclass(slots=True)
class _Memory(Generic[_Parsed]):
    """A cache of parses of recent texts: those used in the present or the previous generation."""

    parse: Callable[[str], _Parsed]
    young: dict[str, _Parsed] = field(default_factory=dict)
    old: dict[str, _Parsed] = field(default_factory=dict)

    def get(self, text: str) -> _Parsed:
        known = self.young.get(text)
        if known is None:
            known = self.old.get(text)
            self.young[text] = known = self.parse(text) if known is None else known
        return known

    def age(self) -> None:
        self.old, self.young = self.young, {}


class Splitter:
    """Splits the successive revisions of one page.

    A section whose text was seen recently is returned as the identical object, so that unchanged text costs no
    more than a look-up. Memory holds the distinct sections of at most twice `generation` revisions.
    """

    def __init__(self, wiki: WikiNames = ENGLISH, *, generation: int = 32) -> None:
        files = wiki.files
        self._leads = _Memory(lambda text: self._section("", text, text, headed=True))
        self._others = _Memory(self._parse_headed)
        self._stretches = _Memory(lambda text: _stretch(text, files))
        self._generation = generation
        self._count = 0
        self._parts: list[str] = []

    def split(self, text: str) -> Snapshot:
        """Split one revision's text."""
        self._count += 1
        if self._count % self._generation == 0:
            self._leads.age()
            self._others.age()
            self._stretches.age()
        return _snapshot(self._sections(text))

    def _sections(self, text: str) -> list[WikiSection]:
        self._parts = _parts("\n" + text, self._parts)
        first, *parts = self._parts
        section = self._leads.get(first)
        sections, group, memory = [section], [first], self._leads
        others = self._others
        young = others.young
        open_comment = section.comment is True
        for part in parts:
            section = young.get(part) or others.get(part)
            if section.headed and not open_comment:
                if len(group) > 1:
                    sections[-1] = memory.get("\n=".join(group))
                sections.append(section)
                group, memory = [part], others
            else:
                group.append(part)
            if section.comment is not None:
                open_comment = section.comment
        if len(group) > 1:
            sections[-1] = memory.get("\n=".join(group))
        return sections

    def _parse_headed(self, part: str) -> WikiSection:
        line, _, body = part.partition("\n")
        heading = _heading("=" + line)
        return self._section(heading or "", body if heading is not None else part, part, headed=heading is not None)

    def _section(self, heading: str, body: str, whole: str, *, headed: bool) -> WikiSection:
        young = self._stretches.young
        stretches = [young.get(stretch) or self._stretches.get(stretch) for stretch in _stretches(body)]
        texts = tuple([text for stretch in stretches for text in stretch.paragraphs])
        opened, closed = whole.rfind("<!--"), whole.rfind("-->")
        comment = None if opened == closed else opened > closed
        kinds = tuple([kind for stretch in stretches for kind in stretch.kinds])
        length = sum([stretch.length for stretch in stretches])
        # The look-up of the section has hashed its text already, and the number is used for equality only.
        return WikiSection(heading, texts, kinds, frozenset(texts), length, headed, comment, hash(whole))


def _parts(text: str, known: Sequence[str]) -> list[str]:
    """`text.split("\\n=")`, faster: the first and last parts are those of the text before, as far as they are equal."""
    front, start = 0, 0
    for part in known:
        end = start + len(part)
        if not text.startswith(part, start) or not text.startswith("\n=", end):
            break
        front, start = front + 1, end + 2
    back, stop = len(known), len(text)
    for part in reversed(known[front:]):
        end = stop - len(part) - 2
        if end < start or not text.endswith(part, start, stop) or not text.startswith("\n=", end):
            break
        back, stop = back - 1, end
    return [*known[:front], *text[start:stop].split("\n="), *known[back:]]


def _length(kinds: Sequence[Kind]) -> int:
    """Paragraphs of a stretch, with neighbouring list items as one: N is to grow with text, not with bullets."""
    return len(kinds) - sum([kind is before is Kind.LIST for before, kind in pairwise(kinds)])


def _snapshot(sections: list[WikiSection]) -> Snapshot:
    by_heading = {section.heading: section for section in sections}
    paragraphs = sum([section.length for section in sections])
    digest = hash(tuple([section.digest for section in sections]))
    if len(by_heading) == len(sections):
        return Snapshot(by_heading, {}, tuple(by_heading), paragraphs, digest)
    groups: dict[str, list[WikiSection]] = {}
    for section in sections:
        groups.setdefault(section.heading, []).append(section)
    return Snapshot(
        {heading: group[0] for heading, group in groups.items() if len(group) == 1},
        {heading: tuple(group) for heading, group in groups.items() if len(group) > 1},
        tuple(groups),
        paragraphs,
        digest,
    )


@lru_cache(maxsize=4096)
def _heading(line: str) -> str | None:
    line = line.rstrip()
    while line.endswith("-->") and "<!--" in line:
        line = line[: line.rfind("<!--")].rstrip()
    if not line.endswith("="):
        return None
    before, after = len(line) - len(line.lstrip("=")), len(line) - len(line.rstrip("="))
    level = (len(line) - 1) // 2 if before == len(line) else min(before, after)
    level = min(level, 6)
    return normalise(line[level:-level]) or None if level else None


def _stretch(text: str, files: Collection[str]) -> _Stretch:
    """The paragraphs of a stretch, normalised, each with its kind."""
    found: list[tuple[Kind, str]] = []
    prose: list[str] = []
    for line in text.split("\n"):
        kind = _line_kind(line, files) if line and not line.isspace() else None
        if kind is Kind.PROSE:
            prose.append(line)
            continue
        if prose:
            found.append(_prose(prose))
            prose = []
        if kind is not None:
            found.append((kind, line))
    if prose:
        found.append(_prose(prose))
    blocks = [(kind, normalise(block.replace(_SOFT, "\n"))) for kind, block in found]
    kinds = tuple([kind for kind, block in blocks if block])
    return _Stretch(tuple([block for _, block in blocks if block]), kinds, _length(kinds))


def _prose(lines: list[str]) -> tuple[Kind, str]:
    text = "\n".join(lines).replace(_SOFT, "\n").strip()
    if text.startswith("[[") and _LINKS.fullmatch(text):
        return Kind.LINKS, text
    lower = text.casefold()
    is_note = lower.startswith("<ref") and lower.endswith("</ref>") and lower.count("</ref>") == 1
    return (Kind.REFERENCE if is_note else Kind.PROSE), text


def _line_kind(line: str, files: Collection[str]) -> Kind:
    """Kind of one logical line; prose may continue in the next line."""
    if line[0] not in _LINE_SIGNS:
        return Kind.PROSE
    head = line.lstrip(" :")[:2]
    if head == "{|":
        return Kind.TABLE
    if line[0] in "*#:;":
        return Kind.LIST
    if head == "{{" and _is_closed(line.strip(), "{{", "}}"):
        return _template_kind(line)
    if head == "[[" and _is_file(line.strip(), files) and _is_closed(line.strip(), "[[", "]]"):
        return Kind.FILE
    return _tag_kind(line.strip()) if head[:1] == "<" else Kind.PROSE


def _is_file(line: str, files: Collection[str]) -> bool:
    prefix = _PREFIX.match(line)
    return prefix is not None and prefix[1].replace("_", " ").casefold() in files


def _template_kind(line: str) -> Kind:
    name = line.lstrip(" :")[2:12].strip().casefold()
    if name.startswith("reflist"):
        return Kind.REFERENCE
    return Kind.QUOTE if name.startswith(("quote", "blockquote")) else Kind.TEMPLATE


def _tag_kind(line: str) -> Kind:
    lower = line[:12].casefold()
    for opening, kind in _LONE.items():
        if lower.startswith(opening):
            closing = "-->" if kind is Kind.COMMENT else ">"
            lone = line.endswith(closing) and (kind is not Kind.COMMENT or line.count("<!--") == 1)
            return kind if lone else Kind.PROSE
    return Kind.PROSE


def _is_closed(text: str, opening: str, closing: str) -> bool:
    """Whether the text consists of constructs of this kind only."""
    if not text.endswith(closing):
        return False
    depth, end = 0, 0
    for match in _PAIRS[opening].finditer(text):
        if depth == 0 and text[end : match.start()].strip(" \n" + _SOFT):
            return False
        depth += 1 if match[0] == opening else -1
        end = match.end()
        if depth < 0:
            return False
    return depth == 0


def _stretches(body: str) -> list[str]:
    """Split at blank lines; line ends within a table, template, comment or block of tags are made soft."""
    spans = _long_spans(body)
    if not spans:
        return body.split("\n\n")
    parts, end = [], 0
    for start, stop in spans:
        parts += [body[end:start], body[start:stop].replace("\n", _SOFT)]
        end = stop
    parts.append(body[end:])
    return "".join(parts).split("\n\n")


def _long_spans(body: str) -> list[tuple[int, int]]:
    """Outermost closed constructs that contain a line end, in order; unclosed ones hold nothing together."""
    stack: list[tuple[str, int, int]] = []
    spans: list[tuple[int, int]] = []
    first = min([place for sign in _SIGNS if (place := body.find(sign)) >= 0], default=None)
    if first is None:
        return spans
    line_end = -1
    for match in _TOKEN.finditer(body, first):
        opens, name = _token(match)
        if _is_idle(body, match.start(), name, opens=opens, inside=stack[-1][0] if stack else ""):
            continue
        if opens:
            if line_end < match.start():
                line_end = body.find("\n", match.start()) % (len(body) + 1)
            stack.append((name, match.start(), line_end))
        elif any(name == entry[0] for entry in stack[-8:]):
            while stack[-1][0] != name:
                stack.pop()
            _, start, first_end = stack.pop()
            if first_end < match.end():
                while spans and spans[-1][0] >= start:
                    spans.pop()  # it contains that one
                spans.append((start, match.end()))
    return spans


def _is_idle(body: str, place: int, name: str, *, opens: bool, inside: str) -> bool:
    """Whether a token has no meaning in its place, for instance in a comment, or a table's sign within a line."""
    if inside in _OPAQUE and (opens or name != inside):
        return True
    if name != "table":
        return False
    near = body[max(0, place - _DEEPEST) : place]
    line = near.rpartition("\n")[2]
    return bool(line.strip(" :")) or (len(line) == len(near) and place > _DEEPEST)


def _token(match: re.Match[str]) -> tuple[bool, str]:
    """Whether the token opens a construct, and which."""
    text = match[0]
    if text in _FIXED:
        return _FIXED[text]
    name = match[2].casefold()
    if text.endswith("/>"):
        return False, "nothing"
    return not match[1], f"<{name}" if name == "table" else name
