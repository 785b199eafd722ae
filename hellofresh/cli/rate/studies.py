"""`hellofresh rate import`: studies that others have rated."""

from __future__ import annotations

import argparse

from hellofresh.cli._output import CommandOutput
from hellofresh.core.workspace import Workspace
from hellofresh.judging.imports import MUSE_EDITION, import_muse
from hellofresh.judging.muse import read_muse
from hellofresh.judging.table import RatingPhase

__all__ = ["run_import_muse"]

_RELEASED = {"posts": 247, "counting posts": 232, "responses": 1_062, "rated responses": 1_280, "rated links": 2_040}
"""What the authors' files hold at the commit that the edition is named after."""


def run_import_muse(options: argparse.Namespace, output: CommandOutput) -> int:
    """Import the released study of MUSE."""
    study = read_muse(options.path)
    kept = import_muse(Workspace.from_environment(), study)
    rows = study.ratings
    found = {
        "posts": len(study.posts),
        "counting posts": sum(post.phase is RatingPhase.MAIN for post in study.posts),
        "responses": len(study.responses),
        "rated responses": rows.filter(rows["criterion"] == kept.rubric.overall).height,
        "rated links": rows.filter(rows["criterion"] == "reachability").height,
    }
    output.result({"edition": str(MUSE_EDITION), "ratings": str(kept.files.ratings), **found})
    output.table(
        f"{MUSE_EDITION}: imported", ("", "found", "released"), [(k, v, _RELEASED[k]) for k, v in found.items()]
    )
    if found != _RELEASED:
        output.say("warning: these are not the files that the edition is named after; its figures will differ.")
    output.say(f"{rows.height:,} ratings: {kept.files.ratings}")
    return 0
