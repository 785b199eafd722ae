"""How far a run is: a bar in a terminal, a line that changes in a notebook."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from typing import Protocol, TypeVar

from rich.console import Console
from rich.progress import Progress

from hellofresh.core.errors import RunError
from hellofresh.runs.runner import Tally

_EVERY_S = 0.25
_T = TypeVar("_T")


class _Handle(Protocol):
    """What a notebook gives for something that it shows."""

    def update(self, data: object, *, raw: bool) -> object: ...


@dataclass(slots=True)
class ShownProgress:
    """Keeps what a run says until it is drawn.

    Attributes:
        show: draws how many samples are done, of how many.
        remark: shows a sentence.
        draws_at_once: whether it is drawn as soon as there is news; else its owner draws, in another thread.
        stopped: whether the run is to end.
    """

    show: Callable[[int, int], None]
    remark: Callable[[str], None]
    draws_at_once: bool = False
    stopped: bool = False
    _far: tuple[int, int] = (0, 0)
    _said: list[str] = field(default_factory=list)

    def told(self, tally: Tally) -> None:
        """Hear how far the run is.

        Raises:
            RunError: if it is to end.
        """
        if self.stopped:
            raise RunError("the run was stopped", fix="The same call goes on with it.", code="stopped")
        self._far = tally.done, tally.samples
        self.draw(news=True)

    def say(self, text: str) -> None:
        """Hear a remark."""
        self._said.append(text)
        self.draw(news=True)

    def draw(self, *, news: bool = False) -> None:
        """Show the remarks and how far it is."""
        if news and not self.draws_at_once:
            return
        said, self._said = self._said, []
        for text in said:
            self.remark(text)
        self.show(*self._far)


@contextmanager
def shown_progress(title: str, *, hidden: bool) -> Iterator[ShownProgress]:
    """What shows the progress here.

    Args:
        title: what is done.
        hidden: show remarks only.
    """

    def plainly(text: str) -> None:
        Console().print(text, markup=False)

    if hidden:
        yield ShownProgress(lambda done, total: None, plainly)
    elif Console().is_jupyter:
        from IPython.display import display

        # IPython names no types here.
        handle: _Handle = display({"text/plain": title}, raw=True, display_id=True)  # type: ignore[no-untyped-call]

        def line(done: int, total: int) -> None:
            text = f"{title}: {done:,} of {total:,} samples"
            html = f'<progress value="{done}" max="{total or 1}"></progress> {escape(text)}'
            handle.update({"text/plain": text, "text/html": html}, raw=True)

        yield ShownProgress(line, plainly)
    else:
        with Progress(transient=True) as bar:
            task = bar.add_task(title, total=None)
            yield ShownProgress(
                lambda done, total: bar.update(task, completed=done, total=total or None), bar.console.print
            )


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
