"""Published predictions stay, with their reasons, whatever else is scored; and who stands beside a run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.core.calendar import CalendarRule
from hellofresh.core.clock import now
from hellofresh.core.errors import ReleaseError
from hellofresh.core.files import read_jsonl, sha256_file, write_jsonl
from hellofresh.core.quarters import Quarter
from hellofresh.core.stages import Stage
from hellofresh.releases.life.load import Published, load_labelled
from hellofresh.releases.life.state import reveal
from hellofresh.results.board.build import build_board
from hellofresh.results.scoring import scores
from hellofresh.results.scoring.published import check_published
from hellofresh.results.scoring.reveal import publish_results
from hellofresh.results.scoring.scores import ScoredSplit, beside_others, score_quarter, write_scores
from hellofresh.results.split.entries import SINGLE, Entry
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.tasks import get_task
from hellofresh.tasks.outputs import Choice, Status
from tests.fakes import fails_with
from verifier.checks import verify_release

IDS = ("xn-1", "xn-2", "xn-3")
CHOICES = [Choice(prompt=SINGLE, label=0), Choice(prompt=SINGLE, label=1), Choice(prompt=SINGLE, status=Status.NONE)]
Said = Mapping[str, tuple[Choice, ...]]
"""By origin, what was said of each sample."""
origins = st.sampled_from(["a/one", "a/two", "b/one", "run-1", "run-2"])
said = st.dictionaries(origins, st.tuples(*[st.sampled_from(CHOICES)] * len(IDS)), max_size=5)


def entries(given_: Said) -> list[Entry]:
    return [
        Entry(
            system=origin if "/" in origin else "same",
            team="t",
            provenance="uploaded" if "/" in origin else "run",
            kind="model",
            regime="zero-shot",
            smoke_test=False,
            knowledge_cutoff="",
            about="",
            origin=origin,
            outputs={SINGLE: dict(zip(IDS, verdicts, strict=True))},
        )
        for origin, verdicts in given_.items()
    ]


def publish(folder: Path, given_: Said, present: tuple[str, ...]) -> None:
    write_jsonl(folder / "samples.jsonl", ({"id": key} for key in present))
    rows = (
        {"entry": entry.origin, "system": entry.system, "regime": entry.regime, "provenance": entry.provenance,
         "prompt": SINGLE, "id": key, "label": verdict.label}
        for entry in entries(given_) for key, verdict in entry.outputs[SINGLE].items()
    )  # fmt: skip
    write_jsonl(folder / "predictions.jsonl", rows)


def split(folder: Path, sha256: str = "") -> Published:
    """What was published in a folder, with a manifest that lists its files as they are, or with another hash."""
    manifest: Any = SimpleNamespace(
        withheld=False, file=lambda name: SimpleNamespace(sha256=sha256 or sha256_file(folder / name))
    )
    return Published(Quarter(2023, 2), "x-notes", "main", folder, manifest)


def refused(folder: Path, given_: Said, allowed: frozenset[str] = frozenset()) -> dict[str, str]:
    """The entries that are refused, and what would become of them."""
    try:
        check_published(split(folder), entries(given_), allowed, "score", folder)
    except ReleaseError as error:
        assert error.code == "published"
        return dict(re.findall(r"(\S+) would (go|change|be added)", error.what))
    return {}


@given(said, said, st.sets(st.sampled_from(IDS), min_size=1))
def test_what_differs_among_submissions_and_lost_systems_is_refused(
    before: Said, after: Said, present: set[str]
) -> None:
    kept = tuple(key for key in IDS if key in present)

    def labels(choices: tuple[Choice, ...]) -> list[int | None]:
        return [verdict.label for key, verdict in zip(IDS, choices, strict=True) if key in present]

    expected = dict.fromkeys(before.keys() - after.keys(), "go")
    expected |= dict.fromkeys((name for name in after.keys() - before.keys() if "/" in name), "be added")
    both = before.keys() & after.keys()
    expected |= {name: "change" for name in both if labels(before[name]) != labels(after[name])}
    with TemporaryDirectory() as name:
        folder = Path(name)
        assert refused(folder, after) == {}  # nothing is published yet
        publish(folder, before, kept)
        assert refused(folder, before) == {}
        assert refused(folder, after) == expected
        assert refused(folder, after, frozenset(expected)) == {}
        for one in expected:
            assert refused(folder, after, frozenset(expected) - {one}).keys() == {one}


ONE = {"a/one": tuple(CHOICES)}
RUN = {"run-1": tuple(CHOICES)}


def test_an_absent_folder_of_submissions_is_no_withdrawal_even_of_a_named_entry(tmp_path: Path) -> None:
    publish(tmp_path, ONE, IDS)
    for allowed in ((), ("a/one",)):
        with fails_with("no-submissions") as caught:
            check_published(split(tmp_path), [], allowed, "score", tmp_path / "gone")
        assert "--change" not in str(caught.value) and str(tmp_path / "gone") in caught.value.where
    assert refused(tmp_path, {}, frozenset({"a/one"})) == {}


def test_a_run_that_went_on_may_change_its_votes_and_nothing_else(tmp_path: Path) -> None:
    publish(tmp_path, RUN, IDS)
    (entry,) = entries(RUN)
    flipped = {key: Choice(prompt=SINGLE, label=0) for key in IDS}
    more = replace(entry, outputs={**entry.outputs, "other": flipped})
    voted = replace(entry, settings="vote of 3 repetitions", outputs={SINGLE: flipped})
    for one in (entry, more, voted):
        check_published(split(tmp_path), [one], (), "score", tmp_path)
    for one in (replace(entry, outputs={SINGLE: flipped}), replace(more, outputs={"other": flipped})):
        with fails_with("published"):
            check_published(split(tmp_path), [one], (), "score", tmp_path)


def test_a_changed_file_of_predictions_is_named_and_no_change_of_an_entry_advised(tmp_path: Path) -> None:
    publish(tmp_path, RUN, IDS)
    other = split(tmp_path, "0" * 64)
    check_published(other, entries(RUN), (), "score", tmp_path)  # a reveal was stopped before the manifest
    with fails_with("bad-hash"):
        check_published(other, [], (), "score", tmp_path)


# --- Rationales and sources of outputs travel on to published predictions and the board, unless they may quote texts.


WHY, SOURCES = 'Because "<b>it</b>" says so.\nTwice.', ("https://a.example/1", "javascript:alert(1)")


def with_reasons(scored: ScoredSplit, task: str) -> ScoredSplit:
    """Every second output with a reason."""
    (entry,) = scored.entries[task]
    ((prompt, outputs),) = entry.outputs.items()
    said = {
        key: replace(output, rationale=WHY, sources=SOURCES) if number % 2 else output
        for number, (key, output) in enumerate(sorted(outputs.items()))
    }
    return replace(scored, entries={task: [replace(entry, outputs={prompt: said})]})


@pytest.mark.parametrize(("source", "why"), [("bundled-sample", WHY), ("dump", "")])
def test_what_an_output_says_is_published_and_on_the_board_unless_texts_are_withheld(
    make: Any, quarter: Any, notes_task: Any, tmp_path: Path, source: str, why: str
) -> None:
    workspace, reveals = make.workspace(), CalendarRule().of(quarter).reveals
    make.release(make.notes(5, 4), workspace=workspace, source=source)
    evaluate(workspace, Evaluation(quarter, notes_task, "coin"), lambda _: None)
    assert reveal(workspace, quarter, notes_task, reveals)
    scored = with_reasons(score_quarter(workspace, quarter, tmp_path / "none", reveals), notes_task.name)
    Stage.amend_all(workspace, write_scores(workspace, scored))
    publish_results(workspace, scored)
    build_board(workspace)
    folder = workspace.release(quarter, notes_task.name)
    rows = list(read_jsonl(folder / "predictions.jsonl"))
    said = [(row.get("rationale", ""), tuple(row["sources"])) for row in rows if "sources" in row]
    assert said == [(why, SOURCES)] * (len(rows) // 2)
    assert [check.faults for check in verify_release(folder) if check.faults] == []
    answers = pl.read_parquet(workspace.board / "answers.parquet")
    assert answers.height and set(answers["rationale"]) == {"", why}


# --- Who stands beside a run: each once, on the samples that the run judged.


TASK = get_task("x-notes")


@pytest.fixture
def workspace(make, quarter, tmp_path):
    """A revealed quarter with a baseline, scored."""
    place = make.workspace()
    make.release(make.notes(5, 5), workspace=place)
    evaluate(place, Evaluation(quarter, TASK, "always-yes"), lambda _: None)
    reveal(place, quarter, TASK, now())
    score_quarter(place, quarter, tmp_path / "none")
    return place


def rows(workspace, quarter, **settings):
    done = evaluate(workspace, Evaluation(quarter, TASK, "coin", **settings), lambda _: None)
    return done.run_id, beside_others(workspace, *load_labelled(workspace, quarter, TASK), done.run_id)


def test_a_run_of_some_samples_stands_beside_others_on_the_same(workspace, quarter) -> None:
    run, found = rows(workspace, quarter, limit=3)
    assert found[0].origin == run
    assert len(found) == 2
    assert {score.n for score in found} == {3} and all(score.n < score.n_split for score in found)


@pytest.mark.parametrize(("settings", "stands"), [({}, 1), ({"limit": 3}, 0)], ids=["a whole run", "a part"])
def test_who_was_scored_before_stands_beside_a_whole_run_once(
    workspace, quarter, monkeypatch, settings: dict[str, int], stands: int
) -> None:
    known = scores._stored(workspace, quarter, "main")
    rival = [replace(score, origin="rival", system="Rival") for score in known if score.system == known[0].system]
    monkeypatch.setattr(scores, "_stored", lambda *_: [*known, *rival])
    _, found = rows(workspace, quarter, **settings)
    origins = [score.origin for score in found]
    assert len(origins) == len(set(origins)) == 2 + stands and origins.count("rival") == stands
