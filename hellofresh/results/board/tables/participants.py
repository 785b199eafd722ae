"""The board's tables on a split whose labels are not public: who takes part, what share of answers, who agrees.

All of it follows from answers alone. Predictions that were handed in count from the deadline on: before it, agreement
with one's own trial predictions would tell those of others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hellofresh.results.board.schema import AgreementRow, AnswerShare, Participant
from hellofresh.results.board.splits import BoardSplit
from hellofresh.results.board.tables.systems import ANSWER, facts
from hellofresh.stats import answer_agreement

__all__ = ["agreements", "participants", "shares"]

_MOST = 60
"""With more participants than this only the first are compared."""


def participants(split: BoardSplit) -> Iterator[Participant]:
    """Who was asked, and who handed predictions in; nothing once labels are shown."""
    if split.shown:
        return
    entered = {one.origin: one.entered for one in facts(split)}
    names = ("origin", "system", "team", "lane", "kind", "regime", "smoke_test", "knowledge_cutoff")
    for row in split.systems:
        day = entered[row["origin"]]
        yield Participant(**{name: row[name] for name in names}, entered=day, judged=row["n"], samples=row["n_split"])
    for row in split.waiting.sort("origin").iter_rows(named=True):
        received = row["received"][:10]
        yield Participant(
            origin=row["origin"], system=row["system"], team=row["team"], lane="submitted", kind="submission",
            regime=row["regime"], smoke_test=False, knowledge_cutoff=row["knowledge_cutoff"], entered=received,
            judged=0, samples=len(split.samples),
        )  # fmt: skip


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
    origins = [] if split.shown else [row["origin"] for row in split.systems][:_MOST]
    ids = [sample.id for sample in split.samples]
    said = {origin: _said(split, origin, ids) for origin in origins}
    for one, two in combinations(origins, 2):
        both = (said[one] > _NOT_ASKED) & (said[two] > _NOT_ASKED)
        first, second = said[one][both], said[two][both]
        if both.any():
            kappa = answer_agreement(first, second).kappa
            yield AgreementRow(one, two, int(both.sum()), int((first == second).sum()), kappa)


_NOT_ASKED = -3


def _said(split: BoardSplit, origin: str, ids: Sequence[str]) -> NDArray[np.int8]:
    rows = split.said.filter("headline", pl.col("origin") == origin).select("id", ANSWER).iter_rows()
    by_id = dict(rows)
    return np.array([by_id.get(key, _NOT_ASKED) for key in ids], dtype=np.int8)
