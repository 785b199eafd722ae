"""A maintainer's machine: every line on standard input is a day, which a process of its own lives through.

`MOMENT KILL`: the day's run is killed at its KILL-th change of a file; 0 lets it end. Its exit code is printed, or
`killed`.
The commands are imported once; each day is a fork of this process, which has no threads.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from pathlib import Path

CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate", "sqlite3.connect"}
PACKAGES = {"hellofresh", "polars", "numpy", "aiohttp", "pydantic", "rich"}
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def killed_at(number: int) -> None:
    """Kill this process at its so many-th change of a file, as if the power had failed."""
    seen = 0

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal seen
        opened = event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITES
        if opened or event in CHANGES:
            seen += 1
            if seen == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


def live(moment: str, kill: int) -> None:
    """A day: runs what is due, and never returns."""
    from hellofresh.cli import main

    os.environ["HELLOFRESH_NOW"] = moment
    with Path("log.txt").open("a") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        if kill:
            killed_at(kill)
        code = main(["quarter", "run", "--summary", "summary.txt"])
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def learn(moment: str) -> list[str]:
    """The modules that a day needs, from a day lived in another folder."""
    read, write = os.pipe()
    if not os.fork():
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        from hellofresh.cli import main

        os.environ["HELLOFRESH_NOW"] = moment
        main(["quarter", "run", "--dry-run"])
        for name in ("hellofresh.cli.quarter", "leaderboard.export", "hellofresh.releases.publish"):
            importlib.import_module(name)
        with os.fdopen(write, "w") as pipe:
            pipe.write("\n".join(sys.modules))
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        return pipe.read().split("\n")


def run() -> None:
    for name in learn("2024-01-01T00:00:00Z"):
        if name.split(".")[0] in PACKAGES:
            try:
                importlib.import_module(name)
            except ImportError:
                continue
    print("ready", flush=True)
    for line in sys.stdin:
        moment, kill = line.split()
        child = os.fork()
        if not child:
            live(moment, int(kill))
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status)
        print("killed" if killed else os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    run()
