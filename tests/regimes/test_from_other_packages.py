"""Regimes, providers and agents of other packages and frameworks work by their names."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hellofresh.runs.prompts import load_prompt_set
from hellofresh.runs.record import read_record
from hellofresh.tasks.transcripts import AskedEvent, SearchedEvent, read_transcripts
from tests.conftest import Cli
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


# --- Agents of other frameworks, as the documents show them, run like a regime: from `evaluate` to a row of the board.


FRAMEWORKS = {"pydantic_ai": "pydantic_ai", "smolagents": "smolagents", "langchain": "langchain_openai"}


def says_yes(body: dict[str, Any]) -> bool:
    """What the model makes of a note, by its number."""
    asked = json.dumps(body["messages"])
    (number,) = set(re.findall(r"Note (\d+):", asked))
    return int(number) % 3 > 0


def model(loopback: Any) -> Callable[[int, dict[str, Any]], Any]:
    """A model that searches once with a framework's tool, and then answers as its tools want it."""

    def behave(number: int, body: dict[str, Any]) -> Any:
        tools = [tool["function"]["name"] for tool in body.get("tools", ())]
        if "search" in tools and not any(turn["role"] in ("tool", "assistant") for turn in body["messages"]):
            return called(loopback, "search", {"query": "what is known of rivers"})
        yes = says_yes(body)
        ends = (("final_answer", "answer", "yes" if yes else "no"), ("final_result", "response", yes))
        for name, argument, value in ends:
            if name in tools:
                return called(loopback, name, {argument: value})
        return loopback.said("Yes." if yes else "No.")

    return behave


def called(loopback: Any, name: str, arguments: dict[str, object]) -> Any:
    call = {"id": "call-a", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
    usage = {"prompt_tokens": 10, "completion_tokens": 2}
    return loopback.Reply(json.dumps({"model": "m-1", "choices": [choice], "usage": usage}).encode())


def test_agents_of_three_frameworks_reach_the_board(make, chat, loopback, root: Path, place: Path, cli: Cli) -> None:
    make.release(make.notes(2, 2))
    (place / "hellofresh.toml").write_text("[web]\nprovider = 'offline'\n")
    chat.behave = model(loopback)
    where = ["--quarter", "2023Q2", "--task", "x-notes", "--model", "openai:m", "--base-url", chat.base_url]
    for framework, package in FRAMEWORKS.items():
        pytest.importorskip(package)
        shutil.copy(root / f"docs/examples/{framework}_agent.py", place / f"{framework}.py")
        chat.bodies.clear()
        folder = Path(cli.json("evaluate", *where, "--agent", f"{framework}.py:solve")["folder"])
        check_answers(folder, 10 * len(chat.bodies))
        before = {path.name: path.read_bytes() for path in folder.glob("*.jsonl")}
        asked = len(chat.bodies)
        cli("runs", "resume", folder.name)
        assert len(chat.bodies) == asked, "what is resumed asks nothing again"
        assert {path.name: path.read_bytes() for path in folder.glob("*.jsonl")} == before

    cli("score", "--quarter", "2023Q2", "--private")
    cli("board", "build", "--private")
    shown = pl.read_parquet(place / "data/private/board/scores.parquet")
    named = {(row["regime"], row["settings"].partition(",")[0]) for row in shown.iter_rows(named=True)}
    assert named == {("agent", f"{framework}.py:solve") for framework in FRAMEWORKS}


def check_answers(folder: Path, tokens_in: int) -> None:
    """Every sample has the answer that the model gave, and a transcript of how it came about."""
    record = read_record(folder)
    assert record is not None and (record.judged, record.failed) == (12, 0)
    assert record.tokens_in == tokens_in > 0
    rows = [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]
    assert {row["id"]: row["label"] for row in rows} == {row["id"]: int(int(row["id"][3:]) % 3 > 0) for row in rows}
    for item in read_transcripts(folder):
        assert [type(event) for event in item.events] == [AskedEvent, SearchedEvent, AskedEvent]
