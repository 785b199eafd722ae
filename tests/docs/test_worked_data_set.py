"""docs/own-task.md: tasks of other packages go from their files to the static copy, or through a quarter."""

from __future__ import annotations

import csv
import importlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from collectors.datasets import DATASETS, register_dataset
from hellofresh.cli import main
from hellofresh.core.editions import Frozen
from hellofresh.core.files import read_json, read_jsonl, write_jsonl
from hellofresh.core.workspace import Workspace
from hellofresh.submissions.released import due_in
from hellofresh.tasks import TASKS, register_task, statement_task
from leaderboard.data.uploads import load_dues
from tests.fakes import refused
from verifier.checks import verify_release

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "own-task.md"
MODULE = "rumours"
LIVING = ("weather", "weather_living", "weather_check")
VERDICTS = ["denied"] * 35 + ["open"] * 10 + ["confirmed"] * 5
CLASSES = {"denied": "false", "open": "unproven", "confirmed": "true"}
TRUTH = [CLASSES[verdict] for verdict in VERDICTS]
SAID = ["true" if k % 5 == 0 else name for k, name in enumerate(TRUTH)]
EDITION = Frozen("rumours", "50")
HERE = ("--edition", "rumours@50")
COLLECTOR = """
def bundled(workspace):
    quarters = Quarter(2026, 1), Quarter(2026, 2)
    path = workspace.root.parent / "forecasts.csv"
    return [CollectionJob(TASK, one, "bundled", [path], {}, partial(collect, path, one)) for one in quarters]
"""
JOBS = """
from collectors.jobs import bundled_jobs, configured_jobs
from hellofresh.config import Settings
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
place = Workspace.from_environment()
configured = configured_jobs(place, Settings.load(), Quarter(2026, 2), afresh=False)
print(*(f"{job.task.name} {job.quarter} {job.source}" for job in [*configured, *bundled_jobs(place)]), sep="\\n")
print(Settings.load().sources.tasks)
"""
LOAD = """
from hellofresh.config import Settings
from hellofresh.core.errors import ConfigError
try:
    Settings.load()
except ConfigError as error:
    print(error)
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)


def install(folder: Path, *modules: str) -> None:
    """The example of the page as an installed package with its entry points, or these modules beside it."""
    (folder / f"{MODULE}.py").write_text(blocks("python")[0])
    for name in modules:
        shutil.copy(DOCUMENT.parent / "examples" / f"{name}.py", folder)
    metadata = folder / "example-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: example\nVersion: 1.0\n")
    points = blocks("toml")[bool(modules)]
    points = re.sub(r'\[project\.entry-points\."([a-z.]+)"\]', r"[\1]", points).replace('"', "")
    (metadata / "entry_points.txt").write_text(points)


def test_the_first_example_has_20_lines() -> None:
    assert len([line for line in blocks("python")[0].splitlines() if line.strip()]) <= 20


@dataclass
class Place:
    """A workspace with the example registered, and a script that is right but for every fifth rumour."""

    workspace: Workspace
    file: Path

    def run(self, *arguments: str) -> None:
        assert main(list(arguments)) == 0, arguments


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    package = tmp_path / "package"
    package.mkdir()
    install(package)
    monkeypatch.syspath_prepend(package)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("HELLOFRESH_CONFIG", raising=False)
    file = tmp_path / "rumours.csv"
    with file.open("w", newline="") as table:
        writer = csv.writer(table)
        writer.writerow(["number", "text", "verdict"])
        writer.writerows([k, f"Rumour {k} of the village.", verdict] for k, verdict in enumerate(VERDICTS))

    answers = (f'[[answers]]\nsample = "Rumour {k} of"\nsay = "{name}"\n' for k, name in enumerate(SAID))
    (tmp_path / "script.toml").write_text('about = "Answers."\n' + "".join(answers))
    module = importlib.import_module(MODULE)
    register_task(module.TASK)
    register_dataset(module.DATASET)
    yield Place(Workspace(tmp_path / "data"), file)
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


def macro_f1(said: list[str]) -> float:
    """Counted by hand."""
    values = []
    for name in CLASSES.values():
        hits = sum(one == other == name for one, other in zip(TRUTH, said, strict=True))
        values.append(2 * hits / max(1, TRUTH.count(name) + said.count(name)))
    return sum(values) / len(values)


def test_a_data_set_of_another_package_goes_from_import_to_the_board_and_its_static_copy(place: Place) -> None:
    place.run("dataset", "import", "rumours", str(place.file))
    release = place.workspace.release(EDITION, "rumours")
    assert read_json(release / "manifest.json")["dataset"]["labels"] == [35, 10, 5]
    place.run("evaluate", *HERE, "--task", "rumours", "--model", "always-false")
    place.run("evaluate", *HERE, "--task", "rumours", "--model", "scripted:script.toml", "--prompts", "manual")
    place.run("score", *HERE)
    hand_in(place)
    place.run("score", *HERE)  # what comes later is scored, too: nothing was hidden before
    assert [fault for check in verify_release(release) for fault in check.faults] == []
    scores = [row for row in read_jsonl(release / "scores.jsonl") if row["period"] == "all"]
    found = {row["system"]: row["value"] for row in scores if row["metric"] == "macro_f1" and row["headline"]}
    assert found["scripted-script"] == pytest.approx(macro_f1(SAID), abs=1e-12)
    assert found["always-false"] == pytest.approx(macro_f1(["false"] * 50), abs=1e-12)
    assert found["Reader"] == 1
    place.run("analyse", "all", *HERE)
    place.run("board", "build")
    (due,) = load_dues(place.workspace.board)
    assert due == due_in(place.workspace, EDITION)
    place.run("board", "export", "copy")
    pages = "".join(path.read_text() for path in Path("copy").rglob("*.html"))
    assert "Contamination is possible." in pages and "4 March 2021" in pages
    assert "35 false, 10 unproven, 5 true" in pages
    assert "The next quarter" not in pages and re.search(r"\dQ\d accepts predictions", pages) is None


def installed(folder: Path, program: str, **variables: str) -> str:
    root = str(DOCUMENT.parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), root])}
    environment |= {"HELLOFRESH_DATA": str(folder / "data"), **variables}
    command = [sys.executable, "-c", f"from hellofresh.cli import main\n{program}"]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def write_forecasts(folder: Path) -> None:
    """60 forecasts of a quarter, and one of the quarter before."""
    rows = [["number", "time", "text", "verdict"], [99, "2026-03-31T12:00:00+00:00", "Snow.", "wrong"]]
    for number in range(60):
        time = f"2026-{4 + number % 3:02d}-{1 + number // 3:02d}T12:00:00+00:00"
        rows.append([number, time, f"{number} drops of rain will fall.", ("wrong", "right")[number // 3 % 2]])
    with (folder / "forecasts.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    (folder / "hellofresh.toml").write_text('[sources.weather]\nfile = "forecasts.csv"\n')


def test_a_collector_apart_from_its_task_brings_its_table_options_and_bundled_sample(tmp_path: Path) -> None:
    install(tmp_path, *LIVING)
    task, living = tmp_path / "weather.py", tmp_path / "weather_living.py"
    text = task.read_text().replace("    source_settings=Source,\n", "")
    task.write_text(text.replace("import PeriodKind", "import PeriodKind, Quarter") + COLLECTOR)
    living.write_text(living.read_text().replace("(Asked,))", '(Asked,), bundled="weather:bundled")'))
    with (tmp_path / "example-1.0.dist-info" / "entry_points.txt").open("a") as points:
        points.write("\n[hellofresh.settings]\nsources.weather = weather:Source\n")
    write_forecasts(tmp_path)
    jobs = installed(tmp_path, JOBS).splitlines()
    assert jobs.pop() == "['weather']" and jobs[0] == "weather 2026Q2 dump"
    assert [line for line in jobs[1:] if "weather" in line] == ["weather 2026Q1 bundled", "weather 2026Q2 bundled"]
    assert [line.split()[1] for line in jobs[1:]] == sorted(line.split()[1] for line in jobs[1:])
    assert "--file FILE" in installed(tmp_path, "try: main(['collect', 'weather', '--help'])\nexcept SystemExit: pass")
    (tmp_path / "hellofresh.toml").write_text("[sources.weather]\nfil = 'x'\n")
    assert "'file'" in installed(tmp_path, LOAD)


def test_a_living_task_of_another_package_goes_from_its_source_to_the_publication(tmp_path: Path) -> None:
    install(tmp_path, *LIVING)
    write_forecasts(tmp_path)
    sure = ["--yes-it-is", "2026-11-01"]
    run = ["release", "run", "--quarter", "2026Q2", "--models", "coin", "--no-analyses", *sure]
    collect = ["collect", "weather", "--quarter", "2026Q2", "--file", "forecasts.csv"]
    commands = [collect, run, ["release", "verify"], ["release", "publish", "--to", "copy", *sure]]
    program = "\n".join(f"assert main({command}) == 0, {command}" for command in commands)
    installed(tmp_path, program, HELLOFRESH_NOW="2026-11-01T00:00:00Z")
    release = tmp_path / "data" / "releases" / "2026Q2" / "weather"
    manifest = read_json(release / "manifest.json")
    assert manifest["collection"]["funnel"]["rows_in"] == 61 and manifest["revealed"]
    assert {row["metric"] for row in read_jsonl(release / "scores.jsonl")} >= {"macro_f1", "accuracy"}
    card = (tmp_path / "copy" / "README.md").read_text()
    assert "Forecasts of a village." in card and "The village is dry." in card
    said = installed(
        tmp_path,
        "from pathlib import Path; from verifier.checks import verify_release\n"
        f"checks = verify_release(Path({str(release)!r}))\n"
        "print([fault for one in checks for fault in one.faults], *(x for one in checks for x in one.unchecked))",
    )
    assert said.startswith("[] whether") and "the form of samples" not in said


@pytest.mark.parametrize(("table", "what"), [("fil = 'x'", "fil"), ("file = 7", "file"), ("", "file")])
def test_a_wrong_table_of_a_task_of_another_package_is_refused_by_name(tmp_path: Path, table: str, what: str) -> None:
    install(tmp_path, *LIVING)
    (tmp_path / "hellofresh.toml").write_text(f"[sources.weather]\n{table}\n")
    said = installed(tmp_path, LOAD)
    assert "weather" in said and what in said


@pytest.mark.parametrize(("name", "prefix"), [("x-notes", "zz-"), ("zz", "xn-"), ("zz", "x"), ("zz", "xn-a-")])
def test_a_task_whose_name_or_ids_cannot_be_told_from_anothers_is_refused(name: str, prefix: str) -> None:
    refused("task-exists", register_task, statement_task(name, "Z", prefix=prefix, classes=("no", "yes")))
