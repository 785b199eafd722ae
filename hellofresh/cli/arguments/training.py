"""Commands about training: `train`."""

from __future__ import annotations

import argparse
from pathlib import Path

from hellofresh.cli.arguments.shared import Subparsers, add_command, add_group, parse_pairs

CRITERIA = ("refutation", "factuality", "politeness")
JUDGED = ("misinfocorrect", "politeness", "healthver", "check-covid", "covid-fact")
"""As in `hellofresh.rewards.base` and `collectors.labelled`, which help must not wait for; a test compares."""


def add_train(nouns: Subparsers) -> None:
    """Add `train`."""
    verbs = add_group(
        nouns, "train", "Train what ranks documents and judges responses, and tune what responds.", kind="model"
    )
    _add_reranker(verbs)
    _add_reward(verbs)
    _add_sft(verbs)
    _add_rewarded(verbs, "rloo", "Tune a language model by rewards of its responses, each against the others (RLOO).")
    _add_rewarded(verbs, "grpo", "Tune a language model by rewards of its own responses, as RLOO but scaled (GRPO).")
    _add_rewarded(verbs, "ppo", "Tune by rewards with what trl has in place of PPO, which is RLOO.")
    _add_rewarded(verbs, "dpo", "Tune a language model to prefer the best of its own responses to the worst (DPO).")


def _add_reranker(verbs: Subparsers) -> None:
    about = "Train a reranker on the queries of a corpus: a head on frozen vectors, or a whole encoder."
    parser = add_command(verbs, "reranker", about, "train.reranker:run")
    parser.add_argument("--corpus", required=True, metavar="C", help="corpus with queries to learn from")
    parser.add_argument("--split", default="train", metavar="S", help="queries to learn from (default: train)")
    parser.add_argument("--test", metavar="S", help="held-out queries to compare trained and untrained on, such as dev")
    parser.add_argument("--recipe", default="rarg", metavar="R", help="rarg, fused, or a TOML file (default: rarg)")
    parser.add_argument(
        "--model", default="minilm", metavar="M", help="minilm: a head on its vectors; else an encoder to train whole"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="another seed than the recipe's")
    parser.add_argument("--rate", type=float, metavar="R", help="another learning rate than the recipe's")
    parser.add_argument(
        "--lambda", dest="weights", default="", metavar="L,L,...", help="one training for each value of lambda"
    )
    parser.add_argument("--tau", dest="taus", default="", metavar="T,T,...", help="one training for each value of tau")
    parser.epilog = (
        "Example: hellofresh train reranker --corpus check-covid-5600 --test dev --lambda 0,0.1,0.2,0.3,0.4,0.5"
    )


def _add_reward(verbs: Subparsers) -> None:
    about = "Train a reward model: a classifier of responses by one criterion, and what it reaches on held-out ones."
    parser = add_command(verbs, "reward", about, "train.reward:run")
    parser.add_argument("--criterion", required=True, choices=CRITERIA, help="what the model is to score")
    parser.add_argument(
        "--data", action="append", default=[], type=Path, metavar="FILE",
        help="table with columns claim, response and label (0 or 1), as CSV, TSV or JSONL (repeat it for each)",
    )  # fmt: skip
    parser.add_argument(
        "--columns",
        type=parse_pairs,
        metavar="NAME=COLUMN,...",
        help="other names of a table's columns: claim=post,label=ok",
    )
    parser.add_argument(
        "--from", dest="sources", action="append", default=[], metavar="IMPORTER=FILE",
        help=f"a published data set, of {', '.join(JUDGED)} (repeat it for each)",
    )  # fmt: skip
    parser.add_argument("--recipe", metavar="R", help="head, encoder, or a TOML file (default: that of the model)")
    parser.add_argument(
        "--model", default="minilm", metavar="M", help="minilm: a head on its vectors; else an encoder to train whole"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="another seed than the recipe's")
    parser.add_argument("--name", metavar="NAME", help="name of its folder (default: by criterion, data and model)")
    parser.epilog = "Example: hellofresh train reward --criterion politeness --from politeness=wikipedia.jsonl"


def _add_sft(verbs: Subparsers) -> None:
    about = "Tune a language model by written responses: claim, evidence and response, with low-rank matrices."
    parser = add_command(verbs, "sft", about, "train.tuning:sft")
    _add_tuning(parser)
    parser.epilog = "Example: hellofresh train sft --data replies.jsonl --model smollm2-135m --recipe smoke"


def _add_rewarded(verbs: Subparsers, name: str, about: str) -> None:
    parser = add_command(verbs, name, about, f"train.tuning:{name}")
    _add_tuning(parser)
    parser.add_argument(
        "--rewards", type=_folders, default=[], metavar="DIR,DIR", help="folders of reward models, one a criterion"
    )
    parser.add_argument(
        "--judge",
        default="rules",
        metavar="J",
        help="watches the reward: rules, or a reward model that is no part of it",
    )
    parser.epilog = (
        f"Example: hellofresh train {name} --data replies.jsonl --model tuned/model --rewards refutation,politeness"
    )


def _folders(text: str) -> list[Path]:
    return [Path(part) for part in text.split(",") if part]


def _add_tuning(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data", required=True, type=Path, metavar="FILE", help="JSON lines: claim, evidence, response"
    )
    parser.add_argument(
        "--model", required=True, metavar="M", help="a folder, smollm2-135m, or hub:OWNER/NAME to download one"
    )
    parser.add_argument("--recipe", default="rarg", metavar="R", help="rarg, smoke, or a TOML file (default: rarg)")
    parser.add_argument("--name", default="", metavar="NAME", help="name of the folder in the workspace's training/")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="auto: a GPU if there is one")
    parser.add_argument("--seed", type=int, metavar="N", help="another seed than the recipe's")
    parser.add_argument("--rate", type=float, metavar="R", help="another learning rate than the recipe's")
    parser.add_argument("--steps", type=int, metavar="N", help="at most so many steps, whatever the recipe says")
