"""Models, rules and classifiers that judge: blinded, never asked twice, and caught where something sways them."""

from __future__ import annotations

import json
import re
import runpy
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hellofresh.cli import main
from hellofresh.core import plugins
from hellofresh.core.errors import DataError, RunError, UsageError
from hellofresh.core.files import sha256_text, write_jsonl
from hellofresh.core.workspace import Workspace
from hellofresh.judging import model_judge
from hellofresh.judging.comparison import counted_values
from hellofresh.judging.judges import (
    RANKS_FROM,
    classify_study,
    judge_biases,
    judge_quality,
    known_judges,
    powered_means,
)
from hellofresh.judging.model_judge import (
    JudgeSettings,
    Judging,
    JudgingReport,
    _kept_object,
    _value,
    foresee_judging,
    judge_study,
    judgings,
    keep_ratings,
    read_pairs,
    without_text,
)
from hellofresh.judging.muse import MUSE_EDITION, import_muse, read_muse
from hellofresh.judging.rubric import load_rubric
from hellofresh.judging.study import (
    SMOKE_TEST,
    JudgeKind,
    RatedStudy,
    Rating,
    StudyFiles,
    read_responses,
    read_samples,
    read_study,
)
from hellofresh.models import Answer, CallError, Finish, Limits, ModelSpec, Price, Request
from hellofresh.runs.pace import Patience
from hellofresh.tasks.samples import to_json
from tests.conftest import Cli
from tests.fakes import FakeModel

RUBRIC = load_rubric("correction-13")
SPEC = ModelSpec(
    name="a-judge", kind="language-model", about="", parameters={"version": 1}, limits=Limits(in_flight=4), free=True
)


@pytest.fixture
def bare(small_study: Path, tmp_path: Path) -> RatedStudy:
    """The study as it was released: without the texts of posts."""
    return import_muse(Workspace(tmp_path / "data"), read_muse(small_study))


@pytest.fixture
def study(bare: RatedStudy) -> RatedStudy:
    return with_texts(bare, [item.id for item in read_samples(bare.files)])


def as_kept(study: RatedStudy) -> RatedStudy:
    return read_study(study.files)


def with_texts(study: RatedStudy, posts: list[str]) -> RatedStudy:
    """The study with texts of these posts."""
    rows = [
        to_json(replace(item, text=f"Post {item.id}." if item.id in posts else ""))
        for item in read_samples(study.files)
    ]
    write_jsonl(study.files.ratings.with_name("corrections.samples.jsonl"), rows)
    return study


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[..., FakeModel]:
    """Makes the catalogue give a model that says what a function makes of a question, as often as it is told."""

    def give(say: Callable[[str], str], spec: ModelSpec = SPEC, answers: int = 99) -> FakeModel:
        def ask(request: Request) -> Answer:
            if len(model.asked) > answers:
                raise CallError("gone", status=401)
            return Answer(say(request.messages[-1].text), Finish.STOP, tokens_in=100, tokens_out=10)

        model = FakeModel(spec, ask)
        monkeypatch.setattr(model_judge, "open_model", lambda *_: model)
        return model

    return give


def judged(study: RatedStudy, name: str = "a-judge", mode: str = "together", **more: object) -> JudgingReport:
    return judge_study(Judging(study, name, JudgeSettings(mode=mode), **more), lambda _: None)


def place(question: str) -> int:
    """Which of the four systems wrote the response that is shown, by its words."""
    names = ("muse answers", "laypeople-high answers", "gpt-4 answers", "laypeople-average answers")
    return next(number for number, name in enumerate(names) if name in question)


def full(question: str) -> str:
    """Values for all criteria; the overall one falls from the first system to the last."""
    values = {item.id: item.options[-1].id for item in RUBRIC.criteria if item.options and item.unit == "response"}
    return "Here you are: " + json.dumps({**values, "overall": 9 - 2 * place(question), "informativeness": 10})


def test_a_model_judges_every_response_once_and_its_ratings_join_those_of_people(study: RatedStudy, use) -> None:
    model = use(full)
    report = judged(study)
    assert (report.judged, report.failed, report.silent) == (11, 0, 0)
    assert len(model.asked) == 11
    again = as_kept(study)
    assert known_judges(again) == [("a-judge", "model")]
    assert again.ratings.filter(pl.col("kind") == "person").height == study.ratings.height
    values = again.ratings.filter(pl.col("kind") == "model", pl.col("criterion") == "overall")["value"]
    assert sorted(set(values)) == [3, 5, 7, 9]
    judged(again)
    assert len(model.asked) == 11  # nothing is asked twice
    assert as_kept(study).ratings.equals(again.ratings)


def test_a_judge_is_shown_no_system_and_criteria_by_chance_but_after_what_they_hang_on(study: RatedStudy, use) -> None:
    model = use(full)
    judged(study)
    orders, directions = set(), set()
    for request in model.asked:
        text = request.messages[-1].text
        assert "reachability" not in text
        assert not re.search("gpt-4|laypeople|muse", re.sub("(gpt-4|muse|laypeople-(high|average)) answers", "", text))
        order = re.findall(r"^- ([a-z-]+):", text, re.MULTILINE)
        assert order.index("identification") < order.index("accuracy") < order.index("informativeness")
        orders.add(tuple(order))
        directions.add("(Yes); not-toxic" in text)
    assert len(orders) > 5 and directions == {True, False}
    other = use(full, replace(SPEC, name="b-judge"))
    judged(study, "b-judge")
    assert sorted(r.messages[-1].text for r in other.asked) == sorted(r.messages[-1].text for r in model.asked)


def test_one_criterion_a_question_heeds_the_skip_rules(study: RatedStudy, use) -> None:
    def say(question: str) -> str:
        if "- identification:" in question:
            return "none"
        return "`7`" if "whole number" in question.rsplit("criterion.", maxsplit=1)[-1] else "maybe"

    model = use(say)
    report = judged(study, mode="single")
    texts = [request.messages[-1].text for request in model.asked]
    assert not any("- accuracy:" in text or "- informativeness:" in text for text in texts)
    assert report.silent == 0
    own = as_kept(study).ratings.filter(pl.col("judge") == "a-judge")
    said = dict(own.filter(pl.col("response") == own["response"][0]).select("criterion", "value").iter_rows())
    assert (said["overall"], said["identification"], said["accuracy"], said["explicitness"]) == (7, 0, None, None)
    assert all(set(request.choices) for request in model.asked)


@pytest.mark.parametrize("how", [foresee_judging, lambda judging: judge_study(judging, lambda _: None)])
def test_posts_without_texts_are_never_asked_about(bare: RatedStudy, use, how) -> None:
    model = use(full)
    with pytest.raises(UsageError, match="the texts of the 3 posts are missing"):
        how(Judging(bare, "a-judge"))
    how(Judging(with_texts(bare, ["mp-1600000000000000003"]), "a-judge"))
    assert all("Post mp-1600000000000000003." in item.messages[-1].text for item in model.asked)
    assert len(without_text(bare)) == 2 and len(model.asked) in (0, 4)


def test_an_unreadable_answer_is_missing_and_a_skipped_one_counts_as_the_rubric_says(study: RatedStudy, use) -> None:
    def say(question: str) -> str:
        skipped, unread = '"identification": "none"', '"identification": "perhaps"'
        return re.sub('"identification": "[a-z-]+"', skipped if place(question) == 0 else unread, full(question))

    use(say)
    report = judged(study)
    hanging = ("identification", "comprehensiveness", "accuracy", "informativeness")
    found = {name: report.unreadable[name] for name in hanging}
    assert found == dict.fromkeys(hanging, 8)  # of the responses that are not of the first system
    again = as_kept(study)
    quality = {item.criterion: item for item in judge_quality(again, "a-judge")}
    assert {(quality[name].responses, quality[name].unreadable) for name in hanging} == {(3, 8)}
    assert (quality["overall"].responses, quality["overall"].unreadable) == (11, 0)
    own = again.ratings.filter(pl.col("kind") == "model")
    assert set(counted_values(own, RUBRIC.criterion("accuracy"))["value"]) == {0}


def test_what_cannot_be_read_has_no_value(study: RatedStudy, use) -> None:
    use(lambda _: "I would rather not. {not json}")
    report = judged(study)
    assert report.silent == report.judged == report.unreadable["accuracy"] == 11
    own = as_kept(study).ratings.filter(pl.col("judge") == "a-judge")
    assert own["value"].null_count() == own.height > 0


@pytest.mark.parametrize(
    ("criterion", "said", "value"),
    [
        *(("explicitness", said, 2) for said in ("explicit", " Explicit ")),
        *(("explicitness", said, None) for said in ("2", 2)),
        *(("overall", said, 7) for said in (7, "7", 7.0)),
        *(("overall", said, None) for said in (7.5, 11, "seven", True, None, ["7"])),
    ],
)
def test_values_are_read_strictly(criterion: str, said: object, value: int | None) -> None:
    assert _value(RUBRIC.criterion(criterion), said) == value


@pytest.mark.parametrize("text", ["", "{", "}{", '{"a": 1', '{"a": NaN}', "[1]", '{"a": 1, "a": 2}', "{" * 5000])
def test_an_answer_that_is_no_object_holds_nothing(text: str) -> None:
    assert _kept_object(text) == {}


def test_an_interrupted_judging_goes_on_where_it_was(study: RatedStudy, use) -> None:
    use(full, answers=5)
    with pytest.raises(RunError):
        judged(study, patience=Patience(attempts=1, drain_s=0.1))
    model = use(full)
    report = judged(study)
    assert report.judged == 11
    assert len(model.asked) + report.tally.recalled == 11
    assert report.tally.recalled >= 1


def test_a_budget_ends_a_judging_and_a_dry_run_asks_nothing(study: RatedStudy, use) -> None:
    priced = replace(SPEC, free=False, price=Price(1000.0, 1000.0, "2026-01-01", "a test"))
    model = use(full, priced)
    ahead = foresee_judging(Judging(study, "a-judge"))
    assert (ahead.calls, model.asked) == (11, [])
    assert ahead.cost_usd > 0
    with pytest.raises(RunError, match="budget"):
        judged(study, budget_usd=0.9)
    use(full, replace(SPEC, free=False))
    with pytest.raises(UsageError, match="price is unknown"):
        judged(study, budget_usd=1)


def test_a_judge_that_is_swayed_by_position_is_caught_and_a_fair_one_is_not(study: RatedStudy, use) -> None:
    def fair(question: str) -> str:
        shown = [place(part) for part in re.split(r"text [23]\]", question)[1:3]]
        return "2" if shown[0] < shown[1] else "3"

    for name, say, caught in (("fair", fair, False), ("first", lambda _: "2", True)):
        use(say, replace(SPEC, name=name))
        judged(study, name, "pairs")
        (folder,) = judgings(study, name)
        pairs = read_pairs(folder)
        assert len(pairs) == 6 + 3 + 6
        position = judge_biases(study, name, {}, pairs=pairs).position
        assert (position.low > 0) is caught
        assert position.value == (0.5 if caught else 0)


def rated_study(study: RatedStudy, judge: str, score: Callable[[str, int, float], float]) -> RatedStudy:
    """The study with a judge whose overall score follows from system, words and people's score."""
    systems = dict(study.key.filter(pl.col("same_as") == "").select("response", "system").iter_rows())
    people = study.ratings.filter(
        pl.col("criterion") == "overall", pl.col("phase") == "main", pl.col("kind") == "person"
    )
    means = people.group_by("sample", "response").agg(pl.col("value").mean()).sort("response")
    words = {item.id: len(item.text.split()) for item in read_responses(study.files)}
    own = {"judge": judge, "kind": JudgeKind.MODEL, "criterion": "overall"}
    ratings = []
    for sample, name, mean in means.iter_rows():
        value = float(np.clip(round(score(systems[name], words[name], mean)), 0, 10))
        ratings.append(Rating(sample=sample, response=name, value=value, **own))
    keep_ratings(study, judge, ratings)
    return as_kept(study)


@pytest.fixture(scope="module")
def released(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> RatedStudy:
    packed = shared_data / "muse_study" / "muse-94662cc-data.tar.xz"
    return import_muse(Workspace(tmp_path_factory.mktemp("released")), read_muse(packed))


@pytest.mark.integration
def test_known_biases_are_caught_on_the_released_study_and_no_others(released: RatedStudy) -> None:
    words = {item.id: len(item.text.split()) for item in read_responses(released.files)}
    plain = rated_study(released, "plain", lambda _, __, people: people)
    found = judge_biases(plain, "plain", words, own_systems=["gpt-4"])
    assert abs(found.length.value) < 0.05  # what rounding makes of means of two
    assert abs(found.own.value) < 0.05
    long = rated_study(plain, "long", lambda _, count, people: people - 3 + 0.8 * np.log2(count))
    assert judge_biases(long, "long", words).length.low > 0.3
    proud = rated_study(long, "proud", lambda system, _, people: people + 1.5 * (system == "gpt-4"))
    assert judge_biases(proud, "proud", words, own_systems=["gpt-4"]).own.low > 0.7


def by_hash(text: str) -> float:
    """A number from -1 to 1 that follows from a text."""
    return int(sha256_text(text)[:8], 16) / 2**31 - 1


@pytest.mark.integration
def test_a_judge_may_rank_only_if_it_orders_pairs_as_people_do_beyond_length(released: RatedStudy) -> None:
    judges = {
        "good": lambda _, count, people: people + 2 * by_hash(f"{people} {count}"),
        "chance": lambda system, count, _: (count * 7 + len(system)) % 11,
        "counts words": lambda _, count, __: count / 15,
        "prefers brevity": lambda _, count, __: 10 - count / 15,
        "in three steps of length": lambda _, count, __: 2 + 3 * (count > 60) + 3 * (count > 110),
        "shifted by length": lambda _, count, people: 0.3 * people + 4 * np.log2(count) - 20,
    }
    study = released
    for name, score in judges.items():
        study = rated_study(study, name, score)
    quality = {name: judge_quality(study, name)[0] for name in judges}
    assert [name for name, item in quality.items() if item.ranks] == ["good"]
    counts = quality["counts words"]
    assert counts.accuracy.low > RANKS_FROM  # it would pass by that alone
    assert "no better than the longer" in counts.faults
    assert quality["in three steps of length"].faults and quality["shifted by length"].accuracy.low > RANKS_FROM
    assert quality["good"].kappa > quality["chance"].kappa and quality["chance"].accuracy.low < 0.55


@pytest.mark.integration
def test_people_on_a_third_and_a_good_judge_on_the_rest_give_what_people_give_on_all(released: RatedStudy) -> None:
    judged = rated_study(released, "near", lambda _, count, people: people + (count % 3) - 1)
    third = {name for number, name in enumerate(sorted(set(judged.ratings["sample"]))) if number % 3 == 0}
    part = judged.ratings.filter((pl.col("kind") != "person") | pl.col("sample").is_in(list(third)))
    found = powered_means(replace(judged, ratings=part), "near")
    whole = {"muse": 8.15, "laypeople-high": 6.27, "gpt-4": 5.94, "laypeople-average": 5.18}
    for system, mean in whole.items():
        assert found[system].low - 0.1 < mean < found[system].high + 0.1
        assert found[system].standard_error < 0.8 * found[system].classical_error


def test_a_classifier_never_learns_from_the_post_that_it_rates(
    study: RatedStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hellofresh.judging import judges

    monkeypatch.setattr(judges, "_LEAST", 3)
    texts = {item.text: item.sample for item in read_responses(study.files)}
    seen: list[tuple[set[str], set[str]]] = []

    class Remembering:
        def fit(self, known, values) -> None:
            self.posts = {texts[text] for text in known}
            assert len(values) == len(known)

        def predict(self, asked) -> np.ndarray:
            seen.append((self.posts, {texts[text] for text in asked}))
            return np.full(len(asked), 99.0)

    monkeypatch.setattr("sklearn.pipeline.make_pipeline", lambda *_: Remembering())
    ratings = list(classify_study(study))
    assert seen and all(known.isdisjoint(asked) for known, asked in seen)
    assert all(rating.value == RUBRIC.criterion(rating.criterion).limits[1] for rating in ratings)
    keep_ratings(study, SMOKE_TEST, ratings)
    again = as_kept(study)
    assert not any(item.ranks for item in judge_quality(again, SMOKE_TEST))


def test_too_few_ratings_teach_nothing(study: RatedStudy) -> None:
    with pytest.raises(DataError, match="fewer than 20"):
        list(classify_study(study))


def test_a_judge_cannot_take_the_place_of_a_person(study: RatedStudy) -> None:
    with pytest.raises(DataError, match="a rater has the name of the judge"):
        keep_ratings(study, "pair1-rater1", [])


GUIDE = Path(__file__).parents[2] / "docs" / "examples" / "sources_judge.py"


@pytest.fixture
def workspace(small_study: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A study, and the package of docs/examples that adds a judge."""
    found = {"sources": runpy.run_path(str(GUIDE))["sources"], "nobody": lambda _: []}

    def entry_points(group, name=None):
        names = [one for one in found if group == "hellofresh.judges" and name in (None, one)]
        return [EntryPoint(one, one, group) for one in names]

    monkeypatch.setattr(plugins, "entry_points", entry_points)
    monkeypatch.setattr(EntryPoint, "load", lambda self: found[self.value])
    return import_muse(Workspace(place / "data"), read_muse(small_study)).files.workspace


def test_a_judge_of_another_package_rates_beside_people(workspace: Workspace, cli: Cli) -> None:
    assert cli.json("judge", "--by", "sources") == {"judge": "sources", "ratings": 15, "without_value": 0}
    study = read_study(StudyFiles(workspace, MUSE_EDITION, "corrections"))
    assert {"sources", "pair1-rater1"} <= set(study.ratings["judge"])
    assert "sources (rule)" in cli("rate", "report", "--kind", "judges")


@pytest.mark.parametrize(
    ("name", "said"), [("sorces", "did you mean 'sources'"), ("nobody", "by 0 judges"), ("classifier", "fewer than 20")]
)
def test_what_cannot_judge_is_named(workspace: Workspace, capsys, name: str, said: str) -> None:
    before = read_study(StudyFiles(workspace, MUSE_EDITION, "corrections")).ratings
    assert main(["judge", "--by", name]) != 0
    assert said in capsys.readouterr().err.lower()
    assert read_study(StudyFiles(workspace, MUSE_EDITION, "corrections")).ratings.equals(before)
