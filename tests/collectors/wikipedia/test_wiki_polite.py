"""The session against a server that misbehaves: it waits when told to, never asks too often, and gives up in time."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from collectors.wikipedia.polite import PoliteSession, WikiLimits, _AgainError, _judge
from collectors.wikipedia.site import WikiAnswers, WikiSite
from collectors.wikipedia.source import PASSWORD, TOKEN, USER, WikiAccount
from hellofresh.core.errors import ConfigError, SourceError, UsageError
from tests.fakes import fails_with, refused
from tests.loopback import Reply

CONTACT = "someone@example.org"
FINE = Reply(b'{"batchcomplete":true}')


class FakeClock:
    """Time passes only by waiting for it."""

    def __init__(self):
        self.time, self.sleeps = 1000.0, []

    def now(self):
        return self.time

    def sleep(self, seconds):
        self.sleeps.append(seconds)
        self.time += seconds

    def wake(self):
        pass


@pytest.fixture
def server(chat):
    """Answers as a test says, one after the other, and then that all is fine."""
    chat.script, chat.url = deque(), chat.base_url.replace("/v1", "/w/api.php")
    chat.behave = lambda *_: chat.script.popleft() if chat.script else FINE
    return chat


def queries(server):
    return [parse_qs(urlsplit(path).query) | body for path, body in zip(server.paths, server.bodies, strict=True)]


@contextmanager
def asking(clock=None, **limits):
    with PoliteSession(CONTACT, WikiLimits(**limits), clock=clock) as session:
        yield session


def get(session, server):
    return session.get(server.url, params={"action": "query"})


def test_every_request_says_who_asks_and_sends_maxlag(server):
    with asking() as session:
        get(session, server)
        get(session, server)
    for query, headers in zip(queries(server), server.headers, strict=True):
        assert query["maxlag"] == ["5"]
        assert CONTACT in headers["user-agent"] and headers["user-agent"].startswith("HelloFresh/")


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after_is_waited_for_in_both_forms(server, status, form):
    clock = FakeClock()
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=40), usegmt=True)
    server.script.append(Reply(b"", status, {"Retry-After": "37" if form == "seconds" else later}))
    with asking(clock) as session:
        assert get(session, server).status_code == 200
    assert len(server.paths) == 2
    waited = sum(clock.sleeps)
    assert waited == 37 if form == "seconds" else 20 < waited <= 40  # a busy machine takes a while to begin


def test_when_one_is_told_to_wait_the_others_wait_too(server):
    clock = FakeClock()
    with asking(clock) as session:
        session._rate.hold(clock.now(), 50)
        get(session, server)
    assert sum(clock.sleeps) >= 50


LAG = b'{"error":{"code":"maxlag","info":"Waiting for db1: 7 seconds lagged.","lag":7}}'


@pytest.mark.parametrize(
    ("headers", "waited"),
    [
        ({"Retry-After": "11", "X-Database-Lag": "7", "MediaWiki-API-Error": "maxlag"}, 11),
        ({"Retry-After": "11"}, 11),
        ({}, 5),
    ],
)
def test_a_lagging_wiki_is_left_alone_for_as_long_as_it_says(server, headers, waited):
    clock = FakeClock()
    server.script.append(Reply(LAG, 200, headers))
    with asking(clock) as session:
        assert get(session, server).json() == {"batchcomplete": True}
    assert sum(clock.sleeps) == pytest.approx(waited)


RATE = b'{"error":{"code":"ratelimited"}}'
JUDGED = [
    (200, b"{}", {}, None), (200, b"{}", {"MediaWiki-API-Error": "badtoken"}, None),
    (200, b"", {}, ("the answer is empty, or JSON that is cut", None)),
    (200, b'{"query": {"pages"', {}, ("the answer is empty, or JSON that is cut", None)),
    (200, b"<html>", {}, None),
    (200, b"{}", {"X-Database-Lag": "7"}, ("the wiki answered that its database lags behind", 5.0)),
    (200, b'{"error":{"code":"internal_api_error_DBQueryError"}}', {},
     ("the wiki answered internal_api_error_DBQueryError", None)),
    (503, b"", {}, ("the server answered 503", None)),
    (503, b"", {"Retry-After": "7"}, ("the server answered 503", 7.0)),
    (429, b"", {"Retry-After": "7"}, ("the server answered 429", 7.0)),
    (500, b"", {"Retry-After": "7"}, ("the server answered 500", None)),
    (200, b"", {"MediaWiki-API-Error": "readonly"}, ("the wiki answered readonly", 5.0)),
    (200, b"", {"MediaWiki-API-Error": "maxlag", "Retry-After": "11"}, ("the wiki answered maxlag", 11.0)),
    (200, b" " + RATE, {}, ("the wiki answered ratelimited", 5.0)),
    (200, RATE, {"MediaWiki-API-Error": "x", "Retry-After": "3"}, ("the wiki answered ratelimited", 3.0)),
    (200, b'{"query":' + RATE + b"}", {}, None), (200, RATE.replace(b"ratelimited", b"other"), {}, None),
    (200, RATE + b" " * (2**16 - len(RATE) - 1), {}, ("the wiki answered ratelimited", 5.0)),
    (200, RATE + b" " * (2**16 - len(RATE)), {}, None),
    (404, b"", {}, "the server answered 404"), (204, b"", {}, "the server answered 204"),
    (302, b"", {"Location": "l" * 201}, f"the server answered 302, pointing to {'l' * 200}"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "headers", "outcome"), JUDGED)
def test_an_answer_is_taken_waited_for_or_refused(status, body, headers, outcome):
    response = requests.Response()
    response.status_code, response._content = status, body
    response.headers.update(headers)
    if outcome is None:
        _judge(response, "http://a.example")
    elif isinstance(outcome, str):
        with fails_with("api-refused") as caught:
            _judge(response, "http://a.example")
        assert (caught.value.what, caught.value.where) == (outcome, "http://a.example")
    else:
        with pytest.raises(_AgainError) as again:
            _judge(response, "http://a.example")
        assert (str(again.value), again.value.wait_s) == outcome


def test_faults_of_the_server_are_repeated_with_longer_and_longer_waits(server):
    clock = FakeClock()
    server.script += [Reply(b"", status) for status in (500, 502, 504, 503)]
    with asking(clock) as session:
        get(session, server)
    assert clock.sleeps == [1, 2, 4, 8]


def test_a_server_that_is_always_busy_is_given_up_at_the_deadline(server):
    clock = FakeClock()
    server.script += [Reply(b"", 429, {"Retry-After": "60"})] * 100
    with asking(clock, request_s=200) as session, fails_with("api-deadline") as info:
        get(session, server)
    assert "429" in str(info.value)
    assert sum(clock.sleeps) <= 200
    assert len(server.paths) <= 4


def test_the_whole_run_has_a_deadline(server):
    clock = FakeClock()
    with asking(clock, per_minute=1, total_s=100) as session:
        get(session, server)
        get(session, server)
        refused("api-deadline", get, session, server)
    assert clock.time <= 1100


def test_a_wait_beyond_the_deadline_is_not_begun(server):
    clock = FakeClock()
    server.script.append(Reply(b"", 503, {"Retry-After": "9" * 24}))
    with asking(clock) as session, pytest.raises(SourceError):
        get(session, server)
    assert clock.sleeps == []


@pytest.mark.parametrize("fault", [Reply(b" " * 300, trickle_s=0.02), Reply(delay_s=0.6)], ids=["drip", "silent"])
def test_a_server_that_will_not_finish_is_left_in_time(server, fault):
    server.script += [fault] * 5
    start = time.monotonic()
    with asking(read_s=0.2, request_s=0.7) as session, fails_with("api-deadline"):
        get(session, server)
    assert time.monotonic() - start < 30


def test_an_answer_that_breaks_off_is_asked_for_again(server):
    clock = FakeClock()
    server.script += [Reply(b"{" * 1000, cut_at=1)] * 2
    with asking(clock) as session:
        assert get(session, server).content == FINE.body
    assert len(server.paths) == 3


def test_nobody_there():
    with asking(FakeClock(), request_s=20) as session, fails_with("api-deadline"):
        session.get("http://127.0.0.1:9/w/api.php", params={})


@pytest.mark.parametrize("status", [301, 302, 400, 401, 403, 404])
def test_refusals_and_redirects_are_final(server, status):
    server.script.append(Reply(b"no", status, {"Location": "http://169.254.169.254/"}))
    with asking(FakeClock()) as session, fails_with("api-refused"):
        get(session, server)
    assert len(server.paths) == 1


def test_no_more_than_three_at_once(server):
    server.script += [replace(FINE, delay_s=0.05)] * 12
    with asking(per_minute=6000) as session:
        threads = [threading.Thread(target=get, args=(session, server)) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert (len(server.paths), server.most_at_once) == (12, 3)


def test_stopping_ends_all_waits(server):
    server.script.append(Reply(b"", 503, {"Retry-After": "30"}))
    errors = []
    with asking() as session:

        def ask():
            with pytest.raises(SourceError) as info:
                get(session, server)
            errors.append(info.value.code)

        thread = threading.Thread(target=ask)
        thread.start()
        while not server.paths:
            time.sleep(0.01)
        session.stop()
        thread.join()
    assert errors == ["api-stopped"]


@pytest.mark.parametrize("contact", [None, "", "  ", "me", "a@b\r\nX-Evil: 1", "ä@example.org", "x" * 500 + "@y.org"])
def test_without_a_contact_nothing_is_asked(contact):
    with pytest.raises(UsageError):
        PoliteSession(contact)


@pytest.mark.parametrize("name", ["per_minute", "at_once", "connect_s", "read_s", "request_s", "total_s"])
def test_limits_must_leave_room(name):
    with pytest.raises(ConfigError):
        WikiLimits(**{name: 0})


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", b"[1]", b"null", b"1", b'{"query":1}', b'{"query":{"pages":[]}}', b'{"error":{}}',
     b'{"error":"x"}', b'{"curtimestamp":"2026-01-01T00:00:00Z","query":{"pages":[{"pageid":"5"}]}}',
     b'{"curtimestamp":"now","query":{}}', b"\xff\xfe",
     b'{"curtimestamp":"2026-01-01T00:00:00Z","query":{"pages":[{"title":"\\ud800"}]}}'],
)  # fmt: skip
def test_what_no_wiki_answers_is_refused_and_not_kept(server, tmp_path, body):
    server.script.append(Reply(body))
    with asking(FakeClock()) as session, WikiAnswers(tmp_path / "a.sqlite") as answers:
        site = WikiSite(server.url, session, answers)
        with pytest.raises(SourceError) as info:
            site.page_ids(["Tea"])
        assert info.value.code in {"api-strange-answer", "api-error"}
        assert answers._db.execute("SELECT * FROM answers").fetchone() is None


def body(**content):
    return Reply(json.dumps({"curtimestamp": "2026-01-01T00:00:00Z", **content}).encode())


USER_INFO = {"name": "Me", "rights": [], "groups": []}
TOKENS = body(query={"tokens": {"logintoken": "t+\\"}})
SITE = body(query={"general": {"generator": "MediaWiki 1.43.0"}, "namespaces": {}, "userinfo": USER_INFO})
PAGE = body(query={"pages": [{"pageid": 5, "ns": 0, "title": "Tea"}]})


def ask_as(server, tmp_path, account):
    with asking(FakeClock()) as session, WikiAnswers(tmp_path / "a.sqlite") as answers:
        return WikiSite(server.url, session, answers, account).page_ids(["Tea"])


def test_a_bot_password_logs_in_once_and_every_question_insists_on_it(server, tmp_path):
    server.script.extend([TOKENS, body(login={"result": "Success"}), SITE, PAGE])
    account = WikiAccount(user="Me@bot", password="s3cret")
    assert ask_as(server, tmp_path, account) == {"Tea": 5}
    assert queries(server)[1]["lgname"] == ["Me@bot"]
    assert queries(server)[-1]["assert"] == ["user"]
    assert ask_as(server, tmp_path, account) == {"Tea": 5}  # from disk: nothing is asked
    assert len(server.paths) == 4


def test_a_token_goes_with_every_question(server, tmp_path):
    server.script.append(PAGE)
    assert ask_as(server, tmp_path, WikiAccount(token="abc")) == {"Tea": 5}
    [question], [headers] = queries(server), server.headers
    assert (question["assert"], headers["authorization"]) == (["user"], "Bearer abc")


@pytest.mark.parametrize(
    "answers",
    [
        [TOKENS, body(login={"result": "Failed", "reason": "no"})],
        [TOKENS, body(login={"result": "Success"}), SITE, body(error={"code": "assertuserfailed", "info": "x"})],
    ],
)
def test_an_account_that_the_wiki_does_not_know_is_an_error_without_the_password(server, tmp_path, answers):
    server.script.extend(answers)
    with fails_with("api-login") as caught:
        ask_as(server, tmp_path, WikiAccount(user="Me@bot", password="s3cret"))
    assert "s3cret" not in f"{caught.value}{WikiAccount(user='Me@bot', password='s3cret')!r}"


@pytest.mark.parametrize(
    ("api", "values", "expected"),
    [
        ("https://a.org/w/api.php", {}, ("", "", "")),
        ("https://a.org/w/api.php", {TOKEN: " abc "}, ("abc", "", "")),
        ("https://a.org/w/api.php", {USER: "Me@bot", PASSWORD: "x"}, ("", "Me@bot", "x")),
        ("http://a.org/w/api.php", {}, ("", "", "")),
        ("http://a.org/w/api.php", {TOKEN: "abc"}, "unsafe-account"),
        ("https://a.org/w/api.php", {USER: "Me@bot"}, "bad-account"),
        ("https://a.org/w/api.php", {TOKEN: "abc", USER: "Me@bot", PASSWORD: "x"}, "bad-account"),
    ],
)
def test_the_environment_names_one_whole_account(monkeypatch, api, values, expected):
    for name in (TOKEN, USER, PASSWORD):
        monkeypatch.delenv(name, raising=False)
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    if isinstance(expected, str):
        with fails_with(expected):
            WikiAccount.from_environment(api)
    else:
        account = WikiAccount.from_environment(api)
        assert (account.token, account.user, account.password) == expected
