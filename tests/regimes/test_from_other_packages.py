"""A regime and a search provider from another package work by their names, without a change to the project."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import types
from pathlib import Path

from hellofresh.runs.prompts import load_prompt_set
from tests.regimes import conftest as stage

MODULE = """
from dataclasses import dataclass
from hellofresh.runs.regimes import BaseRegime

@dataclass(frozen=True, slots=True)
class Mine(BaseRegime):
    name: str = "mine"

MINE = Mine()

class Search:
    name = "my-search"
    def __init__(self, options, *, replay):
        self.parameters = {"provider": self.name, "dated": False, **options}
"""
PROGRAM = """
from hellofresh.config import WebSettings
from hellofresh.core.errors import HelloFreshError
from hellofresh.runs.regimes import get_regime
from hellofresh.evidence.web.search.services import open_provider
print(get_regime("mine").name)
settings = WebSettings.model_validate({"provider": "my-search", "options": {"place": "here"}})
print(open_provider(settings).parameters["place"])
for provider in ("my-serch", "broken"):
    try:
        open_provider(WebSettings.model_validate({"provider": provider}))
    except (HelloFreshError, ValueError) as error:
        print(getattr(error, "code", "not-known"))
"""


def test_what_another_package_brings_is_found_by_its_entry_points(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MODULE)
    metadata = tmp_path / "mine-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    points = "[hellofresh.regimes]\nmine = mine:MINE\n[hellofresh.search]\nmy-search = mine:Search\nbroken = mine:No\n"
    (metadata / "entry_points.txt").write_text(points)
    paths = os.pathsep.join([str(tmp_path), str(Path(__file__).resolve().parents[2])])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": paths},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["mine", "here", "not-known", "bad-plugin"], done.stderr


_FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def _block(language: str, word: str) -> str:
    text = (Path(__file__).resolve().parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")
    return next(body for kind, body in _FENCE.findall(text) if kind == language and word in body)


def test_the_worked_example_of_a_regime_asks_for_an_objection_and_judges_with_it_in_view(
    make, tmp_path, monkeypatch
) -> None:
    module = types.ModuleType("my_regime")
    monkeypatch.setitem(sys.modules, "my_regime", module)  # dataclasses look their module up
    exec(_block("python", "class Objection"), module.__dict__)
    regime, path = module.Objection(), tmp_path / "set.toml"
    path.write_text(_block("toml", "objection"))
    world = stage.World({"objection": "It cites no source.", "classify": "No."}, {}, [])
    outcome = stage.judged(regime, make.note(1), world, load_prompt_set("x-notes", "objection", str(path)))
    assert [item.step for item in world.asked] == ["objection", "classify"]
    assert "Objection:\nIt cites no source." in world.asked[-1].text
    assert [(item.prompt, item.label) for item in outcome.outputs] == [("manual", 0)]
    assert len(world.asked) <= regime.ceiling(prompts=1)
