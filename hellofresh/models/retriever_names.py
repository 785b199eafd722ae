"""Retrievers that can be named on the command line without a file; listing them opens none."""

from __future__ import annotations

from collections.abc import Mapping

RETRIEVER_ABOUT: Mapping[str, str] = {
    "tf-idf": "Retriever: TF-IDF, the cosine of weighted word counts.",
    "bm25": "Retriever: BM25 over stemmed words.",
    "minilm": "Retriever: all-MiniLM-L6-v2 on this machine, the nearest vectors.",
    "hybrid": "Retriever: BM25 and MiniLM, their rankings put together.",
    "bm25+minilm": "Retriever in two stages: BM25, its first 20 documents put in order by MiniLM.",
}
"""What the list of models says of those that need no file."""
