"""A dataset repository gets one commit or none: tested on a local server that speaks the hub's commit API."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from hellofresh.cli import main
from hellofresh.core.quarters import Quarter
from hellofresh.releases.life.manifest import BUNDLED
from hellofresh.releases.life.state import reveal
from hellofresh.releases.publish.folder import publish_to_folder
from hellofresh.releases.publish.hub import Hub, ask_hub, publish_to_hub
from hellofresh.releases.publish.restore import restore_from
from tests.fakes import contents, fails_with

TOKEN = "hf_secretsecretsecret"
NAME = "somebody/hellofresh"


def git_id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@dataclass
class Repository:
    """The state of the one repository that the server has.

    Attributes:
        revisions: its commits in order, each with all files; what is stored large is marked by `large`.
        objects: large files that were stored, by SHA-256.
        faults: what to answer instead, by the last part of the path: a status, or 0 for a cut connection.
        asked: method, path and whether the token came with it, of every request.
    """

    revisions: list[tuple[str, dict[str, bytes]]] = field(
        default_factory=lambda: [("0" * 40, {".gitattributes": b"x"})]
    )
    objects: dict[str, bytes] = field(default_factory=dict)
    large: set[str] = field(default_factory=set)
    faults: dict[str, int] = field(default_factory=dict)
    asked: list[tuple[str, str, bool]] = field(default_factory=list)
    meanwhile: bool = False
    cut_after: bool = False

    @property
    def files(self) -> dict[str, bytes]:
        return self.revisions[-1][1]

    def revision(self) -> dict[str, object]:
        siblings = []
        for name, content in self.files.items():
            entry: dict[str, object] = {"rfilename": name, "size": len(content), "blobId": git_id(content)}
            if name in self.large:
                entry["lfs"] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 130}
            siblings.append(entry)
        return {"id": NAME, "sha": self.revisions[-1][0], "siblings": siblings}

    def commit(self, lines: list[dict]) -> tuple[int, dict[str, object]]:
        (header,) = (line["value"] for line in lines if line["key"] == "header")
        if header.get("parentCommit", self.revisions[-1][0]) != self.revisions[-1][0]:
            return 412, {"error": "the branch has moved"}
        files = dict(self.files)
        for line in lines:
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
                self.large.discard(value["path"])
            elif line["key"] == "lfsFile":
                content = self.objects[value["oid"]]
                assert (len(content), hashlib.sha256(content).hexdigest()) == (value["size"], value["oid"])
                files[value["path"]] = content
                self.large.add(value["path"])
            elif line["key"] == "deletedFile":
                del files[value["path"]]
        sha = hashlib.sha1(repr(sorted(files.items())).encode()).hexdigest()
        self.revisions.append((sha, files))
        return 200, {"commitOid": sha, "success": True}


class Site(ThreadingHTTPServer):
    """The server; `request_queue_size` is raised for the official client's threads."""

    request_queue_size = 50
    repository: Repository

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """Answers as the hub does to what a commit asks."""

    server: Site
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            parts = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def _reply(self, status: int, value: object) -> None:
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _cut(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _any(self) -> None:
        body, hub = self._body(), self.server.repository
        path = self.path.split("?")[0]
        token = self.headers.get("Authorization")
        hub.asked.append((self.command, path, token is not None))
        names = ("resolve", "revision", "preupload", "commit", "batch", "storage", "verify", "api")
        step = next(name for name in names if name in path)
        fault = hub.faults.get(step)
        if fault is not None:
            self._cut() if fault == 0 else self._reply(fault, {"error": f"<b>{TOKEN}</b>"})
        elif step != "storage" and token != f"Bearer {TOKEN}":
            self._reply(401, {"error": "Invalid credentials"})
        else:
            getattr(self, f"_{step}")(hub, body, path)

    do_GET = do_POST = do_PUT = do_HEAD = _any

    def _revision(self, hub: Repository, body: bytes, path: str) -> None:
        self._reply(200, hub.revision())

    def _preupload(self, hub: Repository, body: bytes, path: str) -> None:
        files = json.loads(body)["files"]
        assert all(base64.b64decode(item["sample"], validate=True) or not item["size"] for item in files)
        modes = [
            {
                "path": f["path"],
                "uploadMode": "lfs" if f["path"].endswith(".parquet") else "regular",
                "shouldIgnore": False,
            }
            for f in files
        ]
        self._reply(200, {"files": modes})

    def _batch(self, hub: Repository, body: bytes, path: str) -> None:
        asked = json.loads(body)
        assert asked["operation"] == "upload"
        assert "basic" in asked["transfers"]
        objects = []
        for item in asked["objects"]:
            if item["oid"] in hub.objects:
                objects.append(item)
                continue
            href = f"{self.server.address}/storage/{item['oid']}?signature=s"
            verify = {"href": f"{self.server.address}/datasets/{NAME}.git/info/lfs/verify", "header": {}}
            objects.append({**item, "actions": {"upload": {"href": href, "header": {}}, "verify": verify}})
        self._reply(200, {"transfer": "basic", "objects": objects})

    def _storage(self, hub: Repository, body: bytes, path: str) -> None:
        assert hashlib.sha256(body).hexdigest() == path.rsplit("/", 1)[1]
        hub.objects[hashlib.sha256(body).hexdigest()] = body
        self._reply(200, {})

    def _verify(self, hub: Repository, body: bytes, path: str) -> None:
        asked = json.loads(body)
        assert len(hub.objects[asked["oid"]]) == asked["size"]
        self._reply(200, {})

    def _commit(self, hub: Repository, body: bytes, path: str) -> None:
        if hub.meanwhile:
            hub.revisions.append(("f" * 40, {**hub.files, "notes.md": b"somebody else"}))
        answer = hub.commit([json.loads(line) for line in body.splitlines()])
        answer[1]["commitUrl"] = f"{self.server.address}/datasets/{NAME}/commit/{hub.revisions[-1][0]}"
        self._cut() if hub.cut_after else self._reply(*answer)

    def _resolve(self, hub: Repository, body: bytes, path: str) -> None:
        """A file of a revision, as the hub redirects nobody for small ones."""
        revision, name = path.split("/resolve/")[1].split("/", 1)
        content = dict(hub.revisions)[revision][name]
        self.send_response(200)
        headers = {"ETag": f'"{git_id(content)}"', "X-Repo-Commit": revision, "Content-Length": str(len(content))}
        for header, value in headers.items():
            self.send_header(header, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def _api(self, hub: Repository, body: bytes, path: str) -> None:
        """The check of the card."""
        known = path.endswith("validate-yaml")
        self._reply(200 if known else 404, {"errors": [], "warnings": []} if known else {"error": "not here"})


@pytest.fixture
def site(serve: Callable[..., str]) -> Site:
    server = Site(("127.0.0.1", 0), Handler)
    server.repository = Repository()
    serve(server)
    return server


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the library try again at once."""
    monkeypatch.setattr("huggingface_hub.utils._http.time", SimpleNamespace(sleep=lambda _: None))


@pytest.fixture
def hub(site: Site) -> Hub:
    return Hub(NAME, site.address, TOKEN)


@pytest.fixture
def released(make, quarter):
    make.release(make.notes(3, 3))
    return make.workspace()


def refused(code: str, released, hub: Hub, moment) -> str:
    with fails_with(code) as caught:
        publish_to_hub(released, hub, moment)
    assert TOKEN not in str(caught.value)
    assert "signature" not in str(caught.value)
    return str(caught.value)


def test_one_commit_makes_the_repository_what_the_folder_is(released, hub, site, days, tmp_path) -> None:
    publish_to_folder(released, tmp_path / "out", days.opens)
    published = publish_to_hub(released, hub, days.opens)
    out = tmp_path / "out"
    expected = {p.relative_to(out).as_posix(): p.read_bytes() for p in out.rglob("*") if p.is_file()}
    repository = site.repository
    assert repository.files == {**expected, ".gitattributes": b"x"}
    assert published.revision == repository.revisions[-1][0]
    assert len(repository.revisions) == 2
    assert repository.large == {"data/x-notes/2023Q2.parquet"}


def test_nothing_is_sent_where_nothing_has_changed(released, hub, site, days) -> None:
    publish_to_hub(released, hub, days.opens)
    site.repository.asked.clear()
    again = publish_to_hub(released, hub, days.opens)
    assert again.skipped
    assert [method for method, _, _ in site.repository.asked] == ["GET"]


def test_a_later_state_changes_and_removes_what_is_ours_and_leaves_the_rest(
    released, hub, site, quarter, notes_task, days
) -> None:
    publish_to_hub(released, hub, days.opens)
    site.repository.files.update({"notes.md": b"kept", "data/x-notes/old.parquet": b"gone"})
    reveal(released, quarter, notes_task, days.reveals)
    publish_to_hub(released, hub, days.reveals)
    files = site.repository.files
    assert files["notes.md"] == b"kept"
    assert "data/x-notes/old.parquet" not in files
    assert f"releases/{quarter}/x-notes/labels.jsonl" in files


def test_the_token_goes_to_the_hub_only(released, hub, site, days) -> None:
    publish_to_hub(released, hub, days.opens)
    assert {with_token for _, path, with_token in site.repository.asked if path.startswith("/storage")} == {False}
    assert {with_token for _, path, with_token in site.repository.asked if not path.startswith("/storage")} == {True}
    assert TOKEN not in repr(hub)


def test_nobody_but_the_hub_is_asked_and_nothing_is_printed(
    released, hub, days, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    hosts: set[object] = set()
    real = socket.getaddrinfo

    def noted(host: object, *more: object, **named: object) -> object:
        hosts.add(host)
        return real(host, *more, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", noted)
    publish_to_hub(released, hub, days.opens)
    assert hosts == {"127.0.0.1"}
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("step", "status", "code"),
    [
        ("revision", 401, "hub-token"),
        ("revision", 403, "hub-token"),
        ("revision", 404, "no-repository"),
        ("revision", 307, "hub-failed"),
        ("revision", 0, "hub-failed"),
        ("preupload", 500, "hub-failed"),
        ("batch", 500, "hub-failed"),
        ("storage", 403, "hub-failed"),
        ("storage", 0, "hub-failed"),
        ("verify", 500, "hub-failed"),
        ("commit", 409, "hub-conflict"),
        ("commit", 412, "hub-conflict"),
        ("commit", 500, "hub-failed"),
        ("commit", 0, "hub-failed"),
    ],
)
def test_a_failure_anywhere_leaves_the_old_revision_whole(released, hub, site, days, step, status, code) -> None:
    site.repository.faults[step] = status
    refused(code, released, hub, days.opens)
    assert len(site.repository.revisions) == 1
    site.repository.faults.clear()
    assert not publish_to_hub(released, hub, days.opens).skipped


def test_a_commit_by_somebody_else_in_between_is_not_overwritten(released, hub, site, days) -> None:
    site.repository.meanwhile = True
    refused("hub-conflict", released, hub, days.opens)
    assert site.repository.files == {".gitattributes": b"x", "notes.md": b"somebody else"}


def test_a_connection_cut_after_the_commit_leaves_the_new_revision_which_the_next_run_finds(
    released, hub, site, days
) -> None:
    site.repository.cut_after = True
    refused("hub-failed", released, hub, days.opens)
    assert len(site.repository.revisions) == 2
    site.repository.cut_after = False
    assert publish_to_hub(released, hub, days.opens).skipped


def test_answers_of_another_form_are_refused(released, hub, site, days, monkeypatch) -> None:
    monkeypatch.setattr(Repository, "revision", lambda _: {"sha": 7})
    refused("hub-failed", released, hub, days.opens)


def test_the_repository_never_loses_a_quarter(released, hub, site, days) -> None:
    site.repository.files["releases/2001Q1/x-notes/manifest.json"] = b"{}"
    assert "2001Q1" in refused("lost-quarter", released, hub, days.opens)


def test_the_bundled_sample_goes_only_where_the_name_says_so(make, quarter, site, days) -> None:
    make.release(make.notes(2, 2), source=BUNDLED)
    refused("unmarked-sample", make.workspace(), Hub(NAME, site.address, TOKEN), days.opens)
    assert site.repository.asked == []
    published = publish_to_hub(make.workspace(), Hub(f"{NAME}-sample", site.address, TOKEN), days.opens)
    assert published.bundled


@pytest.mark.parametrize(
    ("to", "variables", "code"),
    [
        (f"hub:{NAME}", {}, "no-token"),
        (f"hub:{NAME}", {"HF_TOKEN": "two words"}, "no-token"),
        ("hub:somebody", {"HF_TOKEN": TOKEN}, "bad-repository"),
        ("hub:../x", {"HF_TOKEN": TOKEN}, "bad-repository"),
        ("hub:a/b/c", {"HF_TOKEN": TOKEN}, "bad-repository"),
        (f"hub:{NAME}", {"HF_TOKEN": TOKEN, "HF_ENDPOINT": "http://hub.example"}, "bad-endpoint"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_asked(
    released, to, variables, code, monkeypatch, capsys
) -> None:
    for name in ("HF_TOKEN", "HF_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HELLOFRESH_DATA", str(released.root))
    assert main(["release", "publish", "--to", to]) == 2
    printed = capsys.readouterr()
    assert f"[{code}]" in " ".join(printed.err.split())
    assert TOKEN not in printed.out + printed.err


def test_the_command_publishes_to_hub_and_folder(released, site, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("HELLOFRESH_DATA", str(released.root))
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("HF_ENDPOINT", site.address)
    for to, target in ((f"hub:{NAME}", f"hub:{NAME}"), (str(tmp_path / "out"), str(tmp_path / "out"))):
        assert main(["release", "publish", "--to", to, "--quarter", "2023Q2", "--json"]) == 0
        result = json.loads(capsys.readouterr().out)
        assert (result["target"], result["quarters"], result["skipped"]) == (target, [str(Quarter(2023, 2))], False)


def test_another_draw_is_refused_and_a_restored_workspace_takes_over_what_the_hub_holds(
    make, released, hub, site, quarter, notes_task, days, monkeypatch
) -> None:
    publish_to_hub(released, hub, days.opens)
    honest, files = contents(released.release(quarter, "x-notes")), dict(site.repository.files)
    ask_hub(released, hub)
    shutil.rmtree(released.root)
    make.release(make.notes(5, 5))
    said = refused("other-publication", released, hub, days.opens)
    assert f"hellofresh quarter restore --from hub:{NAME}" in said and "commitments.jsonl" in said
    with fails_with("other-publication"):
        ask_hub(released, hub)
    assert site.repository.files == files
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("HF_ENDPOINT", site.address)
    (found,) = restore_from(released, f"hub:{NAME}", days.opens)
    assert found.labels == 18 and contents(released.release(quarter, "x-notes")) == honest
    ask_hub(released, hub)
    assert publish_to_hub(released, hub, days.opens).skipped
