"""The frame of a release: its manifest, the listed files, and the earlier manifests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from verifier.reading import (
    COUNT,
    SHA256,
    UTC_TIME,
    Form,
    Row,
    canonical,
    file_hash,
    misfit,
    quoted,
    short,
    strict_json,
    text_hash,
)

MANIFEST, PREVIOUS, PROSPECTIVE = "manifest.json", "manifests", "prospective"
SAMPLES, COMMITMENTS, LABELS = "samples.jsonl", "commitments.jsonl", "labels.jsonl"
OUTCOMES, TOMBSTONES, PREDICTIONS, SCORES = "outcomes.jsonl", "tombstones.jsonl", "predictions.jsonl", "scores.jsonl"
RATINGS = "ratings"
ASKED, PEOPLE, CEILING = "asked.jsonl", ("people.parquet", "people.jsonl"), "ceiling.jsonl"
RATING_FILES = (ASKED, "parquet", "key.parquet", "rubric.toml", "standings.jsonl", *PEOPLE, CEILING)
"""The folder of published ratings and human predictions, beside the tasks of an edition, and the endings of a task's
files there; the first is public before the reveal."""
MAX_MANIFEST_BYTES, MAX_HISTORY_BYTES, MAX_VERSIONS = 50_000_000, 200_000_000, 1000
"""The second limit is for all earlier versions of a manifest together."""
_MOST_LEVELS = 16
_NAME = "[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}"
_PATH = re.compile(rf"{_NAME}(/{_NAME}){{0,3}}")
EDITION = re.compile(r"[12][0-9]{3}Q[1-4]|[a-z0-9]+(-[a-z0-9]+)*@[a-z0-9]+([.-][a-z0-9]+)*")
"""A quarter, or a version of a data set."""

_SOURCES = [{"name": str, "size": COUNT, "sha256": str}]
_DRAWN = {"seed": str, "period": str, "rule": str}
_DROPS = [{"reason": str, "meaning": str, "count": COUNT}]
_FUNNEL = {"unit": str, "rows_in": COUNT, "drops": _DROPS, "kept": {"*": {"*": COUNT}}, "*": object}
_MAY_HAVE: dict[str, Form] = {
    "calendar": {"opens": UTC_TIME, "deadline": UTC_TIME, "reveals": UTC_TIME},
    "previous": {"path": str, "sha256": SHA256},
    "selection": {
        **_DRAWN,
        "cap_per_class_and_period": range(1, COUNT.stop),
        "periods": {"*": {"taken_per_class": COUNT}},
        "classes?": range(1, 128),
    },
    "counts": {"*": {"negatives": COUNT, "positives?": (COUNT, None), "others?": [COUNT]}},
    "prospective": {
        **_DRAWN,
        "cap_per_period": range(1, COUNT.stop),
        "periods": {"*": {"pending": COUNT, "taken": COUNT}},
    },
    "draw": {"commitment": SHA256, "key?": (str, None)},
    "samples_at_opening": SHA256,
    "resolved": {
        "at": str,
        "labels": COUNT,
        "dropped": {"*": COUNT},
        "reasons": {"*": str},
        "collection": {"source": str, "sources": _SOURCES, "parameters": {"*": object}},
    },
    "dataset": {
        **dict.fromkeys(("name", "address", "published", "licence"), str),
        "classes": [str],
        "labels": [COUNT],
        "content": SHA256,
    },
}
_FORM: Form = {
    "format": range(1, 2),
    "version": range(1, COUNT.stop),
    "task": str,
    "edition": EDITION,
    "source": str,
    "split?": re.compile(f"main|{PROSPECTIVE}"),
    "files": [{"path": str, "size": COUNT, "sha256": SHA256, "rows": COUNT}],
    "revealed?": bool,
    "texts?": re.compile("included|withheld"),
    "takedowns?": [{"id": str, "reason": str, "date": str}],
    "corrections?": [{"id": str, "reason": str, "date": str, "label": COUNT, "was": COUNT}],
    **{f"{name}?": (form, None) for name, form in _MAY_HAVE.items()},
    "*": object,
}
_LEFT_OUT: Row = {"split": "main", "texts": "included", "revealed": False, "takedowns": [], "corrections": [],
                  **dict.fromkeys(_MAY_HAVE)}  # fmt: skip
_KNOWN = {name.rstrip("?") for name in _FORM}
CLAIMS = {
    "code and the wording of commitments": ("code", "commitments"),
    "the sources, settings and counts of the collection": ("collection", "source", "resolved"),
    "the comparison with earlier quarters": ("across_quarters",),
    "seed and rule of the draw": ("selection", "prospective"),
    "days of the calendar": ("calendar",),
    "name, address, day and licence of the data set": ("dataset",),
    "reasons and days of takedowns": ("takedowns",),
    "corrections of labels": ("corrections",),
}
"""Claims of a manifest that no file of a release can confirm, with the fields of each."""
_FIXED = ("task", "edition", "source", "split", "texts", "calendar", "selection", "prospective", "dataset")


@dataclass(frozen=True)
class ManifestFile:
    """A manifest with defaults for missing fields, and the SHA-256 of its bytes."""

    said: Row
    sha256: str

    def __getitem__(self, name: str) -> Any:
        return self.said[name]

    @property
    def edition(self) -> str:
        """A quarter, or a version of a data set."""
        return str(self["edition"])

    @property
    def is_main(self) -> bool:
        """Whether it is of the main split."""
        return bool(self["split"] == "main")

    @property
    def is_frozen(self) -> bool:
        """Whether it is of a data set: no calendar, no draw, labels always public."""
        return "@" in self.edition

    @property
    def has_labels(self) -> bool:
        """Whether labels are public."""
        return bool(self["revealed"] or self["resolved"])

    @property
    def name(self) -> str:
        """Edition and task, and the split where it is not the main one."""
        return f"{self.edition}/{short(self['task'])}" + ("" if self.is_main else f"/{PROSPECTIVE}")

    @cached_property
    def hashes(self) -> Mapping[str, str]:
        """SHA-256 of each file by path."""
        return {entry["path"]: entry["sha256"] for entry in self["files"]}

    @property
    def funnel(self) -> Row | None:
        """From rows read to candidates kept, if the field is well-formed."""
        said = self.said.get("collection")
        found = said.get("funnel") if isinstance(said, dict) else None
        return None if misfit(found, _FUNNEL) else found

    @property
    def labels_drawn(self) -> int:
        """The number of labels in the stratified draw."""
        return int((self["selection"] or {}).get("classes", 2))

    @property
    def drawn(self) -> Mapping[str, int]:
        """Samples drawn by period."""
        if (selection := self["selection"]) is not None:
            periods = selection["periods"].items()
            return {name: self.labels_drawn * period["taken_per_class"] for name, period in periods}
        return {name: period["taken"] for name, period in (self["prospective"] or {"periods": {}})["periods"].items()}

    @property
    def opening_content(self) -> str:
        """The manifest's content hash of a data set: of samples as first published, and labels."""
        samples = self["samples_at_opening"] or self.hashes.get(SAMPLES, "")
        return text_hash(canonical({"labels": self.hashes.get(LABELS, ""), "samples": samples}))

    @property
    def unchecked(self) -> list[str]:
        """Claims that cannot be confirmed."""
        unknown = sorted(self.said.keys() - _KNOWN - {name for names in CLAIMS.values() for name in names})
        found = [what for what, names in CLAIMS.items() if any(self.said.get(name) for name in names)]
        more = [f"what the manifest says under {short(', '.join(unknown))}"] if unknown else []
        return ["whether the sources are genuine", *found, *more]


def read_manifest(path: Path) -> ManifestFile:
    """Read an untrusted manifest.

    Raises:
        ValueError: with a phrase that says what is wrong.
    """
    if path.is_symlink() or not path.is_file():
        raise ValueError("no such file")
    if path.stat().st_size > MAX_MANIFEST_BYTES:
        raise ValueError(f"larger than {MAX_MANIFEST_BYTES:,} bytes")
    said = strict_json(path.read_bytes(), _MOST_LEVELS)
    if wrong := misfit(said, _FORM):
        raise ValueError(wrong)
    assert isinstance(said, dict)
    return ManifestFile({**_LEFT_OUT, **said}, file_hash(path))


def statement_faults(manifest: ManifestFile) -> Iterator[str]:
    """Impossible statements of a manifest of any version on calendar, samples, labels and rows."""
    paths = [entry["path"] for entry in manifest["files"]]
    own = {LABELS} if manifest.is_frozen else {LABELS, COMMITMENTS} if manifest.is_main else {OUTCOMES}
    first = {SAMPLES} if manifest.is_frozen or not manifest.is_main else {SAMPLES, COMMITMENTS}
    statements = (
        ("a file is listed twice", len(set(paths)) < len(paths)),
        *((f"{name} is not listed", name not in paths) for name in sorted(first)),
        *((f"{quoted(name)} is listed, and belongs to no release of this kind", True)
          for name in sorted(set(paths) - {SAMPLES, TOMBSTONES, PREDICTIONS, SCORES, *own})),
        (f"revealed, and {LABELS} is not listed", manifest["revealed"] and LABELS not in paths),
        (f"{OUTCOMES} is listed, but the split is not resolved, or vice versa",
         (OUTCOMES in paths) != (manifest["resolved"] is not None)),
        (f"{TOMBSTONES} is listed, but nothing was taken down, or vice versa",
         (TOMBSTONES in paths) != bool(manifest["takedowns"])),
        ("samples_at_opening is given, but nothing was taken down",
         manifest["samples_at_opening"] is not None and not manifest["takedowns"]),
        ("predictions and scores belong together, and one is not listed", (PREDICTIONS in paths) != (SCORES in paths)),
        (
            "the key of the draw is given before the reveal",
            (manifest["draw"] or {}).get("key") is not None and not manifest["revealed"],
        ),
    )  # fmt: skip
    yield from (what for what, is_so in statements if is_so)
    if not manifest.has_labels:
        yield from (f"{name} is listed before the reveal" for name in (LABELS, PREDICTIONS, SCORES) if name in paths)
    yield from _row_faults(manifest)
    yield from _dataset_faults(manifest) if manifest.is_frozen or manifest["dataset"] else _quarter_faults(manifest)
    yield from _collection_faults(manifest)


def _row_faults(manifest: ManifestFile) -> Iterator[str]:
    """Files whose number of rows does not match the samples and takedowns."""
    rows, gone = {entry["path"]: entry["rows"] for entry in manifest["files"]}, len(manifest["takedowns"])
    published = rows.get(SAMPLES, 0) + gone
    drawn = published if manifest.is_frozen else sum(manifest.drawn.values())
    expected = {SAMPLES: drawn - gone, COMMITMENTS: published, LABELS: published, TOMBSTONES: gone}
    for name, number in expected.items():
        if rows.get(name, number) != number:
            yield f"{name} has {rows[name]:,} rows, and {number:,} by the samples that were drawn and taken down"
    if OUTCOMES in rows and not published - gone <= rows[OUTCOMES] <= published:
        yield f"{OUTCOMES} has {rows[OUTCOMES]:,} rows, and there are {published - gone:,} samples"
    if (resolved := manifest["resolved"]) and resolved["labels"] + sum(resolved["dropped"].values()) != rows.get(
        OUTCOMES
    ):
        yield f"the samples that were decided or dropped are not the rows of {OUTCOMES}"


def _dataset_faults(manifest: ManifestFile) -> Iterator[str]:
    if (dataset := manifest["dataset"]) is None:
        yield "it does not say which data set it holds"
        return
    drawn = ("calendar", "selection", "prospective", "draw", "counts", "resolved")
    if not manifest.is_frozen:
        yield f"{manifest.edition} is a quarter, and it says that it holds a data set"
    if not manifest.is_main or any(manifest[part] is not None for part in drawn):
        yield "a data set has no calendar, draw, counts by period or prospective split"
    if not manifest["revealed"]:
        yield "the labels of a data set are public from the start"
    if len(dataset["labels"]) != len(dataset["classes"]):
        yield "it does not say how many samples each class has"


def _quarter_faults(manifest: ManifestFile) -> Iterator[str]:
    calendar = manifest["calendar"]
    if calendar is None:
        yield "it does not say when the quarter opens, closes and is revealed"
    elif not calendar["opens"] < calendar["deadline"] <= calendar["reveals"]:
        yield "the calendar must have the opening before the deadline, and the reveal not before the deadline"
    selection, drawn = manifest["selection"], manifest["prospective"]
    if (selection is not None, drawn is not None) != (manifest.is_main, not manifest.is_main):
        yield f"a release of the {manifest['split']} split must say how that split was drawn, and nothing of another"
    if manifest.is_main and manifest["draw"] is None:
        yield "it does not say what the key of the draw was committed to"
    if not manifest.is_main and manifest["revealed"]:
        yield "a prospective split is resolved, never revealed"
    if selection is not None:
        yield from _selection_faults(manifest, selection)
    for period, item in drawn["periods"].items() if drawn is not None else ():
        if item["taken"] != min(drawn["cap_per_period"], item["pending"]):
            yield (
                f"{short(period)} says that {item['taken']} were taken, of {item['pending']} with a cap of "
                f"{drawn['cap_per_period']}"
            )


def _selection_faults(manifest: ManifestFile, selection: Row) -> Iterator[str]:
    """The number of candidates of each label is private until the reveal."""
    counts, cap, classes = manifest["counts"], selection["cap_per_class_and_period"], manifest.labels_drawn
    if counts is not None and not manifest["revealed"]:
        yield "the counts by label are given before the reveal"
    if counts is not None and counts.keys() != selection["periods"].keys():
        yield "the counts by label are not of the periods that were drawn from"
    kept = (manifest.funnel or {}).get("kept", {})
    for period, item in selection["periods"].items():
        if (found := (counts or {}).get(period)) is None:
            if counts is not None:  # a release that was restored from its publication does not know them
                yield f"{short(period)} does not say how many candidates of each label there were"
            continue
        offered = [found["negatives"], *found.get("others", ())]
        offered += [found["positives"]] if found.get("positives") is not None else []
        if len(offered) != classes:
            yield f"{short(period)} has counts of {len(offered)} labels, and there are {classes}"
        if (taken := item["taken_per_class"]) != min(cap, *offered):
            offers = " and ".join(map(str, offered))
            yield f"{short(period)} says that {taken} of each label were taken, of {offers} with a cap of {cap}"
        if kept and sum(offered) > sum(kept.get(period, {}).values()):
            yield f"{short(period)} has more candidates by label than the collection kept"


def _collection_faults(manifest: ManifestFile) -> Iterator[str]:
    """A funnel that does not add up."""
    if manifest.said.get("collection") and (funnel := manifest.funnel) is None:
        yield "the collection does not say how many rows were dropped and kept"
    elif manifest.said.get("collection") and funnel is not None:
        kept = sum(sum(of_period.values()) for of_period in funnel["kept"].values())
        if funnel["rows_in"] != kept + sum(drop["count"] for drop in funnel["drops"]):
            yield "the rows of the collection are not those that were dropped and those that were kept"


def bad_path(path: str) -> str:
    """The fault of a listed path; empty if valid."""
    if not _PATH.fullmatch(path):
        return f"{quoted(path)} is not a path of plain names below the release's folder"
    if path == MANIFEST or path.startswith(f"{PREVIOUS}/"):
        return f"{path!r} is listed, but is the manifest itself or one of its versions"
    return ""


def file_faults(folder: Path, manifest: ManifestFile) -> Iterator[str]:
    """Files that differ from the manifest's list."""
    for entry in manifest["files"]:
        name, path = entry["path"], folder / entry["path"]
        if wrong := bad_path(name):
            yield wrong
        elif any((folder / part).is_symlink() for part in (name, *map(str, Path(name).parents))) or not path.is_file():
            yield f"{name} is listed, but there is no such plain file"
        else:
            if (size := path.stat().st_size) != entry["size"]:
                yield f"{name} has {size:,} bytes, not {entry['size']:,}"
            elif file_hash(path) != entry["sha256"]:
                yield f"{name} has other bytes than the manifest says"
            if name.endswith(".jsonl") and (count := _count_lines(path)) != entry["rows"]:
                yield f"{name} has {count:,} rows, not {entry['rows']:,}"


def _count_lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))


def unlisted(folder: Path, manifest: ManifestFile, kept: int) -> Iterator[str]:
    """Files that are not listed; a prospective split has a manifest of its own that lists its files.

    Args:
        folder, manifest: the release.
        kept: number of earlier manifests found.
    """
    earlier = (f"{PREVIOUS}/{manifest['version'] - 1 - k}.json" for k in range(kept))
    known, beside = {MANIFEST, *manifest.hashes, *earlier}, folder / PROSPECTIVE
    try:  # the release's own prospective split, which is checked separately
        listed_there = read_manifest(beside / MANIFEST).name == f"{manifest.name}/{PROSPECTIVE}"
    except ValueError:
        listed_there = False
    for path in sorted(folder.rglob("*")):
        inside = listed_there and (path == beside or beside in path.parents)
        name = path.relative_to(folder).as_posix()
        if path.is_symlink() or (not inside and not path.is_dir() and name not in known):
            yield f"{quoted(name)} is not listed{' and is a link' if path.is_symlink() else ''}"


def stray(edition: Path) -> Iterator[str]:
    """Entries of an edition's folder that belong to no release."""
    there = {path.name: path for path in edition.iterdir()}
    ratings = there.pop(RATINGS, None)
    for name, path in sorted(there.items()):
        if path.is_symlink() or not _is_of(edition, path):
            yield f"{quoted(name)} is not a release, and lies beside the tasks of {edition.name}"
    rated = {f"{task}.{end}" for task in there for end in RATING_FILES}
    for path in sorted(ratings.rglob("*")) if ratings is not None else ():
        if path.name not in rated or path.is_symlink() or path.parent != ratings:
            yield f"{quoted(path.relative_to(edition).as_posix())} belongs to no task of {edition.name}"


def _is_of(edition: Path, folder: Path) -> bool:
    """Whether a folder is a release of an edition's task, or only holds its prospective split."""
    is_main = (folder / MANIFEST).is_file()
    if not is_main and (not folder.is_dir() or [path.name for path in folder.iterdir()] != [PROSPECTIVE]):
        return False
    try:
        manifest = read_manifest(folder / MANIFEST if is_main else folder / PROSPECTIVE / MANIFEST)
    except ValueError:
        return False
    return (manifest.edition, manifest["task"], manifest.is_main) == (edition.name, folder.name, is_main)


def history(folder: Path, now: ManifestFile) -> tuple[list[str], list[str], list[str]]:
    """Follow the earlier manifests and check each against the rules of its time.

    Returns:
        The SHA-256 of each, newest first; their faults; and their claims that cannot be confirmed.
    """
    hashes: list[str] = []
    seen = {entry["sha256"]: entry for entry in now["files"]}
    gone: set[str] = set()
    faults: list[str] = []
    newer, size = now, 0
    while (version := newer["version"]) > 1:
        try:
            older = _before(folder, newer)
        except ValueError as error:
            return hashes, [*faults, str(error)], []
        hashes.append(older.sha256)
        size += (folder / PREVIOUS / f"{version - 1}.json").stat().st_size
        if len(hashes) > MAX_VERSIONS or size > MAX_HISTORY_BYTES:
            most = f"{MAX_VERSIONS:,} earlier versions, or {MAX_HISTORY_BYTES:,} bytes of them"
            return hashes, [*faults, f"more than {most}"], []
        faults += (f"version {version - 1}: {what}" for what in statement_faults(older))
        faults += (f"from version {version - 1} to {version}: {what}" for what in _changes(older, newer))
        for entry in older["files"]:
            same = seen.setdefault(entry["sha256"], entry)
            if (same["size"], same["rows"]) != (entry["size"], entry["rows"]):
                faults.append(
                    f"version {version - 1}: {quoted(entry['path'])} has another size or other rows than later"
                )
            if now.hashes.get(entry["path"]) != entry["sha256"]:
                gone.add(short(entry["path"]))
        newer = older
    faults += ["version 1 names one before it"] if newer["previous"] else []
    faults += ["version 1 is revealed or resolved"] if newer.has_labels and not newer.is_frozen else []
    unchecked = [f"sizes and hashes of former versions of {', '.join(sorted(gone))}"] if gone else []
    return hashes, faults, unchecked


def _before(folder: Path, newer: ManifestFile) -> ManifestFile:
    """The earlier manifest that a manifest names; raises ValueError with a phrase."""
    path = f"{PREVIOUS}/{newer['version'] - 1}.json"
    if newer["previous"] is None or newer["previous"]["path"] != path:
        raise ValueError(f"version {newer['version']} does not name {path} as the one before it")
    try:
        older = read_manifest(folder / path)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    if older.sha256 != newer["previous"]["sha256"]:
        raise ValueError(f"{path} is not the manifest that version {newer['version']} names")
    return older


def _changes(older: ManifestFile, newer: ManifestFile) -> Iterator[str]:
    """Changes between two versions that are forbidden."""
    if older["version"] != newer["version"] - 1:
        yield f"the one before says that it is version {older['version']}"
    for name in (*_FIXED, *sorted(older.said.keys() - _KNOWN)):
        if name not in newer.said or canonical(newer[name]) != canonical(older[name]):
            yield f"{short(name)} has changed"
    for name in ("resolved", "counts", "samples_at_opening"):
        if older[name] is not None and newer[name] != older[name]:
            yield f"{name} has changed"
    before, after = older.hashes, newer.hashes
    fixed = {COMMITMENTS, LABELS, OUTCOMES} | ({SAMPLES} if older["takedowns"] == newer["takedowns"] else set())
    statements = (
        ("the commitment to the draw has changed",
         (older["draw"] or {}).get("commitment") != (newer["draw"] or {}).get("commitment")),
        ("what was revealed is no longer revealed", older["revealed"] and not newer["revealed"]),
        ("a correction has been taken back", newer["corrections"][: len(older["corrections"])] != older["corrections"]),
        ("a takedown has been taken back", any(item not in newer["takedowns"] for item in older["takedowns"])),
        ("samples_at_opening is not the hash of the samples before the first takedown",
         bool(newer["takedowns"]) and not older["takedowns"] and newer["samples_at_opening"] != before.get(SAMPLES)),
        *((f"{name} has changed", after.get(name) != before[name]) for name in sorted(before.keys() & fixed)),
        *((f"{name} is not listed any more", True) for name in sorted(before.keys() - after.keys())),
    )  # fmt: skip
    yield from (what for what, is_so in statements if is_so)
    if not newer.is_frozen:  # in a data set, participants may resubmit or withdraw
        yield from _lost_rows(older["files"], newer["files"], len(newer["takedowns"]))


def _lost_rows(before: Sequence[Row], after: Sequence[Row], gone: int) -> Iterator[str]:
    """Predictions and scores are only added. A takedown removes one prediction for each entry and prompt, and each of
    these has at least two scores: for its period and for all.
    """
    rows_before, rows_after = ({entry["path"]: entry["rows"] for entry in files} for files in (before, after))
    for name in (PREDICTIONS, SCORES):
        lost = rows_before.get(name, 0) - rows_after.get(name, 0)
        if lost > gone * (rows_before.get(SCORES, 0) // 2):
            yield f"{lost:,} rows of {name} are missing, with {gone:,} samples taken down"
