"""Commands for maintainers: `collect`, `archive`, `dataset`, `release`, `quarter` and others."""

from __future__ import annotations

import argparse
from pathlib import Path

from collectors import FITS, LIVING, LivingTask, NotesFit
from hellofresh.cli.arguments.declare import (
    BASE_URL,
    EDITION,
    QUARTER,
    add_settings,
    command,
    edition,
    option,
    posts_options,
    to_day,
    to_quarter,
)
from hellofresh.cli.arguments.parser import REQUIRED, Variants

_WITNESS = option("--yes-it-is DAY", "today's date, to confirm the clock before a step that cannot be undone")
_DAY = "day of the dump, such as 2026-07-23 (default: the newest"
_RATINGS = "also download the ratings (11 GB), from which votes are counted"
_COLLECTED: tuple[LivingTask | NotesFit, ...] = (*LIVING.values(), *FITS.values())
_ABOUT_TASKS = " ".join(f"{one.name}: {one.about.removeprefix('Collect ')}" for one in _COLLECTED)


def _number_or_all(text: str) -> int | str:
    if text == "all" or int(text) >= 1:
        return text if text == "all" else int(text)
    raise ValueError(text)


def _add_collect(parser: argparse.ArgumentParser) -> None:
    """Add the living task as the first argument, and the options of each."""
    handlers = dict.fromkeys(LIVING, "sources:collect") | dict.fromkeys(FITS, "sources:fit")
    tasks = Variants(parser, "task", handlers, f"what to collect: {', '.join(handlers)}")
    of_tasks = dict.fromkeys(LIVING, False)
    about = "also keep undecided samples, for 'hellofresh release prospective'"
    tasks.add("--pending", of_tasks, action="store_true", help=about)
    tasks.add("--explain", of_tasks, action="store_true", help="show how many each rule drops, and write nothing")
    for one in _COLLECTED:
        add_settings(tasks, one.name, *one.settings)
    quarters = dict.fromkeys(LIVING, REQUIRED) | dict.fromkeys(FITS)
    tasks.add("--quarter", quarters, type=to_quarter, metavar="Q", help="quarter, such as 2023Q2")
    of_dumps = [task.name for task in LIVING.values() if task.snapshots]
    group, about = "notes and posts", f"{_DAY} of the last 14 days)"
    tasks.add("--date", dict.fromkeys(of_dumps), group=group, type=to_day, metavar="D", help=about)
    tasks.add("--ratings", dict.fromkeys(of_dumps, False), group=group, action="store_true", help=_RATINGS)


def _add_archive(parser: argparse.ArgumentParser) -> None:
    """Add the task whose source publishes dumps, or the bundled sample, and the options of each."""
    dumps = {"x-notes": "sources:archive_notes", "wikipedia-edits": "sources:archive_edits"}
    handlers = dumps | {"sample": "sources:write_sample"}
    add = Variants(parser, "task", handlers, f"the source: {', '.join(handlers)}").add
    about = f"{_DAY} of the last 14 days; of a wiki, the newest that is finished)"
    add("--date", dict.fromkeys(dumps), type=to_day, metavar="D", help=about)
    add("--ratings", {"x-notes": False}, action="store_true", help=f"x-notes: {_RATINGS}")
    about = "x-notes: accept tables that are over 1%% smaller than in the previous dump"
    add("--accept-partial", {"x-notes": False}, action="store_true", help=about)
    about = "sample: folder to which to write x-notes/, wikipedia-edits/ and claims/"
    add("--to", {"sample": REQUIRED}, type=Path, metavar="DIR", help=about)
    wiki = "wikipedia-edits"
    about = "name of the wiki, such as simplewiki or enwiki"
    add("--wiki", {wiki: REQUIRED}, group=wiki, metavar="NAME", help=about)
    about = "a mirror of Wikimedia's exports with the same folders (default: Wikimedia's own server)"
    add("--url", {wiki: None}, group=wiki, metavar="URL", help=about)
    about = "your e-mail or web address, sent to the server"
    add("--contact", {wiki: None}, group=wiki, metavar="TEXT", help=about)


COMMANDS = (
    command(
        "collect",
        f"Collect the candidates of a quarter from a source. {_ABOUT_TASKS}",
        "",
        option("--force", "collect again even if nothing has changed"),
        more=_add_collect,
    ),
    command(
        "archive",
        "Download a dump of Community Notes, which its source deletes after days, or the history of a wiki; or write "
        "the bundled sample in the same formats (TSV shards and XML), to try the pipeline.",
        "",
        more=_add_archive,
    ),
    command(
        "dataset show",
        "List the data sets that can be imported; or show one: files, licence, tasks and imported versions.",
        "dataset:show",
        option("name NAME", "name of the data set, such as liar-new (default: list all)", nargs="?"),
    ),
    command(
        "dataset import",
        "Import a data set from a copy of its files; or download it, if a public copy with a known hash exists. "
        "muse: a study already rated by experts (232 posts, four systems, ten experts); see 'hellofresh rate report'. "
        "publishers: ratings of publishers by domain, which replace those imported before.",
        "dataset:import_one",
        option("name NAME", "name of the data set, such as liar-new; muse; or publishers"),
        option(
            "path PATH",
            "the authors' file, folder or (muse) archive; for publishers, a CSV or JSON Lines file",
            nargs="?",
        ),
        option(
            "--set NAME=V",
            "labels=binary: two classes instead of all (some data sets), labels=six (liar-new); language=fr: that of "
            "the statements (liar-new); seed=TEXT: seed of the draw (hellofresh)",
            many=True,
        ),
        option("--sample N", "draw N samples instead of taking all rows"),
        option("--part", "accept files whose rows differ from the original's"),
        option("--version TEXT", "name of this version (default: the number of samples)", default=""),
        option(
            "--column NAME=COLUMN",
            "the file's column for domain, bias, factuality, quality or category, such as quality=pc1",
            many=True,
            group="publishers",
        ),
        option(
            "--priority high=FILE", "a file of domains, one per line; also medium=FILE", many=True, group="publishers"
        ),
    ),
    command(
        "release build",
        "Build the releases of a quarter from its candidates.",
        "release:build",
        QUARTER,
        option("--task T", "only this task (default: all that have candidates)"),
        option("--per-post N", "maximum samples per post or claim, or 'all' (default: 1)", kind=_number_or_all),
        timed=True,
    ),
    command(
        "release publish",
        "Publish the opened quarters as a Hugging Face dataset.",
        "release:publish",
        option("--to DIR|hub:OWNER/NAME", "a folder (default: data/published), or a repository (needs HF_TOKEN)"),
        edition("only these editions (default: all opened ones)", nargs="+"),
        _WITNESS,
        timed=True,
    ),
    command(
        "release prospective",
        "Publish samples that are still undecided, for predictions due within days; or label them later.",
        "release:prospective",
        QUARTER,
        option("--task T", "only this task (default: all with such samples)"),
        option(
            "--resolve",
            "label the samples from a later collection; final: drop those that are still undecided",
            nargs="?",
            const="open",
            choices=("open", "final"),
        ),
        _WITNESS,
        timed=True,
    ),
    command(
        "release run",
        "Run the whole pipeline: collect, build, evaluate, score, analyse, board.",
        "release:run",
        option("--quarter Q", "quarters (default: this one and the last one)", nargs="+"),
        option("--notes-dump DIR", "folder of a Community Notes dump"),
        option("--wiki-dump FILE", "full-history XML dumps of a wiki", nargs="+"),
        option("--datasets NAME", "imported data sets to run in addition to the quarters", nargs="+"),
        option("--sample", "with --datasets: use the bundled sample if no source is named or configured"),
        option("--models M", "models to evaluate (default: those configured)", nargs="+"),
        BASE_URL,
        option("--limit N", "samples per task and quarter (default: the model's own limit)"),
        option("--no-analyses", "do not recompute the board's analyses"),
        _WITNESS,
        *posts_options("notes-"),
        timed=True,
        submissions="own",
    ),
    command(
        "release verify",
        "Check released files (hashes, history, commitments, labels, scores), and recompute figures of the board.",
        "release_verify:verify",
        option(
            "where PATH|URL", "a release's folder, one above it, or its address (default: data/releases)", nargs="?"
        ),
        option(
            "--figure F",
            "recompute a figure: EDITION/TASK/SYSTEM/REGIME/PROMPT/PERIOD/METRIC, or system=NAME,metric=f1,period=all",
            many=True,
        ),
        option("--known SHA256", "a manifest's hash that you noted earlier; check that the history has it"),
        option("--submissions DIR", "folder of submissions: check that all with receipts are published as submitted"),
    ),
    command(
        "release correct",
        "Correct a sample's label: the old one stays in its file, and the quarter is scored again.",
        "release:correct",
        option("sample ID", "id of a sample whose label is public"),
        option("--label N", "number of the right class, such as 0 or 1", type=int, required=True),
        option("--reason TEXT", "the reason; it is public, so do not name anybody", required=True),
        timed=True,
        submissions="own",
    ),
    command(
        "release takedown",
        "Remove samples from a release: a tombstone stays for each, and the quarter is scored again.",
        "release:takedown",
        option("ids ID", "ids of samples", nargs="*"),
        option("--reason TEXT", "the reason; it is public, so do not name anybody"),
        edition("only in this edition"),
        option("--gone", "all samples whose post was gone when 'hellofresh hydrate' last ran"),
        option("--everywhere", "erase the texts from the whole workspace, and take down other samples with them"),
        option("--also DIR", "search this folder too, such as an export", many=True),
        timed=True,
        submissions="own",
    ),
    command(
        "release export",
        "Write a revealed edition as a folder of tasks for another harness, zero-shot with every prompt.",
        "release:export",
        EDITION,
        option("--task T", "a task with classes", required=True),
        option("--lm-eval DIR", "output folder, for lm_eval --include_path DIR", required=True),
    ),
    command(
        "quarter status",
        "Show what needs you, what fails, what is open and what is next; exit code 1 if anything needs a person.",
        "quarter:status",
        option("--all", "show all lines, not only ten"),
        option("--quarter Q", "quarters (default: those released or overdue, and the current one)", nargs="+"),
    ),
    command(
        "quarter run",
        "Do everything due today, step by step; a failed step does not affect the others.",
        "quarter:run",
        option("--dry-run", "show what is due and its maximum cost; write nothing"),
        option("--sample", "for a demonstration: use the bundled sample if no source is named or configured"),
        option("--summary FILE", "also write the summary to this file"),
        _WITNESS,
        timed=True,
        submissions="own",
    ),
    command(
        "quarter open",
        "Open a quarter whose day has come: show its funnel beside the last one's, then make its samples final.",
        "quarter:open_quarter",
        option("quarter Q", "the quarter, such as 2023Q2"),
        option("--task T", "only this task (default: all that wait for opening)"),
        option("--anyway", "open it despite warnings"),
        _WITNESS,
        timed=True,
    ),
    command(
        "quarter restore",
        "After a loss: copy back published releases that are newer than this workspace's, whose own are set "
        "aside. Or make a new escrow key if the old one is lost.",
        "quarter:restore",
        option("--from TARGET", "a folder that 'release publish' wrote, or hub:OWNER/NAME", dest="source"),
        option("--new-key", "make a new escrow key, as the old one is lost"),
        option("--witness RELEASE=SHA256", "record a manifest's hash that somebody else noted"),
        submissions="own",
    ),
)
