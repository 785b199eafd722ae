"""Variants of an evaluation: every combination of settings, models of roles, blocked domains and search providers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

from hellofresh.core.errors import UsageError
from hellofresh.runs.evaluate import Evaluation

__all__ = ["Variant", "variants"]

_MOST = 64


@dataclass(frozen=True, slots=True)
class Variant:
    """One run of a sweep.

    Attributes:
        name: what tells it from the others; empty where there are no others.
        evaluation: what to ask, still without a way to the web.
        provider: the search provider, empty for the configured one.
    """

    name: str
    evaluation: Evaluation
    provider: str = ""


def variants(
    base: Evaluation,
    *,
    models: Sequence[str],
    settings: Mapping[str, Sequence[str]],
    roles: Mapping[str, Sequence[str]],
    blocked: Sequence[Sequence[str]],
    providers: Sequence[str],
) -> list[Variant]:
    """All combinations, the last axis varying fastest; the first variant is what the others are compared with.

    Args:
        base: what they have in common.
        models, providers: alternatives; a provider may be empty for the configured one.
        settings, roles: alternatives by name of the setting or role.
        blocked: alternative lists of domains.

    Raises:
        UsageError: if two are the same, or there are too many.
    """
    axes: list[list[_Choice]] = [
        [_Choice(model, "model", model) for model in models],
        *([_Choice(f"{name}={value}", "set", f"{name}={value}") for value in own] for name, own in settings.items()),
        *([_Choice(f"{role} {model}", "role", f"{role}={model}") for model in own] for role, own in roles.items()),
        [_Choice(f"without {', '.join(domains)}" if domains else "nothing blocked", "block", ",".join(domains))
         for domains in blocked],
        [_Choice(provider or "configured search", "provider", provider) for provider in providers],
    ]  # fmt: skip
    varying = [len(axis) > 1 for axis in axes]
    found = [_variant(base, choice, varying) for choice in product(*axes)]
    if len(found) > _MOST:
        raise UsageError(f"{len(found)} variants", expected=f"at most {_MOST}", code="too-many-variants")
    names = [variant.name for variant in found]
    if len(set(names)) < len(names):
        raise UsageError("two variants are the same", expected="each alternative once", code="twice-the-same")
    return found


@dataclass(frozen=True, slots=True)
class _Choice:
    """An alternative: what it is called, what it changes, and to what."""

    name: str
    kind: Literal["model", "set", "role", "block", "provider"]
    value: str


def _variant(base: Evaluation, choices: Sequence[_Choice], varying: Sequence[bool]) -> Variant:
    def values(kind: str) -> list[str]:
        return [choice.value for choice in choices if choice.kind == kind]

    evaluation = replace(
        base,
        model=values("model")[0],
        settings=tuple(values("set")),
        roles={role: model for role, _, model in (value.partition("=") for value in values("role"))},
        blocked=tuple(filter(None, values("block")[0].split(","))),
    )
    name = ", ".join(choice.name for choice, varies in zip(choices, varying, strict=True) if varies)
    return Variant(name, evaluation, values("provider")[0])
