"""The names of a wiki's namespaces, as its source says them (`siteinfo` of exports and of the API)."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files as package_files
from typing import Any

FILES, CATEGORIES, TEMPLATES = 6, 14, 10
# Names that every wiki understands (https://www.mediawiki.org/wiki/Help:Namespaces).
_CANONICAL: Mapping[int, tuple[str, ...]] = {
    FILES: ("file", "image"),
    CATEGORIES: ("category",),
    TEMPLATES: ("template",),
}


@dataclass(frozen=True, slots=True)
class WikiNames:
    """The language of a wiki, and its names for files, categories and templates, in lower case with blanks."""

    language: str = "en"
    files: frozenset[str] = frozenset(_CANONICAL[FILES])
    categories: frozenset[str] = frozenset(_CANONICAL[CATEGORIES])
    templates: frozenset[str] = frozenset(_CANONICAL[TEMPLATES])


ENGLISH = WikiNames()


def wiki_names(language: str, said: Mapping[int, Iterable[str]]) -> WikiNames:
    """The names that a source says, by number of the namespace, with those that the language had before."""
    older = _older().get(language.lower(), {})
    names = {
        key: frozenset(
            name.strip().replace("_", " ").casefold()
            for name in (*always, *said.get(key, ()), *older.get(str(key), ()))
        )
        - {""}
        for key, always in _CANONICAL.items()
    }
    return WikiNames(language.lower() or "en", names[FILES], names[CATEGORIES], names[TEMPLATES])


@cache
def _older() -> Mapping[str, Any]:
    return tomllib.loads((package_files(__package__) / "names.toml").read_text("utf-8"))
