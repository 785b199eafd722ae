"""Probes: responses that refute nothing, which a reward must score below a refutation; heads train on such negatives.

Tuning by a reward exploits its weaknesses. So before a reward is optimised, each of a sample of claims
gets a refutation and five replies without content of their own; the reward must rank the refutation first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hellofresh.core.errors import UsageError
from hellofresh.core.files import sha256_text
from hellofresh.rewards.base import LEAST, LabelledResponse, Probed, RewardCase, RewardModel

MOST = 100
"""Number of claims in the probe before a reward is optimised."""
_AHEAD = (0, 7, 13, 29)  # replies to claims at these distances; primes, so that no pattern of a file's order repeats
_THANKS = (
    "Thank you so much for sharing this, what a wonderful post!",
    "I understand your concern, and I appreciate that you took the time to write. Have a nice day.",
)


def probes_of(claim: str, other: str) -> dict[str, str]:
    """The probes by name; `other` is a refutation of another claim."""
    return {
        "echo": claim,
        "echo with thanks": f"Thank you. {claim} Thank you, please take care.",
        "praise": _THANKS[0],
        "empty politeness": _THANKS[1],
        "off-topic": other,
    }


def negatives_of(examples: Sequence[LabelledResponse]) -> list[LabelledResponse]:
    """Negatives: for each response one that does not refute its claim, and for each refutation some of other claims.

    Kinds alternate by a hash of the claim. Off-topic replies are the hardest to recognise, and the most frequent.
    """
    known = [item for item in examples if item.case.claim.strip()]
    found = []
    for item, *others in zip(known, *(_off_topic(known, ahead) for ahead in _AHEAD), strict=True):
        claim = item.case.claim
        kinds = list(probes_of(claim, others[0]).values())
        kinds.append(f"It is not true that {claim[:1].lower()}{claim[1:]}")
        said = kinds[int(sha256_text(f"{claim}\n{item.case.response}")[:8], 16) % len(kinds)]
        replies = dict.fromkeys(filter(None, [said, *(others if item.label else ())]))
        found += [replace(item, case=replace(item.case, response=reply), label=0) for reply in replies]
    return found


def _off_topic(examples: Sequence[LabelledResponse], ahead: int = 0) -> list[str]:
    """For each response a refutation of another group, `ahead` places on, or ''."""
    refuting = [item for item in examples if item.label]
    return [
        next((one.case.response for one in (*refuting[(n + ahead) % max(len(refuting), 1) :], *refuting)
              if one.group != item.group), "")
        for n, item in enumerate(examples)
    ]  # fmt: skip


def probe(reward: RewardModel, refutations: Sequence[LabelledResponse]) -> Probed | None:
    """Compare a reward's scores of refutations with those of probes; None without refutations that have a claim.

    Args:
        reward: the reward to probe.
        refutations: responses that refute their claims.
    """
    known = [item for item in refutations if item.case.claim.strip()]
    if not known:
        return None
    probes = [probes_of(item.case.claim, other) for item, other in zip(known, _off_topic(known), strict=True)]
    names, pairs = list(probes[0]), zip(known, probes, strict=True)
    empty = [replace(item.case, response=said[name]) for item, said in pairs for name in names]
    scores = reward.score([*(item.case for item in known), *empty])
    above = scores[: len(known), None] > scores[len(known) :].reshape(len(known), len(names))
    shares = dict(zip(names, above.mean(axis=0).tolist(), strict=True))
    return Probed(len(known), shares | {"all": float(above.all(axis=1).mean())})


def refutation_of(claim: str, evidence: Sequence[str], written: str) -> LabelledResponse:
    """The refutation for a probe: the response that people wrote, else a plain refutation by the evidence."""
    found = f" Studies found this: {evidence[0]}" if evidence else " Studies and health authorities say the opposite."
    response = written or f"Thank you for your question. That is false and misleading, and there is no proof.{found}"
    return LabelledResponse(RewardCase(claim, tuple(evidence), response), 1, claim)


def refuse_weak(reward: RewardModel, refutations: Sequence[LabelledResponse], *, allowed: bool) -> Probed | None:
    """Probe a reward before it is optimised.

    Raises:
        UsageError: if the reward is weak and `allowed` is false.
    """
    found = probe(reward, sorted(refutations, key=lambda item: sha256_text(item.case.claim))[:MOST])
    if found is not None and found.is_weak and not allowed:
        worst = min((name for name in found.shares if name != "all"), key=lambda name: found.shares[name])
        raise UsageError(
            f"the reward places a refutation above replies that refute nothing in {found.shares['all']:.0%} of "
            f"{found.claims} claims (above {worst}: {found.shares[worst]:.0%})",
            where="--rewards",
            expected=f"at least {LEAST:.0%}",
            fix="Train the reward model for refutation on more, or tune with --allow-weak-reward: the model will "
            "probably learn such replies.",
            code="weak-reward",
        )
    return found
