"""Results in external formats: `.eval_results` of model repositories, and records of Every Eval Ever.

Only ranked results are exported: none of the bundled sample, whose scores are for demonstration, and none of
a split whose labels are not revealed. Source: https://huggingface.co/docs/hub/eval-results
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import isfinite

from hellofresh.core.editions import benchmark_task
from hellofresh.core.files import canonical_json
from hellofresh.core.intake import Intake
from hellofresh.results.board.system_rows import SystemFacts
from hellofresh.results.split.tables import Score
from hellofresh.tasks import TASKS
from hellofresh.tasks.samples import MAIN, to_json
from leaderboard.components.markup import visible
from leaderboard.components.scale import figure, plain_scale
from leaderboard.data.board import Board, ScoreCell, SplitKey
from leaderboard.export.copy import Site, file_names
from leaderboard.export.every_eval_ever import evaluation_records

LEDGER = "ledger.json"
"""What became of the results of the board."""


def record_files(site: Site, *, instances: bool = False) -> Iterator[tuple[str, str]]:
    """The path and the text of each file, below the copy's folder; the last one is the ledger of the results.

    Args:
        site: of the results.
        instances: whether each record of Every Eval Ever also has the system's answers to the samples.
    """
    came_in, went_on, left_out = 0, 0, Counter[str]()
    for split in dict.fromkeys(split for _, split, _ in site.paths):
        ranked, rest = _results_to_export(site.board, split)
        came_in += len(ranked) + rest.total()
        left_out += rest
        facts = site.board.systems(split)
        names = file_names(result.entry for result in ranked)
        for result in ranked if site.board.addresses.dataset else ():
            origin = result.entry.origin
            place = f".eval_results/{benchmark_task(split.task, split.edition, split.kind)}-{names[origin]}.yaml"
            yield place, eval_results(site.board, split, result, facts.get(origin))
        for path, text in evaluation_records(site.board, split, ranked, instances=instances):
            went_on += path.endswith(".json")
            yield path, text
    yield LEDGER, canonical_json(to_json(Intake("results", came_in, went_on, left_out))) + "\n"


def _results_to_export(board: Board, split: SplitKey) -> tuple[list[ScoreCell], Counter[str]]:
    """One whole result of each ranked system of a split that may be exported, and the number of others by reason."""
    results, standings, found = board.headlines(split), board.standings(split), dict[str, ScoreCell]()
    entries = set(board.frame(Score, split)["origin"]) - {result.entry.origin for result in results}
    why = _kept_back(board, split)
    left_out = Counter({why or "no-headline": len(entries)})
    for result in results:
        origin = result.entry.origin
        fault = why or ("" if origin in standings else "not-ranked") or ("repeated" if origin in found else "")
        if fault := fault or _incomplete(split, result):
            left_out[fault] += 1
        else:
            found[origin] = result
    return list(found.values()), left_out


def _incomplete(split: SplitKey, result: ScoreCell) -> str:
    """What a result lacks, if anything."""
    if split.task in TASKS and result.headline.name != TASKS[split.task].on(split.kind).headline.name:
        return "no-headline"
    finite = all(isfinite(number) for metric in result.metrics for number in (metric.value, metric.low, metric.high))
    return "" if finite else "no-number"


def _kept_back(board: Board, split: SplitKey) -> str:
    """Why results of a split are not exported, if they are not."""
    if board.is_bundled(split):
        return "bundled"
    return "not-revealed" if board.is_open(split) and split.kind == MAIN else ""


def eval_results(board: Board, split: SplitKey, result: ScoreCell, facts: SystemFacts | None) -> str:
    """The headline result for `.eval_results` of a model's own repository; requires the data set's name on the hub."""
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml
    from huggingface_hub.utils import yaml_dump  # type: ignore[attr-defined]  # not in its list of names

    entry, headline = result.entry, result.headline
    low, high = figure(headline.low, headline.name), figure(headline.high, headline.name)
    regime = "" if entry.regime == "none" else f"{visible(entry.regime, 40)}; "
    made = EvalResultEntry(
        dataset_id=board.addresses.dataset,
        task_id=benchmark_task(split.task, split.edition, split.kind),
        value=round(result.headline.value, 6),
        date=facts.entered if facts and facts.entered else None,
        source_url=board.addresses.repository or None,
        source_name="HelloFresh" if board.addresses.repository else None,
        notes=f"{regime}{plain_scale(split.task, split.kind).title}, 95% interval {low} to {high}; {entry.provenance}",
    )
    return str(yaml_dump(eval_result_entries_to_yaml([made]), sort_keys=False, width=1000))
