"""The ranking as a picture: seal, brackets, hollow marks, what is dimmed, and the scale that holds every system."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, replace

import polars as pl
import pytest

from hellofresh.core.systems import ModelFacts
from hellofresh.results.board.schema import TABLES
from hellofresh.results.board.system_rows import SystemFacts
from hellofresh.results.standings import Pair, Standing
from hellofresh.tasks.samples import PROSPECTIVE
from leaderboard.components.labels import Links
from leaderboard.components.ranking import AT_FIRST, RankingPicture, field, front_of
from leaderboard.components.scale import Scale
from leaderboard.components.standings import ONLY_UPLOADS, Line, only_uploads
from leaderboard.data.board import Board, BoardEntry, MetricValue, ScoreCell, SplitKey
from leaderboard.views.compare import short_verdict

SPLIT = SplitKey("2023Q2", "x-notes")
NOWHERE = Links({}, "index.html")
SCALE = Scale("F1", reference=0.667, answer="helpful", people=MetricValue("f1", 0.86, 0.8, 0.9))


def line(name: str, value: float, group: int, *, rank: int = 1, source: str = "run", maker: str | None = None) -> Line:
    entry = BoardEntry(name, "team", source, "language-model", "zero-shot", f"of-{name}", 0, name)
    metric = MetricValue("f1", value, value - 0.05, min(1.0, value + 0.05))
    facts = ModelFacts(maker=maker)
    result = ScoreCell(entry, "p", "all", False, "unknown", "", 9, 9, 9, 0, 0, (metric,), "w", facts=facts)
    return Line(result, rank, Standing(f"of-{name}", rank, 1, 9, 0.5, group, 9, 9, False), None)


def board(pairs: Sequence[tuple[str, str, float]] = ()) -> Board:
    keys = {"edition": SPLIT.edition, "task": SPLIT.task, "split": SPLIT.kind}
    rows = [keys | asdict(Pair(f"of-{one}", f"of-{two}", 0.1, 0.0, 0.2, p, p, "all", 9, 1, 1, 1, 1))
            for one, two, p in pairs]  # fmt: skip
    tables = {name: pl.DataFrame(schema=table.schema) for name, table in TABLES.items()}
    return Board(_tables=tables | {"pairs": pl.DataFrame(rows, schema=TABLES["pairs"].schema)})


def drawn(lines: Sequence[Line], pairs: Sequence[tuple[str, str, float]] = (), split: SplitKey = SPLIT) -> list[str]:
    """The classes of each row."""
    ranking = RankingPicture.of(lines, board(pairs), split, SCALE, NOWHERE)
    return re.findall(r'<li class="([^"]*)"', str(ranking.draw()))


@pytest.mark.parametrize(
    ("groups", "title", "real"),
    [
        ((1,), "a is the only system so far", None),
        ((1, 2), "a leads", True),
        ((1, 1, 2), "a and b share first place", False),
        ((1, 1, 1, 1), "Four share first place", False),
    ],
)
def test_the_seal_says_real_only_where_the_second_is_in_another_tie_group(
    groups: Sequence[int], title: str, real: bool | None
) -> None:
    lines = [line("abcd"[k], 0.9 - k / 10, group, rank=k + 1) for k, group in enumerate(groups)]
    front = front_of(lines, SCALE)
    assert front is not None and (re.sub("<[^>]*>", "", str(front.title)), front.real) == (title, real)
    seal = str(front.seal)
    assert ("lead is real" in seal, "too close to call" in seal) == (real is True, real is False)


def test_an_upload_to_a_main_split_is_hollow_and_never_carries_the_headline() -> None:
    lines = [line("up", 0.9, 1, source="uploaded"), line("own", 0.8, 2, rank=2)]
    front = front_of(lines, SCALE)
    assert front is not None and front.leaders[0].result.entry.name == "own"
    assert ["hf-hollow" in row for row in drawn(lines)] == [True, False]
    assert front_of(lines[:1], SCALE) is None and only_uploads(lines[:1]) and not only_uploads(lines)
    assert str(short_verdict(lines[:1], board(), SPLIT, SCALE, NOWHERE)[0]).strip() == ONLY_UPLOADS
    prospective = SPLIT._replace(kind=PROSPECTIVE)
    known = SystemFacts("of-up", "", "", False, "", 9, None, None, None, None, "")
    lines = [replace(one, facts=known) for one in lines]
    front = front_of(lines, SCALE)
    assert front is not None and front.leaders[0].result.entry.name == "up"
    assert not any("hf-hollow" in row for row in drawn(lines, split=prospective))


def test_a_bracket_joins_the_rows_of_a_tie_group_also_where_some_are_filtered_out() -> None:
    lines = [line("abcde"[k], 0.9 - k / 10, group, rank=k + 1) for k, group in enumerate((1, 1, 1, 2, 3))]
    ranking = RankingPicture.of(lines, board(), SPLIT, SCALE, NOWHERE)

    first, middle, last, alone = "hf-tied hf-tied-first", "hf-tied ", "hf-tied hf-tied-last", "hf-row hf-"
    for kept, expected in (
        ([True] * 5, [first, middle, last, alone, alone]),
        ([True, False, True, True, False], [first, last, alone]),
        ([False, True, False, True, True], [alone, alone, alone]),
    ):
        rows = re.findall(r'<li class="([^"]*)"', str(ranking.draw(kept)))
        assert [want in row for row, want in zip(rows, expected, strict=True)] == [True] * len(expected)
        assert [("hf-tied" in row) for row in rows] == ["tied" in want for want in expected]


def test_the_row_under_the_pointer_dims_those_that_do_not_differ_significantly() -> None:
    lines = [line("abc"[k], 0.9 - k / 10, 1, rank=k + 1) for k in range(3)]
    rows = drawn(lines, [("a", "b", 0.4), ("a", "c", 0.01), ("b", "c", 0.2)])
    alike = [{int(k) for k in re.findall(r"hf-s(\d+)", row)} for row in rows]
    assert alike == [{0, 1}, {0, 1, 2}, {1, 2}]


def test_the_first_fifty_rows_are_shown_and_the_others_on_demand() -> None:
    lines = [line(f"m{k:03d}", 0.9, 1, rank=k + 1) for k in range(AT_FIRST + 7)]
    ranking = RankingPicture.of(lines, board(), SPLIT, SCALE, NOWHERE)
    before, _, after = str(ranking.draw()).partition("<details>")
    assert (before.count("<li"), after.count("<li")) == (AT_FIRST, 7) and f"Show all {AT_FIRST + 7} systems" in after


def test_every_system_stands_on_the_scale_and_makers_share_a_colour() -> None:
    lines = [line("a", 0.9, 1, maker="One"), line("b", 0.8, 2, rank=2, maker="Two"), line("c", 0.7, 3, rank=3)]
    known = board()
    shown = str(field(lines, known, SPLIT, SCALE))
    assert shown.count("hf-lane ") == 3 and "hf-zone" in shown and "one person 0.860" in shown
    assert shown.count("hf-maker-none") == 3  # this board has no scores, so it knows no makers
    assert field([], known, SPLIT, SCALE) is None
    falling = replace(SCALE, rising=False, reference=None, people=None)
    assert str(field(lines, known, SPLIT, falling)).count("hf-lane ") == 3
