"""Comparisons, single systems, samples and what stands beside their pages, without a browser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from visiting import data_of, html, opened, paths, text

from hellofresh.core.files import sha256_file
from hellofresh.core.quarters import Quarter
from hellofresh.results.board.build import build_board
from hellofresh.results.board.system_rows import SystemFacts
from hellofresh.results.scoring.scores import score_quarter
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.tasks import TASKS
from leaderboard.components.labels import dated, day
from leaderboard.data.board import SplitKey
from leaderboard.export.copy import framed
from leaderboard.views.about import about_changes
from leaderboard.views.system import _became
from leaderboard.views.visit import Visit

NOTES = {"task": "x-notes", "edition": "2024Q1"}
EDITS = {"task": "wikipedia-edits", "edition": "2024Q1"}


def names(test: Visit) -> list[str]:
    return re.findall(
        r'data-label="System" role="cell">(?:<a [^>]*>)?<bdi>(.*?)</bdi>', html(test).partition("</table>")[0]
    )


@pytest.fixture(autouse=True)
def board(revealed_board: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The board that the site shows."""
    monkeypatch.setenv("HELLOFRESH_DATA", str(revealed_board.root))


def test_all_systems_stand_in_the_table_and_the_browser_narrows_it() -> None:
    test = opened("leaderboard", **NOTES)
    assert names(test) == ["good", "fair", "poor", "coin"]
    tools = html(test).partition('<table class="hf-table hf-standings')[0]
    assert 'class="hf-tools"' in tools and "Find a system or team" in tools
    shown = re.findall(r'<input type="checkbox" checked="" value="\d+"> (\w+)', tools)
    assert shown == ["Cost", "Cutoff", "Provenance", "Maker"]


def test_samples_can_be_taken_away_with_the_lines_that_load_them() -> None:
    test = opened("data", **NOTES)
    assert {"samples.jsonl", "labels.jsonl"} <= {path.rpartition("/")[2] for path in test.files}
    assert 'load_dataset("data/published", "x-notes", split="2024Q1")' in text(test)


def test_where_the_project_lives_stands_on_every_page_if_it_is_configured(
    make_board: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert "Report an issue" not in framed(opened("about"), "")
    addresses = (
        'repository = "https://git.example.org/x"\nissues = "https://git.example.org/x/issues"\ndataset = "a/b"\n'
    )
    (tmp_path / "own.toml").write_text(f"[site]\n{addresses}")
    monkeypatch.setenv("HELLOFRESH_CONFIG", str(tmp_path / "own.toml"))
    monkeypatch.setenv("HELLOFRESH_DATA", str(make_board(bundled=None).root))
    for page in ("leaderboard", "data", "about"):
        shown = framed(opened(page, task="x-notes", edition="2023Q2"), "")
        links = ("git.example.org/x", "git.example.org/x/issues", "huggingface.co/datasets/a/b")
        assert all(f'href="https://{address}"' in shown for address in links)


def test_a_page_of_the_window_is_named_after_what_it_shows() -> None:
    system = framed(opened("system", **NOTES, system="team-good/good"), "")
    assert "<title>good · Community Notes on X, 2024Q1 (bundled sample) · HelloFresh</title>" in system
    assert "<title>About · HelloFresh</title>" in framed(opened("about"), "")


@pytest.mark.parametrize(
    ("later", "said"),
    [(0, "The next quarter, 2024Q2, opens on {} (today)."), (2, "not have 2024Q2 yet, which was due")],
)
def test_the_next_quarter_is_named_by_what_holds_on_that_day(later: int, said: str) -> None:
    page = opened("leaderboard", **NOTES)
    due = page.board.days(page.chosen).reveals
    shown = text(dated(html(page), due + timedelta(days=later, hours=1))).replace(" (", "(").replace("(", " (")
    assert said.format(day(due)) in shown.replace(" .", ".")
    assert ("opens on" in shown) is (later == 0)


def test_a_cutoff_after_the_quarter_is_marked() -> None:
    rows = html(opened("leaderboard", **NOTES)).partition("</table>")[0].split("<tr")[1:]
    assert ["may know outcomes" in row for row in rows if "good</bdi>" in row] == [True]
    assert ["may know outcomes" in row for row in rows if "fair</bdi>" in row] == [False]


def test_every_pair_is_beside_the_page_with_the_figures_of_the_board() -> None:
    page = opened("compare", **NOTES)
    listed = data_of(page, "compare/list")
    numbers = {origin: number for number, (origin, *_) in enumerate(listed["systems"])}
    one, two = sorted(("team-good/good", "team-poor/poor"), key=numbers.__getitem__)
    values = data_of(page, f"compare/{numbers[one]}")[str(numbers[two])]["all"]
    board = page.board
    (whole,) = (pair for pair in board.pairs(page.chosen, one, two) if pair.period == "all")
    assert values[:2] == [whole.n, round(whole.difference, 3)]
    assert values[5:] == [whole.both_right, whole.one_right, whole.two_right, whole.same]
    assert sum(len(data_of(page, f"compare/{k}")) for k, there in enumerate(listed["files"]) if there) == 6


def test_the_ranking_has_the_card_of_its_matrix() -> None:
    assert re.search(r"R1 shape \d+ systems, \d+ items, binary.*R10 good over", text(opened("leaderboard", **NOTES)))


def test_a_system_shows_its_scores_and_its_record() -> None:
    said = text(opened("system", **NOTES, system="team-poor/poor"))
    assert "Team poor" in said and "2024-02" in said and "uploaded by the team" in said
    assert "run.json" not in said
    entries = opened("leaderboard", **NOTES).board.entries(SplitKey("2024Q1", "x-notes"))
    coin = next(key for key in entries if key.startswith("2024Q1"))
    assert "samples_sha256" in text(opened("system", **NOTES, system=coin))


@pytest.mark.parametrize(("record", "words"), [
    ({"counts": {"asked": 9, "read": 9, "cut": 0}}, None),
    ({}, None),
    ({"counts": {"asked": 9, "read": 4, "cut": 3, "empty": 2}}, "4 of 9 answers read; 3 cut off at the limit"),
    ({"counts": {"asked": 9, "read": 8, "unreadable": 1}, "elsewhere": 1}, "8 of 9 answers read; 1 not readable; 1 of"),
    ({"counts": {"asked": 2, "read": 1, "tool": 1}, "elsewhere": 1, "lenient": 0.5},
     "1 of 2 answers read; 1 stopped for a tool; 1 of these state an answer later in the text, where it does not "
     "count; read there, the score is 0.500"),
])  # fmt: skip
def test_a_system_shows_what_became_of_its_answers(record: dict[str, Any], words: str | None) -> None:
    said = _became(SystemFacts("a", "", "unknown", False, "", 1, 0, None, None, None, json.dumps(record)))
    assert said is None if words is None else str(said).startswith(words)


def sample_of(page: Visit, key: str) -> dict[str, Any]:
    listed = data_of(page, "samples/list")["samples"]
    file = dict(zip(listed["id"], listed["file"], strict=True))[key]
    found: dict[str, Any] = data_of(page, f"samples/{file}")[key]
    return found


@pytest.mark.parametrize("split", [NOTES, EDITS])
def test_hostile_samples_never_become_markup(split: dict[str, str]) -> None:
    page = opened("samples", **split)
    leaving = r'href="(?!(\.\./)*(\./)?[\w/.-]*(#[\w%&=.;-]*)?")'
    listed = data_of(page, "samples/list")["samples"]
    for key, gist, small in zip(listed["id"], listed["gist"], listed["small"], strict=True):
        shown = " ".join([gist, small, sample_of(page, key)["html"]])
        assert not re.search(r"<(script|img|b|code)\b|\u202e|\u0301{4}|" + leaving, shown)
    assert not re.search(r"<(script|img|b|code)\b|\u202e|\u0301{4}|" + leaving, html(page))


def test_a_system_says_where_it_fails_and_leads_there_in_one_click() -> None:
    test = opened("system", **EDITS, system="team-poor/poor")
    wrong = re.search(r"It was wrong on (\d+) of (\d+) samples", text(test))
    assert wrong
    ways = re.findall(r'href="\.\./samples\.html#([^"]*)"', html(test))
    assert ways[:2] == ["wrong=team-poor%2Fpoor"] * 2
    listed = data_of(opened("samples", **EDITS), "samples/list")
    number = [origin for origin, _ in listed["systems"]].index("team-poor/poor")
    assert listed["right"][number].count("0") == int(wrong[1])
    places = [listed["samples"]["id"].index(parse_qs(way)["sample"][0]) for way in ways[2:]]
    assert len(places) == 5
    for at in places:
        marks = [line[at] for line in listed["right"]]
        assert marks[number] == "0" and marks.count("1") == listed["samples"]["right"][at] > (len(marks) - 1) / 2


def test_a_submission_shows_its_receipt_and_how_true_its_confidences_are() -> None:
    said = text(opened("system", **NOTES, system="team-fair/fair"))
    assert "hellofresh submission check submissions/2024Q1/team-fair/fair" in said
    assert "2024-07-01T00:00:00Z" in said
    assert re.search(r"Brier score 0\.\d{3} \(0\.\d{3} to 0\.\d{3}\)", said)
    other = text(opened("system", **NOTES, system="team-good/good"))
    assert "Calibration" not in other and "Nowhere: it was right on all" in other


def test_the_data_page_says_how_long_when_under_which_licence_and_how_to_verify(revealed_board: Any) -> None:
    said = text(opened("data", **EDITS))
    for part in ("Words put in", "Time until reverted", "CC-BY-SA-4.0", "2024-W02", "22 July 2024", "samples.jsonl"):
        assert part in said
    assert "2024Q1 all" in said.partition("How few could flip a label")[2]
    command = re.search(r"hellofresh release verify data/releases/2024Q1/wikipedia-edits --known ([0-9a-f]{64})", said)
    path = revealed_board.release(Quarter.parse("2024Q1"), "wikipedia-edits") / "manifest.json"
    assert command and command[1] == sha256_file(path)


def test_an_open_quarter_says_what_is_shown_when_it_is_revealed(
    make_board: Callable[..., Any], make: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = make.workspace()
    make.release(make.notes(3, 2))
    quarter = Quarter(2023, 2)
    evaluate(workspace, Evaluation(quarter, TASKS["x-notes"], "coin"), lambda _: None)
    score_quarter(workspace, quarter, tmp_path / "none")
    build_board(workspace)
    monkeypatch.setenv("HELLOFRESH_DATA", str(workspace.root))
    split = {"task": "x-notes", "edition": "2023Q2"}
    assert not paths() & {"system", "compare", "analyses"}
    assert data_of(opened("samples", **split), "samples/list")["right"] == []
    data = text(opened("data", **split))
    assert "They are shown by class once the labels are revealed." in data
    assert "not helpful" not in data.partition("Dates")[2]


@pytest.fixture
def forecasts(prospective_board: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A quarter with a prospective table, on the board that the site shows."""
    monkeypatch.setenv("HELLOFRESH_DATA", str(prospective_board.root))
    return {"task": "x-notes", "edition": "2026Q4"}


def test_the_main_table_points_at_the_prospective_one(forecasts: dict[str, str]) -> None:
    test = opened("leaderboard", **forecasts)
    assert "always-yes" in text(test)  # takes part; its scores are not revealed
    assert "A prospective table has 16 samples that were undecided" in text(test)
    assert 'href="../2026Q4-prospective/index.html"' in html(test)


def test_the_prospective_table_has_ranks_and_says_what_it_is(forecasts: dict[str, str]) -> None:
    test = opened("leaderboard", **forecasts, kind="prospective")
    assert names(test) == ["seer", "guesser", "always-yes"]
    assert re.findall(r'<td class="hf-rank" role="cell">(\d?)', html(test).partition("</table>")[0]) == ["1", "2", ""]
    said = text(test)
    for part in (
        "20 samples that were undecided when they were published on 21 November 2026",
        "predictions were due before 26 November 2026",
        "16 were decided by 21 December 2026 (4 of them helpful)",
        "do not compare ranks or scores",
        "dashed line",
    ):
        assert part in said


def test_all_pages_keep_to_the_prospective_samples(forecasts: dict[str, str]) -> None:
    split = {**forecasts, "kind": "prospective"}
    system = text(opened("system", **split, system="team-seer/seer"))
    assert "wrong on 2 of 16 samples" in system and "no outcome existed when it predicted" in system
    assert "check submissions/2026Q4/team-seer/seer --split prospective" in system
    assert "16 samples." in text(opened("samples", **split))
    with pytest.raises(AssertionError, match="no such page"):
        opened("samples", **forecasts)  # the quarter has not opened
    compare = opened("compare", **split)
    assert "seer is better than guesser" in text(compare)
    assert data_of(compare, "compare/list")["metric"] == "Relative Brier index"
    data = text(opened("data", **split))
    assert "20 samples that were undecided" in data and "From source rows" not in data
    assert "hellofresh release verify data/releases/2026Q4/x-notes/prospective" in data


def test_about_says_the_rules_how_to_cite_and_what_has_changed() -> None:
    said = text(opened("about"))
    assert "up to two entries" in said
    assert "@software{hellofresh" in said
    changes = str(
        about_changes("# Changelog\n\n## 2.0 (today)\n\n- One `a < b`.\n- Two\n  lines.\n\n## 1.0\n\n- First.\n")
    )
    assert re.findall("<summary>(.*?)</summary>", changes) == ["2.0 (today)", "1.0"]
    assert "<li>One <code>a &lt; b</code>.</li><li>Two lines.</li>" in changes
    grouped = str(about_changes("## 1.0\n\n### Collect\n\n- One.\n\n### Site\n\n- Two.\n"))
    assert re.findall("<h3>.*?</ul>", grouped) == ["<h3>Collect</h3><ul><li>One.</li></ul>",
                                                   "<h3>Site</h3><ul><li>Two.</li></ul>"]  # fmt: skip
    assert about_changes("") is None


def test_home_shows_who_leads_every_system_on_a_scale_and_a_strip_for_each_task(hostile: Sequence[str]) -> None:
    page = opened("home")
    hero, *strips = re.split(r'<section class="hf-card">', html(page))
    assert "Only uploads; answers can be looked up." in text(hero)
    assert "./x-notes/2024Q1/guess.html" in hero and "People decided" in text(hero)
    assert len(strips) == len({split.task for split in page.board.splits}) == 2
    for task, strip in zip(("x-notes", "wikipedia-edits"), strips, strict=True):
        assert TASKS[task].question in text(strip) and f"./{task}/2024Q1/index.html" in strip
        systems = [one for one in page.board.headlines(page.chosen._replace(task=task)) if not one.smoke_test]
        assert strip.count('<div class="hf-lane') == len(systems)
        assert 'class="hf-zone"' in strip and not any(name in strip for name in hostile[:2])
