"""An evaluation asks about the released samples, goes on where it stopped, and learns from earlier quarters only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

import pytest

from hellofresh.core.clock import now
from hellofresh.core.errors import HelloFreshError, UnknownNameError
from hellofresh.core.files import read_json, read_jsonl
from hellofresh.core.quarters import Quarter
from hellofresh.models import Answer, Finish, Limits, ModelSpec, Request
from hellofresh.releases.life.load import load_labels, load_release
from hellofresh.releases.life.state import reveal
from hellofresh.runs.evaluate import evaluate, resumed
from hellofresh.runs.evaluation import Evaluation, WebAccess
from hellofresh.runs.prepare import PreparedRun
from hellofresh.runs.record import read_outputs, read_record
from hellofresh.runs.regimes import BaseRegime, Case, Need, Outcome
from hellofresh.runs.regimes.registry import REGIMES
from hellofresh.runs.runner import Tally
from hellofresh.tasks import get_task
from hellofresh.tasks.outputs import Choice
from tests.fakes import FakeModel, catalogued, fails_with, fake_spec, refused
from tests.regimes.conftest import World


def version(number: int) -> ModelSpec:
    return fake_spec("parrot", parameters={"version": number}, limits=Limits(3), default_limit=4, smoke_test=True)


def asked(model: FakeModel) -> Counter[str]:
    return Counter(request.messages[0].text for request in model.asked)


@pytest.fixture
def parrot(monkeypatch) -> FakeModel:
    """A language model in the catalogue that says yes, no or hm by the length of its prompt."""

    def say(request: Request) -> Answer:
        return Answer(("Yes.", "No.", "Hm")[len(request.messages[0].text) % 3], Finish.STOP, 10, 1)

    return catalogued(monkeypatch, FakeModel(version(1), say))


@pytest.fixture
def workspace(make):
    make.release(make.notes(4, 4))
    return make.workspace()


@pytest.fixture
def judge(workspace, quarter, notes_task):
    def run(model: str, **options: object):
        return evaluate(workspace, Evaluation(quarter, notes_task, model, **options), progress)

    return run


def progress(_: Tally) -> None:
    """Nobody watches."""


def test_a_second_run_asks_nothing_and_gives_the_same_bytes(judge, parrot) -> None:
    def written(folder: Path) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix.startswith(".json")}

    first = judge("parrot")
    before, asked_before = written(first.folder), len(parrot.asked)
    assert judge("parrot").folder == first.folder
    assert (written(first.folder), len(parrot.asked)) == (before, asked_before)


def test_a_larger_limit_goes_on_with_the_same_run_and_a_smaller_one_loses_nothing(judge, parrot) -> None:
    first = judge("parrot", limit=3)
    more = judge("parrot", limit=10)
    assert more.run_id == first.run_id
    assert (more.judged, len(parrot.asked)) == (10, 50)
    less = judge("parrot", limit=2)
    assert (less.judged, len(parrot.asked)) == (10, 50)
    assert judge("parrot", limit=1000).judged == 24
    assert max(asked(parrot).values()) == 1


def test_a_part_is_balanced_by_public_labels_only_and_a_run_keeps_the_draw_that_it_began_with(
    make, workspace, quarter, notes_task, monkeypatch
) -> None:
    said: list[str] = []

    def drawn(limit: int, model: str = "always-yes") -> Counter[int]:
        done = evaluate(workspace, Evaluation(quarter, notes_task, model, limit=limit), progress, said.append)
        labels = load_labels(workspace, quarter, notes_task)
        return Counter(labels[row["id"]].label for row in read_jsonl(done.folder / "predictions.jsonl"))

    blind = [sample.id for sample in load_release(workspace, quarter, notes_task).first(7)]
    open_draw = drawn(7)
    assert "7 of 24 samples, drawn regardless of labels: classes may be uneven" in said
    labels = load_labels(workspace, quarter, notes_task)
    assert open_draw == Counter(labels[key].label for key in blind) and set(open_draw.values()) != {3, 4}
    assert reveal(workspace, quarter, notes_task, now())
    said.clear()
    for limit in range(1, 12):
        counts = drawn(limit, "coin")
        assert abs(counts[0] - counts[1]) <= 1 and counts.total() == limit
    assert not [note for note in said if "drawn" in note]
    assert drawn(7) == open_draw and drawn(9).total() == 9
    release = load_release(workspace, quarter, notes_task)
    skewed = {sample.id: number % 4 == 0 for number, sample in enumerate(release.samples)}
    ids = [sample.id for sample in release.first(None, skewed)]
    assert all(sum(skewed[key] for key in ids[:n]) in (n // 4, n // 4 + 1) for n in range(25))


def test_a_changed_parameter_starts_another_run(judge, parrot) -> None:
    first = judge("parrot")
    parrot.spec = version(2)
    second = judge("parrot")
    assert second.run_id != first.run_id
    assert set(asked(parrot).values()) == {2}


def test_unknown_names_and_limits_are_refused_before_anything_is_written(judge, workspace) -> None:
    for options in (
        {"model": "always-yess"},
        {"model": "coin", "regime": "no-such-regime"},
        {"model": "coin", "prompts": "x"},
    ):
        with pytest.raises(UnknownNameError):
            judge(**options)
    with fails_with("bad-limit"):
        judge("coin", limit=0)
    assert not workspace.runs.exists()


def training_of(make, notes_task, quarter: Quarter) -> str:
    done = evaluate(make.workspace(), Evaluation(quarter, notes_task, "tfidf-logreg"), progress)
    return read_json(done.folder / "run.json")["model"]["parameters"]["training"]


def test_the_regression_is_trained_on_earlier_quarters_of_the_same_kind_of_source_only(make, notes_task) -> None:
    def released(number: int, month: int) -> None:
        make.release(make.notes(3, 3, months=(month,)), quarter=Quarter(2023, number), source="dump")

    released(1, 2)
    released(2, 4)
    refused("no-training-labels", training_of, make, notes_task, Quarter(2023, 2))
    reveal(make.workspace(), Quarter(2023, 1), notes_task, datetime(2024, 1, 1, tzinfo=UTC))
    first = training_of(make, notes_task, Quarter(2023, 2))
    released(3, 7)
    assert training_of(make, notes_task, Quarter(2023, 2)) == first
    assert training_of(make, notes_task, Quarter(2023, 3)) == first
    reveal(make.workspace(), Quarter(2023, 2), notes_task, datetime(2024, 1, 1, tzinfo=UTC))
    assert training_of(make, notes_task, Quarter(2023, 3)) != first
    bundled = [make.candidate(make.note(n, date=datetime(2022, 11, 3, tzinfo=UTC)), n % 2) for n in range(4)]
    make.release(bundled, quarter=Quarter(2022, 4), source="bundled-sample")
    assert training_of(make, notes_task, Quarter(2023, 2)) == first


def test_a_new_run_beside_an_unfinished_one_says_what_has_changed(workspace, quarter, notes_task, parrot) -> None:
    told: list[str] = []

    def begin(**options: object) -> str:
        notes: list[str] = []
        run = evaluate(workspace, Evaluation(quarter, notes_task, "parrot", **options), progress, notes.append)
        assert notes[0] == "parrot: asked at this machine, nothing is sent away"
        told.extend(
            note for note in notes[1:] if "drawn regardless" not in note and "do not begin with one" not in note
        )
        return run.run_id

    first = begin(limit=1)
    begin(limit=2)
    parrot.spec = version(2)
    begin(limit=1)
    assert told == []  # the first one was finished
    (workspace.runs / first / "run.json").unlink()
    parrot.spec = version(3)
    begin(limit=1)
    begin(limit=1)
    (note,) = told
    assert first in note and "model.parameters.version was 1, is 3" in note


def test_a_run_of_an_earlier_version_of_its_regime_is_read_and_its_resumption_refused_clearly(
    workspace, quarter, notes_task, parrot, monkeypatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr("hellofresh.runs.regimes.zero_shot.ZeroShot.version", 1)
        first = evaluate(workspace, Evaluation(quarter, notes_task, "parrot", limit=1), progress)
    assert read_record(first.folder).regime.version == 1 and list(read_outputs(first.folder))
    with fails_with("run-changed", match=r"regime.version was 1, is 2.*nother version of the regime"):
        evaluate(workspace, resumed(workspace, first.run_id), progress)
    assert evaluate(workspace, Evaluation(quarter, notes_task, "parrot", limit=1), progress).run_id != first.run_id


@pytest.mark.parametrize(("problem", "unsearched"), [("HTTP 503", 6), ("", 0)])
def test_samples_whose_search_failed_are_counted(judge, parrot, problem: str, unsearched: int) -> None:
    web = WebAccess({}, lambda _: World(problem=problem))
    done = judge("parrot", regime="web-search", web=web, limit=3, repeat=2, temperature=0.0)
    assert (done.judged, done.unsearched) == (3, unsearched)
    assert judge("parrot", regime="web-search", web=web, limit=3, repeat=2, temperature=0.0).unsearched == unsearched


SEEN: list[Mapping[str, object]] = []


@dataclass(frozen=True, slots=True)
class Curious(BaseRegime):
    """Looks at facts, where it needs any."""

    needs: ClassVar[frozenset[Need]] = frozenset({Need.FACTS})
    name: str = "curious"
    prompts_from: str = field(default="zero-shot", init=False)

    def ceiling(self, prompts: int) -> int:
        return 0

    async def solve(self, case: Case) -> Outcome:
        SEEN.append(case.facts)
        return Outcome([Choice(prompt=prompt.id, label=1) for prompt in case.prompts])


@dataclass(frozen=True, slots=True)
class Modest(Curious):
    needs: ClassVar[frozenset[Need]] = frozenset()
    name: str = "modest"


@pytest.mark.parametrize(("regime", "public"), [(Curious(), True), (Curious(), False), (Modest(), True)])
def test_facts_come_only_to_whom_needs_them_and_only_once_labels_are_public(make, monkeypatch, regime, public) -> None:
    make.release(make.notes(2, 2))
    monkeypatch.setitem(REGIMES, regime.name, regime)
    SEEN.clear()
    task = get_task("x-notes")
    release = replace(load_release(make.workspace(), Quarter(2023, 2), task), revealed=public)
    asked = Evaluation(Quarter(2023, 2), task, "scripted", regime=regime.name)
    evaluate(make.workspace(), asked, lambda _: None, release=release)
    labels = load_labels(make.workspace(), Quarter(2023, 2), task)
    known = Need.FACTS in regime.needs and public
    assert len(SEEN) == len(labels)
    assert [bool(facts) for facts in SEEN] == [known] * len(SEEN)
    assert not known or sorted(map(repr, SEEN)) == sorted(repr(label.facts) for label in labels.values())


@pytest.mark.parametrize(("left", "code"), [(3, "fewer-samples"), (0, "no-samples")])
def test_a_finished_run_never_loses_samples(make, monkeypatch, left: int, code: str) -> None:
    make.release(make.notes(3, 3))
    asked = Evaluation(Quarter(2023, 2), get_task("x-notes"), "scripted")
    done = evaluate(make.workspace(), asked, lambda _: None)
    before = (done.folder / "predictions.jsonl").read_bytes()
    whole = PreparedRun.samples.fget
    monkeypatch.setattr(PreparedRun, "samples", property(lambda self: whole(self)[:left]))
    with pytest.raises(HelloFreshError) as error:
        evaluate(make.workspace(), asked, lambda _: None)
    assert error.value.code == code and (done.folder / "predictions.jsonl").read_bytes() == before
