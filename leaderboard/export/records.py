"""Results in external formats: a feed, badges, `.eval_results` of model repositories, Every Eval Ever.

Only ranked results are exported: none of the bundled sample, whose scores are for demonstration, and none of
a split whose labels are not revealed. Sources of the formats: https://datatracker.ietf.org/doc/html/rfc4287,
https://huggingface.co/docs/hub/eval-results and https://github.com/evaleval/every_eval_ever (schema 0.3.0, with its
file of samples).
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from xml.sax.saxutils import escape, quoteattr

import polars as pl

from hellofresh import __version__
from hellofresh.core.editions import benchmark_task
from hellofresh.core.files import sha256_text
from hellofresh.results.board.schema import SampleRow, SystemFacts
from hellofresh.results.standings import Standing
from hellofresh.results.tables import AnswerRow
from hellofresh.tasks import TASKS
from hellofresh.tasks.samples import MAIN
from leaderboard.components.labels import day, task_title
from leaderboard.components.markup import visible
from leaderboard.components.scale import class_names, figure, plain_scale
from leaderboard.data.board import Board, MetricValue, ScoreCell, SplitKey, table_of
from leaderboard.export.copy import FEED, Site, file_names

_WIDTHS = {**dict.fromkeys("fijlt.,()I1|", 0.35), **dict.fromkeys("mwMW@", 0.95)}
_RELATIONS = {"run": "third_party", "replayed": "collaborative", "uploaded": "first_party"}
"""Every Eval Ever's term for the source of a score, by the entry's provenance."""


def record_files(site: Site, *, instances: bool = False) -> Iterator[tuple[str, str]]:
    """The path and the text of each file, below the copy's folder.

    Args:
        site: of the results.
        instances: whether each record of Every Eval Ever also has the system's answers to the samples.
    """
    yield FEED, feed(site)
    for split in dict.fromkeys(split for _, split, _ in site.paths):
        if not _is_passed_on(site.board, split):
            continue
        standings, facts = site.board.standings(split), site.board.systems(split)
        ranked = [result for result in site.board.headlines(split) if result.entry.origin in standings]
        names = file_names(result.entry for result in ranked)
        for result in ranked:
            origin = result.entry.origin
            page = site.paths.get(("system", split, (("system", origin),)), "")
            if page:
                yield f"{page.removesuffix('.html')}.svg", badge(split, result, standings[origin], len(standings))
            if site.board.addresses.dataset:
                place = f".eval_results/{benchmark_task(split.task, split.edition, split.kind)}-{names[origin]}.yaml"
                yield place, eval_results(site.board, split, result, facts.get(origin))
        yield from _every_eval_ever(site.board, split, ranked, instances=instances)


def _every_eval_ever(
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
        yield from every_eval_ever(
            board, split, result, facts.get(origin), [(samples[one.id], one) for one in answers if one.id in samples]
        )


def _is_passed_on(board: Board, split: SplitKey) -> bool:
    """Whether results of a split may be exported."""
    return not board.is_bundled(split) and not (board.is_open(split) and split.kind == MAIN)


def feed(site: Site) -> str:
    """The feed of deadlines and results as Atom, the latest first; addresses are relative to the feed's."""
    board, entries = site.board, list[tuple[str, str]]()
    for split in dict.fromkeys(split for _, split, _ in site.paths):
        if board.is_bundled(split):
            continue
        days, name = board.days(split), f"{task_title(split.task)}, {_dated(split)}"
        page = site.paths.get(("leaderboard", split, ())) or site.paths.get(("quarter", split, ())) or "index.html"
        if days is not None:
            about = f"Predictions are accepted until {day(days.deadline)}; labels are revealed on {day(days.reveals)}."
            entries.append(_feed_entry((*split, "opens"), days.opens, (f"{name}: open for predictions", about), page))
        if _is_passed_on(board, split) and (ranked := board.standings(split)):
            results = board.headlines(split)
            first = min(
                (one for one in results if one.entry.origin in ranked), key=lambda one: ranked[one.entry.origin].rank
            )
            entered = [one.entered for one in board.systems(split).values() if one.entered]
            latest = max([*map(_moment, entered), *([days.reveals] if days is not None else [])], default=_EPOCH)
            title = plain_scale(split.task, split.kind).title
            about = f"{len(ranked)} ranked systems; first by {title}: {visible(first.entry.name, 80)}, "
            value, low, high = _figures(first.headline)
            about += f"{value} (95%: {low} to {high})."
            entries.append(_feed_entry((*split, "results"), latest, (f"{name}: results", about), page))
    entries.sort(reverse=True)
    updated = entries[0][0] if entries else _spell_time(_EPOCH)
    head = f"<id>urn:hellofresh:feed:{site.fingerprint}</id><title>HelloFresh</title><updated>{updated}</updated>"
    body = "\n".join(text for _, text in entries)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
        f'{head}<author><name>HelloFresh</name></author><link rel="self" href="{FEED}"/>\n{body}\n</feed>\n'
    )


def _dated(split: SplitKey) -> str:
    """The edition, and the split unless it is the main one."""
    return split.edition if split.kind == MAIN else f"{split.edition}, {split.kind}"


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _spell_time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _figures(score: MetricValue) -> tuple[str, str, str]:
    """A value and the limits of its interval."""
    value, low, high = (figure(part, score.name) for part in (score.value, score.low, score.high))
    return value, low, high


def _feed_entry(parts: tuple[str, ...], at: datetime, said: tuple[str, str], page: str) -> tuple[str, str]:
    """The time and the element; `parts` make its id, and `said` is its title and its summary."""
    updated, (title, about) = _spell_time(at), map(escape, said)
    return updated, (
        f"<entry><id>{escape(':'.join(('urn:hellofresh', *parts)))}</id><title>{title}</title>"
        f"<updated>{updated}</updated><link href={quoteattr(page)}/><summary>{about}</summary></entry>"
    )


def badge(split: SplitKey, result: ScoreCell, standing: Standing, ranked: int) -> str:
    """A badge for a system's own page: the split, the rank with its limits, and the score."""
    between = f" ({standing.low} to {standing.high})" if standing.low < standing.high else ""
    named = f"HelloFresh {split.task} {_dated(split)}"
    title = plain_scale(split.task, split.kind).title
    said = f"rank {standing.rank}{between} of {ranked}, {title} {_figures(result.headline)[0]}"
    left, right = (round(12 + 7 * sum(_WIDTHS.get(char, 0.85) for char in text)) for text in (named, said))
    label = escape(f"{named}: {said}")
    texts = "".join(
        f'<text x="{x}" y="14" textLength="{width - 12}" lengthAdjust="spacingAndGlyphs">{escape(text)}</text>'
        for x, width, text in ((6, left, named), (left + 6, right, said))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img">'
        f'<title>{label}</title><rect width="{left + right}" height="20" rx="3" fill="#24303c"/>'
        f'<path d="M{left} 0h{right - 3}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-{right - 3}z" fill="#0a6b5c"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">{texts}</g></svg>\n'
    )


def eval_results(board: Board, split: SplitKey, result: ScoreCell, facts: SystemFacts | None) -> str:
    """The headline result for `.eval_results` of a model's own repository; requires the data set's name on the hub."""
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml
    from huggingface_hub.utils import yaml_dump  # type: ignore[attr-defined]  # not in its list of names

    entry, (_, low, high) = result.entry, _figures(result.headline)
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


def every_eval_ever(
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
    at = _moment(facts.entered) if facts and facts.entered else _EPOCH
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
