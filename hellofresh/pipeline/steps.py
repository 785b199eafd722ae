"""The steps that the command line carries out and shows as it does for the command of each."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from hellofresh.core.editions import Edition
from hellofresh.core.workspace import Workspace
from hellofresh.releases.candidates.collection import CollectionJob
from hellofresh.releases.draw.release import Built
from hellofresh.releases.publish import Publication
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.export import EvaluationReport
from hellofresh.tasks.samples import MAIN


class ProgressLine(Protocol):
    """Shows what is being done."""

    def line(self, text: str) -> None: ...


class Steps(Protocol):
    """How steps are carried out and shown.

    Attributes:
        workspace: where.
        submissions: folder of what others handed in.
    """

    @property
    def workspace(self) -> Workspace: ...
    @property
    def submissions(self) -> Path: ...

    def say(self, line: str) -> None:
        """A line about what goes on."""

    def progress(self, what: str) -> AbstractContextManager[ProgressLine]:
        """Show progress for as long as something takes."""
        ...

    def collect(self, job: CollectionJob) -> None:
        """Collect candidates."""

    def built(self, releases: Sequence[Built]) -> None:
        """Show releases that were built."""

    def evaluate(self, evaluation: Evaluation) -> EvaluationReport:
        """Ask a model."""
        ...

    def score(self, edition: Edition, split: str = MAIN) -> None:
        """Score a split of an edition, and publish what is public."""

    def analyse(self) -> None:
        """Make the analyses of all that is scored."""

    def published(self, publication: Publication) -> None:
        """Show what was published."""
