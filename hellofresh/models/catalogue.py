"""The models that can be named on the command line. A new one is a file in this folder and a line in `_MODELS`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hellofresh.errors import UnknownNameError
from hellofresh.models._base import Model
from hellofresh.models.baselines import AlwaysYes, Coin, TrainingSample, WordRegression

__all__ = ["ModelContext", "model_names", "open_model"]


@dataclass(frozen=True, slots=True)
class ModelContext:
    """What a model may need to get ready.

    Attributes:
        task: name of the task that it will be asked about.
        training: gives the labelled samples of all earlier quarters, for models that learn from them.
    """

    task: str
    training: Callable[[], Sequence[TrainingSample]]


def _embedded(_: ModelContext) -> Model:
    from hellofresh.models.embedded import EmbeddedModel  # the engine is an extra and takes seconds to import

    return EmbeddedModel()


_MODELS: dict[str, Callable[[ModelContext], Model]] = {
    "smollm2-135m": _embedded,
    "always-yes": lambda _: AlwaysYes(),
    "coin": lambda _: Coin(),
    "tfidf-logreg": lambda context: WordRegression.train(context.task, context.training()),
}


def model_names() -> list[str]:
    """All names, in the order of the catalogue."""
    return list(_MODELS)


def open_model(name: str, context: ModelContext) -> Model:
    """Get a model ready to be asked.

    Raises:
        UnknownNameError: if no model has the name.
        UsageError: if what it needs is not there (an extra, weights, labels to learn from).
    """
    try:
        opener = _MODELS[name]
    except KeyError:
        raise UnknownNameError("model", name, _MODELS) from None
    return opener(context)
