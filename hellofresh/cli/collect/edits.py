"""Arguments of `hellofresh collect wikipedia-edits` that choose what an edit is, and where the work is done."""

from __future__ import annotations

import argparse

from collectors import wikipedia

__all__ = ["rule"]


def rule(options: argparse.Namespace) -> wikipedia.EditsSettings:
    """The settings that were chosen."""
    return wikipedia.EditsSettings(
        kinds=tuple(kind for kind in wikipedia.Kind if str(kind) in options.kinds),
        whole_paragraphs=options.whole_paragraphs,
        keep_bots=options.keep_bots,
        keep_restored=options.keep_restored,
        collapse_runs=options.collapse_runs,
    )
