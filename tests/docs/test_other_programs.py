"""What documents say about models and other programs holds as it stands there."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from hellofresh.cli.arguments.evaluating import EXAMPLE_MODELS
from hellofresh.core.calendar import CalendarRule
from hellofresh.core.quarters import Quarter
from hellofresh.models.catalogue import hosted_models
from hellofresh.releases.life.state import reveal
from hellofresh.tasks import get_task
from tests.fakes import free_port
from tests.leaderboard.browsing import wait_for_site
from tests.loopback import Chat, Reply, said

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "submissions" / "README.md"]
PACKAGES = ("hellofresh", "hellofresh_parts", "verifier", "collectors", "leaderboard", "training")
FILES = ("pyproject.toml", "LICENSE", "CITATION.cff", "Makefile", "mkdocs.yml", "Dockerfile", ".dockerignore")
NAMED = re.compile(
    r"(?:--model |--role \w+=|hellofresh models |\bmodel=\"|--model openai/|\bname=\")((?:gpt|gemini|claude)-[\w.-]+)"
)


def test_examples_name_models_that_last() -> None:
    known = hosted_models()
    assert not [name for name in EXAMPLE_MODELS if known[name].ends]
    allowed = {*EXAMPLE_MODELS, *(f"{name}-search" for name in EXAMPLE_MODELS)}
    told = [(page.name, name) for page in PAGES for name in NAMED.findall(page.read_text(encoding="utf-8"))]
    source = (ROOT / "hellofresh/cli/arguments/evaluating.py").read_text(encoding="utf-8")
    told += [("--help", name) for name in NAMED.findall(source)]
    assert len(told) >= 10 and [item for item in told if item[1] not in allowed] == []


def words_of(line: str) -> str:
    """The program that a documented line runs, behind the variables that it sets."""
    return re.sub(r"^(?:[A-Z_]+=\S+ )*", "", line)


def commands(program: str) -> list[str]:
    """The documented command lines of a program, with continued lines joined."""
    blocks = [
        block
        for page in PAGES
        for language, block in re.findall(
            r"^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
        )
        if not language
    ]
    lines = [line.strip() for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [line for line in lines if words_of(line).startswith(f"{program} ")]


@dataclass(frozen=True)
class Place:
    """Where a user types commands.

    Attributes:
        folder: the current folder, with the workspace `data`.
        programs: the folder of the environment's programs.
        packages: the folder in which `leaderboard/app.py` lies.
        chat: answers in place of a provider.
    """

    folder: Path
    programs: Path
    packages: Path
    chat: Chat

    @property
    def environment(self) -> dict[str, str]:
        """Keys, no provider but the chat, nothing written outside the folder, and this environment's programs first."""
        kept = {name: said for name, said in os.environ.items() if not name.startswith(("HF_", "PYTHON", "INSPECT_"))}
        home = {name: str(self.folder / "home") for name in ("HOME", "HF_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")}
        offline = {"HF_HUB_OFFLINE": "1", "INSPECT_DISPLAY": "plain", "STREAMLIT_SERVER_HEADLESS": "true"}
        keys = {"OPENAI_API_KEY": "a-key-of-a-test", "OPENAI_BASE_URL": self.chat.base_url}
        data = {"HELLOFRESH_DATA": str(self.folder / "data"), "COLUMNS": "200"}
        return {**kept, **home, **offline, **keys, **data, "PATH": f"{self.programs}:{os.environ['PATH']}"}

    def type(self, line: str) -> str:
        """What a command prints; it must end well."""
        done = subprocess.run(
            ["bash", "-c", line], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{line}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        return done.stdout + done.stderr


def copied(folder: Path) -> Path:
    """A clone: the project's files without what was built there."""
    for name in (*PACKAGES, "docs", "submissions"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (*ROOT.glob("*.md"), *ROOT.glob("*.lock"), *(ROOT / name for name in FILES)):
        shutil.copy(path, folder)
    return folder


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, built_once: Callable[..., Path]) -> Path:
    """An environment with the wheel, which finds other packages where the tests do."""

    def build(folder: Path) -> None:
        pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index")
        with tempfile.TemporaryDirectory() as clone:
            subprocess.run([*pip, "--wheel-dir", str(folder), str(copied(Path(clone)))], check=True)

    (wheel,) = built_once("wheel", build).glob("*.whl")
    place = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(place, symlinks=True)
    (packages,) = place.glob("lib/python*/site-packages")
    (packages / "others.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    pip = (sys.executable, "-m", "pip", "--python", str(place / "bin" / "python"), "install", "--quiet")
    subprocess.run([*pip, "--no-deps", "--no-index", "--no-cache-dir", "--ignore-installed", str(wheel)], check=True)
    for name in ("inspect", "lm_eval", "streamlit"):  # as an installer writes them: with this interpreter
        script = (Path(sys.executable).parent / name).read_text(encoding="utf-8")
        (place / "bin" / name).write_text(re.sub(r"\A#!.*", f"#!{place}/bin/python", script), encoding="utf-8")
        (place / "bin" / name).chmod(0o755)
    return place


@pytest.fixture(params=["clone", "wheel"])
def at(request: pytest.FixtureRequest, make: Any, chat: Chat, tmp_path: Path) -> Place:
    """A clone, or a folder of a user who installed the wheel; the documents' quarter is revealed."""
    folder = tmp_path / "here"
    folder.mkdir()
    days = [datetime(2026, month, day, tzinfo=UTC) for month in (4, 5, 6) for day in (1, 9, 17, 25)]
    notes = [make.candidate(make.note(n, date=day), n % 2) for n, day in enumerate(days)]
    quarter, workspace = Quarter(2026, 2), make.workspace("here/data")
    make.release(notes, quarter=quarter, workspace=workspace)
    assert reveal(workspace, quarter, get_task("x-notes"), CalendarRule().of(quarter).reveals)
    (folder / "hellofresh.toml").write_text("[web]\nprovider = 'offline'\n")
    chat.behave = lambda number, _: answered(chat.paths[number - 1])
    if request.param == "clone":
        return Place(copied(folder), Path(sys.executable).parent, folder, chat)
    place: Path = request.getfixturevalue("installed")
    (packages,) = place.glob("lib/python*/site-packages")
    return Place(folder, place / "bin", packages, chat)


def answered(path: str) -> Reply:
    """`Yes.` in the form of the interface that is asked."""
    if not path.endswith("/responses"):
        return said("Yes.")
    text = {"type": "output_text", "text": "Yes.", "annotations": []}
    message = {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [text]}
    body = {"id": "r1", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": [message]}
    more = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "error": None, "incomplete_details": None}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    usage = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12, **details}
    return Reply(json.dumps({**body, **more, "usage": usage}).encode())


def test_the_documents_name_each_program() -> None:
    counts = {name: len(commands(name)) for name in ("inspect eval", "lm_eval", "streamlit run", "docker build")}
    assert min(counts.values()) >= 1, counts


@pytest.mark.slow
@pytest.mark.parametrize("line", commands("inspect eval"))
def test_a_documented_command_of_inspect_runs(line: str, at: Place) -> None:
    pytest.importorskip("inspect_ai")
    printed = at.type(line)
    (log,) = (at.folder / "logs").glob("*.eval")
    assert "f1" in printed and log.stat().st_size and len(at.chat.bodies) >= 12 * 5


@pytest.mark.slow
@pytest.mark.parametrize("line", commands("lm_eval"))
def test_a_documented_command_of_lm_eval_runs(line: str, at: Place) -> None:
    pytest.importorskip("lm_eval")
    (export,) = (line for line in commands("hellofresh release export") if "--lm-eval" in line)
    at.type(export)
    address = "http://127.0.0.1:8000/v1"
    assert address in line
    printed = at.type(line.replace(address, at.chat.base_url))
    assert re.search(r"hellofresh_x_notes_2026Q2_\w+", printed) and len(at.chat.bodies) == 12 * 5


@pytest.mark.slow
@pytest.mark.parametrize("line", commands("streamlit run"))
def test_a_documented_command_of_streamlit_serves_the_board(line: str, at: Place) -> None:
    port = free_port()
    (host,) = re.findall(r"ALLOWED_HOSTS=(\S+)", line)
    more = {"STREAMLIT_SERVER_PORT": str(port), "STREAMLIT_BROWSER_GATHER_USAGE_STATS": "false"}
    with (at.folder / "log").open("w+b") as log:
        site = subprocess.Popen(
            ["bash", "-c", f"exec env {line}"], cwd=at.packages, env=at.environment | more, stdout=log, stderr=log
        )
        try:
            wait_for_site(f"http://localhost:{port}/_stcore/health", site, at.folder / "log")
            named = Request(f"http://127.0.0.1:{port}/", headers={"Host": host})
            with urlopen(named) as page:
                assert page.status == 200
        finally:
            site.terminate()
            site.wait(60)


@pytest.mark.slow
def test_mkdocs_builds_the_pages_as_the_makefile_says(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    clone = copied(tmp_path)
    # Within `make test` a make would also say which folder it enters.
    make = ["make", "--no-print-directory", "-n", "docs"]
    shown = subprocess.run(make, cwd=clone, capture_output=True, text=True, check=True).stdout
    lines = [line for line in shown.splitlines() if "docs-venv/bin/python" not in line and "-m venv" not in line]
    code = "import sys; from mkdocs.__main__ import cli; cli(prog_name='mkdocs')"
    mkdocs = f"{shlex.quote(sys.executable)} -W ignore -c {shlex.quote(code)}"
    script = "\n".join(["set -e", *lines]).replace("build/docs-venv/bin/mkdocs", mkdocs)
    done = subprocess.run(["bash", "-c", script], cwd=clone, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (clone / "build/docs/index.html").is_file() and (clone / "build/docs/docs/tour/index.html").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("line", commands("docker build"))
def test_docker_builds_the_documented_image(line: str, tmp_path: Path) -> None:
    if not shutil.which("docker") or subprocess.run(["docker", "info"], capture_output=True, check=False).returncode:
        pytest.skip("docker is not there, or its service does not run")
    clone = copied(tmp_path)
    (clone / "data/board").mkdir(parents=True)
    (clone / "data/board/manifest.json").write_text("{}")
    subprocess.run(["bash", "-c", line], cwd=clone, check=True)
