"""Settings: what `hellofresh.toml` may say, and what holds where it says nothing.

The file is looked for in the current folder, or where HELLOFRESH_CONFIG points. Unknown keys are refused, so that a
misspelt one cannot be passed over in silence.
"""

from __future__ import annotations

from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from hellofresh.core.strict import Strict, read_settings
from hellofresh.evidence.settings import WebSettings
from hellofresh.models.tables import ModelTable, Name, ProviderTable
from hellofresh.releases.settings import ReleaseSettings
from hellofresh.tasks import TASKS

_ADDRESS = r"^(https?://[^\s<>\"']+)?$"


class EvaluateSettings(Strict):
    """What `make release` asks."""

    models: list[str] = Field(default=["smollm2-135m", "always-yes", "coin", "tfidf-logreg"])
    regimes: list[str] = Field(default=["zero-shot"])
    limit: int | None = Field(default=None, ge=1)
    """Samples a task and quarter; the model's own default where nothing is said."""
    budget_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Most that all runs on a quarter may cost."""


class DailySettings(Strict):
    """What `hellofresh quarter run` does besides."""

    archive_days: int = Field(default=7, ge=1, le=90)
    """After how many days another snapshot of a source is taken that keeps its dumps only for days."""
    hydrate_days: int = Field(default=30, ge=1, le=366)
    """After how many days the posts of public quarters whose texts are withheld are looked at again."""
    analyses: bool = True
    """Whether analyses are made of revealed quarters."""
    hub: str | None = Field(default=None, min_length=3, pattern=r"^[^/\s]+/[^/\s]+$")
    """Data set repository of the Hugging Face hub that the publication goes to, too: OWNER/NAME."""
    export: str | None = Field(default=None, min_length=1)
    """Folder of the static copy of the board; none where nothing is said."""
    hook_variable: str | None = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """The environment variable with the address of a chat hook that the summary is posted to."""
    hook_on_failure: bool = True
    """Whether only a day with a failed step is told."""


class NotesSourceSettings(Strict):
    """Where Community Notes come from."""

    dump: str | None = None
    posts: str | None = None
    posts_from: list[str] = Field(default=[])
    """Services that are asked for posts, in order."""
    base_url: str | None = Field(default=None, pattern=r"^https?://[^\s?#]+$")
    """Where dumps are downloaded from; the public address where nothing is said."""
    ratings: bool = False
    """Whether snapshots have the ratings, about 11 GB, to which voters are fitted."""
    accept_partial: bool = False
    """Whether a dump counts though over 1% of the notes are in one of its tables only."""
    claimed: str | None = None
    """Folder of names that note writers claim."""
    also: list[str] = Field(default=[])
    """Further tasks that are collected from the same dump."""

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
    """One web service of posts; what is not said stays as the service's own default."""

    base_url: str | None = Field(default=None, pattern=r"^https?://[^\s/?#@]+(/[^\s?#]*)?$")
    token_variable: str | None = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    per_second: float | None = Field(default=None, gt=0, le=1000)
    at_once: int | None = Field(default=None, ge=1, le=64)
    attempts: int | None = Field(default=None, ge=1, le=100)
    timeout_s: float | None = Field(default=None, gt=0, le=3600)
    deadline_s: float | None = Field(default=None, gt=0, le=86_400)


class PostsSettings(Strict):
    """How web services are asked for posts."""

    reask_gone_days: int = Field(default=30, ge=0)
    """After how many days a post that was gone is asked for again."""
    api_v2: PostServiceSettings = Field(default=PostServiceSettings(), alias="api-v2")

    def service(self, name: str) -> PostServiceSettings:
        """What is said of the service with that name."""
        settings: PostServiceSettings = getattr(self, name.replace("-", "_"))
        return settings


class WikiSourceSettings(Strict):
    """Where revision histories come from: dumps, or a wiki's API and whom its operators can reach."""

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
            raise ValueError("one of dump and api is needed, and not both")
        of_the_api = self.model_fields_set - {"dump", "api", "contact"}
        if self.dump is not None and of_the_api:
            raise ValueError(f"{min(of_the_api)} says how an API is asked, and there is a dump")
        return self


class ClaimsSourceSettings(Strict):
    """Where reviews of claims come from: feeds, and publishers that the Fact Check Tools API is asked for."""

    feed: list[str] = Field(default=[])
    api: list[str] = Field(default=[])
    languages: list[str] = Field(default=[])
    """Languages of reviews; all where nothing is said."""
    verdicts: Path | None = None
    """A table of verdicts in place of the project's own."""

    @model_validator(mode="after")
    def _names_a_source(self) -> ClaimsSourceSettings:
        if not self.feed and not self.api:
            raise ValueError("feed (files or addresses) or api (sites of publishers) is needed")
        return self


class SourceSettings(Strict):
    """The configured sources; with none, the bundled sample is used."""

    x_notes: NotesSourceSettings | None = Field(default=None, alias="x-notes")
    wikipedia_edits: WikiSourceSettings | None = Field(default=None, alias="wikipedia-edits")
    claims: ClaimsSourceSettings | None = None

    @property
    def tasks(self) -> list[str]:
        """The living tasks whose sources are configured."""
        named = [field.alias or name for name, field in type(self).model_fields.items() if getattr(self, name)]
        return [*named, *(self.x_notes.also if self.x_notes else ())]

    @property
    def any(self) -> bool:
        """Whether any source is configured."""
        return bool(self.tasks)


class SiteSettings(Strict):
    """Where the project lives, for the links of the site and of its static copy; what is empty is not shown."""

    repository: str = Field(default="", pattern=_ADDRESS)
    issues: str = Field(default="", pattern=_ADDRESS)
    paper: str = Field(default="", pattern=_ADDRESS)
    docs: str = Field(default="", pattern=_ADDRESS)
    dataset: str = Field(default="", pattern=r"^([\w.-]+/[\w.-]+)?$")
    """The data set on the Hugging Face hub that `release publish` fills, as `OWNER/NAME`."""


class Settings(Strict):
    """Everything that `hellofresh.toml` may say."""

    release: ReleaseSettings = ReleaseSettings()
    evaluate: EvaluateSettings = EvaluateSettings()
    daily: DailySettings = DailySettings()
    sources: SourceSettings = SourceSettings()
    posts: PostsSettings = PostsSettings()
    providers: dict[Name, ProviderTable] = Field(default_factory=dict)
    """Providers of one's own, or in place of those of the catalogue."""
    models: dict[Name, ModelTable] = Field(default_factory=dict)
    """Models of one's own, or in place of those of the catalogue."""
    web: WebSettings = WebSettings()
    site: SiteSettings = SiteSettings()

    @model_validator(mode="after")
    def _own_site_is_not_read(self) -> Self:
        """No system reads where this project's own releases and results stand."""
        hosts = {urlsplit(own).hostname or "" for own in (self.site.repository, self.site.issues, self.site.docs)}
        added = sorted({host.removeprefix("www.") for host in hosts if host} - {*self.web.excluded})
        web = self.web.model_copy(update={"excluded": [*self.web.excluded, *added]})
        object.__setattr__(self, "web", web)  # the type is frozen for everybody else
        return self

    @classmethod
    def load(cls, path: Path | None = None) -> Settings:
        """Read the settings.

        Args:
            path: the file; by default HELLOFRESH_CONFIG, else `hellofresh.toml` in the current folder if it is there.

        Raises:
            ConfigError: if a file that was named is missing, or a file is not a TOML or says something unknown.
        """
        return read_settings(cls, path)
