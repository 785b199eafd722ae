"""A recipe: all that decides a training besides the data. Recipes of the project are in `recipes/`, one file each."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from hellofresh.errors import ConfigError, UnknownNameError
from hellofresh.files import parse_toml

__all__ = ["Recipe", "RewardRecipe", "load_recipe", "read_recipe"]


class Recipe(BaseModel):
    """How a reranker is trained; see `recipes/rarg.toml` for what each line means."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str = Field(pattern=r"^[a-z0-9]+(?:-[a-z0-9]+)*$", max_length=40)
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
    seed: int = Field(default=1, ge=0)

    @model_validator(mode="after")
    def _enough(self) -> Recipe:
        if self.drawn_from < self.positives:
            raise ValueError("positives are drawn from at least as many documents")
        return self


class RewardRecipe(BaseModel):
    """How a reward model is trained; see `recipes/rewards/head.toml` for what each line means."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str = Field(pattern=r"^[a-z0-9]+(?:-[a-z0-9]+)*$", max_length=40)
    epochs: int = Field(default=30, ge=1, le=1000)
    batch: int = Field(default=64, ge=1, le=1024)
    rate: float = Field(default=1e-3, gt=0, le=1)
    decay: float = Field(default=0.1, ge=0, le=10)
    warm_up: int = Field(default=20, ge=0, le=100_000)
    words: float = Field(default=20.0, ge=0, le=1000)
    selection: float = Field(default=0.15, gt=0, lt=0.5)
    test: float = Field(default=0.25, gt=0, lt=0.5)
    seed: int = Field(default=1, ge=0)


_Kind = TypeVar("_Kind", bound=BaseModel)


def load_recipe(name: str) -> Recipe:
    """A recipe of a reranker, as `read_recipe` finds it."""
    return read_recipe(name, Recipe)


def read_recipe(name: str, kind: type[_Kind], folder: str = "") -> _Kind:
    """A recipe of the project by its name, or one in a file.

    Args:
        name: of the recipe, or path of the file.
        kind: what the recipe is for.
        folder: where the project's recipes of that kind lie, below `recipes`.

    Raises:
        UnknownNameError: if there is no such recipe.
        ConfigError: if it is malformed.
    """
    bundled = files("hellofresh.training").joinpath("recipes").joinpath(folder)
    known = sorted(item.name.removesuffix(".toml") for item in bundled.iterdir() if item.name.endswith(".toml"))
    own = Path(name)
    if name not in known and not own.is_file():
        raise UnknownNameError("recipe", name, known, fix="Name one of these, or a file.")
    content = bundled.joinpath(f"{name}.toml").read_bytes() if name in known else own.read_bytes()
    try:
        return kind.model_validate(parse_toml(content))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise ConfigError(f"{field}: {first['msg'].lower()}", where=f"recipe {name}", code="bad-recipe") from None
    except ValueError as error:
        raise ConfigError(f"not TOML ({error})", where=f"recipe {name}", code="bad-toml") from None
