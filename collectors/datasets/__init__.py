"""Frozen data sets of statements that others published: one file each, from their original files to rows.

Nothing of them is in the package. A file is fetched where a copy with a known hash is public, or read from a copy that
the user has; each module says where its authors publish it and under which licence. A data set of another package is
named by an entry point of the group `hellofresh.datasets`, or given to `register_dataset`.
"""

from __future__ import annotations

from importlib.metadata import entry_points

from collectors.datasets import (
    averitec,
    check_covid,
    covid_fact,
    faviq,
    fever,
    fever_v2,
    healthver,
    liar,
    liar_new,
    x_fact,
)
from collectors.datasets._rows import DataSet, OriginalFile, StatementRow
from collectors.datasets.reading import ReadDataSet, dataset_files, read_dataset
from hellofresh.core.errors import UnknownNameError, UsageError

__all__ = [
    "DATASETS",
    "DataSet",
    "OriginalFile",
    "ReadDataSet",
    "StatementRow",
    "dataset_files",
    "get_dataset",
    "read_dataset",
    "register_dataset",
]

_MODULES = (averitec, check_covid, covid_fact, faviq, fever, fever_v2, healthver, liar, liar_new, x_fact)
DATASETS: dict[str, DataSet] = {module.DATASET.name: module.DATASET for module in _MODULES}


def get_dataset(name: str) -> DataSet:
    """The data set of that name.

    Raises:
        UnknownNameError: if there is none.
    """
    try:
        return DATASETS[name]
    except KeyError:
        raise UnknownNameError("data set", name, DATASETS) from None


def register_dataset(dataset: DataSet) -> None:
    """Add a data set from outside; the same data set again changes nothing.

    Raises:
        UsageError: if another one has its name.
    """
    if DATASETS.setdefault(dataset.name, dataset) is not dataset:
        raise UsageError(f"there is a data set {dataset.name} already", expected="another name", code="dataset-exists")


for _point in entry_points(group="hellofresh.datasets"):
    register_dataset(_point.load())
