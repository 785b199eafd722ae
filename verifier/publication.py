"""A publication: its account and tables must say what the releases beside them say."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from verifier.checks import Check
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
    misfit,
    read_table,
    rows,
    strict_json,
    text_hash,
)

if TYPE_CHECKING:
    import polars

ACCOUNT, CARD, CROISSANT, BENCHMARK = "publication.json", "README.md", "croissant.json", "eval.yaml"
_FILES = [{"path": str, "size": COUNT, "sha256": SHA256}]
_ACCOUNT_FORM = {"format": range(2, 4), "made_from": SHA256, "code?": str, "files": _FILES}
BUNDLED = "bundled-sample"


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
        """Its place among the others."""
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
        """Names of its task's classes; of a living task that is not known here as the card has them."""
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
        """What its table says otherwise than the release."""
        import polars

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
            yield {**sample, **answers.get(row["id"], {})}


@dataclass(frozen=True)
class Publication:
    """What lies in a publication's folder.

    Attributes:
        root: the folder.
        listed: what its account says of each file.
        parts: the releases, in the order of editions and tasks.
        has_benchmark: whether `eval.yaml` belongs to it, as it does from format 3 on.
    """

    root: Path
    listed: Mapping[str, Row]
    parts: Sequence[Part]
    has_benchmark: bool

    @classmethod
    def at(cls, root: Path, account: Row) -> Publication:
        """The publication of an account."""
        parts = sorted(_parts(root), key=lambda part: part.order)
        return cls(root, {entry["path"]: entry for entry in account["files"]}, parts, account["format"] > 2)

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
        """Files that are not as listed, or belong to nothing."""
        there = {path.relative_to(self.root).as_posix() for path in self.root.rglob("*") if not path.is_dir()} - {
            ACCOUNT
        }
        yield from few(there ^ self.listed.keys(), "is not both listed and there")
        for name in sorted(there & self.listed.keys()):
            path, entry = self.root / name, self.listed[name]
            if path.is_symlink() or path.stat().st_size != entry["size"] or file_hash(path) != entry["sha256"]:
                yield f"{name[:200]!r} is other"
        if list(self.listed) != sorted(self.listed, key=Path):
            yield "the files are not listed in their order"
        known = {BENCHMARK} if self.has_benchmark else set()
        known |= {CARD, CROISSANT, *self.documents, *(part.path for part in self.parts)}
        yield from few(
            (name for name in self.listed.keys() - known if not name.startswith("releases/")), "belongs to nothing"
        )

    def key(self, account: Row) -> str:
        """The key of what it was made from: releases and the state of each, corpora and ratings."""
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
        """A key that is of something else; publications of early versions do not say what made it."""
        if "code" in account and self.key(account) != account["made_from"]:
            yield "made_from is not the key of these releases in the states that the card names"


def _parts(root: Path) -> Iterator[Part]:
    for depth in ("*/*", f"*/*/{PROSPECTIVE}"):
        for path in root.glob(f"releases/{depth}/{MANIFEST}"):
            try:
                yield Part(root, path.parent, read_manifest(path))
            except ValueError:  # named where the release is checked
                continue


def publications_above(folders: Sequence[Path]) -> list[Path]:
    """The publications that releases lie in, in order; one may have lost its account."""
    above = {place.parent for folder in folders for place in folder.resolve().parents[1:3] if place.name == "releases"}
    return sorted(place for place in above if any((place / name).is_file() for name in (ACCOUNT, CARD, CROISSANT)))


def publication_checks(root: Path) -> list[Check]:
    """Whether the files of a publication are those of its account, and say what its releases say."""
    name = root.as_posix()
    try:
        account = strict_json((root / ACCOUNT).read_bytes(), 8)
        if wrong := misfit(account, _ACCOUNT_FORM):
            raise ValueError(wrong)
        listed = {entry["path"]: entry for entry in account["files"]}
        if len(listed) < len(account["files"]):
            raise ValueError("a file is listed twice")
    except (ValueError, OSError) as error:
        return [Check(name, "publication", "", (f"{ACCOUNT}: {error}",))]
    made = Publication.at(root, account)
    if find_spec("polars") is None:
        missing = ("tables, card and Croissant, which need Polars to be read",)
        return [Check(name, "publication", f"{len(listed)} files", (), unchecked=missing)]
    import polars

    from verifier.card import benchmark_faults, card_faults, croissant_faults

    unreadable = (ValueError, KeyError, IndexError, TypeError, AttributeError, OSError, polars.exceptions.PolarsError)
    parts_said = f"{len(made.parts)} tables, row by row as the releases say"
    corpora = "tables of corpora" if any(path.startswith("data/corpus-") for path in listed) else ""
    prose = f"the text of {CARD} outside its head and tables"
    origin = "" if "code" in account else "what it was made from"
    checks: tuple[tuple[str, str, Callable[[], Iterator[str]], str], ...] = (
        ("publication", f"{len(listed)} files, with the sizes and hashes that {ACCOUNT} lists", made.file_faults, ""),
        ("origin", "made from these releases", lambda: made.origin_faults(account), origin),
        ("tables", parts_said, lambda: (fault for part in made.parts for fault in part.faults()), corpora),
        ("card", "head and tables say what tables and releases say", lambda: card_faults(made), prose),
        ("croissant", "it says what tables and releases say", lambda: croissant_faults(made), ""),
    )
    if made.has_benchmark:
        names = f"{BENCHMARK} names every split"
        checks = (*checks, ("benchmark", names, lambda: benchmark_faults(made), f"the description in {BENCHMARK}"))
    found = []
    for what, said, faults_of, unchecked in checks:
        try:
            faults = list(faults_of())
        except unreadable as error:
            faults = [f"cannot be read ({type(error).__name__}: {str(error)[:200]})"]
        found.append(Check(name, what, said, faults, unchecked=[unchecked] if unchecked else []))
    return found
