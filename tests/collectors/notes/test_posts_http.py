"""Services on a loopback server that misbehaves: nothing answered is asked twice, and no fault becomes a fact."""

from __future__ import annotations

import json
import sqlite3
import stat
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from collectors.notes import NotesSettings, NotesSource, collect
from collectors.notes.posts.base import Manners, PostStatus
from collectors.notes.posts.local import LocalPosts
from collectors.notes.posts.online import ChainedPosts, Online
from collectors.notes.posts.services import SERVICES
from hellofresh.core.errors import ConfigError, SourceError
from hellofresh.core.quarters import Quarter
from tests.conftest import Cli
from tests.fakes import dropped, fails_with
from tests.loopback import Reply

START = 1_600_000_000_000_000_000
ONE = replace(SERVICES["api-v2"], name="one", batch=1, token_variable="")
KNOWN = {**SERVICES, "one": ONE}
QUICK = Manners(per_second=1000, at_once=4, attempts=3, timeout_s=20, deadline_s=60, first_s=0.01, largest_body=100_000)


Behaviour = Callable[[str, int], Reply]
"""Answers on a post; the number says how often it was asked for before."""


class Site:
    """How an endpoint behaves by service, and what it was asked."""

    def __init__(self, chat: Any) -> None:
        self.chat, self.url = chat, chat.base_url
        self.behaviours: dict[str, Behaviour] = {"one": plain, "api-v2": api_plain}
        self.asked: list[tuple[str, str]] = []
        chat.behave = self.answer

    def answer(self, *_: Any) -> Reply:
        parts = urlsplit(self.chat.paths[-1])
        service, (post_id,) = parts.path.split("/")[2], parse_qs(parts.query)["ids"]
        before = self.count(service)[post_id]
        self.asked.append((service, post_id))
        return self.behaviours[service](post_id, before)

    def count(self, service: str) -> Counter[str]:
        return Counter(post_id for name, post_id in self.asked if name == service)


@pytest.fixture
def site(chat: Any) -> Site:
    return Site(chat)


def told(body: Any) -> Reply:
    return Reply(json.dumps(body).encode())


def tweet(post_id: str, **changes: Any) -> dict[str, Any]:
    row = {"id": post_id, "lang": "en", "text": f"Text {post_id}", "created_at": "2023-04-30T10:00:00.000Z"}
    return {"data": [row | changes]}


def gone(post_id: str, detail: str = "") -> dict[str, Any]:
    return {"errors": [{"value": post_id, "type": "/resource-not-found", "detail": detail}]}


CUT = {"referenced_tweets": [{"type": "quoted", "id": "7"}]}
"""What makes a post one of which something is not shown."""


def plain(post_id: str, _: int) -> Reply:
    return told(tweet(post_id))


def api_plain(ids: str, _: int) -> Reply:
    rows = [{"id": key, "lang": "en", "text": f"Text {key}"} for key in ids.split(",") if int(key) % 10]
    errors = [{"value": key, "type": "/resource-not-found"} for key in ids.split(",") if not int(key) % 10]
    return told({"data": rows, "errors": errors})


def ids(count: int) -> list[str]:
    return [str(START + number) for number in range(1, count + 1)]


def online(site: Site, cache: Path, name: str, **manners: Any) -> Online:
    return Online(replace(KNOWN[name], base_url=f"{site.url}/{name}", manners=replace(QUICK, **manners)), cache)


@pytest.fixture
def chain(site: Site, tmp_path: Path) -> Callable[..., ChainedPosts]:
    def build(name: str, clock: Callable[[], datetime] | None = None, **manners: Any) -> ChainedPosts:
        options = {} if clock is None else {"clock": clock}
        return ChainedPosts(online(site, tmp_path / "answers.sqlite", name, **manners), **options)

    return build


def statuses(found: Any) -> Counter[PostStatus]:
    return Counter(post.status(("en",)) for post in found.values())


def test_the_api_is_asked_for_a_hundred_at_once(site: Site, chain: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X_BEARER_TOKEN", "t")
    found = chain("api-v2").find(ids(250))
    assert sorted(len(key.split(",")) for key in site.count("api-v2")) == [50, 100, 100]
    assert statuses(found) == {PostStatus.OK: 225, PostStatus.DELETED: 25}


def test_what_was_answered_is_never_asked_again(site: Site, chain: Any) -> None:
    site.behaviours["one"] = lambda key, _: told(tweet(key) if int(key) % 3 else gone(key))
    first = chain("one").find(ids(12))
    again = chain("one").find(ids(14))
    assert {key: again[key] for key in first} == first
    assert set(site.count("one").values()) == {1}


def test_an_answer_is_on_the_disk_before_the_next_post_is_asked_for(site: Site, chain: Any, tmp_path: Path) -> None:
    kept: list[int] = []

    def looking(post_id: str, before: int) -> Reply:
        with closing(sqlite3.connect(tmp_path / "answers.sqlite")) as other:  # as a process after a kill would find it
            kept.extend(other.execute("SELECT count(*) FROM answers").fetchone())
        return plain(post_id, before)

    site.behaviours["one"] = looking
    chain("one", at_once=1).find(ids(5))
    assert kept == [0, 1, 2, 3, 4]


def test_a_gone_post_is_asked_for_again_after_the_set_time_and_a_whole_one_is_not(site: Site, chain: Any) -> None:
    site.behaviours["one"] = lambda key, before: told(
        gone(key, "suspended") if key == ids(1)[0] and not before else tweet(key)
    )
    now = datetime(2026, 1, 1, tzinfo=UTC)
    for days, expected, asked in ((0, 1, 1), (30, 1, 1), (31, 0, 2), (400, 0, 2)):
        found = chain("one", clock=lambda days=days: now + timedelta(days=days)).find(ids(3))
        assert statuses(found)[PostStatus.SUSPENDED] == expected
        assert site.count("one")[ids(1)[0]] == asked
        assert site.count("one")[ids(2)[1]] == 1


def test_a_local_file_comes_first(site: Site, tmp_path: Path) -> None:
    path = tmp_path / "posts.jsonl"
    path.write_text(json.dumps(tweet(ids(1)[0], text="Local")["data"][0]) + "\n")
    found = ChainedPosts(online(site, tmp_path / "c.sqlite", "one"), LocalPosts(path)).find(ids(3))
    assert found[ids(1)[0]].text == "Local"
    assert site.count("one").keys() == set(ids(3)[1:])


WHOLE = plain(ids(1)[0], 0)
FAULTS: dict[str, Callable[[], Reply]] = {
    "429": lambda: Reply(b"slow down", 429),
    "429 with seconds": lambda: Reply(b"", 429, {"Retry-After": "1"}),
    "503 with a date": lambda: Reply(
        b"", 503, {"Retry-After": format_datetime(datetime.now(UTC) + timedelta(seconds=1), usegmt=True)}
    ),
    "429 with a wrong wait": lambda: Reply(b"", 429, {"Retry-After": "soon"}),
    "500": lambda: Reply(b"<html>", 500),
    "cut": lambda: replace(WHOLE, cut_at=40),
    "cut in silence": lambda: Reply(WHOLE.body[:-20]),
    "no JSON": lambda: Reply(b"<html>Hello", 200, {"Content-Type": "text/html"}),
    "empty": lambda: Reply(b""),
    "packed unasked": lambda: Reply(b"\x1f\x8b" + b"\0" * 100, 200, {"Content-Encoding": "gzip"}),
    "no HTTP": lambda: Reply(b"", -1),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_passing_fault_is_waited_out(site: Site, chain: Any, name: str) -> None:
    site.behaviours["one"] = lambda key, before: plain(key, before) if before else FAULTS[name]()
    chained = chain("one")
    assert statuses(chained.find(ids(3))) == {PostStatus.OK: 3}
    assert set(site.count("one").values()) == {2}
    assert not chained.warnings


LASTING = {name: fault for name, fault in FAULTS.items() if "with" not in name} | {
    "too large": lambda: Reply(b" " * 1_000_000),
    "bad request": lambda: Reply(b"{}", 400),
    "elsewhere": lambda: Reply(b"", 302, {"Location": "http://127.0.0.1:9/"}),
}


@pytest.mark.parametrize("name", LASTING)
def test_a_lasting_fault_is_no_fact_and_stops_with_what_to_do(site: Site, chain: Any, name: str) -> None:
    site.behaviours["one"] = lambda *_: LASTING[name]()
    with fails_with("posts-incomplete", "not requested again"):
        chain("one").find(ids(3))
    assert set(site.count("one").values()) <= {1, QUICK.attempts}
    site.behaviours["one"] = plain
    assert statuses(chain("one").find(ids(3))) == {PostStatus.OK: 3}


def test_a_service_that_trickles_is_left_in_time(site: Site, chain: Any) -> None:
    site.behaviours["one"] = lambda *_: Reply(b" " * 1000, trickle_s=0.1)
    start = time.monotonic()
    with fails_with("posts-incomplete", "TimeoutError"):
        chain("one", timeout_s=0.3, attempts=2).find(ids(4))
    assert time.monotonic() - start < 60


@pytest.mark.parametrize("header", ["Retry-After", "x-rate-limit-reset"])
def test_a_service_that_asks_for_a_wait_beyond_the_deadline_is_set_aside_at_once(
    site: Site, chain: Any, header: str
) -> None:
    wait = "3600" if header == "Retry-After" else str(int(time.time()) + 3600)
    headers = {header: wait, "x-rate-limit-remaining": "0"}
    site.behaviours["one"] = lambda *_: Reply(b"", 429, headers)
    start = time.monotonic()
    with fails_with("posts-incomplete", "asks to wait"):
        chain("one").find(ids(40))
    assert time.monotonic() - start < 60
    assert site.count("one").total() <= 2 * QUICK.at_once


def test_a_service_that_fails_on_and_on_is_not_asked_for_everything(site: Site, chain: Any) -> None:
    site.behaviours["one"] = lambda *_: Reply(b"", 500)
    with fails_with("posts-incomplete"):
        chain("one").find(ids(100))
    assert len(site.count("one")) < 20


def test_a_wait_that_one_request_is_told_holds_for_all(site: Site, tmp_path: Path) -> None:
    site.behaviours["one"] = lambda key, _: (
        Reply(b"", 429, {"Retry-After": "1"}) if len(site.asked) == 1 else plain(key, 0)
    )
    said: list[str] = []
    ChainedPosts(online(site, tmp_path / "c.sqlite", "one", at_once=1), progress=said.append).find(ids(5))
    assert "one: HTTP status 429, asks to wait 1 s" in said
    assert site.chat.times[1] - site.chat.times[0] >= 0.95


def test_each_answer_is_reported_and_posts_that_an_answer_leaves_out_are_counted(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    ChainedPosts(online(site, tmp_path / "c.sqlite", "one", at_once=1), progress=said.append).find(ids(3))
    assert said == [f"one: {number} of 3 posts" for number in (1, 2, 3)]
    monkeypatch.setenv("X_BEARER_TOKEN", "t")
    site.behaviours["api-v2"] = lambda keys, _: told({"data": [tweet(key)["data"][0] for key in keys.split(",")[:-1]]})
    chained = ChainedPosts(online(site, tmp_path / "d.sqlite", "api-v2"))
    assert statuses(chained.find(ids(100))) == {PostStatus.OK: 99, PostStatus.ERROR: 1}
    assert chained.warnings[0] == "api-v2 failed on 1 of 100 posts: no answer about a post (1 times)."


def test_without_asking_only_kept_answers_count(site: Site, tmp_path: Path) -> None:
    cache, (one, two, three) = tmp_path / "c.sqlite", ids(3)
    silent = replace(online(site, cache, "one"), ask=False)
    chained = ChainedPosts(silent)
    assert statuses(chained.find([one, two])) == {PostStatus.NOT_ASKED: 2} and not cache.exists()
    assert chained.warnings == ["2 of 2 posts would have to be requested; no request was sent."]
    site.behaviours["one"] = lambda key, _: told(tweet(key, **(CUT if key == two else {})))
    ChainedPosts(online(site, cache, "one")).find([one, two])
    with closing(sqlite3.connect(cache, isolation_level=None)) as database:
        (row,) = database.execute("SELECT * FROM answers WHERE post = ?", (one,))
        for post, service, body in ((three, "nobody", row[4]), (three, "one", b"odd"), (one, "a", b"odd")):
            database.execute("INSERT INTO answers VALUES (?, ?, ?, ?, ?)", (post, service, row[2], row[3], body))
    chained = ChainedPosts(silent)
    found = chained.find([three, one, two])
    assert [post.status(("en",)) for post in found.values()] == [
        PostStatus.NOT_ASKED,
        PostStatus.OK,
        PostStatus.TRUNCATED,
    ]
    assert chained.warnings == ["1 of 3 posts would have to be requested; no request was sent."]
    assert len(site.asked) == 2


def test_few_failures_are_told_and_many_stop(site: Site, chain: Any) -> None:
    site.behaviours["one"] = lambda key, _: Reply(b"{}", 400) if int(key) == START + 7 else plain(key, 0)
    chained = chain("one")
    assert statuses(chained.find(ids(120))) == {PostStatus.OK: 119, PostStatus.ERROR: 1}
    assert chained.warnings == [
        "one failed on 1 of 120 posts: HTTP status 400, no posts (1 times).",
        "1 posts could not be requested; --force requests them again.",
    ]
    assert statuses(chain("one").find(ids(100)))[PostStatus.ERROR] == 1
    with pytest.raises(SourceError, match="1 of 99 posts"):
        chain("one").find(ids(99))


def test_a_refused_token_stops_everything_and_is_not_shown(
    site: Site, chain: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("X_BEARER_TOKEN", "secret-token")
    for status in (401, 403):
        site.behaviours["api-v2"] = lambda *_, status=status: Reply(b"{}", status)
        with fails_with("token-refused", "X_BEARER_TOKEN") as caught:
            chain("api-v2").find(ids(3))
        assert caught.value.what == f"api-v2 refuses the token (HTTP status {status})"
        assert "secret-token" not in str(caught.value)


@pytest.mark.parametrize("token", ["", " ", "a\nb", "é"])
def test_no_token_is_said_before_anything_is_asked(
    site: Site, chain: Any, monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    monkeypatch.setenv("X_BEARER_TOKEN", token)
    with fails_with("missing-token") as caught:
        chain("api-v2").find(ids(3))
    assert caught.value.what == ("no bearer token" if token.strip() else "api-v2 needs a token")
    assert not site.asked


def test_a_token_is_not_sent_in_the_clear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X_BEARER_TOKEN", "t")
    service = replace(SERVICES["api-v2"], base_url="http://api.example")
    with pytest.raises(ConfigError, match="unencrypted"):
        ChainedPosts(Online(service, tmp_path / "c.sqlite")).find(ids(1))


def test_the_cache_is_for_its_owner_only_and_knows_no_shown_note(site: Site, chain: Any, tmp_path: Path) -> None:
    note = {"birdwatch_pivot": {"note": "THE NOTE"}, "quoted": {"community_note": "THE NOTE"}}
    site.behaviours["one"] = lambda key, _: told(tweet(key, **note))
    chain("one").find(ids(3))
    files = sorted(tmp_path.glob("answers.sqlite*"))
    assert files
    for path in files:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert b"THE NOTE" not in path.read_bytes()


@pytest.mark.parametrize("content", [b"no database at all, but text" * 100, b"SQLite format 3\0" + b"x" * 5000])
def test_a_damaged_cache_is_named(site: Site, chain: Any, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "answers.sqlite").write_bytes(content)
    with fails_with("bad-cache", "Move the file away"):
        chain("one").find(ids(2))


CONFIG = """
[posts.api-v2]
base_url = "{url}/api-v2"
per_second = 40
at_once = 2
"""


@pytest.fixture
def asking(site: Site, place: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """Options of commands that ask the loopback for the posts of a dump that has none."""
    (place / "hellofresh.toml").write_text(CONFIG.format(url=site.url))
    monkeypatch.setenv("X_BEARER_TOKEN", "t")
    return ("--quarter", "2023Q2", "--dump", "dump", "--posts-from", "api-v2")


def without_posts(dump: Any) -> Path:
    folder: Path = dump.write()
    (folder / "posts.jsonl").unlink()
    return folder


def test_explaining_asks_nobody_and_counts_what_it_would_ask_for(
    site: Site, dump: Any, place: Path, asking: tuple[str, ...], cli: Cli
) -> None:
    def explained() -> dict[str, int]:
        without_posts(dump)
        funnel = cli.json("collect", "x-notes", *asking, "--explain")["funnel"]
        return {drop["reason"]: drop["count"] for drop in funnel["drops"] if drop["count"]}

    for number in range(1, 9):
        dump.note(number, post=START + number)
    assert explained() == {"not-asked": 8}
    assert (site.asked, (place / "data").exists()) == ([], False)
    assert "not-asked" not in cli("collect", "x-notes", *asking, "--json")
    assert explained() == {}
    dump.note(9, post=START + 9)
    asked = len(site.asked)
    assert explained() == {"not-asked": 1}
    assert len(site.asked) == asked == 1


def test_a_collection_says_whom_it_asked_and_which_posts_failed(site: Site, twelve: Any, tmp_path: Path) -> None:
    site.behaviours["one"] = lambda key, _: told(tweet(key, lang="xx") if int(key) % 2 else gone(key))
    source = NotesSource(without_posts(twelve), None, online(site, tmp_path / "c.sqlite", "one"))
    collection = collect(Quarter(2023, 2), source, NotesSettings(languages=("xx",)), workdir=tmp_path)
    assert collection.parameters["posts_from"] == ["one"]
    assert len(collection.candidates) == 6
    assert dropped(collection) == {"deleted": 6}
    assert all(not file.name.startswith("posts") for file in collection.sources)


def test_user_names_stay_in_the_cache(site: Site, twelve: Any, place: Path, asking: tuple[str, ...], cli: Cli) -> None:
    plant = "F00DCAFE" * 8
    user = {"name": plant, "screen_name": plant, "id_str": plant}
    more = {"author": user, "in_reply_to_screen_name": plant, "entities": {"mentions": [user]}}
    site.behaviours["api-v2"] = lambda asked, _: told(
        {"data": [row for key in asked.split(",") for row in tweet(key, **more)["data"]]}
    )
    without_posts(twelve)
    cli.secrets.add(plant)
    for command in (["collect", "x-notes", *asking], ["release", "build", *asking[:2]], ["hydrate", *asking]):
        cli(*command)
    assert site.count("api-v2").total() == 1
    found = [path for path in (place / "data").rglob("*") if path.is_file() and plant.encode() in path.read_bytes()]
    assert [path.name.split(".")[0] for path in found] == ["answers"] * len(found) != []
    assert (place / "data" / "hydrated" / "2023Q2" / "x-notes" / "samples.jsonl").stat().st_size


def test_configured_services_are_asked_by_the_whole_path(
    site: Site, twelve: Any, place: Path, asking: tuple[str, ...], cli: Cli
) -> None:
    sources = f'[sources.x-notes]\ndump = "{without_posts(twelve)}"\nposts_from = ["api-v2"]\n'
    (place / "hellofresh.toml").write_text(sources + CONFIG.format(url=site.url))
    for _ in range(2):
        cli("release", "run", *asking[:2], "--models", "always-yes")
        assert site.count("api-v2").total() == 1
    manifest = json.loads((place / "data" / "releases" / "2023Q2" / "x-notes" / "manifest.json").read_text())
    assert manifest["collection"]["parameters"]["posts_from"] == ["api-v2"]
    assert manifest["texts"] == "withheld"
