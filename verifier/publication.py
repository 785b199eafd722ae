"""Checks of a publication: account, tables, card and Croissant file must agree with the releases beside them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars

from verifier.checks import Check
from verifier.content import TASKS
from verifier.manifest import (
    LABELS,
    MANIFEST,
    OUTCOMES,
    PREVIOUS,
    PROSPECTIVE,
    RATING_FILES,
    RATINGS,
    SAMPLES,
    Manifest,
    read_manifest,
)
from verifier.reading import (
    COUNT,
    SHA256,
    Row,
    canonical,
    few,
    file_hash,
    first_of,
    misfit,
    quoted,
    read_table,
    rows,
    short,
    strict_json,
    text_hash,
)

ACCOUNT, CARD, CROISSANT, BENCHMARK = "publication.json", "README.md", "croissant.json", "eval.yaml"
_FILES = [{"path": str, "size": COUNT, "sha256": SHA256}]
_ACCOUNT_FORM = {"format": range(1, 2), "made_from": SHA256, "code": str, "files": _FILES}
BUNDLED = "bundled-sample"
_SAME_NAME = ("CC-BY-SA-4.0", "Apache-2.0", "MIT", "CC-BY-4.0", "CC-BY-SA-3.0", "CC-BY-NC-4.0", "CC-BY-3.0", "CC0-1.0")
_OTHER = ("LicenseRef-X-content", "LicenseRef-research-only", "LicenseRef-not-stated")
_LICENCES = {**{name: name.lower() for name in _SAME_NAME}, "ODC-By-1.0": "odc-by", **dict.fromkeys(_OTHER, "other")}
"""The hub's name for each licence of samples."""
_TAGS = ["community-notes", "wikipedia", "fact-checking", "forecasting", "benchmark"]
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_COLUMNS = ("configuration", "split", "samples", "state", "opened", "last prediction", "labels", "texts", "source")
_KINDS = {"String": ("string", "sc:Text"), "Int64": ("int64", "sc:Integer"), "Date": ("date32", "sc:Date")}
"""The type of a column in card and Croissant."""
_CONSTANT = "f4cde71c1b7aecd4b1a4f35648337087fafad13add3071a527b26bddd309055e"
"""SHA-256 of the constant part of every Croissant file."""
_Columns = Mapping[str, polars.DataType]


@dataclass(frozen=True)
class Part:
    """A release of a publication and its table.

    Attributes:
        root, folder: of publication and release.
        manifest: the release's.
    """

    root: Path
    folder: Path
    manifest: Manifest

    @property
    def order(self) -> tuple[str, str, bool]:
        """Sort key of parts."""
        return self.manifest.edition, str(self.manifest["task"]), not self.manifest.is_main

    @property
    def config(self) -> str:
        """Name of its configuration."""
        return str(self.manifest["task"]) + ("" if self.manifest.is_main else f"-{PROSPECTIVE}")

    @property
    def split(self) -> str:
        """Name of its split: the edition in word characters."""
        return self.manifest.edition.replace("-", "_").replace("@", "_v_").replace(".", "_dot_")

    @property
    def is_bundled(self) -> bool:
        """Whether it is of the bundled sample."""
        return bool(self.manifest["source"] == BUNDLED)

    @property
    def path(self) -> str:
        """Where its table is."""
        return f"data/{self.config}/{self.split}{f'.{BUNDLED}' if self.is_bundled else ''}.parquet"

    @cached_property
    def classes(self) -> Sequence[str]:
        """Names of the task's classes; unknown here for a living task."""
        task, dataset = str(self.manifest["task"]), self.manifest["dataset"]
        if dataset is not None or task in TASKS:
            return TASKS[task].classes if dataset is None else list(dataset["classes"])
        line = re.search(
            rf"^- \*\*{re.escape(task)}\*\*: .* Label (.*)\.$", (self.root / CARD).read_text(), re.MULTILINE
        )
        return [name for _, name in re.findall(r"(\d+): (.+?)(?=, \d+: |$)", line[1])][::-1] if line else []

    @cached_property
    def table(self) -> polars.DataFrame:
        """Its table; raises ValueError if it cannot be read."""
        return read_table(self.root / self.path)

    def faults(self) -> Iterator[str]:
        """Differences between its table and the release."""
        table = self.table
        expected = polars.DataFrame(list(self._expected(table.columns)), schema=table.schema)
        if self.classes and self.manifest.has_labels and "label" not in table.columns:
            yield f"{self.path} has no labels, and they are public"
        if table.height != expected.height:
            yield f"{self.path} has {table.height:,} rows, and the release {expected.height:,} samples"
        pairs = enumerate(zip(table.rows(), expected.rows(), strict=False), 1)
        differ = [number for number, (there, here) in pairs if there != here]
        yield from first_of([f"{self.path} row {number} is not what the release says" for number in differ])

    def _expected(self, columns: Sequence[str]) -> Iterator[Row]:
        """The expected row of each sample; answers only if labels are public."""
        faults: list[str] = []  # reported by the check of the release
        answers: dict[str, Row] = {}
        path = self.folder / (LABELS if self.manifest.is_main else OUTCOMES)
        for _, row in rows(path, object, faults) if path.is_file() else ():
            judged = sorted(json.loads(row.get("relevance") or "{}").items())
            relevance = [{"document": name, "relevance": value} for name, value in judged]
            answer = {"label": row["label"], "relevance": relevance}
            answers[row["id"]] = {name: value for name, value in answer.items() if name in columns}
        for _, sample in rows(self.folder / SAMPLES, object, faults):
            if strange := sample.keys() - set(columns):
                raise ValueError(f"{self.path} has no column {min(strange)}")
            yield {**sample, **answers.get(sample["id"], {})}


@dataclass(frozen=True)
class Publication:
    """The contents of a publication's folder.

    Attributes:
        root: the folder.
        listed: the account's description of each file.
        parts: the releases, in the order of editions and tasks.
    """

    root: Path
    listed: Mapping[str, Row]
    parts: Sequence[Part]

    @classmethod
    def at(cls, root: Path, account: Row) -> Publication:
        """The publication of an account."""
        parts = sorted(_parts(root), key=lambda part: part.order)
        return cls(root, {entry["path"]: entry for entry in account["files"]}, parts)

    @cached_property
    def card(self) -> str:
        """The text of the card."""
        return (self.root / CARD).read_text()

    @cached_property
    def states(self) -> Mapping[tuple[str, str], str]:
        """The state of each configuration and split, by the card's table: open and closed depend on the day."""
        lines = ([cell.strip(" `") for cell in line.split(" | ")] for line in self.card.splitlines())
        return {(line[0].strip("| `"), line[1]): line[3] for line in lines if len(line) == 9}

    @cached_property
    def corpora(self) -> Mapping[tuple[str, str], str]:
        """Expected place of each corpus named by queries, by its name and content."""
        found = set()
        for part in self.parts:
            if part.manifest["task"].endswith("-retrieval"):
                found |= set(part.table.select("corpus", "corpus_sha256").rows())
        return {(name, sha): f"data/corpus-{name}-{sha[:8]}/documents.parquet" for name, sha in sorted(found)}

    @property
    def documents(self) -> Mapping[str, str]:
        """Names of the corpora whose documents are published, by the path of their table."""
        return {path: name for (name, _), path in self.corpora.items() if path in self.listed}

    def file_faults(self) -> Iterator[str]:
        """Files that differ from the account's list, or belong to no part."""
        there = {path.relative_to(self.root).as_posix() for path in self.root.rglob("*") if not path.is_dir()} - {
            ACCOUNT
        }
        yield from few(there ^ self.listed.keys(), "is not both listed and there")
        for name in sorted(there & self.listed.keys()):
            path, entry = self.root / name, self.listed[name]
            if path.is_symlink() or path.stat().st_size != entry["size"] or file_hash(path) != entry["sha256"]:
                yield f"{quoted(name)} is other"
        if list(self.listed) != sorted(self.listed, key=Path):
            yield "the files are not listed in their order"
        known = {BENCHMARK, CARD, CROISSANT, *self.documents, *(part.path for part in self.parts)}
        for part in self.parts:
            place, said = part.folder.relative_to(self.root), part.manifest
            earlier = (f"{PREVIOUS}/{version}.json" for version in range(1, said["version"]))
            known |= {(place / name).as_posix() for name in (MANIFEST, *said.hashes, *earlier)}
            known |= {(place.parent / RATINGS / f"{said['task']}.{end}").as_posix() for end in RATING_FILES}
        yield from few(self.listed.keys() - known, "belongs to nothing")

    def key(self, account: Row) -> str:
        """The key of the publication's sources: releases and the state of each, corpora and ratings."""
        ratings = []
        for part in self.parts:
            ends = RATING_FILES if part.manifest["revealed"] else RATING_FILES[:1]
            paths = [part.folder.parent / RATINGS / f"{part.manifest['task']}.{end}" for end in ends]
            there = [path for path in paths if part.manifest.is_main and path.is_file()]
            ratings += [[path.name, file_hash(path)] for path in there]
        parts = [
            [
                part.folder.relative_to(self.root).as_posix(),
                self.states.get((part.config, part.split)),
                part.manifest.sha256,
            ]
            for part in self.parts
        ]
        corpora = [[*corpus, path in self.listed] for corpus, path in self.corpora.items()]
        inputs = {"format": account["format"], "corpora": corpora, "parts": parts}
        more = {"ratings": ratings} if ratings else {}
        return text_hash(canonical({"code": account["code"], "inputs": {**inputs, **more}}))

    def origin_faults(self, account: Row) -> Iterator[str]:
        """Report a key that does not match the sources."""
        if self.key(account) != account["made_from"]:
            yield "made_from is not the key of these releases in the states that the card names"


def _parts(root: Path) -> Iterator[Part]:
    for depth in ("*/*", f"*/*/{PROSPECTIVE}"):
        for path in root.glob(f"releases/{depth}/{MANIFEST}"):
            try:
                yield Part(root, path.parent, read_manifest(path))
            except ValueError:  # reported by the check of the release
                continue


def _title(made: Publication) -> str:
    bundled = [part.is_bundled for part in made.parts]
    how = " (bundled sample)" if all(bundled) else " (partly bundled sample)" if any(bundled) else ""
    return f"HelloFresh{how}"


def _tables(made: Publication) -> dict[str, _Columns]:
    """The columns of the documents of each corpus, by the path of their table."""
    return {path: read_table(made.root / path).schema for path in made.documents}


def card_faults(made: Publication) -> Iterator[str]:
    """Differences between the card's head and tables and the releases."""
    head, _, text = made.card.removeprefix("---\n").partition("---\n")
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
    yield from first_of([f"the card says {quoted(there)}, and not {quoted(here)}" for there, here in differ])
    if len(lines) != len(wanted):
        yield f"the card has {len(lines)} lines of tables, and the releases give {len(wanted)}"


def _head(made: Publication, stated: Mapping[str, Sequence[str]]) -> Row:
    """The expected head of the card; licences of corpora stand only in the card."""
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
    listed = [
        (name, [{"split": part.split, "path": part.path} for part in parts], _features(parts[0]))
        for name, parts in by_config.items()
    ]
    for path, columns in _tables(made).items():
        features = [_feature(*column) for column in columns.items()]
        listed.append((path.split("/")[1], [{"split": "documents", "path": path}], features))
    return {
        "language": ["en"],
        "license": sorted(licences),
        "size_categories": [next((name for most, name in _SIZES if total < most), "n>1M")],
        "task_categories": sorted(kinds),
        "pretty_name": _title(made),
        "tags": _TAGS + [BUNDLED] * any(part.is_bundled for part in made.parts),
        "configs": [{"config_name": name, "data_files": files} for name, files, _ in listed],
        "dataset_info": [{"config_name": name, "features": features} for name, _, features in listed],
    }


def _lines(made: Publication) -> Iterator[str]:
    """The expected lines of the card's tables, or their beginnings; open or closed depends on the day."""
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
    """The lines of a value as the hub writes YAML, without quotes."""
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
    """The columns of a configuration; the label is listed even before it is public."""
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
    """Differences between `eval.yaml` and the releases."""
    tasks = [{"id": f"{part.config}-{part.split}", "config": part.config, "split": part.split} for part in made.parts]
    about = "A living benchmark: language models predict fresh, real decisions of people."
    head = {"name": _title(made), "description": about, "evaluation_framework": "inspect-ai", "tasks": tasks}
    lines = (made.root / BENCHMARK).read_text().replace("'", "").replace('"', "").splitlines()
    if lines != _yaml(head):
        yield f"{BENCHMARK} has another title or other tasks than the releases"


def croissant_faults(made: Publication) -> Iterator[str]:
    """Differences between Croissant and the tables and releases."""
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
        yield f"{short(', '.join(sorted(constant)))} are not what every publication says"


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


def publications_above(folders: Sequence[Path]) -> list[Path]:
    """The publications that contain these releases, in order; an account may be missing."""
    above = {place.parent for folder in folders for place in folder.resolve().parents[1:3] if place.name == "releases"}
    return sorted(place for place in above if any((place / name).is_file() for name in (ACCOUNT, CARD, CROISSANT)))


def _read_account(path: Path) -> Row:
    account: Row = strict_json(path.read_bytes(), 8)
    if wrong := misfit(account, _ACCOUNT_FORM):
        raise ValueError(wrong)
    if len({entry["path"] for entry in account["files"]}) < len(account["files"]):
        raise ValueError("a file is listed twice")
    return account


def publication_checks(root: Path) -> list[Check]:
    """Check that a publication's files match its account and its releases."""
    name = root.as_posix()
    try:
        account = _read_account(root / ACCOUNT)
    except (ValueError, OSError) as error:
        return [Check(name, "publication", "", (f"{ACCOUNT}: {error}",))]
    made, listed = Publication.at(root, account), [entry["path"] for entry in account["files"]]
    unreadable = (ValueError, KeyError, IndexError, TypeError, AttributeError, OSError, polars.exceptions.PolarsError)
    parts_said = f"{len(made.parts)} tables, row by row as the releases say"
    corpora = "tables of corpora" if any(path.startswith("data/corpus-") for path in listed) else ""
    prose = f"the text of {CARD} outside its head and tables"
    checks: tuple[tuple[str, str, Callable[[], Iterator[str]], str], ...] = (
        ("publication", f"{len(listed)} files, with the sizes and hashes that {ACCOUNT} lists", made.file_faults, ""),
        ("origin", "made from these releases", lambda: made.origin_faults(account), ""),
        ("tables", parts_said, lambda: (fault for part in made.parts for fault in part.faults()), corpora),
        ("card", "head and tables say what tables and releases say", lambda: card_faults(made), prose),
        ("croissant", "it says what tables and releases say", lambda: croissant_faults(made), ""),
        ("benchmark", f"{BENCHMARK} names every split", lambda: benchmark_faults(made), ""),
    )
    found = []
    for what, said, faults_of, unchecked in checks:
        try:
            faults = list(faults_of())
        except unreadable as error:
            faults = [f"cannot be read ({type(error).__name__}: {short(str(error))})"]
        found.append(Check(name, what, said, faults, unchecked=[unchecked] if unchecked else []))
    return found
