"""Recipes: all settings of a training besides its data and its model, in one class for each kind of training.

A recipe is a TOML file: one of the project's, in `recipes/`, or a user's own, named by its path. It may hold recipes of
several kinds, each in a table of its own; a kind reads the values above all tables, then those of its tables in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import ClassVar, Literal, TypeVar

from pydantic import Field, model_validator

from hellofresh.core.errors import ConfigError, UnknownNameError
from hellofresh.core.files import as_model, parse_toml
from hellofresh.core.strict import Strict


class BaseRecipe(Strict):
    """Settings of recipes of every kind."""

    tables: ClassVar[tuple[str, ...]]
    """Tables that it is read from; if the file has tables, the last of these is required."""

    name: str = Field(pattern=r"^[a-z0-9]+(?:-[a-z0-9]+)*$", max_length=40)
    seed: int = Field(default=1, ge=0)


class Recipe(BaseRecipe):
    """How a reranker is trained; `recipes/rarg.toml` explains every setting, here and below."""

    tables = ("reranker",)

    positives: int = Field(default=4, ge=1, le=64)
    drawn_from: int = Field(default=4, ge=1, le=1000)
    negatives: int = Field(default=4, ge=1, le=64)
    tau: float = Field(default=0.1, ge=0, le=2)
    weight: float = Field(default=0.3, ge=0, le=10)
    logarithm: bool = False
    scale: float = Field(default=1.0, gt=0, le=100)
    lexical_rate: float = Field(default=0.0, ge=0, le=1)
    epochs: int = Field(default=5, ge=1, le=1000)
    batch: int = Field(default=16, ge=1, le=1024)
    rate: float = Field(default=1e-3, gt=0, le=1)
    decay: float = Field(default=0.01, ge=0, le=1)
    warm_up: int = Field(default=100, ge=0, le=100_000)
    selection: float = Field(default=0.2, gt=0, lt=1)

    @model_validator(mode="after")
    def _enough(self) -> Recipe:
        if self.drawn_from < self.positives:
            raise ValueError("positives are drawn from at least as many documents")
        return self


class RewardRecipe(BaseRecipe):
    """How a reward model is trained: `words` is for heads; encoders trained whole use the settings before it."""

    tables = ("reward",)

    epochs: int = Field(default=30, ge=1, le=1000)
    batch: int = Field(default=64, ge=1, le=1024)
    rate: float = Field(default=1e-3, gt=0, le=1)
    decay: float = Field(default=0.1, ge=0, le=10)
    warm_up: int = Field(default=20, ge=0, le=100_000)
    words: float = Field(default=20.0, ge=0, le=1000)
    selection: float = Field(default=0.15, gt=0, lt=0.5)
    test: float = Field(default=0.25, gt=0, lt=0.5)


class TuningRecipe(BaseRecipe):
    """Settings of every tuning of a language model."""

    rank: int = Field(default=16, ge=1, le=1024)
    alpha: int = Field(default=32, ge=1, le=4096)
    dropout: float = Field(default=0.05, ge=0, lt=1)
    modules: list[str] = Field(default=["q_proj", "v_proj"], min_length=1, max_length=20)
    bits: Literal[4, 8, 16] = 16
    epochs: int = Field(default=3, ge=1, le=1000)
    steps: int = Field(default=0, ge=0, le=10_000_000)
    batch: int = Field(default=4, ge=1, le=1024)
    accumulation: int = Field(default=4, ge=1, le=1024)
    rate: float = Field(default=1e-4, gt=0, le=1)
    decay: float = Field(default=0.0, ge=0, le=1)
    warm_up: float = Field(default=0.03, ge=0, le=1)
    evidence: int = Field(default=3, ge=0, le=20)
    evidence_words: int = Field(default=150, ge=1, le=5000)
    words: int = Field(default=80, ge=1, le=1000)
    response_tokens: int = Field(default=128, ge=1, le=8192)
    prompt_tokens: int = Field(default=1024, ge=16, le=131_072)
    save_every: int = Field(default=10, ge=1, le=1_000_000)


class SftRecipe(TuningRecipe):
    """How a model learns from written responses."""

    tables = ("tuning", "sft")

    held_out: float = Field(default=0.1, gt=0, lt=1)


class RewardedRecipe(TuningRecipe):
    """How a model learns from the rewards of its own responses."""

    tables: ClassVar[tuple[str, ...]] = ("tuning", "rewarded")

    rate: float = Field(default=1e-5, gt=0, le=1)
    alpha_relevance: float = Field(default=1.0, ge=0, le=100)
    responses: int = Field(default=4, ge=2, le=256)
    temperature: float = Field(default=1.0, gt=0, le=10)
    kl: float = Field(default=0.2, gt=0, le=100)
    kl_bound: float = Field(default=10.0, gt=0, le=10_000)
    clip: float = Field(default=0.2, gt=0, le=10)

    @model_validator(mode="after")
    def _whole_groups(self) -> RewardedRecipe:
        if self.batch * self.accumulation % self.responses:
            raise ValueError("batch times accumulation is a multiple of responses: each prompt gets this many")
        return self


class PpoRecipe(RewardedRecipe):
    """How a model learns from rewards by PPO."""

    tables = ("tuning", "rewarded", "ppo")

    responses: int = Field(default=1, ge=1, le=256)
    updates: int = Field(default=4, ge=1, le=100)
    discount: float = Field(default=1.0, gt=0, le=1)
    trace: float = Field(default=0.95, ge=0, le=1)
    value_weight: float = Field(default=0.1, ge=0, le=10)
    value_rate: float = Field(default=1e-4, gt=0, le=1)
    kl_target: float = Field(default=6.0, gt=0, le=10_000)
    kl_horizon: int = Field(default=10_000, ge=1, le=100_000_000)


_Recipe = TypeVar("_Recipe", bound=BaseRecipe)


def load_recipe(name: str, kind: type[_Recipe]) -> _Recipe:
    """A recipe of the project by its name, or one in a file.

    Raises:
        UnknownNameError: if no recipe of that kind has this name.
        ConfigError: if it is malformed.
    """
    folder = files("training").joinpath("recipes")
    bundled = {item.name.removesuffix(".toml"): item.read_bytes() for item in folder.iterdir()}
    known = sorted(own for own, content in bundled.items() if kind.tables[-1] in parse_toml(content))
    if name not in known and not Path(name).is_file():
        raise UnknownNameError("recipe", name, known, fix="Name one of these, or a file.")
    try:
        found = parse_toml(bundled[name] if name in known else Path(name).read_bytes())
    except ValueError as error:
        raise ConfigError(f"not TOML ({error})", where=f"recipe {name}", code="bad-toml") from None
    tables = {key: value for key, value in found.items() if isinstance(value, dict)}
    if tables and kind.tables[-1] not in found:
        what = f"only tables for other methods ({', '.join(f'[{key}]' for key in tables)})"
        expected = f"a table [{kind.tables[-1]}]"
        raise ConfigError(what, where=f"recipe {name}", expected=expected, code="other-recipe")
    values = {key: value for key, value in found.items() if key not in tables}
    for table in kind.tables:
        values |= tables.get(table, {})
    return as_model(kind, values, where=f"recipe {name}", error=ConfigError, code="bad-recipe")


def changed_recipe(recipe: _Recipe, said: Sequence[str]) -> _Recipe:
    """A recipe with changed settings, given as `NAME=VALUE`.

    Raises:
        ConfigError: if it has no such setting, or a value is out of range.
    """
    pairs = (text.partition("=") for text in said)
    whole = recipe.model_dump() | {name: _value(value) for name, _, value in pairs}
    return as_model(type(recipe), whole, where="--set", error=ConfigError, code="bad-recipe")


def _value(text: str) -> object:
    try:
        return parse_toml(f"value = {text}".encode())["value"]
    except ValueError:
        return text
