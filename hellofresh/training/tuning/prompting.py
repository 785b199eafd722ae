"""What a model is shown of an exchange: evidence, an instruction and the claim, as it will be shown when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hellofresh.models.base import Message
from hellofresh.models.local.folders import rendered
from hellofresh.training.recipe import TuningRecipe
from hellofresh.training.tuning.exchanges import Exchange

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["prompt_of", "shown_evidence", "token_count"]

_INSTRUCTION = (
    "Reply to the claim in two or three polite sentences. Rest on the evidence above: say plainly whether the claim "
    "holds, and why. Add nothing that the evidence does not say."
)


def shown_evidence(exchange: Exchange, recipe: TuningRecipe) -> tuple[str, ...]:
    """The first texts of the evidence, cut to the recipe's number of words."""
    return tuple(" ".join(text.split()[: recipe.evidence_words]) for text in exchange.evidence[: recipe.evidence])


def prompt_of(exchange: Exchange, recipe: TuningRecipe, tokenizer: PreTrainedTokenizerBase) -> str:
    """The text that the model goes on from."""
    parts = [f"Evidence {number}: {text}" for number, text in enumerate(shown_evidence(exchange, recipe), start=1)]
    parts += [_INSTRUCTION, f"Claim: {exchange.claim}"]
    return rendered(tokenizer, [Message("user", ("\n\n".join(parts),))])


def token_count(text: str, tokenizer: PreTrainedTokenizerBase) -> int:
    """Tokens of a rendered text."""
    return len(tokenizer(text, add_special_tokens=False)["input_ids"])
