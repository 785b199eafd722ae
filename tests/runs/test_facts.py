"""A regime that needs facts of labels gets them where labels are public, and nothing anywhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import pytest

from hellofresh.core.quarters import Quarter
from hellofresh.releases.life.load import load_labels
from hellofresh.runs import prepare
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.regimes import REGIMES, BaseRegime, Case, Need, Outcome
from hellofresh.tasks import get_task
from hellofresh.tasks.outputs import Choice

SEEN: list[Mapping[str, object]] = []


@dataclass(frozen=True, slots=True)
class Curious(BaseRegime):
    """Looks at facts, where it needs any."""

    needs: ClassVar[frozenset[Need]] = frozenset({Need.FACTS})
    name: str = "curious"
    prompts_from: str = field(default="zero-shot", init=False)

    def ceiling(self, prompts: int) -> int:
        return 0

    async def solve(self, case: Case) -> Outcome:
        SEEN.append(case.facts)
        return Outcome([Choice(prompt=prompt.id, label=1) for prompt in case.prompts])


@dataclass(frozen=True, slots=True)
class Modest(Curious):
    """Needs none."""

    needs: ClassVar[frozenset[Need]] = frozenset()
    name: str = "modest"


@pytest.mark.parametrize(("regime", "public"), [(Curious(), True), (Curious(), False), (Modest(), True)])
def test_facts_come_only_to_whom_needs_them_and_only_once_labels_are_public(make, monkeypatch, regime, public) -> None:
    make.release(make.notes(2, 2))
    monkeypatch.setitem(REGIMES, regime.name, regime)
    monkeypatch.setattr(prepare, "labels_are_public", lambda *_: public)
    SEEN.clear()
    task = get_task("x-notes")
    evaluate(make.workspace(), Evaluation(Quarter(2023, 2), task, "scripted", regime=regime.name), lambda _: None)
    labels = load_labels(make.workspace(), Quarter(2023, 2), task)
    known = Need.FACTS in regime.needs and public
    assert len(SEEN) == len(labels)
    assert [bool(facts) for facts in SEEN] == [known] * len(SEEN)
    assert not known or sorted(map(repr, SEEN)) == sorted(repr(label.facts) for label in labels.values())
