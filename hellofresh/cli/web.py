"""`hellofresh web`: search and read as the web-search regime does, to try settings out."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TypeVar

from hellofresh.cli._arguments import Subparsers, add_command
from hellofresh.cli._output import Output
from hellofresh.config import Settings
from hellofresh.web import Found, Page, PageStatus, Web, first_words, open_web

__all__ = ["register"]

_SHOWN_WORDS = 300
T = TypeVar("T")


def register(nouns: Subparsers) -> None:
    """Add the commands."""
    about = "Search and read pages as regimes do; [web] in hellofresh.toml says how."
    verbs = nouns.add_parser("web", help="search and read pages as regimes do", description=about).add_subparsers(
        title="commands", metavar="COMMAND", required=True
    )
    search = add_command(verbs, "search", "Search with the configured provider.", _search)
    search.add_argument("query", help="what to look for")
    search.add_argument("--before", type=_day, metavar="DAY", help="only what was there before, such as 2023-04-03")
    read = add_command(verbs, "read", "Fetch a page and print its main text.", _read)
    read.add_argument("url", help="address of the page")
    for parser in (search, read):
        parser.add_argument("--keep", type=Path, metavar="DIR", help="keep what comes back in DIR, as a run does")
        parser.add_argument("--replay", action="store_true", help="use only what is kept, and no network")


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no day, expected one such as 2023-04-03") from None


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


def _search(options: argparse.Namespace, output: Output) -> int:
    async def use(web: Web) -> Found:
        return await web.search(options.query, before=options.before)

    found = _with_web(options, use)
    output.result({"results": [asdict(result) for result in found.results], "problem": found.problem})
    rows = [(r.rank, r.date or "", r.url, r.title) for r in found.results]
    output.table("Results", ("rank", "date", "url", "title"), rows)
    if found.problem:
        output.say(f"The search failed: {found.problem}.")
    return 1 if found.problem else 0


def _read(options: argparse.Namespace, output: Output) -> int:
    async def use(web: Web) -> Page:
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
