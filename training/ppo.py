"""Proximal policy optimisation (PPO), the paper's tuning, on torch and peft; trl removed its own after 1.12.

A value head reads the policy's last hidden state before each token of a response. Each token's reward is minus its
divergence from the initial model, times an adaptive cost, and the last one also gets the reward. Several steps
learn from the same responses, and clipping limits changes of a token's probability and of its value.

Sources: Schulman et al., Proximal Policy Optimization Algorithms (2017), and High-Dimensional Continuous Control Using
Generalized Advantage Estimation (2016); Ziegler et al., Fine-Tuning Language Models from Human Preferences (2019), for
the adapted cost.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from datasets import Dataset
from peft import PeftModel
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase, Trainer, TrainingArguments

from training.recipe import PpoRecipe

_STATE = "ppo.pt"
Score = Callable[..., list[float]]
"""Rewards of completions, by their prompts' columns, as trl calls one."""


def advantages(rewards: Tensor, values: Tensor, said: Tensor, *, discount: float, trace: float) -> Tensor:
    """Generalised advantages of n responses; 0 after the end of a response.

    Args:
        rewards, values: of each token, and the expectation before it, shape (n, tokens).
        said: 1 for tokens of the response, then 0, shape (n, tokens).
        discount: gamma.
        trace: lambda.
    """
    found = torch.zeros_like(rewards)
    later, value = torch.zeros_like(rewards[:, 0]), torch.zeros_like(rewards[:, 0])
    for place in reversed(range(rewards.shape[1])):
        surprise = rewards[:, place] + discount * value - values[:, place]
        later = (surprise + discount * trace * later) * said[:, place]
        value = values[:, place] * said[:, place]
        found[:, place] = later
    return found


def clipped_loss(new: Tensor, old: Tensor, better: Tensor, said: Tensor, clip: float) -> Tensor:
    """The policy's loss: the mean over tokens of the worse of the gain and the gain at the clipped probability.

    Args:
        new, old: log-probabilities of each token, shape (n, tokens).
        better: advantages, shape (n, tokens).
        said: 1 for tokens of the response, else 0.
        clip: maximal relative change of a probability.
    """
    ratio = (new - old).exp()
    return -mean_of(torch.minimum(ratio * better, ratio.clamp(1 - clip, 1 + clip) * better), said)


def value_loss(new: Tensor, old: Tensor, returns: Tensor, said: Tensor, clip: float) -> Tensor:
    """Half the mean squared error of the values, using the worse of the value and the clipped value."""
    limited = torch.maximum(torch.minimum(new, old + clip), old - clip)
    return 0.5 * mean_of(torch.maximum((new - returns) ** 2, (limited - returns) ** 2), said)


def said_until_end(answer: Tensor, end: int) -> Tensor:
    """1 for each drawn token up to and including the first end, then 0, shape (n, tokens); pad tokens may be drawn."""
    ends = (answer == end).long()
    return (ends.cumsum(dim=1) - ends == 0).long()


def whitened(better: Sequence[Tensor], said: Sequence[Tensor]) -> list[Tensor]:
    """Advantages of a step's batches of responses, normalised to mean 0 and deviation 1 over all their tokens."""
    every = torch.cat([one[kept.bool()] for one, kept in zip(better, said, strict=True)])
    return [(one - every.mean()) / (every.std(correction=0) + 1e-8) for one in better]


def mean_of(values: Tensor, said: Tensor) -> Tensor:
    """The mean over the tokens of the responses."""
    return (values * said).sum() / said.sum()


def adapted(cost: float, kl: float, responses: int, *, target: float, horizon: int) -> float:
    """The cost of a nat of divergence after some responses: higher above the target, lower below it."""
    error = min(0.2, max(-0.2, kl / target - 1))
    return cost * (1 + error * responses / horizon)


@dataclass(frozen=True, slots=True)
class _Responses:
    """Responses to a batch of prompts, with the data to learn from; `ids` and `mask` include the prompts' tokens."""

    ids: Tensor
    mask: Tensor
    start: int
    said: Tensor
    chances: Tensor
    values: Tensor
    better: Tensor
    returns: Tensor


class PpoTrainer(Trainer):  # type: ignore[misc]  # the library is not type-checked
    """Draws responses at every `updates`-th step; the base class handles steps, logging and checkpoints."""

    def __init__(
        self,
        policy: PeftModel,
        settings: TrainingArguments,
        prompts: Sequence[Mapping[str, object]],
        *,
        recipe: PpoRecipe,
        tokenizer: PreTrainedTokenizerBase,
        scores: Sequence[Score],
    ) -> None:
        """A trainer.

        Args:
            policy: the model with low-rank matrices; gets a value head, initialised to 0.
            settings: of the library; checkpoints coincide with draws of responses, since they contain none.
            prompts: of each step's responses in turn, with the columns for `scores`.
            recipe: settings of PPO.
            tokenizer: the model's.
            scores: the reward to optimise, then those that are only logged.
        """
        for module in policy.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0
        policy.value = nn.Linear(policy.config.get_text_config().hidden_size, 1).to(policy.device)
        nn.init.zeros_(policy.value.weight)
        nn.init.zeros_(policy.value.bias)
        in_step = recipe.batch * recipe.accumulation
        parts = [prompts[start : start + in_step] for start in range(0, len(prompts), in_step)]
        rows = [row for part in parts for _ in range(recipe.updates) for row in part]
        super().__init__(policy, settings, train_dataset=Dataset.from_list(rows), data_collator=list)
        self.model_accepts_loss_kwargs = False  # the loss is a mean, which the library divides by the accumulation
        self.recipe, self.tokens, self.scores, self.cost = recipe, tokenizer, scores, recipe.kl
        self.calls = 0
        self.batches: list[Sequence[Mapping[str, object]]] = []
        self.drawn: list[_Responses] = []
        self.noted: defaultdict[str, list[float]] = defaultdict(list)

    def create_optimizer(self, model: nn.Module | None = None) -> torch.optim.Optimizer:
        """Give the value head a learning rate of its own."""
        others = [
            one for name, one in self.model.named_parameters() if one.requires_grad and not name.startswith("value.")
        ]
        groups = [{"params": others}, {"params": list(self.model.value.parameters()), "lr": self.recipe.value_rate}]
        self.optimizer = torch.optim.AdamW(groups, lr=self.recipe.rate, weight_decay=self.recipe.decay)
        return self.optimizer

    def get_batch_samples(self, *given: object) -> tuple[list[Sequence[Mapping[str, object]]], object]:
        """The batches of a step; the responses to all of them are drawn at once."""
        self.batches, counted = super().get_batch_samples(*given)
        return self.batches, counted

    def compute_loss(self, model: nn.Module, inputs: Sequence[Mapping[str, object]], **more: object) -> Tensor:
        """The loss of a batch; the first batch of a step draws the responses to all of them when due."""
        step, place = divmod(self.calls, self.recipe.accumulation)
        self.calls += 1
        if place == 0 and step % self.recipe.updates == 0:
            drawn = [self._draw(model, batch) for batch in self.batches]
            better = whitened([one.better for one in drawn], [one.said for one in drawn])
            self.drawn = [replace(one, better=own) for one, own in zip(drawn, better, strict=True)]
            self._adapt_cost()
        one = self.drawn[place]
        new, values, _ = self._read(model, one.ids, one.mask, one.start)
        policy = clipped_loss(new, one.chances, one.better, one.said, self.recipe.clip)
        return policy + self.recipe.value_weight * value_loss(
            values, one.values, one.returns, one.said, self.recipe.clip
        )

    def _adapt_cost(self) -> None:
        """Adapt the cost of divergence for the next steps to the responses just drawn."""
        known, recipe = self.noted.pop("kl_response"), self.recipe
        kl, length = sum(known) / len(known), self.noted["completions/mean_length"]
        self.noted["kl"] = [kl / (sum(length) / len(length))]  # per token, as trl logs it
        self.noted["kl_cost"] = [self.cost]
        self.cost = adapted(self.cost, kl, len(known), target=recipe.kl_target, horizon=recipe.kl_horizon)

    def _read(self, model: nn.Module, ids: Tensor, mask: Tensor, start: int) -> tuple[Tensor, Tensor, Tensor]:
        """Log-probability, value and entropy of each token of the responses, which begin at `start`."""
        places = (mask.cumsum(dim=1) - 1).clamp(min=0)
        found = model(
            input_ids=ids, attention_mask=mask, position_ids=places, output_hidden_states=True, use_cache=False
        )
        chances = torch.log_softmax(found.logits[:, start - 1 : -1].float() / self.recipe.temperature, dim=-1)
        values = self.model.value(found.hidden_states[-1][:, start - 1 : -1].float())[..., 0].float()
        entropy = -(chances.detach().exp() * chances.detach()).sum(dim=-1)
        return chances.gather(2, ids[:, start:, None])[..., 0], values, entropy

    def _draw(self, model: nn.Module, inputs: Sequence[Mapping[str, object]]) -> _Responses:
        recipe = self.recipe
        as_asked = {"padding": True, "padding_side": "left", "add_special_tokens": False, "return_tensors": "pt"}
        prompts = [row["prompt"] for row in inputs]
        asked = self.tokens(prompts, return_token_type_ids=False, **as_asked).to(self.model.device)
        start = asked["input_ids"].shape[1]
        model.eval()
        with torch.no_grad():
            drawn = {"do_sample": True, "temperature": recipe.temperature, "top_k": 0, "top_p": 1.0}
            ids = self.model.generate(**asked, **drawn, max_new_tokens=recipe.response_tokens)
            said = said_until_end(ids[:, start:], self.tokens.eos_token_id)
            mask = torch.cat([asked["attention_mask"], said], dim=1)
            chances, values, entropy = self._read(model, ids, mask, start)
            with self.model.disable_adapter():
                apart = chances - self._read(model, ids, mask, start)[0]
        model.train()
        texts = self.tokens.batch_decode(ids[:, start:], skip_special_tokens=True)
        columns = {name: [row[name] for row in inputs] for name in inputs[0] if name != "prompt"}
        scored = [torch.tensor(score(completions=texts, **columns), device=ids.device) for score in self.scores]
        rewards = -self.cost * apart * said
        rewards[torch.arange(len(ids)), (said.sum(dim=1) - 1).clamp(min=0)] += scored[0].to(rewards.dtype)
        gained = advantages(rewards, values, said, discount=recipe.discount, trace=recipe.trace)
        lengths = said.sum(dim=1).float()
        self.noted["reward"] += scored[0].tolist()
        for score, values_of in zip(self.scores[1:], scored[1:], strict=True):
            self.noted[f"rewards/{score.__name__}/mean"] += values_of.tolist()
        self.noted["kl_response"] += (apart * said).sum(dim=1).tolist()
        self.noted["completions/mean_length"] += lengths.tolist()
        self.noted["entropy"] += [float(mean_of(entropy, said))]
        return _Responses(ids, mask, start, said, chances, values, gained, gained + values)

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Add means over the responses drawn since the last row."""
        super().log({**logs, **{name: sum(known) / len(known) for name, known in self.noted.items()}}, start_time)
        self.noted.clear()

    def floating_point_ops(self, inputs: object) -> int:
        """Return 0: operations are not counted."""
        return 0

    def _save(self, output_dir: str | None = None, state_dict: dict[str, Tensor] | None = None) -> None:
        super()._save(output_dir, state_dict)
        state = {"value": self.model.value.state_dict(), "cost": self.cost}
        torch.save(state, Path(output_dir or self.args.output_dir) / _STATE)

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: nn.Module | None = None) -> None:
        super()._load_from_checkpoint(resume_from_checkpoint, model)
        state = torch.load(Path(resume_from_checkpoint) / _STATE, weights_only=True)
        self.model.value.load_state_dict(state["value"])
        self.cost = state["cost"]
