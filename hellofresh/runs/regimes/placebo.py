"""Placebo: the prompt of web-search with texts that have nothing to do with the sample in the place of summaries.

What web-search gains over placebo is gained by what the pages say; what placebo gains over zero-shot, by a longer
prompt. The texts are written for the project and have the length of summaries. Which five are shown, and in which
order, follows from the sample's id; none is shown that shares a topic word with the sample.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from pydantic import Field

from hellofresh.core.files import parse_toml, sha256_text
from hellofresh.core.strict import Strict
from hellofresh.runs.regimes._base import BaseRegime, Case, Outcome
from hellofresh.runs.regimes.zero_shot import SUMMARIES, JustifiedSettings, judge_with
from hellofresh.tasks.transcripts import NotedEvent

_WORD = re.compile(r"[^\W\d_]+")


class PlaceboText(Strict):
    """A paragraph about something else; a sample with one of its topic words (in lower case) is about the same."""

    id: str = Field(pattern=r"^[a-z0-9-]+$")
    topic_words: frozenset[str] = Field(min_length=1, strict=False)
    text: str = Field(min_length=1)


class _File(Strict):
    text: list[PlaceboText]


@cache
def _content() -> bytes:
    return files("hellofresh.runs.prompts").joinpath("placebo.toml").read_bytes()


@cache
def placebo_texts() -> tuple[PlaceboText, ...]:
    texts = _File.model_validate(parse_toml(_content())).text
    return tuple(item.model_copy(update={"text": " ".join(item.text.split())}) for item in texts)


def choose_texts(
    sample: str, shown: Iterable[str], texts: Sequence[PlaceboText], number: int = 5
) -> Sequence[PlaceboText]:
    """Texts for a sample, in the order of SHA-256 of `placebo:<sample>:<text>`.

    Fewer than `number` if too many share a topic word with the sample's texts in the prompt.
    """
    words = {word.casefold() for text in shown for word in _WORD.findall(text)}
    unrelated = [text for text in texts if not text.topic_words & words]
    return sorted(unrelated, key=lambda text: sha256_text(f"placebo:{sample}:{text.id}"))[:number]


class PlaceboSettings(JustifiedSettings):
    """How many texts stand before a sample."""

    texts: int = Field(default=5, ge=1, le=20)


@dataclass(frozen=True, slots=True)
class Placebo(BaseRegime):
    """One question per prompt, as in web-search, after texts about unrelated subjects."""

    settings: PlaceboSettings = field(default_factory=PlaceboSettings)
    name: str = "placebo"

    @property
    def parameters(self) -> Mapping[str, str | int | float | bool]:
        """The settings, and the hash of all texts."""
        return {"texts_sha256": sha256_text(_content().decode()), **self.settings.model_dump()}

    def ceiling(self, prompts: int) -> int:
        return prompts * (1 + self.settings.justify)

    async def solve(self, case: Case) -> Outcome:
        """Ask each prompt once.

        Raises:
            PromptError: if the prompt set has no place for the texts.
        """
        case.prompt_set.require(slots=(SUMMARIES,))
        chosen = choose_texts(case.sample.id, case.slots.values(), placebo_texts(), self.settings.texts)
        choices = await judge_with(case, [text.text for text in chosen], self.settings)
        return Outcome(choices, [NotedEvent(name="placebo", values={"texts": [text.id for text in chosen]})])
