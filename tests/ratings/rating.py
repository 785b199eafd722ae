"""What tests of raters share: samples, responses, and answers to every question; all of it is invented."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from hellofresh.core.editions import Frozen
from hellofresh.core.workspace import Workspace
from hellofresh.judging.people import OpenStudy, RaterAccess, SystemResponse, assign, open_study, page_folder
from hellofresh.judging.rubric import Rubric
from hellofresh.judging.study import StudySample
from hellofresh.judging.submitted import Step, SubmittedAnswers, SubmittedRating
from hellofresh.judging.table import StudyFiles

EDITION = Frozen("corrections", "1")
SYSTEMS = ("first", "second", "third")


def samples(count: int) -> list[StudySample]:
    return [StudySample(f"mp-{k}", f"Post {k} says that rivers flow uphill.") for k in range(count)]


def responses(count: int, texts: Mapping[tuple[str, str], str] | None = None) -> list[SystemResponse]:
    """A response of each system to each sample, with two links."""
    said = texts or {}
    return [
        SystemResponse(
            f"mp-{k}",
            system,
            said.get((f"mp-{k}", system), f"Rivers flow downhill, number {k}-{len(system)}."),
            (f"https://example.org/{k}", f"https://example.net/{k}"),
        )
        for k in range(count)
        for system in SYSTEMS
    ]


def study_files(folder: Path) -> StudyFiles:
    return StudyFiles(Workspace(folder), EDITION, "corrections")


def assigned(
    folder: Path, *, count: int = 6, raters: int = 2, **more
) -> tuple[StudyFiles, list[RaterAccess], OpenStudy]:
    """A study that nobody has begun to rate."""
    files = study_files(folder)
    texts = more.pop("texts", None)
    names = [f"Name {k}" for k in range(raters)]
    access = assign(files, samples(count), responses(count, texts), names, rubric="correction-13", **more)
    return files, access, open_study(page_folder(files))


def full_answers(rubric: Rubric, links: Sequence[str], *, overall: int = 7, comment: str = "") -> SubmittedAnswers:
    """The best answers to every question that is asked; for the overall one as given."""
    values: dict[str, int | None] = {}
    for criterion in rubric.criteria:
        if criterion.unit == "response" and rubric.asked(criterion, values):
            values[criterion.id] = criterion.limits[1]
    values[rubric.overall] = overall
    of_link = {criterion.id: criterion.limits[1] for criterion in rubric.criteria if criterion.unit == "link"}
    return SubmittedAnswers(values, {link: dict(of_link) for link in links}, comment)


def submission(response: str, answers: SubmittedAnswers, step: Step = Step.SUBMITTED) -> SubmittedRating:
    return SubmittedRating(step, response, answers, 42.0, "2026-11-22T10:00:00Z")
