"""A snapshot is fetched whole or not at all, whatever the server and the connection do."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections import defaultdict
from dataclasses import replace
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import pytest

from collectors.notes.dump_files import find_shards
from collectors.notes.snapshot import DownloadPolicy, DumpRequest, DumpSnapshot, download
from hellofresh.core.errors import SourceError, UsageError
from hellofresh.core.files import sha256_file
from hellofresh.core.net.lock import locked
from tests.fakes import fails_with
from tests.loopback import Reply

DAY = date(2026, 7, 23)
BASE = "2026/07/23"


def zipped(stem: str, size: int = 300_000) -> bytes:
    """A zip with a TSV that does not get smaller, the same at every call."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(f"{stem}.tsv"), Random(stem).randbytes(size))
    return content.getvalue()


class Source:
    """The published layout on this machine; a script says what goes wrong at which request of a path."""

    def __init__(self, chat: Any) -> None:
        self.chat, self.url, chat.behave = chat, chat.base_url, self.answer
        self.files: dict[str, bytes] = {}
        self.script: dict[str, list[str]] = defaultdict(list)
        self.always: dict[str, str] = {}
        self.asked: list[tuple[str, str, str]] = []
        self.sent: dict[str, int] = defaultdict(int)
        self.validator: tuple[str, str] | None = ("ETag", '"one"')

    def put(self, stem: str, shards: int = 1, day: str = BASE) -> None:
        for number in range(shards):
            name = f"{stem}-{number:05d}"
            self.files[f"/{day}/{name}.zip"] = zipped(name.rsplit("/", 1)[1])

    def requests(self, name: str) -> list[tuple[str, str]]:
        """Range and If-Range of the requests for a file, probes left out."""
        return [(span, rule) for path, span, rule in self.asked if path.endswith(name) and span != "bytes=0-0"]

    def answer(self, *_: Any) -> Reply:
        path, headers = self.chat.paths[-1].removeprefix("/v1"), self.chat.headers[-1]
        span, rule = headers.get("range", ""), headers.get("if-range", "")
        self.asked.append((path, span, rule))
        probe, queue, content = span == "bytes=0-0", self.script[path], self.files.get(path)
        fault = "" if probe else queue.pop(0) if queue else self.always.get(path, "")
        code, _, wait = fault.partition(":")
        if content is None or code.isdigit():
            return Reply(b"", 404 if content is None else int(code), {"Retry-After": wait} if wait else {})
        start = self.start(span, rule, fault)
        if start >= len(content):
            return Reply(b"", 416, {"Content-Range": f"bytes */{len(content)}"})
        reply = self.part(content[start : 1 if probe else None], fault)
        self.sent[path] += len(reply.body) if reply.cut_at is None else reply.cut_at
        wrong = 7 if fault == "other-part" else 0
        shown = {"Content-Range": f"bytes {start + wrong}-{len(content) - 1}/{len(content)}"} if start or probe else {}
        return replace(reply, status=206 if shown else 200, headers=shown | dict([self.validator or ("X", "x")]))

    def start(self, span: str, rule: str, fault: str) -> int:
        match = re.fullmatch(r"bytes=([0-9]+)-[0-9]*", span)
        same = not rule or (self.validator is not None and rule == self.validator[1])
        return int(match[1]) if match and same and fault != "ignore-range" else 0

    def part(self, part: bytes, fault: str) -> Reply:
        if fault == "short-length":
            return Reply(part[: len(part) // 2])
        if fault == "long-length":
            return Reply(part + bytes(1000), cut_at=len(part))
        if fault == "damage":
            return Reply(part[:5000] + bytes([part[5000] ^ 255]) + part[5001:])
        return Reply(part, cut_at=int(fault[4:]) if fault.startswith("cut:") else None)


@pytest.fixture
def source(chat: Any) -> Source:
    found = Source(chat)
    for stem, shards in (("notes/notes", 3), ("noteStatusHistory/noteStatusHistory", 1), ("noteRatings/ratings", 2)):
        found.put(stem, shards)
    found.put("userEnrollment/userEnrollment")
    return found


class Fetch:
    """Downloads from a source, and remembers the waits that it was asked for instead of waiting."""

    def __init__(self, source: Source, folder: Path) -> None:
        self.source, self.folder = source, folder
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    def __call__(
        self,
        *,
        day: date | None = DAY,
        ratings: bool = False,
        today: date = DAY,
        longest_wait_s: float = 600,
        partial: bool = False,
    ) -> DumpSnapshot:
        policy = DownloadPolicy(retry_after_s=longest_wait_s)
        request = DumpRequest(day, ratings, self.source.url + "/", policy, accept_partial=partial)
        return download(self.folder, request, today=today, progress=lambda _: None, sleep=self.sleep)


@pytest.fixture
def fetch(source: Source, tmp_path: Path) -> Fetch:
    return Fetch(source, tmp_path / "raw")


def assert_whole(snapshot: DumpSnapshot, source: Source, *, ratings: bool = False) -> None:
    """The snapshot is the source's files, byte for byte, and nothing else."""
    expected = {
        path.removeprefix(f"/{BASE}/"): content
        for path, content in source.files.items()
        if path.startswith(f"/{BASE}/") and (ratings or "noteRatings" not in path)
    }
    found = {
        path.relative_to(snapshot.folder).as_posix(): path for path in snapshot.folder.rglob("*") if path.is_file()
    }
    assert {name: found[name].read_bytes() for name in expected} == expected
    assert set(found) - set(expected) == {"manifest.json", ".lock"}
    assert {item.name: (item.size, item.sha256) for item in snapshot.files} == {
        name: (len(content), sha256_file(found[name])) for name, content in expected.items()
    }
    assert json.loads(found["manifest.json"].read_text())["date"] == str(DAY)


@pytest.mark.parametrize("ratings", [False, True])
def test_a_dump_comes_whole_with_all_shards(fetch: Fetch, source: Source, ratings: bool) -> None:
    assert_whole(fetch(ratings=ratings), source, ratings=ratings)
    assert fetch.waits == []


@pytest.mark.parametrize(
    ("gone", "missing"),
    [("", None), ("notes/notes-00002", "notes"), ("noteRatings/ratings-00001", "ratings"), ("userEnrollment/", "user")],
)
def test_a_table_that_is_smaller_than_in_the_dump_before_is_not_whole(
    fetch: Fetch, source: Source, gone: str, missing: str | None
) -> None:
    older = date(2026, 7, 22)
    source.files |= {path.replace(BASE, "2026/07/22"): content for path, content in source.files.items()}
    fetch(day=older, ratings=True)
    for path in [path for path in source.files if gone and f"{BASE}/{gone}" in path]:
        del source.files[path]
    if missing is not None:
        with fails_with("missing-shard", f"the {missing}.* in the dump of 2026-07-22"):
            fetch(ratings=True)
        assert not (fetch.folder / str(DAY) / "manifest.json").exists()
    assert len(fetch(ratings=True, partial=missing is not None).files) == (7 if missing is None else 6)
    assert fetch(day=older, ratings=True).skipped


def test_a_second_run_asks_for_nothing(fetch: Fetch, source: Source) -> None:
    first, asked = fetch(), len(source.asked)
    second = fetch()
    assert second.skipped and not first.skipped
    assert (second.files, len(source.asked)) == (first.files, asked)


def test_ratings_asked_for_later_are_added(fetch: Fetch, source: Source) -> None:
    fetch()
    sent = dict(source.sent)
    snapshot = fetch(ratings=True)
    assert_whole(snapshot, source, ratings=True)
    for path in source.files:
        if "noteRatings" not in path:
            assert source.sent[path] - sent.get(path, 0) <= 1
    assert fetch(ratings=False).skipped


def test_the_newest_day_is_found_walking_back_and_a_named_one_must_be_there(fetch: Fetch, source: Source) -> None:
    assert fetch(day=None, today=date(2026, 8, 6)).day == DAY
    with fails_with("no-dump", "2026-08-07 nor of the 14 days before"):
        fetch(day=None, today=date(2026, 8, 7))
    source.put("notes/notes", 1, day="2026/07/24")  # it has only begun to appear
    assert fetch(day=None, today=date(2026, 7, 24)).day == DAY
    with pytest.raises(SourceError, match="2026-07-22"):
        fetch(day=date(2026, 7, 22))


@pytest.mark.parametrize("validator", [("ETag", '"one"'), ("Last-Modified", "Thu, 23 Jul 2026 04:00:00 GMT"), None])
def test_a_cut_download_goes_on_where_it_stopped(
    fetch: Fetch, source: Source, validator: tuple[str, str] | None
) -> None:
    source.validator = validator
    path = f"/{BASE}/notes/notes-00001.zip"
    source.script[path] = ["cut:100000", "cut:50000"]
    assert_whole(fetch(), source)
    rule = validator[1] if validator else ""
    assert source.requests("notes-00001.zip") == [("", ""), ("bytes=100000-", rule), ("bytes=150000-", rule)]
    assert source.sent[path] <= len(source.files[path]) + 1


@pytest.mark.parametrize(
    "script",
    [
        ["cut:100000", "ignore-range"],
        ["cut:100000", "other-part"],
        ["short-length"],
        ["long-length"],
        ["damage"],
        ["500", "502", "503", "504"],
        ["cut:0", "cut:0"],
        ["cut:100000", "503", "cut:1", "429:3"],
    ],
    ids=str,
)
def test_what_goes_wrong_for_a_while_is_overcome(fetch: Fetch, source: Source, script: list[str]) -> None:
    for name in ("notes/notes-00000.zip", "noteStatusHistory/noteStatusHistory-00000.zip"):
        source.script[f"/{BASE}/{name}"] = list(script)
    assert_whole(fetch(), source)


def test_another_version_of_the_file_is_fetched_from_its_beginning(fetch: Fetch, source: Source) -> None:
    path = f"/{BASE}/notes/notes-00000.zip"
    source.always[path] = "cut:100000"
    source.script[path] = ["cut:100000", "404"]
    with pytest.raises(SourceError):
        fetch()
    source.always.clear()
    source.files[path] = zipped("other", 400_000)
    source.validator = ("ETag", '"two"')
    assert_whole(fetch(), source)


def test_the_wait_is_what_the_server_asks_for_up_to_a_limit_and_grows_where_it_does_not(
    fetch: Fetch, source: Source
) -> None:
    path = f"/{BASE}/notes/notes-00000.zip"
    source.script[path] = ["429:3600"]
    with pytest.raises(SourceError, match="asks to wait 3600 s"):
        fetch(longest_wait_s=60)
    fetch.waits.clear()
    source.script[path] = ["429:7", "503", "503", "503:1"]
    fetch()
    assert fetch.waits == [7, 2, 4, 8]


@pytest.mark.parametrize(
    ("fault", "times", "code"),
    [
        ("503", 6, "download-failed"),
        ("short-length", 2, "bad-zip"),
        ("damage", 2, "bad-zip"),
        ("cut:0", 6, "download-failed"),
        ("403", 1, "download-refused"),
    ],
)
def test_a_server_that_never_gets_better_is_given_up_and_nothing_looks_whole(
    fetch: Fetch, source: Source, fault: str, times: int, code: str
) -> None:
    path = f"/{BASE}/notes/notes-00001.zip"
    source.always[path] = fault
    with fails_with(code):
        fetch()
    assert len(source.requests("notes-00001.zip")) == times
    place = fetch.folder / str(DAY)
    assert not (place / "manifest.json").exists()
    assert not (place / "notes" / "notes-00001.zip").exists()
    source.always.clear()
    assert_whole(fetch(), source)


def test_a_server_that_sends_one_file_for_every_number_is_refused_at_the_second(fetch: Fetch, source: Source) -> None:
    same = source.files[f"/{BASE}/notes/notes-00000.zip"]
    source.files |= {f"/{BASE}/notes/notes-{number:05d}.zip": same for number in range(50)}
    with fails_with("no-progress", "notes-00001.zip: the same file as the one before it"):
        fetch()
    assert len([path for path, span, _ in source.asked if "notes-0" in path and span != "bytes=0-0"]) == 2


def test_a_server_that_sends_another_version_after_each_cut_is_given_up(fetch: Fetch, source: Source) -> None:
    path, number = f"/{BASE}/notes/notes-00000.zip", 0
    answer = source.answer

    def other_each_time(*arguments: Any) -> Reply:
        nonlocal number
        number += 1
        source.validator = ("ETag", f'"{number}"')
        source.always = {path: "cut:9000" if number % 2 else "cut:10"}
        return answer(*arguments)

    source.chat.behave = other_each_time
    with fails_with("download-failed"):
        fetch()
    assert len(fetch.waits) < 20


def test_a_gap_in_the_shards_stops_and_loses_nothing_in_silence(fetch: Fetch, source: Source) -> None:
    del source.files[f"/{BASE}/notes/notes-00001.zip"]
    with fails_with("missing-shard"):
        fetch()


def test_ratings_that_came_in_part_are_neither_read_nor_listed(fetch: Fetch, source: Source) -> None:
    source.always[f"/{BASE}/noteRatings/ratings-00001.zip"] = "503"
    with pytest.raises(SourceError):
        fetch(ratings=True)
    snapshot = fetch()
    assert not any("noteRatings" in item.name for item in snapshot.files)
    assert (snapshot.folder / "noteRatings" / "ratings-00000.zip").is_file()
    with fails_with("unfinished-download"):
        find_shards(snapshot.folder, "ratings", "noteRatings")
    source.always.clear()
    assert_whole(fetch(ratings=True), source, ratings=True)
    assert len(find_shards(snapshot.folder, "ratings", "noteRatings")) == 2


def test_a_file_that_changed_its_size_is_noticed_and_fetched_again(fetch: Fetch, source: Source) -> None:
    snapshot = fetch()
    (snapshot.folder / "notes" / "notes-00002.zip").unlink()
    assert_whole(fetch(), source)


def test_two_processes_do_not_fetch_the_same_dump_at_once(fetch: Fetch) -> None:
    with locked(fetch.folder / str(DAY) / ".lock", what="fetching this dump"), fails_with("busy"):
        fetch()


@pytest.mark.parametrize("url", ["", "ftp://x/y", "x.org", "https://x y"])
def test_a_base_url_must_be_one(url: str) -> None:
    with pytest.raises(UsageError):
        DumpRequest(base_url=url)


def test_a_folder_that_cannot_be_written_is_a_message(source: Source, tmp_path: Path) -> None:
    (tmp_path / "raw").write_text("a file")
    with fails_with("unwritable"):
        Fetch(source, tmp_path / "raw")()
