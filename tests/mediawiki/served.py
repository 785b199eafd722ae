"""A real MediaWiki on the loopback, by the script beside this."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import sqlite3
import subprocess
import time
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.fakes import free_port

SCRIPT = Path(__file__).with_name("up.sh")
MODULES = {"dom", "intl", "mbstring", "pdo_sqlite", "xml"}


@dataclass(frozen=True)
class MediaWiki:
    """A wiki in a folder."""

    folder: Path
    port: int
    password: str

    @property
    def api(self) -> str:
        return f"http://127.0.0.1:{self.port}/api.php"

    def run(self, verb: str, *arguments: object) -> None:
        command = [str(SCRIPT), verb, str(self.folder), *map(str, arguments)]
        subprocess.run(command, check=True, env={**os.environ, "MEDIAWIKI_PASSWORD": self.password}, timeout=240)

    def dump(self) -> Path:
        self.run("dump")
        return self.folder / "dump.xml"

    def database(self) -> closing[sqlite3.Connection]:
        return closing(sqlite3.connect(self.folder / "db" / "wiki.sqlite", timeout=30))

    def tag_reverted(self, revisions: Iterable[int]) -> None:
        """What the wiki itself does when an edit is reverted, but not for imported ones."""
        with self.database() as db, db:
            columns = "ctd_name, ctd_user_defined, ctd_count"
            db.execute(f"INSERT OR IGNORE INTO change_tag_def ({columns}) VALUES ('mw-reverted', 0, 0)")
            (tag,) = db.execute("SELECT ctd_id FROM change_tag_def WHERE ctd_name = 'mw-reverted'").fetchone()
            db.executemany(
                "INSERT OR IGNORE INTO change_tag (ct_rc_id, ct_rev_id, ct_tag_id) "
                "SELECT rc_id, rc_this_oldid, ? FROM recentchanges WHERE rc_this_oldid = ?",
                [(tag, revision) for revision in revisions],
            )


def is_ready() -> bool:
    """Whether PHP and the package are there."""
    php = shutil.which("php")
    modules = subprocess.run([php, "-m"], capture_output=True, text=True, check=True).stdout.lower() if php else ""
    return set(modules.split()) >= MODULES and not subprocess.run([str(SCRIPT), "ready"], check=False).returncode


@contextmanager
def served_wiki(folder: Path, histories: Iterable[Path]) -> Iterator[MediaWiki]:
    """A wiki with the pages of exports, made in an empty folder and stopped at the end."""
    port = free_port()
    wiki = MediaWiki(folder, port, secrets.token_urlsafe(16))
    wiki.run("install", port)
    for path in histories:
        wiki.run("import", path)
    wiki.run("recent")
    server = subprocess.Popen([str(SCRIPT), "serve", str(folder), str(port)], start_new_session=True)
    try:
        _wait_for(wiki.api)
        yield wiki
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(timeout=120)


def _wait_for(api: str) -> None:
    for _ in range(1000):
        try:
            with urllib.request.urlopen(f"{api}?action=query&format=json", timeout=30):
                return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(api)
