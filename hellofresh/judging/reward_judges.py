"""Reward models as judges: systems by refutation, factuality, politeness and relevance, as in RARG's tables 2 and 3.

Every system is judged with the same evidence for a claim, whatever it was given itself. Beside the judges that were
trained stand plain signs that nothing was trained on, the length of responses, and the share of responses that are
near-duplicates of responses that a model learnt from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hellofresh.core.errors import DataError
from hellofresh.core.files import sha256_text
from hellofresh.judging.rubric import Rubric
from hellofresh.judging.study import RatedStudy, read_responses, read_samples
from hellofresh.judging.table import JudgeKind, Rating, RatingPhase
from hellofresh.releases.draw.duplicates import near_duplicates
from hellofresh.rewards.base import RewardCase
from hellofresh.rewards.combined import CombinedReward
from hellofresh.rewards.signs import civil, denies, grounded, repetition
from hellofresh.stats.multiway import ClusteredMean, clustered_mean
from hellofresh.stats.rank_tests import holm

__all__ = [
    "CLAIM_RELEVANCE",
    "EVIDENCE_RELEVANCE",
    "JudgedSystems",
    "SystemDifference",
    "judge_by_rewards",
    "judge_name",
    "reward_ratings",
]

CLAIM_RELEVANCE, EVIDENCE_RELEVANCE = "claim-relevance", "evidence-relevance"
"""Criteria of the rubric evidence-5 that the retriever's encoder judges."""
_REWARD = "reward"

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SystemDifference:
    """Two systems on one measure, over the claims that both responded to.

    Attributes:
        measure: which.
        first, second: the systems.
        mean: of the first's number less the second's, by claim.
        adjusted: its p-value, adjusted by Holm over all pairs of systems.
    """

    measure: str
    first: str
    second: str
    mean: ClusteredMean
    adjusted: float


@dataclass(frozen=True)
class JudgedSystems:
    """What judging came to.

    Attributes:
        responses: table with `response`, `sample`, `system` and a column for each measure.
        measures: names of these columns: those of trained judges, then those of none.
        groups: number of each sample's group, by sample.
    """

    responses: pl.DataFrame
    measures: Sequence[str]
    groups: Mapping[str, int]

    @property
    def systems(self) -> list[str]:
        """In the order of their rewards, the best first."""
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
    learnt: Sequence[str] = (),
) -> JudgedSystems:
    """Judge every response of a study.

    Args:
        study: closed, so that systems are known.
        reward: the models, with relevance.
        evidence: texts by sample, the best first; the same for all systems.
        groups: samples of one group are not independent.
        learnt: responses that a model was trained on, to find copies of.

    Raises:
        DataError: if no response to a known sample is there.
    """
    claims = {item.id: item.text for item in read_samples(study.files)}
    texts = {item.id: item.text for item in read_responses(study.files)}
    key = study.key.filter(pl.col("same_as") == "", pl.col("response").is_in(list(texts))).sort("sample", "system")
    key = key.filter(pl.col("sample").is_in(list(groups)))
    if not key.height:
        raise DataError("no response to judge", where=str(study.files.edition), code="no-responses")
    cases = [
        RewardCase(claims[sample], tuple(evidence.get(sample, ())), texts[response])
        for response, sample in key.select("response", "sample").iter_rows()
    ]
    parts = reward.parts(cases)
    copies = near_duplicates(
        {name: texts[name] for name in key["response"]}, {str(number): text for number, text in enumerate(learnt)}
    )
    columns: dict[str, Sequence[float] | FloatArray] = {
        **parts.criteria,
        CLAIM_RELEVANCE: parts.claim_relevance,
        EVIDENCE_RELEVANCE: parts.evidence_relevance,
        _REWARD: parts.total,
        "denies": [denies(case) for case in cases],
        "grounded": [grounded(case) for case in cases],
        "civil": [civil(case) for case in cases],
        "words": [float(len(case.response.split())) for case in cases],
        "repetition": [repetition(case) for case in cases],
        "copied": [float(name in copies) for name in key["response"]],
    }
    numbers = {name: number for number, name in enumerate(dict.fromkeys(groups.values()))}
    table = key.select("response", "sample", "system").with_columns(
        pl.Series(name, np.asarray(values, dtype=np.float64)) for name, values in columns.items()
    )
    return JudgedSystems(table, list(columns), {sample: numbers[group] for sample, group in groups.items()})


def reward_ratings(judged: JudgedSystems, rubric: Rubric, judge: str) -> Iterator[Rating]:
    """The judgements as ratings by the rubric: a share from 0 to 1 becomes the nearest whole number of the scale."""
    for criterion in rubric.criteria:
        if criterion.id not in judged.measures or criterion.unit != "response":
            continue
        low, high = criterion.limits
        rows = judged.responses.select("sample", "response", criterion.id)
        for sample, response, share in rows.iter_rows():
            value = float(round(low + (high - low) * min(max(share, 0.0), 1.0)))
            yield Rating(
                sample, response, "", judge, JudgeKind.CLASSIFIER, criterion.id, value, 1.0, RatingPhase.MAIN, "", ""
            )


def judge_name(cards: Sequence[str]) -> str:
    """Of the judge that these models are together, by the hashes of their weights."""
    return f"rewards-{sha256_text(' '.join(sorted(cards)))[:8]}"
