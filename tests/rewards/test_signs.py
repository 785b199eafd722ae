"""Signs of a response by rules, and rewards held against responses that say nothing."""

from __future__ import annotations

import pytest

from hellofresh.judging.reward_judges import PROBES, SIGNS
from hellofresh.rewards.base import RewardCase

CLAIM = "Vaccines do not work and have never been tested."


@pytest.mark.parametrize(
    ("response", "denies"),
    [
        ("The studies do not support this.", 1),
        ("Studies don't support it.", 1),
        ("The records didn\u2019t confirm that.", 1),
        ("The data does not really back this up.", 1),
        ("There is no credible evidence of that.", 1),
        ("It lacks any scientific basis.", 1),
        ("The trial failed to show an effect.", 1),
        ("That cannot be verified.", 1),
        ("This has never been shown.", 1),
        ("The claim is unsubstantiated.", 1),
        ("This is not what the agency said.", 1),
        ("It was a hoax.", 1),
        ("The studies support this.", 0),
        ("No doubt this is right.", 0),
        ("It is true, and shown by many trials.", 0),
        ("I do not mind. The evidence is clear.", 0),
        ("You cannot go there by car.", 0),
        ("I do not know what to say, and would not go back.", 0),
        (CLAIM, 0),
        (f"As you say: {CLAIM.lower()}", 0),
        (f"False: {CLAIM}", 1),
    ],
)
def test_a_denial_is_seen_in_words_of_the_response(response: str, denies: int) -> None:
    assert SIGNS["denies"](RewardCase(CLAIM, (), response)) == denies


def test_copies_of_the_claim_are_shown() -> None:
    shares = {name: SIGNS["echo"](RewardCase(CLAIM, (), make(CLAIM))) for name, (make, _) in PROBES.items()}
    assert shares["the claim again"] == 1 and 0.5 < shares["the claim denied"] < 1
    assert shares["praise"] == shares["empty politeness"] == 0
    assert SIGNS["echo"](RewardCase(CLAIM, (), "")) == 0
