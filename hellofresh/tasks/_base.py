"""The type `Task` and what pages show of a sample."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, Self, Union

from pydantic import TypeAdapter, ValidationError

from hellofresh.core.errors import DataError, UnknownNameError, UsageError
from hellofresh.core.files import model_fault
from hellofresh.core.plugins import plugins, refuse_taken
from hellofresh.core.quarters import PeriodKind
from hellofresh.core.strict import Strict
from hellofresh.stats.metrics import Metric, check_metric, class_metrics, forecast_metrics, two_class_metrics
from hellofresh.tasks.outputs import Choice, Output, Response
from hellofresh.tasks.samples import PROSPECTIVE, Candidate, Label, Sample

Track = Literal["decisions", "statements", "responses", "retrieval"]
"""The site's heading for a task."""
MOST_CLASSES = 7  # as many as the finest scale of verdicts in use (X-Fact)
INSTANTS: Mapping[str, str] = {"sample": "date", "post": "post.date", "note": "note.date"}
"""The default field for the time of each instant."""


@dataclass(frozen=True, slots=True)
class TextPart:
    """A text of a sample, as pages show it.

    Attributes:
        name: what it is, such as `post`.
        text: the text.
        kind: `text` (the text in question) or `context`; for a change `before` (the text that was changed), `deleted`
            and `added`.
    """

    name: str
    text: str
    kind: Literal["text", "context", "before", "deleted", "added"] = "text"


@dataclass(frozen=True, slots=True)
class SamplePage:
    """A sample as pages show it: a title, its published texts, and the address of the original."""

    title: str = ""
    parts: tuple[TextPart, ...] = ()
    link: str = ""


class DataStatement(Strict):
    """What a data set card says of a task's data.

    Attributes:
        source: where samples come from, and what a label says.
        people: who wrote them, and what of theirs is in the data.
        licence: under which terms texts are passed on.
        limits: what the data cannot show, a sentence each.
    """

    source: str
    people: str
    licence: str
    limits: list[str]


@cache
def added_metrics(classes: tuple[str, ...]) -> tuple[Metric, ...]:
    """What other packages add to a task of choices with these classes; raises UsageError if one does not work."""
    found = list[Metric]()
    for name, make in plugins("hellofresh.metrics", of=Callable).items():
        try:
            for metric in make(classes):
                check_metric(metric, len(classes))
                found.append(metric)
        except Exception as error:  # code of others
            what = f"the metric {name} of another package cannot be used: {type(error).__name__}: {error}"
            raise UsageError(what, fix="docs/extending.md has an example.", code="bad-metric") from error
    return tuple(found)


@dataclass(frozen=True)
class Task:
    """A kind of human decision that models are asked to predict.

    Attributes:
        name: the name on the command line, in file names and in samples.
        title: the name on the site.
        question: one sentence for people who have never heard of it.
        classes: the meaning of each label, such as `("not helpful", "helpful")`; empty for tasks without classes.
        id_prefix: prefix of its sample ids.
        period_kind: how quarters are divided for balancing and for scores by period.
        cap: maximum samples of one class in one period of a release.
        sample_type: the dataclass of its samples.
        label_facts: names of the facts that are published only together with labels.
        slots: returns the texts of a sample for the prompt's slots.
        text: returns the text that a bag-of-words baseline may read.
        own_texts: returns the texts that people wrote, whose authors may ask for their removal.
        public_type: the dataclass of a sample without the texts that may not be published; None where all may be.
        public: returns a sample in that form, with hashes that only the same texts reproduce; one whose
            texts may be published stays as it is.
        blocked_sources: groups of `hellofresh/evidence/web/excluded.toml` that hold its answers; no regime reads them.
        dated: whether an agent may find only pages from before a sample's date, since later pages reveal the answer.
        decides_after: least time from a sample's date to its decision; None where it can come at any time.
        instants: by the name of an instant (`--set before=`), the field of a sample, or the fact of its label, with its
            time (ISO 8601).
        rules: the file beside this one with the days on which what decides labels changed, if any.
        first_shown: the extra column with the time at which a decision first became public, if any.
        track: the site's heading for it.
        output: the type of a system's output for a sample.
        metrics: how outputs are scored; the first one ranks systems. The usual ones if left out.
        fact_metrics: how stated probabilities are scored by facts of labels, where these are known.
        extra_columns: names of the values kept with candidates for inspection and left out of releases.
        page: returns what pages show of a sample in either form; the texts of the prompt's slots if left out.
        prompts: name of the file of its prompts, where several tasks share one; its own name if left out; or the path
            of a file, for a task from outside.
        measured: returns the value of each metric for one output, where metrics are means of numbers.
        subgroups: names of facts, or of fields of samples, by whose values analyses divide the samples.
        references: returns, by system name, the texts people wrote for a candidate, to be rated beside responses. A
            task of choices that has them takes responses, too, which are rated and never scored.
        rubric: the default rubric for rating responses; the one that fits the headline metric if left out.
        flip_cost: returns how many accounts or editors could flip the label, None where not known; the
            fact of that name if left out.
        groups_tell: whether a label reveals others in its group; then a group's samples are in one release only. If
            not, only near-equal samples and those of one lineage reveal each other's labels.
        lineage: returns the names of a sample's lineages; samples that share one reveal each other's labels, so
            at most one of them is in a release.
        is_living: whether new samples come every quarter; else the task has frozen editions only.
        source: the task whose table of `[sources]` in `hellofresh.toml` says where its samples come from.
        source_settings: of a living task from outside, the type of that table.
        statement: on its data; that of `statements.toml` if left out, and of a data set what its manifest says.
    """

    name: str
    title: str
    question: str
    classes: tuple[str, ...]
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
    dated: bool = False
    blocked_sources: tuple[str, ...] = ()
    instants: Mapping[str, str] = field(default_factory=lambda: INSTANTS, hash=False)
    rules: str = ""
    first_shown: str = ""
    track: Track = "decisions"
    output: type[Output] = Choice
    metrics: tuple[Metric, ...] = ()
    fact_metrics: tuple[Metric, ...] = ()
    prompts: str | Path = ""
    measured: Callable[[Label, Output], Mapping[str, float]] | None = None
    subgroups: tuple[str, ...] = ()
    references: Callable[[Candidate], Mapping[str, str]] | None = None
    rubric: str = ""
    flip_cost: Callable[[Label], int | None] = lambda label: (
        cost if isinstance(cost := label.facts.get("flip_cost"), int) else None
    )
    groups_tell: bool = True
    lineage: Callable[[Any], tuple[str, ...]] | None = None
    is_living: bool = True
    source: str = ""
    source_settings: type[Strict] | None = None
    statement: DataStatement | None = None
    page: Callable[[Any], SamplePage] | None = None

    def __post_init__(self) -> None:
        if self.output is Choice and not 2 <= len(set(self.classes)) == len(self.classes) <= MOST_CLASSES:
            raise ValueError(f"{self.name}: classes must be 2 to {MOST_CLASSES}, all different, not {self.classes}")
        if self.output is not Choice and (self.classes or not self.metrics):
            raise ValueError(f"{self.name}: a task without a choice has metrics and no classes")
        if not self.metrics:
            usual = two_class_metrics() if len(self.classes) == 2 else class_metrics(self.classes)
            object.__setattr__(self, "metrics", usual)
        if self.output is Choice:
            added = [metric for metric in added_metrics(self.classes) if metric not in self.metrics]  # by `replace`
            for metric in added:
                refuse_taken("metric", metric.name, [one.name for one in self.every_metric])
            object.__setattr__(self, "metrics", (*self.metrics, *added))
        if len({metric.name for metric in self.every_metric}) < len(self.every_metric):
            raise ValueError(f"{self.name}: two metrics share a name")
        object.__setattr__(self, "source", self.source or self.name)

    def takes(self, output: type[Output]) -> bool:
        """Whether the task accepts an output of this type: scored, or rated beside `references`."""
        return output in (Output, self.output) or (output is Response and self.references is not None)

    def page_of(self, sample: Sample) -> SamplePage:
        """The page of a sample, with or without its texts."""
        if self.page is not None:
            return self.page(sample)
        texts = self.slots(sample) if isinstance(sample, self.sample_type) else {}
        return SamplePage(parts=tuple(TextPart(name, text) for name, text in texts.items()))

    @property
    def headline(self) -> Metric:
        """The metric that systems are ranked by."""
        return self.metrics[0]

    @property
    def every_metric(self) -> tuple[Metric, ...]:
        """All metrics of scores, the headline first."""
        return *self.metrics, *self.fact_metrics

    def on(self, split: str) -> Self:
        """The task as scored on a split: on the prospective split, choices are ranked as forecasts."""
        if split != PROSPECTIVE or not self.classes or self.headline.of_forecasts:
            return self
        return replace(self, metrics=(*forecast_metrics(len(self.classes)), *self.metrics))

    @cached_property
    def rule_changes(self) -> Mapping[date, str]:
        """Changes of the rule that decides labels, by day."""
        listed = files("hellofresh.tasks").joinpath(self.rules).read_text(encoding="utf-8") if self.rules else ""
        return {change["date"]: change["what"] for change in tomllib.loads(listed).get("change", ())}

    def metric(self, name: str) -> Metric:
        """The metric of that name.

        Raises:
            UnknownNameError: if the task does not have it.
        """
        for metric in self.every_metric:
            if metric.name == name:
                return metric
        raise UnknownNameError("metric", name, [metric.name for metric in self.every_metric])

    @cached_property
    def _adapter(self) -> TypeAdapter[Sample]:
        return TypeAdapter(self.sample_type)

    @cached_property
    def _public_adapter(self) -> TypeAdapter[Sample]:
        # A release that withholds texts still has the texts whose licence allows it.
        forms: Any = Union[self.public_type, self.sample_type] if self.public_type else self.sample_type  # noqa: UP007
        return TypeAdapter(forms)

    def parse_sample(self, line: str | bytes, *, where: str = "", withheld: bool = False) -> Sample:
        """Read one line of `samples.jsonl`, of which texts may be `withheld`.

        Raises:
            DataError: if the line is not such a sample of this task.
        """
        try:
            return (self._public_adapter if withheld else self._adapter).validate_json(line, strict=True)
        except ValidationError as error:
            what = f"not a sample of {self.name}: {model_fault(error)}"
            raise DataError(what, where=where, code="bad-sample") from None
