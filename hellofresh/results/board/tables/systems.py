"""The board's tables on single systems: facts, receipts, calibration, where they were wrong; and who takes part.

Of a split whose labels are not public all follows from answers alone. Predictions that were handed in count from the
deadline on: before it, agreement with one's own trial predictions would tell those of others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hellofresh.core.files import canonical_json
from hellofresh.core.systems import IDENTITY
from hellofresh.results.board.schema import (
    NO_ANSWER,
    REFUSED,
    AgreementRow,
    AnswerShare,
    CalibrationRow,
    ConfusionCell,
    Mistakes,
    Participant,
    ReliabilityBin,
    SystemFacts,
)
from hellofresh.results.board.splits import BoardSplit
from hellofresh.results.calibration import stated_confidences
from hellofresh.results.panel import NOT_ASKED, exposure
from hellofresh.results.tables import RECEIPTS, ReceiptRow
from hellofresh.runs.plan import read_plan
from hellofresh.runs.record import read_record
from hellofresh.stats import Calibration, answer_agreement
from hellofresh.tasks import get_task
from hellofresh.tasks.outputs import Status

ANSWER = (
    pl.when(pl.col("status") == str(Status.BLOCKED)).then(pl.lit(REFUSED))
    .otherwise(pl.col("label").fill_null(NO_ANSWER)).alias("said")
)  # fmt: skip
"""The class that was chosen, or what stands for silence and for a refusal."""


def facts(split: BoardSplit) -> Iterator[SystemFacts]:
    """What is known of each system besides its scores."""
    entered = dict(split.receipts.select("origin", "received").iter_rows())
    for row in split.systems:
        origin, folder = str(row["origin"]), split.workspace.runs / str(row["origin"])
        record = None if row["kind"] == "submission" else read_record(folder)
        plan = read_plan(folder) if record else None
        yield SystemFacts(
            origin=origin,
            entered=(entered.get(origin) or (plan.started if plan else ""))[:10],
            contamination=exposure(str(row["knowledge_cutoff"]), split.known_since, split.place.split).value,
            prompts=", ".join(record.evaluation.prompt_ids) if record else "",
            judged=row["n"],
            failed=record.failed if record else None,
            tokens_in=record.tokens_in if record else None,
            tokens_out=record.tokens_out if record else None,
            cost_usd=record.cost_usd if record else None,
            manifest=canonical_json(record.model_dump(mode="json")) if record else "",
        )


def receipts(split: BoardSplit) -> list[ReceiptRow]:
    """The receipts of the submissions among the systems."""
    known = [row["origin"] for row in split.systems]
    return RECEIPTS.rows(split.receipts.filter(pl.col("origin").is_in(known)).sort("origin"))


def calibrations(split: BoardSplit) -> Iterator[tuple[CalibrationRow, list[ReliabilityBin]]]:
    """For each system and prompt with stated probabilities, how true they are; only where labels are shown."""
    stated = [] if split.panel is None or not split.shown else list(stated_confidences(split.panel))
    for item in sorted(stated, key=lambda item: (item.system.origin, item.said.prompt, item.subject)):
        origin, prompt, found = item.system.origin, item.said.prompt, item.found
        curve = () if found is None else found.curve
        bins = [
            ReliabilityBin(origin, prompt, item.subject, number, step.count, round(step.share * step.count),
                           step.confidence, step.share, step.interval.low, step.interval.high)
            for number, step in enumerate(curve)
        ]  # fmt: skip
        counted = (item.headline, item.subject, item.n, item.clusters, item.few_clusters)
        yield CalibrationRow(origin, prompt, *counted, **_limits(found)), bins


def _limits(found: Calibration | None) -> dict[str, Any]:
    cells = dict.fromkeys(["ece", "ece_debiased", "ece_p_value"])
    cells |= dict.fromkeys(f"{name}{end}" for name in ("brier", "auc") for end in ("", "_low", "_high"))
    if found is None:
        return cells
    known = {"ece": found.ece.value, "ece_debiased": found.ece.debiased, "ece_p_value": found.ece.p_value}
    for name in ("brier", "auc"):
        made, value = getattr(found, f"{name}_interval"), float(getattr(found, name))
        known |= {name: value} if np.isnan(value) else {name: value, f"{name}_low": made.low, f"{name}_high": made.high}
    return cells | {name: None if np.isnan(value) else value for name, value in known.items()}


def mistakes(split: BoardSplit) -> Iterator[Mistakes]:
    """How often each system was wrong; nothing before the reveal, and where no class is chosen."""
    if not has_classes(split):
        return
    judged = judged_answers(split)
    counted = judged.group_by("origin").agg(pl.len().alias("n"), (~pl.col("right")).sum().alias("wrong"))
    counts = {origin: (n, wrong) for origin, n, wrong in counted.select("origin", "n", "wrong").iter_rows()}
    others = {origin: (compared, right) for origin, compared, right in _compared(judged).iter_rows()}
    for origin in (row["origin"] for row in split.systems if row["origin"] in counts):
        yield Mistakes(origin, *counts[origin], *others.get(origin, (0, 0)))


def confusion(split: BoardSplit) -> Iterator[ConfusionCell]:
    """What each system said, by the class that samples have; only what was said at all."""
    if has_classes(split):
        counted = judged_answers(split).group_by("origin", "label", "said").len()
        yield from (ConfusionCell(*row) for row in sorted(counted.iter_rows()))


def has_classes(split: BoardSplit) -> bool:
    """Whether classes are chosen, and labels shown."""
    return split.shown and bool(get_task(split.place.task).classes)


def judged_answers(split: BoardSplit) -> pl.DataFrame:
    """Every system's answer to every sample, with the label, and whether it is right and the system ranked."""
    labels = {"id": list(split.labels), "label": [item.label for item in split.labels.values()]}
    known = pl.DataFrame(labels, schema={"id": pl.String, "label": pl.Int64})
    ranked = pl.DataFrame(list(split.ranked.items()), schema={"origin": pl.String, "ranked": pl.Boolean}, orient="row")
    said = split.said.filter("headline").select("origin", "id", ANSWER, chosen="label")
    right = pl.col("label").eq_missing(pl.col("chosen"))
    return said.join(known, on="id").join(ranked, on="origin").with_columns(right.alias("right"))


def _tally(judged: pl.DataFrame) -> pl.DataFrame:
    """By sample, how many of the systems that are ranked judged it, and how many were right."""
    return judged.filter("ranked").group_by("id").agg(pl.len().alias("judged"), pl.col("right").sum().alias("rights"))


def _compared(judged: pl.DataFrame) -> pl.DataFrame:
    """By system: its errors on samples that other ranked systems judged, and those that most of them got right."""
    wrong = judged.filter(~pl.col("right")).join(_tally(judged), on="id")
    others = wrong.with_columns(pl.col("judged").cast(pl.Int64) - pl.col("ranked").cast(pl.Int64))
    most = 2 * pl.col("rights").cast(pl.Int64) > pl.col("judged")
    return others.filter(pl.col("judged") > 0).group_by("origin").agg(pl.len(), most.sum())


def tallies(split: BoardSplit) -> Mapping[str, tuple[int, int]]:
    """By sample, how many of the systems that are ranked judged it, and how many were right."""
    nobody = {sample.id: (0, 0) for sample in split.samples}
    if split.shown:
        rows = _tally(judged_answers(split)).select("id", "judged", "rights").iter_rows()
        return nobody | {key: (judged, right) for key, judged, right in rows if key in nobody}
    ranked = [origin for origin, is_ranked in split.ranked.items() if is_ranked]
    said = split.said.filter("headline", pl.col("origin").is_in(ranked)).group_by("id").len()
    return nobody | {key: (judged, 0) for key, judged in said.iter_rows() if key in nobody}


_MOST_COMPARED = 60
"""With more participants than this only the first are compared."""


def participants(split: BoardSplit) -> Iterator[Participant]:
    """Who was asked, and who handed predictions in; nothing once labels are shown."""
    if split.shown:
        return
    entered = {one.origin: one.entered for one in facts(split)}
    for row in split.systems:
        own = {name: row[name] for name in IDENTITY}
        yield Participant(**own, entered=entered[row["origin"]], judged=row["n"], samples=row["n_split"])
    for row in split.waiting.sort("origin").iter_rows(named=True):
        own = {name: row[name] for name in ("origin", "system", "team", "regime", "knowledge_cutoff")}
        how = {"lane": "submitted", "kind": "submission", "entered": row["received"][:10]}
        yield Participant(**own, **how, judged=0, samples=len(split.samples))


def shares(split: BoardSplit) -> Iterator[AnswerShare]:
    """Every participant's answers by prompt; nothing once labels are shown."""
    if split.shown:
        return
    order = {row["origin"]: number for number, row in enumerate(split.systems)}
    counted = split.said.group_by("origin", "prompt", "headline", ANSWER).len().iter_rows()
    found = [AnswerShare(*row) for row in counted if row[0] in order]
    yield from sorted(found, key=lambda row: (order[row.origin], not row.headline, row.prompt, -row.said))


def agreements(split: BoardSplit) -> Iterator[AgreementRow]:
    """All pairs of participants on the samples that both judged; nothing once labels are shown."""
    origins = [] if split.shown else [row["origin"] for row in split.systems][:_MOST_COMPARED]
    ids = [sample.id for sample in split.samples]
    said: dict[str, NDArray[np.int8]] = {}
    for origin in origins:
        by_id = dict(split.said.filter("headline", pl.col("origin") == origin).select("id", ANSWER).iter_rows())
        said[origin] = np.array([by_id.get(key, NOT_ASKED) for key in ids], dtype=np.int8)
    for one, two in combinations(origins, 2):
        both = (said[one] > NOT_ASKED) & (said[two] > NOT_ASKED)
        first, second = said[one][both], said[two][both]
        if both.any():
            kappa = answer_agreement(first, second).kappa
            yield AgreementRow(one, two, int(both.sum()), int((first == second).sum()), kappa)
