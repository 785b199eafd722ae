"""The rule judge, which decides whether links can be reached; only this judge and people rate that.

Links are requested safely, following redirects. A page is dead if its status is 404 or 410 or its host does not exist.
A page that refuses this program (401, 403, 429) or fails (5xx, timeout) may open for a person and is left undecided.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import aiohttp

from hellofresh.core.executors import completed
from hellofresh.core.net.addresses import AddressError, PageAddress
from hellofresh.core.net.public import BodyError, PublicHttp, TooLargeError, UnsafeError, names_fail
from hellofresh.judging.rubric import Rubric
from hellofresh.judging.study import BlindedResponse, JudgeKind, RatedStudy, Rating, read_responses

RULES = "rules"
"""The judge's name."""
REACHABILITY = "reachability"
_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 5  # shorteners need two or three; more are a loop
_MOST_BYTES = 64 << 10  # the status is what counts; the rest of the page is not read
_TOTAL_S = 15.0  # slower pages exist, and are called unclear, not dead
_AT_ONCE = 8  # links of one study point to few hosts, which must not be flooded


class LinkState(StrEnum):
    """The state of a link."""

    REACHABLE = "reachable"
    DEAD = "dead"
    UNCLEAR = "unclear"
    REFUSED = "refused"
    """Not requested, since it is not a public web address."""


_VALUES = {LinkState.REACHABLE: 1.0, LinkState.DEAD: 0.0, LinkState.REFUSED: 0.0, LinkState.UNCLEAR: None}


@dataclass(frozen=True, slots=True)
class LinkReport:
    """A cited link, its state, the final address, and the status or the reason, for people."""

    address: str
    state: LinkState
    final: str
    detail: str


async def check_links(http: PublicHttp, addresses: Sequence[str], *, control: bool = False) -> list[LinkReport]:
    """Check links, a few at once, in the given order; errors are in the reports. Closes the transport.

    Args:
        http: the transport.
        addresses: to check.
        control: whether an address that is always there is requested first.

    Raises:
        RunError: if even that cannot be reached (`no-network`).
    """
    gate = asyncio.Semaphore(_AT_ONCE)

    async def check(address: str) -> LinkReport:
        trail = [address]
        async with gate:
            try:
                async with asyncio.timeout(_TOTAL_S):
                    state, detail = await _follow(http, trail)
            except TimeoutError:
                state, detail = LinkState.UNCLEAR, f"took over {_TOTAL_S:g} s"
            except (BodyError, TooLargeError):  # the page exists, whatever its content
                state, detail = LinkState.REACHABLE, "HTTP 200"
            except (AddressError, UnsafeError) as error:
                state, detail = LinkState.REFUSED, str(error)
            except aiohttp.ClientConnectorDNSError as error:
                state, detail = LinkState.DEAD, "no such host"
                if names_fail(error):
                    state, detail = LinkState.UNCLEAR, "names cannot be looked up"
            except (aiohttp.ClientError, OSError, ValueError) as error:
                state, detail = LinkState.UNCLEAR, f"no connection ({type(error).__name__})"
        return LinkReport(address, state, trail[-1], detail)

    try:
        if control:
            await http.check_network()
        return list(await asyncio.gather(*map(check, addresses)))
    finally:
        await http.close()


async def _follow(http: PublicHttp, trail: list[str]) -> tuple[LinkState, str]:
    """Follow redirects to the end; every address is appended to `trail`."""
    page = PageAddress.parse(trail[0])
    for _ in range(_MOST_REDIRECTS + 1):
        trail.append(page.url)
        reply = await http.get(page, most_bytes=_MOST_BYTES, cut=True)
        if 200 <= reply.status < 300:
            return LinkState.REACHABLE, f"HTTP {reply.status}"
        if reply.status not in _REDIRECTS:
            return LinkState.DEAD if reply.status in (404, 410) else LinkState.UNCLEAR, f"HTTP {reply.status}"
        page = page.joined(reply.headers.get("location", ""))
    return LinkState.UNCLEAR, f"over {_MOST_REDIRECTS} redirects"


def rate_links(study: RatedStudy) -> list[Rating]:
    """Ratings of the reachability of every link of a study's responses.

    Raises:
        UnknownNameError: if the rubric has no such criterion.
        DataError: if the responses are damaged.
        RunError: if this machine has no network.
    """
    http = PublicHttp("HelloFresh link check")
    return judge_links(http, study.rubric, read_responses(study.files), control=True)


def judge_links(
    http: PublicHttp, rubric: Rubric, responses: Sequence[BlindedResponse], *, control: bool = False
) -> list[Rating]:
    """Like `rate_links`, for some responses, after the control (see `check_links`); closes the transport.

    A page that refuses programs, or times out, gets no value, since a person may still open it.
    """
    criterion = rubric.criterion(REACHABILITY)
    addresses = sorted({address for response in responses for address in response.sources})
    reports = {report.address: report for report in completed(check_links(http, addresses, control=control))}
    found = []
    for response, report in [(item, reports[address]) for item in responses for address in item.sources]:
        moved = f"; moved to {report.final}" if report.final != report.address else ""
        comment = f"{report.state}: {report.detail}{moved}"
        found.append(
            Rating(
                sample=response.sample,
                response=response.id,
                link=report.address,
                judge=RULES,
                kind=JudgeKind.RULE,
                criterion=criterion.id,
                value=_VALUES[report.state],
                comment=comment,
            )
        )
    return found
