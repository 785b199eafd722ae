"""Output of commands: results to standard output (tables, or JSON), everything else to standard error."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Column, Table
from rich.text import Text

from hellofresh.core.errors import HelloFreshError

if TYPE_CHECKING:
    from hellofresh.runs.runner import Tally


_FILE_WIDTH = 200  # a file has no width: tables that would be cut at a terminal's 80 characters stay whole
_LONG_S = 2.0
_REDRAW_S = 0.1  # faster than the eye reads, terminals over a network flicker
_LINE_S = 30.0  # a log needs a sign of life, not a line for each answer
_NUMBER = re.compile(r"(?:-|[0-9][0-9,.]*(?:/[0-9,]+)?(?: \[.*\])?)?\Z")


def readable(text: str) -> str:
    """The text with terminal control characters escaped; line breaks stay."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


class CommandOutput:
    """Prints tables and texts, to `file` if given, or, with `--json`, collects results and prints one JSON document."""

    def __init__(self, *, as_json: bool, file: TextIO | None = None) -> None:
        self.as_json = as_json
        # A file or a pipe has no limit of width.
        limited = file is None and sys.stdout.isatty()
        self._out = Console(file=file, highlight=False, width=None if limited else _FILE_WIDTH)
        self._err = Console(file=file, stderr=file is None, highlight=False, soft_wrap=True)
        self._results: list[object] = []

    @property
    def width(self) -> int:
        """Characters in a line of results."""
        return self._out.width

    def say(self, line: str) -> None:
        """Print a line about progress to standard error."""
        self._err.print(Text(readable(line)))

    def error(self, error: HelloFreshError) -> None:
        """Print an error: its message and its code."""
        self._err.print(
            Text("error: ", style="bold red").append(
                Text(readable(f"{error} [{error.code}]"), style="not bold default")
            )
        )

    def result(self, value: object) -> None:
        """Keep a result for `--json`."""
        self._results.append(value)

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Print a table, with columns of numbers right-aligned. Nothing with `--json`."""
        if self.as_json:
            return
        table = Table(title=escape(title), title_justify="left", box=None, pad_edge=False, title_style="bold")
        cells = [[_cell(value) for value in row] for row in rows]
        for number, name in enumerate(columns):
            numeric = bool(cells) and all(_NUMBER.match(row[number]) for row in cells)
            table.add_column(
                escape(name), justify="right" if numeric else "left", no_wrap=numeric or number == 0, header_style="dim"
            )
        for row in cells:
            table.add_row(*(escape(cell) for cell in row))
        self._out.print(table)
        self._out.print()

    def text(self, line: str) -> None:
        """Print a line of the results. Nothing with `--json`."""
        if not self.as_json:
            # The terminal wraps long lines itself, so that paths can be copied.
            self._out.print(Text(line), soft_wrap=True)

    def raw(self, text: str) -> None:
        """Print a text for another program unchanged. Nothing with `--json`."""
        if not self.as_json:
            sys.stdout.write(text)

    def flush(self) -> None:
        """Print the results of `--json`."""
        if self.as_json:
            value = self._results[0] if len(self._results) == 1 else self._results
            sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n")

    @contextmanager
    def progress(self, what: str) -> Iterator[ProgressBar]:
        """A progress bar on standard error, for work of over two seconds; occasional lines without a terminal."""
        columns = (
            TextColumn("{task.description}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
            BarColumn(bar_width=15),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        bar = Progress(*columns, console=self._err, transient=True, disable=not sys.stderr.isatty(), expand=True)
        shown = Timer(_LONG_S, bar.start)
        if not bar.disable:
            shown.start()
        try:
            yield ProgressBar(bar, what, self._err)
        finally:
            if not bar.disable:
                shown.cancel()
                shown.join()
            bar.stop()


class ProgressBar:
    """A progress bar for the duration of some work."""

    def __init__(self, progress: Progress, what: str, console: Console) -> None:
        self._progress, self._what, self._console = progress, what, console
        self._task = progress.add_task(escape(what), total=None)
        self._start = self._shown = self._said = time.monotonic()
        self._known: int | None = None
        self._wait = ""

    def line(self, text: str) -> None:
        """Show the current work."""
        self._progress.update(self._task, description=escape(text))

    def tally(self, tally: Tally) -> None:
        """Show a run's progress: rate, cost and time left; occasional lines if the output is not a terminal."""
        now = time.monotonic()
        last = tally.done == tally.samples
        if tally.waiting and tally.waiting != self._wait and self._progress.disable:
            self._console.print(Text(f"{self._what}: {tally.waiting}"))
        elif now - self._shown < _REDRAW_S and not last and not tally.waiting:
            return
        self._wait = tally.waiting
        self._shown = now
        rate = tally.asked / max(now - self._start, 1e-9)
        cost = f"{tally.cost_usd:.4f} USD" if tally.cost_usd else ""
        if tally.cost_usd is None:
            cost = f"cost unknown ({tally.tokens:,} tokens)"
        parts = [f"{rate:.1f} answers/s" if tally.asked else "", cost]
        parts += [f"{tally.failed} failed" if tally.failed else "", tally.waiting]
        about = ", ".join(part for part in parts if part)
        if not self._progress.disable:
            self._progress.update(
                self._task,
                description=escape(": ".join(filter(None, (about, self._what)))),  # a narrow terminal cuts the end
                completed=tally.done,
                total=tally.samples,
            )
        elif now - self._said >= _LINE_S:
            self._said = now
            left = (now - self._start) / max(tally.done, 1) * (tally.samples - tally.done)
            line = f"{self._what}: {tally.done:,} of {tally.samples:,}, {about}, about {duration(left)} left"
            self._console.print(Text(line))


def known(number: float | None, form: str = ",") -> str:
    """A formatted number, or `unknown`."""
    return "unknown" if number is None else format(number, form)


def interval(low: float, high: float, form: str = ".3f") -> str:
    """The formatted limits of an interval."""
    return f"[{low:{form}}, {high:{form}}]"


def estimate(value: float, low: float, high: float, form: str = ".3f") -> str:
    """A formatted value with its interval."""
    return f"{value:{form}} {interval(low, high, form)}"


def duration(seconds: float) -> str:
    """A formatted duration."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.3f}"
    return str(value)
