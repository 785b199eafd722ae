"""Files of scores as frames: tables, logs of inspect_ai, and results of other programs, each known by its form.

Forms: https://inspect.aisi.org.uk/eval-logs.html (a zip of samples), lm-evaluation-harness (`samples_*.jsonl`),
instance_level_eval.schema.json of https://github.com/evaleval/every_eval_ever, evalplus (`*_eval_results.json`),
promptfoo (`output.json`), deepeval (`test_run*.json`), HELM (`per_instance_stats.json`), MTEB (one file per task),
details of lighteval (Parquet with a column of structs), and trec_eval (`-q`).
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

# What inspect_ai writes for correct, incorrect, partially correct and no answer.
_LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_LISTS = ("results", "data", "rows", "records", "samples", "instances", "items", "scores", "examples", "predictions")
# Folders of MTEB between a model's and its results.
_REVISION = re.compile(r"[0-9a-f]{40}|external|main|no_revision_available")
_LONGEST_HEAD = 1_000_000  # a file without line ends would be read whole to find its first line
_TREC = re.compile(rb"^(\w+)[ \t]+(\S+)[ \t]+(-?[\d.]+(?:e-?\d+)?)\r?$", re.MULTILINE)
TABLES = ".csv, .tsv, .parquet, .jsonl, .json, .eval, or the text of trec_eval -q"
Row = dict[str, object]


def read_table(path: Path, name: str = "") -> pl.DataFrame:
    """A file as a frame: a row for each score, or for each item.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: if it is of no known form.
        OSError: if it cannot be read.
    """
    name, ending = name or path.stem, path.suffix.lower()
    if ending == ".parquet":
        return _flat_structs(pl.read_parquet(path, glob=False))
    if ending in (".csv", ".tsv", ".tab"):
        return _table(path)
    if ending == ".eval":
        with zipfile.ZipFile(path) as file:
            samples = [json.loads(file.read(name)) for name in sorted(file.namelist()) if name.startswith("samples/")]
            rows: Iterable[Row] = _inspected(json.loads(file.read("header.json")), samples)
    elif ending in (".jsonl", ".ndjson"):
        rows = map(_plain, _lines(path.read_text(encoding="utf-8-sig")))
    elif ending == ".json":
        rows = _of_json(json.loads(path.read_text(encoding="utf-8-sig")), path, name)
    else:
        rows = _of_trec(path, name)
    return pl.DataFrame(list(rows), infer_schema_length=None, strict=False)


def _table(path: Path) -> pl.DataFrame:
    """A table of texts. Its separator is the one that its first line has most of; an id is a text, so that 00 stays."""
    with path.open("rb") as file:
        head = file.readline(_LONGEST_HEAD)
    if b"\0" in head or "\ufffd" in head.decode(errors="replace"):
        raise ValueError("not text in UTF-8; save it as 'CSV UTF-8'")
    separator = max(",", ";", "\t", "|", key=lambda sign: head.count(sign.encode()))
    frame = pl.read_csv(path, separator=separator, infer_schema=False, glob=False)
    if twice := [name for name in frame.columns if re.search(r"_duplicated_\d+$", name)]:
        raise ValueError(f"two columns are called {twice[0].rpartition('_duplicated_')[0]!r}")
    return frame


def _lines(text: str) -> Iterator[object]:
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            if line.strip():
                yield json.loads(line)
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None


def _of_json(content: Any, path: Path, name: str) -> Iterable[Row]:
    """Rows of a JSON file of any known form."""
    match content:
        case {"eval": dict(), "samples": samples}:
            rows = _inspected(content, samples)
        case {"eval": dict()}:
            rows = _of_evalplus(content, name)
        case {"results": {"results": list()}}:
            rows = _of_promptfoo(content)
        case {"testCases": list(cases)} | {"test_cases": list(cases)}:
            rows = _of_deepeval(cases)
        case {"scores": dict(), "task_name": _}:
            rows = _of_mteb(content, path)
        case [{"instance_id": _, "stats": _}, *_]:
            rows = _of_helm(content, path)
        case dict():
            rows = _of_object(content)
        case _:
            rows = map(_plain, content)
    return rows


def _of_object(content: Mapping[str, Any]) -> Iterator[Row]:
    """Rows of an object that has a list of them, with the name of its model; or of an object of objects: one row per
    key, or one column per key if these are fewer.
    """
    about = {name: value for name, value in content.items() if name in ("model", "model_name", "system", "model_id")}
    parts = list(content.values())
    if lists := [content[name] for name in (*_LISTS, *content) if isinstance(content.get(name), list)]:
        yield from ({**about, **_plain(row)} for row in lists[0])
    elif len(parts) < 2 or not all(isinstance(one, dict) for one in parts):
        raise ValueError(f"not an object of a known form; its keys: {', '.join(content)[:100]}")
    # fewer outer than inner keys: systems by items is the rarer form, columns the other
    elif len(parts) < len(parts[0]) and all(set(one) == set(parts[0]) for one in parts):
        yield from ({"": name, **{key: one[name] for key, one in content.items()}} for name in parts[0])
    else:
        yield from ({"item": key, **_plain(one)} for key, one in content.items())


def _inspected(log: Mapping[str, Any], samples: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    """Rows of a log of inspect_ai: one for each sample and epoch; the first scorer's value is the score. A sample that
    ended with an error has none, and the reason.
    """
    for sample in samples:
        scores = {name: score["value"] for name, score in (sample.get("scores") or {}).items()}
        values = {name: _LETTERS.get(str(value), value) for name, value in scores.items()}
        own: Row = {"item": str(sample["id"]), "system": log["eval"]["model"], "epoch": sample.get("epoch", 1)}
        why = "error" if sample.get("error") else "limit" if sample.get("limit") and not values else None
        score = None if sample.get("error") else next(iter(values.values()), None)
        yield {**own, "score": score, "why": why if score is None else None, **values}


def _plain(row: object) -> Row:
    """A row without what is nested deeper than one level; of lm-eval the first of its metrics is the score."""
    if not isinstance(row, dict):
        raise ValueError("a row that is not an object")
    nested = [(name, inner) for name, inner in row.items() if isinstance(inner, dict)]
    flat = {**row, **{f"{name}.{part}": value for name, inner in nested for part, value in inner.items()}}
    if "doc_id" in row and isinstance(row.get("metrics"), list):
        flat["score"] = row.get(next(iter(row["metrics"]), ""))
        flat["why"] = "error" if flat["score"] is None else None
    return {name: value for name, value in flat.items() if not isinstance(value, dict | list)}


def _flat_structs(frame: pl.DataFrame) -> pl.DataFrame:
    """A Parquet table with the numbers of its structs as columns; of details of lighteval the first metric is the
    score, and a row is an item.
    """
    for name in [name for name, kind in frame.schema.items() if isinstance(kind, pl.Struct)]:
        inner = frame[name].struct.unnest()
        kept = [part for part in inner.columns if inner[part].dtype.is_numeric() or inner[part].dtype == pl.Boolean]
        frame = frame.with_columns(inner[part].alias(f"{name}.{part}") for part in kept).drop(name)
        if name in ("metric", "metrics") and kept and "score" not in frame.columns:
            frame = frame.with_columns(inner[kept[0]].cast(pl.Float64).alias("score"))
            # lighteval's details have one row per item, in order
            frame = frame if "item" in frame.columns else frame.with_row_index("item")
    return frame.drop([name for name, kind in frame.schema.items() if isinstance(kind, pl.List | pl.Array | pl.Object)])


def _of_evalplus(content: Mapping[str, Any], name: str) -> Iterator[Row]:
    for task, tries in content["eval"].items():
        for number, one in enumerate(tries if isinstance(tries, list) else [tries]):
            status = one.get("plus_status") or one.get("base_status")
            known = {"pass": 1.0, "fail": 0.0, "timeout": 0.0}.get(str(status).lower())
            why = None if known is not None else str(status or "no status")
            yield {"item": task, "system": name, "repeat": number, "score": known, "why": why}


def _of_promptfoo(content: Mapping[str, Any]) -> Iterator[Row]:
    for number, one in enumerate(content["results"]["results"]):
        provider = one.get("provider") or {}
        name = provider.get("label") or provider.get("id") if isinstance(provider, dict) else provider
        prompt = one.get("promptIdx", 0)
        item = one.get("testIdx", json.dumps(one.get("vars", number), sort_keys=True)[:200])
        failed = one.get("error") and one.get("score") in (None, 0) and one.get("failureReason") == 2
        score = None if failed else one.get("score", one.get("success"))
        yield {"item": str(item), "system": f"{name}" + (f" prompt {prompt}" if prompt else ""),
               "score": None if score is None else float(score), "why": "error" if failed else None}  # fmt: skip


def _of_deepeval(cases: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    for number, case in enumerate(cases):
        found = case.get("metricsData") or case.get("metrics_data") or ()
        values = {str(one["name"]): one.get("score") for one in found}
        score = next(iter(values.values()), None)
        yield {"item": str(case.get("name") or number), "score": score, "why": None if score is not None else "error",
               **values}  # fmt: skip


def _of_mteb(content: Mapping[str, Any], path: Path) -> Iterator[Row]:
    for split, subsets in content["scores"].items():
        for one in subsets:
            item = " ".join(filter(None, (content["task_name"], split, one.get("hf_subset"))))
            model = path.parent.parent if _REVISION.fullmatch(path.parent.name) else path.parent
            yield {"item": item, "system": model.name, "score": one.get("main_score")}


def _of_helm(content: Sequence[Mapping[str, Any]], path: Path) -> Iterator[Row]:
    """Rows of per_instance_stats.json: the first metric that is not a count, time or probability is the score. Its
    folder names the scenario and the model, such as `mmlu:subject=law,model=x`.
    """
    scenario, _, model = path.parent.name.partition("model=")
    model, _, more = model.partition(",")
    for one in content:
        values: dict[str, object] = {}
        for stat in one["stats"]:
            name = stat["name"]["name"] if isinstance(stat["name"], dict) else str(stat["name"])
            values.setdefault(name, stat.get("mean", stat.get("sum")))
        scored = [name for name in values if not re.search(r"num_|runtime|logprob|perplexity|tokens|bits_per|truncated|"
                                                           r"finish_reason|batch_size|prob$", name)]  # fmt: skip
        score = values[scored[0]] if scored else None
        item = f"{scenario}{more} {one['instance_id']}" if model else f"{one['instance_id']}"
        changed = str((one.get("perturbation") or {}).get("name", ""))
        yield {"item": item, "system": model or path.parent.name, "trial": one.get("train_trial_index", 0),
               "score": score, "perturbation": changed, **values}  # fmt: skip


def _of_trec(path: Path, name: str) -> Iterator[Row]:
    """Rows of `trec_eval -q`: a measure, a query and a value per line; the line of all queries is left out."""
    found = _TREC.findall(path.read_bytes())
    if len(found) < 2:
        raise ValueError(f"a file that ends with {path.suffix!r}")
    by_query: dict[str, Row] = {}
    for measure, query, value in found:
        if query != b"all":
            item = query.decode(errors="replace")
            by_query.setdefault(item, {"item": item, "system": name})[measure.decode()] = float(value)
    for row in by_query.values():
        measures = [name for name in row if name not in ("item", "system") and not name.startswith("num_")]
        yield {**row, "score": row["map"] if "map" in row else row[measures[0]] if measures else None}
