"""What can be chosen about the Wikipedia collector."""

from __future__ import annotations

from dataclasses import dataclass

from collectors.wikipedia.rules.wikitext import Kind
from hellofresh.core.errors import ConfigError

__all__ = ["EditsSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EditsSettings:
    """All options of the collector; every one of them decides which candidates come out.

    Attributes:
        kinds: kinds of paragraphs that may be asked about.
        min_changed_characters: inserted plus deleted characters must be more than this.
        max_paragraphs: a revision that changes more paragraphs than this is dropped.
        base_revisions: an edit has to stand for this many later revisions ...
        paragraphs_per_revision: ... and one more for every so many paragraphs of the article.
        collapse_runs: treat consecutive revisions by one user as one revision.
        keep_bots: ask about edits of users whose name ends in one of `bot_suffixes`.
        bot_suffixes: endings of bots' names, compared without case.
        keep_restored: ask about edits that put back a text that stood in the section before.
        whole_paragraphs: ask about paragraphs put in or taken out whole too; one side of such an edit is empty.
    """

    kinds: tuple[Kind, ...] = (Kind.PROSE, Kind.LIST)
    min_changed_characters: int = 50
    max_paragraphs: int = 5
    base_revisions: int = 2
    paragraphs_per_revision: int = 10
    collapse_runs: bool = False
    keep_bots: bool = False
    bot_suffixes: tuple[str, ...] = ("bot",)
    keep_restored: bool = False
    whole_paragraphs: bool = False

    def __post_init__(self) -> None:
        if not self.kinds:
            raise ConfigError(
                "no kind of paragraph chosen",
                where="wikipedia-edits setting kinds",
                expected=f"at least one of {', '.join(Kind)}",
                code="bad-setting",
            )
        lowest = {
            "min_changed_characters": 0,
            "max_paragraphs": 1,
            "base_revisions": 1,
            "paragraphs_per_revision": 1,
        }
        for name, least in lowest.items():
            if getattr(self, name) < least:
                raise ConfigError(
                    f"{getattr(self, name)} is too small",
                    where=f"wikipedia-edits setting {name}",
                    expected=f"at least {least}",
                    code="bad-setting",
                )

    def required_revisions(self, paragraphs: int) -> int:
        """N: how many later revisions an edit of an article of so many paragraphs has to stand."""
        return self.base_revisions + paragraphs // self.paragraphs_per_revision

    def is_bot(self, user: str | None) -> bool:
        """Whether the user's name ends as bots' names do."""
        return user is not None and user.casefold().endswith(self.bot_suffixes)
