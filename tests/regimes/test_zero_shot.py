"""Zero-shot asks every prompt once and shows the model nothing but the prompt."""

from __future__ import annotations

import pytest

from hellofresh.core.errors import UnknownNameError
from hellofresh.runs.regimes import get_regime
from hellofresh.runs.regimes.registry import REGIMES
from tests.regimes import conftest as stage


def test_regimes_are_found_by_name_and_no_other() -> None:
    assert all(get_regime(name).name == name for name in REGIMES)
    with pytest.raises(UnknownNameError, match="zero-shot"):
        get_regime("zeroshot")


@pytest.mark.parametrize(
    ("name", "step", "said"),
    [
        ("zero-shot", "classify", "Too early to tell."),
        ("search-agent", "turn-1", "Summary: who knows.\nDecision: **Too early to tell**"),
        ("hiss", "decide", "Summary: who knows.\nDecision: Too early to tell"),
        ("retrieve-verify", "decide", "Decision: too early to tell"),
    ],
)
def test_that_it_is_too_early_is_offered_and_taken_at_once_as_an_even_forecast(make, name, step, said) -> None:
    world = stage.World({step: said}, results=stage.results(1))
    outcome = stage.judged(get_regime(name, ["early=true"]), make.note(1), world)
    assert {(one.label, one.probabilities) for one in outcome.outputs} == {(None, (0.5, 0.5))}
    (asked, *_) = world.of(step)
    assert "too early to tell" in asked.request.messages[0].text.casefold() and not world.of("again")
