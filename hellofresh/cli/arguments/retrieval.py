"""Commands about retrieval: `corpus` and `calibrate`."""

from __future__ import annotations

import argparse
from pathlib import Path

from hellofresh.cli.arguments.shared import Subparsers, add_command, add_group, parse_day, parse_pairs

__all__ = ["FORMATS", "add_calibrate", "add_corpus"]

FORMATS = ("check-covid", "scifact", "beir", "cord-19", "litcovid", "jsonl")
"""As in `hellofresh.evidence.retrieval.sources`, which help must not wait for; a test compares them."""


def add_corpus(nouns: Subparsers) -> None:
    """Add `corpus`."""
    verbs = add_group(nouns, "corpus", "Import and build corpora for retrieval, search them, and compare retrievers.")
    _add_import(verbs)
    _add_build(verbs)
    _add_index(verbs)
    about = "Read a corpus again: hashes, texts, ids, and judgements of known queries and documents."
    _corpus_command(verbs, "check", about)
    _add_show(verbs)
    _add_search(verbs)
    _add_compare(verbs)
    _add_freeze(verbs)


def _corpus_command(verbs: Subparsers, name: str, about: str) -> argparse.ArgumentParser:
    parser = add_command(verbs, name, about, f"corpus.commands:{name}")
    parser.add_argument("name", metavar="NAME", help="a corpus of the workspace")
    return parser


def _add_import(verbs: Subparsers) -> None:
    about = "Import a corpus: documents, queries and judgements, without duplicates."
    parser = add_command(verbs, "import", about, "corpus.commands:import_corpus")
    parser.add_argument("format", choices=FORMATS, help="the format of the source")
    parser.add_argument("path", type=Path, metavar="PATH", help="the source's folder or file")
    parser.add_argument("--name", metavar="NAME", help="name in the workspace (default: that of the format)")
    parser.add_argument(
        "--drop-invalid", action="store_true", help="leave out and count documents that cannot be used or stand twice"
    )
    parser.add_argument("--keep-copies", action="store_true", help="keep documents with the text of an earlier one")
    parser.epilog = "Example: hellofresh corpus import scifact downloads/scifact"


def _add_build(verbs: Subparsers) -> None:
    about = "Build a corpus from others (the first whole, the others as distractors), or from a wiki's dump."
    parser = _corpus_command(verbs, "build", about)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--base", metavar="C", help="corpus with the queries and judgements")
    source.add_argument(
        "--dump", type=Path, nargs="+", metavar="FILE", help="MediaWiki XML dumps: the newest text of each article"
    )
    parser.add_argument(
        "--chunk", type=int, default=150, metavar="WORDS", help="with --dump: words of a chunk; 0: whole articles (150)"
    )
    parser.add_argument(
        "--add", action="append", default=[], metavar="C", help="corpus of distractors (repeat it for each)"
    )
    parser.add_argument("--size", type=int, metavar="N", help="documents in all (default: all there are)")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="seed of the choice of distractors (1)")
    parser.epilog = "Example: hellofresh corpus build check-covid-5600 --base check-covid --add scifact --size 5600"


def _add_index(verbs: Subparsers) -> None:
    parser = _corpus_command(verbs, "index", "Build the indexes that retrievers need, before they are first used.")
    _add_retrievers(parser, "bm25")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes that count words (1)")
    parser.add_argument("--cluster", default="", metavar="ADDRESS", help="count words on a Dask cluster instead")


def _add_show(verbs: Subparsers) -> None:
    parser = add_command(verbs, "show", "Show the corpora, or one of them.", "corpus.commands:show")
    parser.add_argument("name", metavar="NAME", nargs="?", help="a corpus (default: all)")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--document", metavar="ID", help="show this document")
    which.add_argument("--query", metavar="ID", help="show this query and its relevant documents")


def _add_search(verbs: Subparsers) -> None:
    parser = _corpus_command(verbs, "search", "Search a corpus.")
    parser.add_argument("text", metavar="TEXT", help="what to look for")
    parser.add_argument("--retriever", default="bm25", metavar="R", help="such as bm25, minilm or bm25+minilm")
    parser.add_argument("--count", type=int, default=10, metavar="K", help="documents to show (10)")


def _add_compare(verbs: Subparsers) -> None:
    about = "Compare retrievers on the queries of a corpus: metrics with 95%% intervals, and each step's difference."
    parser = _corpus_command(verbs, "compare", about.replace("%%", "%"))
    _add_retrievers(parser, "tf-idf,bm25,minilm,bm25+minilm")
    parser.add_argument("--split", required=True, metavar="S", help="queries to use, such as dev")
    parser.add_argument("--runs", type=Path, metavar="DIR", help="also write each ranking in TREC's run form")


def _add_freeze(verbs: Subparsers) -> None:
    about = "Freeze the queries of a split as an edition of a retrieval task, for 'hellofresh evaluate'."
    parser = add_command(verbs, "freeze", about, "corpus.commands:freeze_split")
    parser.add_argument("name", metavar="NAME", help="a corpus of the workspace")
    parser.add_argument(
        "--task", required=True, metavar="T", help="check-covid-retrieval, scifact-retrieval or claim-responses"
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--split", metavar="S", help="queries to use, such as dev")
    which.add_argument(
        "--claims", type=Path, metavar="FILE", help="claims of your own, as CSV, TSV or JSONL with columns id and claim"
    )
    parser.add_argument(
        "--columns", type=parse_pairs, metavar="NAME=COLUMN,...", help="with --claims: other names of its columns"
    )
    parser.add_argument(
        "--only", type=parse_pairs, metavar="COLUMN=VALUE,...", help="with --claims: only rows with these values"
    )
    parser.add_argument("--published", required=True, type=parse_day, metavar="DAY", help="day they became public")
    parser.add_argument("--home", default="", metavar="ADDRESS", help="where their authors publish them")
    parser.epilog = (
        "Example: hellofresh corpus freeze check-covid-5600 --task check-covid-retrieval --split dev "
        "--published 2023-05-29 (then: hellofresh evaluate --edition check-covid-retrieval@dev-207-62023170 ...)"
    )


def _add_retrievers(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument(
        "--retrievers",
        default=default,
        metavar="R,R,...",
        help=f"retrievers, such as bm25, minilm or bm25+trained:FOLDER (default: {default})",
    )


def add_calibrate(nouns: Subparsers) -> None:
    """Add `calibrate`."""
    verbs = add_group(
        nouns, "calibrate", "Choose a threshold on labelled data, with its error rates.", kind="threshold"
    )
    about = "Choose from which score on a page counts as relevant to a post, on labelled pairs."
    parser = add_command(verbs, "relevance", about, "calibrate:run")
    parser.add_argument(
        "--pairs", type=Path, action="append", default=[], metavar="FILE",
        help="lines of JSON with text, page, relevant (true or false) and, where pairs belong together, group",
    )  # fmt: skip
    parser.add_argument(
        "--corpus", action="append", default=[], metavar="C[:SPLIT]",
        help="a corpus of the workspace: its judgements, and what a search finds besides (repeat it for each)",
    )  # fmt: skip
    parser.add_argument(
        "--others", type=int, default=10, metavar="N", help="with --corpus: pages a query that are not relevant (10)"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="with --corpus: most queries (default: all)")
    parser.add_argument(
        "--encoder", default="minilm", metavar="E", help="minilm, or a model of sentence-transformers (minilm)"
    )
    parser.add_argument(
        "--rule", default="balanced", metavar="R",
        help="balanced: the highest recall less false positive rate; fpr=0.05: the highest recall with at most that "
        "false positive rate (default: balanced)",
    )  # fmt: skip
    parser.epilog = "Example: hellofresh calibrate relevance --corpus check-covid:dev"
