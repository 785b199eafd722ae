"""Answers from a script: a TOML file of patterns with answers. Not a model, and not ranked as one.

```toml
about = "Two searches, then a decision."

[[answers]]
asked = "Decision:"                 # a pattern in the last message
sample = "moon"                     # a pattern in the first one
turn = 1                            # the first, second ... answer of a conversation
say = "Let me look.\\nSEARCH: moon"   # \\1 stands for the first group of `asked`, or of `sample` without it
```

The first answer whose conditions all hold is given; without one, the answer is empty.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, PositiveInt, ValidationError

from hellofresh.core.errors import ConfigError
from hellofresh.core.files import model_fault, parse_toml, sha256_text
from hellofresh.core.strict import Strict
from hellofresh.models import Answer, Finish, Limits, ModelSpec, Request, Sampling

PREFIX = "scripted:"
"""Prefix of the file in the name of a scripted model."""
_BUNDLED = "scripted.toml"


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"not a pattern ({error})") from None
    return text


_Pattern = Annotated[str, AfterValidator(_pattern)]


class _AnswerTable(Strict):
    asked: _Pattern = ""
    sample: _Pattern = ""
    turn: PositiveInt | None = None
    say: str

    def reply(self, first: str, last: str, turn: int) -> str | None:
        """The answer to a conversation, or None if a condition does not hold."""
        asked = re.search(self.asked, last, re.MULTILINE)
        sample = re.search(self.sample, first, re.MULTILINE)
        if asked is None or sample is None or self.turn not in (None, turn):
            return None
        return (asked if self.asked else sample).expand(self.say)

    def model_post_init(self, _: object) -> None:
        """Check that the answer refers to existing groups."""
        groups = re.compile(self.asked or self.sample).groups
        missing = [number for number in re.findall(r"\\(\d+)", self.say) if int(number) > groups]
        if missing:
            raise ValueError(f"say refers to group {missing[0]}, which the pattern does not have")


class _ScriptFile(Strict):
    about: str = Field(default="", max_length=300)
    answers: list[_AnswerTable] = Field(min_length=1, max_length=10_000)


@dataclass(frozen=True)
class ScriptedModel:
    """Answers from a script.

    Attributes:
        name: of the model.
        script: content of the file.
        sha256: of the file.
    """

    name: str
    script: _ScriptFile
    sha256: str

    @classmethod
    def load(cls, file: Path | None = None) -> ScriptedModel:
        """Read a script, by default that of the package.

        Raises:
            ConfigError: if the file cannot be read, or is not a script.
        """
        source = file or files("hellofresh.models").joinpath(_BUNDLED)
        where = str(file or _BUNDLED)
        try:
            content = source.read_bytes()
            script = _ScriptFile.model_validate(parse_toml(content))
        except OSError as error:
            raise ConfigError(f"cannot read ({error.strerror})", where=where, code="bad-script") from error
        except ValidationError as error:
            raise ConfigError(model_fault(error), where=where, code="bad-script") from None
        except ValueError as error:
            raise ConfigError(f"not TOML ({error})", where=where, code="bad-script") from error
        stem = "" if file is None else "-" + re.sub(r"[^a-z0-9]+", "-", file.stem.lower()).strip("-")[:40]
        return cls(f"scripted{stem}".rstrip("-"), script, sha256_text(content.decode()))

    @cached_property
    def spec(self) -> ModelSpec:
        return ModelSpec(
            name=self.name,
            kind="language-model",
            about=f"A SCRIPT, NOT A MODEL: answers are written beforehand. {self.script.about}".strip(),
            parameters={"version": 1, "script_sha256": self.sha256},
            limits=Limits(in_flight=16),
            free=True,
            knowledge_cutoff="none",
            smoke_test=True,
            sees=True,  # pictures do not change its answers
            image_tokens=0,
            sampling=Sampling.NEVER,
        )

    async def ask(self, request: Request) -> Answer:
        """Give the first answer whose conditions hold."""
        first, last = request.messages[0].text, request.messages[-1].text
        turn = 1 + sum(message.role == "assistant" for message in request.messages)
        replies = (table.reply(first, last, turn) for table in self.script.answers)
        said = next((reply for reply in replies if reply is not None), "")
        return Answer(said, Finish.STOP, tokens_in=0, tokens_out=0)

    async def close(self) -> None:
        """Do nothing: a script holds no resources."""
