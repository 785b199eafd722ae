"""Each rule of the verifier on a table of cases: what is said, and the faults that are found, no more and no fewer."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student

from hellofresh.core.files import canonical_json, sha256_text, write_json, write_jsonl
from hellofresh.stats import intervals, retrieval
from hellofresh.stats.clusters import cluster_tables
from hellofresh.stats.draws import bootstrap_limits
from hellofresh.stats.metrics import forecast_metrics, mean, rank_correlation
from verifier.checks import Check, _figure_check, _survive, report_lines
from verifier.content import TASKS, Content, EntryName, _odd_sample, _other_shape, read_content
from verifier.manifest import ManifestFile, _changes, read_manifest, statement_faults
from verifier.ratings import PeopleCheck, StudyCheck, _alpha, _Criterion
from verifier.reading import MOST_FAULTS, by_id, first_of, strict_json
from verifier.scores import BadFigureError, FigureName, Handover, ScoreCheck, VerifiedFigure, agree
from verifier.statistics import (
    FISHER,
    NONE,
    WILSON,
    OwnMetric,
    RankMetric,
    _drawn_errors,
    bootstrap_interval,
    forecast_sums,
    interval,
    number_sums,
    rank_sums,
    ranking_measures,
    t_quantile,
)

FUNNEL = {
    "unit": "rows", "rows_in": 10, "drops": [{"reason": "x", "meaning": "y", "count": 3}],
        "kept": {"2023-04": {"a": 7}},
}  # fmt: skip
DRAWN = {"seed": "s", "period": "month", "rule": "r"}
DAYS = {"opens": "2023-07-01T00:00:00Z", **dict.fromkeys(("deadline", "reveals"), "2023-07-15T00:00:00Z")}
QUARTER: dict[str, Any] = {
    "format": 1, "version": 1, "task": "x-notes", "edition": "2023Q2", "source": "s", "collection": {"funnel": FUNNEL},
    "selection": {**DRAWN, "cap_per_class_and_period": 2, "periods": {"2023-04": {"taken_per_class": 2}}},
    "calendar": DAYS, "draw": {"commitment": "0" * 64}, "files": {"samples": 4, "commitments": 4},
}  # fmt: skip
REVEALED: dict[str, Any] = {
    **QUARTER, "version": 2, "revealed": True, "counts": {"2023-04": {"negatives": 5, "positives": 2}},
    "draw": {"commitment": "0" * 64, "key": "k"}, "files": {**QUARTER["files"], "labels": 4},
}  # fmt: skip
SPLIT: dict[str, Any] = {
    **QUARTER, "split": "prospective", "selection": None, "draw": None, "files": {"samples": 4},
    "prospective": {**DRAWN, "cap_per_period": 5, "periods": {"2023-04": {"pending": 4, "taken": 4}}},
}  # fmt: skip
COLLECTED = {"source": "", "sources": [], "parameters": {}}
RESOLVED: dict[str, Any] = {
    **SPLIT, "version": 2, "files": {"samples": 4, "outcomes": 4},
    "resolved": {"at": "", "labels": 3, "dropped": {"late": 1}, "reasons": {}, "collection": COLLECTED},
}  # fmt: skip
DATASET = {
    **dict.fromkeys(("name", "address", "published", "licence"), "x"), "classes": ["a", "b"], "labels": [2, 2],
    "content": "0" * 64,
}  # fmt: skip
FROZEN: dict[str, Any] = {
    "format": 1, "version": 1, "task": "fever", "edition": "fever@1", "source": "s", "revealed": True,
    "dataset": DATASET, "files": {"samples": 4, "labels": 4},
}  # fmt: skip
GONE: dict[str, Any] = {
    "takedowns": [{"id": "1", "reason": "r", "date": "d"}], "samples_at_opening": sha256_text("samples"),
    "files": {"samples": 3, "tombstones": 1},
}  # fmt: skip
OF_PREDICTIONS = {"predictions": 8, "scores": 16}


def manifest(folder: Path, base: dict[str, Any], changes: dict[str, Any], other: str = "") -> ManifestFile:
    """A manifest with changes; `files` has the rows of each, None for no such file; `other` has other bytes."""
    files = {**base["files"], **changes.get("files", {})}
    entries = [
        {"path": f"{name}.jsonl", "size": 1, "sha256": sha256_text(f"{name}{name == other or ''}"), "rows": rows}
        for name, rows in files.items()
        if rows is not None
    ]
    write_json(folder / "manifest.json", {**base, **changes, "files": entries})
    return read_manifest(folder / "manifest.json")


def named(found: list[str], expected: tuple[str, ...]) -> bool:
    return len(found) == len(expected) and all(one in fault for fault, one in zip(found, expected, strict=True))


def counted(**counts: Any) -> dict[str, Any]:
    return {"counts": {"2023-04": counts}}


def drawn(base: dict[str, Any], **values: Any) -> dict[str, Any]:
    part = "selection" if base["selection"] else "prospective"
    return {part: {**base[part], **values}}


BEFORE, DROPPED = "is listed before the reveal", "decided or dropped are not the rows of outcomes.jsonl"
NOT_DRAWN, NO_DRAW = "must say how that split was drawn, and nothing of another", "a data set has no calendar, draw"
NOT_DAYS, TURNED = "must have the opening before the deadline", "or vice versa"
THREE = {"files": {"samples": 6, "commitments": 6, "labels": 6}, **drawn(QUARTER, classes=3)}


@pytest.mark.parametrize(("base", "changes", "faults"), [
    *((base, {}, ()) for base in (QUARTER, REVEALED, SPLIT, RESOLVED, FROZEN)),
    *((base, GONE, ()) for base in (QUARTER, REVEALED, SPLIT, RESOLVED, FROZEN)),
    (QUARTER, {"files": {"samples": None}}, ("samples.jsonl is not listed", "commitments.jsonl has 4 rows, and 0 by")),
    (QUARTER, {"files": {"commitments": None}}, ("commitments.jsonl is not listed",)),
    (QUARTER, {"files": {"commitments": 5}}, ("commitments.jsonl has 5 rows, and 4 by the samples that were drawn",)),
    (QUARTER, {"files": {"outcomes": 4}}, ("'outcomes.jsonl' is listed, and belongs to no release of this", TURNED)),
    (QUARTER, {"files": {"labels": 4}}, (f"labels.jsonl {BEFORE}",)),
    (QUARTER, {"files": {"predictions": 1}}, ("predictions and scores belong together", f"predictions.jsonl {BEFORE}")),
    (QUARTER, {"files": OF_PREDICTIONS}, (f"predictions.jsonl {BEFORE}", f"scores.jsonl {BEFORE}")),
    (QUARTER, {"files": {"tombstones": 0}}, (f"tombstones.jsonl is listed, but nothing was taken down, {TURNED}",)),
    (QUARTER, {**GONE, "files": {"samples": 3}},
        (f"tombstones.jsonl is listed, but nothing was taken down, {TURNED}",)),
    (QUARTER, {**GONE, "files": {"tombstones": 1}},
        ("samples.jsonl has 4 rows, and 3 by", "commitments.jsonl has 4 rows, and 5")),
    (QUARTER, {"samples_at_opening": "0" * 64}, ("samples_at_opening is given, but nothing was taken down",)),
    (QUARTER, {"draw": REVEALED["draw"]}, ("the key of the draw is given before the reveal",)),
    (QUARTER, {"draw": None}, ("it does not say what the key of the draw was committed to",)),
    (QUARTER, {"calendar": None}, ("it does not say when the quarter opens, closes and is revealed",)),
    (QUARTER, {"calendar": {**DAYS, "opens": DAYS["deadline"]}}, (NOT_DAYS,)),
    (QUARTER, {"calendar": {**DAYS, "reveals": "2023-07-14T23:59:59Z"}}, (NOT_DAYS,)),
    (QUARTER, {"counts": REVEALED["counts"]}, ("the counts by label are given before the reveal",)),
    (QUARTER, {"selection": None}, ("samples.jsonl has 4 rows, and 0", f"of the main split {NOT_DRAWN}")),
    (QUARTER, {"prospective": SPLIT["prospective"]}, (f"of the main split {NOT_DRAWN}",)),
    (QUARTER, {"dataset": DATASET},
        ("2023Q2 is a quarter, and it says that it holds a", NO_DRAW, "public from the start")),
    (QUARTER, {"collection": {"funnel": {**FUNNEL, "rows_in": 11}}},
        ("the rows of the collection are not those that",)),
    (QUARTER, {"collection": {"funnel": {}}}, ("does not say how many rows were dropped and kept",)),
    (QUARTER, {"collection": 1}, ("does not say how many rows were dropped and kept",)),
    (QUARTER, {"collection": None}, ()),
    (REVEALED, {"files": {"labels": None}}, ("revealed, and labels.jsonl is not listed",)),
    (REVEALED, {"files": {"scores": 1}}, ("predictions and scores belong together, and one is not listed",)),
    (REVEALED, {"counts": None}, ()),
    (REVEALED, {"counts": {**REVEALED["counts"], "2023-05": {"negatives": 1}}},
        ("are not of the periods that were drawn",)),
    (REVEALED, {"counts": {}}, ("are not of the periods that were drawn from",
        "2023-04 does not say how many candidates")),
    (REVEALED, counted(negatives=6, positives=2), ("2023-04 has more candidates by label than the collection kept",)),
    (REVEALED, counted(negatives=1, positives=2),
        ("says that 2 of each label were taken, of 1 and 2 with a cap of 2",)),
    (REVEALED, counted(negatives=2), ("2023-04 has counts of 1 labels, and there are 2",)),
    (REVEALED, counted(negatives=2, others=[2], positives=2), ("2023-04 has counts of 3 labels, and there are 2",)),
    (REVEALED, {**THREE, **counted(negatives=2, others=[2], positives=2)}, ()),
    (REVEALED, drawn(QUARTER, periods={name: {"taken_per_class": 1} for name in ("2023-03", "2023-04")}), (
        "are not of the periods that were drawn from", "2023-03 does not say how many candidates",
        "2023-04 says that 1 of each label were taken, of 5 and 2 with a cap of 2")),
    (REVEALED, {"collection": {"funnel": {**FUNNEL, "kept": {"2023-05": {"a": 7}}}}},
        ("has more candidates by label",)),
    (SPLIT, {"selection": QUARTER["selection"]}, (f"of the prospective split {NOT_DRAWN}",)),
    (SPLIT, {"prospective": None}, ("samples.jsonl has 4 rows, and 0", f"of the prospective split {NOT_DRAWN}")),
    (SPLIT, drawn(SPLIT, cap_per_period=3), ("2023-04 says that 4 were taken, of 4 with a cap of 3",)),
    (SPLIT, drawn(SPLIT, periods={"2023-04": {"pending": 9, "taken": 4}}), ("4 were taken, of 9 with a cap of 5",)),
    (SPLIT, drawn(SPLIT, periods={"2023-04": {"pending": 9, "taken": 4}}, cap_per_period=4), ()),
    (SPLIT, {"files": {"commitments": 4}}, ("'commitments.jsonl' is listed, and belongs to no release of this kind",)),
    (SPLIT, {"files": {"samples": None}}, ("samples.jsonl is not listed",)),
    (SPLIT, {"revealed": True}, ("revealed, and labels.jsonl is not listed", "is resolved, never revealed")),
    (RESOLVED, {"files": {"samples": None, "outcomes": 0}}, ("samples.jsonl is not listed", DROPPED)),
    (RESOLVED, {"files": {"outcomes": None}}, (TURNED, DROPPED)),
    (RESOLVED, {"files": {"outcomes": 3}}, ("outcomes.jsonl has 3 rows, and there are 4 samples", DROPPED)),
    (RESOLVED, {"files": {"outcomes": 5}}, ("outcomes.jsonl has 5 rows, and there are 4 samples", DROPPED)),
    (RESOLVED, {"resolved": None}, (f"outcomes.jsonl is listed, but the split is not resolved, {TURNED}",)),
    (RESOLVED, {"resolved": {**RESOLVED["resolved"], "labels": 4}}, (DROPPED,)),
    (FROZEN, {"dataset": None}, ("it does not say which data set it holds",)),
    (FROZEN, {"revealed": False}, (f"labels.jsonl {BEFORE}", "the labels of a data set are public from the start")),
    (FROZEN, {"split": "prospective"}, (NO_DRAW,)), (FROZEN, {"calendar": DAYS}, (NO_DRAW,)),
    (FROZEN, {"dataset": {**DATASET, "labels": [4]}}, ("it does not say how many samples each class has",)),
    (FROZEN, {"files": {"labels": 3}}, ("labels.jsonl has 3 rows, and 4 by",)),
    (FROZEN, {"files": {"commitments": 4}}, ("'commitments.jsonl' is listed, and belongs to no release of this kind",)),
])  # fmt: skip
def test_what_a_manifest_cannot_say_is_named(
    tmp_path: Path, base: dict[str, Any], changes: dict[str, Any], faults: tuple[str, ...]
) -> None:
    found = list(statement_faults(manifest(tmp_path, base, changes)))
    assert named(found, faults), found


SCORED = {"files": OF_PREDICTIONS}
LATER = {"version": 3}


@pytest.mark.parametrize(("before", "after", "other", "faults"), [
    ((QUARTER, {}), (REVEALED, {}), "", ()),
    ((QUARTER, {}), (REVEALED, {"more": 1}), "", ()),
    ((QUARTER, {}), (REVEALED, LATER), "", ("the one before says that it is version 1",)),
    *(((QUARTER, {}), (REVEALED, {name: value}), "", (f"{name} has changed",)) for name, value in (
        ("task", "claims"), ("edition", "2023Q3"), ("source", "t"), ("split", "prospective"), ("texts", "withheld"),
        ("calendar", None), ("selection", None), ("prospective", SPLIT["prospective"]), ("dataset", DATASET))),
    ((QUARTER, {"more": 1}), (REVEALED, {}), "", ("more has changed",)),
    ((QUARTER, {"more": 1}), (REVEALED, {"more": 2}), "", ("more has changed",)),
    ((QUARTER, {"more": 1}), (REVEALED, {"more": 1}), "", ()),
    ((QUARTER, {}), (REVEALED, {"draw": {"commitment": "1" * 64}}), "", ("the commitment to the draw has changed",)),
    ((QUARTER, {}), (REVEALED, {"draw": None}), "", ("the commitment to the draw has changed",)),
    ((QUARTER, {"draw": None}), (REVEALED, {}), "", ("the commitment to the draw has changed",)),
    ((REVEALED, {}), (QUARTER, LATER), "", ("counts has changed", "what was revealed is no longer revealed",
        "labels.jsonl has changed", "labels.jsonl is not listed any more")),
    ((REVEALED, {}), (REVEALED, {**LATER, **counted(negatives=4, positives=2)}), "", ("counts has changed",)),
    ((RESOLVED, {}), (RESOLVED, {**LATER, "resolved": {**RESOLVED["resolved"], "labels": 2}}), "",
        ("resolved has changed",)),
    *(((base, {}), (base, LATER), name, (f"{name}.jsonl has changed",)) for base, name in (
        (REVEALED, "samples"), (REVEALED, "commitments"), (REVEALED, "labels"), (RESOLVED, "outcomes"))),
    ((REVEALED, {}), (REVEALED, {**GONE, **LATER}), "samples", ()),
    ((REVEALED, {}), (REVEALED, {**GONE, **LATER, "samples_at_opening": "0" * 64}), "",
        ("not the hash of the samples before",)),
    ((REVEALED, GONE), (REVEALED, {**GONE, **LATER}), "", ()),
    ((REVEALED, GONE), (REVEALED, {**GONE, **LATER, "samples_at_opening": "0" * 64}), "",
        ("samples_at_opening has changed",)),
    ((REVEALED, GONE), (REVEALED, {**LATER, "samples_at_opening": GONE["samples_at_opening"]}), "",
        ("a takedown has been taken back", "tombstones.jsonl is not listed any more")),
    ((REVEALED, SCORED), (REVEALED, {**LATER, **SCORED}), "predictions", ()),
    ((REVEALED, SCORED), (REVEALED, {**LATER, "files": {"predictions": 7, "scores": 14}}), "",
        ("1 rows of predictions.jsonl are missing, with 0 samples", "2 rows of scores.jsonl are missing, with 0")),
    ((REVEALED, SCORED), (REVEALED, {**GONE, **LATER, "files": {"predictions": 1, "scores": 8}}), "", ()),
    ((REVEALED, SCORED), (REVEALED, {**GONE, **LATER, "files": {"predictions": 1, "scores": 7}}), "",
        ("9 rows of scores.jsonl are missing, with 1 samples taken down",)),
    ((FROZEN, SCORED), (FROZEN, {"version": 2, "files": {"predictions": 1, "scores": 1}}), "", ()),
])  # fmt: skip
def test_what_may_not_change_from_one_version_to_the_next_is_named(
    tmp_path: Path, before: tuple[Any, Any], after: tuple[Any, Any], other: str, faults: tuple[str, ...]
) -> None:
    found = list(_changes(manifest(tmp_path, *before), manifest(tmp_path, *after, other)))
    assert named(found, faults), found


def sample(number: int, **more: Any) -> dict[str, Any]:
    return {
        "id": f"xn-{number}", "task": "x-notes", "edition": "2023Q2", "period": "2023-04", "group": f"g{number // 2}",
        "license": "x", "date": f"2023-04-0{number}T00:00:00Z", **more,
    }  # fmt: skip


def predicted(prompt: str, number: int, label: int | None, **more: Any) -> dict[str, Any]:
    who = {"entry": "e", "system": "s", "team": "t", "provenance": "run", "regime": "r"}
    return {**who, "prompt": prompt, "id": f"xn-{number}", "label": label, **more}


def released(number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """A label, and the commitment to it."""
    label = {"id": f"xn-{number}", "label": number % 2, "salt": sha256_text(str(number))}
    return {**label, "intercept": number / 10}, {"id": label["id"], "commitment": sha256_text(canonical_json(label))}


def as_query(row: dict[str, Any], **more: Any) -> dict[str, Any]:
    name = {"task": "scifact-retrieval", "edition": "scifact-retrieval@1", "period": "all-rows"}
    return {**{key: name.get(key, value) for key, value in row.items()}, "id": f"sfe-{row['id'][3:]}", **more}


CONTENT = sha256_text(canonical_json({name: sha256_text(name) for name in ("labels", "samples")}))
SAMPLES, STATED = [sample(number) for number in range(1, 5)], {"a": [0.2, 0.8], "b": [0.4, 0.6], "majority": [0.3, 0.7]}
VOTES = {"a": (1, 0, 1, 0), "b": (1, 0, 0, None), "majority": (1, 0, None, 0)}
FORECASTS: Any = ((1, [0.2, 0.8]), (0, [0.7, 0.3]), (1, []), (None, [0.5, 0.5]))
KEPT: dict[str, tuple[dict[str, Any], dict[str, list[dict[str, Any]]]]] = {
    "revealed": ({**REVEALED, "draw": {"commitment": sha256_text("k"), "key": "k"}}, {
        "samples": SAMPLES, "labels": [released(number)[0] for number in range(1, 5)],
        "commitments": [released(number)[1] for number in range(1, 5)],
        "predictions": [predicted(prompt, number, label, **({"probabilities": STATED[prompt]} if number == 1 else
                                  {"certainty": 0.9} if prompt == "b" else {}))
                        for prompt, labels in VOTES.items() for number, label in enumerate(labels, 1)]}),
    "resolved": (RESOLVED, {
        "samples": SAMPLES, "outcomes": [
            {"id": f"xn-{number}", "label": label, "reason": "late" if label is None else None, "intercept": 0.5}
            for number, label in enumerate((1, 0, None, 1), 1)],
        "predictions": [predicted("single", number, label, probabilities=stated)
                        for number, (label, stated) in enumerate(FORECASTS, 1)]}),
    "queries": ({**FROZEN, "task": "scifact-retrieval", "edition": "scifact-retrieval@1",
                 "dataset": {**DATASET, "classes": [], "labels": [], "content": CONTENT}}, {
        "samples": [as_query(row) for row in SAMPLES[:2]],
        "labels": [{"id": f"sfe-{k}", "label": 0, "relevance": json.dumps({"d1": 2, "d2": k})} for k in (1, 2)],
        "predictions": [as_query(predicted("single", number, None), documents=["d0", "d1"], scores=[0.5, 0.2 * number])
                        for number in (1, 2, 3)][:2]}),
    "classes": ({**FROZEN, "dataset": {**DATASET, "content": CONTENT}}, {
        "samples": [{**row, "task": "fever", "edition": "fever@1", "period": "all-rows", "id": f"fe-{row['id'][3:]}"}
                    for row in SAMPLES],
        "labels": [{"id": f"fe-{number}", "label": number % 2} for number in range(1, 5)]}),
}  # fmt: skip


def read(folder: Path, base: str, changes: dict[str, Any], name: str = "", change: Any = None) -> Content:
    """What is read of a release, some rows of which were changed."""
    said, files = deepcopy(KEPT[base])
    for one, rows in files.items():
        if one == name:
            change(rows)
        write_jsonl(folder / f"{one}.jsonl", rows)
    if change is not None and name not in files:
        write_jsonl(folder / f"{name}.jsonl", change([]))
    said["files"] |= {one: len(rows) for one, rows in files.items()}
    return read_content(folder, manifest(folder, said, changes))


def put(at: int, **values: Any) -> Callable[[list[dict[str, Any]]], object]:
    return lambda rows: rows[at].update(values)


def insert(at: int, *new: dict[str, Any]) -> Callable[[list[dict[str, Any]]], object]:
    return lambda rows: rows.__setitem__(slice(at, at), new)


def test_what_is_read_of_a_release_is_what_it_holds(tmp_path: Path) -> None:
    read_as = {base: read(tmp_path, base, {}) for base in KEPT}
    for content in read_as.values():
        assert [*content.faults.values()] == [[]] * len(content.faults)
    revealed, resolved, queries, classes = read_as.values()
    assert revealed.unchecked["labels.jsonl"][1].startswith("whether intercept and the other facts of ratings follow")
    assert resolved.unchecked == {
        "outcomes.jsonl": ["facts of outcomes"],
        "predictions.jsonl": ["probabilities of predictions, but for what scores rest on"],
    }
    assert queries.unchecked["labels.jsonl"] == ["facts of labels except relevance"]
    assert [metric.name for metric in (*revealed.metrics, *revealed.fact_metrics)] == [
        "f1", "precision", "recall", "accuracy", "rank_correlation",
    ]  # fmt: skip
    assert [metric.name for metric in classes.metrics if ":" in metric.name or metric.name == "macro_f1"] == [
        "macro_f1", *(f"{kind}:{name}" for kind in ("f1", "precision", "recall") for name in "ab"),
    ]  # fmt: skip
    for content, labels in ((revealed, [1, 0, 1, 0]), (resolved, [1, 0, -1, 1]), (classes, [1, 0, 1, 0])):
        assert (content.labels.tolist(), content.groups.tolist()) == (labels, [0, 1, 1, 2])
    assert resolved.judged.tolist() == [True, True, False, True] and revealed.committed == 4
    assert revealed.facts.tolist() == [0.1, 0.2, 0.3, 0.4] and np.isnan(resolved.facts).tolist() == [
        False,
        False,
        True,
        False,
    ]
    assert revealed.answers["e", "b"].tolist() == [1, 0, 0, -1] and queries.answers["e", "single"].tolist() == [0, 0]
    assert revealed.leaning("e", "a").tolist() == [0.8, 0, 1, 0] and revealed.chances == {}
    assert revealed.leaning("e", "b")[:3] == pytest.approx([0.6, 0.1, 0.1]) and np.isnan(revealed.leaning("e", "b")[3])
    revealed.facts[1:] = np.nan
    assert revealed.fact_metrics == [] and revealed.has_labels
    revealed.labels[0] = -1
    assert not revealed.has_labels
    for task, metrics in (("x-posts", ["overall", (0.0, 10.0)]), ("unknown", [])):
        files = {"samples": [{**row, "task": task, "id": f"xp-{row['id']}"} for row in SAMPLES]}
        write_jsonl(tmp_path / "samples.jsonl", files["samples"])
        content = read_content(tmp_path, manifest(tmp_path, {**SPLIT, "task": task}, {}))
        assert [part for metric in content.metrics for part in (metric.name, metric.limits)] == metrics
        assert content.unchecked == ({} if metrics else {"samples.jsonl": ["the form of samples of 'unknown'"]})
    assert np.isnan(resolved.chances["e", "single"][2]).all() and resolved.chances["e", "single"][1].tolist() == [
        0.7,
        0.3,
    ]
    assert queries.numbers["e", "single", "recall@1"].tolist() == [[0, 1], [0, 1]]
    assert queries.numbers["e", "single", "ndcg@3"][:, 0] == pytest.approx([2 / (2 * np.log2(3) + k) for k in (1, 2)])


NO_SAMPLE, NO_LABEL = tuple(f"line {number}: 'xn-1' is not a sample" for number in (1, 5, 9)), "'xn-1' has no label"
MISSING = ("2023-04 has 3 samples, and 4 were drawn", "1 samples fewer than were drawn")
FEWER, OTHERS = "2023-04 has 1 and 2 samples of the 2 labels, not 2 of each", "and the manifest says"
MAJORITY, MEANS = "'e': the majority is not that of its prompts", "'e': the majority's probabilities are not the means"
IRRELEVANT, NO_RANKING = (
    ("'sfe-1' does not say which documents are relevant",),
    ("e/sfe-1: not a ranking of different",),
)
EACH = {"periods": {name: {"taken_per_class": 1} for name in ("2023-04", "2023-05")}}
WITHHELD, QUOTES = {"texts": "withheld"}, ("line 1: a text that may quote the sample, whose texts are withheld",)


@pytest.mark.parametrize(("base", "name", "change", "said", "faults"), [
    ("revealed", "labels", put(0, label=0), {},
        {"labels": ("'xn-1' has another label or salt", "2023-04 has 1 and 3 samples")}),
    ("revealed", "labels", put(0, salt="0" * 64), {},
        {"labels": ("'xn-1' has another label or salt than was committed",)}),
    ("revealed", "labels", put(0, label=2), {},
        {"labels": ("'xn-1' has the label 2, and the task has 2", "another label")}),
    ("revealed", "labels", lambda rows: rows.pop(0), {}, {"labels": (NO_LABEL, FEWER)}),
    ("revealed", "labels", insert(0, released(0)[0]), {}, {"labels": ("'xn-0' has a label and no commitment",)}),
    ("revealed", "commitments", lambda rows: rows.pop(0), {}, {
        "commitments": ("'xn-1' has no commitment",), "labels": (NO_LABEL, "'xn-1' has a label and no commitment",
        FEWER)}),
    ("revealed", "commitments", insert(4, released(9)[1]), {},
        {"commitments": ("'xn-9' has a commitment and is not",)}),
    ("revealed", "samples", lambda rows: rows.pop(0), {}, {
        "samples": MISSING, "commitments": ("'xn-1' has a commitment and is not a sample",), "labels": (FEWER,),
        "predictions": NO_SAMPLE}),
    ("revealed", "", None, {"files": {"commitments": None}}, {}),
    ("queries", "predictions", put(0, label=1), {},
        {"predictions": ("line 1: the label 1, and the task has 1 classes",)}),
    ("revealed", "samples", put(0, task="claims"), {}, {"samples": ("'xn-1' is not a sample of x-notes 2023Q2",)}),
    ("revealed", "samples", put(0, edition="2023Q3"), {}, {"samples": ("'xn-1' is not a sample of x-notes 2023Q2",)}),
    ("revealed", "samples", put(0, date="2023-05-01T00:00:00Z"), {},
        {"samples": ("date that is not in its period 2023-04",)}),
    ("revealed", "samples", put(0, date="2023-02-30T00:00:00Z"), {}, {"samples": ("has a time outside the calendar",)}),
    ("revealed", "samples", put(1, more=1), {},
        {"samples": ("'xn-2' has other fields than the samples before: more",)}),
    ("revealed", "samples", put(3, x={"text_sha256": ""}), {}, {
        "samples": ("'xn-4' has other fields than the samples before: x",
        "'xn-4' has the hash of a text in its place")}),
    ("revealed", "samples", put(3, x=[{"text": ""}]), WITHHELD, {
        "samples": ("'xn-4' has other fields", "'xn-4' has the field text, and texts are withheld")}),
    ("revealed", "tombstones", lambda _: GONE["takedowns"], GONE, {"tombstones": ("'1' never was a sample",)}),
    ("revealed", "tombstones", lambda _: [{**GONE["takedowns"][0], "id": "xn-1"}], GONE, {
        "tombstones": ("not the takedowns that the manifest names", "'xn-1' was taken down and is still a sample")}),
    ("revealed", "", None, {"draw": REVEALED["draw"]},
        {"labels": ("key of the draw is not the one that was committed",)}),
    ("revealed", "", None, drawn(QUARTER, **EACH), {
        "samples": ("2023-04 has 4 samples, and 2 were drawn", "2023-05 has 0 samples, and 2 were drawn"),
        "labels": ("2023-04 has 2 and 2 samples of the 2 labels, not 1",
        "2023-05 has 0 and 0 samples of the 2 labels")}),
    ("revealed", "predictions", lambda rows: rows.insert(1, rows[0]), {},
        {"predictions": ("line 2 is not in its place",)}),
    ("revealed", "predictions", put(11, team="x"), {}, {"predictions": ("line 12: 'e' has another name or",)}),
    ("revealed", "predictions", put(1, settings="x"), {}, {"predictions": ("line 2: 'e' has another name or",)}),
    ("revealed", "predictions", put(0, id="xn-0"), {},
        {"predictions": ("line 1: 'xn-0' is not a sample", MAJORITY, MEANS)}),
    ("revealed", "predictions", put(1, label=2), {}, {"predictions": ("line 2: the label 2, and the task has 2",)}),
    ("revealed", "predictions", lambda rows: rows[7].pop("label"), {},
        {"predictions": ("line 8: a label is missing or present",)}),
    ("revealed", "predictions", put(8, label=0), {}, {"predictions": (MAJORITY,)}),
    ("revealed", "predictions", put(8, probabilities=[0.31, 0.69]), {}, {"predictions": (MEANS,)}),
    ("revealed", "predictions", lambda rows: rows.__delitem__(slice(8)), {}, {"predictions": (MAJORITY,)}),
    ("revealed", "predictions", put(0, rationale="x"), WITHHELD, {"predictions": QUOTES}),
    ("revealed", "predictions", put(0, text="x"), WITHHELD, {"predictions": QUOTES}),
    ("revealed", "predictions", put(0, text="", rationale=""), WITHHELD, {}),
    ("resolved", "outcomes", lambda rows: rows.pop(0), {},
        {"outcomes": ("'xn-1' has no outcome", "2 samples were decided")}),
    ("resolved", "outcomes", insert(4, {"id": "xn-9", "label": 1, "reason": None}), {}, {
        "outcomes": ("'xn-9' has an outcome and is not a sample", "4 samples were decided, and the manifest says 3")}),
    ("resolved", "outcomes", put(0, reason="x"), {}, {
        "outcomes": ("'xn-1' must have either a label or the reason", "2 samples were decided",
        'dropped are {"late":1,"x":1}')}),
    ("resolved", "outcomes", put(2, reason=None), {}, {
        "outcomes": ("'xn-3' must have either a label or the reason", "4 samples were decided", "dropped are {}")}),
    ("resolved", "outcomes", put(0, label=2), {},
        {"outcomes": ("'xn-1' has the label 2, and the task has 2 classes",)}),
    ("resolved", "predictions", put(0, probabilities=[0.2, 0.9]), {},
        {"predictions": ("e/xn-1: not a probability of each",)}),
    *(("queries", "labels", put(0, relevance=value), {},
        {"labels": IRRELEVANT}) for value in ("[]", '{"d":true}', "{", 1)),
    ("queries", "labels", lambda rows: rows.pop(0), {}, {"labels": ("'sfe-1' has no label",)}),
    ("queries", "labels", insert(2, {"id": "sfe-9", "label": 0, "relevance": "{}"}), {}, {
        "labels": ("'sfe-9' has a label and is not a sample",)}),
    ("queries", "predictions", put(0, scores=[1.0]), {}, {"predictions": NO_RANKING}),
    ("queries", "predictions", put(0, documents=["d", "d"]), {}, {"predictions": NO_RANKING}),
    ("queries", "predictions", put(0, documents=[], scores=[]), {}, {}),
    ("queries", "samples", put(0, period="2023-04"), {},
        {"samples": ("of the period 2023-04, and a data set has none",)}),
    ("classes", "labels", put(0, label=0), {}, {"labels": (f"there are 3, 1 labels of each class, {OTHERS} [2, 2]",)}),
    ("classes", "labels", put(0, label=2), {},
        {"labels": ("'fe-1' has the label 2", f"there are 2, 1 labels of each class, {OTHERS}")}),
    ("classes", "", None, {"dataset": DATASET}, {"labels": ("do not have the content hash that the manifest names",)}),
    ("classes", "", None, {"dataset": {**DATASET, "labels": [], "content": CONTENT}}, {}),
])  # fmt: skip
def test_what_files_of_a_release_cannot_hold_together_is_named(
    tmp_path: Path, base: str, name: str, change: Any, said: dict[str, Any], faults: dict[str, tuple[str, ...]]
) -> None:
    found = {
        file.removesuffix(".jsonl"): these for file, these in read(tmp_path, base, said, name, change).faults.items()
    }
    assert {file for file, these in found.items() if these} == faults.keys(), found
    assert all(named(found[file], these) for file, these in faults.items()), found


@pytest.mark.parametrize(("date", "period", "by", "edition", "fault"), [
    ("2023-04-01", "2023-04", "month", "2023Q2", ""), ("2023-06-30", "2023-06", "month", "2023Q2", ""),
    ("2023-01-01", "2022-W52", "week", "2023Q1", ""), ("2024-12-30", "2025-W01", "week", "2024Q4", ""),
    ("2023-03-31", "2023-03", "month", "2023Q2", "is dated 2023-03-31, which is not in 2023Q2"),
    ("2023-07-01", "2023-07", "month", "2023Q2", "is dated 2023-07-01, which is not in 2023Q2"),
    ("2023-04-03", "2023-W14", "month", "2023Q2", "has a date that is not in its period 2023-W14"),
    ("2023-04-03", "2023-04", "week", "2023Q2", "has a date that is not in its period 2023-04"),
    ("2023-04-03", "2023-W14", "other", "2023Q2", ""),
        ("2023-04-03", "2023-W15", "other", "2023Q2", "not in its period"),
])  # fmt: skip
def test_a_date_is_in_its_period_and_quarter(
    tmp_path: Path, date: str, period: str, by: str, edition: str, fault: str
) -> None:
    said = manifest(tmp_path, QUARTER, {"edition": edition, **drawn(QUARTER, period=by)})
    row = sample(1, date=f"{date}T23:59:59Z", period=period, edition=edition)
    assert named(list(_odd_sample(row, said, TASKS["x-notes"], ({}, {}))), (fault,) if fault else ())


@pytest.mark.parametrize(("task", "texts", "more", "fault"), [
    ("x-notes", "withheld", {"note": {"text_sha256": ""}}, ""), ("x-notes", "included", {"note": {"text": ""}}, ""),
    ("x-notes", "included", {"note": {"text_sha256": ""}},
        "has the hash of a text in its place, and texts are included"),
    ("x-notes", "withheld", {"license": "CC-BY-4.0", "text": ""}, "has the field text, and texts are withheld"),
    ("claims", "withheld", {"license": "CC-BY-4.0", "text": ""}, ""),
    ("claims", "withheld", {"license": "x", "text": "", "speaker": ""},
        "has the field speaker, and texts are withheld"),
    ("x-notes", "included", {"id": "cl-1"}, "is not a sample of x-notes 2023Q2"),
    ("unknown", "included", {"id": "zz-1"}, ""),
])  # fmt: skip
def test_a_sample_has_its_tasks_prefix_and_no_texts_where_these_are_withheld(
    tmp_path: Path, task: str, texts: str, more: dict[str, Any], fault: str
) -> None:
    said = manifest(tmp_path, QUARTER, {"task": task, "texts": texts})
    row = {**sample(1, task=task, **{"id": "cl-1"} if task == "claims" else {}), **more}
    assert named(list(_odd_sample(row, said, TASKS.get(task), ({}, {}))), (fault,) if fault else ())


@pytest.mark.parametrize(("before", "after", "place"), [
    ({"a": 1}, {"a": 2}, ""), ({"a": 1}, {"a": "x"}, ".a"), ({"a": 1}, {"a": None}, ""), ({"a": None}, {"a": "x"}, ""),
    ({"a": 1}, {"b": 1}, "a.b"), ({"a": 1}, {"a": 1, "b": 1}, "b"), ({"a": [1]}, {"a": ["x"]}, ".a[]"),
    ({"a": [1]}, {"a": []}, ""), ({"a": {"b": 1}}, {"a": {"c": 1}}, ".a"), ({"a": {"b": 1}}, {"a": [1]}, ".a"),
    ({"a": [{"b": 1}]}, {"a": [{"b": "x"}]}, ".a[].b"), ({"a": [1]}, {"a": {}}, ".a"), ({"a": 1, "b": 1},
        {"a": 1, "b": "x"}, ".b"),
])  # fmt: skip
def test_a_sample_of_another_shape_than_the_one_before_is_named_with_its_place(
    before: Any, after: Any, place: str
) -> None:
    shape: dict[str, object] = {}
    assert (_other_shape(before, shape, ""), _other_shape(after, shape, "")) == ("", place)


ENTRY = {
    **{"origin": "t/s", "kind": "submission", "provenance": "uploaded", "team": "t", "regime": "r"},
    **{"smoke_test": False, "knowledge_cutoff": "2020", "about": "notes", "maker": None, "weights": None},
    **{"size_billions": None, "released": None, "system": "s"},
}
OURS = {"origin": "run", "kind": "language-model", "provenance": "run", "team": "HelloFresh"}
NOT_OF_KIND, NOT_NAMED = "are not those of an entry of the kind", "a submission is named by its folders"
BASELINE = {**OURS, "kind": "baseline", "regime": "none"}


@pytest.mark.parametrize(("row", "prompts", "classes", "faults"), [
    ({}, ("single",), True, ()),
    ({"provenance": "run"}, ("single",), True, ("of a 'submission' is uploaded, not 'run'",)),
    ({"origin": "s"}, ("single",), True, (NOT_NAMED,)), ({"origin": "t/s/x"}, ("single",), True, (NOT_NAMED,)),
    ({"smoke_test": True}, ("single",), True, (NOT_OF_KIND,)), ({}, ("single", "a"), True, (NOT_OF_KIND,)),
    (BASELINE, ("single",), True, ()), (BASELINE, ("majority",), True, (NOT_OF_KIND,)),
    ({**BASELINE, "regime": "r"}, ("single",), True, (NOT_OF_KIND,)),
    ({**BASELINE, "team": "t"}, ("single",), True, (NOT_OF_KIND,)),
    ({**BASELINE, "origin": "t/s"}, ("single",), True, (NOT_NAMED,)),
    ({**BASELINE, "provenance": "uploaded"}, ("single",), True, ("of a 'baseline' is run, not 'uploaded'",)),
    (OURS, ("a", "majority"), True, ()), (OURS, ("single",), True, (NOT_OF_KIND,)), (OURS, ("single",), False, ()),
    ({**OURS, "team": "t"}, ("majority",), True, (NOT_OF_KIND,)),
    ({**OURS, "regime": "none"}, ("majority",), True, (NOT_OF_KIND,)),
    ({**OURS, "kind": "x"}, ("majority",), True, (NOT_OF_KIND,)), ({**OURS, "kind": "x"}, ("single",), False, ()),
])  # fmt: skip
def test_what_an_entry_of_its_kind_cannot_say_is_named(
    row: dict[str, Any], prompts: tuple[str, ...], classes: bool, faults: tuple[str, ...]
) -> None:
    row = {**ENTRY, **row}
    content = Content(ManifestFile({}, ""), ("a", "b") if classes else ())
    content.answers = {(row["origin"], prompt): np.zeros(1, np.int8) for prompt in prompts} | {
        ("other", "majority"): np.zeros(1, np.int8)
    }
    assert named(list(ScoreCheck(content)._impossible(row)), faults)


GIVEN = Handover("s", "t", "r", "2020", {}, "notes", {"a": 1, "b": None, "c": 0, "unknown": 1})
NOT_SAID, NOT_ANSWERED = (
    "system, team, regime or knowledge_cutoff are not those",
    "the predictions are not those that were",
)
NOT_NOTES, NOT_FACTS = (
    "about is not the notes that were submitted",
    "maker, weights, size_billions, released are not those",
)
TEXTS = {"answers": {"a": "A.", "b": "", "c": "C."}}


@pytest.mark.parametrize(("row", "given", "texts", "faults"), [
    ({}, {}, "", ()), ({}, {"answers": {"a": 1, "b": "x", "c": 1}}, "", ()),
    ({}, {"answers": {"a": 0, "b": None}}, "", (NOT_ANSWERED,)), ({}, {"answers": {"a": 1}}, "", (NOT_ANSWERED,)),
    *(({}, {name: "x"}, "", (NOT_SAID,)) for name in ("system", "team", "regime", "knowledge_cutoff")),
    *(({name: "x"}, {}, "", (NOT_FACTS,)) for name in ("maker", "weights", "released")),
    ({"size_billions": 3.5}, {}, "", (NOT_FACTS,)), ({"size_billions": 3.5}, {"facts": {"size_billions": 3.5}}, "", ()),
    ({"about": "notes Flagged: x"}, {}, "", ()), ({"about": "Flagged: x"}, {"notes": ""}, "", ()),
    ({"about": "notes more"}, {}, "", (NOT_NOTES,)), ({"about": "other"}, {}, "", (NOT_NOTES,)),
    ({"origin": "t/other"}, {}, "", ("t/s was submitted but is not among", "t/other has no receipt for what it says")),
    ({"kind": "baseline"}, {}, "", ("t/s was submitted but is not among the predictions",)),
    ({}, TEXTS, "included", ()), ({}, {"answers": {"a": "B.", "b": ""}}, "included", (NOT_ANSWERED,)),
    ({}, {"answers": {"a": "B.", "b": ""}}, "withheld", ()), ({}, {"answers": {"a": ""}}, "withheld", (NOT_ANSWERED,)),
    ({"origin": "2023Q2/s"}, TEXTS, "included", ("t/s was submitted but is not among the predictions",)),
])  # fmt: skip
def test_an_entry_that_is_not_what_was_handed_in_is_named(
    row: dict[str, Any], given: dict[str, Any], texts: str, faults: tuple[str, ...]
) -> None:
    row, handover = {**ENTRY, **row}, Handover(**{**{name: getattr(GIVEN, name) for name in GIVEN.__slots__}, **given})
    content = Content(ManifestFile({"texts": texts, "edition": "2023Q2"}, ""), () if texts else ("x", "y"))
    content.places, content.judged = {"a": 0, "b": 1, "c": 2}, np.array([True, True, False])
    content.answers[row["origin"], "single"] = np.array([1, -1, 0], np.int8)
    content.responses = {(row["origin"], key): sha256_text(text) for key, text in (("a", "A."), ("b", ""))}
    content.entries[row["origin"]], content.rated = EntryName("s", "t", "uploaded", "r"), {"t/s"}
    check = ScoreCheck(content, _first={row["origin"]: row})
    assert named(list(check.handed_in_faults({"t/s": handover})), faults)
    assert check.unchecked == ({"texts that were submitted, which are withheld"} if texts == "withheld" else set())


@pytest.mark.parametrize(("rated", "said"), [("t/s", False), (sha256_text("A."), False), ("other", True)])
def test_responses_that_nobody_rated_are_not_checked_and_not_missing(rated: str, said: bool) -> None:
    content = Content(ManifestFile({"texts": "included", "edition": "2023Q2"}, ""), ())
    content.rated = {rated}
    given = Handover(**{**{name: getattr(GIVEN, name) for name in GIVEN.__slots__}, **TEXTS})
    check = ScoreCheck(content)
    assert (list(check.handed_in_faults({"t/s": given})) == []) is said
    assert check.unrated == ({"t/s, whose responses are unrated"} if said else set())


FIGURES = {**dict.fromkeys(("value", "bootstrap_low", "low"), 0.5), "high": 0.8, "bootstrap_high": 0.9, "n": 5}


@pytest.mark.parametrize(("changes", "faults"), [
    ({}, ()), ({"none": 0, "blocked": 2}, ()), ({"none": 1, "blocked": 2}, ("silent are not those",)),
    ({"n": 4}, ("n are",)), ({"none": 3, "blocked": -1}, ("none and blocked are not those",)),
    ({"effective_clusters": 3 + 1e-12}, ()), ({"effective_clusters": 3.1}, ("effective_clusters are not those",)),
    ({"high": 0.81}, ("f1 is",)), ({"value": 0.6}, ("f1 is", "f1 by the bootstrap is")),
    ({"bootstrap_high": 0.8}, ("f1 by the bootstrap is",)),
])  # fmt: skip
def test_a_score_that_is_not_the_recomputed_one_is_named(changes: dict[str, Any], faults: tuple[str, ...]) -> None:
    row = {**FIGURES, "metric": "f1", "none": 1, "blocked": 1, "effective_clusters": 3.0, **changes}
    made = {**FIGURES, "silent": 2, "effective_clusters": 3.0}
    assert named(list(ScoreCheck(Content(ManifestFile({}, ""), ()))._differences(row, made)), faults)


@pytest.mark.parametrize(("text", "metric", "row", "fits"), [
    ("system=s", "", {}, True), ("system=s", "", {"headline": False}, False), ("system=s", "", {"period": "x"}, False),
    ("system=s,prompt=a", "", {"headline": False, "prompt": "a"}, True),
    ("system=s,prompt=a", "", {"prompt": "b"}, False),
    ("system=s,metric=F1:Yes", "f1:Yes", {}, True), ("system=s,metric=lead,against=e", "lead", {}, True),
    ("system=s,entry=o,team=t", "", {"origin": "o", "team": "t"}, True),
    ("system=s,entry=o", "", {"origin": "p"}, False),
    ("2023Q2/x/a/b/none/p/2023-04/MCC:no", None, {}, None), ("system=s,metric=lead", None, {}, None),
    ("2023Q2/x/s/r/p/all/f1", "f1", {"edition": "2023Q2", "task": "x", "regime": "r", "prompt": "p"}, True),
    ("2023Q2/x/org/s/r/p/all/f1", "f1", {"edition": "2023Q2", "task": "x", "system": "org/s", "regime": "r",
                                         "prompt": "p"}, True),
    ("system=One, two, three,metric=recall", "recall", {"system": "One, two, three"}, True),
    *((text, None, {}, None) for text in ("", "coin", "a/b/c", "system=s,metric=auc")),
    ("system=s,metric=f1,against=e", None, {}, None), ("system=s,metric=tie_group,against=e", None, {}, None),
    ("system=s,metric=tie_group", "tie_group", {}, True), ("team=t", None, {}, None),
    ("system=s,metric=f1:a", "f1:a", {}, True),
    ("2023Q2/x/s/r/p/all", None, {}, None), ("system=s,metric=accuracy:a", None, {}, None),
])  # fmt: skip
def test_a_figure_is_named_and_found_by_its_parts(text: str, metric: str | None, row: Any, fits: bool | None) -> None:
    if metric is None:
        with pytest.raises(BadFigureError):
            FigureName.parse(text)
        return
    name = FigureName.parse(text)
    whole = {"system": "s", "period": "all", "headline": True, "origin": "e", "prompt": "single", **row}
    assert (name.metric, name.fits(whole), name.fits({**whole, "system": "x"})) == (metric, fits, False)
    of = {"edition": name.wanted.get("edition", "2023Q2"), "task": name.wanted.get("task", "x")}
    assert name.may_be_of(ManifestFile(of, ""))
    assert [name.may_be_of(ManifestFile({**of, part: "y"}, "")) for part in of] == [
        part not in name.wanted for part in of
    ]


@pytest.mark.parametrize(("one", "two", "same"), [
    ((1.0, 2.0), (1.0, 2.0 + 1e-9), True), ((0.5,), (0.5 + 2e-9,), False), ((100.0,), (100.0 + 9e-8,), True),
    ((100.0,), (100.0 + 2e-7,), False), ((1.0, 2.0), (1.5, 2.0), False),
])  # fmt: skip
def test_numbers_agree_up_to_rounding(one: tuple[float, ...], two: tuple[float, ...], same: bool) -> None:
    assert agree(one, two) is same


def test_a_check_that_cannot_be_computed_is_a_fault_and_ends_no_other() -> None:
    faults: list[str] = []
    for work in (lambda: 1 // 0, lambda: {}["x"], lambda: faults.append("said")):
        _survive(work, faults)
    assert faults == [
        "cannot be computed (ZeroDivisionError: integer division or modulo by zero)",
        "cannot be computed (KeyError: 'x')", "said",
    ]  # fmt: skip


def test_entries_on_one_group_have_no_error_that_can_be_drawn() -> None:
    tables = [np.array([[1.0, 2.0, 3.0]]), np.array([[1.0, 2.0, 3.0], [2.0, 2.0, 3.0]])]
    errors = [_drawn_errors([table, table], OwnMetric("x", (), (0.0, 1.0))) for table in tables]
    assert errors[0].tolist() == [[0], [0]] and errors[1].shape[1] > 1000


def test_a_report_says_figures_and_faults_and_is_safe_to_print() -> None:
    figures = [
        VerifiedFigure("f", "e", 3, 0.5, 0.25, 0.75, stated) for stated in (None, (0.5, 0.25, 0.75), (0.5, 0.25, 0.8))
    ]
    good, bad = _figure_check("r", figures[:2], "none"), _figure_check("r", figures, "none")
    assert good.ok and good.said == "; ".join(["f = 0.5000 [0.2500, 0.7500], n = 3"] * 2)
    assert bad.faults == ("f: computed 0.500000 [0.250000, 0.750000], stated 0.500000 [0.250000, 0.800000]",)
    assert _figure_check("r", [], "none").faults == ("none",)
    assert list(report_lines([good, Check("r\x1b", "files", "", ("a\nb", "c"))])) == [
        f"ok    r figure: {good.said}", "WRONG r\\x1b files: 2 fault(s)", "      - a\\nb", "      - c",
        "2 checks, 1 failed.",
    ]  # fmt: skip


CRITERIA = {"overall": _Criterion((0, 10), False, None), "link": _Criterion((0, 1), True, 0.0)}
RATED = {
    name: {"response": name, "sample": key, "system": system, "text_sha256": name}
    for name, key, system in (("r1", "a", "x"), ("r2", "b", "x"), ("r3", "gone", "y"))
}
RATING = dict(zip(("response", "sample", "link", "judge", "criterion", "value", "weight"),
                  ("r1", "a", "", "j1", "overall", 5, 0.5), strict=True))  # fmt: skip
RATINGS = [
    RATING, {**RATING, "judge": "j2", "value": 8}, {**RATING, "response": "r2", "sample": "b", "weight": 1.0},
    {**RATING, "response": "r3", "sample": "gone", "weight": 1.0},
    {**RATING, "link": "l", "criterion": "link", "value": None},
    {**RATING, "link": "l", "criterion": "link", "judge": "j2", "value": 1},
]  # fmt: skip
NOT_KEY, UNEQUAL = "which the key does not have for that sample", "are not equal shares of 1"


def study(system: str = "", texts: str = "included", entry: str = "e") -> StudyCheck:
    content = Content(ManifestFile({"edition": "muse@1", "texts": texts}, ""), ())
    content.places, content.tombstones = {"a": 0, "b": 1}, {"gone": {}}
    content.answers, content.settings = {(entry, "single"): np.zeros(2, np.int8)}, {entry: "k=1"}
    content.entries = {entry: EntryName(system, "t", "uploaded", "r")} if system else {}
    return StudyCheck(content, Path())


@pytest.mark.parametrize(("at", "values", "key", "faults"), [
    (0, {}, {}, ()), (0, {"value": 0}, {}, ()), (0, {"value": 10}, {}, ()), (0, {"value": None}, {}, ()),
    *((0, {"value": value}, {}, ("not on the scale of overall",)) for value in (-1, 11, 2.5)),
    (4, {"value": 2}, {}, ("that is not on the scale of link",)),
    (0, {"response": "r9"}, {}, ("a rating of 'r9', which the key does", UNEQUAL, UNEQUAL)),
    (2, {"sample": "a"}, {}, (NOT_KEY,)), (2, {"criterion": "x"}, {}, ("a rating of 'r2' on 'x', not asked for",)),
    (2, {"link": "l"}, {}, ("on 'overall', not asked",)), (2, {"criterion": "link"}, {}, ("on 'link', not asked for",)),
    (1, {"judge": "j1"}, {}, ("'r1' is rated twice on overall by one rater",)),
    (1, {"weight": 0.51}, {}, ("'r1': the weights on overall are not equal shares of 1",)),
    (0, {}, {"r4": {"sample": "a"}}, ("'r4' is in the key and has no rating",)),
    (0, {}, {"r2": {**RATED["r2"], "sample": "z"}}, ("'r2' is of no sample", NOT_KEY)),
])  # fmt: skip
def test_a_rating_that_cannot_be_is_named(at: int, values: Any, key: dict[str, Any], faults: tuple[str, ...]) -> None:
    ratings = [*RATINGS[:at], {**RATINGS[at], **values}, *RATINGS[at + 1 :]]
    assert named(list(study()._odd_ratings(ratings, {**RATED, **key}, CRITERIA)), faults)


def test_a_rating_counts_by_its_weight_and_a_skipped_one_as_its_criterion_says() -> None:
    numbers = {name: study()._numbers(RATINGS, RATED, name, criterion) for name, criterion in CRITERIA.items()}
    assert numbers["overall"]["x"].tolist() == [[6.5, 1], [5, 1]] and numbers["overall"].keys() == {"x"}
    assert numbers["link"]["x"][0].tolist() == [0.5, 1] and np.isnan(numbers["link"]["x"][1, 0])


@pytest.mark.parametrize(("system", "entry", "texts", "names", "found"), [
    ("s", "e", {}, ("s", "s r"), "s r"), ("s", "e", {}, ("s r", "s r (k=1)"), "s r (k=1)"), ("s", "e", {}, ("s",), "s"),
    ("s r", "muse@1/s", {}, ("s r", "s r r"), "s r"), ("s", "muse@1/s", {}, ("s r",), ""), ("s", "e", {}, ("x",), ""),
    ("s", "e", {"a": "r1"}, ("x", "y"), "x"), ("s", "e", {"a": "r1", "b": "other"}, ("x", "y"), ""),
])  # fmt: skip
def test_an_entry_is_rated_by_its_name_or_its_texts(
    system: str, entry: str, texts: dict[str, str], names: tuple[str, ...], found: str
) -> None:
    check = study(system, entry=entry)
    check.content.responses = {(entry, key): text for key, text in texts.items()}
    rows = {f"r{k}": {"system": name, "sample": "a", "text_sha256": f"r{k}"} for k, name in enumerate(names, 1)}
    assert check._entries(rows) == ({(entry, "single"): found} if found else {})


@pytest.mark.parametrize(("texts", "published", "faults"), [
    ("included", {"a": "r1", "b": "r2"}, ()), ("withheld", {"a": "x"}, ()),
    ("included", {"a": "r1", "b": "x"}, ("'b' has another response of e than was rated",)),
    ("included", {"a": "r1"}, ("'b' has no response of e, and one is rated",)),
])  # fmt: skip
def test_a_response_that_is_not_the_rated_one_is_named(
    texts: str, published: dict[str, str], faults: tuple[str, ...]
) -> None:
    check = study("x", texts=texts)
    check.content.responses = {("e", key): text for key, text in published.items()} | {("f", "a"): "x"}
    assert named(list(check._other_texts(RATED)), faults)
    assert check.unchecked == (["texts of rated responses, which are withheld"] if texts == "withheld" else [])


def people() -> PeopleCheck:
    content = Content(ManifestFile({}, ""), ("x", "y"))
    content.places, content.tombstones = {f"xn-{k}": k for k in range(6)}, {"gone": {}}
    return PeopleCheck(content, Path())


def test_the_samples_for_people_are_the_first_by_a_public_order() -> None:
    order = sorted([*people().content.places, "gone"], key=lambda name: sha256_text(f"people:{name}"))
    for number in range(2, 8):
        asked = order[:number]
        for good in (asked, [name for name in asked if name != "gone"]):
            assert not [*people()._otherwise_drawn(good)]
        for bad in (asked[::-1], [*asked, "xn-9"], asked[1:]):
            assert len([*people()._otherwise_drawn(bad)]) == 1
    assert [*people()._otherwise_drawn([])] == []


def test_too_few_answers_of_people_give_no_figures_and_say_what_is_missing() -> None:
    (row,) = people()._table([ANSWER])
    assert row["missing"] == "0 people of at least 5, 0 samples with answers of 3 people, of at least 40"


ANSWER = {"judge": "rater-1", "sample": "xn-1", "label": 1, "certainty": 100, "known": False, "asked_label": None}
NOT_ASKED = "rater-1 on {}: not a sample that people were asked about"


@pytest.mark.parametrize(("values", "faults"), [
    ({}, ()), ({"certainty": 0, "label": 0, "known": True}, ()), ({"sample": "gone"}, ()),
    ({"sample": "check-1", "asked_label": 0}, ()), ({"sample": "xn-2"}, (NOT_ASKED.format("xn-2"),)),
    ({"asked_label": 0}, (NOT_ASKED.format("xn-1"),)), ({"sample": "check-1"}, (NOT_ASKED.format("check-1"),)),
    *((values, ("rater-1 on xn-1: not an answer",)) for values in (
        {"label": 2}, {"label": -1}, {"certainty": 101}, {"certainty": -1}, {"known": None})),
    ({"judge": "rater-2"}, ("rater-2 on xn-1: answered twice",) * 2),
])  # fmt: skip
def test_an_answer_of_a_person_that_cannot_be_is_named(values: dict[str, Any], faults: tuple[str, ...]) -> None:
    answers = [{**ANSWER, **values}, {**ANSWER, "judge": "rater-2"}]
    assert named([*people()._odd_answers(answers, {"xn-1", "gone"})], faults)


@pytest.mark.parametrize(("labels", "units", "alpha"), [
    ([0, 1, 0, 1], [0, 0, 1, 1], -0.5), ([0, 0, 1, 1], [0, 0, 1, 1], 1.0), ([1, 1], [0, 0], None),
    ([0, 0, 1, 1, 0, 1, 1], [0, 0, 1, 1, 2, 2, 3], 4 / 9), ([0, 1], [0, 1], None),
    ([0, 0, 1, 1, 1], [0, 0, 0, 1, 1], 1 / 3),
])  # fmt: skip
def test_alpha_of_a_few_answers_is_that_of_a_hand_computation(labels: Any, units: Any, alpha: float | None) -> None:
    assert _alpha(labels, units) == (alpha if alpha is None else pytest.approx(alpha))


@pytest.mark.parametrize(("content", "fault"), [
    (b"[[1]]", ""), (b"[[[]]]", "nested more than 2 levels"), (b'{"a":{"b":[]}}', "nested more than 2 levels"),
    (b"1" * 20, ""), (b"1" * 21, "a number of 21 digits"), (b'{"a":1,"a":1}', "an object has a field twice"),
    (b"\xef\xbb\xbf1", "a byte-order mark before the text"), (b"[" * 90_000, "nested too deeply"), (b"NaN", "JSON"),
    (b'"\\ud800"', "surrogates not allowed"), (b"\xff", "can't decode"), (b"{", "Expecting"), (b"1e999", "JSON"),
    ('"x"'.encode("utf-16"), "can't decode"), (b"", "Expecting"), (b"\x00", "Expecting"),
])  # fmt: skip
def test_json_is_read_as_every_parser_reads_it_or_refused(content: bytes, fault: str) -> None:
    if not fault:
        assert strict_json(content, 2) == json.loads(content)
        return
    with pytest.raises(ValueError, match=fault):
        strict_json(content, 2)


NOT_CANONICAL, DEEP = "is not canonical", '{"id":' + "[" * 9 + "]" * 9 + "}"


@pytest.mark.parametrize(("lines", "ids", "faults"), [
    (['{"id":"a"}', '{"id":"b"}'], "ab", ()),
    (['{"id":"b"}', '{"id":"a"}', '{"id":"c"}'], "bc", ("line 2: 'a' is not in its place",)),
    (['{"id":"a"}', '{"id":"a"}', '{"id":"b"}'], "ab", ("line 2: 'a' appears twice",)),
    (['{"id": "a"}', '{"id":"b"}'], "ab", (f"line 1 {NOT_CANONICAL}",)),
    (['{"id":1}', '{"id":"b"}'], "b", ("line 1: id: 1 does",)),
    (["x", '{"id":"b"}'], "b", ("line 1 is not JSON of up to 10,000,000 bytes",)),
    ([DEEP], "", ("nested more than 8 levels",)),
    (["x"] * 21, "", ("is not JSON",) * 21), (["x"] * 22, "", ("is not JSON",) * 21 + ("and more",)),
])  # fmt: skip
def test_lines_are_read_on_after_a_fault_and_only_so_many_are_named(
    tmp_path: Path, lines: list[str], ids: str, faults: tuple[str, ...]
) -> None:
    (tmp_path / "x.jsonl").write_text("".join(f"{line}\n" for line in lines))
    found: list[str] = []
    assert "".join(key for key, _ in by_id(tmp_path / "x.jsonl", {"id": str}, found)) == ids
    assert named(found, faults), found
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "x.jsonl")
    for absent in ("none.jsonl", "link.jsonl"):
        assert [*by_id(tmp_path / absent, {"id": str}, found)] == [] and found.pop() == "no such file"


@pytest.mark.parametrize("more", [-1, 0, 1, 2])
def test_of_many_faults_the_first_are_named_and_the_others_counted(more: int) -> None:
    faults = [str(number) for number in range(MOST_FAULTS + more)]
    assert first_of(faults) == faults[:MOST_FAULTS] + [f"{more} more like these"] * (more > 0)


@pytest.mark.parametrize("seed", range(24))
def test_intervals_of_numbers_forecasts_and_ranks_are_those_of_the_scores(seed: int) -> None:
    random, classes = np.random.default_rng(seed), 2 + seed % 3
    n = int(random.integers(2, 40))
    groups = random.integers(0, random.integers(1, n + 1), n).astype(np.int32)
    labels = (random.integers(0, classes, n) if seed % 5 else np.full(n, 1)).astype(np.int8)
    chances = random.dirichlet(np.full(classes, random.choice([0.1, 1.0])), n)
    chances[random.random(n) < 0.1] = np.nan
    if seed % 7 == 0:
        chances = np.eye(classes)[labels]
    facts, said = random.integers(0, random.choice([3, 40]), n) / 7, random.random(n).round(int(random.choice([0, 3])))
    facts[random.random(n) < 0.1], said[random.random(n) < 0.1] = np.nan, np.nan
    made = [(one, one.statistics(labels, chances), OwnMetric.of_classes(one.name, [*"abcd"][:classes]),
             forecast_sums(labels, chances, groups)) for one in forecast_metrics(classes)]  # fmt: skip
    ranked = rank_correlation("fact", "")
    mine = RankMetric(ranked.name, (), (-1.0, 1.0))
    made.append((ranked, ranked.statistics(facts, said), mine, rank_sums(facts, said, groups)))
    for limits in ((0.0, 1.0), (1.0, 5.0)):
        alike = (*limits, sum(limits) / 2)[seed % 3]
        values = random.uniform(*limits, n) if seed % 4 else np.full(n, alike)
        weights, number = random.choice([1.0, 0.5, 3.0], n), mean("number", limits)
        theirs = number_sums(weights, values, groups)
        made.append((number, number.statistics(weights, values), OwnMetric("number", (), limits), theirs))
    for ours, rows, metric, table in made:
        tables = cluster_tables(rows, groups.astype(np.int64))
        there = intervals.metric_interval(tables, ours)
        expected = (float(ours.value(tables.sum(axis=0))), there.low, there.high)
        assert interval(table, metric) == pytest.approx(expected, abs=1e-9), (seed, metric.name)
        assert metric.effective(table) == pytest.approx(there.effective_clusters), metric.name
        drawn = tuple(bootstrap_limits(tables[None], [ours])[0, 0])
        assert bootstrap_interval(table, metric) == pytest.approx(drawn, abs=1e-9), metric.name
        if not isinstance(metric, RankMetric):
            moved = ours.value(ours.statistics.moved(tables.sum(axis=0), 2.5))
            assert sorted(metric.value(metric.moved(table.sum(axis=0), 2.5))) == pytest.approx(sorted(moved), abs=1e-9)


def test_quantiles_of_t_are_those_of_its_distribution() -> None:
    for df in (1.0, 1.7, 3.0, 12.5, 80.0, 2000.0):
        for tail in (0.5, 0.05, 0.001, 1e-6):
            assert t_quantile(tail, df) == pytest.approx(student.isf(tail / 2, df), rel=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_measures_of_rankings_are_those_of_the_scores(seed: int) -> None:
    random = np.random.default_rng(seed)
    names = [f"d{number}" for number in range(30)]
    judged = random.integers(-1, 3, 30 if seed else 0).tolist()
    relevance = dict(zip(names, judged, strict=False))
    documents = random.permutation([*names, "x"])[: 31 if seed % 2 else 4].tolist()
    scores = random.integers(0, 4, len(documents)) + random.choice([0, 1e-9], len(documents))
    assert ranking_measures(documents, scores.tolist(), relevance) == pytest.approx(
        retrieval.measures(documents, scores.tolist(), relevance)
    )
    falling = [float(-place) for place in range(len(documents))]
    assert ranking_measures(documents, (), relevance) == ranking_measures(documents, falling, relevance)


@pytest.mark.parametrize(("sums", "limits", "constant"), [
    ([6, 2, 18], (1, 5), True), ([6, 2, 18.1], (1, 5), False), ([10, 2, 50], (1, 5), True), ([0, 0, 0], (1, 5), False),
    ([1, 2, 0.5], (0, 1), True), ([2, 2, 2], (0, 1), True), ([0, 2, 0], (0, 1), True), ([1, 0.5, 2], (1, 5), True),
    ([0.5, 0.5, 0.5], (1, 5), True),
])  # fmt: skip
def test_numbers_are_alike_or_not(sums: Any, limits: Any, constant: bool) -> None:
    assert OwnMetric("x", (), limits).is_constant(np.array(sums)) is constant
    assert not OwnMetric("x", ("a", "b"), limits).is_constant(np.array(sums))


@pytest.mark.parametrize(("name", "known"), [
    ("f1", (True, False)), ("f1:a", (True, True)), ("f1:c", (False, True)), ("accuracy", (True, True)),
    ("accuracy:a", (False, False)), ("log_score", (True, True)), ("surprise", (False, False)),
])  # fmt: skip
def test_a_metric_is_known_by_its_name_and_classes(name: str, known: tuple[bool, bool]) -> None:
    assert tuple(OwnMetric.of_classes(name, classes).is_known for classes in (("a", "b"), ("a", "b", "c"))) == known
    assert OwnMetric(name).is_known and OwnMetric.of_classes(name, ("a",)).is_known is (name == "f1:a")


@pytest.mark.parametrize(("groups", "method", "fisher"), [
    ([0, 0, 0], NONE, NONE), ([0, 0, 1], WILSON, FISHER), ([0, 1, 2], WILSON, FISHER),
])  # fmt: skip
def test_a_score_says_by_which_method_its_interval_is_and_what_was_not_answered(
    groups: list[int], method: str, fisher: str
) -> None:
    content = Content(
        ManifestFile({"task": "x-notes", "texts": "included"}, ""), ("a", "b"), places={"a": 0, "b": 1, "c": 2}
    )
    content.labels, content.groups = np.array([0, 1, 1], np.int8), np.array(groups, np.int32)
    content.answers["e", "single"], content.facts = np.array([0, -1, 1], np.int8), np.array([0.1, 0.2, 0.3])
    content.stated["e", "single"] = np.full((3, 2), np.nan)
    check, where = ScoreCheck(content), np.ones(3, np.bool_)
    found = {
        name: check._computed("e", "single", OwnMetric.of_classes(name, ("a", "b")), where) for name in ("f1", "x")
    }
    assert (found["f1"]["method"], found["f1"]["silent"], found["f1"]["clusters"]) == (method, 1, len(set(groups)))
    assert "value" not in found["x"] and check.unchecked == {"scores of x-notes by x, which is not known here"}
    assert found["x"]["effective_clusters"] == pytest.approx({1: 1, 2: 9 / 5, 3: 3}[len(set(groups))])
    ranked = check._computed("e", "single", RankMetric("rank_correlation", (), (-1.0, 1.0)), where)
    assert ranked["method"] == fisher and ranked["value"] == pytest.approx(0.5)
    content.classes, content.metrics = (), [OwnMetric("overall", (), (0.0, 10.0))]
    assert "value" not in check._computed("e", "single", content.metrics[0], where)
    assert "scores of x-notes by overall, whose ratings are not published beside it" in check.unchecked
