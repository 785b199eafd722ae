"""Parallel work in local processes or on a Dask cluster, with the same results in order.

A task must be small to send and its result must not depend on where it runs; a task whose worker was lost is run
again, a few times.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    as_completed,
)
from contextlib import AbstractContextManager, contextmanager
from multiprocessing import get_context
from typing import Any, TypeVar

from hellofresh.core.errors import RunError, UsageError, missing_extra

_ATTEMPTS = 3
_CONNECT_S = 10  # a cluster that is up answers at once; dask's own default is longer than anybody waits
_SAFE_PATH = "PYTHONSAFEPATH"  # the variable that keeps a new Python from importing modules of its current folder

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")
Pool = Callable[[], AbstractContextManager[Executor]]
"""A function that opens a new executor at each call."""


def completed(work: Coroutine[Any, Any, _Result]) -> _Result:
    """The result of a coroutine, also within a running event loop, as in a notebook or another harness."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)  # noqa: TID251  # what all others call
    with ThreadPoolExecutor(1) as apart:
        return apart.submit(asyncio.run, work).result()  # noqa: TID251


def process_pool(jobs: int) -> Pool:
    """A pool of `jobs` local processes, which import no module from the current folder."""

    @contextmanager
    def opened() -> Iterator[Executor]:
        before = os.environ.get(_SAFE_PATH)
        os.environ[_SAFE_PATH] = before or "1"
        try:
            with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as executor:
                yield executor
        finally:
            if before is None:
                del os.environ[_SAFE_PATH]
            else:
                os.environ[_SAFE_PATH] = before

    return opened


def cluster_pool(address: str) -> Pool:
    """The workers of a Dask cluster, by its scheduler's address, such as `tcp://host:8786`.

    They need the same version of this package and the same files under the same paths.

    Raises:
        UsageError: if Dask distributed is not installed.
    """
    try:
        import distributed
    except ImportError:
        raise missing_extra("a cluster", "Dask distributed", "cluster") from None

    @contextmanager
    def opened() -> Iterator[Executor]:
        try:
            client = distributed.Client(  # type: ignore[no-untyped-call]  # the package has types for some
                address, timeout=_CONNECT_S, set_as_default=False
            )
        except (OSError, ValueError) as error:
            raise UsageError(
                f"no Dask scheduler answers ({error})",
                where=address,
                expected="the address of a running one, such as tcp://host:8786",
                fix="Start it with: dask scheduler",
                code="no-cluster",
            ) from None
        with client:
            try:
                yield client.get_executor(retries=_ATTEMPTS - 1, pure=False)  # type: ignore[no-untyped-call]  # as above
            except (distributed.KilledWorker, CancelledError) as error:
                raise RunError(
                    f"the cluster lost the work ({error or 'the scheduler has gone'})",
                    where=address,
                    fix="Check its workers' logs; fewer threads per worker need less memory.",
                    code="workers-lost",
                ) from None

    return opened


def asked_pool(cluster: str, jobs: int = 1) -> Pool | None:
    """The pool for the options `--cluster` and `--jobs`; None where one process is enough.

    Raises:
        UsageError: if Dask distributed is not installed.
    """
    if cluster:
        return cluster_pool(cluster)
    return process_pool(jobs) if jobs > 1 else None


def run_tasks(
    pool: Pool, work: Callable[[_Task], _Result], tasks: Sequence[_Task], *, done: Callable[[_Result], None]
) -> list[_Result]:
    """Run the tasks; results come in the order of the tasks, not of their completion.

    Args:
        pool: opens the executor.
        work: a function that other processes can import.
        tasks: the argument of each call.
        done: called with each result on completion.

    Raises:
        RunError: if workers were lost repeatedly.
        Exception: the first that `work` raised; tasks not yet started are cancelled.
    """
    results: dict[int, _Result] = {}
    for _ in range(_ATTEMPTS):
        try:
            with pool() as executor:
                _attempt(executor, work, tasks, results, done)
        except BrokenExecutor:
            continue
        return [results[place] for place in range(len(tasks))]
    raise RunError(
        f"workers were lost in each of {_ATTEMPTS} attempts, {len(results):,} of {len(tasks):,} files done",
        fix="Check whether they run out of memory; fewer workers need less.",
        code="workers-lost",
    )


def _attempt(
    executor: Executor,
    work: Callable[[_Task], _Result],
    tasks: Sequence[_Task],
    results: dict[int, _Result],
    done: Callable[[_Result], None],
) -> None:
    places = {executor.submit(work, task): place for place, task in enumerate(tasks) if place not in results}
    try:
        for future in as_completed(places):
            results[places[future]] = future.result()
            done(future.result())
    except BaseException:  # Ctrl-C too: work that nobody waits for would keep the cores busy
        for future in places:
            future.cancel()
        raise
