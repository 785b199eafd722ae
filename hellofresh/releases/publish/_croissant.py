"""Croissant metadata (JSON-LD, mlcommons.org/croissant/1.0) for programs: tables, columns and hashes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from hellofresh.releases.publish._front import title_of
from hellofresh.releases.publish._parts import PublishedFile, PublishedPart
from hellofresh.releases.publish._tables import LABEL, Column, columns_of

__all__ = ["croissant"]

_CR = (
    "citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty", "fileObject", "fileSet", "format",
    "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex",
    "repeated", "replace", "samplingRate", "separator", "source", "subField", "transform",
)  # fmt: skip
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
    **{name: f"cr:{name}" for name in _CR},
}
_TYPES = {"string": "sc:Text", "strings": "sc:Text", "int64": "sc:Integer"}


def croissant(parts: Sequence[PublishedPart], tables: Mapping[PurePosixPath, PublishedFile]) -> object:
    """The metadata: a record set for each configuration and split.

    Args:
        parts: what is published.
        tables: path, size and SHA-256 of each part's table, by the part's place.
    """
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
        "distribution": [_file(part, tables[part.place]) for part in parts],
        "recordSet": [_records(part) for part in parts],
    }


def _name(part: PublishedPart) -> str:
    return f"{part.config}-{part.split}{'-bundled-sample' if part.bundled else ''}"


def _file(part: PublishedPart, entry: PublishedFile) -> object:
    return {
        "@type": "cr:FileObject",
        "@id": entry.path,
        "name": entry.path,
        "contentUrl": entry.path,
        "contentSize": f"{entry.size} B",
        "encodingFormat": "application/x-parquet",
        "sha256": entry.sha256,
    }


def _records(part: PublishedPart) -> object:
    name = _name(part)
    fields = [_field(name, part, column) for column in columns_of(part.task)]
    if part.has_labels:
        fields.append(_field(name, part, LABEL))
    return {"@type": "cr:RecordSet", "@id": name, "name": name, "description": part.task.question, "field": fields}


def _field(record_set: str, part: PublishedPart, column: Column) -> object:
    place = f"{record_set}/{column.name}"
    common: dict[str, object] = {"@type": "cr:Field", "@id": place, "name": column.name}
    if column.parts:
        return {**common, "subField": list(_parts_of(place, part, column))}
    if column.kind == "strings":
        common["repeated"] = True
    return {**common, "dataType": _TYPES[column.kind], "source": _source(part, column.name)}


def _parts_of(place: str, part: PublishedPart, column: Column) -> Iterator[object]:
    for inner in column.parts:
        source = {**_source(part, column.name), "transform": {"jsonPath": inner.name}}
        yield {
            "@type": "cr:Field", "@id": f"{place}/{inner.name}", "name": inner.name, "dataType": _TYPES[inner.kind],
            "source": source,
        }  # fmt: skip


def _source(part: PublishedPart, column: str) -> dict[str, object]:
    return {"fileObject": {"@id": part.table.as_posix()}, "extract": {"column": column}}
