"""Checks of a publication that need nothing of the package: its files, and its tables against the releases in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
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
    ManifestFile,
    read_manifest,
)
from verifier.reading import (
    COUNT,
    SHA256,
    Row,
    few,
    file_hash,
    first_of,
    misfit,
    quoted,
    read_table,
    rows,
    short,
    strict_json,
)

ACCOUNT, CARD, CROISSANT, BENCHMARK = "publication.json", "README.md", "croissant.json", "eval.yaml"
OF_THE_HUB = (".gitattributes", ".cache")
"""What a hub or its client adds to a copy."""
_FILES = [{"path": str, "size": COUNT, "sha256": SHA256}]
_ACCOUNT_FORM = {"format": range(1, 2), "made_from": SHA256, "code": str, "files": _FILES}
_BUNDLED = "bundled-sample"
_PROSE = f"{CARD}, {CROISSANT} and {BENCHMARK}, which hellofresh release verify makes again"


def _releases(root: Path) -> Iterator[tuple[Path, ManifestFile]]:
    for depth in ("*/*", f"*/*/{PROSPECTIVE}"):
        for path in sorted(root.glob(f"releases/{depth}/{MANIFEST}")):
            try:
                said = read_manifest(path)
            except ValueError:  # reported by the check of the release
                continue
            task = path.parent if said.is_main else path.parent.parent
            if (task.name, task.parent.name) == (said["task"], said.edition):
                yield path.parent, said


def _config(said: ManifestFile) -> str:
    return str(said["task"]) + ("" if said.is_main else f"-{PROSPECTIVE}")


def _table(said: ManifestFile) -> str:
    split = said.edition.replace("-", "_").replace("@", "_v_").replace(".", "_dot_")
    return f"data/{_config(said)}/{split}{f'.{_BUNDLED}' if said['source'] == _BUNDLED else ''}.parquet"


def _table_faults(root: Path, folder: Path, said: ManifestFile) -> Iterator[str]:
    """Differences between a release and its table."""
    path, faults, answers = _table(said), list[str](), dict[str, Row]()  # faults are reported by the release's check
    table = read_table(root / path)
    labels, right = (
        folder / (LABELS if said.is_main else OUTCOMES),
        {one["id"]: one["label"] for one in said["corrections"]},
    )
    for _, row in rows(labels, object, faults) if labels.is_file() else ():
        judged = sorted(json.loads(row.get("relevance") or "{}").items())
        relevance = [{"document": name, "relevance": value} for name, value in judged]
        answer = {"label": right.get(row["id"], row["label"]), "relevance": relevance}
        answers[row["id"]] = {name: value for name, value in answer.items() if name in table.columns}
    samples = [row for _, row in rows(folder / SAMPLES, object, faults)]
    if strange := set().union(*samples) - set(table.columns):
        yield f"{path} has no column {min(strange)}"
        return
    expected = polars.DataFrame([{**row, **answers.get(row["id"], {})} for row in samples], schema=table.schema)
    task, dataset = TASKS.get(said["task"]), said["dataset"]
    classes = dataset["classes"] if dataset else task.classes if task else ()
    if answers and classes and "label" not in table.columns:
        yield f"{path} has no labels, and they are public"
    if table.height != expected.height:
        yield f"{path} has {table.height:,} rows, and the release {expected.height:,} samples"
    pairs = enumerate(zip(table.rows(), expected.rows(), strict=False), 1)
    differ = [number for number, (there, here) in pairs if there != here]
    yield from first_of([f"{path} row {number} is not what the release says" for number in differ])


def _file_faults(root: Path, listed: dict[str, Row], parts: Sequence[tuple[Path, ManifestFile]]) -> Iterator[str]:
    """Files that differ from the account's list, and files and folders that belong to no part."""
    inside = [path for path in root.rglob("*") if path.relative_to(root).parts[0] not in OF_THE_HUB]
    there = {path.relative_to(root).as_posix() for path in inside if not path.is_dir() or path.is_symlink()}
    yield from few((there - {ACCOUNT}) ^ listed.keys(), "is not both listed and there")
    for name in sorted(there & listed.keys()):
        path, entry = root / name, listed[name]
        if path.is_symlink() or path.stat().st_size != entry["size"] or file_hash(path) != entry["sha256"]:
            yield f"{quoted(name)} differs"
    if list(listed) != sorted(listed, key=Path):
        yield "the files are not listed in their order"
    known = {ACCOUNT, BENCHMARK, CARD, CROISSANT, *(_table(said) for _, said in parts)}
    for folder, said in parts:
        place = folder.relative_to(root)
        earlier = (f"{PREVIOUS}/{version}.json" for version in range(1, said["version"]))
        known |= {(place / name).as_posix() for name in (MANIFEST, *said.hashes, *earlier)}
        known |= {(place.parent / RATINGS / f"{said['task']}.{end}").as_posix() for end in RATING_FILES}
        if said["task"].endswith("-retrieval"):
            corpora = read_table(root / _table(said)).select("corpus", "corpus_sha256").unique().rows()
            known |= {
                f"data/corpus-{name}-{sha[:8]}/{file}"
                for name, sha in corpora
                for file in ("corpus.json", "documents.parquet")
            }
    yield from few(listed.keys() - known, "does not belong here")
    folders = {above.as_posix() for name in there for above in Path(name).parents}
    empty = (path.relative_to(root).as_posix() for path in inside if path.is_dir() and not path.is_symlink())
    yield from few(set(empty) - folders, "is an empty folder")


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


def publication_checks(root: Path, *, prose: str = _PROSE) -> list[Check]:
    """Check that a publication's files match its account and its releases.

    Args:
        root: its folder.
        prose: what is left unchecked here; empty where the caller makes it again.
    """
    name = root.as_posix()
    try:
        account = _read_account(root / ACCOUNT)
    except (ValueError, OSError) as error:
        return [Check(name, "publication", "", (f"{ACCOUNT}: {error}",))]
    listed, parts = {entry["path"]: entry for entry in account["files"]}, list(_releases(root))
    unreadable = (ValueError, KeyError, IndexError, TypeError, AttributeError, OSError, polars.exceptions.PolarsError)
    corpora = ["tables and manifests of corpora"] if any(path.startswith("data/corpus-") for path in listed) else []
    found = []
    for what, said, faults_of, unchecked in (
        ("publication", f"{len(listed)} files as {ACCOUNT} lists them, and nothing else",
         _file_faults(root, listed, parts), [prose] if prose else []),
        ("tables", f"{len(parts)} tables, row by row as the releases say",
         (fault for part in parts for fault in _table_faults(root, *part)), corpora),
    ):  # fmt: skip
        try:
            faults = list(faults_of)
        except unreadable as error:
            faults = [f"cannot be read ({type(error).__name__}: {short(str(error))})"]
        found.append(Check(name, what, said, faults, unchecked=unchecked))
    return found
