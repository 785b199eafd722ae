"""A release over the web: fetched whole, bounded, and never written outside the folder."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hellofresh.errors import HelloFreshError, ReleaseError, UsageError
from hellofresh.files import read_json, write_json
from hellofresh.releases import CalendarRule, reveal
from hellofresh.releases.verify import fetch_release, verify_release


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves a folder and says nothing."""

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""

    def do_GET(self) -> None:
        """Answer also what must be refused."""
        if self.path.endswith("/away/manifest.json"):
            self.send_response(302)
            self.send_header("Location", "file:///etc/passwd")
            self.end_headers()
        else:
            super().do_GET()


@pytest.fixture
def served(make, quarter, notes_task, tmp_path) -> Iterator[tuple[str, Path]]:
    """The address of a revealed release, and its folder."""
    make.release(make.notes(3, 3))
    workspace = make.workspace()
    reveal(workspace, quarter, notes_task, CalendarRule().of(quarter).reveals)
    handler = functools.partial(Quiet, directory=str(workspace.root / "releases"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/2023Q2/x-notes", workspace.release(quarter, "x-notes")
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("end", ["", "/", "/manifest.json"])
def test_a_fetched_release_is_the_served_one_and_passes(served, tmp_path, end: str) -> None:
    url, folder = served
    there = tmp_path / "there"
    there.mkdir()
    fetch_release(url + end, there)
    names = {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.json*")}
    assert {path.relative_to(there): path.read_bytes() for path in there.rglob("*.json*")} == names
    assert all(check.ok for check in verify_release(there, listing=False))


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"path": "../../escaped"}, "unsafe-release"),
        ({"path": "/tmp/escaped"}, "unsafe-release"),
        ({"path": "//example.org/x"}, "unsafe-release"),
        ({"path": "http://example.org/x"}, "unsafe-release"),
        ({"path": "manifest.json"}, "unsafe-release"),
        ({"size": 10**13}, "unsafe-release"),
        ({"size": -1}, "damaged-release"),
        ({"size": 5}, "fetch-failed"),
        ({"path": "absent.jsonl"}, "fetch-failed"),
    ],
)
def test_what_a_manifest_names_is_not_believed(served, tmp_path, change: dict[str, Any], code: str) -> None:
    url, folder = served
    manifest = read_json(folder / "manifest.json")
    manifest["files"][0] |= change
    write_json(folder / "manifest.json", manifest)
    there = tmp_path / "a" / "b" / "there"
    there.mkdir(parents=True)
    with pytest.raises(ReleaseError) as caught:
        fetch_release(url, there)
    assert caught.value.code == code
    assert [path for path in (tmp_path / "a").rglob("*") if path.is_file() and there not in path.parents] == []


@pytest.mark.parametrize(
    "url",
    ["ftp://host/x", "https://", "https://user@host/x", "https://host/x?y=1", "https://host/x#y", "file:///etc"],
)
def test_what_is_no_address_is_refused(tmp_path, url: str) -> None:
    with pytest.raises(UsageError) as caught:
        fetch_release(url, tmp_path)
    assert caught.value.code == "bad-url"


def test_a_silent_absent_or_leading_away_server_is_named(served, tmp_path) -> None:
    url, _ = served
    for address in (url.replace("x-notes", "absent"), url.replace("2023Q2/x-notes", "away"), "http://127.0.0.1:1/x"):
        with pytest.raises(HelloFreshError) as caught:
            fetch_release(address, tmp_path, timeout_s=20)
        assert caught.value.code == "fetch-failed"
