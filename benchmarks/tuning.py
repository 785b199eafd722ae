"""The reward of held-out claims before and after tunings by rewards, such as PPO and RLOO.

    python benchmarks/tuning.py --check-covid DIR --recipe FILE --rewards DIR,DIR [--methods ppo,rloo]
                                [--model smollm2-135m] [--learn 120] [--held-out 24] [--draws 4] [--set NAME=V]

Claims refuted by Check-COVID's evidence are used for training and held out, by document; a claim's evidence is the
sentences that its annotators marked. Each method is trained by `hellofresh train METHOD`, which resumes after an
interruption. Then the initial model and each tuned one draw equally many responses to each held-out claim by the same
seeds, kept in `training/before.jsonl` and `training/METHOD/held-out.jsonl`. Printed are mean rewards, with the
difference's 95% interval paired by claim, the untrained judge's score likewise, the largest
divergence in the log, and the seconds of the training. The workspace is that of HELLOFRESH_DATA; there is no limit
to pass.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from hellofresh.cli import main as command
from hellofresh.core.files import read_jsonl, sha256_text, write_jsonl
from hellofresh.core.workspace import Workspace
from hellofresh.judging.reward_judges import RULES, open_watched
from hellofresh.rewards.base import RewardCase
from hellofresh.stats.clusters import cluster_tables
from hellofresh.stats.metrics import mean
from hellofresh.stats.paired import compare
from training.data import Exchange, read_exchanges
from training.libraries import find_base, need_libraries
from training.recipe import RewardedRecipe, changed_recipe, load_recipe


def refuted(folder: Path) -> list[dict[str, object]]:
    """Exchanges without responses, grouped by document, ordered by hash."""
    texts = {row["cord_id"]: row["abstract"] for row in read_jsonl(folder / "corpus.jsonl")}
    found = [
        {"id": row["id"], "claim": row["claim"].strip(), "group": row["cord_id"],
         "evidence": [" ".join(texts[row["cord_id"]][one["sent_index"]] for one in row["evidence_set"])]}
        for row in read_jsonl(folder / "claims_train.jsonl") if row["label"] == "REFUTE"
    ]  # fmt: skip
    return sorted(found, key=lambda row: (sha256_text(row["group"]), row["id"]))


def drawn(model: str, claims: list[Exchange], recipe: RewardedRecipe, draws: int, kept: Path) -> list[list[str]]:
    """Responses to each claim, by seeds of its own; stored responses are reused."""
    if kept.is_file():
        return [row["said"] for row in read_jsonl(kept)]
    import torch

    from training.run import Training
    from training.tuning import Tuning

    base = find_base(model, Workspace.from_environment())
    tokenizer, policy = base.tokenizer(), base.load("cpu").eval()
    tuning, found = Tuning(base, Training("ppo", recipe, {}, "cpu", kept.parent), None, tokenizer), []
    for one in claims:
        asked = tokenizer(tuning.prompt(one), return_tensors="pt", add_special_tokens=False)
        torch.manual_seed(int(sha256_text(one.id)[:8], 16))
        rows = policy.generate(
            **asked, do_sample=True, temperature=recipe.temperature, top_k=0, top_p=1.0, num_return_sequences=draws,
            max_new_tokens=recipe.response_tokens, pad_token_id=tokenizer.pad_token_id,
        )  # fmt: skip
        found.append(tokenizer.batch_decode(rows[:, asked["input_ids"].shape[1] :], skip_special_tokens=True))
    write_jsonl(kept, ({"id": one.id, "said": said} for one, said in zip(claims, found, strict=True)))
    return found


def main() -> None:
    """Tune by each method, and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name in ("--check-covid", "--recipe", "--rewards"):
        parser.add_argument(name, required=True)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--methods", default="ppo,rloo")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--allow-weak-reward", action="store_true")
    for name, value in (("--learn", 120), ("--held-out", 24), ("--draws", 4)):
        parser.add_argument(name, type=int, default=value)
    options = parser.parse_args()
    need_libraries("the measure")
    root = Workspace.from_environment().root / "training"
    rows = refuted(Path(options.check_covid))
    held = {row["group"] for row in rows[: options.held_out]}
    learnt = [row for row in rows if row["group"] not in held][: options.learn]
    paths = root / "held-out.jsonl", root / "learnt.jsonl"
    for path, part in zip(paths, (rows[: options.held_out], learnt), strict=True):
        write_jsonl(path, iter(part))
    claims = read_exchanges(paths[0], responses=False)
    recipe = changed_recipe(load_recipe(options.recipe, RewardedRecipe), options.set)
    rewards = open_watched([Path(one) for one in options.rewards.split(",") if one], RULES, recipe.alpha_relevance)
    reward = mean("reward", (-2.0, 5.0))

    def scored(model: str, kept: Path) -> list[np.ndarray]:
        """The reward and the judge's score of each claim, averaged over its responses."""
        said = drawn(model, claims, recipe, options.draws, kept)
        cases = [
            RewardCase(one.claim, tuple(one.evidence), text)
            for one, texts in zip(claims, said, strict=True)
            for text in texts
        ]
        return [by.score(cases).reshape(len(claims), -1).mean(axis=1) for by in (rewards.reward, rewards.judge)]

    first = scored(options.model, root / "before.jsonl")
    groups = np.unique([one.group for one in claims], return_inverse=True)[1]
    for method in options.methods.split(","):
        more = [part for one in options.set for part in ("--set", one)]
        given = ["--recipe", options.recipe, "--rewards", options.rewards, "--name", method, "--device", "cpu"]
        given += ["--allow-weak-reward"] * options.allow_weak_reward
        command(["train", method, "--data", str(paths[1]), "--model", options.model, *given, *more])
        card = json.loads((root / method / "card.json").read_text())
        after = scored(str(root / method / "model"), root / method / "held-out.jsonl")
        for name, one, two in zip(("reward", "judge"), after, first, strict=True):
            tables = [cluster_tables(reward.statistics(np.ones(len(claims)), values), groups) for values in (one, two)]
            found = compare(*tables, reward)
            limits = f"{found.difference:+.3f} [{found.interval.low:+.3f}, {found.interval.high:+.3f}]"
            print(f"{method}: {name} {found.second:.3f} to {found.first:.3f}, {limits}")
        kl = max(row["kl"] for row in card["log"] if row["kl"] is not None)
        print(f"{method}: {card['steps']} steps, {card['seconds']:.0f} s, KL at most {kl:.2f} nats, {card['flags']}")


if __name__ == "__main__":
    main()
