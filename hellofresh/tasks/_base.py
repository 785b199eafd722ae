"""What a task is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any

from pydantic import TypeAdapter, ValidationError

from hellofresh.errors import DataError
from hellofresh.quarters import PeriodKind
from hellofresh.samples import Sample

__all__ = ["Task"]


@dataclass(frozen=True)
class Task:
    """A kind of human decision that models are asked to predict.

    Attributes:
        name: as on the command line, in file names and in samples.
        title: as on the site.
        question: one sentence for people who have never heard of it.
        positive: what label 1 means, such as `helpful`.
        negative: what label 0 means.
        id_prefix: how the ids of its samples begin.
        period_kind: how quarters are divided for balancing and for scores by period.
        cap: most samples of one class in one period of a release.
        sample_type: the dataclass of its samples.
        label_facts: names of the facts that go with labels, and only with labels.
        slots: gives the texts for the prompt's slots from a sample.
        text: gives the text that a bag-of-words baseline may read.
        own_texts: gives the texts that people wrote, as their authors may want them back.
        public_type: the dataclass of a sample without the texts that may not be published; None where all may be.
        public: gives a sample in that form, from which nothing but the same texts gives the same again.
        blocked_sources: groups of `hellofresh/web/excluded.toml` that hold its answers; no regime reads them.
        decides_after: least time from a sample's date to its decision; None where it can come at any time.
        first_shown: the extra column with the time at which anybody could first see a decision, if any.
        extra_columns: names of what is kept with candidates for whoever looks into them, and is in no release.
    """

    name: str
    title: str
    question: str
    positive: str
    negative: str
    id_prefix: str
    period_kind: PeriodKind
    cap: int
    sample_type: type[Sample]
    label_facts: tuple[str, ...]
    slots: Callable[[Any], Mapping[str, str]]
    text: Callable[[Any], str]
    own_texts: Callable[[Any], tuple[str, ...]]
    public_type: type[Sample] | None = None
    public: Callable[[Any], Sample] = lambda sample: sample
    extra_columns: tuple[str, ...] = ()
    decides_after: timedelta | None = None
    blocked_sources: tuple[str, ...] = ()
    first_shown: str = ""

    @property
    def classes(self) -> tuple[str, ...]:
        """What each label means, by label."""
        return self.negative, self.positive

    @cached_property
    def _adapter(self) -> TypeAdapter[Sample]:
        return TypeAdapter(self.sample_type)

    @cached_property
    def _public_adapter(self) -> TypeAdapter[Sample]:
        return TypeAdapter(self.public_type or self.sample_type)

    def parse_public(self, line: str | bytes, *, where: str = "") -> Sample:
        """Read one line of a `samples.jsonl` without texts.

        Raises:
            DataError: if the line is no such sample of this task.
        """
        return self._parse(self._public_adapter, line, where)

    def parse_sample(self, line: str | bytes, *, where: str = "") -> Sample:
        """Read one line of `samples.jsonl`.

        Raises:
            DataError: if the line is no sample of this task.
        """
        return self._parse(self._adapter, line, where)

    def _parse(self, adapter: TypeAdapter[Sample], line: str | bytes, where: str) -> Sample:
        try:
            return adapter.validate_json(line, strict=True)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = ".".join(str(part) for part in first["loc"]) or "the line"
            raise DataError(
                f"not a sample of {self.name}: {field}: {first['msg'].lower()}",
                where=where,
                code="bad-sample",
            ) from None
