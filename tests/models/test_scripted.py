"""A script says what its file says, is marked as a script wherever it is named, and is never ranked."""

from __future__ import annotations

import asyncio

import pytest

from hellofresh.core.errors import ConfigError
from hellofresh.models import Message, Request
from hellofresh.models.catalogue import ModelContext, known_models, open_model
from hellofresh.models.scripted import ScriptedModel
from hellofresh.results.panel import EntrySection, section_of
from tests.fakes import fails_with

SCRIPT = """
about = "A test."
[[answers]]
turn = 2
say = "second"
[[answers]]
asked = 'How (\\w+)\\?'
sample = "moon"
say = "very \\\\1"
[[answers]]
sample = "(moon|sun)"
say = "the \\\\1"
"""


@pytest.fixture
def script(tmp_path):
    def write(text: str = SCRIPT):
        path = tmp_path / "My script.toml"
        path.write_text(text)
        return path

    return write


def said(model, *texts: str) -> str:
    roles = ("user", "assistant")
    messages = tuple(Message(roles[number % 2], (text,)) for number, text in enumerate(texts))
    return asyncio.run(model.ask(Request(messages, 10))).text


def test_the_first_answer_whose_conditions_all_hold_is_given(script) -> None:
    model = ScriptedModel.load(script())
    assert said(model, "the moon. How far?") == "very far"
    assert said(model, "the sun. How far?") == "the sun"
    assert said(model, "the moon", "x", "How far?") == "second"
    assert said(model, "a star") == ""


def test_it_is_opened_by_the_name_of_its_file_and_marked_as_a_script(script) -> None:
    model = open_model(f"scripted:{script()}", ModelContext("x-notes", list))
    assert model.spec.name == "scripted-my-script"
    assert model.spec.smoke_test and model.spec.free and "NOT A MODEL" in model.spec.about
    assert section_of(model.spec.kind, "search-agent", smoke_test=model.spec.smoke_test) is EntrySection.SMOKE_TEST
    assert "script" in known_models()["scripted"].about


def test_another_script_is_another_model(script) -> None:
    first = ScriptedModel.load(script()).spec.parameters
    assert ScriptedModel.load(script(SCRIPT.replace("second", "2nd"))).spec.parameters != first


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"moon"', '"("'),
        ("turn = 2", "turn = 0"),
        ("turn = 2", "tern = 2"),
        ("very \\\\1", "very \\\\2"),
        ('say = "second"', ""),
        ("[[answers]]", "[[answers]"),
        (SCRIPT, 'about = "nothing"'),
    ],
)
def test_a_faulty_script_is_refused_by_name(script, old: str, new: str) -> None:
    assert old in SCRIPT
    with fails_with("bad-script") as caught:
        ScriptedModel.load(script(SCRIPT.replace(old, new)))
    assert "My script.toml" in str(caught.value)


def test_a_script_that_is_not_there_is_refused(tmp_path) -> None:
    with pytest.raises(ConfigError):
        open_model(f"scripted:{tmp_path / 'none.toml'}", ModelContext("x-notes", list))
