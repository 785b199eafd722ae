"""A quarter from a served dump and a service of posts, killed again and again: no note lost, none doubled."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import polars as pl
import pytest

from collectors import notes
from collectors.notes.posts.services import SERVICES
from hellofresh.cli import main
from hellofresh.core.files import read_json

START = 1_600_000_000_000_000_000
INSIDE, OUTSIDE = 24, 60
CONFIG = """
[sources.x-notes]
base_url = "{url}/dump"
[posts.api-v2]
base_url = "{url}/posts"
per_second = 200
at_once = 2
"""
# Says what it reads and then waits for a moment, so that it can be killed at that very point.
PROGRAM = """
import sys, time
from dataclasses import replace
from collectors import notes
from collectors.notes import tables
notes.SERVICES = {"api-v2": replace(notes.SERVICES["api-v2"], batch=1)}
open_shard = tables.open_shard
def slowly(shard):
    print("reading", shard.path.name, flush=True)
    time.sleep(0.3)
    return open_shard(shard)
tables.open_shard = slowly
from hellofresh.cli import main
sys.exit(main())
"""


class Site(ThreadingHTTPServer):
    """The published layout of a dump, and X's API."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder, self.slow = folder, False
        self.asked: Counter[str] = Counter()
        self.spans: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, *_: Any) -> None:
        """Clients that are killed go away without a word."""


class Handler(BaseHTTPRequestHandler):
    server: Site

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base class calls it
        """Nothing."""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        with suppress(ConnectionError):
            if parts.path.startswith("/posts/"):
                self.post(parse_qs(parts.query)["ids"][0])
            else:
                self.shard(self.server.folder / parts.path.removeprefix("/dump/2026/07/23/"))

    def post(self, post_id: str) -> None:
        self.server.asked[post_id] += 1
        if self.server.slow:
            time.sleep(0.03)
        post = {"id": post_id, "lang": "en", "text": f"Text {post_id}", "created_at": "2023-04-30T10:00:00.000Z"}
        self.send(200, json.dumps({"data": [post]}).encode())

    def shard(self, path: Path) -> None:
        if not path.is_file():
            self.send(404, b"")
            return
        content = path.read_bytes()
        span = re.fullmatch(r"bytes=([0-9]+)-([0-9]*)", self.headers.get("Range", ""))
        start = int(span[1]) if span else 0
        if span and not span[2]:
            self.server.spans.append(path.name)
        part = content[start : int(span[2]) + 1 if span and span[2] else None]
        where = {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"} if span else {}
        self.send(206 if span else 200, part, {"ETag": '"one"'} | where)

    def send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        for at in range(0, len(body), 2000):
            self.wfile.write(body[at : at + 2000])
            if self.server.slow and len(body) > 2000:
                time.sleep(0.01)


@pytest.fixture
def site(dump: Any, serve: Callable[..., str]) -> Site:
    """Notes of two quarters on a server, with ratings."""
    draw = random.Random(5)
    for number in range(1, INSIDE + OUTSIDE + 1):
        month = 4 + number % 3 if number <= INSIDE else 8
        status = "CURRENTLY_RATED_HELPFUL" if number % 2 else "CURRENTLY_RATED_NOT_HELPFUL"
        dump.note(START + number, at=f"2023-{month:02d}-10T00:00:00", status=status, post=START + number,
                  text=draw.randbytes(900).hex(), raters=[f"rater{rater}" for rater in range(number % 5)])  # fmt: skip
    server = Site(dump.write(shards=2, zipped=True, published=True))
    serve(server)
    return server


class Machine:
    """A workspace in which commands are run, to their end or until they are killed."""

    def __init__(self, site: Site, root: Path, data: Path) -> None:
        self.site, self.root, self.data = site, root, data
        config = data.parent / "site.toml"
        config.write_text(CONFIG.format(url=site.url))
        proxies = {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"}
        inherited = {name: value for name, value in os.environ.items() if name not in proxies}
        self.environment = inherited | {
            "X_BEARER_TOKEN": "t",
            "HELLOFRESH_DATA": str(data),
            "HELLOFRESH_CONFIG": str(config),
        }

    def run(self, arguments: list[str]) -> int:
        with pytest.MonkeyPatch.context() as patch:
            for name in ("HELLOFRESH_DATA", "HELLOFRESH_CONFIG"):
                patch.setenv(name, self.environment[name])
            patch.setenv("X_BEARER_TOKEN", "t")
            patch.setattr(notes, "SERVICES", {"api-v2": replace(SERVICES["api-v2"], batch=1)})
            return main(arguments)

    def kill(self, arguments: list[str], moment: Callable[[list[str]], bool], delay: float) -> None:
        """Start the command and kill it a little after a moment that its lines or its files show."""
        command = [sys.executable, "-c", PROGRAM, *arguments]
        process = subprocess.Popen(command, cwd=self.root, env=self.environment, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        said: list[str] = []
        listener = threading.Thread(target=said.extend, args=(process.stdout,))
        listener.start()
        deadline = time.monotonic() + 300
        while not moment(said):
            assert process.poll() is None, said
            assert time.monotonic() < deadline
            time.sleep(0.002)
        time.sleep(delay)
        process.kill()
        assert process.wait() < 0, "it had ended before it was killed"
        listener.join()
        process.stdout.close()

    def bytes_of(self, name: str) -> bytes:
        return (self.data / name).read_bytes()


def reading(shard: str) -> Callable[[list[str]], bool]:
    return lambda said: any(shard in line for line in said)


@pytest.mark.slow
def test_killed_while_downloading_parsing_asking_and_filling_in_nothing_is_lost_or_doubled(
    site: Site, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collect = ["collect", "x-notes", "--quarter", "2023Q2", "--download", "--date", "2026-07-23", "--ratings",
               "--posts-from", "api-v2"]  # fmt: skip
    whole = Machine(site, root, tmp_path / "whole")
    assert whole.run(collect) == 0
    site.asked.clear()
    site.spans.clear()

    killed, draw = Machine(site, root, tmp_path / "killed"), random.Random(11)
    snapshot = killed.data / "raw" / "x-notes" / "2026-07-23"
    part = snapshot / "notes" / "notes-00001.zip.part"
    site.slow = True
    moments: list[Callable[[list[str]], bool]] = [
        lambda _: part.is_file() and part.stat().st_size > 4000,
        reading("reading notes-00001"),
        reading("reading noteStatusHistory-00000"),
        lambda _: site.asked.total() > INSIDE // 3,
        reading("reading ratings-00001"),
    ]
    for number, moment in enumerate(moments):
        killed.kill(collect, moment, draw.random() * (0.02 if number in {0, 3} else 0.25))
        assert not (killed.data / "candidates").exists()
    site.slow = False
    assert killed.run(collect) == 0
    assert site.spans == ["notes-00001.zip"]
    assert site.asked.keys() == {str(START + number) for number in range(1, INSIDE + 1)}
    assert site.asked.total() <= INSIDE + 2  # two were under way when it was killed

    for name in ("candidates/x-notes/2023Q2.parquet", "candidates/x-notes/2023Q2.json"):
        assert killed.bytes_of(name) == whole.bytes_of(name)
    manifests = [read_json(place.data / "raw/x-notes/2026-07-23/manifest.json") for place in (killed, whole)]
    assert manifests[0]["files"] == manifests[1]["files"]
    found = pl.read_parquet(killed.data / "candidates/x-notes/2023Q2.parquet")
    assert found["id"].to_list() == [f"xn-{START + number}" for number in range(1, INSIDE + 1)]
    assert found["ratings"].to_list() == [number % 5 for number in range(1, INSIDE + 1)]

    assert killed.run(["release", "build", "--quarter", "2023Q2"]) == 0
    reader = Machine(site, root, tmp_path / "reader")
    shutil.copytree(killed.data / "releases", reader.data / "releases")
    hydrate = ["hydrate", "--quarter", "2023Q2", "--dump", str(snapshot), "--posts-from", "api-v2"]
    site.asked.clear()
    site.slow = True
    for moment in (reading("reading notes-00001"), lambda _: site.asked.total() > INSIDE // 2):
        reader.kill(hydrate, moment, draw.random() * 0.02)
        assert not (reader.data / "hydrated").exists()
    site.slow = False
    assert reader.run(hydrate) == 0
    assert site.asked.total() <= INSIDE + 2
    samples = reader.bytes_of("hydrated/2023Q2/x-notes/samples.jsonl")
    assert samples == killed.bytes_of("private/2023Q2/x-notes/samples.jsonl")
    assert samples.count(b"\n") == INSIDE
    capsys.readouterr()
