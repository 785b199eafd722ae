"""The rule judge: what can be decided without judgement. It alone, and people, say whether a link can be reached."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hellofresh.core.net.addresses import AddressError, PageAddress
from hellofresh.core.net.public import PublicHttp
from hellofresh.judging.links import LinkReport, LinkState, check_links
from hellofresh.judging.rubric import Criterion, Rubric
from hellofresh.judging.study import BlindedResponse
from hellofresh.judging.table import JudgeKind, Rating, RatingPhase

__all__ = ["RULES", "RuleFacts", "judge_links", "rule_facts"]

RULES = "rules"
"""The judge's name."""
REACHABILITY = "reachability"
_VALUES = {LinkState.REACHABLE: 1.0, LinkState.DEAD: 0.0, LinkState.REFUSED: 0.0, LinkState.UNCLEAR: None}


@dataclass(frozen=True, slots=True)
class RuleFacts:
    """What rules tell of a response.

    Attributes:
        response: id.
        words, characters: of its text.
        links: addresses that it cites.
        malformed: of these, how many are no web address.
        in_text: how many stand in the text itself.
        publishers: rating of each link's publisher, empty where none is known.
    """

    response: str
    words: int
    characters: int
    links: int
    malformed: int
    in_text: int
    publishers: tuple[str, ...]


def rule_facts(response: BlindedResponse, publisher: Callable[[str], str] = lambda _: "") -> RuleFacts:
    """What rules tell of a response.

    Args:
        response: the response.
        publisher: gives the rating of the publisher of a host, empty where none is known.
    """
    hosts = [_host(address) for address in response.sources]
    return RuleFacts(
        response=response.id,
        words=len(response.text.split()),
        characters=len(response.text),
        links=len(response.sources),
        malformed=sum(host is None for host in hosts),
        in_text=sum(address in response.text for address in response.sources),
        publishers=tuple("" if host is None else publisher(host) for host in hosts),
    )


def _host(address: str) -> str | None:
    try:
        return PageAddress.parse(address).host
    except AddressError:
        return None


def judge_links(http: PublicHttp, rubric: Rubric, responses: Sequence[BlindedResponse]) -> list[Rating]:
    """Ratings of the reachability of every link; closes the transport.

    A page that refuses programs, or does not answer in time, gets no value: a person may still open it.

    Raises:
        UnknownNameError: if the rubric has no criterion of that name.
    """
    criterion = rubric.criterion(REACHABILITY)
    addresses = sorted({address for response in responses for address in response.sources})
    reports = {report.address: report for report in asyncio.run(check_links(http, addresses))}
    return list(_ratings(criterion, responses, reports))


def _ratings(
    criterion: Criterion, responses: Sequence[BlindedResponse], reports: dict[str, LinkReport]
) -> Iterator[Rating]:
    for response in responses:
        for address in response.sources:
            report = reports[address]
            moved = f"; moved to {report.final}" if report.final != address else ""
            yield Rating(
                sample=response.sample,
                response=response.id,
                link=address,
                judge=RULES,
                kind=JudgeKind.RULE,
                criterion=criterion.id,
                value=_VALUES[report.state],
                weight=1.0,
                phase=RatingPhase.MAIN,
                comment=f"{report.state}: {report.detail}{moved}",
                at="",
            )
