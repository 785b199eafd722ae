"""An index that a real Dask cluster counted is the index of one process."""

from __future__ import annotations

import pytest

from hellofresh.core.executors import cluster_pool
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval import postings as postings_module
from hellofresh.evidence.retrieval.sparse import Bm25, SparseRetriever
from tests.retrieval.conftest import small_queries, write_small

# Dask leaves sockets and pipes of its workers to the collector of garbage, and warns of slow starts.
pytestmark = pytest.mark.filterwarnings("ignore")


def test_parts_counted_on_a_cluster_give_the_same_index(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    alone = SparseRetriever.open(write_small(workspace), Bm25())
    other = write_small(Workspace(workspace.root / "other"))
    monkeypatch.setattr(postings_module, "_PART", 7)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        shared = SparseRetriever.open(other, Bm25(), pool=cluster_pool(cluster.scheduler_address))
    for query in small_queries():
        assert shared.scores(query.text).tobytes() == alone.scores(query.text).tobytes()
