"""Croissant metadata (JSON-LD, mlcommons.org/croissant/1.0) for programs: tables, columns and hashes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from hellofresh.releases.publish._card import title_of
from hellofresh.releases.publish._parts import CORPUS_COLUMNS, Column, PublishedFile, PublishedPart, SearchedCorpus
from hellofresh.tasks import Task

_CR = (
    "citeAs column equivalentProperty extract field fileProperty fileObject fileSet format includes "
    "isLiveDataset jsonPath key md5 parentField path recordSet references regex repeated replace samplingRate "
    "separator source subField transform"
)
"""Terms of Croissant, as its specification lists them."""
_CONTEXT: Mapping[str, object] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    **{name: f"cr:{name}" for name in _CR.split()},
}
_TYPES = {"string": "sc:Text", "strings": "sc:Text", "int64": "sc:Integer", "date32": "sc:Date"}


def croissant(
    parts: Sequence[PublishedPart], corpora: Sequence[SearchedCorpus], tables: Sequence[PublishedFile]
) -> object:
    """The metadata: a record set for each configuration and split, and one for the classes of each task."""
    tasks = {part.task.name: part.task for part in parts if part.task.classes and part.has_labels}
    opened = [part.opened for part in parts]
    version = f"{max(opened).year}.{max(opened).month}.{sum(part.manifest.version for part in parts)}"
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": title_of(parts),
        "description": "Fresh, real decisions of people, to be predicted by language models; quarter by quarter.",
        "datePublished": f"{max(opened):%Y-%m-%d}",
        "version": version,
        "citeAs": f"{title_of(parts)}, version {version}",
        "license": "https://www.apache.org/licenses/LICENSE-2.0",
        "usageInfo": "README.md",
        "inLanguage": "en",
        "isLiveDataset": True,
        "distribution": [_file(table) for table in tables],
        "recordSet": [
            *(_classes(task) for task in tasks.values()),
            *(_records(_name(part), part.task.question, part.table, part.columns, part.task.name) for part in parts),
            *(_records(one.config, f"Documents of {one.name}.", one.table, CORPUS_COLUMNS) for one in corpora),
        ],
    }


def _name(part: PublishedPart) -> str:
    return f"{part.config}-{part.split}{'-bundled-sample' if part.bundled else ''}"


def _file(entry: PublishedFile) -> object:
    return {
        "@type": "cr:FileObject",
        "@id": entry.path,
        "name": entry.path,
        "contentUrl": entry.path,
        "contentSize": f"{entry.size} B",
        "encodingFormat": "application/x-parquet",
        "sha256": entry.sha256,
    }


def _classes(task: Task) -> object:
    """The classes of a task, which labels refer to."""
    name = _classes_of(task.name)
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": f"What the labels of {task.name} mean.",
        "dataType": "sc:Enumeration",
        "key": {"@id": f"{name}/label"},
        "field": [
            {"@type": "cr:Field", "@id": f"{name}/label", "name": "label", "dataType": "sc:Integer"},
            {"@type": "cr:Field", "@id": f"{name}/name", "name": "name", "dataType": "sc:Text"},
        ],
        "data": [{f"{name}/label": number, f"{name}/name": title} for number, title in enumerate(task.classes)],
    }


def _classes_of(task: str) -> str:
    return f"{task}-classes"


def _records(name: str, about: str, table: PurePosixPath, columns: Sequence[Column], task: str = "") -> object:
    fields = [_field(name, table, column, task) for column in columns]
    return {"@type": "cr:RecordSet", "@id": name, "name": name, "description": about, "field": fields}


def _field(record_set: str, table: PurePosixPath, column: Column, task: str) -> object:
    place = f"{record_set}/{column.name}"
    common: dict[str, object] = {"@type": "cr:Field", "@id": place, "name": column.name}
    if column.classes:
        common["references"] = {"field": {"@id": f"{_classes_of(task)}/label"}}
    if column.many or column.kind == "strings":
        common["repeated"] = True
    if column.parts:
        return {**common, "subField": list(_parts_of(place, table, column))}
    return {**common, "dataType": _TYPES[column.kind], "source": _source(table, column.name)}


def _parts_of(place: str, table: PurePosixPath, column: Column) -> Iterator[object]:
    for inner in column.parts:
        source = {**_source(table, column.name), "transform": {"jsonPath": inner.name}}
        yield {
            "@type": "cr:Field",
            "@id": f"{place}/{inner.name}",
            "name": inner.name,
            "dataType": _TYPES[inner.kind],
            "source": source,
        }


def _source(table: PurePosixPath, column: str) -> dict[str, object]:
    return {"fileObject": {"@id": table.as_posix()}, "extract": {"column": column}}
