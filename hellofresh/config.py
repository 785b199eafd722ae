"""Settings: what `hellofresh.toml` may say, and what holds where it says nothing.

The file is looked for in the current folder, or where HELLOFRESH_CONFIG points. Unknown keys are refused, so that a
misspelt one cannot be passed over in silence.
"""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError, field_validator, model_validator

from hellofresh.errors import ConfigError
from hellofresh.files import parse_toml
from hellofresh.tasks import TASKS

__all__ = [
    "EvaluateSettings",
    "NotesSourceSettings",
    "ReleaseSettings",
    "Settings",
    "SourceSettings",
    "WikiSourceSettings",
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ReleaseSettings(_Strict):
    """How a release is drawn from its candidates."""

    seed: str = Field(default="hellofresh", min_length=1)
    caps: dict[str, PositiveInt] = Field(default_factory=dict)
    """Most samples a class and period by task; the task's own cap where nothing is said."""

    @field_validator("caps", mode="after")
    @classmethod
    def _known_tasks(cls, caps: dict[str, int]) -> dict[str, int]:
        for name in caps:
            if name not in TASKS:
                raise ValueError(f"{name!r} is no task, known are {', '.join(sorted(TASKS))}")
        return caps


class EvaluateSettings(_Strict):
    """What `make release` asks."""

    models: list[str] = ["smollm2-135m", "always-yes", "coin", "tfidf-logreg"]
    regimes: list[str] = ["zero-shot"]
    limit: int | None = Field(default=None, ge=1)
    """Samples a task and quarter; the model's own default where nothing is said."""


class NotesSourceSettings(_Strict):
    """Where Community Notes come from."""

    dump: str
    posts: str | None = None


class WikiSourceSettings(_Strict):
    """Where revision histories come from: dumps, or a wiki's API and whom its operators can reach."""

    dump: list[str] | None = Field(default=None, min_length=1)
    api: str | None = None
    contact: str | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> WikiSourceSettings:
        if (self.dump is None) == (self.api is None):
            raise ValueError("one of dump and api is needed, and not both")
        return self


class SourceSettings(_Strict):
    """The configured sources; with none, the bundled sample is used."""

    x_notes: NotesSourceSettings | None = Field(default=None, alias="x-notes")
    wikipedia_edits: WikiSourceSettings | None = Field(default=None, alias="wikipedia-edits")

    @property
    def any(self) -> bool:
        """Whether any source is configured."""
        return self.x_notes is not None or self.wikipedia_edits is not None


class Settings(_Strict):
    """Everything that `hellofresh.toml` may say."""

    release: ReleaseSettings = ReleaseSettings()
    evaluate: EvaluateSettings = EvaluateSettings()
    sources: SourceSettings = SourceSettings()

    @classmethod
    def load(cls, path: Path | None = None) -> Settings:
        """Read the settings.

        Args:
            path: the file; by default HELLOFRESH_CONFIG, else `hellofresh.toml` in the current folder if it is there.

        Raises:
            ConfigError: if a file that was named is missing, or a file is no TOML or says something unknown.
        """
        named = path or (Path(os.environ["HELLOFRESH_CONFIG"]) if os.environ.get("HELLOFRESH_CONFIG") else None)
        file = named or Path("hellofresh.toml")
        if named is None and not file.exists():
            return cls()
        try:
            return cls.model_validate(parse_toml(file.read_bytes()))
        except OSError as error:
            raise ConfigError(f"cannot read ({error.strerror})", where=str(file), code="config") from error
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = ".".join(str(part) for part in first["loc"])
            raise ConfigError(
                f"{field}: {first['msg'].lower()}",
                where=str(file),
                fix="The README lists every key.",
                code="config",
            ) from None
        except ValueError as error:
            raise ConfigError(f"not TOML ({error})", where=str(file), code="config") from error
