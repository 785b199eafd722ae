"""Records of Every Eval Ever: all metrics of a ranked entry, and on demand its answers to the samples.

Source of the format: https://github.com/evaleval/every_eval_ever (schema 0.3.0, with its file of samples).
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

import polars as pl

from hellofresh import __version__
from hellofresh.core.editions import benchmark_task
from hellofresh.core.files import sha256_text
from hellofresh.results.board.sample_rows import SampleRow
from hellofresh.results.board.system_rows import SystemFacts
from hellofresh.results.split.tables import AnswerRow
from hellofresh.tasks import TASKS
from leaderboard.components.markup import visible
from leaderboard.components.scale import class_names, plain_scale
from leaderboard.data.board import Board, MetricValue, ScoreCell, SplitKey, table_of
from leaderboard.export.copy import file_names

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)  # the format demands a time; this one says that none is known
# Every Eval Ever's term for the source of a score, by the entry's provenance.
_RELATIONS = {"run": "third_party", "uploaded": "first_party"}


def evaluation_records(
    board: Board, split: SplitKey, ranked: Sequence[ScoreCell], *, instances: bool
) -> Iterator[tuple[str, str]]:
    """A record for each ranked system, and with `instances` also its answers to each sample."""
    facts, said = board.systems(split), dict[tuple[object, ...], pl.DataFrame]()
    rows = board.rows(SampleRow, split) if instances and class_names(split.task) else ()
    samples = {row.id: row for row in rows if row.label is not None}
    if samples:
        said = board.frame(AnswerRow, split, pl.col("headline")).partition_by("origin", as_dict=True)
    for result in ranked:
        origin = result.entry.origin
        answers = table_of(AnswerRow).rows(said[origin,]) if (origin,) in said else []
        yield from _record(
            board, split, result, facts.get(origin), [(samples[one.id], one) for one in answers if one.id in samples]
        )


def _record(
    board: Board,
    split: SplitKey,
    result: ScoreCell,
    facts: SystemFacts | None,
    said: Sequence[tuple[SampleRow, AnswerRow]],
) -> Iterator[tuple[str, str]]:
    """The path and the text of a record of Every Eval Ever, all metrics of an entry on a split, and of its samples.

    Its name and its times are derived from the entry, so that the same board gives the same bytes.
    """
    entry, named = result.entry, benchmark_task(split.task, split.edition, split.kind)
    team, system = (file_names([entry._replace(system=name)])[entry.origin] for name in (entry.team, entry.system))
    at = datetime.fromisoformat(facts.entered).replace(tzinfo=UTC) if facts and facts.entered else _EPOCH
    name = f"hellofresh/{team}/{system}/{named}"
    shared = {"schema_version": "0.3.0", "evaluation_id": f"{name}/{at.timestamp():.0f}"}
    digest = bytes.fromhex(sha256_text(f"{name}/{entry.origin}"))[:16]
    place = f"data/hellofresh/{team}/{system}/{uuid.UUID(bytes=digest, version=4)}"
    record = {
        **shared,
        "retrieved_timestamp": f"{at.timestamp():.0f}",
        **_who(board, result, f"{team}/{system}"),
        "evaluation_results": _all_metrics(board, split, result),
    }
    if said:
        each = {**shared, "model_id": f"{team}/{system}", "evaluation_name": f"{named} accuracy"}
        rows = "".join(_compact({**each, **_instance(split, *one)}) for one in said)
        details = {"format": "jsonl", "file_path": f"{place}_samples.jsonl", "total_rows": len(said)}
        record["detailed_evaluation_results"] = {**details, "hash_algorithm": "sha256", "checksum": sha256_text(rows)}
        yield f"every_eval_ever/{place}_samples.jsonl", rows
    text = json.dumps(record, ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False) + "\n"
    yield f"every_eval_ever/{place}.json", text


def _who(board: Board, result: ScoreCell, model: str) -> Mapping[str, object]:
    """The source of a record, and the scored system."""
    entry = result.entry
    return {
        "source_metadata": {
            "source_name": "HelloFresh",
            "source_type": "documentation",
            "source_organization_name": "HelloFresh",
            "evaluator_relationship": _RELATIONS.get(entry.provenance, "other"),
            "additional_details": {"provenance": visible(entry.provenance, 20), "board": board.code},
        },
        "eval_library": {"name": "hellofresh", "version": __version__},
        "model_info": {
            "name": visible(entry.name, 200),
            "id": model,
            "developer": visible(entry.team, 200),
            "additional_details": {
                "regime": visible(entry.regime, 80),
                "knowledge_cutoff": visible(result.knowledge_cutoff, 40),
                **dict.fromkeys(("deployment_type", "model_availability"), "unknown"),
            },
        },
    }


def _all_metrics(board: Board, split: SplitKey, result: ScoreCell) -> list[Mapping[str, object]]:
    """All metrics of an entry on a split, each with its interval."""
    scale, task = plain_scale(split.task, split.kind), TASKS.get(split.task)
    known = {metric.name: metric for metric in task.on(split.kind).every_metric} if task is not None else {}

    def score(value: MetricValue) -> Mapping[str, object]:
        metric = known.get(value.name)
        low, high = metric.limits if metric is not None else (scale.low, scale.high)
        interval = {"lower": value.low, "upper": value.high, "confidence_level": 0.95, "method": result.method}
        details = {"judged": str(result.n), "samples": str(result.n_split), "prompt": visible(result.prompt, 80)}
        return {
            "evaluation_name": f"{benchmark_task(split.task, split.edition, split.kind)} {value.name}",
            "source_data": _source(board, split, result),
            "metric_config": {
                "metric_id": f"hellofresh.{value.name}",
                "metric_name": (metric.title if metric is not None else "") or value.name,
                "lower_is_better": metric is not None and not metric.higher_is_better,
                "score_type": "continuous",
                "min_score": low,
                "max_score": high,
            },
            "score_details": {
                "score": value.value,
                "details": details,
                "uncertainty": {"confidence_interval": interval, "num_samples": result.n},
            },
        }

    return [score(value) for value in result.metrics]


def _instance(split: SplitKey, sample: SampleRow, answer: AnswerRow) -> Mapping[str, object]:
    """A system's answer to a sample. The sample is only identified: its texts are in the release, if published."""
    classes, asked = class_names(split.task), sample.link or sample.id
    reference, right = classes[sample.label or 0], answer.label == sample.label
    output = classes[answer.label] if answer.label is not None else ""
    found = {"turn_idx": 0, "source": "output.raw", "extracted_value": output, "extraction_method": "custom"}
    chance = {} if answer.chance is None else {"chance": f"{answer.chance:.6g}"}
    return {
        "sample_id": sample.id,
        "sample_hash": sha256_text(f"{asked}{reference}"),
        "interaction_type": "single_turn",
        "input": {"raw": asked, "reference": [reference], "choices": list(classes)},
        "output": {"raw": [output]},
        "answer_attribution": [{**found, "is_terminal": True}] if output else [],
        "evaluation": {"score": float(right), "is_correct": right},
        "error": None if output else answer.status,
        "metadata": {"group": sample.group, "period": sample.period, "prompt": visible(answer.prompt, 80), **chance},
    }


def _compact(row: Mapping[str, object]) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


def _source(board: Board, split: SplitKey, result: ScoreCell) -> Mapping[str, object]:
    named = {"dataset_name": benchmark_task(split.task, split.edition, split.kind)}
    if board.addresses.dataset:
        return {**named, "source_type": "hf_dataset", "hf_repo": board.addresses.dataset,
                "samples_number": result.n_split}  # fmt: skip
    return {**named, "source_type": "other"}
