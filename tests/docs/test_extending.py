"""Every row of docs/extending.md, typed as it stands into a copy of the project or a package beside it, works."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
EXAMPLES = ROOT / "docs" / "examples"
ROOMS = ("hellofresh", "collectors", "leaderboard", "verifier")


def block(language: str, word: str, page: str = "extending") -> str:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    found = re.findall(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return next(body for kind, body in found if kind == language and word in body)


@dataclass(frozen=True)
class Row:
    """One row of the table, typed.

    Attributes:
        seen: a program that fails unless what was added works.
        points: the value of its entry point by group, for a package, with its name if that is not the module's.
        files: new files; those of the project by their path, those of the package by their name.
        lines: in files of the project, what is put before which text.
    """

    seen: str
    points: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def example(*names: str) -> dict[str, str]:
    return {f"{name}.py": (EXAMPLES / f"{name}.py").read_text(encoding="utf-8") for name in names}


SHARE = """
import polars as pl
from hellofresh.results.analyses.base import AnalysisResult, analysis

@analysis("share-yes", "Share of yes", "How often is the answer yes?")
def share_yes(panel):
    return AnalysisResult(pl.DataFrame())
"""
HEARD = """
from collectors import LivingTask
from hellofresh.core.strict import Strict

class Source(Strict):
    file: str

LIVING = LivingTask("rumours", "Collect rumours.", "heard:jobs", ())
"""
LOUD = """
from collectors import NotesFit

LOUD = NotesFit("loud", "find loud notes.", "loud:command", (), "loud:configured")

def configured(workspace, settings, quarter, progress):
    return f"{quarter} is loud"
"""
SEARCH = """
class Search:
    name = "my-search"
    def __init__(self, options, *, replay):
        self.parameters = {"provider": self.name, "dated": False, **options}
"""
PARROT = """
from dataclasses import dataclass, field
from hellofresh.models import Answer, Finish, ModelSpec

@dataclass(frozen=True, slots=True)
class Parrot:
    spec: ModelSpec = field(default=ModelSpec("parrot", "in-process", "Repeats the question.", {}))
    async def ask(self, request):
        return Answer(request.messages[-1].text, Finish.STOP)
    async def close(self):
        pass
"""
FIRST = """
from hellofresh.tasks.outputs import Ranking

class First:
    name, parameters = "first", {}
    def __init__(self, corpus):
        self.corpus = corpus
    async def retrieve(self, query, k, *, before=None):
        return Ranking((), ())
"""
RUMOURS = {"rumours.py": block("python", "CLASSES", "own-task")}
OWN_SET = {
    "hellofresh/tasks/tales.py": RUMOURS["rumours.py"]
    .replace("rumours", "tales")
    .replace('"ru-"', '"tl-"')
    .replace("hellofresh.tasks import", "hellofresh.tasks._datasets import")
    .replace(", statement_task\n", "\nfrom hellofresh.tasks._statements import statement_task\n")
}
ROWS = {
    "a data set": Row(
        "from collectors.datasets import DATASETS; from hellofresh.tasks import TASKS\n"
        "assert {'rumours', 'tales'} <= DATASETS.keys() & TASKS.keys()",
        {"hellofresh.tasks": "rumours:TASK", "hellofresh.datasets": "rumours:DATASET"},
        {**RUMOURS, **OWN_SET},
        {"hellofresh/tasks/__init__.py": ("    x_notes.TASK,\n", "    tales.TASK,\n"),
         "hellofresh/tasks/__init__.py ": ("    averitec.DATASET,\n", "    tales.DATASET,\n"),
         "hellofresh/tasks/__init__.py  ": ("    averitec,\n", "    tales,\n")},
    ),
    "a living task": Row(
        "from collectors import LIVING; from hellofresh.config import Settings; from verifier.content import TASKS\n"
        "assert 'weather' in TASKS and 'weather' in LIVING\n"
        "assert Settings.model_validate({'sources': {'weather': {'file': 'f'}}}).sources.any",
        {"hellofresh.tasks": "weather:TASK", "hellofresh.collectors": "weather_living:LIVING",
         "verifier.tasks": "weather_check:DOCUMENTED"},
        example("weather", "weather_living", "weather_check"),
    ),
    "a collector of a task": Row(
        "from collectors import LIVING; from hellofresh.config import Settings\n"
        "assert 'rumours' in LIVING\n"
        "assert Settings.model_validate({'sources': {'rumours': {'file': 'f'}}}).sources.tasks == ['rumours']",
        {"hellofresh.collectors": "heard:LIVING", "hellofresh.settings": "sources.rumours = heard:Source"},
        {"heard.py": HEARD},
    ),
    "a fit of ratings": Row(
        "from contextlib import nullcontext; from types import SimpleNamespace as Some\n"
        "from hellofresh.cli.arguments import command_line; from hellofresh.config import Settings\n"
        "from hellofresh.pipeline.release import fit_voters\n"
        "assert command_line('collect').parse_args(['collect', 'loud', '--quarter', '2026Q2']).task == 'loud'\n"
        "show = Some(progress=lambda words: nullcontext(Some(line=print)))\n"
        "assert 'Q is loud' in fit_voters(Some(show=show, workspace=None), Settings(), 'Q')",
        {"hellofresh.fits": "loud:LOUD"},
        {"loud.py": LOUD},
    ),
    "a regime": Row(
        "from hellofresh.runs.regimes import get_regime; assert get_regime('objection').ceiling(4) == 5",
        {"hellofresh.regimes": "my_regime:OBJECTION"},
        {"my_regime.py": block("python", "class Objection") + "\nOBJECTION = Objection()\n"},
    ),
    "an option of a run": Row(
        "from hellofresh.cli.arguments import command_line\n"
        "assert command_line('evaluate').parse_args(['evaluate', '--model', 'coin', '--longest', '9']).longest == 9",
        lines={"hellofresh/runs/evaluation.py": (
            "    resumes: str | None = None\n",
            '    longest: Annotated[int | None, Option("leave out longer samples", "N", parse=int)] = None\n')},
    ),
    "a model of a known provider": Row(
        "from hellofresh.models.catalogue import hosted_models; assert 'mine' in hosted_models()",
        files={"hellofresh.toml": '[models.mine]\nprovider = "openai"\nmodel = "some-model"\n'},
    ),
    "a wire: the form of a provider's requests": Row(
        "from hellofresh.models.tables import ProviderTable\n"
        "assert ProviderTable(kind='plain', base_url='http://127.0.0.1:1').kind == 'plain'",
        {"hellofresh.wires": "my_wire:WIRE"},
        example("my_wire"),
    ),
    "another kind of model": Row(
        "from hellofresh.models.catalogue import ModelContext, open_model\n"
        "assert open_model('parrot', ModelContext('x-notes', list)).spec.name == 'parrot'",
        files={"hellofresh/models/parrot.py": PARROT},
        lines={"hellofresh/models/catalogue.py": (
            '    "smollm2-135m": CatalogueEntry(\n', '    "parrot": CatalogueEntry("Repeats.", lambda _: Parrot()),\n'),
            "hellofresh/models/catalogue.py ": (
            "from hellofresh.models.baselines", "from hellofresh.models.parrot import Parrot\n")},
    ),
    "a search provider": Row(
        "from hellofresh.config import WebSettings; from hellofresh.evidence.web.search.services import open_provider\n"
        "assert open_provider(WebSettings.model_validate({'provider': 'my-search'})).name == 'my-search'",
        {"hellofresh.search": "my_search:Search"},
        {"my_search.py": SEARCH},
    ),
    "a format of corpora": Row(
        "from pathlib import Path; from hellofresh.evidence.retrieval.sources import open_source\n"
        "from hellofresh.cli.arguments import command_line\n"
        "assert open_source('empty', Path('x')).license == 'CC0-1.0'\n"
        "assert command_line('corpus').parse_args(['corpus', 'import', 'empty', 'x']).format == 'empty'",
        lines={"hellofresh/evidence/retrieval/sources.py": (
            '    "check-covid": _check_covid,\n',
            '    "empty": lambda path: CorpusSource("empty", "CC0-1.0", lambda: iter(())),\n'),
            "hellofresh/cli/arguments/training.py": ('"check-covid", "scifact", "beir"', '"empty", ')},
    ),
    "a retriever": Row(
        "from hellofresh.evidence.retrieval.retrievers import open_retriever\n"
        "from hellofresh.models.catalogue import CATALOGUE\n"
        "assert open_retriever('first', None).name == 'first' and 'first' in CATALOGUE",
        files={"hellofresh/evidence/retrieval/first.py": FIRST},
        lines={"hellofresh/evidence/retrieval/retrievers.py": (
            '    if name == "hybrid":\n', '    if name == "first":\n        return First(corpus)\n'),
            "hellofresh/evidence/retrieval/retrievers.py ": (
            "RETRIEVERS = (", "from hellofresh.evidence.retrieval.first import First\n"),
            "hellofresh/models/catalogue.py  ": (
            '    "tf-idf": "Retriever', '    "first": "Retriever: nothing.",\n')},
    ),
    "a service of posts": Row(
        "from collectors import notes; from hellofresh.config import PostsSettings\n"
        "said = PostsSettings.model_validate({'mirror': {'per_second': 2}}).service('mirror')\n"
        "assert said.per_second == 2 and 'mirror' in notes.SERVICES",
        lines={"collectors/notes/posts/services.py": (
            "SERVICES: Mapping", 'MIRROR = PostsService("mirror", "https://mirror.example", _request, _read_api)\n'),
            "collectors/notes/posts/services.py ": ("API_V2,)}", "MIRROR, "),
            "hellofresh/config.py": (
            "    api_v2: PostServiceSettings", "    mirror: PostServiceSettings = PostServiceSettings()\n")},
    ),
    "a metric": Row(
        "from hellofresh.tasks import get_task; assert get_task('x-notes').metrics[-1].name == 'jaccard'",
        {"hellofresh.metrics": "jaccard_metric:jaccard"},
        example("jaccard_metric"),
    ),
    "a judge of responses": Row(
        "from hellofresh.core.plugins import plugins\nassert callable(plugins('hellofresh.judges')['sources'])",
        {"hellofresh.judges": "sources_judge:sources"},
        example("sources_judge"),
    ),
    "an analysis": Row(
        "from hellofresh.results.analyses import get_analyses; assert get_analyses('share-yes')",
        {"hellofresh.analyses": "share:share_yes"},
        {"share.py": SHARE},
    ),
    "a column of the ranked table": Row(
        "from leaderboard.components.standings import added_columns; assert added_columns()[0].title == 'Groups'",
        {"hellofresh.columns": "my_column:groups"},
        {"my_column.py": block("python", "BoardColumn")},
    ),
    "another rule of ties": Row(
        "import numpy as np; from hellofresh.stats import ranking\n"
        "assert ranking.tie_groups(np.zeros(2), np.zeros((2, 2), bool)).tolist() == [1, 2]",
        lines={"hellofresh/stats/ranking.py": (
            "    group = np.zeros(len(values), dtype=np.int64)\n", "    return np.arange(1, len(values) + 1)\n")},
    ),
    "a command": Row(
        "from hellofresh.cli import _handler; from hellofresh.cli.arguments import command_line\n"
        "assert _handler(command_line('shortest').parse_args(['shortest']).run).__name__ == 'run'",
        {"hellofresh.commands": "shortest_command:NOUN"},
        example("shortest", "shortest_command"),
    ),
    "a page of the site": Row(
        "from leaderboard.views import all_pages; assert 'shortest' in [page.path for page in all_pages()]",
        {"hellofresh.pages": "shortest:PAGE"},
    ),
    "a table of the board": Row(
        "from hellofresh.results.board.schema import all_tables; assert 'shortest' in all_tables()",
        {"hellofresh.tables": "shortest:TABLE"},
    ),
    "a table of `hellofresh.toml`": Row(
        "from hellofresh.config import Settings\n"
        "assert Settings.model_validate({'shortest': {'most': 5}}).added['shortest'].most == 5",
        {"hellofresh.settings": "shortest:ShortestSettings"},
    ),
}  # fmt: skip
NAMES = {
    "hellofresh.judges": "sources",
    "hellofresh.wires": "plain",
    "hellofresh.search": "my-search",
    "hellofresh.regimes": "objection",
    "hellofresh.commands": "shortest",
}
PROGRAM = """
import json, sys, traceback
found = {}
for name, program in json.load(sys.stdin).items():
    try:
        exec(program, {})
    except BaseException:
        found[name] = traceback.format_exc()
print(json.dumps(found))
"""


def test_every_row_of_the_page_is_typed_here() -> None:
    table = re.findall(r"^\| (.+?) \| (.+?) \| (.*?) ?\|$", PAGE, re.MULTILINE)[2:]
    assert [name for name, *_ in table] == list(ROWS)
    for name, _, added in table:
        groups = re.findall(r"`((?:hellofresh|verifier)\.(?!toml)[a-z]+)`", added)
        assert set(groups) == set(ROWS[name].points), name


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], str]:
    """Runs a program, with an input, where all rows are typed; gives what it prints."""
    project, package = tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("package")
    for room in ROOMS:
        shutil.copytree(ROOT / room, project / room, symlinks=True)
    points: dict[str, list[str]] = {}
    for row in ROWS.values():
        for name, text in row.files.items():
            (project if "/" in name or name.endswith(".toml") else package).joinpath(name).write_text(text)
        for name, (before, line) in row.lines.items():
            path = project / name.strip()
            text = path.read_text(encoding="utf-8")
            assert before in text, (name, before)
            path.write_text(text.replace(before, line + before, 1))
        for group, value in row.points.items():
            name = NAMES.get(group, value.partition(":")[0].partition("_")[0])
            points.setdefault(group, []).append(value if " = " in value else f"{name} = {value}")
    metadata = package / "stranger-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    named = (f"[{group}]\n" + "\n".join(its) + "\n" for group, its in points.items())
    (metadata / "entry_points.txt").write_text("".join(named))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (project, package)))}

    def run(program: str, given: str = "") -> str:
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, input=given, text=True, env=env, cwd=project, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="module")
def faults(run: Callable[[str, str], str]) -> Mapping[str, str]:
    """What is wrong with each row."""
    found: Mapping[str, str] = json.loads(run(PROGRAM, json.dumps({name: row.seen for name, row in ROWS.items()})))
    return found


@pytest.mark.parametrize("module", ["weather", "weather_living", "share", "shortest", "my_regime", "rumours"])
def test_a_module_of_a_package_can_be_imported_before_what_loads_it(
    run: Callable[[str, str], str], module: str
) -> None:
    run(f"import {module}; from hellofresh.results.analyses import ANALYSES; assert 'share-yes' in ANALYSES", "")


@pytest.mark.parametrize("name", ROWS)
def test_what_a_row_adds_works(faults: Mapping[str, str], name: str) -> None:
    assert faults.get(name) is None, faults[name]
