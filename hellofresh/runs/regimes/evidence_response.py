"""Evidence response: documents that fit a claim are retrieved, and the model responds to it by them.

Source: Yue, Zeng, Lu and others, "Evidence-Driven Retrieval Augmented Response Generation for Online Misinformation"
(RARG, 2024), section 3; the words of the prompts are ours. With `n` above 1 several responses are drawn, and the one
with the highest reward is given: best-of-n, which needs no training of the model and costs n requests.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field, model_validator

from hellofresh.core.errors import RunError, UsageError
from hellofresh.core.texts import clean, fence, one_line
from hellofresh.core.workspace import Workspace
from hellofresh.models import Answer, Message, Request
from hellofresh.rewards.base import LEAST, RewardCase, RewardModel, read_card
from hellofresh.runs.prompts import Prompt, PromptSet
from hellofresh.runs.regimes._base import BaseRegime, Case, Outcome, Parameters, RegimeSettings
from hellofresh.runs.regimes._outside import cut_words
from hellofresh.runs.regimes._reading import is_refusal
from hellofresh.tasks import EvidenceQuery
from hellofresh.tasks.outputs import Output, Response, Status
from hellofresh.tasks.transcripts import AskedEvent, Event, NotedEvent, ReadEvent, SearchedEvent

if TYPE_CHECKING:
    from hellofresh.evidence.retrieval.retrievers import FoundEvidence

_TOKENS_A_WORD = 3
_CITED = re.compile(r"\s*\[((?:\d{1,2})(?:\s*[,;]\s*\d{1,2})*)\]")
_LABEL = re.compile(r"\A\W*response\W*:\s*", re.IGNORECASE)


def response_question(
    prompt_set: PromptSet, prompt: Prompt, slots: Mapping[str, str], texts: Sequence[str], *, words: int
) -> Message:
    """What a model is asked about a claim by texts of evidence, if any; a model is tuned on the very same.

    Raises:
        PromptError: if the set lacks a step or a slot.
    """
    block = fence(texts)
    found = {"evidence": block.text, "mark": block.mark, "words": str(words)}
    given = prompt_set.step("evidence" if texts else "no-evidence", slots, **found)
    question = prompt_set.message(prompt, slots, found=given.text)
    return replace(question, parts=(*question.parts, *prompt_set.step("claim", slots, **found).parts))


class EvidenceResponseSettings(RegimeSettings):
    """How a claim is responded to.

    Attributes:
        retrieval: whether documents are retrieved; without them the model answers from what it knows.
        retriever: as for `hellofresh corpus compare`, with one stage or two.
        evidence: documents that the model is given.
        evidence_words: words of each.
        words: most words of the response.
        n: responses that are drawn; of several the one with the highest reward is given.
        temperature: at which several are drawn.
        rewards: folders of reward models with commas between them, for n above 1.
        alpha: what relevance is worth in the reward (equation 2).
    """

    retrieval: bool = True
    retriever: str = Field(default="bm25+minilm", min_length=1, max_length=300)
    evidence: int = Field(default=3, ge=1, le=20)
    evidence_words: int = Field(default=150, ge=10, le=2_000)
    words: int = Field(default=80, ge=10, le=1_000)
    n: int = Field(default=1, ge=1, le=64)
    temperature: float = Field(default=0.8, gt=0, le=2)
    rewards: str = Field(default="", max_length=2_000)
    alpha: float = Field(default=1.0, ge=0, le=100)

    @model_validator(mode="after")
    def _has_a_reward(self) -> EvidenceResponseSettings:
        if self.n > 1 and not self.folders:
            raise ValueError("n above 1 needs reward models to choose by: --set rewards=FOLDER,FOLDER")
        return self

    @property
    def folders(self) -> tuple[Path, ...]:
        return tuple(Path(part.strip()) for part in self.rewards.split(",") if part.strip())


@dataclass(frozen=True, slots=True)
class EvidenceResponse(BaseRegime):
    """Responds to a claim by evidence.

    Attributes:
        settings: see there.
        reward: chooses among several responses; None for what the settings name.
    """

    gives: ClassVar[type[Output]] = Response

    settings: EvidenceResponseSettings = field(default_factory=EvidenceResponseSettings)
    name: str = "evidence-response"
    reward: RewardModel | None = None

    @property
    def parameters(self) -> Parameters:
        """The settings, and the hashes of reward models where they choose.

        Raises:
            UsageError: if one of them is weak, by its card.
        """
        if self.settings.n == 1 or self.reward is not None:
            return self.settings.model_dump()
        cards = [read_card(folder) for folder in self.settings.folders]
        for card in cards:
            if card.probes is not None and card.probes.is_weak:
                raise UsageError(
                    f"a weak reward chooses no response: it places a refutation above replies that refute nothing in "
                    f"{card.probes.shares['all']:.0%} of {card.probes.claims} claims",
                    where=f"rewards: {card.criterion}",
                    expected=f"at least {LEAST:.0%}",
                    fix="Train the reward model for refutation on more, or give one response: --set n=1",
                    code="weak-reward",
                )
        return {**self.settings.model_dump(), **{f"reward_{card.criterion}_sha256": card.sha256 for card in cards}}

    def ceiling(self, prompts: int) -> int:
        return prompts * self.settings.n

    def rehearse(self, step: str, turn: int) -> str:
        return "word " * self.settings.words

    async def solve(self, case: Case) -> Outcome:
        """Retrieve once, and respond with every prompt.

        Raises:
            PromptError: if the prompt set lacks a step.
            RunError: if the sample names no corpus.
            UsageError: if the corpus, a package or a reward model is missing.
        """
        settings = self.settings
        case.prompt_set.require(slots=("found",), steps=("evidence", "no-evidence", "claim"))
        found = await _evidence(case, settings) if settings.retrieval else []
        written = await asyncio.gather(*(self._respond(case, prompt, found) for prompt in case.prompts))
        events: list[Event] = [NotedEvent(name="settings", values=settings.model_dump())]
        if settings.retrieval:
            query = one_line(case.slots["claim"], 1_000)
            events.append(SearchedEvent(query=query, words=len(query.split()), results=len(found)))
        events += [
            ReadEvent(
                place=place,
                url=item.address,
                title=one_line(item.document.title, 300),
                date=None if item.document.date is None else item.document.date.isoformat(),
                words=len(cut_words(item.document.text, settings.evidence_words).text.split()),
                relevance=item.score,
            )
            for place, item in enumerate(found, start=1)
        ]
        events += [event for _, happened in written for event in happened]
        return Outcome([response for response, _ in written], events)

    async def _respond(
        self, case: Case, prompt: Prompt, found: Sequence[FoundEvidence]
    ) -> tuple[Response, Sequence[Event]]:
        settings = self.settings
        texts = [
            "\n".join(filter(None, (item.document.title, cut_words(item.document.text, settings.evidence_words).text)))
            for item in found
        ]
        message = response_question(case.prompt_set, prompt, case.slots, texts, words=settings.words)
        request = Request((message,), _TOKENS_A_WORD * settings.words, sample=case.sample)
        if settings.n == 1:
            answer = await case.ask("respond", prompt.id, request)
            response = _read(prompt.id, answer, found)
            return response, (AskedEvent(prompt=prompt.id, step="respond"), _noted(response))
        drawn = await asyncio.gather(
            *(
                case.ask(
                    f"respond-{number}", prompt.id, replace(request, temperature=settings.temperature, seed=number)
                )
                for number in range(1, settings.n + 1)
            )
        )
        responses = [_read(prompt.id, answer, found) for answer in drawn]
        scores = self._scores(case.slots["claim"], tuple(texts), responses)
        chosen = max(range(settings.n), key=lambda number: (scores[number], -number))
        asked = [AskedEvent(prompt=prompt.id, step=f"respond-{number}") for number in range(1, settings.n + 1)]
        values = {"chosen": chosen + 1, "rewards": [round(score, 6) for score in scores]}
        best = NotedEvent(prompt=prompt.id, name="best-of-n", values=values)
        return responses[chosen], (*asked, best, _noted(responses[chosen]))

    def _scores(self, claim: str, evidence: tuple[str, ...], responses: Sequence[Response]) -> list[float]:
        """The reward of each response; an empty one is below all others."""
        reward = self.reward or _opened(self.settings.folders, self.settings.alpha)
        cases = [RewardCase(claim, evidence, response.text) for response in responses if response.text]
        found = iter(reward.score(cases).tolist() if cases else [])
        return [next(found) if response.text else -1e9 for response in responses]


@lru_cache(maxsize=2)
def _opened(folders: tuple[Path, ...], alpha: float) -> RewardModel:
    from hellofresh.rewards.models import open_combined  # with what opens encoders, which most runs do not need

    return open_combined(folders, alpha=alpha)


async def _evidence(case: Case, settings: EvidenceResponseSettings) -> list[FoundEvidence]:
    from hellofresh.evidence.retrieval.retrievers import find_evidence  # with polars, which other regimes do not need

    sample = case.sample
    if not isinstance(sample, EvidenceQuery):
        raise RunError(
            "the sample names no corpus to retrieve from",
            where=sample.id,
            expected="a claim with its corpus",
            fix="Respond without: --set retrieval=false",
            code="no-corpus",
        )
    workspace = Workspace.from_environment()
    return await find_evidence(
        workspace,
        sample.corpus,
        sample.corpus_sha256,
        settings.retriever,
        claim=sample.query,
        count=settings.evidence,
    )


def _read(prompt: str, answer: Answer, found: Sequence[FoundEvidence]) -> Response:
    """A response without citation marks; its sources are the documents that it cites, or else all that were shown."""
    if is_refusal(answer):
        return Response(prompt=prompt, status=Status.BLOCKED, text="")
    text = _LABEL.sub("", clean(answer.text)).strip()
    numbers = [int(number) for marks in _CITED.findall(text) for number in re.findall(r"\d+", marks)]
    cited = [found[number - 1].address for number in dict.fromkeys(numbers) if 0 < number <= len(found)]
    plain = _CITED.sub("", text).strip()
    if not plain:
        return Response(prompt=prompt, status=Status.NONE, text="")
    sources = tuple(dict.fromkeys(cited)) or tuple(item.address for item in found)
    return Response(prompt=prompt, text=plain, sources=sources)


def _noted(response: Response) -> NotedEvent:
    values = {"words": len(response.text.split()), "sources": list(response.sources)}
    return NotedEvent(prompt=response.prompt, name="response", values=values)
