"""Settings: what `hellofresh.toml` may say, and what holds where it says nothing.

The file is looked for in the current folder, or where HELLOFRESH_CONFIG points. Unknown keys are refused, so that a
misspelt one cannot be passed over in silence.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError, field_validator, model_validator

from hellofresh.core.calendar import Calendar, CalendarRule
from hellofresh.core.errors import ConfigError, UsageError
from hellofresh.core.files import parse_toml
from hellofresh.core.quarters import Quarter
from hellofresh.models.tables import ModelTable, Name, ProviderTable
from hellofresh.tasks import TASKS

__all__ = [
    "CalendarSettings",
    "DailySettings",
    "EvaluateSettings",
    "GoogleSettings",
    "NotesSourceSettings",
    "PostServiceSettings",
    "PostsSettings",
    "ProspectiveSettings",
    "ReleaseSettings",
    "Settings",
    "SiteSettings",
    "SourceSettings",
    "WebProviderSettings",
    "WebSettings",
    "WikiSourceSettings",
]


_ADDRESS = r"^(https?://[^\s<>\"']+)?$"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class CalendarSettings(_Strict):
    """When quarters open, close and are revealed; a release that was built keeps the days that it was built with."""

    opens_after_days: int = Field(default=21, ge=1, le=90)
    deadline_before_reveal_days: int = Field(default=7, ge=0, le=60)
    deadlines: dict[str, datetime] = Field(default_factory=dict)
    """Other deadlines for single quarters."""

    @field_validator("deadlines", mode="after")
    @classmethod
    def _quarters_and_zones(cls, deadlines: dict[str, datetime]) -> dict[str, datetime]:
        for name, moment in deadlines.items():
            try:
                Quarter.parse(name)
            except UsageError as error:
                raise ValueError(str(error)) from None
            if moment.tzinfo is None:
                raise ValueError(f"the deadline of {name} has no time zone, write it like 2027-01-15T00:00:00Z")
        return deadlines

    @property
    def rule(self) -> CalendarRule:
        """How a quarter's days follow from the quarter."""
        return CalendarRule(self.opens_after_days, self.deadline_before_reveal_days)

    def of(self, quarter: Quarter) -> Calendar:
        """The days of a quarter that is built now.

        Raises:
            ReleaseError: if its deadline is not between opening and reveal.
        """
        return self.rule.of(quarter, self.deadlines.get(str(quarter)))


class ProspectiveSettings(_Strict):
    """The prospective split: samples that nobody has decided yet, asked about for a few days."""

    enabled: bool = False
    """Whether `make release` collects undecided samples and draws such a split."""
    days: int = Field(default=5, ge=1, le=30)
    """From the drawing to the last prediction."""


class ReleaseSettings(_Strict):
    """How a release is drawn from its candidates."""

    seed: str = Field(default="hellofresh", min_length=1)
    caps: dict[str, PositiveInt] = Field(default_factory=dict)
    """Most samples a class and period by task; the task's own cap where nothing is said."""
    calendar: CalendarSettings = CalendarSettings()
    prospective: ProspectiveSettings = ProspectiveSettings()
    x_notes_texts: bool = False
    """Whether public samples from X hold the texts of posts and notes; X's terms forbid it to most people."""

    def texts(self, task: str) -> bool:
        """Whether a release of the task may hold texts that are withheld by default."""
        return task in ("x-notes", "x-notes-media", "x-posts") and self.x_notes_texts

    @field_validator("caps", mode="after")
    @classmethod
    def _known_tasks(cls, caps: dict[str, int]) -> dict[str, int]:
        for name in caps:
            if name not in TASKS:
                raise ValueError(f"{name!r} is not a task; known tasks: {', '.join(sorted(TASKS))}")
        return caps


class EvaluateSettings(_Strict):
    """What `make release` asks."""

    models: list[str] = ["smollm2-135m", "always-yes", "coin", "tfidf-logreg"]
    regimes: list[str] = ["zero-shot"]
    limit: int | None = Field(default=None, ge=1)
    """Samples a task and quarter; the model's own default where nothing is said."""
    budget_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Most that all runs on a quarter may cost."""


class DailySettings(_Strict):
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


class NotesSourceSettings(_Strict):
    """Where Community Notes come from."""

    dump: str | None = None
    posts: str | None = None
    posts_from: list[str] = []
    """Services that are asked for posts, in order."""
    base_url: str | None = Field(default=None, pattern=r"^https?://[^\s?#]+$")
    """Where dumps are downloaded from; the public address where nothing is said."""
    also: list[Literal["x-notes-media", "x-posts"]] = []
    """Further tasks that are collected from the same dump."""

    @model_validator(mode="after")
    def _says_something(self) -> NotesSourceSettings:
        if self.dump is None and self.base_url is None:
            raise ValueError("dump (a folder) or base_url (where dumps are downloaded from) is needed")
        return self


class PostServiceSettings(_Strict):
    """One web service of posts; what is not said stays as the service's own default."""

    base_url: str | None = Field(default=None, pattern=r"^https?://[^\s/?#@]+(/[^\s?#]*)?$")
    token_variable: str | None = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    per_second: float | None = Field(default=None, gt=0, le=1000)
    at_once: int | None = Field(default=None, ge=1, le=64)
    attempts: int | None = Field(default=None, ge=1, le=100)
    timeout_s: float | None = Field(default=None, gt=0, le=3600)
    deadline_s: float | None = Field(default=None, gt=0, le=86_400)


class PostsSettings(_Strict):
    """How web services are asked for posts."""

    reask_gone_days: int = Field(default=30, ge=0)
    """After how many days a post that was gone is asked for again."""
    embed: PostServiceSettings = PostServiceSettings()
    oembed: PostServiceSettings = PostServiceSettings()
    api_v2: PostServiceSettings = Field(default=PostServiceSettings(), alias="api-v2")
    fxtwitter: PostServiceSettings = PostServiceSettings()

    def service(self, name: str) -> PostServiceSettings:
        """What is said of the service with that name."""
        settings: PostServiceSettings = getattr(self, name.replace("-", "_"))
        return settings


class WikiSourceSettings(_Strict):
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


class SourceSettings(_Strict):
    """The configured sources; with none, the bundled sample is used."""

    x_notes: NotesSourceSettings | None = Field(default=None, alias="x-notes")
    wikipedia_edits: WikiSourceSettings | None = Field(default=None, alias="wikipedia-edits")

    @property
    def further_tasks(self) -> Sequence[str]:
        """Tasks that are collected beside others, where the source has samples of theirs."""
        return () if self.x_notes is None else self.x_notes.also

    @property
    def any(self) -> bool:
        """Whether any source is configured."""
        return self.x_notes is not None or self.wikipedia_edits is not None


class WebProviderSettings(_Strict):
    """One search provider; what is not said stays as the provider's own default."""

    base_url: str | None = Field(default=None, pattern=r"^https?://[^\s/?#@]+(/[^\s?#]*)?$")
    key_variable: str | None = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """The environment variable that holds the key."""


class GoogleSettings(WebProviderSettings):
    """Google's provider also needs the id of a search engine."""

    engine: str | None = Field(default=None, pattern=r"^[A-Za-z0-9:_-]+$")


class WebSettings(_Strict):
    """How the web is searched and read."""

    provider: Literal["offline", "corpus", "brave", "serper", "tavily", "searxng", "google", "ddgs"] = "offline"
    count: int = Field(default=10, ge=1, le=50)
    """Results of one search."""
    extractor: Literal["trafilatura", "beautifulsoup"] = "trafilatura"
    corpus: str | None = Field(default=None, min_length=1)
    """Folder of pages for the provider `offline`, those of the package where nothing is said; for the provider `corpus`
    the name of a corpus of the workspace."""
    retriever: str = Field(default="minilm", min_length=1, max_length=200)
    """How the provider `corpus` searches, as for `hellofresh corpus search`."""
    contact: str | None = Field(default=None, pattern=r"^[\x21-\x7e]{3,200}$")
    """An address of mail or of a page, told to every site that is read."""
    excluded: list[str] = []
    """Domains that are not read, besides those that never are."""
    images: Literal["off", "serpapi", "bing"] = "off"
    """Which service is asked for the pages on which a picture stands."""
    serpapi: WebProviderSettings = WebProviderSettings()
    bing: WebProviderSettings = WebProviderSettings()
    brave: WebProviderSettings = WebProviderSettings()
    serper: WebProviderSettings = WebProviderSettings()
    tavily: WebProviderSettings = WebProviderSettings()
    searxng: WebProviderSettings = WebProviderSettings()
    google: GoogleSettings = GoogleSettings()


class SiteSettings(_Strict):
    """Where the project lives, for the links of the site and of its static copy; what is empty is not shown."""

    repository: str = Field(default="", pattern=_ADDRESS)
    issues: str = Field(default="", pattern=_ADDRESS)
    dataset: str = Field(default="", pattern=r"^([\w.-]+/[\w.-]+)?$")
    """The data set on the Hugging Face hub that `release publish` fills, as `OWNER/NAME`."""


class Settings(_Strict):
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
                fix="docs/sources.md, docs/models.md and docs/site.md list every key.",
                code="config",
            ) from None
        except ValueError as error:
            raise ConfigError(f"not TOML ({error})", where=str(file), code="config") from error
