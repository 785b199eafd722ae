"""`hellofresh respond`: respond to one post, for fact-checkers."""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hellofresh.cli._output import CommandOutput, duration, known
from hellofresh.cli.evaluate import models_given
from hellofresh.core.clock import now
from hellofresh.core.errors import DataError, UsageError
from hellofresh.core.workspace import Workspace
from hellofresh.runs.evaluation import OPTIONS, given_values
from hellofresh.runs.respond import EMBEDDED, PostAsked, RespondedPost, asking, respond
from hellofresh.runs.trying import TryPage

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_MOST_BYTES = 20_000_000  # a picture of a phone; more would be a pipe that never ends
_FIRST_YEAR, _LAST_YEAR = 1900, 2199  # other years are slips of the keyboard
_HIGHEST_PORT = 65_535


def run(options: argparse.Namespace, output: CommandOutput) -> int:
    """Respond to a post, or open the page."""
    if options.serve:
        return _serve(options, output)
    post = PostAsked(options.text, _moment(options.date), tuple(map(_content, options.image)), options.by)
    asked = asking(**given_values(vars(options)) | models_given(options))
    with output.progress("respond") as bar:
        step = bar.line if sys.stderr.isatty() else lambda line: output.say(f"step: {line}")
        found = respond(Workspace.from_environment(), post, asked, step)
    output.result({**asdict(found), "folder": str(found.folder)})
    _print(found, output)
    return 0


def _moment(text: str | None) -> datetime:
    """The time of a post: the beginning of the given day, else the end of today.

    So the same command on the same day resumes its work.
    """
    if text is None:
        today = now().replace(hour=0, minute=0, second=0, microsecond=0)
        return today + timedelta(days=1, seconds=-1)
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{text[:40]!r} is not a date", expected="such as 2023-04-03 or 2023-04-03T14:05Z", code="bad-date"
        ) from None
    if found.tzinfo is None and not _DAY.fullmatch(text):
        raise UsageError(f"{text[:40]!r} has no time zone", expected="such as 2023-04-03T14:05Z", code="bad-date")
    if not _FIRST_YEAR <= found.year <= _LAST_YEAR:
        expected = f"a year from {_FIRST_YEAR} to {_LAST_YEAR}"
        raise UsageError(f"{text[:40]!r} is not a date of a post", expected=expected, code="bad-date")
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", where=str(path), code="missing-file") from None


def _print(found: RespondedPost, output: CommandOutput) -> None:
    for note in found.notes:
        output.text(f"note: {note}")
    output.text("")
    output.text(found.text or f"(no response: {found.status})")
    output.text("")
    _print_evidence(found, output)
    if found.pictures:
        output.table("Pictures", ("", "what it shows"), list(enumerate(found.pictures, start=1)))
    if found.queries:
        output.table("Searches", ("", "query"), list(enumerate(found.queries, start=1)))
    left_out = ", ".join(f"{number} {reason}" for reason, number in sorted(found.left_out.items()))
    output.text(f"Nothing after {found.until or 'any date'} was used. Results left out: {left_out or 'none'}.")
    if found.searches_failed:
        output.text(f"{found.searches_failed} of {len(found.queries)} searches failed.")
    if found.invented_links:
        output.text(f"{len(found.invented_links)} links that the model invented were removed.")
    output.text("")
    rows = []
    for use in found.steps:
        spent = f"{use.seconds:.1f}", known(use.tokens_in), known(use.tokens_out), known(use.cost_usd, ".4f")
        rows.append((use.step, use.role, use.model, use.requests, *spent))
    heads = ("step", "role", "model", "requests", "seconds", "tokens in", "tokens out", "USD")
    output.table("Time and cost by step", heads, rows)
    output.text(f"{duration(found.seconds)}, {known(found.cost_usd, '.4f')} USD. Everything is kept in {found.folder}")


def _print_evidence(found: RespondedPost, output: CommandOutput) -> None:
    if not found.evidence:
        output.text("No usable page said anything about it.")
        output.text("")
    for number, item in enumerate(found.evidence, start=1):
        output.text(f"[{number}] {item.title or item.url}")
        output.text(f"    {item.url}")
        linked = "linked" if item.linked else "not linked"
        output.text(f"    {item.published or 'undated'}, publisher of {item.priority or 'unknown'} priority, {linked}")
        for stance, quotes in item.quotes.items():
            for quote in quotes:
                output.text(f"    {stance.lower()}: {quote}")
        output.text("")


def _serve(options: argparse.Namespace, output: CommandOutput) -> int:
    """Serve the page until stopped, for this machine only."""
    port: int = options.port
    if not 0 < port <= _HIGHEST_PORT:
        raise UsageError(f"{port} is not a port", expected=f"a number from 1 to {_HIGHEST_PORT}", code="bad-port")
    if options.text or options.image or options.date or options.by:
        raise UsageError(
            "a post for the page",
            expected="--serve without --text, --image, --date and --by",
            fix="Write the post, its date and its pictures into the form of the page.",
            code="no-post-here",
        )
    page = TryPage(_passed_on(options), port, model=getattr(options, "model", EMBEDDED))
    site = page.site()
    site.run(
        lambda: output.say(
            f"The page Try is at {site.origin}/?token={page.token} until you press Ctrl+C. "
            "It asks models with your keys."
        )
    )
    return 0


def _passed_on(options: argparse.Namespace) -> list[str]:
    """The options on model and regime, for the command that the page runs."""
    words = [f"--base-url={options.base_url}"] if options.base_url else []
    for name, value in vars(options).items():
        if name in OPTIONS:
            words += [
                f"{OPTIONS[name].flag_of(name)}={item}" for item in (value if isinstance(value, list) else [value])
            ]
    return words
