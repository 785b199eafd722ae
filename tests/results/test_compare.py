"""`hellofresh compare`: numbers of the textbook, every form of table, and one clear sentence for a bad one."""

from __future__ import annotations

import hashlib
import json
import math
import re
import statistics
import struct
import zipfile
from itertools import combinations, pairwise, permutations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as theirs

import hellofresh as hf
from hellofresh.core.errors import HelloFreshError
from hellofresh.results.card import card_of
from hellofresh.results.comparison import ScoreComparison
from hellofresh.results.score_files import ColumnNames, read_scores
from hellofresh.stats import card
from hellofresh.stats.clusters import cluster_tables
from hellofresh.stats.metrics import mean
from hellofresh.stats.ranking import all_differences
from leaderboard.export.one_file import WRITERS
from tests.conftest import Cli

N = 60
ITEMS = [f"q{k:03}" for k in range(N)]


def scores(systems: int = 3, seed: int = 0, n: int = N) -> np.ndarray:
    random = np.random.default_rng(seed)
    return np.clip(
        random.normal(5, 1, (n, 1)) + random.normal(0, 1, (n, systems)) + np.arange(systems)[::-1] / 3, 0, 10
    )


def wide(values: np.ndarray, **more: Any) -> pl.DataFrame:
    return pl.DataFrame({"item": [f"q{k:03}" for k in range(len(values))], **more,
                         **{f"s{k}": column for k, column in enumerate(values.T)}})  # fmt: skip


def long(values: np.ndarray, names: tuple[str, ...] = ("item", "system", "score")) -> pl.DataFrame:
    return wide(values).unpivot(index="item", variable_name=names[1], value_name=names[2]).rename({"item": names[0]})


@pytest.mark.parametrize("missing", [0.0, 0.1, 0.4])
@pytest.mark.parametrize("seed", range(5))
def test_two_systems_are_compared_by_the_paired_t_test(missing: float, seed: int) -> None:
    values = scores(2, seed)
    values[np.random.default_rng(seed).random(values.shape) < missing] = np.nan
    both = np.isfinite(values).all(axis=1)
    expected = theirs.ttest_rel(*values[both].T)
    (found,) = hf.compare(values).pairs.to_dicts()
    sign = 1 if found["one"] == "system 1" else -1
    low, high = (sign * end for end in expected.confidence_interval())
    assert found["p_value"] == pytest.approx(expected.pvalue, abs=1e-12)
    assert [found["low"], found["high"]] == pytest.approx(sorted((low, high)), abs=1e-12)
    assert found["n"] == both.sum()


def test_complete_tables_have_the_figures_of_the_board() -> None:
    values, groups = scores(4), np.arange(N) // 3
    metric = mean("mean", (0, 10))
    tables = np.stack([cluster_tables(metric.statistics(np.ones(N), row), groups) for row in values.T])
    known = all_differences(tables, metric)
    found = hf.compare(wide(values, cluster=[f"{group:02}" for group in groups]))
    for row in found.pairs.to_dicts():
        one, two = int(row["one"][1]), int(row["two"][1])
        for kind in ("difference", "low", "high", "p_value", "adjusted"):
            assert row[kind] == getattr(known, kind)[one, two]


def test_with_missing_cells_systems_are_not_averaged_over_different_items() -> None:
    hard = np.repeat([2.0, 8.0], N // 2)[:, None]
    values = hard + np.random.default_rng(1).normal(0, 0.3, (N, 3)) + np.array([0.5, 0.0, 0.0])
    values[N // 2 :, 0] = np.nan  # the best has hard items only
    found = hf.compare(values)
    assert found.table["system"][0] == "system 1"
    assert np.nanmean(values[:, 0]) < np.nanmean(values[:, 1])
    assert found.table["mean"][0] == pytest.approx(5.5, abs=0.2)


@pytest.mark.parametrize("hits", [0, 1, 10, 57])
def test_the_interval_of_a_count_hardly_changes_by_one_missing_cell(hits: int) -> None:
    values = np.array([np.arange(60) < hits, np.arange(60) % 3 > 0, np.arange(60) % 2], dtype=float)
    whole = {row["system"]: row for row in hf.compare(values.T).table.to_dicts()}
    values[1, 58] = np.nan
    for name, row in {row["system"]: row for row in hf.compare(values.T).table.to_dicts()}.items():
        assert [row["low"], row["high"]] == pytest.approx([whole[name]["low"], whole[name]["high"]], abs=0.025)
        assert 0 <= row["low"] < row["mean"] + 1e-9 and row["mean"] - 1e-9 < row["high"] <= 1


def test_means_with_missing_cells_without_a_scale_have_no_end_where_nothing_varies() -> None:
    found = hf.compare(pl.DataFrame({"item": [*"abcdefgh"], "A": [300.0] * 8, "B": [300.0] * 7 + [None]}))
    assert found.table["low"].is_nan().all() and any("no variation" in note for note in found.notes)


def test_what_missing_cells_change_is_said() -> None:
    values = scores(3)
    values[::4, 1] = np.nan
    assert "the leader is the same and no finding is reversed" in " ".join(hf.compare(values).notes)
    turned = np.column_stack([np.r_[np.full(10, 1.0), np.full(50, 0.2)], np.r_[np.full(10, 0.0), np.full(50, 0.9)]])
    turned = np.column_stack([turned + np.random.default_rng(2).normal(0, 0.02, turned.shape), np.full(60, 0.5)])
    turned[10:, 2] = np.nan
    assert any(note.startswith("Warning") for note in hf.compare(turned).notes)


def test_repetitions_are_nested_and_not_multiplied() -> None:
    values, random = scores(2), np.random.default_rng(3)
    frames = [long(values + random.normal(0, 0.1, values.shape)).with_columns(epoch=pl.lit(k)) for k in range(4)]
    every = pl.concat(frames)
    means = every.group_by("item", "system", maintain_order=True).agg(pl.col("score").mean())
    assert hf.compare(every).pairs.equals(hf.compare(means).pairs)


@pytest.mark.parametrize(("table", "systems", "pairs"), [
    ((np.arange(200)[:, None] < [198, 192]) * 1.0, [], [("system 1", "system 2")]),
    ((np.arange(200)[:, None] < [150, 100]) * 1.0, [], []),
    (np.random.default_rng(0).lognormal(0, [2.0, 0.1], (60, 2)) * 200, ["system 1"], [("system 1", "system 2")]),
    (np.random.default_rng(0).normal(300, 90, (60, 2)), [], []),
], ids=["differ on 6", "differ on 50", "skewed", "even"])  # fmt: skip
def test_intervals_that_hold_less_often_are_marked_where_they_stand(
    table: np.ndarray, systems: list[str], pairs: list[tuple[str, str]]
) -> None:
    found = hf.compare(table, systems=["system 1", "system 2"])
    assert found.table.filter("rough")["system"].to_list() == systems
    assert [tuple(sorted(pair)) for pair in found.pairs.filter("rough")["one", "two"].rows()] == pairs
    assert sum("~" in str(row) for rows in found.shown() for row in rows) == len(systems) + len(pairs)
    assert sum(note.startswith("~ the interval") for note in found.notes) == bool(systems) + bool(pairs)


def test_a_missing_score_as_the_worst_widens_the_scale_of_its_column() -> None:
    values = np.column_stack([np.r_[np.full(20, np.nan), np.linspace(7, 9, 20)], np.linspace(2, 30, 40)])
    found = hf.compare(values, missing="wrong", lower_is_better=True, systems=["system 1", "system 2"])
    assert found.table.select((pl.col("low") <= pl.col("mean")) & (pl.col("mean") <= pl.col("high"))).to_series().all()


def test_pairs_of_systems_that_share_few_items_have_the_degrees_of_freedom_of_these() -> None:
    values = np.full((32, 5), np.nan)
    for k in range(4):
        values[8 * k : 8 * k + 8, k : k + 2] = np.random.default_rng(k).normal(0, 1, (8, 2))
    found = hf.compare(values, systems=[f"system {k}" for k in range(1, 6)]).found
    assert found is not None
    neighbours = theirs.ttest_rel(values[:8, 0], values[:8, 1])
    assert found.p_value[0, 1] == pytest.approx(neighbours.pvalue) and found.worth[0, 1] == pytest.approx(8)
    assert found.worth[0, 2] == pytest.approx(15)  # 14 degrees of freedom: one is lost in each half
    own = [values[8 * k : 8 * k + 8, k] - values[8 * k : 8 * k + 8, k + 1] for k in (0, 1)]
    error = sum(theirs.sem(part) ** 2 for part in own) ** 0.5
    assert found.standard_error[0, 2] == pytest.approx(error)


def test_the_facts_about_the_lead() -> None:
    values = np.zeros((200, 2))
    values[:120, 0], values[:117, 1] = 1, 1
    values[:, 1] = np.roll(values[:, 1], 40)
    found = hf.compare(values)
    assert "leads with 0.600 on 200 items: not significantly ahead of" in found.sentence
    assert found.to_lose == 3
    assert found.needed is not None and found.needed > 200
    error = float(theirs.sem(values[:, 0] - values[:, 1]))
    assert found.detectable == pytest.approx(error * (theirs.t.ppf(0.975, 199) + theirs.t.ppf(0.8, 199)), rel=1e-9)
    assert found.halves is not None and 0 < found.halves < 1


def test_with_a_baseline_only_its_pairs_are_compared() -> None:
    found = hf.compare(wide(scores(5)), baseline="s2")
    assert found.pairs.height == 4 and set(found.pairs["two"]) == {"s2"}
    assert found.sentence.startswith("Compared with s2")
    assert "rank_low" not in found.table.columns


def test_lower_may_be_better() -> None:
    assert hf.compare(wide(scores()), lower_is_better=True).table["system"].to_list() == ["s2", "s1", "s0"]


def file_of(folder: Path, kind: str) -> list[Path]:
    """The same 0/1 scores of two systems in every form."""
    right = np.random.default_rng(5).random((N, 2)) < [0.8, 0.5]
    frame, path = wide(right), folder / f"scores.{kind}"
    if kind == "csv":
        frame.write_csv(path)
    elif kind == "tsv":
        long(right.astype(int), ("question_id", "model", "correct")).write_csv(path, separator="\t")
    elif kind == "parquet":
        long(right).write_parquet(path)
    elif kind == "jsonl":
        long(right).write_ndjson(path)
    if path.exists():
        return [path]
    paths = []
    for k, column in enumerate(right.T.tolist()):
        if kind == "eval":
            path = folder / f"{k}.eval"
            with zipfile.ZipFile(path, "w") as file:
                file.writestr("header.json", json.dumps({"eval": {"model": f"s{k}"}}))
                for item, hit in zip(ITEMS, column, strict=True):
                    sample = {"id": item, "epoch": 1, "scores": {"match": {"value": "C" if hit else "I"}}}
                    file.writestr(f"samples/{item}_epoch_1.json", json.dumps(sample))
        elif kind == "lm-eval":
            path = folder / f"s{k}" / "samples_task_2026.jsonl"
            path.parent.mkdir()
            rows = [{"doc_id": n, "doc": {"q": 1}, "filter": name, "metrics": ["exact_match"], "exact_match": +hit}
                    for n, hit in enumerate(column) for name in ("strict", "loose")]  # fmt: skip
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        else:
            path = folder / f"{k}.jsonl"
            rows = [{"model_id": f"s{k}", "sample_id": item, "input": "?\u2028\x85", "evaluation": {"score": float(hit),
                     "is_correct": hit}} for item, hit in zip(ITEMS, column, strict=True)]  # fmt: skip
            path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        paths.append(path)
    return paths


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "jsonl", "eval", "lm-eval", "every-eval-ever"])
def test_every_form_of_table_gives_the_same(tmp_path: Path, cli: Cli, kind: str) -> None:
    found = cli.json("compare", *file_of(tmp_path, kind))
    right = np.random.default_rng(5).random((N, 2)) < [0.8, 0.5]
    assert [row["mean"] for row in found["systems"]] == sorted(right.mean(axis=0).tolist(), reverse=True)
    assert {row["system"] for row in found["systems"]} == {"s0", "s1"}
    assert found["pairs"][0]["p_value"] == pytest.approx(theirs.ttest_rel(*right.T.astype(float)).pvalue, abs=1e-12)
    assert "2 systems, score 0 to 1, 60 items, 0 incomplete" in found["said"]


@pytest.mark.parametrize(
    ("table", "code", "said"),
    [
        ("item,system,score\nq,a,1\nq,a,0\n" + "".join(f"q{k},b,1\n" for k in range(9)), "duplicate-score", "--repeat"),
        ("item,a,b\n" + "".join(f"q{k},1,0\n" for k in range(8)) + "q9,good,1\n", "bad-score", "'good'"),
        ("item,a\n" + "".join(f"q{k},1\n" for k in range(9)), "too-few-systems", "systems: 1,"),
        ("item,a,b\n" + "".join(f"q{k},NaN,1\n" for k in range(9)), "bad-score", "NaN"),
        ("item,a,b\nq,1,0\nr,1,0\ns,0,1\n", "too-few-items", "3 items"),
        ("item,a,b\n", "missing-column", "no column of numbers"),
        ("item,a,b,c,d\n" + "q,1,0,,\n" * 0 + "".join(f"q{k},1,0,,\n" if k % 2 else f"q{k},,,1,0\n"
         for k in range(20)), "not-linked", "no chain"),
        ("item,cluster,system,score\n" + "".join(f"q{k},{s},{s},1\n" for k in range(9) for s in "ab"), "bad-cluster",
         "several clusters"),
        ("", "bad-table", "not a table"),
        ("item,a,a\n" + "".join(f"q{k},1,0\n" for k in range(9)), "bad-table", "two columns are called 'a'"),
        ("item,a,b\n" + "".join(f"q{k},1,1e200\n" for k in range(9)), "bad-score", "above 1e+100: 9"),
        ("item,a,a\u200b\n" + "".join(f"q{k},1,0\n" for k in range(9)), "duplicate-system", "look alike"),
        ("item\0,a,b\n", "bad-table", "UTF-8"),
    ],
    ids=lambda value: value if "-" in value and len(value) < 20 else "",
)  # fmt: skip
def test_a_bad_table_gets_one_clear_sentence(tmp_path: Path, cli: Cli, table: str, code: str, said: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(table)
    error = cli("compare", path, code=1)
    assert f"[{code}]" in error and said in error


def test_tables_of_other_programs_are_read(place: Path, cli: Cli) -> None:
    text = "item,system,score\n" + "".join(f"q{k},{s},{k / 16 + (s == 'a')}\n" for k in range(9) for s in "ab")
    changes: list[dict[str, str]] = [{",": ";"}, {",": ";", ".": ","}, {",": "\t"}, {",": "|"}, {"\n": "\r\n"}]
    for written in ("\ufeff" + text, *(text.translate(str.maketrans(change)) for change in changes)):
        Path("t.csv").write_bytes(written.encode())
        found = cli.json("compare", "t.csv")["systems"]
        assert [(row["system"], row["mean"]) for row in found] == [("a", 1.25), ("b", 0.25)], written[:30]
    for name, content, said in (
        ("t.json", '{"a": 1}', "not an object"),
        ("t.jsonl", '{"item": 1}\n{"item"\n', "line 2"),
    ):
        Path(name).write_text(content)
        assert said in cli("compare", name, code=1)


def test_systems_that_are_level_share_the_lead() -> None:
    values = scores(3)
    found = hf.compare(np.column_stack([values.max(axis=1), values.max(axis=1), values[:, 0] - 1]))
    assert found.sentence.startswith("system 1, system 2 share the lead")
    assert found.sentence.endswith("significantly ahead of system 3 (adjusted p < .05).")


def test_the_command_prints_and_writes_and_names_wrong_use(place: Path, cli: Cli) -> None:
    wide(scores()).write_csv("t.csv")
    said = cli("compare", "t.csv", "--out", "t.html")
    assert said.startswith("s0 leads with") and "Two random halves" in said
    assert Path("t.html").read_text().startswith("<!doctype html>")
    assert "[missing-file]" in cli("compare", "no.csv", code=2)
    for option, value, code in (
        ("--score", "nothing", "unknown-name"),
        ("--baseline", "nobody", "unknown-name"),
        ("--out", "t.docx", "bad-output"),
    ):
        assert f"[{code}]" in cli("compare", "t.csv", option, value, code=2)


HOSTILE = "<script>alert(1)</script>|$x$"


@pytest.fixture(scope="module")
def hostile() -> ScoreComparison:
    return hf.compare(wide(scores()).rename({"s0": HOSTILE, "s1": "=1+1"}))


@pytest.mark.parametrize("ending", WRITERS)
def test_what_is_written_can_do_nothing(hostile: ScoreComparison, ending: str) -> None:
    written = WRITERS[ending](hostile, card_of(hostile))
    assert "<script" not in written.casefold()
    if ending == ".svg":
        ElementTree.fromstring(written)
        assert written.count("<circle") == 3
    if ending == ".html":
        assert "Content-Security-Policy" in written and "default-src" in written
        assert not re.search(r'(?:src|href)="(?!data:)', written)
        assert all(name in written for name in ("systems.csv", "pairs.json", "Pairs"))


def test_frames_of_others() -> None:
    with pytest.raises(HelloFreshError, match="a list"):
        hf.compare([1, 2])
    pandas, frame = pytest.importorskip("pandas"), wide(scores())
    made = pandas.DataFrame(frame.to_dict(as_series=False))
    assert hf.compare(made).pairs.equals(hf.compare(frame).pairs)


def orders(above: np.ndarray) -> int:
    """How many orders agree with a partial one: all tried."""
    places = range(len(above))
    return sum(not any(above[two, one] for one, two in combinations(order, 2)) for order in permutations(places))


@pytest.mark.parametrize("seed", range(6))
def test_the_card_has_what_a_count_of_everything_has(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(seed)
    values = (random.random((6, 40)) < np.linspace(0.3, 0.9, 6)[:, None]).astype(float)
    skill = random.normal(size=6)
    above = card.established(np.abs(skill[:, None] - skill) > 0.8, skill[:, None] > skill)
    counted = card.count_orders(above)
    assert (counted.bits, counted.error) == (pytest.approx(np.log2(orders(above))), 0.0)
    monkeypatch.setattr(card, "_MOST_SETS", 0)
    drawn = card.count_orders(above)
    assert abs(drawn.bits - counted.bits) <= 5 * drawn.error + 1e-9
    sets = [one for size in range(1, 7) for one in combinations(range(6), size)]
    chains = [one for one in sets if all(above[a, b] or above[b, a] for a, b in combinations(one, 2))]
    free = [one for one in sets if not any(above[a, b] or above[b, a] for a, b in combinations(one, 2))]
    assert card.height_and_width(above) == (len(max(chains, key=len)), len(max(free, key=len)))
    apart = [sum(a != b for a, b in zip(values[i], values[j], strict=True)) for i, j in combinations(range(6), 2)]
    assert card.discordance(values) == pytest.approx(sum(apart) / 15)
    own, kappa = card.pair_spread(values[0], values[1])
    assert own == pytest.approx(statistics.stdev(values[0] - values[1]))
    alone = statistics.variance(values[0]) + statistics.variance(values[1])
    assert kappa == pytest.approx(own / alone**0.5)
    easy = sorted(range(40), key=lambda k: -values[:, k].mean())
    halves = [values[:, part].mean(axis=1) for part in (easy[:20], easy[20:])]
    turned = [(halves[0][i] - halves[0][j]) * (halves[1][i] - halves[1][j]) < 0 for i, j in combinations(range(6), 2)]
    found = card.drift(values, np.arange(40))
    assert found[0] == pytest.approx(statistics.stdev(halves[0] - halves[1])) and found[2] == sum(turned) / 15


def test_shape_rank_sets_pairs_and_origin_are_those_of_a_plain_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELLOFRESH_NOW", "2027-01-15T12:00:00Z")
    values = np.round(scores(5, 3, 48), 1)
    found = hf.compare(wide(values, cluster=[f"c{k % 16:02}" for k in range(48)]))
    rows = {row["field"]: row["value"] for row in card_of(found, "hellofresh compare t.csv")}
    bytes_of = b"".join(
        f"{name}\0".encode() for name in [*(f"s{k}" for k in range(5)), *(f"q{k:03}" for k in range(48))]
    )
    digest = hashlib.sha256(bytes_of + struct.pack("<240d", *values.T.ravel().tolist())).hexdigest()
    assert rows["R1"] == f"5 systems, 48 items, continuous, sha256 {digest[:16]}"
    beats = {(row["one"], row["two"]) for row in found.pairs.to_dicts() if row["adjusted"] < 0.05}
    sets = [(1 + sum(two == name for _, two in beats), 5 - sum(one == name for one, _ in beats))
            for name in found.table["system"]]  # fmt: skip
    width = statistics.median(high - low + 1 for low, high in sets)
    first = sum(low == 1 for low, _ in sets)
    assert rows["R2"] == f"median width {width:g} of 5 ({width / 5:.0%}); {first} could be first"
    ways = {way for size in range(2, 6) for way in permutations(found.table["system"], size)}
    chained = {(way[0], way[-1]) for way in ways if all(pair in beats for pair in pairwise(way))}
    assert rows["R5"] == f"{len(chained) / 10:.0%} ({len(chained)} of 10)" and 0 < len(chained) < 10
    assert rows["R9"] == f"hellofresh {hf.__version__}, seed 0, 2027-01-15, hellofresh compare t.csv"
    assert rows["C7"] == "rank sets are by 16 clusters of items"


def test_a_card_that_fails_its_checks_is_not_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = hf.compare(scores(4))
    rows = {row["field"]: row["value"] for row in card_of(found)}
    assert {f"R{k}" for k in range(1, 11)} == set(rows)
    monkeypatch.setattr(card, "_sampled", lambda above: np.ones(5))
    with pytest.raises(HelloFreshError, match="checks of the card failed"):
        card_of(found)


def answers(*columns: str, names: str = "item,A,B") -> str:
    return f"{names}\n" + "".join(f"q{k}," + ",".join(c.format(k=k, h=int(k % 3 > 0)) for c in columns) + "\n"
                                  for k in range(30))  # fmt: skip


@pytest.mark.parametrize(("table", "options", "said"), [
    (answers("1", "{h}", "4{k}", names="item,A,B,n_tokens"), {}, "left out: `n_tokens`"),
    (answers("1", "{h}", "4{k}", names="item,A,B,C"), {}, "unclear-columns"),
    (answers("1", "{h}", "4{k}", names="item,A,B,C"), {"without": "C"}, "left out as asked: `C`"),
    (answers("1", "{h}", "4{k}", names="item,A,B,C"), {"systems": "A,B"}, "2 systems"),
    (answers("{h}", "1", "0", names="id,label,A,B"), {}, "unclear-columns"),
    (answers("1", "{h}", "0", names="item,run_1,run_2,run_3"), {}, "unclear-columns"),
    (answers("pass", "FAIL"), {}, "2 systems, score 0 to 1"), (answers("Yes", "No"), {}, "2 systems, score 0 to 1"),
    (answers("3{h}%", "5%"), {}, "2 systems, score 0 to 1"), (answers("4", "-1", "7", names="item,A,B,C"), {},
     "unclear-scale"),
    (answers("1", "{h}") + "Average,1,0.667\n", {}, "`Average` left out"),
    (answers("1", "{h}") + "Average,7,9\n", {}, "unclear-items"),
    ("model," + ",".join(f"q{k}" for k in range(9)) + "\na" + ",1" * 9 + "\nb" + ",0" * 9 + "\n", {}, "one row per "),
    ("item,A,B\n" + "".join("0" * k + ",1,0\n" for k in range(1, 9)), {}, "8 items"),
    (",A,B\n" + "".join(f"{k},1,0\n" for k in range(9)), {}, "row numbers left out"),
    ("set,n,model,correct\n" + "".join(f"{s},{k},{m},1\n" for s in "xy" for k in range(5) for m in "ab"),
     {"item": "set,n"}, "10 items"),
    ("id,model,correct,set\n" + "".join(f"{k},{m},1,{s}\n" for s in "xy" for k in range(5) for m in "ab"), {},
     "--item ITEM,set"),
    ("method,dataset_name,foo\n" + "".join(f"{m},{k},1\n" for k in range(9) for m in "ab"), {}, "--score COLUMN"),
    (answers("1", "{h}") + "TOTAL (n=30),30,20\n", {}, "`TOTAL (n=30)` left out"),
    (answers("1", "{h}") + "Code average,1,0.667\n" + answers("1", "{h}").replace("q", "r").split("\n", 1)[1], {},
     "--without Code average"),
    (answers("1", "{h}").replace("q7", "sum_of_digits"), {}, "read as items: `sum_of_digits`"),
    (answers('"1,23{h}"', '"1,10{h}"'), {}, "no column of numbers"),
    (answers("0.{k}", "0.3", "0.1", names="item,A,B,B_std"), {}, "unclear-columns"),
    (answers("1", "{h}", "{h}", names="item,A,B,is_hard"), {}, "unclear-columns"),
    (answers("1", "{h}", "{h}", names="item,gpt_run1,gpt_run2,llama_run1"), {}, "unclear-columns"),
    (answers("1", "{h}", names="item,A_error,B_error"), {}, "reads as lower is better"),
    (answers("1", "#DIV/0!").replace("#DIV/0!", "0", 20), {}, "10 incomplete"),
    ("model,params_b," + ",".join(f"q{k}" for k in range(9)) + "\na,70" + ",1" * 9 + "\nb,7" + ",0" * 9 + "\n", {},
     "--without the other columns"),
    ("case,input_id,correct\n" + "".join(f"{m},{k},1\n" for k in range(9) for m in "ab"), {}, "--system COLUMN"),
    ("case,input_id,correct\n" + "".join(f"{m},{k},1\n" for k in range(9) for m in "ab"), {"system": "case"},
     "9 items"),
    ("dataset,instruction,model,preference\n" + "".join(f"x,{k},{m},1\n" for k in range(9) for m in "ab"), {},
     "item: `instruction`"),
    ("model,prompt,item,correct\n" + "".join(f"{m},{p},{k},1\n" for k in range(9) for m in "ab" for p in "xy"),
     {"system": "model,prompt"}, "4 systems"),
    ("model,id,pred,answer\n" + "".join(f"{m},{k},{p},A\n" for k in range(9) for m, p in ("aA", "bB")),
     {"score": "pred=answer"}, "2 systems, score 0 to 1"),
    ("model,id,pred,answer\n" + "".join(f"{m},{k},{p},A\n" for k in range(9) for m, p in ("aA", "bB")),
     {"score": "pred=gold"}, "unknown column 'gold'"),
    (answers("ja", "Nein"), {}, "2 systems, score 0 to 1"), (answers("✅", "❌"), {}, "2 systems, score 0 to 1"),
    (answers("✓", "✘").replace("✘", "✗", 1), {}, "2 systems, score 0 to 1"),
    (answers("success", "failure").replace("failure", "fail", 1), {}, "2 systems, score 0 to 1"),
    (answers("WAHR", "FALSCH"), {}, "2 systems, score 0 to 1"), (answers("n.a.", "1").replace("n.a.", "0", 9), {},
     "21 incomplete"),
    (answers('"9{h},5 %"', '"8{h},0 %"'), {}, "2 systems, score 0 to 1, 30 items"),
    (answers("1", "{h}") + "Mittelwert,1,0.667\n", {}, "`Mittelwert` left out"),
    (answers("1", "{h}", "{h}", names="Step,a - acc,b - acc,b - acc__MAX"), {}, "unclear-columns"),
    (answers("3/10", "1/10"), {}, "A: '3/10', B: '1/10'"),
    ("item,model,score\n" + "".join(f"q{k}{' ' * (m == 'b')},{m},1\n" for k in range(9) for m in "ab"), {}, "9 items"),
    ("Results of May\n\n" + answers("1", "{h}"), {}, "more fields than the first line has column names"),
])  # fmt: skip
def test_what_a_column_is_is_said_or_asked(table: str, options: dict[str, str], said: str, place: Path) -> None:
    Path("t.csv").write_text(table)
    try:
        found = read_scores([Path("t.csv")], ColumnNames(**options)).said
    except HelloFreshError as error:
        found = f"{error} [{error.code}]"
    assert said in found


def test_a_name_of_signs_is_one_file_and_its_letters_have_to_be_utf8(place: Path) -> None:
    for name, table in (("run[1].csv", answers("1", "{h}")), ("run1.csv", answers("0", "1", names="item,C,D"))):
        Path(name).write_text(table)
    assert "`A`, `B`" in read_scores([Path("run[1].csv")], ColumnNames()).said
    Path("t.csv").write_bytes(answers("1", "{h}", names="item,modèle,B").encode("latin-1"))
    with pytest.raises(HelloFreshError, match="CSV UTF-8"):
        read_scores([Path("t.csv")], ColumnNames())


def test_shares_beside_percents_are_doubted_in_a_long_table() -> None:
    rows = [(f"q{k}", model, (k % 7 + 1) / 10 * (100 if model == "b" else 1)) for k in range(9) for model in "ab"]
    made = hf.compare(pl.DataFrame(rows, schema=["item", "model", "score"], orient="row"))
    assert "shares mixed with percents?" in made.notes[0]


def test_missing_scores_are_counted_and_may_decide(place: Path, cli: Cli) -> None:
    Path("t.csv").write_text(answers("1", "{h}", "1", names="item,A,B,C").replace(",1\n", ",N/A\n", 20))
    found = cli.json("compare", "t.csv")
    assert found["sentence"].startswith("The verdict depends on how missing scores count.")
    assert "missing: C 20 of 30 (20 n/a)" in found["notes"][0]
    assert cli.json("compare", "t.csv", "--missing", "wrong")["systems"][-1]["system"] == "C"
    assert cli.json("compare", "t.csv", "--missing", "drop")["systems"][0]["items"] == 10


@settings(max_examples=12, deadline=None)
@given(st.permutations(range(24)), st.permutations(("s0", "s1", "s2", "s3")), st.booleans())
def test_shuffled_rows_and_columns_give_the_same(rows: list[int], columns: list[str], gaps: bool) -> None:
    frame = wide(scores(4, n=24), cluster=[f"c{k % 9}" for k in range(24)])
    frame = frame.with_columns(s1=pl.when(pl.int_range(24) % 5 > 0).then("s1")) if gaps else frame
    one, two = hf.compare(frame), hf.compare(frame[rows].select("cluster", "item", *columns))
    assert one.table.equals(two.table) and one.pairs.equals(two.pairs) and one.notes == two.notes
    assert json.dumps(card_of(one)) == json.dumps(card_of(two))


def random_table(random: np.random.Generator) -> pl.DataFrame:
    """Counts, whole numbers, numbers or seconds of 2 to 12 systems; ties, equal columns, missing cells, clusters."""
    systems, items = int(random.integers(2, 13)), int(random.choice([8, 20, 40, 80]))
    skill, level = random.normal(0, random.choice([0.05, 0.4, 1]), systems), random.normal(0, 1, (items, 1))
    values = level + skill + random.normal(0, 1, (items, systems))
    kind = random.integers(4)
    values = [(values > 0) * 1.0, np.clip(np.round(5 + values), 0, 10), values, np.exp(values)][kind]
    if random.random() < 0.3:
        values[:, random.integers(systems)] = values[0, 0]
    if random.random() < 0.3:
        values[:, 1] = values[:, 0]
    values[random.random(values.shape) < random.choice([0, 0, 0.05, 0.3])] = np.nan
    frame = wide(values).fill_nan(None)
    groups = random.integers(0, max(2, items // 3), items)
    return frame.with_columns(cluster=pl.Series([f"c{k}" for k in groups])) if random.random() < 0.4 else frame


@pytest.mark.parametrize("start", range(0, 40, 10))
def test_intervals_p_values_ranks_and_the_sentence_agree(start: int) -> None:
    for seed in range(start, start + 10):
        frame = random_table(np.random.default_rng(seed))
        names = [name for name in frame.columns if name[0] == "s"]
        try:
            found = hf.compare(frame, systems=names, missing="fit")
        except HelloFreshError:
            continue  # too few items are left, or no chain of items links all
        beats, leader = set(), found.table["system"][0]
        for row, shown in zip(found.pairs.to_dicts(), found.shown()[1], strict=True):
            apart = row["adjusted"] < 0.05
            assert (row["low"] > 0 or row["high"] < 0) is apart is (float(shown["p, all pairs"]) < 0.05), (seed, row)
            ends = re.fullmatch(r"\S+ (.)(\S+), (\S+)([])])~?", shown["difference"])
            assert ends and apart is (float(ends[2]) > 0 or float(ends[3]) < 0 or "(" in ends[1] or ")" in ends[4])
            assert row["low"] <= row["difference"] <= row["high"] and row["adjusted"] >= row["p_value"]
            beats |= {(row["one"], row["two"])} if apart else set()
        for row in found.table.to_dicts():
            better, worse = (sum(pair[side] == row["system"] for pair in beats) for side in (1, 0))
            assert (row["rank_low"], row["rank_high"]) == (1 + better, len(names) - worse)
            assert math.isnan(row["low"]) or row["low"] - 1e-9 <= row["mean"] <= row["high"] + 1e-9
        if not found.sentence.startswith("The verdict depends"):
            over = re.search(r": significantly ahead of (.*?)(?:; not significantly| \(adjusted)", found.sentence)
            won = [two for one, two in beats if one == leader]
            assert (set(over[1].split(", ")) if over else set()) == set(won) or len(won) > 6
        assert ("would take" in " ".join(found.notes)) <= ((leader, found.table["system"][1]) not in beats)


def test_no_column_changes_another() -> None:
    hits = (np.random.default_rng(0).random((60, 2)) < 0.1).astype(float)
    alone, beside = (hf.compare(np.column_stack([hits, more]), systems=["system 1", "system 2", "system 3"]).table
                     for more in (hits[:, 0], 50 + 500 * hits[:, 1]))  # fmt: skip
    limits = [table.filter(pl.col("system") == "system 2")["low", "high"].rows() for table in (alone, beside)]
    assert limits[0] == limits[1]


READ = {
    "results.json": {"results": [{"model": m, "id": k, "score": k % 2} for m in "ab" for k in range(6)]},
    "rows.json": {"header": {"by": "me"}, "answers": [{"model": m, "id": k, "correct": k % 2} for m in "ab"
                                                      for k in range(6)]},
    "columns.json": {m: {f"q{k}": k % 2 for k in range(6)} for m in "ab"},
    "keys.json": {f"q{k}": {"a": k % 2, "b": k % 2} for k in range(6)},
    "promptfoo.json": {"results": {"version": 3, "results": [
        {"provider": {"id": m}, "testIdx": k, "score": k % 2, "success": True} for m in "ab" for k in range(6)]}},
    "{m}/a_eval_results.json": {"date": "", "eval": {f"T/{k}": [{"base_status": "pass",
                                "plus_status": ("pass", "fail")[1 - k % 2]}] for k in range(6)}},
    "{m}/deepeval.json": {"testCases": [{"name": f"t{k}", "metricsData": [{"name": "m", "score": k % 2}]}
                                        for k in range(6)]},
    "{m}/run.txt": "".join(f"{m}\t{q}\t{v}\n" for q, v in [*((k, k % 2) for k in range(6)), ("all", 0.5)]
                           for m in ("num_rel", "map")),
    "runs/law:n=5,model={m}/per_instance_stats.json": [{"instance_id": f"i{k}", "stats": [
        {"name": {"name": "num_tokens"}, "mean": 9}, {"name": {"name": "exact_match"}, "mean": k % 2}]}
        for k in range(6)],
    "{m}/external/Task{k}.json": {"task_name": "Task{k}", "scores": {"test": [
        {"hf_subset": "default", "main_score": 99, "languages": ["eng-Latn"]}]}},
    "{m}/samples_t{k}_2026-01-0{d}T10-00.1.jsonl": {"doc_id": 0, "filter": "none", "metrics": ["acc"], "acc": 99},
    "{m}/details_t_2026.parquet": None,
    "{m}/bare.csv": "id,bleu\n" + "".join(f"q{k},{k % 2}\n" for k in range(6)),
}  # fmt: skip


def details(path: Path) -> None:
    """Details of lighteval: a row a sample, its metrics in a struct."""
    rows = [
        {"example": "?", "gold_index": [1], "metrics": {"acc": k % 2, "acc_norm": 1}, "padded": [0]} for k in range(6)
    ]
    pl.DataFrame(rows).write_parquet(path)


@pytest.mark.parametrize("name", READ)
def test_results_of_other_programs_are_read(name: str, place: Path) -> None:
    text = READ[name] if isinstance(READ[name], str) else json.dumps(READ[name])
    paths = []
    for number, m in enumerate("ab" if "{m}" in name else "a"):
        for k in range(6 if "{k}" in name else 1):
            paths.append(Path(name.replace("{m}", m).replace("{k}", str(k)).replace("{d}", str(number + 1))))
            paths[-1].parent.mkdir(parents=True, exist_ok=True)
            paths[-1].write_text(text.replace("{k}", str(k)).replace("99", str(k % 2)))
            if paths[-1].suffix == ".parquet":
                details(paths[-1])
    if name.endswith("bare.csv"):
        with pytest.raises(HelloFreshError, match="no column is known to be its scores"):
            read_scores(paths, ColumnNames())
    found = read_scores(paths, ColumnNames(score="bleu" if name.endswith("bare.csv") else ""))
    assert list(found.systems) == ["a", "b"]
    assert found.values.shape == (2, 6) and (found.values == np.arange(6) % 2).all()


def test_files_of_one_name_in_folders_of_one_name_are_not_lost(place: Path) -> None:
    paths = [Path(m, "out", "scores.csv") for m in "abc"]
    for number, path in enumerate(paths):
        path.parent.mkdir(parents=True)
        path.write_text("item,score\n" + "".join(f"q{k},{k + number}\n" for k in range(6)))
    found = read_scores(paths, ColumnNames())
    assert list(found.systems) == ["a", "b", "c"] and found.values[:, 0].tolist() == [0, 1, 2]


def judged(share: float = 0.3, seed: int = 0, n: int = 200) -> pl.DataFrame:
    """A judge that is kinder to the second system; people labelled a random part."""
    random, frames = np.random.default_rng(seed), []
    for system, kind in (("a", 0.1), ("b", 0.6)):
        truth = (random.random(n) < 0.6).astype(float)
        said = np.where(random.random(n) < kind, 1.0, truth)
        label = np.where(np.isin(np.arange(n), random.permutation(n)[: int(share * n)]), truth, np.nan)
        frames.append(pl.DataFrame({"item": [f"q{k}" for k in range(n)], "system": system, "score": said,
                                    "person": label, "cluster": [f"{k // 2:03}" for k in range(n)]}))  # fmt: skip
    return pl.concat(frames).with_columns(pl.col("person").fill_nan(None))


def by_hand(rows: pl.DataFrame) -> float:
    """The formula, in the words of the paper."""
    known, others = rows.filter(pl.col("person").is_not_null()), rows.filter(pl.col("person").is_null())["score"]
    labels, said = known["person"].to_list(), known["score"].to_list()
    shared = statistics.covariance(labels, said) / len(labels)
    weight = shared / (statistics.variance(said) / len(said) + statistics.variance(others) / len(others))
    return statistics.fmean(labels) + min(max(weight, 0), 1) * (statistics.fmean(others) - statistics.fmean(said))


@pytest.mark.parametrize("cluster", [False, True])
def test_a_judge_is_corrected_by_labels(cluster: bool) -> None:
    frame = judged() if cluster else judged().drop("cluster")
    found = hf.compare(frame, human="person")
    table = {row["system"]: row for row in found.table.to_dicts()}
    for system, row in table.items():
        own = frame.filter(system=system)
        assert row["mean"] == pytest.approx(by_hand(own), abs=1e-12) and row["labels"] == 60
        assert row["judge"] == pytest.approx(own["score"].mean())
        if not cluster:
            labelled = own.filter(pl.col("person").is_not_null())["item"]
            without = [by_hand(own.filter(pl.col("item") != item)) for item in labelled]
            rest = own.filter(pl.col("person").is_null())["score"]
            said = own.filter(pl.col("person").is_not_null())
            weight = (by_hand(own) - said["person"].mean()) / (rest.mean() - said["score"].mean())
            variance = 59**2 / 60 * statistics.variance(without) + weight**2 * statistics.variance(rest) / rest.len()
            square = theirs.t.ppf(0.975, 59) ** 2  # Agresti and Coull's interval of a count
            more = min(row["mean"] * (1 - row["mean"]) / variance, len(own)) + square
            centre = row["mean"] + (square / 2 - square * row["mean"]) / more
            half = (square * centre * (1 - centre) / more) ** 0.5
            assert [row["low"], row["high"]] == pytest.approx([centre - half, centre + half], abs=1e-12)
    assert table["b"]["judge"] > 0.8 > table["b"]["mean"] and found.pairs["adjusted"][0] > 0.05
    plain = hf.compare(frame.drop("person")).pairs
    assert plain["adjusted"][0] < 0.05  # the judge alone would find one that is none


def test_labels_are_weighed_refused_and_doubted() -> None:
    frame, random = judged(), np.random.default_rng(1)
    noise = frame.with_columns(score=pl.Series((random.random(frame.height) < 0.5).astype(float)))
    of_people = frame.drop_nulls("person").group_by("system").agg(pl.col("person").mean()).sort("system")
    found = hf.compare(noise, human="person").table.sort("system")["mean"].to_numpy()
    assert np.abs(found - of_people["person"].to_numpy()).max() < 0.02  # a judge that knows nothing counts nothing
    chosen = frame.with_columns(person=pl.when(pl.col("score") == 1).then("score"))
    assert hf.compare(chosen, human="person").notes[0].startswith("Warning: the judge scores a, b's labelled items")
    whole = frame.with_columns(person=pl.col("person").fill_null(1.0))
    means = whole.group_by("system").agg(pl.col("person").mean()).sort("system")["person"]
    assert hf.compare(whole, human="person").table.sort("system")["mean"].to_list() == pytest.approx(means.to_list())
    holes = frame.with_columns(score=pl.when((pl.col("item") != "q3") | (pl.col("system") == "a")).then("score"))
    for bad, options, code in (
        (judged(0.04), {}, "too-few-labels"), (frame, {"human": "nobody"}, "unknown-name"),
        (frame.with_columns(pl.col("person") * 9), {}, "unclear-scale"),
        (pl.concat([holes, frame.filter(system="a").with_columns(system=pl.lit("c"))]), {}, "too-few-labels"),
        (wide(scores()).with_columns(person=1), {}, "missing-column"),
        (frame.with_columns(person=pl.lit("good")), {}, "bad-score"),
    ):  # fmt: skip
        with pytest.raises(HelloFreshError) as error:
            hf.compare(bad, **{"human": "person", **options})
        assert error.value.code == code


@pytest.mark.parametrize("ending", WRITERS)
def test_corrected_scores_are_written_in_every_form(ending: str, place: Path, cli: Cli) -> None:
    judged(0.1).write_csv("t.csv")
    said = cli("compare", "t.csv", "--human", "person", "--out", f"t{ending}")
    assert "labels of 20 of 200 items" in said and "drawn at random" in said and "few: a, b" in said
    written = Path(f"t{ending}").read_text()
    assert ending == ".svg" or ("judge" in written and "labels" in written)


def test_the_card_of_a_corrected_judge_is_of_its_means_and_of_the_labels() -> None:
    frame = judged().with_columns(person=pl.when(pl.col("item").is_in(["q1", "q2"])).then("score").otherwise("person"))
    found, judge = hf.compare(frame, human="person"), hf.compare(frame.drop("person"))
    rows, alone = ({row["field"]: row for row in card_of(one)} for one in (found, judge))
    assert "200 items, binary, 122 labels by people" in rows["R1"]["value"] and "C7" in rows
    assert (rows["R5"]["value"], alone["R5"]["value"]) == ("0% (0 of 1)", "100% (1 of 1)")
    assert rows["R7"]["value"] == alone["R7"]["value"] and "of the judge's scores" in rows["R7"]["what"]
    assert f"p {found.pairs['p_value'][0]:.3g}" in rows["R10"]["value"] and "nan" not in rows["R10"]["value"]
    other = frame.with_columns(person=pl.when(item="q1").then(1 - pl.col("score")).otherwise("person"))
    assert card_of(hf.compare(other, human="person"))[0]["value"] != rows["R1"]["value"]  # the hash
    apart = [pl.col("item").str.slice(1).cast(int) % 2 == (pl.col("system") == "b")]
    card = card_of(hf.compare(frame.with_columns(person=pl.when(*apart).then("score")), human="person"))
    assert "fewer than two items labelled for both" in card[-2]["value"]
