"""The models that can be named on the command line. A new one is a file in this folder and an entry in `CATALOGUE`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hellofresh.errors import UnknownNameError
from hellofresh.models._base import Model
from hellofresh.models.baselines import AlwaysYes, Coin, TrainingSample, WordRegression

__all__ = ["CATALOGUE", "CatalogueEntry", "ModelContext", "open_model"]


@dataclass(frozen=True, slots=True)
class ModelContext:
    """What a model may need to get ready.

    Attributes:
        task: name of the task that it will be asked about.
        training: gives the labelled samples of all earlier quarters, for models that learn from them.
    """

    task: str
    training: Callable[[], Sequence[TrainingSample]]


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A model that can be opened: a sentence about it, and how to open it."""

    about: str
    open: Callable[[ModelContext], Model]


def _embedded(*, held_to_choices: bool) -> Callable[[ModelContext], Model]:
    def opener(_: ModelContext) -> Model:
        from hellofresh.models.embedded import EmbeddedModel  # the engine is an extra and takes seconds to import

        return EmbeddedModel(held_to_choices=held_to_choices)

    return opener


CATALOGUE: Mapping[str, CatalogueEntry] = {
    "smollm2-135m": CatalogueEntry(
        "SmolLM2-135M-Instruct on this machine, held to the answers asked for: a smoke test at chance level.",
        _embedded(held_to_choices=True),
    ),
    "smollm2-135m-text": CatalogueEntry(
        "SmolLM2-135M-Instruct on this machine, answering in free text, of which little can be read as yes or no.",
        _embedded(held_to_choices=False),
    ),
    "always-yes": CatalogueEntry("Baseline: says yes to every sample.", lambda _: AlwaysYes()),
    "coin": CatalogueEntry("Baseline: throws a fair coin, seeded by the sample's id.", lambda _: Coin()),
    "tfidf-logreg": CatalogueEntry(
        "Baseline: TF-IDF and logistic regression, trained on the labels of earlier quarters.",
        lambda context: WordRegression.train(context.task, context.training()),
    ),
}


def open_model(name: str, context: ModelContext) -> Model:
    """Get a model ready to be asked.

    Raises:
        UnknownNameError: if no model has the name.
        UsageError: if what it needs is not there (an extra, weights, labels to learn from).
    """
    try:
        entry = CATALOGUE[name]
    except KeyError:
        raise UnknownNameError("model", name, CATALOGUE) from None
    return entry.open(context)
