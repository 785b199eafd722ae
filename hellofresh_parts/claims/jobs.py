"""The jobs of claims: from the options of `hellofresh collect claims`, configured sources, or the bundled sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from collectors import sample
from collectors.jobs import DUMP, JobRequest, Progress
from collectors.settings import settings_from
from hellofresh.core.clock import now
from hellofresh.core.errors import UsageError
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.releases.candidates import Collection
from hellofresh.releases.collection import CollectionJob
from hellofresh.releases.life.manifest import BUNDLED
from hellofresh.tasks import CLAIMS
from hellofresh_parts.claims.collect import claims_parameters
from hellofresh_parts.claims.collect import collect as collect_claims
from hellofresh_parts.claims.declared import ClaimsSettings
from hellofresh_parts.claims.feed import ADDRESS, daily_copies, feed_name, fetch_feed, fetch_reviews, reviews_name


def claims_job(
    quarter: Quarter,
    feeds: Sequence[Path],
    settings: ClaimsSettings,
    *,
    kind: str = DUMP,
    days: Mapping[Path, str] | None = None,
    pending: bool = False,
) -> CollectionJob:
    """Claims reviewed in a quarter, from feeds of reviews, some of them copies of known days."""

    def collect(progress: Progress) -> Collection:
        return collect_claims(quarter, feeds, settings, days=days, progress=progress, pending=pending)

    files = [*feeds, *([settings.verdicts] if settings.verdicts else [])]
    return CollectionJob(
        CLAIMS, quarter, kind, files, claims_parameters(settings) | ({"pending": True} if pending else {}), collect
    )


def bundled_claims(workspace: Workspace) -> list[CollectionJob]:
    """The claims of the bundled sample."""
    feed = workspace.raw("claims", "sample") / "feed.json"
    return [claims_job(one, [feed], ClaimsSettings(), kind=BUNDLED) for one in sample.CLAIMS_QUARTERS]


def claims_jobs(request: JobRequest) -> list[CollectionJob]:
    """Claims from the feeds and publishers that a command names, else from the configured ones, if any."""
    if not request.asked:
        return _configured_claims(request)
    options, quarter = request.options, request.options.quarter
    folder = request.workspace.raw("claims", str(quarter))
    if not options.feed and not options.api:
        raise UsageError(
            "no source of reviews",
            expected="--feed FILE or --api SITE",
            fix="docs/sources.md says where feeds are.",
            code="no-source",
        )
    feeds = [
        *(fetch_feed(place, folder, progress=request.progress) for place in options.feed),
        *(fetch_reviews(site, quarter, folder, progress=request.progress) for site in options.api),
    ]
    chosen = settings_from(ClaimsSettings, options)
    return [claims_job(quarter, feeds, chosen, pending=options.pending)]


def _configured_claims(request: JobRequest) -> list[CollectionJob]:
    """Claims from the configured sources, which are fetched daily from a quarter's first day on.

    A feed may hold only the newest reviews, so each day's copy is kept, and all copies are collected.
    """
    settings, quarter, pending = request.settings, request.options.quarter, request.options.pending
    configured, afresh = settings.sources.added.get("claims"), request.options.force
    if configured is None:
        return []
    span = (quarter.start.date(), settings.release.calendar.rule.settles(quarter))
    fetched: dict[str, Callable[[Path], Path]] = {
        feed_name(place): partial(fetch_feed, place, progress=lambda _: None)
        for place in configured.feed
        if place.startswith(ADDRESS)
    }
    fetched |= {
        f"{quarter}/{reviews_name(site)}": partial(fetch_reviews, site, quarter, progress=lambda _: None)
        for site in configured.api
    }
    days: dict[Path, str] = {}
    for name, fetch in fetched.items():
        days |= daily_copies(request.workspace.raw("claims", "daily"), name, span, fetch, ask=afresh)
    if afresh and not (now().date() >= span[1] or pending):
        return []
    feeds = [*(Path(place) for place in configured.feed if not place.startswith(ADDRESS)), *days]
    chosen = ClaimsSettings(tuple(configured.languages), configured.verdicts)
    return [claims_job(quarter, feeds, chosen, days=days, pending=pending)] if feeds else []
