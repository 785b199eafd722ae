"""Edits of Wikipedia paragraphs and their fates, from full-history XML dumps.

`export` reads the dump, `wikitext` splits a revision into sections and paragraphs, `edits` finds the paragraphs that
a revision changed, `stability` decides the fate of each, `clean` makes wikitext readable, `collect` combines them.
"""

from __future__ import annotations

from collectors.settings import EditsSettings, Kind
from collectors.wikipedia.collect import collect
from collectors.wikipedia.export import shards

__all__ = ["EditsSettings", "Kind", "collect", "shards"]
