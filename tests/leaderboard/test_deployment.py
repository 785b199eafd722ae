"""The image and the Space: what the Dockerfile says, done by hand, without rights and on read-only files."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import polars as pl
import pytest
from browsing import free_port, wait_for_site

INSTRUCTION = re.compile(r"^([A-Z]+)\s+(.*)$")
SECRETS = ("labels.jsonl", "escrow", "private")


def instructions(dockerfile: Path) -> list[tuple[str, str]]:
    """Name and argument of each, continued lines joined."""
    text = re.sub(r"\\\n\s*", " ", dockerfile.read_text())
    found = (INSTRUCTION.match(line) for line in text.splitlines())
    return [(match.group(1), match.group(2)) for match in found if match]


def environment(dockerfile: Path) -> dict[str, str]:
    said = [pair for name, said in instructions(dockerfile) if name == "ENV" for pair in said.split()]
    return dict(pair.split("=", 1) for pair in said)


@pytest.fixture(scope="module")
def space(root: Path, revealed_board: object, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `make space` lays out, in a copy of the project with a board."""
    project = tmp_path_factory.mktemp("project")
    for name in ("hellofresh", "leaderboard"):
        shutil.copytree(root / name, project / name)
    for name in (
        "Dockerfile",
        ".dockerignore",
        "pyproject.toml",
        "LICENSE",
        "CHANGELOG.md",
        "requirements-site.lock",
        "Makefile",
    ):
        shutil.copy(root / name, project / name)
    shutil.copytree(revealed_board.root, project / "data")  # type: ignore[attr-defined]
    subprocess.run(["make", "--no-print-directory", "space"], cwd=project, check=True)
    return project / "build" / "space"


def test_without_a_board_there_is_no_space_and_a_word_why(root: Path, tmp_path: Path) -> None:
    shutil.copy(root / "Makefile", tmp_path)
    command = ["make", "--no-print-directory", "space"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode
    assert "make release" in done.stdout


def test_the_space_holds_the_board_and_no_labels(space: Path) -> None:
    files = [path.relative_to(space).as_posix() for path in space.rglob("*") if path.is_file()]
    assert "data/board/manifest.json" in files
    assert [name for name in files if name.startswith("data/") and not name.startswith("data/board/")] == []
    releases = pl.read_parquet(space / "data/board/releases.parquet").filter(pl.col("revealed"))
    revealed = {  # their labels are public files of the release, which the page Data hands out
        f"data/board/released/{edition}/{task}/labels.jsonl"
        for edition, task in releases.select("edition", "task").iter_rows()
    }
    secret = [name for name in files if name.startswith("data/") and any(part in name for part in SECRETS)]
    assert secret and set(secret) <= revealed


def test_everything_that_is_copied_is_there_and_nothing_else_of_data_reaches_the_image(space: Path) -> None:
    copied = [said.split()[0:-1] for name, said in instructions(space / "Dockerfile") if name == "COPY"]
    sources = [source for sources in copied for source in sources]
    assert [source for source in sources if not (space / source).exists()] == []
    ignored = (space / ".dockerignore").read_text().split()
    assert ignored.index("!data") < ignored.index("data/*") < ignored.index("!data/board")


def test_the_image_runs_as_a_user_without_rights_and_reports_nothing(space: Path) -> None:
    names = [name for name, _ in instructions(space / "Dockerfile")]
    users = [said for name, said in instructions(space / "Dockerfile") if name == "USER"]
    assert users == ["site"]
    assert names.index("USER") < names.index("CMD")
    assert environment(space / "Dockerfile")["STREAMLIT_BROWSER_GATHER_USAGE_STATS"] == "false"


def test_the_space_says_how_it_is_run(space: Path) -> None:
    _, front, _ = (space / "README.md").read_text().split("---\n", 2)
    said = dict(line.split(": ", 1) for line in front.splitlines())
    assert (said["sdk"], said["app_port"]) == ("docker", environment(space / "Dockerfile")["STREAMLIT_SERVER_PORT"])
    assert len(said["short_description"]) <= 60


def without_rights() -> list[str]:
    """A command's beginning that takes root's powers away, such as to write what is read-only; none is needed else."""
    return ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--"] if os.getuid() == 0 else []


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    paths = [folder, *folder.rglob("*")]
    for path in paths:
        path.chmod(path.stat().st_mode & ~0o222)
    try:
        yield
    finally:
        for path in paths:
            path.chmod(path.stat().st_mode | 0o200)


@pytest.fixture(scope="module")
def running(space: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of the site, started as the image starts it."""
    port = free_port()
    said = {name: value.replace("/app", str(space)) for name, value in environment(space / "Dockerfile").items()}
    (command,) = (json.loads(text) for name, text in instructions(space / "Dockerfile") if name == "CMD")
    variables = {**said, "STREAMLIT_SERVER_PORT": str(port), "PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    started = [*without_rights(), sys.executable, "-m", *command]
    log = tmp_path_factory.mktemp("site") / "log"
    with (
        read_only(space),
        log.open("wb") as output,
        subprocess.Popen(started, cwd=space, env=variables, stdout=output, stderr=output) as site,
    ):
        try:
            wait_for_site(f"http://localhost:{port}/_stcore/health", site, log)
            yield port
        finally:
            site.terminate()


@pytest.mark.integration
def test_the_site_starts_from_files_that_it_cannot_write(running: int, space: Path) -> None:
    tried = subprocess.run([*without_rights(), "touch", str(space / "new")], capture_output=True, check=False)
    assert tried.returncode
    with urlopen(f"http://localhost:{running}/", timeout=120) as answer:
        assert b"streamlit" in answer.read().lower()
        assert "frame-ancestors 'self' https://huggingface.co" in answer.headers["Content-Security-Policy"]
        assert "X-Frame-Options" not in answer.headers  # it knows no exception for a Space


@pytest.mark.integration
def test_the_health_check_tells_a_running_site_from_none(running: int, space: Path) -> None:
    (said,) = (text for name, text in instructions(space / "Dockerfile") if name == "HEALTHCHECK")
    command = json.loads(said[said.index("[") :])
    for port, sound in ((running, True), (1, False)):
        variables = {**os.environ, "STREAMLIT_SERVER_PORT": str(port)}
        done = subprocess.run([sys.executable, *command[1:]], env=variables, capture_output=True, check=False)
        assert (done.returncode == 0) is sound


ALONE = """
import re, sys
from importlib.metadata import packages_distributions
from pathlib import Path
from hellofresh.core.errors import DISTRIBUTION

lock = Path("requirements-site.lock").read_text()
locked = {DISTRIBUTION} | set(re.findall(r"^([a-z0-9._-]+)==", lock, re.MULTILINE))
owners = packages_distributions()

class Refuses:
    def find_spec(self, name, path=None, target=None):
        own = {re.sub(r"[-_.]+", "-", owner).lower() for owner in owners.get(name.partition(".")[0], ())}
        if own and not own & locked:
            raise ModuleNotFoundError(f"{name} is not in the site's lock", name=name)

sys.meta_path.insert(0, Refuses())
from pathlib import Path
from tempfile import mkdtemp
from streamlit.testing.v1 import AppTest
from leaderboard.export import export_board
from leaderboard.serving import board_folder
from leaderboard.views import all_pages
export_board(board_folder(), Path(mkdtemp()) / "copy")
for page in all_pages():
    test = AppTest.from_file("leaderboard/app.py", default_timeout=300)
    test.query_params["page"] = page.path
    assert not test.run().exception
"""


def test_every_page_is_shown_with_nothing_but_the_sites_own_lock(space: Path, root: Path) -> None:
    variables = {**os.environ, "HELLOFRESH_DATA": str(space / "data"), "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", ALONE]
    done = subprocess.run(command, env=variables, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_served_from_any_folder_it_listens_on_this_machine_only(revealed_board: object, tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "hellofresh", "board", "serve", "--port", str(port)]
    environment = {**os.environ, "HELLOFRESH_DATA": str(revealed_board.root)}  # type: ignore[attr-defined]
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(command, cwd=tmp_path, stdout=log, stderr=log, env=environment)
        try:
            wait_for_site(f"http://127.0.0.1:{port}/", server, tmp_path / "log")
            tables = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()
            listening = [line.split()[1] for line in tables.splitlines() if f":{port:04X} " in line and " 0A " in line]
            assert listening == [f"0100007F:{port:04X}"]
            for path, headers, status in (
                ("no-such/page", {}, 404),
                ("hellofresh-export.json", {}, 404),
                ("..%2f..%2fboard/manifest.json", {}, 404),
                ("", {"Host": "evil.example"}, 403),
            ):
                found = 503  # what lies beside pages is waited for until all are made
                while found == 503:
                    with pytest.raises(HTTPError) as caught:
                        urlopen(Request(f"http://127.0.0.1:{port}/{path}", headers=headers), timeout=60)
                    with caught.value as answer:
                        found = answer.code
                assert found == status
        finally:
            server.terminate()
            server.wait()


def test_the_app_reports_nothing_of_visitors_whatever_it_is_started_with(root: Path, tmp_path: Path) -> None:
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit/config.toml").write_text("[browser]\ngatherUsageStats = true\n")
    check = (
        "from streamlit.testing.v1 import AppTest; from streamlit import config; import sys;"
        f"AppTest.from_file({str(root / 'leaderboard/app.py')!r}, default_timeout=300).run();"
        "sys.exit(config.get_option('browser.gatherUsageStats'))"
    )
    environment = {**os.environ, "STREAMLIT_BROWSER_GATHER_USAGE_STATS": "true"}
    subprocess.run([sys.executable, "-c", check], cwd=tmp_path, env=environment, check=True)
