"""Shows messages and results of the pipeline on the console, or in one line per step."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from textwrap import fill

from hellofresh.cli._output import CommandOutput, ProgressBar
from hellofresh.runs.export import EvaluationReport
from hellofresh.tasks.samples import to_json

_NARROW, _BRIEF = 80, 69  # characters of a line on any terminal, and of a step's line before its seconds


@dataclass(frozen=True, slots=True)
class ConsoleShow:
    """Shows messages and results of the pipeline; see `hellofresh.pipeline.answering.Show`."""

    output: CommandOutput
    private: bool = False

    def say(self, line: str) -> None:
        self.output.say(line)

    def progress(self, what: str) -> AbstractContextManager[ProgressBar]:
        return self.output.progress(what)

    def step(self, what: str, seconds: float) -> None:
        """Nothing more: all messages of the step are shown."""

    def last(self, line: str) -> None:
        self.say(line)

    def published(self, made: object) -> None:
        if isinstance(made, EvaluationReport):
            self.output.result({**to_json(made), "folder": str(made.folder)})
            return
        from hellofresh.cli._show import show_made  # with what collects, draws and scores, which no evaluation needs

        show_made(self.output, made, private=self.private)


@dataclass(frozen=True, slots=True)
class BriefShow(ConsoleShow):
    """Shows one line per step, and bars on a terminal; everything else goes to a log."""

    log: ConsoleShow = field(kw_only=True)

    def progress(self, what: str) -> AbstractContextManager[ProgressBar]:
        return (self.output if sys.stderr.isatty() else self.log.output).progress(what)

    def say(self, line: str) -> None:
        self.log.say(line)

    def published(self, made: object) -> None:
        self.log.published(made)

    def step(self, what: str, seconds: float) -> None:
        self.output.say(f"{what[:_BRIEF]:{_BRIEF}} {seconds:6.1f} s")

    def last(self, line: str) -> None:
        self.output.say(fill(line, _NARROW, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))
