"""`hellofresh train reranker`: one training, a sweep, and plain errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hellofresh.cli import main
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval import retrievers
from hellofresh.evidence.retrieval.encoders import Encoder
from tests.retrieval.conftest import write_small
from tests.retrieval.test_dense import LetterEncoder


@pytest.fixture(autouse=True)
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path))
    write_small(Workspace(tmp_path))

    def letters(_: str) -> Encoder:
        return LetterEncoder()

    monkeypatch.setattr(retrievers, "open_encoder", letters)


COMMAND = ("train", "reranker", "--corpus", "small", "--recipe", "fused", "--json")


def test_a_reranker_is_trained_and_held_against_the_untrained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "--test", "dev"]) == 0
    found = json.loads(capsys.readouterr().out)[0]
    assert (Path(found["folder"]) / "head.json").is_file()
    assert found["difference"] == pytest.approx(found["test trained"] - found["test untrained"])
    assert len(found["losses"]) == 5
    assert (
        main(["corpus", "compare", "small", "--split", "dev", "--retrievers", f"bm25+trained:{found['folder']}"]) == 0
    )


def test_a_sweep_trains_once_for_each_value_and_draws_its_curve(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pytest.importorskip("vl_convert")
    assert main([*COMMAND, "--lambda", "0,0.3", "--tau", "0.1,0.2"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(one["lambda"], one["tau"]) for one in found] == [(0, 0.1), (0, 0.2), (0.3, 0.1), (0.3, 0.2)]
    folder = tmp_path / "training" / "small-minilm-sweep"
    assert "<svg" in (folder / "sweep.svg").read_text()
    assert len(json.loads((folder / "sweep.json").read_text())["rows"]) == 4


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (("--test", "train"), "same-split"),
        (("--test", "nowhere"), "unknown-split"),
        (("--lambda", "0,x"), "bad-number"),
        (("--recipe", "nothing"), "unknown-name"),
        (("--seed", "-1"), "bad-recipe"),
        (("--rate", "nan"), "bad-recipe"),
    ],
)
def test_what_cannot_be_trained_is_a_plain_error(
    capsys: pytest.CaptureFixture[str], more: tuple[str, ...], code: str
) -> None:
    assert main([*COMMAND, *more]) == 2
    assert code in capsys.readouterr().err
