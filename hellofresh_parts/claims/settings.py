"""The table `[sources.claims]` of `hellofresh.toml`; whoever reads the settings loads no collector with it."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, model_validator

from hellofresh.core.strict import Strict


class ClaimsSourceSettings(Strict):
    """Where reviews of claims come from: feeds, and publishers to look up in the Fact Check Tools API."""

    feed: list[str] = Field(default=[])
    api: list[str] = Field(default=[])
    languages: list[str] = Field(default=[])
    """Languages of reviews; empty for all."""
    verdicts: Path | None = Field(default=None, strict=False)
    """A table of verdicts that replaces the project's own."""

    @model_validator(mode="after")
    def _names_a_source(self) -> ClaimsSourceSettings:
        if not self.feed and not self.api:
            raise ValueError("feed (files or addresses) or api (sites of publishers) is needed")
        return self
