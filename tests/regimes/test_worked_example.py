"""The worked example of docs/extending.md runs as it stands there."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

from hellofresh.runs.prompts import load_prompt_set

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def _block(language: str, word: str) -> str:
    """The first block of a language that holds a word."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")
    return next(body for kind, body in _FENCE.findall(text) if kind == language and word in body)


def test_the_worked_example_of_a_regime_asks_for_an_objection_and_judges_with_it_in_view(
    stage, make, tmp_path, monkeypatch
) -> None:
    module = types.ModuleType("my_regime")
    monkeypatch.setitem(sys.modules, "my_regime", module)  # dataclasses look their module up
    exec(_block("python", "class Objection"), module.__dict__)
    regime, path = module.Objection(), tmp_path / "set.toml"
    path.write_text(_block("toml", "objection"))
    world = stage.World({"objection": "It cites no source.", "classify": "No."}, {}, [])
    outcome = stage.judged(regime, make.note(1), world, load_prompt_set("x-notes", "objection", path))
    assert [item.step for item in world.asked] == ["objection", "classify"]
    assert "Objection: It cites no source." in world.asked[-1].text
    assert [(item.prompt, item.label) for item in outcome.outputs] == [("manual", 0)]
    assert len(world.asked) <= regime.ceiling(prompts=1)
