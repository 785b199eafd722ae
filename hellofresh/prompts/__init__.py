"""Prompt sets: the frame that shows a sample, and the wordings of the instruction that ends it.

The project's own sets are TOML files in this folder, one a task, a table a regime. A set of one's own has the same form
and is named by `--prompt-set FILE`. A slot is written `{post}`; a sample's text is put in as it is and never read for
slots again, so that a text with braces in it changes nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hellofresh.errors import PromptError, UnknownNameError
from hellofresh.files import canonical_json, parse_toml, sha256_text
from hellofresh.models import Message

__all__ = ["MANUAL", "Prompt", "PromptSet", "load_prompt_set"]

MANUAL = "manual"
"""Id of the instruction that people wrote first; the others rephrase it."""

_SLOT = re.compile(r"\{([a-z_]+)\}")
_END = "{instruction}"


class _PromptFile(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")
    author: str = Field(min_length=1, max_length=80)
    instruction: str = Field(min_length=1, max_length=4000)


class _RegimeFile(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    frame: str = Field(min_length=1, max_length=8000)
    steps: dict[str, str] = Field(default_factory=dict)
    prompts: list[_PromptFile] = Field(min_length=1, max_length=50)


class _SetFile(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")
    task: str
    regimes: dict[str, _RegimeFile]


@dataclass(frozen=True, slots=True)
class Prompt:
    """One wording of the instruction.

    Attributes:
        id: short name, such as `manual`.
        author: who wrote it.
        instruction: the text, which ends by asking for 'yes' or 'no'.
    """

    id: str
    author: str
    instruction: str


@dataclass(frozen=True, slots=True)
class PromptSet:
    """All wordings for one task and regime.

    Attributes:
        name: the set's name; `standard` is the project's own.
        task: the task it is for.
        regime: the regime it is for.
        frame: the text before the instruction, with slots.
        prompts: the wordings, the manual one first.
        steps: texts of the regime's other steps by name, with slots.
    """

    name: str
    task: str
    regime: str
    frame: str
    prompts: tuple[Prompt, ...]
    steps: Mapping[str, str] = field(default_factory=dict)

    @property
    def sha256(self) -> str:
        """Hash of all that a model gets to see, part of the identity of a run."""
        wordings = [[prompt.id, prompt.instruction] for prompt in self.prompts]
        steps = sorted([name, text] for name, text in self.steps.items())
        return sha256_text(canonical_json([self.task, self.regime, self.frame, wordings, steps]))

    def choose(self, names: str) -> tuple[Prompt, ...]:
        """The prompts that a comma-separated list names, or all of them for `all`.

        Raises:
            UnknownNameError: if a name is not in the set.
        """
        if names == "all":
            return self.prompts
        known = {prompt.id: prompt for prompt in self.prompts}
        chosen = [name.strip() for name in names.split(",")]
        for name in chosen:
            if name not in known:
                raise UnknownNameError("prompt", name, ["all", *known])
        return tuple(prompt for prompt in self.prompts if prompt.id in chosen)

    def message(self, prompt: Prompt, slots: Mapping[str, str]) -> Message:
        """The prompt filled from a sample, as a user message in two parts: the sample, then the instruction.

        Raises:
            PromptError: if the frame has a slot that the sample does not fill.
        """
        return Message("user", (self._fill(self.frame, slots), prompt.instruction))

    def step(self, name: str, slots: Mapping[str, str]) -> Message:
        """The prompt of another step of the regime, filled likewise.

        Raises:
            PromptError: if the set has no text for the step, or the text has a slot that is not filled.
        """
        if name not in self.steps:
            raise PromptError(
                f"has no text for the step {name!r}",
                where=f"prompt set {self.name!r}, {self.regime}",
                expected=f"a line in [regimes.{self.regime}.steps]",
                code="missing-step",
            )
        return Message("user", (self._fill(self.steps[name], slots),))

    def _fill(self, text: str, slots: Mapping[str, str]) -> str:
        def fill(match: re.Match[str]) -> str:
            try:
                return slots[match[1]]
            except KeyError:
                raise PromptError(
                    f"the slot {{{match[1]}}} is not known to {self.task}",
                    where=f"prompt set {self.name!r}",
                    expected=f"slots among {', '.join(sorted(slots))}",
                    code="unknown-slot",
                ) from None

        return _SLOT.sub(fill, text)


def load_prompt_set(task: str, regime: str, file: Path | None = None) -> PromptSet:
    """The project's own prompt set for a task and regime, or the one in a file.

    Raises:
        PromptError: if the file is missing, malformed, for another task, or lacks the regime.
    """
    source = file or files("hellofresh.prompts").joinpath(f"{task}.toml")
    where = str(file) if file else f"prompts of {task}"
    try:
        parsed = _SetFile.model_validate(parse_toml(source.read_bytes()))
    except OSError as error:
        raise PromptError(f"cannot read ({error.strerror})", where=where, code="missing-file") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise PromptError(f"{field}: {first['msg'].lower()}", where=where, code="bad-prompt-set") from None
    except ValueError as error:
        raise PromptError(f"not TOML ({error})", where=where, code="bad-toml") from error
    if parsed.task != task:
        raise PromptError(f"is for the task {parsed.task!r}", where=where, expected=repr(task), code="wrong-task")
    if regime not in parsed.regimes:
        raise PromptError(
            f"has no prompts for the regime {regime!r}",
            where=where,
            expected=f"a table [regimes.{regime}]",
            code="missing-regime",
        )
    return _prompt_set(parsed, regime, where)


def _prompt_set(parsed: _SetFile, regime: str, where: str) -> PromptSet:
    table = parsed.regimes[regime]
    frame = table.frame.removesuffix("\n")
    if not frame.endswith(_END) or frame.count(_END) != 1:
        raise PromptError(f"{regime}: the frame must end with {_END}", where=where, code="bad-frame")
    ids = [prompt.id for prompt in table.prompts]
    if len(set(ids)) < len(ids):
        raise PromptError(f"{regime}: a prompt id is there twice", where=where, code="duplicate-id")
    for prompt in table.prompts:
        if not {"yes", "no"} <= set(re.findall(r"[a-z]+", prompt.instruction.lower())):
            raise PromptError(
                f"{regime}, {prompt.id}: the instruction does not ask for 'yes' or 'no'", where=where, code="no-answers"
            )
    prompts = tuple(Prompt(prompt.id, prompt.author, prompt.instruction.strip()) for prompt in table.prompts)
    return PromptSet(parsed.name, parsed.task, regime, frame.removesuffix(_END), prompts, table.steps)
