"""An export is fetched whole, checked and resumed; its files have the names that Wikimedia gives them."""

from __future__ import annotations

import bz2
import hashlib
import shutil
import threading
from collections import Counter
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from collectors.wikipedia.collect import collect
from collectors.wikipedia.dump.archive import ExportRequest, download_export
from collectors.wikipedia.rules.stability import EditsSettings
from hellofresh.cli import main
from hellofresh.core.errors import SourceError, UsageError, WorkspaceError
from hellofresh.core.net.transfer import DownloadPolicy
from hellofresh.core.quarters import Quarter

NEW, OLD = "2026-11-01", "2026-10-01"


class Server(ThreadingHTTPServer):
    """Exports on this machine; `cut` names files that break off at the first request."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.cut: set[str] = set()
        self.sizes = True
        self.asked = Counter()
        self.agents = set()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def put(self, day, files, *, finished=True, wiki="simplewiki"):
        folder = f"/{wiki}/{day}/xml/bzip2/"
        named = {f"{wiki}-{day}-{name}.xml.bz2": content for name, content in files.items()}
        self.files |= {folder + name: content for name, content in named.items()}
        if finished:
            sums = (f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in named.items())
            self.files |= {folder + "SHA256SUMS": "".join(sums).encode(), folder + "_SUCCESS": b""}

    def index(self, path):
        inside = {name[len(path) :] for name in self.files if name.startswith(path)}
        entries = sorted({name.partition("/")[0] + "/" * ("/" in name) for name in inside})
        rows = []
        for name in entries:
            size = len(self.files[path + name]) if path + name in self.files and self.sizes else "-"
            rows.append(f'<a href="{name}">{name}</a>{" " * 20}01-Nov-2026 10:00{" " * 10}{size}')
        page = ["<h1>Index</h1><pre>", '<a href="../">../</a>', *rows, "</pre>"]
        return "\n".join(page).encode() if entries else None


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        self.reply(head=True)

    def do_GET(self):
        self.reply()

    def reply(self, *, head=False):
        server, path = self.server, self.path
        server.agents.add(self.headers["User-Agent"])
        content = server.index(path) if path.endswith("/") else server.files.get(path)
        if content is None:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        asked = self.headers.get("Range", "")
        start = int(asked.removeprefix("bytes=").partition("-")[0]) if asked and content else 0
        self.send_response(206 if asked and content else 200)
        if asked and content:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header("ETag", '"one"')
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        if head:
            return
        name = path.rpartition("/")[2]
        server.asked[name] += 1
        body = content[start:]
        if name in server.cut:
            server.cut.discard(name)
            body = body[: len(body) // 2]
            self.close_connection = True
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with Server() as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


@pytest.fixture
def pages(wiki):
    history = wiki.history(["one", "one two", "one two three", "one two three four"])
    packed = lambda *revisions, **page: bz2.compress(wiki.export(wiki.page_xml("P", revisions, **page)).encode())  # noqa: E731
    return {"p1p40": packed(history[0], id_=7), "p5r100r101": packed(*history[:2]), "p5r102r103": packed(*history[2:])}


async def at_once(_seconds):
    pass


def fetch(folder, server, day=None, **more):
    said = []
    request = ExportRequest("simplewiki", day, server.url, policy=DownloadPolicy(attempts=3), **more)
    return download_export(folder, request, progress=said.append, sleep=at_once), said


def test_the_newest_finished_export_is_fetched_and_can_be_collected(server, pages, tmp_path):
    server.put(OLD, pages)
    server.put(NEW, pages, finished=False)
    found, said = fetch(tmp_path, server, contact="ops@example.org")
    assert (found.day, found.skipped) == (date(2026, 10, 1), False)
    assert [path.name for path in found.files] == sorted(f"simplewiki-{OLD}-{name}.xml.bz2" for name in pages)
    assert any("3 of 3 files to come" in sentence and "GB free" in sentence for sentence in said)
    assert all("ops@example.org" in agent for agent in server.agents)
    context = collect(Quarter(2026, 2), [found.folder], EditsSettings()).funnel.context
    assert context["files that are what their checksums say"] == 3
    assert context["pages that were joined from several files"] == 1
    again, _ = fetch(tmp_path, server)
    assert again.skipped
    assert all(server.asked[path.name] == 1 for path in found.files)


def test_a_download_that_breaks_off_is_resumed(server, pages, tmp_path):
    server.put(OLD, pages)
    server.cut = {f"simplewiki-{OLD}-p1p40.xml.bz2"}
    found, _ = fetch(tmp_path, server)
    assert [path.read_bytes() for path in found.files] == [pages[name] for name in sorted(pages)]


@pytest.mark.parametrize("sizes", [True, False])
def test_too_small_a_disk_is_reported_before_anything_is_fetched(server, pages, tmp_path, monkeypatch, sizes):
    server.put(OLD, pages)
    server.sizes = sizes
    full = shutil.disk_usage(tmp_path)._replace(free=100)
    monkeypatch.setattr("collectors.wikipedia.dump.archive.shutil.disk_usage", lambda _: full)
    monkeypatch.setattr("hellofresh.core.net.transfer._require_space", lambda *_: None)
    with pytest.raises(WorkspaceError, match="3 of 3 files to come") as caught:
        fetch(tmp_path, server)
    assert caught.value.code == "disk-full"
    assert not any(name.endswith(".bz2") for name in server.asked)


def test_a_file_that_is_not_what_the_list_says_is_refused(server, pages, tmp_path):
    server.put(OLD, pages)
    server.files[f"/simplewiki/{OLD}/xml/bzip2/simplewiki-{OLD}-p1p40.xml.bz2"] = b"something else"
    with pytest.raises(SourceError, match="SHA-256"):
        fetch(tmp_path, server)


def test_names_that_are_not_of_the_export_are_not_fetched(server, pages, tmp_path):
    server.put(OLD, pages)
    lines = b"".join(b"%s  %s\n" % (b"0" * 64, name) for name in (b"../../evil.xml.bz2", b"frwiki-p1p2.xml.bz2"))
    server.files[f"/simplewiki/{OLD}/xml/bzip2/SHA256SUMS"] += lines
    assert len(fetch(tmp_path, server)[0].files) == 3


@pytest.mark.parametrize("day", [None, date(2026, 11, 1)])
def test_an_unfinished_export_is_not_taken(server, pages, tmp_path, day):
    server.put(NEW, pages, finished=False)
    with pytest.raises(SourceError) as caught:
        fetch(tmp_path, server, day)
    assert caught.value.code == "no-export"


@pytest.mark.parametrize("given", [{"wiki": "../x"}, {"wiki": "Simple"}, {"wiki": "aawiki", "base_url": "ftp://x"}])
def test_senseless_requests_are_refused(given):
    with pytest.raises(UsageError):
        ExportRequest(**given)


def test_the_command_says_how_to_go_on(server, pages, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path))
    server.put(OLD, pages)
    assert main(["archive", "wikipedia-edits", "--wiki", "simplewiki", "--url", server.url]) == 0
    folder = tmp_path / "raw" / "wikipedia-edits" / f"simplewiki-{OLD}"
    assert f"--dump {folder}" in capsys.readouterr().out
    assert (folder / "SHA256SUMS").is_file()
