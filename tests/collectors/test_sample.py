"""The bundled files are what the texts beside them become, and every edit in them has the fate its author meant."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest
from made.sample.__main__ import write_sample
from made.sample.articles import states, write_history

from collectors import sample
from collectors.sample import QUARTERS
from collectors.wikipedia.collect import collect
from collectors.wikipedia.export import ExportReader
from collectors.wikipedia.stability import EditsSettings, Fate
from tests.collectors.wikipedia.conftest import decide


def test_the_bundled_files_are_what_the_texts_become(tmp_path: Path) -> None:
    write_sample(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in sample.files())
    for path in sample.files():
        bundled, made = path.read_bytes(), (tmp_path / path.name).read_bytes()
        if path.suffix == ".xz":  # another version of xz may pack otherwise
            bundled, made = lzma.decompress(bundled), lzma.decompress(made)
        assert bundled == made, path.name


# --- The bundled articles: written strictly, rendered as an export, decided as their authors meant.


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
