"""Agents are run, compared and analysed from the command line, on data as they are."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from hellofresh.cli import main

DATA = Path(__file__).parents[2].parent / "shared/data"


def run(capsys, *arguments: str):
    code = main([*arguments, "--json"])
    printed = capsys.readouterr()
    return code, json.loads(printed.out) if printed.out else None, printed.err


@pytest.fixture(autouse=True)
def place(make, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HELLOFRESH_CONFIG", raising=False)
    monkeypatch.setenv("HELLOFRESH_DATA", str(make.workspace().root))
    return tmp_path


def test_ratings_are_imported_and_rows_that_name_no_domain_are_counted(capsys, place) -> None:
    ratings = place / "mine.csv"
    ratings.write_text("site,score\none.example,0.5\nno domain,0.1\n")
    arguments = (
        "dataset",
        "import",
        "publishers",
        str(ratings),
        "--column",
        "domain=site",
        "--column",
        "quality=score",
    )
    code, found, said = run(capsys, *arguments)
    assert (code, found["domains"], found["quality"], found["left_out"]) == (0, 1, 1, ["no domain"])
    assert "1 rows name no domain" in said
    code, _, said = run(capsys, "dataset", "import", "publishers", str(ratings), "--column", "score")
    assert (code, "bad-column" in said) == (2, True)


def test_without_a_release_there_is_nothing_to_analyse(capsys) -> None:
    code, _, said = run(capsys, "analyse", "agents", "--edition", "2023Q2")
    assert (code, "no-release" in said) == (1, True)


@pytest.mark.integration
def test_every_table_comes_from_one_command_on_real_statements_and_a_script(capsys, place) -> None:
    source = DATA / "liar_new/liar_new.jsonl.gz"
    if not source.is_file():
        if os.environ.get("HELLOFRESH_REQUIRE_INTEGRATION"):
            pytest.fail(f"{source} is missing")
        pytest.skip("no real statements")
    rows = place / "LIAR-New.jsonl"
    rows.write_bytes(gzip.decompress(source.read_bytes()))
    assert run(capsys, "dataset", "import", "liar-new", str(rows), "--part", "--version", "t")[0] == 0
    ratings = place / "ratings.csv"
    ratings.write_text("domain,bias,quality\ncounty-gazette.example,1,0.9\nquizhelp.example,-2,0.2\n")
    assert run(capsys, "dataset", "import", "publishers", str(ratings))[0] == 0
    settings = ("--set", "mode=agent,offline", "--set", "certainty=true", "--set", "leaning=true", "--set", "k=2")
    where = ("--edition", "liar-new@t", "--task", "liar-new")
    code, done, _ = run(capsys, "sweep", *where, "--model", "scripted", *settings, "--limit", "24")
    assert code == 0
    assert [row["variant"] for row in done[-1]["comparison"]] == ["mode=agent", "mode=offline"]
    code, tables, _ = run(capsys, "analyse", "agents", *where)
    assert code == 0
    filled = {table["analysis"]: bool(table["rows"]) for table in tables}
    assert filled.pop("result-certainty") is False  # nobody asked for it
    assert filled == dict.fromkeys(("sources", "domains", "leaning", "gain", "searches", "queries", "certainty"), True)
