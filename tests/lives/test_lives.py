"""The whole life of each task, from its sources to a takedown after the reveal, one row a task.

Each step is done twice by the command line: the second time may change nothing. After each, releases verify, and hold
nothing that was planted. What was taken down is nowhere, and pages say what is true. After a step that fails, the
others are lived all the same.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import polars as pl
import pytest

from hellofresh.cli import main
from hellofresh.core.clock import now
from hellofresh.core.editions import Edition, parse_edition
from hellofresh.core.files import read_jsonl
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.judging.people import open_study, page_folder
from hellofresh.judging.study import StudyFiles
from hellofresh.releases.life.load import load_release
from hellofresh.releases.life.state import reveal
from hellofresh.tasks import get_task
from hellofresh.tasks.outputs import Ranking, Response
from hellofresh.tasks.samples import MAIN, PROSPECTIVE, Split
from tests.cli.test_cli_takedown import everything
from tests.collectors.notes.conftest import HELPFUL, NOT_HELPFUL, UNDECIDED, Dump
from tests.lives import sources as given
from tests.ratings.rating import full_answers, submission
from tests.submissions.checks import write_submission

EARLY, DECIDED = "2026-05-19T06:00:00Z", "2026-06-20T06:00:00Z"
OPEN, LATER, CLOSED, REVEALED = given.OPEN, given.LATER, "2026-10-16T06:00:00Z", given.REVEALED
BY_PEOPLE = {"team": 4, "run": 3, "human": 2}
"""What people say of the responses of a submission, of runs and of people."""
UNSTEADY = {"journal.sqlite", "web.sqlite", "events.jsonl"}
"""Files of which times are part."""


@dataclass(frozen=True)
class Life:
    """A row: what is lived through.

    Attributes:
        task, edition: whose life.
        make: commands that make the edition from `source`.
        evaluate: options of each evaluation.
        rated: whether people rate.
        repeat: how often a submission answers.
        split: which split; the prospective one is labelled by a later collection.
    """

    task: str
    edition: str
    make: tuple[str, ...]
    evaluate: tuple[str, ...]
    rated: bool = False
    repeat: int = 1
    split: Split = MAIN

    @property
    def is_living(self) -> bool:
        return "@" not in self.edition


def living(task: str, source: str, *evaluate: str, rated: bool = False, repeat: int = 1) -> Life:
    collect = f"collect {task} --quarter 2026Q2 {source}"
    return Life(task, "2026Q2", (collect, "release build --quarter 2026Q2"), evaluate, rated, repeat)


CHOICES = ("--model coin", "--model scripted:source/script.toml --limit 6 --prompts manual")
CORPUS = "corpus import jsonl source/corpus --name small"
LIVES = {
    "x-posts": living("x-posts", f"--dump {given.NOTED}", "--model scripted:source/script.toml --regime correction "
                      "--prompts manual --set retrieval=false --set vision=false", rated=True),
    "x-notes": living("x-notes", f"--dump {given.DUMP}", *CHOICES),
    "x-notes-media": living("x-notes-media", f"--dump {given.DUMP}", *CHOICES),
    "wikipedia-edits": living("wikipedia-edits", f"--dump {given.HISTORY}", *CHOICES),
    "claims": living("claims", f"--feed {given.FEED}", *CHOICES),
    "repetitions": living("x-notes", f"--dump {given.DUMP}", "--model coin", repeat=3),
    "prospective": Life(
        "x-notes", "2026Q2",
        ("collect x-notes --quarter 2026Q2 --dump source/early --pending", "release prospective --quarter 2026Q2"),
        ("--split prospective --model coin",), split=PROSPECTIVE,
    ),
    "three classes": Life("fever", "fever@12", ("dataset import fever source/sets/fever/part.jsonl --part",), CHOICES),
    "retrieval": Life(
        "scifact-retrieval", given.RETRIEVAL,
        (CORPUS, "corpus freeze small --task scifact-retrieval --split dev --published 2020-01-01"),
        ("--model bm25 --regime retrieve", "--model tf-idf --regime retrieve"),
    ),
    "claim-responses": Life(
        "claim-responses", given.REPLIES,
        (CORPUS, "corpus freeze small --task claim-responses --split dev --published 2020-01-01"),
        ("--model scripted:source/script.toml --regime evidence-response --prompts manual --set retriever=bm25",),
        rated=True,
    ),
    "corrections": Life("corrections", given.MUSE, ("dataset import muse source/study",), ()),
}  # fmt: skip


def today() -> str:
    """The option that confirms the day: months lie between the steps of a life, and no dump and no server says more."""
    return f"--yes-it-is {os.environ['HELLOFRESH_NOW'][:10]}"


@dataclass
class World:
    """A workspace in which a life is lived.

    Attributes:
        life: which.
        folder: the maintainer's.
        gone: texts that may be nowhere any more.
        faults: what went wrong, by step.
    """

    life: Life
    folder: Path
    gone: list[str] = field(default_factory=list)
    faults: dict[str, str] = field(default_factory=dict)

    @property
    def workspace(self) -> Workspace:
        return Workspace(self.folder / "data")

    @property
    def named(self) -> str:
        return f"--edition {self.life.edition} --task {self.life.task}"

    def run(self, command: str, code: int = 0) -> None:
        """Run a command, and once more: the second time must change nothing."""
        for turn in ("once", "again"):
            before, said = self.files(), io.StringIO()
            with redirect_stdout(said), redirect_stderr(said):
                ended = main(command.split())
            assert ended == code, f"{turn}: hellofresh {command}: {_faults(said.getvalue())}"
            assert "PLANTED" not in said.getvalue().upper()
            if turn == "again":
                changed = {name for name, content in self.files().items() if before.get(name) != content}
                assert not changed, f"changed by running it again: {sorted(changed)[:5]} (hellofresh {command})"

    def files(self) -> dict[str, bytes]:
        paths = (path for path in self.folder.rglob("*") if path.is_file() and path.suffix != ".lock")
        kept = (path for path in paths if path.name not in UNSTEADY and "locks" not in path.parts)
        return {path.relative_to(self.folder).as_posix(): path.read_bytes() for path in kept}

    @property
    def place(self) -> tuple[Edition, str, Split]:
        return parse_edition(self.life.edition), self.life.task, self.life.split

    @property
    def release(self) -> Path:
        return self.workspace.release(*self.place)

    @property
    def is_labelled(self) -> bool:
        return any((self.release / name).is_file() for name in ("labels.jsonl", "outcomes.jsonl"))

    def sample(self, place: int) -> str:
        edition, task, split = self.place
        return load_release(self.workspace, edition, get_task(task), split).samples[place].id

    def verify(self) -> None:
        self.run("release verify data/releases --submissions submissions")
        if (self.folder / "data/published").is_dir():
            self.run("release verify data/published")
        planted = (*given.PLANTS, str(self.folder).upper().encode())
        for part in ("data/releases", "data/published"):
            files = {name: content.upper() for name, content in everything(self.folder / part).items()}
            assert not [name for name, content in files.items() if any(plant in content for plant in planted)]


def _faults(said: str) -> str:
    """What a command printed, without the checks that passed."""
    return "\n".join(line for line in said.splitlines() if not line.startswith("ok "))[-1500:]


def token(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def make(world: World) -> None:
    for command in world.life.make:
        world.run(command)
    world.verify()


def evaluate(world: World) -> None:
    for options in world.life.evaluate:
        world.run(f"evaluate {world.named} {options}")


def submit(world: World) -> None:
    life, task = world.life, get_task(world.life.task)
    rows: list[dict[str, object]] = []
    for row in read_jsonl(world.release / "samples.jsonl"):
        for repetition in range(1, life.repeat + 1):
            key = str(row["id"])
            said: dict[str, object] = {"label": int(token(f"{key} {repetition}"), 16) % max(len(task.classes), 1)}
            if task.output is Response:
                said = {"text": f"The records of the office, number {token(key)}, say something else about this."}
            elif task.output is Ranking:
                said = {"documents": ["1", "2", "3"]}
            elif life.split == PROSPECTIVE:
                said["probabilities"] = [0.3 + 0.4 * (label == said["label"]) for label in range(len(task.classes))]
            said |= {"rationale": "PLANTED", "sources": ["https://example.org/PLANTED"]} if "label" in said else {}
            rows.append({"id": key, **said} | ({"repetition": repetition} if repetition > 1 else {}))
    file = "predictions.jsonl" if life.split == MAIN else "prospective.jsonl"
    folder = world.folder / "handed/team/system"
    write_submission(folder, rows, "Hashes", "Team", file=file, more='url = "https://example.org/PLANTED"\n')
    (folder / "system.toml").write_text((folder / "system.toml").read_text().replace('"c"', '"PLANTED"'))
    for verb in ("check", "add"):
        world.run(f"submission {verb} handed/team/system --edition {life.edition}")


def rate(world: World) -> None:
    """Two people rate everything, `BY_PEOPLE`."""
    life = world.life
    edition = parse_edition(life.edition)
    runs = " ".join(f"--run {path.name}" for path in sorted(world.workspace.runs.iterdir()))
    world.run(f"rate assign {world.named} --prepare study {runs}")
    systems = {str(row["text"]): str(row["system"]) for row in read_jsonl(world.folder / "study/responses.jsonl")}
    assert "team/system" in systems.values()
    files = "--samples study/samples.jsonl --responses study/responses.jsonl"
    assert main(f"rate assign {world.named} {files} --rater A --rater B".split()) == 0
    shutil.rmtree(world.folder / "study")
    study = open_study(page_folder(StudyFiles(world.workspace, edition, life.task)))
    for plan in study.assignments.raters:
        for _, response in plan.responses:
            said = study.responses[response]
            overall = BY_PEOPLE.get(re.split("[/-]", systems[said.text])[0], BY_PEOPLE["run"])
            answers = full_answers(study.rubric, said.sources, overall=overall)
            study.sheet(plan).append(submission(response, answers))
    world.run(f"rate close {world.named}")


def score_in_private(world: World) -> None:
    """What follows from labels stays private, and pages do not show it."""
    world.run(f"score --edition {world.life.edition} --private")
    publish(world)
    if world.life.is_living:
        public_too = {name for name in world.files() if re.search(r"(scores|labels|judgements|ratings)", name)}
        tables = {name for name in public_too if not name.startswith("data/private/")}
        assert {name: pl.read_parquet(world.folder / name).height for name in tables} == dict.fromkeys(tables, 0)
        texts = "".join(path.read_text() for path in (world.folder / "site").rglob("*.html"))
        assert "office.example" not in texts  # the notes on the posts


def show(world: World) -> None:
    """The board and its static copy, once something was scored, and the publication."""
    if world.life.split == MAIN or world.is_labelled:
        world.run("board build")
        world.run("board export site")
    world.run(f"release publish --to data/published {today()}")


def publish(world: World) -> None:
    show(world)
    world.verify()


def reveal_labels(world: World) -> None:
    if world.life.is_living:
        assert reveal(world.workspace, Quarter.parse(world.life.edition), get_task(world.life.task), now())
        world.verify()


def decide(world: World) -> None:
    """A later collection knows what became of the samples."""
    world.run("collect x-notes --quarter 2026Q2 --dump source/late --pending")
    world.run(f"release prospective --quarter 2026Q2 --resolve final {today()}")
    assert world.is_labelled
    world.verify()


def score(world: World) -> None:
    world.run(f"score --edition {world.life.edition} --split {world.life.split}")
    rows = list(read_jsonl(world.release / "scores.jsonl"))
    assert rows
    headline = get_task(world.life.task).headline.name
    whole = {str(row["origin"]): row for row in rows if row["period"] == "all" and row["metric"] == headline}
    if world.life.task != "corrections":
        assert "team/system" in whole, sorted(whole)
        assert whole["team/system"]["system"] == "Hashes" and whole["team/system"]["team"] == "Team"
    if world.life.rated:
        assert whole["team/system"]["value"] == BY_PEOPLE["team"]
        assert {row["value"] for row in whole.values() if row["team"] == "HelloFresh"} == {BY_PEOPLE["run"]}


def pages(world: World) -> None:
    shown = "".join(path.read_text() for path in (world.folder / "site").rglob("*.html"))
    if world.life.task != "corrections":
        assert "Hashes" in shown
    assert world.life.edition in shown


def take_down(world: World) -> None:
    """A sample and all that was said of it leave every file; all else goes on."""
    life = world.life
    key = world.sample(0)
    texts = [f"number {token(key)},"]
    kept, public_rows = world.workspace.private(*world.place) / "samples.jsonl", world.release / "samples.jsonl"
    rows = [json.dumps(row) for row in read_jsonl(kept if kept.is_file() else public_rows)]
    mine = next(row for row in rows if json.loads(row)["id"] == key)
    said = " ".join(get_task(life.task).own_texts(get_task(life.task).parse_sample(mine)))
    parts = re.findall(r"[A-Za-z0-9 ,.]{25,}", said)
    texts += [part for part in parts if not any(part in row for row in rows if row != mine)][:2]
    world.gone += texts
    assert main(["release", "takedown", key, "--reason", "asked", "--everywhere"]) in (0, 1)  # 1: submissions stay
    if world.is_labelled or life.split == MAIN:
        private = " --private" if life.is_living and life.split == MAIN else ""
        world.run(f"score --edition {life.edition} --split {life.split}{private}")
    show(world)
    files = {name: content for name, content in everything(world.folder).items()
             if not name.startswith(("source/", "handed/", "submissions/"))}  # fmt: skip
    left = {text: [name for name, content in files.items() if text.encode() in content] for text in world.gone}
    assert not any(left.values()), {text: names for text, names in left.items() if names}
    world.verify()


STEPS: Mapping[str, tuple[str, Callable[[World], None]]] = {
    "make": (OPEN, make),
    "evaluate": (LATER, evaluate),
    "submit": (LATER, submit),
    "rate": (CLOSED, rate),
    "score in private": (CLOSED, score_in_private),
    "take down": (CLOSED, take_down),
    "reveal": (REVEALED, reveal_labels),
    "score": (REVEALED, score),
    "publish": (REVEALED, publish),
    "pages": (REVEALED, pages),
    "take down after the reveal": (REVEALED, take_down),
}
FORESEEN: Mapping[str, tuple[str, Callable[[World], None]]] = {
    "make": (EARLY, make),
    "evaluate": (EARLY, evaluate),
    "submit": (EARLY, submit),
    "publish while undecided": (EARLY, publish),
    "take down": (EARLY, take_down),
    "decide": (DECIDED, decide),
    "score": (DECIDED, score),
    "publish": (DECIDED, publish),
    "pages": (DECIDED, pages),
    "take down after the labels": (DECIDED, take_down),
}
"""Of the prospective split."""


def steps_of(life: Life) -> list[str]:
    """Only living tasks are scored in private and revealed; nothing is handed in for a study that is released whole."""
    if life.split == PROSPECTIVE:
        return list(FORESEEN)
    left_out = set() if life.is_living else {"score in private", "take down", "reveal"}
    left_out |= set() if life.rated else {"rate"}
    return [name for name in STEPS if name not in left_out | ({"submit"} if life.task == "corrections" else set())]


def write_dumps(folder: Path) -> None:
    """Two dumps: notes that are undecided, and the same ones when all but one are decided."""
    for name in ("early", "late"):
        dump = Dump(folder / name)
        for number in range(1, 13):
            status = HELPFUL if number % 2 else NOT_HELPFUL
            known = name == "late" and number < 12
            text = f"The log of lighthouse {number} says that its lamp was lit every night of the year {1800 + number}."
            dump.note(number, at=f"2026-05-{14 + number % 4}T10:00:00", status=status if known else UNDECIDED,
                      locked=known, shown="2026-05-28T10:00:00" if known else None, text=text)  # fmt: skip
            dump.posts[-1]["text"] = f"Lighthouse {number} stood dark for {number + 3} winters, as every sailor knows."
        dump.write()


@pytest.fixture(scope="session")
def sources(built_once: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    def write(folder: Path) -> None:
        given.write_sources(folder / "source")
        write_dumps(folder / "source")

    return built_once("life-sources", write) / "source"


@pytest.fixture(scope="session")
def lived(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], World]]:
    worlds: dict[str, World] = {}

    def live(name: str) -> World:
        if name not in worlds:
            folder = tmp_path_factory.mktemp("life")
            (folder / "source").symlink_to(sources)
            (folder / "submissions").mkdir()
            world = worlds[name] = World(LIVES[name], folder)
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(folder)
                patch.setenv("HELLOFRESH_DATA", str(folder / "data"))
                patch.setenv("OPENAI_API_KEY", "PLANTED")
                for step in steps_of(world.life):
                    moment, do = (STEPS if world.life.split == MAIN else FORESEEN)[step]
                    patch.setenv("HELLOFRESH_NOW", moment)
                    try:
                        do(world)
                    except Exception as error:
                        world.faults[step] = f"{type(error).__name__}: {error}"
        return worlds[name]

    yield live


SHORTEST = "prospective"
"""The one life that `make test` lives."""


@pytest.mark.parametrize(("name", "step"), [
    pytest.param(name, step, id=f"{name}: {step}", marks=() if name == SHORTEST else pytest.mark.slow)
    for name, life in LIVES.items() for step in steps_of(life)
])  # fmt: skip
@pytest.mark.timeout(600)
def test_a_whole_life(lived: Callable[[str], World], name: str, step: str) -> None:
    fault = lived(name).faults.get(step)
    assert fault is None, fault
