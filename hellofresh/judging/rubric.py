"""Rubrics: the criteria for judging responses. A rubric is a TOML file; its hash is its version.

A criterion has options with words, or a range of whole numbers. A rating's value is the option's place, from 0 for the
worst, or the number itself: higher is better everywhere. A criterion is asked about the response, or about each of its
links, and only under its condition.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError, model_validator

from hellofresh.core.errors import DataError, UnknownNameError
from hellofresh.core.files import as_model, model_fault, parse_toml
from hellofresh.core.strict import Strict

RUBRICS = ("correction-13", "evidence-5", "inaccuracy", "justification-4", "missing-evidence", "proposal-5")
"""The rubrics of the package."""

_Id = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=40)]
_Words = Annotated[str, Field(min_length=1, max_length=1_000)]
_MOST_OPTIONS = 20


class ScaleOption(Strict):
    """One answer of a scale."""

    id: _Id
    words: _Words


class Condition(Strict):
    """Asked only if an earlier criterion has one of these options."""

    criterion: _Id
    is_: Annotated[tuple[_Id, ...], Field(strict=False, alias="is", min_length=1)]


class Criterion(Strict):
    """One criterion of a rubric.

    Attributes:
        id: unique in its rubric.
        group: title of a group of criteria.
        title, definition: texts for judges.
        unit: the judged unit: the response, or each of its links.
        options: answers, the worst first; empty with a range.
        range: the lowest and the highest whole number; None with options.
        ask_if: the condition under which it is asked.
        if_skipped: the value that agreement uses if the condition is not met; None leaves it out.
        undecided: text of the answer "undecided"; empty without such an answer.
    """

    id: _Id
    group: _Id
    title: _Words
    definition: _Words
    unit: Literal["response", "link"] = "response"
    options: Annotated[tuple[ScaleOption, ...], Field(strict=False, max_length=_MOST_OPTIONS)] = ()
    range: Annotated[tuple[int, int], Field(strict=False)] | None = None
    ask_if: Condition | None = None
    if_skipped: int | None = None
    undecided: str = ""

    @model_validator(mode="after")
    def _one_scale(self) -> Self:
        if bool(self.options) == (self.range is not None):
            raise ValueError("set either options or range, not both")
        if self.options and len({option.id for option in self.options}) < max(2, len(self.options)):
            raise ValueError("at least two options are needed, with different ids")
        if self.range is not None and not 0 <= self.range[0] < self.range[1] <= 100:
            raise ValueError("a range goes from a lower to a higher number, within 0 and 100")
        if self.if_skipped is not None and not self.limits[0] <= self.if_skipped <= self.limits[1]:
            raise ValueError("if_skipped is not on the scale")
        if self.if_skipped is not None and self.undecided:
            raise ValueError("if_skipped and undecided exclude each other: both leave no value")
        return self

    @property
    def limits(self) -> tuple[int, int]:
        """The lowest and the highest value."""
        return self.range or (0, len(self.options) - 1)

    @property
    def answers(self) -> int:
        """How many values there are."""
        low, high = self.limits
        return high - low + 1

    def words(self, value: int) -> str:
        """A value in words."""
        return self.options[value].words if self.options else str(value)

    def value_of(self, option: str) -> int:
        """The value of an option; raises UnknownNameError if it is unknown."""
        for place, known in enumerate(self.options):
            if known.id == option:
                return place
        raise UnknownNameError(f"option of {self.id}", option, (known.id for known in self.options))

    def accepts(self, value: float) -> bool:
        """Whether a value is on the scale."""
        low, high = self.limits
        return low <= value <= high and float(value).is_integer()


class Rubric(Strict):
    """A rubric: its criteria and the overall one.

    Attributes:
        name, title: in commands and files, and on pages.
        overall: id of the criterion that systems are ranked by first.
        criteria: in the order in which they are asked.
        sha256: of the file.
    """

    name: _Id
    title: _Words
    overall: _Id
    criteria: Annotated[tuple[Criterion, ...], Field(strict=False, min_length=1, max_length=100)]
    sha256: str = ""

    @model_validator(mode="after")
    def _hangs_together(self) -> Self:
        known: dict[str, Criterion] = {}
        for criterion in self.criteria:
            if criterion.id in known:
                raise ValueError(f"the criterion {criterion.id} appears twice")
            if (condition := criterion.ask_if) is not None:
                needed = known.get(condition.criterion)
                if needed is None:
                    raise ValueError(f"{criterion.id} asks for {condition.criterion}, which must come before it")
                if needed.unit == "link" and criterion.unit != "link":
                    what = f"is asked about the response and cannot depend on a link's {needed.id}"
                    raise ValueError(f"{criterion.id} {what}")
                if unknown := set(condition.is_) - {option.id for option in needed.options}:
                    raise ValueError(f"{criterion.id}: {needed.id} has no option {min(unknown)}")
            known[criterion.id] = criterion
        if self.overall not in known or known[self.overall].unit == "link":
            raise ValueError(f"overall: {self.overall} is not a criterion about the response")
        return self

    def criterion(self, name: str) -> Criterion:
        """The criterion of that id; raises UnknownNameError if it is unknown."""
        for criterion in self.criteria:
            if criterion.id == name:
                return criterion
        raise UnknownNameError(f"criterion of {self.name}", name, (criterion.id for criterion in self.criteria))

    def words(self, name: str, value: int | str) -> str:
        """A value of a criterion in words: a number, or the id of an option.

        Raises:
            UnknownNameError: if the criterion or option is unknown.
        """
        criterion = self.criterion(name)
        return criterion.words(criterion.value_of(value) if isinstance(value, str) else value)

    def asked(self, criterion: Criterion, values: Mapping[str, float | None]) -> bool:
        """Whether a criterion is to be asked, after these values of earlier ones (of a link's, those of that link)."""
        condition = criterion.ask_if
        if condition is None:
            return True
        needed = self.criterion(condition.criterion)
        value = values.get(needed.id)
        return value is not None and value in {needed.value_of(option) for option in condition.is_}


class WorkedExample(Strict):
    """A response rated for raters to see, with reasons; answers are ids of options, or numbers, by criterion."""

    post: _Words
    response: _Words
    why: _Words
    answers: Mapping[str, int | str]


class RubricGuide(Strict):
    """Instructions for raters: paragraphs and worked examples."""

    instructions: Annotated[str, Field(max_length=20_000)] = ""
    examples: Annotated[tuple[WorkedExample, ...], Field(strict=False, max_length=10)] = ()


def parse_rubric(content: bytes, *, where: str) -> Rubric:
    """Parse an untrusted rubric; raises DataError if it is invalid."""
    try:
        table = parse_toml(content)
        if "sha256" in table:
            raise ValueError("sha256: a file does not state its own hash")
        return Rubric.model_validate({**table, "sha256": hashlib.sha256(content).hexdigest()})
    except ValidationError as error:
        what = model_fault(error)
    except ValueError as error:
        what = f"not TOML ({error})"
    raise DataError(what, where=where, fix="docs/responses.md says what a rubric holds.", code="bad-rubric")


def load_rubric(name: str) -> Rubric:
    """A rubric of the package, or of a file (a name with a slash, or ending in `.toml`).

    Raises:
        UnknownNameError: if the rubric or file is unknown.
        DataError: if the file is not a rubric.
    """
    return parse_rubric(rubric_source(name), where=name)


def rubric_source(name: str) -> bytes:
    """The content of a rubric's file; raises UnknownNameError if it is unknown."""
    if name in RUBRICS:
        return (resources.files(__package__) / "rubrics" / f"{name}.toml").read_bytes()
    path = Path(name)
    if not (name.endswith(".toml") or "/" in name) or not path.is_file():
        raise UnknownNameError("rubric", name, RUBRICS, fix="One of your own is a file: --rubric FILE.toml")
    return path.read_bytes()


def guide_source(name: str) -> bytes:
    """The guide beside a rubric's file, `NAME.guide.toml`; empty if absent."""
    if name in RUBRICS:
        return (resources.files(__package__) / "rubrics" / f"{name}.guide.toml").read_bytes()
    path = Path(name).with_suffix(".guide.toml")
    return path.read_bytes() if path.is_file() else b""


def parse_guide(content: bytes, rubric: Rubric, *, where: str) -> RubricGuide:
    """Parse an untrusted guide.

    Raises:
        DataError: if it is not a guide, or an example answers what the rubric does not ask.
    """
    fix = "docs/responses.md says what a guide holds."
    try:
        guide = as_model(RubricGuide, parse_toml(content), where=where, fix=fix, code="bad-guide")
    except ValueError as error:
        raise DataError(f"not TOML ({error})", where=where, fix=fix, code="bad-guide") from None
    for example in guide.examples:
        for name, value in example.answers.items():
            rubric.words(name, value)
    return guide
