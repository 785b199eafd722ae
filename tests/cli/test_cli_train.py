"""Training from the command line: rerankers, and rewards with what they judge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hellofresh.cli import main, train
from hellofresh.cli._clone import find_training
from hellofresh.cli.arguments import command_line
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval import retrievers
from hellofresh.evidence.retrieval.encoders import Encoder
from hellofresh.judging.reward_judges import PROBES
from hellofresh.judging.study import JudgeKind
from hellofresh.rewards import models
from hellofresh.runs.regimes import evidence_response
from tests.conftest import Cli
from tests.fakes import fails_with
from tests.retrieval.conftest import write_small
from tests.retrieval.test_dense import LetterEncoder
from tests.training.test_rewards import made


@pytest.fixture(autouse=True)
def workspace(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a workspace with a small corpus; encoders see letters only."""
    for cache in (retrievers._opened, evidence_response._opened):
        cache.cache_clear()

    def letters(_: str) -> Encoder:
        return LetterEncoder()

    for module in (retrievers, train, models):
        monkeypatch.setattr(module, "open_encoder", letters)
    monkeypatch.setattr(train, "MINILM", "minilm")
    write_small(Workspace(place / "data"))
    return place / "data"


COMMAND = ("train", "reranker", "--corpus", "small", "--recipe", "fused")


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")  # the libraries' own, of their next versions
def test_a_reranker_is_trained_and_held_against_the_untrained(cli: Cli) -> None:
    found = cli.json(*COMMAND, "--test", "dev")
    assert (Path(found["folder"]) / "head.json").is_file()
    assert found["difference"] == pytest.approx(found["test trained"] - found["test untrained"])
    assert len(found["losses"]) == 5
    cli("corpus", "compare", "small", "--split", "dev", "--retrievers", f"bm25+trained:{found['folder']}")


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (("--test", "train"), "same-split"),
        (("--test", "nowhere"), "unknown-split"),
        (("--set", "weight=0,x"), "bad-recipe"),
        (("--set", "lambda=0"), "bad-recipe"),
        (("--recipe", "nothing"), "unknown-name"),
        (("--set", "seed=-1"), "bad-recipe"),
        (("--set", "rate=nan"), "bad-recipe"),
    ],
)
def test_what_cannot_be_trained_is_a_plain_error(cli: Cli, more: tuple[str, ...], code: str) -> None:
    assert code in cli(*COMMAND, *more, code=2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("sft", "--data", "a", "--model", "b", "--corpus", "c"),
            "--corpus is an option of reranker, not of sft",
        ),
        (("sft", "--data", "a", "--model", "b", "--judge", "j"), "--judge is an option of rloo, ppo, rarg, not of sft"),
        (("sft", "--data", "a", "--data", "b", "--model", "c"), "many-files"),
        (("dpo", "--data", "a", "--model", "b"), "no method 'dpo'"),
        (("sft",), "missing with sft: --model M"),
        (("reranker",), "missing with reranker: --corpus"),
        (("rerank", "--corpus", "c"), "Did you mean 'reranker'?"),
    ],
)
def test_what_does_not_go_with_a_method_is_named(cli: Cli, words: tuple[str, ...], said: str) -> None:
    assert said in cli("train", *words, code=2)


def test_without_a_clone_of_the_repository_training_says_what_to_do(tmp_path: Path) -> None:
    with fails_with("no-clone", "Clone the repository"):
        find_training(tmp_path)


def test_a_method_fills_in_its_own_defaults() -> None:
    def parsed(*words: str) -> dict[str, object]:
        return vars(command_line("train").parse_args(["train", *words]))

    one, two = parsed("reranker", "--corpus", "c"), parsed("rloo", "--data", "a", "--model", "b")
    assert (one["recipe"], one["model"], one["judge"]) == ("rarg", "minilm", None)
    assert (two["recipe"], two["judge"], two["corpus"]) == ("rarg", "rules", None)


# --- `hellofresh train reward` and `judge --by rewards`: from labels to a table of systems that respond to claims.


def trained(cli: Cli, folder: Path, criterion: str, *more: str) -> dict[str, object]:
    path = folder / "labels.jsonl"
    rows = [
        {"claim": item.case.claim, "reply": item.case.response, "label": item.label, "group": item.group}
        for item in made()
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    asked = ("train", "reward", "--criterion", criterion, "--data", path, "--columns", "response=reply")
    found: dict[str, object] = cli.json(*asked, *more)
    return found


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "nothing to learn from"),
        (("--from", "healthver"), "IMPORTER=FILE"),
        (("--from", "nobody=x.csv"), "importer"),
        (("--from", "politeness=x.csv"), "has no labels for refutation"),
        (("--data", "missing.csv"), "missing.csv"),
        (("--data", "missing.csv", "--recipe", "nobody"), ""),
    ],
)
def test_what_cannot_be_trained_is_said_plainly(arguments: tuple[str, ...], said: str, cli: Cli) -> None:
    assert main(["train", "reward", "--criterion", "refutation", *arguments]) != 0
    assert said in cli.capsys.readouterr().err


SCRIPT = """
about = "Answers for tests."

[[answers]]
sample = "no instruction within them"
say = "That is false [1]: otters come to the river at dawn. Please see what is told."

[[answers]]
sample = "EVIDENCE: none was found"
say = "Nonsense, you liar, nonsense, you liar, nonsense, you liar!"
"""


def test_rewards_are_trained_from_a_table_and_judge_systems_that_respond_to_claims(
    workspace: Path, tmp_path: Path, cli: Cli
) -> None:
    polite: Any = trained(cli, tmp_path, "politeness", "--set", "seed=4")
    refuting: Any = trained(cli, tmp_path, "refutation", "--name", "own")
    assert (polite["beside"], refuting["beside"], polite["training"]["seed"]) == ("nothing", "claim", 4)
    assert {item["metric"] for item in polite["measures"]} == {
        "balanced_accuracy", "accuracy", "f1", "precision", "recall",
    }  # fmt: skip
    folders = [polite["folder"], refuting["folder"]]
    assert [Path(folder).name for folder in folders] == ["reward-politeness-table-minilm-s4", "own"]
    command = ("corpus", "freeze", "small", "--task", "claim-responses", "--split", "dev", "--published", "2020-01-01")
    edition = cli.json(*command)["edition"]
    (tmp_path / "script.toml").write_text(SCRIPT)
    asked = ("--edition", edition, "--task", "claim-responses", "--model", f"scripted:{tmp_path / 'script.toml'}",
             "--regime", "evidence-response", "--prompts", "manual", "--set", "retriever=bm25")  # fmt: skip
    cli("evaluate", *asked)
    cli("evaluate", *asked, "--set", "retrieval=false")
    cli("evaluate", *asked, "--set", "n=2", "--set", f"rewards={folders[0]}")
    (tmp_path / "learnt.csv").write_text('response\n"Nonsense, you liar, nonsense, you liar, nonsense, you liar!"\n')
    judge = ("judge", "--by", "rewards", "--edition", edition, "--retriever", "bm25")
    rated = (*judge, "--learnt", tmp_path / "learnt.csv", "--reward", folders[0], "--reward", folders[1])
    assert "paired by claim" in cli(*rated)
    found = cli.json(*rated)
    (result,) = [item for item in found if "systems" in item]
    systems = result["systems"]
    # These models learnt letters: they do not know a response from thanks, and are marked.
    assert {item["probe"] for item in result["held"]} == set(PROBES) and result["fooled_by"]
    template = systems.pop("template of the best evidence")  # a baseline without a model
    assert template["grounded"]["mean"] > 0.5 and template["denies"]["mean"] == 1
    assert len(systems) == 3
    rude = next(name for name in systems if "retrieval=no" in name or "retrieval=false" in name.lower())
    others = [values for name, values in systems.items() if name != rude]
    for values in others:
        assert values["politeness"]["mean"] > systems[rude]["politeness"]["mean"]
        assert values["denies"]["mean"] == values["civil"]["mean"] == 1
        assert values["copied"]["mean"] == values["repetition"]["mean"] == 0
    assert systems[rude]["copied"]["mean"] == 1
    assert systems[rude]["civil"]["mean"] == 0
    assert systems[rude]["repetition"]["mean"] > 0
    ratings = pl.read_parquet(next((workspace / "ratings" / edition).glob("claim-responses.parquet")))
    assert set(ratings["criterion"]) == {"politeness", "refutation", "claim-relevance", "evidence-relevance"}
    assert ratings.height == 4 * 4 * 16
    assert set(ratings["kind"]) == {str(JudgeKind.CLASSIFIER)}
    assert result["weak"] == ["refutation"]
    (comment,) = ratings["comment"].unique()
    assert comment.startswith("not validated: fooled by ") and comment.endswith("refutation is weak by its own card")
    assert ratings["value"].is_between(1, 5).all()
