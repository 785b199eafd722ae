"""The card and the Croissant file of a publication, made again from its tables and releases."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import polars

from verifier.content import TASKS
from verifier.manifest import PROSPECTIVE
from verifier.publication import BENCHMARK, BUNDLED, CROISSANT, Part, Publication
from verifier.reading import Row, canonical, few, first_of, read_table, strict_json, text_hash

_SAME_NAME = ("CC-BY-SA-4.0", "Apache-2.0", "MIT", "CC-BY-4.0", "CC-BY-SA-3.0", "CC-BY-NC-4.0", "CC-BY-3.0", "CC0-1.0")
_OTHER = ("LicenseRef-X-content", "LicenseRef-research-only", "LicenseRef-not-stated")
_LICENCES = {**{name: name.lower() for name in _SAME_NAME}, "ODC-By-1.0": "odc-by", **dict.fromkeys(_OTHER, "other")}
"""What the hub calls the licence that samples name."""
_TAGS = ["community-notes", "wikipedia", "fact-checking", "forecasting", "benchmark"]
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_COLUMNS = ("configuration", "split", "samples", "state", "opened", "last prediction", "labels", "texts", "source")
_KINDS = {"String": ("string", "sc:Text"), "Int64": ("int64", "sc:Integer"), "Date": ("date32", "sc:Date")}
"""What card and Croissant call the type of a column."""
_CONSTANT = "f4cde71c1b7aecd4b1a4f35648337087fafad13add3071a527b26bddd309055e"
"""SHA-256 of what every Croissant file says alike."""
_Columns = Mapping[str, polars.DataType]


def _title(made: Publication) -> str:
    bundled = [part.is_bundled for part in made.parts]
    how = " (bundled sample)" if all(bundled) else " (partly bundled sample)" if any(bundled) else ""
    return f"HelloFresh{how}"


def _tables(made: Publication) -> dict[str, _Columns]:
    """The columns of the documents of each corpus, by the path of their table."""
    return {path: read_table(made.root / path).schema for path in made.documents}


def card_faults(made: Publication) -> Iterator[str]:
    """What head and tables of the card say otherwise than the releases."""
    _, head, text = made.card.split("---\n", 2)
    stated: dict[str, list[str]] = {}
    for line in head.replace("'", "").replace('"', "").splitlines():
        name = line.partition(":")[0] if line[:1] not in {" ", "-"} else next(reversed(stated), "")
        stated.setdefault(name, []).append(line)
    expected = {name: _yaml({name: value}) for name, value in _head(made, stated).items()}
    other = (name for name in expected.keys() | stated.keys() if expected.get(name) != stated.get(name))
    yield from few(other, "in the head of the card is not what tables and releases say")
    if not text.lstrip().startswith(f"# {_title(made)}\n"):
        yield "the card has another title"
    lines, wanted = [line for line in text.splitlines() if line.startswith("|")], list(_lines(made))
    pairs = zip(lines, wanted, strict=False)
    differ = [
        (there, here) for there, here in pairs if there != here and not (here[-2:] == "| " and there.startswith(here))
    ]
    yield from first_of([f"the card says {there[:80]!r}, and not {here[:80]!r}" for there, here in differ])
    if len(lines) != len(wanted):
        yield f"the card has {len(lines)} lines of tables, and the releases give {len(wanted)}"


def _head(made: Publication, stated: Mapping[str, Sequence[str]]) -> Row:
    """The card's head as it must be; what corpora are under stands in the card alone."""
    by_config: dict[str, list[Part]] = {}
    for part in sorted(made.parts, key=lambda part: (part.config.count(PROSPECTIVE), part.config)):
        by_config.setdefault(part.config, []).append(part)
    phrases = {text for part in made.parts for text in part.table["license"].unique().to_list()}
    named = {one.strip() for text in phrases for one in re.split(r";| AND ", text)}
    licences = {"apache-2.0", *(_LICENCES[name] for name in named & _LICENCES.keys())}
    licences |= {line.removeprefix("- ") for line in stated.get("license", ())[1:]} if made.documents else set()
    total, kinds = sum(part.table.height for part in made.parts), set()
    for part in made.parts:
        task = TASKS.get(part.manifest["task"])
        rated = not part.classes if task is None else task.limits != (0.0, 1.0)
        ranked = "relevance" in part.table.columns
        kinds.add(f"text-{'retrieval' if ranked else 'generation' if rated else 'classification'}")
    configs, infos = [], []
    for name, parts in by_config.items():
        files = [{"split": part.split, "path": part.path} for part in parts]
        configs.append({"config_name": name, "data_files": files})
        infos.append({"config_name": name, "features": _features(parts[0])})
    for path, columns in _tables(made).items():
        name = path.split("/")[1]
        configs.append({"config_name": name, "data_files": [{"split": "documents", "path": path}]})
        infos.append({"config_name": name, "features": [_feature(*column) for column in columns.items()]})
    return {
        "language": ["en"],
        "license": sorted(licences),
        "size_categories": [next((name for most, name in _SIZES if total < most), "n>1M")],
        "task_categories": sorted(kinds),
        "pretty_name": _title(made),
        "tags": _TAGS + [BUNDLED] * any(part.is_bundled for part in made.parts),
        "configs": configs,
        "dataset_info": infos,
    }


def _lines(made: Publication) -> Iterator[str]:
    """The lines of the card's tables as they must be, or as they must begin; open or closed depends on the day."""
    table: list[tuple[str, ...]] = [_COLUMNS, ("---",) * len(_COLUMNS)]
    for part in made.parts:
        said, dataset, days = part.manifest, part.manifest["dataset"], part.manifest["calendar"] or {}
        state = "revealed" if said.has_labels else made.states.get((part.config, part.split), "")
        opened = (dataset["published"] if dataset else days.get("opens", ""))[:10]
        last = days.get("deadline", "")
        deadline = "at any time" if said.is_frozen else f"{last[:10]} {last[11:16]} UTC"
        labels = "public" if said.has_labels else f"on {days.get('reveals', '')[:10]}" if said.is_main else "open"
        source = "bundled sample" if part.is_bundled else str(said["source"])
        place = (f"`{part.config}`", f"`{part.split}`", f"{part.table.height:,}")
        table.append((*place, state, opened, deadline, labels, str(said["texts"]), source))
    yield from map(_line, table)
    if made.corpora:
        yield from map(_line, [("corpus", "content", "licence", "documents"), ("---",) * 4])
        for name, sha256 in made.corpora:
            yield f"| {name} | `{sha256[:12]}` | "
    for part in made.parts:
        if part.manifest.is_main:
            funnel = part.manifest.said["collection"]["funnel"]
            unit, drops = funnel["unit"], [drop for drop in funnel["drops"] if drop["count"]]
            yield from map(_line, [("", unit), ("---", "---"), (f"{unit} found", f"{funnel['rows_in']:,}")])
            yield from (_line((f"left out: {drop['meaning']}", f"{drop['count']:,}")) for drop in drops)
            yield _line(("candidates", f"{sum(sum(kept.values()) for kept in funnel['kept'].values()):,}"))
            if not part.manifest.is_frozen:
                drawn = sum(part.manifest.drawn.values())
                yield _line(("samples drawn, all labels in equal numbers", f"{drawn:,}"))


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _yaml(value: object, indent: str = "") -> list[str]:
    """The lines of a value as the hub writes them, without quotes."""
    lines: list[str] = []
    pairs = (
        value.items() if isinstance(value, dict) else [("-", item) for item in value] if isinstance(value, list) else []
    )
    for name, item in pairs:
        if name == "-" and isinstance(item, dict):
            inside = _yaml(item, f"{indent}  ")
            lines += [f"{indent}- {inside[0].lstrip()}", *inside[1:]]
        elif isinstance(item, dict | list):
            lines += [f"{indent}{name}:", *_yaml(item, indent if isinstance(item, list) else f"{indent}  ")]
        else:
            lines.append(f"{indent}{name}{'' if name == '-' else ':'} {item}".replace("'", "").replace('"', ""))
    return lines


def _features(part: Part) -> list[Row]:
    """The columns of a configuration; its label is named before it is public."""
    found = [_feature(name, dtype) for name, dtype in part.table.schema.items() if name != "label"]
    names = {str(number): name for number, name in enumerate(part.classes)}
    return found + ([{"name": "label", "dtype": {"class_label": {"names": names}}}] if names else [])


def _feature(name: str, dtype: object) -> Row:
    inner = dtype.inner if isinstance(dtype, polars.List) else dtype
    if isinstance(inner, polars.Struct):
        parts = [_feature(field.name, field.dtype) for field in inner.fields]
        return {"name": name, "struct" if inner is dtype else "list": parts}
    return {"name": name, "dtype": _KINDS[str(dtype)][0]} if inner is dtype else {"name": name, "sequence": "string"}


def benchmark_faults(made: Publication) -> Iterator[str]:
    """An `eval.yaml` that says otherwise than the releases."""
    tasks = [{"id": f"{part.config}-{part.split}", "config": part.config, "split": part.split} for part in made.parts]
    about = "A living benchmark: language models predict fresh, real decisions of people."
    head = {"name": _title(made), "description": about, "evaluation_framework": "hellofresh", "tasks": tasks}
    lines = (made.root / BENCHMARK).read_text().replace("'", "").replace('"', "").splitlines()
    if lines != _yaml(head):
        yield f"{BENCHMARK} has another title or other tasks than the releases"


def croissant_faults(made: Publication) -> Iterator[str]:
    """What Croissant says otherwise than tables and releases."""
    said, labelled = strict_json((made.root / CROISSANT).read_bytes(), 12), {}
    opened = max(
        (part.manifest["dataset"] or {}).get("published") or part.manifest["calendar"]["opens"] for part in made.parts
    )
    number = f"{int(opened[:4])}.{int(opened[5:7])}.{sum(part.manifest['version'] for part in made.parts)}"
    questions = dict(re.findall(r"^- \*\*(.+?)\*\*: (.*?)(?: Label \d.*)?$", made.card, re.MULTILINE))
    records = []
    for part in made.parts:
        task, end = part.manifest["task"], f"-{BUNDLED}" if part.is_bundled else ""
        labelled.update({task: part.classes} if part.manifest.has_labels and part.classes else {})
        name = f"{part.config}-{part.split}{end}"
        records.append(_records(name, part.path, questions[task], part.table.schema, task))
    for path, columns in _tables(made).items():
        records.append(_records(path.split("/")[1], path, f"Documents of {made.documents[path]}.", columns, ""))
    paths = [*(part.path for part in made.parts), *made.documents]
    expected = {
        "name": _title(made),
        "datePublished": opened[:10],
        "version": number,
        "citeAs": f"{_title(made)}, version {number}",
        "distribution": [_distributed(made.listed[path]) for path in paths],
        "recordSet": [*(_classes(task, classes) for task, classes in labelled.items()), *records],
    }
    yield from (f"{name} is not what tables and releases say" for name in expected if said.get(name) != expected[name])
    constant = {name: value for name, value in said.items() if name not in expected}
    if text_hash(canonical(constant)) != _CONSTANT:
        yield f"{', '.join(sorted(constant))[:200]} are not what every publication says"


def _distributed(entry: Row) -> Row:
    named = {"@type": "cr:FileObject", **dict.fromkeys(("@id", "name", "contentUrl"), entry["path"])}
    size = {"contentSize": f"{entry['size']} B", "sha256": entry["sha256"]}
    return {**named, **size, "encodingFormat": "application/x-parquet"}


def _classes(task: str, classes: Sequence[str]) -> Row:
    name = f"{task}-classes"
    kinds = {"label": "sc:Integer", "name": "sc:Text"}
    return {
        **{"@type": "cr:RecordSet", "@id": name, "name": name, "description": f"What the labels of {task} mean."},
        **{"dataType": "sc:Enumeration", "key": {"@id": f"{name}/label"}},
        "field": [{**_field(f"{name}/{one}", one), "dataType": kind} for one, kind in kinds.items()],
        "data": [{f"{name}/label": number, f"{name}/name": title} for number, title in enumerate(classes)],
    }


def _field(place: str, name: str) -> Row:
    return {"@type": "cr:Field", "@id": place, "name": name}


def _records(name: str, path: str, about: str, columns: _Columns, task: str) -> Row:
    fields = []
    for column, dtype in columns.items():
        inner, place = dtype.inner if isinstance(dtype, polars.List) else dtype, f"{name}/{column}"
        source = {"fileObject": {"@id": path}, "extract": {"column": column}}
        field = _field(place, column)
        field |= {"references": {"field": {"@id": f"{task}-classes/label"}}} if column == "label" else {}
        field |= {"repeated": True} if inner is not dtype else {}
        if isinstance(inner, polars.Struct):
            field["subField"] = []
            for part in inner.fields:
                kind = {
                    "dataType": _KINDS[str(part.dtype)][1],
                    "source": {**source, "transform": {"jsonPath": part.name}},
                }
                field["subField"].append({**_field(f"{place}/{part.name}", part.name), **kind})
        else:
            field |= {"dataType": _KINDS[str(inner)][1], "source": source}
        fields.append(field)
    return {"@type": "cr:RecordSet", "@id": name, "name": name, "description": about, "field": fields}
