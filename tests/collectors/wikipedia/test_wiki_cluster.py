"""A real Dask cluster of two processes, one of them killed on the way: not a byte is different."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator

import pytest

from collectors.wikipedia.collect import collect
from collectors.wikipedia.stability import EditsSettings
from hellofresh.core.executors import cluster_pool
from hellofresh.core.quarters import Quarter
from hellofresh.releases.collection import write_candidates
from hellofresh.tasks.samples import to_json
from hellofresh.tasks.wikipedia_edits import TASK

QUARTER = Quarter(2026, 2)
# Dask leaves sockets and pipes of a killed worker to the collector of garbage, and warns of slow starts.
pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("default"), pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[object]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
    ) as started:
        yield started


@pytest.fixture
def dumps(wiki, tmp_path):
    found = []
    for page in range(1, 13):
        history = [r._replace(id=r.id + 1000 * page, parent=None) for r in wiki.history(states(page))]
        found.append(wiki.write(tmp_path / f"shard-{page:02d}.xml", wiki.page_xml(f"P{page}", history, id_=page)))
    return found


def states(page: int) -> Iterator[str]:
    """A page of eight paragraphs whose sentences change in turn; each fourth change is undone."""
    paragraphs = [f"Paragraph {n} of page {page}. " + "It goes on for a while. " * 30 for n in range(8)]
    for n in range(300):
        before = list(paragraphs)
        paragraphs[n % 8] = f"Paragraph {n} says something else, which nobody would have thought of before. " * 3
        yield "\n\n".join(paragraphs)
        if n % 4 == 0:
            paragraphs = before
            yield "\n\n".join(paragraphs)


def as_bytes(collection, path) -> bytes:
    write_candidates(path, TASK, collection.candidates)
    return json.dumps(to_json(collection), sort_keys=True).encode() + path.read_bytes()


def test_a_worker_killed_on_the_way_changes_nothing(cluster, dumps, tmp_path):
    before = {name: worker.pid for name, worker in cluster.workers.items()}
    said: list[str] = []

    def kill_one(sentence: str) -> None:
        said.append(sentence)
        if len(said) == 1:
            os.kill(before[0], signal.SIGKILL)

    spread = collect(QUARTER, dumps, EditsSettings(), pool=cluster_pool(cluster.scheduler_address), progress=kill_one)
    alone = collect(QUARTER, dumps, EditsSettings())
    assert len(said) == len(dumps)
    assert cluster.workers[0].pid != before[0]
    assert len(alone.candidates) > 20
    assert as_bytes(spread, tmp_path / "a.parquet") == as_bytes(alone, tmp_path / "b.parquet")
