"""Services on a loopback server that misbehaves: nothing answered is asked twice, and no fault becomes a fact."""

from __future__ import annotations

import json
import sqlite3
import stat
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from collectors.notes import NotesSettings, NotesSource, collect
from collectors.notes.posts.base import FoundPost, Manners, PostStatus
from collectors.notes.posts.local import LocalPosts
from collectors.notes.posts.online import ChainedPosts, Online
from collectors.notes.posts.services import SERVICES
from hellofresh.cli import main
from hellofresh.core.errors import ConfigError, SourceError
from hellofresh.core.quarters import Quarter

START = 1_600_000_000_000_000_000
ONE = replace(SERVICES["api-v2"], name="one", batch=1, token_variable="")
KNOWN = {**SERVICES, "one": ONE, "other": replace(ONE, name="other")}
QUICK = Manners(per_second=1000, at_once=4, attempts=3, timeout_s=2, deadline_s=3, first_s=0.01, largest_body=100_000)


class Handler(BaseHTTPRequestHandler):
    """Notes what is asked and lets the test answer."""

    protocol_version = "HTTP/1.1"
    site: Site

    def do_GET(self) -> None:
        with suppress(ConnectionError):
            self.site.answer(self)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def send(self, status: int, body: bytes, headers: dict[str, str] | None = None, length: int | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def tell(self, body: Any, status: int = 200) -> None:
        self.send(status, json.dumps(body).encode(), {"Content-Type": "application/json"})


Behaviour = Callable[[Handler, str, int], None]
"""Answers on a post; the number says how often it was asked for before."""


@dataclass
class Site:
    """A server in a thread: how it behaves by service, and what it was asked."""

    behaviours: dict[str, Behaviour]
    server: ThreadingHTTPServer
    asked: list[tuple[str, str]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, handler: Handler) -> None:
        parts = urlsplit(handler.path)
        service, *_ = parts.path.strip("/").split("/")
        query = parse_qs(parts.query)
        post_id = query["ids"][0]
        with self.lock:
            before = self.count(service)[post_id]
            self.asked.append((service, post_id))
            self.times.append(time.monotonic())
            self.headers.append(dict(handler.headers.items()))
        self.behaviours[service](handler, post_id, before)

    def count(self, service: str) -> Counter[str]:
        return Counter(post_id for name, post_id in self.asked if name == service)


class QuietServer(ThreadingHTTPServer):
    """Takes clients that go away without a word of it."""

    def handle_error(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def site(serve: Callable[..., str]) -> Site:
    handler = type("OwnHandler", (Handler,), {})
    server = QuietServer(("127.0.0.1", 0), handler)
    found = Site({"one": plain, "other": plain, "api-v2": api_plain}, server)
    handler.site = found
    serve(server)
    return found


def tweet(post_id: str, **changes: Any) -> dict[str, Any]:
    row = {"id": post_id, "lang": "en", "text": f"Text {post_id}", "created_at": "2023-04-30T10:00:00.000Z"}
    return {"data": [row | changes]}


def gone(post_id: str, detail: str = "") -> dict[str, Any]:
    return {"errors": [{"value": post_id, "type": "/resource-not-found", "detail": detail}]}


CUT = {"referenced_tweets": [{"type": "quoted", "id": "7"}]}
"""What makes a post one of which something is not shown."""


def plain(handler: Handler, post_id: str, _: int) -> None:
    handler.tell(tweet(post_id))


def api_plain(handler: Handler, ids: str, _: int) -> None:
    rows = [{"id": key, "lang": "en", "text": f"Text {key}"} for key in ids.split(",") if int(key) % 10]
    errors = [{"value": key, "type": "/resource-not-found"} for key in ids.split(",") if not int(key) % 10]
    handler.tell({"data": rows, "errors": errors})


def ids(count: int) -> list[str]:
    return [str(START + number) for number in range(1, count + 1)]


def online(site: Site, cache: Path, *names: str, **manners: Any) -> Online:
    services = [
        replace(KNOWN[name], base_url=f"{site.url}/{name}", manners=replace(QUICK, **manners)) for name in names
    ]
    return Online(tuple(services), cache, known=KNOWN)


@pytest.fixture
def chain(site: Site, tmp_path: Path) -> Callable[..., ChainedPosts]:
    def build(*names: str, clock: Callable[[], datetime] | None = None, **manners: Any) -> ChainedPosts:
        options = {} if clock is None else {"clock": clock}
        return ChainedPosts(online(site, tmp_path / "answers.sqlite", *names, **manners), **options)

    return build


def statuses(found: Any) -> Counter[PostStatus]:
    return Counter(post.status(("en",)) for post in found.values())


@pytest.mark.parametrize("name", ["one", "api-v2"])
def test_every_service_is_asked_once_for_each_post(
    site: Site, chain: Any, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("X_BEARER_TOKEN", "secret-token")
    found = chain(name).find(ids(9))
    assert statuses(found) == {PostStatus.OK: 9}
    assert {post.text for post in found.values()} == {f"Text {key}" for key in ids(9)}
    assert set(site.count(name).values()) == {1}
    assert all(headers["User-Agent"].startswith("hellofresh/") for headers in site.headers)
    tokens = {headers.get("Authorization") for headers in site.headers}
    assert tokens == ({"Bearer secret-token"} if name == "api-v2" else {None})


def test_the_api_is_asked_for_a_hundred_at_once(site: Site, chain: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X_BEARER_TOKEN", "t")
    found = chain("api-v2").find(ids(250))
    assert sorted(len(key.split(",")) for key in site.count("api-v2")) == [50, 100, 100]
    assert statuses(found) == {PostStatus.OK: 225, PostStatus.DELETED: 25}


def test_what_was_answered_is_never_asked_again(site: Site, chain: Any) -> None:
    def some_gone(handler: Handler, post_id: str, before: int) -> None:
        handler.tell(gone(post_id) if int(post_id) % 3 == 0 else tweet(post_id))

    site.behaviours["one"] = some_gone
    first = chain("one").find(ids(12))
    again = chain("one", "other").find(ids(14))
    assert {key: again[key] for key in first} == first
    assert set(site.count("one").values()) == {1}
    assert not site.count("other")


def test_an_answer_is_on_the_disk_before_the_next_post_is_asked_for(site: Site, chain: Any, tmp_path: Path) -> None:
    kept: list[int] = []

    def looking(handler: Handler, post_id: str, before: int) -> None:
        with closing(sqlite3.connect(tmp_path / "answers.sqlite")) as other:  # as a process after a kill would find it
            kept.extend(other.execute("SELECT count(*) FROM answers").fetchone())
        plain(handler, post_id, before)

    site.behaviours["one"] = looking
    chain("one", at_once=1).find(ids(5))
    assert kept == [0, 1, 2, 3, 4]


def test_a_gone_post_is_asked_for_again_after_the_set_time_and_a_whole_one_is_not(site: Site, chain: Any) -> None:
    def back_later(handler: Handler, post_id: str, before: int) -> None:
        away = post_id == ids(1)[0] and not before
        handler.tell(gone(post_id, "suspended") if away else tweet(post_id))

    site.behaviours["one"] = back_later
    now = datetime(2026, 1, 1, tzinfo=UTC)
    for days, expected, asked in ((0, 1, 1), (30, 1, 1), (31, 0, 2), (400, 0, 2)):
        found = chain("one", clock=lambda days=days: now + timedelta(days=days)).find(ids(3))
        assert statuses(found)[PostStatus.SUSPENDED] == expected
        assert site.count("one")[ids(1)[0]] == asked
        assert site.count("one")[ids(2)[1]] == 1


def test_only_open_posts_go_on_to_the_next_source(site: Site, chain: Any) -> None:
    whole, cut, deleted, broken = ids(4)
    bodies = {whole: tweet(whole), cut: tweet(cut, **CUT), deleted: gone(deleted), broken: tweet(broken, text=1)}
    site.behaviours["one"] = lambda handler, post_id, _: handler.tell(bodies[post_id])
    chained = chain("one", "other")
    found = chained.find(ids(4))
    assert site.count("other").keys() == {cut, broken}
    assert found[deleted] == FoundPost(deleted, PostStatus.DELETED)
    assert statuses(found) == {PostStatus.OK: 3, PostStatus.DELETED: 1}
    assert "one failed on 1 of 4 posts" in " ".join(chained.warnings)


def test_a_post_that_nobody_gives_whole_keeps_the_best_that_is_known(site: Site, chain: Any) -> None:
    for name in ("one", "other"):
        site.behaviours[name] = lambda handler, post_id, _: handler.tell(tweet(post_id, **CUT))
    assert chain("one", "other").find(ids(1))[ids(1)[0]].status(("en",)) is PostStatus.TRUNCATED


def test_a_local_file_comes_first(site: Site, tmp_path: Path) -> None:
    path = tmp_path / "posts.jsonl"
    path.write_text(json.dumps(tweet(ids(1)[0], text="Local")["data"][0]) + "\n")
    found = ChainedPosts(online(site, tmp_path / "c.sqlite", "one"), LocalPosts(path)).find(ids(3))
    assert found[ids(1)[0]].text == "Local"
    assert site.count("one").keys() == set(ids(3)[1:])


def after(date: bool) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=1), usegmt=True) if date else "1"


def slow(handler: Handler, post_id: str, _: int) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    for _ in range(60):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.1)


def cut(handler: Handler, post_id: str, _: int) -> None:
    body = json.dumps(tweet(post_id)).encode()
    handler.send(200, body[:-20], length=len(body))
    handler.close_connection = True


def cut_in_silence(handler: Handler, post_id: str, _: int) -> None:
    handler.send(200, json.dumps(tweet(post_id)).encode()[:-20])


def packed(handler: Handler, post_id: str, _: int) -> None:
    handler.send(200, b"\x1f\x8b" + b"\0" * 100, {"Content-Encoding": "gzip"})


def garbled(handler: Handler, post_id: str, _: int) -> None:
    handler.wfile.write(b"hello\r\n\r\n")
    handler.close_connection = True


FAULTS: dict[str, Behaviour] = {
    "429": lambda handler, *_: handler.send(429, b"slow down"),
    "429 with seconds": lambda handler, *_: handler.send(429, b"", {"Retry-After": after(False)}),
    "503 with a date": lambda handler, *_: handler.send(503, b"", {"Retry-After": after(True)}),
    "429 with a wrong wait": lambda handler, *_: handler.send(429, b"", {"Retry-After": "soon"}),
    "500": lambda handler, *_: handler.send(500, b"<html>"),
    "cut": cut,
    "cut in silence": cut_in_silence,
    "no JSON": lambda handler, *_: handler.send(200, b"<html>Hello", {"Content-Type": "text/html"}),
    "empty": lambda handler, *_: handler.send(200, b""),
    "packed unasked": packed,
    "no HTTP": garbled,
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_passing_fault_is_waited_out(site: Site, chain: Any, name: str) -> None:
    def first_wrong(handler: Handler, post_id: str, before: int) -> None:
        (plain if before else FAULTS[name])(handler, post_id, before)

    site.behaviours["one"] = first_wrong
    chained = chain("one")
    assert statuses(chained.find(ids(3))) == {PostStatus.OK: 3}
    assert set(site.count("one").values()) == {2}
    assert not chained.warnings


LASTING = FAULTS | {
    "too large": lambda handler, *_: handler.send(200, b" " * 1_000_000),
    "bad request": lambda handler, *_: handler.send(400, b"{}"),
    "elsewhere": lambda handler, *_: handler.send(302, b"", {"Location": "http://127.0.0.1:9/"}),
}
LASTING = {name: fault for name, fault in LASTING.items() if "with" not in name}


@pytest.mark.parametrize("name", LASTING)
def test_a_lasting_fault_is_no_fact_and_stops_with_what_to_do(site: Site, chain: Any, name: str) -> None:
    site.behaviours["one"] = LASTING[name]
    with pytest.raises(SourceError, match="not requested again") as caught:
        chain("one").find(ids(3))
    assert caught.value.code == "posts-incomplete"
    assert set(site.count("one").values()) <= {1, QUICK.attempts}
    site.behaviours["one"] = plain
    assert statuses(chain("one").find(ids(3))) == {PostStatus.OK: 3}


def test_a_right_answer_under_a_wrong_content_type_is_taken(site: Site, chain: Any) -> None:
    site.behaviours["one"] = lambda handler, post_id, _: handler.send(
        200, json.dumps(tweet(post_id)).encode(), {"Content-Type": "text/html; charset=utf-7"}
    )
    assert statuses(chain("one").find(ids(2))) == {PostStatus.OK: 2}


def test_a_service_that_trickles_is_left_in_time(site: Site, chain: Any) -> None:
    site.behaviours["one"] = slow
    start = time.monotonic()
    found = chain("one", "other", timeout_s=0.3, attempts=2).find(ids(4))
    assert time.monotonic() - start < 60
    assert statuses(found) == {PostStatus.OK: 4}
    assert site.count("other").total() == 4


@pytest.mark.parametrize("header", ["Retry-After", "x-rate-limit-reset"])
def test_a_service_that_asks_for_a_wait_beyond_the_deadline_is_set_aside_at_once(
    site: Site, chain: Any, header: str
) -> None:
    wait = "3600" if header == "Retry-After" else str(int(time.time()) + 3600)
    headers = {header: wait, "x-rate-limit-remaining": "0"}
    site.behaviours["one"] = lambda handler, *_: handler.send(429, b"", headers)
    start = time.monotonic()
    assert statuses(chain("one", "other").find(ids(40))) == {PostStatus.OK: 40}
    assert time.monotonic() - start < 60
    assert site.count("one").total() <= 2 * QUICK.at_once


def test_a_service_that_fails_on_and_on_is_not_asked_for_everything(site: Site, chain: Any) -> None:
    site.behaviours["one"] = lambda handler, *_: handler.send(500, b"")
    chain("one", "other").find(ids(100))
    assert len(site.count("one")) < 20


def test_a_wait_that_one_request_is_told_holds_for_all(site: Site, tmp_path: Path) -> None:
    def first_of_all(handler: Handler, post_id: str, _: int) -> None:
        if len(site.asked) == 1:
            handler.send(429, b"", {"Retry-After": "1"})
        else:
            plain(handler, post_id, 0)

    site.behaviours["one"] = first_of_all
    said: list[str] = []
    ChainedPosts(online(site, tmp_path / "c.sqlite", "one", at_once=1), progress=said.append).find(ids(5))
    assert "one: HTTP status 429, asks to wait 1 s" in said
    assert site.times[1] - site.times[0] >= 0.95


def test_requests_keep_the_pace(site: Site, chain: Any) -> None:
    chain("one", per_second=20).find(ids(10))
    assert site.times[-1] - site.times[0] >= 0.8 * 9 / 20  # the first one may come in late on a busy machine


def test_few_failures_are_told_and_many_stop(site: Site, chain: Any) -> None:
    site.behaviours["one"] = lambda handler, post_id, _: (
        handler.send(400, b"{}") if int(post_id) == START + 7 else plain(handler, post_id, 0)
    )
    chained = chain("one")
    assert statuses(chained.find(ids(120))) == {PostStatus.OK: 119, PostStatus.ERROR: 1}
    assert "1 posts could not be asked for" in " ".join(chained.warnings)
    with pytest.raises(SourceError, match="1 of 99 posts"):
        chain("one").find(ids(99))


def test_a_refused_token_stops_everything_and_is_not_shown(
    site: Site, chain: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("X_BEARER_TOKEN", "secret-token")
    site.behaviours["api-v2"] = lambda handler, *_: handler.send(401, b"{}")
    with pytest.raises(SourceError, match="X_BEARER_TOKEN") as caught:
        chain("api-v2").find(ids(3))
    assert caught.value.code == "token-refused"
    assert "secret-token" not in str(caught.value)


@pytest.mark.parametrize("token", ["", " ", "a\nb", "é"])
def test_no_token_is_said_before_anything_is_asked(
    site: Site, chain: Any, monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    monkeypatch.setenv("X_BEARER_TOKEN", token)
    with pytest.raises(ConfigError, check=lambda error: error.code == "missing-token"):
        chain("api-v2").find(ids(3))
    assert not site.asked


def test_a_token_is_not_sent_in_the_clear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X_BEARER_TOKEN", "t")
    service = replace(SERVICES["api-v2"], base_url="http://api.example")
    with pytest.raises(ConfigError, match="unencrypted"):
        ChainedPosts(Online((service,), tmp_path / "c.sqlite")).find(ids(1))


def test_the_cache_is_for_its_owner_only_and_knows_no_shown_note(site: Site, chain: Any, tmp_path: Path) -> None:
    site.behaviours["one"] = lambda handler, post_id, _: handler.tell(
        tweet(post_id, birdwatch_pivot={"note": "THE NOTE"}, quoted={"community_note": "THE NOTE"})
    )
    chain("one").find(ids(3))
    files = sorted(tmp_path.glob("answers.sqlite*"))
    assert files
    for path in files:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert b"THE NOTE" not in path.read_bytes()


@pytest.mark.parametrize("content", [b"no database at all, but text" * 100, b"SQLite format 3\0" + b"x" * 5000])
def test_a_damaged_cache_is_named(site: Site, chain: Any, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "answers.sqlite").write_bytes(content)
    with pytest.raises(SourceError, match="Move the file away") as caught:
        chain("one").find(ids(2))
    assert caught.value.code == "bad-cache"


CONFIG = """
[posts.api-v2]
base_url = "{url}/api-v2"
per_second = 40
at_once = 2
"""


def test_explaining_asks_nobody_and_counts_what_it_would_ask_for(
    site: Site, dump: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1, 9):
        dump.note(number, post=START + number)
    folder = dump.write()
    (folder / "posts.jsonl").unlink()
    (tmp_path / "data.toml").write_text(CONFIG.format(url=site.url))
    monkeypatch.setenv("HELLOFRESH_CONFIG", str(tmp_path / "data.toml"))
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("X_BEARER_TOKEN", "t")
    ask = ["collect", "x-notes", "--quarter", "2023Q2", "--dump", str(folder), "--posts-from", "api-v2", "--json"]

    def explained() -> dict[str, int]:
        assert main([*ask, "--explain"]) == 0
        funnel = json.loads(capsys.readouterr().out)["funnel"]
        return {drop["reason"]: drop["count"] for drop in funnel["drops"] if drop["count"]}

    assert explained() == {"not-asked": 8}
    assert (site.asked, (tmp_path / "data").exists()) == ([], False)
    assert main(ask) == 0
    assert "not-asked" not in capsys.readouterr().out
    assert explained() == {}
    dump.note(9, post=START + 9)
    dump.write()
    (folder / "posts.jsonl").unlink()
    asked = len(site.asked)
    assert explained() == {"not-asked": 1}
    assert len(site.asked) == asked == 1


def test_a_collection_says_whom_it_asked_and_which_posts_failed(site: Site, twelve: Any, tmp_path: Path) -> None:
    site.behaviours["one"] = lambda handler, post_id, _: handler.tell(
        tweet(post_id, lang="xx") if int(post_id) % 2 else gone(post_id)
    )
    folder = twelve.write()
    (folder / "posts.jsonl").unlink()
    source = NotesSource(folder, None, online(site, tmp_path / "c.sqlite", "one"))
    collection = collect(Quarter(2023, 2), source, NotesSettings(languages=("xx",)), workdir=tmp_path)
    assert collection.parameters["posts_from"] == ["one"]
    assert len(collection.candidates) == 6
    assert {drop.reason: drop.count for drop in collection.funnel.drops if drop.count} == {"deleted": 6}
    assert all(not file.name.startswith("posts") for file in collection.sources)


def test_user_names_stay_in_the_cache(
    site: Site, twelve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plant = "F00DCAFE" * 8
    user = {"name": plant, "screen_name": plant, "id_str": plant}
    more = {"author": user, "in_reply_to_screen_name": plant, "entities": {"mentions": [user]}}
    site.behaviours["api-v2"] = lambda handler, asked, _: handler.tell(
        {"data": [row for key in asked.split(",") for row in tweet(key, **more)["data"]]}
    )
    folder = twelve.write()
    (folder / "posts.jsonl").unlink()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("X_BEARER_TOKEN", "t")
    monkeypatch.setenv("HELLOFRESH_CONFIG", str(tmp_path / "own.toml"))
    (tmp_path / "own.toml").write_text(CONFIG.format(url=site.url))
    where = ["--quarter", "2023Q2", "--dump", str(folder), "--posts-from", "api-v2"]
    for command in (["collect", "x-notes", *where], ["release", "build", "--quarter", "2023Q2"], ["hydrate", *where]):
        assert main(command) == 0
    assert site.count("api-v2").total() == 1
    found = [path for path in (tmp_path / "data").rglob("*") if path.is_file() and plant.encode() in path.read_bytes()]
    assert [path.name.split(".")[0] for path in found] == ["answers"] * len(found) != []
    assert (tmp_path / "data" / "hydrated" / "2023Q2" / "x-notes" / "samples.jsonl").stat().st_size
    assert plant not in "".join(capsys.readouterr())


def test_configured_services_are_asked_by_the_whole_path(
    site: Site, twelve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = twelve.write()
    (folder / "posts.jsonl").unlink()
    settings = f'[sources.x-notes]\ndump = "{folder}"\nposts_from = ["api-v2"]\n' + CONFIG.format(url=site.url)
    (tmp_path / "own.toml").write_text(settings)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("X_BEARER_TOKEN", "t")
    monkeypatch.setenv("HELLOFRESH_CONFIG", str(tmp_path / "own.toml"))
    for _ in range(2):
        assert main(["release", "run", "--quarter", "2023Q2", "--models", "always-yes"]) == 0
        assert site.count("api-v2").total() == 1
    manifest = json.loads((tmp_path / "data" / "releases" / "2023Q2" / "x-notes" / "manifest.json").read_text())
    assert manifest["collection"]["parameters"]["posts_from"] == ["api-v2"]
    assert manifest["texts"] == "withheld"
