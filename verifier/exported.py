"""A folder that was exported for lm-eval-harness: its samples, code and tasks must be those of the release."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from verifier.checks import Check
from verifier.content import read_content
from verifier.manifest import MANIFEST, SAMPLES, read_manifest
from verifier.reading import Row, few, rows

_FORM = {"id": str, "group": str, "label": range(128), "target": str, "*": str}
_CODE = '''"""Made by `hellofresh release export`: samples, the reading of answers, and metrics of the task."""

from pathlib import Path

from hellofresh.api.harnesses.lm_eval_scores import aggregation, loader, processor

load = loader(Path(__file__).parent)
process = processor({task!r})
{metrics}
'''
_TASK = """task: {name}
custom_dataset: !function utils.load
test_split: test
output_type: generate_until
doc_to_text: {column}
doc_to_target: target
process_results: !function utils.process
generation_kwargs: {options}
metric_list:
{metrics}
metadata:
  version: 2
"""
_ENDS = (("", "value"), ("_low", "low"), ("_high", "high"))


def exported_checks(folder: Path, releases: Sequence[Path]) -> list[Check]:
    """Whether an exported folder is what one of some releases gives.

    Args:
        folder: with `samples.jsonl`, `utils.py` and a file for each task.
        releases: folders of releases, of which it is of one.
    """
    for release in releases:
        manifest = read_manifest(release / MANIFEST)
        group = _spelled(f"hellofresh_{manifest['task']}_{manifest.edition}")
        if manifest.is_main and (folder / f"_{group}.yaml").is_file():
            faults: list[str] = []
            exported: dict[str, Row] = {}
            for number, row in rows(folder / SAMPLES, _FORM, faults):
                faults += [f"line {number}: {row['id'][:80]!r} is there twice"] if row["id"] in exported else []
                exported[row["id"]] = row
            faults += _row_faults(release, exported)
            faults += _file_faults(folder, release, group, exported)
            said = f"{len(exported):,} samples with their labels, texts and metrics"
            return [Check(folder.as_posix(), "exported", said, faults, unchecked=("the wording of prompts",))]
    return [Check(folder.as_posix(), "exported", "", ("it is of none of the releases that are checked",))]


def _spelled(name: str) -> str:
    return "".join(char if char.isalnum() else "_" for char in name)


def _row_faults(release: Path, exported: Mapping[str, Row]) -> Iterator[str]:
    content = read_content(release, read_manifest(release / MANIFEST))
    yield from few(exported.keys() - content.places.keys(), "is exported and is not a sample")
    ignored: list[str] = []
    for _, sample in rows(release / SAMPLES, object, ignored):
        texts, row = list(_texts(sample)), exported.get(sample["id"])
        if row is None:
            if texts:  # what has no text is not asked about
                yield f"{sample['id'][:80]!r} is not exported"
            continue
        label = int(content.labels[content.places[sample["id"]]])
        asked = [text for name, text in row.items() if name.startswith("asked_")]
        said = {"group": sample["group"], "label": label, "target": content.classes[label]}
        other = [name for name, value in said.items() if row[name] != value]
        if not asked or any(text not in question for text in texts for question in asked):
            other.append("what is asked")
        if other:
            yield f"{sample['id'][:80]!r}: {', '.join(other)} is not that of the release"


def _texts(value: object) -> Iterator[str]:
    """The texts of a sample that every question holds."""
    for name, inside in value.items() if isinstance(value, dict) else ():
        if name in {"text", "statement"} and isinstance(inside, str) and inside:
            yield inside
        yield from _texts(inside)


def _file_faults(folder: Path, release: Path, group: str, exported: Mapping[str, Row]) -> Iterator[str]:
    """Files that say or do something else than an export."""
    manifest = read_manifest(release / MANIFEST)
    metrics = read_content(release, manifest).metrics
    figures = [(f"{metric.name}{end}", metric.name, part) for metric in metrics for end, part in _ENDS]
    code = [f"{_spelled(name)} = aggregation({manifest['task']!r}, {of!r}, {part!r})" for name, of, part in figures]
    listed = "\n".join(
        f"  - metric: {name}\n    aggregation: !function utils.{_spelled(name)}\n    higher_is_better: true"
        for name, _, _ in figures
    )
    columns = [name for name in next(iter(exported.values()), {}) if name.startswith("asked_")]
    names = {column: f"{group}_{column.removeprefix('asked_')}" for column in columns}
    wanted = {"utils.py": _CODE.format(task=manifest["task"], metrics="\n".join(code))}
    for column, name in names.items():
        path = folder / f"{name}.yaml"
        found = re.search(r"^generation_kwargs: (.*)$", path.read_text() if path.is_file() else "", re.MULTILINE)
        tokens = json.loads(found[1]).get("max_gen_toks") if found else 0
        options = json.dumps({"until": [], "do_sample": False, "temperature": 0.0, "max_gen_toks": tokens})
        wanted[path.name] = _TASK.format(name=name, column=column, options=options, metrics=listed)
    there = {path.name for path in folder.iterdir()} - {SAMPLES, f"_{group}.yaml"}
    tasks = sorted((folder / f"_{group}.yaml").read_text().splitlines())
    if tasks != sorted([f"group: {group}", "task:", *(f"  - {name}" for name in names.values())]):
        yield f"_{group}.yaml does not name the tasks that there are"
    yield from few(there ^ wanted.keys(), "is not both exported and expected")
    yield from few(
        (name for name in there & wanted.keys() if (folder / name).read_text() != wanted[name]), "is not as exported"
    )
