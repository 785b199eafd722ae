"""A sweep makes every variant as if it were alone, and asks what is equal between them once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from hellofresh.cli.sweep import variants
from hellofresh.core.errors import UsageError
from hellofresh.core.quarters import Quarter
from hellofresh.models import Answer, Finish, Message, Request
from hellofresh.runs.asked_models import SharedAnswers, SharedModel
from hellofresh.runs.evaluation import Evaluation
from hellofresh.tasks import get_task
from tests.fakes import FakeModel, catalogued, fake_spec

SWEEP = ("sweep", "--edition", "2023Q2", "--task", "x-notes", "--model", "searcher")


def search_twice(request: Request) -> Answer:
    """Two searches, then a decision."""
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
