"""`hellofresh collect claims`: feeds of reviews, downloaded or at hand, and the Fact Check Tools API."""

from __future__ import annotations

import argparse

from collectors.claims import ClaimsSettings
from collectors.claims.api import fetch_reviews
from collectors.claims.download import fetch_feed
from collectors.jobs import claims_job
from hellofresh.cli._output import CommandOutput
from hellofresh.cli.collect.commands import finish
from hellofresh.core.errors import UsageError
from hellofresh.core.workspace import Workspace

__all__ = ["collect_claims"]


def collect_claims(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace = Workspace.from_environment()
    if not options.feed and not options.api:
        raise UsageError(
            "no source of reviews", expected="--feed FILE or --api SITE", fix="docs/sources.md says where feeds are.",
            code="no-source",
        )  # fmt: skip
    folder = workspace.raw("claims", str(options.quarter))
    with output.progress("fetch reviews") as bar:
        feeds = [fetch_feed(place, folder, progress=bar.line) for place in options.feed]
        feeds += [fetch_reviews(site, options.quarter, folder, progress=bar.line) for site in options.api]
    settings = ClaimsSettings(tuple(options.languages), options.verdicts)
    job = claims_job(options.quarter, feeds, settings, pending=options.pending)
    return finish(workspace, job, options, output)
