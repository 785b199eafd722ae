"""`collect ratings --table`: votes of any people on any items."""

from __future__ import annotations

import itertools
import lzma
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from collectors.notes.votes import fit_votes, read_votes
from hellofresh.core.errors import SourceError
from tests.conftest import Cli


def table(path: Path, rows: int = 900, seed: int = 0) -> Path:
    """Two camps of raters who agree on the items of even numbers."""
    random = np.random.default_rng(seed)
    rater, item = random.integers(0, 40, rows), random.integers(0, 24, rows)
    liked = np.where(item % 2 == 0, item % 4 == 0, (rater % 2 == 0) == (item % 4 == 1))
    vote = np.where(random.random(rows) < 0.9, np.where(liked, 1, -1), 0)
    names = {"rater": [f"r{n}" for n in rater], "item": [f"i{n:02}" for n in item], "vote": vote}
    pl.DataFrame(names).unique(["rater", "item"], maintain_order=True).write_csv(path)
    return path


def test_what_both_camps_favour_stands_first_whatever_the_order_of_rows(tmp_path: Path) -> None:
    path = table(tmp_path / "votes.csv")
    items, _ = fit_votes(path)
    best = items.sort("intercept", descending=True)["item"].head(6).to_list()
    assert sorted(best) == ["i00", "i04", "i08", "i12", "i16", "i20"]
    assert (items["votes"] == items["against"] + items["neither"] + items["in_favour"]).all()
    assert items["error"].is_between(0, 0.5).all()
    pl.read_csv(path).sample(fraction=1, shuffle=True, seed=3).write_csv(tmp_path / "shuffled.csv")
    assert fit_votes(tmp_path / "shuffled.csv")[0].equals(items)


def test_the_last_of_several_votes_counts_and_names_of_polis_are_known(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("voter-id,comment-id,vote\na,x,1\na,x,-1\nb,x,0\n")
    items, votes = read_votes(path)
    assert items == ["x"] and votes.level.tolist() == [0, 1]
    path.write_text("item,vote,rater\nx,0.5,a\nx,0,b\n")
    assert read_votes(path)[1].level.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("rater,item\na,x\n", "no column vote"),
        ("rater,item,vote\na,x,1\nb,x,NaN\n", "row 2 of 2"),
        ("rater,item,vote\na,x,7\n", "row 1 of 1"),
        ("rater,item,vote\na,x,0.5\nb,x,-1\n", "row 1 of 2"),
        ("rater,item,vote\na,,1\n", "row 1 of 1"),
        ("", "cannot be read"),
        ("rater,item,vote\na,x,1\n", "too little to fit"),
    ],
)
def test_bad_tables_are_named(tmp_path: Path, content: str, fault: str) -> None:
    path = tmp_path / "votes.csv"
    path.write_text(content)
    with pytest.raises(SourceError, match=fault):
        fit_votes(path)


def test_the_command_writes_the_items_beside_the_table(tmp_path: Path, cli: Cli) -> None:
    command = ("collect", "ratings", "--table", table(tmp_path / "votes.csv"))
    assert "i00" in cli(*command)
    assert pl.read_csv(tmp_path / "votes.fitted.csv").height == 24
    cli(*command, "--quarter", "2026Q2", code=2)
    cli("collect", "ratings", code=2)


def test_real_votes_are_fitted(shared_data: Path, tmp_path: Path, needed: Callable[[bool, str], None]) -> None:
    packed = shared_data / "polis" / "brexit-consensus.votes.csv.xz"
    needed(packed.is_file(), "shared/data/polis")
    (tmp_path / "votes.csv").write_bytes(lzma.decompress(packed.read_bytes()))
    items, _ = fit_votes(tmp_path / "votes.csv")
    assert items.height == items["intercept"].count() == 50
    assert items["error"].median() < 0.05


def test_of_two_votes_the_later_one_counts_whatever_the_order_of_rows(tmp_path: Path) -> None:
    rows = [("r", "i", 1, 5), ("r", "i", -1, 9), ("r", "i", 0, 7), ("s", "i", 0, 5), ("s", "i", 1, 5), ("s", "j", 1, 2)]
    found = set()
    for order in itertools.permutations(rows):
        lines = ["voter-id,comment-id,vote,timestamp", *(",".join(map(str, row)) for row in order)]
        (tmp_path / "v.csv").write_text("\n".join(lines))
        items, votes = read_votes(tmp_path / "v.csv")
        found.add((tuple(items), tuple(votes.note), tuple(votes.rater), tuple(votes.level)))
    assert found == {(("i", "j"), (0, 0, 1), (0, 1, 1), (0, 2, 2))}
    (tmp_path / "v.csv").write_text("rater,item,vote,timestamp\nr,i,1,soon\n")
    with pytest.raises(SourceError, match="row 1 of 1 has a timestamp"):
        read_votes(tmp_path / "v.csv")
