"""Dense search by a graph, compared with exact search, on made vectors.

    python benchmarks/dense.py [--documents 200000] [--queries 100] [--dimensions 384] [--hidden 24]

Vectors are sums of a few hidden directions and noise, each of length 1, as vectors of texts lie near a surface of few
dimensions. Printed are processor seconds to build the graph, its size, recall of the exact search's first 20, and
processor milliseconds a query of both. There is no limit to pass.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from usearch.index import Index

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from hellofresh.evidence.retrieval.base import DocumentKeys
from hellofresh.evidence.retrieval.dense import GRAPH_SETTINGS, DenseRetriever, VectorGraph

COUNT = 20
BLOCK = 50_000


@dataclass(frozen=True)
class Made:
    """An encoder of made query vectors: the text is their number."""

    vectors: NDArray[np.float32]
    name: str = "made"
    parameters: dict[str, str] | None = None
    dimensions: int = 0

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of some numbers."""
        return self.vectors[[int(text) for text in texts]]

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of some numbers, as for queries."""
        return self.queries(texts)


def made(count: int, dimensions: int, hidden: int, seed: int) -> NDArray[np.float32]:
    """Vectors of shape (count, dimensions)."""
    directions = np.random.default_rng(0).normal(size=(hidden, dimensions)).astype(np.float32)
    generator, found = np.random.default_rng([seed, count]), np.empty((count, dimensions), np.float32)
    for start in range(0, count, BLOCK):
        part = found[start : start + BLOCK]
        part[:] = generator.normal(size=(len(part), hidden)).astype(np.float32) @ directions
        part += generator.normal(size=part.shape).astype(np.float32)
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    return found


async def searched(retriever: DenseRetriever, queries: int) -> tuple[list[set[str]], float]:
    """Results of each query, and processor milliseconds a query."""
    started = time.process_time()
    found = [set((await retriever.retrieve(str(one), COUNT)).documents) for one in range(queries)]
    return found, (time.process_time() - started) / queries * 1e3


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name, value in (("documents", 200_000), ("queries", 100), ("dimensions", 384), ("hidden", 24)):
        parser.add_argument(f"--{name}", type=int, default=value)
    asked = parser.parse_args()
    vectors = made(asked.documents, asked.dimensions, asked.hidden, 1)
    keys = DocumentKeys([str(row) for row in range(len(vectors))], np.full(len(vectors), -1, np.int32))
    encoder = Made(made(asked.queries, asked.dimensions, asked.hidden, 2))
    exact = DenseRetriever(encoder, keys, vectors)  # type: ignore[arg-type]
    started = time.process_time()
    graph = Index(ndim=asked.dimensions, **GRAPH_SETTINGS)
    graph.add(np.arange(len(vectors)), vectors, threads=1)
    built = time.process_time() - started
    wanted, slow = asyncio.run(searched(exact, asked.queries))
    found, fast = asyncio.run(searched(replace(exact, graph=VectorGraph(graph, "")), asked.queries))
    recall = np.mean([len(one & other) / COUNT for one, other in zip(wanted, found, strict=True)])
    print(
        f"{asked.documents:,} vectors of {asked.dimensions}: exact {slow:.1f} ms a query, {vectors.nbytes / 1e6:.0f} MB"
    )
    print(
        f"graph: recall@{COUNT} {recall:.4f}, {fast:.1f} ms a query, {graph.memory_usage / 1e6:.0f} MB, "
        f"built in {built:.0f} s"
    )


if __name__ == "__main__":
    main()
