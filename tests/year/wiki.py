"""A real MediaWiki on the loopback with the edits of a made world (tests/mediawiki/up.sh)."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import sqlite3
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

MODULES = {"intl", "mbstring", "pdo_sqlite", "xml"}
VANDAL = "Writer 5"
"""Whose edits `World.history` puts back."""


def is_ready(script: Path) -> bool:
    """Whether PHP and the package are there."""
    php = shutil.which("php")
    modules = subprocess.run([php, "-m"], capture_output=True, text=True, check=True).stdout.lower() if php else ""
    return set(modules.split()) >= MODULES and not subprocess.run([str(script), "ready"], check=False).returncode


@contextmanager
def served_wiki(script: Path, folder: Path, history: Path) -> Iterator[str]:
    """The address of the API of a wiki with an export's pages."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "MEDIAWIKI_PASSWORD": secrets.token_urlsafe(16)}

    def run(verb: str, *more: str) -> None:
        subprocess.run([str(script), verb, str(folder), *more], check=True, env=environment, timeout=240)

    folder.mkdir()
    run("install", str(port))
    run("import", str(history))
    run("recent")
    _tag_reverted(folder)
    server = subprocess.Popen([str(script), "serve", str(folder), str(port)], start_new_session=True)
    try:
        address = f"http://127.0.0.1:{port}/api.php"
        _wait_for(address)
        yield address
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(timeout=120)


def _tag_reverted(folder: Path) -> None:
    """What the wiki itself does when an edit is reverted, but not for imported ones."""
    with closing(sqlite3.connect(folder / "db" / "wiki.sqlite", timeout=30)) as db, db:
        columns = "ctd_name, ctd_user_defined, ctd_count"
        db.execute(f"INSERT OR IGNORE INTO change_tag_def ({columns}) VALUES ('mw-reverted', 0, 0)")
        (tag,) = db.execute("SELECT ctd_id FROM change_tag_def WHERE ctd_name = 'mw-reverted'").fetchone()
        changes = db.execute(
            "SELECT rc_id, rc_this_oldid FROM recentchanges JOIN actor ON rc_actor = actor_id WHERE actor_name LIKE ?",
            (f"%{VANDAL}",),
        ).fetchall()
        rows = [(change, revision, tag) for change, revision in changes]
        db.executemany("INSERT OR IGNORE INTO change_tag (ct_rc_id, ct_rev_id, ct_tag_id) VALUES (?, ?, ?)", rows)


def _wait_for(address: str) -> None:
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"{address}?action=query&format=json", timeout=30):
                return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(address)
