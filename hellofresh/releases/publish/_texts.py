"""Statements on each task's data, as the card gives them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict, TypeAdapter

from hellofresh.core.files import parse_toml

__all__ = ["LICENCES", "CardTexts", "DataStatement", "card_texts", "has_statement", "statement_on"]

LICENCES = {
    "CC-BY-SA-4.0": ("cc-by-sa-4.0", "https://creativecommons.org/licenses/by-sa/4.0/"),
    "LicenseRef-X-content": ("other", "https://x.com/en/tos"),
    "Apache-2.0": ("apache-2.0", "https://www.apache.org/licenses/LICENSE-2.0"),
    "MIT": ("mit", "https://opensource.org/license/mit"),
    "CC-BY-4.0": ("cc-by-4.0", "https://creativecommons.org/licenses/by/4.0/"),
    "CC-BY-SA-3.0": ("cc-by-sa-3.0", "https://creativecommons.org/licenses/by-sa/3.0/"),
    "CC-BY-NC-4.0": ("cc-by-nc-4.0", "https://creativecommons.org/licenses/by-nc/4.0/"),
    "ODC-By-1.0": ("odc-by", "https://opendatacommons.org/licenses/by/1-0/"),
    "CC-BY-3.0": ("cc-by-3.0", "https://creativecommons.org/licenses/by/3.0/"),
    "CC0-1.0": ("cc0-1.0", "https://creativecommons.org/publicdomain/zero/1.0/"),
    "LicenseRef-research-only": ("other", "https://www.cs.ucsb.edu/~william/data/liar_dataset.zip"),
    "LicenseRef-not-stated": ("other", "https://choosealicense.com/no-permission/"),
}
"""What the hub calls the licence that samples name, and where it is to be read."""


class DataStatement(BaseModel):
    """What is to be said of a task's data."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    source: str
    people: str
    licence: str
    limits: list[str]


class CardTexts(BaseModel):
    """The paragraphs that every card has, or every one of its kind."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    bundled: str
    partly: str
    about: str
    prospective: str
    checking: str
    taking_down: str


@cache
def card_texts() -> CardTexts:
    """The paragraphs."""
    return CardTexts.model_validate(parse_toml(_content("card.toml")))


def _content(name: str) -> bytes:
    return files("hellofresh.releases.publish").joinpath(name).read_bytes()


@cache
def _statements() -> dict[str, DataStatement]:
    return TypeAdapter(dict[str, DataStatement]).validate_python(parse_toml(_content("statements.toml")))


def has_statement(task: str) -> bool:
    """Whether there is a statement on a task's data; of one that was added from outside there is none."""
    return task.removesuffix("-binary") in _statements()


def statement_on(task: str) -> DataStatement:
    """The statement on a task's data; a task with fewer classes has that of its data set."""
    return _statements()[task.removesuffix("-binary")]
