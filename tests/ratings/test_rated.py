"""Systems whose responses were rated, on the board: by the one rule, by criterion and part, and by bridged people."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hellofresh.core.workspace import Workspace
from hellofresh.judging.comparison import LEAST_PEOPLE, LEAST_RATINGS, bridged_means
from hellofresh.judging.model_judge import keep_ratings
from hellofresh.judging.muse import MUSE_EDITION, import_muse, read_muse
from hellofresh.judging.people import SystemResponse
from hellofresh.judging.rubric import load_rubric
from hellofresh.judging.study import KEY, JudgeKind, RatedStudy, Rating, StudyFiles, read_responses, write_table
from hellofresh.releases.life.load import Release, load_release
from hellofresh.results.scoring.reveal import publish_results
from hellofresh.results.scoring.scores import score_quarter
from hellofresh.results.split.arrays import build_panel
from hellofresh.results.split.entries import Entry
from hellofresh.results.split.rated import rated_standings
from hellofresh.results.split.rated_entries import rated_names, scorable, study_of_responses
from hellofresh.results.standings import standings_of
from hellofresh.tasks import corrections, get_task
from hellofresh.tasks.outputs import Response
from tests.fakes import refused
from verifier.checks import verify_release

TASK = get_task("corrections")


def imported(study: Path, folder: Path) -> tuple[Workspace, RatedStudy, Release]:
    workspace = Workspace(folder)
    kept = import_muse(workspace, read_muse(study))
    return workspace, kept, load_release(workspace, MUSE_EDITION, TASK)


def entries_of_study(workspace: Workspace, release: Release) -> list[Entry]:
    return scorable(workspace, release, [])[0]


def test_what_was_rated_is_scored_as_itself_and_another_text_is_not(small_study: Path, tmp_path: Path) -> None:
    workspace, kept, release = imported(small_study, tmp_path)
    (muse,) = [entry for entry in entries_of_study(workspace, release) if entry.system == "muse"]
    (said,) = muse.outputs.values()
    names = {"muse": "a correction", "gpt-4": "team/new"}
    key = kept.key.with_columns(pl.col("system").replace(names), pl.col("same_as").replace(names))
    write_table(kept.files.key, KEY, key, mode=0o644)
    outputs = {"manual": {**said, "mp-1": Response(prompt="manual", text="Not rated.")}}
    run = replace(muse, system="a", team="HelloFresh", kind="language-model", regime="correction", origin="run-1",
                  outputs=outputs, numbers={})  # fmt: skip
    other = replace(muse, origin="team/new", numbers={})
    found, notes = scorable(workspace, release, [run, other])
    by_origin = {entry.origin: entry for entry in found}
    assert (by_origin["run-1"].team, by_origin["run-1"].settings) == ("HelloFresh", "")
    assert by_origin["run-1"].outputs["manual"].keys() == said.keys()
    assert by_origin["run-1"].numbers["manual"] == next(iter(muse.numbers.values()))
    assert notes == ["team/new is not scored on corrections: its responses have not been rated"]
    assert "muse-study@94662cc/team/new" in by_origin  # what was rated under this name had other texts
    variant = replace(run, settings="bound=note-high")
    assert rated_names(variant) == ("a correction", "a correction (bound=note-high)")


def test_a_release_has_only_posts_that_count_and_entries_hold_mean_ratings(small_study: Path, tmp_path: Path) -> None:
    workspace, kept, release = imported(small_study, tmp_path / "data")
    assert [sample.id for sample in release.samples] == [f"mp-160000000000000000{k}" for k in (1, 2, 3)]
    assert {sample.text for sample in release.samples} == {""}
    assert release.samples[0].date.year == 2022
    entries = {entry.system: entry for entry in entries_of_study(workspace, release)}
    assert set(entries) == {"muse", "laypeople-high", "gpt-4", "laypeople-average"}
    (outputs,) = entries["muse"].outputs.values()
    assert outputs["mp-1600000000000000003"].text.startswith("muse answers")
    (numbers,) = entries["muse"].numbers.values()
    assert numbers["overall"]["mp-1600000000000000003"] == (9.5, 1.0)
    assert len(next(iter(entries["gpt-4"].outputs.values()))) == 2
    kept.files.key.unlink()
    assert entries_of_study(workspace, release) == []  # without a closed study


def test_the_board_ranks_them_by_the_rule_for_everything_and_weighs_links(small_study: Path, tmp_path: Path) -> None:
    workspace, kept, release = imported(small_study, tmp_path / "data")
    panel = build_panel(workspace, MUSE_EDITION, TASK, tmp_path / "submissions")
    assert len(panel.samples) == 3
    places = {standing.origin.partition("/")[2]: standing.rank for standing in standings_of(panel).ranked}
    assert places == {"muse": 1, "laypeople-high": 2, "gpt-4": 3, "laypeople-average": 4}
    rows = {(row.criterion, row.part, row.system): row for row in rated_standings(kept, TASK, release.samples)}
    assert {system: rows["overall", "", system].rank for system in places} == places
    assert (rows["reachability", "", "muse"].mean, rows["reachability", "", "laypeople-high"].mean) == (1, 0)
    assert {part for _, part, _ in rows} == {"", "modality"}  # there is one domain only


@pytest.mark.integration
def test_the_released_study_ranks_four_systems_in_three_tie_groups(shared_data: Path, tmp_path: Path) -> None:
    packed = shared_data / "muse_study" / "muse-94662cc-data.tar.xz"
    _, kept, release = imported(packed, tmp_path / "data")
    assert len(release.samples) == 232
    rows = [row for row in rated_standings(kept, TASK, release.samples) if row.rank is not None]
    overall = [row for row in rows if row.criterion == "overall" and not row.part]
    assert [(row.system, row.tie_group) for row in overall] == [
        ("muse", 1), ("laypeople-high", 2), ("gpt-4", 2), ("laypeople-average", 3),
    ]  # fmt: skip
    assert overall[0].low < 8.15 < overall[0].high
    parts = {(row.part, row.value) for row in rows if row.part}
    assert len(parts) == 2 + 6
    assert all(np.isfinite(row.mean) for row in rows)


def test_scores_of_a_rated_release_follow_from_its_published_ratings(small_study: Path, tmp_path: Path) -> None:
    workspace, _, _ = imported(small_study, tmp_path / "data")
    scored = score_quarter(workspace, MUSE_EDITION, tmp_path / "submissions")
    publish_results(workspace, scored)
    checks = verify_release(workspace.release(MUSE_EDITION, "corrections"))
    assert [check for check in checks if not check.ok] == []
    assert {check.name for check in checks} >= {"ratings", "scores"}
    assert not any("scores of corrections" in what for check in checks for what in check.unchecked)
    (workspace.root / "releases" / str(MUSE_EDITION) / "ratings" / "corrections.parquet").unlink()
    assert not all(check.ok for check in verify_release(workspace.release(MUSE_EDITION, "corrections")))


def test_the_study_of_responses_is_that_of_people_or_made_anew(small_study: Path, tmp_path: Path) -> None:
    workspace, kept, release = imported(small_study, tmp_path / "data")
    said = [SystemResponse("p1", "one", "A text.", ("u", "u")), SystemResponse("p9", "one", "Of no sample.")]
    theirs = study_of_responses(workspace, release, said, {"p1": "P"}, corrections.RUBRIC)
    assert theirs.ratings.height == kept.ratings.height
    refused("other-rubric", study_of_responses, workspace, release, said, {"p1": "P"}, "proposal-5")
    fresh = Workspace(tmp_path / "fresh")
    made = study_of_responses(fresh, release, said, {"p1": "P"}, corrections.RUBRIC)
    (response,) = read_responses(made.files)
    assert (response.sample, response.text, response.sources) == ("p1", "A text.", ("u",))
    assert made.key.rows() == [(response.id, "p1", "one", "")]
    judged = {"sample": "p1", "response": response.id, "judge": "m", "kind": JudgeKind.MODEL, "criterion": "overall"}
    keep_ratings(made, "m", [Rating(value=3.0, **judged)])
    for text, left in (("A text.", 1), ("Another.", 0)):
        again = study_of_responses(fresh, release, [replace(said[0], text=text)], {"p1": "P"}, corrections.RUBRIC)
        assert again.ratings.height == left  # no rating goes over to another text
    for code, some in (("no-responses", said[1:]), ("duplicate-id", said[:1] * 2)):
        refused(code, study_of_responses, fresh, release, some, {"p1": "P"}, corrections.RUBRIC)
    other = Workspace(tmp_path / "rating")
    StudyFiles(other, MUSE_EDITION, TASK.name).private.mkdir(parents=True)
    refused("open-study", study_of_responses, other, release, said, {"p1": "P"}, corrections.RUBRIC)


# --- Means of what is helpful to people who disagree, in a study of people of two camps.


RUBRIC = load_rubric("correction-13")
OVERALL = RUBRIC.criterion(RUBRIC.overall)


def study(people: int, posts: int = 12) -> pl.DataFrame:
    """`loved` pleases most of one camp, which has three in five people; `bridging` most of both, less than all."""
    random, rows = np.random.default_rng(1), []
    for person in range(people):
        mine = person % 5 < 3
        for post in range(posts):
            for system, likes in (("loved", 0.97 if mine else 0.25), ("bridging", 0.66), ("neither", 0.3)):
                value = (9.0 if random.random() < likes else 1.0) + random.integers(0, 2)
                rows.append((f"p{post}", f"{system}-{post}", system, f"judge-{person:02d}", OVERALL.id, value, ""))
    columns = ["sample", "response", "system", "judge", "criterion", "value", "comment"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def test_what_both_camps_like_comes_before_what_the_larger_camp_loves() -> None:
    rated = study(40)
    plain = dict(rated.group_by("system").agg(pl.col("value").mean()).iter_rows())
    assert plain["loved"] > plain["bridging"] > plain["neither"]
    found = bridged_means(rated, OVERALL)
    assert found.missing == "" and (found.people, found.responses) == (40, 36)
    assert [item.system for item in found.systems] == ["bridging", "loved", "neither"]
    assert found.systems[0].mean.low > found.systems[1].mean.value
    shuffled = bridged_means(rated.sample(fraction=1, shuffle=True, seed=3), OVERALL)
    assert [item.mean.value for item in shuffled.systems] == pytest.approx(
        [item.mean.value for item in found.systems], abs=1e-6
    )


def test_small_studies_say_why_there_is_none() -> None:
    assert f"needs {LEAST_PEOPLE} people" in bridged_means(study(LEAST_PEOPLE - 1), OVERALL).missing
    few = study(40).filter(pl.col("judge").str.slice(-2).cast(pl.Int64) % 12 == pl.col("sample").str.slice(1).cast(int))
    assert f"{LEAST_RATINGS} ratings of a response; here are 40 people" in bridged_means(few, OVERALL).missing
    assert bridged_means(study(40).clear(), OVERALL).missing
