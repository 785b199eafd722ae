"""How it is asked. A new regime is a file here and a line in `REGIMES`, and a table in each task's prompts."""

from __future__ import annotations

from hellofresh.errors import UnknownNameError
from hellofresh.regimes._base import Ask, Case, Judgement, Outcome, Regime
from hellofresh.regimes.zero_shot import ZeroShot

__all__ = ["REGIMES", "Ask", "Case", "Judgement", "Outcome", "Regime", "get_regime"]

REGIMES: dict[str, Regime] = {regime.name: regime for regime in (ZeroShot(),)}


def get_regime(name: str) -> Regime:
    """The regime of that name.

    Raises:
        UnknownNameError: if there is none.
    """
    try:
        return REGIMES[name]
    except KeyError:
        raise UnknownNameError("regime", name, REGIMES) from None
