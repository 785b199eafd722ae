"""`hellofresh release publish`: what opened quarters have made public, as a Hugging Face dataset repository."""

from __future__ import annotations

import argparse
from pathlib import Path

from hellofresh.cli._output import CommandOutput
from hellofresh.core.clock import now
from hellofresh.core.workspace import Workspace
from hellofresh.releases.publish import Hub, Publication, publish_to_folder, publish_to_hub
from hellofresh.tasks.samples import to_json

__all__ = ["publish", "show_published"]

_HUB = "hub:"


def publish(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace, quarters = Workspace.from_environment(), sorted(set(options.edition or ()))
    if options.to and options.to.startswith(_HUB):
        hub = Hub.from_environment(options.to.removeprefix(_HUB))
        published = publish_to_hub(workspace, hub, now(), quarters)
    else:
        target = Path(options.to) if options.to else workspace.published
        published = publish_to_folder(workspace, target, now(), quarters)
    output.result({**to_json(published), "quarters": [str(edition) for edition in published.quarters]})
    show_published(output, published)
    return 0


def show_published(output: CommandOutput, published: Publication) -> None:
    """What was published, in a line."""
    state = "unchanged, skipped" if published.skipped else "written"
    revision = f" (revision {published.revision[:12]})" if published.revision else ""
    output.say(
        f"Published {', '.join(str(edition) for edition in published.quarters)} to {published.target}{revision}: "
        f"{published.files} files, {published.size / 1e6:.1f} MB, {state}"
    )
    if published.bundled:
        output.say("note: the bundled sample is part of it; card and file names say so.")
