"""`hellofresh train reranker`: one training, a sweep, and plain errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hellofresh.cli._clone import find_training
from hellofresh.cli.arguments import command_line
from hellofresh.core.errors import UsageError
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval import retrievers
from hellofresh.evidence.retrieval.encoders import Encoder
from tests.conftest import Cli
from tests.retrieval.conftest import write_small
from tests.retrieval.test_dense import LetterEncoder


@pytest.fixture(autouse=True)
def corpus(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_small(Workspace(place / "data"))

    def letters(_: str) -> Encoder:
        return LetterEncoder()

    monkeypatch.setattr(retrievers, "open_encoder", letters)


COMMAND = ("train", "reranker", "--corpus", "small", "--recipe", "fused")


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")  # the libraries' own, of their next versions
def test_a_reranker_is_trained_and_held_against_the_untrained(cli: Cli) -> None:
    (found,) = cli.json(*COMMAND, "--test", "dev")
    assert (Path(found["folder"]) / "head.json").is_file()
    assert found["difference"] == pytest.approx(found["test trained"] - found["test untrained"])
    assert len(found["losses"]) == 5
    cli("corpus", "compare", "small", "--split", "dev", "--retrievers", f"bm25+trained:{found['folder']}")


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")  # the libraries' own, of their next versions
def test_a_sweep_trains_once_for_each_value_and_draws_its_curve(cli: Cli, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    found = cli.json(*COMMAND, "--set", "weight=0,0.3", "--set", "tau=0.1,0.2")
    assert [(one["lambda"], one["tau"]) for one in found] == [(0, 0.1), (0, 0.2), (0.3, 0.1), (0.3, 0.2)]
    folder = tmp_path / "data" / "training" / "small-minilm-sweep"
    assert "<svg" in (folder / "sweep.svg").read_text()
    assert len(json.loads((folder / "sweep.json").read_text())["rows"]) == 4


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
            "--corpus goes with reranker; not with sft",
        ),
        (("sft", "--data", "a", "--model", "b", "--judge", "j"), "--judge goes with rloo, ppo, rarg; not with sft"),
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
    with pytest.raises(UsageError, match="Clone the repository") as caught:
        find_training(tmp_path)
    assert caught.value.code == "no-clone"


def test_a_method_fills_in_its_own_defaults() -> None:
    def parsed(*words: str) -> dict[str, object]:
        return vars(command_line("train").parse_args(["train", *words]))

    one, two = parsed("reranker", "--corpus", "c"), parsed("rloo", "--data", "a", "--model", "b")
    assert (one["run"], one["recipe"], one["model"], one["judge"]) == ("train:train_reranker", "rarg", "minilm", None)
    assert (two["run"], two["recipe"], two["judge"], two["corpus"]) == ("train:tune_by", "rarg", "rules", None)
