"""Tokens and cost of a run so far. Unknown values are None, never 0."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hellofresh.models import Answer, ModelSpec, Request
from hellofresh.models.sight import image_tokens, images_of
from hellofresh.runs.pace import TokenEstimate, estimate_tokens
from hellofresh.runs.regimes import MAIN


@dataclass(slots=True)
class Ledger:
    """Sums over answers.

    Attributes:
        spec: the model, for its price.
        answers: number of answers.
        tokens_in, tokens_out, cached_in, cache_writes: sums over the answers with reported usage.
        unreported: number of answers without reported usage.
        expected_usd: maximal cost of unreported answers and of those in flight.
        served: names of the models or versions that answered, as reported by providers.
        thought_tokens: how many of `tokens_out` are hidden ones, as far as they are reported.
        thoughts: number of answers with reasoning, shown or reported.
        long_usd: what long requests cost more than others of as many tokens.
    """

    spec: ModelSpec
    answers: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    unreported: int = 0
    expected_usd: float = 0.0
    cached_in: int = 0
    cache_writes: int = 0
    served: set[str] = field(default_factory=set)
    thought_tokens: int = 0
    thoughts: int = 0
    long_usd: float = 0.0

    def estimate(self, request: Request) -> TokenEstimate:
        """Maximal tokens of a request to this model, including pictures and hidden reasoning."""
        visible = estimate_tokens(request)
        shown = sum(image_tokens(self.spec, image) for image in images_of(request))
        hidden = self.spec.parameters.get("hidden_tokens", 0)
        return TokenEstimate(visible.tokens_in + shown, visible.tokens_out + int(hidden))

    def add(self, answer: Answer, estimate: TokenEstimate | None = None) -> None:
        self.answers += 1
        self.thought_tokens += answer.thought_tokens
        self.thoughts += bool(answer.thought or answer.thought_tokens)
        if answer.served_by:
            self.served.add(answer.served_by)
        if answer.tokens_in is None or answer.tokens_out is None:
            self.unreported += 1
            if estimate is not None:
                self.expected_usd += self.most_usd(estimate)
        else:
            self.tokens_in += answer.tokens_in
            self.tokens_out += answer.tokens_out
            if self.spec.price is not None:
                self.long_usd += self.spec.price.long_usd(answer.tokens_in, answer.tokens_out)
            self.cached_in += answer.cached_in
            self.cache_writes += answer.cache_writes

    def reserve(self, estimate: TokenEstimate, sign: int = 1) -> None:
        """Reserve the cost of a sent question or, with `sign` -1, release it."""
        self.expected_usd += sign * self.most_usd(estimate)

    def most_usd(self, estimate: TokenEstimate) -> float:
        """Maximal cost of one request, 0 if its price is unknown."""
        price = self.price(estimate.tokens_in, estimate.tokens_out)
        return (
            price + self.spec.price.long_usd(estimate.tokens_in, estimate.tokens_out)
            if price and self.spec.price
            else 0.0
        )

    def price(self, tokens_in: int, tokens_out: int, cached_in: int = 0, cache_writes: int = 0) -> float | None:
        """Price in US dollars but for long requests, see `Price.usd`; None if unknown."""
        if self.spec.free or self.spec.kind == "baseline":
            return 0.0
        price = self.spec.price
        return None if price is None else price.usd(tokens_in, tokens_out, cached_in, cache_writes)

    @property
    def known_usd(self) -> float | None:
        """Cost of the answers with reported usage; None if the price is unknown."""
        plain = self.price(self.tokens_in, self.tokens_out, self.cached_in, self.cache_writes)
        return None if plain is None else plain + self.long_usd

    @property
    def cost_usd(self) -> float | None:
        """Cost of the answers; None if a price or a number of tokens is unknown."""
        cost = self.known_usd
        return None if cost is None or (self.unreported and not self.free) else cost

    @property
    def others(self) -> list[str]:
        """Names in `served` that are neither the requested model nor a version of it."""
        asked = _plain(str(self.spec.parameters.get("model", "")))
        versions = re.compile(re.escape(asked) + r"([-_:@.]v?\d[\d.-]*)?")
        return sorted(name for name in self.served if asked and not versions.fullmatch(_plain(name)))

    @property
    def free(self) -> bool:
        return self.price(1, 1) == 0.0

    @property
    def at_most_usd(self) -> float:
        """Maximal cost of all sent requests, by known prices."""
        return (self.known_usd or 0.0) + self.expected_usd


def _plain(name: str) -> str:
    """A model's id without the part before the last slash and the suffix for the newest version."""
    return re.sub(r"[-:]latest$", "", name.casefold().rpartition("/")[2])


def sum_known(costs: Iterable[float | None]) -> float | None:
    """The sum of costs; None if one is unknown."""
    known = list(costs)
    return None if None in known else sum(cost for cost in known if cost is not None)


class Ledgers:
    """A ledger for each role of a run, and their sums."""

    def __init__(self, specs: Mapping[str, ModelSpec]) -> None:
        self.by_role = {role: Ledger(spec) for role, spec in specs.items()}

    def of(self, role: str) -> Ledger:
        """The ledger of a role; that of `main` for a role without a model of its own."""
        return self.by_role.get(role) or self.by_role[MAIN]

    @property
    def answers(self) -> int:
        return sum(ledger.answers for ledger in self.by_role.values())

    @property
    def unreported(self) -> int:
        """Number of answers without reported usage."""
        return sum(ledger.unreported for ledger in self.by_role.values())

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out

    @property
    def tokens_in(self) -> int:
        return sum(ledger.tokens_in for ledger in self.by_role.values())

    @property
    def tokens_out(self) -> int:
        return sum(ledger.tokens_out for ledger in self.by_role.values())

    @property
    def cost_usd(self) -> float | None:
        """Cost of all answers; None if it is unknown for a role that was asked."""
        return sum_known(
            ledger.cost_usd for ledger in self.by_role.values() if ledger.answers or len(self.by_role) == 1
        )

    @property
    def at_most_usd(self) -> float:
        return sum(ledger.at_most_usd for ledger in self.by_role.values())

    @property
    def unpriced(self) -> str:
        """Name of a model without a known price, or ''."""
        return next((item.spec.name for item in self.by_role.values() if item.price(1, 1) is None), "")
