"""Reward models as judges: systems by refutation, factuality, politeness and relevance, as in RARG's tables 2 and 3.

All systems are judged with the same evidence for a claim, whatever evidence they used. A reward is first tested on
empty responses (`PROBES`): the claim repeated, the claim denied in three words, praise, empty politeness. If it does
not rate systems' responses higher, it is marked and never validated.

The trained judges are accompanied by untrained signs, the length of responses, and the share of near-duplicates of
training responses. The signs are simple rules: whether a response denies something in its own words, whether its long
words occur in the claim and the evidence, how much of it repeats the claim, whether it is free of insults and shouting,
and how often its words recur. A tuning by rewards is monitored by an untrained judge (`WatchedReward`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hellofresh.core.errors import DataError, UsageError
from hellofresh.core.files import sha256_text
from hellofresh.judging.rubric import Rubric
from hellofresh.judging.study import NOT_VALIDATED, JudgeKind, RatedStudy, Rating, read_responses, read_samples
from hellofresh.releases.draw.duplicates import near_duplicates
from hellofresh.rewards.base import RewardCard, RewardCase, RewardModel, read_card
from hellofresh.rewards.models import CombinedReward, open_combined, open_reward
from hellofresh.stats.multiway import ClusteredMean, clustered_mean, holm

_NOT = r"(?:not|never|cannot|hardly|(?:do|does|did|is|are|was|were|has|have|had|can|could|would)n['\u2019]t)"
_DENIAL = re.compile(
    r"\b(?:false|falsehoods?|untrue|incorrect|inaccurate|mislead\w*|wrong|myths?|hoax(?:es)?|debunk\w*|contrary to"
    r"|refut\w*|contradict\w*|disprov\w*|disput\w*|unfounded|baseless|groundless|unsupported|unproven|fabricated"
    r"|unsubstantiated|fail(?:s|ed)? to (?:support|show|confirm|prove|find|demonstrate)|not what"
    r"|(?:no|without|lacks?|lacking)(?: \w+){0,2}? (?:evidence|proof|basis|support|foundation|link|connection)"
    rf"|{_NOT}(?: \w+){{0,2}}? (?:true|correct|accurate|prove[ns]?|shown?|borne out|bear out|hold up|the case"
    r"|(?:support|confirm|verif|substantiat|demonstrat|establish)\w*|back(?:s|ed)? (?:it|that|the|this|up)))\b",
    re.IGNORECASE,
)
_RUDE = re.compile(
    r"\b(?:stupid|idiot\w*|moron\w*|dumb|fools?|foolish|liars?|lying|shut up|ridiculous|nonsense|bullshit|crap|hell|"
    r"damn|ignorant|pathetic|clowns?)\b",
    re.IGNORECASE,
)
_LONG = re.compile(r"[^\W\d_]{4,}")
_LEAST_SHOUTED = 4  # letters; shorter words in capitals are mostly abbreviations
_MOST_SHOUTED = 2
RULES = "rules"
"""Name of the judge by rules."""


def denies(case: RewardCase) -> float:
    """1 if the response says that something is wrong, in other words than the claim's own, else 0."""
    own = re.sub(re.escape(case.claim.strip()) or r"\Z", " ", case.response, flags=re.IGNORECASE)
    return float(bool(_DENIAL.search(own)))


def grounded(case: RewardCase) -> float:
    """The share of its words of at least four letters that the claim or the evidence has too."""
    said = _LONG.findall(case.response.lower())
    known = set(_LONG.findall(" ".join((case.claim, *case.evidence)).lower()))
    return sum(word in known for word in said) / len(said) if said else 0.0


def civil(case: RewardCase) -> float:
    """0 if it insults, or shouts more than two words, else 1."""
    shouted = [word for word in _LONG.findall(case.response) if word.isupper() and len(word) >= _LEAST_SHOUTED]
    return float(not _RUDE.search(case.response) and len(shouted) <= _MOST_SHOUTED)


def repetition(case: RewardCase) -> float:
    """The share of its triples of words that occurred in it before."""
    triples = _triples(case.response)
    return 1 - len(set(triples)) / len(triples) if triples else 0.0


def echo(case: RewardCase) -> float:
    """The share of its triples of words that occur in the claim: 1 for a copy of the claim."""
    triples, known = _triples(case.response), set(_triples(case.claim))
    return sum(triple in known for triple in triples) / len(triples) if triples else 0.0


def _triples(text: str) -> list[tuple[str, ...]]:
    words = re.findall(r"[^\W_]+", text.lower())
    return list(zip(words, words[1:], words[2:], strict=False)) or [tuple(words)] * bool(words)


SIGNS: Mapping[str, Callable[[RewardCase], float]] = {
    "denies": denies,
    "grounded": grounded,
    "echo": echo,
    "civil": civil,
    "words": lambda case: float(len(case.response.split())),
    "repetition": repetition,
}
"""The signs that are computed for every response."""
PROBES: Mapping[str, tuple[Callable[[str], str], tuple[str, ...]]] = {
    "the claim again": (lambda claim: claim, ("refutation", "factuality", "reward")),
    "the claim denied": (lambda claim: f"It is not true that {claim[:1].lower()}{claim[1:]}", ("reward",)),
    "praise": (lambda _: "Thank you so much for sharing this, what a wonderful post!", ("refutation", "reward")),
    "empty politeness": (
        lambda _: "I understand your concern, and I appreciate that you took the time to write. Have a nice day.",
        ("refutation", "reward"),
    ),
}
"""Empty responses made from a claim, and the measures on which systems' responses must be better."""


CLAIM_RELEVANCE, EVIDENCE_RELEVANCE = "claim-relevance", "evidence-relevance"
"""Criteria of the rubric evidence-5 that the retriever's encoder judges."""
_REWARD = "reward"

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SystemDifference:
    """The mean difference of two systems on a measure, by claim; p-values are adjusted by Holm over all pairs."""

    measure: str
    first: str
    second: str
    mean: ClusteredMean
    adjusted: float


@dataclass(frozen=True)
class JudgedSystems:
    """The outcome of judging.

    Attributes:
        responses: table with `response`, `sample`, `system` and a column for each measure.
        measures: names of these columns: first those of trained judges, then the untrained ones.
        groups: number of each sample's group, by sample.
        held: by probe and measure, how much better systems' responses are, by claim.
        weak: criteria whose reward models rate refutations too low, by their own cards.
    """

    responses: pl.DataFrame
    measures: Sequence[str]
    groups: Mapping[str, int]
    held: Mapping[tuple[str, str], ClusteredMean] = field(default_factory=dict)
    weak: Sequence[str] = ()

    @property
    def doubts(self) -> list[str]:
        """Reasons why the ratings may not rank systems; empty if there are none."""
        fooled = [f"fooled by {', '.join(self.fooled_by)}"] * bool(self.fooled_by)
        return [*fooled, *(f"the reward for {name} is weak by its own card" for name in self.weak)]

    @property
    def fooled_by(self) -> list[str]:
        """The probes that are not rated lower than systems' responses."""
        return list(dict.fromkeys(probe for (probe, _), gain in self.held.items() if not gain.low > 0))

    @property
    def systems(self) -> list[str]:
        """The systems sorted by reward, the best first."""
        by = self.responses.group_by("system").agg(pl.col(_REWARD).mean())
        return by.sort([_REWARD, "system"], descending=[True, False])["system"].to_list()

    def mean(self, system: str, measure: str) -> ClusteredMean:
        """A system's mean with its interval."""
        rows = self.responses.filter(pl.col("system") == system)
        return clustered_mean(_numbers(rows, measure), self._grouped(rows))

    def differences(self, measure: str) -> list[SystemDifference]:
        """Every two systems, paired by claim."""
        found = []
        for first, second in combinations(self.systems, 2):
            one, two = (
                self.responses.filter(pl.col("system") == name).select("sample", measure) for name in (first, second)
            )
            both = one.join(two, on="sample", suffix="_other").sort("sample")
            if both.height:
                values = _numbers(both, measure) - _numbers(both, f"{measure}_other")
                found.append((first, second, clustered_mean(values, self._grouped(both))))
        p_values = np.array([1.0 if np.isnan(mean.p_value) else mean.p_value for _, _, mean in found])
        adjusted = holm(p_values).tolist() if found else []
        return [SystemDifference(measure, *item, p) for item, p in zip(found, adjusted, strict=True)]

    def _grouped(self, rows: pl.DataFrame) -> NDArray[np.int64]:
        return np.array([self.groups[name] for name in rows["sample"]], dtype=np.int64)


def _numbers(rows: pl.DataFrame, column: str) -> FloatArray:
    return rows[column].cast(pl.Float64).to_numpy()


def judge_by_rewards(
    study: RatedStudy,
    reward: CombinedReward,
    evidence: Mapping[str, Sequence[str]],
    groups: Mapping[str, str],
    *,
    learnt: Sequence[str] = (),
    cards: Sequence[RewardCard] = (),
) -> JudgedSystems:
    """Judge every response of a study.

    Args:
        study: closed, so that systems are known.
        reward: the models, with relevance.
        evidence: texts by sample, the best first; the same for all systems.
        groups: samples of one group are not independent.
        learnt: responses that a model was trained on, to find copies of.
        cards: of the models.

    Raises:
        DataError: if no response to a known sample is there.
    """
    claims = {item.id: item.text for item in read_samples(study.files)}
    texts = {item.id: item.text for item in read_responses(study.files)}
    key = study.own_key.filter(pl.col("response").is_in(list(texts)), pl.col("sample").is_in(list(groups)))
    key = key.sort("sample", "system")
    if not key.height:
        raise DataError("no response to judge", where=str(study.files.edition), code="no-responses")
    cases = [
        RewardCase(claims[sample], tuple(evidence.get(sample, ())), texts[response])
        for response, sample in key.select("response", "sample").iter_rows()
    ]
    if any(not case.claim.strip() for case in cases):
        what = "the text of a claim is missing, so responses to it cannot be judged"
        raise DataError(what, where=str(study.files.edition), code="no-texts")
    measured = _measured(reward, cases)
    copies = near_duplicates(
        {name: texts[name] for name in key["response"]}, {str(number): text for number, text in enumerate(learnt)}
    )
    columns: dict[str, Sequence[float] | FloatArray] = {
        **measured,
        **{name: [sign(case) for case in cases] for name, sign in SIGNS.items()},
        "copied": [float(name in copies) for name in key["response"]],
    }
    table = key.select("response", "sample", "system").with_columns(
        pl.Series(name, np.asarray(values, dtype=np.float64)) for name, values in columns.items()
    )
    numbers = {name: number for number, name in enumerate(dict.fromkeys(groups.values()))}
    of_sample = {sample: numbers[group] for sample, group in groups.items()}
    held = _held_against_probes(table, reward, dict(zip(key["sample"], cases, strict=True)), of_sample)
    weak = [card.criterion for card in cards if card.probes is not None and card.probes.is_weak]
    return JudgedSystems(table, list(columns), of_sample, held, weak)


def _held_against_probes(
    table: pl.DataFrame, reward: CombinedReward, responded: Mapping[str, RewardCase], of_sample: Mapping[str, int]
) -> dict[tuple[str, str], ClusteredMean]:
    """Difference between the systems' mean on a claim and each probe, by probe and measure."""
    means = table.group_by("sample").agg(pl.col(pl.Float64).mean()).sort("sample")
    members = np.array([of_sample[sample] for sample in means["sample"]], dtype=np.int64)
    held = {}
    for probe, (make, measures) in PROBES.items():
        probed = _measured(
            reward, [replace(responded[name], response=make(responded[name].claim)) for name in means["sample"]]
        )
        for measure in (name for name in measures if name in probed):
            held[probe, measure] = clustered_mean(_numbers(means, measure) - probed[measure], members)
    return held


def _measured(reward: CombinedReward, cases: Sequence[RewardCase]) -> dict[str, FloatArray]:
    parts = reward.parts(cases)
    relevance = {CLAIM_RELEVANCE: parts.claim_relevance, EVIDENCE_RELEVANCE: parts.evidence_relevance}
    return {**parts.criteria, **relevance, _REWARD: parts.total}


def reward_ratings(judged: JudgedSystems, rubric: Rubric, judge: str) -> Iterator[Rating]:
    """The judgements as ratings by the rubric: a share from 0 to 1 becomes the nearest whole number of the scale.

    They are marked if the reward does not distinguish responses from probes.
    """
    mark = f"{NOT_VALIDATED}{'; '.join(judged.doubts)}" if judged.doubts else ""
    for criterion in rubric.criteria:
        if criterion.id not in judged.measures or criterion.unit != "response":
            continue
        low, high = criterion.limits
        rows = judged.responses.select("sample", "response", criterion.id)
        for sample, response, share in rows.iter_rows():
            value = float(round(low + (high - low) * min(max(share, 0.0), 1.0)))
            yield Rating(
                sample=sample,
                response=response,
                judge=judge,
                kind=JudgeKind.CLASSIFIER,
                criterion=criterion.id,
                value=value,
                comment=mark,
            )


def judge_name(cards: Sequence[str]) -> str:
    """Name of the judge made of these models, from the hashes of their weights."""
    return f"rewards-{sha256_text(' '.join(sorted(cards)))[:8]}"


@dataclass(frozen=True, slots=True)
class RuleJudge:
    """A judge by the mean of three signs, each from 0 to 1, that are low for responses that only exploit a reward.

    They are the share of different triples of words, the share of long words that occur in the claim or the evidence,
    and whether the last sentence is complete.
    """

    name: str = RULES

    def score(self, cases: Sequence[RewardCase]) -> FloatArray:
        """The mean of the three; 0 for an empty response."""
        ends = [case.response.rstrip()[-1:] in (".", "!", "?") for case in cases]
        said = [(1 - repetition(case) + grounded(case) + end) / 3 for case, end in zip(cases, ends, strict=True)]
        return np.where([bool(case.response.strip()) for case in cases], said, 0.0)


@dataclass(frozen=True, slots=True)
class WatchedReward:
    """The reward that a tuning follows, and the judge that watches it.

    Attributes:
        reward: equation 2.
        judge: independent judge that is not used in training.
        identity: identity of each model.
    """

    reward: RewardModel
    judge: RewardModel
    identity: Mapping[str, str]


def open_watched(folders: Sequence[Path], judge: str, alpha: float) -> WatchedReward:
    """Open reward models, one a criterion, and the judge: `rules`, or the folder of one that is not among them.

    Raises:
        UsageError: if no reward model is given, or the judge is a part of the reward.
    """
    if not folders and not alpha:
        raise UsageError("nothing is rewarded", fix="Name reward models: --rewards FOLDER,FOLDER", code="no-reward")
    identity = {card.criterion: card.sha256 for card in map(read_card, folders)}
    watching: RewardModel = RuleJudge()
    if judge != RULES:
        sha256 = read_card(Path(judge)).sha256
        if sha256 in identity.values():
            what, expected = "the judge is a part of the reward", "one that nothing is trained on"
            raise UsageError(what, where=f"--judge {judge}", expected=expected, code="trained-judge")
        watching, identity["judge"] = open_reward(Path(judge)), sha256
    if alpha:
        identity["relevance"] = "minilm"
    return WatchedReward(open_combined(folders, alpha=alpha), watching, identity)
