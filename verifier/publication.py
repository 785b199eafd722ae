"""A publication: its account and tables must say what the releases beside them say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars

from verifier.content import TASKS
from verifier.manifest import (
    LABELS,
    MANIFEST,
    OUTCOMES,
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
    read_table,
    rows,
    strict_json,
    text_hash,
)

ACCOUNT, CARD, CROISSANT, BUNDLED = "publication.json", "README.md", "croissant.json", "bundled-sample"
_FILES = [{"path": str, "size": COUNT, "sha256": SHA256}]
ACCOUNT_FORM = {"format": range(2, 3), "made_from": SHA256, "code?": str, "files": _FILES}


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
        """Names of its task's classes; of a living task that is not known here as the card has them."""
        task, dataset = str(self.manifest["task"]), self.manifest["dataset"]
        if dataset is not None or task in TASKS:
            return TASKS[task].classes if dataset is None else list(dataset["classes"])
        card = (self.root / CARD).read_text()
        line = re.search(rf"^- \*\*{re.escape(task)}\*\*: .* Label (.*)\.$", card, re.MULTILINE)
        return [name for _, name in re.findall(r"(\d+): (.+?)(?=, \d+: |$)", line[1])][::-1] if line else []

    @cached_property
    def table(self) -> polars.DataFrame:
        """Its table; raises ValueError if it cannot be read."""
        return read_table(self.root / self.path)

    def faults(self) -> Iterator[str]:
        """What its table says otherwise than the release."""
        expected = polars.DataFrame(list(self._expected(self.table.columns)), schema=self.table.schema)
        if self.classes and self.manifest.has_labels and "label" not in self.table.columns:
            yield f"{self.path} has no labels, and they are public"
        if self.table.height != expected.height:
            yield f"{self.path} has {self.table.height:,} rows, and the release {expected.height:,} samples"
        pairs = enumerate(zip(self.table.rows(), expected.rows(), strict=False), 1)
        yield from first_of(
            f"{self.path} row {k} is not what the release says" for k, (one, two) in pairs if one != two
        )

    def _expected(self, columns: Sequence[str]) -> Iterator[Row]:
        """Each sample as its row must be; answers only where labels are public."""
        faults: list[str] = []  # named where the release is checked
        answers: dict[str, Row] = {}
        path = self.folder / (LABELS if self.manifest.is_main else OUTCOMES)
        for _, row in rows(path, object, faults) if path.is_file() else ():
            judged = sorted(json.loads(row.get("relevance") or "{}").items())
            relevance = [{"document": name, "relevance": value} for name, value in judged]
            answer = {"label": row["label"], "relevance": relevance}
            answers[row["id"]] = {name: value for name, value in answer.items() if name in columns}
        for _, row in rows(self.folder / SAMPLES, object, faults):
            sample = {("edition" if name == "quarter" else name): value for name, value in row.items()}
            if strange := sample.keys() - set(columns):
                raise ValueError(f"{self.path} has no column {min(strange)}")
            yield {**sample, **answers.get(sample["id"], {})}


@dataclass(frozen=True)
class Publication:
    """What lies in a publication's folder.

    Attributes:
        root: the folder.
        listed: what its account says of each file.
        parts: the releases, in the order of editions and tasks.
    """

    root: Path
    listed: Mapping[str, Row]
    parts: Sequence[Part]

    @classmethod
    def at(cls, root: Path, account: Row) -> Publication:
        """The publication of an account."""
        parts = []
        for path in (
            path for depth in ("*/*", f"*/*/{PROSPECTIVE}") for path in root.glob(f"releases/{depth}/{MANIFEST}")
        ):
            try:
                parts.append(Part(root, path.parent, read_manifest(path)))
            except ValueError:  # named where the release is checked
                continue
        parts.sort(key=lambda part: (part.manifest.edition, part.manifest["task"], not part.manifest.is_main))
        return cls(root, {entry["path"]: entry for entry in account["files"]}, parts)

    @cached_property
    def card(self) -> str:
        """The text of the card."""
        return (self.root / CARD).read_text()

    @cached_property
    def states(self) -> Mapping[tuple[str, str], str]:
        """The state of each configuration and split, as the card's table says: open and closed depend on the day."""
        lines = ([cell.strip(" `") for cell in line.split(" | ")] for line in self.card.splitlines())
        return {(line[0].strip("| `"), line[1]): line[3] for line in lines if len(line) == 9}

    @cached_property
    def corpora(self) -> Mapping[tuple[str, str], str]:
        """Where the documents of each corpus that queries name would be, by its name and content."""
        queries = (part.table for part in self.parts if part.manifest["task"].endswith("-retrieval"))
        found = {row for table in queries for row in table.select("corpus", "corpus_sha256").rows()}
        return {(name, sha): f"data/corpus-{name}-{sha[:8]}/documents.parquet" for name, sha in sorted(found)}

    @property
    def documents(self) -> Mapping[str, str]:
        """Names of the corpora whose documents are published, by the path of their table."""
        return {path: name for (name, _), path in self.corpora.items() if path in self.listed}

    def file_faults(self) -> Iterator[str]:
        """Files that are not as listed, or belong to nothing."""
        there = {path.relative_to(self.root).as_posix() for path in self.root.rglob("*") if not path.is_dir()}
        yield from few((there - {ACCOUNT}) ^ self.listed.keys(), "is not both listed and there")
        for name in sorted(there & self.listed.keys()):
            path, entry = self.root / name, self.listed[name]
            if path.is_symlink() or path.stat().st_size != entry["size"] or file_hash(path) != entry["sha256"]:
                yield f"{name[:200]!r} is other"
        if list(self.listed) != sorted(self.listed, key=Path):
            yield "the files are not listed in their order"
        known = {CARD, CROISSANT, *self.documents, *(part.path for part in self.parts)}
        strange = (name for name in self.listed.keys() - known if not name.startswith("releases/"))
        yield from few(strange, "belongs to nothing")

    def key(self, account: Row) -> str:
        """The key of what it was made from: releases and the state of each, corpora and ratings."""
        parts, ratings = [], []
        for part in self.parts:
            paths = [part.folder.parent / RATINGS / f"{part.manifest['task']}.{end}" for end in RATING_FILES]
            there = [path for path in paths if part.manifest.is_main and part.manifest["revealed"] and path.is_file()]
            ratings += [[path.name, file_hash(path)] for path in there]
            state = self.states.get((part.config, part.split))
            parts.append([part.folder.relative_to(self.root).as_posix(), state, part.manifest.sha256])
        corpora = [[*corpus, path in self.listed] for corpus, path in self.corpora.items()]
        inputs = {"format": account["format"], "corpora": corpora, "parts": parts}
        more = {"ratings": ratings} if ratings else {}
        return text_hash(canonical({"code": account["code"], "inputs": {**inputs, **more}}))

    def origin_faults(self, account: Row) -> Iterator[str]:
        """A key that is of something else; publications of early versions do not say what made it."""
        if "code" in account and self.key(account) != account["made_from"]:
            yield "made_from is not the key of these releases in the states that the card names"

    def card_faults(self) -> Iterator[str]:
        """Configurations, names of labels and numbers of samples that the card says otherwise than tables and releases.

        The configurations and their files are what the hub loads.
        """
        head, body = self.card.removeprefix("---\n").split("\n---\n", 1)
        said, config, split = set[tuple[str, ...]](), "", ""
        for name, text in re.findall(r"^[ -]*(config_name|split|path|'\d+'): (.+)$", head, re.MULTILINE):
            value = text.strip("'\"")
            config, split = value if name == "config_name" else config, value if name == "split" else split
            said |= {(config, split, value)} if name == "path" else set()
            said |= {(config, name.strip("'"), value)} if name[0] == "'" else set()
        expected = {(path.split("/")[1], "documents", path) for path in self.documents}
        for part in self.parts:
            expected.add((part.config, part.split, part.path))
            expected |= {(part.config, str(label), name) for label, name in enumerate(part.classes)}
        yield from few(map(" ".join, said ^ expected), "is not in both the head of the card and what was published")
        lines = re.findall(r"^\| `(\S+)` \| `(\S+)` \| ([\d,]+) \|", body, re.MULTILINE)
        if lines != [(part.config, part.split, f"{part.table.height:,}") for part in self.parts]:
            yield "the card's table of configurations does not name the tables and their numbers of samples"

    def croissant_faults(self) -> Iterator[str]:
        """Files, columns and names of labels that Croissant says otherwise than tables and releases."""
        said, labels = strict_json((self.root / CROISSANT).read_bytes(), 12), dict[str, Sequence[str]]()
        tables = {
            **{part.path: part.table for part in self.parts},
            **{p: read_table(self.root / p) for p in self.documents},
        }
        files = [[f"{self.listed[path]['size']} B", self.listed[path]["sha256"], *[path] * 3] for path in tables]
        names = ("contentSize", "sha256", "contentUrl", "@id", "name")
        if [[entry.get(name) for name in names] for entry in said["distribution"]] != files:
            yield "the distribution is not that of the tables"
        columns, classes = list[tuple[str, str]](), {}
        for record in said["recordSet"]:
            if "data" in record:
                classes[record["@id"]] = record["data"]
            for field in record["field"] if "data" not in record else ():
                sources = [one["source"] for one in field.get("subField", [field])]
                columns += {(one["fileObject"]["@id"], one["extract"]["column"]) for one in sources}
        for part in self.parts:
            labels |= {str(part.manifest["task"]): part.classes} if part.manifest.has_labels and part.classes else {}
        if columns != [(path, column) for path, table in tables.items() for column in table.columns]:
            yield "the columns are not those of the tables"
        if classes != {
            (place := f"{task}-classes"): [{f"{place}/label": k, f"{place}/name": one} for k, one in enumerate(its)]
            for task, its in labels.items()
        }:
            yield "the names of labels are not those of the tasks"
