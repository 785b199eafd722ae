"""What is published is read by the programs that it is meant for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from hellofresh.files import read_json, read_jsonl
from hellofresh.quarters import Quarter
from hellofresh.releases import BUNDLED, CalendarRule, reveal
from hellofresh.releases.publish import publish_to_folder

_LOAD = """
import json, sys
from datasets import load_dataset
found = {}
for config, split in json.loads(sys.argv[2]):
    data = load_dataset(sys.argv[1], config, split=split)
    found[config + "/" + split] = [len(data), data[0], sorted(set(data["label"]), key=str)]
print(json.dumps(found))
"""
_VALIDATE = """
import json, logging, sys
import mlcroissant
found = mlcroissant.Dataset(sys.argv[1] + "/croissant.json")
issues = found.metadata.ctx.issues
records = {one.id: list(found.records(one.id)) for one in found.metadata.record_sets}
counts = {name: [len(rows), len({row[name + "/id"] for row in rows})] for name, rows in records.items()}
print(json.dumps({"errors": sorted(issues.errors), "warnings": sorted(issues.warnings), "records": counts}))
"""


def _python(script: str, folder, *arguments: str) -> dict:
    """Run a script without the network, in a process of its own (its libraries warn of each other)."""
    environment = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(folder.parent / "home"),
        "PYTHONWARNINGS": "ignore",
    }
    command = [sys.executable, "-c", script, str(folder), *arguments]
    done = subprocess.run(command, check=False, env=environment, capture_output=True, text=True, timeout=800)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def published(make, quarter, notes_task, tmp_path):
    """A revealed quarter with texts and an open one without, of x-notes; and one quarter of edits."""
    workspace, later = make.workspace(), quarter.next()
    make.release(make.notes(3, 3), source=BUNDLED)
    make.release([make.candidate(make.edit(20 + k, page=k), k % 2) for k in range(4)])
    notes = [make.candidate(make.note(9 + k, date=later.start), k % 2) for k in range(4)]
    make.release(notes, quarter=later)
    moment = CalendarRule().of(later).opens
    assert reveal(workspace, quarter, notes_task, moment)
    publish_to_folder(workspace, tmp_path / "out", moment)
    return tmp_path / "out"


@pytest.mark.integration
def test_load_dataset_reads_every_configuration_and_split(published, quarter, needed) -> None:
    needed(find_spec("datasets") is not None, "the package datasets")
    first, second = f"q{quarter}", f"q{Quarter(2023, 3)}"
    asked = [["x-notes", first], ["x-notes", second], ["wikipedia-edits", first]]
    found = _python(_LOAD, published, json.dumps(asked))
    assert {name: (size, labels) for name, (size, _, labels) in found.items()} == {
        f"x-notes/{first}": (18, [0, 1]),
        f"x-notes/{second}": (4, [None]),
        f"wikipedia-edits/{first}": (4, [None]),
    }
    row = found[f"x-notes/{first}"][1]
    released = list(read_jsonl(published / f"releases/{quarter}/x-notes/samples.jsonl"))
    (same,) = [item for item in released if item["id"] == row["id"]]
    assert row["note"]["text"] == same["note"]["text"]
    assert row["note"]["text_sha256"] is None
    assert len(found[f"x-notes/{second}"][1]["note"]["text_sha256"]) == 64


@pytest.mark.integration
def test_mlcroissant_finds_no_fault_and_reads_every_record(published, quarter, needed) -> None:
    needed(find_spec("mlcroissant") is not None, "the package mlcroissant")
    found = _python(_VALIDATE, published)
    assert found["errors"] == found["warnings"] == []
    assert found["records"] == {
        f"x-notes-q{quarter}-bundled-sample": [18, 18],
        "x-notes-q2023Q3": [4, 4],
        f"wikipedia-edits-q{quarter}": [4, 4],
    }
    sets = {
        item["name"]: [field["name"] for field in item["field"]]
        for item in read_json(published / "croissant.json")["recordSet"]
    }
    assert ["label" in sets[name] for name in (f"x-notes-q{quarter}-bundled-sample", "x-notes-q2023Q3")] == [
        True,
        False,
    ]
