"""A release over the web: fetched whole, bounded, and never written outside the folder."""

from __future__ import annotations

import http.server
from pathlib import Path
from typing import Any

import pytest

from hellofresh.core.calendar import CalendarRule
from hellofresh.core.errors import HelloFreshError, ReleaseError, UsageError
from hellofresh.core.files import read_json, sha256_file, write_json
from hellofresh.releases import fetch
from hellofresh.releases.fetch import fetch_release
from hellofresh.releases.life.state import reveal
from verifier import manifest as files
from verifier.checks import verify_release


class Quiet(http.server.SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        """Answer also what must be refused."""
        place, _, rest = self.path.lstrip("/").partition("/")
        here = f"http://127.0.0.1:{self.server.server_address[1]}"
        away = {
            "away": "file:///etc/passwd",
            "secure": here.replace("http:", "https:") + f"/{rest}",
            "other-name": here.replace("127.0.0.1", "localhost") + f"/{rest}",
            "other-address": here.replace("127.0.0.1", "127.0.0.2") + f"/{rest}",
            "metadata": "http://169.254.169.254/latest/meta-data",
            "other-port": f"http://127.0.0.1:1/{rest}",
            "loop": f"/loop/{rest}",
            "inside": f"/{rest}",
            "whole": f"{here}/{rest}",
        }
        if place in away:
            self.send_response(302)
            self.send_header("Location", away[place])
            self.end_headers()
        else:
            super().do_GET()


@pytest.fixture
def served(make, quarter, notes_task, tmp_path, serve) -> tuple[str, Path]:
    """The address of a revealed release, and its folder."""
    make.release(make.notes(3, 3))
    workspace = make.workspace()
    reveal(workspace, quarter, notes_task, CalendarRule().of(quarter).reveals)
    address = serve(Quiet, workspace.root / "releases")
    return f"{address}/2023Q2/x-notes", workspace.release(quarter, "x-notes")


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
    with pytest.raises(ReleaseError, check=lambda error: error.code == code):
        fetch_release(url, there)
    assert [path for path in (tmp_path / "a").rglob("*") if path.is_file() and there not in path.parents] == []


@pytest.mark.parametrize(
    "url", ["ftp://host/x", "https://", "https://user@host/x", "https://host/x?y=1", "https://host/x#y", "file:///etc"]
)
def test_what_is_no_address_is_refused(tmp_path, url: str) -> None:
    with pytest.raises(UsageError, check=lambda error: error.code == "bad-url"):
        fetch_release(url, tmp_path)


@pytest.mark.parametrize("way", ["inside", "whole"])
def test_a_redirect_on_the_same_host_is_followed(served, tmp_path, way: str) -> None:
    url, folder = served
    fetch_release(url.replace("/2023Q2", f"/{way}/2023Q2"), tmp_path / "there")
    assert (tmp_path / "there" / "labels.jsonl").read_bytes() == (folder / "labels.jsonl").read_bytes()


@pytest.mark.parametrize("way", ["away", "secure", "other-name", "other-address", "metadata", "other-port", "loop"])
def test_a_redirect_to_another_host_scheme_or_port_is_not_followed(served, tmp_path, way: str) -> None:
    url, _ = served
    with pytest.raises(ReleaseError) as caught:
        fetch_release(url.replace("/2023Q2", f"/{way}/2023Q2"), tmp_path / "there", timeout_s=20)
    assert caught.value.code == "fetch-failed"
    assert "redirects" in str(caught.value) if way == "loop" else "another site" in str(caught.value) or way == "away"
    assert list((tmp_path / "there").iterdir()) == []


def long_history(folder: Path, versions: int, padding: int) -> None:
    """Give a release many earlier manifests, each named by the next, each as large as it is told to be."""
    manifest = read_json(folder / "manifest.json")
    manifest |= {"version": 1, "padding": "x" * padding}
    manifest.pop("previous", None)
    for version in range(1, versions):
        path = folder / "manifests" / f"{version}.json"
        write_json(path, manifest)
        previous = {"path": f"manifests/{version}.json", "sha256": sha256_file(path)}
        manifest |= {"version": version + 1, "previous": previous}
    write_json(folder / "manifest.json", manifest)


def test_earlier_manifests_count_towards_the_bytes_that_are_taken(served, tmp_path, monkeypatch) -> None:
    url, folder = served
    long_history(folder, 30, 10_000)
    monkeypatch.setattr(fetch, "MAX_HISTORY_BYTES", 100_000)
    with pytest.raises(ReleaseError, match="the total allowed"):
        fetch_release(url, tmp_path / "there")
    assert sum(path.stat().st_size for path in (tmp_path / "there" / "manifests").glob("*")) <= 100_000


def test_the_files_and_the_manifests_of_a_release_count_together(served, tmp_path, monkeypatch) -> None:
    url, folder = served
    total = sum(entry["size"] for entry in read_json(folder / "manifest.json")["files"])
    monkeypatch.setattr(fetch, "MAX_TOTAL_BYTES", total + 100)
    with pytest.raises(ReleaseError, check=lambda error: error.code == "fetch-failed"):
        fetch_release(url, tmp_path / "there")


def test_no_more_manifests_are_fetched_than_belong_to_the_chain(served, tmp_path) -> None:
    url, folder = served
    long_history(folder, 30, 10)
    write_json(folder / "manifests" / "20.json", read_json(folder / "manifests" / "20.json") | {"code": "another"})
    fetch_release(url, tmp_path / "there")
    assert sorted(int(path.stem) for path in (tmp_path / "there" / "manifests").iterdir()) == list(range(20, 30))
    history = next(check for check in verify_release(tmp_path / "there", listing=False) if check.name == "history")
    assert history.faults == ("manifests/20.json is not the manifest that version 21 names",)


def test_a_history_is_read_up_to_a_limit_of_bytes(served, monkeypatch) -> None:
    _, folder = served
    long_history(folder, 30, 10_000)
    monkeypatch.setattr(files, "MAX_HISTORY_BYTES", 100_000)
    history = next(check for check in verify_release(folder) if check.name == "history")
    assert "bytes of them" in history.faults[-1]


def test_a_silent_or_absent_server_is_named(served, tmp_path) -> None:
    url, _ = served
    for address in (url.replace("x-notes", "absent"), "http://127.0.0.1:1/x"):
        with pytest.raises(HelloFreshError, check=lambda error: error.code == "fetch-failed"):
            fetch_release(address, tmp_path, timeout_s=20)
