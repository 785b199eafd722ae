"""Links that raters and the rule judge ask for: reachable, dead, unclear or refused, and never inside."""

from __future__ import annotations

import asyncio
import socket

import pytest

from hellofresh.core.net.public import PublicHttp
from hellofresh.judging.links import LinkReport, LinkState, check_links, judge_links
from hellofresh.judging.rubric import load_rubric
from hellofresh.judging.study import BlindedResponse
from tests.fakes import refused
from tests.web.conftest import FailingNames, Site, reply


def checked(pages: dict, *paths: str, allowed: bool = True) -> list[LinkReport]:
    async def ask() -> list[LinkReport]:
        site = Site(pages)
        async with site.serving():
            http = PublicHttp("test", allowed=frozenset({site.endpoint}) if allowed else frozenset())
            return await check_links(http, [path if "://" in path else site.base + path for path in paths])

    return asyncio.run(ask())


PAGES = {
    "/ok": reply(b"<p>here</p>"),
    "/moved": reply(status=301, Location="/ok"),
    "/loop": reply(status=302, Location="/loop"),
    "/gone": reply(status=410),
    "/no": reply(status=403),
    "/busy": reply(status=503),
    "/inside": reply(status=302, Location="http://169.254.169.254/latest/meta-data/"),
    "/odd": reply(b"x", Content_Encoding="br"),
}


STATES = {
    LinkState.REACHABLE: ["/ok", "/moved", "/odd"],
    LinkState.DEAD: ["/missing", "/gone"],
    LinkState.UNCLEAR: ["/no", "/busy", "/loop"],
    LinkState.REFUSED: [
        "/inside",
        "javascript://x",
        "http://127.0.0.1:1/",
        "http://user@example.org/",
        "file:///etc/passwd",
    ],
}


@pytest.mark.parametrize("state", STATES)
def test_a_link_is_told_apart(state: LinkState) -> None:
    found = checked(PAGES, *STATES[state])
    assert [one.state for one in found] == [state] * len(STATES[state]), found


def test_redirects_end_in_the_report_and_a_server_of_ones_own_is_not_reached() -> None:
    (found,) = checked(PAGES, "/moved")
    assert found.final.endswith("/ok") and found.address.endswith("/moved")
    (found,) = checked(PAGES, "/ok", allowed=False)
    assert found.state is LinkState.REFUSED


def test_the_rule_judge_rates_every_link_and_leaves_the_unclear_to_people() -> None:
    rubric = load_rubric("correction-13")
    links = ("http://127.0.0.1:1/", "ftp://example.org/", "not a link")
    ratings = judge_links(PublicHttp("test"), rubric, [BlindedResponse("r-1", "mp-1", "text", links)])
    assert [(item.link, item.value, item.kind) for item in ratings] == [(link, 0.0, "rule") for link in links]
    assert all(item.comment.startswith("refused: ") for item in ratings)


@pytest.mark.parametrize(
    ("errno", "state"), [(socket.EAI_NONAME, LinkState.DEAD), (socket.EAI_AGAIN, LinkState.UNCLEAR)]
)
def test_a_resolver_that_fails_is_no_finding_about_a_link(errno: int, state: LinkState) -> None:
    async def ask(*, control: bool = False) -> list[LinkReport]:
        return await check_links(
            PublicHttp("test", resolver=FailingNames(errno)), ["http://a.example/"], control=control
        )

    (found,) = asyncio.run(ask())
    assert found.state is state
    refused("no-network", lambda: asyncio.run(ask(control=True)))
