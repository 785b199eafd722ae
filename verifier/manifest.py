"""The outside of a release: its manifest, the files that it lists, and the manifests before it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from verifier.reading import COUNT, SHA256, UTC_TIME, Form, Row, canonical, file_hash, misfit, strict_json, text_hash

MANIFEST, PREVIOUS, PROSPECTIVE = "manifest.json", "manifests", "prospective"
SAMPLES, COMMITMENTS, LABELS = "samples.jsonl", "commitments.jsonl", "labels.jsonl"
OUTCOMES, TOMBSTONES, PREDICTIONS, SCORES = "outcomes.jsonl", "tombstones.jsonl", "predictions.jsonl", "scores.jsonl"
RATINGS = "ratings"
RATING_FILES = ("parquet", "key.parquet", "rubric.toml", "standings.jsonl")
"""The folder of published ratings, beside the tasks of an edition, and the ends of its files of a task."""
_POSITIVE = range(1, COUNT.stop)
MAX_MANIFEST_BYTES, MAX_HISTORY_BYTES, MAX_VERSIONS = 50_000_000, 200_000_000, 1000
"""The second is of all earlier versions of a manifest together."""
_MOST_LEVELS = 16
_NAME = "[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}"
_PATH = re.compile(rf"{_NAME}(/{_NAME}){{0,3}}")
EDITION = re.compile(r"[12][0-9]{3}Q[1-4]|[a-z0-9]+(-[a-z0-9]+)*@[a-z0-9]+([.-][a-z0-9]+)*")
"""A quarter, or a version of a data set."""

_DRAWN = {"seed": str, "period": str, "rule": str}
_FUNNEL = {
    **{"unit": str, "rows_in": COUNT, "kept": {"*": {"*": COUNT}}, "*": object},
    "drops": [{"reason": str, "meaning": str, "count": COUNT}],
}
_MAY_HAVE: dict[str, Form] = {
    "calendar": {"opens": UTC_TIME, "deadline": UTC_TIME, "reveals": UTC_TIME},
    "previous": {"path": str, "sha256": SHA256},
    "selection": {
        **{**_DRAWN, "cap_per_class_and_period": _POSITIVE, "classes?": range(1, 128)},
        "periods": {"*": {"taken_per_class": COUNT, "*": COUNT}},
    },
    "counts": {"*": {"positives?": (COUNT, None), "others?": [COUNT], "negatives": COUNT}},
    "prospective": {**_DRAWN, "cap_per_period": _POSITIVE, "periods": {"*": {"pending": COUNT, "taken": COUNT}}},
    "draw": {"commitment": SHA256, "key?": (str, None)},
    "samples_at_opening": SHA256,
    "resolved": {
        **{"at": str, "labels": COUNT, "dropped": {"*": COUNT}, "reasons": {"*": str}},
        "collection": {
            "source": str,
            "sources": [{"name": str, "size": COUNT, "sha256": str}],
            "parameters": {"*": object},
        },
    },
    "dataset": {
        **dict.fromkeys(("name", "address", "published", "licence"), str),
        **{"classes": [str], "labels": [COUNT], "content": SHA256},
    },
}
_FORM: Form = {
    **{"format": range(1, 3), "version": _POSITIVE, "task": str, "edition": EDITION, "source": str},
    "split?": re.compile(f"main|{PROSPECTIVE}"),
    "files": [{"path": str, "size": COUNT, "sha256": SHA256, "rows": COUNT}],
    "revealed?": bool,
    "texts?": re.compile("included|withheld"),
    "takedowns?": [{"id": str, "reason": str, "date": str}],
    **{f"{name}?": (form, None) for name, form in _MAY_HAVE.items()},
    "*": object,
}
_LEFT_OUT: Row = {"split": "main", "texts": "included", "revealed": False, "takedowns": [], **dict.fromkeys(_MAY_HAVE)}
_KNOWN = {name.rstrip("?") for name in _FORM}
CLAIMS = {
    "code": ("code", "commitments"),
    "the sources, settings and counts of the collection": ("collection", "source", "resolved"),
    "the comparison with earlier quarters": ("across_quarters",),
    "seed and rule of the draw": ("selection", "prospective"),
    "days of the calendar": ("calendar",),
    "name, address, day and licence of the data set": ("dataset",),
    "reasons and days of takedowns": ("takedowns",),
}
"""What of a manifest nothing in a release can confirm, with the fields that it stands in."""
_FIXED = ("task", "edition", "source", "split", "texts", "calendar", "selection", "prospective", "dataset")


@dataclass(frozen=True)
class Manifest:
    """A manifest, with the usual values of what it leaves out, and the SHA-256 of its bytes."""

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
        """Whether it is of a data set: no calendar, no draw, labels public from the start."""
        return "@" in self.edition

    @property
    def has_labels(self) -> bool:
        """Whether labels are public."""
        return bool(self["revealed"] or self["resolved"])

    @property
    def name(self) -> str:
        """Edition and task, and the split where it is not the main one."""
        return f"{self.edition}/{self['task'][:80]}" + ("" if self.is_main else f"/{PROSPECTIVE}")

    @cached_property
    def hashes(self) -> Mapping[str, str]:
        """SHA-256 of each file by path."""
        return {entry["path"]: entry["sha256"] for entry in self["files"]}

    @property
    def funnel(self) -> Row | None:
        """From rows in to candidates kept, if that is said in the form it must have."""
        said = self.said.get("collection")
        found = said.get("funnel") if isinstance(said, dict) else None
        return None if misfit(found, _FUNNEL) else found

    @property
    def candidates(self) -> Mapping[str, int]:
        """How many the collection kept, by period."""
        return {period: sum(kept.values()) for period, kept in (self.funnel or {"kept": {}})["kept"].items()}

    @property
    def labels_drawn(self) -> int:
        """How many labels samples were drawn by."""
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
        """The hash of a data set's content by its own account: of samples as first published, and labels."""
        samples = self["samples_at_opening"] or self.hashes.get(SAMPLES, "")
        return text_hash(canonical({"labels": self.hashes.get(LABELS, ""), "samples": samples}))

    @property
    def unchecked(self) -> list[str]:
        """What it says that nothing confirms."""
        unknown = sorted(self.said.keys() - _KNOWN - {name for names in CLAIMS.values() for name in names})
        found = [what for what, names in CLAIMS.items() if any(self.said.get(name) for name in names)]
        more = [f"what the manifest says under {', '.join(unknown)[:200]}"] if unknown else []
        return ["whether the sources are genuine", *found, *more]


def read_manifest(path: Path) -> Manifest:
    """Read a manifest that may be anything.

    Raises:
        ValueError: with a phrase that says what is wrong.
    """
    if path.is_symlink() or not path.is_file():
        raise ValueError("no such file")
    if path.stat().st_size > MAX_MANIFEST_BYTES:
        raise ValueError(f"larger than {MAX_MANIFEST_BYTES:,} bytes")
    said = strict_json(path.read_bytes(), _MOST_LEVELS)
    if isinstance(said, dict) and said.get("format") == 1 and "quarter" in said:
        said["edition"] = said.pop("quarter")
    if wrong := misfit(said, _FORM):
        raise ValueError(wrong)
    assert isinstance(said, dict)
    return Manifest({**_LEFT_OUT, **said}, file_hash(path))


def statement_faults(manifest: Manifest) -> Iterator[str]:
    """What a manifest says of its files, calendar, draw and collection that cannot be."""
    listed, days = [entry["path"] for entry in manifest["files"]], manifest["calendar"]
    revealed, is_main, drawn = manifest["revealed"], manifest.is_main, manifest["prospective"]
    selection, draw, dataset, counts = (manifest[name] for name in ("selection", "draw", "dataset", "counts"))
    early = {LABELS, *(() if manifest["resolved"] else (PREDICTIONS, SCORES))}
    early = early if not manifest.has_labels or manifest["resolved"] else set()
    funnel, kept = manifest.funnel or {"drops": [], "rows_in": 0}, manifest.candidates
    is_dataset = manifest.is_frozen or dataset is not None
    statements = {
        "a file is listed twice": len(set(listed)) < len(listed),
        f"{SAMPLES} is not listed": SAMPLES not in listed,
        f"revealed, and {LABELS} is not listed": revealed and LABELS not in listed,
        "predictions and scores belong together, and one is not listed": (PREDICTIONS in listed) != (SCORES in listed),
        "the key of the draw is there before the reveal": bool((draw or {}).get("key")) and not revealed,
        **{f"{name} is listed before the reveal": name in listed for name in sorted(early)},
        "the collection does not say how many rows were dropped and kept": manifest.said.get("collection")
        and manifest.funnel is None,
        "the rows of the collection are not those that were dropped and those that were kept": funnel["rows_in"]
        != sum(kept.values()) + sum(drop["count"] for drop in funnel["drops"]),
    }
    of_dataset = {
        "it does not say which data set it holds": dataset is None,
        f"{manifest.edition} is a quarter, and it says that it holds a data set": not manifest.is_frozen,
        "a data set has no calendar, draw, counts by period or prospective split": not is_main
        or any((days, selection, drawn, draw, counts, manifest["resolved"])),
        "the labels of a data set are public from the start": not revealed,
        "it does not say how many samples each class has": dataset is not None
        and len(dataset["labels"]) != len(dataset["classes"]),
    }
    of_quarter = {
        "the calendar must have the opening before the deadline, and the reveal not before the deadline": days
        and not days["opens"] < days["deadline"] <= days["reveals"],
        f"a release of the {manifest['split']} split must say how that split was drawn, and nothing of another": (
            selection is not None,
            drawn is not None,
        )
        != (is_main, not is_main),
        "it does not say what the key of the draw was committed to": is_main and selection and days and draw is None,
        "a prospective split is resolved, never revealed": not is_main and revealed,
        "the counts by label are there before the reveal": counts is not None and not revealed,
        "it does not say how many candidates of each label there were": revealed
        and counts is None
        and not all("negatives" in item for item in (selection or {"periods": {}})["periods"].values()),
        "the counts by label are not of the periods that were drawn from": counts is not None
        and counts.keys() != (selection or {"periods": {}})["periods"].keys(),
    }
    yield from (what for what, is_so in (statements | (of_dataset if is_dataset else of_quarter)).items() if is_so)
    yield from _period_faults(manifest, selection or {}, drawn or {})


def _period_faults(manifest: Manifest, selection: Row, drawn: Row) -> Iterator[str]:
    """Periods from which another number was taken than candidates and caps allow."""
    for period, item in drawn.get("periods", {}).items():
        if item["taken"] != min(drawn["cap_per_period"], item["pending"]):
            yield f"{period[:20]} says that {item['taken']} were taken, of {item['pending']}"
    taken = {period: item["taken_per_class"] for period, item in selection.get("periods", {}).items()}
    for period, found in (manifest["counts"] or {}).items() if selection else ():
        labels = (found["negatives"], found.get("positives"), *found.get("others", ()))
        offered = [count for count in labels if count is not None]
        if len(offered) != manifest.labels_drawn:
            yield f"{period[:20]} has counts of {len(offered)} labels, and there are {manifest.labels_drawn}"
        if taken.get(period) != min(selection["cap_per_class_and_period"], *offered):
            yield f"{period[:20]} says that {taken.get(period)} of each label were taken, of {offered}"
        if manifest.candidates and sum(offered) > manifest.candidates.get(period, 0):
            yield f"{period[:20]} has more candidates by label than the collection kept"


def bad_path(path: str) -> str:
    """What is wrong with a path that a manifest lists; empty if nothing."""
    if not _PATH.fullmatch(path):
        return f"{path[:100]!r} is not a path of plain names below the release's folder"
    if path == MANIFEST or path.startswith(f"{PREVIOUS}/"):
        return f"{path!r} is listed, but is the manifest itself or one of its versions"
    return ""


def file_faults(folder: Path, manifest: Manifest) -> Iterator[str]:
    """What about the files is not as listed."""
    for entry in manifest["files"]:
        name, path = entry["path"], folder / entry["path"]
        if wrong := bad_path(name):
            yield wrong
        elif any((folder / part).is_symlink() for part in (name, *map(str, Path(name).parents))) or not path.is_file():
            yield f"{name} is listed, but there is no such plain file"
        else:
            with path.open("rb") as file:
                lines = sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))
            if (size := path.stat().st_size) != entry["size"]:
                yield f"{name} has {size:,} bytes, not {entry['size']:,}"
            elif file_hash(path) != entry["sha256"]:
                yield f"{name} has other bytes than the manifest says"
            if name.endswith(".jsonl") and lines != entry["rows"]:
                yield f"{name} has {lines:,} rows, not {entry['rows']:,}"


def unlisted(folder: Path, manifest: Manifest, kept: int) -> Iterator[str]:
    """Files that nothing lists; the prospective split of a release has a manifest of its own that lists its files.

    Args:
        folder, manifest: the release.
        kept: number of earlier manifests that were found.
    """
    earlier = (f"{PREVIOUS}/{manifest['version'] - 1 - k}.json" for k in range(kept))
    known, beside = {MANIFEST, *manifest.hashes, *earlier}, folder / PROSPECTIVE
    try:  # the release's own prospective split, which is checked for itself
        listed_there = manifest.is_main and read_manifest(beside / MANIFEST).name == f"{manifest.name}/{PROSPECTIVE}"
    except ValueError:
        listed_there = False
    for path in sorted(folder.rglob("*")):
        inside = listed_there and (path == beside or beside in path.parents)
        name = path.relative_to(folder).as_posix()
        if path.is_symlink() or (not inside and not path.is_dir() and name not in known):
            yield f"{name[:200]!r} is not listed{' and is a link' if path.is_symlink() else ''}"


def stray(edition: Path) -> Iterator[str]:
    """What lies beside the tasks of an edition and belongs to none of them."""
    there = {path.name: path for path in edition.iterdir()}
    ratings = there.pop(RATINGS, None)
    for name, path in sorted(there.items()):
        drawn = any((path / split / MANIFEST).is_file() for split in ("", PROSPECTIVE))
        if path.is_symlink() or not drawn:
            yield f"{name[:100]!r} is not a release, and lies beside the tasks of {edition.name}"
    rated = {f"{task}.{end}" for task in there for end in RATING_FILES}
    for path in sorted(ratings.rglob("*")) if ratings is not None else ():
        if path.name not in rated or path.is_symlink() or path.parent != ratings:
            yield f"{path.relative_to(edition).as_posix()[:100]!r} belongs to no task of {edition.name}"


def history(folder: Path, now: Manifest) -> tuple[list[str], list[str]]:
    """Follow the manifests before this one: the SHA-256 of each, newest first, and what is wrong with them."""
    hashes: list[str] = []
    faults: list[str] = []
    newer, size = now, 0
    while (version := newer["version"]) > 1:
        name, named = f"{PREVIOUS}/{version - 1}.json", newer["previous"] or {"path": "", "sha256": ""}
        try:
            if named["path"] != name:
                raise ValueError("not what the one after it names")
            older = read_manifest(folder / name)
        except ValueError as error:
            return hashes, [*faults, f"{name}: {error}"]
        if older.sha256 != named["sha256"]:
            return hashes, [*faults, f"{name} is not the manifest that version {version} names"]
        hashes.append(older.sha256)
        size += (folder / name).stat().st_size
        if len(hashes) > MAX_VERSIONS or size > MAX_HISTORY_BYTES:
            most = f"{MAX_VERSIONS:,} earlier versions, or {MAX_HISTORY_BYTES:,} bytes of them"
            return hashes, [*faults, f"more than {most}"]
        faults += (f"from version {version - 1} to {version}: {what}" for what in _changes(older, newer))
        newer = older
    return hashes, [*faults, *(["version 1 names one before it"] if newer["previous"] else [])]


def _changes(older: Manifest, newer: Manifest) -> Iterator[str]:
    """What must not change from one version to the next, and has."""
    if older["version"] != newer["version"] - 1:
        yield f"the one before says that it is version {older['version']}"
    said = [{**one.said, "the commitment to the draw": (one["draw"] or {}).get("commitment")} for one in (older, newer)]
    fixed = {*_FIXED, *(older.said.keys() - _KNOWN), "the commitment to the draw"}
    fixed |= {name for name in ("revealed", "resolved", "counts", "samples_at_opening") if older[name]}
    for name in sorted(fixed):
        if name not in said[1] or canonical(said[0][name]) != canonical(said[1][name]):
            yield f"{name[:80]} has changed"
    before, after, gone = older.hashes, newer.hashes, newer["takedowns"]
    if any(item not in gone for item in older["takedowns"]):
        yield "a takedown has been taken back"
    if gone and not older["takedowns"] and newer["samples_at_opening"] != before.get(SAMPLES):
        yield "samples_at_opening is not the hash of the samples before the first takedown"
    unchanging = {COMMITMENTS, LABELS, OUTCOMES, *([SAMPLES] if gone == older["takedowns"] else [])}
    for name in sorted(before):
        if name not in after:
            yield f"{name} is not listed any more"
        elif name in unchanging and after[name] != before[name]:
            yield f"{name} has changed"
    if not newer.is_frozen:  # of a data set, whoever takes part may submit again, or leave
        yield from _lost_rows(older["files"], newer["files"], len(gone))


def _lost_rows(before: Sequence[Row], after: Sequence[Row], gone: int) -> Iterator[str]:
    """Predictions and scores are only added. Of a sample that was taken down one prediction goes for each entry and
    prompt, and each of these has two scores at least: of a period, and of all.
    """
    rows_before, rows_after = ({entry["path"]: entry["rows"] for entry in files} for files in (before, after))
    for name in (PREDICTIONS, SCORES):
        lost = rows_before.get(name, 0) - rows_after.get(name, 0)
        if lost > gone * (rows_before.get(SCORES, 0) // 2):
            yield f"{lost:,} rows of {name} are missing, with {gone:,} samples taken down"
