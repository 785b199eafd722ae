"""Reading the released study: its files, its marks, its faults, and every figure that was published of it."""

from __future__ import annotations

import tarfile
from pathlib import Path

import polars as pl
import pytest

from hellofresh.core.errors import DataError, SourceError
from hellofresh.core.workspace import Workspace
from hellofresh.judging import muse
from hellofresh.judging.comparison import (
    Form,
    agreement_by_criterion,
    compare_systems,
    criterion_agreement,
    of_systems,
    option_shares,
    system_means,
)
from hellofresh.judging.muse import MUSE_EDITION, MUSE_TASK, MuseStudy, import_muse, read_muse
from hellofresh.judging.rubric import load_rubric
from hellofresh.judging.study import StudyFiles, check_ratings, read_responses, read_samples, read_study
from tests.conftest import Cli

RUBRIC = load_rubric("correction-13")
MAIN_SYSTEMS = ("muse", "laypeople-high", "gpt-4", "laypeople-average")


def test_what_two_people_rated_counts_once_and_a_shared_response_for_both_systems(small_study: Path) -> None:
    study, overall = read_muse(small_study), RUBRIC.criterion("overall")
    weights = study.ratings.group_by("response", "link", "criterion").agg(pl.col("weight").sum())
    assert weights["weight"].unique().to_list() == [1]
    means = system_means(of_systems(study.ratings, study.key), overall, ["muse", "gpt-4"])
    assert [item.mean.value for item in means] == [(10 + 10 + 9.5) / 3, (6 + 5.5) / 2]
    (found,) = system_means(of_systems(study.ratings, study.key, shared=True), overall, ["gpt-4"])
    assert (found.posts, found.mean.value) == (3, (6 + 10 + 5.5) / 3)


def test_an_archive_is_read_like_its_folder(small_study: Path, tmp_path: Path) -> None:
    packed = tmp_path / "study.tar.xz"
    with tarfile.open(packed, "w:xz") as archive:
        archive.add(small_study, arcname=".")
    one, two = read_muse(small_study), read_muse(packed)
    assert one.ratings.equals(two.ratings)
    assert one.key.equals(two.key)
    assert (one.posts, one.responses) == (two.posts, two.responses)


@pytest.mark.parametrize(
    ("file", "change", "code"),
    [
        ("Q9-overall_quality", lambda text: text.replace(",10,", ",11,"), "unknown-label"),
        ("Q9-overall_quality", lambda text: text.replace(",10,", ",ten,"), "unknown-label"),
        ("Q1-correction_explicitness", lambda text: text.replace("Explicit", "Plain"), "unknown-label"),
        ("Q1-correction_explicitness", lambda text: text.replace("username", "user"), "missing-columns"),
        ("responses_unimodal", lambda text: text.replace("note_1_text", "note"), "missing-columns"),
        ("Q9-overall_quality", lambda text: text.replace("note_1_text", "note"), "unknown-label"),
    ],
)
def test_a_file_of_another_form_is_named_with_the_fault(small_study: Path, file: str, change, code: str) -> None:
    path = small_study / "eval" / "data" / f"{file}.csv"
    path.write_text(change(path.read_text()))
    with pytest.raises(SourceError, check=lambda error: error.code == code):
        read_muse(small_study)


def test_a_missing_file_and_what_is_no_archive_are_refused(small_study: Path, tmp_path: Path) -> None:
    (small_study / "eval" / "data" / "Q3-text_relevance.csv").unlink()
    with pytest.raises(SourceError, match="Q3-text_relevance"):
        read_muse(small_study)
    (tmp_path / "x.tar").write_bytes(b"nothing")
    with pytest.raises(SourceError, match="not a readable archive"):
        read_muse(tmp_path / "x.tar")


def test_an_imported_study_reads_as_it_was_and_again_gives_the_same_bytes(small_study: Path, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "data")
    study = read_muse(small_study)
    kept = import_muse(workspace, study)
    back = read_study(StudyFiles(workspace, MUSE_EDITION, MUSE_TASK))
    assert back.ratings.sort(back.ratings.columns).equals(study.ratings.sort(study.ratings.columns))
    assert {item.id: item.text for item in read_responses(back.files)} == {i.id: i.text for i in study.responses}
    assert [sample.facts["modality"] for sample in read_samples(back.files)] == ["unimodal"] * 2 + ["multimodal"] * 2
    assert kept.main_systems == ["laypeople-average", "laypeople-high", "muse", "gpt-4"]
    files = sorted(path for path in workspace.root.rglob("*") if path.is_file())
    before = [path.read_bytes() for path in files]
    import_muse(workspace, study)
    assert [path.read_bytes() for path in files] == before


@pytest.mark.parametrize("form", ["honest", "published"])
def test_the_report_tests_the_best_system_within_each_part(small_study: Path, place: Path, cli: Cli, form: str) -> None:
    import_muse(Workspace(place / "data"), read_muse(small_study))
    said = cli("rate", "report", "--edition", str(MUSE_EDITION), "--p-values", form)
    assert "muse against the others by modality: p by Mann-Whitney" in said
    assert sum(line.startswith(("unimodal ", "multimodal ")) for line in cli.out.splitlines()) >= 3


BROKEN = (
    ("criterion", "beauty", "does not have"),
    *(("value", value, "scale") for value in (11.0, 2.5, float("nan"))),
    ("link", "https://example.org", "link"),
    ("kind", "oracle", "kind"),
    ("phase", "later", "phase"),
    ("weight", 0.0, "weight"),
    ("sample", "cor-none", "two samples"),
)


def test_a_rating_that_breaks_the_rubric_is_named(small_study: Path) -> None:
    ratings = read_muse(small_study).ratings
    first = pl.int_range(pl.len()) == ratings["criterion"].to_list().index("overall")
    for column, value, says in BROKEN:
        changed = ratings.with_columns(pl.when(first).then(pl.lit(value)).otherwise(pl.col(column)).alias(column))
        with pytest.raises(DataError, match=says):
            check_ratings(changed, RUBRIC, where="here")
    with pytest.raises(DataError, match="twice"):
        check_ratings(pl.concat([ratings, ratings.head(1)]), RUBRIC, where="here")


@pytest.fixture(scope="module")
def released(shared_data: Path) -> MuseStudy:
    return read_muse(shared_data / "muse_study" / "muse-94662cc-data.tar.xz")


@pytest.mark.integration
def test_the_released_study_gives_the_published_means(released: MuseStudy) -> None:
    assert (len(released.posts), len(released.responses)) == (247, 1_062)
    rated = of_systems(released.ratings, released.key)
    means = system_means(rated, RUBRIC.criterion("overall"), MAIN_SYSTEMS)
    assert [f"{item.mean.value:.2f}" for item in means] == ["8.15", "6.27", "5.94", "5.18"]
    assert [f"{item.mean.spread:.2f}" for item in means] == ["1.99", "1.98", "2.70", "2.07"]
    assert [item.posts for item in means] == [232, 232, 228, 230]


@pytest.mark.integration
def test_the_released_study_gives_the_published_kappas(released: MuseStudy) -> None:
    names = ("overall", "informativeness", "comprehensiveness", "text-relevance", "accuracy", "explicitness")
    names += ("reachability", "credibility")
    found = {item.criterion.id: item.agreement for item in agreement_by_criterion(released.ratings, RUBRIC)}
    published = [0.51, 0.50, 0.46, 0.41, 0.40, 0.34, 0.79, 0.31]
    assert [found[name].mean for name in names] == pytest.approx(published, abs=0.005)
    assert {len(found[name].by_pair) for name in names} == {5}


@pytest.mark.integration
def test_credibility_falls_to_29_only_if_unknown_publishers_stand_below_bad_ones(
    shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """.31 is published: with the two low levels as one, or with known bad publishers as the lowest."""
    criterion = RUBRIC.criterion("credibility")
    five = criterion.model_copy(update={"options": (criterion.options[0], *criterion.options)})
    file, (_, *others) = muse._QUESTIONS["credibility"]
    found = []
    for low in (("Low Not Informed", "Low Informed"), ("Low Informed", "Low Not Informed")):
        monkeypatch.setitem(muse._QUESTIONS, "credibility", (file, (*low, *others)))
        monkeypatch.setitem(muse._MORE_LABELS, "credibility", {"Cant Determine": None})
        ratings = read_muse(shared_data / "muse_study" / "muse-94662cc-data.tar.xz").ratings
        found.append(criterion_agreement(ratings.filter(pl.col("phase") == "main"), five).agreement.mean)
    assert found == pytest.approx([0.293, 0.314], abs=0.001)


@pytest.mark.integration
def test_the_released_study_gives_the_published_shares_within_two_points(released: MuseStudy) -> None:
    """Published: explicit 89; accurate 70, 55, 47, 37; factual 74, 59, 45; links not found 49."""
    rated = of_systems(released.ratings, released.key)

    def shares(criterion: str, value: int) -> list[float]:
        found = option_shares(rated, RUBRIC.criterion(criterion), MAIN_SYSTEMS)
        return [100 * item.share.value for item in found if item.value == value]

    assert shares("explicitness", 2)[0] == pytest.approx(89, abs=0.9)
    assert shares("accuracy", 4) == pytest.approx([70, 55, 47, 37], abs=1.4)
    assert shares("factuality", 4)[:3] == pytest.approx([74, 59, 45], abs=0.7)
    assert shares("reachability", 0)[2] == pytest.approx(49, abs=0.1)


@pytest.mark.integration
def test_the_released_study_gives_the_published_means_of_parts_within_a_tenth(released: MuseStudy) -> None:
    """Published: 8.4 (155 posts) and 7.5 (77); by domain 8.4, 8.5, 7.8, 7.7 and 8.1, the largest domain first."""
    rated = of_systems(released.ratings, released.key)

    def parts(name: str) -> list[tuple[int, float]]:
        of_sample = {post.sample: str(getattr(post, name)) for post in released.posts}
        found = system_means(rated, RUBRIC.criterion("overall"), ["muse"], of_sample)
        ordered = sorted(found, key=lambda item: (-item.posts, item.part))
        return [(item.posts, item.mean.value) for item in ordered if item.part != "Other"]

    modality, domains = parts("modality"), [mean for _, mean in parts("domain")]
    assert [posts for posts, _ in modality] == [155, 77]
    assert [mean for _, mean in modality] == pytest.approx([8.4, 7.5], abs=0.09)
    politics, crime, economy, social, health = domains
    assert [politics, economy, crime, social, health] == pytest.approx([8.4, 8.5, 7.8, 7.7, 8.1], abs=0.09)


@pytest.mark.integration
def test_published_p_values_come_from_rows_that_stand_twice_and_honest_ones_are_larger(released: MuseStudy) -> None:
    """Published: 3e-48, 4e-42, 5e-81; rows that stand twice give them within a factor of four."""
    rated, overall = of_systems(released.ratings, released.key), RUBRIC.criterion("overall")
    published = [item.ranks.p_value for item in compare_systems(rated, overall, MAIN_SYSTEMS, form=Form.PUBLISHED)[:3]]
    for found, said in zip(published, (3e-48, 4e-42, 5e-81), strict=True):
        assert said / 4 < found < said * 4
    honest = [item.ranks.p_value for item in compare_systems(rated, overall, MAIN_SYSTEMS)[:3]]
    assert [f"{value:.0e}" for value in honest] == ["4e-26", "1e-22", "6e-43"]
    by_rater = [item.difference for item in compare_systems(rated, overall, MAIN_SYSTEMS)[:3]]
    assert [f"{item.value:+.2f} [{item.low:.2f}, {item.high:.2f}]" for item in by_rater] == [
        "+1.87 [0.84, 2.91]", "+2.26 [1.61, 2.91]", "+2.99 [1.72, 4.26]",
    ]  # fmt: skip
    assert all(item.second_clusters == 10 and item.p_value > 1e-7 for item in by_rater)
