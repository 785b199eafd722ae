"""An export is fetched whole, checked and resumed; its files have the names that Wikimedia gives them."""

from __future__ import annotations

import bz2
import hashlib
import shutil
from collections import Counter
from contextlib import nullcontext
from datetime import date
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from collectors.wikipedia.archive import ExportRequest, download_export
from collectors.wikipedia.collect import collect
from collectors.wikipedia.stability import EditsSettings
from hellofresh.core.errors import SourceError, UsageError
from hellofresh.core.net.transfer import DownloadPolicy
from hellofresh.core.quarters import Quarter
from tests.fakes import fails_with

NEW, OLD = "2026-11-01", "2026-10-01"


class Handler(SimpleHTTPRequestHandler):
    def do_GET(self):
        self.server.asked[self.path.rpartition("/")[2]] += 1
        self.server.agents.add(self.headers["User-Agent"])
        super().do_GET()

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    def __init__(self, folder):
        super().__init__(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
        self.folder, self.asked, self.agents = folder / "simplewiki", Counter(), set()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def put(self, day, files, *, finished=True, sizes=True):
        folder = self.folder / day / "xml" / "bzip2"
        folder.mkdir(parents=True)
        for name, content in files.items():
            (folder / f"simplewiki-{day}-{name}.xml.bz2").write_bytes(content)
        found = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
        if finished:
            sums = (f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in found.items())
            (folder / "SHA256SUMS").write_text("".join(sums))
            (folder / "_SUCCESS").touch()
        rows = (f'<a href="{n}">{n}</a>  01-Nov-2026 10:00  {len(c) if sizes else "-"}\n' for n, c in found.items())
        (folder / "index.html").write_text(f"<h1>Index</h1><pre>\n{''.join(rows)}</pre>")
        return folder


@pytest.fixture
def server(tmp_path_factory, serve):
    made = Server(tmp_path_factory.mktemp("served"))
    serve(made)
    return made


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
    assert any("3 of 3 files to fetch" in sentence and "GB free" in sentence for sentence in said)
    assert all("ops@example.org" in agent for agent in server.agents)
    context = collect(Quarter(2026, 2), [found.folder], EditsSettings()).funnel.context
    assert context["files that are what their checksums say"] == 3
    assert context["pages that were joined from several files"] == 1
    again, _ = fetch(tmp_path, server)
    assert again.skipped
    assert all(server.asked[path.name] == 1 for path in found.files)


@pytest.mark.parametrize("sizes", [True, False])
def test_too_small_a_disk_is_reported_before_anything_is_fetched(server, pages, tmp_path, monkeypatch, sizes):
    server.put(OLD, pages, sizes=sizes)
    full = shutil.disk_usage(tmp_path)._replace(free=100)
    monkeypatch.setattr("collectors.wikipedia.archive.shutil.disk_usage", lambda _: full)
    monkeypatch.setattr("hellofresh.core.net.transfer._require_space", lambda *_: None)
    with fails_with("disk-full", "3 of 3 files to fetch"):
        fetch(tmp_path, server)
    assert not any(name.endswith(".bz2") for name in server.asked)


def test_a_file_that_is_not_what_the_list_says_is_refused(server, pages, tmp_path):
    (server.put(OLD, pages) / f"simplewiki-{OLD}-p1p40.xml.bz2").write_bytes(b"something else")
    with pytest.raises(SourceError, match=r"SHA-256 .* Both downloads were deleted") as caught:
        fetch(tmp_path, server)
    name = f"simplewiki-{OLD}-p1p40.xml.bz2"
    assert (caught.value.code, server.asked[name]) == ("checksum-mismatch", 2)
    assert not list(tmp_path.rglob(f"{name}*"))


@pytest.mark.parametrize(("status", "found"), [(416, True), (404, False)])
def test_an_empty_file_that_has_no_first_byte_is_there(server, pages, tmp_path, monkeypatch, status, found):
    plain = Handler.do_GET

    def by_the_book(self):
        if self.path.endswith("_SUCCESS") and self.headers["Range"] == "bytes=0-0":
            self.send_response(status)
            self.send_header("Content-Range", "bytes */0")
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            plain(self)

    monkeypatch.setattr(Handler, "do_GET", by_the_book)
    server.put(OLD, pages)
    with nullcontext() if found else pytest.raises(SourceError, check=lambda error: error.code == "no-export"):
        assert len(fetch(tmp_path, server)[0].files) == 3


def test_names_that_are_not_of_the_export_are_not_fetched(server, pages, tmp_path):
    sums = server.put(OLD, pages) / "SHA256SUMS"
    lines = "".join(f"{'0' * 64}  {name}\n" for name in ("../../evil.xml.bz2", "frwiki-p1p2.xml.bz2"))
    sums.write_text(sums.read_text() + lines)
    assert len(fetch(tmp_path, server)[0].files) == 3


@pytest.mark.parametrize("day", [None, date(2026, 11, 1)])
def test_an_unfinished_export_is_not_taken(server, pages, tmp_path, day):
    server.put(NEW, pages, finished=False)
    with pytest.raises(SourceError, check=lambda error: error.code == "no-export"):
        fetch(tmp_path, server, day)


@pytest.mark.parametrize("given", [{"wiki": "../x"}, {"wiki": "Simple"}, {"wiki": "aawiki", "base_url": "ftp://x"}])
def test_senseless_requests_are_refused(given):
    with pytest.raises(UsageError):
        ExportRequest(**given)


def test_the_command_says_how_to_go_on(server, pages, place, cli):
    server.put(OLD, pages)
    folder = place / "data" / "raw" / "wikipedia-edits" / f"simplewiki-{OLD}"
    cli("archive", "wikipedia-edits", "--wiki", "simplewiki", "--url", server.url)
    assert f"--dump {folder}" in cli.out
    assert (folder / "SHA256SUMS").is_file()
