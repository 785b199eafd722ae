"""Commands about retrieval and training: `corpus` and `train`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, cast

from hellofresh.cli.arguments.declare import add_settings, command, option, to_pairs
from hellofresh.cli.arguments.parser import Variants
from hellofresh.core.errors import UsageError
from hellofresh.runs.evaluation import Option

FORMATS = ("check-covid", "scifact", "beir", "cord-19", "litcovid", "jsonl")
"""Copy of the names in `hellofresh.evidence.retrieval.sources`, a slow import; a test compares them."""
CRITERIA = ("refutation", "factuality", "politeness")
JUDGED = ("misinfocorrect", "politeness", "healthver", "check-covid", "covid-fact")
"""Copy of the names in `hellofresh.rewards.base` and `collectors.labelled`; a test compares them."""
_REWARD, _TUNED = "reward", "sft, rloo, ppo, rarg"


def _folders(text: str) -> tuple[Path, ...]:
    return tuple(Path(part) for part in text.split(",") if part)


def _tuple(value: object) -> tuple[object, ...]:
    return tuple(cast("list[object]", value))


def _only(value: object) -> Path:
    paths = cast("list[Path]", value)
    if len(paths) != 1:
        raise UsageError("several --data", expected="one file of exchanges", code="many-files")
    return paths[0]


_MODEL = Option(
    "reranker, reward: minilm (default), which gets a head, or an encoder to train whole; others: a folder, "
    "smollm2-135m, or hub:OWNER/NAME to download one",
    "M",
)
_RECIPE = Option(
    "a TOML file; or reranker: rarg (default) or fused; reward: head or encoder (default: that of the model); others: "
    "rarg (default) or smoke",
    "R",
)
_SET = Option(
    "change a value of the recipe, such as seed=2, rate=2e-5 or steps=8 (repeat it for each)",
    "NAME=V",
    "--set",
    many=True,
    read=_tuple,
)
_NAMED = Option(
    "output folder in the workspace's training/, in lower case (default: from method, data and model)", "NAME"
)
_ABOUT_DATA = (
    "reward: table with columns claim, response and label (0 or 1), as CSV, TSV or JSONL (repeat it for each); others: "
    "JSON lines of claim, evidence, response"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankerSettings:
    """Training data and parameters of rerankers."""

    model: Annotated[str, _MODEL] = "minilm"
    recipe: Annotated[str, _RECIPE] = "rarg"
    changes: Annotated[tuple[str, ...], _SET] = ()
    corpus: Annotated[str, Option("corpus with queries to learn from", "C", group="reranker")]
    split: Annotated[str, Option("queries to learn from (default: train)", "S", group="reranker")] = "train"
    test: Annotated[
        str, Option("held-out queries on which to compare trained and untrained, such as dev", "S", group="reranker")
    ] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardSettings:
    """Training data and parameters of a reward model."""

    model: Annotated[str, _MODEL] = "minilm"
    recipe: Annotated[str, _RECIPE] = ""
    changes: Annotated[tuple[str, ...], _SET] = ()
    name: Annotated[str, _NAMED] = ""
    data: Annotated[tuple[Path, ...], Option(_ABOUT_DATA, "FILE", parse=Path, many=True, read=_tuple)] = ()
    criterion: Annotated[str, Option("the criterion that the model scores", choices=CRITERIA, group=_REWARD)]
    columns: Annotated[
        Mapping[str, str] | None,
        Option(
            "other names of a table's columns: claim=post,label=ok", "NAME=COLUMN,...", parse=to_pairs, group=_REWARD
        ),
    ] = None
    sources: Annotated[
        tuple[str, ...],
        Option(
            f"a published data set, of {', '.join(JUDGED)}",
            "IMPORTER=FILE",
            "--from",
            many=True,
            read=_tuple,
            group=_REWARD,
        ),
    ] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningSettings:
    """Training data and parameters for tuning a language model."""

    model: Annotated[str, _MODEL]
    recipe: Annotated[str, _RECIPE] = "rarg"
    changes: Annotated[tuple[str, ...], _SET] = ()
    name: Annotated[str, _NAMED] = ""
    data: Annotated[Path, Option(_ABOUT_DATA, "FILE", parse=Path, many=True, read=_only)]
    device: Annotated[
        str, Option("auto: a GPU if there is one (default)", choices=("auto", "cpu", "cuda"), group=_TUNED)
    ] = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardedSettings(TuningSettings):
    """Parameters for tuning by rewards of the model's own responses."""

    rewards: Annotated[
        tuple[Path, ...],
        Option("not sft: folders of reward models, one per criterion", "DIR,DIR", parse=_folders, group=_TUNED),
    ] = ()
    judge: Annotated[
        str,
        Option("not sft: watches the reward: rules (default), or a separate reward model", "J", group=_TUNED),
    ] = "rules"
    allow_weak_reward: Annotated[
        bool,
        Option(
            "not sft: accept a reward that does not rank refutations above echoes, thanks and off-topic replies; "
            "the model will probably learn to write those",
            group=_TUNED,
        ),
    ] = False


METHODS: Mapping[str, tuple[str, type]] = {
    "reranker": ("train:train_reranker", RerankerSettings),
    "reward": ("train:train_reward", RewardSettings),
    "sft": ("train:tune_by", TuningSettings),
    "rloo": ("train:tune_by", RewardedSettings),
    "ppo": ("train:tune_by", RewardedSettings),
    "rarg": ("train:tune_rarg", RewardedSettings),
}
"""The handler and settings of each method; the fields are the options."""


def _add_train(parser: argparse.ArgumentParser) -> None:
    """Add the method as the first argument, and the options of each."""
    handlers = {name: handler for name, (handler, _) in METHODS.items()}
    methods = Variants(parser, "method", handlers, f"the method: {', '.join(METHODS)}")
    for name, (_, kind) in METHODS.items():
        add_settings(methods, name, kind)


_NAME = option("name NAME", "a corpus of the workspace")

COMMANDS = (
    command(
        "corpus import",
        "Import a corpus without duplicates, or build one from a wiki's dump or from other corpora.",
        "corpus:import_corpus",
        option(
            "format",
            "the source's format; pool: corpora of the workspace, the first one whole, the others as distractors",
            choices=(*FORMATS, "wiki", "pool"),
        ),
        option("sources SOURCE", "the source's folder or file; dumps of a wiki; names of corpora", nargs="+"),
        option("--name NAME", "name in the workspace (default: that of the format)"),
        option("--drop-invalid", "leave out unusable and repeated documents, and count them"),
        option("--keep-copies", "keep documents with the text of an earlier one"),
        option("--ignore-identical-ids", "queries are documents too, as in ArguAna: a query never finds itself"),
        option("--chunk WORDS", "wiki: words per chunk (default: 150); 0: whole articles", int, default=150),
        option("--size N", "pool: total number of documents (default: all)"),
        epilog="Example: hellofresh corpus import pool check-covid scifact --name check-covid-5600 --size 5600",
    ),
    command(
        "corpus show",
        "List the corpora; or show one, one of its documents or queries, or the results of a search.",
        "corpus:show",
        option("name NAME", "a corpus (default: all)", nargs="?"),
        option("id ID", "a document, or a query with its relevant documents", nargs="?", one_of="what"),
        option("--search TEXT", "show the ten best matches for this text", one_of="what"),
        option("--export DIR", "write the corpus in BEIR's layout, with an ir-metadata file", one_of="what"),
        option("--check", "check the whole corpus: hashes, texts, ids, known queries and documents", one_of="what"),
    ),
    command(
        "corpus compare",
        "Compare retrievers on the queries of a corpus: metrics with 95% intervals, and the gain of each step.",
        "corpus:compare",
        _NAME,
        option(
            "--retrievers R,R,...",
            "such as bm25, minilm or bm25+trained:FOLDER (default: tf-idf,bm25,minilm,bm25+minilm)",
            default="tf-idf,bm25,minilm,bm25+minilm",
        ),
        option("--split S", "queries to use, such as dev"),
        option("--runs DIR", "also write each ranking as a TREC run"),
        option("--index-only", "only build missing indexes"),
        option("--jobs N", "parallel processes for indexing (default: 1)", default=1),
        option("--cluster ADDRESS", "index on a Dask cluster instead, with this scheduler", default=""),
    ),
    command(
        "corpus freeze",
        "Freeze the queries of a split as an edition of a retrieval task, for 'hellofresh evaluate'.",
        "corpus:freeze_split",
        _NAME,
        option("--task T", "check-covid-retrieval, scifact-retrieval or claim-responses", required=True),
        option("--split S", "queries to use, such as dev", one_of="which!"),
        option("--claims FILE", "your own claims, as CSV, TSV or JSONL with columns id and claim", one_of="which!"),
        option("--columns NAME=COLUMN,...", "with --claims: other names of its columns", to_pairs),
        option("--only COLUMN=VALUE,...", "with --claims: only rows with these values", to_pairs),
        option("--published DAY", "the day on which the queries became public", required=True),
        epilog="Example: hellofresh corpus freeze check-covid-5600 --task check-covid-retrieval --split dev "
        "--published 2023-05-29 (then: hellofresh evaluate --edition check-covid-retrieval@dev-207-62023170 ...)",
    ),
    command(
        "train",
        "Train a model that ranks documents (reranker) or scores responses by a criterion (reward); or tune a language "
        "model on written responses (sft), on rewards (ppo, with a value head, or rloo), or on both in turn, as in the "
        "paper (rarg). In a clone of the repository only.",
        "",
        more=_add_train,
        epilog="Examples: hellofresh train reranker --corpus check-covid-5600 --test dev --set weight=0,0.1,0.2 | "
        "hellofresh train reward --criterion politeness --from politeness=wikipedia.jsonl | "
        "hellofresh train sft --data replies.jsonl --model smollm2-135m --recipe smoke | "
        "hellofresh train ppo --data replies.jsonl --model tuned/model --rewards refutation,politeness",
    ),
)
