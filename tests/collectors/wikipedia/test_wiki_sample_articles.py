"""The bundled articles: written strictly, rendered as an export, decided as their authors meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from made.sample.articles import states, write_history

from collectors.sample import QUARTERS
from collectors.wikipedia.collect import collect
from collectors.wikipedia.export import ExportReader
from collectors.wikipedia.stability import EditsSettings, Fate
from tests.collectors.wikipedia.conftest import decide


@pytest.fixture(scope="session")
def articles(root) -> Path:
    return root / "benchmarks" / "made" / "sample" / "written_articles"


def test_every_edit_has_the_fate_its_author_meant(articles, tmp_path):
    write_history(articles, tmp_path / "h.xml.bz2")
    decided: dict[int, set[Fate]] = {}
    for page in ExportReader(tmp_path / "h.xml.bz2").pages():
        for decision in decide(page.revisions, EditsSettings()):
            decided.setdefault(decision.revision.id, set()).add(decision.fate)
    meant = [state for page in states(articles).values() for state in page if state.fate is not None]
    assert meant
    only_when_cleaned = {state.id: state.fate for state in meant if state.fate in {Fate.URLS_ONLY, Fate.MARKUP_ONLY}}
    kept = {
        item.sample.revision.id
        for quarter in QUARTERS
        for item in collect(quarter, [tmp_path / "h.xml.bz2"], EditsSettings()).candidates
    }
    assert not kept & only_when_cleaned.keys()
    for revision, fate in only_when_cleaned.items():
        assert decided[revision] <= {Fate.ACCEPTED, Fate.REJECTED}
        decided[revision] = {fate}
    wrong = [
        (state.page, f"{state.at:%Y-%m-%d}", state.by, state.fate, sorted(decided.get(state.id, ())))
        for state in meant
        if decided.get(state.id) != {state.fate}
    ]
    assert wrong == []
