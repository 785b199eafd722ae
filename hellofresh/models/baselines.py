"""Baselines: always the same class, a seeded coin, and rules learned from labels of earlier editions.

A baseline chooses a label and answers with the question's word for it, so that its answers are parsed like others.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

from hellofresh.core.errors import RunError, UsageError, missing_extra
from hellofresh.core.files import canonical_json, sha256_text
from hellofresh.models import Answer, Finish, ModelSpec, Request, Sampling
from hellofresh.tasks import get_task
from hellofresh.tasks.samples import Sample

if TYPE_CHECKING:
    from hellofresh.evidence.retrieval.encoders import MiniLm, Vectors

_NOT_PLAIN = re.compile(r"[^a-z0-9]+")


def _spec(name: str, about: str, sampling: Sampling = Sampling.NEVER, **facts: str | int) -> ModelSpec:
    parameters = {"version": 1, **facts}
    return ModelSpec(name, "baseline", about, parameters, knowledge_cutoff="none", sampling=sampling)


_ALWAYS_YES = _spec("always-yes", "Says yes to every sample.")
_COIN = _spec("coin", "Throws a fair coin, seeded by the sample's id.", seed="coin")


def _sample(request: Request) -> Sample:
    if request.sample is None:
        raise RunError("a baseline was asked without a sample", code="no-sample")
    return request.sample


def _say(request: Request, label: int) -> Answer:
    """The answer for a label: choices are in order from the highest label to 0."""
    words = request.choices or ("yes", "no")
    return Answer(words[len(words) - 1 - label], Finish.STOP, tokens_in=0, tokens_out=0)


def _draw(seed: object, request: Request) -> float:
    """A number from 0 to 1 that depends on a seed and the sample's id."""
    digest = hashlib.sha256(f"{seed}:{_sample(request).id}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


@dataclass(frozen=True, slots=True)
class _Rule:
    """Base of baselines: a spec, and no resources to release."""

    spec: ModelSpec

    async def close(self) -> None:
        """Do nothing: a baseline holds no resources."""


@dataclass(frozen=True, slots=True)
class AlwaysYes(_Rule):
    """Always answers yes; on a balanced split its F1 is 2/3."""

    spec: ModelSpec = field(default=_ALWAYS_YES)

    async def ask(self, request: Request) -> Answer:
        """Answer yes, or the last of several classes."""
        return _say(request, max(1, len(request.choices) - 1))


@dataclass(frozen=True, slots=True)
class Coin(_Rule):
    """Draws a class uniformly for every sample, reproducibly."""

    spec: ModelSpec = field(default=_COIN)

    async def ask(self, request: Request) -> Answer:
        """Answer by the first bits of a hash of seed and id."""
        classes = max(2, len(request.choices))
        return _say(request, min(classes - 1, int(_draw(self.spec.parameters["seed"], request) * classes)))


def always_names(classes: Sequence[str]) -> list[str]:
    """Names of the constant-class baselines, by label."""
    return [f"always-{_NOT_PLAIN.sub('-', item.lower())}" for item in classes]


@dataclass(frozen=True, slots=True)
class AlwaysClass(_Rule):
    """Always answers the same class."""

    label: int

    @classmethod
    def of(cls, task: str, name: str) -> AlwaysClass:
        """The baseline of a name such as `always-false`.

        Raises:
            UsageError: if the task does not have such a class.
        """
        classes = get_task(task).classes
        names = always_names(classes)
        if name not in names:
            expected = f"one of {', '.join(names)}"
            raise UsageError(f"{task} has no class for {name}", expected=expected, code="no-such-class")
        label = names.index(name)
        about = f"Says {classes[label]!r} to every sample."
        return cls(_spec(name, about, Sampling.SEEDED), label)

    async def ask(self, request: Request) -> Answer:
        return _say(request, self.label)


@dataclass(frozen=True, slots=True)
class Prior(_Rule):
    """Knows only the frequency of each class among labels of earlier editions.

    Attributes:
        spec: its specification, including the frequencies.
        shares: the share of each class.
        draws: whether to draw a class by its share; else it always answers the most frequent one.
    """

    shares: tuple[float, ...]
    draws: bool

    @classmethod
    def train(cls, task: str, training: Sequence[TrainingSample], *, draws: bool) -> Prior:
        """Count the labels.

        Raises:
            UsageError: if there are no labels.
        """
        name = "prior" if draws else "majority-class"
        if not training:
            raise _nothing_to_learn(name, task, "no earlier edition is revealed")
        counts = Counter(item.label for item in training)
        shares = tuple(counts[label] / len(training) for label in range(len(get_task(task).classes)))
        how = "Draws a class by its share" if draws else "Says the most frequent class"
        about = f"{how} among the labels of {_editions(training)}."
        counted = ", ".join(str(counts[n]) for n in range(len(shares)))
        spec = _spec(name, about, Sampling.SEEDED, counts=counted, seed=name)
        return cls(spec, shares, draws)

    async def ask(self, request: Request) -> Answer:
        if not self.draws:
            return _say(request, self.shares.index(max(self.shares)))
        drawn, label = _draw(self.spec.parameters["seed"], request), 0
        while label < len(self.shares) - 1 and drawn >= self.shares[label]:
            drawn, label = drawn - self.shares[label], label + 1
        return _say(request, label)


@dataclass(frozen=True, slots=True)
class TrainingSample:
    """A sample of an earlier quarter with its label."""

    sample: Sample
    label: int


def _editions(training: Sequence[TrainingSample]) -> str:
    return ", ".join(sorted({item.sample.edition for item in training}))


def _nothing_to_learn(name: str, task: str, why: str) -> UsageError:
    return UsageError(
        f"the baseline {name} has no training data: {why}",
        where=task,
        fix="It is left out until a quarter before this one is revealed in the workspace, or another part of the data "
        "set is imported.",
        code="no-training-labels",
    )


@dataclass(frozen=True, slots=True)
class WordRegression(_Rule):
    """Logistic regression on vectors of the text, trained on earlier quarters only: TF-IDF of words and word pairs."""

    _pipeline: Any = field(repr=False)
    name: ClassVar[str] = "tfidf-logreg"
    vectors: ClassVar[str] = "TF-IDF"

    @classmethod
    def _parts(cls) -> tuple[Any, float, dict[str, str]]:
        """What turns texts into vectors, the inverse strength of the regularisation, and facts of the identity."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        return TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True), 1.0, {}

    @classmethod
    def train(cls, task: str, training: Sequence[TrainingSample]) -> Self:
        """Fit on the samples of earlier quarters.

        Raises:
            UsageError: if a package is not installed, or the training samples lack a class.
        """
        try:
            import sklearn
            from sklearn.linear_model import LogisticRegression
            from sklearn.pipeline import make_pipeline
        except ImportError as error:
            raise missing_extra(f"the baseline {cls.name}", "scikit-learn", "baselines") from error
        if len({item.label for item in training}) < 2:
            raise _nothing_to_learn(cls.name, task, "no earlier edition with two classes is revealed")
        ordered = sorted(training, key=lambda item: item.sample.id)
        text = get_task(task).text
        vectors, inverse, own = cls._parts()
        pipeline = make_pipeline(vectors, LogisticRegression(C=inverse, max_iter=1000))
        try:
            pipeline.fit([text(item.sample) for item in ordered], [item.label for item in ordered])
        except ValueError as error:
            raise _nothing_to_learn(
                cls.name, task, f"no word is in two of the {len(ordered)} earlier samples"
            ) from error
        facts = [[item.sample.id, item.label, text(item.sample)] for item in ordered]
        about = f"{cls.vectors} and logistic regression, trained on the labels of {_editions(ordered)}."
        trained = {"scikit-learn": sklearn.__version__, "training": sha256_text(canonical_json(facts)), **own}
        return cls(_spec(cls.name, about, **trained, training_samples=len(ordered)), pipeline)

    async def ask(self, request: Request) -> Answer:
        """Answer the most likely label."""
        sample = _sample(request)
        return _say(request, int(self._pipeline.predict([get_task(sample.task).text(sample)])[0]))


class SentenceRegression(WordRegression):
    """The same on the vectors of MiniLM."""

    __slots__ = ()
    name = "minilm-logreg"
    vectors = "The sentence encoder MiniLM"

    @classmethod
    def _parts(cls) -> tuple[Any, float, dict[str, str]]:
        from sklearn.preprocessing import FunctionTransformer

        return FunctionTransformer(_minilm), 10.0, {"encoder": "minilm"}


def _minilm(texts: Sequence[str]) -> Vectors:
    import numpy as np  # not needed by commands that ask no baseline

    return np.stack([_minilm_vector(text) for text in texts])


@cache
def _encoder() -> MiniLm:
    from hellofresh.evidence.retrieval.encoders import MiniLm

    return MiniLm(tokens=256)


@lru_cache(maxsize=4096)  # a sample is asked about once, and learned from in every later quarter
def _minilm_vector(text: str) -> Vectors:
    vector: Vectors = _encoder().passages([text])[0]
    return vector
