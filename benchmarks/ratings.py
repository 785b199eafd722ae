"""50,000 ratings: time to load a study and to rank its systems overall.

25 systems, 400 posts, 10 raters in pairs, 14 criteria, partly rated: invented numbers. The target is under
5 seconds for loading, checking and ranking.
"""

from __future__ import annotations

import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from hellofresh.core.editions import ALL_ROWS, Frozen
from hellofresh.core.workspace import Workspace
from hellofresh.judging.rubric import rubric_source
from hellofresh.judging.study import (
    KEY,
    RATINGS,
    BlindedResponse,
    KeyRow,
    Rating,
    StudyFiles,
    read_study,
    with_weights,
    write_study,
)
from hellofresh.releases.candidates import Collection
from hellofresh.releases.draw.frozen import DatasetSource, freeze
from hellofresh.releases.life.load import load_release
from hellofresh.results.split.arrays import panel_of
from hellofresh.results.split.rated_entries import scorable
from hellofresh.results.standings import standings_of
from hellofresh.tasks import get_task
from hellofresh.tasks.corrections import MisleadingPost
from hellofresh.tasks.samples import Candidate, Label

SYSTEMS, POSTS, TARGET_S = 25, 400, 5.0
CRITERIA = ("overall", "explicitness", "factuality", "fluency", "coherence")
EDITION = Frozen("ratings", "50000")


def made(workspace: Workspace) -> int:
    """Write the study; returns its number of ratings."""
    random = np.random.default_rng(0)
    files, task = StudyFiles(workspace, EDITION, "corrections"), get_task("corrections")
    key = [KeyRow(f"r-{post}-{k}", f"mp-{post}", f"system-{k}", "") for post in range(POSTS) for k in range(SYSTEMS)]
    skill = random.normal(6, 1, SYSTEMS)
    overall = np.clip(np.round(random.normal(skill, 2, (POSTS, SYSTEMS))), 0, 10).ravel()
    ratings = [
        Rating(sample=row.sample, response=row.response, judge=f"rater-{(number // SYSTEMS) % 10}", kind="person",
               criterion=criterion, value=float(overall[number]) if criterion == "overall" else 1.0)
        for number, row in enumerate(key) for criterion in CRITERIA
    ]  # fmt: skip
    responses = (BlindedResponse(row.response, row.sample, "A text of some words.") for row in key)
    rated = with_weights(RATINGS.frame(ratings))
    write_study(files, rubric_source("correction-13"), (), responses, rated, KEY.frame(key))
    posts = [
        MisleadingPost(id=f"mp-{post}", task=task.name, edition=str(EDITION), period=ALL_ROWS,
                       date=datetime(2023, 1, 1, tzinfo=UTC), group=f"x-{post}", license="MIT", post=str(post),
                       address="", text="", modality="", domain="")
        for post in range(POSTS)
    ]  # fmt: skip
    found = Collection.whole([Candidate(post, Label(post.id, 0, {})) for post in posts], [])
    source = DatasetSource("invented", "nowhere", datetime(2023, 1, 1, tzinfo=UTC).date(), "MIT")
    freeze(workspace, EDITION, task, found, source)
    return len(ratings)


def main() -> None:
    """Print the time of each step."""
    with tempfile.TemporaryDirectory() as folder:
        workspace, task = Workspace(Path(folder)), get_task("corrections")
        count = made(workspace)
        start = time.perf_counter()
        read_study(StudyFiles(workspace, EDITION, task.name))
        loaded = time.perf_counter() - start
        release = load_release(workspace, EDITION, task)
        labels = {sample.id: Label(sample.id, 0, {}) for sample in release.samples}
        panel = panel_of(task, EDITION, release.samples, labels, scorable(workspace, release, [])[0])
        ranked = standings_of(panel).ranked
        total = time.perf_counter() - start
        print(
            f"{count:,} ratings of {SYSTEMS} systems: loaded and checked in {loaded:.2f} s, ranked after {total:.2f} s"
        )
        print(f"target: under {TARGET_S:g} s: {'met' if total < TARGET_S else 'MISSED'}; first: {ranked[0].origin}")


if __name__ == "__main__":
    main()
