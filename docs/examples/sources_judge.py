"""A judge of another package (docs/extending.md)."""

from collections.abc import Iterator

from hellofresh.judging.study import JudgeKind, RatedStudy, Rating, RatingPhase, read_responses


def sources(study: RatedStudy) -> Iterator[Rating]:
    """Rates a response by the number of its sources."""
    criterion = study.rubric.criterion(study.rubric.overall)
    low, high = criterion.limits
    for item in read_responses(study.files):
        value = float(min(low + len(item.sources), high))
        yield Rating(
            sample=item.sample,
            response=item.id,
            link="",
            judge="sources",
            kind=JudgeKind.RULE,
            criterion=criterion.id,
            value=value,
            weight=1.0,
            phase=RatingPhase.MAIN,
            comment="",
            at="",
        )
