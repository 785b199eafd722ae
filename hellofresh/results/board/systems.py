"""The board's tables on single systems: facts, receipts, calibration, mistakes, conduct; and on participants.

For a split with secret labels, everything follows from answers alone. Submissions are included from the deadline on:
before it, agreement with trial predictions would reveal the predictions of others.

Conduct lists agents' misconduct, as far as the tools record it: requests for pages of blocked sources (which were
withheld), pages dated after the end of the search period, and blocked sources among the addresses that an answer cites.
Copied labels show in one way only: the entry is right where no other system is.
"""

from __future__ import annotations

import importlib.util
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hellofresh.core.files import canonical_json
from hellofresh.core.parquet import Estimate
from hellofresh.core.systems import IDENTITY, Provenance
from hellofresh.evidence.publishers import site_of
from hellofresh.evidence.web.excluded import ExcludedSources
from hellofresh.results.board import system_rows
from hellofresh.results.calibration import stated_confidences
from hellofresh.results.split.arrays import panel_of
from hellofresh.results.split.open import BoardSplit, RunFacts
from hellofresh.results.split.panel import NOT_ASKED, exposure, is_hollow
from hellofresh.results.split.tables import RECEIPTS, ReceiptRow
from hellofresh.stats.agreement import answer_agreement
from hellofresh.stats.calibration import Calibration
from hellofresh.tasks import get_task
from hellofresh.tasks.outputs import Status
from hellofresh.tasks.transcripts import ReadEvent, SearchedEvent

BLOCKED_PAGE, LATER_PAGE, CITED, COPIED = "blocked-page", "later-page", "cited-blocked", "copied-labels"
"""Kinds of conduct."""
_EXAMPLES = 5  # samples that are named for each kind of conduct
# Labels may be copied where an entry is right on 90% of at least ten samples on which no other ranked system is.
_FEWEST_OTHERS, _FEWEST_HARD, _SHARE = 3, 10, 0.9
_MOST_COMPARED = 60  # participants that are compared in pairs; 60 give 1,770 pairs, as many as a page can show
# Figures of a calibration that have an interval.
_LIMITED = ("brier", "auc", "reliability", "resolution", "uncertainty")
ANSWER = (
    pl.when(pl.col("status") == str(Status.BLOCKED))
    .then(pl.lit(system_rows.REFUSED))
    .otherwise(pl.col("label").fill_null(system_rows.NO_ANSWER))
    .alias("said")
)
"""The chosen class, or the code of silence or of a refusal."""


def facts(split: BoardSplit) -> Iterator[system_rows.SystemFacts]:
    """Facts about each system besides its scores."""
    entered = dict(split.receipts.select("origin", "received").iter_rows())
    for row in split.systems:
        origin = str(row["origin"])
        run = split.runs.get(origin)
        record = run.record if run else None
        stored = record.model_dump(mode="json", exclude={"files", "journal"}) if record else {}
        yield system_rows.SystemFacts(
            origin=origin,
            entered=(entered.get(origin) or (run.started if run else ""))[:10],
            contamination=exposure(str(row["knowledge_cutoff"]), split.known_since, split.place.split).value,
            hollow=is_hollow(str(row["provenance"]), split.place.task, split.place.split),
            prompts=", ".join(record.evaluation.prompt_ids) if record else "",
            judged=row["n"],
            failed=record.failed if record else None,
            tokens_in=record.tokens_in if record else None,
            tokens_out=record.tokens_out if record else None,
            cost_usd=record.cost_usd if record else None,
            manifest=canonical_json({**stored, **_lenient(split, run)}) if run else "",
        )


def _lenient(split: BoardSplit, run: RunFacts) -> Mapping[str, float]:
    """The headline metric of a run with its answers read anywhere; empty if all stand at the beginning."""
    whole = split.panel
    if whole is None or not run.record.elsewhere or not (entries := run.lenient()):
        return {}
    panel = panel_of(whole.task, whole.edition, split.samples, split.labels, entries, split=whole.split)
    return {"lenient": panel.measured(said := panel.systems[0].headline, said.asked)[0]}


def receipts(split: BoardSplit) -> list[ReceiptRow]:
    """The receipts of the submissions among the systems."""
    known = [row["origin"] for row in split.systems]
    return RECEIPTS.rows(split.receipts.filter(pl.col("origin").is_in(known)).sort("origin"))


def calibrations(split: BoardSplit) -> Iterator[tuple[system_rows.CalibrationRow, list[system_rows.ReliabilityBin]]]:
    """Calibration of each system and prompt with stated probabilities; only if labels are shown."""
    stated = [] if split.panel is None or not split.shown else list(stated_confidences(split.panel))
    for item in sorted(stated, key=lambda item: (item.system.origin, item.said.prompt, item.subject)):
        origin, prompt, found = item.system.origin, item.said.prompt, item.found
        curve = () if found is None else found.curve
        bins = [
            system_rows.ReliabilityBin(origin, prompt, item.subject, number, step.count, round(step.share * step.count),
                           step.confidence, step.share, step.interval.low, step.interval.high)
            for number, step in enumerate(curve)
        ]  # fmt: skip
        counted = (item.headline, item.subject, item.n, item.clusters, item.few_clusters)
        yield system_rows.CalibrationRow(origin, prompt, *counted, **_figures(found)), bins


def _figures(found: Calibration | None) -> dict[str, Any]:
    """The figures of a calibration by name; None if unknown."""
    if found is None:
        return dict.fromkeys(("ece", "ece_debiased", "ece_p_value", *_LIMITED))
    cells: dict[str, Any] = {"ece": _known(found.ece.value), "ece_debiased": _known(found.ece.debiased)}
    cells["ece_p_value"] = _known(found.ece.p_value)
    for name in _LIMITED:
        made, value = getattr(found, f"{name}_interval"), _known(float(getattr(found, name)))
        cells[name] = None if value is None else Estimate(value, _known(made.low), _known(made.high))
    return cells


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


def mistakes(split: BoardSplit) -> Iterator[system_rows.Mistakes]:
    """Errors of each system; empty before the reveal, and for tasks without classes."""
    if not has_classes(split):
        return
    judged = judged_answers(split)
    counted = judged.group_by("origin").agg(pl.len().alias("n"), (~pl.col("right")).sum().alias("wrong"))
    counts = {origin: (n, wrong) for origin, n, wrong in counted.select("origin", "n", "wrong").iter_rows()}
    others = {origin: (compared, right) for origin, compared, right in _compared(judged).iter_rows()}
    for origin in (row["origin"] for row in split.systems if row["origin"] in counts):
        yield system_rows.Mistakes(origin, *counts[origin], *others.get(origin, (0, 0)))


def confusion(split: BoardSplit) -> Iterator[system_rows.ConfusionCell]:
    """Counts of each system's answers by the samples' class, without zero counts."""
    if has_classes(split):
        counted = judged_answers(split).group_by("origin", "label", "said").len()
        yield from (system_rows.ConfusionCell(*row) for row in sorted(counted.iter_rows()))


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
    judged = said.join(known.lazy(), on="id").join(ranked.lazy(), on="origin").with_columns(right.alias("right"))
    return judged.collect(engine="streaming")


def _tally(judged: pl.DataFrame) -> pl.DataFrame:
    """By sample, how many of the systems that are ranked answered it, and how many were right."""
    return judged.filter("ranked").group_by("id").agg(pl.len().alias("judged"), pl.col("right").sum().alias("rights"))


def _compared(judged: pl.DataFrame) -> pl.DataFrame:
    """By system: its errors on samples that other ranked systems answered, and those that most of them got right."""
    wrong = judged.filter(~pl.col("right")).join(_tally(judged), on="id")
    others = wrong.with_columns(pl.col("judged").cast(pl.Int64) - pl.col("ranked").cast(pl.Int64))
    most = 2 * pl.col("rights").cast(pl.Int64) > pl.col("judged")
    return others.filter(pl.col("judged") > 0).group_by("origin").agg(pl.len(), most.sum())


def tallies(split: BoardSplit) -> Mapping[str, tuple[int, int]]:
    """By sample, how many of the systems that are ranked answered it, and how many were right."""
    unjudged = {sample.id: (0, 0) for sample in split.samples}
    if split.shown:
        rows = _tally(judged_answers(split)).select("id", "judged", "rights").iter_rows()
        return unjudged | {key: (judged, right) for key, judged, right in rows if key in unjudged}
    ranked = [origin for origin, is_ranked in split.ranked.items() if is_ranked]
    said = split.said.filter("headline", pl.col("origin").is_in(ranked)).group_by("id").len()
    return unjudged | {key: (judged, 0) for key, judged in said.collect().iter_rows() if key in unjudged}


def participants(split: BoardSplit) -> Iterator[system_rows.Participant]:
    """The runs and submitters; empty once labels are shown."""
    if split.shown:
        return
    entered = {one.origin: one.entered for one in facts(split)}
    for row in split.systems:
        own = {name: row[name] for name in IDENTITY}
        yield system_rows.Participant(**own, entered=entered[row["origin"]], judged=row["n"], samples=row["n_split"])
    for row in split.waiting.sort("origin").iter_rows(named=True):
        own = {name: row[name] for name in ("origin", "system", "team", "regime", "knowledge_cutoff")}
        how = {"provenance": Provenance.UPLOADED, "kind": "submission", "entered": row["received"][:10]}
        yield system_rows.Participant(**own, **how, judged=0, samples=len(split.samples))


def shares(split: BoardSplit) -> Iterator[system_rows.AnswerShare]:
    """Every participant's answers by prompt; empty once labels are shown."""
    if split.shown:
        return
    order = {row["origin"]: number for number, row in enumerate(split.systems)}
    counted = split.said.group_by("origin", "prompt", "headline", ANSWER).len().collect().iter_rows()
    found = [system_rows.AnswerShare(*row) for row in counted if row[0] in order]
    yield from sorted(found, key=lambda row: (order[row.origin], not row.headline, row.prompt, -row.said))


def agreements(split: BoardSplit) -> Iterator[system_rows.AgreementRow]:
    """All pairs of participants on the samples that both answered; empty once labels are shown."""
    origins = [] if split.shown else [row["origin"] for row in split.systems][:_MOST_COMPARED]
    ids = [sample.id for sample in split.samples]
    said: dict[str, NDArray[np.int8]] = {}
    rows = split.said.filter("headline", pl.col("origin").is_in(origins)).select("origin", "id", ANSWER).collect()
    for origin in origins:
        by_id = dict(rows.filter(pl.col("origin") == origin).select("id", "said").iter_rows())
        said[origin] = np.array([by_id.get(key, NOT_ASKED) for key in ids], dtype=np.int8)
    for one, two in combinations(origins, 2):
        both = (said[one] > NOT_ASKED) & (said[two] > NOT_ASKED)
        first, second = said[one][both], said[two][both]
        if both.any():
            kappa = answer_agreement(first, second).kappa
            yield system_rows.AgreementRow(one, two, int(both.sum()), int((first == second).sum()), kappa)


@dataclass(slots=True)
class _Seen:
    """Observations of one kind: their number, samples and addresses."""

    times: int = 0
    samples: set[str] = field(default_factory=set)
    examples: list[tuple[str, str]] = field(default_factory=list)

    def add(self, sample: str, url: str) -> None:
        """Count it."""
        self.times += 1
        if sample not in self.samples and len(self.examples) < _EXAMPLES:
            self.examples.append((sample, url))
        self.samples.add(sample)

    def row(self, origin: str, kind: str, of: int) -> system_rows.ConductRow:
        """It as a row."""
        ids, urls = (tuple(item[place] for item in self.examples) for place in (0, 1))
        return system_rows.ConductRow(origin, kind, len(self.samples), of, self.times, ids, urls)


def conduct(split: BoardSplit) -> Iterator[system_rows.ConductRow]:
    """The misconduct of each entry; empty before the reveal."""
    if not split.shown:
        return
    copied = dict(_copied(split))
    agents = split.agents
    cited = _cited(split, agents)
    for row in split.systems:
        origin = str(row["origin"])
        if origin in agents:
            yield from _by_agent(split, row, cited.get(origin, []))
        if origin in copied:
            yield copied[origin]


def _by_agent(
    split: BoardSplit, row: Mapping[str, Any], cited: Sequence[tuple[str, str]]
) -> Iterator[system_rows.ConductRow]:
    """What its transcripts and its answers' sources show."""
    origin, known = str(row["origin"]), {sample.id for sample in split.samples}
    seen: dict[str, _Seen] = defaultdict(_Seen)
    run = split.runs.get(origin)
    said = run.transcripts() if run else ()
    transcripts = [item for item in said if item.repetition == 1 and item.id in known]
    for transcript in transcripts:
        # Pages that were withheld as blocked, and pages from after the bound of the sample's searches.
        bounds = [event.before for event in transcript.events if isinstance(event, SearchedEvent) and event.before]
        for event in transcript.events:
            if isinstance(event, ReadEvent) and event.status == "excluded":
                seen[BLOCKED_PAGE].add(transcript.id, event.url)
            elif isinstance(event, ReadEvent) and bounds and event.date and event.date[:10] > bounds[0]:
                seen[LATER_PAGE].add(transcript.id, event.url)
    for sample, url in cited:
        seen[CITED].add(sample, url)
    for kind in (BLOCKED_PAGE, LATER_PAGE, CITED):
        if kind in seen:
            found = seen[kind].row(origin, kind, int(row["n"]))
            # An address that an agent requests may contain the text.
            yield replace(found, urls=tuple(map(site_of, found.urls))) if split.withheld else found


def _cited(split: BoardSplit, origins: Sequence[str]) -> Mapping[str, list[tuple[str, str]]]:
    """By origin, sample and address of each blocked source that an answer rests on; empty where addresses cannot be
    looked up.
    """
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    if importlib.util.find_spec("tldextract") is None or not origins:  # of the extra web
        return found
    excluded = ExcludedSources.load(groups=get_task(split.place.task).blocked_sources)
    mine = split.said.filter(pl.col("origin").is_in(origins)).select("origin", "id", "sources").explode("sources")
    rows = mine.drop_nulls("sources").unique().sort("origin", "id", "sources").collect(engine="streaming")
    for origin, sample, url in rows.iter_rows():
        if excluded.reason(url):
            found[origin].append((sample, url))
    return found


def _copied(split: BoardSplit) -> Iterator[tuple[str, system_rows.ConductRow]]:
    """Entries that are right where no other ranked system is."""
    if not has_classes(split):
        return
    ranked = judged_answers(split).filter("ranked")
    counted = ranked.group_by("id").agg(pl.len().alias("others") - 1, pl.col("right").sum().alias("rights"))
    alone = ranked.join(counted, on="id").filter(
        pl.col("others") >= _FEWEST_OTHERS, pl.col("rights") - pl.col("right").cast(pl.UInt32) == 0
    )
    for (origin,), rows in sorted(alone.group_by("origin"), key=lambda item: str(item[0][0])):
        right = rows.filter("right").sort("id")
        if rows.height >= _FEWEST_HARD and right.height >= _SHARE * rows.height:
            examples, times = tuple(right["id"].head(_EXAMPLES)), right.height
            row = system_rows.ConductRow(
                str(origin), COPIED, times, rows.height, times, examples, ("",) * len(examples)
            )
            yield row.origin, row
