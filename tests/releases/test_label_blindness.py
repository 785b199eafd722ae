"""What is public of an open quarter says nothing about which of its samples have which label."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from collectors.jobs import bundled_jobs
from collectors.notes import NotesSettings, NotesSource, collect
from hellofresh.core.calendar import CalendarRule
from hellofresh.core.files import read_json, read_jsonl, sha256_text
from hellofresh.core.quarters import Quarter
from hellofresh.releases.collection import collect_quarter
from hellofresh.releases.draw import release as selection
from hellofresh.releases.draw.escrow import Escrow
from hellofresh.releases.draw.release import build_release, select
from hellofresh.releases.life.manifest import BUNDLED
from hellofresh.releases.life.state import reveal
from hellofresh.tasks import get_task
from hellofresh.tasks.samples import Candidate


def permuted(candidates: Sequence[Candidate], seed: int) -> list[Candidate]:
    """The same candidates, labels (with their facts) exchanged at random within each period."""
    choose = random.Random(seed)
    by_period = defaultdict(list)
    for item in candidates:
        by_period[item.sample.period].append(item)
    found = []
    for members in by_period.values():
        labels = [item.label for item in members]
        choose.shuffle(labels)
        found += [
            replace(item, label=replace(label, id=item.sample.id)) for item, label in zip(members, labels, strict=True)
        ]
    return found


@pytest.mark.parametrize("seed", range(3))
def test_where_all_of_a_period_is_taken_the_public_samples_are_the_same_bytes_for_every_permutation(
    make, quarter, seed: int
) -> None:
    candidates = make.notes(6, 6)
    folders = []
    for name, found in (("one", candidates), ("two", permuted(candidates, seed))):
        make.release(found, workspace=make.workspace(name), source=BUNDLED)
        folders.append(make.workspace(name).release(quarter, "x-notes"))
    assert folders[0].joinpath("samples.jsonl").read_bytes() == folders[1].joinpath("samples.jsonl").read_bytes()
    label_side = {"label", "salt", *get_task("x-notes").label_facts}
    assert not any(row.keys() & label_side for path in folders[0].glob("*.jsonl") for row in read_jsonl(path))
    one, two = (read_json(folder / "manifest.json") for folder in folders)
    # Commitments differ, and with them their hash; that they tell nothing is what the salts are for.
    for manifest in (one, two):
        (listed,) = [entry for entry in manifest["files"] if entry["path"] == "commitments.jsonl"]
        listed["sha256"] = ""
    assert one == two


@pytest.mark.parametrize("cap", [1, 2])
def test_every_labelling_that_balances_a_set_gives_it_the_same_probability(
    make, monkeypatch: pytest.MonkeyPatch, cap: int
) -> None:
    """All orders in which a key can put five candidates, and all ways to label two of them, by enumeration."""
    notes = [make.note(number) for number in range(5)]
    ranks: dict[str, str] = {}
    monkeypatch.setattr(selection, "sha256_text", lambda text: ranks[text.removeprefix("key:")])
    found: dict[tuple[int, ...], Counter[frozenset[str]]] = {}
    for positive in itertools.combinations(range(5), 2):
        candidates = [make.candidate(note, int(k in positive)) for k, note in enumerate(notes)]
        counts: Counter[frozenset[str]] = Counter()
        for order in itertools.permutations("01234"):
            ranks |= {note.id: order[k] for k, note in enumerate(notes)}
            counts[frozenset(item.sample.id for item in select(candidates, seed="key", cap=cap).chosen)] += 1
        found[positive] = counts
    expected = math.factorial(5) // (math.comb(2, cap) * math.comb(3, cap))
    for positive, counts in found.items():
        for some in itertools.combinations(range(5), 2 * cap):
            balanced = len(set(some) & set(positive)) == cap
            assert counts[frozenset(notes[k].id for k in some)] == (expected if balanced else 0)


def separation(values: Sequence[str], labels: Sequence[int]) -> float:
    """How far from one half the chance is that a positive sample has a larger value than a negative one."""
    order = np.argsort(np.argsort(np.array(values))) + 1
    positive = np.array(labels) == 1
    n, p = len(labels), int(positive.sum())
    return abs((order[positive].sum() - p * (p + 1) / 2) / (p * (n - p)) - 0.5)


def test_the_draw_cannot_be_followed_with_what_is_public_before_the_reveal(make, quarter, notes_task) -> None:
    """The smaller class is taken whole, of the larger one the smallest hashes: the key would tell them apart."""
    make.release(candidates := make.notes(60, 240))
    workspace = make.workspace()
    folder = workspace.release(quarter, "x-notes")
    labels = {row["id"]: row["label"] for row in read_jsonl(workspace.private(quarter, "x-notes") / "labels.jsonl")}
    ids = [row["id"] for row in read_jsonl(folder / "samples.jsonl")]
    public = "".join(path.read_text() for path in folder.rglob("*") if path.is_file())
    key = Escrow.of_workspace(workspace).draw_key(quarter, "x-notes", "seed")
    assert key not in public
    known = read_json(folder / "manifest.json")
    guesses = ("seed", "", known["draw"]["commitment"], known["selection"]["rule"], "2023Q2")
    truth = [labels[name] for name in ids]
    for guess in guesses:
        assert separation([sha256_text(f"{guess}:{name}") for name in ids], truth) < 0.17  # over 5 standard errors
    assert separation([sha256_text(f"{key}:{name}") for name in ids], truth) > 0.3
    reveal(workspace, quarter, notes_task, CalendarRule().of(quarter).reveals)
    assert read_json(folder / "manifest.json")["draw"]["key"] == key
    assert [item.sample.id for item in select(candidates, seed=key, cap=250).chosen] == ids  # with it, anybody draws so


def features(rows: Sequence[dict[str, object]]) -> NDArray[np.float64]:
    """All of released lines but texts and titles: places, ids, lengths of ids, times, hashes. Shape (n, features)."""
    values = []
    for place, row in enumerate(rows):
        key, date = str(row["id"]), datetime.fromisoformat(str(row["date"]))
        digits = key.split("-")[1]
        hashes = [int(sha256_text(f"{start}{key}")[:8], 16) / 2**32 for start in ("", "hellofresh:", "limit:")]
        week = np.array([date.hour / 24, date.weekday() / 7]) * 2 * np.pi
        last = int(key.rsplit("-", 1)[1], 16) % 7
        values.append([
            place / len(rows), place % 2, len(key), len(str(row["group"])), int(digits[-1], 16),
            int(digits[-2:], 16), last, int(digits, 16) % 2, date.minute, date.second, date.day,
            *np.sin(week), *np.cos(week), *hashes,
        ])  # fmt: skip
    table = np.array(values, dtype=np.float64)
    spread = table.std(axis=0)
    return (table - table.mean(axis=0))[:, spread > 0] / spread[spread > 0]


def chance_of(rows: Sequence[dict[str, object]], labels: NDArray[np.int8], permutations: int = 4000) -> float:
    """How often labels exchanged within periods are predicted as well as the true ones (ridge, 10 folds by turns)."""
    table = features(rows)
    folds = np.arange(len(rows)) % 10
    predict = np.zeros((len(rows), len(rows)))
    for fold in range(10):
        here, there = folds == fold, folds != fold
        inverse = np.linalg.inv(table[there].T @ table[there] + 5 * np.eye(table.shape[1]))
        predict[np.ix_(here, there)] = table[here] @ inverse @ table[there].T
    choose = np.random.default_rng(11)
    periods = np.array([str(row["period"]) for row in rows])
    members = [np.flatnonzero(periods == period) for period in np.unique(periods)]
    signs = np.tile(labels.astype(np.float64) * 2 - 1, (permutations + 1, 1))
    for line in signs[1:]:
        for part in members:
            line[part] = choose.permutation(line[part])
    right = (np.sign(signs @ predict.T) == signs).mean(axis=1)
    return float((right[1:] >= right[0]).mean())


def test_the_classifier_finds_a_trace_where_there_is_one(make, quarter) -> None:
    make.release(make.notes(40, 40), source=BUNDLED)
    folder = make.workspace().release(quarter, "x-notes")
    rows = list(read_jsonl(folder / "samples.jsonl"))
    late = np.array([int(str(row["id"]).split("-")[1]) % 1000 for row in rows])
    labels = (late < 40).astype(np.int8)  # as `make.notes` numbers them: one label first
    assert chance_of(rows, labels) < 0.001


def test_on_the_bundled_sample_a_classifier_on_metadata_alone_stays_at_chance(make) -> None:
    workspace = make.workspace()
    for job in bundled_jobs(workspace):
        collect_quarter(workspace, job, progress=lambda _: None)
        build_release(workspace, job.quarter, job.task, seed="hellofresh", cap=job.task.cap)
    for quarter, task in workspace.released():
        rows = list(read_jsonl(workspace.release(quarter, task) / "samples.jsonl"))
        private = read_jsonl(workspace.private(quarter, task) / "labels.jsonl")
        labels = np.array([row["label"] for row in private], dtype=np.int8)
        classes = len(get_task(task).classes)
        assert len(rows) == len(labels) >= (36 if task == "claims" else 61)
        for label in range(1, classes):
            assert chance_of(rows, (labels == label).astype(np.int8)) > 0.001, f"{quarter} {task} {label}"


@pytest.mark.integration
def test_on_real_rows_a_classifier_on_metadata_alone_stays_at_chance(make, shared_data: Path, tmp_path: Path) -> None:
    source = NotesSource(shared_data / "x/dump-2022Q4-2023Q2")
    rows: list[dict[str, object]] = []
    labels: list[int] = []
    for name in ("2022Q4", "2023Q1", "2023Q2"):
        quarter = Quarter.parse(name)
        make.release(collect(quarter, source, NotesSettings(), workdir=tmp_path).candidates, quarter=quarter)
        workspace = make.workspace()
        rows += read_jsonl(workspace.release(quarter, "x-notes") / "samples.jsonl")
        labels += [row["label"] for row in read_jsonl(workspace.private(quarter, "x-notes") / "labels.jsonl")]
    assert len(rows) > 100
    assert chance_of(rows, np.array(labels, dtype=np.int8)) > 0.001
