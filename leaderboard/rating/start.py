"""Starts the page Rate in a process that cannot read the key: `python -m leaderboard.rating.start FOLDER DATA ...`."""

from __future__ import annotations

import sys
from pathlib import Path

from hellofresh.judging.confinement import can_read, hide

_OPTIONS = (
    "--server.headless=true",
    "--server.fileWatcherType=none",
    "--browser.gatherUsageStats=false",
    "--client.toolbarMode=minimal",
    "--client.showErrorDetails=none",
)
KEY_IN_REACH = 3
"""Exit status of a process that could read the key, and therefore shows no page."""


def main(arguments: list[str]) -> None:
    """Give up reading what is private, make sure of it, and run the page.

    Args:
        arguments: the page's folder, the workspace, and options of Streamlit.
    """
    folder, data = Path(arguments[0]).resolve(), Path(arguments[1]).resolve()
    hide(data / "private", but=folder)
    hide(data / "ratings")
    if any(can_read(folder.parent / name) for name in ("key.parquet", "raters.json")):
        sys.stderr.write("error: this process could read who wrote the responses, so it does not show them.\n")
        sys.exit(KEY_IN_REACH)
    from streamlit.web import cli  # after the rights are gone

    app = Path(__file__).with_name("app.py")
    sys.argv = ["streamlit", "run", str(app), *_OPTIONS, *arguments[2:], "--", str(folder)]
    cli.main()


if __name__ == "__main__":
    main(sys.argv[1:])
