"""Rephrase the manual instruction by models, with checks of each wording.

The checks are mechanical: a wording must ask for all answers and criteria of the set and must not copy another. A
person has to check that its meaning is unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cache
from importlib.resources import files

from hellofresh.core.errors import RunError, UsageError
from hellofresh.core.files import parse_toml
from hellofresh.models import Answer, Finish, Message, Model, Request
from hellofresh.runs.prompts import SLOT, YES_OR_NO, Prompt, PromptSet, lacking, names_all

_TOKENS = 300  # three times the longest instruction
_TIMES_LONGER = 3
_NEAR_COPY = 0.8  # a changed comma is not another wording
_REMARKS = ("sure", "certainly", "here is", "here's", "of course", "okay", "new instruction")


@dataclass(frozen=True, slots=True)
class Rephrasing:
    """Number of wordings per model, most attempts for one wording, and the name of the new set."""

    each: int
    attempts: int
    name: str
    report: Callable[[str], None]


async def rephrase(prompt_set: PromptSet, models: Sequence[Model], how: Rephrasing) -> PromptSet:
    """A prompt set with the first instruction of another set and its rephrasings, in the order of models.

    Raises:
        UsageError: if a model is a baseline, which reads nothing.
        RunError: if a model gives no usable wording.
    """
    for model in models:
        if model.spec.kind != "language-model":
            raise UsageError(f"{model.spec.name} is a {model.spec.kind} and writes no texts", code="baseline-rephrases")
    prompts = [prompt_set.prompts[0]]
    for model in models:
        for _ in range(how.each):
            text = await _wording(prompt_set, model, [prompt.instruction for prompt in prompts], how)
            prompts.append(Prompt(f"rephrased-{len(prompts)}", model.spec.name[:80], text))
    return replace(prompt_set, name=how.name, prompts=tuple(prompts))


async def _wording(prompt_set: PromptSet, model: Model, taken: Sequence[str], how: Rephrasing) -> str:
    criteria = ", ".join(prompt_set.criteria) or "all that it mentions"
    opening = _fill(_texts()["request"], {"instruction": taken[0], "criteria": criteria})
    messages = [Message("user", (opening,))]
    found: Sequence[str] = ()
    for attempt in range(1, how.attempts + 1):
        answer = await model.ask(Request(tuple(messages), _TOKENS))
        text = _one_paragraph(answer.text)
        found = faults(replace(answer, text=text), taken, prompt_set.criteria, prompt_set.answers)
        state = "; ".join(found) or "taken"
        how.report(f"{model.spec.name}, rephrasing {len(taken)}, attempt {attempt}: {state}")
        if not found:
            return text
        again = _fill(_texts()["again"], {"reasons": "; ".join(found)})
        messages = [messages[0], Message("assistant", (text,)), Message("user", (again,))]
    raise RunError(
        f"no usable rephrasing in {how.attempts} attempts (at last: {'; '.join(found)})",
        where=model.spec.name,
        fix="Name a more able model.",
        code="no-rephrasing",
    )


def faults(
    answer: Answer, taken: Sequence[str], criteria: Mapping[str, Sequence[str]], answers: Sequence[str] = YES_OR_NO
) -> list[str]:
    """The faults of a proposed rephrasing of the first wording in `taken`; empty if it has none.

    The wording must contain one of each criterion's word prefixes and ask for all answers.
    """
    text = answer.text
    if answer.finish is Finish.BLOCKED or not text:
        return ["there is no text"]
    found = ["it is cut off"] if answer.finish is Finish.LENGTH else []
    if not names_all(answers, text):
        found.append(f"it does not ask for {' or '.join(map(repr, reversed(answers)))}")
    if missing := lacking(criteria, text):
        found.append(f"it does not mention {', '.join(missing)}")
    if len(text.split()) > _TIMES_LONGER * len(taken[0].split()):
        found.append("it is too long")
    if "{" in text or "}" in text:
        found.append("it has braces")
    if text.casefold().startswith(_REMARKS):
        found.append("it begins with a remark about itself")
    if any(_likeness(text, other) >= _NEAR_COPY for other in taken):
        found.append("it is nearly the same as an existing instruction")
    return found


def _likeness(one: str, other: str) -> float:
    """Share of common words in the same order, 0 to 1."""
    first, second = (re.findall(r"\w+", text.casefold()) for text in (one, other))
    return SequenceMatcher(None, first, second, autojunk=False).ratio()


def _one_paragraph(text: str) -> str:
    shown = "".join(character for character in text if character.isprintable() or character.isspace())
    plain = " ".join(shown.split())
    return (
        plain[1:-1].strip() if len(plain) > 1 and (plain[0], plain[-1]) in {('"', '"'), ("\u201c", "\u201d")} else plain
    )


@cache
def _texts() -> Mapping[str, str]:
    found = parse_toml(files("hellofresh.runs.prompts").joinpath("rephrase.toml").read_bytes())
    return {name: str(text) for name, text in found.items()}


def _fill(text: str, slots: Mapping[str, str]) -> str:
    return SLOT.sub(lambda match: slots[match[1]], text)
