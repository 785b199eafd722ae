"""Wikitext as readers see it, and its visible changes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import mwparserfromhell
from mwparserfromhell.nodes import ExternalLink, HTMLEntity, Tag, Template, Text, Wikilink

from collectors.wikipedia.edits import Gap, common_ends, gaps

_JOIN = " [...] "
_UNSEEN_TAGS = frozenset(
    {"ref", "references", "gallery", "math", "timeline", "imagemap", "templatestyles", "score", "graph"}
)
_UNSEEN_PREFIXES = frozenset({"file", "image", "category"})


class Spans(NamedTuple):
    """Changes between two readable texts, in order, joined by ` [...] `."""

    deleted: str
    added: str


def readable(wikitext: str) -> str:
    """The text of a paragraph as a reader sees it: no markup, notes, images or templates except those of plain text."""
    text = _render(mwparserfromhell.parse(wikitext, skip_style_tags=False).nodes)
    text = _EMPTY_BRACKETS.sub("", _LEFT_OVER.sub("", text))
    return _SPACE_BEFORE_POINT.sub(r"\1", " ".join(text.split())).strip()


def _render(nodes: Iterable[Any]) -> str:
    return "".join([render(node) for node in nodes if (render := _RENDER.get(type(node)))])


def _wikilink(node: Wikilink) -> str:
    target = str(node.title).strip()
    prefix, colon, _ = target.partition(":")
    if colon and prefix.strip().casefold() in _UNSEEN_PREFIXES:
        return ""
    if node.text is not None:
        return _render(node.text.nodes)
    return target.removeprefix(":")


def _tag(node: Tag) -> str:
    name = str(node.tag).strip().casefold()
    if name in _UNSEEN_TAGS:
        return ""
    if name in {"br", "hr"}:
        return " "
    return _render(node.contents.nodes) if node.contents is not None else ""


def _entity(node: HTMLEntity) -> str:
    try:
        return str(node.normalize())
    except (ValueError, OverflowError):
        return str(node)


def _template(node: Template) -> str:
    name = str(node.name).strip().casefold().replace("_", " ")
    show = _SHOWN.get(name)
    if show is None:
        return ""
    return show([_render(parameter.value.nodes).strip() for parameter in node.params if not parameter.showkey])


def _nth(place: int) -> Callable[[list[str]], str]:
    return lambda values: values[place] if len(values) > place else ""


_SHOWN: Mapping[str, Callable[[list[str]], str]] = {
    "convert": lambda values: " ".join(values[:2]),
    "cvt": lambda values: " ".join(values[:2]),
    "lang": _nth(1),
    "transl": _nth(1),
    "nowrap": _nth(0),
    "nobr": _nth(0),
    "em": _nth(0),
    "small": _nth(0),
    "abbr": _nth(0),
    "quote": _nth(0),
    "blockquote": _nth(0),
    "snd": lambda _: " \N{EN DASH} ",
    "spaced ndash": lambda _: " \N{EN DASH} ",
    "ndash": lambda _: "\N{EN DASH}",
    "mdash": lambda _: "\N{EM DASH}",
}
"""Templates that stand for plain text, by name, and the selection of that text from their unnamed values."""

_RENDER: Mapping[type, Callable[[Any], str]] = {
    Text: lambda node: str(node.value),
    Wikilink: _wikilink,
    ExternalLink: lambda node: (
        _render(node.title.nodes) if node.title is not None else "" if node.brackets else str(node.url)
    ),
    Tag: _tag,
    HTMLEntity: _entity,
    Template: _template,
}

_SPACE_BEFORE_POINT = re.compile(r" +([,.;:!?)\]])(?=\s|$)")
_EMPTY_BRACKETS = re.compile(r"\(\s*[,;]?\s*\)")
_LEFT_OVER = re.compile(r"'{2,5}|\[\[|\]\]|\{\{|\}\}")


# Scripts written without spaces are compared character by character.
_WORD = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]"
    r"|[^\s\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]+"
)


_MOST_COMPARISONS = 10_000_000


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
