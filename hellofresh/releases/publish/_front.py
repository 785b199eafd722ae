"""The YAML at the head of a dataset card: configurations, splits, columns, licences, size."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from hellofresh.releases.publish._corpora import CORPUS_COLUMNS, SearchedCorpus
from hellofresh.releases.publish._parts import PublishedPart
from hellofresh.releases.publish._tables import Column, answer_columns, columns_of
from hellofresh.releases.publish._texts import LICENCES
from hellofresh.tasks import Task
from hellofresh.tasks.outputs import Output, Ranking, Response

__all__ = ["front_matter", "title_of"]

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_CATEGORIES: Mapping[type[Output], str] = {Response: "text-generation", Ranking: "text-retrieval"}


def title_of(parts: Sequence[PublishedPart]) -> str:
    """The name of the publication; the bundled sample has one of its own."""
    if all(part.bundled for part in parts):
        return "HelloFresh (bundled sample)"
    return "HelloFresh (partly bundled sample)" if any(part.bundled for part in parts) else "HelloFresh"


def front_matter(
    parts: Sequence[PublishedPart],
    corpora: Sequence[SearchedCorpus],
    rows: Mapping[PurePosixPath, int],
    licences: Sequence[str],
) -> str:
    """The card's head, between its two lines of dashes."""
    total = sum(rows.values())
    tags = ["community-notes", "wikipedia", "fact-checking", "forecasting", "benchmark"]
    value = {
        "pretty_name": title_of(parts),
        "license": sorted({"apache-2.0", *(LICENCES[name][0] for name in licences if name in LICENCES)}),
        "language": ["en"],
        "task_categories": sorted({_CATEGORIES.get(part.task.output, "text-classification") for part in parts}),
        "tags": [*tags, "bundled-sample"] if any(part.bundled for part in parts) else tags,
        "size_categories": [next((name for limit, name in _SIZES if total < limit), "n>1M")],
        "configs": [
            *(_config(name, of_config) for name, of_config in _by_config(parts).items()),
            *({"config_name": one.config, "data_files": [_file("documents", one.table)]} for one in corpora),
        ],
        "dataset_info": [
            *(_info(name, _columns(of_config[0].task)) for name, of_config in _by_config(parts).items()),
            *(_info(one.config, CORPUS_COLUMNS) for one in corpora),
        ],
    }
    return "---\n" + "".join(f"{line}\n" for line in _yaml(value)) + "---\n"


def _by_config(parts: Sequence[PublishedPart]) -> Mapping[str, list[PublishedPart]]:
    names = sorted({part.config for part in parts}, key=lambda name: (name.count("prospective"), name))
    return {name: [part for part in parts if part.config == name] for name in names}


def _config(name: str, parts: Sequence[PublishedPart]) -> object:
    return {"config_name": name, "data_files": [_file(part.split, part.table) for part in parts]}


def _file(split: str, table: PurePosixPath) -> object:
    return {"split": split, "path": table.as_posix()}


def _columns(task: Task) -> Sequence[Column]:
    return (*columns_of(task), *answer_columns(task))


def _info(name: str, columns: Sequence[Column]) -> object:
    return {"config_name": name, "features": [_feature(column) for column in columns]}


def _feature(column: Column) -> object:
    if column.parts:
        return {"name": column.name, "list" if column.many else "struct": [_feature(part) for part in column.parts]}
    if column.classes:
        names = {str(number): name for number, name in enumerate(column.classes)}
        return {"name": column.name, "dtype": {"class_label": {"names": names}}}
    if column.kind == "strings":
        return {"name": column.name, "sequence": "string"}
    return {"name": column.name, "dtype": column.kind}


def _yaml(value: Mapping[str, object], depth: int = 0) -> Iterator[str]:
    """YAML of mappings, lists and texts; texts as JSON writes them, which YAML reads."""
    indent = "  " * depth
    for key, item in value.items():
        if isinstance(item, list):
            yield f"{indent}{key}:"
            for entry in item:
                if isinstance(entry, dict):
                    lines = list(_yaml(entry, depth + 1))
                    yield f"{indent}- {lines[0].lstrip()}"
                    yield from lines[1:]
                else:
                    yield f"{indent}- {json.dumps(entry)}"
        else:
            yield f"{indent}{key}: {json.dumps(item)}"
