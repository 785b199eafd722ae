"""Commands for submitting a system: `submission` and `hydrate`."""

from __future__ import annotations

from pathlib import Path

from hellofresh.cli.arguments.declare import EDITION, PRIVATE, QUARTER, SPLIT, command, edition, option, posts_options

REGIMES = ("zero-shot", "web-search", "agent", "other")
INBOX_VARIABLE = "HELLOFRESH_INBOX"
"""Copy of the constant in `hellofresh.submissions`, whose import would slow the help; a test compares them."""
NOTES_TASKS = ("x-notes", "x-notes-media", "x-posts")
_SAMPLES = option(
    "--samples PATH|URL", "the public samples: a folder of releases, or an address (default: the workspace)"
)
_SPLIT = option(
    "--split",
    "prospective: samples that were undecided when released (default: main, or the folder's split)",
    choices=SPLIT,
)
_EDITION = edition("edition (default: from the folder above the team's; for an inbox, all)")


COMMANDS = (
    command(
        "submission new",
        "Start a submission: write its two files, which list every sample to predict.",
        "submission_new:new",
        edition(),
        option("--task T", "only this task", many=True),
        option(
            "--from-inspect LOG",
            "take edition, task and choices from an inspect_ai log (needs the extra inspect)",
            Path,
            one_of="filled",
        ),
        option("--from-run FILE", "take the rankings of a retrieval task from a TREC run", Path, one_of="filled"),
        option("--name NAME", "name of the system"),
        option("--team TEAM", "name of the team"),
        option("--contact CONTACT", "an address at which maintainers can reach you"),
        option("--regime REGIME", ", ".join(REGIMES)),
        option("--model M", "a model that the system uses", many=True),
        option("--folder TEAM/SYSTEM", "its folder (default: derived from the names of team and system)", default=""),
        _SPLIT,
        _SAMPLES,
        submissions="any",
    ),
    command(
        "submission check",
        "Check a submission, a file of predictions, or all changes to a folder of submissions.",
        "submission:check",
        option("path FILE|DIR", "a submission's folder, a file of predictions, or all submissions"),
        option("--against DIR", "for a folder of all submissions: check the changes since this earlier copy"),
        option("--author A", "with --against: the account that made the changes; see TEAMS.toml", default=""),
        option("--score", "also score it, if the labels are revealed"),
        PRIVATE,
        _EDITION,
        _SPLIT,
        _SAMPLES,
        submissions="any",
    ),
    command(
        "submission add",
        "Accept a submission, or uploads from the site: check them, copy them, and write their receipts.",
        "submission:add",
        option("folder TEAM/SYSTEM", "folder with predictions and system.toml", Path, nargs="?"),
        option("--from-git", "for a folder already in place: take the time of its merge as the time of receipt"),
        option(
            "--inbox DIR",
            f"accept what visitors of the site uploaded to this folder (default: from {INBOX_VARIABLE})",
            nargs="?",
            const=Path(),
        ),
        option("--list", "with --inbox: show what would be done with each upload, and change nothing"),
        option("--accept HASH", "with --inbox: accept the upload with this hash although the team exists", many=True),
        option("--clear", "with --inbox: delete accepted uploads"),
        _EDITION,
        _SPLIT,
        timed=True,
        submissions="any",
    ),
    command(
        "submission list",
        "List the submissions of an edition: their receipts and flags, and which of them count.",
        "submission:list_entries",
        edition(),
        option(
            "--folder DIR",
            "instead, show the workspace's folder of submissions, or record DIR as it for all commands",
            dest="record",
            nargs="?",
            const=Path(),
        ),
        _SPLIT,
        submissions="any",
    ),
    command(
        "submission withdraw",
        "Withdraw a submission before the deadline.",
        "submission:withdraw",
        option("team TEAM", "the team's folder"),
        option("system SYSTEM", "the system's folder"),
        EDITION,
        _SPLIT,
        timed=True,
        submissions="any",
    ),
    command(
        "hydrate",
        "Fill in the texts of released notes or posts from a dump and a source of posts, and check them.",
        "sources:hydrate_release",
        QUARTER,
        option("--task", "whose texts to fill in (default: x-notes)", choices=NOTES_TASKS, default=NOTES_TASKS[0]),
        option("--dump DIR", "folder of the dump's TSV files, plain or zipped", required=True),
        *posts_options(),
    ),
)
