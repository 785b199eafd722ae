"""Benchmarks in short."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def fuzz(root: Path) -> ModuleType:
    """The benchmark as a module."""
    spec = importlib.util.spec_from_file_location("fuzz", root / "benchmarks" / "fuzz.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fuzz"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("kind", ["predictions", "table", "labels"])
def test_two_hundred_random_files_crash_nothing(fuzz, tmp_path, kind: str) -> None:
    target = fuzz.Target(kind, tmp_path, None)
    chance = random.Random(7)
    for _ in range(100):
        target.hand_in(fuzz.mutated(chance, target.seeds))
    fuzz.built(target, 7)
    tally = target.tally
    assert (tally.crashes, tally.runs) == (0, tally.taken + tally.refused)
    assert tally.runs >= 150 and tally.refused > 50
    assert tally.slowest_s < fuzz.SLOWEST_S


def test_a_crash_is_counted_and_kept(fuzz, tmp_path, monkeypatch, capsys) -> None:
    def broken(*_: object) -> set[str]:
        raise IndexError("broken")

    monkeypatch.setitem(fuzz.ENTRY_POINTS, "receipts", broken)
    target = fuzz.Target("receipt", tmp_path, tmp_path / "kept")
    target.hand_in(b"x")
    assert target.tally.crashes == 1
    assert (tmp_path / "kept/receipt-1").read_bytes() == b"x"
    assert "IndexError: broken" in capsys.readouterr().err


# --- Probing by a thousand submissions gains nothing where nothing is scored before the deadline.


@pytest.fixture(scope="module")
def probing(root: Path) -> ModuleType:
    """The benchmark as a module."""
    spec = importlib.util.spec_from_file_location("probing", root / "benchmarks" / "probing.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["probing"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_a_thousand_submissions_gain_at_most_a_standard_error_and_would_gain_ten_if_answered_at_once(probing) -> None:
    gain = probing.simulate(samples=500, submissions=1000, rounds=40, seed=1)
    assert gain.after_deadline < 1
    assert gain.at_once > 10


def test_the_attack_works_only_by_its_scores(probing) -> None:
    few, many = (probing.simulate(samples=500, submissions=number, rounds=60, seed=2) for number in (20, 1000))
    assert many.at_once > 3 * few.at_once
    assert abs(many.after_deadline - few.after_deadline) < 0.5
