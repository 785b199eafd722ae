"""Frozen editions: all rows as they are, public labels, and versions that are never rewritten."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hellofresh.core.editions import ALL_ROWS, Frozen
from hellofresh.core.errors import ReleaseError, UsageError
from hellofresh.core.files import read_json, read_jsonl, write_jsonl
from hellofresh.core.quarters import PeriodKind
from hellofresh.core.workspace import Workspace
from hellofresh.releases.candidates import Collection, SourceFile
from hellofresh.releases.draw.frozen import DatasetSource, freeze
from hellofresh.releases.life.load import load_labels, load_release
from hellofresh.releases.life.manifest import read_manifest
from hellofresh.releases.life.phases import Phase, labels_are_public, phase_of
from hellofresh.releases.life.takedown import take_down
from hellofresh.submissions.check import check_time
from hellofresh.submissions.released import due_in
from hellofresh.tasks import TASKS, Task
from hellofresh.tasks.samples import Candidate, Label, Sample
from tests.fakes import contents, fails_with, refused
from verifier.checks import verify_release

EDITION = Frozen("rumours", "10")
NOW = datetime(2026, 11, 22, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rumour(Sample):
    """A short text that may be true."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BareRumour(Sample):
    """The same without its text."""

    length: int


def bare(rumour: Rumour) -> BareRumour:
    common = {name: getattr(rumour, name) for name in Sample.__dataclass_fields__}
    return BareRumour(**common, length=len(rumour.text))


TASK = Task(
    name="rumours", title="Rumours", question="Is it true?", classes=("false", "true", "unproven"), id_prefix="ru-",
    period_kind=PeriodKind.MONTH, cap=10, sample_type=Rumour, label_facts=("checks",),
    slots=lambda sample: {"text": sample.text}, text=lambda sample: sample.text,
    own_texts=lambda sample: (sample.text,), public_type=BareRumour, public=bare,
)  # fmt: skip
OPEN = DatasetSource("A list of rumours", "https://rumours.example/list", date(2021, 3, 4), "CC-BY-4.0")
CLOSED = replace(OPEN, texts=False)
FILE = SourceFile("rumours.csv", 120, "0" * 64)


def candidate(number: int, label: int, text: str = "") -> Candidate:
    rumour = Rumour(
        id=f"ru-{number}", task="rumours", edition="", period="", date=datetime(2020, 1, 1, tzinfo=UTC),
        group=f"g{number // 2}", license="CC-BY-4.0", text=text or f"Rumour {number} is going round.",
    )  # fmt: skip
    return Candidate(rumour, Label(rumour.id, label, {"checks": number}))


def rows(labels: Sequence[int]) -> list[Candidate]:
    return [candidate(number, label) for number, label in enumerate(labels)]


SKEWED = rows([0] * 7 + [1] * 2 + [2])


def put(place: Path, candidates: Sequence[Candidate], source: DatasetSource = OPEN, edition: Frozen = EDITION) -> Path:
    return freeze(Workspace(place), edition, TASK, Collection.whole(candidates, [FILE]), source).folder


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(st.lists(st.integers(0, 2), min_size=1, max_size=30), st.randoms())
def test_all_rows_are_kept_with_their_skew_and_labels_are_public_at_once(tmp_path_factory, labels, random) -> None:
    workspace = Workspace(tmp_path_factory.mktemp("data"))
    candidates = rows(labels)
    put(workspace.root, random.sample(candidates, len(candidates)))
    release = load_release(workspace, EDITION, TASK)
    assert [sample.id for sample in release.samples] == sorted(item.sample.id for item in candidates)
    assert {sample.period for sample in release.samples} == {ALL_ROWS}
    assert {sample.edition for sample in release.samples} == {"rumours@10"}
    found = load_labels(workspace, EDITION, TASK)
    assert {key: label.label for key, label in found.items()} == {i.label.id: i.label.label for i in candidates}
    assert {key: label.facts for key, label in found.items()} == {i.label.id: i.label.facts for i in candidates}
    assert labels_are_public(workspace, EDITION, "rumours")
    assert phase_of(workspace, EDITION, TASK, NOW) is Phase.REVEALED
    dataset = read_manifest(release_folder(workspace)).dataset
    assert dataset is not None and dataset.labels == tuple(labels.count(number) for number in range(3))


def release_folder(workspace: Workspace) -> Path:
    return workspace.release(EDITION, "rumours")


def test_there_is_no_quarter_calendar_escrow_or_balance(tmp_path: Path) -> None:
    folder = put(tmp_path, SKEWED)
    manifest = read_json(folder / "manifest.json")
    assert not {"calendar", "selection", "draw", "quarter", "commitments"} & manifest.keys()
    assert sorted(path.name for path in folder.iterdir()) == ["labels.jsonl", "manifest.json", "samples.jsonl"]
    assert not (tmp_path / "private").exists()
    with pytest.raises(UsageError, match="rumours@10 has no calendar"):
        load_release(Workspace(tmp_path), EDITION, TASK).days  # noqa: B018


def test_the_same_content_again_changes_nothing_in_whatever_order_it_comes(tmp_path: Path) -> None:
    before = contents(put(tmp_path, SKEWED))
    again = freeze(Workspace(tmp_path), EDITION, TASK, Collection.whole(SKEWED[::-1], []), replace(OPEN, name="x"))
    assert again.skipped
    assert contents(again.folder) == before


@pytest.mark.parametrize(
    "other",
    [SKEWED[:-1], [*SKEWED[:-1], candidate(9, 1)], [*SKEWED[:-1], candidate(9, 2, "Other words.")],
     [*SKEWED, candidate(10, 0)]],
    ids=["row gone", "other label", "other text", "more rows"],
)  # fmt: skip
def test_other_content_under_the_same_version_is_refused_and_nothing_is_written(tmp_path: Path, other) -> None:
    before = contents(put(tmp_path, SKEWED))
    with fails_with("other-content", "a version is never rewritten"):
        put(tmp_path, other)
    assert contents(release_folder(Workspace(tmp_path))) == before


def test_what_a_stopped_process_left_is_written_anew(tmp_path: Path) -> None:
    folder = put(tmp_path, SKEWED)
    before = contents(folder)
    (folder / "manifest.json").unlink()
    (folder / "labels.jsonl").write_text("{}\n")
    put(tmp_path, SKEWED)
    assert contents(folder) == before


def test_withheld_texts_stay_here_and_another_machine_fills_them_in_from_its_own_copy(tmp_path: Path) -> None:
    folder = put(tmp_path / "one", SKEWED, CLOSED)
    assert b"going round" not in b"".join(contents(folder).values())
    for name, content in contents(folder).items():
        path = release_folder(Workspace(tmp_path / "two")) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    other = Workspace(tmp_path / "two")
    assert len(load_release(other, EDITION, TASK).without_texts) == 10
    put(other.root, SKEWED, CLOSED)
    assert not load_release(other, EDITION, TASK).without_texts
    assert contents(release_folder(other)) == contents(folder)
    private = other.private(EDITION, "rumours") / "samples.jsonl"
    assert private.stat().st_mode & 0o777 == 0o600


def test_a_task_without_a_form_without_texts_cannot_withhold_them(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="public_type"):
        freeze(Workspace(tmp_path), EDITION, replace(TASK, public_type=None), Collection.whole(SKEWED, []), CLOSED)
    assert not (tmp_path / "releases").exists()


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        ([], "empty-release"),
        ([candidate(1, 0), candidate(1, 0)], "duplicate-id"),
        ([candidate(1, 3)], "bad-label"),
        ([candidate(1, -1)], "bad-label"),
        ([replace(candidate(1, 0), label=Label("ru-2", 0, {}))], "bad-sample"),
        ([replace(candidate(1, 0), sample=replace(candidate(1, 0).sample, task="x-notes"))], "bad-sample"),
        ([replace(candidate(1, 0), sample=replace(candidate(1, 0).sample, id="../1"))], "bad-sample"),
    ],
)
def test_rows_that_are_not_the_tasks_are_refused_and_nothing_is_written(tmp_path: Path, bad, code: str) -> None:
    refused(code, put, tmp_path, bad)
    assert not (tmp_path / "releases").exists()


@pytest.mark.parametrize("name", ["samples.jsonl", "labels.jsonl"])
def test_a_changed_file_is_found(tmp_path: Path, name: str) -> None:
    folder = put(tmp_path, SKEWED)
    write_jsonl(folder / name, list(read_jsonl(folder / name))[1:])
    read = load_release if name == "samples.jsonl" else load_labels
    with pytest.raises(ReleaseError, match="not the one in the manifest"):
        read(Workspace(tmp_path), EDITION, TASK)


@pytest.mark.usefixtures("known")
def test_predictions_are_taken_at_any_time(tmp_path: Path) -> None:
    put(tmp_path, SKEWED)
    due = due_in(Workspace(tmp_path), EDITION)
    assert due.deadline is None
    for moment in (datetime(1990, 1, 1, tzinfo=UTC), NOW, datetime(2090, 1, 1, tzinfo=UTC)):
        assert due.takes(moment)
        check_time(due, ["rumours"], moment)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The task as one of the benchmark's."""
    monkeypatch.setitem(TASKS, "rumours", TASK)


def faults(folder: Path) -> list[str]:
    return [fault for check in verify_release(folder) for fault in check.faults]


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("source", [OPEN, CLOSED], ids=["with texts", "without texts"])
def test_a_release_is_verified_with_its_content_hash_also_after_a_takedown(tmp_path: Path, source) -> None:
    folder = put(tmp_path, SKEWED, source)
    assert faults(folder) == []
    take_down(Workspace(tmp_path), EDITION, TASK, {"ru-3": "Its author asked."}, NOW)
    assert faults(folder) == []
    assert len(load_release(Workspace(tmp_path), EDITION, TASK).samples) == 9
    assert put(tmp_path, SKEWED, source) == folder  # the same content still, and what was taken down stays so
    assert len(load_release(Workspace(tmp_path), EDITION, TASK).samples) == 9
