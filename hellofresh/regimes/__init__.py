"""How it is asked. A new regime is a file here and a line in `REGIMES`, and a table in each task's prompts.

A regime gets a `Case` and gives an `Outcome`; it never sees the run, the journal or the provider.

- `case.question(prompt, **texts)` is the message that decides, from the frame of the table `[regimes.<name>]` and one
  of its instructions; `case.step(name, **texts)` is any other, from `[regimes.<name>.steps]`. Both know the sample's
  slots; `texts` fills the others.
- `await case.ask(step, prompt, request)` asks the model, or gives what the journal has: the pair of step and prompt
  must be unique within a sample and not depend on who answers first. A loop numbers its steps: `search-1`, `search-2`.
- `await case.web.search(query)` and `await case.web.read(url)` reach the outside world, where the regime says
  `needs_web = True`; neither raises for what is out there. The provider may as well be an index of local documents,
  and a regime of retrieving, ranking and responding needs no more than that.
- What comes from outside goes through `clean`, `cut_words` and `fence` of `hellofresh.regimes._texts` into a slot.
- The outcome holds a `Judgement` for each prompt; one that explains itself, such as a correction with its sources, puts
  them into `rationale` and `sources`. What happened on the way goes into `trace`, in an order that no clock decides.
- `version` goes up when the regime would ask something else; `parameters` holds all that decides what it does;
  `calls(prompts)` is the most that a sample may cost.
"""

from __future__ import annotations

from hellofresh.errors import UnknownNameError
from hellofresh.regimes._base import Ask, Case, Judgement, Outcome, Regime
from hellofresh.regimes.placebo import Placebo
from hellofresh.regimes.web_search import WebSearch
from hellofresh.regimes.zero_shot import ZeroShot

__all__ = ["REGIMES", "Ask", "Case", "Judgement", "Outcome", "Regime", "get_regime"]

_ALL: tuple[Regime, ...] = (ZeroShot(), WebSearch(), WebSearch("sample", "web-search-dated"), Placebo())
REGIMES: dict[str, Regime] = {regime.name: regime for regime in _ALL}


def get_regime(name: str) -> Regime:
    """The regime of that name.

    Raises:
        UnknownNameError: if there is none.
    """
    try:
        return REGIMES[name]
    except KeyError:
        raise UnknownNameError("regime", name, REGIMES) from None
