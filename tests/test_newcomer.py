"""A newcomer's hour: README's three paths (browse, evaluate, submit), word by word, with the time that each takes.

It runs in a clean clone with an empty home, where everything has to be installed first. HELLOFRESH_NEWCOMER=here runs
it in this checkout instead, for a machine on which the checkout is such a clone.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import pytest

from tests.fakes import free_port

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]

ROOT = Path(__file__).resolve().parents[1]
PLAN = {"Two commands": "browse", "Evaluate a model": "evaluate", "Submit a system": "submit"}


@dataclass
class Newcomer:
    """Somebody with a clone and an empty home, who types what README says."""

    folder: Path
    environment: dict[str, str]
    times: list[tuple[str, float]] = field(default_factory=list)

    def types(self, command: str) -> str:
        """Run a command of README; gives what it printed."""
        start = time.monotonic()
        done = subprocess.run(
            shlex.split(command, comments=True), cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.times.append((command, time.monotonic() - start))
        assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout


def commands() -> dict[str, list[str]]:
    """README's commands by heading, comments and alternatives left out."""
    found: dict[str, list[str]] = {}
    for part in re.split(r"^## ", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title, _, text = part.partition("\n")
        blocks = re.findall(r"^```\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        found[title] = [line.split("  #")[0].strip() for block in blocks for line in block.splitlines() if line.strip()]
    return found


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Newcomer]:
    """Somebody new; the times are printed at the end."""
    place = tmp_path_factory.mktemp("newcomer")
    here = os.environ.get("HELLOFRESH_NEWCOMER") == "here"
    folder = ROOT if here else place / "hellofresh"
    if not here:
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    (place / "home").mkdir()
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("HELLOFRESH_", "XDG_", "PIP_CACHE"))
    }
    found = Newcomer(folder, {**kept, "HOME": str(place / "home"), "HELLOFRESH_DATA": str(place / "data")})
    yield found
    sys.stderr.write("\n" + "\n".join(f"{seconds:8.1f} s  {command}" for command, seconds in found.times) + "\n")


@pytest.fixture(scope="module")
def endpoint(newcomer: Newcomer, loopback: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An endpoint on the loopback in the place of the provider that README names, and a key for it."""
    chat = loopback.Chat()
    config = tmp_path_factory.mktemp("config") / "hellofresh.toml"
    config.write_text(
        f'[providers.openai]\nkind = "openai-compatible"\nbase_url = "{chat.base_url}"\n'
        'key_variable = "OPENAI_API_KEY"\n'
    )
    newcomer.environment |= {"HELLOFRESH_CONFIG": str(config), "OPENAI_API_KEY": "a-key"}
    yield chat.base_url
    chat.close()


def test_readme_has_the_three_paths() -> None:
    assert PLAN.keys() <= commands().keys()


def test_the_three_paths_word_by_word(newcomer: Newcomer, endpoint: str) -> None:
    browse(newcomer)
    evaluate(newcomer, endpoint)
    submit(newcomer)


def browse(newcomer: Newcomer) -> None:
    listed = commands()["Two commands"]
    assert "make test" in listed  # which is what runs this
    newcomer.types(next(command for command in listed if command == "make release"))
    newcomer.types("make help")
    assert "source .venv/bin/activate" in listed
    newcomer.environment["PATH"] = f"{newcomer.folder / '.venv/bin'}{os.pathsep}{newcomer.environment['PATH']}"
    assert "make leaderboard" in listed
    port = str(free_port())
    site = subprocess.Popen(
        ["make", "leaderboard", f"PORT={port}"], cwd=newcomer.folder, stdout=subprocess.DEVNULL, start_new_session=True,
        env=newcomer.environment,
    )  # fmt: skip
    start = time.monotonic()
    try:
        while time.monotonic() - start < 120:
            try:
                with urllib.request.urlopen(f"http://localhost:{port}/_stcore/health", timeout=5) as answer:
                    assert answer.read() == b"ok"
                break
            except OSError:
                assert site.poll() is None
                time.sleep(0.2)
        else:
            pytest.fail("the site did not start")
        newcomer.times.append(("make leaderboard", time.monotonic() - start))
    finally:
        os.killpg(site.pid, 15)
        site.wait(60)


def evaluate(newcomer: Newcomer, endpoint: str) -> None:
    listed = [command.replace("http://localhost:8000/v1", endpoint) for command in commands()["Evaluate a model"]]
    assert any(endpoint in command for command in listed)
    printed = [newcomer.types(command) for command in listed]
    assert "F1 beside the baselines" in printed[-1]
    assert printed[-1].endswith("next: hellofresh board serve\n")


def submit(newcomer: Newcomer) -> None:
    new, check, add = commands()["Submit a system"]
    assert "submission new --edition 2026Q3" in new
    drafts = Path(newcomer.environment["HELLOFRESH_DATA"]).parent / "drafts"
    newcomer.types(f"{new} --submissions {drafts}")
    folder = next(drafts.glob("*/*/*"))
    predictions = folder / "predictions.jsonl"
    predictions.write_text(predictions.read_text().replace("null", "1"))
    assert "no faults" in newcomer.types(check.replace("FOLDER", str(folder)))
    assert "Received" in newcomer.types(f"{add.replace('FOLDER', str(folder))} --submissions {drafts.parent / 'taken'}")
