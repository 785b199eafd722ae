"""Starts the page Try for this machine only: `python -m leaderboard.trying.start DATA PORT`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from leaderboard.trying.asking import GIVEN

_OPTIONS = (
    "--server.address=127.0.0.1",
    # A page of the web that has its own name lead to this machine would else pass for this one (DNS rebinding).
    "--server.allowedHosts=127.0.0.1",
    "--server.allowedHosts=localhost",
    "--server.headless=true",
    "--server.fileWatcherType=none",
    "--server.maxUploadSize=20",
    "--browser.gatherUsageStats=false",
    "--client.toolbarMode=minimal",
    "--client.showErrorDetails=none",
)


def main(arguments: list[str]) -> None:
    """Run the page.

    Args:
        arguments: the workspace, the port, and options for every command that the page runs.
    """
    from streamlit.web import cli

    os.environ["HELLOFRESH_DATA"] = str(Path(arguments[0]).resolve())
    os.environ[GIVEN] = json.dumps(arguments[2:])
    app = Path(__file__).with_name("app.py")
    sys.argv = ["streamlit", "run", str(app), *_OPTIONS, f"--server.port={int(arguments[1])}"]
    cli.main()


if __name__ == "__main__":
    main(sys.argv[1:])
