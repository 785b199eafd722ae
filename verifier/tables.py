"""A publication: the Parquet tables that people load must say what the releases beside them say."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from verifier.checks import Check
from verifier.content import classes_of
from verifier.manifest import LABELS, MANIFEST, OUTCOMES, PROSPECTIVE, SAMPLES, Manifest, read_manifest
from verifier.reading import COUNT, MOST_FAULTS, SHA256, Row, few, file_hash, lines, misfit, strict_json

ACCOUNT = "publication.json"
_ACCOUNT_FORM = {
    "format": COUNT,
    "made_from": str,
    "files": [{"path": str, "size": COUNT, "sha256": SHA256}],
}
_BUNDLED = "bundled-sample"


def publications_above(folders: list[Path]) -> list[Path]:
    """The publications that releases lie in, in order."""
    above = {place for folder in folders for place in folder.resolve().parents[2:4] if (place / ACCOUNT).is_file()}
    return sorted(above)


def publication_checks(root: Path) -> list[Check]:
    """Whether the files of a publication are those of its account, and its tables those of its releases."""
    name = root.as_posix()
    try:
        account: Any = strict_json((root / ACCOUNT).read_bytes(), 8)
        wrong = misfit(account, _ACCOUNT_FORM)
    except (ValueError, OSError) as error:
        wrong = str(error)
    if wrong:
        return [Check(name, "publication", "", (f"{ACCOUNT}: {wrong}",))]
    listed = {entry["path"]: entry for entry in account["files"]}
    there = {path.relative_to(root).as_posix() for path in root.rglob("*") if not path.is_dir()} - {ACCOUNT}
    faults = few(there ^ listed.keys(), "is not both listed and there")
    faults += few((path for path in there & listed.keys() if not _is_as_listed(root / path, listed[path])), "is other")
    unchecked = ["README.md and croissant.json"]
    unchecked += ["tables of corpora"] * any(path.startswith("data/corpus-") for path in listed)
    said = f"{len(listed)} files, with the sizes and hashes that {ACCOUNT} lists"
    checks = [Check(name, "publication", said, tuple(faults), unchecked=tuple(unchecked))]
    if find_spec("polars") is None:
        return [*checks, Check(name, "tables", "none was read", unchecked=("tables, which need Polars to be read",))]
    folders = sorted(path.parent for path in (root / "releases").rglob(MANIFEST))
    found = [fault for folder in folders for fault in _table_faults(root, folder)]
    return [*checks, Check(name, "tables", f"{len(folders)} tables, row by row as the releases say", tuple(found))]


def _is_as_listed(path: Path, entry: Row) -> bool:
    return not path.is_symlink() and path.stat().st_size == entry["size"] and file_hash(path) == entry["sha256"]


def _table_faults(root: Path, folder: Path) -> Iterator[str]:
    """What a release's table says otherwise than the release."""
    import polars

    try:
        manifest = read_manifest(folder / MANIFEST)
    except ValueError:  # named where the release is checked
        return
    config = manifest["task"] + ("" if manifest.is_main else f"-{PROSPECTIVE}")
    split = manifest.edition.replace("-", "_").replace("@", "_v_").replace(".", "_dot_")
    bundled = f".{_BUNDLED}" if manifest["source"] == _BUNDLED else ""
    path = root / "data" / config / f"{split}{bundled}.parquet"
    where = path.relative_to(root).as_posix()
    try:
        table = polars.read_parquet(path)
    except (OSError, polars.exceptions.PolarsError) as error:
        yield f"{where} cannot be read ({type(error).__name__})"
        return
    rows, expected = table.to_dicts(), list(_expected(folder, manifest, table.columns))
    if classes_of(manifest) and (manifest["revealed"] or manifest["resolved"]) and "label" not in table.columns:
        yield f"{where} has no labels, and they are public"
    if len(rows) != len(expected):
        yield f"{where} has {len(rows):,} rows, and the release {len(expected):,} samples"
    other = [number for number, pair in enumerate(zip(rows, expected, strict=False), 1) if _said(pair[0]) != pair[1]]
    yield from (f"{where} row {number} is not what the release says" for number in other[:MOST_FAULTS])
    if len(other) > MOST_FAULTS:
        yield f"{len(other) - MOST_FAULTS:,} more like these in {where}"


def _expected(folder: Path, manifest: Manifest, columns: Collection[str]) -> Iterator[Row]:
    """Each sample as its row must be, but for what is empty; answers only where labels are public."""
    labels = folder / (LABELS if manifest.is_main else OUTCOMES)
    answers: dict[str, Row] = {}
    faults: list[str] = []  # named where the release is checked
    for _, row in lines(labels, faults) if labels.is_file() else ():
        judged = json.loads(row.get("relevance") or "{}")
        relevance = [{"document": name, "relevance": value} for name, value in sorted(judged.items())]
        answer = {"label": row["label"], "relevance": relevance}
        answers[row["id"]] = {name: value for name, value in answer.items() if name in columns}
    for _, row in lines(folder / SAMPLES, faults):
        sample = {("edition" if name == "quarter" else name): value for name, value in row.items()}
        yield _said({**sample, **answers.get(row["id"], {})})


def _said(value: Any) -> Any:
    """A value without what is empty: a column that does not apply is null in all rows."""
    if isinstance(value, dict):
        return {name: said for name, item in value.items() if (said := _said(item)) not in (None, [], {})}
    return [_said(item) for item in value] if isinstance(value, list) else value
