"""A study of what systems responded in runs, for judges that are no people.

Where people rated the same samples already, theirs is the study, and judges join it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from hellofresh.core.errors import DataError, UsageError
from hellofresh.core.files import sha256_text
from hellofresh.core.workspace import Workspace
from hellofresh.judging.people import SystemResponse
from hellofresh.judging.rubric import parse_rubric, rubric_source
from hellofresh.judging.study import (
    KEY,
    RATINGS,
    BlindedResponse,
    JudgeKind,
    KeyRow,
    RatedStudy,
    StudyFiles,
    StudySample,
    read_study,
    with_weights,
    write_study,
)
from hellofresh.releases.life.load import Release
from hellofresh.results.entries import Entry
from hellofresh.results.names import short_names
from hellofresh.tasks.outputs import Response, Status


def responses_of(entries: Sequence[Entry]) -> Iterator[SystemResponse]:
    """What each system responded with the prompt that stands for it; what is missing or was withheld is left out."""
    for entry, name in zip(entries, short_names(entries), strict=True):
        for sample, output in next(iter(entry.outputs.values()), {}).items():
            if isinstance(output, Response) and output.status is Status.ANSWERED and output.text:
                yield SystemResponse(sample, name, output.text, output.sources)


def study_of_responses(
    workspace: Workspace,
    release: Release,
    responses: Sequence[SystemResponse],
    texts: Mapping[str, str],
    rubric: str,
) -> RatedStudy:
    """The study of a release's responses, made anew unless people rated it; ratings of the same responses stay.

    Args:
        workspace: where studies are.
        release: what was responded to.
        responses: of systems.
        texts: of the samples, by id.
        rubric: name of the rubric.

    Raises:
        UsageError: if people are rating, or have rated by another rubric.
        DataError: if a response is missing, or two of one system to one sample.
    """
    files = StudyFiles(workspace, release.edition, release.task.name)
    content = rubric_source(rubric)
    parsed = parse_rubric(content, where=rubric)
    before = read_study(workspace, release.edition, release.task.name) if files.key.is_file() else None
    if before is not None and before.rubric.sha256 != parsed.sha256:
        raise UsageError(
            f"{release.edition} is rated by {before.rubric.name}", expected=parsed.name, code="other-rubric"
        )
    if before is not None and before.ratings.filter(pl.col("kind") == str(JudgeKind.PERSON)).height:
        return before
    if files.private.is_dir() and before is None:
        fix = "Close their study first: hellofresh rate close"
        raise UsageError("people are rating these samples", where=str(release.edition), fix=fix, code="open-study")
    known = [item for item in responses if item.sample in texts]
    if not known:
        raise DataError("no system has responded to these samples", where=str(release.edition), code="no-responses")
    if len({(item.sample, item.system) for item in known}) < len(known):
        raise DataError("two responses of one system to one sample", where=str(release.edition), code="duplicate-id")
    # An id changes with the text, so that no rating goes over to another text.
    hashes = (sha256_text("\0".join((item.sample, item.system, item.text))) for item in known)
    blinded = {f"r-{sha256[:16]}": item for sha256, item in zip(hashes, known, strict=True)}
    key = KEY.frame(KeyRow(name, item.sample, item.system, "") for name, item in blinded.items())
    kept = RATINGS.frame([]) if before is None else before.ratings.filter(pl.col("response").is_in(list(blinded)))
    samples = [StudySample(name, texts[name]) for name in {item.sample for item in known}]
    texts_of = [
        BlindedResponse(name, item.sample, item.text, tuple(dict.fromkeys(item.sources)))
        for name, item in blinded.items()
    ]
    write_study(files, content, samples, texts_of, with_weights(kept), key)
    return read_study(workspace, release.edition, release.task.name)
