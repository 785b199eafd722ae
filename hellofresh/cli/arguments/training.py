"""Commands about retrieval and training: `corpus` and `train`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from hellofresh.cli.arguments.declare import command, option, to_pairs
from hellofresh.cli.arguments.parser import REQUIRED, Variants

FORMATS = ("check-covid", "scifact", "beir", "cord-19", "litcovid", "jsonl")
"""As in `hellofresh.evidence.retrieval.sources`, which help must not wait for; a test compares them."""
CRITERIA = ("refutation", "factuality", "politeness")
JUDGED = ("misinfocorrect", "politeness", "healthver", "check-covid", "covid-fact")
"""As in `hellofresh.rewards.base` and `collectors.labelled`; a test compares them."""
METHODS = {
    "reranker": "train:train_reranker",
    "reward": "train:train_reward",
    "relevance": "train:train_relevance",
    **dict.fromkeys(("sft", "rloo", "grpo", "ppo", "dpo"), "train:tune_by"),
    "rarg": "train:tune_rarg",
}
REWARDED = ("rloo", "grpo", "ppo", "dpo", "rarg")
TUNED = ("sft", *REWARDED)


def _folders(text: str) -> list[Path]:
    return [Path(part) for part in text.split(",") if part]


def _add_train(parser: argparse.ArgumentParser) -> None:
    """Add the method as the first argument, and what each accepts: an option with its defaults by method."""
    methods = Variants(parser, "method", METHODS, f"what is trained: {', '.join(METHODS)}")
    _add_what_is_trained(methods.add)
    _add_how_it_is_trained(methods.add)


def _add_what_is_trained(add: Callable[..., None]) -> None:
    """Options that several methods share."""
    models = {**dict.fromkeys(("reranker", "reward", "relevance"), "minilm"), **dict.fromkeys(TUNED, REQUIRED)}
    about = (
        "reranker, reward: minilm, a head on its vectors (default), or an encoder to train whole; relevance: minilm "
        "(default), or a model of sentence-transformers; others: a folder, smollm2-135m, or hub:OWNER/NAME to download "
        "one"
    )
    add("--model", models, metavar="M", help=about)
    recipes = {"reranker": "rarg", "reward": None, **dict.fromkeys(TUNED, "rarg")}
    about = (
        "a TOML file; or reranker: rarg (default) or fused; reward: head or encoder (default: that of the model); "
        "others: rarg (default) or smoke"
    )
    add("--recipe", recipes, metavar="R", help=about)
    about = (
        "another value of a line of the recipe, such as seed=2, rate=2e-5 or steps=8 (repeat it for each); reranker: "
        "also several, such as weight=0,0.1 (lambda) or tau=0,0.2: one training for each"
    )
    add("--set", dict.fromkeys(("reranker", "reward", *TUNED), ()), action="append", metavar="NAME=V[,V]", help=about)
    about = "name of its folder in the workspace's training/ (default: by method, data and model)"
    add("--name", {"reward": None, **dict.fromkeys(TUNED, "")}, metavar="NAME", help=about)
    about = (
        "reward: table with columns claim, response and label (0 or 1), as CSV, TSV or JSONL (repeat it for each); "
        "relevance: JSON lines of text, page, relevant (true or false) and, where pairs belong together, group (repeat "
        "it for each); others: JSON lines of claim, evidence, response"
    )
    data = {"reward": (), "relevance": (), **dict.fromkeys(TUNED, REQUIRED)}
    add("--data", data, action="append", type=Path, metavar="FILE", help=about)


def _add_how_it_is_trained(add: Callable[..., None]) -> None:
    """Options of single methods, and of those that tune a language model."""
    about = (
        "corpus with queries to learn from; relevance: a corpus, or C:SPLIT of it, with its judgements and what a "
        "search finds besides"
    )
    corpora = {"reranker": REQUIRED, "relevance": ()}
    add("--corpus", corpora, group="reranker, relevance", action="append", metavar="C", help=about)
    group = "reranker"
    add("--split", {group: "train"}, group=group, metavar="S", help="queries to learn from (default: train)")
    about = "held-out queries to compare trained and untrained on, such as dev"
    add("--test", {group: None}, group=group, metavar="S", help=about)
    group = "relevance"
    about = (
        "balanced: the highest recall less false positive rate; fpr=0.05: the highest recall with at most that "
        "false positive rate (default: balanced)"
    )
    add("--rule", {group: "balanced"}, group=group, metavar="R", help=about)

    group = "reward"
    add("--criterion", {group: REQUIRED}, group=group, choices=CRITERIA, help="what the model is to score")
    about = "other names of a table's columns: claim=post,label=ok"
    add("--columns", {group: None}, group=group, type=to_pairs, metavar="NAME=COLUMN,...", help=about)
    about = f"a published data set, of {', '.join(JUDGED)}"
    add("--from", {group: ()}, group=group, help=about, dest="sources", action="append", metavar="IMPORTER=FILE")

    group = ", ".join(TUNED)
    about, devices = "auto: a GPU if there is one (default)", ("auto", "cpu", "cuda")
    add("--device", dict.fromkeys(TUNED, "auto"), group=group, choices=devices, help=about)
    about = "not sft: folders of reward models, one a criterion"
    add("--rewards", dict.fromkeys(REWARDED, ()), group=group, type=_folders, metavar="DIR,DIR", help=about)
    about = "not sft, dpo: watches the reward: rules (default), or a reward model outside it"
    watched = dict.fromkeys(("rloo", "grpo", "ppo", "rarg"), "rules")
    add("--judge", watched, group=group, metavar="J", help=about)


_NAME = option("name NAME", "a corpus of the workspace")

COMMANDS = (
    command(
        "corpus import",
        "Import a corpus without duplicates, or build one of a wiki's dump or of other corpora.",
        "corpus:import_corpus",
        option(
            "format",
            "the format of the source; pool: corpora of the workspace, the first whole, the others as distractors",
            choices=(*FORMATS, "wiki", "pool"),
        ),
        option("sources SOURCE", "the source's folder or file; dumps of a wiki; names of corpora", nargs="+"),
        option("--name NAME", "name in the workspace (default: that of the format)"),
        option("--drop-invalid", "leave out and count documents that cannot be used or stand twice"),
        option("--keep-copies", "keep documents with the text of an earlier one"),
        option("--ignore-identical-ids", "queries are documents too, as in ArguAna: a query never finds itself"),
        option("--chunk WORDS", "wiki: words of a chunk; 0: whole articles (150)", int, default=150),
        option("--size N", "pool: documents in all (default: all there are)"),
        epilog="Example: hellofresh corpus import pool check-covid scifact --name check-covid-5600 --size 5600",
    ),
    command(
        "corpus show",
        "Show the corpora; or one of them, a document or a query of it, or what a search in it finds.",
        "corpus:show",
        option("name NAME", "a corpus (default: all)", nargs="?"),
        option("id ID", "a document, or a query with its relevant documents", nargs="?", one_of="what"),
        option("--search TEXT", "show the ten documents that fit this text best", one_of="what"),
        option("--export DIR", "write it in BEIR's layout, with an ir-metadata file", one_of="what"),
        option("--check", "read all of it again: hashes, texts, ids, known queries and documents", one_of="what"),
    ),
    command(
        "corpus compare",
        "Compare retrievers on the queries of a corpus: metrics with 95% intervals, and each step's difference.",
        "corpus:compare",
        _NAME,
        option(
            "--retrievers R,R,...",
            "such as bm25, minilm or bm25+trained:FOLDER (default: tf-idf,bm25,minilm,bm25+minilm)",
            default="tf-idf,bm25,minilm,bm25+minilm",
        ),
        option("--split S", "queries to use, such as dev"),
        option("--runs DIR", "also write each ranking in TREC's run form"),
        option("--index-only", "only build the indexes that the retrievers need where missing"),
        option("--jobs N", "processes that count words (1)", default=1),
        option("--cluster ADDRESS", "count words on a Dask cluster instead", default=""),
    ),
    command(
        "corpus freeze",
        "Freeze the queries of a split as an edition of a retrieval task, for 'hellofresh evaluate'.",
        "corpus:freeze_split",
        _NAME,
        option("--task T", "check-covid-retrieval, scifact-retrieval or claim-responses", required=True),
        option("--split S", "queries to use, such as dev", one_of="which!"),
        option("--claims FILE", "claims of your own, as CSV, TSV or JSONL with columns id and claim", one_of="which!"),
        option("--columns NAME=COLUMN,...", "with --claims: other names of its columns", to_pairs),
        option("--only COLUMN=VALUE,...", "with --claims: only rows with these values", to_pairs),
        option("--published DAY", "day they became public", required=True),
        epilog="Example: hellofresh corpus freeze check-covid-5600 --task check-covid-retrieval --split dev "
        "--published 2023-05-29 (then: hellofresh evaluate --edition check-covid-retrieval@dev-207-62023170 ...)",
    ),
    command(
        "train",
        "Train what ranks documents (reranker) or judges responses by a criterion (reward); choose from which score on "
        "a page counts as relevant to a post, with its error rates (relevance); or tune a language model that "
        "responds, by written responses (sft), by rewards of its own responses (ppo, with a value head; rloo; grpo: "
        "scaled), to prefer the best of them to the worst (dpo), or by sft and then ppo, as in the paper (rarg).",
        "",
        more=_add_train,
        epilog="Examples: hellofresh train reranker --corpus check-covid-5600 --test dev --set weight=0,0.1,0.2 | "
        "hellofresh train relevance --corpus check-covid:dev | "
        "hellofresh train reward --criterion politeness --from politeness=wikipedia.jsonl | "
        "hellofresh train sft --data replies.jsonl --model smollm2-135m --recipe smoke | "
        "hellofresh train dpo --data replies.jsonl --model tuned/model --rewards refutation,politeness",
    ),
)
