"""What a model is shown of an exchange: what the regime evidence-response will show it when it is used."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from hellofresh.models.local.folders import rendered
from hellofresh.runs.prompts import PromptSet, load_prompt_set
from hellofresh.runs.regimes._outside import cut_words
from hellofresh.runs.regimes.evidence_response import response_question
from training.recipe import TuningRecipe
from training.tuning.exchanges import Exchange

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@lru_cache(maxsize=1)
def prompt_set() -> PromptSet:
    """The wordings of the regime."""
    return load_prompt_set("claim-responses", "evidence-response")


def shown_evidence(exchange: Exchange, recipe: TuningRecipe) -> tuple[str, ...]:
    """The first texts of the evidence, cut to the recipe's number of words."""
    return tuple(cut_words(text, recipe.evidence_words).text for text in exchange.evidence[: recipe.evidence])


def prompt_of(exchange: Exchange, recipe: TuningRecipe, tokenizer: PreTrainedTokenizerBase) -> str:
    """The text that the model goes on from, by the first wording."""
    texts, slots = shown_evidence(exchange, recipe), {"claim": exchange.claim}
    message = response_question(prompt_set(), prompt_set().prompts[0], slots, texts, words=recipe.words)
    return rendered(tokenizer, [message])


def token_count(text: str, tokenizer: PreTrainedTokenizerBase) -> int:
    """Tokens of a rendered text."""
    return len(tokenizer(text, add_special_tokens=False)["input_ids"])
