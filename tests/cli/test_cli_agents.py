"""Agents and their variants from the command line: how runs are named, analysed and accounted for."""

from __future__ import annotations

import gzip
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from hellofresh.core.editions import Frozen
from hellofresh.core.workspace import Workspace
from hellofresh.models import Answer, Finish, Request
from hellofresh.releases.candidates import Collection
from hellofresh.releases.draw.frozen import DatasetSource, freeze
from hellofresh.tasks import get_task
from hellofresh.tasks.corrections import MisleadingPost
from hellofresh.tasks.samples import Candidate, Label
from tests.fakes import FakeModel, catalogued, fake_spec


def search_twice(request: Request) -> Answer:
    turn = sum(message.role == "assistant" for message in request.messages)
    text = (*("SEARCH: river silt", "SEARCH: salt water"), "Decision: helpful")[turn]
    if request.messages[0].text.startswith("QUERY"):
        text = f"A summary of {len(request.messages[0].text)} characters."
    return Answer(text, Finish.STOP, 10, 5)


@pytest.fixture
def searcher(monkeypatch: pytest.MonkeyPatch) -> FakeModel:
    return catalogued(monkeypatch, FakeModel(fake_spec("searcher", free=True), search_twice))


@pytest.fixture
def workspace(make, place: Path):
    make.release(make.notes(2, 2, months=(4,)))
    pages = place / "corpus" / "rivers"
    pages.mkdir(parents=True)
    for number in range(1, 6):
        head = f'url = "https://p{number}.example/{number}"\ntitle = "River {number}"\ndate = 2023-03-0{number}\n'
        (pages / f"page-{number}.md").write_text(f"+++\n{head}+++\n\nA river carries silt and salt water {number}.\n")
    (place / "hellofresh.toml").write_text('[web]\ncorpus = "corpus"\n')
    return make.workspace()


def test_scores_name_what_tells_variants_apart(cli, workspace, searcher) -> None:
    where = ("evaluate", "--edition", "2023Q2", "--task", "x-notes", "--model", "searcher", "--regime", "search-agent")
    cli(*where, "--set", "k=2", "--set", "searches=2")
    cli(*where, "--set", "k=1", "--set", "searches=1", "--block", "p1.example")
    shown = cli("score", "--edition", "2023Q2", "--private")
    assert all(part in shown for part in ("k=1", "k=2", "searches=1", "searches=2", "without p1.example"))


def test_ratings_are_imported_and_rows_that_name_no_domain_are_counted(cli, place) -> None:
    ratings = place / "mine.csv"
    ratings.write_text("site,score\none.example,0.5\nno domain,0.1\n")
    arguments = ("dataset", "import", "publishers", ratings, "--column", "domain=site", "--column", "quality=score")
    found = cli.json(*arguments)
    assert (found["domains"], found["quality"], found["left_out"]) == (1, 1, ["no domain"])
    assert "1 rows name no domain" in cli.err
    assert "bad-column" in cli("dataset", "import", "publishers", ratings, "--column", "score", code=2)


def test_without_a_release_there_is_nothing_to_analyse(cli, place) -> None:
    assert "no-release" in cli("analyse", "agents", "--edition", "2023Q2", code=1)


def test_a_model_justifies_its_answers_at_no_cost_to_scores_and_judges_rate_the_reasons_by_a_rubric(
    cli, make, place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def say(request: Request) -> Answer:
        last = request.messages[-1].text
        if "criteria" in last:
            return Answer('{"consistent": 4, "post": 5, "note": 3, "evidence": 2}', Finish.STOP, 10, 5)
        return Answer("Because the river\nis salt." if "Justify" in last else "Yes", Finish.STOP, 10, 5)

    model = catalogued(monkeypatch, FakeModel(fake_spec("writer", free=True), say))
    make.release(make.notes(2, 2, months=(4,)))
    at = ("--edition", "2023Q2", "--task", "x-notes")
    plain = ("evaluate", *at, "--model", "writer", "--prompts", "manual")
    judge = ("judge", *at, "--rubric", "justification-4", "--model", "writer")
    cli(*plain)
    assert "no-reasons" in cli(*judge, code=2)
    before, asked = cli.json("score", "--edition", "2023Q2", "--private"), len(model.asked)
    cli(*plain, "--set", "justify=true")
    after = cli.json("score", "--edition", "2023Q2", "--private")
    assert len(model.asked) == asked + 4 * 2
    rows = [row for row in after["scores"] if row not in before["scores"]] if isinstance(after, dict) else after
    assert rows
    shown = cli(*judge)
    assert "Justifications" in shown and "mean 4.00" in shown and "mean 2.00" in shown
    said = {message.text for request in model.asked for message in request.messages if "Answer: 1" in message.text}
    assert said and all("Because the river is salt." in text for text in said)


@pytest.mark.integration
def test_every_table_comes_from_one_command_on_real_statements_and_a_script(cli, place, shared_data: Path) -> None:
    source = shared_data / "liar_new/liar_new.jsonl.gz"
    rows = place / "LIAR-New.jsonl"
    rows.write_bytes(gzip.decompress(source.read_bytes()))
    cli("dataset", "import", "liar-new", rows, "--part", "--version", "t")
    ratings = place / "ratings.csv"
    ratings.write_text("domain,bias,quality\ncounty-gazette.example,1,0.9\nquizhelp.example,-2,0.2\n")
    cli("dataset", "import", "publishers", ratings)
    settings = ("--set", "certainty=true", "--set", "leaning=true", "--set", "k=2")
    where = ("--edition", "liar-new@t", "--task", "liar-new")
    for mode in ("agent", "offline"):
        evaluate = ("evaluate", *where, "--model", "scripted", "--regime", "search-agent", "--limit", "24")
        cli(*evaluate, "--set", f"mode={mode}", *settings)
    tables = cli.json("analyse", "agents", *where)
    filled = {table["analysis"]: bool(table["rows"]) for table in tables}
    searched = next(table["rows"] for table in tables if table["analysis"] == "searches")
    assert not any(row["failed"] for row in searched)  # the script's search side has an answer to each
    assert filled.pop("result-certainty") is False  # nobody asked for it
    assert filled == dict.fromkeys(("sources", "domains", "leaning", "gain", "searches", "queries", "certainty"), True)


TEXTS = ("The Moon has a side that never sees any sunlight.", "Searing meat seals in all of its juices.")


@pytest.fixture
def posts(make, place: Path) -> Workspace:
    """Two posts of our own as an edition of corrections."""
    workspace = make.workspace()
    about = {"task": "corrections", "edition": "posts@1", "period": "all", "license": "CC0-1.0", "modality": ""}
    when, more = datetime(2026, 9, 1, 12, tzinfo=UTC), {"domain": "", "address": ""}
    samples = [
        MisleadingPost(**about, **more, id=f"mp-{n}", date=when, group=f"g-{n}", post=str(n), text=text)
        for n, text in enumerate(TEXTS, start=1)
    ]
    found = Collection.whole([Candidate(post, Label(post.id, 0, {})) for post in samples], [], unit="posts")
    source = DatasetSource(name="ours", address="https://example.org", published=date(2026, 9, 2), licence="CC0-1.0")
    freeze(workspace, Frozen("posts", "1"), get_task("corrections"), found, source)
    return workspace


def test_each_step_of_an_ablation_is_accounted_for(posts, cli, tmp_path: Path) -> None:
    (tmp_path / "low.txt").write_text("skywatch.example\nplain-page.example\n")
    imported = cli.json("dataset", "import", "publishers", "--priority", f"low={tmp_path / 'low.txt'}")
    assert imported["priorities"] == {"high": 0, "medium": 0, "low": 2}
    where = ("--edition", "posts@1", "--task", "corrections", "--model", "scripted", "--prompts", "manual")
    for retrieval in ("true", "false"):
        cli("evaluate", *where, "--regime", "correction", "--set", f"retrieval={retrieval}")
    runs = {folder.name: cli.json("runs", "show", folder.name)["steps"] for folder in posts.runs.iterdir()}
    steps = sorted([step["step"] for step in found] for found in runs.values())
    assert steps == [["queries", "evidence", "respond"], ["respond"]]
    assert all(step["requests"] > 0 and step["cost_usd"] == 0 for found in runs.values() for step in found)


def test_nothing_to_import_is_said(cli, place) -> None:
    assert "--priority high=FILE" in cli("dataset", "import", "publishers", code=2)
