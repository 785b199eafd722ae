"""A sweep makes every variant as if it were alone, and asks what is equal between them once."""

from __future__ import annotations

import asyncio
import gzip
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from hellofresh.cli.sweep import variants
from hellofresh.core.editions import Frozen
from hellofresh.core.errors import UsageError
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.models import Answer, Finish, Message, Request
from hellofresh.releases.candidates import Collection
from hellofresh.releases.draw.frozen import DatasetSource, freeze
from hellofresh.runs.asked_models import SharedAnswers, SharedModel
from hellofresh.runs.evaluation import Evaluation
from hellofresh.tasks import get_task
from hellofresh.tasks.corrections import MisleadingPost
from hellofresh.tasks.samples import Candidate, Label
from tests.fakes import FakeModel, catalogued, fake_spec

SWEEP = ("sweep", "--edition", "2023Q2", "--task", "x-notes", "--model", "searcher")


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


def results(root: Path) -> dict[str, bytes]:
    return {
        f"{path.parent.name}/{path.name}": path.read_bytes()
        for path in sorted(root.glob("*/*"))
        if path.name in ("predictions.jsonl", "transcripts.jsonl", "responses.jsonl")
    }


def test_variants_are_run_share_what_is_equal_and_are_compared(cli, workspace, searcher) -> None:
    arguments = (*SWEEP, "--set", "k=3,2,1", "--private")
    ahead = cli.json(*arguments, "--dry-run")
    assert (searcher.asked, workspace.runs.exists()) == ([], False)
    assert [item["variant"] for item in ahead["plan"]] == ["k=3", "k=2", "k=1"]
    assert all(item["calls"] <= item["most_calls"] == 4 * 22 for item in ahead["plan"])
    done = cli.json(*arguments)
    first = len(searcher.asked)
    assert first < 3 * 4 * 5  # the first turn, at least, is asked once for all three
    assert "not asked for again" in " ".join(cli.err.split())
    table = done[-1]["comparison"]
    assert [row["variant"] for row in table] == ["k=3", "k=2", "k=1"]
    assert [row["difference"] for row in table] == [None, 0.0, 0.0]
    assert [row["searches"] for row in table] == [2.0, 2.0, 2.0]
    assert [row["sources"] for row in table] == sorted((row["sources"] for row in table), reverse=True)
    before = results(workspace.runs)
    cli(*arguments)
    assert (len(searcher.asked), results(workspace.runs)) == (first, before)


def test_a_variant_of_a_sweep_is_what_it_is_alone(cli, workspace, searcher) -> None:
    cli(*SWEEP, "--set", "k=2", "--block", ",p1.example", "--private")
    together = results(workspace.runs)
    workspace.runs.rename(workspace.root / "elsewhere")
    alone = ("evaluate", *SWEEP[1:7], "--regime", "search-agent")
    for more in ((), ("--block", "p1.example")):
        cli(*alone, "--set", "k=2", *more)
    assert results(workspace.runs) == together


def test_scores_wait_for_the_reveal(cli, workspace, searcher) -> None:
    done = cli.json(*SWEEP, "--set", "k=1")
    assert "not revealed" in " ".join(cli.err.split())
    assert all("comparison" not in part for part in done)


def test_every_combination_is_named_by_what_varies() -> None:
    base = Evaluation(Quarter(2023, 2), get_task("x-notes"), "")
    found = variants(
        base,
        models=["a", "b"],
        settings={"k": ["10", "2"], "searches": ["3"]},
        roles={"summariser": ["s"]},
        blocked=[[], ["x.example", "y.example"]],
        providers=[""],
    )
    assert len(found) == 8
    assert found[0].name == "a, k=10, nothing blocked"
    assert found[-1].name == "b, k=2, without x.example, y.example"
    last = found[-1].evaluation
    assert (last.model, last.settings, last.roles) == ("b", ("k=2", "searches=3"), {"summariser": "s"})
    assert last.blocked == ("x.example", "y.example")


@pytest.mark.parametrize("settings", [{"k": ["1", "1"]}, {"k": list(map(str, range(100)))}])
def test_equal_and_endless_variants_are_refused(settings) -> None:
    base = Evaluation(Quarter(2023, 2), get_task("x-notes"), "")
    with pytest.raises(UsageError):
        variants(base, models=["a"], settings=settings, roles={}, blocked=[[]], providers=[""])


@pytest.mark.parametrize("more", [("--set", "k"), ("--set", "k="), ("--role", "=a")])
def test_a_malformed_alternative_is_refused(cli, workspace, more) -> None:
    cli(*SWEEP, *more, code=2)


def test_only_the_same_request_to_the_same_model_is_shared(cli, workspace, searcher) -> None:
    cli(*SWEEP, "--set", "k=1")
    shared = SharedAnswers.of(sorted(workspace.runs.glob("*")))
    assert len(shared.known) >= 4
    before = len(searcher.asked)
    other = FakeModel(replace(searcher.spec, parameters={"seed": 1}))
    for model, request in ((searcher, Request((Message("user", ("new",)),), 5)), (other, Request((), 5))):
        if request.messages:
            asyncio.run(SharedModel(model, shared).ask(request))
    assert (len(searcher.asked), shared.used) == (before + 1, 0)
    assert SharedAnswers.of([workspace.root]).known == {}


def test_scores_name_what_tells_variants_apart(cli, workspace, searcher) -> None:
    more = ("--set", "k=2,1", "--set", "searches=2,1", "--block", ",p1.example")
    cli(*SWEEP, *more, "--private")
    shown = cli("score", "--edition", SWEEP[2], "--private")
    assert all(part in shown for part in ("k=1", "k=2", "searches=1", "searches=2", "without p1.example"))


# --- Agents are analysed, and ablations of corrections swept, by the same command.


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


@pytest.mark.integration
def test_every_table_comes_from_one_command_on_real_statements_and_a_script(cli, place, shared_data: Path) -> None:
    source = shared_data / "liar_new/liar_new.jsonl.gz"
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


def test_ablations_are_swept_without_ratings_and_each_step_is_accounted_for(posts, cli, tmp_path: Path) -> None:
    (tmp_path / "low.txt").write_text("skywatch.example\nplain-page.example\n")
    imported = cli.json("dataset", "import", "publishers", "--priority", f"low={tmp_path / 'low.txt'}")
    assert imported["priorities"] == {"high": 0, "medium": 0, "low": 2}
    sweep = ["sweep", "--edition", "posts@1", "--task", "corrections", "--regime", "correction", "--model", "scripted"]
    found = cli.json(*sweep, "--prompts", "manual", "--set", "retrieval=true,false")
    rows = next(item["comparison"] for item in found if "comparison" in item)
    assert [row["variant"] for row in rows] == ["retrieval=true", "retrieval=false"]
    assert [row["refuting_pages"] > 0 for row in rows] == [True, False]
    assert [row["links"] for row in rows] == [1.0, 0.0] and all("value" not in row for row in rows)
    runs = {folder.name: cli.json("runs", "show", folder.name)["steps"] for folder in posts.runs.iterdir()}
    steps = sorted([step["step"] for step in found] for found in runs.values())
    assert steps == [["queries", "evidence", "respond"], ["respond"]]
    assert all(step["requests"] > 0 and step["cost_usd"] == 0 for found in runs.values() for step in found)


def test_nothing_to_import_is_said(cli, place) -> None:
    assert "--priority high=FILE" in cli("dataset", "import", "publishers", code=2)
