"""Where a model of a web service is asked, and what its requests may say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import Field

from hellofresh.core.strict import Strict
from hellofresh.models.base import Sampling

TokenParameter = Literal["max_tokens", "max_completion_tokens"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a model.

    Attributes:
        base_url: what stands before `/chat/completions` and the like, without a slash at the end.
        model: the model's id at the service.
        key: the secret that is sent along, None where none is needed. It is in no representation, message or record.
        headers: further headers of every request.
        timeout_s: of one attempt, from the connection to the last byte.
    """

    base_url: str
    model: str
    key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_s: float = 120.0


class Abilities(Strict):
    """What a model takes and gives.

    A request's parameters that a model does not take are left out, never sent to be refused. Both are kept in
    `ModelSpec.parameters`, as sorted names with commas between them: `sent_parameters` those of a request's settings
    that are sent (such as `max_completion_tokens,seed`), `dropped` those that are asked for by requests and left out
    (such as `temperature`). They follow from the abilities alone, so that they are the same for all requests of a run
    and a changed ability never meets an old answer.

    Attributes:
        temperature: takes a temperature.
        seed: takes a seed.
        logprobs: gives the log-probabilities of the first token's likeliest spellings.
        token_parameter: the name of the cap on an answer's tokens.
        hidden_tokens: most tokens of hidden reasoning, which the cap counts too: the cap that is sent is the visible
            tokens asked for plus these.
        system_messages: takes messages of the role `system`; else their text is put before the first user message.
        tools: takes tools that it may call.
        search: searches the web by itself where a request says so, and cites what it found.
        sees: takes images.
    """

    temperature: bool = True
    seed: bool = True
    logprobs: bool = False
    token_parameter: TokenParameter = "max_tokens"  # noqa: S105 - counted, not secret
    hidden_tokens: int = Field(default=0, ge=0, le=200_000)
    system_messages: bool = True
    tools: bool = True
    search: bool = False
    sees: bool = False

    @property
    def sent_parameters(self) -> str:
        """Names of the settings that are sent, as in `ModelSpec.parameters`."""
        taken = [name for name in ("seed", "temperature") if getattr(self, name)]
        return ",".join(sorted([self.token_parameter, *taken]))

    @property
    def sampling(self) -> Sampling:
        """What makes two answers to the same messages differ."""
        if not self.temperature:
            return Sampling.OWN
        return Sampling.SEEDED if self.seed else Sampling.UNSEEDED

    @property
    def dropped(self) -> str:
        """Names of the settings that are left out, as in `ModelSpec.parameters`."""
        return ",".join(name for name in ("seed", "temperature") if not getattr(self, name))
