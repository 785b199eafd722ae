"""Training a reward model: it learns, no group is in two parts, and a kill costs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hellofresh.core.errors import DataError, UsageError
from hellofresh.core.files import read_json, write_json
from hellofresh.rewards.base import Beside, LabelledResponse, RewardCase
from hellofresh.rewards.card import RewardData, read_card
from hellofresh.rewards.models import open_combined, open_reward
from tests.retrieval.test_dense import LetterEncoder
from training import reward_encoders, rewards
from training.heads import TrainingProgress
from training.judged import divide, labels_of, measure
from training.loss import balanced_cross_entropy, class_weights
from training.recipe import RewardRecipe, load_recipe
from training.reward_encoders import train_reward_encoder
from training.rewards import RewardTraining, TrainedReward, train_reward
from training.vectors import stored_vectors

RECIPE = RewardRecipe(name="quick", epochs=12, batch=16, rate=0.02, warm_up=3)
DATA = (RewardData(name="made.csv", sha256="0" * 64, importer="table", rows=160, positives=48),)
POLITE, RUDE = ("thanks", "please", "kindly", "sorry"), ("nonsense", "stupid", "wrong", "liar")
THINGS = ("masks", "tests", "vaccines", "vitamins", "drugs")


def made(n: int = 160) -> list[LabelledResponse]:
    """Responses of which three in ten are polite, four to a group."""
    random, found = np.random.default_rng(7), []
    for number in range(n):
        label = int(number % 10 < 3)
        words = random.choice(POLITE if label else RUDE, 2).tolist()
        thing = THINGS[number % 5]
        response = f"{words[0]} {thing} {words[1]} number {number}"
        case = RewardCase(f"{thing} work", (f"a study of {thing}",), response)
        found.append(LabelledResponse(case, label, f"group {number // 4}"))
    return found


@pytest.fixture
def training() -> RewardTraining:
    return RewardTraining("politeness", Beside.NOTHING, made(), DATA, RECIPE)


def trained(training: RewardTraining, folder: Path, **more: object) -> TrainedReward:
    return train_reward(training, LetterEncoder(), folder, vectors=folder.parent / "vectors", **more)  # type: ignore[arg-type]


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


@pytest.mark.parametrize("beside", list(Beside))
def test_a_model_learns_and_its_folder_says_the_same_as_its_card(
    beside: Beside, training: RewardTraining, tmp_path: Path
) -> None:
    training = replace(training, beside=beside)
    found = trained(training, tmp_path / "model")
    assert min(found.losses[1:]) < found.losses[0]
    better = found.card.measure("balanced_accuracy")
    assert better.difference_low > 0
    assert better.usual == pytest.approx(0.5)
    assert read_card(tmp_path / "model") == found.card
    test = divide(training.examples, RECIPE).test
    model = open_reward(tmp_path / "model", LetterEncoder())
    again = measure(test, model.score([example.case for example in test]), 0)
    assert again == found.card.measures
    assert model.name == "politeness"


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(training: RewardTraining, tmp_path: Path) -> None:
    first, again, other = (tmp_path / name for name in ("first", "again", "other"))
    trained(training, first)
    trained(training, again)
    trained(replace(training, recipe=RECIPE.model_copy(update={"seed": 2})), other)
    assert content(first) == content(again) != content(other)


@pytest.mark.parametrize("stop", [1, 5, 17])
def test_a_killed_training_goes_on_to_the_same_bytes(
    stop: int, training: RewardTraining, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rewards, "_EVERY", 4)
    trained(training, tmp_path / "whole")

    def killed(state: TrainingProgress) -> None:
        if state.step == stop:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trained(training, tmp_path / "cut", progress=killed)
    steps: list[int] = []
    trained(training, tmp_path / "cut", progress=lambda state: steps.append(state.step))
    assert steps[0] == stop // 4 * 4 + 1
    assert content(tmp_path / "cut") == content(tmp_path / "whole")


def test_vectors_are_made_once_and_an_interrupted_encoding_goes_on(tmp_path: Path) -> None:
    texts = [f"text {number}" for number in range(300)]

    def killed(line: str) -> None:
        raise KeyboardInterrupt

    first, second = LetterEncoder(), LetterEncoder()
    with pytest.raises(KeyboardInterrupt):
        stored_vectors(first, texts, tmp_path, killed)
    found = stored_vectors(second, [*texts, *texts], tmp_path)
    assert sorted(first.encoded + second.encoded) == sorted(texts)
    assert all(np.array_equal(found[text], LetterEncoder().queries([text])[0]) for text in texts)


@pytest.mark.parametrize("seed", range(5))
def test_no_group_is_in_two_parts_and_classes_have_their_shares(seed: int) -> None:
    parts = divide(made(400), RECIPE.model_copy(update={"seed": seed}))
    groups = [{example.group for example in part} for part in (parts.train, parts.selection, parts.test)]
    assert sum(map(len, groups)) == len(set.union(*groups)) == 100
    assert parts.sizes == {"train": pytest.approx(240, abs=6), "selection": pytest.approx(60, abs=6),
                           "test": pytest.approx(100, abs=6)}  # fmt: skip
    for part in (parts.train, parts.selection, parts.test):
        assert labels_of(part).mean() == pytest.approx(0.3, abs=0.06)


def test_responses_of_one_class_or_of_few_groups_cannot_be_divided() -> None:
    polite = [example for example in made() if example.label]
    for examples in (polite, [replace(example, group="one") for example in made()], []):
        with pytest.raises(DataError) as caught:
            divide(examples, RECIPE)
        assert caught.value.code == "too-few-responses"


def test_the_loss_counts_both_classes_alike_and_its_gradient_is_the_slope() -> None:
    random = np.random.default_rng(3)
    logits, labels = random.normal(0, 30, 20), (random.random(20) < 0.3).astype(np.int64)
    weights = class_weights(labels)
    for label in (0, 1):
        assert (np.array(weights)[labels] * (labels == label)).sum() == pytest.approx(10)
    expected = [
        weights[label] * -np.log(1 / (1 + np.exp(-z)) if label else 1 / (1 + np.exp(z)))
        for z, label in zip((logits / 30).tolist(), labels.tolist(), strict=True)
    ]
    loss, gradient = balanced_cross_entropy(logits / 30, labels, weights)
    assert loss == pytest.approx(np.mean(expected))
    for place in range(20):
        step = np.eye(20)[place] * 1e-5
        up, down = (balanced_cross_entropy(logits / 30 + sign * step, labels, weights)[0] for sign in (1, -1))
        assert gradient[place] == pytest.approx((up - down) / 2e-5, abs=1e-6)
    assert np.isfinite(balanced_cross_entropy(logits * 100, labels, weights)[0])


def test_evidence_that_supports_most_counts_and_none_gives_0(training: RewardTraining, tmp_path: Path) -> None:
    trained(replace(training, beside=Beside.EVIDENCE), tmp_path / "model")
    model = open_reward(tmp_path / "model", LetterEncoder())
    texts = ("a study of masks", "another of drugs")
    one, two, both, none = model.score(
        [RewardCase("masks work", evidence, "thanks masks") for evidence in (texts[:1], texts[1:], texts, ())]
    ).tolist()
    assert both == max(one, two)
    assert 0 < one < 1
    assert none == 0


def test_a_folder_that_is_changed_or_of_another_encoder_is_refused(training: RewardTraining, tmp_path: Path) -> None:
    def refusal(encoder: LetterEncoder) -> str:
        with pytest.raises(DataError) as caught:
            open_reward(tmp_path / "model", encoder)
        return caught.value.code

    assert refusal(LetterEncoder()) == "missing-file"
    trained(training, tmp_path / "model")
    assert refusal(LetterEncoder(name="others")) == "other-encoder"
    card = read_json(tmp_path / "model" / "reward.json")
    write_json(tmp_path / "model" / "reward.json", {**card, "sha256": "0" * 64})
    assert refusal(LetterEncoder()) == "changed-file"
    write_json(tmp_path / "model" / "reward.json", {**card, "more": 1})
    assert refusal(LetterEncoder()) == "bad-card"


def test_two_models_of_one_criterion_make_no_reward(training: RewardTraining, tmp_path: Path) -> None:
    trained(training, tmp_path / "model")
    with pytest.raises(UsageError) as caught:
        open_combined([tmp_path / "model"] * 2, encoder=LetterEncoder())
    assert caught.value.code == "same-criterion"
    cases = [example.case for example in made(8)]
    alone = open_combined([tmp_path / "model"], alpha=0, encoder=LetterEncoder())
    assert alone.score(cases) == pytest.approx(alone.models[0].score(cases))


def test_the_recipes_of_the_project_can_be_read() -> None:
    assert [load_recipe(name, RewardRecipe).name for name in ("head", "encoder")] == ["head", "encoder"]


def tiny(folder: Path) -> str:
    transformers = pytest.importorskip("transformers")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *POLITE, *RUDE, *THINGS, "number", "work", "a", "study"]
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(words))
    transformers.BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = transformers.BertConfig(vocab_size=len(words), **sizes)
    transformers.BertModel(config).save_pretrained(folder)
    return str(folder)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")  # torch's own, of its next versions
def test_a_killed_training_of_an_encoder_goes_on_to_the_same_bytes(
    training: RewardTraining, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(reward_encoders, "_EVERY", 2)
    model = tiny(tmp_path / "tiny")
    training = replace(training, recipe=RECIPE.model_copy(update={"epochs": 8}))
    whole = train_reward_encoder(training, model, tmp_path / "whole")
    assert whole.card.measure("balanced_accuracy").difference_low > 0

    def killed(state: TrainingProgress) -> None:
        if state.step == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_reward_encoder(training, model, tmp_path / "cut", killed)
    again = train_reward_encoder(training, model, tmp_path / "cut")
    assert again.losses == whole.losses
    assert content(tmp_path / "cut") == content(tmp_path / "whole")
    assert content(tmp_path / "cut" / "model") == content(tmp_path / "whole" / "model")
    test: Sequence[LabelledResponse] = divide(training.examples, training.recipe).test
    scores = open_reward(tmp_path / "whole", LetterEncoder()).score([example.case for example in test])
    assert [item.value for item in measure(test, scores, 0)] == [item.value for item in whole.card.measures]


def test_without_torch_a_whole_encoder_says_which_extra_it_needs(
    training: RewardTraining, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(UsageError, match=r"hellofresh\[train\]"):
        train_reward_encoder(training, "some/encoder", tmp_path / "model")
