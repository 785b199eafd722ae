"""Settings of collections, by source: each setting once, as a field with its option.

`hellofresh collect TASK` accepts the options of the classes that `collectors.LIVING` names for the task;
`settings_from` reads them. Only the standard library and modules needed for help are imported here.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast, get_type_hints

from hellofresh.core.errors import ConfigError, UsageError
from hellofresh.core.quarters import utc_text
from hellofresh.runs.evaluation import Option

_Settings = TypeVar("_Settings")


def options_of(kind: type) -> dict[str, Option]:
    """The options of a class of settings, by field."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: hint.__metadata__[0] for name, hint in hints.items() if hasattr(hint, "__metadata__")}


def defaults_of(kind: type[Any]) -> dict[str, object]:
    """Defaults of the fields."""
    return {field.name: field.default for field in fields(kind)}


def settings_from(kind: type[_Settings], given: object) -> _Settings:
    """Settings from a command line: an object with an attribute for each option."""
    return kind(**{name: option.read(getattr(given, name)) for name, option in options_of(kind).items()})


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def refuse_small(settings: object, task: str, **least: int) -> None:
    """Refuse a task's settings below their least values; raises ConfigError naming the first."""
    for name, value in least.items():
        if getattr(settings, name) < value:
            raise ConfigError(
                f"{getattr(settings, name)} is too small",
                where=f"{task} setting {name}",
                expected=f"at least {value}",
                code="bad-setting",
            )


_ABOUT_DUMP = (
    "notes, posts and ratings: folder of the dump's TSV files, plain or zipped; wikipedia-edits: full-history XML "
    "(plain, gz, bz2, xz or 7z), or folders of it"
)
DUMP = Option(_ABOUT_DUMP, "FILE|DIR", parse=Path, several=True)
_API = Option("wikipedia-edits: a wiki's api.php, such as https://en.wikipedia.org/w/api.php", "URL", several=True)
_NOTES = "notes and posts"
_READING = "how dumps are read: wikipedia-edits, ratings"


@dataclass(frozen=True, slots=True)
class NotesAsked:
    """Options that select notes and posts."""

    dump: Annotated[tuple[Path, ...] | None, DUMP] = None
    download: Annotated[bool, Option("download a dump first, as 'hellofresh archive' does", group=_NOTES)] = False
    posts: Annotated[
        Path | None,
        Option("JSONL of posts (default: posts.jsonl in the dump's folder)", "FILE", parse=Path, group=_NOTES),
    ] = None
    posts_from: Annotated[
        tuple[str, ...],
        Option("service from which to fetch posts: api-v2", "NAMES", parse=_names, group=_NOTES),
    ] = ()


@dataclass(frozen=True, slots=True)
class PicturesAsked:
    """Option to download pictures."""

    pictures: Annotated[
        bool,
        Option("x-notes-media, x-posts: fetch posts' pictures, which stay private in the workspace", group=_NOTES),
    ] = False


class LabelSource(StrEnum):
    """The status that serves as label."""

    LOCKED = "locked"
    CURRENT = "current"

    @property
    def column(self) -> str:
        """The column of the status history."""
        return f"{self.value}Status"


_LABEL = "status used as the label: the locked one (default), or the current one of old enough notes"
_INCOMPLETE = "keep posts with traces of a web page or of missing media, from a file without a media column"
_PARTIAL = "accept a dump in which over 1%% of the notes lack their text or their status history"


@dataclass(frozen=True, slots=True)
class NotesSettings:
    """Settings that decide which notes are kept; options document their fields.

    Attributes:
        dump_end: end of the dump; None for the creation of its newest note.
        languages: languages of posts to keep, as named by the source of posts.
        max_characters: maximal length of post and note together.
    """

    label_source: Annotated[
        LabelSource, Option(_LABEL, choices=tuple(map(str, LabelSource)), read=LabelSource, group=_NOTES)
    ] = LabelSource.LOCKED
    min_age_days: Annotated[
        int, Option("with current statuses: minimum age of a note in days (default: 14)", "D", parse=int, group=_NOTES)
    ] = 14
    dump_end: datetime | None = None
    languages: tuple[str, ...] = ("en",)
    max_characters: int = 4000
    allow_missing_columns: Annotated[bool, Option("treat missing optional columns as empty", group=_NOTES)] = False
    human_only: Annotated[bool, Option("leave out notes by AI writers and collaborative ones", group=_NOTES)] = False
    keep_incomplete: Annotated[bool, Option(_INCOMPLETE, group=_NOTES)] = False
    accept_partial: Annotated[bool, Option(_PARTIAL, group=_NOTES)] = False

    def __post_init__(self) -> None:
        if not self.languages or self.max_characters < 1 or self.min_age_days < 0:
            raise UsageError(
                "settings that keep nothing",
                where=f"languages={list(self.languages)}, max_characters={self.max_characters}, "
                f"min_age_days={self.min_age_days}",
                expected="a language, at least 1 character and at least 0 days",
                code="bad-settings",
            )

        if self.dump_end is not None and self.dump_end.tzinfo is None:
            raise UsageError(
                "a time without a zone",
                where=f"dump_end={self.dump_end.isoformat()}",
                expected="a time such as 2024-11-06T00:00:00Z",
                code="bad-settings",
            )

    def as_parameters(self) -> dict[str, object]:
        """JSON-ready, for the manifest; the age only where it applies."""
        aged = self.label_source is LabelSource.CURRENT
        end = utc_text(self.dump_end) if aged and self.dump_end else None
        age = self.min_age_days if aged else None
        return asdict(self) | {"min_age_days": age, "dump_end": end, "languages": list(self.languages)}


@dataclass(frozen=True, slots=True)
class ReadingAsked:
    """Where files are read; results do not depend on it."""

    jobs: Annotated[
        int | None,
        Option("files to read in parallel (default: one per processor; ratings: two)", "N", parse=int, group=_READING),
    ] = None
    cluster: Annotated[
        str,
        Option(
            "a Dask scheduler, such as tcp://host:8786, whose workers see the same files under the same paths",
            "ADDRESS",
            group=_READING,
        ),
    ] = ""


_LIVE = "wikipedia-edits: the live API of a wiki (your duties: docs/sources.md)"


@dataclass(frozen=True, slots=True)
class EditsAsked:
    """Options that select histories: dumps, or a wiki's API."""

    dump: Annotated[tuple[Path, ...] | None, DUMP] = None
    api: Annotated[tuple[str, ...] | None, _API] = None
    contact: Annotated[str | None, Option("your e-mail or web address, sent to the wiki", "TEXT", group=_LIVE)] = None
    pages: Annotated[
        tuple[str, ...],
        Option(
            "read the whole histories of these pages, or of those in a file with one title per line",
            "FILE|TITLE",
            several=True,
            group=_LIVE,
        ),
    ] = ()
    draw_pages: Annotated[
        int | None,
        Option("draw edits of at most N pages from the recent changes (default: 2000)", "N", parse=int, group=_LIVE),
    ] = None


class Kind(StrEnum):
    """Kinds of paragraphs."""

    PROSE = "prose"
    LIST = "list"
    TABLE = "table"
    TEMPLATE = "template"
    FILE = "file"
    REFERENCE = "reference"
    QUOTE = "quote"
    COMMENT = "comment"
    LINKS = "links"
    """Category and interlanguage links."""


def _kinds(given: object) -> tuple[Kind, ...]:
    return tuple(kind for kind in Kind if kind in cast("tuple[str, ...]", given))


_RULE = "wikipedia-edits: which edits become samples"  # part of the release's manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class EditsSettings:
    """Settings that decide which edits become candidates; options document their fields.

    Attributes:
        min_changed_characters: inserted plus deleted characters must be more than this.
        max_paragraphs: a revision that changes more paragraphs than this is dropped.
        base_revisions: an edit has to survive this many later revisions ...
        paragraphs_per_revision: ... and one more for every this many paragraphs of the article.
        bot_suffixes: endings of bots' names, case-insensitive.
    """

    kinds: Annotated[
        tuple[Kind, ...],
        Option(
            f"kinds of paragraphs, of {', '.join(Kind)} (default: prose list)",
            "KIND",
            choices=tuple(map(str, Kind)),
            several=True,
            read=_kinds,
            group=_RULE,
        ),
    ] = (Kind.PROSE, Kind.LIST)
    min_changed_characters: int = 50
    max_paragraphs: int = 5
    base_revisions: int = 2
    paragraphs_per_revision: int = 10
    collapse_runs: Annotated[bool, Option("treat consecutive revisions by one user as one", group=_RULE)] = False
    keep_bots: Annotated[bool, Option("also edits by bots (users whose names end in bot)", group=_RULE)] = False
    bot_suffixes: tuple[str, ...] = ("bot",)
    keep_restored: Annotated[bool, Option("also edits that restore an older text", group=_RULE)] = False
    whole_paragraphs: Annotated[
        bool, Option("also whole paragraphs added or removed, not only changed ones", group=_RULE)
    ] = False

    def __post_init__(self) -> None:
        if not self.kinds:
            raise ConfigError(
                "no kind of paragraph chosen",
                where="wikipedia-edits setting kinds",
                expected=f"at least one of {', '.join(Kind)}",
                code="bad-setting",
            )
        least = {"min_changed_characters": 0, "max_paragraphs": 1, "base_revisions": 1, "paragraphs_per_revision": 1}
        refuse_small(self, "wikipedia-edits", **least)

    def required_revisions(self, paragraphs: int) -> int:
        """N: the later revisions that an edit must survive in an article of this many paragraphs."""
        return self.base_revisions + paragraphs // self.paragraphs_per_revision
