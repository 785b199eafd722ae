"""The models of a run: opening them, and their training samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hellofresh.core.editions import Edition
from hellofresh.core.errors import UnknownNameError, UsageError
from hellofresh.core.workspace import Workspace
from hellofresh.models import Model, ModelSpec, Sampling
from hellofresh.models.baselines import TrainingSample
from hellofresh.models.catalogue import ModelContext, open_model
from hellofresh.releases.life.load import Published, Release, load_labels
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.regimes import MAIN, Regime
from hellofresh.tasks.outputs import Ranking

_HIGHEST_TEMPERATURE = 2.0


def open_models(
    workspace: Workspace, evaluation: Evaluation, regime: Regime, release: Release, *, only_known: bool
) -> dict[str, Model]:
    """The model of each role; a baseline learns from earlier releases than this one.

    Raises:
        UsageError: if one is unknown, does not fit the regime or cannot give the requested repetitions.
    """
    context = ModelContext(
        evaluation.task.name,
        lambda: _training(workspace, release),
        only_known=only_known,
        workspace=workspace,
        hidden_tokens=evaluation.hidden_tokens,
    )
    for role in evaluation.roles:
        if role not in regime.roles:
            raise UnknownNameError(f"role of {regime.name}", role, regime.roles)
    models = {role: open_model(name, context) for role, name in {MAIN: evaluation.model, **evaluation.roles}.items()}
    _check_kind(models[MAIN].spec, regime)
    specs = {role: model.spec for role, model in models.items()}
    for spec in specs.values() if evaluation.hidden_tokens is not None else ():
        if "hidden_tokens" not in spec.parameters:
            raise UsageError(
                f"{spec.name} has no limit of hidden reasoning",
                fix="Leave out --hidden-tokens, which is for models of web services.",
                code="no-hidden-tokens",
            )
    check_repetitions(specs, evaluation.repeat, evaluation.temperature)
    return models


def _check_kind(spec: ModelSpec, regime: Regime) -> None:
    """Only retrievers rank documents; a baseline reads no prompt, so regimes do not apply to it."""
    if spec.kind == "baseline" and (regime.name != "zero-shot" or regime.parameters):
        what = f"the regime {regime.name!r}" if regime.name != "zero-shot" else "a setting"
        raise UsageError(
            f"{spec.name} reads no prompt, so {what} does not change its answers",
            expected="zero-shot without settings: a baseline runs once and is shown without a regime",
            code="baseline-regime",
        )
    if (regime.gives is Ranking) != (spec.kind == "retriever"):
        raise UsageError(
            f"{spec.name} cannot work in the regime {regime.name}",
            expected="a retriever, such as bm25" if regime.gives is Ranking else "a model that is not a retriever",
            code="other-kind",
        )


def check_repetitions(specs: Mapping[str, ModelSpec], repeat: int, temperature: float | None) -> None:
    """Check that repetitions can differ, and that the models accept the temperature (None if not chosen).

    Raises:
        UsageError: if the repetitions would be copies of each other, or no model accepts the temperature.
    """
    if repeat < 1:
        raise UsageError(f"{repeat} repetitions", expected="at least 1", code="bad-repeat")
    if temperature is not None and not 0 <= temperature <= _HIGHEST_TEMPERATURE:
        raise UsageError(f"a temperature of {temperature:g}", expected="0 to 2", code="bad-temperature")
    names = ", ".join(sorted({spec.name for spec in specs.values()}))
    kinds = {spec.sampling for spec in specs.values()}
    if kinds == {Sampling.NEVER} and temperature:
        raise UsageError(
            f"a temperature of {temperature:g} for {names}",
            expected="none: the same request always gets the same answer",
            fix="Leave out --temperature.",
            code="unsupported-temperature",
        )
    if kinds == {Sampling.NEVER} and repeat > 1:
        raise UsageError(
            f"{repeat} repetitions would be {repeat} copies: {names} always gives the same answer to a request",
            expected="1 repetition",
            fix="Leave out --repeat.",
            code="identical-repetitions",
        )
    if repeat > 1 and temperature is None and Sampling.OWN not in kinds:
        raise UsageError(
            f"{repeat} repetitions at temperature 0, where {names} gives its likeliest answer each time",
            expected="a temperature above 0, such as --temperature 0.7",
            fix="Add --temperature 0 if you want to know how much answers at temperature 0 differ.",
            code="no-temperature",
        )


def sampling_notes(specs: Mapping[str, ModelSpec], repeat: int, temperature: float | None) -> Iterator[str]:
    """A sentence on each model that ignores a chosen setting."""
    by_name = {spec.name: spec.sampling for spec in specs.values()}
    for name, sampling in sorted(by_name.items()):
        if sampling is Sampling.UNSEEDED and (repeat > 1 or temperature):
            yield f"{name} ignores seeds: another run would get other answers, and only this run's journal repeats them"
        if sampling is Sampling.OWN and temperature is not None:
            yield f"{name} ignores the temperature: it samples as its provider chooses"
        if sampling is Sampling.NEVER and temperature:
            yield f"{name} ignores the temperature: it always gives the same answer to a request"


def _training(workspace: Workspace, release: Release) -> list[TrainingSample]:
    """Labelled samples of all earlier revealed quarters with the same kind of source.

    Answers become public, so secret labels must not be learnt from. For a frozen data set, these are the samples of its
    other versions, without samples and groups of this version.
    """
    training: dict[tuple[Edition | None, str], TrainingSample] = {}
    edition, task, is_living = release.edition, release.task, release.edition.is_living
    of_task = [found for found, name in workspace.released() if name == task.name and found.is_living is is_living]
    others = [found for found in of_task if (found < edition if is_living else found != edition)]
    own = () if is_living else release.samples
    ids, groups = {sample.id for sample in own}, {sample.group for sample in own}
    for other in others:
        published = Published.open(workspace, other, task.name)
        if is_living and not (published.manifest.has_labels and published.manifest.bundled == release.bundled):
            continue
        labels = load_labels(workspace, other, task, published.manifest)
        for sample in published.release(workspace, task).with_texts():
            if sample.id not in ids and sample.group not in groups:
                # A sample may be in several versions of a data set, and counts once.
                version = other if is_living else None
                training[version, sample.id] = TrainingSample(sample, labels[sample.id].label)
    return list(training.values())
