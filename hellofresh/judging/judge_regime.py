"""How a model judges a response: what it is shown, what it is asked, and how its answer is read.

It is a regime like others, so the journal, the budget and the dry run are those of every run. The model sees a post and
one response under fenced marks, never a system's name. Criteria come in an order of chance for each response, and
options from the best or from the worst, by chance too; both follow from the response's id alone.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict

from hellofresh.core.errors import DataError
from hellofresh.core.files import BadJsonError, canonical_json, parse_toml, sha256_text, strict_json
from hellofresh.judging.rubric import Criterion, Rubric
from hellofresh.models import Request
from hellofresh.runs.prompts import Prompt, PromptSet
from hellofresh.runs.regimes import BaseRegime, Case, Outcome, RegimeSettings
from hellofresh.runs.regimes._texts import fence
from hellofresh.tasks.outputs import Response, Status
from hellofresh.tasks.samples import Sample

__all__ = ["ComparedPair", "JudgeRegime", "JudgeSettings", "JudgedResponse", "judge_prompts", "read_said", "slots_of"]

_PROMPT = "judge"
_NOTHING = "(The text is not at hand.)"
_MOST_TOKENS_A_CRITERION = 40
_MOST_TOKENS_AN_ANSWER = 15


class _StepsFile(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    steps: dict[str, str]


@cache
def _steps() -> Mapping[str, str]:
    content = (resources.files(__package__) / "judge.toml").read_bytes()
    return _StepsFile.model_validate(parse_toml(content)).steps


class JudgeSettings(RegimeSettings):
    """How a model judges."""

    mode: Literal["together", "single", "pairs"] = "together"
    """All criteria in one question, one criterion a question, or two responses against each other."""
    seed: str = "hellofresh"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedResponse(Sample):
    """A response to judge, as a sample: its id is the blinded one."""

    post: str
    response: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedPair(Sample):
    """Two responses to one post, to be compared in both orders."""

    post: str
    first: str
    second: str


def slots_of(_: Sample) -> Mapping[str, str]:
    """Nothing: what is shown is fenced by the regime itself."""
    return {}


def judge_prompts(rubric: Rubric, task: str) -> PromptSet:
    """The prompts by which models judge."""
    prompts = (Prompt(_PROMPT, "HelloFresh", "-"),)
    return PromptSet(rubric.name, task, "judge", "", prompts, _steps())


@dataclass(frozen=True, slots=True)
class JudgeRegime(BaseRegime):
    """Judges responses by a rubric; its outputs hold values by criterion as JSON."""

    name: str = "judge"
    settings: JudgeSettings = field(default_factory=JudgeSettings)
    rubric: Rubric | None = None
    one_prompt: ClassVar[bool] = True

    @property
    def criteria(self) -> Sequence[Criterion]:
        """Those about the response: what a page holds or whether it opens is not for a model that cannot open it."""
        if self.rubric is None:
            raise ValueError("a judge needs a rubric")
        return [criterion for criterion in self.rubric.criteria if criterion.unit == "response"]

    @property
    def parameters(self) -> Mapping[str, str | int | float | bool]:
        """The settings, and the rubric's hash."""
        return {**self.settings.model_dump(), "rubric": "" if self.rubric is None else self.rubric.sha256}

    def ceiling(self, prompts: int) -> int:
        """One question, one a criterion, or two orders."""
        return {"together": 1, "single": len(self.criteria), "pairs": 2}[self.settings.mode] * prompts

    def rehearse(self, step: str, turn: int) -> str:
        """The best answers."""
        if step.startswith("compare"):
            return "2"
        if step == "rate":
            return canonical_json({item.id: _spelled(item, item.limits[1]) for item in self.criteria})
        criterion = next(item for item in self.criteria if step == f"rate-one-{item.id}")
        return _spelled(criterion, criterion.limits[1])

    async def solve(self, case: Case) -> Outcome:
        """Judge one response, or compare two."""
        if isinstance(case.sample, ComparedPair):
            said = await self._compare(case, case.sample)
        elif isinstance(case.sample, JudgedResponse) and self.settings.mode == "single":
            said = await self._one_by_one(case, case.sample)
        elif isinstance(case.sample, JudgedResponse):
            said = await self._together(case, case.sample)
        else:
            raise TypeError(f"{type(case.sample).__name__} is no response")
        status = Status.ANSWERED if any(value is not None for value in said.values()) else Status.NONE
        return Outcome([Response(prompt=_PROMPT, status=status, text=canonical_json(said))])

    async def _together(self, case: Case, sample: JudgedResponse) -> dict[str, int | None]:
        chance = self._chance(sample.id)
        listed = "\n".join(_listed(item, chance) for item in _shuffled(self.criteria, chance))
        message = case.step("rate", shown=_shown(sample.post, sample.response), criteria=listed)
        most = _MOST_TOKENS_A_CRITERION * len(self.criteria)
        answer = await case.ask("rate", "", Request((message,), most, sample=sample))
        return self._kept(_kept_object(answer.text))

    def _kept(self, said: Mapping[str, object]) -> dict[str, int | None]:
        """The readable values of criteria that were to be asked."""
        values: dict[str, int | None] = {}
        for criterion in self.criteria:
            if self.rubric is not None and self.rubric.asked(criterion, values):
                values[criterion.id] = _value(criterion, said.get(criterion.id))
        return values

    async def _one_by_one(self, case: Case, sample: JudgedResponse) -> dict[str, int | None]:
        chance = self._chance(sample.id)
        values: dict[str, int | None] = {}
        shown = _shown(sample.post, sample.response)
        for criterion in _shuffled(self.criteria, chance):
            listed = _listed(criterion, chance)
            if self.rubric is None or not self.rubric.asked(criterion, values):
                continue
            message = case.step("rate-one", shown=shown, criteria=listed)
            low, high = criterion.limits
            choices = tuple(_spelled(criterion, value) for value in range(low, high + 1))
            request = Request((message,), _MOST_TOKENS_AN_ANSWER, choices=choices, sample=sample)
            answer = await case.ask(f"rate-one-{criterion.id}", "", request)
            values[criterion.id] = _value(criterion, answer.text.strip().strip("\"'`.*"))
        return values

    async def _compare(self, case: Case, sample: ComparedPair) -> dict[str, int | None]:
        said: dict[str, int | None] = {}
        for step, one, two in (("first", sample.first, sample.second), ("second", sample.second, sample.first)):
            message = case.step("compare", shown=_shown(sample.post, one, two))
            request = Request((message,), _MOST_TOKENS_AN_ANSWER, choices=("2", "3", "0"), sample=sample)
            answer = await case.ask(f"compare-{step}", "", request)
            found = re.search(r"[023]", answer.text)
            said[step] = None if found is None else max(0, int(found[0]) - 1)
        return said

    def _chance(self, name: str) -> random.Random:
        return random.Random(sha256_text(f"judge {self.settings.seed} {name}"))  # noqa: S311 - to be repeated


def _shown(post: str, *responses: str) -> str:
    return fence([post or _NOTHING, *responses]).text


def _shuffled(criteria: Sequence[Criterion], chance: random.Random) -> Iterator[Criterion]:
    """In an order of chance, but each after the one that it hangs on."""
    left, done = list(criteria), set[str]()
    while left:
        ready = [item for item in left if item.ask_if is None or item.ask_if.criterion in done]
        chosen = chance.choice(ready)
        left.remove(chosen)
        done.add(chosen.id)
        yield chosen


def _listed(criterion: Criterion, chance: random.Random) -> str:
    """A criterion as the model reads it, its options from the best or from the worst."""
    head = f"- {criterion.id}: {criterion.title}. {criterion.definition}"
    if criterion.ask_if is not None:
        head += f" (Only if {criterion.ask_if.criterion} is one of: {', '.join(criterion.ask_if.is_)}.)"
    if criterion.range is not None:
        return f"{head} Answer: a whole number from {criterion.range[0]} to {criterion.range[1]}."
    options = [f"{option.id} ({option.words})" for option in criterion.options]
    if chance.random() < 0.5:
        options.reverse()
    return f"{head} Answers: {'; '.join(options)}."


def _spelled(criterion: Criterion, value: int) -> str:
    return criterion.options[value].id if criterion.options else str(value)


def _value(criterion: Criterion, said: object) -> int | None:
    """What an answer says, None where it cannot be read."""
    if isinstance(said, str):
        text = said.strip().casefold()
        for place, option in enumerate(criterion.options):
            if text == option.id:
                return place
        if criterion.range is None or not re.fullmatch(r"[0-9]{1,3}", text):
            return None
        said = int(text)
    if isinstance(said, bool) or not isinstance(said, int | float) or criterion.range is None:
        return None
    return int(said) if criterion.accepts(said) else None


def _kept_object(text: str) -> Mapping[str, object]:
    """The JSON object in an answer; empty where there is none."""
    start, end = text.find("{"), text.rfind("}")
    try:
        value = strict_json(text[start : end + 1].encode()) if 0 <= start < end else {}
    except (BadJsonError, UnicodeEncodeError):
        value = {}
    return value if isinstance(value, dict) else {}


def read_said(output: Response) -> Mapping[str, int | None]:
    """The values that an output of this regime holds.

    Raises:
        DataError: if it holds none.
    """
    try:
        value = strict_json(output.text.encode())
    except BadJsonError as error:
        raise DataError(f"no values of a judge ({error})", code="bad-json") from None
    return value if isinstance(value, dict) else {}
