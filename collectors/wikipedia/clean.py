"""Wikitext as readers see it, and its visible changes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import mwparserfromhell
from mwparserfromhell.nodes import Argument, ExternalLink, HTMLEntity, Tag, Template, Text, Wikilink

from collectors.wikipedia.edits import Gap, common_ends, gaps
from collectors.wikipedia.names import ENGLISH, WikiNames
from collectors.wikipedia.templates import Call, UnknownCallError, is_language, raised, shown

_JOIN = " [...] "
_UNSEEN_TAGS = frozenset(
    {"ref", "references", "gallery", "timeline", "imagemap", "templatestyles", "score", "graph", "includeonly", "rp"}
)
_FORMULAS = frozenset({"math", "chem", "ce"})
_LITERAL = frozenset({"nowiki", "code", "pre", "syntaxhighlight", "source"})
_SPACE_BEFORE_POINT = re.compile(r" +([,.;:!?)\]])(?=\s|$)")
_EMPTY_BRACKETS = re.compile(r"\(\s*[,;]?\s*\)")
_LEFT_OVER = re.compile(r"'{2,5}|\[\[|\]\]|\{\{|\}\}|__[A-Z]+__")
_HIDING = re.compile(r"display\s*:\s*none", re.IGNORECASE)
# Signs that stand for themselves, where they would be taken for markup that is left over: exchanged and put back.
_HELD_BACK = str.maketrans("'[]{}_", "\ue000\ue001\ue002\ue003\ue004\ue005")
_KEPT_BACK = str.maketrans("\ue000\ue001\ue002\ue003\ue004\ue005", "'[]{}_")


class Spans(NamedTuple):
    """Changes between two readable texts, in order, joined by ` [...] `."""

    deleted: str
    added: str


class ShownText(NamedTuple):
    """What a reader sees of wikitext.

    Attributes:
        text: without markup, notes and images; templates as `collectors.wikipedia.templates` shows them.
        shown: templates of which a reader sees something.
        unknown: names of templates whose text is missing here, `{{{name` for a parameter outside of a
            template, and `{{` for braces that make none.
    """

    text: str
    shown: int
    unknown: tuple[str, ...]


def readable(wikitext: str, wiki: WikiNames = ENGLISH) -> str:
    """The text of a reading; unknown templates leave a hole."""
    return read(wikitext, wiki).text


def read(wikitext: str, wiki: WikiNames = ENGLISH) -> ShownText:
    """The text of a paragraph or heading as a reader of the wiki sees it."""
    reader = _Reader(wiki)
    text = reader.render(mwparserfromhell.parse(wikitext, skip_style_tags=False).nodes)
    text = _EMPTY_BRACKETS.sub("", _LEFT_OVER.sub("", text)).translate(_KEPT_BACK)
    text = _SPACE_BEFORE_POINT.sub(r"\1", " ".join(text.split())).strip()
    return ShownText(text, reader.shown, tuple(reader.unknown))


class _Reader:
    """Renders the nodes of one text."""

    def __init__(self, wiki: WikiNames) -> None:
        self.shown = 0
        self.unknown: list[str] = []
        self._wiki = wiki

    def render(self, nodes: Iterable[Any]) -> str:
        return "".join([render(self, node) for node in nodes if (render := _RENDER.get(type(node)))])

    def text(self, node: Text) -> str:
        text = str(node.value)
        if "{{" in text or "}}" in text:
            self.unknown.append("{{")
        return text

    def wikilink(self, node: Wikilink) -> str:
        target = str(node.title).strip()
        prefix, colon, _ = target.partition(":")
        prefix = prefix.strip().replace("_", " ").casefold()
        if colon and (prefix in self._wiki.files or prefix in self._wiki.categories or is_language(prefix)):
            return ""
        if node.text is not None:
            return self.render(node.text.nodes)
        return target.removeprefix(":")

    def external_link(self, node: ExternalLink) -> str:
        if node.title is not None:
            return self.render(node.title.nodes)
        return "" if node.brackets else str(node.url)

    def tag(self, node: Tag) -> str:
        name = str(node.tag).strip().casefold()
        if name in _UNSEEN_TAGS or any(_HIDING.search(str(attribute)) for attribute in node.attributes):
            return ""
        if name in {"br", "hr"}:
            return " "
        if node.contents is None:
            return ""
        if name in _FORMULAS or name in _LITERAL:
            return str(node.contents).translate(_HELD_BACK)
        inside = self.render(node.contents.nodes)
        if name == "sup":
            return raised(inside)
        return f"({inside})" if name == "rt" else inside

    def argument(self, node: Argument) -> str:
        self.unknown.append(f"{{{{{{{str(node.name).strip()[:80]}")
        return ""

    def entity(self, node: HTMLEntity) -> str:
        try:
            return str(node.normalize()).translate(_HELD_BACK)
        except (ValueError, OverflowError):
            return str(node)

    def template(self, node: Template) -> str:
        name = " ".join(str(node.name).replace("_", " ").split())
        prefix, colon, rest = name.partition(":")
        name = rest.strip() if colon and prefix.strip().casefold() in self._wiki.templates else name
        values = {str(one.name).strip(): one.value for one in node.params}
        seen: dict[str, str] = {}

        def value(key: str) -> str:
            if key not in seen:
                seen[key] = self.render(values[key].nodes).strip() if key in values else ""
            return seen[key]

        try:
            text = shown(name, Call(tuple(values), value, self._wiki.language))
        except UnknownCallError:
            self.unknown.append(name[:80])
            return ""
        self.shown += bool(text)
        return text


_RENDER: Mapping[type, Callable[[_Reader, Any], str]] = {
    Argument: _Reader.argument,
    Text: _Reader.text,
    Wikilink: _Reader.wikilink,
    ExternalLink: _Reader.external_link,
    Tag: _Reader.tag,
    HTMLEntity: _Reader.entity,
    Template: _Reader.template,
}


# Scripts written without spaces are compared character by character.
_WORD = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]"
    r"|[^\s\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]+"
)


_MOST_COMPARISONS = 10_000_000  # beyond, a diff takes too long: the whole span counts as changed


def spans(before: str, after: str) -> Spans:
    """Compare two readable texts word by word; two very long ones only by their first and last differences."""
    old, new = list(_WORD.finditer(before)), list(_WORD.finditer(after))
    deleted, added = [], []
    for a, b, c, d in _differences([word[0] for word in old], [word[0] for word in new]):
        if a < b:
            deleted.append(before[old[a].start() : old[b - 1].end()])
        if c < d:
            added.append(after[new[c].start() : new[d - 1].end()])
    return Spans(_JOIN.join(deleted), _JOIN.join(added))


def _differences(old: list[str], new: list[str]) -> list[Gap]:
    """Stretches `old[a:b]` that are replaced by `new[c:d]`."""
    start, stop = common_ends(old, new)
    left, right = old[start : len(old) - stop], new[start : len(new) - stop]
    if len(left) * len(right) > _MOST_COMPARISONS:
        return [(start, start + len(left), start, start + len(right))]
    return [(start + a, start + b, start + c, start + d) for a, b, c, d in gaps(left, right)]
