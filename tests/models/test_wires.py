"""docs/extending.md: a wire of another package is asked like those of the project."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from hellofresh.models import CallError, Message, Request
from hellofresh.models.catalogue import ModelContext, open_model
from hellofresh.models.wires import WIRES
from hellofresh.tasks import get_task
from tests.models.conftest import closed, says

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "my_wire.py"
REQUEST = Request((Message("system", ("Be short.",)), Message("user", ("Is it?",))), 15, seed=3)
TABLES = """
[providers.lab]
kind = "plain"
base_url = "{}"

[models.mine]
provider = "lab"
model = "m-1"
"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chat: Any) -> Any:
    metadata = tmp_path / "installed" / "plain-1.0.dist-info"
    metadata.mkdir(parents=True)
    shutil.copy(EXAMPLE, metadata.parent)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: plain\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[hellofresh.wires]\nplain = my_wire:WIRE\n")
    (tmp_path / "hellofresh.toml").write_text(TABLES.format(chat.base_url))
    monkeypatch.syspath_prepend(metadata.parent)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HELLOFRESH_CONFIG", raising=False)
    yield open_model("mine", ModelContext(get_task("x-notes"), training=list))
    del WIRES["plain"]


def test_it_is_asked_in_its_own_form(model: Any, chat: Any) -> None:
    says(chat, {"text": "Yes."})
    answer = closed(model, lambda: model.ask(REQUEST))
    assert chat.paths == ["/v1/complete"]
    assert chat.bodies == [{"model": "m-1", "prompt": "Be short.\n\nIs it?", "length": 15}]
    assert answer.text == "Yes."
    assert (model.spec.parameters["speaks"], model.spec.parameters["dropped"]) == ("plain", "seed")


def test_its_faults_are_named_errors(model: Any, chat: Any) -> None:
    says(chat, {}, 500)
    with pytest.raises(CallError) as caught:
        closed(model, lambda: model.ask(REQUEST))
    assert caught.value.retryable
