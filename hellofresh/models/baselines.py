"""Rules that anybody should beat: always yes, a seeded coin, and words counted on earlier quarters' labels."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hellofresh.errors import RunError, UsageError
from hellofresh.files import canonical_json, sha256_text
from hellofresh.models.base import Answer, Finish, ModelSpec, Request, Sampling
from hellofresh.samples import Sample
from hellofresh.tasks import get_task

__all__ = ["AlwaysYes", "Coin", "TrainingSample", "WordRegression"]


_ALWAYS_YES = ModelSpec(
    name="always-yes",
    kind="baseline",
    about="Says yes to every sample.",
    parameters={"version": 1},
    knowledge_cutoff="none",
    sampling=Sampling.NEVER,
)
_COIN = ModelSpec(
    name="coin",
    kind="baseline",
    about="Throws a fair coin, seeded by the sample's id.",
    parameters={"version": 1, "seed": "coin"},
    knowledge_cutoff="none",
    sampling=Sampling.NEVER,
)


def _sample(request: Request) -> Sample:
    if request.sample is None:
        raise RunError("a baseline was asked without a sample", code="no-sample")
    return request.sample


def _say(label: int) -> Answer:
    return Answer("yes" if label else "no", Finish.STOP, tokens_in=0, tokens_out=0)


@dataclass(frozen=True, slots=True)
class AlwaysYes:
    """Says yes to everything; on a balanced split its F1 is 2/3."""

    spec: ModelSpec = field(default=_ALWAYS_YES)

    async def ask(self, request: Request) -> Answer:
        """Yes."""
        return _say(1)

    async def close(self) -> None:
        """Nothing to let go of."""


@dataclass(frozen=True, slots=True)
class Coin:
    """Throws a fair coin for every sample, the same way each time."""

    spec: ModelSpec = field(default=_COIN)

    async def ask(self, request: Request) -> Answer:
        """Heads or tails by the first bit of a hash of seed and id."""
        digest = hashlib.sha256(f"{self.spec.parameters['seed']}:{_sample(request).id}".encode()).digest()
        return _say(digest[0] >> 7)

    async def close(self) -> None:
        """Nothing to let go of."""


@dataclass(frozen=True, slots=True)
class TrainingSample:
    """A sample of an earlier quarter with its label."""

    sample: Sample
    label: int


def _nothing_to_learn(task: str, why: str) -> UsageError:
    return UsageError(
        f"the baseline tfidf-logreg has no training data: {why}",
        where=task,
        fix="It is left out until a quarter before this one is revealed in the workspace.",
        code="no-training-labels",
    )


@dataclass(frozen=True, slots=True)
class WordRegression:
    """TF-IDF of words and word pairs with logistic regression, trained on earlier quarters only."""

    spec: ModelSpec
    _pipeline: Any = field(repr=False)

    @classmethod
    def train(cls, task: str, training: Sequence[TrainingSample]) -> WordRegression:
        """Fit on the samples of earlier quarters.

        Raises:
            UsageError: if scikit-learn is not installed, or the training samples lack a class.
        """
        try:
            import sklearn
            from sklearn.feature_extraction.text import TfidfVectorizer
            from sklearn.linear_model import LogisticRegression
            from sklearn.pipeline import make_pipeline
        except ImportError as error:
            raise UsageError(
                "the baseline tfidf-logreg needs scikit-learn",
                fix="Install it with: python -m pip install 'hellofresh[baselines]'",
                code="missing-extra",
            ) from error
        if {item.label for item in training} != {0, 1}:
            raise _nothing_to_learn(task, "no earlier quarter is revealed")
        ordered = sorted(training, key=lambda item: item.sample.id)
        text = get_task(task).text
        pipeline = make_pipeline(
            TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True),
            LogisticRegression(C=1.0, max_iter=1000),
        )
        try:
            pipeline.fit([text(item.sample) for item in ordered], [item.label for item in ordered])
        except ValueError as error:
            raise _nothing_to_learn(task, f"no word is in two of the {len(ordered)} earlier samples") from error
        facts = [[item.sample.id, item.label, text(item.sample)] for item in ordered]
        quarters = sorted({item.sample.edition for item in ordered})
        spec = ModelSpec(
            name="tfidf-logreg",
            kind="baseline",
            about=f"TF-IDF and logistic regression, trained on the labels of {', '.join(quarters)}.",
            parameters={
                "version": 1,
                "scikit-learn": sklearn.__version__,
                "training": sha256_text(canonical_json(facts)),
                "training_samples": len(ordered),
            },
            knowledge_cutoff="none",
            sampling=Sampling.NEVER,
        )
        return cls(spec, pipeline)

    async def ask(self, request: Request) -> Answer:
        """The likelier label."""
        sample = _sample(request)
        return _say(int(self._pipeline.predict([get_task(sample.task).text(sample)])[0]))

    async def close(self) -> None:
        """Nothing to let go of."""
