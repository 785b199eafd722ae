"""The tables of providers and models in the project's `catalogue.toml` and a user's `hellofresh.toml`.

Unknown keys, wrong types and numbers out of range are refused, so that a misspelt key is not ignored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from importlib.metadata import version
from typing import Annotated, Literal

from pydantic import Field, JsonValue, PositiveInt, StringConstraints, field_validator, model_validator
from yarl import URL

from hellofresh.core.clock import now
from hellofresh.core.net import may_carry_key
from hellofresh.core.plugins import plugins
from hellofresh.core.strict import Strict
from hellofresh.core.systems import MODEL_FACTS, ModelFacts
from hellofresh.models import Limits, Price, Sampling
from hellofresh.models.wires import WIRES, Wire

TokenParameter = Literal["max_tokens", "max_completion_tokens"]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,59}$")]
_MOST_OPTIONS = 10_000  # options are part of every run's stored identity
# Fields of requests that a reproducible run sets itself.
_OURS = {
    *("background", "candidate_count", "functions", "http_options", "input", "logprobs", "max_completion_tokens", "n"),
    *("max_output_tokens", "max_tokens", "messages", "model", "response_logprobs", "seed", "store", "stream", "system"),
    *("automatic_function_calling", "stream_options", "system_instruction", "temperature", "tools", "top_logprobs"),
}


class LimitsTable(Strict):
    """Rate limits; fields that are not set keep the value of the provider's table."""

    in_flight: int | None = Field(default=None, ge=1, le=2000)
    requests_per_minute: PositiveInt | None = None
    tokens_per_minute: PositiveInt | None = None

    def over(self, limits: Limits) -> Limits:
        """These limits, completed by the given ones."""
        return replace(limits, **self.model_dump(exclude_none=True))


class ProviderTable(Strict):
    """A service of models: its protocol, its address, and the environment variable of its key."""

    kind: str
    base_url: str = Field(min_length=1, max_length=500)
    key_variable: str | None = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """Name of the environment variable, since files must not hold the key itself. None if no key is needed."""
    headers: dict[str, str] = Field(default_factory=dict)
    free: bool = False
    """Whether requests cost nothing, as on the user's own machine."""
    prices: str | None = Field(default=None, min_length=1, max_length=60)
    """Its name in the package genai-prices, for models without their own price; None for unknown prices."""
    timeout_s: float = Field(default=120.0, gt=0, le=3600, allow_inf_nan=False)
    limits: LimitsTable = LimitsTable()

    @field_validator("kind", mode="after")
    @classmethod
    def _known_wire(cls, kind: str) -> str:
        if kind not in WIRES:
            WIRES.update(plugins("hellofresh.wires", kind, Wire))
        if kind not in WIRES:
            raise ValueError(f"{kind!r} is not one of {', '.join(WIRES)}, nor a wire of an installed package")
        return kind

    @model_validator(mode="after")
    def _usable(self) -> ProviderTable:
        try:
            url = URL(self.base_url)
            good = url.scheme in ("http", "https") and bool(url.host) and url.user is None and not url.query_string
            good = good and self.base_url.isprintable() and " " not in self.base_url
        except ValueError:
            good = False
        if not good:
            raise ValueError("base_url must be an http(s) address without user, password and query")
        if self.key_variable and not may_carry_key(self.base_url):
            raise ValueError("base_url must begin with https:// where a key is sent")
        return self


@cache
def listed_price(provider: str, model: str) -> Price | None:
    """The price of a model for requests of our usual length, by the offline data of genai-prices.

    Args:
        provider: its name in the package.
        model: its id at the provider.
    """
    from genai_prices import Usage, calc_price  # 0.2 s of CPU time, only needed for prices

    def million(of: int = 1000, **tokens: int) -> float:
        asked = calc_price(Usage(**tokens), model, provider_id=provider)
        return float(round(asked.total_price * 1_000_000 / of, 9))

    try:
        tokens_in = million(input_tokens=1000)
    except LookupError:
        return None
    tiers = getattr(
        calc_price(Usage(input_tokens=1000), model, provider_id=provider).model_price.input_mtok, "tiers", ()
    )
    more: dict[str, float] = {}
    if tiers:
        start, long = tiers[0].start, tiers[0].start + 1000
        more = {"long_from": start, "long_in": million(of=long, input_tokens=long)}
        both = million(of=1000, input_tokens=long, output_tokens=1000)
        more["long_out"] = round(both - more["long_in"] * long / 1000, 6)
    return Price(
        **more,  # type: ignore[arg-type]
        tokens_in=tokens_in,
        tokens_out=million(output_tokens=1000),
        as_of=now().date().isoformat(),
        source=f"genai-prices {version('genai-prices')}",
        cached_in=million(input_tokens=1000, cache_read_tokens=1000),
        cache_writes=million(input_tokens=1000, cache_write_tokens=1000),
    )


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a model.

    Attributes:
        base_url: the part before `/chat/completions` and the like, without a slash at the end.
        model: the model's id at the service.
        key: the secret to send, None if not needed. It appears in no representation, message or record.
        headers: further headers of every request.
        timeout_s: of one attempt, from the connection to the last byte.
        options: further, provider-specific fields of every body.
        client: a client of an official SDK, or where to make one (see `providers.sdk`); None for our own wire.
    """

    base_url: str
    model: str
    key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_s: float = 120.0
    options: Mapping[str, object] = field(default_factory=dict)
    client: object = field(default=None, repr=False)


class Abilities(Strict):
    """The parameters that a model accepts and the data that it returns.

    Parameters that a model does not accept are left out of requests. Both kinds are kept in
    `ModelSpec.parameters`, as sorted names separated by commas: `sent_parameters` are the settings of a request
    that are sent (such as `max_completion_tokens,seed`), `dropped` those that are left out
    (such as `temperature`). They depend on the abilities alone, so that they are the same for all requests of a run
    and answers are not reused after an ability changes.

    Attributes:
        temperature: accepts a temperature.
        seed: accepts a seed.
        logprobs: returns log-probabilities of the most likely first tokens.
        token_parameter: the name of the cap on an answer's tokens.
        hidden_tokens: maximum tokens of hidden reasoning, which count towards the cap: the cap sent is the visible
            tokens requested plus these.
        system_messages: accepts messages of the role `system`; else their text goes before the first user message.
        tools: accepts tools that it may call.
        search: searches the web by itself on request, and cites its sources.
        sees: accepts images.
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
        """What can make two answers to the same messages differ."""
        if not self.temperature:
            return Sampling.OWN
        return Sampling.SEEDED if self.seed else Sampling.UNSEEDED

    @property
    def dropped(self) -> str:
        """Names of the settings that are left out, as in `ModelSpec.parameters`."""
        return ",".join(name for name in ("seed", "temperature") if not getattr(self, name))


class AbilitiesTable(Abilities):
    """A model's abilities; fields that are not set have the defaults of its provider's kind."""

    image_tokens: int | None = Field(default=None, ge=0, le=200_000)

    def abilities(self, kind: str) -> Abilities:
        """The abilities with the defaults of a provider's kind."""
        said = self.model_dump(include=set(Abilities.model_fields))
        seed = self.seed if self._says_seed else WIRES[kind].has_seed
        return Abilities(**{**said, "seed": seed})

    @property
    def _says_seed(self) -> bool:
        return "seed" in self.model_fields_set

    def fault(self, kind: str) -> str:
        """The fault of these abilities for a provider of this kind, or ''."""
        if not WIRES[kind].has_seed and ((self.seed and self._says_seed) or self.logprobs):
            return f"models of the kind {kind} take no seed and give no log-probabilities"
        if not WIRES[kind].is_chat and self.token_parameter != "max_tokens":  # noqa: S105 - counted, not secret
            return "token_parameter is for providers of the kinds openai-compatible and openai-sdk"
        return ""


class ModelTable(ModelFacts):
    """A model at a provider, or one called through a client of OpenAI's SDK."""

    provider: Name = "openai-sdk"
    kind: Literal["openai-sdk"] | None = None
    client: str = Field(default="openai:AsyncOpenAI", pattern=r"^(openai|[^:\x00-\x1f]+\.py):[A-Za-z_]\w*$")
    """The client's source: a class of the SDK, which reads the environment, or FILE.py:FUNCTION."""
    model: str = Field(min_length=1, max_length=200, pattern=r"^[^\s\x00-\x1f\x7f]+$")
    """Its id at the provider."""
    about: str = Field(default="", max_length=300)
    knowledge_cutoff: date | Literal["unknown"] = "unknown"
    cutoff_source: str = Field(default="", max_length=300)
    checked: date | None = None
    """Day on which this table was compared with the provider's pages."""
    retires: date | None = None
    """Day on which its maker shuts it down."""
    successor: str = Field(default="", max_length=60)
    """Its maker's model in its place."""
    context: PositiveInt | None = None
    """Most tokens of request and answer together."""
    free: bool | None = None
    default_limit: PositiveInt | None = None
    price: Price | None = None
    limits: LimitsTable = LimitsTable()
    abilities: AbilitiesTable = AbilitiesTable()
    options: dict[str, JsonValue] = Field(default_factory=dict)
    """Further, provider-specific fields of every request, such as `reasoning_effort`; part of the model's identity."""

    @field_validator("options", mode="after")
    @classmethod
    def _of_the_provider(cls, options: dict[str, JsonValue]) -> dict[str, JsonValue]:
        if taken := sorted(options.keys() & _OURS):
            raise ValueError(f"{taken[0]!r} is set by the run, its options or the model's abilities, not here")
        try:
            size = len(json.dumps(options, allow_nan=False))
        except ValueError:
            raise ValueError("a number is not finite") from None
        if size > _MOST_OPTIONS:
            raise ValueError(f"more than {_MOST_OPTIONS:,} characters as JSON")
        return options

    @model_validator(mode="after")
    def _one_way(self) -> ModelTable:
        if ("provider" in self.model_fields_set) == (self.kind is not None):
            raise ValueError('needs provider, or kind = "openai-sdk", and not both')
        if "client" in self.model_fields_set and self.kind is None:
            raise ValueError('client is for kind = "openai-sdk"')
        return self

    @model_validator(mode="after")
    def _one_cost(self) -> ModelTable:
        if self.free and self.price is not None:
            raise ValueError("free and price exclude each other")
        return self

    @property
    def facts(self) -> ModelFacts:
        """What it states about the model."""
        return ModelFacts(**self.model_dump(include=set(MODEL_FACTS)))

    @property
    def cutoff(self) -> str:
        """The knowledge cutoff: a day (ISO), or `unknown`."""
        return self.knowledge_cutoff if isinstance(self.knowledge_cutoff, str) else self.knowledge_cutoff.isoformat()
