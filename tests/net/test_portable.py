"""The package imports on systems without POSIX: what only POSIX has is imported by one worker process alone."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

POSIX_ONLY = {"fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios"}
WORKER = "hellofresh/evidence/web/_worker.py"


def imported(path: Path) -> set[str]:
    """Top names of the modules that a file imports anywhere."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def test_only_programs_of_their_own_import_what_posix_alone_has(root: Path) -> None:
    files = [path for package in ("hellofresh", "collectors", "leaderboard") for path in (root / package).rglob("*.py")]
    posix = {path.relative_to(root).as_posix() for path in files if imported(path) & POSIX_ONLY}
    assert posix == {WORKER}


def test_locks_and_runs_import_where_fcntl_is_missing(root: Path) -> None:
    names = "hellofresh.core.net.lock, hellofresh.runs, hellofresh.evidence.web"
    program = f"import sys; sys.modules['fcntl'] = None; import {names}"
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
