"""Edits of Wikipedia paragraphs and what became of them, from full-history XML dumps.

`dumps` reads the export, `wikitext` splits a revision into sections and paragraphs, `edits` finds the paragraphs that
a revision changed, `stability` decides the fate of each, `clean` makes wikitext readable, `collect` puts it together.
"""

from __future__ import annotations

from hellofresh.collectors.wikipedia.collect import collect
from hellofresh.collectors.wikipedia.dump.export import shards
from hellofresh.collectors.wikipedia.rules.stability import EditsSettings
from hellofresh.collectors.wikipedia.rules.wikitext import Kind
from hellofresh.collectors.wikipedia.sharding import merge_shards, write_shard

__all__ = ["EditsSettings", "Kind", "collect", "merge_shards", "shards", "write_shard"]
