"""`hellofresh web`: search and read as the web-search regime does, to try settings out."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

from hellofresh.cli._output import CommandOutput
from hellofresh.config import Settings
from hellofresh.evidence.web import Found, PageStatus, Web, WebPage, first_words, open_web

__all__ = ["read", "search"]

_SHOWN_WORDS = 300
T = TypeVar("T")


def _with_web(options: argparse.Namespace, use: Callable[[Web], Awaitable[T]]) -> T:
    settings = Settings.load().web
    with ExitStack() as stack:
        folder = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hellofresh-web-")))

        async def run() -> T:
            web = open_web(settings, folder, replay=options.replay)
            try:
                return await use(web)
            finally:
                await web.close()

        return asyncio.run(run())


def search(options: argparse.Namespace, output: CommandOutput) -> int:
    async def use(web: Web) -> Found:
        return await web.search(options.query, before=options.before)

    found = _with_web(options, use)
    output.result({"results": [asdict(result) for result in found.results], "problem": found.problem})
    rows = [(r.rank, r.date or "", r.url, r.title) for r in found.results]
    output.table("Results", ("rank", "date", "url", "title"), rows)
    if found.problem:
        output.say(f"The search failed: {found.problem}.")
    return 1 if found.problem else 0


def read(options: argparse.Namespace, output: CommandOutput) -> int:
    async def use(web: Web) -> WebPage:
        return await web.read(options.url)

    page = _with_web(options, use)
    output.result(asdict(page))
    output.table("Page", ("url", "status", "detail"), [(page.final_url, page.status.value, page.detail)])
    if page.title:
        output.text(page.title)
    if page.text:
        shown = first_words(page.text, _SHOWN_WORDS)
        output.text(shown + (" ..." if len(shown) < len(page.text) else ""))
    return 0 if page.status is PageStatus.OK else 1
