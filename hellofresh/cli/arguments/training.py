"""`hellofresh train`: what it accepts."""

from __future__ import annotations

from pathlib import Path

from hellofresh.cli.arguments.parser import REQUIRED, Variants
from hellofresh.cli.arguments.shared import Subparsers, add_command, parse_pairs

CRITERIA = ("refutation", "factuality", "politeness")
JUDGED = ("misinfocorrect", "politeness", "healthver", "check-covid", "covid-fact")
"""As in `hellofresh.rewards.base` and `collectors.labelled`, which help must not wait for; a test compares."""

METHODS = {
    "reranker": "train.reranker:run",
    "reward": "train.reward:run",
    "relevance": "train.relevance:run",
    **dict.fromkeys(("sft", "rloo", "grpo", "ppo", "dpo"), "train.tuning:run"),
    "rarg": "train.tuning:rarg",
}
REWARDED = ("rloo", "grpo", "ppo", "dpo", "rarg")
TUNED = ("sft", *REWARDED)


def add_train(nouns: Subparsers) -> None:
    """Add `train`, with its method as the first argument."""
    about = (
        "Train what ranks documents (reranker) or judges responses by a criterion (reward); choose from which score on "
        "a page counts as relevant to a post, with its error rates (relevance); or tune a language model that "
        "responds, by written responses (sft), by rewards of its own responses (ppo, with a value head; rloo; grpo: "
        "scaled), to prefer the best of them to the worst (dpo), or by sft and then ppo, as in the paper (rarg)."
    )
    parser = add_command(nouns, "train", about, "")
    methods = Variants(parser, "method", METHODS, f"what is trained: {', '.join(METHODS)}")
    _add_shared(methods)
    _add_retrieval(methods)
    _add_reward(methods)
    _add_tuning(methods)
    parser.epilog = (
        "Examples: hellofresh train reranker --corpus check-covid-5600 --test dev --lambda 0,0.1,0.2 | "
        "hellofresh train relevance --corpus check-covid:dev | "
        "hellofresh train reward --criterion politeness --from politeness=wikipedia.jsonl | "
        "hellofresh train sft --data replies.jsonl --model smollm2-135m --recipe smoke | "
        "hellofresh train dpo --data replies.jsonl --model tuned/model --rewards refutation,politeness"
    )


def _add_shared(methods: Variants) -> None:
    about = (
        "reranker, reward: minilm, a head on its vectors (default), or an encoder to train whole; relevance: minilm "
        "(default), or a model of sentence-transformers; others: a folder, smollm2-135m, or hub:OWNER/NAME to download "
        "one"
    )
    models = {**dict.fromkeys(("reranker", "reward", "relevance"), "minilm"), **dict.fromkeys(TUNED, REQUIRED)}
    methods.add("--model", models, metavar="M", help=about)
    about = (
        "a TOML file; or reranker: rarg (default) or fused; reward: head or encoder (default: that of the model); "
        "others: rarg (default) or smoke"
    )
    methods.add(
        "--recipe", {"reranker": "rarg", "reward": None, **dict.fromkeys(TUNED, "rarg")}, metavar="R", help=about
    )
    about = "another seed than the recipe's"
    methods.add("--seed", dict.fromkeys(("reranker", "reward", *TUNED)), type=int, metavar="N", help=about)
    about = "another learning rate than the recipe's"
    methods.add("--rate", dict.fromkeys(("reranker", *TUNED)), type=float, metavar="R", help=about)
    about = "name of its folder in the workspace's training/ (default: by method, data and model)"
    methods.add("--name", {"reward": None, **dict.fromkeys(TUNED, "")}, metavar="NAME", help=about)
    about = (
        "reward: table with columns claim, response and label (0 or 1), as CSV, TSV or JSONL (repeat it for each); "
        "relevance: JSON lines of text, page, relevant (true or false) and, where pairs belong together, group (repeat "
        "it for each); others: JSON lines of claim, evidence, response"
    )
    data = {"reward": (), "relevance": (), **dict.fromkeys(TUNED, REQUIRED)}
    methods.add("--data", data, action="append", type=Path, metavar="FILE", help=about)


def _add_retrieval(methods: Variants) -> None:
    about = (
        "corpus with queries to learn from; relevance: a corpus, or C:SPLIT of it, with its judgements and what a "
        "search finds besides (repeat it for each)"
    )
    corpora = {"reranker": REQUIRED, "relevance": ()}
    methods.add("--corpus", corpora, group="reranker, relevance", action="append", metavar="C", help=about)
    group = "reranker"
    about = "queries to learn from (default: train)"
    methods.add("--split", {"reranker": "train"}, group=group, metavar="S", help=about)
    about = "held-out queries to compare trained and untrained on, such as dev"
    methods.add("--test", {"reranker": None}, group=group, metavar="S", help=about)
    for flag, name in (("--lambda", "weights"), ("--tau", "taus")):
        about = f"one training for each value of {flag[2:]}"
        methods.add(flag, {"reranker": ""}, group=group, dest=name, metavar="X,X,...", help=about)
    group = "relevance"
    about = "with --corpus: pages a query that are not relevant (10)"
    methods.add("--others", {"relevance": 10}, group=group, type=int, metavar="N", help=about)
    about = "with --corpus: most queries (default: all)"
    methods.add("--limit", {"relevance": None}, group=group, type=int, metavar="N", help=about)
    about = (
        "balanced: the highest recall less false positive rate; fpr=0.05: the highest recall with at most that "
        "false positive rate (default: balanced)"
    )
    methods.add("--rule", {"relevance": "balanced"}, group=group, metavar="R", help=about)


def _add_reward(methods: Variants) -> None:
    group = "reward"
    about = "what the model is to score"
    methods.add("--criterion", {"reward": REQUIRED}, group=group, choices=CRITERIA, help=about)
    about = "other names of a table's columns: claim=post,label=ok"
    methods.add("--columns", {"reward": None}, group=group, type=parse_pairs, metavar="NAME=COLUMN,...", help=about)
    words = {"dest": "sources", "action": "append", "metavar": "IMPORTER=FILE"}
    about = f"a published data set, of {', '.join(JUDGED)} (repeat it for each)"
    methods.add("--from", {"reward": ()}, group=group, help=about, **words)


def _add_tuning(methods: Variants) -> None:
    group = ", ".join(TUNED)
    about, devices = "auto: a GPU if there is one (default)", ("auto", "cpu", "cuda")
    methods.add("--device", dict.fromkeys(TUNED, "auto"), group=group, choices=devices, help=about)
    about = "at most this many steps, whatever the recipe says"
    methods.add("--steps", dict.fromkeys(TUNED), group=group, type=int, metavar="N", help=about)
    about = "not sft: folders of reward models, one a criterion"
    methods.add("--rewards", dict.fromkeys(REWARDED, ()), group=group, type=_folders, metavar="DIR,DIR", help=about)
    about = "not sft, dpo: watches the reward: rules (default), or a reward model outside it"
    watched = dict.fromkeys(("rloo", "grpo", "ppo", "rarg"), "rules")
    methods.add("--judge", watched, group=group, metavar="J", help=about)


def _folders(text: str) -> list[Path]:
    return [Path(part) for part in text.split(",") if part]
