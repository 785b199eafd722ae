"""The settings in `hellofresh.toml` and their defaults.

The file is in the current folder, or where HELLOFRESH_CONFIG points. Unknown keys are refused, so that a
misspelt key is not ignored.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    ValidationError,
    field_validator,
    model_validator,
)

from hellofresh.core.errors import ConfigError
from hellofresh.core.plugins import plugins
from hellofresh.core.strict import SiteSettings, Strict, read_settings, settings_fault
from hellofresh.evidence.settings import WebSettings
from hellofresh.models.tables import ModelTable, Name, ProviderTable
from hellofresh.releases.settings import ReleaseSettings
from hellofresh.tasks import TASKS


class EvaluateSettings(Strict):
    """Settings of the runs of `make release`."""

    models: list[str] = Field(default=[
        "smollm2-135m", "always-yes", "always-not-helpful", "always-rejected", "coin", "tfidf-logreg", "minilm-logreg"
    ])  # fmt: skip
    regimes: list[str] = Field(default=["zero-shot"])
    limit: int | None = Field(default=None, ge=1)
    """Samples per task and quarter; by default the model's own limit."""
    budget_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Maximum cost of all runs on a quarter, in US dollars."""


class DailySettings(Strict):
    """Optional steps of `hellofresh quarter run`."""

    archive_days: int = Field(default=7, ge=1, le=90)
    """Days between snapshots of a source that keeps its dumps only for days."""
    opens: Literal["when asked", "by itself"] = "when asked"
    """Whether a quarter waits for `hellofresh quarter open`, or opens on its day if there are no warnings."""
    least_samples: int = Field(default=20, ge=1)
    """Fewest samples of a task in a quarter that opens by itself."""
    hydrate_days: int = Field(default=30, ge=1, le=366)
    """Days between checks of the posts of public quarters whose texts are withheld."""
    analyses: bool = True
    """Whether to analyse revealed quarters."""
    hub: str | None = Field(default=None, min_length=3, pattern=r"^[^/\s]+/[^/\s]+$")
    """Data set repository on the Hugging Face hub that also gets the publication: OWNER/NAME."""
    export: str | None = Field(default=None, min_length=1)
    """Folder of the static copy of the board; None writes no copy."""
    hook_variable: str | None = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """The environment variable with the address of the chat hook that gets the summary."""
    hook_on_failure: bool = True
    """Whether to post only on days with a failed step."""


class NotesSourceSettings(Strict):
    """Where Community Notes come from."""

    dump: str | None = None
    posts: str | None = None
    posts_from: list[str] = Field(default=[])
    """Services to request posts from, in order."""
    base_url: str | None = Field(default=None, pattern=r"^https?://[^\s?#]+$")
    """Address to download dumps from; by default the public one."""
    ratings: bool = False
    """Whether snapshots include the ratings (about 11 GB), to which voters are fitted."""
    accept_partial: bool = False
    """Whether to accept a dump with over 1% of the notes in only one of its tables."""
    columns: dict[str, str] = Field(default_factory=dict)
    """Names that columns of the dump have now, by their usual names, when the source has renamed some."""
    claimed: str | None = None
    """Folder of names that note writers claim."""
    also: list[str] = Field(default=[])
    """Further tasks to collect from the same dump."""

    @field_validator("also", mode="after")
    @classmethod
    def _tasks_of_this_source(cls, names: list[str]) -> list[str]:
        known = [task.name for task in TASKS.values() if task.source == "x-notes" != task.name]
        for name in names:
            if name not in known:
                raise ValueError(f"{name!r} is not collected from this source; known tasks: {', '.join(known)}")
        return names

    @model_validator(mode="after")
    def _says_something(self) -> NotesSourceSettings:
        if self.dump is None and self.base_url is None:
            raise ValueError("dump (a folder) or base_url (where dumps are downloaded from) is needed")
        return self


class PostServiceSettings(Strict):
    """One web service of posts; fields that are not set keep the service's default."""

    base_url: str | None = Field(default=None, pattern=r"^https?://[^\s/?#@]+(/[^\s?#]*)?$")
    token_variable: str | None = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    per_second: float | None = Field(default=None, gt=0, le=1000)
    at_once: int | None = Field(default=None, ge=1, le=64)
    attempts: int | None = Field(default=None, ge=1, le=100)
    timeout_s: float | None = Field(default=None, gt=0, le=3600)
    deadline_s: float | None = Field(default=None, gt=0, le=86_400)


class PostsSettings(Strict):
    """How to request posts from web services."""

    reask_gone_days: int = Field(default=30, ge=0)
    """Days until a deleted post is requested again."""
    api_v2: PostServiceSettings = Field(default=PostServiceSettings(), alias="api-v2")

    def service(self, name: str) -> PostServiceSettings:
        """The settings of a service by its name."""
        settings: PostServiceSettings = getattr(self, name.replace("-", "_"))
        return settings


class WikiSourceSettings(Strict):
    """Where revision histories come from: dumps, or a wiki's API with a contact for its operators."""

    dump: list[str] | None = Field(default=None, min_length=1)
    api: str | None = None
    contact: str | None = None
    draw_pages: int | None = Field(default=None, ge=2)
    window_minutes: int | None = Field(default=None, ge=1)
    per_window: int | None = Field(default=None, ge=1)
    lookback: int | None = Field(default=None, ge=0)
    draw_seed: str | None = None
    per_minute: int | None = Field(default=None, ge=1)
    deadline_hours: float | None = Field(default=None, gt=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _one_of_both(self) -> WikiSourceSettings:
        if (self.dump is None) == (self.api is None):
            raise ValueError("set either dump or api, not both")
        of_the_api = self.model_fields_set - {"dump", "api", "contact"}
        if self.dump is not None and of_the_api:
            raise ValueError(f"{min(of_the_api)} is a setting for the API, but a dump is given")
        return self


class _Extended(Strict):
    """Settings with further tables of other packages, each of the type that its package states."""

    _added: dict[str, Any] = PrivateAttr(default_factory=dict)

    @classmethod
    def _kinds(cls, names: Iterable[str]) -> Mapping[str, type[Strict]]:
        """The types of those of these tables that other packages add."""
        raise NotImplementedError

    @model_validator(mode="wrap")
    @classmethod
    def _of_other_packages(cls, said: Any, read: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(said, Mapping):
            return read(said)
        own = {name for at, field in cls.model_fields.items() for name in (at, field.alias)}
        kinds = cls._kinds(said.keys() - own)
        found = read({name: table for name, table in said.items() if name not in kinds})
        for name in kinds:
            try:
                found._added[name] = kinds[name].model_validate(said[name])
            except ValidationError as error:
                raise ValueError(f"{name}: {settings_fault(kinds[name], error)}") from None
        return found

    @property
    def added(self) -> Mapping[str, Any]:
        """The tables of other packages that are there, by name."""
        return self._added


class SourceSettings(_Extended):
    """The configured sources; without any, the bundled sample is used.

    A task from outside adds its table by `Task.source_settings`, a collector of another task as `sources.TASK` of the
    group `hellofresh.settings`.
    """

    x_notes: NotesSourceSettings | None = Field(default=None, alias="x-notes")
    wikipedia_edits: WikiSourceSettings | None = Field(default=None, alias="wikipedia-edits")

    @classmethod
    def _kinds(cls, names: Iterable[str]) -> Mapping[str, type[Strict]]:
        kinds = dict[str, type[Strict]]()
        for name in (name for name in names if name in TASKS):
            task, added = TASKS[name], f"sources.{name}"
            kind = task.source_settings or plugins("hellofresh.settings", added, type).get(added)
            if kind is None and task.is_living and task.source == name:
                off = os.environ.get("HELLOFRESH_PLUGINS") == "none"
                what = "HELLOFRESH_PLUGINS=none leaves out what collects" if off else "no installed package collects"
                fix = f"{'Unset it' if off else 'Install one'}, or remove the table from hellofresh.toml."
                raise ConfigError(f"{what} {name}", where=f"[{added}]", fix=fix, code="no-collector")
            kinds |= {name: kind} if kind is not None else {}
        return kinds

    @property
    def tasks(self) -> list[str]:
        """The living tasks whose sources are configured."""
        named = [field.alias or name for name, field in type(self).model_fields.items() if getattr(self, name)]
        return [*named, *(self.x_notes.also if self.x_notes else ()), *sorted(self._added)]

    @property
    def any(self) -> bool:
        """Whether any source is configured."""
        return bool(self.tasks)


class Settings(_Extended):
    """All settings of `hellofresh.toml`. Entry points of the group `hellofresh.settings` add tables."""

    release: ReleaseSettings = ReleaseSettings()
    evaluate: EvaluateSettings = EvaluateSettings()
    daily: DailySettings = DailySettings()
    sources: SourceSettings = SourceSettings()
    posts: PostsSettings = PostsSettings()
    providers: dict[Name, ProviderTable] = Field(default_factory=dict)
    """Own providers; one with a name of the catalogue replaces that entry."""
    models: dict[Name, ModelTable] = Field(default_factory=dict)
    """Own models; one with a name of the catalogue replaces that entry."""
    web: WebSettings = WebSettings()
    site: SiteSettings = SiteSettings()

    @classmethod
    def _kinds(cls, names: Iterable[str]) -> Mapping[str, type[Strict]]:
        own = (one for one in names if "." not in one)  # others are tables of sources
        return {name: kind for one in own for name, kind in plugins("hellofresh.settings", one, type).items()}

    @model_validator(mode="after")
    def _own_site_is_not_read(self) -> Self:
        """Exclude the site with this project's releases and results from every system's web access."""
        hosts = {urlsplit(own).hostname or "" for own in (self.site.repository, self.site.issues, self.site.docs)}
        added = sorted({host.removeprefix("www.") for host in hosts if host} - {*self.web.excluded})
        web = self.web.model_copy(update={"excluded": [*self.web.excluded, *added]})
        object.__setattr__(self, "web", web)  # the type is frozen
        return self

    @classmethod
    def load(cls, path: Path | None = None) -> Settings:
        """Read the settings.

        Args:
            path: the file; by default HELLOFRESH_CONFIG, else `hellofresh.toml` in the current folder if it is there.

        Raises:
            ConfigError: if a named file is missing, or a file is not valid TOML or has unknown keys.
        """
        return read_settings(cls, path)
