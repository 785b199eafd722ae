"""An import is the same bytes everywhere, has the data set's own skew, and is scored as anybody would score it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from collectors.datasets import DATASETS, ImportRequest, StatementRow, get_dataset, import_dataset, task_of
from hellofresh.core.errors import ReleaseError, UnknownNameError, UsageError
from hellofresh.core.files import read_json, read_jsonl, sha256_file, sha256_text
from hellofresh.core.workspace import Workspace
from hellofresh.releases.life.load import load_release
from hellofresh.tasks import get_task
from tests.conftest import Cli
from tests.fakes import contents

LABELS = ["false"] * 6 + ["pants-fire"] * 2 + ["half-true", "true", "mostly-true", "barely-true"]
PART = ImportRequest(part=True)


def rows(folder: Path, count: int = 60, *, backwards: bool = False) -> Path:
    made = [
        {
            "example_id": number,
            "statement": f"The town of number {number} has {number % 7} bridges.",
            "french": f"La ville numéro {number} a {number % 7} ponts.",
            "date": f"October {1 + number % 28}, 2022",
            "label": LABELS[number % len(LABELS)],
            "possibility_label": "phi"[number % 3],
        }
        for number in range(count)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "rows.jsonl"
    ordered = made[::-1] if backwards else made
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ordered), encoding="utf-8")
    return path


def test_two_machines_import_the_same_bytes(tmp_path: Path) -> None:
    for place in ("a", "b"):
        import_dataset(Workspace(tmp_path / place), get_dataset("liar-new"), rows(tmp_path / f"rows {place}"), PART)
    assert contents(tmp_path / "a" / "releases") == contents(tmp_path / "b" / "releases")


def test_the_order_of_rows_changes_no_sample(tmp_path: Path) -> None:
    found = []
    for place, backwards in (("a", False), ("b", True)):
        path = rows(tmp_path / f"rows {place}", backwards=backwards)
        request = ImportRequest(part=True, size=20)
        done, _ = import_dataset(Workspace(tmp_path / place), get_dataset("liar-new"), path, request)
        found.append([sha256_file(done.folder / name) for name in ("samples.jsonl", "labels.jsonl")])
    assert found[0] == found[1]


def test_six_labels_become_two_and_stay_known(tmp_path: Path) -> None:
    done, _ = import_dataset(Workspace(tmp_path / "w"), get_dataset("liar-new"), rows(tmp_path), PART)
    assert (str(done.edition), done.labels) == ("liar-new@60", (45, 15))
    six, _ = import_dataset(
        Workspace(tmp_path / "w6"), get_dataset("liar-new"), rows(tmp_path), replace(PART, labels="six")
    )
    assert len(six.labels) == 6 and (sum(six.labels[:3]), sum(six.labels[3:])) == done.labels
    facts = list(read_jsonl(done.folder / "labels.jsonl"))
    assert Counter(row["original_label"] for row in facts) == Counter(LABELS[n % 12] for n in range(60))
    assert {row["possibility"] for row in facts} == {"possible", "hard", "impossible"}


def test_a_draw_records_its_seed_size_and_skew(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "w")
    request = ImportRequest(part=True, size=24, seed="other")
    done, _ = import_dataset(workspace, get_dataset("liar-new"), rows(tmp_path), request)
    parameters = read_json(done.folder / "manifest.json")["collection"]["parameters"]
    assert (parameters["size"], parameters["seed"]) == (24, "other")
    assert sum(parameters["samples_by_label"].values()) == 24 and sum(parameters["rows_by_label"].values()) == 60
    with pytest.raises(ReleaseError, match="a version is never rewritten"):
        import_dataset(workspace, get_dataset("liar-new"), rows(tmp_path), ImportRequest(part=True, size=24))
    again = import_dataset(workspace, get_dataset("liar-new"), rows(tmp_path), request)[0]
    assert again.skipped
    for size in (0, 61):
        with pytest.raises(UsageError, match=f"a sample of {size}"):
            import_dataset(workspace, get_dataset("liar-new"), rows(tmp_path), ImportRequest(part=True, size=size))
    one, _ = import_dataset(workspace, get_dataset("liar-new"), rows(tmp_path), ImportRequest(part=True, size=1))
    assert (str(one.edition), one.samples) == ("liar-new@1", 1)


GROUP = "topic " + "x" * 74


@pytest.mark.parametrize("texts", [True, False])
def test_rows_become_samples_with_safe_names_groups_and_days(texts: bool, tmp_path: Path) -> None:
    """Texts are there even if the licence withholds them, where the task has no form without texts."""
    known = {"group": GROUP, "day": date(2020, 5, 1), "speaker": "Ann", "context": "a fair"}
    found = [
        StatementRow(key="plain.7", statement="One Bridge.", label="true", **known),
        StatementRow(key="odd/key", statement="Two Bridges.", label="false", group=GROUP + "x"),
        StatementRow(key="third", statement="THREE Bridges.", label="false"),
    ]
    dataset = replace(get_dataset("liar-new"), read=lambda *_: iter(found), texts=texts)
    path = tmp_path / "any.jsonl"
    path.write_text("any")
    done, _ = import_dataset(Workspace(tmp_path / "w"), dataset, path, PART)
    samples = {row["statement"]: row for row in read_jsonl(done.folder / "samples.jsonl")}
    fields = ("id", "group", "date", "speaker", "context", "license", "edition")
    published = f"{dataset.published}T00:00:00Z"
    rest = (dataset.licence, "liar-new@3")
    assert {said: tuple(row[name] for name in fields) for said, row in samples.items()} == {
        "One Bridge.": ("ln-plain.7", GROUP, "2020-05-01T00:00:00Z", "Ann", "a fair", *rest),
        "Two Bridges.": (
            f"ln-{sha256_text('odd/key')[:16]}", f"topic {sha256_text(GROUP + 'x')[:16]}", published, "", "", *rest
        ),
        "THREE Bridges.": ("ln-third", f"statement {sha256_text('three bridges.')[:16]}", published, "", "", *rest),
    }  # fmt: skip


def test_french_is_a_version_of_its_own_with_the_same_samples(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "w")
    for language in ("", "fr"):
        import_dataset(workspace, get_dataset("liar-new"), rows(tmp_path), ImportRequest(part=True, language=language))
    released = dict(map(reversed, ((task, str(edition)) for edition, task in workspace.released())))
    assert set(released) == {"liar-new@60", "liar-new@60-fr"}
    (english, task), (french, _) = ((edition, get_task(name)) for edition, name in workspace.released())
    one, two = (load_release(workspace, edition, task).samples for edition in (english, french))
    assert [sample.id for sample in one] == [sample.id for sample in two]
    assert one[0].statement != two[0].statement  # type: ignore[attr-defined]


def test_every_data_set_has_its_tasks_and_no_label_without_a_class() -> None:
    for dataset in DATASETS.values():
        for name, classes in dataset.tasks.items():
            task = get_task(name)
            assert set(classes) <= set(dataset.labels) and set(classes.values()) == set(range(len(task.classes)))
            assert task.track == "statements" and task.headline.name == "macro_f1"
            assert dataset.texts == (task.public_type is None)
        assert task_of(dataset, "full").name == dataset.name
    with pytest.raises(UnknownNameError, match="labels= of averitec"):
        task_of(get_dataset("averitec"), "binary")


def test_the_commands_list_import_and_show(place: Path, cli: Cli) -> None:
    path = rows(place)
    assert "other-file" in cli("dataset", "import", "liar-new", path, code=1)
    assert cli.json("dataset", "import", "liar-new", path, "--part", "--sample", "12")["edition"] == "liar-new@12"
    assert "Licence: MIT" in cli.err
    imported = cli.json("dataset", "show", "liar-new")["imported"]
    assert imported == [{"edition": "liar-new@12", "task": "liar-new"}]
    assert {row["name"] for row in cli.json("dataset", "show")} == set(DATASETS)
    cli("dataset", "import", "liar-new", code=1)
    cli("dataset", "import", "nothing", code=2)
    cli("dataset", "import", "liar-new", path, "--set", "classes=2", code=2)
    cli("release", "verify")
