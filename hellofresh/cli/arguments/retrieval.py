"""Commands about retrieval: `corpus` and `calibrate`."""

from __future__ import annotations

from pathlib import Path

from hellofresh.cli.arguments.shared import Subparsers, add_command, add_group, parse_day, parse_pairs

FORMATS = ("check-covid", "scifact", "beir", "cord-19", "litcovid", "jsonl")
"""As in `hellofresh.evidence.retrieval.sources`, which help must not wait for; a test compares them."""


def add_corpus(nouns: Subparsers) -> None:
    """Add `corpus`."""
    verbs = add_group(nouns, "corpus", "Import and build corpora for retrieval, search them, and compare retrievers.")
    _add_import(verbs)
    _add_show(verbs)
    _add_compare(verbs)
    _add_freeze(verbs)


def _add_import(verbs: Subparsers) -> None:
    about = "Import a corpus without duplicates, or build one of a wiki's dump or of other corpora."
    parser = add_command(verbs, "import", about, "corpus:import_corpus")
    parser.add_argument(
        "format", choices=(*FORMATS, "wiki", "pool"),
        help="the format of the source; pool: corpora of the workspace, the first whole, the others as distractors",
    )  # fmt: skip
    parser.add_argument(
        "sources", nargs="+", metavar="PATH", help="the source's folder or file; dumps of a wiki; names of corpora"
    )
    parser.add_argument("--name", metavar="NAME", help="name in the workspace (default: that of the format)")
    parser.add_argument(
        "--drop-invalid", action="store_true", help="leave out and count documents that cannot be used or stand twice"
    )
    parser.add_argument("--keep-copies", action="store_true", help="keep documents with the text of an earlier one")
    parser.add_argument(
        "--ignore-identical-ids", action="store_true",
        help="queries are documents too, as in ArguAna and Quora: a query never finds itself",
    )  # fmt: skip
    parser.add_argument(
        "--chunk", type=int, default=150, metavar="WORDS", help="wiki: words of a chunk; 0: whole articles (150)"
    )
    parser.add_argument("--size", type=int, metavar="N", help="pool: documents in all (default: all there are)")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="pool: seed of the choice of distractors (1)")
    parser.epilog = "Example: hellofresh corpus import pool check-covid scifact --name check-covid-5600 --size 5600"


def _add_show(verbs: Subparsers) -> None:
    about = "Show the corpora; or one of them, a document or a query of it, or what a search in it finds."
    parser = add_command(verbs, "show", about, "corpus:show")
    parser.add_argument("name", metavar="NAME", nargs="?", help="a corpus (default: all)")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--document", metavar="ID", help="show this document")
    which.add_argument("--query", metavar="ID", help="show this query and its relevant documents")
    which.add_argument("--search", metavar="TEXT", help="show the documents that fit this text")
    which.add_argument("--export", type=Path, metavar="DIR", help="write it in BEIR's layout, with an ir-metadata file")
    which.add_argument(
        "--check", action="store_true", help="read all of it again: hashes, texts, ids, known queries and documents"
    )
    parser.add_argument(
        "--retriever", default="bm25", metavar="R", help="with --search: such as bm25, minilm or bm25+minilm"
    )
    parser.add_argument("--count", type=int, default=10, metavar="K", help="with --search: documents to show (10)")


def _add_compare(verbs: Subparsers) -> None:
    about = "Compare retrievers on the queries of a corpus: metrics with 95% intervals, and each step's difference."
    parser = add_command(verbs, "compare", about, "corpus:compare")
    parser.add_argument("name", metavar="NAME", help="a corpus of the workspace")
    parser.add_argument(
        "--retrievers", default="tf-idf,bm25,minilm,bm25+minilm", metavar="R,R,...",
        help="such as bm25, minilm or bm25+trained:FOLDER (default: tf-idf,bm25,minilm,bm25+minilm)",
    )  # fmt: skip
    parser.add_argument("--split", metavar="S", help="queries to use, such as dev")
    parser.add_argument("--runs", type=Path, metavar="DIR", help="also write each ranking in TREC's run form")
    parser.add_argument(
        "--index-only", action="store_true", help="only build the indexes that the retrievers need where missing"
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes that count words (1)")
    parser.add_argument("--cluster", default="", metavar="ADDRESS", help="count words on a Dask cluster instead")


def _add_freeze(verbs: Subparsers) -> None:
    about = "Freeze the queries of a split as an edition of a retrieval task, for 'hellofresh evaluate'."
    parser = add_command(verbs, "freeze", about, "corpus:freeze_split")
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
