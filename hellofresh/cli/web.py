"""`hellofresh web`: search and read as the web-search regime does, to test settings."""

from __future__ import annotations

import argparse
import re
import tempfile
from dataclasses import asdict
from pathlib import Path

from hellofresh.cli._output import CommandOutput
from hellofresh.config import Settings
from hellofresh.core.errors import UsageError
from hellofresh.core.executors import completed
from hellofresh.evidence.web import Found, PageStatus, WebPage
from hellofresh.evidence.web.store import open_web
from hellofresh.evidence.web.text import first_words

_SHOWN_WORDS = 300
_ADDRESS = re.compile("[A-Za-z][A-Za-z0-9+.-]*://")


def run(options: argparse.Namespace, output: CommandOutput) -> int:
    """Search, or read the page of an address."""
    settings, reads = Settings.load().web, _ADDRESS.match(options.what) is not None
    if reads and options.before is not None:
        raise UsageError("--before with an address", where=options.what, expected="a query", code="no-query")

    async def ask(folder: Path) -> Found | WebPage:
        web = open_web(settings, folder)
        try:
            return await (web.read(options.what) if reads else web.search(options.what, before=options.before))
        finally:
            await web.close()

    with tempfile.TemporaryDirectory(prefix="hellofresh-web-") as folder:
        found = completed(ask(Path(folder)))
    if isinstance(found, Found):
        output.result({"results": [asdict(result) for result in found.results], "problem": found.problem})
        rows = [(result.rank, result.date or "", result.url, result.title) for result in found.results]
        output.table("Results", ("rank", "date", "url", "title"), rows)
        if found.problem:
            output.say(f"The search failed: {found.problem}.")
        return 1 if found.problem else 0
    output.result(asdict(found))
    output.table("Page", ("url", "status", "detail"), [(found.final_url, found.status.value, found.detail)])
    if found.title:
        output.text(found.title)
    if found.text:
        shown = first_words(found.text, _SHOWN_WORDS)
        output.text(shown + (" ..." if len(shown) < len(found.text) else ""))
    return 0 if found.status is PageStatus.OK else 1
