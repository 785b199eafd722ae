"""Metadata of a publication: the dataset card for people, `eval.yaml` for the hub, and Croissant for programs.

Croissant is JSON-LD with tables, columns and hashes, see mlcommons.org/croissant/1.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath

import polars as pl

from hellofresh.core.editions import benchmark_task
from hellofresh.core.errors import ReleaseError
from hellofresh.core.files import as_model, parse_toml, read_jsonl
from hellofresh.core.folders import ListedFile
from hellofresh.core.strict import Strict
from hellofresh.releases.life.manifest import calendar_of
from hellofresh.releases.publish._parts import (
    CORPUS_COLUMNS,
    Columns,
    Kind,
    PublishedPart,
    SearchedCorpus,
    answer_columns,
    columns_of,
    licences_in,
)
from hellofresh.tasks import DataStatement, Task
from hellofresh.tasks.outputs import Output, Ranking, Response
from hellofresh.tasks.samples import MAIN, PROSPECTIVE

_SAME_NAME = ["Apache-2.0", "CC-BY-3.0", "CC-BY-4.0", "CC-BY-NC-4.0", "CC-BY-SA-3.0", "CC-BY-SA-4.0", "CC0-1.0", "MIT"]
LICENCES = {
    **{name: name.lower() for name in _SAME_NAME},
    "ODC-By-1.0": "odc-by",
    "GFDL-1.2-or-later": "gfdl",
    **dict.fromkeys(("LicenseRef-X-content", "LicenseRef-research-only", "LicenseRef-not-stated"), "other"),
}
"""The hub's name for each licence."""
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_CATEGORIES: Mapping[type[Output], str] = {Response: "text-generation", Ranking: "text-retrieval"}


# Terms of Croissant in its specification.
_CR = (
    "citeAs column equivalentProperty extract field fileProperty fileObject fileSet format includes "
    "isLiveDataset jsonPath key md5 parentField path recordSet references regex repeated replace samplingRate "
    "separator source subField transform"
)
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
# Names of column types on the hub and in Croissant.
_NAMES: Mapping[Kind, tuple[str, str]] = {
    pl.String(): ("string", "sc:Text"),
    pl.Int64(): ("int64", "sc:Integer"),
    pl.Date(): ("date32", "sc:Date"),
}
_BALANCED = (
    "In each period of a quarter all labels are equally frequent, which they are not in the world: rates cannot be "
    "read off."
)


class CardTexts(Strict):
    """The paragraphs that all cards, or all of a kind, share."""

    bundled: str
    partly: str
    about: str
    prospective: str
    checking: str
    taking_down: str


@cache
def card_texts() -> CardTexts:
    """Read the shared paragraphs."""
    return as_model(CardTexts, _toml("card.toml"), where="card.toml")


@cache
def statements() -> dict[str, DataStatement]:
    """The statements on the data of this project's tasks, by task."""
    return as_model(dict[str, DataStatement], _toml("statements.toml"), where="statements.toml")


def _toml(name: str) -> object:
    return parse_toml(files("hellofresh.releases.publish").joinpath(name).read_bytes())


def title_of(parts: Sequence[PublishedPart]) -> str:
    """The title of the publication; the bundled sample has its own title."""
    if all(part.bundled for part in parts):
        return "HelloFresh (bundled sample)"
    return "HelloFresh (partly bundled sample)" if any(part.bundled for part in parts) else "HelloFresh"


def card(parts: Sequence[PublishedPart], corpora: Sequence[SearchedCorpus], rows: Mapping[PurePosixPath, int]) -> str:
    """The text of README.md; `corpora` are those that queries search, `rows` the number of samples by path."""
    texts = card_texts()
    tasks = {part.task.name: part.task for part in parts}
    said_of = {part.task.name: _statement(part) for part in parts}
    bundled = [part.bundled for part in parts]
    first = parts[0]
    about = texts.about.format(folder="path/to/this/folder", config=first.config, split=first.split)
    sections = [
        f"# {title_of(parts)}",
        *([texts.bundled] if all(bundled) else [texts.partly] if any(bundled) else []),
        about,
        "## What is in it",
        "\n".join(_on_task(task) for task in tasks.values()),
        _quarters(parts, rows),
        *([_corpora(corpora)] if corpora else []),
        *([texts.prospective] if any(part.prospective for part in parts) else []),
        "## Data statement",
        *(f"**{tasks[name].title}.** {said.source}\n\n{said.people}" for name, said in said_of.items()),
        "## Limits",
        _limits(parts, said_of),
        "## Licences",
        *(f"**{tasks[name].title}.** {said.licence}" for name, said in said_of.items()),
        "What the project adds (the choice of samples, labels, commitments, manifests and tables) is under Apache-2.0.",
        "## What was left out",
        "Every row of the sources is accounted for.",
        *(_funnel(part) for part in parts if not part.prospective),
        texts.checking,
        texts.taking_down,
    ]
    passed_on = [one for one in corpora if one.is_published]
    return _front_matter(parts, passed_on, rows, licences_of(parts, passed_on)) + "\n" + "\n\n".join(sections) + "\n"


def licences_of(parts: Iterable[PublishedPart], corpora: Iterable[SearchedCorpus] = ()) -> list[str]:
    """The licences of samples and corpora, sorted."""
    phrases = {str(row["license"]) for part in parts for row in read_jsonl(part.folder / "samples.jsonl")}
    named = {name for phrase in phrases for name in licences_in(phrase)}
    return sorted(named.union(*(one.licences for one in corpora)))


def _on_task(task: Task) -> str:
    labels = ", ".join(f"{label}: {name}" for label, name in reversed([*enumerate(task.classes)]))
    return f"- **{task.name}**: {task.question}{f' Label {labels}.' if labels else ''}"


def _corpora(corpora: Sequence[SearchedCorpus]) -> str:
    """The card's section on searched corpora, with the reason if one is not included."""
    rows = [(one.name, f"`{one.sha256[:12]}`", " AND ".join(one.licences) or "unknown", _where(one)) for one in corpora]
    return "Queries are searched in these corpora:\n\n" + _table(("corpus", "content", "licence", "documents"), rows)


def _where(one: SearchedCorpus) -> str:
    if one.is_published:
        return f"configuration `{one.config}`, split `documents`"
    if one.corpus is None:
        return "not included: the corpus is not on the machine that published this"
    return "not included: not every licence allows passing them on (hellofresh corpus import)"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value).replace("|", "\\|").replace("\n", " ")


def _quarters(parts: Sequence[PublishedPart], rows: Mapping[PurePosixPath, int]) -> str:
    head = ("configuration", "split", "samples", "state", "opened", "last prediction", "labels", "texts", "source")
    lines = []
    for part in parts:
        source = "bundled sample" if part.bundled else part.manifest.source
        place = (f"`{part.config}`", f"`{part.split}`", rows[part.place], str(part.phase))
        lines.append((*place, *_times(part), part.manifest.texts, source))
    return _table(head, lines)


def _times(part: PublishedPart) -> tuple[str, str, str]:
    """Times of opening, deadline and reveal."""
    if not part.edition.is_living:
        return f"{part.opened:%Y-%m-%d}", "at any time", "public"
    days = calendar_of(part.manifest, part.folder)
    labels = "public" if part.has_labels else "open" if part.prospective else f"on {days.reveals:%Y-%m-%d}"
    return f"{days.opens:%Y-%m-%d}", f"{days.deadline:%Y-%m-%d %H:%M} UTC", labels


def _limits(parts: Sequence[PublishedPart], said_of: Mapping[str, DataStatement]) -> str:
    balanced = any(part.edition.is_living for part in parts)
    own = [f"- {name}: {limit}" for name, said in said_of.items() for limit in said.limits]
    return "\n".join([*([f"- {_BALANCED}"] if balanced else []), *own])


def _statement(part: PublishedPart) -> DataStatement:
    """The statement on a task's data, shared by its variants; without one, it is made from the manifest."""
    name, dataset = part.task.name.removesuffix("-binary").removesuffix("-six"), part.manifest.dataset
    if (said := part.task.statement or statements().get(name)) is not None:
        return said
    if dataset is None:
        what, fix = f"the task {name} has no statement on its data", "Give its Task a DataStatement (docs/own-task.md)."
        raise ReleaseError(what, where=str(part.folder), fix=fix, code="no-statement")
    return DataStatement(
        source=f"{dataset.name}, from {dataset.address}.",
        people="Nothing is known here of who wrote it.",
        licence=dataset.licence,
        limits=[f"Labels have been public since {dataset.published}: models may have been trained on them."],
    )


def _funnel(part: PublishedPart) -> str:
    funnel, selection = part.manifest.collection.funnel, part.manifest.selection
    taken = selection.samples if selection else 0
    rows: list[tuple[str, object]] = [(f"{funnel.unit} found", funnel.rows_in)]
    rows += [(f"left out: {drop.meaning}", drop.count) for drop in funnel.drops if drop.count]
    drawn = [("samples drawn, all labels in equal numbers", taken)] if part.edition.is_living else []
    rows += [("candidates", funnel.total_kept), *drawn]
    source = " (bundled sample)" if part.bundled else ""
    return f"### {part.task.name} {part.edition}{source}\n\n" + _table(("", funnel.unit), rows)


def _front_matter(
    parts: Sequence[PublishedPart],
    corpora: Sequence[SearchedCorpus],
    rows: Mapping[PurePosixPath, int],
    licences: Sequence[str],
) -> str:
    """The card's head, between its two lines of dashes."""
    from huggingface_hub import DatasetCardData  # a slow import (a third of a second) that only this needs

    total = sum(rows.values())
    names = sorted({part.config for part in parts}, key=lambda name: (name.count("prospective"), name))
    groups = {name: [part for part in parts if part.config == name] for name in names}
    tags = ["community-notes", "wikipedia", "fact-checking", "forecasting", "benchmark"]
    data = DatasetCardData(
        pretty_name=title_of(parts),
        license=sorted({"apache-2.0", *(LICENCES[name] for name in licences if name in LICENCES)}),
        language=["en"],
        task_categories=sorted({_CATEGORIES.get(part.task.output, "text-classification") for part in parts}),
        tags=[*tags, "bundled-sample"] if any(part.bundled for part in parts) else tags,
        size_categories=[next((name for limit, name in _SIZES if total < limit), "n>1M")],
        configs=[
            *(_config(name, [(part.split, part.table) for part in of_config]) for name, of_config in groups.items()),
            *(_config(one.config, [("documents", one.table)]) for one in corpora),
        ],
        dataset_info=[
            *(_info(name, of_config[0].task) for name, of_config in groups.items()),
            *({"config_name": one.config, "features": _features(CORPUS_COLUMNS)} for one in corpora),
        ],
    )
    return f"---\n{data.to_yaml()}\n---\n"


def benchmark(parts: Sequence[PublishedPart]) -> str:
    """The text of `eval.yaml`, by which the hub shows the data set as a benchmark with a task for each split.

    The hub accepts only frameworks on its own list; inspect-ai is on it and runs these tasks.

    Source of the fields: https://huggingface.co/docs/hub/eval-results.
    """
    from huggingface_hub.utils import yaml_dump  # type: ignore[attr-defined]  # not in its list of names

    title = title_of(parts)
    tasks = [
        {
            "id": benchmark_task(part.task.name, str(part.edition), PROSPECTIVE if part.prospective else MAIN),
            "config": part.config,
            "split": part.split,
        }
        for part in parts
    ]
    about = "A living benchmark: language models predict fresh, real decisions of people."
    said = {"name": title, "description": about, "evaluation_framework": "inspect-ai", "tasks": tasks}
    return str(yaml_dump(said, sort_keys=False, width=1000))


def _config(name: str, tables: Iterable[tuple[str, PurePosixPath]]) -> object:
    return {"config_name": name, "data_files": [{"split": split, "path": str(table)} for split, table in tables]}


def _info(name: str, task: Task) -> object:
    features = _features({**columns_of(task), **({} if task.classes else answer_columns(task))})
    if task.classes:
        names = {str(number): title for number, title in enumerate(task.classes)}
        features.append({"name": "label", "dtype": {"class_label": {"names": names}}})
    return {"config_name": name, "features": features}


def _features(columns: Columns) -> list[object]:
    return [_feature(name, kind) for name, kind in columns.items()]


def _feature(name: str, kind: Kind) -> object:
    inner = _inner(kind)
    if isinstance(inner, pl.Struct):
        return {"name": name, "struct" if inner is kind else "list": _features(dict(inner))}
    said = _NAMES[inner][0]
    return {"name": name, "dtype": said} if inner is kind else {"name": name, "sequence": said}


def _inner(kind: Kind) -> Kind:
    """The element type of a list, or the type itself."""
    return kind.inner if isinstance(kind, pl.List) else kind


def croissant(
    parts: Sequence[PublishedPart], corpora: Sequence[SearchedCorpus], tables: Sequence[ListedFile]
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
        "distribution": [_distributed(table) for table in tables],
        "recordSet": [
            *(_classes(task) for task in tasks.values()),
            *(_records(_record_set(part), part.task.question, part.table, part.columns, part.task) for part in parts),
            *(_records(one.config, f"Documents of {one.name}.", one.table, CORPUS_COLUMNS) for one in corpora),
        ],
    }


def _record_set(part: PublishedPart) -> str:
    return f"{part.config}-{part.split}{'-bundled-sample' if part.bundled else ''}"


def _distributed(entry: ListedFile) -> object:
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
    """The record set of a task's classes, which labels refer to."""
    name = f"{task.name}-classes"
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


def _records(name: str, about: str, table: PurePosixPath, columns: Columns, task: Task | None = None) -> object:
    fields = [
        _field(f"{name}/{column}", column, kind, _source(table, column), task) for column, kind in columns.items()
    ]
    return {"@type": "cr:RecordSet", "@id": name, "name": name, "description": about, "field": fields}


def _source(table: PurePosixPath, column: str) -> Mapping[str, object]:
    return {"fileObject": {"@id": table.as_posix()}, "extract": {"column": column}}


def _field(place: str, name: str, kind: Kind, source: Mapping[str, object], task: Task | None = None) -> object:
    said: dict[str, object] = {"@type": "cr:Field", "@id": place, "name": name}
    inner = _inner(kind)
    if name == "label" and task is not None:
        said["references"] = {"field": {"@id": f"{task.name}-classes/label"}}
    if inner is not kind:
        said["repeated"] = True
    if isinstance(inner, pl.Struct):
        parts = ((part, of, {**source, "transform": {"jsonPath": part}}) for part, of in inner)
        return {**said, "subField": [_field(f"{place}/{part}", part, of, where) for part, of, where in parts]}
    return {**said, "dataType": _NAMES[inner][1], "source": source}
