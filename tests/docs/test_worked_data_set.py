"""docs/own-task.md: a task of 20 lines in another package goes from its file to the static copy."""

from __future__ import annotations

import csv
import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from collectors.datasets import DATASETS, register_dataset
from hellofresh.cli import main
from hellofresh.core.editions import Frozen
from hellofresh.core.errors import UsageError
from hellofresh.core.files import read_json, read_jsonl, write_jsonl
from hellofresh.core.workspace import Workspace
from hellofresh.submissions.released import due_in
from hellofresh.tasks import TASKS, register_task, statement_task
from leaderboard.data.uploads import load_dues
from verifier.checks import verify_release

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "own-task.md"
MODULE = "rumours"
VERDICTS = ["denied"] * 35 + ["open"] * 10 + ["confirmed"] * 5
CLASSES = {"denied": "false", "open": "unproven", "confirmed": "true"}
EDITION = Frozen("rumours", "50")
HERE = ("--edition", "rumours@50")
MODEL = """
[providers.lab]
kind = "openai-compatible"
base_url = "{base_url}"
key_variable = "LAB_KEY"

[models.lab-model]
provider = "lab"
model = "m"
knowledge_cutoff = 2026-01-31
price = {{ tokens_in = 1, tokens_out = 10, as_of = 2026-10-14, source = "a test" }}
"""


def blocks(language: str) -> list[str]:
    """The code of the page, in order."""
    return re.findall(rf"```{language}\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)


def install(folder: Path) -> None:
    """The example as an installed package with its entry points."""
    [code] = blocks("python")
    assert len([line for line in code.splitlines() if line.strip()]) <= 20
    (folder / f"{MODULE}.py").write_text(code)
    metadata = folder / "rumours-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: rumours\nVersion: 1.0\n")
    points = re.sub(r'\[project\.entry-points\."([a-z.]+)"\]', r"[\1]", blocks("toml")[0]).replace('"', "")
    (metadata / "entry_points.txt").write_text(points)


@dataclass
class Place:
    """A workspace with the example registered, and a model that is right but for every fifth rumour."""

    workspace: Workspace
    file: Path
    chat: Any

    def run(self, *arguments: str) -> None:
        """A command that must succeed."""
        assert main(list(arguments)) == 0, arguments


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chat: Any, loopback: ModuleType) -> Iterator[Place]:
    package = tmp_path / "package"
    package.mkdir()
    install(package)
    monkeypatch.syspath_prepend(package)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("LAB_KEY", "key")
    monkeypatch.delenv("HELLOFRESH_CONFIG", raising=False)
    file = tmp_path / "rumours.csv"
    with file.open("w", newline="") as table:
        writer = csv.writer(table)
        writer.writerow(["number", "text", "verdict"])
        writer.writerows([k, f"Rumour {k} of the village.", verdict] for k, verdict in enumerate(VERDICTS))

    def answer(_number: int, body: dict[str, Any]) -> Any:
        found = re.search(r"Rumour ([0-9]+) of the village", body["messages"][-1]["content"])
        assert found
        number = int(found[1])
        truth = CLASSES[VERDICTS[number]]
        return loopback.said("true" if number % 5 == 0 and truth != "true" else truth)

    chat.behave = answer
    (tmp_path / "hellofresh.toml").write_text(MODEL.format(base_url=chat.base_url))
    module = importlib.import_module(MODULE)
    register_task(module.TASK)
    register_dataset(module.DATASET)
    yield Place(Workspace(tmp_path / "data"), file, chat)
    del TASKS["rumours"], DATASETS["rumours"]
    del sys.modules[MODULE]


def hand_in(place: Place) -> None:
    """A submission that knows every label, as everybody may of a frozen data set."""
    said = ("--name", "Reader", "--team", "Readers", "--contact", "a@b.example", "--regime", "other")
    place.run("submission", "new", *HERE, *said, "--model", "m")
    folder = Path("submissions/rumours@50/readers/reader")
    labels = {
        row["id"]: row["label"] for row in read_jsonl(place.workspace.release(EDITION, "rumours") / "labels.jsonl")
    }
    write_jsonl(folder / "predictions.jsonl", ({"id": key, "label": label} for key, label in labels.items()))
    place.run("submission", "check", str(folder))
    place.run("submission", "add", str(folder))


def macro_f1(truth: list[str], said: list[str]) -> float:
    """Counted by hand."""
    values = []
    for name in CLASSES.values():
        hits = sum(one == other == name for one, other in zip(truth, said, strict=True))
        values.append(2 * hits / max(1, truth.count(name) + said.count(name)))
    return sum(values) / len(values)


def test_a_data_set_of_another_package_goes_from_import_to_the_board_and_its_static_copy(place: Place) -> None:
    place.run("dataset", "import", "rumours", str(place.file))
    release = place.workspace.release(EDITION, "rumours")
    assert read_json(release / "manifest.json")["dataset"]["labels"] == [35, 10, 5]
    place.run("evaluate", *HERE, "--task", "rumours", "--model", "always-false")
    place.run("evaluate", *HERE, "--task", "rumours", "--model", "lab-model", "--prompts", "manual")
    place.run("score", *HERE)
    hand_in(place)
    place.run("score", *HERE)  # what comes later is scored, too: nothing was hidden before
    assert [fault for check in verify_release(release) for fault in check.faults] == []
    scores = [row for row in read_jsonl(release / "scores.jsonl") if row["period"] == "all"]
    found = {row["system"]: row["value"] for row in scores if row["metric"] == "macro_f1" and row["headline"]}
    truth = [CLASSES[verdict] for verdict in VERDICTS]
    said = ["true" if k % 5 == 0 else name for k, name in enumerate(truth)]
    assert found["lab-model"] == pytest.approx(macro_f1(truth, said), abs=1e-12)
    assert found["always-false"] == pytest.approx(macro_f1(truth, ["false"] * 50), abs=1e-12)
    assert found["Reader"] == 1
    place.run("analyse", "all", *HERE)
    place.run("board", "build")
    (due,) = load_dues(place.workspace.board)
    assert due == due_in(place.workspace, EDITION)
    place.run("board", "export", "copy")
    pages = "".join(path.read_text() for path in Path("copy").rglob("*.html"))
    assert "Contamination is possible." in pages and "4 March 2021" in pages
    assert "35 false, 10 unproven, 5 true" in pages
    assert "The next quarter" not in pages and "accepts predictions until" not in pages


def test_an_installed_package_is_found_by_its_entry_points(tmp_path: Path) -> None:
    install(tmp_path)
    code = "from hellofresh.cli import main; main(['dataset', 'show', '--json'])"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "HELLOFRESH_DATA": str(tmp_path / "data")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=300
    )
    assert "rumours" in [row["name"] for row in json.loads(done.stdout)]


@pytest.mark.parametrize(("name", "prefix"), [("x-notes", "zz-"), ("zz", "xn-"), ("zz", "x"), ("zz", "xn-a-")])
def test_a_task_whose_name_or_ids_cannot_be_told_from_anothers_is_refused(name: str, prefix: str) -> None:
    with pytest.raises(UsageError) as caught:
        register_task(statement_task(name, "Z", prefix=prefix, classes=("no", "yes")))
    assert caught.value.code == "task-exists"
