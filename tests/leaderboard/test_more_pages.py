"""Filters, comparisons, single systems and samples, without a browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl

import pytest
from streamlit.testing.v1 import AppTest
from visiting import html, opened, text

from hellofresh.core.files import sha256_file
from hellofresh.core.quarters import Quarter
from hellofresh.results.board.build import build_board
from hellofresh.results.scores import score_quarter
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.tasks import TASKS
from leaderboard.live.session import current_board, page_title
from leaderboard.views.about import about_changes

NOTES = {"task": "x-notes", "edition": "2024Q1"}
EDITS = {"task": "wikipedia-edits", "edition": "2024Q1"}


def box(test: AppTest, label: str) -> Any:
    return next(item for item in (*test.selectbox, *test.multiselect, *test.text_input) if item.label == label)


def names(test: AppTest) -> list[str]:
    return re.findall(
        r'data-label="System" role="cell">(?:<a [^>]*>)?<bdi>(.*?)</bdi>', html(test).partition("</table>")[0]
    )


@pytest.fixture(autouse=True)
def board(revealed_board: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The board that the site shows."""
    monkeypatch.setenv("HELLOFRESH_DATA", str(revealed_board.root))


def test_all_systems_stand_in_the_table_and_the_browser_narrows_it() -> None:
    shown = html(opened("leaderboard", **NOTES, lane="submitted", find="TEAM F"))
    assert re.findall(r'data-label="System" role="cell">(?:<a [^>]*>)?<bdi>(.*?)</bdi>', shown.partition("</table>")[0])
    tools = shown.partition('<table class="hf-table hf-standings')[0]
    assert 'class="hf-tools"' in tools and "Find a system or team" in tools
    assert re.findall(r'<input type="checkbox" value="\d+"> (\w+)', tools) == ["First"]


def test_over_fewer_than_five_quarters_nothing_is_said() -> None:
    test = opened("leaderboard", task="x-notes", edition="all")
    assert names(test) == []
    assert "need at least 5 quarters with ranked systems; so far there are none." in text(test)
    assert "all" not in box(opened("leaderboard", **NOTES), "Edition").options


def test_a_link_to_a_system_a_comparison_or_a_sample_names_it_for_good() -> None:
    assert opened("system", **NOTES).query_params["system"] == "team-good/good"
    assert {"one", "two"} <= set(opened("compare", **NOTES).query_params)
    assert opened("samples", **NOTES).query_params["sample"] == "xn-100"


def test_samples_can_be_taken_away_with_the_lines_that_load_them() -> None:
    test = opened("data", **NOTES)
    offered = [button.proto.label for button in test.get("download_button")]
    assert offered[:2] == ["Download samples.jsonl", "Download labels.jsonl"]
    assert 'load_dataset("data/published", "x-notes", split="2024Q1")' in text(test)


def test_where_the_project_lives_stands_on_every_page_if_it_is_configured(
    make_board: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert "Report an issue" not in text(opened("about"))
    addresses = (
        'repository = "https://git.example.org/x"\nissues = "https://git.example.org/x/issues"\ndataset = "a/b"\n'
    )
    (tmp_path / "own.toml").write_text(f"[site]\n{addresses}")
    monkeypatch.setenv("HELLOFRESH_CONFIG", str(tmp_path / "own.toml"))
    monkeypatch.setenv("HELLOFRESH_DATA", str(make_board(bundled=None).root))
    for page in ("leaderboard", "data", "about"):
        shown = html(opened(page, task="x-notes", edition="2023Q2"))
        links = ("git.example.org/x", "git.example.org/x/issues", "huggingface.co/datasets/a/b")
        assert all(f'href="https://{address}"' in shown for address in links)


def test_a_sample_in_the_list_leads_to_itself_and_keeps_every_choice() -> None:
    test = opened("samples", **NOTES, period="2024-02", label="1", search="e")
    links = [parse_qs(unescape(link)) for link in re.findall(r'href="\./samples\?([^"]*)"', html(test))]
    assert links
    kept = {"task": ["x-notes"], "edition": ["2024Q1"], "period": ["2024-02"], "label": ["1"], "search": ["e"]}
    assert all(link.items() >= kept.items() and link["sample"][0].startswith("xn-") for link in links)


def test_what_a_link_leaves_out_is_as_usual() -> None:
    test = opened("samples", **NOTES, period="2024-02")
    del test.query_params["period"]
    test.run()
    assert box(test, "Period").value == "all"
    assert "period" not in test.query_params


def test_a_page_of_the_window_is_named_after_what_it_shows() -> None:
    board = current_board()
    both = {**NOTES, "one": "team-good/good", "two": "<b>nobody"}
    assert page_title(board, "System", {**NOTES, "system": "team-good/good"}) == (
        "good · Team good · zero-shot · Community Notes on X, 2024Q1 · System · HelloFresh"
    )
    assert "nobody" not in page_title(board, "Compare", both)
    assert page_title(board, "About", {}) == "About · HelloFresh"
    assert page_title(board, "Data", {"task": "<b>", "edition": "<i>"}) == "Data · HelloFresh"


def test_the_next_quarter_is_named() -> None:
    said = text(opened("leaderboard", **NOTES))
    assert re.search(r"The next quarter, 2024Q2, was due on \d+ July 2024 and is late\.", said)


def test_a_cutoff_after_the_quarter_is_marked() -> None:
    rows = html(opened("leaderboard", **NOTES)).partition("</table>")[0].split("<tr")[1:]
    assert ["may know outcomes" in row for row in rows if "good</bdi>" in row] == [True]
    assert ["may know outcomes" in row for row in rows if "fair</bdi>" in row] == [False]


def test_the_first_screen_says_who_is_ahead_and_whether_that_is_more_than_luck() -> None:
    test = opened("leaderboard", **NOTES)
    said = re.search(r"In this bundled sample, good has the highest F1, .*? Where it fails", text(test))
    assert said
    assert re.search(r"Its lead over fair is (not )?significant \(\S+, 95% interval \S+ to \S+, p [=<] ", said.group())
    link = re.search(r'href="\./compare\?([^"]*)"', html(test))
    assert link
    assert parse_qs(unescape(link.group(1)))["one"] == ["team-good/good"]


def test_a_comparison_turns_with_its_systems() -> None:
    one = text(opened("compare", **NOTES, one="team-good/good", two="team-poor/poor"))
    other = text(opened("compare", **NOTES, one="team-poor/poor", two="team-good/good"))
    sentence = re.compile(r"good is better than poor by \S+ F1")
    assert sentence.findall(one) == sentence.findall(other) != []


def test_a_comparison_lists_the_samples_that_only_one_got_right() -> None:
    test = opened("compare", **NOTES, one="team-good/good", two="team-poor/poor")
    assert re.search(r"[0-9]+ samples; the first 15 by period", text(test))
    box(test, "Samples that only one got right").set_value("two").run()
    assert "There are none." in text(test)


def test_a_system_is_not_compared_with_itself() -> None:
    said = text(opened("compare", **NOTES, one="team-good/good", two="team-good/good"))
    assert "Choose two different systems" in said


def test_a_system_shows_its_scores_and_its_record() -> None:
    said = text(opened("system", **NOTES, system="team-poor/poor"))
    assert "Team poor" in said and "2024-02" in said and "predictions submitted" in said
    assert "run.json" not in said
    test = opened("system", **NOTES)
    coin = next(key for key in box(test, "System").options if key.startswith("coin"))
    box(test, "System").select(coin).run()
    assert "samples_sha256" in text(test)


def found(**query: str) -> int:
    said = re.search(r"([0-9]+) of [0-9]+ samples[.]", text(opened("samples", **EDITS, **query)))
    assert said
    return int(said[1])


def test_filters_of_samples_part_them_without_rest() -> None:
    every = found()
    assert found(label="1") == found(label="0") == every / 2
    kinds = ("all were right", "some were right", "none was right")
    parts = [found(right=kind) for kind in kinds]
    assert sum(parts) == every
    assert parts[2] == 0
    assert found(wrong="team-poor/poor") == every - parts[0]
    assert sum(found(search=key) for key in ("we-1000-0", "we-101-0")) == 1


def test_an_opened_sample_shows_the_texts_and_every_answer() -> None:
    said = text(opened("samples", **EDITS, sample="we-105-0"))
    assert "A paragraph about a river." in said
    answers = said.partition("What systems said")[2]
    assert [name for name in ("good", "fair", "poor", "coin") if f"{name} " in answers] == [
        "good", "fair", "poor", "coin",
    ]  # fmt: skip


@pytest.mark.parametrize("split", [NOTES, EDITS])
def test_hostile_samples_never_become_markup(split: dict[str, str]) -> None:
    for number in range(100, 110):
        key = f"xn-{number}" if split is NOTES else f"we-{number}-0"
        shown = html(opened("samples", **split, sample=key))
        assert not re.search(r'<(script|img|b|code)\b|href="(?!\./(?:samples|data)\?task=)|\u202e|\u0301{4}', shown)


def test_before_the_reveal_neither_labels_nor_answers_are_shown(
    make_board: Callable[..., Any], make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = make_board(bundled=None)
    monkeypatch.setenv("HELLOFRESH_DATA", str(workspace.root))
    assert "The board has no samples" in text(opened("samples", task="x-notes", edition="2023Q2"))
    assert "They are not compared" in text(opened("compare", task="x-notes", edition="2023Q2"))


def test_a_system_says_where_it_fails_and_leads_there_in_one_click() -> None:
    test = opened("system", **EDITS, system="team-poor/poor")
    said = text(test)
    wrong = re.search(r"It was wrong on (\d+) of (\d+) samples", said)
    assert wrong
    assert "more than half of them were right" in said
    (address,) = re.findall(r'href="\./samples\?([^"]*)"', html(test))
    query = dict(parse_qsl(unescape(address)))
    assert query == {**EDITS, "wrong": "team-poor/poor"}
    shown = re.search(r"([0-9]+) of [0-9]+ samples[.]", text(opened("samples", **query)))
    assert shown and shown[1] == wrong[1]


def test_a_submission_shows_its_receipt_and_how_true_its_confidences_are() -> None:
    said = text(opened("system", **NOTES, system="team-fair/fair"))
    assert "hellofresh submission check submissions/2024Q1/team-fair/fair" in said
    assert "2024-07-01T00:00:00Z" in said
    assert re.search(r"Brier score 0\.\d{3} \(0\.\d{3} to 0\.\d{3}\)", said)
    other = text(opened("system", **NOTES, system="team-good/good"))
    assert "It states no probabilities" in other and "Nowhere: it was right on all" in other


def test_the_day_of_entry_is_a_column_and_an_order() -> None:
    table = html(opened("leaderboard", **NOTES, columns="Entered", sort="newest")).partition("</table>")[0]
    days = re.findall(r'data-label="Entered" role="cell">([^<]*)', table)
    assert days.count("2024-07-01") == 3 and len(days) == 4


def test_the_data_page_says_how_long_when_under_which_licence_and_how_to_verify(revealed_board: Any) -> None:
    said = text(opened("data", **EDITS))
    for part in ("Words put in", "Hours until reverted", "CC-BY-SA-4.0", "2024-W02", "22 July 2024", "samples.jsonl"):
        assert part in said
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
    system = text(opened("system", **split))
    assert "Scores of 2023Q2 are shown once its labels are revealed" in system
    assert "It said yes" not in system and "Brier" not in system
    data = text(opened("data", **split))
    assert "They are shown by class once the labels are revealed." in data
    assert "not helpful" not in data.partition("Dates")[2]


@pytest.fixture
def forecasts(prospective_board: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A quarter with a prospective table, on the board that the site shows."""
    monkeypatch.setenv("HELLOFRESH_DATA", str(prospective_board.root))
    return {"task": "x-notes", "edition": "2026Q4"}


def test_every_lane_is_the_main_table_and_points_at_the_prospective_one(forecasts: dict[str, str]) -> None:
    test = opened("leaderboard", **forecasts)
    assert names(test) == ["always-yes"]  # takes part; its scores are not revealed
    assert "A prospective table has 16 samples that were undecided" in text(test)
    (address,) = re.findall(r'href="\./\?([^"]*)"', html(test))
    assert dict(parse_qsl(unescape(address))) == {**forecasts, "lane": "prospective"}


def test_the_prospective_lane_shows_its_own_table_with_ranks_and_says_what_it_is(forecasts: dict[str, str]) -> None:
    test = opened("leaderboard", **forecasts, lane="prospective")
    assert names(test) == ["seer", "guesser", "always-yes"]
    assert re.findall(r'<td class="hf-rank" role="cell">(\d?)', html(test).partition("</table>")[0]) == ["1", "2", ""]
    said = text(test)
    for part in (
        "20 samples that were undecided when they were published on 21 November 2026",
        "predictions were due before 26 November 2026",
        "16 were decided by 21 December 2026 (4 of them helpful)",
        "do not compare ranks or scores",
        "dashed line at 0.400",
    ):
        assert part in said
    assert "The next quarter" not in said


def test_all_pages_keep_to_the_prospective_samples_of_the_address(forecasts: dict[str, str]) -> None:
    split = {**forecasts, "lane": "prospective"}
    system = text(opened("system", **split, system="team-seer/seer"))
    assert "wrong on 2 of 16 samples" in system and "no outcome existed when it predicted" in system
    assert "check submissions/2026Q4/team-seer/seer --split prospective" in system
    assert "16 of 16 samples." in text(opened("samples", **split))
    assert "8 of 8 samples." in text(opened("samples", **forecasts))
    assert "seer is better than guesser" in text(
        opened("compare", **split, one="team-seer/seer", two="team-guesser/guesser")
    )
    data = text(opened("data", **split))
    assert "20 samples that were undecided" in data and "From source rows" not in data
    assert "hellofresh release verify data/releases/2026Q4/x-notes/prospective" in data


def test_a_lane_that_a_quarter_does_not_have_is_named() -> None:
    test = opened("leaderboard", **NOTES, lane="prospective")
    assert names(test) == ["good", "fair", "poor", "coin"]
    assert "asks for the lane" in test.text[0].value


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
