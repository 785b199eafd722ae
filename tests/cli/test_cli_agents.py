"""Agents are run, compared and analysed from the command line, on data as they are."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

DATA = Path(__file__).parents[2].parent / "shared/data"


pytestmark = pytest.mark.usefixtures("place")


def test_ratings_are_imported_and_rows_that_name_no_domain_are_counted(cli, place) -> None:
    ratings = place / "mine.csv"
    ratings.write_text("site,score\none.example,0.5\nno domain,0.1\n")
    arguments = ("dataset", "import", "publishers", ratings, "--column", "domain=site", "--column", "quality=score")
    found = cli.json(*arguments)
    assert (found["domains"], found["quality"], found["left_out"]) == (1, 1, ["no domain"])
    assert "1 rows name no domain" in cli.err
    assert "bad-column" in cli("dataset", "import", "publishers", ratings, "--column", "score", code=2)


def test_without_a_release_there_is_nothing_to_analyse(cli) -> None:
    assert "no-release" in cli("analyse", "agents", "--edition", "2023Q2", code=1)


@pytest.mark.integration
def test_every_table_comes_from_one_command_on_real_statements_and_a_script(cli, place) -> None:
    source = DATA / "liar_new/liar_new.jsonl.gz"
    if not source.is_file():
        if os.environ.get("HELLOFRESH_REQUIRE_INTEGRATION"):
            pytest.fail(f"{source} is missing")
        pytest.skip("no real statements")
    rows = place / "LIAR-New.jsonl"
    rows.write_bytes(gzip.decompress(source.read_bytes()))
    cli("dataset", "import", "liar-new", rows, "--part", "--version", "t")
    ratings = place / "ratings.csv"
    ratings.write_text("domain,bias,quality\ncounty-gazette.example,1,0.9\nquizhelp.example,-2,0.2\n")
    cli("dataset", "import", "publishers", ratings)
    settings = ("--set", "mode=agent,offline", "--set", "certainty=true", "--set", "leaning=true", "--set", "k=2")
    where = ("--edition", "liar-new@t", "--task", "liar-new")
    done = cli.json("sweep", *where, "--model", "scripted", *settings, "--limit", "24")
    assert [row["variant"] for row in done[-1]["comparison"]] == ["mode=agent", "mode=offline"]
    tables = cli.json("analyse", "agents", *where)
    filled = {table["analysis"]: bool(table["rows"]) for table in tables}
    searched = next(table["rows"] for table in tables if table["analysis"] == "searches")
    assert not any(row["failed"] for row in searched)  # the script's search side has an answer to each
    assert filled.pop("result-certainty") is False  # nobody asked for it
    assert filled == dict.fromkeys(("sources", "domains", "leaning", "gain", "searches", "queries", "certainty"), True)
