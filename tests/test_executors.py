"""Work spread over processes and machines: the same results, and nothing lost with a worker."""

from __future__ import annotations

import os
import pickle
import signal
import sys
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from hellofresh.core import executors
from hellofresh.core.errors import HelloFreshError, RunError, SourceError, UnknownNameError, UsageError
from hellofresh.core.executors import cluster_pool, process_pool, run_tasks
from tests.fakes import refused


def squared(number: int) -> int:
    return number * number


def dies_once(flag: str) -> str:
    """Ends its own process the first time."""
    if not os.path.exists(flag):  # noqa: PTH110 -- as little as can be is loaded in the worker
        Path(flag).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return flag


def always_dies(_: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def nothing(_: object) -> None:
    pass


def test_results_come_in_the_order_of_the_tasks_and_the_environment_stays():
    before = dict(os.environ)
    cubes = run_tasks(process_pool(2), partial(pow, exp=3), range(20), done=nothing)
    assert cubes == [number**3 for number in range(20)]
    assert dict(os.environ) == before


@pytest.mark.parametrize(
    "error",
    [SourceError("a", where="b", expected="c", fix="Do.", code="x"), UnknownNameError("model", "m", ["n"])],
)
def test_errors_read_the_same_in_another_process(error: HelloFreshError):
    other = pickle.loads(pickle.dumps(error))
    assert (type(other), str(other), other.code, other.fix) == (type(error), str(error), error.code, error.fix)


def test_work_of_a_lost_process_is_done_again(tmp_path):
    flags = [str(tmp_path / str(number)) for number in range(2)]
    assert run_tasks(process_pool(1), dies_once, flags, done=nothing) == flags


def test_work_that_always_loses_its_process_is_given_up():
    refused("workers-lost", run_tasks, process_pool(1), always_dies, [1], done=nothing)


def test_what_was_done_before_a_loss_is_not_done_again():
    done = []

    @contextmanager
    def pool():
        with process_pool(1)() as executor:
            yield executor
            if len(done) < 4:
                raise BrokenExecutor

    with pytest.raises(RunError):
        run_tasks(always_broken, squared, [1], done=nothing)
    assert run_tasks(pool, squared, [1, 2, 3, 4], done=done.append) == [1, 4, 9, 16]
    assert sorted(done) == [1, 4, 9, 16]


@contextmanager
def always_broken():
    raise BrokenExecutor
    yield


def test_a_cluster_without_its_package_is_refused_with_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match=r"distributed>=2026\.1"):
        cluster_pool("tcp://127.0.0.1:1")


@pytest.mark.integration
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "no address"])
def test_an_address_where_nobody_answers_is_refused(monkeypatch, address):
    monkeypatch.setattr(executors, "_CONNECT_S", 1)
    refused("no-cluster", run_tasks, cluster_pool(address), squared, [1], done=nothing)
