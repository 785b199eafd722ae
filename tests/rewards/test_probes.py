"""Signs of a response by rules; probes: which rewards are weak, and which negatives heads learn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from hellofresh.core.errors import UsageError
from hellofresh.judging.reward_judges import PROBES, SIGNS, denies, echo
from hellofresh.rewards.base import Beside, FloatArray, LabelledResponse, Probed, RewardCard, RewardCase, write_card
from hellofresh.rewards.probes import negatives_of, probe, probes_of, refuse_weak, refutation_of
from hellofresh.runs.regimes.evidence_response import EvidenceResponse, EvidenceResponseSettings

SUBJECTS = ("otters", "ferries", "bridges", "clocks", "wolves", "bakers", "pilots", "towers", "mayors", "schools")


class By:
    """A reward by a rule."""

    name = "refutation"

    def __init__(self, rule: Callable[[RewardCase], float]) -> None:
        self.rule = rule

    def score(self, cases: Sequence[RewardCase]) -> FloatArray:
        return np.array([self.rule(case) for case in cases])


def refutations() -> list[LabelledResponse]:
    return [
        LabelledResponse(RewardCase(f"All {one} are green.", (), f"That is wrong: few {one} are."), 1, one)
        for one in SUBJECTS
    ]


def own(case: RewardCase) -> float:
    """Denies, and is about the claim."""
    return denies(case) * any(word in case.response for word in SUBJECTS if word in case.claim) - echo(case)


@pytest.mark.parametrize(
    ("rule", "lost"),
    [
        (own, set()),
        (lambda case: float(len(case.response)), {"echo with thanks", "praise", "empty politeness", "off-topic"}),
        (echo, {"echo", "echo with thanks", "praise", "empty politeness", "off-topic"}),  # a tie is no first place
        (denies, {"off-topic"}),
        (lambda case: denies(case) + 2.0 * ("hank you" in case.response), {"echo with thanks", "praise", "off-topic"}),
        (lambda case: 1.0, {"echo", "echo with thanks", "praise", "empty politeness", "off-topic"}),
    ],
)
def test_a_reward_is_weak_unless_refutations_are_above_every_probe(
    rule: Callable[[RewardCase], float], lost: set[str]
) -> None:
    found = probe(By(rule), refutations())
    assert found is not None and found.claims == len(SUBJECTS)
    assert {name for name, share in found.shares.items() if name != "all" and share < 0.9} == lost
    assert found.is_weak is bool(lost)
    if lost:
        with pytest.raises(UsageError, match="allow-weak-reward") as caught:
            refuse_weak(By(rule), refutations(), allowed=False)
        assert caught.value.code == "weak-reward"
    allowed = refuse_weak(By(rule), refutations(), allowed=True)  # in another order
    assert allowed is not None and allowed.is_weak is found.is_weak


@pytest.mark.parametrize(("bad", "weak"), [(0, False), (1, False), (2, True)])
def test_nine_claims_in_ten_are_enough(bad: int, weak: bool) -> None:
    """The reward is right but for the first claims, of which it likes the echo."""
    found = probe(By(lambda case: own(case) * (-1 if any(one in case.claim for one in SUBJECTS[:bad]) else 1)),
                  refutations())  # fmt: skip
    assert found is not None and found.is_weak is weak


def test_without_claims_nothing_is_probed_and_a_claim_needs_no_written_reply() -> None:
    assert probe(By(own), [LabelledResponse(RewardCase("", (), "That is wrong."), 1, "a")]) is None
    case = refutation_of("All otters are green.", ("Otters are brown.",), "").case
    assert denies(case) and "Otters are brown." in case.response and echo(case) == 0
    assert refutation_of("All otters are green.", (), "No.").case.response == "No."


def test_negatives_are_of_every_kind_and_every_refutation_gets_some_off_its_topic() -> None:
    many = [
        LabelledResponse(RewardCase(f"All {one} of {n} are green.", (), f"Wrong: {one} of {n}."), 1, f"{one} {n}")
        for one in SUBJECTS
        for n in range(12)
    ]
    supporting = LabelledResponse(RewardCase("All owls are green.", (), "Yes."), 0, "owls")
    found = negatives_of([*many, supporting, LabelledResponse(RewardCase("", (), "no claim"), 1, "x")])
    assert not any(item.label for item in found) and negatives_of([*many, supporting]) == found
    kinds = Counter[str]()
    for one in (*many, supporting):
        mine = [item.case.response for item in found if item.group == one.group]
        own_probes = {said: name for name, said in probes_of(one.case.claim, "").items()}
        named = [own_probes.get(said, "negated" if "not true that" in said else "off-topic") for said in mine]
        assert named.count("off-topic") == 4 if one.label else len(named) == 1
        assert one.case.response not in mine
        kinds.update(named)
    assert set(kinds) == {"echo", "echo with thanks", "praise", "empty politeness", "off-topic", "negated"}


@pytest.mark.parametrize(("share", "chooses"), [(0.89, False), (0.9, True)])
def test_a_weak_reward_chooses_among_no_responses(tmp_path: Path, share: float, chooses: bool) -> None:
    card = RewardCard(
        criterion="refutation", form="head", beside=Beside.CLAIM, encoder={}, training={}, data=(), versions={},
        rows={}, epoch=0, sha256="0" * 64, measures=(), probes=Probed(100, {"echo": share, "all": share}),
    )  # fmt: skip
    write_card(tmp_path, card)
    regime = EvidenceResponse(EvidenceResponseSettings(n=2, rewards=str(tmp_path)))
    with nullcontext() if chooses else pytest.raises(UsageError, match="a weak reward chooses no response"):
        assert regime.parameters["reward_refutation_sha256"] == "0" * 64


# --- Signs.


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
