"""How far a run is: a bar in a terminal, a line that changes in a notebook."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from html import escape
from typing import Protocol, TypeVar

from rich.console import Console
from rich.progress import Progress

from hellofresh.core.errors import RunError
from hellofresh.runs import Tally

__all__ = ["ShownProgress", "outside_loop", "shown_progress"]

_EVERY_S = 0.25
_T = TypeVar("_T")


class _Handle(Protocol):
    """What a notebook gives for something that it shows."""

    def update(self, data: object, *, raw: bool) -> object: ...


class ShownProgress:
    """Keeps what a run says until it is drawn.

    Attributes:
        title: of the bar.
        done, total: samples.
        draws_at_once: whether it is drawn as soon as it hears something; else its owner draws, in another thread.
        stopped: whether the run is to end.
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self.done, self.total = 0, 0
        self.draws_at_once = self.stopped = False
        self._said: list[str] = []

    def told(self, tally: Tally) -> None:
        """Hear how far the run is.

        Raises:
            RunError: if it is to end.
        """
        if self.stopped:
            raise RunError("the run was stopped", fix="The same call goes on with it.", code="stopped")
        self.done, self.total = tally.done, tally.samples
        self._heard()

    def say(self, text: str) -> None:
        """Hear a remark."""
        self._said.append(text)
        self._heard()

    def _heard(self) -> None:
        if self.draws_at_once:
            self.draw()

    def draw(self) -> None:
        """Show the remarks and how far it is."""
        said, self._said = self._said, []
        for text in said:
            self.show(text)

    def show(self, text: str) -> None:
        """Show a remark."""
        Console().print(text, markup=False)


class _Bar(ShownProgress):
    """A bar in a terminal."""

    def __init__(self, title: str, bar: Progress) -> None:
        super().__init__(title)
        self._bar, self._line = bar, bar.add_task(title, total=None)

    def draw(self) -> None:
        super().draw()
        self._bar.update(self._line, completed=self.done, total=self.total or None)

    def show(self, text: str) -> None:
        self._bar.console.print(text)


class _Line(ShownProgress):
    """A bar in a notebook; it needs no widgets."""

    def __init__(self, title: str, handle: _Handle) -> None:
        super().__init__(title)
        self._handle = handle

    def draw(self) -> None:
        super().draw()
        line = f"{self.title}: {self.done:,} of {self.total:,} samples"
        html = f'<progress value="{self.done}" max="{self.total or 1}"></progress> {escape(line)}'
        self._handle.update({"text/plain": line, "text/html": html}, raw=True)


@contextmanager
def shown_progress(title: str, *, hidden: bool) -> Iterator[ShownProgress]:
    """What shows the progress here.

    Args:
        title: what is done.
        hidden: show remarks only.
    """
    if hidden:
        yield ShownProgress(title)
    elif Console().is_jupyter:
        from IPython.display import display

        # IPython names no types here.
        handle = display({"text/plain": title}, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        yield _Line(title, handle)
    else:
        with Progress(transient=True) as bar:
            yield _Bar(title, bar)


def outside_loop(work: Callable[[], _T], bar: ShownProgress) -> _T:
    """Do what runs an event loop of its own; where one is running already, in a thread, while this one draws.

    Ctrl-C, or a notebook's "interrupt", stops the work at its next sample.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        bar.draws_at_once = True
        return work()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        try:
            while wait([future], timeout=_EVERY_S).not_done:
                bar.draw()
        except KeyboardInterrupt:
            bar.stopped = True
            raise
        bar.draw()
        return future.result()
