"""Predictions in Python and in the submission format."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from pathlib import Path

import polars as pl

from hellofresh.api._loading import LoadedEdition
from hellofresh.core.errors import UsageError
from hellofresh.core.files import write_jsonl
from hellofresh.submissions.format import ANSWERS, Fault, Prediction, canonical_row, label_of, read_predictions
from hellofresh.tasks.outputs import Choice, Output, Ranking, Response, Status

Predictions = Mapping[str, int | None] | Mapping[str, Output] | pl.DataFrame | str | Path
"""Labels or outputs by sample id; a frame with the columns `id` and `label`; or a submission file."""


def save(edition: LoadedEdition, predictions: Predictions, path: str | Path) -> Path:
    """Write predictions as a submission file: one line per sample, null where there is no answer.

    `hellofresh submission check FILE --edition E` checks the file; submissions/README.md says where to put it.

    Args:
        edition: on what, from `load`.
        predictions: labels or outputs by sample id, a frame with the columns `id` and `label`, or another file.
        path: the file, such as `predictions.jsonl`.

    Raises:
        UsageError: if an id is unknown, or an answer is invalid for the task.
    """
    outputs, target = outputs_of(edition, predictions), Path(path)
    write_jsonl(target, [_row(edition, sample.id, outputs.get(sample.id)) for sample in edition])
    return target


def _row(edition: LoadedEdition, key: str, output: Output | None) -> dict[str, object]:
    row: dict[str, object] = {"id": key, ANSWERS[edition.task.output]: None}
    if output is None or output.status is not Status.ANSWERED:
        return row
    more: dict[str, object] = {"rationale": output.rationale or None, "sources": list(output.sources)}
    if isinstance(output, Choice):
        more |= {"label": output.label, "probabilities": list(output.probabilities), "certainty": output.certainty}
    elif isinstance(output, Response):
        more["text"] = output.text
    elif isinstance(output, Ranking):
        more["documents"] = list(output.documents)
    return canonical_row(Prediction.model_validate(row | more))


def outputs_of(edition: LoadedEdition, predictions: Predictions) -> dict[str, Output]:
    """The predictions by sample, checked against the edition.

    Raises:
        UsageError: if there are none, an id is unknown, or the task does not take an answer.
    """
    outputs = _given(edition, predictions)
    if not outputs:
        raise UsageError("no predictions", expected="an answer for each sample", code="no-predictions")
    if unknown := sorted(outputs.keys() - {sample.id for sample in edition}):
        raise UsageError(
            f"{len(unknown)} ids are unknown, such as {unknown[0][:80]!r}",
            where=f"{edition.task.name} {edition.edition}",
            expected="ids of this edition's samples",
            code="unknown-id",
        )
    for key, output in outputs.items():
        _check(edition, key, output)
    return outputs


def _given(edition: LoadedEdition, predictions: Predictions) -> dict[str, Output]:
    if isinstance(predictions, str | Path):
        return _read(Path(predictions), len(edition))
    if isinstance(predictions, pl.DataFrame):
        if predictions["id"].is_duplicated().any():
            raise UsageError(
                f"{predictions['id'].n_unique()} ids on {predictions.height} rows",
                expected="one row per sample",
                fix="Choose a prompt first: run.predictions.filter(prompt=...)",
                code="duplicate-id",
            )
        predictions = dict(predictions.select("id", "label").iter_rows())
    return {key: _output(edition, key, said) for key, said in predictions.items()}


def _output(edition: LoadedEdition, key: str, said: object) -> Output:
    """An answer as given, or the choice of a class; refused is what a file of predictions may not hold either."""
    if isinstance(said, Output):
        return said
    classes = edition.task.classes
    label = label_of(said, classes)
    whole = isinstance(label, Integral) and not isinstance(label, bool)
    if label is not None and classes and (not whole or label not in range(len(classes))):
        expected = ", ".join(f"{k} ({name})" for k, name in enumerate(classes)) + ", or None"
        raise UsageError(f"label {said!r}", where=key, expected=expected, code="bad-label")
    return Choice(status=Status.NONE) if label is None else Choice(label=int(str(label)))


def _read(path: Path, samples: int) -> dict[str, Output]:
    faults: list[Fault] = []
    found = read_predictions(path, samples * 20 + 1, faults)
    if found is None or faults:
        raise UsageError(faults[0].what, where=faults[0].where, fix=faults[0].fix, code=faults[0].code)
    return {line.prediction.id: line.prediction.output("") for line in found.lines}


def _check(edition: LoadedEdition, key: str, output: Output) -> None:
    classes = edition.task.classes
    if output.status is Status.ANSWERED and not isinstance(output, edition.task.output):
        expected = f"hf.{edition.task.output.__name__}"
        raise UsageError(f"a {type(output).__name__}", where=key, expected=expected, code="bad-answer")
    if isinstance(output, Choice) and output.label is not None and output.label not in range(len(classes)):
        expected = ", ".join(f"{k} ({name})" for k, name in enumerate(classes)) + ", or None"
        raise UsageError(f"label {output.label!r}", where=key, expected=expected, code="bad-label")
