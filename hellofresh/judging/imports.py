"""Studies that others have rated, kept in the workspace and frozen as an edition."""

from __future__ import annotations

from datetime import date

from hellofresh.core.editions import ALL_ROWS, Frozen
from hellofresh.core.quarters import utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.judging.muse import MusePost, MuseStudy
from hellofresh.judging.rubric import parse_rubric, rubric_source
from hellofresh.judging.study import (
    BlindedResponse,
    RatedStudy,
    StudySample,
    write_responses,
    write_rubric,
    write_samples,
)
from hellofresh.judging.table import KEY, RATINGS, RatingPhase, StudyFiles, check_ratings, write_table
from hellofresh.releases import DatasetSource, freeze
from hellofresh.releases.candidates.rows import Collection
from hellofresh.tasks import corrections, get_task
from hellofresh.tasks.corrections import MisleadingPost
from hellofresh.tasks.samples import Candidate, Label

__all__ = ["MUSE_EDITION", "MUSE_RUBRIC", "MUSE_TASK", "import_muse"]

MUSE_EDITION = Frozen("muse-study", "94662cc")
"""The study at the commit of the authors' repository that released it."""
MUSE_TASK = corrections.TASK.name
MUSE_RUBRIC = corrections.RUBRIC
_SOURCE = DatasetSource(
    name="MUSE study (Zhou, Sharma, Zhang and Althoff 2024)",
    address="https://github.com/Social-Futures-Lab/MUSE, eval/data",
    published=date(2024, 3, 17),
    licence="Apache-2.0",
)


def import_muse(workspace: Workspace, study: MuseStudy, edition: Frozen = MUSE_EDITION) -> RatedStudy:
    """Keep the released study of MUSE in the workspace, in place of what was kept of it, and freeze its posts.

    Raises:
        DataError: if its ratings are not by the rubric.
        ReleaseError: if the edition is there with other posts.
    """
    files = StudyFiles(workspace, edition, MUSE_TASK)
    content = rubric_source(MUSE_RUBRIC)
    rubric = parse_rubric(content, where=MUSE_RUBRIC)
    check_ratings(study.ratings, rubric, where="the study")
    write_rubric(files, content)
    samples = (
        StudySample(
            id=post.sample,
            address=post.address,
            date=utc_text(post.date),
            facts={"modality": post.modality, "domain": post.domain, "leaning": post.leaning, "phase": post.phase},
        )
        for post in study.posts
    )
    write_samples(files, samples)
    responses = (
        BlindedResponse(id=item.id, sample=item.sample, text=item.text, sources=item.sources)
        for item in study.responses
    )
    write_responses(files, responses)
    write_table(files.key, KEY, study.key)
    write_table(files.ratings, RATINGS, study.ratings)
    posts = [_candidate(post, edition) for post in study.posts if post.phase is RatingPhase.MAIN]
    found = Collection.whole(posts, study.sources, unit="posts")
    freeze(workspace, edition, get_task(MUSE_TASK), found, _SOURCE)
    return RatedStudy(files, rubric, study.ratings, study.key)


def _candidate(post: MusePost, edition: Frozen) -> Candidate:
    sample = MisleadingPost(
        id=post.sample,
        task=MUSE_TASK,
        edition=str(edition),
        period=ALL_ROWS,
        date=post.date,
        group=f"x-{post.tweet}",
        license=_SOURCE.licence,
        post=post.tweet,
        address=post.address,
        text="",
        modality=post.modality,
        domain=post.domain,
        note_high=post.note_high,
        note_average=post.note_average,
    )
    return Candidate(sample, Label(sample.id, 0, {}))
